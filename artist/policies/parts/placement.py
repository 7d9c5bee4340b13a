"""Placement policies (choosers): GPUs by machine for a job. Shared by policies.

A chooser gets a scratch copy of the free resources and returns GPUs by machine, or None if the job should
wait; a fill adds CPUs and memory (`artist.policies.parts.fill`). A job gets GPUs of one type unless it
allows a mix. A policy takes the name of a shipped chooser, or a chooser of the user's own. With `split: even`
the GPUs of a job on several machines are made as equal as possible (`artist.policies.parts.even_split`).
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, reduce
from heapq import heapify, heapreplace
from itertools import compress
from operator import or_
from typing import Annotated, Literal, Protocol

import numpy as np
from pydantic import PlainValidator

from artist.core.arrays import Ints
from artist.core.buckets import ALL, first_of, members_of
from artist.core.checked import AnswerError
from artist.core.cluster import Cluster, Tier
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.even_split import even_split
from artist.policies.parts.parameters import check_part, checked_part
from artist.policies.parts.worker_fit import fit_workers
from artist.randomness import child_generator


class Chooser(Protocol):
    """Chooses GPUs for a job that asks for some."""

    def choose(self, free: Free, demand: Demand, among: int = ALL) -> dict[int, int] | None:
        """Return GPUs by machine, or None to wait; `free` is unchanged.

        Parameters
        ----------
        among
            The machines that may serve, as a set of `artist.core.buckets`.
        """


class MachineChooser(ABC):
    """Common part of choosers: candidate machines by GPU type, and no more of them than allowed.

    `machines` is all that one of the user's own must define.
    """

    def choose(self, free: Free, demand: Demand, among: int = ALL) -> dict[int, int] | None:
        """Return GPUs by machine, or None to wait; `free` is unchanged."""
        asked = gpus_to_place(free, demand, among)
        if demand.min_feasible_gpus > free.total_gpus:
            return None
        if free.cluster.uniform and not (demand.gpu_types or demand.fungible):
            return self._on(free, among, asked, demand)
        for usable, worth in by_type(free.cluster, demand, among):
            gpus = self._on(free, usable, demand.gpus_at(worth, asked), demand)
            if gpus is not None:
                return gpus
        return None

    def _on(self, free: Free, usable: int, need: int, demand: Demand) -> dict[int, int] | None:
        taken = self.machines(free, usable, need)
        if taken is not None and demand.max_machines and len(taken) > demand.max_machines:
            taken = self._fewest(free, usable, need, demand.max_machines)
            if taken is not None and len(taken) > demand.max_machines:
                return None
        return taken

    def _fewest(self, free: Free, usable: int, need: int, span: int) -> dict[int, int] | None:
        """Return GPUs on as few machines as possible, for a job that may span `span`; None to wait."""
        return free.buckets.fewest(need, usable)

    @abstractmethod
    def machines(self, free: Free, usable: int, need: int) -> dict[int, int] | None:
        """Return GPUs by machine, `need` in all, or None; only machines of the set `usable` may serve."""


class ShippedChooser(MachineChooser):
    """A chooser that also selects single machines, for the parts of an even split.

    Attributes
    ----------
    widest
        The widest tier that a job may cross.
    """

    widest: Tier = "network"

    def one(self, free: Free, usable: int, need: int) -> int | None:
        """Return a machine for all of the GPUs, or None."""
        return free.buckets.best_fit(need, usable)


class FirstFit(ShippedChooser):
    """The first machine that fits, else GPUs of the machines in order."""

    def one(self, free: Free, usable: int, need: int) -> int | None:
        """Return the first machine that fits, or None."""
        fits = reduce(or_, free.buckets.sets[need:], 0) & usable
        return first_of(fits) if fits else None

    def machines(self, free: Free, usable: int, need: int) -> dict[int, int] | None:
        """Return GPUs by machine, or None to wait."""
        machine = self.one(free, usable, need)
        if machine is not None:
            return {machine: need}
        return take_in_order(free, members_of(reduce(or_, free.buckets.sets[1:], 0) & usable), need)


class BestFit(ShippedChooser):
    """The machine left with the fewest GPUs, else the emptiest machines, wherever they are."""

    def machines(self, free: Free, usable: int, need: int) -> dict[int, int] | None:
        """Return GPUs by machine, or None to wait."""
        machine = self.one(free, usable, need)
        return {machine: need} if machine is not None else free.buckets.fewest(need, usable)


class Consolidate(ShippedChooser):
    """The fewest machines, close to each other; waits rather than spread beyond `widest`.

    - machine: as few machines as the demand can use at all, wherever they are;
    - rack: else the fewest machines of one rack (a demand larger than any rack: the fewest racks);
    - network: else the fewest racks, then the fewest machines.
    """

    def __init__(self, widest: Tier = "network") -> None:
        self.widest = widest

    def machines(self, free: Free, usable: int, need: int) -> dict[int, int] | None:
        """Return GPUs by machine, or None to wait."""
        buckets = free.buckets
        machine = self.one(free, usable, need)
        if machine is not None:
            return {machine: need}
        racks = _in_racks(free, usable)
        if (free.total_gpus if usable == ALL else sum(racks)) < need:
            return None
        if self.widest == "machine":
            least = _min_machines(free, usable, need)
            if least < 2:
                return None
            fewest = buckets.fewest(need, usable)
            if fewest is None or len(fewest) > least:
                return None
            near = self._in_rack(free, usable, racks, need) or self._over_racks(free, usable, racks, need)
            return near if near and len(near) <= least else fewest
        taken = self._in_rack(free, usable, racks, need)
        if taken is None and (self.widest == "network" or need > _largest_rack(free, usable)):
            taken = self._over_racks(free, usable, racks, need)
        return taken

    def _fewest(self, free: Free, usable: int, need: int, span: int) -> dict[int, int] | None:
        if self.widest == "rack" and need <= _largest_rack(free, usable, span):
            return None  # no rack has it free on fewer machines
        return super()._fewest(free, usable, need, span)

    @staticmethod
    def _in_rack(free: Free, usable: int, racks: list[int], need: int) -> dict[int, int] | None:
        """Return the fewest machines of one rack; among equals the rack with the fewest free GPUs."""
        if max(racks) < need:
            return None
        able = sorted([(gpus, rack) for rack, gpus in enumerate(racks) if gpus >= need])
        least = -(-need // max(free.buckets.max_free(usable), 1))
        chosen: dict[int, int] | None = None
        for _, rack in able:
            taken = free.buckets.fewest(need, free.cluster.rack_sets[rack] & usable)
            if taken is not None and (chosen is None or len(taken) < len(chosen)):
                chosen = taken
                if len(chosen) == least:
                    break
        return chosen

    @staticmethod
    def _over_racks(free: Free, usable: int, racks: list[int], need: int) -> dict[int, int]:
        """Return GPUs of the fewest racks: the emptiest ones first, the tightest that fits last."""
        buckets, rack_sets, whole = free.buckets, free.cluster.rack_sets, 0
        emptiest = iter(sorted(compress(range(len(racks)), racks), key=racks.__getitem__, reverse=True))
        while racks[last := next(emptiest)] < need:
            need -= racks[last]
            whole |= rack_sets[last] & usable
        last = min([last, *(rack for rack in emptiest if racks[rack] >= need)], key=racks.__getitem__)
        sets = enumerate(buckets.sets[1:], 1)
        taken = {machine: count for count, there in sets for machine in members_of(there & whole)}
        return taken | (buckets.fewest(need, rack_sets[last] & usable) or {})


class BestFitWorkers(ShippedChooser):
    """Worker by worker (`step` GPUs), each on the machine in use that fits best, else on an empty one.

    A demand has a step even if it is not elastic: by default one GPU.
    """

    def _on(self, free: Free, usable: int, need: int, demand: Demand) -> dict[int, int] | None:
        sets = free.buckets.sets[:]
        taken, left = fit_workers(sets, free.cluster.size_sets, usable, need, demand.step)
        if left:
            return None
        if demand.max_machines and len(taken) > demand.max_machines:
            return super()._on(free, usable, need, demand)
        return taken

    def machines(self, free: Free, usable: int, need: int) -> dict[int, int] | None:
        """Return GPUs on as few machines as possible, for a job with a limit below its number of workers."""
        return free.buckets.fewest(need, usable)


class Spread(ShippedChooser):
    """GPU after GPU on the machine with most free GPUs: the load is even, jobs are scattered."""

    def one(self, free: Free, usable: int, need: int) -> int:
        """Return the machine with most free GPUs."""
        return first_of(free.buckets.sets[free.buckets.max_free(usable)] & usable)

    def machines(self, free: Free, usable: int, need: int) -> dict[int, int] | None:
        """Return GPUs by machine, or None to wait."""
        heap = [
            (-count, m)
            for count, there in enumerate(free.buckets.sets)
            if count
            for m in members_of(there & usable)
        ]
        if -sum(count for count, _ in heap) < need:
            return None
        heapify(heap)
        taken: dict[int, int] = {}
        for _ in range(need):
            count, m = heap[0]
            taken[m] = taken.get(m, 0) + 1
            heapreplace(heap, (count + 1, m))
        return taken


class Random(ShippedChooser):
    """A random machine that fits, else GPUs of machines in random order."""

    def __init__(self, seed: int) -> None:
        self._rng = child_generator(seed, "placement")

    def one(self, free: Free, usable: int, need: int) -> int | None:
        """Return a random machine that fits, or None."""
        fits = members_of(reduce(or_, free.buckets.sets[need:], 0) & usable)
        return int(self._rng.choice(fits)) if fits else None

    def machines(self, free: Free, usable: int, need: int) -> dict[int, int] | None:
        """Return GPUs by machine, or None to wait."""
        machine = self.one(free, usable, need)
        if machine is not None:
            return {machine: need}
        some = members_of(reduce(or_, free.buckets.sets[1:], 0) & usable)
        return take_in_order(free, self._rng.permutation(some).tolist(), need)


class Even:
    """Any chooser, with GPUs as equal by machine as the free ones allow.

    One that is not shipped may have reasons for its machines, so it keeps them.
    """

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser
        self._one = chooser.one if isinstance(chooser, ShippedChooser) else None
        self.widest = widest_of(chooser)

    def choose(self, free: Free, demand: Demand, among: int = ALL) -> dict[int, int] | None:
        """Return GPUs by machine, or None to wait; `free` is unchanged."""
        packed = self._chooser.choose(free, demand, among)
        if packed is None or len(packed) == 1:
            return packed
        cluster = free.cluster
        types = dict.fromkeys(cluster.machines[machine].gpu_type for machine in packed)
        if demand.fungible and len(types) > 1:  # its GPUs differ in worth
            return packed
        usable = among & reduce(or_, (cluster.type_sets[gpu_type] for gpu_type in types))
        return even_split(free, packed, usable, self._one, demand.step)


CHOOSERS: Mapping[str, Callable[[int], Chooser]] = {
    "first_fit": lambda seed: FirstFit(),
    "best_fit": lambda seed: BestFit(),
    "best_fit_workers": lambda seed: BestFitWorkers(),
    "consolidate_machine": lambda seed: Consolidate("machine"),
    "consolidate_rack": lambda seed: Consolidate("rack"),
    "consolidate": lambda seed: Consolidate("network"),
    "spread": lambda seed: Spread(),
    "random": Random,
}


Split = Literal["packed", "even"]
AnyChooser = Annotated[str | Chooser, PlainValidator(lambda value: check_part(value, CHOOSERS, "choose"))]


def chooser_of(chooser: str | Chooser, seed: int = 0, split: Split = "packed") -> Chooser:
    """Return a shipped chooser by name, one of the user's own checked; `seed` is the random one's."""
    if isinstance(chooser, str):
        chosen = CHOOSERS[chooser](seed)
    else:
        chosen = checked_part(chooser, "placement chooser", choose=_checked_gpus)
    return split_by(chosen, split)


def split_by(chooser: Chooser, split: Split) -> Chooser:
    """Return a chooser that splits GPUs over machines as asked."""
    return Even(chooser) if split == "even" else chooser


def widest_of(chooser: Chooser) -> Tier:
    """Return the widest tier that a job may cross; a chooser of a user's own may place it anywhere."""
    return getattr(chooser, "widest", "network")


def gpus_to_place(free: Free, demand: Demand, among: int = ALL) -> int:
    """Return the GPUs to place, for `Demand.gpus_at`: those asked for, or an elastic job's most that fit."""
    if not demand.elastic:
        return demand.gpus
    most = 0.0
    for usable, worth in by_type(free.cluster, demand, among):
        members = _members(usable)
        gpus = demand.most(free.sizes[members], free.cluster.rack[members])
        most = max(most, gpus * (worth / demand.measured_worth if demand.fungible else 1.0))
    return max((t for t in demand.targets() if t <= min(demand.gpus, most + 1e-9)), default=demand.gpus)


@lru_cache(maxsize=64)
def _members(machines: int) -> Ints:
    """Return the machines of a set, lowest first; cached, as pools and types are looked up often."""
    return np.array(members_of(machines), dtype=np.int64)


def _checked_gpus(gpus: object, free: Free, demand: Demand, among: int = ALL) -> dict[int, int] | None:
    """Return a chooser's answer as GPUs by machine, which are free there; None to wait."""
    if gpus is None:
        return None
    if not isinstance(gpus, Mapping) or not gpus:
        raise AnswerError(repr(gpus), "must be GPUs by machine number, or None to wait")
    for m, count in gpus.items():
        if not isinstance(m, int | np.integer) or not 0 <= m < len(free.cluster):
            must = f"{m!r} is not a machine number: must be 0 to {len(free.cluster) - 1}"
        elif not isinstance(count, int | np.integer) or count < 1:
            must = f"machine number {m} must give at least one GPU"
        elif not among >> int(m) & 1:
            must = f"machine number {m} is not in `among`"
        elif count > free.gpus[m]:
            must = f"machine number {m} has {free.gpus[m]} free GPUs for this job"
        else:
            continue
        raise AnswerError(repr(gpus), must)
    return {int(m): int(count) for m, count in gpus.items()}


def by_type(cluster: Cluster, demand: Demand, among: int) -> Iterable[tuple[int, float]]:
    """Yield machines that may serve a demand together, and the worth of a GPU there: type by type."""
    sets = {kind: machines & among for kind, machines in cluster.type_sets.items()}
    wanted = [kind for kind in demand.gpu_types or sets if kind in sets]
    for kind in wanted:
        yield sets[kind], cluster.worth_of[kind]
    if demand.mixed_types and not demand.fungible and wanted:
        usable = reduce(or_, (sets[kind] for kind in wanted))
        yield usable, min(cluster.worth_of[kind] for kind in wanted)


def _in_racks(free: Free, usable: int) -> list[int]:
    """Return the free GPUs of some machines by rack."""
    if usable == ALL:
        return free.buckets.in_rack
    return [free.buckets.total(machines & usable) for machines in free.cluster.rack_sets]


def _largest_rack(free: Free, usable: int, span: int | None = None) -> int:
    """Return the GPUs of some machines, free or not, in the rack that has most on its `span` largest."""
    if free.whole and usable == ALL and span is None:
        return free.cluster.largest_rack
    sizes = free.sizes
    racks = (np.sort(sizes[members_of(machines & usable)]) for machines in free.cluster.rack_sets)
    return max(int(rack[::-1][:span].sum()) for rack in racks)


def take_in_order(free: Free, order: Iterable[int], need: int) -> dict[int, int] | None:
    """Return GPUs of one machine after another until there are `need`, or None; each has a free one."""
    gpus = free.gpus
    taken: dict[int, int] = {}
    for m in order:
        taken[m] = min(need, int(gpus[m]))
        need -= taken[m]
        if not need:
            return taken
    return None


def _min_machines(free: Free, usable: int, need: int) -> int:
    """Return the fewest machines for `need` GPUs in an empty cluster; one too many if they never fit."""
    if free.whole and usable == ALL:
        return bisect_left(free.cluster.gpus_of_largest, need) + 1
    machines = members_of(usable) if usable != ALL else slice(None)
    return int(np.cumsum(np.sort(free.sizes[machines])[::-1]).searchsorted(need)) + 1
