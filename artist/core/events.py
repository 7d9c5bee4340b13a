"""Events of a run: typed, in order. Policies read them as news, observers record them."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from artist.core.cluster import Allocation
from artist.core.iteration import IterationParts
from artist.core.record import record

StartType = Literal["start", "resume", "restart"]
ChangeType = Literal["retune", "resize", "migrate"]
MachineEventType = Literal["fail", "join", "leave", "left", "assign", "slow", "spare", "check"]


@record
class Arrival:
    """A job was submitted."""

    time_ns: int
    job: int


@record
class Start:
    """A waiting job got an allocation; it holds it for `delay_ns` before it makes progress."""

    time_ns: int
    job: int
    allocation: Allocation
    type: StartType
    delay_ns: int


@record
class Change:
    """A running job got another allocation; `lost_ns` of its running time, the last, are lost.

    `cause` is that of the failure after which it goes on with fewer GPUs, and empty for other changes.
    """

    time_ns: int
    job: int
    allocation: Allocation
    type: ChangeType
    delay_ns: int
    lost_ns: int = 0
    cause: str = ""


@record
class Stop:
    """A running job lost its allocation and waits again; `iterations_done` excludes lost ones.

    `lost_ns` of its running time, the last, are lost. `cause` is that of the failure that stopped it,
    `failure` if it has none, and empty for other stops.
    """

    time_ns: int
    job: int
    reason: Literal["preempted", "evicted"]
    iterations_done: int
    lost_ns: int = 0
    cause: str = ""


@record
class Finish:
    """A job has done all its iterations, or has reached its time limit or was cancelled before."""

    time_ns: int
    job: int
    timed_out: bool = False
    cancelled: bool = False


@record
class Pending:
    """The reason for which a job waits, as its policy names it, changed; it is empty for none."""

    time_ns: int
    job: int
    reason: str


@record
class Reprice:
    """The iteration time of a running job was set."""

    time_ns: int
    job: int
    parts: IterationParts

    @property
    def iteration_ns(self) -> int:
        """The iteration time, in nanoseconds."""
        return sum(self.parts)


@record
class MachineEvent:
    """A machine failed, joined, is leaving until `deadline_ns`, has left, or changed its pool.

    Or it makes its jobs slower by `factor` (1: no more), is kept as a spare, or is in a health check after
    its repair. A failure, a drain before a repair (`leave`, `left`) and slowness have a `cause`, empty for
    those of a file.
    """

    time_ns: int
    machine: int
    type: MachineEventType
    pool: str = ""
    deadline_ns: int = 0
    cause: str = ""
    factor: float = 1.0


@record
class Wake:
    """A wake-up of the policy is due."""

    time_ns: int


Event = Arrival | Start | Change | Stop | Finish | Pending | Reprice | MachineEvent | Wake


class Gauges(NamedTuple):
    """The cluster after an instant."""

    busy_gpus: int
    capacity_gpus: int
    waiting: int
    running: int


class Observer(Protocol):
    """Receives every instant with events; changes nothing."""

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Record the events of one instant, in order, and the state after them."""
