"""Machines by the name of their GPUs, such as `NVIDIA H100 80GB HBM3` or `Tesla V100-SXM2-32GB`."""

import re
from dataclasses import dataclass

from artist.data import data_path
from netmodels.api import MachineType, Topology, load_topology

_TFLOPS = {
    "A10": 125.0,
    "A10G": 70.0,
    "A30": 165.0,
    "A40": 149.7,
    "GB200": 2500.0,
    "GB300": 2500.0,
    "B300": 2250.0,
    "H100 NVL": 835.0,
    "H100 PCIe": 756.0,
    "H20": 148.0,
    "H800": 989.4,
    "L4": 121.0,
    "L40": 181.0,
    "L40S": 362.0,
    "MI100": 184.6,
    "MI210": 181.0,
    "MI250": 181.0,  # one of the two dies, each of which is a device
    "MI250X": 191.5,
    "MI300A": 980.6,
    "MI300X": 1307.4,
    "MI325X": 1307.4,
    "MI350X": 2306.0,
    "MI355X": 2516.6,
    "P100": 21.2,
    "RTX 2080 Ti": 53.8,
    "RTX 3090": 71.0,
    "RTX 4090": 165.2,
    "RTX A6000": 154.8,
}
"""Dense FP16 by the data sheets, 10^12 operations per s, of GPUs that no shipped topology has."""
_H100_TFLOPS = 989.4


@dataclass(frozen=True, slots=True)
class KnownGpu:
    """A GPU type, and a shipped machine that has it, or represents one that does.

    Parameters
    ----------
    gpu_type
        Its name in topologies.
    speed
        Relative to an H100.
    topology, machine
        The shipped topology and its machine type.
    basis
        Origin of the figures, in one line.
    """

    gpu_type: str
    speed: float
    topology: Topology
    machine: MachineType
    basis: str

    def fields(self, gpus: int) -> dict[str, str | float]:
        """Return the fields of a machine type of some GPUs; CPUs and memory per GPU are as in `machine`."""
        share = gpus / self.machine.gpus
        same = self.machine.gpu_type == self.gpu_type and self.machine.gpu_memory_bytes
        return {
            "gpu_type": self.gpu_type,
            "speed": self.speed,
            "cpus": max(1, round(self.machine.cpus * share)),
            "memory_gib": self.machine.memory_bytes / 2**30 * share,
            "memory_bandwidth_gb_s": self.machine.memory_bandwidth_bytes_per_s / 1e9 * share,
            **({"gpu_memory_gib": self.machine.gpu_memory_bytes / 2**30} if same else {}),
        }


def known_gpu(name: str, default: Topology, gpus: int = 8) -> KnownGpu | None:
    """Return the GPU that a name contains; None if there is none.

    Parameters
    ----------
    name
        As a driver prints it.
    default
        Topology of the machine that represents those of a GPU without a shipped one.
    gpus
        Number in a machine: a shipped machine of equal number is preferred, then one with NCCL measured.
    """
    shipped = [load_topology(file) for file in sorted(data_path("topologies").glob("*.yaml"))]
    machines = [(topology, machine) for topology in shipped for machine in topology.machine_types.values()]
    types = {machine.gpu_type for _, machine in machines if machine.gpus} | set(_TFLOPS)
    gpu_type = max((known for known in types if _contains(name, known)), key=len, default=None)
    if gpu_type is None:
        return None
    if gpu_type in _TFLOPS:
        machine = default.machine_type()
        speed = float(f"{_TFLOPS[gpu_type] / _H100_TFLOPS:.3g}")
        basis = f"speed by the data sheets, FP16; ASSUMPTION: CPUs and memory per GPU as {machine.name}"
        return KnownGpu(gpu_type, speed, default, machine, basis)
    topology, machine = min(
        ((topology, machine) for topology, machine in machines if machine.gpu_type == gpu_type),
        key=lambda pair: (pair[1].gpus != gpus, pair[0].fabric.nccl is None, pair[0].name),
    )
    basis = f"ASSUMPTION: speed, and CPUs and memory per GPU, as {machine.name} of {topology.name}"
    return KnownGpu(gpu_type, machine.speed, topology, machine, basis)


def _contains(name: str, gpu_type: str) -> bool:
    """Return whether words of a name are a GPU type: `NVIDIA GH200 480GB` is no H200."""
    words, wanted = _words(name), "".join(_words(gpu_type))
    return any(
        "".join(words[start:end]) == wanted
        for start in range(len(words))
        for end in range(start, len(words) + 1)
    )


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())
