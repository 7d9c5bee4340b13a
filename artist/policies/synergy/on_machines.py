"""Points at which jobs may run on given GPUs. For the mechanism opt.

On one machine the points of its kind hold; on several their believed times are asked for, and the least is
the proportional share if a job would be slower with less.
"""

from collections.abc import Mapping
from itertools import starmap

from artist.core.cluster import Allocation
from artist.core.view import ClusterView
from artist.policies.synergy.divider import Placed, held_at
from artist.policies.synergy.fronts import DIGITS, Fronts, Point

_MAX_REMEMBERED = 20_000


class OnMachines:
    """Remembers what is believed of jobs on several machines.

    Parameters
    ----------
    fronts
        Points of jobs.
    """

    def __init__(self, fronts: Fronts) -> None:
        self._fronts = fronts
        self._several: dict[tuple[int, tuple[tuple[int, int], ...]], Placed] = {}

    def placed(self, view: ClusterView, job: int, where: Mapping[int, int]) -> Placed:
        """Return a job with its points on some GPUs: those at which it is no slower than with its share."""
        first, machines = next(iter(where)), view.cluster.machines
        if len(where) == 1:
            (points,) = self._fronts.of(view, [job], [where[first]], [machines[first]])
            return Placed(job, points, where)
        key = job, tuple(where.items())
        if key not in self._several:
            if len(self._several) == _MAX_REMEMBERED:
                self._several.clear()
            (points,) = self._fronts.of(view, [job], [sum(where.values())], [machines[first]])
            self._several[key] = _on_several(Placed(job, points, where), view, self._fronts)
        return self._several[key]


def _on_several(placed: Placed, view: ClusterView, fronts: Fronts) -> Placed:
    """Return a job on several machines at the points that are believed to hold there, too.

    The least is its share, if it would be slower with less.
    """
    job, points, where = placed.job, placed.points, [*placed.where.items()]
    share = Allocation(tuple(starmap(view.cluster.share, where)))
    held = [share, *held_at(placed, view.cluster)]
    share_ns, min_ns, *other_ns = map(int, view.performance.alone([job] * len(held), held))
    weight, least = fronts.weight(share.gpus), held[1]
    if min_ns > share_ns:
        least, min_ns = share, share_ns
    amounts = (sum(s.cpus for s in least.slices), sum(s.memory_bytes for s in least.slices))
    kept = [Point(*amounts, round(weight * (share_ns / min_ns), DIGITS))]
    for point, ns in zip(points[1:], other_ns, strict=True):
        if ns <= share_ns:
            kept.append(point._replace(worth=round(weight * (share_ns / ns), DIGITS)))
    return placed._replace(points=tuple(kept), least=least)
