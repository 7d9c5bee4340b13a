"""How the jobs of real traces follow each other, and those drawn like them: the table of traces/README.md.

    python scripts/workload_statistics.py ../shared/traces [--seeds 5] [--no-queues] [--only philly]

A row is a month of Venus or Philly, a trace of Muri (* if the generator was fitted to it), or the mean of
some seeds of what the generator draws: as many jobs in as many days as it was fitted to, in series
and without. The columns are the figures of `artist.describe.structure`; variance / mean and correlation of
the hours again, beyond what the rates of hours and weekdays expect (1 and 0 for Poisson); run times; and the
mean time in the queue under FIFO and SRTF without a network, on as many machines of 8 GPUs as make a
load of 0.9. Trace 1 of Muri is another virtual cluster than trace 3.
"""

import argparse
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fit_generator import FITS, Fit, month, read_jobs

from artist.app.composing import composed
from artist.data import data_path
from artist.describe.structure import HOUR_S, next_correlation, time_structure
from artist.recording.metrics import summarise
from artist.run.build import build, check_config
from artist.workload.arrivals import gpu_seconds
from artist.workload.readers.muri import MuriCsv
from artist.workload.synthetic import GeneratorTable, SyntheticTrace, read_generator_table
from artist.workload.table import work_s

LOAD, GPUS = 0.9, 8
MONDAY = pd.Timestamp("2020-03-30")
POLICIES = ("fifo", "srtf")
HEADS = (
    *("jobs", "hourly VM", "daily VM", "hour to hour", "gap CV", "gaps <= 1 s", "GPUs", "run time"),
    *("busy hours, run time", "daily work CV"),
    *("VM beyond", "hour to hour beyond", "run time, mean h", "median s", "p95 h", "GPUs a job"),
    *(f"{policy.upper()} waits h" for policy in POLICIES),
)
MONTHS = {
    "helios_venus": ("2020-04", "2020-05", "2020-06", "2020-07", "2020-09"),
    "philly": ("2017-10", "2017-11", "2017-12"),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", type=Path, help="folder of the traces")
    parser.add_argument("--seeds", type=int, default=5, help="of what is drawn")
    parser.add_argument("--no-queues", action="store_true", help="simulate nothing")
    parser.add_argument("--only", help="one trace, such as philly")
    arguments = parser.parse_args()
    print("| jobs of | " + " | ".join(HEADS) + " |\n|---|" + "--:|" * len(HEADS))
    for fit in FITS:
        if fit.series_from and arguments.only in (None, fit.name):
            known = read_generator_table(data_path("traces") / f"generator_{fit.name}.yaml")
            for name, tables in parts(arguments.traces, fit, arguments.seeds):
                rows = [figures(known, table, not arguments.no_queues) for table in tables]
                print(f"| {name} | " + " | ".join(texts(np.mean(rows, axis=0))) + " |", flush=True)


def parts(folder: Path, fit: Fit, seeds: int) -> Iterator[tuple[str, Sequence[pd.DataFrame]]]:
    """Return what the rows of a trace are called, and their jobs."""
    jobs = read_jobs(folder, fit)
    windows = {name: month(jobs, name) for name in MONTHS.get(fit.name, ())}
    if not windows:
        windows = {
            "whole": jobs,
            "trace 1": MuriCsv(path=folder / "tiresias-muri/muri_trace1.csv").table().frame(),
        }
    for name, window in windows.items():
        yield f"{fit.name} {name}" + "*" * (name in fit.series_from), [window]
    fitted = [windows[name] for name in fit.series_from]
    count = round(sum(map(len, fitted)) / len(fitted))
    days = sum(float(window["submit_s"].max()) for window in fitted) / len(fitted) / 86_400
    for structure in ("series", "none"):
        chosen: dict[str, Any] = {"preset": fit.name, "jobs": count, "days": days, "structure": structure}
        draws = (SyntheticTrace(**chosen, start_hour=0, seed=seed).table().frame() for seed in range(seeds))
        yield f"drawn, {structure}", list(draws)


def figures(known: GeneratorTable, table: pd.DataFrame, queues: bool) -> list[float]:
    """Return the numbers of a row."""
    run_s = work_s(table)
    span_s = float(table["submit_s"].max())
    machines = math.ceil(gpu_seconds(table) / (LOAD * GPUS * span_s))
    waits = [queueing_s(table, policy, machines) / 3600 if queues else math.nan for policy in POLICIES]
    times = [run_s.mean() / 3600, float(np.median(run_s)), float(np.quantile(run_s, 0.95)) / 3600]
    structure = list(asdict(time_structure(table)).values())
    return [len(table), *structure, *beyond_rates(known, table), *times, float(table["gpus"].mean()), *waits]


def beyond_rates(known: GeneratorTable, table: pd.DataFrame) -> tuple[float, float]:
    """Return variance / mean of the jobs in an hour about those expected, and the next hour's correlation."""
    first = table["submit_date"].min() if "submit_date" in table else MONDAY
    since_s = (first.normalize() - MONDAY).total_seconds() + first.hour * HOUR_S
    hours = (since_s // HOUR_S + np.arange(table["submit_s"].max() // HOUR_S + 1)).astype(np.int64)
    found = np.bincount((table["submit_s"] // HOUR_S).astype(np.int64), minlength=len(hours))
    rates = np.array(known.hour_rate)[hours % 24] * np.array(known.weekday_rate)[hours // 24 % 7]
    apart = found - rates * (found.sum() / rates.sum())
    return float(apart.var() / found.mean()), next_correlation(apart)


def queueing_s(table: pd.DataFrame, policy: str, machines: int) -> float:
    """Return the mean time in the queue."""
    least = math.ceil(int(table["gpus"].max()) / GPUS)
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        jobs = table[["job_id", "submit_s", "gpus"]].assign(duration_s=work_s(table))
        jobs.to_csv(file.name, index=False)
        chosen = (f"policy={policy}", f"cluster.machines={max(machines, least)}", "network=zero")
        overrides = ["workload=csv", f"workload.path={file.name}", *chosen]
        result = build(check_config(composed(overrides))).run(())
    summary = summarise(result, policy=policy, seed=0, network_distinct=0, run={})
    return float(summary["queueing_s"]["mean"])


def texts(values: np.ndarray) -> list[str]:
    """Return the numbers of a row as text."""
    return [f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}" for value in values]


if __name__ == "__main__":
    main()
