"""Time that the jobs of a plan add to iterations, theirs and others', by sharing links and machines."""

from collections.abc import Mapping, Sequence

from artist.core.cluster import Allocation
from artist.core.plan import Plan
from artist.core.view import ClusterView


class Added:
    """Cost of allocations for the jobs of a plan, one job after another, as the policy believes it.

    In GPUs: the sum over jobs of GPUs x added time / iteration alone. For a job that is placed, time beyond
    its iteration alone on the first allocation asked about counts; for one that runs, beyond that of now.
    """

    def __init__(self, view: ClusterView, plan: Plan) -> None:
        self._view = view
        self._performance = view.performance
        self._placed: dict[int, Allocation | None] = {
            job: None for job, after in plan.changes.items() if after is None and _spans(view.allocation(job))
        }
        self._shift_ns: dict[int, int] = {}
        self._alone_ns: dict[int, int] = {}
        self._now_ns: dict[int, int] = {}
        self._asked: dict[Allocation, float] = {}  # of the job in question
        self._so_far = self._total(self._placed, {}) if self._placed else 0.0

    def cost(self, job: int, allocation: Allocation, shift_ns: Mapping[int, int]) -> float:
        """Return the cost of a job on an allocation, with shifts, beyond that of the jobs before it."""
        if job not in self._alone_ns:
            self._alone_ns[job] = int(self._performance.alone([job], [allocation])[0])
        if allocation not in self._asked:
            self._asked[allocation] = self._total(
                {**self._placed, job: allocation}, {**self._shift_ns, **shift_ns}
            )
        return self._asked[allocation] - self._so_far

    def settle(self, job: int, allocation: Allocation, shift_ns: Mapping[int, int]) -> None:
        """Fix the allocation of a job, and the shifts of some jobs."""
        self._so_far += self.cost(job, allocation, shift_ns)
        self._asked.clear()
        self._placed[job] = allocation
        self._shift_ns |= shift_ns

    def _total(self, placed: Mapping[int, Allocation | None], shift_ns: Mapping[int, int]) -> float:
        running = {job: self._view.allocation(job) for job in shift_ns if job not in placed}
        asked = {**placed, **running}
        shifts = [shift_ns.get(job, 0) for job in asked] if shift_ns else ()
        own_ns, others_ns = self._performance.added(list(asked), list(asked.values()), shifts)
        self._look_up_now([*running, *others_ns])
        total = 0.0
        for job, ns in zip(asked, own_ns.tolist(), strict=True):
            held = asked[job]
            if held is not None:
                alone_ns = self._alone(job)
                before_ns = alone_ns if job in placed else self._now_ns[job]
                total += held.gpus * (ns - before_ns) / alone_ns
        for job, ns in others_ns.items():
            held = self._view.allocation(job)
            assert held is not None, "others run"
            total += held.gpus * (ns - self._now_ns[job]) / self._alone(job)
        return total

    def _alone(self, job: int) -> int:
        if job not in self._alone_ns:
            held = self._view.allocation(job)
            assert held is not None, "it is placed or it runs"
            self._alone_ns[job] = int(self._performance.alone([job], [held])[0])
        return self._alone_ns[job]

    def _look_up_now(self, jobs: Sequence[int]) -> None:
        """Record the iteration times of running jobs before the plan."""
        new = [job for job in jobs if job not in self._now_ns]
        if new:
            now_ns = self._performance.added(new, [self._view.allocation(job) for job in new])[0]
            self._now_ns.update(zip(new, now_ns.tolist(), strict=True))


def _spans(allocation: Allocation | None) -> bool:
    return allocation is not None and len(allocation.slices) > 1
