"""Consolidation with the slip of the Dally authors' program. For Tiresias."""

from artist.core.buckets import ALL
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.placement import Consolidate


class RackWhileFree:
    """The fewest machines; while a whole machine's number of GPUs is free, any machines of one rack.

    The Dally authors' program compares the free GPUs of the cluster, instead of the demand, with the 8 of a
    machine. So while 8 are free anywhere, a job of high skew takes GPUs of several machines of a rack.
    """

    def __init__(self) -> None:
        self._machine, self._rack = Consolidate("machine"), Consolidate("rack")

    def choose(self, free: Free, demand: Demand, among: int = ALL) -> dict[int, int] | None:
        """Return GPUs by machine, or None to wait."""
        slips = free.total_gpus >= free.cluster.largest_machine
        return (self._rack if slips else self._machine).choose(free, demand, among)
