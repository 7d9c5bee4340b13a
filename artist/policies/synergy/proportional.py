"""GPU-proportional: CPUs and memory in proportion to GPUs (the baseline of Synergy, section 2).

Each job is placed on the least free machine that has its GPUs, or on as few machines as possible.
"""

from artist.core.cluster import Slice
from artist.core.view import ClusterView
from artist.policies.synergy.needs import Need
from artist.policies.synergy.packer import (
    Packer,
    consolidated,
    held_machine,
    limited,
    nothing,
    share,
)
from artist.policies.synergy.sorted_machines import Room, slices_of


class Proportional(Packer):
    """Gives every job the share of its GPUs, as far as CPU-only jobs have left it."""

    def place(self, room: Room, need: Need, view: ClusterView) -> tuple[Slice, ...] | None:
        """Return the slices of a job, None to wait."""
        where = consolidated(room, need, nothing, held_machine(need, view))
        return None if where is None else limited(slices_of(need, where, share, room), room)
