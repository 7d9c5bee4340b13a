"""What jobs of one group do to each other's iterations: packed, each at its own rate, or interleaved.

Packed jobs run as they like and fill each other's idle time (`artist.performance.packing`). Interleaved ones
run stage by stage under one clock (`artist.performance.interleaving`): every iteration of every member takes
the same time. Which of the two holds is how the scheduler runs a group, and one choice a run.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from artist.core.cluster import Allocation, Group
from artist.core.job import Stages
from artist.performance.api import IterationParts
from artist.performance.interleaving import MEASURED_CONTENTION, Ordering, group_ns
from artist.performance.packing import busy_share, slowdown


class Member(NamedTuple):
    """A job of a group: what it holds, and what its iteration would be without the others."""

    allocation: Allocation
    alone: IterationParts
    stages: Stages
    gpu_utilization: float


class Sharing(Protocol):
    """A way to share GPUs."""

    def parts(self, own: Member, members: Sequence[Member], group: Group) -> IterationParts:
        """Return the parts of a member's iteration; `members` has all of the group, in order of arrival."""


class Packed:
    """Members fill each other's idle time.

    Where they would keep more GPUs busy than the group has on some machine, all iterations take longer by
    that ratio. Members that never leave a GPU idle take turns without loss.

    Parameters
    ----------
    interference
        What packed jobs lose to each other in caches and memory, as a share of their iteration, where
        members hold more GPUs than the group has.
    """

    def __init__(self, interference: float = 0.0) -> None:
        self._interference = interference

    def parts(self, own: Member, members: Sequence[Member], group: Group) -> IterationParts:
        """Return the parts of a member's iteration."""
        busy: dict[int, list[float]] = {}  # GPUs that each member would keep busy, by machine
        held: dict[int, int] = {}
        for member in members:
            share = busy_share(member.alone.compute_ns, sum(member.alone), member.gpu_utilization)
            for s in member.allocation.slices:
                busy.setdefault(s.machine, []).append(share * s.gpus)
                held[s.machine] = held.get(s.machine, 0) + s.gpus
        has = dict(group.gpus)
        here = [s.machine for s in own.allocation.slices if s.gpus]
        slower = max((slowdown(busy[m], has[m]) for m in here), default=1.0)
        alone = own.alone
        sharing = round(sum(alone) * (slower - 1))
        interference = alone.interference_ns
        if self._interference and any(held[m] > has[m] for m in here):
            interference += round((sum(alone) + sharing) * self._interference)
        return alone._replace(interference_ns=interference, sharing_ns=sharing)


class Interleaved:
    """Every member's iteration takes the time T of the group, and no less than the slowest takes alone.

    A member alone in its group takes its measured time: jobs pipeline their stages, whose sum is 86 to
    113 % of it.

    Parameters
    ----------
    contention
        By how much groups of 2, 3, 4 jobs take longer than T, which knows no contention.
    ordering
        Whether members run in their best or in their worst ordering.
    """

    def __init__(
        self, contention: Sequence[float] = MEASURED_CONTENTION, ordering: Ordering = "best"
    ) -> None:
        self._contention = tuple(contention)
        self._ordering: Ordering = ordering
        self._known: dict[tuple[Stages, ...], int] = {}

    def parts(self, own: Member, members: Sequence[Member], group: Group) -> IterationParts:
        """Return the parts of a member's iteration."""
        if len(members) == 1:
            return own.alone
        stages = tuple(sorted(member.stages for member in members))
        clock_ns = self._known.get(stages)
        if clock_ns is None:
            clock_ns = self._known[stages] = group_ns(stages, self._contention, self._ordering)
        slowest_ns = max(sum(member.alone) for member in members)
        return own.alone._replace(sharing_ns=max(clock_ns, slowest_ns) - sum(own.alone))
