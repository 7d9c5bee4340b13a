"""Waits that users of a site met, where a trace has the real starts of jobs, and hints at the site's rule."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from artist.core.waiting import SIZES, Floats, mean_in_use, sizes, waits
from artist.describe.structure import HOUR_S

_WEEK_S = 7 * 86_400.0
_MAX_MEMBERS = 25  # partitions, virtual clusters
_MAX_USERS = 5
_OFTEN = 0.01  # of the time: longer than clocks disagree at the change from a job to the next


@dataclass(frozen=True, slots=True)
class GroupWaits:
    """Waits of a group of jobs.

    Attributes
    ----------
    by, name
        Property that the jobs have in common, and its value; both empty for all jobs.
    waits_s
        As `artist.core.waiting.waits` returns them.
    overtaken
        Part of the jobs that waited before which a job submitted later started in the same pool.
    idle_s
        Time waited while enough GPUs of the pool were idle, summed over jobs, and time waited in all.
    """

    by: str
    name: str
    jobs: int
    waits_s: dict[str, float | None]
    overtaken: float
    idle_s: tuple[float, float]


@dataclass(frozen=True, slots=True)
class RealWaits:
    """Waits by group, all jobs first; waiting jobs and busy GPUs by hour.

    Attributes
    ----------
    pool
        Column whose values are pools of GPUs of their own; empty for one pool. A pool has as many GPUs as
        were busy at once for 1 % of the time.
    edges_s, waiting, busy
        Shapes (n_hours + 1,) and (n_hours,).
    """

    pool: str
    groups: tuple[GroupWaits, ...]
    edges_s: Floats
    waiting: Floats
    busy: Floats


def real_waits(table: pd.DataFrame) -> RealWaits | None:
    """Return the waits of a workload; None if no real start is known.

    Parameters
    ----------
    table
        Canonical table with `started_s` and `ended_s`, the first arrival at 0 s. Jobs that started before
        they arrive, as a window begins with them, use GPUs and do not count as waiting.
    """
    if "started_s" not in table:
        return None
    known = table[table["started_s"].notna() & (table["gpus"] > 0)]
    if not len(known):
        return None
    submit_s, start_s, end_s = (known[name].to_numpy(float) for name in ("submit_s", "started_s", "ended_s"))
    gpus, begin_s = known["gpus"].to_numpy(float), np.maximum(start_s, submit_s)
    named = [name for name in ("partition", "vc") if name in known and known[name].nunique() > 1]
    pool = named[0] if named else ""
    overtaken, idle_s = np.zeros(len(known), dtype=bool), np.zeros(len(known))
    for _, rows in known.groupby(known[pool] if pool else np.zeros(len(known))).indices.items():
        overtaken[rows] = _overtaken(submit_s[rows], begin_s[rows])
        idle_s[rows] = _idle_s(submit_s[rows], begin_s[rows], end_s[rows], gpus[rows])
    waited_s = np.where(start_s >= submit_s, start_s - submit_s, np.nan)
    columns = pd.DataFrame({"wait_s": waited_s, "overtaken": overtaken, "idle_s": idle_s})
    columns["week"] = [f"{week + 1}" for week in (submit_s // _WEEK_S).astype(int)]
    columns["gpus"] = np.array(SIZES)[sizes(gpus)]
    columns[[*named, "user"]] = known[[*named, "user"]].to_numpy()
    columns = columns[columns["wait_s"].notna()]
    edges_s = HOUR_S * np.arange(int(submit_s.max() // HOUR_S) + 2)
    return RealWaits(
        pool,
        tuple(_groups(columns, named)) if len(columns) else (),
        edges_s,
        mean_in_use(submit_s, begin_s, np.ones(len(known)), edges_s),
        mean_in_use(begin_s, end_s, gpus, edges_s),
    )


def _groups(jobs: pd.DataFrame, named: list[str]) -> list[GroupWaits]:
    groups = [_group("", "", jobs)]
    for by in (*named, "gpus", "week", "user"):
        members = {str(name): rows for name, rows in jobs.groupby(by, sort=False) if name}
        if by == "user":
            longest = sorted(members, key=lambda name: -members[name]["wait_s"].sum())[:_MAX_USERS]
        else:
            order = list(SIZES) if by == "gpus" else sorted(members, key=lambda name: (len(name), name))
            longest = [name for name in order if name in members][:_MAX_MEMBERS]
        if len(members) > 1:
            groups += [_group(by, name, members[name]) for name in longest]
    return groups


def _group(by: str, name: str, jobs: pd.DataFrame) -> GroupWaits:
    wait_s = jobs["wait_s"].to_numpy()
    waited = wait_s > 0
    share = float(jobs["overtaken"].to_numpy()[waited].mean()) if waited.any() else 0.0
    idle_s = float(jobs["idle_s"].sum()), float(wait_s.sum())
    return GroupWaits(by, name, len(jobs), waits(wait_s), share, idle_s)


def _overtaken(submit_s: Floats, start_s: Floats) -> Floats:
    """Return whether a job submitted later started before each job, (n_jobs,)."""
    order = np.argsort(submit_s, kind="stable")
    submit_s, start_s = submit_s[order], start_s[order]
    earliest = np.append(np.minimum.accumulate(start_s[::-1])[::-1], np.inf)
    result = np.zeros(len(order), dtype=bool)
    result[order] = earliest[np.searchsorted(submit_s, submit_s, side="right")] < start_s
    return result


def _idle_s(submit_s: Floats, start_s: Floats, end_s: Floats, gpus: Floats) -> Floats:
    """Return the time that each job waited while as many GPUs as it asks for were idle, (n_jobs,)."""
    times_s, at = np.unique(np.concatenate([start_s, end_s]), return_inverse=True)
    change = np.bincount(at, np.concatenate([gpus, -gpus]), len(times_s))
    busy = np.cumsum(change)
    level = np.argsort(-busy[:-1], kind="stable")  # busiest first
    spent_s = np.cumsum(np.diff(times_s)[level])
    gpus_there = busy[level][np.searchsorted(spent_s, _OFTEN * spent_s[-1])] if len(level) else busy.max()
    idle = np.append(gpus_there, gpus_there - busy)  # before the first time, and from each time on
    result = np.zeros(len(gpus))
    for size in np.unique(gpus).tolist():
        enough = idle >= size
        upto_s = np.concatenate([[0.0], np.cumsum(enough[1:-1] * np.diff(times_s))])
        rows = np.flatnonzero((gpus == size) & (start_s > submit_s))
        ends = [_upto(times_s, upto_s, enough, one[rows]) for one in (submit_s, start_s)]
        result[rows] = ends[1] - ends[0]
    return result


def _upto(times_s: Floats, upto_s: Floats, enough: Floats, until_s: Floats) -> Floats:
    """Return the time with enough idle GPUs from the first change on; less than 0 before it."""
    at = np.searchsorted(times_s, until_s, side="right")
    last = np.clip(at - 1, 0, None)
    result: Floats = upto_s[last] + enough[at] * (until_s - times_s[last])
    return result
