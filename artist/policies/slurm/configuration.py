"""Partitions, and times as Slurm writes them; names are its own.

Source: the manual page slurm.conf(5) of Slurm 22.05.
"""

import re
from dataclasses import field
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.dataclasses import dataclass

from artist.core.job import UNLIMITED_NS
from artist.policies.parts.limits import Mode, Tres
from artist.policies.parts.parameters import STRICT
from artist.units import NS_PER_S

_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


def time_ns(text: str | float) -> int:
    """Return a time in ns: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]].

    INFINITE and UNLIMITED are `UNLIMITED_NS`.

    >>> time_ns("7-0") // (3600 * 10**9), time_ns("10") // 10**9, time_ns("00:10:00") // 10**9
    (168, 600, 600)
    """
    words = str(text).strip()
    if words.upper() in ("INFINITE", "UNLIMITED", "NONE"):
        return UNLIMITED_NS
    match = _TIME.fullmatch(words.removesuffix(".0"))
    if match is None:
        raise ValueError(
            "not a time; minutes, minutes:seconds, hours:minutes:seconds, days-hours or INFINITE"
        )
    days, first, second, third = match.groups()
    numbers = [int(first), int(second or 0), int(third or 0)]
    if days is None and third is None:
        numbers = [0, *numbers[:2]]  # minutes:seconds
    hours, minutes, seconds = numbers
    return ((int(days or 0) * 24 + hours) * 3600 + minutes * 60 + seconds) * NS_PER_S


def _checked_time(text: str | int) -> str | int:
    time_ns(text)
    return text


def _split(names: object) -> object:
    return tuple(names.split(",")) if isinstance(names, str) and names != "ALL" else names


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
Time = Annotated[str | int, AfterValidator(_checked_time)]


@dataclass(config=STRICT, frozen=True)
class Partition:
    """A partition: PartitionName and its keys in slurm.conf.

    Attributes
    ----------
    Nodes
        Names of machines, as a list or separated by commas; ALL for all machines.
    PriorityTier, PriorityJobFactor
        Tier, before any priority; factor of the priority.
    MaxTime, DefaultTime
        Limit of jobs: the most, and that of jobs without one.
    PreemptMode, GraceTime
        Whether its jobs may be preempted, and then wait again or end; seconds until they stop.
    OverSubscribe
        EXCLUSIVE: jobs have their nodes for themselves.
    LLN
        Whether jobs get the nodes with the most free CPUs.
    TRESBillingWeights
        Weight of cpu, mem (in GiB), gres/gpu and node in the usage for fair share; none: a CPU counts 1.
    """

    PartitionName: str
    Nodes: Names | Literal["ALL"] = "ALL"
    Default: bool = False
    PriorityTier: int = Field(default=1, ge=0, le=65533)
    PriorityJobFactor: int = Field(default=1, ge=0, le=65533)
    MaxTime: Time = "INFINITE"
    DefaultTime: Time | None = None
    PreemptMode: Mode | None = None
    GraceTime: float = Field(default=0, ge=0, le=4e9)
    OverSubscribe: Literal["NO", "EXCLUSIVE"] = "NO"
    LLN: bool = False
    TRESBillingWeights: Tres = field(default_factory=dict)
