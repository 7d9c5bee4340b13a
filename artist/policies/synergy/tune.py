"""Tune: the best case where there is room, else no job slower than its share makes it (Synergy, 4.2).

In plain words: jobs are packed one after the other. Each is placed on the least free machine that has its
best case; else on the least free one that has, in each of CPUs and memory, the lesser of best case and
proportional share; else on the least free one that has the GPUs, and there a smallest set of jobs that hold
more than that is lowered to it, on all their machines. A job whose GPUs no machine has free is placed on as
few machines as possible, its CPUs and memory in proportion to the GPUs. So every job whose GPUs fit runs, no
slower than with its proportional share. Finally the rest of the machines is handed out, in the same order, to
jobs that gain from it (section 5.3.2).

Differs from the paper, which does not specify the jobs that are lowered if several sets are equally small. As
in the authors' program (github.com/msr-fiddle/synergy) these are the jobs on the fewest machines, then with
the most CPUs per GPU, then the most memory per GPU, then packed first. That program hands nothing out
(`hand_out`).
"""

from collections.abc import Sequence

from artist.core.cluster import Allocation, Machine, Slice
from artist.core.view import ClusterView
from artist.policies.synergy.floor import Floor, at_least
from artist.policies.synergy.leftovers import HandOut
from artist.policies.synergy.needs import Need
from artist.policies.synergy.packer import (
    Packer,
    consolidated,
    held_machine,
    limited,
    nothing,
    on_fewest,
)
from artist.policies.synergy.smallest_set import smallest_set
from artist.policies.synergy.sorted_machines import Amounts, Level, Room, Where, slices_of

Peer = tuple[Need, int, int]  # with the CPUs and memory that it would give up on one machine


class Tune(Packer):
    """Allocates the best case while there is room, and takes back the part that jobs do not need.

    Parameters
    ----------
    hand_out
        Whether the rest of machines is handed out to jobs that gain from it (`HandOut`).
    """

    def __init__(self, *, hand_out: bool = True) -> None:
        super().__init__()
        self._hand_out = HandOut() if hand_out else None
        self._floor = Floor()

    def place(self, room: Room, need: Need, view: ClusterView) -> tuple[Slice, ...] | None:
        """Return the slices of a job, None to wait; other jobs may be lowered."""
        slices = self._wanted(room, need, view)
        if slices is None:
            return None
        if need.unbounded is not None and (faster := self._faster(room, need, slices, view)):
            slices = faster
        for s in slices:
            self._make_room(room, s)
        if len(slices) > 1:
            room.floors[need.job] = self._least(room, need, slices, view)
        return limited(slices, room)

    def _wanted(self, room: Room, need: Need, view: ClusterView) -> tuple[Slice, ...] | None:
        """Return the slices of a job, even if others have to make room for it; None to wait."""
        held = held_machine(need, view)
        for level in (Need.best, Need.least):
            where = consolidated(room, need, level, held)
            if where is not None:
                slices = self._slices(room, need, where, level, view)
                if len(slices) == 1 or room.holds(slices):
                    return slices
        where = consolidated(room, need, nothing, held)
        return None if where is None else self._slices(room, need, where, Need.least, view)

    def _slices(
        self, room: Room, need: Need, where: Where, level: Level, view: ClusterView
    ) -> tuple[Slice, ...]:
        """Return the slices of a job on some GPUs at a level, at least as fast as with its share."""
        slices = slices_of(need, where, level, room)
        return slices if len(slices) == 1 else at_least(slices, self._least(room, need, slices, view))

    def _least(self, room: Room, need: Need, slices: Sequence[Slice], view: ClusterView) -> tuple[Slice, ...]:
        """Return the least slices of a job on the same GPUs with which it is as fast as with its share."""
        where = [(s.machine, s.gpus) for s in slices]
        return self._floor.under(view, need.job, slices_of(need, where, Need.least, room))

    def _faster(
        self, room: Room, need: Need, slices: Sequence[Slice], view: ClusterView
    ) -> tuple[Slice, ...] | None:
        """Return the slices of a job on more machines, with all that it gains from, if it is faster there."""
        for level in (_unbounded, Need.best):
            where = on_fewest(room, need, level)
            if where is None or len(where) <= len(slices):
                continue
            split = self._slices(room, need, where, level, view)
            pair = [Allocation(tuple(slices)), Allocation(split)]
            together_ns, split_ns = view.performance.alone([need.job] * 2, pair)
            if split_ns < together_ns and room.holds(split):
                return split
        return None

    def packed(self, needs: Sequence[Need], room: Room, view: ClusterView) -> dict[int, tuple[Slice, ...]]:
        """Return the slices by job, once all are packed and the rest is handed out."""
        if self._hand_out is None:
            return room.slices
        return self._hand_out(needs, room.slices, room.cpus[:], room.memory_bytes[:], view)

    def lowered(self, peers: Sequence[Peer], cpus: int, memory: int) -> Sequence[Peer]:
        """Return the peers that make room: the first of the smallest sets that together give up enough."""
        return [peers[i] for i in smallest_set([peer[1:] for peer in peers], cpus, memory)]

    def _make_room(self, room: Room, wanted: Slice) -> None:
        """Lower jobs on a machine to their least until a slice fits."""
        m = wanted.machine
        cpus, memory = wanted.cpus - room.cpus[m], wanted.memory_bytes - room.memory_bytes[m]
        if cpus <= 0 and memory <= 0:
            return
        peers = [_peer(room, need, m) for need in room.needs_on[m]]
        peers = [peer for peer in peers if peer[1] > 0 or peer[2] > 0]
        peers.sort(key=lambda peer: _first_down(room, peer[0]))
        for need, _, _ in self.lowered(peers, cpus, memory):
            room.retune(need, tuple([_lowered(room, need, s) for s in room.slices[need.job]]))


def _peer(room: Room, need: Need, m: int) -> Peer:
    """Return the amounts that a job would give up on a machine."""
    s = next(s for s in room.slices[need.job] if s.machine == m)
    lowered = _lowered(room, need, s)
    return need, s.cpus - lowered.cpus, s.memory_bytes - lowered.memory_bytes


def _lowered(room: Room, need: Need, s: Slice) -> Slice:
    """Return the least of a slice; CPU-only jobs may have left it less."""
    cpus, memory = need.least(s.gpus, room.machine(s.machine))
    if s.gpus < need.gpus:
        _, _, cpus, memory = next(f for f in room.floors[need.job] if f.machine == s.machine)
    return Slice(s.machine, s.gpus, min(s.cpus, cpus), min(s.memory_bytes, memory))


def _first_down(room: Room, need: Need) -> tuple[float, ...]:
    """Return the key by which jobs make room; equal ones stay in the order of packing."""
    slices = room.slices[need.job]
    cpus, memory = sum(s.cpus for s in slices), sum(s.memory_bytes for s in slices)
    return len(slices), -cpus / need.gpus, -memory / need.gpus


def _unbounded(need: Need, gpus: int, machine: Machine) -> Amounts:
    """Return the best case not bounded by one machine."""
    assert need.unbounded is not None, "only for needs with an unbounded best case"
    return need.part(*need.unbounded, gpus)
