"""Transfers: the bytes that one job's iteration puts on links, and their times alone.

A transfer is issued at some time of the iteration, passes one queue with the job's other transfers, and sends
its bytes evenly over its time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple, TypeVar

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.fabric.links import FULL, Link
from netmodels.fabric.shape import Shape
from netmodels.packets.rings import Layer

MAX_JOBS = 8
"""Jobs of a component that is followed in time; more meet by the mean field."""

_ALIKE = 0.05
_SHORT = 256
_Times = TypeVar("_Times", Ints, Floats)


class RingLayers(NamedTuple):
    """An iteration whose all-reduces are one ring of messages each, through all GPUs, machine by machine.

    Parameters
    ----------
    shape
        The placement; its machines and racks are those of `JobTraffic.links`, in the same order.
    layers
        Computations and all-reduces.
    peaks
        Rate of a single message behind each of `JobTraffic.links`, byte/ns. The mean rate is lower, since
        windows and round trips leave gaps.
    """

    shape: Shape
    layers: tuple[Layer, ...]
    peaks: tuple[float, ...]

    def stretched(self, factor: float, waiting_ns: int) -> "RingLayers":
        """Return the iteration with all times and bytes multiplied; see `JobTraffic.stretched`.

        A message keeps a byte, so that no iteration takes no time.
        """
        layers = [
            layer._replace(
                compute_ns=round(layer.compute_ns * factor),
                bytes=max(round(layer.bytes * factor), min(layer.bytes, 1)),
                launch_ns=round(layer.launch_ns * factor),
                add_ns=round(layer.add_ns * factor),
                update_ns=round(layer.update_ns * factor),
            )
            for layer in self.layers
        ]
        layers[0] = layers[0]._replace(compute_ns=layers[0].compute_ns + waiting_ns)
        return self._replace(layers=tuple(layers))


class Exposure(NamedTuple):
    """Growth of an iteration by a plan of parallelism with the delays of its roles' communication.

    A transfer is all communication of a role, spread over a part of the iteration. Taking d ns longer, it
    adds the largest of slope x d - cover over its lines; several transfers add their sums. An iteration
    takes at least the time of all of its transfers.

    Parameters
    ----------
    alone_ns
        Time of the iteration alone.
    spans_ns
        Time over which the messages of each transfer are spread, from its issue on, shape (n,).
    slopes, covers_ns
        Lines of each transfer, the first of cover 0, shape (n, lines).
    """

    alone_ns: int
    spans_ns: Ints
    slopes: Floats
    covers_ns: Floats

    def stretched(self, factor: float, waiting_ns: int) -> "Exposure":
        """Return the growth with all times multiplied; see `JobTraffic.stretched`."""
        alone_ns = round(self.alone_ns * factor) + waiting_ns
        spans_ns = np.maximum(np.rint(self.spans_ns * factor).astype(np.int64), 1)
        return Exposure(alone_ns, spans_ns, self.slopes, self.covers_ns * factor)


@dataclass(frozen=True, slots=True, eq=False)
class JobTraffic:
    """The compute and the transfers of one iteration of a job alone.

    Parameters
    ----------
    compute_ns
        Computing; the iteration takes no less.
    issued_ns
        Time at which each transfer is issued, from the iteration's start, shape (n,).
    transfers_ns
        Time of each transfer alone, more than 0, shape (n,), in order.
    links
        The links that the job sends on.
    sent_bytes
        Bytes of each transfer on each of these links, shape (n, links).
    updates_ns
        Time from the end of each transfer to the earliest end of the iteration, shape (n,).
    ring
        The all-reduces as rings of messages, if they run as rings and are to be followed packet by packet.
    exposure
        Of a job with a plan, a transfer of which is a role's; None: transfers pass one queue.
    """

    compute_ns: int
    issued_ns: Ints
    transfers_ns: Ints
    links: tuple[Link, ...]
    sent_bytes: Floats
    updates_ns: Ints
    ring: RingLayers | None = None
    exposure: Exposure | None = None

    def limits(self, capacity: Mapping[Link, float]) -> Floats:
        """Return the capacities of the job's links, shape (links,); inf for a link that is missing."""
        return np.array([capacity.get(link, inf) for link in self.links], dtype=np.float64)

    def rates(self, limits: Floats) -> Floats:
        """Return the rate of each transfer alone on each of the job's links, byte/ns, shape (n, links).

        A transfer that would send more than a port carries is slowed on all links to the port's capacity:
        direct collectives are priced as if ports did not matter (`netmodels.collectives.algorithms`). Uplinks
        do not slow it: of parallel ones a job may send on several at a time.

        Parameters
        ----------
        limits
            Capacities of the job's links, byte/ns, shape (links,).
        """
        rates: Floats = self.sent_bytes / self.transfers_ns[:, None]
        is_port = np.array([link.tier != "rack" for link in self.links], dtype=bool)
        rates /= (rates[:, is_port] / limits[is_port]).max(axis=1, initial=1.0)[:, None]
        return rates

    def rates_on(self, links: Sequence[Link], capacity: Mapping[Link, float]) -> Floats:
        """Return the rate of each transfer alone on some links, byte/ns, shape (n, links)."""
        by_column = self.rates(self.limits(capacity))
        columns = {link: column for column, link in enumerate(self.links)}
        rates = np.zeros((len(by_column), len(links)))
        for number, link in enumerate(links):
            if link in columns:
                rates[:, number] = by_column[:, columns[link]]
        return rates

    def peaks(self, limits: Floats) -> Floats:
        """Return the job's highest rate alone on each of its links, byte/ns, shape (links,).

        Of parallel uplinks, on one of them. Packets come as fast as ports let them, with gaps between;
        flows evenly.
        """
        if self.ring is not None:
            return np.minimum(self.ring.peaks, limits)
        peaks: Floats = self.rates(limits).max(axis=0, initial=0.0)
        return np.minimum(peaks, limits)

    def iteration_ns(self, transfers_ns: _Times) -> float:
        """Return the time of an iteration whose transfers take other times, shape (n,)."""
        if self.exposure is not None:
            alone_ns, _, slopes, covers_ns = self.exposure
            delays_ns = (transfers_ns - self.transfers_ns)[:, None]
            added_ns = (slopes * delays_ns - covers_ns).max(axis=1, initial=0.0).sum()
            return max(alone_ns + float(added_ns), float(transfers_ns.sum()))
        if not len(transfers_ns):
            return self.compute_ns
        return max(self.compute_ns, float((self.ends_ns(transfers_ns) + self.updates_ns).max()))

    def ends_ns(self, transfers_ns: _Times) -> _Times:
        """Return the ends of transfers that take such times, from the iteration's start, shape (n,)."""
        sums = transfers_ns.cumsum()
        ends: _Times = sums + np.maximum.accumulate(self.issued_ns - (sums - transfers_ns))
        return ends

    @property
    def alone_ns(self) -> float:
        """Time of an iteration alone."""
        return self.iteration_ns(self.transfers_ns)

    def stretched(self, factor: float, waiting_ns: int = 0) -> "JobTraffic":
        """Return an iteration with all times and bytes multiplied, so that rates stay the same.

        Parameters
        ----------
        factor
            More than 0: a trace's compute time / the profile's.
        waiting_ns
            Waiting before the iteration computes, as for input.
        """
        issued, transfers, updates = (
            np.rint(times_ns * factor).astype(np.int64)
            for times_ns in (self.issued_ns, self.transfers_ns, self.updates_ns)
        )
        return JobTraffic(
            round(self.compute_ns * factor) + waiting_ns,
            issued + waiting_ns,
            np.maximum(transfers, 1),
            self.links,
            self.sent_bytes * factor,
            updates,
            self.ring and self.ring.stretched(factor, waiting_ns),
            self.exposure and self.exposure.stretched(factor, waiting_ns),
        )

    def one_way(self) -> "JobTraffic":
        """Return the job as flows, without the links into places, which carry the same as those out."""
        out = [column for column, link in enumerate(self.links) if link.way == "out"]
        links = tuple(self.links[column] for column in out)
        return replace(self, links=links, sent_bytes=self.sent_bytes[:, out], ring=None)

    def joined(self) -> "JobTraffic":
        """Return the iteration with similar transfers that follow each other without a gap as one.

        Slower transfers leave no gap either. Transfers are similar if their rates on their busiest links
        differ by at most 5 %, or one of them takes less than 1/256 of the iteration; together they send at
        the mean rate of both. Those of a plan send evenly over the parts of the iteration over which they are
        spread.
        """
        if self.exposure is not None:
            begins, which = np.unique(self.issued_ns, return_inverse=True)
            spans_ns, sent = np.zeros_like(begins), np.zeros((len(begins), len(self.links)))
            np.maximum.at(spans_ns, which, self.exposure.spans_ns)
            np.add.at(sent, which, self.sent_bytes)
            alone_ns = self.exposure.alone_ns
            return JobTraffic(alone_ns, begins, spans_ns, self.links, sent, np.zeros_like(begins))
        if len(self.transfers_ns) < 2:
            return self
        firsts = self._firsts()
        sums = self.transfers_ns.cumsum()
        lasts = np.append(firsts[1:], len(sums)) - 1
        before_last = np.repeat(sums[lasts], np.diff(np.append(firsts, len(sums)))) - sums
        return JobTraffic(
            self.compute_ns,
            self.issued_ns[firsts],
            np.add.reduceat(self.transfers_ns, firsts),
            self.links,
            np.add.reduceat(self.sent_bytes, firsts),
            np.maximum.reduceat(np.maximum(self.updates_ns - before_last, 0), firsts),
            self.ring,
        )

    def _firsts(self) -> Ints:
        """Return the first transfer of each row of similar ones without a gap."""
        gaps = (self.issued_ns[1:] > self.ends_ns(self.transfers_ns)[:-1]).tolist()
        short_ns = self.alone_ns / _SHORT
        firsts, row_ns, row_bytes = [0], 0, 0.0
        busiest = self.sent_bytes.max(axis=1, initial=0.0).tolist()
        for number, (ns, sent) in enumerate(zip(self.transfers_ns.tolist(), busiest, strict=True)):
            similar = abs(sent * row_ns - row_bytes * ns) <= _ALIKE * row_bytes * ns
            if number and (gaps[number - 1] or not (similar or min(row_ns, ns) < short_ns)):
                firsts.append(number)
                row_ns, row_bytes = 0, 0.0
            row_ns, row_bytes = row_ns + ns, row_bytes + sent
        return np.array(firsts)


class LinkLoad(NamedTuple):
    """The load of a job on the links of a cluster.

    Attributes
    ----------
    iteration
        Its iteration alone.
    alone_ns
        Time of that iteration.
    slack
        Factor by which its transfers may take longer before its iteration does.
    busy
        The largest share of its time that it sends as long as its iteration takes no longer.
    loads
        Its highest rate on each link that has a capacity, byte/ns, by the number of the link in the order of
        the cluster's. Of the two directions of a link, which carry the same, only the way out of a place is
        listed.
    max_load
        The largest of these.
    """

    iteration: JobTraffic
    alone_ns: float
    slack: float
    busy: float
    loads: Mapping[int, float]
    max_load: float


def paths_used(uses: Floats) -> Floats:
    """Return the parallel links over which a job spreads a transfer evenly: as few as carry it.

    Parameters
    ----------
    uses
        Rates as shares of the capacity of one parallel link. In ns-3, hashing leaves less of narrow links
        (docs/network_model.md).
    """
    return np.maximum(np.ceil(uses / FULL), 1.0)


def overloaded(jobs: Sequence[JobTraffic], capacity: Mapping[Link, float]) -> list[Link]:
    """Return the links that some jobs could overload if all sent at their peaks at once, sorted."""
    loads: dict[Link, float] = {}
    for job in jobs:
        for link, rate in zip(job.links, job.peaks(job.limits(capacity)).tolist(), strict=True):
            loads[link] = loads.get(link, 0.0) + rate
    return sorted(link for link, load in loads.items() if load > capacity.get(link, inf) * FULL)
