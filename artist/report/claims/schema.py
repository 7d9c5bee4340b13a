"""The file of a paper's claims, as it is read."""

import os
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from artist.errors import InputError
from artist.results.measures import ALL_METRICS, BY_NAME
from netmodels.inputs.naming import allowed_names
from netmodels.inputs.schema import first_problem, read_yaml

# What claims may be about besides the columns of table.csv.
OVERHEAD, THROUGHPUT, WORST_HOUR = "overhead", "normalised_throughput", "queued_worst_hour"  # numbers
STEPS, ITERATIONS = COUNTS = ("allocator_steps", "allocator_iterations")
JOB_BY_JOB, BEST_JOB = "jct_job_by_job_s", "jct_of_best_job_s"  # to be compared
RACK_TIMER, QUEUE_LENGTH = "rack_timer_mean_h", "queue_length_mean"
NUMBERS = (OVERHEAD, THROUGHPUT, WORST_HOUR, *COUNTS)
SHARES = tuple(metric.name for metric in ALL_METRICS if metric.quantity == "fraction")  # numbers, too
_OWN_CHANGES = (JOB_BY_JOB, BEST_JOB, RACK_TIMER, QUEUE_LENGTH)
CHANGES = (*_OWN_CHANGES, *BY_NAME)


def _no_flag(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a number, not yes or no")
    return value


def _several(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


def _no_empty(where: dict[str, object]) -> dict[str, object]:
    if () in where.values():
        raise ValueError("a key needs a value, or several")
    return where


def _who(value: object) -> object:
    """Return a policy from its name, or from its name beside settings."""
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, Mapping) and "where" not in value:
        return {"name": value.get("name"), "where": {k: v for k, v in value.items() if k != "name"}}
    return value


Number = Annotated[float, BeforeValidator(_no_flag), Field(allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1, pattern=r"^[^\r\n]*$")]
Value = str | int | float | bool
Where = Annotated[dict[str, Value | tuple[Value, ...]], AfterValidator(_no_empty)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Who(_Part):
    """A policy of ours: its name, and settings of the run if they matter.

    In a file it is the name, or a mapping of `name` and config keys:
    `{name: dally, policy.renewal: literal}`.
    """

    name: Text
    where: Where = Field(default_factory=dict)


Policy = Annotated[Who, BeforeValidator(_who)]


class Claim(_Part):
    """One claim: how far a number of a policy is from those of others; or the number, compared with nothing.

    Attributes
    ----------
    says, source
        In words, and the places in the paper, one or several.
    where
        Which runs it is about: config keys, and the value or values of each, "" for a key that a run does not
        have; `arrivals` is batch (all at once) or spread.
    policy
        Whose number.
    against
        The policy of comparison, or several, of which the best counts.
    against_where
        Which runs of those, if not the ones of `where`; then `along` is about `policy` only.
    metric
        A column of table.csv, `jct_job_by_job_s` (the change of each job's JCT, median over jobs, CPU-only
        ones aside: below 0 if most complete sooner), `jct_of_best_job_s` (the least of these changes),
        `rack_timer_mean_h` (of Dally: mean over time and demands) or `queue_length_mean` (waiting jobs, mean
        over the time in which the measured jobs arrive). Or a number:
        `overhead`, exposed communication over compute of the jobs of a `model` that were mostly on a `tier`;
        `normalised_throughput`, of the jobs of a `model` or summed over all; `allocator_steps`, the mean
        number that CODA's allocator measured for a job of a `model`, `allocator_iterations` those that it ran
        meanwhile; `queued_worst_hour`, the largest share of the jobs of an hour that had to wait; a column
        that is a share, where it is compared with nothing. Where the paper's words allow several metrics, the
        first decides.
    than_where
        Runs whose change this one is compared with: -0.1 means that ours relative to the others is 10 % less
        here than there. Jobs are the same within a change; here and there they may be others.
    along, values, take
        A config key that was swept over, the values that the claim is about, and how: `best`, the one with
        the best mean; `each`, all of them.
    paper
        The claimed value: a change relative to `against` (-0.69: 69 % less), or two, the weakest and the
        strongest; `lower` or `higher`, if no number is given; `same` for none, `not higher` for none or less.
        Or the number.
    within, printed
        How far ours may be from a number, as a fraction of it, and its last printed digit; or how far a
        change may be from none.
    fitted
        Whether profiles, the trace or its load were chosen to reproduce it: an input, not a result.
    unqueued
        Whether it is a claim without queueing, too: jobs themselves get faster, by CPUs for example.
    """

    says: Text
    source: Annotated[tuple[Text, ...], BeforeValidator(_several), Field(min_length=1)]
    metric: Annotated[tuple[str, ...], BeforeValidator(_several), Field(min_length=1)]
    paper: Number | tuple[Number, Number] | Literal["lower", "higher", "same", "not higher"]
    where: Where = Field(default_factory=dict)
    policy: Policy | None = None
    against: Annotated[tuple[Policy, ...], BeforeValidator(_several)] = ()
    against_where: Where | None = None
    than_where: Where | None = None
    along: str | None = None
    values: tuple[Value, ...] = ()
    take: Literal["best", "each"] | None = None
    model: str | None = None
    tier: Literal["machine", "rack", "network"] | None = None
    within: Annotated[float, Field(ge=0)] = 0.15
    printed: Annotated[float, Field(ge=0)] = 0.0
    fitted: bool = False
    unqueued: bool = False

    @property
    def weakest(self) -> float | None:
        """Return the number of the paper, of two the one nearer to 0; None if it gives none."""
        if isinstance(self.paper, str):
            return None
        return self.paper if isinstance(self.paper, float) else min(self.paper, key=abs)

    @property
    def sign(self) -> int:
        """Return on which side of none the claimed change is."""
        if isinstance(self.paper, str):
            return 1 if self.paper == "higher" else -1
        return 1 if (self.weakest or 0.0) > 0 else -1

    def by(self, metric: str) -> "Claim":
        """Return the claim about one of its metrics alone."""
        return self.model_copy(update={"metric": (metric,)})

    def under(self, reading: Mapping[str, Who]) -> "Claim":
        """Return the claim with policies replaced by those of a reading."""

        def read(policy: Who) -> Who:
            other = reading.get(policy.name)
            return policy if other is None else Who(name=other.name, where=policy.where | other.where)

        policy = self.policy and read(self.policy)
        return self.model_copy(update={"policy": policy, "against": tuple(map(read, self.against))})

    def places(self) -> Iterator[tuple[object, ...]]:
        """Yield the numbers that it is about, by metric and swept value; no two claims share one."""
        of_each = self.take == "each"
        named = [(policy.name, _sorted(policy.where)) for policy in (self.policy, *self.against) if policy]
        kept = (named, _sorted(self.against_where), _sorted(self.than_where), self.model, self.tier)
        along = () if of_each or not self.along else (self.along, self.values, self.take)
        swept: list[Where] = [{self.along: value} for value in self.values if of_each and self.along]
        for metric in self.metric:
            for at in swept or [{}]:
                yield metric, str(kept), str(along), str(_sorted(self.where | at))

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for metric in self.metric:
            if metric not in NUMBERS and metric not in CHANGES:
                known = ", ".join((*NUMBERS, *_OWN_CHANGES))
                raise ValueError(f"metric {metric!r} is neither one of {known} nor a column of table.csv")
        alone = SHARES if not self.against and self.against_where is None else ()
        numbers = {metric in NUMBERS or metric in alone for metric in self.metric}
        if len(numbers) > 1:
            raise ValueError("a claim is about a number or a change, not both")
        self._check_number() if True in numbers else self._check_change()
        if len({self.along is None, self.take is None, not self.values}) > 1:
            raise ValueError("along, values and take come together")
        return self

    def _check_number(self) -> None:
        if (
            self.against
            or self.against_where
            or self.than_where
            or self.along
            or not isinstance(self.paper, float)
        ):
            raise ValueError("a number is one number, compared with nothing and swept over nothing")
        if OVERHEAD in self.metric and (self.model is None or self.tier is None):
            raise ValueError(f"metric {OVERHEAD} has a model and a tier")
        for metric in COUNTS:
            if metric in self.metric and self.model is None:
                raise ValueError(f"metric {metric} has a model")
        if not set(self.metric).issubset(NUMBERS):
            self._check_of_all_jobs()

    def _check_of_all_jobs(self) -> None:
        if self.model is not None or self.tier is not None:
            raise ValueError(f"only {' and '.join(NUMBERS)} have a model or a tier")

    def _check_change(self) -> None:
        self._check_of_all_jobs()
        with_itself = self.policy in self.against and self.against_where is None
        if self.policy is None or not self.against or with_itself:
            raise ValueError("a change is a policy's, against other policies, or where something else holds")
        if self.than_where is not None and (self.along or self.against_where is not None):
            raise ValueError("than_where goes with neither along nor against_where")
        for metric in (JOB_BY_JOB, BEST_JOB):
            if metric in self.metric and len(self.against) > 1:
                raise ValueError(f"metric {metric} is compared with one policy")
        ends = self.paper if isinstance(self.paper, tuple) else (self.paper,)
        changes = [end for end in ends if isinstance(end, float)]
        if self.fitted and self.paper in ("same", "not higher"):
            raise ValueError("nothing is fitted to no change")
        if any(end < -1 or end == 0 or (end > 0) != (changes[0] > 0) for end in changes):
            raise ValueError("a change is a fraction: -0.69 for 69 % less, and both ends on one side of 0")


def _sorted(where: Where | None) -> list[tuple[str, object]] | None:
    return where if where is None else sorted(where.items(), key=lambda item: item[0])


class Panel(_Part):
    """A panel of a figure of the paper: bars in groups, or the points of curves.

    Attributes
    ----------
    says, axis
        Labels of its vertical axis, and of its groups.
    metric, unit
        A column of table.csv and the unit that the paper gives it in; times for a bar divided by `against`,
        speedup for `against` divided by the bar.
    groups
        Where the bars of each group are run; null for runs that we cannot make.
    bars
        The policy of each bar, by the paper's name.
    against
        The policy that a bar is compared with, in the same group.
    against_where
        Where that one is run, if it is the same for all groups.
    paper
        For each bar its values in the order of the groups, null where it gives none.
    """

    says: Text
    metric: Text
    groups: Annotated[dict[Text, Where | None], Field(min_length=1)]
    bars: Annotated[dict[Text, Policy], Field(min_length=1)]
    paper: dict[Text, tuple[Number | None, ...]]
    axis: str = ""
    unit: Literal["times", "speedup", "%", "h", "s", ""] = "times"
    against: Policy | None = None
    against_where: Where | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.metric not in (QUEUE_LENGTH, *BY_NAME):
            raise ValueError(f"metric {self.metric!r} is neither {QUEUE_LENGTH} nor a column of table.csv")
        if (self.unit in ("times", "speedup")) != (self.against is not None):
            raise ValueError("a ratio has the unit times or speedup, and names a policy that it is against")
        if self.paper.keys() != self.bars.keys():
            raise ValueError("the paper has values for each bar, and for no other")
        if any(len(values) != len(self.groups) for values in self.paper.values()):
            raise ValueError("the paper has a value, or null, for each group")
        return self


class PaperFigure(_Part):
    """A figure or table of the paper.

    Attributes
    ----------
    name, says
        Such as `Fig. 9`, and its caption.
    read
        Where its numbers were read, and how exactly.
    ours
        How our runs differ, in a sentence.
    """

    name: Annotated[str, Field(pattern=r"^(Fig\.|Table) \w+$")]
    says: Text
    read: Text
    ours: str = ""
    panels: Annotated[tuple[Panel, ...], Field(min_length=1)]


class ClaimFile(_Part):
    """All claims of a paper.

    Attributes
    ----------
    paper
        Its title.
    notes
        A note for readers of the table.
    readings
        How the paper's text may be read where it leaves room: for each reading which policies of the claims
        stand for which others. The first decides.
    figures
        Its figures as numbers, to be drawn beside ours.
    """

    paper: str
    notes: tuple[Text, ...] = ()
    readings: dict[Text, dict[str, Policy]] = Field(default_factory=dict)
    claims: Annotated[tuple[Claim, ...], Field(min_length=1)]
    figures: tuple[PaperFigure, ...] = ()

    @model_validator(mode="after")
    def _once(self) -> Self:
        seen: dict[tuple[object, ...], str] = {}
        for claim in self.claims:
            for place in claim.places():
                other = seen.setdefault(place, claim.says)
                if other != claim.says:
                    raise ValueError(
                        f"{other!r} and {claim.says!r} are about the same number of the same runs: one claim "
                        "with several sources"
                    )
        return self


def papers() -> list[str]:
    """Return the names of the files that ship."""
    return sorted(
        Path(file.name).stem for file in files(__package__).iterdir() if file.name.endswith(".yaml")
    )


def read_claims(name: str) -> ClaimFile:
    """Read the claims of a paper: the name of a file that ships, or the path of another.

    Raises
    ------
    InputError
        With file, field, the value found and the values allowed.
    """
    shipped = papers()
    path = Path(str(files(__package__).joinpath(f"{name}.yaml"))) if name in shipped else Path(name)
    if name not in shipped and not path.suffix and not os.path.exists(path):
        listed, _, near = allowed_names(name, shipped).partition("; ")
        allowed = "; ".join([f"{listed}, or a file like theirs", *([near] if near else [])])
        raise InputError("no such claims", where="--claims", found=name, allowed=allowed)
    content = read_yaml(path, "claims")
    try:
        return ClaimFile.model_validate(content)
    except ValidationError as error:
        fields = sorted({*ClaimFile.model_fields, *Claim.model_fields})
        raise first_problem(error, name, fields) from None
