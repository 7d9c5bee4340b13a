"""Even split: the GPUs of a placement as equal by machine as the free ones allow. Shared by policies.

1. The packed placement sets the number of machines, the number of racks and the GPU types.
2. Its GPUs are divided among the machines with the most free GPUs in that number of racks: into equal
   parts, but a machine with fewer free GPUs gives all of them. The racks with the smallest difference of
   parts are taken; of equal ones the packed ones, then those with the fewest free GPUs.
3. The chooser selects a machine for each part, the largest first.

Whole workers stay whole; the last one may be smaller.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from math import comb

from artist.core.buckets import set_of
from artist.core.free import Free

_MAX_SETS = 256  # of racks that are all tried; where there are more, the placement stays in its own
ChooseOne = Callable[[Free, int, int], int | None]


def even_split(
    free: Free, packed: Mapping[int, int], usable: int, choose_one: ChooseOne | None, step: int = 1
) -> dict[int, int]:
    """Return GPUs by machine, as equal as possible.

    Parameters
    ----------
    packed
        GPUs by machine of the packed placement.
    usable
        The machines that may serve, as a set of `artist.core.buckets`.
    choose_one
        Returns a machine of a set (second argument) for a part (third); None keeps the machines of `packed`.
    step
        GPUs of a worker.

    Examples
    --------
    Four machines of eight GPUs, of which one has two in use; the tightest ones that suffice:

    >>> from artist.core.cluster import Cluster, Machine
    >>> cluster = Cluster([Machine(f"m{i}", 0, "box", 8) for i in range(4)])
    >>> free = Free(cluster, [8, 8, 8, 6], [0] * 4, [0] * 4)
    >>> tightest = lambda free, among, part: free.buckets.best_fit(part, among)
    >>> even_split(free, {0: 8, 1: 8, 3: 1}, 0b1111, tightest)
    {3: 6, 0: 6, 1: 5}
    """
    need, counts = sum(packed.values()), sorted(packed.values())
    if counts[-1] - counts[0] <= 1:
        return dict(packed)
    workers = -(-need // step)
    unit = step if sum(-(-count // step) for count in counts) == workers else 1
    areas = [set_of(packed)] if choose_one is None else _areas(free, packed, usable)
    parts, area = _most_equal(free, areas, len(counts), -(-need // unit), unit)
    if not parts:
        return dict(packed)
    parts = [part * unit for part in parts]
    parts[-1] -= sum(parts) - need  # the last worker, which may fit better as it is packed
    if max(parts) - min(parts) > counts[-1] - counts[0]:
        return dict(packed)
    split: dict[int, int] = {}
    for part in sorted(parts, reverse=True):
        machine = choose_one(free, area, part) if choose_one else free.buckets.best_fit(part, area)
        assert machine is not None, "as many machines as parts have enough free GPUs"
        split[machine] = part
        area ^= 1 << machine
    return split


def _areas(free: Free, packed: Mapping[int, int], usable: int) -> list[int]:
    """Return the machines of the racks that may serve, by set of racks: those of the placement first."""
    in_rack, rack_sets, n_racks = free.buckets.in_rack, free.cluster.rack_sets, free.cluster.n_racks
    first = tuple(sorted({free.cluster.rack_of[machine] for machine in packed}))
    few = comb(n_racks, len(first)) <= _MAX_SETS
    sets = list(combinations(range(n_racks), len(first))) if few else [first]
    sets.sort(key=lambda racks: (racks != first, sum(in_rack[rack] for rack in racks), racks))
    return [sum(rack_sets[rack] for rack in racks) & usable for racks in sets]


def _most_equal(
    free: Free, areas: Iterable[int], machines: int, need: int, unit: int
) -> tuple[list[int], int]:
    """Return the parts with the smallest difference, and the first area that has them; none if none has."""
    best: tuple[list[int], int] = [], 0
    least = need
    for area in areas:
        parts = _parts(free, area, machines, need, unit)
        if parts and parts[-1] - parts[0] < least:
            best, least = (parts, area), parts[-1] - parts[0]
            if least <= 1:
                break
    return best


def _parts(free: Free, area: int, machines: int, need: int, unit: int) -> list[int]:
    """Return `need` units divided among the machines of an area with the most free GPUs, ascending.

    Empty if they have too few. With 3, 8 and 8 free, 17 are 3, 7 and 7.
    """
    sets = enumerate(free.buckets.sets)
    room = [count // unit for count, there in sets for _ in range((there & area).bit_count())][-machines:]
    parts: list[int] = []
    for left, most in zip(range(machines, 0, -1), room, strict=False):
        parts.append(min(most, need // left))
        need -= parts[-1]
    return [] if need or not parts[0] else parts
