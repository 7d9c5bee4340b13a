"""Findings on settings that hardly change the mean JCT, with the reason where runs show it. Pure."""

from collections.abc import Callable, Collection, Sequence

from artist.recording.names import FAILURES
from artist.report.words.axes import SMALL, Axis
from artist.report.words.fabrics import no_part
from artist.report.words.setting import is_free
from artist.report.words.verdicts import Verdict, at_scenarios, verdicts
from artist.report.words.wording import at_most, capital, duration
from artist.results.compare import POLICY, Comparison
from artist.results.digest import Digest
from artist.results.measures import BY_NAME, LEVEL, comparable
from artist.results.names import listed
from artist.results.run import Run
from artist.results.scenarios import Contest, Scenario


def idle(
    varied: Sequence[Axis],
    comparison: Comparison,
    contest: Contest,
    ranked: Sequence[Verdict],
    shares: Sequence[float],
    digests: Sequence[Digest],
) -> str:
    """Return the settings that hardly change the mean JCT, the network among them; empty if there is none."""
    runs = [run for group in comparison.groups for run in group.runs]
    part = no_part(comparison, shares)
    idle_axes = [axis for axis in varied if axis.idle]
    clauses = [f"{axis.name} ({_apart(axis)}{_reason(axis, runs, digests, part)})" for axis in idle_axes]
    even = [verdict.scenario for verdict in ranked if verdict.even]
    policy = next((axis for axis in varied if axis.key == POLICY), None)
    if policy is not None and not policy.idle and even:
        where = at_scenarios(even, len(contest.scenarios))
        waits = duration(_longest_wait_s(comparison, even))
        waiting = f"where jobs wait {waits} on average at most" if waits != "0 s" else "where no job waits"
        clauses.append(f"the policy {where}, {waiting}")
    sentences = [f"{capital(listed(clauses))}."] * bool(clauses)
    spans = verdicts(comparison, contest, BY_NAME["makespan_s"]) if policy is not None else []
    if spans and all(len(span.level) == len(span.estimates) for span in spans):
        sentences.append("Makespans are within 1 % under all policies.")
    return " ".join([*sentences, *[f"{part}."] * bool(part)])


def _longest_wait_s(comparison: Comparison, scenarios: Sequence[Scenario]) -> float:
    """Return the longest mean wait among the rows of some scenarios."""
    rows = [row for scenario in scenarios for row in scenario.rows]
    return max(comparable(BY_NAME["queueing_mean_s"], comparison.groups[row]).mean or 0.0 for row in rows)


def _apart(axis: Axis) -> str:
    return f"mean JCTs at most {at_most(axis.effect)} apart" if axis.effect else "equal mean JCTs"


def _reason(axis: Axis, runs: Collection[Run], digests: Sequence[Digest], part: str) -> str:
    """Return the first reason that holds in all runs, and that `part` does not state already."""
    for keys, text, holds in _REASONS:
        if axis.key.startswith(keys) and all(map(holds, runs)):
            return "" if keys == _NETWORK and part else f": {text}"
    counted = next((count for keys, count in _COUNTS.items() if axis.key.startswith(keys)), None)
    text = "" if counted is None else counted(axis, runs, digests)
    return f": {text}" if text else ""


def _across_racks(axis: Axis, runs: Collection[Run], digests: Sequence[Digest]) -> str:
    """Return the small part of jobs in several racks, or that their communication does not change."""
    if max(map(max, axis.rows.values())) >= len(digests):
        return ""
    rows = [[digests[row].across_racks for row in of] for of in axis.rows.values()]
    every = [row for of in rows for row in of]
    most = max(every, key=lambda row: row.jobs / max(row.of, 1))
    text = f"at most {most.jobs} of {most.of} jobs ran in several racks"
    added = max(row.added for row in every)
    if added < LEVEL:
        return f"{text}, and their communication adds at most {at_most(added)} to all computing"
    if most.jobs <= SMALL * most.of:
        return text
    if any(max(row.added for row in of) > (1 + _EQUAL) * min(row.added for row in of) for of in rows):
        return ""
    return "jobs in several racks communicate for as long at each, so " + (
        "a job alone does not fill the uplinks; contention is off"
        if all(map(_without_contention, runs))
        else "they do not fill the uplinks"
    )


def _slowed(axis: Axis, runs: Collection[Run], digests: Sequence[Digest]) -> str:
    """Return the mean slowdown of jobs by others on their links."""
    slowdowns = [run.summary["contention"]["slowdown"] or 1.0 for run in runs if "contention" in run.summary]
    most = max(slowdowns, default=1.0) - 1
    if most < _EQUAL * LEVEL:
        return "no job is slowed by others on its links"
    return f"jobs on the same links make each other at most {at_most(most)} slower on average"


def _stopped(axis: Axis, runs: Collection[Run], digests: Sequence[Digest]) -> str:
    """Return the number of jobs that failures stop; empty if it is large."""
    counts = [((run.summary.get(FAILURES) or {}).get("stops") or 0, run.summary["jobs"]) for run in runs]
    stops, jobs = max(counts, key=lambda pair: pair[0] / pair[1])
    return f"failures stop jobs at most {stops} times in a run of {jobs}" if stops <= SMALL * jobs else ""


def _never(*tiers: str) -> Callable[[Run], bool]:
    return lambda run: not any(run.summary["placements"][tier] for tier in tiers)


def _hardly_waits(run: Run) -> bool:
    waits, jct = (run.summary[name]["mean"] or 0.0 for name in ("queueing_s", "jct_s"))
    return bool(waits < LEVEL * jct)


def _without_contention(run: Run) -> bool:
    return (run.config.get("performance") or {}).get("contention") in (None, "none")


def _without_failures(run: Run) -> bool:
    return not (run.summary.get(FAILURES) or {}).get("stops")


def _without_stops(run: Run) -> bool:
    return _without_failures(run) and not run.summary["preemptions"] and not run.summary["migrations"]


_EQUAL = 0.001  # relative difference of times that are as long
_NETWORK = ("topology.", "network.", "performance.contention")
_UPLINKS = ("topology.oversubscription.rack", "topology.uplinks")
_STOPS = ("overheads.resume", "overheads.restart", "overheads.migrate", "overheads.on_")
_FAILURES = ("overheads.recover", "cluster.spares", "cluster.failures")
_REASONS: tuple[tuple[tuple[str, ...], str, Callable[[Run], bool]], ...] = (
    (_NETWORK, "communication takes no time", is_free),
    (_NETWORK, "every job ran inside one machine", _never("rack", "network")),
    (_UPLINKS, "no job ran in several racks", _never("network")),
    (_FAILURES, "no failure stopped a job", _without_failures),
    (_STOPS, "no job was stopped or moved", _without_stops),
    ((POLICY, "estimates", "cluster.", "workload.load", "arrivals"), "jobs hardly wait", _hardly_waits),
)
_COUNTS: dict[str | tuple[str, ...], Callable[[Axis, Collection[Run], Sequence[Digest]], str]] = {
    _UPLINKS: _across_racks,
    "performance.contention": _slowed,
    "cluster.failures": _stopped,
}
