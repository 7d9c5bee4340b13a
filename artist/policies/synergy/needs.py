"""Needs of jobs, and mechanisms that place jobs and divide CPUs and memory among them.

The GPUs of a job are fixed, its CPUs and memory are fungible. Two amounts of them matter: the best case,
beyond which more gains nothing, and the share in proportion to its GPUs. To be as fast as with its share, a
job never needs more of either than the lesser of the two.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from artist.core.buckets import ALL
from artist.core.cluster import Allocation, Machine
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.view import ClusterView
from artist.policies.synergy.best_case import ByType


@dataclass(frozen=True, slots=True, eq=False)
class Need:
    """One job to place, and its best case. Two needs are never equal: the same object is the same need.

    Its allocation now is `view.allocation(job)`.

    Attributes
    ----------
    gpus
        GPUs to allocate.
    cpus, memory_bytes
        Best case, for the whole job (`artist.policies.synergy.best_case`).
    unbounded
        Best case if one machine's CPUs and memory did not bound it; None if it is not needed.
    cases
        Best cases by hardware, if the machines that may serve differ; `cpus`, `memory_bytes` are of one.
    among
        The machines that may serve, as a set of `artist.core.buckets`.
    """

    job: int
    demand: Demand
    gpus: int
    cpus: int
    memory_bytes: int
    unbounded: tuple[int, int] | None = None
    among: int = ALL
    cases: ByType | None = None

    def at(self, machine: Machine) -> "Need":
        """Return the need with the best case for machines like one."""
        if self.cases is None or machine.hardware not in self.cases:
            return self
        cpus, memory = self.cases[machine.hardware]
        return replace(self, cpus=cpus, memory_bytes=memory, cases=None)

    def best(self, gpus: int, machine: Machine) -> tuple[int, int]:
        """Return the CPUs and bytes of some of its GPUs in the best case, rounded up.

        Rounded up because a job on several machines runs at the pace of the GPU with the fewest.
        """
        whole = self.cpus, self.memory_bytes
        if self.cases is not None:
            whole = self.cases.get(machine.hardware, whole)
        return self.part(*whole, gpus)

    def part(self, cpus: int, memory_bytes: int, gpus: int) -> tuple[int, int]:
        """Return the part of CPUs and bytes of some of its GPUs, rounded up."""
        return -(-cpus * gpus // self.gpus), -(-memory_bytes * gpus // self.gpus)

    def least(self, gpus: int, machine: Machine) -> tuple[int, int]:
        """Return the CPUs and bytes with which it is as fast on GPUs of a machine as with its share.

        May not suffice as a part of a job on several machines (`artist.policies.synergy.floor`).
        """
        cpus, memory = self.best(gpus, machine)
        share_cpus, share_memory = machine.share(gpus)
        return min(cpus, share_cpus), min(memory, share_memory)


class Mechanism(ABC):
    """Places jobs with their CPUs and memory; `pack` is all that a user's own must define.

    Attributes
    ----------
    takes_all
        Whether it gets the whole queue and skips jobs that do not fit; else the jobs whose GPUs fit. In a
        whole queue a job has a need for each GPU type that it allows, and takes the first that fits.
    """

    takes_all: bool = False

    @abstractmethod
    def pack(self, needs: Sequence[Need], free: Free, view: ClusterView) -> dict[int, Allocation]:
        """Return the allocations by job; a job without one waits.

        Parameters
        ----------
        needs
            In the order of packing.
        free
            Free resources if none of the jobs ran; left unchanged.
        view
            For the believed performance.
        """
