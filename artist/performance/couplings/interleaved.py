"""Jobs interleaved on the same GPUs, under one clock."""

from collections.abc import Sequence
from functools import cache

from artist.core.cluster import ORDERINGS, Group
from artist.core.iteration import IterationParts
from artist.performance.couplings.member import Member
from artist.performance.formulas.interleaving import Clock, Loading


class Interleaved:
    """Every member's iteration takes the time T of the group, and no less than the slowest takes alone.

    Nor less than the CPUs and storage of the group take to feed all members, one after another: another
    estimate of the CPU and storage stages, so the longer of the two counts, not their sum.

    A member alone in its group takes its measured time: jobs pipeline their stages, whose sum is 86 to
    113 % of it.

    Parameters
    ----------
    slowdown
        By how much groups of 2, 3, ... jobs take longer than T.
    loading
        Whether reading and preparing are one stage of two steps or two of one.
    """

    def __init__(self, slowdown: tuple[float, ...] = (), loading: Loading = "split") -> None:
        clocks = {ordering: Clock(slowdown, ordering, loading) for ordering in ORDERINGS}
        self._clock_ns = {ordering: cache(clock.group_ns) for ordering, clock in clocks.items()}

    def parts(self, members: Sequence[Member], group: Group) -> list[IterationParts]:
        """Return the parts of each member's iteration, in order."""
        if len(members) == 1:
            return [members[0].alone]
        clock_ns = self._clock_ns[group.ordering](tuple(sorted(member.stages for member in members)))
        fed_ns = sum(member.input_ns for member in members)
        period_ns = max(clock_ns, fed_ns, *(sum(member.alone) for member in members))
        return [m.alone._replace(sharing_ns=period_ns - sum(m.alone)) for m in members]
