"""GPU types that a run knows by name."""

from artist.core.cluster import Cluster
from artist.core.gpus import Gpu, Gpus
from artist.data import data_path
from artist.errors import InputError
from netmodels.api import Topology, load_topology
from netmodels.inputs.naming import allowed_names


def gpus_of(cluster: Cluster, topology: Topology) -> Gpus:
    """Return the cluster's default GPU, and other types by name: of the topology, else of shipped ones.

    The worth of a GPU is defined by a topology; the worth per speed of a type that it lacks is that of the
    default GPU.
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

    machine = cluster.default_machine
    default = Gpu(machine.gpu_type, machine.speed, machine.worth) if machine else Gpu()
    types = dict.fromkeys(m.gpu_type for m in cluster.machines if m.gpus)
    gpus = Gpus(default, tuple(types), find)
    return gpus


def _shipped() -> dict[str, Gpu]:
    """Return the GPU types of the shipped topologies, which agree on the speed of a type."""
    types: dict[str, Gpu] = {}
    for file in sorted(data_path("topologies").glob("*.yaml")):
        types |= _types(load_topology(file))
    return types


def _types(topology: Topology) -> dict[str, Gpu]:
    machines = [machine for machine in topology.machine_types.values() if machine.gpus]
    return {m.gpu_type: Gpu(m.gpu_type, m.speed, m.worth) for m in machines}
