"""Observer of the traffic of jobs on the links that they share.

The use of a link is the traffic of jobs on it as a share of its capacity; a job sends evenly over its
iterations, and nothing while a delay lasts. A link is contended while the jobs that send on it could overload
it, if all sent their most at once. Parallel uplinks, which a job's messages use in turn, count as one link.
"""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Any

import numpy as np

from artist.core.arrays import Floats, Ints
from artist.core.cluster import Allocation, Cluster
from artist.core.events import Change, Event, Finish, Gauges, Reprice, Start, Stop
from artist.core.job import JobSpec
from artist.core.result import RunResult
from artist.recording.names import LINK_USES, LINKS_FILE, SLOWDOWN, TIERS_FILE
from artist.recording.topic import Table, Topic
from netmodels.api import FULL, JobTraffic, Link

SendingOf = Callable[[JobSpec, Allocation, Cluster], JobTraffic | None]


@dataclass(slots=True, eq=False)
class _Sender:
    """A job as long as it is on the same machines, several ones.

    Parameters
    ----------
    allocation, ready_ns
        Where it is, and when its delay ends.
    at
        Places of its links, shape (links,); None until its first price is known.
    whole_ns
        The time that the bytes of an iteration would take on all of each link, shape (links,).
    most
        The most that it sends on each at once, as a part of the link, shape (links,).
    per_ns, counted
        Iterations in a ns once its delay has ended, and as they are in the sums.
    """

    allocation: Allocation
    ready_ns: int
    at: Ints | None = None
    whole_ns: Floats = field(default_factory=lambda: np.zeros(0))
    most: Floats = field(default_factory=lambda: np.zeros(0))
    per_ns: float = 0.0
    counted: float = 0.0


class Traffic(Topic):
    """Observer that records the use of links, in 8 bytes and 24 for each tier per change.

    Parameters
    ----------
    jobs, cluster
        The engine's; an event's job is an index into them.
    sending
        Traffic of an iteration of a placed job (`Performance.sending`); None: it sends nothing.
    capacity
        Of every link, byte/ns; infinite where no link is shared.
    answers
        How often jobs that share links are priced at packet level, at flow level and by the mean field.

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
        self,
        jobs: Sequence[JobSpec],
        cluster: Cluster,
        sending: SendingOf,
        capacity: Mapping[Link, float],
        answers: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._answers = answers
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
        self._changed: dict[_Sender, None] = {}  # at `_now_ns`
        self._now_ns = 0
        self._use = np.zeros(len(whole))  # sums over jobs, as of the open row
        self._most = np.zeros(len(whole))
        self._used = np.zeros(len(whole))  # integrals over time up to the open row
        self._contended_ns = np.zeros(len(whole), dtype=np.int64)
        self._open_ns = 0  # when the open row begins

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Record the events of one instant, in order."""
        self._advance(time_ns)
        for event in events:
            if isinstance(event, Reprice):
                sender = self._senders.get(event.job)
                if sender is not None:
                    self._price(sender, event)
            elif isinstance(event, (Start, Change)):
                self._hold(event)
            elif isinstance(event, (Finish, Stop)):
                self._let_go(event.job)

    def close(self, end_ns: int) -> None:
        """Record the end of the run; the last row has the use at that time."""
        self._advance(end_ns)
        self._settle()
        self._end_row()
        self._write_row()

    def tables(self) -> Mapping[str, Table]:
        """Return the use of links by tier over time, and of each link in all, of a closed run."""
        values = np.array(self.row_values).reshape(len(self.row_ns), len(self.columns)).T
        tiers = Table(np.array(self.row_ns), dict(zip(self.columns, values, strict=True)))
        return {TIERS_FILE: tiers, LINKS_FILE: Table(None, self.totals())}

    def job_columns(self, result: RunResult) -> Mapping[str, Floats]:
        """Return the slowdown of each job."""
        return {SLOWDOWN: slowdowns(result)}

    def summary_entries(self, result: RunResult) -> Mapping[str, Any]:
        """Return `summarise_contention`, the number of answers at each level, and the share of fallbacks."""
        counts = {level: self._answers.get(level, 0) for level in ("packets", "flow_level", "mean_field")}
        share = self._answers.get("fallbacks", 0) / max(sum(counts.values()), 1)
        return {**summarise_contention(result), "contention_answers": {**counts, "fallback_share": share}}

    def totals(self) -> dict[str, Any]:
        """Return the columns of links.parquet, of a closed run: a row for each link.

        `rack` and `machine` name the link's owner, `way` its direction; `use` is the mean over the run,
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

    # --- changes of a job

    def _hold(self, event: Start | Change) -> None:
        """Record where a job is; its new iteration time, which determines its use, follows."""
        job, ready_ns = event.job, event.time_ns + int(event.delay_ns)
        before = self._senders.get(job)
        self._let_go(job)
        if len(event.allocation.slices) < 2:
            return
        if before is not None:
            ready_ns = max(ready_ns, before.ready_ns)
        self._senders[job] = _Sender(event.allocation, ready_ns)
        if ready_ns > event.time_ns:
            heappush(self._delays, (ready_ns, job))

    def _let_go(self, job: int) -> None:
        sender = self._senders.pop(job, None)
        if sender is not None:
            sender.per_ns = 0.0
            self._changed[sender] = None

    def _price(self, sender: _Sender, event: Reprice) -> None:
        per_ns = 1 / event.iteration_ns
        if per_ns != sender.per_ns:
            sender.per_ns = per_ns
            self._changed[sender] = None
            if sender.at is None:  # not before the engine asked for the price: its answer is kept
                self._find(sender, self._jobs[event.job])

    def _find(self, sender: _Sender, spec: JobSpec) -> None:
        """Fill in the traffic of a job."""
        sender.at = np.zeros(0, dtype=np.int64)
        sending = self._sending(spec, sender.allocation, self._cluster)
        if sending is not None:
            columns = [column for column, link in enumerate(sending.links) if link in self._at]
            links = [sending.links[column] for column in columns]
            sender.at = np.array([self._at[link] for link in links], dtype=np.int64)
            sent_bytes = sending.sent_bytes.sum(axis=0)[columns]
            sender.whole_ns = sent_bytes / [self._whole[link] for link in links]
            peaks = sending.peaks(sending.limits(self._limits))[columns]
            sender.most = peaks / [self._limits[link] for link in links]

    # --- sums and rows

    def _advance(self, now_ns: int) -> None:
        """Advance to a later time, past the ends of delays."""
        while self._delays and self._delays[0][0] <= now_ns:
            at_ns, job = heappop(self._delays)
            self._go_to(at_ns)
            if job in self._senders:
                self._changed[self._senders[job]] = None
        self._go_to(now_ns)

    def _go_to(self, time_ns: int) -> None:
        if time_ns > self._now_ns:
            self._settle()
            self._now_ns = time_ns

    def _settle(self) -> None:
        """Count the changes of an instant, in a row of their own."""
        changed = [sender for sender in self._changed if sender.at is not None]
        self._changed.clear()
        if not changed:
            return
        self._end_row()
        more = []
        for sender in changed:
            per_ns = sender.per_ns if sender.ready_ns <= self._now_ns else 0.0
            more.append(per_ns - sender.counted)
            if (per_ns > 0) != (sender.counted > 0):
                self._most[sender.at] += sender.most if per_ns else -sender.most
            sender.counted = per_ns
        at = np.concatenate([sender.at for sender in changed if sender.at is not None])
        whole_ns = np.concatenate([sender.whole_ns for sender in changed])
        uses = whole_ns * np.repeat(more, [len(sender.whole_ns) for sender in changed])
        self._use += np.bincount(at, uses, len(self._use))
        if not self._senders:
            self._use[:] = self._most[:] = 0.0  # no rest of rounding

    def _end_row(self) -> None:
        """End the row that is open."""
        span_ns = self._now_ns - self._open_ns
        if span_ns:
            self._write_row()
            self._used += self._use * span_ns
            self._contended_ns += (self._most > FULL) * span_ns
            self._open_ns = self._now_ns

    def _write_row(self) -> None:
        self.row_ns.append(self._open_ns)
        if len(self._firsts):
            mean = np.add.reduceat(self._use, self._firsts) / self._counts
            highest = np.maximum.reduceat(self._use, self._firsts)
            contended = np.add.reduceat(self._most > FULL, self._firsts, dtype=np.int64) / self._counts
            self.row_values.extend(np.stack([mean, highest, contended], axis=1).ravel().tolist())


def slowdowns(result: RunResult) -> Floats:
    """Return the slowdown of each job by contention: time running / time without contention.

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
