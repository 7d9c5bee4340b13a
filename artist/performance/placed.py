"""The iteration time of a job where it is placed, with the network model's exposed communication.

The network model gives exposed communication as a share of *its* compute time on this shape; that
share is applied to the compute time of the trace (Dally, section 4.2.1), or to its stage on the GPUs if the
trace has stages. The profile's compute, that of the reference GPU, is scaled to the number and the speed of
the GPUs held before it is asked.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from artist.core.cluster import Allocation, Cluster, Group
from artist.core.job import JobSpec, Stages
from artist.performance.api import Changed, IterationParts, Running, with_group_members
from artist.performance.sharing import Member, Packed, Sharing
from artist.performance.stages import stages_of
from netmodels.api import Fabric, NetworkModel, Profile, Shape, SystemSettings, shape_of

NetworkStage = Literal["model", "table"]


class PlacedPerformance:
    """Compute scaled to the GPUs, communication by placement, jobs of a group sharing its GPUs.

    - compute: the trace's, times GPUs asked x speed where measured / (GPUs held x speed of the slowest);
      for CPU-only jobs times CPUs asked / CPUs held.
    - interference: a bandwidth cap c stretches compute by 1 / c, as for a job that is bound by memory.
    - sharing: members of a group wait for each other, packed or interleaved (`artist.performance.sharing`).

    Parameters
    ----------
    network
        Answers for the shape.
    fabric, system
        What the network model is asked about.
    profile
        Profile of a model by name.
    sharing
        How members of a group share its GPUs; packed by default.
    network_stage
        Whether the network stage of an iteration is the full communication that the network model says
        for the placement, or what the trace or the table of stages says.
    """

    def __init__(
        self,
        network: NetworkModel,
        fabric: Fabric,
        system: SystemSettings,
        profile: Callable[[str], Profile],
        sharing: Sharing | None = None,
        network_stage: NetworkStage = "model",
    ) -> None:
        self._network = network
        self._fabric = fabric
        self._system = system
        self._profile = profile
        self._sharing = sharing or Packed()
        self._network_stage = network_stage
        self._answers: dict[tuple[str, int, Shape], tuple[int, int, int]] = {}  # exposed, full, compute
        self._single: dict[tuple[str, int], Shape] = {}

    @property
    def asked(self) -> int:
        """Number of distinct (model, GPUs asked, shape) that were priced."""
        return len(self._answers)

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
        for job in with_group_members(changed, running):
            held = running.allocation(job)
            if held.group is None:
                prices[job] = self._alone(running.spec(job), held, running.cluster)
            elif job not in prices:
                prices |= self._together(held.group, running)
        return prices

    def stages(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Stages:
        """Return how long an iteration of a job uses each resource where it is placed."""
        measured = stages_of(spec)
        if not spec.demand.gpus:
            return measured
        factor = self._factor(spec, allocation, cluster)
        storage, cpu, gpu = measured[:3] if factor == 1.0 else (round(t * factor) for t in measured[:3])
        network = measured.network_ns
        if self._network_stage == "model":
            network = self._network_ns(spec, allocation, cluster, factor)[1]
        return Stages(storage, cpu, gpu, network)

    def _together(self, group: Group, running: Running) -> dict[int, IterationParts]:
        """Return the parts of all members of a group, priced at once: a group may have a hundred."""
        jobs = running.members(group.name)
        members = [self._member(running.spec(j), running.allocation(j), running.cluster) for j in jobs]
        return dict(zip(jobs, self._sharing.parts(members, group), strict=True))

    def _member(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Member:
        alone, stages = self._alone(spec, allocation, cluster), self.stages(spec, allocation, cluster)
        return Member(allocation, alone, stages, spec.gpu_utilization)

    def _alone(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> IterationParts:
        """Return the parts of an iteration with nobody else on its GPUs."""
        factor = self._factor(spec, allocation, cluster)
        compute = _scaled(spec.compute_ns, factor)
        exposed = self._network_ns(spec, allocation, cluster, factor)[0]
        cap = allocation.bandwidth_cap
        interference = 0 if cap == 1.0 else round(compute * (1 / cap - 1))
        return IterationParts(compute, interference_ns=interference, exposed_ns=exposed)

    def _factor(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> float:
        """Return compute time over that of the trace."""
        asked = spec.demand.gpus
        if not asked:
            held = sum(s.cpus for s in allocation.slices)
            return max(spec.demand.cpus, 1) / held
        return asked * spec.demand.measured_speed / _power(allocation, cluster)

    def _network_ns(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, factor: float
    ) -> tuple[int, int]:
        """Return the exposed and the full communication of an iteration."""
        if allocation.gpus < 2 or not spec.model:
            return 0, 0
        shape = self._shape(allocation, cluster)
        key = (spec.model, spec.demand.gpus, shape)
        known = self._answers.get(key)
        if known is None:
            profile = self._profile(spec.model)
            scale = spec.demand.gpus / _power(allocation, cluster)  # whatever the trace was measured on
            if scale != 1.0:
                profile = profile.scaled(scale)
            answer = self._network.iteration(profile, shape, self._fabric, self._system)
            known = (answer.exposed_ns, answer.comm_ns, max(answer.compute_ns, 1))
            self._answers[key] = known
        exposed, full, of = known
        compute = _scaled(spec.compute_ns if spec.stages is None else spec.stages.gpu_ns, factor)
        return (2 * compute * exposed + of) // (2 * of), (2 * compute * full + of) // (2 * of)  # rounded

    def _shape(self, allocation: Allocation, cluster: Cluster) -> Shape:
        slices, machines = allocation.slices, cluster.machines
        if len(slices) > 1:
            return shape_of((machines[s.machine].rack, machines[s.machine].type, s.gpus) for s in slices)
        only = (machines[slices[0].machine].type, slices[0].gpus)
        if only not in self._single:
            self._single[only] = shape_of([(0, *only)])
        return self._single[only]


def _power(allocation: Allocation, cluster: Cluster) -> float:
    """Return the GPUs held, times the speed of the slowest."""
    machines, slices = cluster.machines, allocation.slices
    slowest = machines[slices[0].machine].speed
    if len(slices) > 1:
        slowest = min(machines[s.machine].speed for s in slices)
    return allocation.gpus * slowest


def _scaled(time_ns: int, factor: float) -> int:
    return time_ns if factor == 1.0 else max(1, round(time_ns * factor))
