"""Who gains and who pays: waits of groups of jobs in a row, against those in its baseline."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from artist.recording.names import SCHEDULER_TEXTS, SEEN_COLUMN
from artist.results.compare import Comparison, Replicates
from artist.results.jobcolumns import DEMANDS, Flags, Floats, demand_classes, measured_jobs
from artist.results.measures import is_level
from artist.results.run import Run
from artist.results.scenarios import Contest

MIN_JOBS = 20  # of a group in a run: means over fewer are chance
MAX_GROUPS = 20  # of a column, those with most jobs
MIN_IDEAL_S = 10.0  # of a bounded slowdown
_OWNERS = ("account", "vc", "user")  # the first one that the trace has
_WORDS = {"vc": "VC", "qos": "QOS"}
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Gain:
    """Means over the finished jobs of a group, in a row and in its baseline; replicates are pooled.

    Attributes
    ----------
    row, baseline
        Rows of the comparison.
    by, value
        Column and value that the jobs have in common; for `gpus` a class of sizes.
    jobs
        Number of jobs of one run.
    wait_s, slowdown
        Mean wait and mean bounded slowdown: of the baseline, of the row.
    seen_s
        Mean wait on the site of the trace; None if not known.
    """

    row: int
    baseline: int
    by: str
    value: str
    jobs: int
    wait_s: tuple[float, float]
    slowdown: tuple[float, float]
    seen_s: float | None

    @property
    def name(self) -> str:
        """Return the group in words: `account red`, `jobs of 9-16 GPUs`."""
        if self.by == "gpus":
            return f"jobs of {self.value} GPU{'s' * (self.value != '1')}"
        return f"{_WORDS.get(self.by, self.by)} {self.value}"

    @property
    def change_s(self) -> float:
        """Return the change of the mean wait."""
        return self.wait_s[1] - self.wait_s[0]

    @property
    def pays(self) -> bool:
        """Return whether the mean wait is longer than in the baseline, by more than 1 % and a second."""
        return not is_level("time", self.wait_s[1], self.wait_s[0])

    @property
    def gains(self) -> bool:
        """Return whether the mean wait is shorter by more than that."""
        return not is_level("time", self.wait_s[0], self.wait_s[1])


@dataclass(frozen=True, slots=True)
class _Means:
    jobs: int
    wait_s: float
    slowdown: float
    seen_s: float | None


def gains(comparison: Comparison, contest: Contest) -> list[Gain]:
    """Return the gains of all rows but the baselines, row by row, the group that pays most first.

    Groups are accounts, else virtual clusters, else users; partitions, QOS and sizes. Columns with a single
    value make no groups, nor does a trace that names none of them. Rows without all seeds and jobs are left
    out.
    """
    rows: dict[int, dict[_Key, _Means]] = {}
    changes: list[Gain] = []
    for scenario in contest.scenarios:
        fair = [row for row in scenario.rows if not _is_unfair(comparison.groups[row])]
        for row in fair:
            base = contest.baseline[row]
            if row != base and base in fair:
                for number in {base, row} - rows.keys():
                    rows[number] = _means(comparison.groups[number])
                changes += sorted(_compared(row, base, rows), key=lambda gain: -gain.change_s)
    return changes


def _is_unfair(group: Replicates) -> bool:
    return group.partial or group.lacking


def _compared(row: int, base: int, rows: Mapping[int, Mapping[_Key, _Means]]) -> Iterator[Gain]:
    for (by, value), here in rows[row].items():
        there = rows[base].get((by, value))
        if there is not None:
            waits, slowdowns = (there.wait_s, here.wait_s), (there.slowdown, here.slowdown)
            yield Gain(row, base, by, value, here.jobs, waits, slowdowns, here.seen_s)


def _means(group: Replicates) -> dict[_Key, _Means]:
    """Return the means of a row's groups of jobs, by column and value."""
    parts: dict[_Key, list[Floats]] = {}
    for run in group.runs:
        flags = _groups(run)
        if not flags:
            return {}
        wait_s, jct_s, ideal_s = run.numbers("jobs", ("queueing_s", "jct_s", "ideal_s"))
        slowdown = np.maximum(jct_s / np.maximum(ideal_s, MIN_IDEAL_S), 1.0)
        seen_s = np.full(len(wait_s), np.nan)
        counted = measured_jobs(run, len(wait_s)) & (jct_s >= 0)
        if SEEN_COLUMN in run.columns("jobs"):
            (seen_s,) = run.numbers("jobs", (SEEN_COLUMN,))
            counted &= ~np.isnan(seen_s)
        for key, members in flags.items():
            jobs = members & counted
            parts.setdefault(key, []).append(np.stack([wait_s, slowdown, seen_s])[:, jobs])
    means = {}
    for key, of_runs in parts.items():
        if min(part.shape[1] for part in of_runs) >= MIN_JOBS:
            wait, slow, seen = np.concatenate(of_runs, axis=1).mean(axis=1).tolist()
            means[key] = _Means(of_runs[0].shape[1], wait, slow, None if np.isnan(seen) else seen)
    return means


def _groups(run: Run) -> dict[_Key, Flags]:
    """Return the jobs of each group of a run; none if the trace names no owner, partition and QOS."""
    present = run.columns("jobs")
    names = [name for name in dict.fromkeys((*_OWNERS, *SCHEDULER_TEXTS)) if name in present]
    words = dict(zip(names, run.words("jobs", names), strict=True))
    several = [name for name in names if len(words[name].names) > 1]
    owner = next((name for name in _OWNERS if name in several), None)
    flags = {}
    for name in (*([owner] if owner else []), *(name for name in ("partition", "qos") if name in several)):
        column = words[name]
        counts = np.bincount(column.codes, minlength=len(column.names))
        for code in np.argsort(-counts, kind="stable")[:MAX_GROUPS].tolist():
            flags[name, column.names[code] or "(none)"] = column.codes == code
    if not flags:
        return {}
    (gpus,) = run.numbers("jobs", ("gpus",))
    demand = np.where(gpus > 0, demand_classes(gpus.astype(np.int64)), -1)
    return flags | {("gpus", name): demand == number for number, name in enumerate(DEMANDS)}
