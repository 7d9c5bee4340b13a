"""Ports and uplinks that are narrower than what may pass them, stated as a ratio instead of in Gb/s.

A machine's port oversubscribed by m passes 1/m of what its GPUs may send on a tier; a rack's uplink
oversubscribed by r passes 1/r of what the machines of a full rack may send beyond it, after their ports. Both
replace what the topology says (`shared_gbit_s`), on all dimensions outside the machine. Measured parameters
of NCCL are limited likewise: to 1/r of what NCCL reaches without.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from netmodels.fabric.fabric import Dimension, Fabric, MachineType, Tiers
from netmodels.fabric.nccl import NcclFabric
from netmodels.inputs.errors import InputError


@dataclass(frozen=True, slots=True)
class Oversubscription:
    """How much more may be sent than passes, by tier; None: as the topology says in Gb/s.

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
        The machine types; those of the usual number of GPUs see the same fabric unless they have their own.
    usual_type
        The one whose GPUs count for `fabric.machine`, `.rack` and `.network`, and for measured parameters.
    machines_per_rack
        In a full rack, all of one type.
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
    for name, each in types.items():
        tiers = fabric.by_machine_type.get(name, (fabric.machine, fabric.rack, fabric.network))
        _check(tiers, ratios, where)
        seen[name] = _limited(tiers, ratios, each.gpus, machines_per_rack) if each.gpus else tiers
    usual = seen[usual_type]
    own = {name: tiers for name, tiers in seen.items() if name in fabric.by_machine_type or tiers != usual}
    gpus = types[usual_type].gpus
    nccl = fabric.nccl and _limited_nccl(fabric.nccl, ratios, gpus, machines_per_rack)
    machine, rack, network = usual
    return replace(fabric, machine=machine, rack=rack, network=network, by_machine_type=own, nccl=nccl)


def _check(tiers: Tiers, ratios: Oversubscription, where: str) -> None:
    _, rack, network = tiers
    for name, ratio, dimensions in (
        ("machine", ratios.machine, (*rack, *network)),
        ("rack", ratios.rack, network),
    ):
        if ratio is not None and any(each.links == "members" for each in dimensions):
            raise InputError(
                "no shared ports to oversubscribe",
                where=f"{where}, oversubscription.{name}",
                found=ratio,
                allowed="null where members have as many links as there are of them (links: members)",
            )


def _limited(tiers: Tiers, ratios: Oversubscription, gpus: int, machines_per_rack: int) -> Tiers:
    """Return the dimensions of the three tiers as machines with so many GPUs see them."""

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
    return machine, tuple(map(ported, rack)), tuple(uplinked(ported(each)) for each in network)


def _limited_nccl(
    nccl: NcclFabric, ratios: Oversubscription, gpus: int, machines_per_rack: int
) -> NcclFabric:
    rack, network = nccl.rack, nccl.network
    if ratios.machine is not None:
        rack, network = (
            replace(each, machine_gb_s=gpus * each.gpu_gb_s / ratios.machine) for each in (rack, network)
        )
    if ratios.rack is not None:
        sent = machines_per_rack * replace(network, rack_gb_s=0.0).sends_gb_s(gpus, gpus)
        network = replace(network, rack_gb_s=sent / ratios.rack)
    return replace(nccl, rack=rack, network=network)
