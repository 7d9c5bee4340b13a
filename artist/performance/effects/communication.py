"""Communication of a job, as the network model prices its placement."""

from collections.abc import Callable
from functools import cache

from artist.core.cluster import Allocation, Cluster
from artist.core.job import Demand, JobSpec, Stages
from artist.performance.effects.compute import Compute, scaled
from netmodels.api import Fabric, NetworkModel, Profile, Shape, SystemSettings, shape_of


def profile_on(
    profile: Profile, compute: Compute, demand: Demand, allocation: Allocation, cluster: Cluster
) -> Profile:
    """Return a model's profile at the speed and number of the GPUs held."""
    factor = compute.factor(demand, allocation, cluster, measured_speed=1.0)
    if allocation.gpus != demand.gpus and profile.program is not None:  # it counts GPUs itself
        factor *= allocation.gpus / demand.gpus
    return profile if factor == 1.0 else profile.scaled(factor)


class Communication:
    """Exposed communication, as a share of compute, by the shape of the placement.

    The network model prices the profile of the job's model, which is of the reference GPU, at the speed and
    number of the GPUs held, whatever the trace was measured on; the share applies to the compute time of the
    trace, or, for a job with stages, of its GPU stage.

    Parameters
    ----------
    network
        Answers for the shape.
    fabric, system
        Passed to the network model.
    profile
        Profile of a model by name.
    compute
        How compute scales.
    """

    part = "exposed_ns"

    def __init__(
        self,
        network: NetworkModel,
        fabric: Fabric,
        system: SystemSettings,
        profile: Callable[[str], Profile],
        compute: Compute,
    ) -> None:
        self._network = network
        self._fabric = fabric
        self._system = system
        self._profile = profile
        self._compute = compute
        # Exposed, full and compute by model, demand and shape.
        self._answers: dict[tuple[str, Demand, Shape], tuple[int, int, int]] = {}
        self._single = cache(lambda machine_type, gpus: shape_of([(0, machine_type, gpus)]))

    def skew(self, model: str) -> float:
        """Return largest tensor / size of a model."""
        return self._profile(model).skew

    def ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute_ns: int) -> int:
        """Return the exposed communication of an iteration in ns."""
        if not spec.model or allocation.gpus < 2:
            return 0
        exposed, _, of = self._answer(spec, allocation, cluster)
        if spec.stages is not None:
            compute_ns = self._of_stages(spec.stages, spec, allocation, cluster)
        return (2 * compute_ns * exposed + of) // (2 * of)  # rounded

    def share(self, spec: JobSpec, allocation: Allocation, cluster: Cluster, speed: float) -> float:
        """Return exposed communication / compute time of a placement, on GPUs of another speed."""
        profile = self._profile(spec.model)
        profile = profile if speed == 1.0 else profile.scaled(1 / speed)
        shape = self._shape(allocation, cluster)
        answer = self._network.iteration(profile, shape, self._fabric, self._system)
        return answer.exposed_ns / max(answer.compute_ns, 1)

    def full_ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute_ns: int) -> int:
        """Return the whole communication of an iteration in ns, hidden or not."""
        if not spec.model or allocation.gpus < 2:
            return 0
        _, full, of = self._answer(spec, allocation, cluster)
        if spec.stages is not None:
            compute_ns = self._of_stages(spec.stages, spec, allocation, cluster)
        return (2 * compute_ns * full + of) // (2 * of)

    def _of_stages(self, stages: Stages, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> int:
        """Return the time that the GPUs compute in an iteration with stages, in ns."""
        return scaled(stages.gpu_ns, self._compute.factor(spec.demand, allocation, cluster))

    def _answer(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> tuple[int, int, int]:
        """Return exposed and full communication, and the compute that they belong to, in ns."""
        shape = self._shape(allocation, cluster)
        key = (spec.model, spec.demand, shape)
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = self._ask(spec, allocation, cluster, shape)
        return known

    def _ask(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, shape: Shape
    ) -> tuple[int, int, int]:
        """Return exposed and full communication and compute, in ns, as the network model prices them."""
        profile = profile_on(self._profile(spec.model), self._compute, spec.demand, allocation, cluster)
        answer = self._network.iteration(profile, shape, self._fabric, self._system)
        return answer.exposed_ns, answer.comm_ns, max(answer.compute_ns, 1)

    def _shape(self, allocation: Allocation, cluster: Cluster) -> Shape:
        slices, machines = allocation.slices, cluster.machines
        if len(slices) > 1:
            rack_of = cluster.rack_of
            return shape_of([(rack_of[m], machines[m].type, gpus) for m, gpus, _, _ in slices])
        return self._single(machines[slices[0].machine].type, slices[0].gpus)
