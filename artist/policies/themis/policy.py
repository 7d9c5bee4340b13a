"""Themis: finish-time fairness; the jobs that are worst off bid for leases of GPUs.

In plain words: a job's finish-time fairness is the time from its arrival to its finish in the shared cluster,
over the time it would take alone on a fair share of it:

    rho = (time since arrival + rest of the work) / (whole work x max(1, GPUs asked x N / GPUs there))

with N the number of unfinished jobs, averaged over the job's stay. A job whose demand exceeds its share 1/N
would have to run in time slices. GPUs are leased up to the next multiple of `lease_s`; then all are
auctioned, and those that come free in between are auctioned at once. Among the jobs without a lease, the
share 1 - `fairness_knob` with the highest rho may bid. A job bids for its whole demand: its valuation of
winning is 1 / rho, of losing 1 / (rho if it waits for another lease). The winners maximise the product of all
valuations (`artist.policies.themis.auction`). GPUs left are given to the others, worst off first. A job that
loses the auction is stopped; one that wins it again stays where it is.

A job that never ran need not wait for the end of a lease: once it is worse off than all running jobs, it gets
its GPUs, and the jobs that are best off lose their leases on the number that it lacks. If its placement
cannot use those GPUs, the fewest jobs whose GPUs it can use lose theirs instead. Without this rule the worst
rho is that of jobs shorter than a lease, which wait for its end whatever the auction does: on Muri's 400
testbed jobs 36 with leases of 600 s (3.3 with 60 s), and the same under SRTF if it decides every 600 s
(60 s). With it, it is 2.0 for both leases; SRTF has 3.0 and `themis_gavel` 2.0 if they decide at every event.

The mean completion time is near SRTF's (10 % above it on these jobs) because rho is a response ratio: the
same wait counts more for a short job. The larger gains of short jobs in the auction are not the cause: if all
gains are equal, or only the worst off may bid, the mean is within 1 % of that.

The rest of the work counts at the measured iteration time where a job runs, so that a bad placement makes
it worse off; where it waits, and for the time alone, at that of its GPUs close together.

Paper: Mahajan et al., Themis: Fair and Efficient GPU Cluster Scheduling, NSDI 2020, sections 3 (finish-time
fairness), 4 and 5 (partial allocation auctions). Its terms, and their counterparts here:

- T_SH, the time to finish in the shared cluster: the time since arrival, and the rest as if it ran on.
- T_ID, the finish time in an independent cluster of 1/N of the GPUs. In the paper the running time on the
  whole cluster x N, as apps of many jobs can use all of it; a job that asks for g GPUs uses no more, so here
  its running time on g x max(1, g N / GPUs there). N is averaged over the stay in both.
- Win gain: there an app bids a table, its rho for each subset of the GPUs on offer, and the allocation
  maximises the product of the valuations 1 / rho (proportional fairness). Here a table has two rows, all that
  the job asks for or nothing, so the product is that of the winners' gains (rho if it waits for another
  lease) / rho: a knapsack.
- Hidden payments: there winner i gets only the share c_i of its proportionally fair allocation, with c_i the
  product of the others' valuations with i in the auction / without it, which makes honesty pay. Here there
  are none (c_i = 1): the scheduler computes valuations, and part of its GPUs is of no use to a job.
- Leftovers: there the GPUs left by hidden payments and unfulfilled bids are given at random to apps outside
  the auction, near their GPUs if possible; here to the worst off.

Differs from the paper:

- An app is one job and gets its whole demand or nothing.
- The valuation of getting nothing is not 0, or every product would be 0: it can bid again.
- Leases end together, or a job of many GPUs would never find enough of them on offer at once; and they can be
  broken as said above, once for each job, because jobs here last from seconds to weeks.
- The remaining work is known; there each app estimates it from its training curves.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.arrays import Bools, Floats
from artist.core.plan import Plan
from artist.core.view import ClusterView, JobColumns
from artist.policies.parts.alone import Alone, in_turns
from artist.policies.parts.fill import AnyFill
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import AnyChooser, Split
from artist.policies.parts.placer import Packing, placer_of
from artist.policies.parts.preemption import in_order, run_first, waiting_after
from artist.policies.parts.units import Align
from artist.policies.themis.auction import winners
from artist.units import seconds_to_ns

_LOOKS = 100  # checks of newcomers per lease, at most


@dataclass(config=STRICT)
class Themis:
    """Partial auctions among the jobs that are worst off."""

    on_events = True
    knows_iterations = True
    knows_performance = True

    lease_s: float = Field(default=600, ge=0.001, le=4e9)
    fairness_knob: float = Field(default=0.8, ge=0, lt=1)
    newcomers_break_leases: bool = True
    placement: AnyChooser = "consolidate"
    split: Split = "packed"
    align: Align = "none"
    fill: AnyFill = "as_asked"
    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        self._lease_ns = seconds_to_ns(self.lease_s)
        self._placer = placer_of(self.placement, self.fill, self.seed, self.split, self.align)
        self._alone = Alone()
        self._auctioned_ns = -1  # time at which all GPUs were last on offer

    def decide(self, view: ClusterView) -> Plan:
        """Hold an auction if a job waits and there is something to win."""
        self._alone.follow(view)
        plan = view.plan()
        if not view.n_waiting:
            return plan.done()
        jobs, now = view.jobs, view.now_ns
        standing, leased = self._standing(view, jobs), self._leased(view, jobs)
        urgent = standing.newcomers & (standing.rho >= standing.worst)
        broken = _best_off(view, jobs, leased, standing.rho, int(jobs.gpus[urgent].sum()))
        offered = view.free_gpus + int(jobs.held_gpus[~leased | broken].sum())
        if int(view.waiting.min_feasible_gpus.min()) <= offered:
            if broken.any() or (leased.any() and not self._fit(view, jobs.job[urgent].tolist())):
                claims = np.select([urgent, leased & ~broken, broken], [0, 1, 2], 3)
            else:
                claims = np.select([leased, self._won(jobs, standing, ~leased, offered)], [0, 1], 2)
            ranked = jobs.job[np.lexsort((-standing.rho, claims))]
            run_first(view, plan, in_order(ranked.tolist()), lambda job: self._placer, backfill=True)
        if waiting_after(view, plan):
            look_ns = max(1, self._lease_ns // _LOOKS) if plan.changes else self._patience_ns(standing)
            plan.wake_at(min(now + look_ns, (now // self._lease_ns + 1) * self._lease_ns))
        return plan.done()

    def _standing(self, view: ClusterView, jobs: JobColumns) -> "_Standing":
        """Return the finish-time fairness of jobs."""
        alone_ns = self._alone.iteration_ns(jobs)
        iteration_ns = np.where(jobs.running, jobs.observed_iteration_ns, alone_ns)
        stay_ns = (view.now_ns - jobs.submit_ns) + jobs.iterations_left.astype(np.float64) * iteration_ns
        share_ns = jobs.iterations.astype(np.float64) * alone_ns * in_turns(jobs)
        rho = stay_ns / share_ns
        newcomers = self.newcomers_break_leases & (jobs.starts == 0) & (jobs.gpus > 0)
        return _Standing(stay_ns, share_ns, rho, newcomers, rho[jobs.running].max(initial=0.0))

    def _leased(self, view: ClusterView, jobs: JobColumns) -> Bools:
        """Return a mask of the jobs with a lease, shape (n,): none when leases end, else the running ones."""
        now = view.now_ns
        if now % self._lease_ns == 0 and now != self._auctioned_ns:
            self._auctioned_ns = now
            return np.zeros(len(jobs), dtype=np.bool_)
        return jobs.running

    def _fit(self, view: ClusterView, jobs: Sequence[int]) -> bool:
        """Return whether waiting jobs find free GPUs, one after the other."""
        packing = Packing(view.free())
        return all(packing.place(view.demand(job), self._placer) is not None for job in jobs)

    def _patience_ns(self, standing: "_Standing") -> int:
        """Return the time until the next newcomer is worse off than all running jobs, a lease at most."""
        wait_ns = standing.worst * standing.share_ns - standing.stay_ns
        soonest = wait_ns[standing.newcomers & (wait_ns > 0)].min(initial=float(self._lease_ns))
        return max(int(soonest) + 1, self._lease_ns // _LOOKS)

    def _won(self, jobs: JobColumns, standing: "_Standing", without: Bools, offered: int) -> Bools:
        """Return a mask of the jobs without a lease that win the GPUs on offer, shape (n,)."""
        rest = np.flatnonzero(without)
        rest = rest[np.argsort(-standing.rho[rest], kind="stable")]
        bidders = rest[: max(1, round(len(rest) * (1 - self.fairness_knob)))]
        gains = np.log1p(self._lease_ns / standing.stay_ns[bidders])
        won = np.zeros(len(jobs), dtype=np.bool_)
        won[bidders] = winners(gains, jobs.gpus[bidders], offered)
        return won


class _Standing(NamedTuple):
    """Finish-time fairness of jobs, arrays of shape (n,).

    Attributes
    ----------
    stay_ns, share_ns
        Time from arrival to finish if it runs on, and on a fair share; rho is their ratio.
    newcomers
        Jobs that never ran.
    worst
        The largest rho of running jobs.
    """

    stay_ns: Floats
    share_ns: Floats
    rho: Floats
    newcomers: Bools
    worst: float


def _best_off(view: ClusterView, jobs: JobColumns, leased: Bools, rho: Floats, lacking: int) -> Bools:
    """Return a mask of the leases to break for the GPUs that newcomers lack, shape (n,)."""
    best_first = np.flatnonzero(leased)[np.argsort(rho[leased], kind="stable")]
    held = jobs.held_gpus[best_first]
    broken = np.zeros(len(jobs), dtype=np.bool_)
    broken[best_first[held.cumsum() - held < lacking - view.free_gpus]] = True
    return broken
