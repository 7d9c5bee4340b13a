"""Takes note of a run's events and gauges, as columns of numbers; text is made when it is written."""

from array import array
from collections.abc import Sequence
from struct import pack  # quicker than `extend`
from typing import Any

import numpy as np
import numpy.typing as npt

from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.events import (
    Arrival,
    Change,
    Event,
    Finish,
    Gauges,
    MachineEvent,
    Pending,
    Reprice,
    Start,
    Stop,
)
from artist.core.job import JobSpec

_AT_ONCE = 1 << 8  # events that wait for their columns: a row is quicker to keep than four entries

# The type column holds an index into this table of (type, reason) as they are written.
EVENT_TYPES: tuple[tuple[str, str | None], ...] = (
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
    ("finish", "timeout"),
    ("slow", None),
    ("spare", None),
    ("pending", None),
    ("finish", "cancelled"),
    ("check", None),
)
CODES = {reason or event_type: code for code, (event_type, reason) in enumerate(EVENT_TYPES)}
ARRIVAL, FINISH, TIMEOUT, REPRICE, FAIL, ASSIGN, WAKE, SLOW = (
    CODES[name] for name in ("arrival", "finish", "timeout", "reprice", "fail", "assign", "wake", "slow")
)
SPARE, PENDING, CANCELLED, CHECK = (CODES[name] for name in ("spare", "pending", "cancelled", "check"))
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
    allocations
        The distinct allocations of the run; a plain one (own GPUs, no cap) as its slices alone.
    reasons
        The distinct pools that machines were assigned to, causes of their failures and slowness, and reasons
        for which jobs waited.
    """

    def __init__(self, jobs: Sequence[JobSpec], cluster: Cluster, rates: bool = False) -> None:
        self.jobs = jobs
        self.cluster = cluster
        self._columns = (array("q"), array("b"), array("i"), array("q" if rates else "i"))
        self._rows: list[tuple[int, int, int, int]] = []  # of events not yet in the columns
        self._gauges = (array("q"), array("i"), array("i"), array("i"), array("i"))
        self._states = [(0, 0, cluster.total_gpus, 0, 0)]  # time and gauges, not yet in the columns
        self.rates = rates
        self._allocations: dict[Allocation | tuple[Slice, ...], int] = {}
        self._reasons: dict[str, int] = {}

    @property
    def allocations(self) -> list[Allocation | tuple[Slice, ...]]:
        """The distinct allocations, in order of first use."""
        return list(self._allocations)

    @property
    def reasons(self) -> list[str]:
        """The distinct reasons of machines and waiting jobs, in order of first use."""
        return list(self._reasons)

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Record the events of one instant, in order, and the state after them."""
        self._states.append((time_ns, *gauges))
        note = self._rows.append
        for event in events:  # the most frequent types first
            detail = _NOTHING
            if type(event) is Arrival:
                event_type, subject = ARRIVAL, event.job
            elif type(event) is Finish:
                event_type, subject = TIMEOUT if event.timed_out else FINISH, event.job
                if event.cancelled:
                    event_type = CANCELLED
            elif type(event) is Start or type(event) is Change:
                event_type, subject = CODES[event.type], event.job
                detail = self._allocation_code(event.allocation)
            elif type(event) is Reprice:
                if not self.rates:
                    continue
                event_type, subject, detail = REPRICE, event.job, event.iteration_ns
            elif type(event) is Stop:
                event_type, subject = CODES[event.reason], event.job
            elif type(event) is MachineEvent:
                event_type, subject = CODES[event.type], event.machine
                if event.type == "assign" or event.cause:
                    detail = self._reasons.setdefault(_reason(event), len(self._reasons))
            elif type(event) is Pending:
                event_type, subject = PENDING, event.job
                detail = self._reasons.setdefault(event.reason, len(self._reasons))
            else:
                event_type, subject = WAKE, _NOTHING
            note((time_ns, event_type, subject, detail))
        if len(self._rows) > _AT_ONCE:
            self._store()

    def events(self) -> list[npt.NDArray[Any]]:
        """Return the columns of events, each of shape (n_events,).

        When; index into EVENT_TYPES; job or machine (-1 for a wake-up); and index into `allocations`,
        iteration time in ns, or index into `reasons`, whichever its type has, else -1.
        """
        self._store()
        return [np.frombuffer(column, column.typecode) for column in self._columns]

    def gauges(self) -> list[npt.NDArray[Any]]:
        """Return the columns of gauges, each of shape (n_changes,).

        When they changed; busy GPUs; capacity in GPUs; waiting; and running jobs.
        """
        self._store()
        times, *values = (np.frombuffer(column, column.typecode) for column in self._gauges)
        rows = np.flatnonzero(np.diff(times, append=-1))  # the last ones of each instant
        rows = rows[np.any([np.diff(column[rows], prepend=-1) for column in values], axis=0)]
        return [times[rows], *(column[rows] for column in values)]

    def _store(self) -> None:
        for columns, rows in ((self._columns, self._rows), (self._gauges, self._states)):
            for column, values in zip(columns, zip(*rows, strict=True), strict=False):
                column.frombytes(pack(f"{len(values)}{column.typecode}", *values))
            rows.clear()

    def _allocation_code(self, allocation: Allocation) -> int:
        plain = allocation.group is None and allocation.bandwidth_cap == 1.0
        known = self._allocations
        # Hashing the slices alone is much cheaper than hashing the dataclass around them.
        return known.setdefault(allocation.slices if plain else allocation, len(known))


def _reason(event: MachineEvent) -> str:
    """Return the new pool, or the cause, with the factor of slowness."""
    if event.type == "assign":
        return event.pool
    return f"{event.cause} {event.factor!r}" if event.type == "slow" else event.cause
