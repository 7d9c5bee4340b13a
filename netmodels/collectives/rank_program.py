"""Rank programs: the nodes of each rank of a training step, and the exact times of the ranks.

A rank has nodes, each after others of the same rank: compute, a collective of a group, a send, a receive. As
in ASTRA-sim 2.x a rank runs one compute node, and one collective or send, at a time; of those that are ready
the one with the lowest number first. A receive waits for its message beside them. A send ends when its
message has arrived. The n-th collective of a group on one member is the n-th on the others. All nodes that
end at an instant end before any starts.

A group runs its collectives as one ring in the order of its members; a group of all ranks on a regular
placement, if collectives are `hierarchical`, as a ring in each dimension. With members 0 .. n-1, h(i) the
time of a message from i to the next, e the end point's delay (10 ns, whatever the setting, in a group of
some ranks) and a that of adding (first n-1 messages of a reduction), member i sends message k = 0, .. K at

    s(i, 0) = start(i) + e
    s(i, k) = max(s(i-1, k-1) + h(i-1), s(i, k-1)) + e + a      and ends at s(i, K)

K = 2 (n-1) for an all-reduce, n (n-1) / 2 for an all-to-all, else n-1. With equal starts and messages these
are the closed forms of `netmodels.collectives.algorithms`. A message takes the links of the widest dimension
in which two ranks differ.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import chain, groupby
from math import ceil
from typing import Literal, NamedTuple, get_args

import numpy as np

from netmodels.collectives.algorithms import Collective, Group, left
from netmodels.collectives.collectives import parts_of
from netmodels.collectives.dimensions import SeenTiers, tiers_of, view_of
from netmodels.collectives.iteration_time import IterationTime
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.shape import Shape
from netmodels.fabric.system import SystemSettings
from netmodels.inputs.errors import InputError
from netmodels.profiles.layers import Profile

COLLECTIVES: tuple[Collective, ...] = get_args(Collective)
_SMALLER_NS = 10  # end point's delay of groups smaller than the system (MemBus.cc, Transmition::Fast)


class Node(NamedTuple):
    """One node of a rank.

    Parameters
    ----------
    number
        Unique within the rank.
    kind
        Its kind.
    after
        Numbers of the nodes before it.
    ns
        Of compute.
    size_bytes
        Bytes that a member of a collective starts with; of a message.
    group
        Number of a collective's group.
    peer, tag
        Other rank of a message, and its label: equal messages are received in the order of their sends.
    """

    number: int
    kind: Literal["compute", "send", "receive"] | Collective
    after: tuple[int, ...] = ()
    ns: int = 0
    size_bytes: int = 0
    group: int = 0
    peer: int = 0
    tag: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class RankProgram:
    """Nodes of every rank, and the members of groups in the order of their rings, by number.

    Group 0 is of all ranks; others are numbered from 1.
    """

    ranks: tuple[tuple[Node, ...], ...]
    groups: Mapping[int, tuple[int, ...]]


class RankTime(NamedTuple):
    """End of a rank's last node, and the time in which it has a collective or a message, in ns."""

    end_ns: int
    comm_ns: int


class RankNetwork:
    """Times of messages and rings between the GPUs of a placement, machine after machine.

    Parameters
    ----------
    shape, tiers
        The placement, and the dimensions as its machines see them.
    system
        End points; `hierarchical` or `flat_ring`.
    """

    def __init__(self, shape: Shape, tiers: SeenTiers, system: SystemSettings) -> None:
        view = view_of(shape, tiers)
        self._system, self.levels, self.regular = system, view.levels, view.regular
        self._groups = [Group(level.dimension, ceil(level.members), system) for level in view.levels]
        sizes = [(level.tier, ceil(level.members)) for level in view.levels]
        self._addresses = list(_addresses(shape, sizes))
        self._sends: dict[tuple[int, int, int], int] = {}

    def in_ring(self, members: Iterable[int]) -> tuple[int, ...]:
        """Return members in the order of a ring whose neighbours differ in one dimension where possible.

        Each wider dimension is passed to and fro (a reflected Gray code): 0 1 2 3 | 3 2 1 0 on two machines.
        """
        parts: list[tuple[int, ...]] = [
            (member,) for member in sorted(members, key=self._addresses.__getitem__)
        ]
        for place in range(len(self.levels)):

            def wider(part: tuple[int, ...], place: int = place) -> tuple[int, ...]:
                return self._addresses[part[0]][place + 1 :]

            same = [list(of_one) for _, of_one in groupby(sorted(parts, key=wider), key=wider)]
            parts = [
                tuple(chain(*(part[::-1] if turn % 2 else part for turn, part in enumerate(of_one))))
                for of_one in same
            ]
        return parts[0]

    def is_direct(self, program: RankProgram) -> bool:
        """Return whether all neighbours in rings, and ranks of messages, differ in one dimension."""
        rings = [ring for ring in program.groups.values() if not self._in_dimensions(ring)]
        pairs = {pair for ring in rings for pair in zip(ring, ring[1:] + ring[:1], strict=True)}
        for rank, nodes in enumerate(program.ranks):
            pairs.update((rank, node.peer) for node in nodes if node.kind == "send")
        addresses = (zip(self._addresses[a], self._addresses[b], strict=True) for a, b in pairs)
        return all(sum(a != b for a, b in both) == 1 for both in addresses)

    def send_ns(self, source: int, target: int, size_bytes: int) -> int:
        """Return the time of a message over the widest dimension in which two ranks differ."""
        question = (source, target, size_bytes)
        if question not in self._sends:
            a, b = self._addresses[source], self._addresses[target]
            widest = max(place for place in range(len(a)) if a[place] != b[place])
            group, apart = self._groups[widest], abs(a[widest] - b[widest])
            self._sends[question] = group.send_ns(min(apart, group.members - apart), size_bytes)
        return self._sends[question]

    def ends(
        self, collective: Collective, size_bytes: int, members: tuple[int, ...], starts: Sequence[int]
    ) -> list[int]:
        """Return the time at which each member ends a collective that it starts at its own time."""
        ranks = len(self._addresses)
        size = size_bytes if collective == "all_gather" else max(size_bytes, ranks)
        if not self._in_dimensions(members):
            return self._ring(collective, size, members, starts, whole=len(members) == ranks)
        now = dict(zip(members, starts, strict=True))
        for place, part in parts_of(collective, len(self.levels), self._system):
            back = collective == "all_reduce" and part == "all_gather"  # these rings turn the other way
            for along in self._along(place):
                ring = along[::-1] if back else along
                now.update(
                    zip(ring, self._ring(part, size, ring, [now[m] for m in ring], whole=True), strict=True)
                )
            size = left(part, self._groups[place].members, size)
        return [now[member] for member in members]

    def _in_dimensions(self, members: tuple[int, ...]) -> bool:
        """Return whether a group runs a ring in each dimension."""
        whole = self.regular and len(members) == len(self._addresses)
        return whole and (len(self.levels) < 2 or self._system.across_machines == "hierarchical")

    def _along(self, place: int) -> Iterable[tuple[int, ...]]:
        """Yield the ranks that differ in one dimension alone."""

        def others(rank: int) -> tuple[int, ...]:
            address = self._addresses[rank]
            return address[:place] + address[place + 1 :]

        for _, ring in groupby(sorted(range(len(self._addresses)), key=others), key=others):
            yield tuple(ring)

    def _ring(
        self,
        collective: Collective,
        size: int,
        members: tuple[int, ...],
        starts: Sequence[int],
        *,
        whole: bool,
    ) -> list[int]:
        count = len(members)
        part = size if collective == "all_gather" else size // count
        steps = {"all_reduce": 2 * (count - 1), "all_to_all": count * (count - 1) // 2}
        adds = count - 1 if collective in ("all_reduce", "reduce_scatter") else 0
        hops = tuple(
            self.send_ns(a, b, part) for a, b in zip(members, members[1:] + members[:1], strict=True)
        )
        delay = self._system.endpoint_delay_ns if whole else _SMALLER_NS
        first, delays = min(starts), (delay, self._groups[0].add_ns(part))
        relative = _ring_ends(
            steps.get(collective, count - 1), adds, delays, hops, tuple(start - first for start in starts)
        )
        return [first + end for end in relative]


class FreeNetwork:
    """A network without times: a collective ends with its latest member's start."""

    def send_ns(self, source: int, target: int, size_bytes: int) -> int:
        """Return 0."""
        return 0

    def ends(
        self, collective: Collective, size_bytes: int, members: tuple[int, ...], starts: Sequence[int]
    ) -> list[int]:
        """Return the latest start for all members."""
        return [max(starts)] * len(members)


@lru_cache(maxsize=65_536)
def _ring_ends(
    steps: int, adds: int, delays: tuple[int, int], hops: tuple[int, ...], starts: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the ends of a ring's members; see the module's docstring."""
    delay, add = delays
    sent, hop = np.array(starts) + delay, np.array(hops)
    for step in range(1, steps + 1):
        sent = np.maximum(np.roll(sent + hop, 1), sent) + (delay + add if step <= adds else delay)
    return tuple(sent.tolist())


def _addresses(shape: Shape, levels: Sequence[tuple[str, int]]) -> Iterable[tuple[int, ...]]:
    """Yield the place of each GPU in every dimension, innermost first; the last of a tier has the rest."""
    for rack_place, rack in enumerate(shape):
        for machine_place, (_, count) in enumerate(rack):
            for gpu in range(count):
                rest = {"machine": gpu, "rack": machine_place, "network": rack_place}
                address = []
                for place, (tier, members) in enumerate(levels):
                    last = place + 1 == len(levels) or levels[place + 1][0] != tier
                    address.append(rest[tier] if last else rest[tier] % members)
                    rest[tier] //= members
                yield tuple(address)


def rank_times(program: RankProgram, network: RankNetwork | FreeNetwork) -> tuple[RankTime, ...]:
    """Return the times of all ranks, node by node.

    Raises
    ------
    InputError
        If some nodes never end: nodes after each other, messages or collectives that others lack.
    """
    return _Execution(program, network).run()


def step_on_ranks(profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings) -> IterationTime:
    """Return the time of a program's step, rank by rank, the slowest machine type's.

    Raises
    ------
    InputError
        As `check_rings` and `rank_times`.
    """
    assert profile.program is not None
    check_rings(system)
    answers = []
    for tiers in tiers_of(shape, fabric):
        network = RankNetwork(shape, tiers, system)
        times = rank_times(profile.program.ranks(shape, network, profile.factor), network)
        answers.append(step_time(profile, times))
    return max(answers, key=lambda answer: (answer.total_ns, answer.comm_ns))


def step_time(profile: Profile, times: Sequence[RankTime]) -> IterationTime:
    """Return the time of a program's step from that of its ranks: exposed beyond a free network."""
    assert profile.program is not None
    last, compute = max(times), round(profile.program.free_ns(len(times), profile.factor))
    exposed = max(0, last.end_ns - compute)
    return IterationTime(compute, max(last.comm_ns, exposed), exposed)


def check_rings(system: SystemSettings) -> None:
    """Refuse settings in which the ranks of a program have no rings.

    Raises
    ------
    InputError
        With the setting, its value and the allowed values.
    """
    for name, value, allowed in (
        ("collective_algorithm", system.collective_algorithm, ("ring",)),
        ("across_machines", system.across_machines, ("hierarchical", "flat_ring")),
        ("transport", system.transport, (None, "ideal")),
        ("chunks", system.chunks, (1,)),
        ("collective_queue", system.collective_queue, ("one",)),
    ):
        if value not in allowed:
            what, where = "ranks of a plan run whole collectives as rings", f"network.system.{name}"
            raise InputError(what, where=where, found=value, allowed=" or ".join(map(str, allowed)))


class _Execution:
    """Execution of a program: nodes that are ready, in flight, and ended."""

    def __init__(self, program: RankProgram, network: RankNetwork | FreeNetwork) -> None:
        self._program, self._network = program, network
        count = len(program.ranks)
        self._nodes = [{node.number: node for node in nodes} for nodes in program.ranks]
        self._open = [{node.number: len(node.after) for node in nodes} for nodes in program.ranks]
        self._next: list[dict[int, list[int]]] = [{} for _ in range(count)]
        self._ready: list[tuple[list[int], list[int]]] = [([], []) for _ in range(count)]
        self._busy = [[False, False] for _ in range(count)]  # computing; a collective or a send
        self._events: list[tuple[int, int, int]] = []  # (time, rank, node)
        self._arrived: dict[tuple[int, ...], deque[int]] = defaultdict(deque)
        self._awaited: dict[tuple[int, ...], deque[int]] = defaultdict(deque)
        self._gathered: dict[tuple[int, int], dict[int, tuple[int, Node]]] = defaultdict(dict)
        self._passed: dict[tuple[int, int], int] = defaultdict(int)
        self._sending = [(0, 0, 0)] * count  # nodes in flight, since when, time before
        self._end = [0] * count
        for rank, nodes in enumerate(program.ranks):
            for node in nodes:
                for before in node.after:
                    self._next[rank].setdefault(before, []).append(node.number)

    def run(self) -> tuple[RankTime, ...]:
        for rank, nodes in enumerate(self._program.ranks):
            for node in nodes:
                if not node.after:
                    self._queue(rank, node, 0)
            self._issue(rank, 0)
        while self._events:
            now = self._events[0][0]
            touched = set()
            while self._events and self._events[0][0] == now:
                _, rank, number = heappop(self._events)
                self._finish(rank, number, now)
                touched.add(rank)
            for rank in sorted(touched):
                self._issue(rank, now)
        self._check_ended()
        return tuple(RankTime(end, sent[2]) for end, sent in zip(self._end, self._sending, strict=True))

    def _queue(self, rank: int, node: Node, now: int) -> None:
        """Add a node to those that are ready; a receive begins to wait at once."""
        if node.kind == "receive":
            self._communicate(rank, 1, now)
            message = (node.peer, rank, node.tag, node.size_bytes)
            if self._arrived[message]:
                arrival = self._arrived[message].popleft()
                heappush(self._events, (max(now, arrival), rank, node.number))
            else:
                self._awaited[message].append(node.number)
        else:
            heappush(self._ready[rank][node.kind != "compute"], node.number)

    def _issue(self, rank: int, now: int) -> None:
        """Start the next compute node, and the next collective or send, of an idle rank."""
        for queue in (0, 1):
            if self._ready[rank][queue] and not self._busy[rank][queue]:
                node = self._nodes[rank][heappop(self._ready[rank][queue])]
                self._busy[rank][queue] = True
                if node.kind == "compute":
                    heappush(self._events, (now + node.ns, rank, node.number))
                    continue
                self._communicate(rank, 1, now)
                if node.kind == "send":
                    self._send(rank, node, now)
                else:
                    self._gather(rank, node, now)

    def _send(self, rank: int, node: Node, now: int) -> None:
        arrival = now + self._network.send_ns(rank, node.peer, node.size_bytes)
        heappush(self._events, (arrival, rank, node.number))
        message = (rank, node.peer, node.tag, node.size_bytes)
        if self._awaited[message]:
            heappush(self._events, (arrival, node.peer, self._awaited[message].popleft()))
        else:
            self._arrived[message].append(arrival)

    def _gather(self, rank: int, node: Node, now: int) -> None:
        """Let a member wait for the others of its group, or start their collective with the last of them."""
        turn = (node.group, self._passed[rank, node.group])
        self._passed[rank, node.group] += 1
        members, present = self._program.groups[node.group], self._gathered[turn]
        other = next(iter(present.values()), (0, node))[1]
        if (other.kind, other.size_bytes) != (node.kind, node.size_bytes):
            what = "the members of a group run different collectives"
            both = f"{node.kind} of {node.size_bytes} bytes, {other.kind} of {other.size_bytes}"
            where = f"group {node.group}, collective {turn[1] + 1}, rank {rank}"
            raise InputError(what, where=where, found=both, allowed="the same by all members")
        present[rank] = (now, node)
        if len(present) == len(members):
            starts = [present[member][0] for member in members]
            assert node.kind in COLLECTIVES
            ends = self._network.ends(node.kind, node.size_bytes, members, starts)
            for member, end in zip(members, ends, strict=True):
                heappush(self._events, (end, member, present[member][1].number))
            del self._gathered[turn]

    def _finish(self, rank: int, number: int, now: int) -> None:
        node = self._nodes[rank][number]
        self._end[rank] = now
        del self._open[rank][number]
        if node.kind != "receive":
            self._busy[rank][node.kind != "compute"] = False
        if node.kind != "compute":
            self._communicate(rank, -1, now)
        for after in self._next[rank].get(number, ()):
            self._open[rank][after] -= 1
            if not self._open[rank][after]:
                self._queue(rank, self._nodes[rank][after], now)

    def _communicate(self, rank: int, more: int, now: int) -> None:
        """Count the time in which a rank has a collective or a message."""
        flying, since, before = self._sending[rank]
        if flying + more == 0:
            before += now - since
        self._sending[rank] = (flying + more, since if flying else now, before)

    def _check_ended(self) -> None:
        for rank, left_open in enumerate(self._open):
            if left_open:
                node = self._nodes[rank][min(left_open, key=lambda number: (left_open[number], number))]
                waits = {"compute": "nodes after each other", "receive": f"a message of rank {node.peer}"}
                missing = waits.get(node.kind, f"the other members of group {node.group}")
                where = f"rank {rank}, node {node.number} ({node.kind})"
                allowed = "nodes that all can end"
                raise InputError("it waits for ever", where=where, found=missing, allowed=allowed)
