"""The file of a paper's claims, as it is read."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from artist.errors import InputError
from artist.results.measures import BY_NAME

OVERHEAD = "overhead"


def _no_flag(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a number, not yes or no")
    return value


Number = Annotated[float, BeforeValidator(_no_flag), Field(allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1, pattern=r"^[^\r\n]*$")]
Value = str | int | float | bool


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Claim(_Part):
    """One claim: how far a number of a policy is from those of others; or, of an overhead, the number.

    Attributes
    ----------
    says, source
        In words, and where the paper says it.
    where
        Which runs it is about: config keys, and the value or values of each, "" for a key that a run does not
        have; `arrivals` is batch (all at once) or spread.
    policy
        Whose number.
    against
        What it is compared with: a policy, or several, of which the best counts.
    against_where
        Which runs of those, if not the ones of `where`; then `along` is about `policy` only.
    metric
        A column of table.csv; or `overhead`, exposed communication over compute of the jobs of a `model`
        that were mostly on a `tier`, which is compared with nothing.
    along, values, take
        A config key that was swept over, the values that the claim is about, and how: `best`, the one with
        the best mean; `each`, all of them.
    paper
        What is claimed: a change relative to `against` (-0.69: 69 % less), or two, the weakest and the
        strongest; `lower` or `higher`, if no number is given; `same` for none. Of an overhead the number.
    within, printed
        How far ours may be from an overhead, as a fraction of it, and its last printed digit; or how far a
        change may be from none.
    fitted
        Whether the overhead was an input of the calibration.
    """

    says: Text
    source: Text
    metric: str
    paper: Number | tuple[Number, Number] | Literal["lower", "higher", "same"]
    where: dict[str, Value | tuple[Value, ...]] = Field(default_factory=dict)
    policy: str | None = None
    against: str | tuple[str, ...] | None = None
    against_where: dict[str, Value | tuple[Value, ...]] | None = None
    along: str | None = None
    values: tuple[Value, ...] = ()
    take: Literal["best", "each"] | None = None
    model: str | None = None
    tier: Literal["machine", "rack", "network"] | None = None
    within: Annotated[float, Field(ge=0)] = 0.15
    printed: Annotated[float, Field(ge=0)] = 0.0
    fitted: bool = False

    @property
    def others(self) -> tuple[str, ...]:
        """Return the policies that it is compared with."""
        return (self.against,) if isinstance(self.against, str) else self.against or ()

    @model_validator(mode="after")
    def _whole(self) -> Self:
        overhead = self.metric == OVERHEAD
        if not overhead and self.metric not in BY_NAME:
            raise ValueError(f"metric {self.metric!r} is neither {OVERHEAD} nor a column of table.csv")
        if overhead != (self.model is not None and self.tier is not None):
            raise ValueError(f"metric {OVERHEAD} has a model and a tier, and no other metric has")
        if any(value == () for where in (self.where, self.against_where or {}) for value in where.values()):
            raise ValueError("a key in where needs a value, or several")
        compared = self.others or self.against_where or self.along
        if overhead and (compared or not isinstance(self.paper, float)):
            raise ValueError("an overhead is one number, compared with nothing and swept over nothing")
        with_itself = self.policy in self.others and self.against_where is None
        if not overhead and (self.policy is None or not self.others or with_itself):
            raise ValueError("a change is a policy's, against other policies, or where something else holds")
        if len({self.along is None, self.take is None, not self.values}) > 1:
            raise ValueError("along, values and take come together")
        ends = self.paper if isinstance(self.paper, tuple) else (self.paper,)
        changes = [end for end in ends if isinstance(end, float)] if not overhead else []
        if any(end < -1 or end == 0 or (end > 0) != (changes[0] > 0) for end in changes):
            raise ValueError("a change is a fraction: -0.69 for 69 % less, and both ends on one side of 0")
        return self


class ClaimFile(_Part):
    """All claims of a paper.

    Attributes
    ----------
    paper
        Its title.
    notes
        What a reader of the table should know.
    """

    paper: str
    notes: tuple[Text, ...] = ()
    claims: Annotated[tuple[Claim, ...], Field(min_length=1)]


def read_claims(name: str) -> ClaimFile:
    """Read the claims of a paper: the name of a file that ships, or the path of another.

    Raises
    ------
    InputError
        With file, field, the value found and what is allowed.
    """
    here = files(__package__)
    shipped = sorted(Path(each.name).stem for each in here.iterdir() if each.name.endswith(".yaml"))
    try:
        source = here.joinpath(f"{name}.yaml") if name in shipped else Path(name)
        content: Any = yaml.safe_load(source.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        found = " ".join(str(error).split())
        raise InputError("malformed YAML", where=name, found=found, allowed="a file of claims") from None
    except (OSError, ValueError) as error:
        allowed = f"{', '.join(shipped)}, or a file of claims"
        raise InputError("no claims can be read", where="--claims", found=name, allowed=allowed) from error
    try:
        return ClaimFile.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the whole file"
        allowed = "a file like artist/report/claims/dally.yaml"
        raise InputError(
            f"{field}: {first['msg']}", where=name, found=first["input"], allowed=allowed
        ) from None
