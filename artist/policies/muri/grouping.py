"""Groups of jobs that share GPUs: rounds of matching by interleaving efficiency. For Muri.

In plain words: only jobs with the same demand share. The jobs of each demand are paired such that the sum of
the pairs' efficiencies is as large as possible; in a second round pairs are paired with pairs. Of a matching
the most efficient pairs are merged first, only as long as the jobs together ask for more GPUs than there are.
A group is taken apart if its iteration takes no less than those of its members one after another.

Paper: Zhao et al., Muri, SIGCOMM 2022, section 4.2, Algorithm 1. Decided here:

- Groups of at most three: the first round makes pairs of two thirds of the jobs, the second adds singles.
- A job that finds no partner stays alone; more pairs come before heavier ones.
- If there are more jobs than can be matched at once (`MAX_JOBS`, or any number of `MAX_KINDS` kinds), the
  first ones by priority are matched, then the next, so the time of a plan is proportional to the jobs.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from operator import attrgetter
from typing import Literal, NamedTuple

import numpy as np

from artist.core.arrays import Floats
from artist.performance.formulas.interleaving import FORMULA, Clock, efficiencies
from artist.policies.muri.matching import MAX_JOBS, MAX_KINDS, Pairs, heaviest_pairs

Kinds = tuple[int, ...]  # of the members of a group, sorted
_Matching = list[tuple[Pairs, float]]
_MAX_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class GroupingRule:
    """Parameters of grouping.

    Attributes
    ----------
    max_jobs
        Of a group, 1 to 4.
    matching
        blossom: pairs by efficiency; priority: neighbours in order of priority.
    clock
        Iteration times of groups.
    """

    max_jobs: int = 4
    matching: Literal["blossom", "priority"] = "blossom"
    clock: Clock = FORMULA


class Candidate(NamedTuple):
    """A job that may be grouped.

    Attributes
    ----------
    rank
        Position in the order of priority.
    bucket
        Only jobs of one bucket share.
    kind
        Number of its profile in `Grouping`.
    unit
        The same number for jobs that share GPUs now; None for a job that shares none.
    """

    rank: int
    job: int
    gpus: int
    bucket: Hashable
    kind: int
    unit: int | None = None


class Shared:
    """Jobs of one bucket that run together, or one alone.

    Attributes
    ----------
    members
        By priority.
    rank
        Rank of the best member.
    gpus
        GPUs that they hold together.
    jobs
        Their jobs.
    kinds
        Their profiles, sorted.
    unit
        Where they share GPUs now, None if they do not.
    """

    __slots__ = ("gpus", "jobs", "kinds", "members", "rank", "unit")

    def __init__(self, members: tuple[Candidate, ...]) -> None:
        best = members[0]
        self.members = members
        self.rank, self.gpus = best.rank, best.gpus
        self.jobs: tuple[int, ...] = (best.job,)
        self.kinds: Kinds = (best.kind,)
        self.unit = best.unit
        if len(members) > 1:
            self.jobs = tuple([member.job for member in members])
            self.kinds = tuple(sorted([member.kind for member in members]))
            if any(member.unit != best.unit for member in members):
                self.unit = None


class Grouping:
    """Groups jobs by profile, and remembers matchings of equal profiles.

    Parameters
    ----------
    rule
        Its parameters.
    """

    def __init__(self, rule: GroupingRule) -> None:
        self._rule = rule
        self._stages: list[tuple[int, ...]] = []  # by kind
        self._alone_ns: list[int] = []
        self._pays = cache(self._gains)
        self._matchings: dict[tuple[object, ...], _Matching] = {}

    def new_kind(self, stage_ns: Sequence[int], alone_ns: int) -> int:
        """Return the number of a new profile: time on each resource, and iteration time alone."""
        self._stages.append(tuple(stage_ns))
        self._alone_ns.append(alone_ns)
        return len(self._stages) - 1

    def group(self, jobs: Iterable[Candidate], capacity: int) -> list[Shared]:
        """Return jobs grouped as far as they ask for more than `capacity` GPUs, by priority.

        Parameters
        ----------
        jobs
            By priority.
        capacity
            GPUs in the cluster.
        """
        nodes = [Shared((job,)) for job in jobs]
        for round_ in range((0, 0, 1, 2, 2)[self._rule.max_jobs]):
            excess = sum(node.gpus for node in nodes) - capacity
            if excess <= 0:
                break
            nodes = self._merge(nodes, excess, round_)
        kept = (part for node in nodes for part in self._taken_apart(node))
        return sorted(kept, key=_rank)

    def _merge(self, nodes: Sequence[Shared], excess: int, round_: int) -> list[Shared]:
        """Merge pairs until the excess of GPUs is gone, the most efficient first."""
        buckets: dict[Hashable, list[Shared]] = {}
        for node in nodes:
            buckets.setdefault(node.members[0].bucket, []).append(node)
        pair = self._by_efficiency if self._rule.matching == "blossom" else self._by_priority
        proposed = [merge for bucket in buckets.values() for merge in pair(bucket, round_)]
        left = {node.rank: node for node in nodes}
        for _, a, b in sorted(proposed, key=lambda merge: (-merge[0], merge[1].rank)):
            if excess <= 0:
                break
            excess -= a.gpus
            del left[a.rank], left[b.rank]
            merged = Shared(tuple(sorted((*a.members, *b.members))))
            left[merged.rank] = merged
        return sorted(left.values(), key=_rank)

    def _by_priority(self, bucket: Sequence[Shared], round_: int) -> list[tuple[float, Shared, Shared]]:
        """Return neighbours in order of priority, with no weight."""
        step = 3 if self._rule.max_jobs == 3 and not round_ else 2
        firsts = range(0, len(bucket) - 1, step)
        pairs = [(0.0, bucket[i], bucket[i + 1]) for i in firsts]
        most = self._rule.max_jobs
        return [pair for pair in pairs if len(pair[1].members) + len(pair[2].members) <= most]

    def _by_efficiency(self, bucket: Sequence[Shared], round_: int) -> list[tuple[float, Shared, Shared]]:
        """Return the pairs of the heaviest matching of each block, with their weights."""
        pairs = []
        for by_kinds in _blocks(bucket) if len(bucket) > 1 else ():
            kinds = sorted(by_kinds)
            counts = tuple([len(by_kinds[kind]) for kind in kinds])
            most = sum(counts) // 3 if self._rule.max_jobs == 3 and not round_ else None
            for (a, b, times), weight in self._matching(tuple(kinds), counts, most):
                ones, others = by_kinds[kinds[a]], by_kinds[kinds[b]]
                pairs += [(weight, one, other) for one, other in _take_pairs(ones, others, times)]
        return pairs

    def _matching(self, kinds: tuple[Kinds, ...], counts: tuple[int, ...], most: int | None) -> _Matching:
        """Return the pairs of kinds that are matched, and the efficiency of each pair."""
        key = (kinds, counts, most)
        known = self._matchings.get(key)
        if known is None:
            weights = self._weights(kinds)
            if len(self._matchings) >= _MAX_REMEMBERED:
                self._matchings.clear()
            pairs = heaviest_pairs(counts, weights, most)
            known = self._matchings[key] = [(pair, float(weights[pair[:2]])) for pair in pairs]
        return known

    # --- efficiencies

    def _weights(self, kinds: Sequence[Kinds]) -> Floats:
        """Return the efficiency of two groups merged, shape (n_kinds, n_kinds); NaN if they are too large."""
        sizes = np.array([len(kind) for kind in kinds])  # 1 or 2: there are two rounds
        stages = np.array([[self._stages[job] for job in (kind[0], kind[-1])] for kind in kinds])
        first, second = np.triu_indices(len(kinds))
        weights = np.full((len(kinds), len(kinds)), np.nan)
        for one, other in product((1, 2), repeat=2):
            these = (sizes[first] == one) & (sizes[second] == other)
            if one + other <= self._rule.max_jobs and these.any():
                a, b = first[these], second[these]
                together = np.concatenate((stages[a, :one], stages[b, :other]), axis=1)
                weights[a, b] = weights[b, a] = efficiencies(together, self._rule.clock.times(together))
        return weights

    def _taken_apart(self, node: Shared) -> list[Shared]:
        """Return a group unchanged, or its members if they are no slower one after another."""
        if len(node.members) == 1 or self._pays(node.kinds):
            return [node]
        return [Shared((member,)) for member in node.members]

    def _gains(self, kinds: Kinds) -> bool:
        together = self._rule.clock.group_ns([self._stages[kind] for kind in kinds])
        return together < sum(self._alone_ns[kind] for kind in kinds)


_rank = attrgetter("rank")


def _blocks(bucket: Iterable[Shared]) -> Iterator[dict[Kinds, list[Shared]]]:
    """Yield neighbours in order of priority by their kinds, in blocks that can be matched at once."""
    block: dict[Kinds, list[Shared]] = {}
    jobs = 0
    for node in bucket:
        if jobs >= MAX_JOBS and len(block) + (node.kinds not in block) > MAX_KINDS:
            yield block
            block, jobs = {}, 0
        block.setdefault(node.kinds, []).append(node)
        jobs += 1
    yield block


def _take_pairs(ones: list[Shared], others: list[Shared], times: int) -> list[tuple[Shared, Shared]]:
    """Remove pairs from two lists, or from one: those that share GPUs now first, then by priority."""
    beside: dict[int, list[Shared]] = {}
    for node in others:
        if node.unit is not None:
            beside.setdefault(node.unit, []).append(node)
    pairs: list[tuple[Shared, Shared]] = []
    taken: set[int] = set()  # by rank
    for one in ones if beside else ():
        if len(pairs) == times:
            break
        if one.unit is None or one.rank in taken:
            continue
        able = (node for node in beside.get(one.unit, ()) if node is not one and node.rank not in taken)
        if (other := next(able, None)) is not None:
            taken.update((one.rank, other.rank))
            pairs.append((one, other))
    first = iter([node for node in ones if node.rank not in taken])
    second = first if others is ones else iter([node for node in others if node.rank not in taken])
    pairs += islice(zip(first, second, strict=False), times - len(pairs))
    ones[:] = first
    if others is not ones:
        others[:] = second
    return pairs
