"""Future starts of waiting jobs, and the nodes that are reserved for them."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from functools import reduce
from itertools import pairwise
from operator import and_

from artist.core.job import UNLIMITED_NS
from artist.policies.slurm.job import Job
from artist.policies.slurm.nodes import Nodes
from artist.units import NS_PER_S

_WINDOW_NS = 30 * NS_PER_S


def earliest(nodes: Nodes, job: Job, among: int, without: Collection[int] = ()) -> int | None:
    """Return the start of a job by the limits of the running ones, 0 for now; None for never.

    Running jobs on the nodes `among` are removed in order of their ends, until the job fits. It is tried at
    the end of each window only. The first window ends 30 s after the first end, rounded up to 30 s of
    absolute time; each later one is twice as long, and is doubled further until it reaches the next end.
    A window is over when the next job of all, wherever it runs, ends later. The start is the last end in it.

    Parameters
    ----------
    without
        Running jobs that may be preempted: the job may start now once they are gone.
    """
    if any((nodes.able_by(job.need, 0, gone) & among).bit_count() >= job.nodes for gone in ((), without)):
        return 0
    uses = [use for use in nodes.uses if use.job not in without] if without else nodes.uses
    soonest_ns = nodes.soonest(job.need, job.nodes, among, without)
    if soonest_ns >= UNLIMITED_NS:
        return None
    at, anchor_ns, window_ns = 0, -1, _WINDOW_NS
    while at < len(uses):
        last_ns = -1
        while at < len(uses):
            use = uses[at]
            at += 1
            if not use.nodes & among:
                continue
            last_ns = use.end_ns
            if anchor_ns < 0:
                anchor_ns = (last_ns // _WINDOW_NS + 1) * _WINDOW_NS
            if at < len(uses) and uses[at].end_ns > anchor_ns + window_ns:
                break
        if last_ns >= soonest_ns:
            return last_ns if last_ns < UNLIMITED_NS else None
        while at < len(uses) and uses[at].end_ns > anchor_ns + window_ns:
            window_ns *= 2
    return None


def chosen_at(start_ns: int, nodes: Nodes, job: Job, among: int, without: Collection[int] = ()) -> int:
    """Return the nodes of a job that starts at its `earliest`."""
    able = nodes.able_by(job.need, start_ns) & among
    gone = without if start_ns or able.bit_count() < job.nodes else ()
    able = nodes.able_by(job.need, start_ns, gone) & among
    return nodes.choose(able, job.nodes, start_ns, gone, spread=job.partition.LLN)


class NodeSpace:
    """Nodes without a reservation, by time, in consecutive periods.

    A reservation takes whole nodes, also for a job of one GPU.

    Attributes
    ----------
    records
        Size of Slurm's table: periods made, those merged since included.
    """

    def __init__(self, begin_ns: int, end_ns: int, nodes: int) -> None:
        self._begin_ns, self.end_ns = begin_ns, end_ns
        self._ends, self._free = [end_ns], [nodes]  # by period
        self._more: list[int] = []  # nodes of the next period that this one does not have
        self.records = 1

    def reserve(self, begin_ns: int, end_ns: int, nodes: int) -> None:
        """Take nodes from a time to another, if that begins before the end of the table."""
        ends, free = self._ends, self._free
        begin_ns = max(begin_ns, self._begin_ns)
        first = at = bisect_left(ends, begin_ns)
        if first == len(ends):
            return
        self._split(first, begin_ns)
        while at + 1 < len(ends) and ends[at] < end_ns:
            at += 1
            self._split(at, end_ns)
            free[at] &= ~nodes
        for before in range(max(first - 1, 0), min(at + 1, len(ends) - 1)):
            if free[before] == free[before + 1]:
                del ends[before], free[before]
                break
        self._more = [after & ~now for now, after in pairwise(free)]

    def _split(self, period: int, at_ns: int) -> None:
        """Split a period at a time, if that is before its end."""
        if at_ns < self._ends[period]:
            self._ends.insert(period, at_ns)
            self._free.insert(period, self._free[period])
            self.records += 1

    def free(self, begin_ns: int, end_ns: int, among: int = -1) -> int:
        """Return the nodes of a set without a reservation from a time to another, both included."""
        ends = self._ends
        return reduce(and_, self._free[bisect_right(ends, begin_ns) : bisect_right(ends, end_ns) + 1], among)

    def first_free(
        self, begin_ns: int, job: Job, among: int, times: Sequence[int] = (), able: Sequence[int] = (-1,)
    ) -> tuple[int, int, int | None] | None:
        """Return a start of a job, the nodes of a set that are free from it to its end, and a later start.

        A later start is the end of the first period followed by one with other nodes of the set, up to the
        second period after that of the job's end; None if there is none. A start is passed over if too few
        nodes are free and able by the later one, or by the end of the table. None if none is left.

        Parameters
        ----------
        begin_ns
            Of the first start.
        times, able
            Times, and the nodes with room for the job before and after each.
        """
        ends, free, more = self._ends, self._free, self._more
        first, table_ns = bisect_right(ends, begin_ns), max(self.end_ns - 1, begin_ns)
        later_ns: int | None = begin_ns
        while later_ns is not None:
            begin_ns, later_ns, until_ns = later_ns, None, table_ns
            last = bisect_right(ends, job.end_ns(begin_ns), first)
            nodes = reduce(and_, free[first : last + 1], among)
            for period in range(first, min(last + 2, len(more))):
                if among & more[period]:
                    later_ns = until_ns = ends[period]
                    first = period + 1
                    break
            if (nodes & able[bisect_right(times, until_ns)]).bit_count() >= job.nodes:
                return begin_ns, nodes, later_ns
        return None

    def overlaps(self, begin_ns: int, end_ns: int, nodes: int) -> bool:
        """Return whether some of the nodes are reserved between two times."""
        ends, free = self._ends, self._free
        until = min(bisect_left(ends, end_ns) + 1, len(ends))
        return any(nodes & ~free[period] for period in range(bisect_right(ends, begin_ns), until))
