"""Observer of what jobs send on the links that they share.

The use of a link is what jobs send on it as a share of its capacity; a job sends evenly over its iterations,
and nothing while a delay lasts. A link is contended while the jobs that send on it could overload it, if all
sent their most at once. Parallel uplinks, which a job's messages use in turn, count as one link.
"""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Allocation, Cluster
from artist.core.events import Change, Event, Finish, Gauges, Reprice, Start, Stop
from artist.core.job import JobSpec
from artist.core.result import RunResult
from artist.recording.names import LINK_USES
from netmodels.api import Link, Sending

_ONE = 1 << 40  # parts of a link: whole numbers, so that sums come back to 0 exactly
_FULL = _ONE + (_ONE >> 30)  # what exceeds it by less comes from rounding

SendingOf = Callable[[JobSpec, Allocation, Cluster], Sending | None]


@dataclass(slots=True)
class _Sender:
    """A job on several machines.

    Parameters
    ----------
    allocation, ready_ns
        Where it is, and when its delay ends.
    at
        Places of its links; None until its price is known.
    sent
        The time that the bytes of an iteration would take on each of them alone, and the most that the job
        sends there at once as a part of the link, shape (2, links).
    uses
        What it sends, and its most, in parts of each link, shape (2, links).
    counted
        What of it is in the sums: places and uses.
    """

    allocation: Allocation
    ready_ns: int
    at: Ints | None = None
    sent: Floats | None = None
    uses: Ints | None = None
    counted: tuple[Ints, Ints] | None = None


class Traffic:
    """Observer that records the use of links, in 8 bytes and 24 for each tier per change.

    Parameters
    ----------
    jobs, cluster
        The engine's; an event's job is an index into them.
    sending
        What a job sends in an iteration where it is placed (`Performance.sending`); None: nothing.
    capacity
        Of every link, byte/ns; infinite where no link is shared.

    Attributes
    ----------
    columns
        For each tier with such links a name for each of LINK_USES.
    row_ns, row_values : array
        One entry, and one for each of `columns`, per span of time in which nothing changes: when it begins;
        the mean and the highest use of the links of a tier, and the part of them that is contended.
    """

    rates = True  # asks the engine for changes of iteration time

    def __init__(
        self, jobs: Sequence[JobSpec], cluster: Cluster, sending: SendingOf, capacity: Mapping[Link, float]
    ) -> None:
        self._limits: dict[Link, float] = {}  # of one path
        whole: dict[Link, float] = {}  # of all parallel ones
        for link, limit in sorted(capacity.items()):
            if 0 < limit < math.inf:
                first = link._replace(path=0)
                self._limits.setdefault(first, limit)
                whole[first] = whole.get(first, 0.0) + limit
        tiers = [link.tier for link in whole]
        names = list(dict.fromkeys(tiers))
        self.columns = tuple(f"{tier}_{what}" for tier in names for what in LINK_USES)
        self.row_ns = array("q")
        self.row_values = array("d")
        self._whole = whole
        self._at = {link: place for place, link in enumerate(whole)}
        self._firsts = np.array([tiers.index(tier) for tier in names], dtype=np.int64)
        self._counts = np.array([tiers.count(tier) for tier in names])
        self._jobs = jobs
        self._cluster = cluster
        self._sending = sending
        self._senders: dict[int, _Sender] = {}
        self._delays: list[tuple[int, int]] = []  # a heap of (end, job); some no longer hold
        self._uses = np.zeros((2, len(whole)), dtype=np.int64)  # sums over jobs
        self._used = np.zeros(len(whole))  # integrals over time up to the open row
        self._contended_ns = np.zeros(len(whole), dtype=np.int64)
        self._open_ns = 0  # when the open row begins

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Record the events of one instant, in order."""
        self._end_delays(time_ns)
        for event in events:
            if isinstance(event, Reprice):
                if event.job in self._senders:
                    self._price(event)
            elif isinstance(event, (Start, Change)):
                self._hold(event)
            elif isinstance(event, (Finish, Stop)):
                self._let_go(event.job, time_ns)

    def close(self, end_ns: int) -> None:
        """Record the end of the run; the last row has what was in use then."""
        self._end_delays(end_ns)
        self._open_row(end_ns)
        self._write_row()

    def totals(self) -> dict[str, Any]:
        """Return the columns of links.parquet, of a closed run: a row for each link.

        `rack` and `machine` say whose link it is, `way` in which direction; `use` is the mean over the run,
        and `contended` the part of the run in which it was.
        """
        machines, end_ns, links = self._cluster.machines, max(self._open_ns, 1), self._whole
        names = [None if link.tier == "rack" else machines[link.place].name for link in links]
        racks = [link.place if link.tier == "rack" else machines[link.place].rack for link in links]
        return {
            "tier": [link.tier for link in links],
            "rack": np.array(racks, dtype=np.int64),
            "machine": names,
            "way": [link.way for link in links],
            "capacity_gbit_s": np.array(list(links.values())) * 8,
            "use": self._used / end_ns,
            "contended": self._contended_ns / end_ns,
        }

    # --- what happens to a job

    def _hold(self, event: Start | Change) -> None:
        """Record where a job is; its new iteration time, which determines its use, follows."""
        now, job, allocation = event.time_ns, event.job, event.allocation
        if len(allocation.slices) < 2:
            self._let_go(job, now)
            return
        sender = self._senders.setdefault(job, _Sender(allocation, now))
        sender.allocation, sender.at = allocation, None
        ready_ns = now + int(event.delay_ns)
        if ready_ns > sender.ready_ns:
            sender.ready_ns = ready_ns
            heappush(self._delays, (ready_ns, job))

    def _let_go(self, job: int, now: int) -> None:
        sender = self._senders.pop(job, None)
        if sender is not None:
            sender.uses = None
            self._count(sender, now)

    def _price(self, event: Reprice) -> None:
        sender = self._senders[event.job]
        if sender.at is None or sender.sent is None:  # not before the engine asked: its answer is kept
            sender.at, sender.sent = self._found(event.job, sender.allocation)
        shares = np.stack([sender.sent[0] / event.iteration_ns, sender.sent[1]])
        sender.uses = np.rint(shares * _ONE).astype(np.int64)
        self._count(sender, event.time_ns)

    def _found(self, job: int, allocation: Allocation) -> tuple[Ints, Floats]:
        """Return `at` and `sent` of a job."""
        sending = self._sending(self._jobs[job], allocation, self._cluster)
        if sending is None:
            return np.zeros(0, dtype=np.int64), np.zeros((2, 0))
        columns = [column for column, link in enumerate(sending.links) if link in self._at]
        links = [sending.links[column] for column in columns]
        most = sending.most(self._limits)[columns] / [self._limits[link] for link in links]
        sent_bytes = sending.sent_bytes.sum(axis=0)[columns]
        whole_ns = sent_bytes / [self._whole[link] for link in links]
        return np.array([self._at[link] for link in links], dtype=np.int64), np.stack([whole_ns, most])

    # --- sums and rows

    def _end_delays(self, until_ns: int) -> None:
        """Count what jobs send whose delays have ended."""
        while self._delays and self._delays[0][0] <= until_ns:
            at, job = heappop(self._delays)
            sender = self._senders.get(job)
            if sender is not None:
                self._count(sender, at)

    def _count(self, sender: _Sender, now: int) -> None:
        """Update what is counted of a job."""
        self._open_row(now)
        if sender.counted is not None:
            places, uses = sender.counted
            self._uses[:, places] -= uses
            sender.counted = None
        if sender.uses is not None and sender.at is not None and sender.ready_ns <= now:
            self._uses[:, sender.at] += sender.uses
            sender.counted = sender.at, sender.uses

    def _open_row(self, now: int) -> None:
        """End the row that is open, before something changes."""
        span_ns = now - self._open_ns
        if span_ns:
            self._write_row()
            self._used += self._uses[0] * (span_ns / _ONE)
            self._contended_ns += (self._uses[1] > _FULL) * span_ns
            self._open_ns = now

    def _write_row(self) -> None:
        self.row_ns.append(self._open_ns)
        if len(self._firsts):
            mean = np.add.reduceat(self._uses[0], self._firsts) / self._counts / _ONE
            highest = np.maximum.reduceat(self._uses[0], self._firsts) / _ONE
            contended = np.add.reduceat(self._uses[1] > _FULL, self._firsts, dtype=np.int64) / self._counts
            self.row_values.extend(np.stack([mean, highest, contended], axis=1).ravel().tolist())


def slowdowns(result: RunResult) -> Floats:
    """Return by how much contention slowed each job: time running / time it would have run without.

    Shape (n_jobs,); NaN for a job that has not run.
    """
    running, contention = (result.columns[name] for name in ("running_ns", "contention_ns"))
    slower = np.full(len(running), np.nan)
    np.divide(running, running - contention, out=slower, where=running > contention)
    return slower


def summarise_contention(result: RunResult) -> dict[str, Any]:
    """Return, for the summary, the mean of `slowdowns`, and the part of the jobs that were slowed at all.

    Both over all jobs that ran; None if none did.
    """
    slower = slowdowns(result)
    slower = slower[~np.isnan(slower)]
    if not len(slower):
        return {"contention": {"slowdown": None, "jobs": None}}
    mean = math.fsum(slower) / len(slower)
    return {"contention": {"slowdown": mean, "jobs": int((slower > 1).sum()) / len(slower)}}
