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
    that ratio; so they do where they would keep the storage, CPUs or network that come with the GPUs busy for
    more than all of the time. Members that never leave a GPU idle take turns without loss. Opportunistic ones
    get only the time that the others leave idle.

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
        there: dict[int, list[tuple[bool, int, tuple[float, ...]]]] = {}  # by machine
        for member in members:
            shares, rest = _busy_shares(member), member.allocation.opportunistic
            for s in member.allocation.slices:
                there.setdefault(s.machine, []).append((rest, s.gpus, shares))
        slower = {m: _slowdowns(there[m], gpus) for m, gpus in group.gpus if m in there}
        crowded = {m for m, gpus in group.gpus if sum(held for _, held, _ in there.get(m, ())) > gpus}
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


def _busy_shares(member: Member) -> tuple[float, ...]:
    """Return the share of its iteration alone in which a job uses its GPUs, and each other resource."""
    alone_ns, stages = sum(member.alone), member.stages
    gpu = busy_share(member.alone.compute_ns, alone_ns, member.gpu_utilization)
    others = (stages.storage_ns, stages.cpu_ns, stages.network_ns)
    return gpu, *(min(1.0, used_ns / alone_ns) for used_ns in others)


def _slowdowns(here: Sequence[tuple[bool, int, tuple[float, ...]]], gpus: int) -> tuple[float, float]:
    """Return how many times longer iterations take on a machine, by the resource that is shortest.

    Parameters
    ----------
    here
        Of each member: whether it is opportunistic, the GPUs that it holds, its share of each resource.
    gpus
        Of the group on the machine.
    """
    slower = [1.0, 1.0]
    for resource in range(len(here[0][2])):
        busy: tuple[list[float], list[float]] = ([], [])
        for rest, held, shares in here:
            busy[rest].append(shares[resource] * held)
        slower = [*map(max, slower, slowdowns(*busy, gpus))]
    return slower[0], slower[1]


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
        self.clock = clock
        self._known: dict[tuple[Stages, ...], int] = {}

    def parts(self, members: Sequence[Member], group: Group) -> list[IterationParts]:
        """Return the parts of each member's iteration, in order."""
        if len(members) == 1:
            return [members[0].alone]
        stages = tuple(sorted(member.stages for member in members))
        clock_ns = self._known.get(stages)
        if clock_ns is None:
            clock_ns = self._known[stages] = self.clock.group_ns(stages)
        period_ns = max(clock_ns, *(sum(member.alone) for member in members))
        return [m.alone._replace(sharing_ns=period_ns - sum(m.alone)) for m in members]
