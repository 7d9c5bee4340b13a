"""Packing of jobs, one after the other. For proportional, greedy and tune."""

from abc import abstractmethod
from collections.abc import Sequence

from artist.core.cluster import Allocation, Machine, Slice
from artist.core.free import Free
from artist.core.view import ClusterView
from artist.policies.synergy.needs import Mechanism, Need
from artist.policies.synergy.sorted_machines import Amounts, Level, Room, Where

_PARTS = 8  # of a packing, to which it can go back


class Packer(Mechanism):
    """Packs needs one by one, starting where they first differ from the last time's.

    Attributes
    ----------
    room
        Class of the free machines.
    """

    room: type[Room] = Room

    def __init__(self) -> None:
        self._packed: Sequence[Need] = ()
        self._rooms: list[tuple[int, Room]] = []  # (needs packed, the room then), from the last packing
        self._free: list[list[int]] = []  # GPUs, CPUs and memory, at the last packing

    @abstractmethod
    def place(self, room: Room, need: Need, view: ClusterView) -> tuple[Slice, ...] | None:
        """Return the slices of a job, None to wait; may make room first."""

    def pack(self, needs: Sequence[Need], free: Free, view: ClusterView) -> dict[int, Allocation]:
        """Return the allocations by job; a job without one waits."""
        begin, room = self._resume(needs, free)
        part = max(1, -(-len(needs) // _PARTS))
        for number in range(begin, len(needs)):
            if number % part == 0:
                self._rooms.append((number, room.copy()))
            need = needs[number]
            slices = self.place(room, need, view)
            if slices is not None:
                room.take(need, slices)
        self._rooms.append((len(needs), room))
        slices_of = self.packed(needs, room, view)
        return {job: _allocation(view, job, slices) for job, slices in slices_of.items()}

    def packed(self, needs: Sequence[Need], room: Room, view: ClusterView) -> dict[int, tuple[Slice, ...]]:
        """Return the slices by job, once all are packed."""
        return room.slices

    def _resume(self, needs: Sequence[Need], free: Free) -> tuple[int, Room]:
        """Return the number of needs that are packed already, and the room that they leave."""
        amounts = [free.gpus.tolist(), free.cpus.tolist(), free.memory_bytes.tolist()]
        same = _common(needs, self._packed) if amounts == self._free else -1
        self._packed, self._free = list(needs), amounts
        self._rooms = [(packed, room) for packed, room in self._rooms if packed <= same]
        if not self._rooms:
            return 0, self.room(free)
        packed, room = self._rooms.pop()
        return packed, room


def share(need: Need, gpus: int, machine: Machine) -> Amounts:
    """Return the proportional share."""
    return machine.share(gpus)


def nothing(need: Need, gpus: int, machine: Machine) -> Amounts:
    """Return nothing: only GPUs count."""
    return 0, 0


def limited(slices: Sequence[Slice], room: Room) -> tuple[Slice, ...]:
    """Return slices as far as CPUs and memory are free."""
    return tuple(
        [
            Slice(m, gpus, min(cpus, room.cpus[m]), min(memory, room.memory_bytes[m]))
            for m, gpus, cpus, memory in slices
        ]
    )


def held_machine(need: Need, view: ClusterView) -> int | None:
    """Return the machine that a job is on, None if it is on none or on several."""
    held = view.allocation(need.job)
    return held.slices[0].machine if held is not None and len(held.slices) == 1 else None


def consolidated(room: Room, need: Need, level: Level, held: int | None = None) -> Where | None:
    """Return a least free placement on as few machines as the free GPUs allow; None if nothing fits."""
    m = room.tightest(need, level, held)
    if m is not None:
        return [(m, need.gpus)]
    if need.gpus == 1 or room.max_gpus(need.among) >= need.gpus:
        return None
    where = on_fewest(room, need, level)
    if where is None or level is nothing:
        return where
    min_many = room.fewest(need, nothing)
    return where if min_many is None or len(where) <= len(min_many) else None


def on_fewest(room: Room, need: Need, level: Level) -> Where | None:
    """Return as few machines as the level fits on; None if there are too few, or they are too many."""
    where, max_machines = room.fewest(need, level), need.demand.max_machines
    return None if where is None or (max_machines and len(where) > max_machines) else where


def _common(needs: Sequence[Need], others: Sequence[Need]) -> int:
    """Return the length of the common start of two sequences."""
    pairs = enumerate(zip(needs, others, strict=False))
    differ = (index for index, (need, other) in pairs if need is not other)
    return next(differ, min(len(needs), len(others)))


def _allocation(view: ClusterView, job: int, slices: tuple[Slice, ...]) -> Allocation:
    """Return an allocation: the one that the job holds, if it is equal."""
    held = view.allocation(job)
    return held if held is not None and held.slices == slices else Allocation(slices)
