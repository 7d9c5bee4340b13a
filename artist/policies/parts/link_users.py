"""Which jobs are on which links, and whom a job could slow down there."""

from artist.core.cluster import Allocation
from artist.core.link_use import LinkName, LinkUse
from artist.core.view import ClusterView

_FULL = 1 + 1e-9


class LinkUsers:
    """Jobs by link, with what each sends.

    Parameters
    ----------
    view
        Of this call.
    known
        What jobs of earlier calls sent, by number, and where: kept by the policy.
    """

    def __init__(self, view: ClusterView, known: dict[int, tuple[Allocation, LinkUse | None]]) -> None:
        self._performance = view.performance
        self._known = known
        self._uses: dict[int, LinkUse] = {}
        self._on: dict[LinkName, dict[int, float]] = {}  # the largest share of each job

    def put(self, job: int, allocation: Allocation) -> None:
        """Let a job be on the links of an allocation, and on no others."""
        for link in self._uses[job].spans if job in self._uses else ():
            del self._on[link][job]
        self._uses.pop(job, None)
        use = self._use(job, allocation)
        if use is not None:
            self._uses[job] = use
            for link in use.spans:
                self._on.setdefault(link, {})[job] = use.most(link)

    def joined(self, job: int) -> dict[int, LinkUse]:
        """Return a job and those joined with it by links that they could overload, directly or not."""
        if job not in self._uses:
            return {}
        found, todo, seen = {job: self._uses[job]}, [job], dict[LinkName, None]()
        while todo:
            for link in self._uses[todo.pop()].spans:
                there = self._on[link]
                if link in seen or sum(there.values()) <= _FULL:
                    continue
                seen[link] = None
                new = {other: self._uses[other] for other in there if other not in found}
                found |= new
                todo += new
        return found

    def _use(self, job: int, allocation: Allocation) -> LinkUse | None:
        allocation_then, use = self._known.get(job, (None, None))
        if allocation_then != allocation:
            use = self._performance.sending([job], [allocation])[0]
            self._known[job] = allocation, use
        return use
