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

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any
from unittest import mock

import numpy as np
from benchmark_synergy import Timed
from testbed import composed

from artist.policies.parts.knapsack import Group, multiple_choice
from artist.recording.pools import Pools
from artist.recording.recorder import Recorder

SCALES = (0.125, 0.25, 0.5, 1.0, 2.0)
POLICIES = ("lyra_fifo", "lyra")
TRAINING, INFERENCE, SERVER_GPUS = 443, 520, 8
SOLVER = "artist.policies.parts.scaling.multiple_choice"  # where it is called
COLUMNS = (
    "jobs", "load_s", "run_s", "peak_mib", "decisions", "median_ms", "p99_ms", "p99.9_ms", "longest_ms",
    "knapsacks", "resizes",
)  # fmt: skip
Row = dict[str, float]


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
    timed = Timed(simulation.policy)
    simulation = replace(simulation, policy=timed)
    specs, cluster = simulation.jobs, simulation.cluster
    observers = Recorder(specs, cluster), Pools(specs, cluster, simulation.signals)
    solved = count()
    loaded_s = process_time()
    with mock.patch(SOLVER, counting(solved)):
        result = simulation.run(observers)
    ran_s = process_time()
    ms = np.array([each for each, _ in timed.decisions])
    spread = [float(each) for each in (*np.percentile(ms, [50, 99, 99.9]), ms.max())]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counts = (len(ms), *spread, next(solved), int(result.columns["resizes"].sum()))
    return dict(zip(COLUMNS, (len(specs), loaded_s, ran_s - loaded_s, peak, *counts), strict=True))


def in_a_process(policy: str, scale: float, jobs: int | None) -> Row:
    """Run in a process of its own and return the figures."""
    command = [sys.executable, __file__, "--scales", str(scale), "--policies", policy, "--one"]
    command += [] if jobs is None else ["--jobs", str(jobs)]
    shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row: Row = json.loads(shown.stdout)
    return row


def draw(rows: dict[str, dict[float, Row]], path: Path) -> None:
    """Draw how runs and decisions grow, a panel each."""
    import matplotlib.pyplot as plt

    figure, (runs, decisions) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    for policy, by_scale in rows.items():
        gpus = [scale * TRAINING * SERVER_GPUS for scale in by_scale]
        each: list[Any] = list(by_scale.values())
        (line,) = runs.loglog(gpus, [row["run_s"] for row in each], marker="o", label=policy)
        for name, dash in (("median_ms", ":"), ("p99_ms", "--"), ("longest_ms", "-")):
            label = f"{policy}, {name.removesuffix('_ms')}"
            values = [row[name] for row in each]
            decisions.loglog(gpus, values, dash, marker="o", color=line.get_color(), label=label)
    runs.set_ylabel("run (s of processor time)")
    decisions.set_ylabel("decision (ms of processor time)")
    for axes in (runs, decisions):
        axes.set_xlabel("training GPUs")
        axes.grid(visible=True, which="both", alpha=0.2)
        axes.legend(fontsize=7)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, and draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scales", nargs="*", type=float, default=SCALES)
    parser.add_argument("--policies", nargs="*", default=POLICIES)
    parser.add_argument("--jobs", type=int, help="instead of as many as the scale says")
    parser.add_argument("--plot", type=Path, help="file to draw to, such as lyra.svg")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.one:
        print(json.dumps(measured(arguments.policies[0], arguments.scales[0], arguments.jobs)))
        return 0
    print(f"| policy | scale | {' | '.join(COLUMNS)} |")
    print(f"|---|--:|{'--:|' * len(COLUMNS)}")
    rows: dict[str, dict[float, Row]] = {}
    for policy in arguments.policies:
        for scale in arguments.scales:
            row = rows.setdefault(policy, {})[scale] = in_a_process(policy, scale, arguments.jobs)
            cells = [f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()]
            print(f"| {policy} | {scale:g} | {' | '.join(cells)} |", flush=True)
    if arguments.plot:
        draw(rows, arguments.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
