"""Jobs packed on the same GPUs fill each other's idle time; opportunistic ones get the rest of it."""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from artist.core.cluster import Group
from artist.core.iteration import IterationParts
from artist.performance.couplings.member import Member
from artist.performance.formulas.opportunistic import slowdowns
from artist.performance.formulas.packing import busy_share, slowdown


class _Here(NamedTuple):
    """A member on one machine.

    Attributes
    ----------
    shares, fed
        Shares of its iteration alone in which it uses its GPUs and each other resource, and in which it is
        fed.
    """

    opportunistic: bool
    gpus: int
    shares: tuple[float, ...]
    fed: float


class Packed:
    """Members fill each other's idle time.

    If they would keep more GPUs busy than the group has on some machine, all iterations take longer by that
    ratio; likewise if they would keep the storage, CPUs or network that come with the GPUs busy for more than
    all of the time. Members that never leave a GPU idle take turns without loss. Opportunistic members get
    only the time that the others leave idle; but if the CPUs and storage that feed them are short, all
    members slow down alike, because nothing there tells them apart.

    Parameters
    ----------
    interference
        Loss of packed jobs to each other in caches and memory, as a share of their iteration, if members
        hold more GPUs than the group has.
    """

    def __init__(self, interference: float = 0.0) -> None:
        self._interference = interference

    def parts(self, members: Sequence[Member], group: Group) -> list[IterationParts]:
        """Return the parts of each member's iteration, in order."""
        there: dict[int, list[_Here]] = {}  # by machine
        for member in members:
            shares, rest = _busy_shares(member), member.allocation.opportunistic
            fed = min(1.0, member.input_ns / (sum(member.alone) or 1))
            for s in member.allocation.slices:
                there.setdefault(s.machine, []).append(_Here(rest, s.gpus, shares, fed))
        slower = {m: _slowdowns(there[m], gpus) for m, gpus in group.gpus if m in there}
        crowded = {m for m, gpus in group.gpus if sum(here.gpus for here in there.get(m, ())) > gpus}
        return [self._among_others(member, slower, crowded) for member in members]

    def _among_others(
        self, member: Member, slower: Mapping[int, tuple[float, float]], crowded: Set[int]
    ) -> IterationParts:
        alone, here = member.alone, [s.machine for s in member.allocation.slices if s.gpus]
        times = max((slower[m][member.allocation.opportunistic] for m in here), default=1.0)
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


def _slowdowns(here: Sequence[_Here], gpus: int) -> tuple[float, float]:
    """Return the slowdown of iterations on a machine, set by the scarcest resource.

    Parameters
    ----------
    gpus
        Of the group on the machine.
    """
    slower = [slowdown((member.fed * member.gpus for member in here), gpus)] * 2
    for resource in range(len(here[0].shares)):
        busy: tuple[list[float], list[float]] = ([], [])
        for member in here:
            busy[member.opportunistic].append(member.shares[resource] * member.gpus)
        slower = [*map(max, slower, slowdowns(*busy, gpus))]
    return slower[0], slower[1]
