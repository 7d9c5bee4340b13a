"""What jobs of one group do to each other's iterations: packed, each at its own rate, or interleaved.

Packed jobs run as they like and fill each other's idle time (`artist.performance.packing`); opportunistic
ones get only what the others leave idle (`artist.performance.opportunistic`). Interleaved jobs run stage by
stage under one clock (`artist.performance.interleaving`): every iteration of every member takes the same
time. Which of the two holds is how the scheduler runs a group, and one choice a run.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, Protocol

from artist.core.cluster import Allocation, Group
from artist.core.job import Stages
from artist.performance.api import IterationParts
from artist.performance.interleaving import Clock
from artist.performance.opportunistic import slowdowns
from artist.performance.packing import busy_share


class Member(NamedTuple):
    """A job of a group: what it holds, and what its iteration would be without the others."""

    allocation: Allocation
    alone: IterationParts
    stages: Stages
    gpu_utilization: float


class Sharing(Protocol):
    """A way to share GPUs."""

    def parts(self, members: Sequence[Member], group: Group) -> list[IterationParts]:
        """Return the parts of each member's iteration, in order; `members` has all of the group."""


class Packed:
    """Members fill each other's idle time.

    Where they would keep more GPUs busy than the group has on some machine, all iterations take longer by
    that ratio. Members that never leave a GPU idle take turns without loss. Opportunistic ones get only the
    time that the others leave idle.

    Parameters
    ----------
    interference
        What packed jobs lose to each other in caches and memory, as a share of their iteration, where
        members hold more GPUs than the group has.
    """

    def __init__(self, interference: float = 0.0) -> None:
        self._interference = interference

    def parts(self, members: Sequence[Member], group: Group) -> list[IterationParts]:
        """Return the parts of each member's iteration, in order."""
        busy: dict[int, tuple[list[float], list[float]]] = {}  # GPUs that each would keep busy, by machine
        held: dict[int, int] = {}
        for member in members:
            share = busy_share(member.alone.compute_ns, sum(member.alone), member.gpu_utilization)
            for s in member.allocation.slices:
                busy.setdefault(s.machine, ([], []))[member.allocation.opportunistic].append(share * s.gpus)
                held[s.machine] = held.get(s.machine, 0) + s.gpus
        slower = {m: slowdowns(*busy[m], gpus) for m, gpus in group.gpus if m in busy}
        crowded = {m for m, gpus in group.gpus if held.get(m, 0) > gpus}
        return [self._among_others(member, slower, crowded) for member in members]

    def _among_others(
        self, own: Member, slower: Mapping[int, tuple[float, float]], crowded: Set[int]
    ) -> IterationParts:
        alone, here = own.alone, [s.machine for s in own.allocation.slices if s.gpus]
        times = max((slower[m][own.allocation.opportunistic] for m in here), default=1.0)
        sharing, interference = round(sum(alone) * (times - 1)), alone.interference_ns
        if self._interference and not crowded.isdisjoint(here):
            interference += round((sum(alone) + sharing) * self._interference)
        return alone._replace(interference_ns=interference, sharing_ns=sharing)


class Interleaved:
    """Every member's iteration takes the time T of the group, and no less than the slowest takes alone.

    A member alone in its group takes its measured time: jobs pipeline their stages, whose sum is 86 to
    113 % of it.

    Parameters
    ----------
    clock
        How long an iteration of a group takes.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[tuple[Stages, ...], int] = {}

    def parts(self, members: Sequence[Member], group: Group) -> list[IterationParts]:
        """Return the parts of each member's iteration, in order."""
        if len(members) == 1:
            return [members[0].alone]
        stages = tuple(sorted(member.stages for member in members))
        clock_ns = self._known.get(stages)
        if clock_ns is None:
            clock_ns = self._known[stages] = self._clock.group_ns(stages)
        period_ns = max(clock_ns, *(sum(member.alone) for member in members))
        return [m.alone._replace(sharing_ns=period_ns - sum(m.alone)) for m in members]
