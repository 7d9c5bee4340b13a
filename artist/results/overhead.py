"""Communication by GPU time, and the jobs that have the largest part of it, in words. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from artist.results.measures import LEVEL

_MAX_CLAUSES = 3


def overhead_by_gpu_time(rows: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> str:
    """Return the overheads by GPU time, from 1 % on, and the jobs behind them; empty if there is none.

    Model and GPUs asked for are named once, with the run of the highest overhead; the highest are first.

    Parameters
    ----------
    rows
        Name of each row, and the summaries of its runs.
    """
    runs = [
        (
            overhead["by_gpu_time"],
            name * (len(rows) > 1),
            summary["seed"] if len(of_row) > 1 else None,
            largest,
        )
        for name, of_row in rows
        for summary in of_row
        if ((overhead := summary["comm_overhead"]).get("by_gpu_time") or 0.0) >= LEVEL
        and (largest := overhead.get("largest"))
    ]
    clauses: dict[tuple[str, int], str] = {}
    for added, name, seed, part in sorted(runs, key=lambda run: -run[0]):
        where = f" under {name}" * bool(name) + f" (seed {seed})" * (seed is not None)
        most = f"and {100 * part['share']:.0f} % of that comes from {_jobs(**part)}"
        clause = f"{_per_cent(added)}{' to computing time' * (not clauses)}{where}, {most}"
        clauses.setdefault((part["model"], part["gpus"]), clause)
    text = "; ".join(list(clauses.values())[:_MAX_CLAUSES])
    return f"communication adds {text}" if text else ""


def _jobs(model: str, gpus: int, jobs: int, **_: float) -> str:
    of = f" of {model}" * bool(model)
    return f"{jobs:,} job{'s' * (jobs != 1)}{of} on {gpus} GPU{'s' * (gpus != 1)}"


def _per_cent(part: float) -> str:
    return f"{100 * part:.1f} %"
