"""Cases of contention as the simulator follows them: placed jobs on a fabric whose links they share.

Not every case can be one: rings here go machine by machine, rack by rack, and collectives are all-reduces.
"""

from itertools import groupby

from contention_cases import Case, Job, Machines

from netmodels.contention.contention import Contention
from netmodels.contention.packet_level import followed
from netmodels.contention.traffic import in_ring_order
from netmodels.fabric.fabric import Dimension, Fabric, Tiers
from netmodels.fabric.links import Link, Slice
from netmodels.fabric.system import SystemSettings, Transport
from netmodels.profiles.layers import Layer, Profile

_GPU_BYTES_PER_NS, _LATENCIES_NS = 450.0, (500.0, 1500.0, 3500.0)  # one way, up to each tier's switch


def fabric_of(machines: Machines) -> Fabric:
    """Return the fabric of a case; a machine's type is named for its port and its rack's uplink."""
    kinds = {_kind(machine, machines): _tiers(machine, machines) for machine in _numbers(machines)}
    return Fabric("case", *next(iter(kinds.values())), by_machine_type=kinds, uplinks=machines.uplinks)


def _numbers(machines: Machines) -> range:
    return range(sum(link.tier == "machine" and link.way == "out" for link in machines.capacity))


def _limits(machine: int, machines: Machines) -> tuple[float, float]:
    """Return the bandwidth of the port of a machine and of its rack's uplink, byte/ns."""
    port = machines.capacity[Link("machine", machine, "out")]
    uplink = machines.capacity[Link("rack", machine // machines.per_rack, "out")]
    return port, uplink * machines.uplinks


def _kind(machine: int, machines: Machines) -> str:
    return "port {:g}, uplink {:g}".format(*_limits(machine, machines))


def _tiers(machine: int, machines: Machines) -> Tiers:
    port, uplink = _limits(machine, machines)
    inside, rack, network = _LATENCIES_NS
    return (
        (Dimension("switch", inside, _GPU_BYTES_PER_NS),),
        (Dimension("switch", rack, port, machine_bytes_per_ns=port),),
        (Dimension("switch", network, port, machine_bytes_per_ns=port, rack_bytes_per_ns=uplink),),
    )


def placement_of(job: Job, machines: Machines) -> list[Slice] | None:
    """Return the machines of a job; None if no placement has its ring, or its collectives are others."""
    if any(size and kind not in ("all_reduce", "none") for _, size, kind in job.layers):
        return None
    slices = [
        (machine // machines.per_rack, machine, _kind(machine, machines), len(list(gpus)))
        for machine, gpus in groupby(npu // machines.gpus for npu in job.npus)
    ]
    same = len({machine for _, machine, _, _ in slices}) == len(slices)
    ring = in_ring_order(slices) if same else []
    rotations = (slices[at:] + slices[:at] for at in range(len(slices)))
    return slices if any(ring == turn for turn in rotations) else None


def profile_of(job: Job) -> Profile:
    """Return a model whose backward pass is the job's iteration."""
    layers = [
        Layer(f"{place}", 0, 0, compute_ns, 0 if kind == "none" else size)
        for place, (compute_ns, size, kind) in enumerate(job.layers)
    ]
    return Profile("case", tuple(reversed(layers)))


def placed(case: Case, max_packets: int | None) -> list[float] | None:
    """Return together / alone of each job; None if no placement has their rings.

    Parameters
    ----------
    max_packets
        To be followed; None: all.
    """
    machines, placements = case.fabric, []
    for job in case.jobs:
        placement = placement_of(job, machines)
        if placement is None:
            return None
        placements.append(placement)
    fabric = fabric_of(machines)
    transport: Transport = "windows" if machines.windows else "packets"
    system = SystemSettings(across_machines="flat_ring", transport=transport)
    cluster = [
        (number // machines.per_rack, number, _kind(number, machines), machines.gpus)
        for number in _numbers(machines)
    ]
    shared = Contention("packets", cluster, fabric, system)
    return followed(
        [shared.traffic(profile_of(job), place) for job, place in zip(case.jobs, placements, strict=True)],
        shared.capacity,
        fabric,
        system,
        [job.start_ns for job in case.jobs],
        max_packets=max_packets,
        iterations=[job.iterations for job in case.jobs],
    )
