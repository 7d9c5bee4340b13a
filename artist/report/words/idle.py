"""Findings on settings that hardly change the mean JCT, with the reason where runs show it. Pure."""

from collections.abc import Callable, Collection, Sequence

from artist.recording.names import FAILURES
from artist.report.words.axes import Axis
from artist.report.words.fabrics import no_part
from artist.report.words.setting import is_free
from artist.report.words.verdicts import Verdict, at_scenarios, verdicts
from artist.report.words.wording import at_most, capital, duration
from artist.results.compare import POLICY, Comparison
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
) -> str:
    """Return the settings that hardly change the mean JCT, the network among them."""
    runs = [run for group in comparison.groups for run in group.runs]
    part = no_part(comparison, shares)
    clauses = [f"{axis.name} ({_apart(axis)}{_reason(axis, runs, part)})" for axis in varied if axis.idle]
    even = [verdict.scenario for verdict in ranked if verdict.even]
    policy = next((axis for axis in varied if axis.key == POLICY), None)
    if policy is not None and not policy.idle and even:
        where = f" {at_scenarios(even)}".removesuffix(": ").rstrip()
        waits = duration(_longest_wait_s(comparison, even))
        clauses.append(f"the policy{where}, where jobs wait {waits} on average at most")
    text = f"{capital(listed(clauses))}." if clauses else ""
    spans = verdicts(comparison, contest, BY_NAME["makespan_s"]) if policy is not None else []
    if spans and all(len(span.level) == len(span.estimates) for span in spans):
        text += " The policy does not matter for the makespan (within 1 %)."
    text += f" {part}." * bool(part)
    nothing = "Nothing can be ruled out: no setting that was varied stays within 1 %." * bool(varied)
    return text.strip() or nothing


def _longest_wait_s(comparison: Comparison, scenarios: Sequence[Scenario]) -> float:
    """Return the longest mean wait among the rows of some scenarios."""
    rows = [row for scenario in scenarios for row in scenario.rows]
    return max(comparable(BY_NAME["queueing_mean_s"], comparison.groups[row]).mean or 0.0 for row in rows)


def _apart(axis: Axis) -> str:
    return f"mean JCTs at most {at_most(axis.effect)} apart" if axis.effect else "equal mean JCTs"


def _reason(axis: Axis, runs: Collection[Run], part: str) -> str:
    """Return the first reason that holds in all runs, and that `part` does not state already."""
    for keys, text, holds in _REASONS:
        if axis.key.startswith(keys) and all(map(holds, runs)):
            return "" if keys == _NETWORK and part else f": {text}"
    return ""


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


_NETWORK = ("topology.", "network.", "performance.contention")
_UPLINKS = ("topology.oversubscription.rack", "topology.uplinks")
_STOPS = ("overheads.resume", "overheads.restart", "overheads.migrate", "overheads.on_")
_FAILURES = ("overheads.recover", "cluster.spares", "cluster.failures")
_REASONS: tuple[tuple[tuple[str, ...], str, Callable[[Run], bool]], ...] = (
    (_NETWORK, "communication takes no time", is_free),
    (_NETWORK, "every job ran inside one machine", _never("rack", "network")),
    (_UPLINKS, "no job ran in several racks", _never("network")),
    (_UPLINKS, "contention is off, and a job alone hardly fills the uplinks of racks", _without_contention),
    (_FAILURES, "no failure stopped a job", _without_failures),
    (_STOPS, "no job was stopped or moved", _without_stops),
    ((POLICY, "estimates", "cluster."), "jobs hardly wait", _hardly_waits),
)
