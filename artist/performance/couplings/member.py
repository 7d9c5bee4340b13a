"""A job of a group, as its neighbours see it."""

from typing import NamedTuple

from artist.core.cluster import Allocation
from artist.core.iteration import IterationParts
from artist.core.job import Stages


class Member(NamedTuple):
    """A job of a group: its allocation, and its iteration without the others.

    Attributes
    ----------
    input_ns
        Time of CPUs and storage to feed an iteration (`feeding`); 0 where jobs need none.
    """

    allocation: Allocation
    alone: IterationParts
    stages: Stages
    gpu_utilization: float
    input_ns: int = 0
