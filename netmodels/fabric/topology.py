"""The fields of a topology file; pydantic validates, `load_topology` builds the frozen classes."""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from netmodels.fabric.fabric import Dimension, DimensionKind, Fabric, Links, MachineType, Tiers, Topology
from netmodels.fabric.nccl import NcclFabric, NcclTier
from netmodels.fabric.other_formats import check_mapping, check_text
from netmodels.fabric.oversubscription import Oversubscription, oversubscribed
from netmodels.fabric.shape import TIERS, Tier
from netmodels.fabric.system import merge_system, preset_system
from netmodels.inputs.errors import InputError
from netmodels.inputs.files import read_text
from netmodels.inputs.naming import allowed_names
from netmodels.inputs.schema import first_problem, read_yaml

_GIB = 2**30
Text = Annotated[StrictStr, Field(min_length=1)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Much = Annotated[Number, Field(gt=0, le=2.0**20)]  # GiB or GB/s of a machine: more is a wrong unit
Many = Annotated[StrictInt, Field(le=1_000_000)]
Speed = Annotated[Number, Field(ge=1e-3, le=1e9)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class _Shared(_Part):
    machine: Speed | None = None
    rack: Speed | None = None


class _Dimension(_Part):
    kind: DimensionKind
    latency_ns: Annotated[Number, Field(ge=0, le=1e12)]
    bandwidth_gbit_s: Speed | None = None
    bandwidth_gib_s: Speed | None = None
    size: Annotated[Many, Field(ge=0)] = 0
    links: Links = "one"
    shared_gbit_s: _Shared = _Shared()

    @model_validator(mode="after")
    def _one_bandwidth(self) -> Self:
        if (self.bandwidth_gbit_s is None) == (self.bandwidth_gib_s is None):
            raise ValueError(
                "give exactly one of bandwidth_gbit_s (10^9 bit/s) and bandwidth_gib_s (2^30 byte/s)"
            )
        return self

    @model_validator(mode="after")
    def _ports_of_one_link(self) -> Self:
        if self.links == "members" and (self.shared_gbit_s.machine or self.shared_gbit_s.rack):
            raise ValueError("no shared ports where members have as many links as there are of them")
        return self

    def build(self) -> Dimension:
        """Return the dimension in bytes per nanosecond."""
        if self.bandwidth_gbit_s is not None:
            bandwidth = self.bandwidth_gbit_s / 8
        else:
            assert self.bandwidth_gib_s is not None
            bandwidth = (
                self.bandwidth_gib_s * _GIB / 1e9
            )  # this order of operations: ASTRA-sim's, to the nanosecond
        shared = self.shared_gbit_s
        return Dimension(
            self.kind,
            self.latency_ns,
            bandwidth,
            self.size,
            self.links,
            machine_bytes_per_ns=(shared.machine or 0.0) / 8,
            rack_bytes_per_ns=(shared.rack or 0.0) / 8,
        )


_MAX_OF_NOMINAL = 4  # a fit exceeds a data sheet by far less; a byte has 8 bits

Dimensions = Annotated[list[_Dimension], Field(min_length=1)]


class _Fabric(_Part):
    machine: Dimensions
    rack: Dimensions
    network: Dimensions

    def build(self) -> Tiers:
        """Return the dimensions of the three tiers."""
        machine, rack, network = (
            tuple(dimension.build() for dimension in tier) for tier in (self.machine, self.rack, self.network)
        )
        return machine, rack, network


class _OwnFabric(_Part):
    """Tiers that differ for machines of a type."""

    machine: Dimensions | None = None
    rack: Dimensions | None = None
    network: Dimensions | None = None

    def build(self, usual: Tiers) -> Tiers:
        """Return the dimensions of the three tiers, the usual ones if the type has none of its own."""
        machine, rack, network = (
            tuple(dimension.build() for dimension in differing) if differing is not None else shared
            for differing, shared in zip((self.machine, self.rack, self.network), usual, strict=True)
        )
        return machine, rack, network


Times = Annotated[Number, Field(ge=1e-3, le=1e9)]  # us
Factor = Annotated[Number, Field(ge=0, le=100)]
Share = Annotated[Number, Field(ge=1e-3, le=1)]


class _NcclTier(_Part):
    step_us: Times
    gpu_gb_s: Speed
    machine_gb_s: Speed | None = None
    rack_gb_s: Speed | None = None

    def build(self) -> NcclTier:
        return NcclTier(self.step_us, self.gpu_gb_s, self.machine_gb_s or 0.0, self.rack_gb_s or 0.0)


class _Nccl(_Part):
    """Measured parameters of NCCL, explained in `netmodels.nccl.parameters`; defaults are those there."""

    machine: _NcclTier
    rack: _NcclTier
    network: _NcclTier | None = None
    start_us: Times | None = None
    skew: Factor | None = None
    pipeline: Factor | None = None
    ll_pipeline: Factor | None = None
    bulk: Annotated[Number, Field(ge=1e-3, le=1e3)] | None = None
    ll_share: Share | None = None
    round_us: Times | None = None
    bulk_round_us: Times | None = None
    message_us: Times | None = None
    exchange: Annotated[Number, Field(ge=1e-3, le=100)] | None = None
    switch_gb_s: Speed | None = None
    channels_gb_s: Speed | None = None
    ring_from_mb: Annotated[Number, Field(ge=0, le=1e6)] | None = None

    def build(self) -> NcclFabric:
        """Return the parameters; by default racks are joined like machines."""
        machine, rack, network = (
            tier.build() for tier in (self.machine, self.rack, self.network or self.rack)
        )
        values = self.model_dump(exclude={"machine", "rack", "network"}, exclude_none=True)
        return NcclFabric(machine, rack, network, **values)


class _MachineType(_Part):
    gpus: Annotated[Many, Field(ge=0)]
    gpu_type: StrictStr
    gpu_memory_gib: Much | None = None
    speed: Annotated[Number, Field(ge=1e-6, le=1e6)] = 1.0
    worth: Annotated[Number, Field(ge=1e-6, le=1e6)] | None = None
    cpus: Annotated[Many, Field(ge=1)]
    memory_gib: Much
    memory_bandwidth_gb_s: Much
    fabric: _OwnFabric | None = None

    def build(self, name: str) -> MachineType:
        """Return the machine type in bytes."""
        return MachineType(
            name=name,
            gpus=self.gpus,
            gpu_type=self.gpu_type,
            speed=self.speed,
            cpus=self.cpus,
            memory_bytes=round(self.memory_gib * _GIB),
            memory_bandwidth_bytes_per_s=self.memory_bandwidth_gb_s * 1e9,
            worth=self.worth or 0.0,
            gpu_memory_bytes=round((self.gpu_memory_gib or 0) * _GIB),
        )


Ratio = Annotated[Number, Field(ge=1, le=1e6)]


class _Oversubscription(_Part):
    machine: Ratio | None = None
    rack: Ratio | None = None


class _Topology(_Part):
    name: Text
    source: Text
    machines_per_rack: Annotated[Many, Field(ge=1)]
    default_machine_type: Text
    machine_types: Annotated[dict[Text, _MachineType], Field(min_length=1)]
    oversubscription: _Oversubscription = _Oversubscription()
    uplinks: Annotated[StrictInt, Field(ge=1, le=256)] = 1
    fabric: _Fabric
    system: dict[str, object] = {}
    nccl: _Nccl | None = None


def load_topology(raw: Mapping[str, object] | Path, machines_per_rack: int | None = None) -> Topology:
    """Read a topology.

    Parameters
    ----------
    raw
        A YAML file, or the mapping that it holds.
    machines_per_rack
        Of the cluster, for uplinks given by their oversubscription; None: the topology's own number.

    Raises
    ------
    InputError
        With file, field, the value found and the allowed values.
    """
    if isinstance(raw, Path):
        check_text(read_text(raw, "topology"), str(raw))
    content = read_yaml(raw, "topology") if isinstance(raw, Path) else dict(raw)
    name = content.get("name") if isinstance(content, dict) else None
    where = raw.name if isinstance(raw, Path) else f"topology {name}" if isinstance(name, str) else "topology"
    if isinstance(content, dict):
        check_mapping(content, where)
    try:
        parsed = _Topology.model_validate(content)
    except ValidationError as problem:
        known = sorted({name for part in _Part.__subclasses__() for name in part.model_fields})
        raise first_problem(problem, where, known) from None
    try:
        system = merge_system(preset_system(), parsed.system)
    except InputError as problem:
        raise InputError(
            problem.what, where=f"{where}, {problem.where}", found=problem.found, allowed=problem.allowed
        ) from None
    types = {name: machine.build(name) for name, machine in parsed.machine_types.items()}
    if parsed.default_machine_type not in types:
        default = parsed.default_machine_type
        raise InputError(
            "unknown machine type",
            where=f"{where}, default_machine_type",
            found=default,
            allowed=allowed_names(default, types),
        )
    usual = parsed.fabric.build()
    by_type = {
        name: machine.fabric.build(usual) for name, machine in parsed.machine_types.items() if machine.fabric
    }
    nccl = parsed.nccl.build() if parsed.nccl else None
    if parsed.nccl:
        _check_nccl(parsed.nccl, usual, where)
    fabric = Fabric(parsed.name, *usual, system, by_type, nccl, parsed.uplinks)
    for name, machine in types.items():
        place = f"machine_types.{name}.fabric" if name in by_type else "fabric"
        _check_sizes(fabric.tiers(name), machine, f"{where}, {place}", where)
    ratios = Oversubscription(parsed.oversubscription.machine, parsed.oversubscription.rack)
    per_rack = machines_per_rack or parsed.machines_per_rack
    return Topology(
        name=parsed.name,
        source=parsed.source,
        fabric=oversubscribed(fabric, ratios, types, parsed.default_machine_type, per_rack, where),
        machine_types=types,
        default_machine_type=parsed.default_machine_type,
        machines_per_rack=parsed.machines_per_rack,
        stated=parsed.system,
    )


def _check_nccl(nccl: _Nccl, usual: Tiers, where: str) -> None:
    """Raise InputError for bandwidths far above a tier's (Gb/s for GB/s), and racks nearer than machines."""
    for tier, dimensions in zip(TIERS, usual, strict=True):
        stated: _NcclTier | None = getattr(nccl, tier)
        most = _MAX_OF_NOMINAL * max(dimension.bandwidth_bytes_per_ns for dimension in dimensions)
        if stated and stated.gpu_gb_s > most:
            raise InputError(
                "far above the bandwidth of the tier itself",
                where=f"{where}, nccl.{tier}.gpu_gb_s",
                found=stated.gpu_gb_s,
                allowed=f"GB/s (10^9 byte/s), up to {most:g}: {_MAX_OF_NOMINAL} times fabric.{tier}",
            )
    if nccl.network is None:
        return
    if nccl.network.step_us < nccl.rack.step_us or nccl.network.gpu_gb_s > nccl.rack.gpu_gb_s:
        raise InputError(
            "racks apart are nearer than machines of one rack",
            where=f"{where}, nccl.network",
            found={"step_us": nccl.network.step_us, "gpu_gb_s": nccl.network.gpu_gb_s},
            allowed=f"step_us from {nccl.rack.step_us:g}, gpu_gb_s up to {nccl.rack.gpu_gb_s:g}: the rack's",
        )


def _check_sizes(
    tiers: Sequence[tuple[Tier, tuple[Dimension, ...]]], machine: MachineType, fabric: str, where: str
) -> None:
    """Raise InputError for wrong sizes, limits of inner parts, and more GPUs than the dimensions hold."""
    for tier, dimensions in tiers:
        for place, dimension in enumerate(dimensions):
            last = place == len(dimensions) - 1
            if not (last and tier == "machine") and (last != (dimension.size == 0) or dimension.size == 1):
                raise InputError(
                    "wrong size of a dimension",
                    where=f"{fabric}.{tier}.{place}.size",
                    found=dimension.size,
                    allowed="0 for the last dimension of a tier (whatever is left), 2 or more for the others",
                )
            limits = {"machine": dimension.machine_bytes_per_ns, "rack": dimension.rack_bytes_per_ns}
            for inside in TIERS[TIERS.index(tier) :]:
                if limits.get(inside):
                    raise InputError(
                        f"a {inside} cannot share links inside it",
                        where=f"{fabric}.{tier}.{place}.shared_gbit_s.{inside}",
                        found=limits[inside] * 8,
                        allowed="machine on the rack tier; machine and rack on the network tier",
                    )
    room = prod(dimension.size for dimension in tiers[0][1])
    if room and machine.gpus > room:
        raise InputError(
            "more GPUs than the machine's dimensions hold",
            where=f"{where}, machine_types.{machine.name}.gpus",
            found=machine.gpus,
            allowed=f"up to {room}, the product of the sizes of its machine dimensions",
        )
