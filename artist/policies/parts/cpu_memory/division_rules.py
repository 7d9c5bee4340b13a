"""How what is left of machines is divided: tune hands it out, opt solves an integer program. For fills."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.view import ClusterView
from artist.policies.parts.cpu_memory.best_case import BestCases
from artist.policies.parts.cpu_memory.divider import divide
from artist.policies.parts.cpu_memory.division import Left, Tenant
from artist.policies.parts.cpu_memory.fronts import Fronts
from artist.policies.parts.cpu_memory.leftovers import HandOut
from artist.policies.parts.cpu_memory.on_machines import OnMachines

Amounts = Mapping[int, tuple[int, int]]  # CPUs and bytes of memory by machine


def handed_out(
    tenants: Sequence[Tenant], left: Amounts, view: ClusterView, hand_out: HandOut | None = None
) -> dict[int, Allocation]:
    """Return what jobs hold, by job, when each in turn gets more than its least, as far as it gains.

    Parameters
    ----------
    hand_out
        What remembers the gains of jobs from call to call; None to remember nothing.
    """
    given = (hand_out or HandOut())(
        [tenant.need for tenant in tenants],
        {tenant.need.job: tenant.least.slices for tenant in tenants},
        {machine: cpus for machine, (cpus, _) in left.items()},
        {machine: memory for machine, (_, memory) in left.items()},
        view,
    )
    return {need.job: _with(least, given[need.job]) for need, least in tenants}


class Optimum:
    """Holds what is worth most in all, then hands out the rest in turn; solved programs are remembered.

    Jobs that have less than their share because of others, or whose GPUs are not as close together as their
    best case assumes, are not part of the program: they have their least, and what the program leaves.

    Parameters
    ----------
    cases
        Says which CPUs and memory are tried.
    """

    def __init__(self, cases: BestCases) -> None:
        self._on_machines = OnMachines(Fronts(cases))
        self._hand_out = HandOut()

    def __call__(
        self, tenants: Sequence[Tenant], left: Mapping[int, Left], view: ClusterView
    ) -> dict[int, Allocation]:
        """Return what jobs hold, by job."""
        plain = [tenant for tenant in tenants if _is_plain(tenant, view.cluster)]
        free = _sum(left, [tenant.least for tenant in plain], 1)
        placed = [self._on_machines.placed(view, need.job, least.gpu_map()) for need, least in plain]
        given = divide(placed, free, view.cluster)
        tenants = [_holding(tenant, given) for tenant in tenants]
        return handed_out(tenants, _sum(free, given.values(), -1), view, self._hand_out)


def _with(allocation: Allocation, slices: tuple[Slice, ...]) -> Allocation:
    """Return an allocation with some slices; the same object if it has them."""
    return allocation if slices is allocation.slices else replace(allocation, slices=slices)


def _holding(tenant: Tenant, given: Mapping[int, Allocation]) -> Tenant:
    """Return a tenant whose least is what the program gives it."""
    found = given.get(tenant.need.job)
    return tenant if found is None else Tenant(tenant.need, _with(tenant.least, found.slices))


def _sum(amounts: Amounts, held: Iterable[Allocation], sign: int) -> dict[int, tuple[int, int]]:
    """Return amounts by machine with what jobs hold there, or without."""
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
