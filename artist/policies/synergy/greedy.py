"""Greedy: the best case of a job, or nothing (Synergy, section 3.3).

In plain words: each job of the queue is placed on the least free machine that has its best case, in every
resource. A job that no machine can serve is skipped, and later ones overtake it. One with more GPUs than the
largest machine is placed on as few machines as possible, its CPUs and memory in proportion to the GPUs.

Differs from the paper, which takes the first machine that fits; this takes the least free one, as tune does.
The paper does not cover jobs larger than a machine, nor several GPU types: a job takes the first type that
has its best case.
"""

from artist.core.cluster import Slice
from artist.core.view import ClusterView
from artist.policies.synergy.needs import Need
from artist.policies.synergy.packer import Packer, held_machine, on_fewest
from artist.policies.synergy.sorted_machines import Room, Where, slices_of


class Greedy(Packer):
    """Gives a job its best case, or skips it."""

    takes_all = True

    def place(self, room: Room, need: Need, view: ClusterView) -> tuple[Slice, ...] | None:
        """Return the slices of a job, None to wait; room only shrinks, so refused needs stay refused."""
        if not room.max_gpus() or need.job in room.slices:
            return None
        demand = need.demand
        kind = (need.gpus, need.cpus, need.memory_bytes, need.among, demand.max_machines, demand.unit)
        if kind in room.refused:
            return None
        where = self._where(room, need, held_machine(need, view))
        if where is None:
            room.refused.add(kind)
            return None
        return slices_of(need, where, Need.best, room)

    def _where(self, room: Room, need: Need, held: int | None) -> Where | None:
        if need.gpus > room.largest_machine(need.among):
            return on_fewest(room, need, Need.best)
        m = room.tightest(need, Need.best, held)
        return None if m is None else [(m, need.gpus)]
