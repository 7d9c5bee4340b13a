"""What one job sends in an iteration, and when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, TypeVar

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.links import Link
from netmodels.contention.packet_jobs import Layer
from netmodels.fabric.shape import Shape

_ALIKE = 0.05
_SHORT = 256
_Times = TypeVar("_Times", Ints, Floats)


class InRing(NamedTuple):
    """The all-reduces of an iteration, each of them one ring through all GPUs, machine by machine.

    Parameters
    ----------
    shape
        The placement; its machines and racks are those of `Sending.links`, in the same order.
    layers
        Computations and all-reduces.
    peaks
        How fast a message leaves or enters the job's machines behind each of `Sending.links`, byte/ns. On
        average it sends less, since windows and round trips leave gaps.
    """

    shape: Shape
    layers: tuple[Layer, ...]
    peaks: tuple[float, ...]

    def stretched(self, factor: float, waiting_ns: int) -> "InRing":
        """Return the same with all times and bytes multiplied; see `Sending.stretched`."""
        layers = [
            layer._replace(
                compute_ns=round(layer.compute_ns * factor),
                bytes=round(layer.bytes * factor),
                launch_ns=round(layer.launch_ns * factor),
                add_ns=round(layer.add_ns * factor),
                update_ns=round(layer.update_ns * factor),
            )
            for layer in self.layers
        ]
        layers[0] = layers[0]._replace(compute_ns=layers[0].compute_ns + waiting_ns)
        return self._replace(layers=tuple(layers))


@dataclass(frozen=True, slots=True, eq=False)
class Sending:
    """One iteration of a job alone, as the links see it.

    Parameters
    ----------
    compute_ns
        Computing; the iteration takes no less.
    issued_ns
        When the collective of each passage is issued, from the iteration's start, shape (n,).
    rides_ns
        How long each passage takes alone, more than 0, shape (n,), in order.
    links
        The links that the job sends on.
    sent_bytes
        What each passage puts on each of them, shape (n, links).
    updates_ns
        Time from the end of each passage to the earliest end of the iteration, shape (n,).
    ring
        The all-reduces as rings of messages, if that is how they run and messages are packets.
    """

    compute_ns: int
    issued_ns: Ints
    rides_ns: Ints
    links: tuple[Link, ...]
    sent_bytes: Floats
    updates_ns: Ints
    ring: InRing | None = None

    def rates(self, links: Sequence[Link], capacity: Mapping[Link, float]) -> Floats:
        """Return what each passage alone sends on some links, byte/ns, shape (n, links).

        A passage that would send more than a port carries sends that much less on all links: direct
        collectives are priced as if ports did not matter (`netmodels.collectives.algorithms`). An uplink is
        not looked at: of parallel ones a job may send on several at a time.

        Parameters
        ----------
        links
            In the order of the columns.
        capacity
            Of the links, byte/ns; a link that is missing has no limit.
        """
        own = self.on_links(self.limits(capacity))
        at = {link: place for place, link in enumerate(self.links)}
        rates = np.zeros((len(own), len(links)))
        for column, link in enumerate(links):
            if link in at:
                rates[:, column] = own[:, at[link]]
        return rates

    def limits(self, capacity: Mapping[Link, float]) -> Floats:
        """Return the capacities of its links, shape (links,); inf for a link that is missing."""
        return np.array([capacity.get(link, inf) for link in self.links], dtype=np.float64)

    def on_links(self, limits: Floats) -> Floats:
        """Return the same on all of its links, with their capacities, shape (links,)."""
        own: Floats = self.sent_bytes / self.rides_ns[:, None]
        ports = np.array([link.tier != "rack" for link in self.links], dtype=bool)
        own /= (own[:, ports] / limits[ports]).max(axis=1, initial=1.0)[:, None]
        return own

    def most(self, capacity: Mapping[Link, float]) -> Floats:
        """Return the most that the job alone sends on each of its links, byte/ns, shape (links,).

        Of parallel uplinks, on one of them.
        """
        return self.max_on(self.limits(capacity))

    def max_on(self, limits: Floats) -> Floats:
        """Return the same with the capacities of its links, shape (links,).

        Packets come as fast as ports let them, with gaps between; fluids evenly.
        """
        if self.ring is not None:
            return np.minimum(self.ring.peaks, limits)
        most: Floats = self.on_links(limits).max(axis=0, initial=0.0)
        return np.minimum(most, limits)

    def walked_ns(self, rides_ns: _Times) -> float:
        """Return the time of an iteration whose passages take other times, shape (n,)."""
        if not len(rides_ns):
            return self.compute_ns
        return max(self.compute_ns, float((self.ends_ns(rides_ns) + self.updates_ns).max()))

    def ends_ns(self, rides_ns: _Times) -> _Times:
        """Return when passages that take such times are through, from the iteration's start, shape (n,)."""
        sums = rides_ns.cumsum()
        ends: _Times = sums + np.maximum.accumulate(self.issued_ns - (sums - rides_ns))
        return ends

    @property
    def alone_ns(self) -> float:
        """Time of an iteration alone."""
        return self.walked_ns(self.rides_ns)

    def stretched(self, factor: float, waiting_ns: int = 0) -> "Sending":
        """Return an iteration that takes a multiple of all times, at the same use of the links.

        Parameters
        ----------
        factor
            More than 0: a trace's compute time / the profile's.
        waiting_ns
            Waiting before the iteration computes, as for input.
        """
        issued, rides, updates = (
            np.rint(each * factor).astype(np.int64)
            for each in (self.issued_ns, self.rides_ns, self.updates_ns)
        )
        compute_ns = round(self.compute_ns * factor) + waiting_ns
        sent = self.sent_bytes * factor
        ring = self.ring and self.ring.stretched(factor, waiting_ns)
        issued, rides = issued + waiting_ns, np.maximum(rides, 1)
        return Sending(compute_ns, issued, rides, self.links, sent, updates, ring)

    def joined(self) -> "Sending":
        """Return the iteration with similar passages that follow each other without a gap as one.

        Slower passages leave no gap either. Passages are similar if what they send on their busiest links, in
        byte/ns, differs by at most 5 %, or one of them takes less than 1/256 of the iteration; together they
        send the mean of both.
        """
        if len(self.rides_ns) < 2:
            return self
        firsts = self._firsts()
        sums = self.rides_ns.cumsum()
        lasts = np.append(firsts[1:], len(sums)) - 1
        before_last = np.repeat(sums[lasts], np.diff(np.append(firsts, len(sums)))) - sums
        return Sending(
            self.compute_ns,
            self.issued_ns[firsts],
            np.add.reduceat(self.rides_ns, firsts),
            self.links,
            np.add.reduceat(self.sent_bytes, firsts),
            np.maximum.reduceat(np.maximum(self.updates_ns - before_last, 0), firsts),
            self.ring,
        )

    def _firsts(self) -> Ints:
        """Return the first passage of each row of similar ones without a gap."""
        gaps = (self.issued_ns[1:] > self.ends_ns(self.rides_ns)[:-1]).tolist()
        short_ns = self.alone_ns / _SHORT
        firsts, ride, sent = [0], 0, 0.0
        most = self.sent_bytes.max(axis=1, initial=0.0).tolist()
        for place, (ride_ns, sent_bytes) in enumerate(zip(self.rides_ns.tolist(), most, strict=True)):
            alike = abs(sent_bytes * ride - sent * ride_ns) <= _ALIKE * sent * ride_ns
            if place and (gaps[place - 1] or not (alike or min(ride, ride_ns) < short_ns)):
                firsts.append(place)
                ride, sent = 0, 0.0
            ride, sent = ride + ride_ns, sent + sent_bytes
        return np.array(firsts)


class Sender(NamedTuple):
    """What a job does to the links of a cluster.

    Attributes
    ----------
    iteration
        Its iteration alone.
    alone_ns
        What that takes.
    slack
        How many times as long it may send before its iteration takes longer.
    busy
        The largest share of its time that it sends as long as its iteration takes no longer.
    loads
        The most that it sends on each link that has a capacity, byte/ns, by the number of the link in the
        order of the cluster's. Of the two directions of a link, which carry the same, only the way out of a
        place is mentioned.
    most
        The largest of these.
    """

    iteration: Sending
    alone_ns: float
    slack: float
    busy: float
    loads: Mapping[int, float]
    most: float
