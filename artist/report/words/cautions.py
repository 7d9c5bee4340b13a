"""Cautions about a comparison: failed runs, unfinished jobs, missing seeds, queues that grow. Pure."""

from collections import Counter
from collections.abc import Sequence
from textwrap import shorten

from artist.report.words.wording import few, named
from artist.results.compare import Comparison, Replicates
from artist.results.coverage import OVERLOADED, PARTIAL
from artist.results.digest import Digest, growing
from artist.results.names import listed
from artist.results.scenarios import Contest

_MAX_CAUSES, _MAX_CHARS = 3, 160


def cautions(
    comparison: Comparison, contest: Contest, digests: Sequence[Digest], failures: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Return (topic, sentences) pairs; none where nothing forbids comparing the rows.

    Parameters
    ----------
    failures
        Messages of the points that failed.
    """
    sentences = (
        ("Failed runs", _failed(failures, sum(len(group.runs) for group in comparison.groups))),
        ("Not compared", _partial(comparison.groups)),
        ("Missing runs", _missing(comparison, contest)),
        ("Not steady", _growing(digests, len(comparison.groups))),
        ("Arrivals too short", _drained(digests)),
    )
    return [(topic, text) for topic, text in sentences if text]


def _failed(failures: Sequence[str], finished: int) -> str:
    """Return the number of runs that failed, and their causes, the most frequent first."""
    if not failures:
        return ""
    first = [shorten((text.strip().splitlines() or ["no reason given"])[0], _MAX_CHARS) for text in failures]
    counts = Counter(first).most_common()
    causes = [f"{cause}{f' ({count})' * (len(counts) > 1)}" for cause, count in counts[:_MAX_CAUSES]]
    causes += [f"{len(counts) - _MAX_CAUSES} other causes"] * (len(counts) > _MAX_CAUSES)
    rest = f"other {finished}" if finished > 1 else "only other one"
    return (
        f"{len(failures)} of {len(failures) + finished} runs failed: {'; '.join(causes)}; "
        f"the answers are of the {rest}."
    )


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


def _growing(digests: Sequence[Digest], of: int) -> str:
    growing_rows = [digests[row] for row in growing(digests)]
    if not growing_rows:
        return ""
    names = [named(digest.group.label) for digest in growing_rows]
    drifts = [digest.drift for digest in growing_rows if digest.drift is not None]
    counts = [f"{_jobs(drift.first)} and {_jobs(drift.last)}" for drift in drifts]
    under = [f"{count} under {name}" for count, name in zip(counts, names, strict=True)]
    who = f"{'Both' if of == 2 else f'All {of}'} setups" if len(names) == of > 1 else listed(few(names))
    are, their, keep = ("are", "their", "queues keep") if len(names) > 1 else ("is", "its", "queue keeps")
    marked = f" (marked{OVERLOADED})" * (len(names) < of)
    alone = any(len(digest.group.runs) == 1 for digest in growing_rows)
    return (
        f"{who} {are} overloaded{marked}: {their} {keep} growing, so {their} times depend on how long the "
        "run lasted. Lower the load or add machines, and run again. Mean numbers of waiting jobs in the "
        f"first and the last third of the arrivals: {'; '.join(few(under))}."
        f"{' With a single run this may be chance.' * alone}"
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
