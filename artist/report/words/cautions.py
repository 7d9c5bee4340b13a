"""Cautions about a comparison: unfinished jobs, missing seeds, queues that grow. Pure."""

from collections.abc import Sequence

from artist.report.words.wording import few, named
from artist.results.compare import Comparison, Replicates
from artist.results.coverage import PARTIAL
from artist.results.digest import Digest
from artist.results.names import listed
from artist.results.scenarios import Contest

_MIN_WAITING, _MIN_SHARE = 5.0, 0.1
_MAX_GROWTH = 3  # waiting jobs, last third of the arrivals / first third


def cautions(comparison: Comparison, contest: Contest, digests: Sequence[Digest]) -> list[tuple[str, str]]:
    """Return (topic, sentence) pairs; none where nothing forbids comparing the rows."""
    sentences = (
        ("Not compared", _partial(comparison.groups)),
        ("Missing runs", _missing(comparison, contest)),
        ("Not steady", _growing(digests)),
        ("Arrivals too short", _drained(digests)),
    )
    return [(topic, text) for topic, text in sentences if text]


def _partial(groups: Sequence[Replicates]) -> str:
    rows = []
    for group in groups:
        if group.partial:
            counts = [sum(counts_of) for counts_of in zip(*(run.covered for run in group.runs), strict=True)]
            rows.append(f"{named(group.name)} ({counts[0]} of {counts[1]} jobs)")
    if not rows:
        return ""
    return f"Means of {listed(few(rows))} cover only the jobs that had finished: {PARTIAL}."


def _missing(comparison: Comparison, contest: Contest) -> str:
    """Return the rows that lack seeds, or jobs of a seed, which others of their scenario have."""
    rows = []
    for scenario in contest.scenarios:
        every = set[int]().union(*(comparison.groups[row].seeds for row in scenario.rows))
        for group in (comparison.groups[row] for row in scenario.rows):
            seeds = list(map(str, sorted(every - group.seeds)))
            lacked = f"seed{'s' * (len(seeds) > 1)} {listed(few(seeds))}" if seeds else "jobs"
            rows += [f"{named(group.name)} lacks {lacked}"] * group.lacking
    if not rows:
        return ""
    why = "rows without seeds or jobs that others have are not compared"
    return f"{listed(few(rows))} (failed, or not run): {why}."


def growing(digests: Sequence[Digest]) -> list[int]:
    """Return the rows whose queue grows, so that mean times depend on how long the run is, the longest first.

    At least 5 jobs wait in the last third of the arrivals, waiting makes 10 % of the mean JCT, and either
    more than three times as many wait there as in the first third, or `Drift.grows`.
    """
    rows = []
    for row, digest in enumerate(digests):
        if digest.drift is not None and digest.drift.last >= _MIN_WAITING:
            waits = digest.parts_s[0] >= _MIN_SHARE * digest.parts_s.sum()
            if waits and (digest.drift.grows or digest.drift.last > _MAX_GROWTH * digest.drift.first):
                rows.append((-digest.drift.last, row))
    return [row for _, row in sorted(rows)]


def _growing(digests: Sequence[Digest]) -> str:
    growing_rows = [digests[row] for row in growing(digests)]
    if not growing_rows:
        return ""
    names = [named(digest.group.label) for digest in growing_rows]
    drifts = [digest.drift for digest in growing_rows if digest.drift is not None]
    counts = [f"{_jobs(drift.first)} and {_jobs(drift.last)}" for drift in drifts]
    under = [f"{count} under {name}" for count, name in zip(counts, names, strict=True)]
    alone = any(len(digest.group.runs) == 1 for digest in growing_rows)
    return (
        f"The queue keeps growing under {listed(few(names))}, so a longer run would probably have longer "
        "times: do not rely on those marked [growing]. Waiting jobs in the first and the last third of the "
        f"arrivals: {'; '.join(few(under))}.{' Of one run alone it may be chance.' * alone}"
    )


def _jobs(count: float) -> str:
    if count >= 100:
        return f"{count:,.0f}"
    return f"{count:.3g}" if count >= 10 else f"{count:.1f}".removesuffix(".0")


def _drained(digests: Sequence[Digest]) -> str:
    rows = [
        f"{digest.group.name} ({digest.drained} of {len(digest.group.runs)} runs)"
        for digest in digests
        if digest.drained
    ]
    if not rows:
        return ""
    return (
        f"Arrivals ended before all measured jobs had finished: {listed(few(rows))}. The last of them ran in "
        "an emptying cluster; more jobs after the window mend that."
    )
