"""Waits and GPUs in use that a site met, and those of the run. Pure.

Of jobs whose real start is known. The real wait of a job is the time from submission to start, that of the
run is its queueing. Jobs that started before the run's window are placed at once, and no wait counts them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from artist.core.arrays import Bools, Floats, Ints
from artist.core.compact_jobs import (
    UNKNOWN,
    CompactJobs,
    Site,
    array_of,
    field_of,
    of_templates,
    ran_at_first,
)
from artist.core.job import JobSpec
from artist.core.result import RunResult
from artist.core.waiting import SIZES, correlation, mean_in_use, sizes, waits
from artist.recording.names import SEEN_COLUMN, SEEN_FILE
from artist.recording.recorder import Recorder
from artist.recording.topic import Table, Topic
from artist.units import NS_PER_S

HOUR_S = 3600.0
_MAX_GROUPS = 40


def site_of(jobs: Sequence[JobSpec]) -> Site | None:
    """Return the real starts and ends of jobs; None if none is known."""
    return jobs.site if isinstance(jobs, CompactJobs) else None


class Seen(Topic):
    """A site against the run; the recorder has seen the whole run."""

    def __init__(self, jobs: Sequence[JobSpec], site: Site, recorder: Recorder) -> None:
        self._jobs, self._site, self._recorder = jobs, site, recorder
        self._submit_ns = array_of(jobs, "submit_ns")
        self._known: Bools = site.started_ns != UNKNOWN
        self._gpus = of_templates(jobs, lambda spec: spec.demand.gpus)

    def job_columns(self, result: RunResult) -> Mapping[str, Floats]:
        """Return the real waits, shape (n_jobs,), in s; NaN where not known."""
        return {SEEN_COLUMN: self._waits_s()}

    def tables(self) -> Mapping[str, Table]:
        """Return waiting jobs and busy GPUs of the site and of the run: a mean per hour while jobs arrive."""
        edges_s = self._edges_s()
        series = self._hourly(edges_s)
        times_ns = np.rint(edges_s * NS_PER_S).astype(np.int64)
        return {SEEN_FILE: Table(times_ns, {name: np.append(one, one[-1:]) for name, one in series.items()})}

    def summary_entries(self, result: RunResult) -> Mapping[str, Any]:
        """Return `seen`: waits of the site and of the run, and how alike they are."""
        waits_s, queueing_s = self._waits_s(), result.columns["queueing_ns"] / NS_PER_S
        ran = np.arange(len(waits_s)) < ran_at_first(self._jobs)
        counted = ~np.isnan(waits_s) & (result.columns["first_start_ns"] >= 0)
        series = self._hourly(self._edges_s())
        groups = [
            {"by": by, "value": value}
            | alike(waits_s[rows], queueing_s[rows])
            | self._over_time(rows, result)
            for by, value, rows in self._groups(counted)
        ]
        of_clusters = [group["correlation"] for group in groups if group["by"] != "gpus"]
        known = [number for number in of_clusters if number is not None]
        return {
            "seen": {
                **alike(waits_s[counted], queueing_s[counted]),
                "queueing_s": waits(waits_s[counted]),
                "simulated_s": waits(queueing_s[counted]),
                "median_correlation": float(np.median(known)) if known else None,
                "queue_correlation": _known_correlation(series["queue_seen"], series["queue_simulated"]),
                "busy_correlation": _known_correlation(series["busy_seen"], series["busy_simulated"]),
                "busy_ratio": _ratio(series["busy_simulated"].sum(), series["busy_seen"].sum()),
                "ran_at_start": int(ran.sum()),
                "ran_not_placed": int((ran & (result.columns["queueing_ns"] > 0)).sum()),
                "groups": groups,
            }
        }

    def _waits_s(self) -> Floats:
        wait_ns = np.where(self._known, self._site.started_ns - self._submit_ns, -1)
        return np.where(wait_ns >= 0, wait_ns / NS_PER_S, np.nan)

    def _edges_s(self) -> Floats:
        """Return the edges of the hours from the first arrival on that begin before the last."""
        first_s, last_s = (self._submit_ns[[0, -1]] / NS_PER_S).tolist()
        edges_s: Floats = first_s + HOUR_S * np.arange(int((last_s - first_s) // HOUR_S) + 2)
        return edges_s

    def _hourly(self, edges_s: Floats) -> dict[str, Floats]:
        times_ns, busy, _, waiting, _ = self._recorder.gauges()
        return {
            **self._of_site(slice(None), edges_s),
            "queue_simulated": step_means(times_ns / NS_PER_S, waiting, edges_s),
            "busy_simulated": step_means(times_ns / NS_PER_S, busy, edges_s),
        }

    def _of_site(self, rows: Any, edges_s: Floats) -> dict[str, Floats]:
        known = np.flatnonzero(self._known)[rows] if isinstance(rows, slice) else rows[self._known[rows]]
        started_s, ended_s = (times_ns[known] / NS_PER_S for times_ns in self._site)
        return self._used("seen", known, started_s, ended_s, edges_s)

    def _used(
        self, name: str, rows: Ints, start_s: Floats, end_s: Floats, edges_s: Floats
    ) -> dict[str, Floats]:
        """Return means of waiting jobs and busy GPUs between edges."""
        submit_s = self._submit_ns[rows] / NS_PER_S
        start_s = np.maximum(start_s, submit_s)
        return {
            f"queue_{name}": mean_in_use(submit_s, start_s, np.ones(len(rows)), edges_s),
            f"busy_{name}": mean_in_use(start_s, end_s, self._gpus[rows].astype(float), edges_s),
        }

    def _over_time(self, rows: Ints, result: RunResult) -> dict[str, float | None]:
        """Return the correlations of a group's waiting jobs and busy GPUs by hour, until jobs are stopped."""
        edges_s = self._edges_s()
        started_ns, finish_ns = (result.columns[name][rows] for name in ("first_start_ns", "finish_ns"))
        ends_ns = np.where(finish_ns < 0, result.end_ns, finish_ns)
        simulated = self._used("simulated", rows, started_ns / NS_PER_S, ends_ns / NS_PER_S, edges_s)
        series = self._of_site(rows, edges_s) | simulated
        return {
            "queue_correlation": _known_correlation(series["queue_seen"], series["queue_simulated"]),
            "busy_correlation": _known_correlation(series["busy_seen"], series["busy_simulated"]),
        }

    def _groups(self, counted: Bools) -> list[tuple[str, str, Ints]]:
        """Return column, value and jobs of the groups: partitions and virtual clusters, then sizes."""
        groups = []
        for by in ("partition", "vc"):
            names = np.array(list(field_of(self._jobs, by)), dtype=object)
            values = sorted(set(names[counted].tolist()))
            if 1 < len(values) <= _MAX_GROUPS:
                groups += [(by, value, np.flatnonzero(counted & (names == value))) for value in values]
        of_jobs = sizes(self._gpus)
        by_size = ((name, np.flatnonzero(counted & (of_jobs == size))) for size, name in enumerate(SIZES))
        return [*groups, *(("gpus", name, rows) for name, rows in by_size if len(rows))]


def alike(seen_s: Floats, simulated_s: Floats) -> dict[str, Any]:
    """Return number, means and their ratio, correlation and rank correlation of waits, shape (n_jobs,)."""
    means = [float(one.mean()) if len(one) else None for one in (seen_s, simulated_s)]
    return {
        "jobs": len(seen_s),
        "seen_mean_s": means[0],
        "simulated_mean_s": means[1],
        "ratio": _ratio(means[1], means[0]),
        "correlation": _known_correlation(seen_s, simulated_s),
        "rank_correlation": _known_correlation(ranks(seen_s), ranks(simulated_s)),
    }


def _known_correlation(one: Floats, other: Floats) -> float | None:
    return None if np.isnan(number := correlation(one, other)) else number


def ranks(values: Floats) -> Floats:
    """Return ranks from 1, equal values with their mean rank, for Spearman's correlation."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    result: Floats = (np.cumsum(counts) - (counts - 1) / 2)[which]
    return result


def step_means(times_s: Floats, values: Floats, edges_s: Floats) -> Floats:
    """Return the means of a step function, which begins at `times_s`, between edges: shape (n_edges - 1,)."""
    area = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times_s))])
    at = np.clip(np.searchsorted(times_s, edges_s, side="right") - 1, 0, None)
    upto = area[at] + values[at] * np.maximum(edges_s - times_s[at], 0.0)
    means: Floats = np.diff(upto) / np.diff(edges_s)
    return means


def _ratio(part: float | None, whole: float | None) -> float | None:
    return float(part) / float(whole) if part is not None and whole else None
