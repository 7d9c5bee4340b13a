"""Nodes: free resources, running jobs, and the choice of nodes for a job.

Sets of nodes are integers with one bit per node (`artist.core.buckets`).
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import or_
from typing import NamedTuple

from artist.core.buckets import members_of, set_of
from artist.core.cluster import Cluster, Slice
from artist.policies.slurm.job import SHARES, Need


class Use(NamedTuple):
    """A running job as the loops see it: those that end first come first.

    Attributes
    ----------
    end_ns
        Its start + its limit.
    nodes
        The nodes that it holds.
    """

    end_ns: int
    job: int
    nodes: int
    slices: tuple[Slice, ...]


@dataclass(slots=True)
class _Node:
    """Free resources of a node, and the ends and resources of its uses by job."""

    free: list[int]
    uses: dict[int, tuple[int, Need]] = field(default_factory=dict)
    later: list[tuple[int, ...]] = field(default_factory=list)  # end of each use, and the free then
    able: dict[Need, int] = field(default_factory=dict)  # `able_ns` by need

    def free_by(self, end_ns: int) -> tuple[int, ...]:
        """Return the resources that are free once the jobs that end by a time have ended."""
        at = bisect_right(self._later(), (end_ns, NEVER))
        return self.later[at - 1][1:] if at else tuple(self.free)

    def able_ns(self, need: Need) -> int:
        """Return the end of the job after which a node has room, `NEVER` if it is too small."""
        if need not in self.able:
            gpus, cpus, memory, shares = need
            fits = (
                end
                for end, *free in self._later()
                if free[0] >= gpus and free[1] >= cpus and free[2] >= memory and free[3] >= shares
            )
            self.able[need] = next(fits, NEVER)
        return self.able[need]

    def _later(self) -> list[tuple[int, ...]]:
        if len(self.later) < len(self.uses):
            gpus, cpus, memory, shares = self.free
            self.later.clear()
            for end_ns, held in sorted(self.uses.values()):
                gpus, cpus, memory = gpus + held.gpus, cpus + held.cpus, memory + held.memory_bytes
                shares += held.shares
                self.later.append((end_ns, gpus, cpus, memory, shares))
        return self.later


NEVER = 2**62
Planned = tuple[Need, int, int, bool, tuple[int, ...]]  # need, nodes, places, LLN, those it may preempt


class Nodes:
    """Free resources by node, kept up to date as jobs start and end.

    Attributes
    ----------
    open
        The nodes that take new work.
    uses
        Running jobs by planned end.
    planned, chosen
        Starts, and the nodes then, that were looked up since the last change.

    Parameters
    ----------
    leaves
        The leaf switches as sets of nodes, for topology/tree; None for topology/none.
    by_weight
        The nodes as sets of equal Weight, lowest first; none if all are equal.
    """

    def __init__(
        self, cluster: Cluster, leaves: Sequence[int] | None = None, by_weight: Sequence[int] = ()
    ) -> None:
        self.cluster, self.by_weight = cluster, by_weight
        self._nodes = [_Node([m.gpus, m.cpus, m.memory_bytes, SHARES]) for m in cluster.machines]
        self.open = (1 << len(self._nodes)) - 1
        self.uses: list[Use] = []
        self._of: dict[int, Use] = {}
        self._able: dict[Need, int] = {}
        self._later: dict[Need, tuple[list[int], list[int]]] = {}  # ends, and the nodes that are able by then
        self._leaves = leaves
        self.planned: dict[Planned, int | None] = {}
        self.chosen: dict[Planned, int] = {}

    # --- state

    def take(self, job: int, end_ns: int, slices: tuple[Slice, ...], shares: int = 1) -> None:
        """Let a job run on its slices until `end_ns` at the latest, with some shares of each node."""
        use = Use(end_ns, job, sum(1 << s.machine for s in slices), slices)
        insort(self.uses, use)
        self._of[job] = use
        for part in slices:
            held = Need(part.gpus, part.cpus, part.memory_bytes, shares)
            self._nodes[part.machine].uses[job] = (end_ns, held)
            self._change(part.machine, held, -1)

    def fitting(self, part: Slice) -> Slice:
        """Return a slice with no more CPUs and memory than are free: those that its job did not name."""
        _, cpus, memory, _ = self._nodes[part.machine].free
        return Slice(part.machine, part.gpus, min(part.cpus, cpus), min(part.memory_bytes, memory))

    def give(self, job: int) -> Use:
        """Free the resources of a job that ends; return its use."""
        use = self._of.pop(job)
        self.uses.remove(use)
        for part in use.slices:
            _, held = self._nodes[part.machine].uses.pop(job)
            self._change(part.machine, held, 1)
        return use

    def use_of(self, job: int) -> Use:
        """Return the use of a running job."""
        return self._of[job]

    def _change(self, machine: int, held: Need, sign: int) -> None:
        node, bit = self._nodes[machine], 1 << machine
        free = node.free
        for i, amount in enumerate(held):
            free[i] += sign * amount
        node.later.clear()
        node.able.clear()
        self._later.clear()
        self.planned.clear()
        self.chosen.clear()
        for need, able in self._able.items():
            gpus, cpus, memory, shares = need
            fits = free[0] >= gpus and free[1] >= cpus and free[2] >= memory and free[3] >= shares
            self._able[need] = able | bit if fits else able & ~bit

    # --- nodes that are able

    def able(self, need: Need) -> int:
        """Return the nodes that have room for `need` now, open or not."""
        able = self._able.get(need)
        if able is None:
            able = self._able[need] = sum(
                1 << m
                for m, node in enumerate(self._nodes)
                if all(has >= wants for has, wants in zip(node.free, need, strict=True))
            )
        return able

    def able_by(self, need: Need, end_ns: int, without: Collection[int] = ()) -> int:
        """Return the nodes that have room once the jobs that end by a time, and others, have ended."""
        if without:
            ended = [use.job for use in self.uses if use.end_ns <= end_ns or use.job in without]
            return self.able_without(need, ended)
        times, masks = self.able_later(need)
        return masks[bisect_right(times, end_ns)]

    def able_later(self, need: Need) -> tuple[list[int], list[int]]:
        """Return the ends after which nodes become able, and the able nodes before and after each."""
        if need not in self._later:
            able = self.able(need)
            ends = sorted((node.able_ns(need), m) for m, node in enumerate(self._nodes) if not able >> m & 1)
            sets = accumulate((1 << m for _, m in ends), or_, initial=able)
            self._later[need] = [end for end, _ in ends], list(sets)
        return self._later[need]

    def soonest(self, need: Need, count: int, among: int, without: Collection[int] = ()) -> int:
        """Return the end of a job from which on `count` of some nodes have room, `NEVER` if there is none.

        0 if they have it now.
        """
        if not without:
            times, masks = self.able_later(need)
            at = bisect_left(masks, True, key=lambda able: (able & among).bit_count() >= count)
            return 0 if not at else times[at - 1] if at < len(masks) else NEVER
        enough = lambda use: (self.able_by(need, use.end_ns, without) & among).bit_count() >= count  # noqa: E731
        at = bisect_left(self.uses, True, key=enough)
        return self.uses[at].end_ns if at < len(self.uses) else NEVER

    def able_without(self, need: Need, jobs: Collection[int]) -> int:
        """Return the nodes that have room without some running jobs."""
        able = self.able(need)
        for m in members_of(~able & self._touched(jobs)):
            node = self._nodes[m]
            room = node.free[:]
            for job in jobs:
                if job in node.uses:
                    room = [has + more for has, more in zip(room, node.uses[job][1], strict=True)]
            if all(has >= wants for has, wants in zip(room, need, strict=True)):
                able |= 1 << m
        return able

    def _touched(self, jobs: Collection[int]) -> int:
        """Return the nodes that jobs hold."""
        held = 0
        for job in jobs:
            held |= self._of[job].nodes
        return held

    # --- choice

    def free_cpus(self, machine: int, end_ns: int = 0, without: Collection[int] = ()) -> int:
        """Return the free CPUs of a node once the jobs that end by a time, and some others, have ended."""
        node = self._nodes[machine]
        if not without:
            return node.free_by(end_ns)[1]
        gone = (held.cpus for job, (end, held) in node.uses.items() if end <= end_ns or job in without)
        return node.free[1] + sum(gone)

    def choose(
        self,
        able: int,
        count: int,
        end_ns: int = 0,
        without: Collection[int] = (),
        *,
        spread: bool = False,
    ) -> int:
        """Return `count` of the able nodes, of which there are enough: those of the lowest Weight first.

        For topology/tree: the leaf with the fewest able nodes that suffice, else those with the most; inside
        by index. Otherwise sets of consecutive able nodes: in order, one replaces the best so far if it is
        the first that suffices, suffices with fewer free CPUs, or does not suffice and has more. Of a set the
        first nodes; as the last node of the job that with the fewest free CPUs. Ties go to the first.

        Parameters
        ----------
        end_ns, without
            As for `free_cpus`.
        spread
            Whether to take the nodes with the most free CPUs instead (LLN).
        """
        lighter = 0
        for nodes in self.by_weight:
            here = able & nodes
            if here.bit_count() >= count:
                able = here
                break
            lighter, count = lighter | here, count - here.bit_count()
        return lighter | self._alike(able, count, end_ns, without, spread)

    def _alike(self, able: int, count: int, end_ns: int, without: Collection[int], spread: bool) -> int:
        """Return some of the able nodes, of equal Weight."""
        if self._leaves is not None:
            return _in_leaves([leaf & able for leaf in self._leaves], count)
        cpus = {m: self.free_cpus(m, end_ns, without) for m in members_of(able)}
        if spread:
            machines = self.cluster.machines
            return set_of(sorted(cpus, key=lambda m: (-cpus[m] / (machines[m].cpus or 1), m))[:count])
        sets, chosen = [(sum([cpus[m] for m in nodes]), nodes) for nodes in _consecutive(cpus)], 0
        while True:
            best = sets[0]
            for one in sets[1:]:
                enough, had_enough = len(one[1]) >= count, len(best[1]) >= count
                if (one[0] < best[0] or not had_enough) if enough else one[0] > best[0]:
                    best = one
            nodes = best[1]
            if count == 1:
                return chosen | 1 << min(nodes, key=cpus.__getitem__)
            if len(nodes) >= count:
                return chosen | set_of(nodes[:count])
            chosen, count = chosen | set_of(nodes), count - len(nodes)
            sets.remove(best)


def _in_leaves(leaves: list[int], count: int) -> int:
    """Return nodes of the smallest leaf that suffices, else of those with the most nodes first."""
    chosen = 0
    while True:
        enough = [nodes for nodes in leaves if nodes.bit_count() >= count]
        if enough:
            return chosen | set_of(members_of(min(enough, key=int.bit_count))[:count])
        largest = max(leaves, key=int.bit_count)
        chosen, count = chosen | largest, count - largest.bit_count()
        leaves.remove(largest)


def _consecutive(nodes: Iterable[int]) -> list[list[int]]:
    """Return the maximal lists of consecutive nodes, of which the lowest is first.

    >>> _consecutive([0, 2, 3])
    [[0], [2, 3]]
    """
    runs, after = list[list[int]](), -1
    for node in nodes:
        if node == after:
            runs[-1].append(node)
        else:
            runs.append([node])
        after = node + 1
    return runs
