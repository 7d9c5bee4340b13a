"""When a job sends on the links that it shares with others: what policies that look at the network see."""

from collections.abc import Mapping
from typing import NamedTuple

from artist.core.cluster import Tier
from artist.core.record import record

FULL = 1 + 1e-9
"""Jobs overload a link beyond this sum of their shares: less comes from rounding."""


class LinkName(NamedTuple):
    """One direction of a link, or of all parallel links in its place.

    Parameters
    ----------
    tier
        `machine`: the port of a machine to its rack; `rack`: the uplink of a rack; `network`: what a machine
        sends beyond its rack, if that is limited further.
    place
        Number of the machine, or of the rack.
    way
        Out of it, or into it: `out`, `in`.
    """

    tier: Tier
    place: int
    way: str


class Span(NamedTuple):
    """A time of an iteration in which a job sends.

    Parameters
    ----------
    start_ns, end_ns
        From the start of the iteration.
    share
        Of what the link carries, 0 to 1.
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
        How long it takes.
    spans
        When the job sends on each link, in order.
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
