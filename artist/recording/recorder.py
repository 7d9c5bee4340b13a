"""Takes note of a run's events and gauges, as columns of numbers; text is made when it is written."""

from array import array
from collections.abc import Sequence

from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.events import Arrival, Change, Event, Finish, Gauges, MachineEvent, Reprice, Start, Stop
from artist.core.job import JobSpec

# The kind column holds an index into this table of (kind, reason) as they are written.
KINDS: tuple[tuple[str, str | None], ...] = (
    ("arrival", None),
    ("start", None),
    ("resume", None),
    ("restart", None),
    ("retune", None),
    ("resize", None),
    ("migrate", None),
    ("stop", "preempted"),
    ("stop", "evicted"),
    ("finish", None),
    ("reprice", None),
    ("fail", None),
    ("join", None),
    ("leave", None),
    ("left", None),
    ("assign", None),
    ("wake", None),
)
CODES = {reason or kind: code for code, (kind, reason) in enumerate(KINDS)}
ARRIVAL, FINISH, REPRICE, FAIL, ASSIGN, WAKE = (
    CODES[name] for name in ("arrival", "finish", "reprice", "fail", "assign", "wake")
)
START, MIGRATE = CODES["start"], CODES["migrate"]  # the codes between them carry an allocation

_NOTHING = -1


class Recorder:
    """Observer that remembers every event and gauge in about 17 and 24 bytes.

    Parameters
    ----------
    jobs
        The engine's jobs in its order; an event's job is an index into them.
    rates
        Whether to remember changes of iteration time too; there are many.

    Attributes
    ----------
    event_ns, event_kind, event_subject, event_detail : array
        One entry an event: when; index into KINDS; job or machine (-1 for a wake-up); and index into
        `allocations`, iteration time in ns, or index into `pools`, whichever its kind has, else -1.
    allocations
        The distinct allocations of the run; a plain one (own GPUs, no cap) as its slices alone.
    pools
        The distinct pools that machines were assigned to.
    gauge_ns, gauge_values : array
        One entry, and four (busy GPUs, capacity in GPUs, waiting, running), per change of the gauges.
    """

    def __init__(self, jobs: Sequence[JobSpec], cluster: Cluster, rates: bool = False) -> None:
        self.jobs = jobs
        self.cluster = cluster
        self.event_ns = array("q")
        self.event_kind = array("b")
        self.event_subject = array("i")
        self.event_detail = array("q" if rates else "i")
        self.gauge_ns = array("q")
        self.gauge_values = array("i")
        self.rates = rates
        self._allocations: dict[Allocation | tuple[Slice, ...], int] = {}
        self._slices: dict[Slice, Slice] = {}
        self._pools: dict[str, int] = {}
        self._open_ns = 0
        self._open = Gauges(0, cluster.total_gpus, 0, 0)
        self._closed: Gauges | None = None

    @property
    def allocations(self) -> list[Allocation | tuple[Slice, ...]]:
        """The distinct allocations, in order of first use."""
        return list(self._allocations)

    @property
    def pools(self) -> list[str]:
        """The distinct pools that machines were assigned to, in order of first use."""
        return list(self._pools)

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Record the events of one instant, in order, and the state after them."""
        if time_ns != self._open_ns:
            self.close_instant()
            self._open_ns = time_ns
        self._open = gauges
        for event in events:  # the most frequent kinds first
            detail = _NOTHING
            if isinstance(event, Arrival):
                kind, subject = ARRIVAL, event.job
            elif isinstance(event, Finish):
                kind, subject = FINISH, event.job
            elif isinstance(event, (Start, Change)):
                kind, subject = CODES[event.how], event.job
                detail = self._allocation_code(event.allocation)
            elif isinstance(event, Reprice):
                if not self.rates:
                    continue
                kind, subject, detail = REPRICE, event.job, event.iteration_ns
            elif isinstance(event, Stop):
                kind, subject = CODES[event.reason], event.job
            elif isinstance(event, MachineEvent):
                kind, subject = CODES[event.how], event.machine
                if event.how == "assign":
                    detail = self._pools.setdefault(event.pool, len(self._pools))
            else:
                kind, subject = WAKE, _NOTHING
            self.event_ns.append(time_ns)
            self.event_kind.append(kind)
            self.event_subject.append(subject)
            self.event_detail.append(detail)

    def close_instant(self) -> None:
        """Take over the gauges of the instant that is open, if they differ from those before it."""
        if self._open != self._closed:
            self.gauge_ns.append(self._open_ns)
            self.gauge_values.extend(self._open)
            self._closed = self._open

    def _allocation_code(self, allocation: Allocation) -> int:
        # Hashing the slices alone is much cheaper than hashing the dataclass around them.
        plain = allocation.group is None and allocation.bandwidth_cap == 1.0
        known = self._allocations
        code = known.get(allocation.slices if plain else allocation)
        if code is None:
            code = len(known)
            share = self._slices.setdefault  # most slices stand in many allocations
            known[tuple(share(s, s) for s in allocation.slices) if plain else allocation] = code
        return code
