"""Evaluation of a claim by runs: a number with its spread over seeds, and a verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from artist.report.claims.evidence import Evidence, Value, fits, is_of, same, several
from artist.report.claims.schema import BEST_JOB, Claim
from artist.report.claims.verdict import (
    HOLDS,
    NO_RATIO,
    NOT_RUN,
    UNFINISHED,
    WORST_FIRST,
    nearness,
    of_change,
    of_number,
)
from artist.results.measures import Estimate, estimated


@dataclass(frozen=True, slots=True)
class Place:
    """A claim at one value of the swept setting; the value is empty without one.

    Attributes
    ----------
    ours
        The change, or the number: mean over seeds, with its interval.
    seeds
        How many.
    queueing_s
        Mean queueing of whose number it is, and of each that it is compared with; empty without runs.
    near
        How near the mean is to the paper's number (`verdict.nearness`).
    one_trace
        Whether nothing was random, so that the number decides.
    missing
        Policies of which no run fits; empty unless the verdict is `not run`.
    """

    at: str
    ours: Estimate
    seeds: int
    verdict: str
    queueing_s: tuple[float, ...] = ()
    near: str = ""
    one_trace: bool = False
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The evaluation of a claim.

    Attributes
    ----------
    decisive
        The place that the verdict is about.
    places
        All of them.
    """

    claim: Claim
    decisive: Place
    places: tuple[Place, ...]

    @property
    def verdict(self) -> str:
        """Return the verdict."""
        return self.decisive.verdict

    @property
    def holds(self) -> str:
        """Return at how many of several values a claim about each of them holds; empty for others."""
        if self.claim.take != "each":
            return ""
        held = sum(place.verdict in HOLDS for place in self.places)
        return f"holds at {held} of {len(self.places)}"


def evaluate(claim: Claim, evidence: Sequence[Evidence]) -> Result:
    """Return the evaluation of a claim by runs of one setting, by its first metric.

    A change is taken seed by seed over the seeds that all of its policies have, and averaged: for the same
    jobs, unless `against_where` or `than_where` names runs of others. Of the values that were swept over,
    `take: best` is about the one with the best mean, `take: each` about the one with the worst verdict, and
    of equal verdicts the weakest mean. The best of k is picked by the seeds that give its interval, so the
    intervals of `best` are t intervals at 0.025 / k on each side (Bonferroni): they hold for all k together.

    Nothing was random if jobs are read from a file, no part has a seed other than the run's, and runs of two
    seeds or more are equal in all that they sum up.

    Raises
    ------
    InputError
        If two runs with different numbers fit the same place in a claim.
    """
    numbers = _found(claim, evidence)
    at = [str(value) for value in claim.values] if claim.along else [""]
    places = tuple(_place(claim, value, numbers.get(value, {})) for value in at)
    return Result(claim, _decisive(claim, places), places)


def roles(claim: Claim, facts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return at which swept values a run counts, and whose number it is there."""
    at = [str(v) for v in claim.values if same(v, facts.get(claim.along or "", ""))] if claim.along else [""]
    everywhere = [str(value) for value in claim.values or ("",)]
    compared = (at, claim.where) if claim.against_where is None else (everywhere, claim.against_where)
    asked = [(claim.policy, _MINE, at, claim.where)]
    asked += [(other, str(number), *compared) for number, other in enumerate(claim.against)]
    if claim.than_where is not None:
        asked += [(policy, _THERE + role, [""], claim.than_where) for policy, role, _, _ in asked]
    return [
        (value, role)
        for policy, role, values, where in asked
        if is_of(policy, facts) and fits(where, facts)
        for value in values
    ]


_HARDLY_ANY = 0.01  # of the mean JCT: jobs that queue for less in the mean do not really queue
_MINE = ""  # whose number a claim is about; the others go by their number in `against`
_THERE = "there"  # the same where a change is compared with a change
_Seen = tuple[Value, Evidence]
_BySeed = Mapping[str, Mapping[int, _Seen]]  # whose -> seed -> number


def _found(claim: Claim, evidence: Sequence[Evidence]) -> dict[str, dict[str, dict[int, _Seen]]]:
    """Return the metric by value of the swept setting, role and seed."""
    numbers: dict[str, dict[str, dict[int, _Seen]]] = {}
    for run in evidence:
        taken = roles(claim, run.facts)
        value = run.value(claim.metric[0], claim.model, claim.tier) if taken else None
        if value is None:
            continue
        for at, role in taken:
            known = numbers.setdefault(at, {}).setdefault(role, {})
            if known.setdefault(run.seed, (value, run))[0] != value:
                raise several(run, known[run.seed][1], f"a claim: {claim.says}", "--claims")
    return numbers


def _place(claim: Claim, at: str, by_seed: _BySeed) -> Place:
    """Return the claim at one value, by the seeds that all of its policies have."""
    names = [_MINE, *map(str, range(len(claim.against)))]
    names += [_THERE + name for name in names] if claim.than_where is not None else []
    by_role = [by_seed.get(name, {}) for name in names]
    seeds = sorted(set(by_role[0]).intersection(*by_role[1:]))
    if not seeds:
        return Place(at, Estimate(), 0, NOT_RUN, missing=_missing(claim, by_role))
    numbers = [[one[seed][0] for one in by_role] for seed in seeds]
    runs = [[one[seed][1] for seed in seeds] for one in by_role]
    if not all(run.run.covered.whole for of_one in runs for run in of_one):
        return Place(at, Estimate(), len(seeds), UNFINISHED)
    if not claim.against:
        ours = estimated([value for (value,) in numbers if isinstance(value, float)])
        assert ours.mean is not None
        return Place(at, ours, len(seeds), of_number(claim, ours.mean), near=nearness(claim, ours.mean))
    return _change_at(claim, at, numbers, runs)


def _missing(claim: Claim, by_role: Sequence[Mapping[int, _Seen]]) -> tuple[str, ...]:
    """Return the policies of a claim of which no run fits."""
    policies = [claim.policy, *claim.against]
    names = [policy.name if policy else "such jobs" for policy in policies * (len(by_role) // len(policies))]
    return tuple(dict.fromkeys(name for name, runs in zip(names, by_role, strict=True) if not runs))


def _change_at(
    claim: Claim, at: str, numbers: Sequence[Sequence[Value]], runs: Sequence[Sequence[Evidence]]
) -> Place:
    """Return a claim on a change at one value.

    Parameters
    ----------
    numbers
        By seed, the number of each policy.
    runs
        By policy, the run of each seed.
    """
    seeds = len(numbers)
    queueing_s = tuple(fmean(run.queueing_s for run in of_one) for of_one in runs)
    changes = [change for of_seed in numbers if (change := _change_of(claim, of_seed)) is not None]
    if len(changes) < seeds:
        return Place(at, Estimate(), seeds, NO_RATIO, queueing_s)
    ours = estimated(changes, len(claim.values) if claim.take == "best" else 1)
    one_trace = all(map(_certain, runs))
    queues = claim.unqueued or any(map(_queue, runs))
    assert ours.mean is not None
    verdict = of_change(claim, ours, seeds, one_trace=one_trace, queues=queues)
    return Place(at, ours, seeds, verdict, queueing_s, nearness(claim, ours.mean), one_trace)


def _certain(runs: Sequence[Evidence]) -> bool:
    """Return whether runs that differ by the seed show that nothing in them is random."""
    equal = all(run.outcome == runs[0].outcome for run in runs)
    return len(runs) > 1 and equal and not any(run.drawn for run in runs)


def _queue(runs: Sequence[Evidence]) -> bool:
    """Return whether jobs queue for more than 1 % of their JCT, in the mean over seeds."""
    return fmean(run.queueing_s for run in runs) > _HARDLY_ANY * fmean(run.jct_s for run in runs)


def _change_of(claim: Claim, numbers: Sequence[Value]) -> float | None:
    """Return the change of a seed, or the change of the change; None where there is no ratio."""
    first, second = numbers[: 1 + len(claim.against)], numbers[1 + len(claim.against) :]
    change = _change(claim, first[0], first[1:])
    if not second or change is None:
        return change
    other = _change(claim, second[0], second[1:])
    return None if other is None or other == -1 else (1 + change) / (1 + other) - 1


def _change(claim: Claim, mine: Value, rest: Sequence[Value]) -> float | None:
    """Return the excess over the best of the others, as part of it; None where only that is 0."""
    if isinstance(mine, tuple):
        (theirs,) = rest
        assert isinstance(theirs, tuple)
        pairs = zip(mine, theirs, strict=True) if len(mine) == len(theirs) else ()
        both = [one / other - 1 for one, other in pairs if other and math.isfinite(one + other)]
        over_jobs = min if claim.metric[0] == BEST_JOB else median
        return over_jobs(both) if both else None
    other = (max if claim.sign > 0 else min)(value for value in rest if isinstance(value, float))
    if mine == other:
        return 0.0
    return mine / other - 1 if other else None


def _decisive(claim: Claim, places: Sequence[Place]) -> Place:
    def size(place: Place) -> float:
        return claim.sign * (place.ours.mean or 0.0)

    def rank(place: Place) -> int:
        return WORST_FIRST.index(place.verdict)

    missing = [place for place in places if place.ours.mean is None]
    if missing:
        return missing[0]
    if claim.take == "best":
        return max(places, key=size)
    return min(places, key=lambda place: (rank(place), size(place)))
