"""Placement in units and segments, by any placement policy. Shared by policies.

1. A job that fits on one free machine is placed as if it had neither.
2. Else the placement policy gets the cluster with units instead of GPUs, where no machine has a part of one.
3. If a rack then has a part of a segment, the fewest racks with enough whole segments are taken, the tightest
   that suffices last, and the policy places the segments of each rack there.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from artist.core.buckets import ALL, Buckets
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.placement import Chooser, by_type


def choose_whole(chooser: Chooser, free: Free, demand: Demand, among: int = ALL) -> dict[int, int] | None:
    """Return a chooser's GPUs by machine, in the demand's units and segments, or None to wait.

    Parameters
    ----------
    among
        The machines that may serve, as a set of `artist.core.buckets`.
    """
    if not demand.in_units:
        return chooser.choose(free, demand, among)
    if demand.gpus <= free.buckets.max_free(among):
        gpus = chooser.choose(free, demand, among)
        if gpus is not None and demand.is_whole(gpus, free.cluster.rack_of):
            return gpus
    room, asked = free.in_units(demand.unit), counted_in_units(demand)
    units = chooser.choose(room, asked, among)
    if units is not None and not asked.is_whole(units, room.cluster.rack_of):
        units = _in_segments(chooser, room, asked, sum(units.values()) // asked.segment, among)
    return None if units is None else {machine: count * demand.unit for machine, count in units.items()}


@lru_cache(maxsize=1024)
def counted_in_units(demand: Demand) -> Demand:
    """Return the demand with units instead of GPUs."""
    counts = (demand.gpus, demand.min_gpus, demand.max_gpus, demand.segment)
    gpus, least, most, segment = (count // demand.unit for count in counts)
    step = max(demand.step // demand.unit, 1)
    return replace(
        demand, gpus=gpus, min_gpus=least, max_gpus=most, step=step, unit=1, segment=max(segment, 1)
    )


def _in_segments(
    chooser: Chooser, free: Free, demand: Demand, segments: int, among: int
) -> dict[int, int] | None:
    """Return GPUs by machine for a number of segments, on machines that may serve together."""
    racks, segment = free.cluster.rack_sets, demand.segment
    for usable, _ in by_type(free.cluster, demand, among):
        room = [free.buckets.total(usable & rack) // segment for rack in racks]
        fewest = Buckets.of(room, [True] * len(racks), [0] * len(racks), max(room)).fewest(segments) or {}
        parts = [
            _of_rack(chooser, free, demand, count * segment, usable & racks[rack])
            for rack, count in fewest.items()
        ]
        if fewest and None not in parts:
            gpus = _union(part for part in parts if part is not None)
            if len(gpus) <= (demand.max_machines or len(gpus)):
                return gpus
    return None


def _of_rack(chooser: Chooser, free: Free, demand: Demand, gpus: int, there: int) -> dict[int, int] | None:
    """Return GPUs of one rack, on the fewest machines for a job that has a maximum of these."""
    if demand.max_machines:
        return free.buckets.fewest(gpus, there)
    return chooser.choose(free, replace(demand, gpus=gpus, min_gpus=0, max_gpus=0), there)


def _union(parts: Iterable[dict[int, int]]) -> dict[int, int]:
    return {machine: count for part in parts for machine, count in part.items()}
