"""The iteration time of a job where it is placed, with the network model's exposed communication.

The network model gives exposed communication as a share of *its* compute time on this shape; that
share is applied to the compute time of the trace (Dally, section 4.2.1). The profile's compute is
scaled by the same factor as the job's before it is asked.
"""

from collections.abc import Callable, Mapping, Sequence

from artist.core.cluster import Allocation, Cluster, Group
from artist.core.job import JobSpec
from artist.performance.api import Changed, IterationParts, Running, with_group_members
from artist.performance.opportunistic import slowdowns
from artist.performance.packing import busy_share
from netmodels.api import Fabric, NetworkModel, Profile, Shape, SystemSettings, shape_of


class PlacedPerformance:
    """Compute scaled to the GPUs, communication by placement, jobs of a group packed on its GPUs.

    - compute: the trace's, times GPUs asked / (GPUs held x speed of the slowest); for CPU-only jobs
      times CPUs asked / CPUs held.
    - interference: a bandwidth cap c stretches compute by 1 / c, as for a job that is bound by memory.
    - sharing: members of a group fill each other's idle time (`artist.performance.packing`); where they
      would keep more GPUs busy than the group has on some machine, all iterations take longer by that ratio.
      Members that never leave a GPU idle take turns without loss. Opportunistic ones get only the time that
      the others leave idle (`artist.performance.opportunistic`).
    - interference of packing: where members hold more GPUs than the group has, iterations take
      1 + `packing_interference` times as long on top.

    Parameters
    ----------
    network
        Answers for the shape.
    fabric, system
        What the network model is asked about.
    profile
        Profile of a model by name.
    packing_interference
        What packed jobs lose to each other in caches and memory, as a share of their iteration.
    """

    def __init__(
        self,
        network: NetworkModel,
        fabric: Fabric,
        system: SystemSettings,
        profile: Callable[[str], Profile],
        packing_interference: float = 0.0,
    ) -> None:
        self._network = network
        self._fabric = fabric
        self._system = system
        self._profile = profile
        self._packing_interference = packing_interference
        self._exposed: dict[tuple[str, int, Shape], tuple[int, int]] = {}  # exposed, compute
        self._single: dict[tuple[str, int], Shape] = {}

    @property
    def asked(self) -> int:
        """Number of distinct (model, GPUs asked, shape) that were priced."""
        return len(self._exposed)

    def skew(self, spec: JobSpec) -> float:
        """Return largest tensor / size of a job's model, 0 where it has none."""
        return self._profile(spec.model).skew if spec.model else 0.0

    def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
        """Return the parts of every changed job that runs, and of the members of touched groups."""
        prices: dict[int, IterationParts] = {}
        for job, before, after in changed:
            if (before is not None and before.group) or (after is not None and after.group):
                break
            if after is not None:
                prices[job] = self._alone(running.spec(job), after, running.cluster)
        else:
            return prices
        jobs = with_group_members(changed, running)
        alone = {
            job: self._alone(running.spec(job), running.allocation(job), running.cluster) for job in jobs
        }
        packed: dict[int, IterationParts] = {}
        for group in dict.fromkeys(running.allocation(job).group for job in jobs):
            if group is not None:
                packed.update(self._packed(group, alone, running))
        return {job: packed.get(job, alone[job]) for job in jobs}

    def _alone(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> IterationParts:
        """Return the parts of an iteration with nobody else on its GPUs."""
        compute, factor = self._compute(spec, allocation, cluster)
        exposed = self._exposed_ns(spec, allocation, cluster, compute, factor)
        cap = allocation.bandwidth_cap
        interference = 0 if cap == 1.0 else round(compute * (1 / cap - 1))
        return IterationParts(compute, interference_ns=interference, exposed_ns=exposed)

    def _packed(
        self, group: Group, alone: Mapping[int, IterationParts], running: Running
    ) -> dict[int, IterationParts]:
        """Return the parts of an iteration of each member of a group among the others."""
        members = {job: running.allocation(job) for job in running.members(group.name)}
        busy: dict[int, tuple[list[float], list[float]]] = {}  # GPUs that each would keep busy, by machine
        held: dict[int, int] = {}
        for job, its in members.items():
            parts = alone[job]
            share = busy_share(parts.compute_ns, sum(parts), running.spec(job).gpu_utilization)
            for s in its.slices:
                busy.setdefault(s.machine, ([], []))[its.opportunistic].append(share * s.gpus)
                held[s.machine] = held.get(s.machine, 0) + s.gpus
        slower = {m: slowdowns(*busy[m], gpus) for m, gpus in group.gpus if m in busy}
        crowded = {m for m, gpus in group.gpus if held.get(m, 0) > gpus}
        prices: dict[int, IterationParts] = {}
        for job, its in members.items():
            parts, here = alone[job], [s.machine for s in its.slices if s.gpus]
            times = max((slower[m][its.opportunistic] for m in here), default=1.0)
            sharing, interference = round(sum(parts) * (times - 1)), parts.interference_ns
            if self._packing_interference and not crowded.isdisjoint(here):
                interference += round((sum(parts) + sharing) * self._packing_interference)
            prices[job] = parts._replace(interference_ns=interference, sharing_ns=sharing)
        return prices

    def _compute(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> tuple[int, float]:
        """Return compute time and its factor over the trace's."""
        asked = spec.demand.gpus
        if not asked:
            held = sum(s.cpus for s in allocation.slices)
            factor = max(spec.demand.cpus, 1) / held
        else:
            machines, slices = cluster.machines, allocation.slices
            slowest = machines[slices[0].machine].speed
            if len(slices) > 1:
                slowest = min(machines[s.machine].speed for s in slices)
            factor = asked / (allocation.gpus * slowest)
        return (spec.compute_ns if factor == 1.0 else max(1, round(spec.compute_ns * factor))), factor

    def _exposed_ns(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute: int, factor: float
    ) -> int:
        if allocation.gpus < 2 or not spec.model:
            return 0
        shape = self._shape(allocation, cluster)
        key = (spec.model, spec.demand.gpus, shape)
        known = self._exposed.get(key)
        if known is None:
            profile = self._profile(spec.model)
            if factor != 1.0:
                profile = profile.scaled(factor)
            answer = self._network.iteration(profile, shape, self._fabric, self._system)
            known = self._exposed[key] = (answer.exposed_ns, max(answer.compute_ns, 1))
        exposed, of_compute = known
        return (2 * compute * exposed + of_compute) // (2 * of_compute)  # rounded to the nearest

    def _shape(self, allocation: Allocation, cluster: Cluster) -> Shape:
        slices, machines = allocation.slices, cluster.machines
        if len(slices) > 1:
            return shape_of((machines[s.machine].rack, machines[s.machine].type, s.gpus) for s in slices)
        only = (machines[slices[0].machine].type, slices[0].gpus)
        if only not in self._single:
            self._single[only] = shape_of([(0, *only)])
        return self._single[only]
