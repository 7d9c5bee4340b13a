"""Future starts of waiting jobs, and the nodes that are reserved for them."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection

from artist.core.job import UNLIMITED_NS
from artist.policies.slurm.job import Job
from artist.policies.slurm.nodes import Nodes
from artist.units import NS_PER_S

_WINDOW_NS = 30 * NS_PER_S


def earliest(nodes: Nodes, job: Job, among: int, without: Collection[int] = ()) -> tuple[int, int] | None:
    """Return the start of a job by the limits of the running ones, 0 for now, and its nodes.

    Running jobs on the nodes `among` are removed in order of their ends, until the job fits. It is tried at
    the end of each window only. The first window ends 30 s after the first end, rounded up to 30 s of
    absolute time; each later one lasts twice as long from there, or as many doublings as reach the next end.
    A window is over when the next job of all, wherever it runs, ends later. The start is the last end in it.

    Parameters
    ----------
    without
        Running jobs that may be preempted: the job may start now once they are gone.
    """
    spread = job.partition.LLN
    for gone in ((), without):
        able = nodes.able_by(job.need, 0, gone) & among
        if able.bit_count() >= job.nodes:
            return 0, nodes.choose(able, job.nodes, 0, gone, spread=spread)
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
            able = nodes.able_by(job.need, last_ns, without) & among
            chosen = nodes.choose(able, job.nodes, last_ns, without, spread=spread)
            return (last_ns, chosen) if last_ns < UNLIMITED_NS else None
        while at < len(uses) and uses[at].end_ns > anchor_ns + window_ns:
            window_ns *= 2
    return None


class NodeSpace:
    """Nodes without a reservation, by time, in consecutive periods.

    A reservation takes whole nodes, also for a job of one GPU.

    Attributes
    ----------
    records
        Size of Slurm's table: periods made, those merged since included.
    """

    def __init__(self, begin_ns: int, end_ns: int, nodes: int) -> None:
        self._begin_ns = begin_ns
        self._ends, self._free = [end_ns], [nodes]  # by period
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

    def _split(self, period: int, at_ns: int) -> None:
        """Split a period at a time, if that is before its end."""
        if at_ns < self._ends[period]:
            self._ends.insert(period, at_ns)
            self._free.insert(period, self._free[period])
            self.records += 1

    def free(self, begin_ns: int, end_ns: int, among: int = -1) -> tuple[int, int | None]:
        """Return the nodes of a set without a reservation from a time to another, both included.

        And the end of the first period after the former time that is followed by one with other nodes; None
        if there is none.
        """
        ends, free, nodes, later_ns = self._ends, self._free, among, None
        for period in range(bisect_right(ends, begin_ns), len(ends)):
            here = nodes & free[period]
            if later_ns is None and period + 1 < len(ends) and among & free[period + 1] & ~here:
                later_ns = ends[period]
            if period and ends[period - 1] > end_ns:
                break
            nodes = here
        return nodes, later_ns

    def overlaps(self, begin_ns: int, end_ns: int, nodes: int) -> bool:
        """Return whether some of the nodes are reserved between two times."""
        ends, free = self._ends, self._free
        until = min(bisect_left(ends, end_ns) + 1, len(ends))
        return any(nodes & ~free[period] for period in range(bisect_right(ends, begin_ns), until))
