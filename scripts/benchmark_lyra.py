"""Measure whole runs of Lyra and of FIFO as the cluster grows: processor time, memory, decisions.

    python scripts/benchmark_lyra.py [--scales 0.125 0.25 0.5 1 2] [--policies lyra_fifo lyra] [--plot FILE]

Scale 1 is the paper's: 443 training and 520 inference machines and 50,390 jobs in 15 days, Basic scenario;
other scales have machines and jobs in proportion. Each run has a process of its own. Prints processor
seconds to load and to run; peak memory in MiB; decisions, and milliseconds of processor time that they take
(median, 99th and 99.9th percentile, longest); knapsacks solved; and changes of a running job's size. On two
cores, for ten programs or so, which makes times half as long again (loading takes 2.6 s at scale 1):

    policy     scale   jobs   run  peak  decisions  median  p99  p99.9  longest  knapsacks  resizes
                               s   MiB                 ms   ms     ms       ms
    lyra_fifo  0.125   6256   0.8   186      12499    0.01 0.15   0.25      0.3          0        0
    lyra_fifo   0.25  12626   1.5   196      25244    0.02 0.17   0.31      2.1          0        0
    lyra_fifo    0.5  25252   3.0   215      50497    0.02 0.16   0.38      4.2          0        0
    lyra_fifo      1  50390   7.2   255     100779    0.02 0.23   0.51      4.7          0        0
    lyra       0.125   6256   3.8   193      20727    0.04 0.67   1.22      7.6       7173     6308
    lyra        0.25  12626   9.5   210      34238    0.05 0.92   1.31     10.3      15209    16444
    lyra         0.5  25252  22.4   237      60655    0.05 1.22   1.75     13.5      27643    31401
    lyra           1  50390  45.8   290     110312    0.05 1.50   2.04     14.7      50298    58831
    lyra           2 100780 119.0   391     211661    0.06 2.30   3.03     23.3      98459   117417

The longest decisions are those that Python searches for garbage in.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from unittest import mock

from scaled_runs import Benchmark, Row, benchmark, timed
from testbed import composed

from artist.policies.parts.knapsack import Group, multiple_choice
from artist.recording.pools import Pools
from artist.recording.recorder import Recorder

SCALES = (0.125, 0.25, 0.5, 1.0, 2.0)
POLICIES = ("lyra_fifo", "lyra")
TRAINING, INFERENCE, SERVER_GPUS = 443, 520, 8
SOLVER = "artist.policies.parts.scaling.multiple_choice"  # where it is called


def overrides(policy: str, scale: float, jobs: int | None) -> list[str]:
    """Return the command line of a run."""
    training, inference = round(TRAINING * scale), round(INFERENCE * scale)
    return [
        "experiment=lyra_full",
        f"policy={policy}",
        f"cluster.machines=[{{type:t4_8gpu,count:{inference},pool:inference}},"
        f"{{type:v100_8gpu,count:{training},pool:training}}]",
        f"workload.training_gpus={training * SERVER_GPUS}",
        *([] if jobs is None else [f"workload.jobs={jobs}", "workload.queueing_s=null"]),
    ]


def counting(solved: Iterator[int]) -> Callable[[int, Sequence[Group]], list[int]]:
    """Return the solver, counted; a Mock would keep all that it was called with."""

    def counted(capacity: int, groups: Sequence[Group]) -> list[int]:
        next(solved)
        return multiple_choice(capacity, groups)

    return counted


def measured(policy: str, scale: float, jobs: int | None) -> Row:
    """Run in this process and return the figures."""
    simulation = composed(overrides(policy, scale, jobs))
    specs, cluster = simulation.jobs, simulation.cluster
    observers = Recorder(specs, cluster), Pools(specs, cluster, simulation.signals)
    solved = count()
    with mock.patch(SOLVER, counting(solved)):
        result, row = timed(simulation, observers)
    return {**row, "knapsacks": next(solved), "resizes": int(result.columns["resizes"].sum())}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, and draw the plot."""
    gpus = TRAINING * SERVER_GPUS
    return benchmark(Benchmark(__file__, __doc__, measured, SCALES, POLICIES, gpus, "training GPUs"), argv)


if __name__ == "__main__":
    sys.exit(main())
