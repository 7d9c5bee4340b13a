"""Jobs by link, and the jobs that could slow each other there."""

from artist.core.cluster import Allocation
from artist.core.link_use import FULL, LinkName, LinkUse
from artist.core.view import ClusterView


class LinkUsers:
    """Jobs by link, with the link use of each.

    Parameters
    ----------
    view
        Of this call.
    known
        Allocations and link uses of jobs of earlier calls, by number: kept by the policy.
    """

    def __init__(self, view: ClusterView, known: dict[int, tuple[Allocation, LinkUse | None]]) -> None:
        self._performance = view.performance
        self._known = known
        self._uses: dict[int, LinkUse] = {}
        self._on: dict[LinkName, dict[int, float]] = {}  # the largest share of each job

    def put(self, job: int, allocation: Allocation) -> None:
        """Put a job on the links of an allocation, and on no others."""
        for link in self._uses[job].spans if job in self._uses else ():
            del self._on[link][job]
        self._uses.pop(job, None)
        use = self._use(job, allocation)
        if use is not None:
            self._uses[job] = use
            for link in use.spans:
                self._on.setdefault(link, {})[job] = use.max_share(link)

    def joined(self, job: int, max_jobs: int) -> dict[int, LinkUse] | None:
        """Return a job and those joined with it by links that they could overload; None if too many."""
        joined = {job: self._uses[job]} if job in self._uses else {}
        todo = list(joined)
        while todo:
            joined |= (new := {o: use for o, use in self.beside(todo.pop()).items() if o not in joined})
            if len(joined) > max_jobs:
                return None
            todo += new
        return joined

    def beside(self, job: int) -> dict[int, LinkUse]:
        """Return a job and those on links with it that they could overload."""
        if job not in self._uses:
            return {}
        links = (self._on[link] for link in self._uses[job].spans)
        return {other: self._uses[other] for on in links if sum(on.values()) > FULL for other in on}

    def _use(self, job: int, allocation: Allocation) -> LinkUse | None:
        allocation_then, use = self._known.get(job, (None, None))
        if allocation_then != allocation:
            use = self._performance.sending([job], [allocation])[0]
            self._known[job] = allocation, use
        return use
