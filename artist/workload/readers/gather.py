"""Rows that are parts of one job, such as its pods."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from artist.tables.rows import Column, Table, coded
from artist.workload.fields import TEXTS

_SUMS = (
    *("gpus", "cpus", "memory_bytes", "memory_bandwidth_bytes_per_s"),
    *("min_gpus", "max_gpus", "max_machines", "nodes"),
)
_TEXTS = tuple(field.name for field in TEXTS)


def gathered(table: Table, times: Mapping[str, Column]) -> tuple[Table, dict[str, Column]]:
    """Return one row per job_id, at the place of its first: a gang of the rows, each a pod on one machine.

    GPUs, CPUs and memory add up; `max_machines` is the number of pods that ask for GPUs, or their sum.
    Arrival is the earliest; start, end, run time and work are the latest or largest, and unknown if one is.
    Of other columns the first known value is taken.
    """
    codes, _ = coded(table["job_id"])
    pods = np.where(table["gpus"] > 0, 1.0, 0.0)
    if "max_machines" in table:
        pods = np.where(table["max_machines"] > 0, table["max_machines"], pods)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(codes.max() + 1))
    columns: dict[str, Any] = {}
    for name, column in {**table.columns, "max_machines": pods}.items():
        if name in _SUMS:
            columns[name] = np.add.reduceat(column[order], starts)
        elif name in ("submit_s", "submit_date"):
            columns[name] = np.minimum.reduceat(column[order], starts)
        elif name in ("started_s", "duration_s", "iterations", "compute_s"):
            columns[name] = np.maximum.reduceat(column[order], starts)
        else:
            unknown = column == "" if name in _TEXTS else np.isnan(column)
            known_first = np.lexsort((unknown, codes))
            columns[name] = column[known_first][starts]
    merged = {
        name: (np.minimum if name == "submit_s" else np.maximum).reduceat(column[order], starts)
        for name, column in times.items()
    }
    return Table(columns, table.places[order][starts], table.unit), merged
