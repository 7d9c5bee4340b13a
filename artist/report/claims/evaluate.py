"""What runs say of claims: a number with its spread over seeds, and a verdict. Pure but for reading jobs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from artist.errors import InputError
from artist.report.claims.schema import OVERHEAD, Claim
from artist.results.jobcolumns import TIERS, read_jobs
from artist.results.measures import BY_NAME, Estimate, estimated
from artist.results.run import Run

SHOWN, SMALLER, OPEN, EQUAL, OPPOSITE = "shown", "smaller", "open", "equal", "opposite"
NEAR, FITTED, OFF, NO_RATIO, NOT_RUN = "near", "fitted", "off", "no ratio", "not run"
VERDICTS = {
    SHOWN: "the interval is on the side that the paper says, and reaches its number",
    SMALLER: "it is on that side, and does not reach the number",
    OPEN: "it lies on both sides: these runs do not settle it",
    EQUAL: "there is no difference at all",
    OPPOSITE: "it is on the other side",
    NEAR: "within {within} of the paper's number, or of no change, or rounds to it",
    FITTED: "the same, but profiles were fitted to it: an input, no result",
    OFF: "neither",
    NO_RATIO: "what it is compared with is 0 in some run",
    NOT_RUN: "some of the runs that it is about are not here",
}
_WORST_FIRST = (NOT_RUN, NO_RATIO, OPPOSITE, OFF, EQUAL, OPEN, SMALLER, SHOWN, NEAR)


@dataclass(frozen=True)
class Evidence:
    """A run and what claims ask about it."""

    run: Run

    @cached_property
    def facts(self) -> dict[str, str]:
        """Flat config as texts, with `arrivals` and the policy's name."""
        submits = self.run.numbers("jobs", ["submit_s"])[0]
        arrivals = "batch" if len(submits) and submits.min() == submits.max() else "spread"
        return {**_flat(self.run.config), "policy": str(self.run.summary["policy"]), "arrivals": arrivals}

    @cached_property
    def overheads(self) -> dict[tuple[str, str], float]:
        """Mean over jobs of exposed communication over compute, by model and the tier they were mostly on."""
        jobs = read_jobs(self.run)
        tiers = jobs.tiers_s.argmax(axis=1)
        found: dict[tuple[str, str], list[float]] = {}
        for code, tier, gpus, value in zip(jobs.model.codes, tiers, jobs.gpus, jobs.overhead, strict=True):
            if gpus >= 2 and not math.isnan(value):
                found.setdefault((jobs.model.names[code], TIERS[tier]), []).append(float(value))
        return {key: math.fsum(values) / len(values) for key, values in found.items()}

    def number(self, claim: Claim) -> float | None:
        """Return the metric of a claim."""
        if claim.metric == OVERHEAD:
            return self.overheads.get((claim.model or "", claim.tier or ""))
        return BY_NAME[claim.metric].of(self.run.summary)


@dataclass(frozen=True, slots=True)
class Place:
    """A claim at one value of what was swept over; the value is empty if nothing was.

    Attributes
    ----------
    ours
        The change, or the number: mean over seeds, with its interval.
    seeds
        How many.
    """

    at: str
    ours: Estimate
    seeds: int
    verdict: str


@dataclass(frozen=True, slots=True)
class Result:
    """What the runs say of a claim.

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


def evaluate(claim: Claim, evidence: Sequence[Evidence]) -> Result:
    """Return what runs of one setting say of a claim.

    A change is taken seed by seed, for the same jobs, over the seeds that all of its policies have, and
    averaged. Of the values that were swept over, `take: best` is about the one with the best mean, `take:
    each` about the one with the worst verdict, and of equal verdicts the weakest mean.

    Raises
    ------
    InputError
        If two runs with different numbers fit the same place in a claim.
    """
    numbers = _numbers(claim, evidence)
    at = [str(value) for value in claim.values] if claim.along else [""]
    places = tuple(_place(claim, value, numbers.get(value, {})) for value in at)
    missing = [place for place in places if place.verdict in (NOT_RUN, NO_RATIO)]
    if missing:
        return Result(claim, missing[0], places)
    sign = _sign(claim)

    def size(place: Place) -> float:
        return sign * (place.ours.mean or 0.0)

    if claim.take == "best":
        return Result(claim, max(places, key=size), places)
    worst = min(_WORST_FIRST.index(place.verdict) for place in places) if claim.along else 0
    weakest = min(
        (each for each in places if not claim.along or _WORST_FIRST.index(each.verdict) == worst), key=size
    )
    return Result(claim, weakest, places)


_MINE = ""  # whose number a claim is about; the others go by the names of their policies
_BySeed = Mapping[str, Mapping[int, float]]  # whose -> seed -> number


def _numbers(claim: Claim, evidence: Sequence[Evidence]) -> dict[str, dict[str, dict[int, float]]]:
    """Return the metric by value of what was swept over, whose it is, and seed."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for each in evidence:
        number = each.number(claim)
        if number is None:
            continue
        for at, whose in _roles(claim, each.facts):
            seed = int(each.run.summary["seed"])
            known = found.setdefault(at, {}).setdefault(whose, {})
            if known.setdefault(seed, number) != number:
                name = each.facts["policy"] if claim.policy is not None else "one kind"
                what = f"several runs of {name} with seed {seed} fit a claim: {claim.says}"
                allowed = "the runs of one sweep, or more in `where` of the claim"
                raise InputError(what, where="--claims", found=str(each.run.folder), allowed=allowed)
    return found


def _roles(claim: Claim, facts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return at which swept values a run counts, and whose number it is there."""
    at = [str(v) for v in claim.values if _same(v, facts.get(claim.along or "", ""))] if claim.along else [""]
    roles = []
    if claim.policy in (None, facts["policy"]) and _fits(claim.where, facts):
        roles += [(value, _MINE) for value in at]
    if facts["policy"] in claim.others:
        if claim.against_where is None:
            roles += [(value, facts["policy"]) for value in at if _fits(claim.where, facts)]
        elif _fits(claim.against_where, facts):
            roles += [(str(value), facts["policy"]) for value in claim.values or ("",)]
    return roles


def _place(claim: Claim, at: str, numbers: _BySeed) -> Place:
    mine = numbers.get(_MINE, {})
    rest = [numbers.get(policy, {}) for policy in claim.others]
    seeds = sorted(seed for seed in mine if all(seed in other for other in rest))
    if not seeds:
        return Place(at, Estimate(), 0, NOT_RUN)
    if not rest:
        ours = estimated([mine[seed] for seed in seeds])
        return Place(at, ours, len(seeds), _of_number(claim, ours))
    best = max if claim.paper == "higher" else min
    changes = [_change(mine[seed], best(other[seed] for other in rest)) for seed in seeds]
    if any(change is None for change in changes):
        return Place(at, Estimate(), len(seeds), NO_RATIO)
    ours = estimated([change for change in changes if change is not None])
    return Place(at, ours, len(seeds), _of_change(claim, ours))


def _change(mine: float, other: float) -> float | None:
    if mine == other:
        return 0.0
    return mine / other - 1 if other else None


def _of_number(claim: Claim, ours: Estimate) -> str:
    assert ours.mean is not None
    assert isinstance(claim.paper, float)
    if abs(ours.mean - claim.paper) > max(claim.within * abs(claim.paper), claim.printed / 2):
        return OFF
    return FITTED if claim.fitted else NEAR


def _of_change(claim: Claim, ours: Estimate) -> str:
    assert ours.mean is not None
    low = ours.mean if ours.low is None else ours.low
    high = ours.mean if ours.high is None else ours.high
    if claim.paper == "same":
        if low > claim.within or high < -claim.within:
            return OFF
        return NEAR if max(abs(low), abs(high)) <= claim.within else OPEN
    near, far = (low, high) if _sign(claim) > 0 else (-high, -low)  # both positive: as the paper says
    if near == far == 0:
        return EQUAL
    if near <= 0 <= far:
        return OPEN
    if far < 0:
        return OPPOSITE
    if isinstance(claim.paper, str):
        return SHOWN
    weakest = claim.paper if isinstance(claim.paper, float) else min(claim.paper, key=abs)
    return SHOWN if far >= abs(weakest) else SMALLER


def _sign(claim: Claim) -> int:
    """Return on which side of none the claimed change is."""
    if isinstance(claim.paper, str):
        return 1 if claim.paper == "higher" else -1
    number = claim.paper if isinstance(claim.paper, float) else claim.paper[0]
    return 1 if number > 0 else -1


def _fits(where: Mapping[str, Any], facts: Mapping[str, str]) -> bool:
    allowed = {key: value if isinstance(value, tuple) else (value,) for key, value in where.items()}
    return all(any(_same(each, facts.get(key, "")) for each in values) for key, values in allowed.items())


def _same(wanted: object, found: str) -> bool:
    """Return whether a value of a claim is that of a config: 1 is 1.0."""
    try:
        return float(str(wanted)) == float(found)
    except ValueError:
        return str(wanted) == found


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            flat |= _flat(item, f"{prefix}{key}.")
        else:  # of a file its name says which it is
            flat[f"{prefix}{key}"] = Path(str(item)).name if key == "path" else str(item)
    return flat
