"""Future starts of waiting jobs, and the nodes that are reserved for them."""

from artist.core.job import UNLIMITED_NS
from artist.policies.slurm.job import Job
from artist.policies.slurm.nodes import Nodes
from artist.units import NS_PER_S

_WINDOW_NS = 30 * NS_PER_S


def earliest(nodes: Nodes, job: Job, among: int, now_ns: int) -> tuple[int, int] | None:
    """Return the start of a job that has to wait for others to end by their limits, and its nodes.

    Running jobs on the nodes `among` are removed in order of their ends, until the job fits. It is tried at
    the end of each window only: 30 s from the first end in it, rounded up to 30 s of absolute time, and
    twice as long with each try. A window ends when the next job of all, wherever it runs, ends later. The
    start is the last end in the window.
    """
    uses, at, window_ns = nodes.uses, 0, _WINDOW_NS
    while True:
        first_ns = last_ns = -1
        while at < len(uses):
            use = uses[at]
            at += 1
            if not use.nodes & among:
                continue
            first_ns, last_ns = use.end_ns if first_ns < 0 else first_ns, use.end_ns
            bound_ns = ((first_ns + window_ns) // _WINDOW_NS + 1) * _WINDOW_NS
            if at < len(uses) and uses[at].end_ns > bound_ns:
                break
        if last_ns < 0 or last_ns >= UNLIMITED_NS:
            return None
        able = nodes.able_by(job.need, among, last_ns)
        if able.bit_count() >= job.nodes:
            spread = job.partition.LLN
            chosen = nodes.choose(able, job.nodes, last_ns, spread=spread)
            return max(last_ns, now_ns + 1), chosen
        window_ns *= 2


class NodeSpace:
    """Nodes without a reservation, by time: begin, end and nodes of each interval, in order.

    A reservation takes whole nodes, also for a job of one GPU.
    """

    def __init__(self, begin_ns: int, end_ns: int, nodes: int) -> None:
        self._parts = [(begin_ns, end_ns, nodes)]

    def reserve(self, begin_ns: int, end_ns: int, nodes: int) -> None:
        """Take nodes from a time to another."""
        parts = []
        for begin, end, free in self._parts:
            if end <= begin_ns or begin >= end_ns:
                parts.append((begin, end, free))
                continue
            if begin < begin_ns:
                parts.append((begin, begin_ns, free))
            parts.append((max(begin, begin_ns), min(end, end_ns), free & ~nodes))
            if end > end_ns:
                parts.append((end_ns, end, free))
        self._parts = parts

    def free(self, begin_ns: int, end_ns: int) -> tuple[int, int | None]:
        """Return the nodes without a reservation from a time to another, both included.

        And the first time after the former at which others may be free, None if there is none.
        """
        nodes, later_ns, last = -1, None, len(self._parts) - 1
        for place, (begin, end, free) in enumerate(self._parts):
            if begin > end_ns:
                break
            if end > begin_ns:
                nodes &= free
                if later_ns is None and place < last:
                    later_ns = end
        return nodes, later_ns

    def overlaps(self, begin_ns: int, end_ns: int, nodes: int) -> bool:
        """Return whether a reservation of some of the nodes is between two times."""
        return any(begin < end_ns and end > begin_ns and nodes & ~free for begin, end, free in self._parts)
