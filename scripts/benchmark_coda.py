"""Measure whole runs of CODA, and of FIFO and DRF, as the cluster grows: processor time, memory, decisions.

    python scripts/benchmark_coda.py [--scales 0.125 0.25 0.5 1 2] [--policies coda_fifo coda] [--plot FILE]

Scale 1 is the paper's: 80 machines of 5 GPUs, and 100,000 jobs in a month; other scales have machines and
jobs in proportion. Each run has a process of its own. Prints processor seconds to load and to run; peak
memory in MiB; decisions, and milliseconds of processor time that they take (median, 99th and 99.9th
percentile, longest); how often GPU jobs got other CPUs on their GPUs, and how often jobs were stopped. On
two cores, for ten programs or so, which makes times half as long again (loading takes 1.5 s at scale 1):

    policy     scale    jobs  run  peak  decisions  median  p99  p99.9  longest  retunes  stops
                               s   MiB                 ms   ms     ms       ms
    coda_fifo  0.125   12500  1.5   163      24999    0.02 0.15   0.30      0.6        0      0
    coda_fifo   0.25   25000  2.9   185      49997    0.01 0.14   0.31      0.7        0      0
    coda_fifo    0.5   50000  6.2   220      99998    0.02 0.15   0.39      4.2        0      0
    coda_fifo      1  100000 13.9   290     199999    0.02 0.18   0.47      5.8        0      0
    coda_drf   0.125   12500  2.2   163      24999    0.02 0.20   0.32      0.6        0      0
    coda_drf    0.25   25000  4.0   185      49997    0.02 0.16   0.30      4.9        0      0
    coda_drf     0.5   50000  9.0   223      99998    0.02 0.21   0.37      4.6        0      0
    coda_drf       1  100000 15.5   296     199999    0.02 0.16   0.33      5.7        0      0
    coda       0.125   12500  3.4   166      35431    0.04 0.21   0.45      3.9    10224    371
    coda        0.25   25000  7.2   189      71687    0.04 0.15   0.28      5.4    20665   1070
    coda         0.5   50000 16.8   234     143550    0.04 0.23   0.38      4.5    41923   1796
    coda           1  100000 44.1   316     288266    0.05 0.34   0.53     10.4    85130   3387
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
