"""Sending periods of a job as a policy sees them."""

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from artist.core.link_use import LinkName, LinkUse, Span

if TYPE_CHECKING:
    from netmodels.api import JobTraffic, Link


def link_use(sending: "JobTraffic", capacity: "Mapping[Link, float]", factor: float = 1.0) -> LinkUse:
    """Return the sending periods of a job on each link with a capacity, and its share of the link.

    Jobs are assumed to use the same one of parallel links, as in the test whether they share it.

    Parameters
    ----------
    capacity
        byte/ns by link.
    factor
        Factor by which all times are believed longer.
    """
    alone = sending.joined()
    links = [link for link in alone.links if capacity.get(link, inf) < inf]
    rates = alone.rates_on(links, capacity)
    through_ns = alone.ends_ns(alone.transfers_ns)
    starts = ((through_ns - alone.transfers_ns) * factor).round().astype(np.int64).tolist()
    ends = (through_ns * factor).round().astype(np.int64).tolist()
    spans: dict[LinkName, tuple[Span, ...]] = {}
    for link, column in zip(links, rates.T, strict=True):
        shares = np.minimum(column / capacity[link], 1.0).tolist()
        periods = tuple(Span(*span) for span in zip(starts, ends, shares, strict=True) if span[2] > 0)
        if periods:
            spans[LinkName(link.tier, link.place, link.way)] = periods
    return LinkUse(max(1, round(alone.alone_ns * factor)), spans)
