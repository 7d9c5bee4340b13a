"""Fabrics and machine types."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from netmodels.fabric.nccl import NcclFabric
from netmodels.fabric.shape import TIERS, Tier
from netmodels.fabric.system import (
    DEFAULT_PRESET,
    SystemSettings,
    merge_system,
    preset_system,
    system_record,
)
from netmodels.inputs.digest import digest_of, hash_of
from netmodels.inputs.errors import InputError
from netmodels.inputs.naming import allowed_names

DimensionKind = Literal["ring", "switch", "fully_connected"]
Links = Literal["one", "members"]


@dataclass(frozen=True, slots=True)
class MachineType:
    """A machine type.

    Parameters
    ----------
    name
        Name in the topology.
    gpus
        GPUs per machine; 0 for a machine without.
    gpu_type
        Name of the GPU; empty for a machine without GPUs.
    speed
        Compute speed relative to the GPU that profiles were measured on.
    cpus
        CPU cores.
    memory_bytes
        Main memory.
    memory_bandwidth_bytes_per_s
        Bandwidth of main memory, all sockets together.
    worth
        Number of GPUs that profiles were measured on that one GPU replaces for a job that accepts either;
        0 means the speed.
    gpu_memory_bytes
        Memory of a GPU; 0 for not known.
    """

    name: str
    gpus: int
    gpu_type: str
    speed: float
    cpus: int
    memory_bytes: int
    memory_bandwidth_bytes_per_s: float
    worth: float = 0.0
    gpu_memory_bytes: int = 0

    def __post_init__(self) -> None:
        if not self.worth:
            object.__setattr__(self, "worth", self.speed)


@dataclass(frozen=True, slots=True)
class Dimension:
    """One level of the fabric, in ASTRA-sim's terms.

    Parameters
    ----------
    kind
        Ring and fully connected neighbours are one link apart, switch neighbours two.
    latency_ns
        Latency of one link.
    bandwidth_bytes_per_ns
        Bandwidth of one link in one direction.
    size
        Maximum members of one group; 0: all of the tier.
    links
        `one`: a member sends at the link's bandwidth. `members`: as the Dally authors run ASTRA-sim 1.0, the
        number of links is that of members (rings: the next even number, at least 4 with two members).
    machine_bytes_per_ns, rack_bytes_per_ns
        Bandwidth limit of all GPUs of one machine (of one rack) on this dimension, through a port or an
        uplink that they share; 0: no such limit. The GPUs of a job share it evenly.
    """

    kind: DimensionKind
    latency_ns: float
    bandwidth_bytes_per_ns: float
    size: int = 0
    links: Links = "one"
    machine_bytes_per_ns: float = 0.0
    rack_bytes_per_ns: float = 0.0

    def capacity(self, gpus: int, machines: int = 0, racks: int = 0) -> float:
        """Return the bandwidth limit of the GPUs below a link, byte/ns.

        The bandwidth of all, or that of the ports and uplinks that they share.

        Parameters
        ----------
        gpus
            GPUs below the link.
        machines, racks
            Whole machines and racks below it.
        """
        limits = ((self.machine_bytes_per_ns, machines), (self.rack_bytes_per_ns, racks))
        shared = [limit * count for limit, count in limits if limit and count]
        return min([gpus * self.bandwidth_bytes_per_ns, *shared])


Tiers = tuple[tuple[Dimension, ...], tuple[Dimension, ...], tuple[Dimension, ...]]
"""Dimensions of machine, rack and network, innermost first."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """The dimensions of the three tiers, innermost first, and the settings of collectives.

    Parameters
    ----------
    name
        The topology's name.
    machine, rack, network
        Dimensions of each tier, innermost first; at least one each.
    system
        Default settings on this fabric, which the user may override; of a topology `Topology.system()`.
    by_machine_type
        All three tiers as seen by machines of a type, for types that differ from the rest.
    nccl
        Measured parameters of NCCL's collectives; None to derive them from the tiers.
    uplinks
        Number of parallel links of equal capacity in the uplink of a rack; each message takes one, by hash.
        Matters only where jobs share links (`netmodels.contention`), so it is no part of the digest.
    """

    name: str
    machine: tuple[Dimension, ...]
    rack: tuple[Dimension, ...]
    network: tuple[Dimension, ...]
    system: SystemSettings = field(default_factory=SystemSettings)
    by_machine_type: Mapping[str, Tiers] = field(default_factory=dict)
    nccl: NcclFabric | None = None
    uplinks: int = 1
    digest: str = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest_of(fabric_record(self)))
        object.__setattr__(self, "_hash", hash_of(self.digest))

    def __hash__(self) -> int:
        return self._hash

    def tiers(self, machine_type: str | None = None) -> tuple[tuple[Tier, tuple[Dimension, ...]], ...]:
        """Return (tier, dimensions), innermost first, as machines of a type see them."""
        usual = (self.machine, self.rack, self.network)
        seen = usual if machine_type is None else self.by_machine_type.get(machine_type, usual)
        return tuple(zip(TIERS, seen, strict=True))


def fabric_record(fabric: Fabric) -> dict[str, object]:
    """Return the fabric as plain values, for cache keys and run folders."""
    record: dict[str, object] = {"name": fabric.name, "system": system_record(fabric.system)}
    record.update(_tiers_record(fabric.tiers()))
    if fabric.by_machine_type:
        record["by_machine_type"] = {
            name: _tiers_record(fabric.tiers(name)) for name in sorted(fabric.by_machine_type)
        }
    if fabric.nccl is not None:
        record["nccl"] = asdict(fabric.nccl)
    return record


def _tiers_record(tiers: tuple[tuple[Tier, tuple[Dimension, ...]], ...]) -> dict[str, object]:
    return {tier: [asdict(dimension) for dimension in dimensions] for tier, dimensions in tiers}


@dataclass(frozen=True, slots=True)
class Topology:
    """One fabric and its machine types.

    Parameters
    ----------
    name
        Name of the topology.
    source
        Origin of its figures, in one line.
    fabric
        The network.
    machine_types
        By name, in the order of the file.
    default_machine_type
        Type of a machine that states none.
    machines_per_rack
        Default number of machines in a rack.
    stated
        Settings of collectives that the file states, by name.
    """

    name: str
    source: str
    fabric: Fabric
    machine_types: dict[str, MachineType] = field(hash=False)
    default_machine_type: str
    machines_per_rack: int
    stated: Mapping[str, object] = field(default_factory=dict, hash=False)

    def system(self, preset: str = DEFAULT_PRESET) -> SystemSettings:
        """Return the settings of collectives: those that the file states, over those of a preset.

        Raises
        ------
        InputError
            If there is no preset of that name.
        """
        return merge_system(preset_system(preset), self.stated)

    def machine_type(self, name: str | None = None, field: str = "") -> MachineType:
        """Return a machine type by name; the default one without a name.

        Parameters
        ----------
        field
            Field that contains the name, for the message.

        Raises
        ------
        InputError
            If the topology has no such type.
        """
        wanted = self.default_machine_type if name is None else name
        if wanted not in self.machine_types:
            raise InputError(
                "unknown machine type",
                where=f"{field}, topology {self.name}".removeprefix(", "),
                found=wanted,
                allowed=allowed_names(wanted, self.machine_types),
            )
        return self.machine_types[wanted]
