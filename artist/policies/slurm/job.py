"""Jobs as Slurm's loops see them."""

from dataclasses import dataclass, field
from typing import NamedTuple

from artist.core.buckets import members_of
from artist.core.cluster import Cluster, Machine, Slice
from artist.core.job import UNLIMITED_NS
from artist.policies.parts.limits import Qos
from artist.policies.slurm.configuration import Partition

SHARES = 1 << 20  # of a node: an exclusive job takes all, any other one


class Need(NamedTuple):
    """Resources on one node, and of its `SHARES`."""

    gpus: int
    cpus: int
    memory_bytes: int
    shares: int = 1


class Kind(NamedTuple):
    """All on which the nodes for a job depend, but its limit."""

    nodes: int
    need: Need
    places: tuple[int, ...]
    partition: str
    qos: str


@dataclass(slots=True, eq=False)
class Job:
    """A job that waits or runs.

    Attributes
    ----------
    nodes, need
        Number of nodes, and the resources on each; one of them may have less if they do not divide evenly.
    gpus, cpus, memory_bytes
        Of the whole job; 0 CPUs for those in proportion to its GPUs.
    limit_ns
        Time limit, `UNLIMITED_NS` for none.
    places
        Sets of nodes (`artist.core.buckets`) any of which may serve: one for each GPU type, if they differ.
    queued_ns, eligible_ns
        Time of its submission or last requeue; time from which it may start, and from which its age counts.
    priority
        A higher one first, after the tier of the partition.
    nice
        By which its user lowers it.
    start_ns
        Its start, while it runs; -1 for none.
    largest, held
        Of an exclusive job: the largest nodes that it may get, and, while it runs, those that it has.
    unit
        GPUs of a node are a multiple of it.
    kind
        Equal for jobs that may get the same nodes.
    """

    number: int
    nodes: int
    need: Need
    gpus: int
    cpus: int
    memory_bytes: int
    limit_ns: int
    places: tuple[int, ...]
    partition: Partition
    queued_ns: int
    eligible_ns: int
    qos: Qos | None = None
    account: str = ""
    user: str = ""
    priority: int = 0
    nice: int = 0
    start_ns: int = -1
    largest: tuple[Machine, ...] = ()
    held: tuple[Machine, ...] = ()
    unit: int = 1
    kind: Kind = field(init=False)

    def __post_init__(self) -> None:
        qos = self.qos.Name if self.qos else ""
        self.kind = Kind(self.nodes, self.need, self.places, self.partition.PartitionName, qos)

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """Its rank in the queue, the smallest first."""
        return -self.partition.PriorityTier, -self.priority, self.queued_ns, self.number

    @property
    def tres(self) -> dict[str, float]:
        """Its resources by their names in Slurm: all GPUs and CPUs of the nodes of an exclusive job."""
        gpus, cpus = self.gpus, self.cpus or self.nodes
        if whole := self.held or self.largest:
            gpus, cpus = sum(node.gpus for node in whole), sum(node.cpus for node in whole)
        return {"cpu": cpus, "gres/gpu": gpus, "mem": self.memory_bytes / 2**30, "node": self.nodes}

    @property
    def billing(self) -> float:
        """Its resources by the weights of its partition, per second of its run: by default a CPU counts 1."""
        weights, tres = self.partition.TRESBillingWeights, self.tres
        return sum(weights.get(name, 0.0) * value for name, value in tres.items()) if weights else tres["cpu"]

    def end_ns(self, start_ns: int) -> int:
        """Return its end by the limit."""
        return min(start_ns + self.limit_ns, UNLIMITED_NS)

    def slices(self, chosen: int, cluster: Cluster) -> tuple[Slice, ...]:
        """Return its resources on chosen nodes, as evenly as they divide."""
        machines, parts = members_of(chosen), []
        n = len(machines)
        for i, machine in enumerate(machines):
            totals = self.gpus // self.unit, self.cpus, self.memory_bytes
            units, cpus, memory = (total * (i + 1) // n - total * i // n for total in totals)
            gpus = units * self.unit
            share = cluster.share(machine, gpus) if not cpus and gpus else None
            parts.append(Slice(machine, gpus, cpus, memory) if share is None else share)
        return tuple(parts)
