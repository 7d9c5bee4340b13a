"""Any policy, aware of the links that jobs share: it selects the jobs, this policy their places and shifts.

In plain words: the policy `of` makes its plan. Each job that its plan starts or moves on several
machines, and that would share links with others there, may get another place: one of `candidates`
places on free GPUs, first on machines without other jobs that span machines. None has worse locality than the
policy's own place (racks, then machines), so delays and consolidation keep their meaning. `placement`
decides:

- as_chosen: the policy's own place.
- least_added: the place that adds least to the iterations of the job and of all others: the sum over jobs of
  GPUs x added time / iteration alone. It is split evenly (`artist.policies.parts.even_split`) if that adds
  less, as it does where a job of 17 GPUs has 6 + 6 + 5 instead of 8 + 8 + 1, shared links or not.
- compatible: the place with the best score of its worst link, as in CASSINI.

With `shifts: interleaved` jobs that share links with the placed job begin their iterations later, so that
they send one after another (`artist.policies.network_aware.shifts`); `least_added` then counts the time added
with these shifts. Where more than 8 jobs are joined by links, only the placed job is shifted, and only its
own links count. Where no links are shared, or `performance.contention` is none, the plan otherwise stays as
it is, as do jobs that share GPUs or have a bandwidth cap, and elastic jobs that only change their size. One
job after another gets its place, in the order of the plan. CODA, AntMan, Lyra and `cpu_tuned` record the
machines of their jobs: with them only `as_chosen`; `cpu_tuned` works around this policy instead.

Paper: Rajasekaran, Ghobadi and Akella, CASSINI: Network-Aware Job Scheduling in Machine Learning Clusters,
NSDI 2024: a module beside any scheduler that ranks its placements by compatibility and shifts jobs
(`policy=cassini`). `least_added` is no paper's.

Differs from the paper: the scheduler there proposes the candidates; here they come from placement policies. A
placement with a loop of jobs and links is not discarded (`artist.policies.network_aware.shifts`). Shifts cost
nothing and stay; there, a job waits for its first one, and again when it has drifted. Jobs whose iterations
have no short common multiple drift apart here, so shifts do little for them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.cluster import Allocation
from artist.core.events import Finish
from artist.core.link_use import LinkUse
from artist.core.plan import Plan
from artist.core.view import ClusterView
from artist.policies.network_aware.added_time import Added
from artist.policies.network_aware.alternatives import Alternatives, spanning
from artist.policies.network_aware.link_users import LinkUsers
from artist.policies.network_aware.shifts import Interleaved, interleaved
from artist.policies.parts.around import AnyPolicy, Around
from artist.policies.parts.parameters import STRICT

_LITTLE = 1e-9
_MAX_SHIFTED = 8


@dataclass(config=STRICT)
class NetworkAware(Around):
    """A policy whose jobs avoid each other on the network; other attributes are those of `of`.

    Attributes
    ----------
    known
        Allocations and link uses of jobs, by number.
    """

    knows_performance = True

    of: AnyPolicy
    placement: Literal["as_chosen", "least_added", "compatible"] = "least_added"
    shifts: Literal["none", "interleaved"] = "none"
    candidates: int = Field(default=8, ge=1, le=1000)

    def __post_init__(self) -> None:
        if self.placement == "compatible" and self.shifts == "none":
            raise ValueError("placement=compatible is a score of shifted jobs; policy.shifts=interleaved")
        if self.placement != "as_chosen" and getattr(self.of, "remembers_places", False):
            name = type(self.of).__name__
            raise ValueError(f"{name} records the machines of its jobs; policy.placement=as_chosen")
        self.known: dict[int, tuple[Allocation, LinkUse | None]] = {}

    @property
    def needs_contention(self) -> Mapping[str, tuple[str, ...]]:
        """By setting, the ways of `performance.contention` with which it changes anything."""
        needed: dict[str, tuple[str, ...]] = {}
        if self.placement != "as_chosen":
            needed[f"placement={self.placement}"] = ("mean_field", "packets")
        if self.shifts != "none":
            needed[f"shifts={self.shifts}"] = ("packets",)
        return needed

    def decide(self, view: ClusterView) -> Plan:
        """Return the plan of the policy, with other places and with shifts."""
        for event in view.news:
            if isinstance(event, Finish):
                self.known.pop(event.job, None)
        plan = self.of.decide(view)
        new = {job: after for job, after in plan.changes.items() if after and _is_placed(view, job, after)}
        return self._replaced(view, plan, new) if new else plan

    def _replaced(self, view: ClusterView, plan: Plan, new: Mapping[int, Allocation]) -> Plan:
        """Return a plan with other places for some of its jobs, and with shifts."""
        held = spanning(view, plan)
        judge = _Judge(self, view, plan, {job: kept for job, kept in held.items() if job not in new})
        alternatives = Alternatives(view, plan, held, getattr(self.of, "align", "none"))
        places = dict(plan.changes)
        for job, chosen in new.items():
            best = chosen
            if judge.cost(job, chosen) > _LITTLE and self.placement != "as_chosen":
                best = judge.cheapest(job, chosen, alternatives.of(job, chosen, self.candidates - 1))
            if self.placement == "least_added":
                best = judge.cheapest(job, best, alternatives.even(job, chosen, best))
            judge.settle(job, best)
            alternatives.settle(job, chosen, best)
            places[job] = best
        shifts = {**judge.shift_ns, **plan.shifts}
        return replace(plan, changes=MappingProxyType(places), shifts=MappingProxyType(shifts))


class _Judge:
    """Costs of places for the jobs of a plan, one job after another, and their shifts.

    Parameters
    ----------
    policy
        Determines the costs.
    held
        Allocations on several machines that the plan does not change.

    Attributes
    ----------
    shift_ns
        Shifts of jobs so far.
    """

    def __init__(
        self, policy: NetworkAware, view: ClusterView, plan: Plan, held: Mapping[int, Allocation]
    ) -> None:
        self._view = view
        self.shift_ns: dict[int, int] = {}
        self._asked: dict[Allocation, Interleaved] = {}  # of the job in question
        self._scores, self._shifts = policy.placement == "compatible", policy.shifts == "interleaved"
        self._added = Added(view, plan) if policy.placement == "least_added" else None
        self._users = LinkUsers(view, policy.known) if self._scores or self._shifts else None
        if self._users is not None:
            for job, allocation in held.items():
                self._users.put(job, allocation)

    def cost(self, job: int, allocation: Allocation) -> float:
        """Return the cost of a place; 0 or less if it costs nothing."""
        together = self._together(job, allocation)
        if self._scores:
            return 1 - together.worst
        return self._added.cost(job, allocation, self._wanted(together)) if self._added else 0.0

    def cheapest(self, job: int, place: Allocation, others: Iterable[Allocation]) -> Allocation:
        """Return the first place with the least cost."""
        least = self.cost(job, place)
        for other in others:
            cost = self.cost(job, other)
            if cost < least - _LITTLE:
                place, least = other, cost
        return place

    def settle(self, job: int, allocation: Allocation) -> None:
        """Fix the place of a job, and the shifts of the jobs that share links with it."""
        together = self._together(job, allocation)
        self._asked.clear()
        self.shift_ns |= self._wanted(together)
        if self._added is not None:
            self._added.settle(job, allocation, self._wanted(together))

    def _wanted(self, together: Interleaved) -> Mapping[int, int]:
        return together.shift_ns if self._shifts else {}

    def _together(self, job: int, allocation: Allocation) -> Interleaved:
        """Return the best shifts of a job on an allocation and the jobs joined with it."""
        if self._users is None:
            return Interleaved({}, {})
        self._users.put(job, allocation)
        if allocation not in self._asked:
            uses, kept_ns = self._users.joined(job, _MAX_SHIFTED), dict[int, int]()
            if uses is None:
                uses = self._users.beside(job)
                kept_ns = {other: self._shift_now_ns(other) for other in uses if other != job}
            self._asked[allocation] = interleaved(uses, kept_ns)
        return self._asked[allocation]

    def _shift_now_ns(self, job: int) -> int:
        return self.shift_ns.get(job, self._view.shift_ns(job))


def _is_placed(view: ClusterView, job: int, after: Allocation) -> bool:
    """Return whether a plan starts or moves a job on several machines, with GPUs and links of its own."""
    if len(after.slices) < 2 or after.group is not None or after.bandwidth_cap != 1.0:
        return False
    before, demand = view.allocation(job), view.demand(job)
    if before is None:
        return demand.gpus > 0
    return demand.gpus > 0 and not demand.elastic and before.gpu_map() != after.gpu_map()
