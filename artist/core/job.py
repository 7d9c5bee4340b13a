"""Jobs and their demands."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import ceil
from typing import Literal, NamedTuple

import numpy as np

from artist.core.arrays import Ints
from artist.core.record import record

OnStop = Literal["lose_iteration", "keep", "lose_since_checkpoint", "lose_all"]
UNLIMITED_NS = 2**62  # later than any time of a run
_TOLERANCE = 1e-9  # worths such as 1/3 are not exact in binary


def gpus_worth(total: float, worth: float) -> int:
    """Return the fewest GPUs of a worth whose worths sum to `total`.

    >>> gpus_worth(8, 1 / 2)
    16
    """
    return ceil(total / worth - _TOLERANCE)


@dataclass(frozen=True, slots=True)
class Demand:
    """Resources that a job asks for; hashing costs nothing.

    Attributes
    ----------
    gpus
        GPUs that do one iteration's work in the job's compute time; 0 for a CPU-only job.
    min_gpus, max_gpus, step
        An elastic job may hold min_gpus, min_gpus + step, ... up to max_gpus; 0 for the two bounds
        means exactly `gpus`.
    cpus, memory_bytes
        Asked for the whole job; 0 if unknown.
    gpu_types
        Allowed GPU types; empty for any.
    mixed_types
        True if GPU types may be mixed in one allocation. A fungible job is admitted only where GPUs of one
        type are enough, and the shipped policies start it on one type; a user's policy may mix them.
    max_machines
        Maximum number of machines of the job; 0 for any number.
    unit
        The job's GPUs on each machine are a multiple of it, as a tensor-parallel group needs.
    segment
        The job's GPUs in each rack are a multiple of it, as a pipeline stage needs and Slurm's `--segment`
        provides; a multiple of `unit`.
    pipeline_stages, replica_gpus
        Pipeline stages of a language model's plan, and the GPUs of one of its replicas; 0 without a plan.
    memory_bandwidth_bytes_per_s
        Memory bandwidth that the whole job draws when nothing throttles it; 0 if unknown.
    fungible
        On GPUs of worth w the job takes ceil(gpus x measured_worth / w) of them instead of `gpus`.
    measured_speed
        Speed, relative to the reference GPU, of the GPUs that the job's compute time holds for. A CPU-only
        job has none.
    measured_worth
        Worth of the GPUs that `gpus` holds for (`artist.core.cluster.Machine`); 0 means their speed.
    elastic
        True if the number of GPUs may change.
    in_units
        True if it has a unit or a segment of more than one GPU.
    min_feasible_gpus
        Fewest GPUs that could ever be enough; a fungible job may get GPUs that are worth more.
    """

    gpus: int
    min_gpus: int = 0
    max_gpus: int = 0
    step: int = 1
    cpus: int = 0
    memory_bytes: int = 0
    memory_bandwidth_bytes_per_s: int = 0
    gpu_types: tuple[str, ...] = ()
    mixed_types: bool = False
    max_machines: int = 0
    unit: int = 1
    segment: int = 1
    pipeline_stages: int = 0
    replica_gpus: int = 0
    fungible: bool = False
    measured_speed: float = 1.0
    measured_worth: float = 0.0
    elastic: bool = field(init=False, repr=False, compare=False)
    in_units: bool = field(init=False, repr=False, compare=False)
    min_feasible_gpus: int = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.measured_worth:
            object.__setattr__(self, "measured_worth", self.measured_speed)
        least = self.min_gpus if self.max_gpus > 0 else self.gpus
        object.__setattr__(self, "elastic", self.max_gpus > 0)
        object.__setattr__(self, "in_units", self.gpus > 0 and (self.unit, self.segment) != (1, 1))
        object.__setattr__(self, "min_feasible_gpus", min(self.gpus, 1) if self.fungible else least)
        values = tuple(getattr(self, entry.name) for entry in fields(self) if entry.init)
        object.__setattr__(self, "_hash", hash(values))

    def __hash__(self) -> int:
        return self._hash

    def targets(self) -> range:
        """Allowed numbers of GPUs, of the type that `gpus` holds for."""
        if not self.elastic:
            return range(self.gpus, self.gpus + 1)
        return range(self.min_gpus, self.max_gpus + 1, self.step)

    def most(self, sizes: Ints, racks: Ints) -> int:
        """Return the most GPUs that the job can have on some machines, in its units and segments.

        Parameters
        ----------
        sizes, racks
            GPUs and rack of each machine, shape (n_machines,).
        """
        sizes = sizes // self.unit * self.unit
        most = int(np.sort(sizes)[::-1][: self.max_machines or None].sum())
        if self.segment == 1:
            return most
        by_rack = np.bincount(racks, weights=sizes) // self.segment
        return min(most // self.segment, int(by_rack.sum())) * self.segment

    def is_whole(self, gpus: Mapping[int, int], rack_of: Sequence[int]) -> bool:
        """Return whether GPUs by machine come in units, and those of each rack in segments."""
        if any(count % self.unit for count in gpus.values()):
            return False
        by_rack: dict[int, int] = {}
        for machine, count in gpus.items() if self.segment > 1 else ():
            by_rack[rack_of[machine]] = by_rack.get(rack_of[machine], 0) + count
        return not any(count % self.segment for count in by_rack.values())

    def gpus_at(self, worth: float, target: int | None = None) -> int:
        """Return the number of GPUs of a worth for one of `targets`, by default for `gpus`."""
        asked = self.gpus if target is None else target
        return gpus_worth(asked * self.measured_worth, worth) if self.fungible else asked

    def allows(self, worths: Iterable[tuple[int, float]]) -> bool:
        """Return whether GPUs given as (count, worth) satisfy the demand.

        A fungible job needs the least number of GPUs whose worths sum to that of one of `targets`; with
        one GPU type that is `gpus_at` its worth.
        """
        held = [(count, worth) for count, worth in worths if count]
        count = sum(c for c, _ in held)
        if not self.fungible:
            return count in self.targets()
        total = sum(c * w for c, w in held)
        least = min((w for _, w in held), default=0.0)
        needs = (target * self.measured_worth for target in self.targets())
        return any(total + _TOLERANCE >= need and total - least + _TOLERANCE < need for need in needs)


class Stages(NamedTuple):
    """Time of an iteration on each resource, in ns; one resource at a time."""

    storage_ns: int
    cpu_ns: int
    gpu_ns: int
    network_ns: int


@record
class JobSpec:
    """One training run of a trace, as known before it starts.

    Attributes
    ----------
    job_id
        Name in the trace; unique in a workload.
    submit_ns
        Arrival, from the start of the simulation.
    iterations
        Iterations asked for, at least 1. An iteration is a fixed amount of work: one global batch.
    compute_ns
        Compute time of one iteration on `demand.gpus` GPUs of speed `demand.measured_speed`, at least 1.
        For a CPU-only job: on `demand.cpus` cores.
    model
        Name of a network profile; empty for a CPU-only job.
    delays_ns
        The job's own delays by type of change (start, resume, restart, migrate, resize, retune), before
        the run's table and constants.
    on_stop
        Work that a stop of this job loses; None for the run's setting.
    gpu_utilization
        Fraction of its compute time in which it keeps its GPUs busy, in (0, 1].
    stages
        Stages of an iteration on `demand.gpus` GPUs as the trace measured them; None if it did not.
    guaranteed
        True if its GPUs are guaranteed; otherwise it takes GPU time that others leave idle (AntMan).
    limit_ns
        Time limit of its run; None if not known or unlimited.
    partition, account, qos
        Of the site's scheduler, as in Slurm; empty if not known.
    priority
        Priority that the site's scheduler gave it, a higher one first; None if not known.
    nice
        By which its user lowered its priority, as by Slurm's --nice; negative if it was raised.
    exclusive
        True if it shares its machines with no other job, as by Slurm's --exclusive.
    started_ns
        Start on the site where the trace was recorded, from the start of the simulation; None if not known.
    first_shorter_ns
        Time by which its first iteration is shorter than the others, so that an observed run time is exact.
    """

    job_id: str
    submit_ns: int
    demand: Demand
    iterations: int
    compute_ns: int
    model: str = ""
    user: str = ""
    vc: str = ""
    delays_ns: Mapping[str, int] | None = None
    on_stop: OnStop | None = None
    gpu_utilization: float = 1.0
    stages: Stages | None = None
    guaranteed: bool = True
    limit_ns: int | None = None
    partition: str = ""
    account: str = ""
    qos: str = ""
    priority: float | None = None
    nice: int = 0
    exclusive: bool = False
    started_ns: int | None = None
    first_shorter_ns: int = 0

    @property
    def ideal_ns(self) -> int:
        """Time of the whole job without waiting, communication or interference."""
        return int(self.iterations) * int(self.compute_ns)
