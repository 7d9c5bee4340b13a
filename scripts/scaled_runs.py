"""Runs of policies at several scales, each in a process of its own, for benchmark_*.py: table and plot."""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from benchmark_synergy import Timed

from artist.core.events import Observer
from artist.core.result import RunResult
from artist.run.build import Simulation

Row = dict[str, float]


class Benchmark(NamedTuple):
    """What is measured.

    Attributes
    ----------
    script, about
        The program, and its docstring.
    measured
        Runs a policy at a scale in this process, with so many jobs or None for as many as the scale says,
        and returns the figures.
    scales, policies
        Those that are measured unless others are asked for.
    gpus, of_gpus
        GPUs at scale 1, and what the plot calls them.
    """

    script: str
    about: str | None
    measured: Callable[[str, float, int | None], Row]
    scales: Sequence[float]
    policies: Sequence[str]
    gpus: int
    of_gpus: str


def timed(simulation: Simulation, observers: Sequence[Observer]) -> tuple[RunResult, Row]:
    """Run, and return the result and what it took."""
    policy = Timed(simulation.policy)
    simulation = replace(simulation, policy=policy)
    loaded_s = process_time()
    result = simulation.run(observers)
    ran_s = process_time() - loaded_s
    ms = np.array([each for each, _ in policy.decisions])
    median, p99, p999 = (float(each) for each in np.percentile(ms, [50, 99, 99.9]))
    return result, {
        "jobs": len(simulation.jobs),
        "load_s": loaded_s,
        "run_s": ran_s,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "decisions": len(ms),
        "median_ms": median,
        "p99_ms": p99,
        "p99.9_ms": p999,
        "longest_ms": float(ms.max()),
    }


def benchmark(what: Benchmark, argv: Sequence[str] | None) -> int:
    """Print the table, and draw the plot."""
    parser = argparse.ArgumentParser(description=what.about, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scales", nargs="*", type=float, default=what.scales)
    parser.add_argument("--policies", nargs="*", default=what.policies)
    parser.add_argument("--jobs", type=int, help="instead of as many as the scale says")
    parser.add_argument("--plot", type=Path, help="file to draw to")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.one:
        print(json.dumps(what.measured(arguments.policies[0], arguments.scales[0], arguments.jobs)))
        return 0
    rows: dict[str, dict[float, Row]] = {}
    for policy in arguments.policies:
        for scale in arguments.scales:
            row = in_a_process(what.script, policy, scale, arguments.jobs)
            if not rows:
                print(f"| policy | scale | {' | '.join(row)} |\n|---|--:|{'--:|' * len(row)}")
            rows.setdefault(policy, {})[scale] = row
            cells = [f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()]
            print(f"| {policy} | {scale:g} | {' | '.join(cells)} |", flush=True)
    if arguments.plot:
        draw(what, rows, arguments.plot)
    return 0


def in_a_process(script: str, policy: str, scale: float, jobs: int | None) -> Row:
    """Run in a process of its own and return the figures."""
    command = [sys.executable, script, "--scales", str(scale), "--policies", policy, "--one"]
    command += [] if jobs is None else ["--jobs", str(jobs)]
    shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row: Row = json.loads(shown.stdout)
    return row


def draw(what: Benchmark, rows: dict[str, dict[float, Row]], path: Path) -> None:
    """Draw how runs and decisions grow, a panel each."""
    import matplotlib.pyplot as plt

    figure, (runs, decisions) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    for policy, by_scale in rows.items():
        gpus = [scale * what.gpus for scale in by_scale]
        each: list[Any] = list(by_scale.values())
        (line,) = runs.loglog(gpus, [row["run_s"] for row in each], marker="o", label=policy)
        for name, dash in (("median_ms", ":"), ("p99_ms", "--"), ("longest_ms", "-")):
            label = f"{policy}, {name.removesuffix('_ms')}"
            values = [row[name] for row in each]
            decisions.loglog(gpus, values, dash, marker="o", color=line.get_color(), label=label)
    runs.set_ylabel("run (s of processor time)")
    decisions.set_ylabel("decision (ms of processor time)")
    for axes in (runs, decisions):
        axes.set_xlabel(what.of_gpus)
        axes.grid(visible=True, which="both", alpha=0.2)
        axes.legend(fontsize=7)
    figure.savefig(path, dpi=150)
    plt.close(figure)
