"""Measure whole runs of CODA, and of FIFO and DRF, as the cluster grows: processor time, memory, decisions.

    python scripts/benchmark_coda.py [--scales 0.125 0.25 0.5 1 2] [--policies coda_fifo coda] [--plot FILE]

Scale 1 is the paper's: 80 machines of 5 GPUs, and 100,000 jobs in a month; other scales have machines and
jobs in proportion. Each run has a process of its own. Prints processor seconds to load and to run; peak
memory in MiB; decisions, and milliseconds of processor time that they take (median, 99th and 99.9th
percentile, longest); GPU jobs that got other CPUs on their GPUs, and jobs that were stopped, how often.
"""

import sys
from collections.abc import Sequence

from scaled_runs import Benchmark, Row, benchmark, timed
from testbed import composed

from artist.recording.kinds import Kinds
from artist.recording.recorder import Recorder

SCALES = (0.125, 0.25, 0.5, 1.0, 2.0)
POLICIES = ("coda_fifo", "coda_drf", "coda")
MACHINES, MACHINE_GPUS = 80, 5


def overrides(policy: str, scale: float, jobs: int | None) -> list[str]:
    """Return the command line of a run."""
    machines = round(MACHINES * scale)
    return [
        "experiment=coda_month",
        f"policy={policy}",
        f"cluster.machines={machines}",
        f"workload.gpus={machines * MACHINE_GPUS}",
        *([] if jobs is None else [f"workload.first={jobs}"]),
    ]


def measured(policy: str, scale: float, jobs: int | None) -> Row:
    """Run in this process and return the figures."""
    simulation = composed(overrides(policy, scale, jobs))
    specs, cluster = simulation.jobs, simulation.cluster
    least = getattr(simulation.policy, "least_cpus_per_gpu", None)
    kinds = Kinds(specs, cluster, simulation.performance.bandwidth, least)
    result, row = timed(simulation, (Recorder(specs, cluster), kinds))
    return {**row, "retunes": kinds.retunes, "stops": int(result.columns["preemptions"].sum())}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, and draw the plot."""
    gpus = MACHINES * MACHINE_GPUS
    return benchmark(Benchmark(__file__, __doc__, measured, SCALES, POLICIES, gpus, "GPUs"), argv)


if __name__ == "__main__":
    sys.exit(main())
