"""Iteration time of jobs where they are placed: effects of each job alone, then couplings between jobs."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from copy import copy
from functools import cache, partial
from typing import TYPE_CHECKING, Self

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec, Stages
from artist.performance.api import Changed, Running
from artist.performance.bandwidth import Models, drawn_bandwidth, drawn_by
from artist.performance.couplings.api import Coupling
from artist.performance.couplings.groups import Groups
from artist.performance.couplings.interleaved import Interleaved
from artist.performance.couplings.machine import Machines
from artist.performance.couplings.packed import Packed
from artist.performance.effects.api import ByResources, Effect
from artist.performance.effects.bandwidth_cap import BandwidthCap
from artist.performance.effects.communication import Communication
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.effects.stages import NetworkStage, StageTimes
from netmodels.api import Fabric, NetworkModel, Profile, SystemSettings

if TYPE_CHECKING:
    from artist.performance.couplings.links import Links
    from netmodels.api import JobTraffic, Link, SharedLinks

_FIELDS = IterationParts._fields
_NO_PARTS = (0,) * (len(_FIELDS) - 1)
_MAX_KEPT = 50_000


class PlacedPerformance:
    """A chain: compute, then effects of one job, then couplings.

    A job that no coupling touches takes the short path: compute and effects only. Jobs of a machine slow
    each other first, then jobs on the same links, whose iterations wait that long before they send, then
    members of a group, which share the rest.

    Parameters
    ----------
    network, fabric, system, profile
        As for `artist.performance.effects.communication.Communication`.
    compute
        How compute scales.
    packed, interleaved
        How members of groups share GPUs.
    network_stage
        Whether the network stage of an iteration is the full communication that the network model gives for
        the placement, or the trace's or the table's.
    input_stall
        Effect of CPUs and memory; None if jobs need none.
    contention
        The links that jobs share; None to price each as if it had them to itself.
    effects, couplings
        Further ones of both, applied after the built-in ones.

    Attributes
    ----------
    own_parts
        These.
    input_stall
        As given.
    only_groups
        Whether only members of a group make each other's iterations longer.
    """

    def __init__(
        self,
        network: NetworkModel,
        fabric: Fabric,
        system: SystemSettings,
        profile: Callable[[str], Profile],
        *,
        compute: Compute | None = None,
        packed: Packed | None = None,
        interleaved: Interleaved | None = None,
        network_stage: NetworkStage = "model",
        input_stall: InputStall | None = None,
        contention: "SharedLinks | None" = None,
        effects: Sequence[Effect] = (),
        couplings: Sequence[Coupling] = (),
    ) -> None:
        self.own_parts = (*effects, *couplings)
        self._compute = compute or Compute()
        communication = Communication(network, fabric, system, profile, self._compute)
        self._skew = communication.skew
        self._others: tuple[Effect, ...] = (BandwidthCap(), communication, *effects)
        self._stages = StageTimes(self._compute, communication, network_stage)
        self._groups = partial(Groups, packed or Packed(), interleaved or Interleaved(), self._stages)
        self._links: Links | None = None
        if contention is not None:
            from artist.performance.couplings import links  # most runs do without

            self._links = links.Links(contention, profile, self._compute)
        self.capacity: Mapping[Link, float] = {} if contention is None else contention.capacity
        self.answers: Mapping[str, int] = {} if contention is None else contention.answers
        self._own_couplings = tuple(couplings)
        self._set_chain(input_stall)

    def _set_chain(self, input_stall: InputStall | None) -> None:
        self.input_stall = input_stall
        chain = self._others if input_stall is None else (*self._others, input_stall)
        self._fixed = [effect.ns for effect in chain if not isinstance(effect, ByResources)]
        self._by_resources = [effect.on_grid for effect in chain if isinstance(effect, ByResources)]
        self._effects = [(_FIELDS.index(effect.part), effect.ns) for effect in chain]
        self._uncapped = self._effects[1:]  # for most jobs: saves a call per price
        groups = self._groups(None if input_stall is None else input_stall.input_ns)
        self._drawing = None if input_stall is None else _those_that_draw(input_stall.models)
        machines = () if self._drawing is None else (Machines(self._drawing),)
        links: tuple[Links, ...] = ()
        if self._links is not None:
            only = not machines and not self._own_couplings
            links = (self._links.among(self._alone if only else None),)
        self._couplings: tuple[Coupling, ...] = (*machines, *links, groups, *self._own_couplings)
        self.only_groups = len(self._couplings) == 1
        self._known: dict[int, tuple[JobSpec, Allocation, IterationParts]] = {}  # of jobs that others touch

    def believing(self, input_stall: InputStall | None) -> Self:
        """Return a copy with another effect of CPUs and memory, as a policy may believe it."""
        other = copy(self)
        other._set_chain(input_stall)
        return other

    def stages(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Stages:
        """Return the time for which an iteration of a job uses each resource where it is placed."""
        return self._stages(spec, allocation, cluster)

    def sending(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> "JobTraffic | None":
        """Return the traffic of a job alone on shared links where it is placed; None if it has none."""
        if self._links is None:
            return None
        return self._links.sending(spec, allocation, cluster, self._alone(spec, allocation, cluster))

    def skew(self, spec: JobSpec) -> float:
        """Return largest tensor / size of a job's model, 0 without a model."""
        return self._skew(spec.model) if spec.model else 0.0

    def bandwidth(self, machine: int, running: Running) -> Mapping[int, float]:
        """Return the memory bandwidth in bytes/s that each job on a machine draws there."""
        return drawn_bandwidth(machine, running, self._drawing)

    def drawn(self, spec: JobSpec, allocation: Allocation, here: Slice) -> float:
        """Return the memory bandwidth in bytes/s that a job draws on one of its slices."""
        known = spec.demand.memory_bandwidth_bytes_per_s or (spec.demand.gpus and spec.model)
        return drawn_by(spec, allocation, here, self._drawing) if known else 0.0

    def at_resources(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, cpus: Ints, memory_bytes: Ints
    ) -> Ints:
        """Return iteration times alone by CPUs and memory; see `artist.performance.api.OnGrid`."""
        shape = np.broadcast_shapes(cpus.shape, memory_bytes.shape)
        if not spec.demand.gpus:  # all of it depends on the CPUs
            points = (np.broadcast_to(axis, shape).ravel().tolist() for axis in (cpus, memory_bytes))
            places = [allocation.with_resources(c, m) for c, m in zip(*points, strict=True)]
            alone = [sum(self._alone(spec, place, cluster)) for place in places]
            return np.array(alone, dtype=np.int64).reshape(shape)
        compute_ns = self._compute.ns(spec, allocation, cluster)
        fixed_ns = compute_ns + sum(ns(spec, allocation, cluster, compute_ns) for ns in self._fixed)
        times = np.full(shape, fixed_ns, dtype=np.int64)
        for on_grid in self._by_resources:
            times += on_grid(spec, allocation, cluster, compute_ns, cpus, memory_bytes)
        return times

    def as_measured(self, specs: Sequence[JobSpec], cluster: Cluster) -> Floats | None:
        """Return time / compute time for which run times hold; see `artist.performance.api.AsMeasured`."""
        stall, machine = self.input_stall, cluster.default_machine
        if stall is None or machine is None:
            return None

        @cache
        def times(model: str, demand: Demand) -> float:
            asked = demand.cpus, demand.memory_bytes
            return stall.as_measured(model, demand.gpus, demand.measured_speed, machine, asked)

        return np.array([times(spec.model, spec.demand) for spec in specs])

    def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
        """Return the parts of every changed job that runs, and of the jobs that couplings touch."""
        cluster, spec = running.cluster, running.spec
        prices: dict[int, IterationParts] = {}
        for job, _, after in changed:
            if after is not None:
                prices[job] = self._alone(spec(job), after, cluster)
        touched: dict[int, None] = {}
        for coupling in self._couplings:
            jobs = coupling.touched(changed, running)
            if jobs:
                changed = (*changed, *_as_changed(jobs, {c.job for c in changed}, running))
                touched.update(dict.fromkeys(jobs))
        if not touched:
            return prices
        others = dict.fromkeys(job for job in prices if job not in touched)
        prices = {j: prices[j] if j in prices else self._before(0, running, j) for j in touched | others}
        for place, coupling in enumerate(self._couplings):
            prices.update(coupling.coupled(prices, running, partial(self._before, place, running)))
        return prices

    def _before(self, place: int, running: Running, job: int) -> IterationParts:
        """Return the parts of a running job after the couplings before one of them."""
        spec, allocation, known = running.spec(job), running.allocation(job), self._known.get(job)
        if known is not None and known[0] is spec and known[1] is allocation:
            parts = known[2]
        else:
            if len(self._known) >= _MAX_KEPT:
                self._known.clear()
            parts = self._alone(spec, allocation, running.cluster)
            self._known[job] = spec, allocation, parts
        for earlier, coupling in enumerate(self._couplings[:place]):
            coupled = coupling.coupled({job: parts}, running, partial(self._before, earlier, running))
            parts = coupled.get(job, parts)
        return parts

    def _alone(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> IterationParts:
        """Return the parts of an iteration with no other job near."""
        compute_ns = self._compute.ns(spec, allocation, cluster)
        parts = [compute_ns, *_NO_PARTS]
        for field, ns in self._uncapped if allocation.bandwidth_cap == 1.0 else self._effects:
            parts[field] += ns(spec, allocation, cluster, compute_ns)
        return IterationParts._make(parts)


def _those_that_draw(models: Models) -> Models | None:
    """Return models of which any draws memory bandwidth, suffers from it or crowds PCIe; else None."""
    any_does = any(
        model.memory_bandwidth_bytes_per_s or model.bandwidth_loss or model.pcie_greedy
        for model in models.values()
    )
    return models if any_does else None


def _as_changed(jobs: Iterable[int], known: Set[int], running: Running) -> list[Changed]:
    """Return jobs whose times may change as if they had changed, except those already known."""
    held = ((job, running.allocation(job)) for job in jobs if job not in known)
    return [Changed(job, allocation, allocation) for job, allocation in held]
