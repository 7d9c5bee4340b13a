"""Energy, money and CO2 of a row, by cause, GPU type and user."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from artist.recording.names import COST_CAUSES, COST_COLUMNS, COSTS
from artist.results.compare import Replicates

AMOUNTS = ("gpu_h", *COST_COLUMNS)
_MAX_USERS = 20


def costs(group: Replicates) -> dict[str, list[float | None]]:
    """Return AMOUNTS of all GPUs and of each part, by its title; means over replicates.

    Empty unless all runs of the row have costs. An amount that is not counted is None. Of users, those
    with most GPU time.
    """
    if not all(COSTS in run.summary for run in group.runs):
        return {}
    of_runs = [dict(_parts(run.summary[COSTS])) for run in group.runs]
    means: dict[str, list[float | None]] = {}
    for title in dict.fromkeys(title for of_run in of_runs for title in of_run):
        parts = [of_run.get(title, {}) for of_run in of_runs]
        counted = {name for part in parts for name in part}
        amounts = {name: float(np.mean([part.get(name, 0.0) for part in parts])) for name in counted}
        means[title] = [amounts.get(name) for name in AMOUNTS]
    return means


def _parts(entry: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    yield "all GPUs", entry["total"]
    for cause, amounts in entry["causes"].items():
        yield COST_CAUSES.get(cause, cause), amounts
    for gpu_type, causes in entry.get("types", {}).items():
        names = next(iter(causes.values()))
        yield f"GPUs {gpu_type}", {name: sum(of[name] for of in causes.values()) for name in names}
    users = sorted(entry.get("users", {}).items(), key=lambda user: -user[1]["gpu_h"])
    for user, amounts in users[:_MAX_USERS]:
        yield f"user {user or '(none)'}", amounts
