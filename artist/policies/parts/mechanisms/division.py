"""How CPUs and memory are divided among jobs whose GPUs are placed: the integer program of Synergy, 4.1.

Machines that share a job are divided together, others each for itself, with two rows a machine instead of the
two of the super-machine. A job on several machines takes of each what goes with its GPUs there, rounded up,
because it goes at the pace of the GPU that has the fewest. Where CPU jobs or others left too little for every
job's least, jobs get their share in turn, as far as it is free.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.free import Free
from artist.policies.parts.mechanisms.linear_programs import Chooser, Kind, Option, Point


class Placed(NamedTuple):
    """A job, what it may hold for the whole job (`front`), and its GPUs by machine, in order."""

    job: int
    points: tuple[Point, ...]
    where: Mapping[int, int]


class Divider:
    """Divides CPUs and memory; programs solved before are remembered."""

    def __init__(self) -> None:
        self._chooser = Chooser()

    def divide(self, jobs: Sequence[Placed], free: Free) -> dict[int, Allocation]:
        """Return what jobs hold: their GPUs, and the CPUs and memory with the largest worth in all.

        Parameters
        ----------
        free
            CPUs and memory that are there for these jobs; left as it is.
        """
        found: dict[int, Allocation] = {}
        for part in _parts(jobs):
            found.update(self._divided(part, free))
        return {placed.job: found[placed.job] for placed in jobs}

    def _divided(self, jobs: Sequence[Placed], free: Free) -> dict[int, Allocation]:
        """Divide machines that jobs share."""
        rows = {m: row for row, m in enumerate(sorted({m for placed in jobs for m in placed.where}))}
        alike: dict[tuple[Option, ...], list[Placed]] = {}
        for placed in jobs:
            alike.setdefault(_options(placed, rows, free.cluster), []).append(placed)
        kinds = [Kind(options, len(of_kind)) for options, of_kind in alike.items()]
        counts = self._chooser.best(kinds, [amount for m in rows for amount in free.cpus_and_memory(m)])
        if counts is None:
            return _in_turn(jobs, free)
        found = {}
        for of_kind, by_option in zip(alike.values(), counts, strict=True):
            options = [option for option, count in enumerate(by_option) for _ in range(count)]
            for placed, option in zip(of_kind, options, strict=True):
                found[placed.job] = _allocation(placed, option, free.cluster)
        return found


def _parts(jobs: Sequence[Placed]) -> list[list[Placed]]:
    """Return the jobs by connected machines: those that jobs share, directly or through others."""
    part_of: dict[int, list[Placed]] = {}
    for placed in jobs:
        merged = [placed]
        for part in {id(part_of[m]): part_of[m] for m in placed.where if m in part_of}.values():
            merged = part + merged if len(part) >= len(merged) else merged + part
        for other in merged:
            part_of.update(dict.fromkeys(other.where, merged))
    return list({id(part): part for part in part_of.values()}.values())


def _options(placed: Placed, rows: Mapping[int, int], cluster: Cluster) -> tuple[Option, ...]:
    """Return what each point takes of each machine."""
    options = []
    for index, point in enumerate(placed.points):
        takes = [0] * (2 * len(rows))
        for m, _, cpus, memory in _allocation(placed, index, cluster).slices:
            takes[2 * rows[m] : 2 * rows[m] + 2] = cpus, memory
        options.append(Option(point.worth, tuple(takes)))
    return tuple(options)


def _allocation(placed: Placed, index: int, cluster: Cluster) -> Allocation:
    """Return what a job holds at one of its points; at the first, nowhere more than its share."""
    point, total = placed.points[index], sum(placed.where.values())
    slices = []
    for m, gpus in placed.where.items():
        cpus, memory = -(-point.cpus * gpus // total), -(-point.memory_bytes * gpus // total)
        if index == 0:
            share = cluster.machines[m].share(gpus)
            cpus, memory = min(cpus, share[0]), min(memory, share[1])
        slices.append(Slice(m, gpus, cpus, memory))
    return Allocation(tuple(slices))


def _in_turn(jobs: Sequence[Placed], free: Free) -> dict[int, Allocation]:
    """Return for each job the least it makes do with, as far as it is free."""
    left = {m: free.cpus_and_memory(m) for placed in jobs for m in placed.where}
    found = {}
    for placed in jobs:
        slices = []
        for s in _allocation(placed, 0, free.cluster).slices:
            cpus, memory = left[s.machine]
            slices.append(s._replace(cpus=min(s.cpus, cpus), memory_bytes=min(s.memory_bytes, memory)))
            left[s.machine] = (cpus - slices[-1].cpus, memory - slices[-1].memory_bytes)
        found[placed.job] = Allocation(tuple(slices))
    return found
