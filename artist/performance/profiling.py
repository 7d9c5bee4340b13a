"""Optimistic profiling: the few measurements of a job, and what policies infer from them (Synergy, 3.1).

Only CPU counts are measured, with all the memory of the machines that a job needs: the most, those on the way
of a bisection to the knee of the curve, one, and the proportional share. Between them the rate at which GPUs
are fed is linear. Memory is filled in by the cache model: process memory, data set and storage rate are known
facts. So the belief differs from the truth only in the input stall.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Allocation, Cluster, Machine, Slice
from artist.core.job import Demand, JobSpec
from artist.performance.api import Performance
from artist.performance.effects.input_stall import InputStall
from artist.performance.estimates import Exact
from artist.performance.formulas.bisection import bisected
from artist.performance.formulas.input_rate import Sensitivity
from artist.performance.placed import PlacedPerformance
from artist.randomness import child_generator
from artist.units import NS_PER_S, seconds_to_ns


@dataclass(config={"extra": "forbid"})
class OptimisticProfiling(Exact):
    """Policies believe a matrix of few measurements; durations are known.

    Jobs of one model and number of GPUs have one profile, but each of them is charged for it. If jobs need no
    CPUs (performance.sensitivity=null) there is nothing to profile.

    Parameters
    ----------
    threshold
        Least gain in throughput that makes CPUs worth a closer look.
    minutes_per_point
        Time of one measurement.
    charge
        Whether the measurements of a job delay its first run: it holds its GPUs without progress.
    noise
        Measured iteration times are multiplied by a factor uniform in [1 - noise, 1 + noise].
    """

    threshold: float = Field(default=0.1, ge=0, le=10)
    minutes_per_point: float = Field(default=1, ge=0, le=1e6)
    charge: bool = False
    noise: float = Field(default=0, ge=0, lt=1)
    seed: int = Field(default=0, ge=0)

    def performance(self, truth: Performance) -> Performance:
        """Return the truth except for the input stall, which is that of the filled-in matrix."""
        if not isinstance(truth, PlacedPerformance) or truth.input_stall is None:
            return truth
        return truth.believing(ProfiledStall(truth, truth.input_stall, self))

    def first_delays_ns(self, jobs: Sequence[JobSpec], believed: Performance, cluster: Cluster) -> Ints:
        """Return the time that the measurements of each job take, shape (n_jobs,), if they are charged."""
        delays = np.zeros(len(jobs), dtype=np.int64)
        stall = getattr(believed, "input_stall", None)
        if not self.charge or not isinstance(stall, ProfiledStall):
            return delays
        for number, spec in enumerate(jobs):
            gpus = spec.demand.gpus
            if spec.model and gpus:
                points = len(stall.profile(spec.model, gpus, cluster).throughput)
                delays[number] = seconds_to_ns(points * self.minutes_per_point * 60)
        return delays

    def describe(self) -> str:
        """Return the beliefs in a clause, for a report."""
        delays = "measuring delays first runs" if self.charge else "measuring takes no time"
        noise = f"up to {self.noise:.0%} off" if self.noise else "exact"
        return (
            "policies believe a few measured CPU counts and the rest filled in, "
            f"{delays}, and measurements are {noise}"
        )


class JobProfile(NamedTuple):
    """Measurements of jobs of one model and number of GPUs.

    Attributes
    ----------
    throughput
        Iterations/s by CPUs in all, in the order of measuring; an iteration computes for a second.
    stall
        The input stall implied by the matrix filled in from that.
    """

    throughput: dict[int, float]
    stall: InputStall


class ProfiledStall(InputStall):
    """Input stall by profiles, each made when first asked for.

    They are made on machines of the cluster's own kind. More CPUs per GPU than these have are believed to
    increase throughput further in proportion, up to the consumption of the GPUs.

    Parameters
    ----------
    truth, input_stall
        The measured performance and input stall.
    profiling
        How it is measured.
    """

    def __init__(
        self, truth: PlacedPerformance, input_stall: InputStall, profiling: OptimisticProfiling
    ) -> None:
        super().__init__(input_stall.models, input_stall.compute, input_stall.measured_with)
        self._truth = truth
        self._fed = truth.believing(None)
        self._profiling = profiling
        self._profiles: dict[tuple[str, int], JobProfile] = {}

    def rate(self, model: str, allocation: Allocation, cluster: Cluster) -> float:
        """Return the believed input rate of one GPU, relative to the consumption of a reference GPU."""
        profile = self.profile(model, allocation.gpus, cluster)
        return profile.stall.rate(model, allocation, cluster)

    def rate_on_grid(
        self, model: str, allocation: Allocation, cluster: Cluster, cpus: Ints, memory_bytes: Ints
    ) -> Floats:
        """Return `rate` with other CPUs and memory in all."""
        profile = self.profile(model, allocation.gpus, cluster)
        return profile.stall.rate_on_grid(model, allocation, cluster, cpus, memory_bytes)

    def profile(self, model: str, gpus: int, cluster: Cluster) -> JobProfile:
        """Return the profile of jobs of a model on some GPUs."""
        key = model, gpus
        if key not in self._profiles:
            self._profiles[key] = self._measure(model, gpus, cluster)
        return self._profiles[key]

    def _measure(self, model: str, gpus: int, cluster: Cluster) -> JobProfile:
        machine = cluster.default_machine
        assert machine is not None, "a job with GPUs was admitted"
        spec = JobSpec("profile", 0, Demand(gpus, measured_speed=machine.speed), 1, NS_PER_S, model)
        place, p = _close_together(gpus, machine, cluster), self._profiling
        memory = np.array([[machine.memory_bytes * len(place.slices)]])
        rng = child_generator(p.seed, f"profiling {model} {gpus}")

        def throughput(cpus: int) -> float:
            time_ns = self._truth.at_resources(spec, place, cluster, np.array([[cpus]]), memory).item()
            return NS_PER_S / (time_ns * rng.uniform(1 - p.noise, 1 + p.noise))

        most = max(1, machine.cpus * len(place.slices))
        measured = bisected(throughput, most, p.threshold, also=(1, max(1, machine.share(gpus)[0])))
        fed_ns = self._fed.at_resources(spec, place, cluster, np.array([[most]]), memory).item()
        computing_ns = self.compute.ns(spec, place, cluster)
        stalled_ns = {c: max(0.0, NS_PER_S / measured[c] - fed_ns) for c in sorted(measured)}
        rates = [machine.speed * computing_ns / (computing_ns + ns) for ns in stalled_ns.values()]
        known = _as_measured(self.models[model], [c / gpus for c in stalled_ns], rates)
        return JobProfile(measured, InputStall({model: known}, self.compute))


def _as_measured(truth: Sensitivity, cpus: Sequence[float], rates: Sequence[float]) -> Sensitivity:
    """Return a model's sensitivity with another curve.

    Parameters
    ----------
    cpus
        Measured, per GPU, increasing.
    rates
        Input rates of each GPU, relative to the consumption of a reference GPU.
    """
    full = truth.full or truth.throughput[-1]
    throughput = np.maximum.accumulate(rates) * (full / truth.speed)
    return replace(truth, cpus=tuple(cpus), throughput=tuple(throughput.tolist()), full=full)


def _close_together(gpus: int, machine: Machine, cluster: Cluster) -> Allocation:
    """Return GPUs of the first machines of the cluster's own kind; if there are too few, of others too."""
    machines = sorted(enumerate(cluster.machines), key=lambda pair: pair[1].hardware != machine.hardware)
    slices = []
    for number, machine in machines:
        held = min(gpus, machine.gpus)
        if held:
            slices.append(Slice(number, held))
            gpus -= held
    return Allocation(tuple(sorted(slices)))
