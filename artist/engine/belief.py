"""What a policy may believe of iteration times it has not seen."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from artist.core.cluster import Allocation, Cluster, Slice, racks_of
from artist.core.job import JobSpec
from artist.errors import PlanError
from artist.performance.api import Changed, Performance

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Belief:
    """Believed iteration times; see `artist.core.view.BeliefPerformance`."""

    def __init__(
        self, specs: Sequence[JobSpec], cluster: Cluster, performance: Performance, factors: Floats
    ) -> None:
        self._specs = specs
        self._cluster = cluster
        self._performance = performance
        self._factors = factors

    def alone(self, jobs: Sequence[int], allocations: Sequence[Allocation]) -> Ints:
        return np.array(
            [self.together([j], [a])[0] for j, a in zip(jobs, allocations, strict=True)], dtype=np.int64
        )

    def together(self, jobs: Sequence[int], allocations: Sequence[Allocation]) -> Ints:
        held = dict(zip(jobs, allocations, strict=True))
        running = Hypothetical(self._specs, self._cluster, held)
        parts = self._performance.reprice([Changed(j, None, a) for j, a in held.items()], running)
        return np.array([max(1, round(sum(parts[j]) * self._factors[j])) for j in jobs], dtype=np.int64)

    def at_gpus(self, job: int, counts: Sequence[int]) -> Ints:
        return self.alone([job] * len(counts), [consolidated(self._cluster, n) for n in counts])


def consolidated(cluster: Cluster, gpus: int) -> Allocation:
    """Return whole machines of the first rack that is large enough, else of the cluster.

    Raises
    ------
    PlanError
        If the cluster is too small.
    """
    machines = cluster.machines
    order = sorted(range(len(machines)), key=lambda m: (machines[m].rack, m))
    racks = sorted({m.rack for m in machines})
    sets = [[m for m in order if machines[m].rack == rack] for rack in racks]
    sets += [order]
    for chosen in sets:
        if sum(machines[m].gpus for m in chosen) < gpus:
            continue
        single = [m for m in chosen if machines[m].gpus >= gpus]
        slices, left = [], gpus
        for m in single[:1] or sorted(chosen, key=lambda m: -machines[m].gpus):
            take = min(left, machines[m].gpus)
            if take:
                slices.append(Slice(m, take, *machines[m].share(take)))
                left -= take
        return Allocation(tuple(sorted(slices)))
    raise PlanError(f"{gpus} GPUs are more than the cluster has")


class Hypothetical:
    """Jobs that would run, in an otherwise empty cluster; see `artist.performance.api.Running`."""

    def __init__(self, specs: Sequence[JobSpec], cluster: Cluster, held: Mapping[int, Allocation]) -> None:
        self.cluster = cluster
        self._specs = specs
        self._held = held

    def spec(self, job: int) -> JobSpec:
        return self._specs[job]

    def allocation(self, job: int) -> Allocation:
        return self._held[job]

    def ready_ns(self, job: int) -> int:
        return 0

    def jobs_on(self, machine: int) -> list[int]:
        return [j for j, a in self._held.items() if any(s.machine == machine for s in a.slices)]

    def crossing_machine(self, machine: int) -> list[int]:
        return [j for j in self.jobs_on(machine) if len(self._held[j].slices) > 1]

    def crossing_rack(self, rack: int) -> list[int]:
        found = {j: racks_of(a, self.cluster) for j, a in self._held.items()}
        return [j for j, racks in found.items() if len(racks) > 1 and rack in racks]

    def members(self, group: str) -> list[int]:
        return [j for j, a in self._held.items() if a.group is not None and a.group.name == group]
