"""Machines in racks, allocations on them, and capacity events."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from artist.core.buckets import ALL, members_of, sets_by
from artist.core.record import record
from artist.errors import InputError

Tier = Literal["machine", "rack", "network"]
TIERS: tuple[Tier, ...] = ("machine", "rack", "network")
GroupMode = Literal["packed", "interleaved"]
MODES: tuple[GroupMode, ...] = ("packed", "interleaved")
Ordering = Literal["best", "worst"]
ORDERINGS: tuple[Ordering, ...] = ("best", "worst")

DEFAULT_POOL = "default"  # owner of machines for which none is named


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine of the data centre.

    Attributes
    ----------
    speed
        Speed of its GPUs relative to the reference GPU of the profiles.
    worth
        Number of reference GPUs that one of its GPUs replaces for a fungible job; 0 means the speed.
    pool
        Owner at the start of the run.
    present
        False for a machine that only joins later.
    """

    name: str
    rack: int
    type: str
    gpus: int
    gpu_type: str = "gpu"
    speed: float = 1.0
    cpus: int = 0
    memory_bytes: int = 0
    memory_bandwidth_bytes_per_s: int = 0
    pool: str = DEFAULT_POOL
    present: bool = True
    worth: float = 0.0

    def __post_init__(self) -> None:
        if not self.worth:
            object.__setattr__(self, "worth", self.speed)

    @property
    def hardware(self) -> tuple[str, str]:
        """Its machine type and GPU type: machines of equal hardware are identical."""
        return self.type, self.gpu_type

    def share(self, gpus: int) -> tuple[int, int]:
        """Return the CPUs and the bytes of memory in proportion to some of its GPUs."""
        size = max(self.gpus, 1)
        return self.cpus * gpus // size, self.memory_bytes * gpus // size

    def fewest(self, gpus: int) -> list[int]:
        """Return the GPUs per machine on the fewest machines like this one that have `gpus` together.

        >>> Machine("m", 0, "box", gpus=8).fewest(17)
        [8, 8, 1]
        """
        machines, rest = divmod(gpus, self.gpus)
        return [self.gpus] * machines + [rest] * (rest > 0)


class Cluster:
    """All machines that exist during a run, with their facts as columns.

    Parameters
    ----------
    machines
        In order of their numbers.
    default_type
        The machine type that the fabric names as its own.

    Attributes
    ----------
    unit
        Number of GPUs that count as one here: 1, but for `in_units`.
    gpus, cpus, memory_bytes, rack : ndarray of int64, shape (n_machines,)
    speed : ndarray of float64, shape (n_machines,)
    """

    def __init__(self, machines: Sequence[Machine], default_type: str = "") -> None:
        self.machines = tuple(machines)
        self.unit = 1
        self._default_type = default_type
        self.gpus = self._column([m.gpus for m in machines])
        self.cpus = self._column([m.cpus for m in machines])
        self.memory_bytes = self._column([m.memory_bytes for m in machines])
        self.rack = self._column([m.rack for m in machines])
        self.speed = np.array([m.speed for m in machines], dtype=np.float64)
        self.speed.flags.writeable = False
        self.n_racks = int(self.rack.max()) + 1 if machines else 0
        self.worth_of: dict[str, float] = {}  # by GPU type
        self._shares: dict[tuple[int, int], Slice] = {}
        self._parts: dict[int, Cluster] = {}
        self._in_units: dict[int, Cluster] = {}
        self._numbers: dict[int, list[int]] = {}
        speed_of: dict[str, float] = {}
        for m in machines:
            for name, known, value in (("speeds", speed_of, m.speed), ("worths", self.worth_of, m.worth)):
                if known.setdefault(m.gpu_type, value) != value:
                    values = f"{known[m.gpu_type]} and {value}"
                    raise InputError(
                        f"GPUs of one type have two {name}", where=m.gpu_type, found=values, allowed="one"
                    )

    @staticmethod
    def _column(values: list[int]) -> npt.NDArray[np.int64]:
        column = np.array(values, dtype=np.int64)
        column.flags.writeable = False
        return column

    def __len__(self) -> int:
        return len(self.machines)

    def share(self, machine: int, gpus: int) -> "Slice":
        """Return some GPUs of a machine with CPUs and memory in proportion; the same object for the same."""
        share = self._shares.get((machine, gpus))
        if share is None:
            cpus, memory = self.machines[machine].share(int(gpus))
            share = self._shares[machine, gpus] = Slice(int(machine), int(gpus), cpus, memory)
        return share

    def numbers(self, among: int) -> list[int]:
        """Return the machines of a set, lowest first; cached, and not to be changed."""
        if among not in self._numbers:
            self._numbers[among] = members_of(among)
        return self._numbers[among]

    def part(self, among: int) -> "Cluster":
        """Return a cluster of some machines, a set of `artist.core.buckets`, in one pool; cached.

        Machines and racks are numbered from 0, in their order here.
        """
        if among == ALL:
            return self
        if among not in self._parts:
            machines = [self.machines[number] for number in self.numbers(among)]
            rack = {number: i for i, number in enumerate(sorted({machine.rack for machine in machines}))}
            renumbered = [replace(m, rack=rack[m.rack], pool=DEFAULT_POOL) for m in machines]
            self._parts[among] = Cluster(renumbered, self._default_type)
        return self._parts[among]

    def in_units(self, unit: int) -> "Cluster":
        """Return the cluster with the GPUs of each machine counted in units of `unit` GPUs; cached."""
        if unit not in self._in_units:
            machines = [replace(machine, gpus=machine.gpus // unit) for machine in self.machines]
            self._in_units[unit] = Cluster(machines, self._default_type)
            self._in_units[unit].unit = unit
        return self._in_units[unit]

    @cached_property
    def total_gpus(self) -> int:
        """GPUs of the machines that are present at the start."""
        return sum(m.gpus for m in self.machines if m.present)

    @cached_property
    def default_machine(self) -> Machine | None:
        """A machine with the cluster's default GPUs, for which times `measured on the cluster` hold.

        A machine of the fabric's default type, if one is present at the start, else one with the most
        frequent GPU type; a machine that joins later, if none is present. None without GPUs.
        """
        with_gpus = [m for m in self.machines if m.present and m.gpus]
        with_gpus = with_gpus or [m for m in self.machines if m.gpus]
        count: dict[str, int] = {}
        for m in with_gpus:
            if m.type == self._default_type:
                return m
            count[m.gpu_type] = count.get(m.gpu_type, 0) + m.gpus
        return next((m for m in with_gpus if count[m.gpu_type] == max(count.values())), None)

    @cached_property
    def default_gpus(self) -> float:
        """Number of default GPUs with the compute of all GPUs that are present at the start."""
        speed = self.default_machine.speed if self.default_machine else 1.0
        return sum(m.gpus * (m.speed / speed) for m in self.machines if m.present)

    @cached_property
    def gpus_of_largest(self) -> list[int]:
        """GPUs of the 1, 2, ... largest machines together."""
        return list(accumulate(sorted(self.gpus.tolist(), reverse=True)))

    @cached_property
    def largest_machine(self) -> int:
        """GPUs of the largest machine."""
        return max((machine.gpus for machine in self.machines), default=0)

    @cached_property
    def largest_rack(self) -> int:
        """GPUs of the largest rack."""
        return max((int(self.gpus[machines].sum()) for machines in self.machines_of), default=0)

    @cached_property
    def rack_of(self) -> list[int]:
        """Rack by machine."""
        return [machine.rack for machine in self.machines]

    @cached_property
    def rack_sets(self) -> list[int]:
        """Machines by rack, as sets of `artist.core.buckets`."""
        sets = sets_by(self.rack_of)
        return [sets.get(rack, 0) for rack in range(self.n_racks)]

    @cached_property
    def pools(self) -> frozenset[str]:
        """Owners of the machines at the start."""
        return frozenset(machine.pool for machine in self.machines)

    @cached_property
    def size_sets(self) -> list[int]:
        """Machines with 0, 1, 2, ... GPUs, free or not, as sets of `artist.core.buckets`."""
        sets = sets_by(machine.gpus for machine in self.machines)
        return [sets.get(gpus, 0) for gpus in range(self.largest_machine + 1)]

    @cached_property
    def type_sets(self) -> dict[str, int]:
        """Machines by GPU type, as sets of `artist.core.buckets`."""
        return sets_by(machine.gpu_type for machine in self.machines)

    @cached_property
    def gpus_of(self) -> dict[str, int]:
        """GPUs by GPU type."""
        return {gpu_type: int(self.gpus[mask].sum()) for gpu_type, mask in self.of_type.items()}

    @cached_property
    def machines_of(self) -> list[npt.NDArray[np.int64]]:
        """Machine numbers by rack."""
        return [np.flatnonzero(self.rack == rack) for rack in range(self.n_racks)]

    @cached_property
    def hardware_sets(self) -> dict[tuple[str, str], int]:
        """Machines with GPUs by hardware, as sets of `artist.core.buckets`."""
        with_gpus = {machine.hardware for machine in self.machines if machine.gpus}
        sets = sets_by(machine.hardware for machine in self.machines)
        return {hardware: machines for hardware, machines in sets.items() if hardware in with_gpus}

    def same_hardware(
        self, machine: Machine, gpus: int, gpu_types: Sequence[str] = (), among: int = ALL
    ) -> int:
        """Return the machines with the hardware of one, as a set; `among` if `gpus` do not fit there.

        Parameters
        ----------
        gpu_types
            GPU types that the job allows; none for any.
        among
            The machines that count.
        """
        if self.uniform:
            return among
        allowed = not gpu_types or machine.gpu_type in gpu_types
        total = sum(m.gpus for m in self.part(among).machines if m.hardware == machine.hardware)
        return self.hardware_sets[machine.hardware] & among if allowed and total >= gpus else among

    @cached_property
    def of_type(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Masks of the machines with each GPU type, shape (n_machines,), in order of first appearance."""
        types = np.array([m.gpu_type for m in self.machines])
        return {gpu_type: types == gpu_type for gpu_type in dict.fromkeys(types.tolist())}

    @cached_property
    def uniform(self) -> bool:
        """True if all machines have the same hardware: any GPU serves any request."""
        return len({m.hardware for m in self.machines}) <= 1


class Slice(NamedTuple):
    """The part of an allocation on one machine. GPUs of a machine are interchangeable."""

    machine: int
    gpus: int
    cpus: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Jobs that share GPUs. The group owns its GPUs once, and all members stop if one of its machines fails.

    Attributes
    ----------
    name
        Identity; members of one group name an equal record.
    gpus
        (machine, GPUs) pairs that the group owns, sorted by machine. On each machine a member holds
        at most these, and all members together at most `depth` times these.
    mode
        Way of sharing the GPUs: packed, at own rates, or interleaved, under one clock.
    ordering
        Ordering of the stages of interleaved members: that with the shortest clock, or the longest.
    """

    name: str
    gpus: tuple[tuple[int, int], ...]
    depth: int = 4
    mode: GroupMode = "packed"
    ordering: Ordering = "best"


@record
class Allocation:
    """Resources of a running job: sorted slices, one per machine.

    Attributes
    ----------
    bandwidth_cap
        Share of its memory bandwidth that the job may use, in (0, 1].
    group
        The group whose GPUs it shares, or None if its GPUs are its own.
    opportunistic
        True if it runs only while the members of its group that are not opportunistic leave the GPUs idle;
        where jobs are packed (AntMan).
    """

    slices: tuple[Slice, ...]
    bandwidth_cap: float = 1.0
    group: Group | None = None
    opportunistic: bool = False

    @property
    def gpus(self) -> int:
        """GPUs on all machines together."""
        slices = self.slices
        return slices[0].gpus if len(slices) == 1 else sum([s.gpus for s in slices])

    @property
    def cpus(self) -> int:
        """CPUs on all machines together."""
        slices = self.slices
        return slices[0].cpus if len(slices) == 1 else sum(s.cpus for s in slices)

    @property
    def machines(self) -> list[int]:
        """Numbers of the machines, lowest first."""
        return [s.machine for s in self.slices]

    def gpu_map(self) -> dict[int, int]:
        """GPUs by machine; a machine with none (CPU-only jobs) is listed with 0."""
        return {s.machine: s.gpus for s in self.slices}

    def with_resources(self, cpus: int, memory_bytes: int) -> "Allocation":
        """Return the same GPUs with other CPUs and memory in all, spread in proportion to GPUs.

        Without GPUs the first machine has everything.
        """
        total, before, slices = self.gpus, 0, []
        for s in self.slices:
            upto = before + s.gpus if total else 1
            cpus_here, memory_here = (
                n * upto // (total or 1) - n * before // (total or 1) for n in (cpus, memory_bytes)
            )
            slices.append(Slice(s.machine, s.gpus, cpus_here, memory_here))
            before = upto
        return replace(self, slices=tuple(slices))


def tier_of(allocation: Allocation, cluster: Cluster) -> int:
    """Return the index in TIERS of the widest tier that an allocation crosses."""
    if len(allocation.slices) == 1:
        return 0
    return 2 if crosses_racks(allocation, cluster) else 1


def crosses_racks(allocation: Allocation, cluster: Cluster) -> bool:
    """Return whether an allocation has something in several racks."""
    slices, rack_of = allocation.slices, cluster.rack_of
    first = rack_of[slices[0].machine]
    for s in slices:  # noqa: SIM110 - twice as fast as `any` of a generator
        if rack_of[s.machine] != first:
            return True
    return False


def racks_of(allocation: Allocation, cluster: Cluster) -> tuple[int, ...]:
    """Return the racks in which an allocation has something, each once."""
    rack_of = cluster.rack_of
    racks: dict[int, None] = {}
    for s in allocation.slices:
        racks[rack_of[s.machine]] = None
    return tuple(racks)


@dataclass(frozen=True, slots=True)
class CapacityEvent:
    """A machine fails, joins (again), leaves, becomes slow, or is kept as a spare.

    Attributes
    ----------
    deadline_ns
        For a leaving machine: time at which the jobs left on it are evicted; it takes no new work
        from `time_ns` on.
    cause
        Cause of a failure, or of slowness.
    factor
        Factor of the iteration times of jobs on a slow machine.
    repair_ns
        Time after which it works again, from its failure, or from the last job on it if it leaves, which
        then has no deadline; None where another event says so.
    check_ns
        Time of the health check that follows.
    unit
        All machines that fail together with it.
    """

    time_ns: int
    type: Literal["fail", "join", "leave", "slow", "spare"]
    machine: int
    deadline_ns: int = 0
    cause: str = ""
    factor: float = 1.0
    repair_ns: int | None = None
    check_ns: int = 0
    unit: Sequence[int] = ()
