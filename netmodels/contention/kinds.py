"""Jobs as their links see them, wherever they lie: what is remembered of each."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from math import inf
from typing import NamedTuple

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.links import Link
from netmodels.contention.means import Bools, Mean, mean_of
from netmodels.contention.sending import Sending


@dataclass(frozen=True, eq=False)
class Kind:
    """A job wherever it lies, as far as links are concerned.

    Parameters
    ----------
    job
        The job, on some links.
    limits
        Capacity of each of its links, byte/ns.
    alone_ns
        Time of an iteration alone.
    shared
        Which of them have a capacity, are the way out of a place, and carry anything.
    loads
        The most that it sends on each of these, byte/ns.
    most
        These as a list.
    alike
        Whether it sends on all of these in the same passages.
    means
        Its mean sending, by the links on which others can meet it.
    """

    job: Sending
    limits: Floats
    alone_ns: float
    shared: Ints
    loads: Floats
    most: list[float]
    alike: bool
    means: dict[bytes, Mean]

    @cached_property
    def key(self) -> bytes:
        """Digest of all of it: equal for equal kinds."""
        return blake2b(digest_of(self.job) + self.limits.tobytes(), digest_size=16).digest()

    @cached_property
    def slack(self) -> float:
        """How many times as long all that it sends on these links may take at no cost, 1 or more."""
        return self.whole.slack if self.most else inf

    @cached_property
    def busy(self) -> float:
        """The largest share of its time that it sends on them as long as that costs nothing."""
        return min(1.0, self.whole.rides_ns * self.slack / self.alone_ns) if self.most else 0.0

    @cached_property
    def whole(self) -> Mean:
        """Its mean sending, if others can meet it on all of them."""
        return self.mean(np.ones(len(self.shared), dtype=np.bool_))

    def mean(self, full: Bools) -> Mean:
        """Return the mean sending of a job that others can meet on some of its shared links."""
        where = b"" if self.alike else full.tobytes()
        found = self.means.get(where)
        if found is None:
            met = self.shared if self.alike else self.shared[full]
            meets: Bools = np.any(self.job.sent_bytes[:, met] > 0, axis=1)
            made = mean_of(self.job, meets, self.limits)
            uses = made.rates[self.shared] / self.limits[self.shared]
            found = self.means[where] = made._replace(rates=uses)
        return found


class Known(NamedTuple):
    """What is remembered of a job.

    Attributes
    ----------
    kind
        What it is, wherever it lies.
    numbers
        The numbers of its shared links.
    """

    kind: Kind
    numbers: Ints


def digest_of(job: Sending) -> bytes:
    """Return a digest of all but the places of a job's links."""
    words = repr((job.compute_ns, job.ring, [link.tier for link in job.links]))
    digest = blake2b(words.encode(), digest_size=16)
    for array in (job.issued_ns, job.rides_ns, job.updates_ns, job.sent_bytes):
        digest.update(repr(array.shape).encode())
        digest.update(array.tobytes())
    return digest.digest()


def kind_of(job: Sending, limits: Floats) -> Kind:
    """Return what a job is, with the capacities of its links, byte/ns."""
    sends_there = (limits < inf) & job.sent_bytes.any(axis=0)
    places = [place for place, link in enumerate(job.links) if link.way == "out" and sends_there[place]]
    shared = np.array(places, dtype=np.int64)
    loads, sends = job.max_on(limits)[shared], job.sent_bytes[:, shared] > 0
    alike = bool((sends == sends[:, :1]).all())
    return Kind(job, limits, job.alone_ns, shared, loads, loads.tolist(), alike, {})


def one_way(job: Sending) -> Sending:
    """Return a job as a fluid, without the ways into places, which carry what the ways out do."""
    out = [place for place, link in enumerate(job.links) if link.way == "out"]
    links = tuple(job.links[place] for place in out)
    return replace(job, links=links, sent_bytes=job.sent_bytes[:, out], ring=None)


class Names:
    """Numbers of machines and racks by first occurrence."""

    def __init__(self) -> None:
        self._names: dict[tuple[bool, int], int] = {}

    def of(self, tier: str, place: int) -> int:
        """Return the number of a place."""
        return self._names.setdefault((tier == "rack", place), len(self._names))

    def renamed(self, link: Link) -> Link:
        """Return a link with its place as a number."""
        return Link(link.tier, self.of(link.tier, link.place), link.way, link.path)

    def back(self, links: Iterable[Link]) -> tuple[Link, ...]:
        """Return links with numbers as the links with these places."""
        real = [place for _, place in self._names]
        return tuple([Link(tier, real[place], way, path) for tier, place, way, path in links])
