"""What runs say of claims: a number with its spread over seeds, and a verdict. Pure but for reading jobs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from artist.errors import InputError
from artist.results.claims.schema import OTHERS, OVERHEAD, Claim
from artist.results.folder import Run
from artist.results.jobcolumns import TIERS, read_jobs
from artist.results.measures import BY_NAME, Estimate, estimated

SHOWN, SMALLER, OPEN, OPPOSITE, OFF, NOT_RUN = "shown", "smaller", "open", "opposite", "off", "not run"
VERDICTS = {
    SHOWN: "ours is at least as large as the paper's, or the interval reaches it",
    SMALLER: "the interval is on the side that the paper says, and does not reach its number",
    OPEN: "the interval lies on both sides: these runs do not settle it",
    OPPOSITE: "the interval is on the other side",
    OFF: "a number that is neither within what the claims file allows nor rounds to the paper's",
    NOT_RUN: "no such runs are here",
}


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
class Result:
    """What the runs say of a claim.

    Attributes
    ----------
    ours
        The change, or the number, that the verdict is about; mean over seeds, with its interval.
    along
        The same at each value that was swept over.
    seeds
        How many.
    """

    claim: Claim
    verdict: str
    ours: Estimate
    along: tuple[tuple[str, Estimate], ...] = ()
    seeds: int = 0


def evaluate(claim: Claim, evidence: Sequence[Evidence]) -> Result:
    """Return what runs of one setting say of a claim.

    The change is taken seed by seed, for the same jobs, and then averaged. With `take: each` the claim has to
    hold at every value, so the verdict is about the weakest.

    Raises
    ------
    InputError
        If two runs fit the same place in a claim.
    """
    there = [each for each in evidence if _fits(claim.where, each.facts)]
    by_place: dict[tuple[int, str], dict[str, float]] = {}
    names: set[str] = set()
    for each in there:
        number = each.number(claim)
        policy = each.facts["policy"] if claim.policy is not None else ""
        if claim.against != OTHERS and policy not in (claim.policy or "", claim.against):
            continue
        names.add(policy)
        if number is None:
            continue
        seed = int(each.run.summary["seed"])
        place = by_place.setdefault((seed, each.facts.get(claim.along or "", "")), {})
        if policy in place and claim.metric != OVERHEAD:
            what = f"several runs of {policy or 'one kind'} with seed {seed} fit a claim: {claim.says}"
            allowed = "the runs of one sweep, or more in `where` of the claim"
            raise InputError(what, where="--claims", found=str(each.run.folder), allowed=allowed)
        place[policy] = number
    numbers = {
        place: value for place, row in by_place.items() if (value := _number(claim, row, names)) is not None
    }
    if not numbers:
        return Result(claim, NOT_RUN, Estimate())
    seeds = sorted({seed for seed, _ in numbers})
    values = sorted({value for _, value in numbers}, key=_natural)
    along = tuple(
        (value, estimated([numbers[seed, value] for seed in seeds if (seed, value) in numbers]))
        for value in values
    )
    ours = _taken(claim, numbers, seeds, along)
    return Result(claim, _verdict(claim, ours), ours, along if claim.along else (), len(seeds))


def _number(claim: Claim, row: Mapping[str, float], names: set[str]) -> float | None:
    """Return the number of a claim at one place: the change, or the metric itself."""
    mine = row.get(claim.policy or "")
    if mine is None or claim.against is None:
        return mine
    if claim.against == OTHERS:
        if len(names) < 2 or set(row) != names:
            return None
        rest = [value for policy, value in row.items() if policy != claim.policy]
        other = max(rest) if claim.paper == "higher" else min(rest)
    elif claim.against in row:
        other = row[claim.against]
    else:
        return None
    return mine / other - 1 if other else None


def _taken(
    claim: Claim,
    numbers: Mapping[tuple[int, str], float],
    seeds: Sequence[int],
    along: Sequence[tuple[str, Estimate]],
) -> Estimate:
    """Return the estimate that the verdict is about."""
    sign = _sign(claim)
    if claim.take == "best":
        best = max if sign > 0 else min
        return estimated([best(value for (at, _), value in numbers.items() if at == seed) for seed in seeds])
    return min((each for _, each in along), key=lambda each: sign * (each.mean or 0.0))


def _verdict(claim: Claim, ours: Estimate) -> str:
    assert ours.mean is not None
    low = ours.mean if ours.low is None else ours.low
    high = ours.mean if ours.high is None else ours.high
    if claim.against is None:
        assert isinstance(claim.paper, float)
        apart = abs(ours.mean - claim.paper)
        return SHOWN if apart <= max(claim.within * abs(claim.paper), claim.printed / 2) else OFF
    sign = _sign(claim)
    near, far = (low, high) if sign > 0 else (-high, -low)  # both positive: settled as the paper says
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
    return all(facts.get(key) == str(value) for key, value in where.items())


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            flat |= _flat(item, f"{prefix}{key}.")
        else:  # of a file its name says which it is
            flat[f"{prefix}{key}"] = Path(str(item)).name if key == "path" else str(item)
    return flat


def _natural(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return math.inf, text
