"""Rules that divide CPUs and memory among jobs on given GPUs. For `cpu_tuned`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import ge
from typing import NamedTuple

from artist.core.checked import AnswerError
from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.view import ClusterView
from artist.policies.parts.parameters import checked_part
from artist.policies.synergy.best_case import BestCases
from artist.policies.synergy.divider import divide
from artist.policies.synergy.leftovers import HandOut
from artist.policies.synergy.needs import Need
from artist.policies.synergy.points import Points

Amounts = Mapping[int, tuple[int, int]]  # CPUs and bytes of memory by machine


class Tenant(NamedTuple):
    """A job on given GPUs.

    Attributes
    ----------
    need
        With its best case, for the whole job.
    least
        Guaranteed: in each of CPUs and memory the lesser of its best case and its share in proportion to
        GPUs, machine by machine. Its share, if it would be slower with that: best cases hold for as few
        machines as possible.
    """

    need: Need
    least: Allocation


class Left(NamedTuple):
    """CPUs and bytes of memory of a machine that are not allocated yet."""

    cpus: int
    memory_bytes: int


class DivisionRule(ABC):
    """Divides the rest of machines; `divide` is all that a user's own rule must define."""

    @abstractmethod
    def divide(
        self, tenants: Sequence[Tenant], left: Mapping[int, Left], view: ClusterView
    ) -> Mapping[int, Allocation]:
        """Return the allocations by job: GPUs as in the tenant's `least`, CPUs and memory no less.

        Parameters
        ----------
        tenants
            The jobs of machines whose jobs changed, in order of arrival.
        left
            By machine that takes new work, the rest when each tenant has its least.
        view
            For the believed performance.
        """


class HandedOut(DivisionRule):
    """Tenant after tenant gets more than its least, as far as it gains: tune."""

    def __init__(self) -> None:
        self._hand_out = HandOut()

    def divide(self, tenants: Sequence[Tenant], left: Amounts, view: ClusterView) -> dict[int, Allocation]:
        """Return the allocations by job."""
        raised = self._hand_out(
            [tenant.need for tenant in tenants],
            {tenant.need.job: tenant.least.slices for tenant in tenants},
            {machine: cpus for machine, (cpus, _) in left.items()},
            {machine: memory for machine, (_, memory) in left.items()},
            view,
        )
        return {need.job: _with(least, raised[need.job]) for need, least in tenants}


class Optimum(HandedOut):
    """Maximises the sum of relative throughputs, then hands out the rest in turn: opt.

    Throughputs are relative to those with the shares, and weighted by GPUs: the integer program of
    Synergy-OPT (4.1). Jobs that have less than their share because of others, or whose GPUs are not as close
    together as their best case assumes, are not part of the program: they have their least, and part of
    the program's rest.

    Parameters
    ----------
    cases
        Amounts of CPUs and memory to try.
    """

    def __init__(self, cases: BestCases) -> None:
        super().__init__()
        self._points = Points(cases)

    def divide(self, tenants: Sequence[Tenant], left: Amounts, view: ClusterView) -> dict[int, Allocation]:
        """Return the allocations by job."""
        plain = [tenant for tenant in tenants if _is_plain(tenant, view.cluster)]
        free = _sum(left, [tenant.least for tenant in plain], 1)
        placed = [self._points.placed(view, need.job, least.gpu_map()) for need, least in plain]
        optimum = divide(placed, free, view.cluster)
        tenants = [_holding(tenant, optimum) for tenant in tenants]
        return super().divide(tenants, _sum(free, optimum.values(), -1), view)


def checked_rule(rule: DivisionRule) -> DivisionRule:
    """Return a rule of the user's own that must give each job its least, or raises PlanError."""
    return checked_part(rule, "mechanism", divide=_checked_division)


def _checked_division(
    divided: Mapping[int, Allocation], tenants: Sequence[Tenant], left: Mapping[int, Left], view: ClusterView
) -> Mapping[int, Allocation]:
    for need, least in tenants:
        after = divided.get(need.job, least)
        if not _covers(after, least):
            raise AnswerError(f"{after} for job number {need.job}", f"allowed: at least {least}")
    return divided


RULES: Mapping[str, Callable[[BestCases], DivisionRule]] = {"tune": lambda _: HandedOut(), "opt": Optimum}


def _with(allocation: Allocation, slices: tuple[Slice, ...]) -> Allocation:
    """Return an allocation with some slices; the same object if it has them."""
    return allocation if slices is allocation.slices else replace(allocation, slices=slices)


def _holding(tenant: Tenant, optimum: Mapping[int, Allocation]) -> Tenant:
    """Return a tenant whose least is its allocation by the program."""
    held = optimum.get(tenant.need.job)
    return tenant if held is None else Tenant(tenant.need, _with(tenant.least, held.slices))


def _sum(amounts: Amounts, held: Iterable[Allocation], sign: int) -> dict[int, tuple[int, int]]:
    """Return amounts by machine plus (sign 1) or minus (-1) allocations."""
    total = {machine: (cpus, memory) for machine, (cpus, memory) in amounts.items()}
    for allocation in held:
        for s in allocation.slices:
            cpus, memory = total[s.machine]
            total[s.machine] = cpus + sign * s.cpus, memory + sign * s.memory_bytes
    return total


def _is_plain(tenant: Tenant, cluster: Cluster) -> bool:
    """Return whether the least of a job is the lesser of its best case and its share on each machine."""
    need, machines = tenant.need, cluster.machines
    return all(
        (s.cpus, s.memory_bytes) == need.least(s.gpus, machines[s.machine]) for s in tenant.least.slices
    )


def _covers(allocation: Allocation, least: Allocation) -> bool:
    """Return whether an allocation has no less on each machine than another has there."""
    slices = {s.machine: s for s in allocation.slices}
    return all(s.machine in slices and all(map(ge, slices[s.machine], s)) for s in least.slices)
