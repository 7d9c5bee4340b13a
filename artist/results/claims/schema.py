"""The file of a paper's claims, as it is read."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from artist.errors import InputError
from artist.results.measures import BY_NAME

OVERHEAD = "overhead"
OTHERS = "others"
Number = Annotated[float, Field(allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Claim(_Part):
    """One claim: how far a number of a policy is from that of others, or the number itself.

    Attributes
    ----------
    says, source
        In words, and where the paper says it.
    where
        Which runs it is about: config keys and values; `arrivals` is batch (all at once) or spread.
    policy
        Whose number.
    against
        What it is compared with: a policy, or `others` for the best of all other policies there. None: the
        number itself is claimed.
    metric
        A column of table.csv, or `overhead`: exposed communication over compute of the jobs of a `model`
        that were mostly on a `tier`.
    along
        A config key that is swept over; `take` says which of its values the claim is about: the `best` for
        the policy (the least metric, relative to `against`), or `each`.
    paper
        What is claimed: a change relative to `against` (-0.69: 69 % less), or two, the weakest and the
        strongest; `lower` or `higher`, if no number is given. Without `against` the number.
    within
        A number without `against` is met if ours is so near, as a fraction of it, or rounds to the printed.
    printed
        The last printed digit of such a number.
    """

    says: str
    source: str
    metric: str
    paper: Number | tuple[Number, Number] | Literal["lower", "higher"]
    where: dict[str, str | int | float | bool] = Field(default_factory=dict)
    policy: str | None = None
    against: str | None = None
    along: str | None = None
    take: Literal["best", "each"] | None = None
    model: str | None = None
    tier: Literal["machine", "rack", "network"] | None = None
    within: Annotated[float, Field(ge=0)] = 0.15
    printed: Annotated[float, Field(ge=0)] = 0.0

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.metric != OVERHEAD and self.metric not in BY_NAME:
            raise ValueError(f"metric {self.metric!r} is neither {OVERHEAD} nor a column of table.csv")
        if (self.metric == OVERHEAD) != (self.model is not None and self.tier is not None):
            raise ValueError(f"metric {OVERHEAD} has a model and a tier, and no other metric has")
        if (self.along is None) != (self.take is None):
            raise ValueError("along and take come together")
        if self.against is not None and self.policy is None:
            raise ValueError("what is compared with others is a policy's")
        if self.against is None and not isinstance(self.paper, float):
            raise ValueError("without `against` the paper's number is one number")
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
    notes: tuple[str, ...] = ()
    claims: Annotated[tuple[Claim, ...], Field(min_length=1)]


def read_claims(name: str) -> ClaimFile:
    """Read the claims of a paper: the name of a file that ships, or the path of another.

    Raises
    ------
    InputError
        With file, field, the value found and what is allowed.
    """
    path = Path(name)
    shipped = sorted(
        Path(each.name).stem for each in files(__package__).iterdir() if each.name.endswith(".yaml")
    )
    try:
        text = (
            files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
            if name in shipped
            else path.read_text(encoding="utf-8")
        )
        content: Any = yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        allowed = f"{', '.join(shipped)}, or a file of claims"
        raise InputError("no claims can be read", where="--claims", found=name, allowed=allowed) from error
    try:
        return ClaimFile.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the whole file"
        allowed = "a file like artist/results/claims/dally.yaml"
        raise InputError(
            f"{field}: {first['msg']}", where=name, found=first["input"], allowed=allowed
        ) from None
