"""Dally: delay scheduling with self-tuning timers, and priority for jobs that the network slows down.

In plain words: free GPUs are offered to waiting jobs, most slowed down by the network first: network
sensitivity is iterations done x compute time / time held, 0 for a job that has not run. A job accepts GPUs of
one machine at once; GPUs of one rack only after it has waited as long as its machine timer, and any GPUs
after its rack timer. Both count from the start of the present wait: arrival, or the last loss of its GPUs. A
demand larger than a machine (a rack) has no such timer. The timers tune themselves to the waits of jobs that
accepted (`artist.policies.dally.timers`).

A running job's GPUs are offered again at the end of each lease. `renewal` decides about the job itself:

- literal: it is offered GPUs in its place of the order as if it had just begun to wait, whether or not other
  jobs wait. It keeps its own at no cost unless it can get nearer ones (fewer racks, then fewer machines); but
  a job that fits a machine refuses GPUs of several unless its machine timer is 0, and one that fits a rack
  refuses GPUs of several racks unless its rack timer is 0: it moves to one machine, or one rack, or waits.
- keep: it keeps them unless a waiting job with lower sensitivity accepts them; then it is preempted, and
  waits, or moves if it accepts other GPUs at once.
- nearer: as keep, but it moves to idle GPUs of a nearer tier.

`lease_s: null` is the form of the text, which has no leases: at each event, and every `offers_s`, the GPUs of
all running jobs are on offer while jobs wait, as at the end of a lease with `keep`.

Other readings: `wait_since: assignment` (Algorithm 1 as printed: a wait starts at the last assignment, so
running time counts), `discard: length` (Algorithm 2 as printed), `history_gpus` (section 4.3.3: a shorter
history in a larger cluster), `order: sensitivity_as_printed` (section 4.3.1).

Switches for ablations: `auto_tune`, `delay`, `preemptive`, and another `order` instead of sensitivity.

Paper: Chaudhary et al., Dally, sections 4.1.3 and 4.3, Algorithms 1 and 2.

Differs from the paper where that leaves room: in each tier idle GPUs are offered before those whose lease has
ended, and a job's own before others as near. A renewal is not a wait, so it does not tune the timers; a
literal one counts as the last assignment, so that among jobs of equal sensitivity those that wait go first.
By default waits start at a loss and are discarded by age. A job's timers are read when it is offered GPUs,
and it is also offered GPUs when a timer runs out.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.cluster import TIERS, Allocation, Tier, tier_of
from artist.core.events import Finish, Stop
from artist.core.job import Demand
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView
from artist.policies.dally.leases import Leases
from artist.policies.dally.offers import Offers
from artist.policies.dally.timers import Timers, WaitTier
from artist.policies.parts.fill import AnyFill, fill_of
from artist.policies.parts.locality import apart
from artist.policies.parts.orders import AnyOrder, order_of
from artist.policies.parts.parameters import STRICT
from artist.policies.parts.placement import Consolidate, Split, split_by
from artist.policies.parts.placer import Placer
from artist.policies.parts.units import Align, aligned
from artist.units import seconds_to_ns

_HOUR_S = 3600.0
_WAIT_TIERS: tuple[WaitTier, ...] = ("machine", "rack")


@dataclass(config=STRICT)
class Dally:
    """Delay scheduling in order of network sensitivity, with leases.

    Attributes
    ----------
    series
        The timers over time: (time in ns, name, hours).
    """

    on_events = True

    auto_tune: bool = True
    machine_timer_h: float = Field(default=12, ge=0, le=1e6)
    rack_timer_h: float = Field(default=24, ge=0, le=1e6)
    history_leases: float = Field(default=24, gt=0, le=1e6)
    history_gpus: int | None = Field(default=None, ge=1)
    discard: Literal["age", "length"] = "age"
    lease_s: float | None = Field(default=_HOUR_S, ge=1, le=4e9)
    offers_s: float | None = Field(default=None, ge=0.001, le=4e9)
    renewal: Literal["literal", "keep", "nearer"] = "literal"
    wait_since: Literal["loss", "assignment"] = "loss"
    delay: bool = True
    preemptive: bool = True
    order: AnyOrder = "sensitivity"
    split: Split = "packed"
    align: Align = "none"
    fill: AnyFill = "as_asked"

    def __post_init__(self) -> None:
        if self.rack_timer_h < self.machine_timer_h:
            raise ValueError("rack_timer_h counts from the start of the wait; it is at least machine_timer_h")
        if self.lease_s is None and self.renewal == "nearer":
            raise ValueError("renewal=nearer needs leases; give lease_s")
        if self.lease_s is not None and self.offers_s is not None:
            raise ValueError("offers_s has no effect with leases; set lease_s to null")
        self._order = order_of(self, self.order)
        fill = fill_of(self.fill)
        choosers = {tier: split_by(Consolidate(tier), self.split) for tier in TIERS}
        self._placers = {tier: Placer(aligned(choosers[tier], self.align), fill) for tier in TIERS}
        default: dict[WaitTier, int] = {
            "machine": seconds_to_ns(self.machine_timer_h * _HOUR_S if self.delay else 0),
            "rack": seconds_to_ns(self.rack_timer_h * _HOUR_S if self.delay else 0),
        }
        lease_ns = seconds_to_ns(self.lease_s or _HOUR_S)
        self._literal = self.renewal == "literal" and self.lease_s is not None
        self._offers_ns = None if self.offers_s is None else seconds_to_ns(self.offers_s)
        tuned = self.auto_tune and self.delay
        self._history_ns = self.history_leases * lease_ns
        self._timers = Timers(default, round(self._history_ns) if tuned else None, self.discard)
        self.series = self._timers.series
        self._assigned: dict[int, int] = {}  # time of the last assignment, by job
        self._leases = Leases(lease_ns)
        self._apart = Leases(lease_ns)  # of jobs whose GPUs could be nearer to each other
        self._read: dict[tuple[WaitTier, int], int] = {}  # timers at this call, by tier and GPUs

    def decide(self, view: ClusterView) -> Plan:
        """Offer idle GPUs and those whose lease has ended."""
        self._read.clear()
        if self.history_gpus is not None and self._timers.history_ns is not None:
            gpus = max(view.cluster.total_gpus, 1)
            self._timers.history_ns = round(self._history_ns * self.history_gpus / gpus)
        for event in view.news:
            if isinstance(event, Stop | Finish):
                self._count_renewals(event.job, event.time_ns)
                self._drop(event.job)
        plan = view.plan()
        refused: dict[int, set[int]] = {}
        if view.n_waiting or self._apart.ending(view.now_ns):
            refused = self._offer_round(view, plan)
        self._wake(view, plan, refused)
        return plan.done()

    def _offer_round(self, view: ClusterView, plan: PlanBuilder) -> dict[int, set[int]]:
        """Offer GPUs to jobs in order; return the starts of the waits that go on, by GPUs asked for."""
        waiting, ended = view.waiting, self._ended(view)
        jobs = view.columns([*waiting.job.tolist(), *ended])
        keys = self._order.key(jobs)
        assigned = np.array([self._assigned.get(job, -1) for job in jobs.job.tolist()], dtype=np.int64)
        ranks = np.lexsort((jobs.job, assigned, keys))
        order = jobs.job[ranks].tolist()
        starts_ns = np.where(jobs.running, view.now_ns, jobs.waiting_since_ns)
        if self.wait_since == "assignment":
            starts_ns = np.where(assigned >= 0, assigned, starts_ns)
        since = starts_ns[ranks].tolist()
        key = dict(zip(order, keys[ranks].tolist(), strict=True))
        on_offer = {job: ended[job] for job in order if job in ended}
        offers = Offers(view, plan, self._placers, on_offer)
        refused: dict[Demand, int] = {}  # start of the longest wait: shorter ones are refused, too
        served: set[int] = set()
        for job, began in zip(order, since, strict=True):
            if not self._literal:
                for renewed in offers.renew(key, key[job]):
                    served.add(renewed[0])
                    moved = offers.move_nearer(*renewed) if self.renewal == "nearer" else None
                    if moved is not None:
                        self._assigned[renewed[0]] = view.now_ns
                        self._begin_lease(view, renewed[0], moved)
            elif job in offers.ended:  # it has to accept its own GPUs
                offers.take_back(job)
            demand = view.demand(job)
            if job in served or (job not in ended and began >= refused.get(demand, began + 1)):
                continue
            if self._offer(offers, job, began):
                served.add(job)
                refused.clear()  # the timers may have changed
            else:
                refused[demand] = min(began, refused.get(demand, began))
        starts: dict[int, set[int]] = {}
        for job, gpus, began in zip(order, jobs.gpus[ranks].tolist(), since, strict=True):
            if job not in served:
                starts.setdefault(gpus, set()).add(began)
        return starts

    def _ended(self, view: ClusterView) -> dict[int, Allocation]:
        """Return the allocations of the running jobs whose lease ends now; without leases, of all."""
        ended: dict[int, Allocation] = {}
        jobs: Iterable[int] = self._leases.ending(view.now_ns)
        if self.lease_s is None and self.preemptive:
            jobs = view.jobs.job[view.jobs.held_gpus > 0].tolist()
        for job in jobs:
            allocation = view.allocation(job)
            if self._assigned[job] < view.now_ns and allocation is not None:
                ended[job] = allocation
                self._count_renewals(job, view.now_ns)
        return ended

    def _count_renewals(self, job: int, now: int) -> None:
        """Count as assignments the literal renewals before now for which the policy was not called."""
        if self._literal and job in self._leases:
            began, lease = self._assigned[job], self._leases.length_ns
            self._assigned[job] = began + max(now - 1 - began, 0) // lease * lease

    def _offer(self, offers: Offers, job: int, since: int) -> bool:
        """Offer GPUs to one job, waiting since that time; record and return its answer."""
        view = offers.view
        now, demand = view.now_ns, view.demand(job)
        allocation = offers.place(job, demand, self._widest(view, demand.gpus, now - since))
        if allocation is None:
            if job in offers.stopped:
                self._drop(job)
            return False
        self._assigned[job] = now
        if demand.gpus:
            self._begin_lease(view, job, allocation)
            tier = TIERS[tier_of(allocation, view.cluster)]
            if tier != "network" and offers.stopped.get(job) != allocation:
                self._timers.accepted(tier, demand.gpus, now - since, now)
                self._read.pop((tier, demand.gpus), None)
        return True

    def _begin_lease(self, view: ClusterView, job: int, allocation: Allocation) -> None:
        self._drop(job)
        if self.preemptive and self.lease_s is not None:
            self._leases.begin(job, view.now_ns)
            if self.renewal != "keep" and apart(allocation, view.demand(job).gpus, view.cluster):
                self._apart.begin(job, view.now_ns)

    def _drop(self, job: int) -> None:
        """Forget the lease of a job that lost its GPUs."""
        self._leases.drop(job)
        self._apart.drop(job)

    def _widest(self, view: ClusterView, gpus: int, waited: int) -> Tier:
        """Return the widest tier that a job accepts after a wait."""
        if waited < self._timer(view, "machine", gpus):
            return "machine"
        return "rack" if waited < self._timer(view, "rack", gpus) else "network"

    def _timer(self, view: ClusterView, tier: WaitTier, gpus: int) -> int:
        """Return a timer, 0 where the demand is larger than the tier; until it is accepted, once per call."""
        timer = self._read.get((tier, gpus))
        if timer is None:
            largest = view.cluster.largest_machine if tier == "machine" else view.cluster.largest_rack
            timer = 0 if gpus > largest else self._timers.timer_ns(tier, gpus, view.now_ns)
            self._read[tier, gpus] = timer
        return timer

    def _wake(self, view: ClusterView, plan: PlanBuilder, waiting: Mapping[int, Iterable[int]]) -> None:
        """Ask to be called when a lease ends, or a timer of a waiting job, given by GPUs and start of wait.

        While no job waits, a job whose GPUs are as near as possible keeps them, so its lease ends cause no
        call.
        """
        due = [
            since + timer
            for gpus, starts in waiting.items()
            for timer in [self._timer(view, tier, gpus) for tier in _WAIT_TIERS]
            for since in starts
        ]
        lease_end = (self._leases if waiting else self._apart).next_end(view.now_ns)
        if lease_end is not None:
            due.append(lease_end)
        if self._offers_ns is not None and waiting:
            due.append((view.now_ns // self._offers_ns + 1) * self._offers_ns)
        ahead = [time for time in due if time > view.now_ns]
        if ahead:
            plan.wake_at(min(ahead))
