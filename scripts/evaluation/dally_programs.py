"""The schedulers of the Dally authors' program, with its leak of GPUs or without: policies of one's own file.

    artist --config-dir scripts/evaluation policy=dally_program policy.leak=false
    artist --config-dir scripts/evaluation experiment=dally_leak

In plain words: a job holds its GPUs for a lease, rounded up to whole batches of iterations. Then it loses
them, and bids again. GPUs are on offer whenever a job arrives, ends or loses its GPUs: in the order of the
scheduler each bidder takes all that it asked for, or nothing.

With `leak` a running job bids, too, and may win once per batch. It never uses those GPUs: they stay with it,
idle and on offer to no job, until it ends. Without, only waiting jobs bid. Gandiva leaks nothing in either
case: its running jobs bid for nearer GPUs, and move if they win.

Made from facts about the program, without its code. Left out: the second per GPU after which freed GPUs are
on offer, leases that end up to a batch early, the order of machines by hash code, and of Gandiva the machines
that it checks by mistake and the jobs that run on two sets at once.
"""

from collections.abc import Iterable
from math import ceil

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from artist.api import (
    TIERS,
    Allocation,
    ClusterView,
    Finish,
    JobColumns,
    Plan,
    PlanBuilder,
    child_generator,
    order_of,
    seconds_to_ns,
    tier_of,
)

_STRICT = ConfigDict(extra="forbid")


class Offer:
    """GPUs on offer at one instant.

    Attributes
    ----------
    idle
        Their number by machine.
    """

    def __init__(self, view: ClusterView, leaked: Iterable[Allocation]) -> None:
        self.view, self.cluster = view, view.cluster
        self.idle = view.free().gpus.tolist()
        for held in leaked:
            self.add(held, -1)

    def add(self, held: Allocation, sign: int = 1) -> None:
        """Add the GPUs of an allocation, or take them away."""
        for machine, gpus in held.gpu_map().items():
            self.idle[machine] += sign * gpus

    def on_machine(self, gpus: int) -> Allocation | None:
        """Return GPUs of the first machine that has enough."""
        if gpus > max(self.idle):
            return None
        return next(self.of({machine: gpus}) for machine, idle in enumerate(self.idle) if idle >= gpus)

    def in_rack(self, gpus: int) -> Allocation | None:
        """Return the first GPUs of the first rack that has enough."""
        racks = (self.first(gpus, machines) for machines in self.cluster.machines_of)
        return next(filter(None, racks), None)

    def anywhere(self, gpus: int) -> Allocation | None:
        """Return the first GPUs of the cluster."""
        return self.first(gpus, range(len(self.idle)))

    def first(self, gpus: int, machines: Iterable[int]) -> Allocation | None:
        """Return the first GPUs of some machines; None if they have too few."""
        taken: dict[int, int] = {}
        for machine in machines:
            if gpus and self.idle[machine]:
                taken[machine] = min(self.idle[machine], gpus)
                gpus -= taken[machine]
        return None if gpus else self.of(taken)

    def of(self, gpus: dict[int, int]) -> Allocation:
        """Return an allocation of GPUs by machine, with CPUs and memory in proportion."""
        return Allocation(tuple(self.cluster.share(machine, gpus[machine]) for machine in sorted(gpus)))


@dataclass(config=_STRICT)
class Program:
    """Leases and offers, to which a scheduler adds its order and the GPUs that jobs accept.

    Attributes
    ----------
    series
        Leaked GPUs over time: (time in ns, name, number).
    """

    on_events = True

    leak: bool = True
    lease_s: float = Field(default=3600, ge=1, le=4e9)
    batch_iterations: int = Field(default=1000, ge=1)

    def __post_init__(self) -> None:
        self._lease_ns = seconds_to_ns(self.lease_s)
        self._began: dict[int, int] = {}  # start of the lease, by running job
        self._assigned: dict[int, int] = {}  # last gain or loss of GPUs, by job
        self._batch_ns: dict[int, int] = {}  # by running job; 0 if it has just started
        self._leaked: dict[int, list[Allocation]] = {}  # by winner
        self.started: dict[int, int] = {}  # first start, by job
        self._won_ns: dict[int, int] = {}  # last time that it won GPUs while running, by job
        self.series: list[tuple[int, str, float]] = []

    def key(self, jobs: JobColumns) -> np.ndarray:
        """Return keys of shape (n,), the smallest for the first bidder."""
        raise NotImplementedError

    def accepted(self, offer: Offer, job: int, gpus: int, waited_ns: int) -> Allocation | None:
        """Return the GPUs that a bidder takes, or None."""
        raise NotImplementedError

    def decide(self, view: ClusterView) -> Plan:
        """Offer the GPUs that are idle or at the end of a lease, and not leaked."""
        plan, jobs, now = view.plan(), view.jobs, view.now_ns
        for event in view.news:
            if isinstance(event, Finish):
                self._began.pop(event.job, None)
                self._leaked.pop(event.job, None)
        batch_ns = (jobs.observed_iteration_ns * self.batch_iterations).tolist()
        self._batch_ns = dict(zip(jobs.job.tolist(), batch_ns, strict=True))
        offer = Offer(view, [held for sets in self._leaked.values() for held in sets])
        self._end_leases(plan, offer)
        known = zip(jobs.job.tolist(), jobs.submit_ns.tolist(), strict=True)
        assigned = np.array([self._assigned.setdefault(job, submit_ns) for job, submit_ns in known])
        ranks = np.lexsort((jobs.job, assigned, self.key(jobs)))
        order = list(zip(jobs.job[ranks].tolist(), jobs.gpus[ranks].tolist(), strict=True))
        while self._round(plan, offer, order) and self.leak:
            pass  # those that have just started may bid, too
        if len(jobs):
            ahead = [end for job in self._began if (end := self._end(job)) > now]
            plan.wake_at(min(ahead, default=now + seconds_to_ns(60)))
        gpus = sum(held.gpus for sets in self._leaked.values() for held in sets)
        if gpus != (self.series[-1][2] if self.series else 0):
            self.series.append((now, "leaked GPUs", gpus))
        return plan.done()

    def bids(self, view: ClusterView, job: int) -> bool:
        """Return whether a running job bids."""
        began, batch_ns = self._began[job], self._batch_ns[job] or self._lease_ns
        won = self._won_ns.get(job, -1)
        return self.leak and (won < began or (won - began) // batch_ns < (view.now_ns - began) // batch_ns)

    def win(self, plan: PlanBuilder, offer: Offer, job: int, held: Allocation) -> None:
        """Give a running job the GPUs that it won: they are leaked."""
        self._leaked.setdefault(job, []).append(held)
        self._won_ns[job] = offer.view.now_ns

    def _round(self, plan: PlanBuilder, offer: Offer, order: Iterable[tuple[int, int]]) -> bool:
        """Offer GPUs to each job in order; return whether any was taken."""
        view, taken = offer.view, False
        total = sum(offer.idle)
        for job, gpus in order:
            runs = job in self._began
            if gpus > total or (runs and not self.bids(view, job)):
                continue
            held = self.accepted(offer, job, gpus, view.now_ns - self._assigned[job])
            if held is None:
                continue
            offer.add(held, -1)
            if runs:
                self.win(plan, offer, job, held)
            else:
                plan.place(job, held)
                self._began[job] = view.now_ns
                self.started.setdefault(job, view.now_ns)
            self._assigned[job] = view.now_ns
            total, taken = sum(offer.idle), True
        return taken

    def _end(self, job: int) -> int:
        """Return the end of the lease of a running job: of the batch that it ends in."""
        batch_ns = self._batch_ns[job] or self._lease_ns
        return self._began[job] + ceil(self._lease_ns / batch_ns) * batch_ns

    def _end_leases(self, plan: PlanBuilder, offer: Offer) -> None:
        for job in [job for job in self._began if self._end(job) <= offer.view.now_ns]:
            held = offer.view.allocation(job)
            assert held is not None
            offer.add(held)
            plan.stop(job)
            del self._began[job]
            self._assigned[job] = offer.view.now_ns


@dataclass(config=_STRICT)
class DallyProgram(Program):
    """Offers by network sensitivity, and timers in leases, tuned by accepted waits of a lease or more."""

    knows_iterations = True

    auto_tune: bool = True
    history_leases: int = Field(default=24, ge=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._order = order_of(self, "sensitivity")
        self._waits: dict[tuple[str, int], list[tuple[int, float]]] = {}  # by tier and GPUs: when, leases

    def key(self, jobs: JobColumns) -> np.ndarray:
        """Return the network sensitivity."""
        return np.asarray(self._order.key(jobs))

    def accepted(self, offer: Offer, job: int, gpus: int, waited_ns: int) -> Allocation | None:
        """Return GPUs of a machine; after the timers those of a rack, or any."""
        leases, cluster = waited_ns / self._lease_ns, offer.cluster
        tier, held = "machine", offer.on_machine(gpus)
        if held is None and (gpus > cluster.largest_machine or leases >= self._timers(gpus)[0]):
            tier, held = "rack", offer.in_rack(gpus)
        if held is None and (gpus > cluster.largest_rack or leases >= self._timers(gpus)[1]):
            return offer.anywhere(gpus)
        if held is not None and leases >= 1:
            oldest = offer.view.now_ns - self.history_leases * self._lease_ns
            kept = [wait for wait in self._waits.get((tier, gpus), ()) if wait[0] >= oldest]
            self._waits[tier, gpus] = [*kept, (offer.view.now_ns, leases)]
        return held

    def _timers(self, gpus: int) -> tuple[int, int]:
        """Return the leases after which a rack, and any GPUs, are accepted."""
        if not self.auto_tune:
            return 12, 24
        machine, rack = (self._expected(tier, gpus) for tier in ("machine", "rack"))
        return min(ceil(0.8 * self.history_leases), max(6, machine)), min(self.history_leases, max(12, rack))

    def _expected(self, tier: str, gpus: int) -> int:
        """Return mean + 2 standard deviations of the waits for a tier."""
        waits = [leases for _, leases in self._waits.get((tier, gpus), ())] or [1.0]
        return ceil(np.mean(waits) + 2 * np.std(waits))


@dataclass(config=_STRICT)
class TiresiasProgram(Program):
    """Offers by attained service; jobs of high skew never leave a rack that can hold them."""

    knows_models = True

    def key(self, jobs: JobColumns) -> np.ndarray:
        """Return GPUs x time held."""
        self._low = set(jobs.job[jobs.skew < 0.3].tolist())
        return jobs.attained_gpu_ns

    def accepted(self, offer: Offer, job: int, gpus: int, waited_ns: int) -> Allocation | None:
        """Return GPUs of a machine; of a rack while a machine's number is free anywhere; or any."""
        low, held = job in self._low, offer.on_machine(gpus)
        if held is None and (low or sum(offer.idle) >= offer.cluster.largest_machine):
            held = offer.in_rack(gpus)
        if held is None and (low or gpus > offer.cluster.largest_rack):
            held = offer.anywhere(gpus)
        return held


@dataclass(config=_STRICT)
class GandivaProgram(Program):
    """The job that started last is first; machines by demand, else random GPUs; spread jobs move nearer."""

    seed: int = Field(default=0, ge=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rng = child_generator(self.seed, "offers")
        self._labels: dict[int, int] = {}  # demand by place of a machine in its rack, whichever rack

    def key(self, jobs: JobColumns) -> np.ndarray:
        """Return the first start, the last one first; jobs that never started come last."""
        return np.array([-self.started.get(job, -1) for job in jobs.job.tolist()])

    def bids(self, view: ClusterView, job: int) -> bool:
        """Return whether a running job is spread over machines."""
        held = view.allocation(job)
        return held is not None and tier_of(held, view.cluster) > 0

    def win(self, plan: PlanBuilder, offer: Offer, job: int, held: Allocation) -> None:
        """Move a running job."""
        before = offer.view.allocation(job)
        assert before is not None
        offer.add(before)
        plan.place(job, held)
        self._began[job] = offer.view.now_ns

    def accepted(self, offer: Offer, job: int, gpus: int, waited_ns: int) -> Allocation | None:
        """Return GPUs of one machine, by demand; for more, random ones, or a rack's for a running job."""
        if gpus <= offer.cluster.largest_machine:
            return self._on_machine(offer, gpus)
        if job in self._began:
            held = offer.view.allocation(job)
            spread = held is not None and tier_of(held, offer.cluster) == TIERS.index("network")
            return offer.in_rack(gpus) if spread and gpus <= offer.cluster.largest_rack else None
        drawn = self._rng.permutation(np.repeat(np.arange(len(offer.idle)), offer.idle))[:gpus].tolist()
        return offer.of({machine: drawn.count(machine) for machine in drawn})

    def _on_machine(self, offer: Offer, gpus: int) -> Allocation | None:
        """Return GPUs of the emptiest machine of the demand's label, else without one, else of all."""
        if gpus > max(offer.idle):
            return None
        place = {m: at for rack in offer.cluster.machines_of for at, m in enumerate(rack.tolist())}
        labels = [self._labels.get(place[m]) for m in range(len(offer.idle))]
        wanted = gpus if gpus in labels else None
        chosen = [m for m, label in enumerate(labels) if label == wanted] or range(len(labels))
        emptiest = max(chosen, key=lambda m: offer.idle[m])
        if offer.idle[emptiest] < gpus:
            return None
        self._labels.setdefault(place[emptiest], gpus)
        return offer.of({emptiest: gpus})
