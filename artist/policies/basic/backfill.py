"""Backfill around reservations: EASY reserves for the first job that waits, conservative for all.

Source: Mu'alem and Feitelson, Utilization, Predictability, Workloads, and User Runtime Estimates in
Scheduling the IBM SP2 with Backfilling, TPDS 2001, sections 2 and 3.
"""

from collections.abc import Sequence

from artist.core.buckets import ALL
from artist.core.cluster import Allocation
from artist.core.job import UNLIMITED_NS
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView
from artist.policies.parts.placer import Placer
from artist.policies.parts.reservations import Timeline


class Backfill:
    """Starts jobs that delay no reservation, by time limits.

    A job that waits has a reservation: the first time from which it has room for its limit, and where.
    Running jobs end at their limits there. A reservation is kept, or moved to an earlier time.

    Attributes
    ----------
    planned
        The reservations: start in ns and allocation by job.

    Parameters
    ----------
    placer
        That of the policy.
    for_all
        Whether all jobs get reservations (conservative), or only the first one that waits (EASY).
    window_ns
        A job that would start later than this from now gets none.
    depth
        Number of jobs that are tried per call, the first ones.
    resolution_ns
        Limits are rounded up to a multiple of this, 1 ns for no rounding.
    """

    knows_limits = True

    def __init__(
        self, placer: Placer, *, for_all: bool, window_ns: int, depth: int | None, resolution_ns: int
    ) -> None:
        self._placer, self._for_all = placer, for_all
        self._window_ns, self._depth, self._resolution_ns = window_ns, depth, resolution_ns
        self._ends_ns: dict[int, int] = {}  # of the jobs that it started, by their limits
        self.planned: dict[int, tuple[int, Allocation]] = {}

    def start(self, view: ClusterView, plan: PlanBuilder, ranked: Sequence[int], among: int = ALL) -> None:
        """Start waiting jobs, first to last."""
        now_ns, running = view.now_ns, []
        for job, end_ns in list(self._ends_ns.items()):
            allocation = view.allocation(job)
            if allocation is None:  # it has ended, or its machine failed
                del self._ends_ns[job]
            else:
                running.append((end_ns, allocation))
        ranked = ranked[: self._depth]
        limits_ns = self._limits_ns(view, ranked)
        timeline = Timeline(now_ns, view.free(), running, among)
        before, self.planned = self.planned, {}
        kept = dict[int, tuple[int, Allocation]]()
        for job, limit_ns in limits_ns.items():
            held = before.get(job) if self._for_all else None
            if held is not None and held[0] >= now_ns and timeline.holds(held[1], held[0], limit_ns):
                kept[job] = held
                timeline.take(held[1], held[0], limit_ns)
        for job, limit_ns in limits_ns.items():
            if job in kept:
                timeline.give(kept[job][1], kept[job][0], limit_ns)
            reserves = self._for_all or not self.planned
            last_ns = now_ns + (self._window_ns if reserves else 0)
            planned = timeline.earliest(view.demand(job), limit_ns, self._placer, last_ns)
            if planned is None:
                continue
            start_ns, allocation = planned
            timeline.take(allocation, start_ns, limit_ns)
            if start_ns > now_ns:
                self.planned[job] = planned
            else:
                plan.place(job, allocation)
                self._ends_ns[job] = now_ns + limit_ns

    def _limits_ns(self, view: ClusterView, jobs: Sequence[int]) -> dict[int, int]:
        """Return the limits of jobs, rounded up."""
        step = self._resolution_ns
        limits_ns = view.columns(jobs).limit_ns.tolist()
        return {
            job: min(-(-limit_ns // step) * step, UNLIMITED_NS)
            for job, limit_ns in zip(jobs, limits_ns, strict=True)
        }
