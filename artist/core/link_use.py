"""Sending periods of a job on shared links, for policies that consider the network."""

from collections.abc import Mapping
from typing import NamedTuple

from artist.core.cluster import Tier
from artist.core.record import record

FULL = 1 + 1e-9
"""Jobs overload a link beyond this sum of their shares; the excess over 1 absorbs rounding."""


class LinkName(NamedTuple):
    """One direction of a link, or of all parallel links in its place.

    Parameters
    ----------
    tier
        `machine`: the port of a machine to its rack; `rack`: the uplink of a rack; `network`: the
        traffic of a machine beyond its rack, if that is limited further.
    place
        Number of the machine, or of the rack.
    way
        Out of it, or into it: `out`, `in`.
    """

    tier: Tier
    place: int
    way: str


class Span(NamedTuple):
    """A sending period of an iteration.

    Parameters
    ----------
    start_ns, end_ns
        From the start of the iteration.
    share
        Fraction of the link's bandwidth, 0 to 1.
    """

    start_ns: int
    end_ns: int
    share: float


@record
class LinkUse:
    """One iteration of a job alone, as the links see it.

    Attributes
    ----------
    iteration_ns
        Its duration.
    spans
        Sending periods by link, in order.
    """

    iteration_ns: int
    spans: Mapping[LinkName, tuple[Span, ...]]

    def max_share(self, link: LinkName) -> float:
        """Return the largest share of a link that the job uses, 0 to 1."""
        return max((span.share for span in self.spans.get(link, ())), default=0.0)

    def mean_share(self, link: LinkName) -> float:
        """Return the share of a link that the job uses on average, 0 to 1."""
        sent = sum((span.end_ns - span.start_ns) * span.share for span in self.spans.get(link, ()))
        return sent / self.iteration_ns
