"""What a topology file may say; pydantic judges, `read_topology` builds the frozen classes."""

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Annotated, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, model_validator
from pydantic_core import ErrorDetails

from netmodels.errors import InputError
from netmodels.fabric import Dimension, Fabric, Kind, Links, MachineType, Topology
from netmodels.naming import allowed_names
from netmodels.system import SystemSettings, merge_system

_GIB = 2**30
Text = Annotated[StrictStr, Field(min_length=1)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Dimension(_Part):
    kind: Kind
    latency_ns: Annotated[Number, Field(ge=0)]
    bandwidth_gbit_s: Annotated[Number, Field(gt=0)] | None = None
    bandwidth_gib_s: Annotated[Number, Field(gt=0)] | None = None
    size: Annotated[StrictInt, Field(ge=0)] = 0
    links: Links = "one"

    @model_validator(mode="after")
    def _one_bandwidth(self) -> Self:
        if (self.bandwidth_gbit_s is None) == (self.bandwidth_gib_s is None):
            raise ValueError(
                "give exactly one of bandwidth_gbit_s (10^9 bit/s) and bandwidth_gib_s (2^30 byte/s)"
            )
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
        return Dimension(self.kind, self.latency_ns, bandwidth, self.size, self.links)


Dimensions = Annotated[list[_Dimension], Field(min_length=1)]


class _Fabric(_Part):
    machine: Dimensions
    rack: Dimensions
    network: Dimensions


class _MachineType(_Part):
    gpus: Annotated[StrictInt, Field(ge=0)]
    gpu_type: StrictStr
    speed: Annotated[Number, Field(gt=0)] = 1.0
    cpus: Annotated[StrictInt, Field(ge=1)]
    memory_gib: Annotated[Number, Field(gt=0)]
    memory_bandwidth_gb_s: Annotated[Number, Field(gt=0)]

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
        )


class _Topology(_Part):
    name: Text
    source: Text
    machines_per_rack: Annotated[StrictInt, Field(ge=1)]
    default_machine_type: Text
    machine_types: Annotated[dict[Text, _MachineType], Field(min_length=1)]
    fabric: _Fabric
    system: dict[str, object] = {}


def read_topology(raw: Mapping[str, object] | Path) -> Topology:
    """Read and check a topology; see `netmodels.topology.load_topology`."""
    where = raw.name if isinstance(raw, Path) else "topology"
    content = _read_yaml(raw) if isinstance(raw, Path) else dict(raw)
    try:
        parsed = _Topology.model_validate(content)
    except ValidationError as problem:
        raise _first_problem(problem.errors()[0], where) from None
    if not isinstance(raw, Path):
        where = f"topology {parsed.name}"
    try:
        system = merge_system(SystemSettings(), parsed.system)
    except InputError as problem:
        raise InputError(
            problem.what, where=f"{where}, {problem.where}", found=problem.found, allowed=problem.allowed
        ) from None
    types = {name: each.build(name) for name, each in parsed.machine_types.items()}
    if parsed.default_machine_type not in types:
        found = parsed.default_machine_type
        raise InputError(
            "unknown machine type",
            where=f"{where}, default_machine_type",
            found=found,
            allowed=allowed_names(found, types),
        )
    fabric = Fabric(
        name=parsed.name,
        machine=tuple(each.build() for each in parsed.fabric.machine),
        rack=tuple(each.build() for each in parsed.fabric.rack),
        network=tuple(each.build() for each in parsed.fabric.network),
        system=system,
    )
    _check_sizes(fabric, types, where)
    return Topology(
        name=parsed.name,
        source=parsed.source,
        fabric=fabric,
        machine_types=types,
        default_machine_type=parsed.default_machine_type,
        machines_per_rack=parsed.machines_per_rack,
    )


def _read_yaml(path: Path) -> object:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(
            "cannot read the topology file",
            where=str(path),
            found=str(problem),
            allowed="a readable YAML file",
        ) from None
    try:
        content: object = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise InputError(
            "not YAML", where=str(path), found=str(problem), allowed="a topology in YAML"
        ) from None
    return content


def _first_problem(problem: ErrorDetails, where: str) -> InputError:
    field = ".".join(str(part) for part in problem["loc"])
    place = f"{where}, {field}" if field else where
    if problem["type"] == "missing":
        return InputError("field missing", where=place, allowed="this field must be given")
    if problem["type"] == "extra_forbidden":
        known = sorted({name for part in _Part.__subclasses__() for name in part.model_fields})
        found = problem["loc"][-1]
        return InputError("unknown field", where=place, found=found, allowed=allowed_names(found, known))
    allowed = problem["msg"].removeprefix("Value error, ")
    return InputError("wrong value", where=place, found=problem["input"], allowed=allowed)


def _check_sizes(fabric: Fabric, types: Mapping[str, MachineType], where: str) -> None:
    """Refuse inner dimensions without a size and tiers that cannot hold what stands in them."""
    for tier, dimensions in fabric.tiers():
        for place, dimension in enumerate(dimensions):
            last = place == len(dimensions) - 1
            if last and tier == "machine":
                continue
            if last != (dimension.size == 0) or dimension.size == 1:
                raise InputError(
                    "wrong size of a dimension",
                    where=f"{where}, fabric.{tier}.{place}.size",
                    found=dimension.size,
                    allowed="0 for the last dimension of a tier (whatever is left), 2 or more for the others",
                )
    room = prod(dimension.size for dimension in fabric.machine)
    for machine in types.values():
        if room and machine.gpus > room:
            raise InputError(
                "more GPUs than the machine's dimensions hold",
                where=f"{where}, machine_types.{machine.name}.gpus",
                found=machine.gpus,
                allowed=f"up to {room}, the product of the sizes of fabric.machine",
            )
