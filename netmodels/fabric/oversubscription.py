"""Oversubscription of ports and uplinks, as a ratio instead of in Gb/s.

A machine's port oversubscribed by m has 1/m of the bandwidth of its GPUs on a tier; a rack's uplink
oversubscribed by r has 1/r of the bandwidth of the machines of a full rack, after their ports. Both replace
`shared_gbit_s` of the topology, on all dimensions outside the machine. Measured parameters of NCCL are
limited likewise: to 1/r of the bandwidth that NCCL reaches without.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from netmodels.fabric.fabric import Dimension, Fabric, MachineType, Tiers
from netmodels.fabric.nccl import NcclFabric
from netmodels.inputs.errors import InputError


@dataclass(frozen=True, slots=True)
class Oversubscription:
    """Oversubscription ratios by tier; None: the bandwidth of the topology, in Gb/s.

    Parameters
    ----------
    machine
        Of a machine's port, 1 or more.
    rack
        Of a rack's uplink, 1 or more.
    """

    machine: float | None = None
    rack: float | None = None


def oversubscribed(
    fabric: Fabric,
    ratios: Oversubscription,
    types: Mapping[str, MachineType],
    usual_type: str,
    machines_per_rack: int,
    where: str,
) -> Fabric:
    """Return the fabric with these ports and uplinks.

    Parameters
    ----------
    types
        The machine types; types with the usual number of GPUs see the same fabric unless they have their own.
    usual_type
        The type whose GPUs count for `fabric.machine`, `.rack` and `.network`, and for measured parameters.
    machines_per_rack
        Machines of a full rack, all of one type.
    where
        The topology, for messages.

    Raises
    ------
    InputError
        If members have as many links as members, so that there is no port.
    """
    if ratios == Oversubscription():
        return fabric
    seen: dict[str, Tiers] = {}
    for name, machine_type in types.items():
        tiers = fabric.by_machine_type.get(name, (fabric.machine, fabric.rack, fabric.network))
        _check(tiers, ratios, where)
        seen[name] = (
            _limited(tiers, ratios, machine_type.gpus, machines_per_rack) if machine_type.gpus else tiers
        )
    usual = seen[usual_type]
    differing = {
        name: tiers for name, tiers in seen.items() if name in fabric.by_machine_type or tiers != usual
    }
    gpus = types[usual_type].gpus
    nccl = fabric.nccl and _limited_nccl(fabric.nccl, ratios, gpus, machines_per_rack)
    machine, rack, network = usual
    return replace(fabric, machine=machine, rack=rack, network=network, by_machine_type=differing, nccl=nccl)


def _check(tiers: Tiers, ratios: Oversubscription, where: str) -> None:
    _, rack, network = tiers
    for name, ratio, dimensions in (
        ("machine", ratios.machine, (*rack, *network)),
        ("rack", ratios.rack, network),
    ):
        if ratio is not None and any(dimension.links == "members" for dimension in dimensions):
            raise InputError(
                "no shared ports to oversubscribe",
                where=f"{where}, oversubscription.{name}",
                found=ratio,
                allowed="null where members have as many links as there are of them (links: members)",
            )


def _limited(tiers: Tiers, ratios: Oversubscription, gpus: int, machines_per_rack: int) -> Tiers:
    """Return the dimensions of the three tiers as machines with `gpus` GPUs see them."""

    def ported(dimension: Dimension) -> Dimension:
        if ratios.machine is None:
            return dimension
        port = gpus * dimension.bandwidth_bytes_per_ns / ratios.machine
        return replace(dimension, machine_bytes_per_ns=port)

    def uplinked(dimension: Dimension) -> Dimension:
        if ratios.rack is None:
            return dimension
        sent = machines_per_rack * dimension.capacity(gpus, machines=1)
        return replace(dimension, rack_bytes_per_ns=sent / ratios.rack)

    machine, rack, network = tiers
    return machine, tuple(map(ported, rack)), tuple(uplinked(ported(dimension)) for dimension in network)


def _limited_nccl(
    nccl: NcclFabric, ratios: Oversubscription, gpus: int, machines_per_rack: int
) -> NcclFabric:
    rack, network = nccl.rack, nccl.network
    if ratios.machine is not None:
        rack, network = (
            replace(tier, machine_gb_s=gpus * tier.gpu_gb_s / ratios.machine) for tier in (rack, network)
        )
    if ratios.rack is not None:
        sent = machines_per_rack * replace(network, rack_gb_s=0.0).sends_gb_s(gpus, gpus)
        network = replace(network, rack_gb_s=sent / ratios.rack)
    return replace(nccl, rack=rack, network=network)
