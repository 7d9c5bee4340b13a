"""Communication of a job: what the network model says of its placement."""

from collections.abc import Callable

from artist.core.cluster import Allocation, Cluster
from artist.core.job import JobSpec
from artist.performance.effects.compute import Compute, scaled
from netmodels.api import Fabric, NetworkModel, Profile, Shape, SystemSettings, shape_of


class Communication:
    """Exposed communication, as a share of compute, by the shape of the placement.

    The network model says it for the profile of the job's model, which is of the reference GPU, at the speed
    and the number of the GPUs held, whatever the trace was measured on; the share is taken of the compute
    time of the trace, for a job with stages of its GPU stage.

    Parameters
    ----------
    network
        Answers for the shape.
    fabric, system
        What the network model is asked about.
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
        # Exposed, full and compute by model, GPUs asked at least and at all, and shape.
        self._answers: dict[tuple[str, int, int, Shape], tuple[int, int, int]] = {}
        self._single: dict[tuple[str, int], Shape] = {}

    def skew(self, model: str) -> float:
        """Return largest tensor / size of a model."""
        return self._profile(model).skew

    def ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute_ns: int) -> int:
        """Return the exposed communication of an iteration in ns."""
        if allocation.gpus < 2 or not spec.model:
            return 0
        exposed, _, of = self._answer(spec, allocation, cluster)
        return self._share(spec, allocation, cluster, compute_ns, exposed, of)

    def full_ns(self, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute_ns: int) -> int:
        """Return the whole communication of an iteration in ns, hidden or not."""
        if allocation.gpus < 2 or not spec.model:
            return 0
        _, full, of = self._answer(spec, allocation, cluster)
        return self._share(spec, allocation, cluster, compute_ns, full, of)

    def _share(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, compute_ns: int, part: int, of: int
    ) -> int:
        """Return part / of of the time that the GPUs compute, rounded."""
        if spec.stages is not None:
            compute_ns = scaled(spec.stages.gpu_ns, self._compute.factor(spec.demand, allocation, cluster))
        return (2 * compute_ns * part + of) // (2 * of)

    def _answer(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> tuple[int, int, int]:
        shape = self._shape(allocation, cluster)
        demand = spec.demand
        key = (spec.model, demand.least_gpus, demand.gpus, shape)
        known = self._answers.get(key)
        if known is None:
            profile = self._profile(spec.model)
            factor = self._compute.factor(demand, allocation, cluster, measured_speed=1.0)
            if factor != 1.0:
                profile = profile.scaled(factor)
            answer = self._network.iteration(profile, shape, self._fabric, self._system)
            known = self._answers[key] = (answer.exposed_ns, answer.comm_ns, max(answer.compute_ns, 1))
        return known

    def _shape(self, allocation: Allocation, cluster: Cluster) -> Shape:
        slices, machines = allocation.slices, cluster.machines
        if len(slices) > 1:
            return shape_of((machines[s.machine].rack, machines[s.machine].type, s.gpus) for s in slices)
        only = (machines[slices[0].machine].type, slices[0].gpus)
        if only not in self._single:
            self._single[only] = shape_of([(0, *only)])
        return self._single[only]
