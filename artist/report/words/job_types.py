"""Findings on GPU jobs and CPU jobs beside each other, in sentences. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from artist.report.words.verdicts import MAX_CLAUSES, at_scenarios, in_words
from artist.report.words.wording import MAX_ROWS, capital, duration, few, per_cent, under_each
from artist.results.compare import Comparison, Replicates
from artist.results.measures import is_level
from artist.results.names import listed
from artist.results.scenarios import Contest, Scenario

_STARVED = " Starved GPUs are idle because their machine lacks the CPUs for a GPU job that waits."

_USED = " Used are GPUs while they compute, in the part of that time for which their job keeps them busy."


@dataclass(frozen=True, slots=True)
class _Case:
    """Rows of a scenario with GPU jobs and CPU jobs: `kinds` of their summaries, by name.

    Also the share of the time of GPU jobs that interference took.
    """

    scenario: Scenario
    said: Mapping[str, Sequence[Mapping[str, Any]]]
    baseline: str
    interference: Mapping[str, float]

    def of(self, *path: str) -> dict[str, float]:
        """Return a number of the rows whose replicates all have it, their mean, the least first."""
        by_name = {name: [_at(entry, path) for entry in kinds] for name, kinds in self.said.items()}
        means = {
            name: math.fsum(known) / len(known)
            for name, values in by_name.items()
            if len(known := [value for value in values if value is not None]) == len(values)
        }
        return dict(sorted(means.items(), key=lambda pair: pair[1]))


def job_types(
    comparison: Comparison, contest: Contest, interference: Mapping[int, float] | None = None
) -> list[tuple[str, str]]:
    """Return (topic, sentence) pairs; none where no run has both kinds of jobs.

    Parameters
    ----------
    interference
        By row, the share of the time that GPU jobs ran which other jobs on their machines took.
    """
    took, contest = interference or {}, in_words(contest)
    cases = [
        case for scenario in contest.scenarios if (case := _case(scenario, comparison, contest, took)).said
    ]

    def used(case: _Case) -> str:
        return _shares(case.of("gpu_utilization_active"), "of the GPUs that jobs hold are used")

    sentences = (
        ("Starved GPUs", _together(cases, _starved, ("starved",)), _STARVED),
        ("Held GPUs used", _together(cases, used, ("gpu_utilization_active",)), _USED),
        ("Waiting GPU jobs", _together(cases, _waiting, ("gpu", "over_10min")), ""),
        ("Waiting CPU jobs", _together(cases, _price, ("cpu", "queueing_s", "mean")), ""),
        ("Aborted CPU jobs", _together(cases, _aborted, ("aborted",)), ""),
        ("Memory bandwidth", _together(cases, _crowded, ("over_threshold",)), ""),
        ("CPUs of GPU jobs", _together(cases, _cpus, ("more_cpus",)), ""),
    )
    return [(topic, text + more) for topic, text, more in sentences if text]


def _case(
    scenario: Scenario, comparison: Comparison, contest: Contest, interference: Mapping[int, float]
) -> _Case:
    by_name = {contest.contenders[row]: _kinds(comparison.groups[row]) for row in scenario.rows}
    baseline = contest.contenders[contest.baseline[scenario.rows[0]]]
    took = {contest.contenders[row]: interference[row] for row in scenario.rows if row in interference}
    return _Case(
        scenario,
        {name: entries for name, entries in by_name.items() if entries},
        baseline,
        dict(sorted(took.items(), key=lambda pair: pair[1])),
    )


def _kinds(group: Replicates) -> list[Mapping[str, Any]]:
    entries = [run.summary.get("kinds") for run in group.runs]
    return [entry for entry in entries if entry] if all(entries) else []


def _at(kinds: Mapping[str, Any], path: Sequence[str]) -> float | None:
    value: Any = kinds
    for key in path:
        value = (value or {}).get(key)  # runs made before it was written lack it
    return None if value is None else float(value)


def _together(cases: Sequence[_Case], say: Callable[[_Case], str], path: Sequence[str]) -> str:
    """Return a sentence of the cases, of many those whose rows differ most."""
    clauses = [(case, text) for case in cases if (text := say(case))]
    of = len(cases)

    def spread(pair: tuple[_Case, str]) -> float:
        values = list(pair[0].of(*path).values())
        return values[-1] - values[0] if values else 0.0

    widest = sorted(clauses, key=spread, reverse=True)[:MAX_CLAUSES]
    sentences = [
        capital(f"{where}: {text}" if (where := at_scenarios([case.scenario], of)) else text) + "."
        for case, text in clauses
        if (case, text) in widest
    ]
    return " ".join(sentences)


def _starved(case: _Case) -> str:
    """Return the share of GPUs that starve while GPU jobs wait, and the policies under which none waits."""
    never = [name for name, runs in case.said.items() if all(_none_waits(kinds) for kinds in runs)]
    starved = {name: share for name, share in case.of("starved").items() if name not in never}
    if starved and not any(starved.values()):
        return f"no GPU starves under {listed(list(starved))}"
    text = _shares(starved, "of the GPUs starve while GPU jobs wait")
    return f"{text}. No GPU job waits under {listed(few(never))}" if text and never else text


def _crowded(case: _Case) -> str:
    """Return the share of time at high memory bandwidth, and its cost; empty if there is none."""
    crowded, took = case.of("over_threshold"), case.interference
    if not any(crowded.values()):
        return ""
    text = "on machines with GPU jobs more than 75 % of the memory bandwidth is drawn for "
    text += _shares(crowded, "of the time")
    cost = _shares(took, "of the time of GPU jobs") if any(took.values()) else ""
    return f"{text}; interference by other jobs takes {cost}" if cost else text


def _none_waits(kinds: Mapping[str, Any]) -> bool:
    return "gpu_active_queued" in kinds and kinds["gpu_active_queued"] is None


def _waiting(case: _Case) -> str:
    """Return the shares of GPU jobs that wait for long, and that start at once under the best policy."""
    waiting, at_once = case.of("gpu", "over_10min"), case.of("gpu", "at_once")
    text = _shares(waiting, "of the GPU jobs wait for more than 10 min")
    best = next(iter(waiting), "")
    return f"{text}; {per_cent(at_once[best])} start at once under {best}" if text else ""


def _shares(shares: Mapping[str, float], words: str) -> str:
    """Return a share under each row, of many rows the least and the greatest."""
    text = listed(under_each(list(shares.items()), words))
    return text + f", the least and the most under {len(shares)} policies" * (len(shares) > MAX_ROWS)


def _price(case: _Case) -> str:
    """Return whether CPU jobs pay for it under the policy that keeps fewest GPU jobs waiting.

    They do if they wait longer, take longer, or lose more of their work.
    """
    mean_s, within = case.of("cpu", "queueing_s", "mean"), case.of("cpu", "within_3min")
    jct_s, lost = case.of("cpu", "jct_s", "mean"), case.of("cpu_lost")
    waiting = {name: share for name, share in case.of("gpu", "over_10min").items() if name in mean_s}
    best = next(iter(waiting), "")
    names = [name for name in waiting if _is_more("fraction", waiting, name, best)]
    if not names:
        return ""
    other = case.baseline if case.baseline in names else names[-1]
    worse = [_is_more("time", mean_s, best, other), _is_more("fraction", within, other, best)]
    later, loses = _is_more("time", jct_s, best, other), _is_more("fraction", lost, best, other)
    pay = "some CPU jobs pay for it" if any(worse) or loses else "CPU jobs do not pay for it"
    pay = "CPU jobs pay for it" if later or all(worse) else pay
    costs = [
        (worse[0], f"they wait {duration(mean_s[best])} on average ({duration(mean_s[other])})"),
        (worse[1], f"{per_cent(within[best])} of them wait at most 3 min ({per_cent(within[other])})"),
    ]
    if best in jct_s and other in jct_s:
        costs.append((later, f"they take {duration(jct_s[best])} on average ({duration(jct_s[other])})"))
    if best in lost and other in lost and (lost[best] or lost[other]):
        costs.append((loses, f"{per_cent(lost[best])} of their work is lost ({per_cent(lost[other])})"))
    bad, good = (listed([text for is_bad, text in costs if is_bad is kind]) for kind in (True, False))
    text = "; besides, ".join(filter(None, (bad, good))).replace(")", f" under {other})", 1)
    return f"under {best}, which keeps fewest GPU jobs waiting, {pay}: {text}"


def _is_more(kind: str, values: Mapping[str, float], one: str, other: str) -> bool:
    """Return whether a row has more than another, and both are known and not level."""
    known = one in values and other in values
    return known and values[one] > values[other] and not is_level(kind, values[one], values[other])


def _aborted(case: _Case) -> str:
    aborted = {name: count for name, count in case.of("aborted").items() if count}
    mean = " on average"
    texts = [
        f"{count:,.{int(count != round(count))}f} times{mean * (len(case.said[name]) > 1)} under {name}"
        for name, count in aborted.items()
    ]
    return f"CPU jobs were stopped {listed(texts[-MAX_ROWS:])}" if texts else ""


def _cpus(case: _Case) -> str:
    """Return the share of GPU jobs that got other CPUs than they asked for."""
    more, fewer = case.of("more_cpus"), case.of("fewer_cpus")
    names = [name for name in more if more[name] or fewer[name]][-MAX_ROWS:]
    if not names:
        return ""
    first, *others = ((name, per_cent(more[name]), per_cent(fewer[name])) for name in names)
    texts = [
        f"under {first[0]} {first[1]} of the GPU jobs end with more CPUs than they asked for and {first[2]} "
        "with fewer",
        *(f"under {name} {up} and {down}" for name, up, down in others),
    ]
    return ", ".join(texts)
