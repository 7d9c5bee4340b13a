"""What a job sends, as a policy sees it."""

from collections.abc import Mapping
from math import inf

import numpy as np

from artist.core.link_use import LinkName, LinkUse, Span
from netmodels.api import Link, Sending


def link_use(sending: Sending, capacity: Mapping[Link, float], factor: float = 1.0) -> LinkUse:
    """Return when a job sends on each link that has a capacity, and what share of it.

    Of parallel links jobs are taken to use the same one, as where it is asked whether they share it.

    Parameters
    ----------
    capacity
        byte/ns by link.
    factor
        By which all times are believed longer.
    """
    alone = sending.joined()
    links = [link for link in alone.links if capacity.get(link, inf) < inf]
    rates = alone.rates(links, capacity)
    through_ns = alone.ends_ns(alone.rides_ns)
    starts = ((through_ns - alone.rides_ns) * factor).round().astype(np.int64).tolist()
    ends = (through_ns * factor).round().astype(np.int64).tolist()
    spans: dict[LinkName, tuple[Span, ...]] = {}
    for link, column in zip(links, rates.T, strict=True):
        shares = np.minimum(column / capacity[link], 1.0).tolist()
        there = tuple(Span(*each) for each in zip(starts, ends, shares, strict=True) if each[2] > 0)
        if there:
            spans[LinkName(link.tier, link.place, link.way)] = there
    return LinkUse(max(1, round(alone.alone_ns * factor)), spans)
