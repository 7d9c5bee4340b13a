"""Jobs, and the cluster queues in which they wait and are admitted."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from artist.core.buckets import ALL
from artist.core.job import Demand
from artist.policies.kueue.configuration import ClusterQueue
from artist.policies.kueue.quotas import Key, Node
from artist.policies.parts.waiting_queue import WaitingQueue


@dataclass(slots=True, eq=False)
class Job:
    """A job that waits, or is admitted, with machines or without.

    Attributes
    ----------
    since_ns
        Time by which it is queued.
    usage, among
        Of an admitted job: its quota, and the machines of its flavors.
    """

    number: int
    demand: Demand
    queue: "Queue"
    priority: float
    since_ns: int
    usage: Mapping[Key, float] = field(default_factory=dict)
    among: int = ALL
    admitted_ns: int = -1
    placed: bool = False
    timeouts: int = 0

    @property
    def rank(self) -> tuple[float, int, int]:
        """Its rank among jobs, the smallest first."""
        return -self.priority, self.since_ns, self.number


@dataclass(slots=True, eq=False)
class Queue:
    """A cluster queue: its settings and quotas, its waiting jobs, and the admitted ones by number."""

    rules: ClusterQueue
    node: Node
    waiting: WaitingQueue = field(default_factory=WaitingQueue)
    admitted: dict[int, Job] = field(default_factory=dict)

    def push(self, job: Job) -> None:
        """Let a job wait, and those with its demand be tried again."""
        self.waiting.push(job.number, job.rank[:2], job.demand)
        self.waiting.try_again(lambda demand: demand == job.demand)

    def admit(self, job: Job) -> None:
        """Let a job hold its quota."""
        self.node.add(job.usage)
        self.admitted[job.number] = job

    def remove(self, job: Job) -> None:
        """Free the quota of a job."""
        self.node.add(job.usage, -1)
        del self.admitted[job.number]
