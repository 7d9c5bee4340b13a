"""Placement in units and segments, by any placement policy. Shared by policies.

1. A job that fits on one free machine is placed as if it had neither.
2. Else the placement policy gets the cluster with units instead of GPUs, where no machine has a part of one.
3. If a rack then has a part of a segment, the fewest racks with enough whole segments are taken, the tightest
   that suffices last, and the policy places the segments of each rack there.

Aligned, the stages or replicas of a plan are placed as segments are, except that no job waits for it: if the
racks have room for some whole ones alone, the rest goes where the policy places it, and the job stays where
the policy placed it unless fewer are split over racks.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from math import lcm
from operator import or_
from typing import Literal

from artist.core.buckets import ALL, Buckets
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.placement import Chooser, by_type, widest_of

Align = Literal["none", "stages", "replicas"]


class Aligned:
    """Any placement policy, with as few stages or replicas of a job split over racks as there is room for.

    Parameters
    ----------
    align
        Groups that lie in a rack each. Those of a plan without a pipeline are its replicas.
    """

    def __init__(self, chooser: Chooser, align: Align) -> None:
        self._chooser, self._align = chooser, align

    def choose(self, free: Free, demand: Demand, among: int = ALL) -> dict[int, int] | None:
        """Return GPUs by machine, in units and segments, or None to wait; `free` is unchanged."""
        gpus = choose_whole(self._chooser, free, demand, among)
        split = 0 if gpus is None else self.split(demand, gpus, free.cluster.rack_of)
        if gpus is None or not split:
            return gpus
        other = self._in_racks(free, demand, gpus, among)
        return other if other and self.split(demand, other, free.cluster.rack_of) < split else gpus

    def split(self, demand: Demand, gpus: Mapping[int, int], rack_of: Sequence[int]) -> int:
        """Return the stages or replicas that no rack holds whole."""
        size = group_gpus(demand, self._align, total := sum(gpus.values()))
        by_rack = Counter[int]()
        for machine, count in gpus.items():
            by_rack[rack_of[machine]] += count
        return total // size - sum(count // size for count in by_rack.values()) if size else 0

    def _in_racks(
        self, free: Free, demand: Demand, gpus: Mapping[int, int], among: int
    ) -> dict[int, int] | None:
        """Return GPUs of the same number and types, whole groups first; None if the policy refuses a part."""
        cluster, left = free.cluster, sum(gpus.values())
        types = dict.fromkeys(cluster.machines[machine].gpu_type for machine in gpus)
        usable = among & reduce(or_, (cluster.type_sets[gpu_type] for gpu_type in types))
        size = lcm(group_gpus(demand, self._align, left), demand.unit, demand.segment)
        units = free.in_units(demand.unit).buckets
        room = [units.total(usable & rack) * demand.unit // size for rack in cluster.rack_sets]
        groups = min(left // size, sum(room))
        if not groups:
            return None
        taken = Counter[int]()
        for rack, count in _fewest_racks(room, groups).items():
            part = self._part(free, demand, count * size, usable & cluster.rack_sets[rack])
            if part is None:
                return None
            taken.update(part)
        if left := left - groups * size:
            free = free.with_fewer_gpus(
                {machine: int(free.gpus[machine]) - taken[machine] for machine in taken}
            )
            part = self._part(free, demand, left, usable)
            if part is None:
                return None
            taken.update(part)
        most = demand.max_machines or len(gpus if widest_of(self._chooser) == "machine" else taken)
        return dict(taken) if len(taken) <= most else None

    def _part(self, free: Free, demand: Demand, gpus: int, among: int) -> dict[int, int] | None:
        return choose_whole(self._chooser, free, replace(demand, gpus=gpus, min_gpus=0, max_gpus=0), among)


def aligned(chooser: Chooser, align: Align) -> Chooser:
    """Return a chooser that aligns stages or replicas of plans with racks as asked."""
    return chooser if align == "none" else Aligned(chooser, align)


def group_gpus(demand: Demand, align: Align, gpus: int) -> int:
    """Return the GPUs of a stage or a replica of a job that has `gpus`; 0 without a plan."""
    if align == "stages" and demand.pipeline_stages > 1:
        return gpus // demand.pipeline_stages
    return demand.replica_gpus


def choose_whole(chooser: Chooser, free: Free, demand: Demand, among: int = ALL) -> dict[int, int] | None:
    """Return a chooser's GPUs by machine, in the demand's units and segments, or None to wait.

    Parameters
    ----------
    among
        The machines that may serve, as a set of `artist.core.buckets`.
    """
    if not demand.in_units or isinstance(chooser, Aligned):
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
        fewest = _fewest_racks(room, segments)
        parts = [
            _of_rack(chooser, free, demand, count * segment, usable & racks[rack])
            for rack, count in fewest.items()
        ]
        if fewest and None not in parts:
            gpus = _union(part for part in parts if part is not None)
            if len(gpus) <= (demand.max_machines or len(gpus)):
                return gpus
    return None


def _fewest_racks(room: Sequence[int], parts: int) -> dict[int, int]:
    """Return parts by rack in the fewest racks, the tightest that suffices last; empty if there are fewer."""
    return Buckets.of(room, [True] * len(room), [0] * len(room), max(room)).fewest(parts) or {}


def _of_rack(chooser: Chooser, free: Free, demand: Demand, gpus: int, there: int) -> dict[int, int] | None:
    """Return GPUs of one rack, on the fewest machines for a job that has a maximum of these."""
    if demand.max_machines:
        return free.buckets.fewest(gpus, there)
    return chooser.choose(free, replace(demand, gpus=gpus, min_gpus=0, max_gpus=0), there)


def _union(parts: Iterable[dict[int, int]]) -> dict[int, int]:
    return {machine: count for part in parts for machine, count in part.items()}
