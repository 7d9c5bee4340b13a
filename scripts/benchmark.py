"""Measure speed and memory of runs: python scripts/benchmark.py policy=fifo,srtf cluster.machines=64,133 ...

Takes the overrides of `artist`; every combination of comma-separated values runs in a process of its own,
from a cold start, with placement, network answers and full results. Prints a row per run: jobs, typed
events, seconds to load, to run and to write, microseconds per event, peak memory, and the ratio to a bare
event loop, the best of five before the run: a heap of finishes and a list of arrivals that only counts free
GPUs, the floor in this language. `--profile` adds where the time goes.
"""

import argparse
import cProfile
import heapq
import io
import itertools
import json
import pstats
import resource
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from time import process_time

import yaml

from artist.core.compact_jobs import field_of
from artist.core.job import JobSpec
from artist.recording.folder import write_run
from artist.recording.metrics import summarise
from artist.recording.recorder import Recorder
from artist.run.build import build, check_config

COLUMNS = (
    "jobs",
    "events",
    "load_s",
    "run_s",
    "write_s",
    "us_event",
    "events_s",
    "peak_mb",
    "floor_s",
    "ratio",
)


def floor_s(jobs: Sequence[JobSpec], gpus: int) -> float:
    """Return the processor seconds of a strict FIFO that only counts free GPUs."""
    began = process_time()
    columns = (field_of(jobs, name) for name in ("submit_ns", "demand", "iterations", "compute_ns"))
    arrivals = sorted((at, demand.gpus, n * each) for at, demand, n, each in zip(*columns, strict=True))
    finishes: list[tuple[int, int]] = []
    waiting: deque[tuple[int, int]] = deque()
    free, at = gpus, 0
    while at < len(arrivals) or finishes:
        if at < len(arrivals) and (not finishes or arrivals[at][0] < finishes[0][0]):
            now, need, time = arrivals[at]
            at += 1
            waiting.append((need, time))
        else:
            now, freed = heapq.heappop(finishes)
            free += freed
        while waiting and waiting[0][0] <= free:
            need, time = waiting.popleft()
            free -= need
            heapq.heappush(finishes, (now + time, need))
    return process_time() - began


def measure(overrides: Sequence[str], *, profile: bool) -> dict[str, float]:
    """Run once and return the figures; processor seconds."""
    command = [sys.executable, "-m", "artist", *overrides, "--cfg", "job", "--resolve"]
    shown = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if shown.returncode:
        sys.exit(shown.returncode)  # it has said why
    began = process_time()
    simulation = build(check_config(yaml.safe_load(shown.stdout)))
    recorder = Recorder(simulation.jobs, simulation.cluster)
    load_s = process_time() - began
    floor = min(floor_s(simulation.jobs, simulation.cluster.total_gpus) for _ in range(5))
    loaded = process_time()
    profiler = cProfile.Profile() if profile else None
    with profiler or nullcontext():
        result = simulation.run((recorder,))
    ran = process_time()
    with tempfile.TemporaryDirectory() as folder:
        summary = summarise(result, policy="benchmark", seed=0, network_distinct=0, run={})
        write_run(Path(folder), result, recorder, summary)
    written = process_time()
    if profiler is not None:
        text = io.StringIO()
        pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(20)
        print(text.getvalue(), file=sys.stderr)
    run_s = ran - loaded
    return {
        "jobs": len(simulation.jobs),
        "events": result.events,
        "load_s": load_s,
        "run_s": run_s,
        "write_s": written - ran,
        "us_event": run_s / result.events * 1e6,
        "events_s": result.events / run_s,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "floor_s": floor,
        "ratio": run_s / floor,
    }


def combinations(overrides: Sequence[str]) -> list[tuple[str, ...]]:
    """Return every combination of the comma-separated values of `key=a,b` overrides."""
    choices = []
    for override in overrides:
        key, _, values = override.partition("=")
        choices.append([f"{key}={value}" for value in values.split(",")])
    return list(itertools.product(*choices))


def main() -> int:
    """Measure each combination in a process of its own and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("overrides", nargs="*", default=["policy=fifo,srtf"])
    parser.add_argument("--profile", action="store_true", help="show where the time goes, on stderr")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.overrides, profile=arguments.profile)))
        return 0
    runs = combinations(arguments.overrides)
    shared = set.intersection(*(set(run) for run in runs))
    print("".join(f"{name:>10}" for name in COLUMNS))
    for run in runs:
        flags = ["--one", *(["--profile"] if arguments.profile else [])]
        child = subprocess.run(
            [sys.executable, __file__, *flags, *run], stdout=subprocess.PIPE, text=True, check=False
        )
        if child.returncode:
            return child.returncode
        figures = json.loads(child.stdout)
        cells = "".join(
            f"{figures[name]:>10.3g}" if name not in {"jobs", "events"} else f"{figures[name]:>10}"
            for name in COLUMNS
        )
        print(cells, " ".join(o for o in run if o not in shared), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
