"""The GPU types that a run knows by name."""

from artist.core.cluster import Cluster
from artist.core.gpus import Gpu, Gpus
from artist.data import data_path
from artist.errors import InputError
from netmodels.fabric.topology import Topology, load_topology
from netmodels.inputs.naming import allowed_names


def gpus_of(cluster: Cluster, topology: Topology) -> Gpus:
    """Return the cluster's own GPUs, and other types: those of the topology, else as shipped.

    How many GPUs another one replaces is up to a topology, so a type that it lacks is worth as much per speed
    as the cluster's own.
    """

    def find(name: str) -> Gpu:
        here = _types(topology)
        if name in here:
            return here[name]
        shipped = _shipped()
        if name not in shipped:
            known = dict.fromkeys([*here, *sorted(shipped)])
            allowed = f"{allowed_names(name, known)}; or its speed relative to H100, such as 0.25"
            raise InputError("unknown GPU type", where="workload.measured_on", found=name, allowed=allowed)
        return gpus.of_speed(shipped[name].speed, name)

    own = cluster.default_machine
    kinds = dict.fromkeys(m.gpu_type for m in cluster.machines if m.present and m.gpus)
    gpus = Gpus(Gpu(own.gpu_type, own.speed, own.worth) if own else Gpu(), tuple(kinds), find)
    return gpus


def _shipped() -> dict[str, Gpu]:
    """Return the GPU types of the topologies that ship; two of them agree on the speed of one type."""
    types: dict[str, Gpu] = {}
    for file in sorted(data_path("topologies").glob("*.yaml")):
        types |= _types(load_topology(file))
    return types


def _types(topology: Topology) -> dict[str, Gpu]:
    machines = [each for each in topology.machine_types.values() if each.gpus]
    return {each.gpu_type: Gpu(each.gpu_type, each.speed, each.worth) for each in machines}
