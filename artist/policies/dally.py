"""Dally: delay scheduling with self-tuning timers, and priority for jobs that the network slows down.

In plain words: free GPUs are offered to waiting jobs, those first that the network has slowed down most:
network sensitivity is iterations done x compute time / time held, 0 for a job that has not run. A job
takes GPUs of one machine at once; GPUs of one rack only after it has waited as long as its machine timer
says, any GPUs after its rack timer. Both count from the start of the present wait; a demand larger than a
machine (a rack) has no such timer. The timers tune themselves by the waits of those who accepted
(`artist.policies.parts.timers`). A running job's GPUs are offered again at the end of each lease: it keeps
them, unless a waiting job with lower sensitivity accepts them; then it is preempted, and waits, or moves
if it accepts other GPUs at once. With `renewal: nearer` it gives them up for GPUs of a nearer tier.

Switches for ablations: `auto_tune`, `delay`, `preemptive`, and `order: arrival` instead of sensitivity.

Paper: Chaudhary et al., Dally, sections 4.1.3 and 4.3, Algorithms 1 and 2.

Differs from the paper, where it leaves room: offers prefer idle GPUs to those whose lease ended, in each
tier. With `renewal: literal` a job has to accept its own GPUs by Algorithm 1, as if it had just begun to
wait: on GPUs of several machines it refuses them at the end of every lease. Waits are forgotten by age,
not by length.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

from artist.core.cluster import TIERS, Allocation, Tier, tier_of
from artist.core.events import Finish, Stop
from artist.core.job import Demand
from artist.core.plan import Plan, PlanBuilder
from artist.core.view import ClusterView, JobColumns
from artist.policies.parts.placement import Consolidate, with_share
from artist.policies.parts.timers import Timers, WaitTier
from artist.units import seconds_to_ns

_HOUR_S = 3600.0
_WAIT_TIERS: tuple[WaitTier, ...] = ("machine", "rack")
_CHOOSERS = {tier: Consolidate(tier) for tier in TIERS}


class DallyParameters(BaseModel):
    """Parameters of `Dally`."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    auto_tune: bool = True
    machine_timer_h: float = Field(12, ge=0, le=1e6)
    rack_timer_h: float = Field(24, ge=0, le=1e6)
    history_leases: float = Field(24, gt=0, le=1e6)
    lease_s: float = Field(_HOUR_S, ge=1, le=4e9)
    renewal: Literal["keep", "nearer", "literal"] = "keep"
    delay: bool = True
    preemptive: bool = True
    order: Literal["sensitivity", "arrival"] = "sensitivity"

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.rack_timer_h < self.machine_timer_h:
            raise ValueError("rack_timer_h counts from the start of the wait; it is at least machine_timer_h")
        return self


class Dally:
    """Delay scheduling in order of network sensitivity, with leases.

    Attributes
    ----------
    series
        The timers over time: (time in ns, name, hours).
    """

    on_events = True
    knows_iterations = True

    def __init__(self, **parameters: object) -> None:
        self.parameters = p = DallyParameters.model_validate(parameters)
        default: dict[WaitTier, int] = {
            "machine": seconds_to_ns(p.machine_timer_h * _HOUR_S if p.delay else 0),
            "rack": seconds_to_ns(p.rack_timer_h * _HOUR_S if p.delay else 0),
        }
        self._lease_ns = seconds_to_ns(p.lease_s)
        tuned = p.auto_tune and p.delay
        self._timers = Timers(default, round(p.history_leases * self._lease_ns) if tuned else None)
        self.series = self._timers.series
        self._assigned: dict[int, int] = {}  # when each job last got GPUs
        self._leased: dict[int, None] = {}  # those of them that hold GPUs

    def decide(self, view: ClusterView) -> Plan:
        """Offer what is idle, and what has come to the end of its lease."""
        for event in view.news:
            if isinstance(event, Stop | Finish):
                self._leased.pop(event.job, None)
        plan = view.plan()
        nearer = self.parameters.renewal == "nearer"
        if not view.n_waiting and not nearer:
            return plan.done()
        waiting = view.waiting
        since = dict(zip(waiting.job.tolist(), waiting.waiting_since_ns.tolist(), strict=True))
        ended = self._ended(view)
        key = self._keys(view.columns([*since, *ended]))
        order = sorted(key, key=lambda job: (key[job], self._assigned.get(job, -1), job))
        offers = _Offers(view, plan, {job: ended[job] for job in order if job in ended})
        refused: list[tuple[int, int]] = []
        for job in order:
            if self.parameters.renewal != "literal":
                for renewed in offers.renew(key, key[job]):
                    if nearer and offers.move_nearer(*renewed):
                        self._assigned[renewed[0]] = view.now_ns
            if job in offers.ended:  # a literal renewal: it has to accept its own GPUs
                offers.take_back(job)
            if job not in ended or job in offers.stopped:
                began = since.get(job, view.now_ns)
                if not self._offer(offers, job, began):
                    refused.append((job, began))
        self._wake(view, plan, refused)
        return plan.done()

    def _ended(self, view: ClusterView) -> dict[int, Allocation]:
        """Return the running jobs whose lease ends now, with what they hold."""
        ended: dict[int, Allocation] = {}
        for job in self._leased if self.parameters.preemptive else ():
            held = view.now_ns - self._assigned[job]
            allocation = view.allocation(job)
            if held and held % self._lease_ns == 0 and allocation is not None:
                ended[job] = allocation
        return ended

    def _keys(self, jobs: JobColumns) -> dict[int, float]:
        """Return what each job is offered GPUs by, lowest first."""
        keys = sensitivity(jobs) if self.parameters.order == "sensitivity" else jobs.job.astype(np.float64)
        return dict(zip(jobs.job.tolist(), keys.tolist(), strict=True))

    def _offer(self, offers: "_Offers", job: int, since: int) -> bool:
        """Offer GPUs to one job, which has waited since then; take note of its answer, and return it."""
        now, demand = offers.view.now_ns, offers.view.demand(job)
        tier = offers.place(job, demand, self._widest(offers.view, demand.gpus, now - since))
        if tier is None:
            self._leased.pop(job, None)
            return False
        self._assigned[job] = now
        if demand.gpus:
            self._leased[job] = None
            if tier != "network":
                self._timers.accepted(tier, demand.gpus, now - since, now)
        return True

    def _widest(self, view: ClusterView, gpus: int, waited: int) -> Tier:
        """Return the widest tier that a job accepts after a wait."""
        if waited < self._timer(view, "machine", gpus):
            return "machine"
        return "rack" if waited < self._timer(view, "rack", gpus) else "network"

    def _timer(self, view: ClusterView, tier: WaitTier, gpus: int) -> int:
        """Return a timer, 0 where the demand is larger than the tier."""
        largest = view.cluster.largest_machine if tier == "machine" else view.cluster.largest_rack
        return 0 if gpus > largest else self._timers.timer_ns(tier, gpus, view.now_ns)

    def _wake(self, view: ClusterView, plan: PlanBuilder, waiting: Sequence[tuple[int, int]]) -> None:
        """Ask to be woken when a timer of a waiting job (number, since when) runs out, or a lease."""
        leases = self.parameters.preemptive and (waiting or self.parameters.renewal == "nearer")
        if not waiting and not leases:
            return
        now, lease = view.now_ns, self._lease_ns
        began: dict[int, set[int]] = {}
        for job, since in waiting:
            began.setdefault(view.demand(job).gpus, set()).add(since)
        due = [
            since + self._timer(view, tier, gpus)
            for gpus, starts in began.items()
            for tier in _WAIT_TIERS
            for since in starts
        ]
        if leases:
            due += [now + lease - (now - self._assigned[job]) % lease for job in self._leased]
        ahead = [time for time in due if time > now]
        if ahead:
            plan.wake_at(min(ahead))


class _Offers:
    """What is on offer at one instant: idle GPUs, and those of running jobs whose lease has ended.

    Attributes
    ----------
    ended
        Jobs whose lease has ended and whose turn has not yet come, with what they hold.
    stopped
        Those of them that were preempted, likewise.
    """

    def __init__(self, view: ClusterView, plan: PlanBuilder, ended: dict[int, Allocation]) -> None:
        self.view = view
        self.ended = ended
        self._plan = plan
        self.stopped: dict[int, Allocation] = {}
        self._idle = view.free()
        self._all = self._idle  # with the GPUs whose lease has ended
        if ended:
            self._all = view.free()
            for allocation in ended.values():
                self._all.give(allocation)
        self._no: set[tuple[Demand, Tier]] = set()

    def renew(self, key: Mapping[int, float], turn: float) -> list[tuple[int, Allocation]]:
        """Renew the leases of those whose key is not above that of the job whose turn it is; return them."""
        renewed: list[tuple[int, Allocation]] = []
        while self.ended and key[job := next(iter(self.ended))] <= turn:
            renewed.append((job, self.ended.pop(job)))
            self._all.take(renewed[-1][1])
        return renewed

    def move_nearer(self, job: int, held: Allocation) -> bool:
        """Move a job whose lease was renewed to idle GPUs, or its own, of a nearer tier, if it can."""
        demand, cluster = self.view.demand(job), self.view.cluster
        narrowest = int(demand.gpus > cluster.largest_machine)
        self._idle.give(held)
        for tier in TIERS[narrowest : tier_of(held, cluster)]:
            allocation = _CHOOSERS[tier].choose(self._idle, demand)
            if allocation is not None:
                self._idle.take(allocation)
                if self._all is not self._idle:
                    self._all.give(held)
                    self._all.take(allocation)
                self._plan.place(job, allocation)
                return True
        self._idle.take(held)
        return False

    def take_back(self, job: int) -> None:
        """Preempt a job whose lease has ended; its turn to be offered GPUs is yet to come."""
        allocation = self.stopped[job] = self.ended.pop(job)
        self._idle.give(allocation)
        self._plan.stop(job)

    def place(self, job: int, demand: Demand, widest: Tier) -> Tier | None:
        """Place a job as near as can be, idle GPUs first in each tier; return the tier, None if it waits."""
        allocation = self._found(demand, widest)
        if allocation is None:
            return None
        self._idle.take(allocation)
        if self._all is not self._idle:
            self._all.take(allocation)
        if self.stopped.get(job) == allocation:
            self._plan.keep(job)
        else:
            self._plan.place(job, allocation)
        return TIERS[tier_of(allocation, self.view.cluster)]

    def _found(self, demand: Demand, widest: Tier) -> Allocation | None:
        if (demand, widest) in self._no or demand.least_gpus > self._all.total_gpus:
            return None
        narrowest = int(demand.gpus > self.view.cluster.largest_machine)
        for tier in TIERS[narrowest : TIERS.index(widest) + 1]:
            allocation = _CHOOSERS[tier].choose(self._idle, demand)
            if allocation is None and self.ended and demand.gpus:  # CPUs are never taken from a lease
                allocation = _CHOOSERS[tier].choose(self._all, demand)
                if allocation is not None:
                    allocation = self._freed(allocation)
            if allocation is not None:
                return allocation
        self._no.add((demand, widest))
        return None

    def _freed(self, wanted: Allocation) -> Allocation:
        """Preempt jobs whose lease has ended until what is wanted is idle: the last in order first."""
        for machine, gpus, _, _ in wanted.slices:
            while self._idle.gpus[machine] < gpus:
                self.take_back(next(job for job in reversed(self.ended) if self._on(job, machine)))
        return with_share(self._idle, wanted.gpu_map())

    def _on(self, job: int, machine: int) -> bool:
        return any(s.machine == machine for s in self.ended[job].slices)


def sensitivity(jobs: JobColumns) -> npt.NDArray[np.float64]:
    """Return iterations done x compute time / time held, shape (n,): 1 without overhead, 0 before a start."""
    done = jobs.iterations_done * jobs.compute_ns.astype(np.float64)
    return np.divide(done, jobs.held_ns, out=np.zeros(len(done)), where=jobs.held_ns > 0)
