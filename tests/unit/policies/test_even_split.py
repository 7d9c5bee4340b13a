"""Even splits: as many machines and racks as packed, with GPUs on them as equal as the free ones allow."""

from itertools import combinations, product

import numpy as np
import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.placement import CHOOSERS, MachineChooser, chooser_of, split_by
from artist.policies.parts.placer import placer_of
from artist.testing.tiny import tiny_cluster

EIGHTS = tiny_cluster(4, 8, per_rack=4)


def free(*gpus, cluster=EIGHTS):
    return Free(cluster, gpus, [0] * len(cluster), [0] * len(cluster))


def even(name, gpus_free, need, cluster=EIGHTS, among=-1, **demand):
    """Return the GPUs by machine of an even split, None for a refusal."""
    chooser = chooser_of(name, seed=1, split="even")
    return chooser.choose(free(*gpus_free, cluster=cluster), Demand(need, **demand), among)


@pytest.mark.parametrize(
    ("name", "gpus_free", "need", "expected"),
    [
        # 17 = 6 + 6 + 5 on three machines of 8 GPUs, as 8 + 8 + 1 would be
        ("consolidate", (8, 8, 8, 0), 17, {0: 6, 1: 6, 2: 5}),
        # the tightest machines that suffice: 5 on the one with 5, so that m2 stays whole
        ("consolidate", (8, 8, 8, 5), 17, {0: 6, 1: 6, 3: 5}),
        ("best_fit", (8, 7, 8, 5), 17, {1: 6, 0: 6, 3: 5}),
        # a machine with fewer GPUs than a third gives all of them: 17 - 3 = 7 + 7
        ("consolidate", (8, 8, 3, 2), 17, {0: 7, 1: 7, 2: 3}),
        # nothing to choose: 8 + 8 + 1 are all that is free
        ("consolidate", (8, 8, 1, 0), 17, {0: 8, 1: 8, 2: 1}),
        # equal already, or different by one: as packed
        ("consolidate", (8, 8, 8, 8), 16, {0: 8, 1: 8}),
        ("consolidate", (8, 8, 8, 8), 15, {0: 8, 1: 7}),
        ("consolidate", (8, 8, 8, 8), 5, {0: 5}),
        # the first machines that fit, though the last is tighter
        ("first_fit", (8, 8, 8, 6), 12, {0: 6, 1: 6}),
        # worker by worker: 2 + 7 on the machines in use, m2 and m3; 5 + 4 need another one
        ("best_fit_workers", (8, 8, 2, 7), 9, {3: 5, 0: 4}),
        # GPU after GPU from the emptiest: 8, 6, 6 -> 5, 5, 5 takes 3 + 1 + 1, which are 2 + 2 + 1
        ("spread", (8, 6, 6, 0), 5, {0: 2, 1: 2, 2: 1}),
    ],
)
def test_gpus_are_as_equal_as_the_free_ones_allow(name, gpus_free, need, expected):
    """One line per rule, on one rack of four machines of 8 GPUs."""
    assert even(name, gpus_free, need) == expected


@pytest.mark.parametrize(
    ("gpus_free", "need", "step", "expected"),
    [
        ((8, 8), 12, 4, {0: 8, 1: 4}),  # three workers of four: 6 + 6 would cut one
        ((8, 8), 14, 2, {0: 8, 1: 6}),  # seven workers of two: 4 + 3
        ((8, 8), 10, 2, {0: 6, 1: 4}),  # five of two: 3 + 2, not 4 + 1
        ((8, 8), 9, 4, {0: 5, 1: 4}),  # two of four and a last one of one: 4 + 4, and 1 more
        ((8, 1), 9, 4, {0: 8, 1: 1}),  # the last worker fits m1, and no other does
        # five workers: 2, 4 and 3 beside the last one of 1; whole ones alone would be 2, 2 and 5
        ((3, 7, 2), 9, 2, {2: 2, 0: 3, 1: 4}),
    ],
)
def test_whole_workers_stay_whole(gpus_free, need, step, expected):
    """On two or three machines of 8 GPUs."""
    there = tiny_cluster(len(gpus_free), 8)
    assert even("best_fit_workers", gpus_free, need, there, step=step) == expected


def test_a_job_moves_to_another_rack_for_equal_parts_but_not_into_more_racks():
    """8, 8, 1 | 8, 8, 8 are free: packed takes the first rack, which has fewer, as 8 + 8 + 1.

    Of 8, 8, 1 | 8, 7, 0 only the first rack has 17; 6 + 6 + 5 would lie in two racks.
    """
    racks = tiny_cluster(6, 8, per_rack=3)
    packed = chooser_of("consolidate").choose(free(8, 8, 1, 8, 8, 8, cluster=racks), Demand(17))
    assert packed == {0: 8, 1: 8, 2: 1}
    assert even("consolidate", (8, 8, 1, 8, 8, 8), 17, racks) == {3: 6, 4: 6, 5: 5}
    assert even("consolidate", (8, 8, 1, 8, 7, 0), 17, racks) == {0: 8, 1: 8, 2: 1}


def _least_difference(cluster, counts, machines, racks, need, usable):
    """Return the smallest difference of parts on some number of machines in at most as many racks."""
    best = need
    for chosen in combinations(usable, machines):
        if len({cluster.rack_of[m] for m in chosen}) > racks:
            continue
        room = [counts[m] for m in chosen]
        for least, most in product(range(1, need + 1), repeat=2):
            fits = min(room) >= least and machines * least <= need <= sum(min(r, most) for r in room)
            best = min(best, most - least) if fits and least <= most else best
    return best


@pytest.mark.parametrize("name", sorted(CHOOSERS))
def test_no_other_choice_of_machines_is_more_equal(name):
    """Even finds a place where packed does, on as many machines, no more racks, with the smallest difference.

    All sets of as many machines of six in three racks are tried, of the GPU types that the packed one has.
    """
    rng = np.random.default_rng([37, len(name)])
    uneven = 0
    for _ in range(300):
        types = rng.choice(["A", "B"], 6, p=[0.8, 0.2]).tolist()
        cluster = Cluster([Machine(f"m{i}", i // 2, kind, 5, gpu_type=kind) for i, kind in enumerate(types)])
        counts, need = rng.integers(0, 6, 6).tolist(), int(rng.integers(2, 20))
        demand = Demand(need, max_machines=int(rng.choice([0, 2, 4])), mixed_types=bool(rng.random() < 0.5))
        among = int(rng.integers(1, 64)) if rng.random() < 0.3 else 0b111111
        packed = chooser_of(name, seed=1).choose(free(*counts, cluster=cluster), demand, among)
        split = chooser_of(name, seed=1, split="even").choose(free(*counts, cluster=cluster), demand, among)
        if packed is None or len(packed) == 1:
            assert split == packed
            continue
        racks = {cluster.rack_of[m] for m in packed}
        there = {types[m] for m in packed}
        usable = [m for m in range(6) if among >> m & 1 and types[m] in there and counts[m]]
        assert split is not None
        assert (sum(split.values()), len(split)) == (need, len(packed))
        assert len({cluster.rack_of[m] for m in split}) <= len(racks)
        assert all(m in usable and 0 < part <= counts[m] for m, part in split.items())
        least = _least_difference(cluster, counts, len(packed), len(racks), need, usable)
        assert max(split.values()) - min(split.values()) == least
        uneven += max(packed.values()) - min(packed.values()) > least
    assert uneven > 10, "the rule matters"


@pytest.mark.parametrize("name", sorted(CHOOSERS))
def test_a_job_that_asks_for_cpus_and_memory_finds_them_for_equal_parts_too(name):
    """With exactly the CPUs and memory asked for, even finds a place where packed does.

    12 GPUs and 24 CPUs, where 8 GPUs and 16 CPUs, 8 and 10, 4 and 8 are free: with two CPUs per GPU m1 has
    five GPUs for it, so they are 7 + 5; packed, 8 + 4.
    """
    rng = np.random.default_rng([38, len(name)])
    for seed in range(200):
        packed, split = (placer_of(name, "as_asked", seed, how) for how in ("packed", "even"))
        gpus, cpus, memory = (rng.integers(0, most, 4).tolist() for most in (9, 17, 100))
        asked = {"cpus": int(rng.integers(0, 40)), "memory_bytes": int(rng.integers(0, 150))}
        there = Free(tiny_cluster(4, 8, per_rack=2, cpus=16, memory_bytes=100), gpus, cpus, memory)
        demand = Demand(int(rng.integers(2, 25)), **asked)
        first, second = packed.place(there, demand), split.place(there, demand)
        assert (first is None) == (second is None)
        if first is not None:
            assert there.fits(second)
            assert len(second.slices) == len(first.slices)
            assert second.cpus == first.cpus or not demand.cpus
    there = Free(tiny_cluster(3, 8, cpus=16), [8, 8, 4], [16, 10, 8], [0, 0, 0])
    chosen = placer_of("consolidate", "as_asked", split="even").place(there, Demand(12, cpus=24))
    assert [tuple(s[:3]) for s in chosen.slices] == [(0, 7, 14), (1, 5, 10)]


def test_ones_own_placement_keeps_its_machines():
    """It refuses m0: 9 GPUs of 8 and 8 free ones are 5 + 4; of 8 and 1 they are 8 + 1, though m0 is free."""

    class NotTheFirst(MachineChooser):
        def machines(self, free, usable, need):
            return free.buckets.fewest(need, usable & ~1)

    own = NotTheFirst()
    for choose in (chooser_of(own, split="even").choose, split_by(own, "even").choose):
        assert choose(free(8, 8, 8, 0), Demand(9)) == {1: 5, 2: 4}
        assert choose(free(8, 8, 1, 0), Demand(9)) == {1: 8, 2: 1}


def test_gpus_that_differ_in_worth_are_left_as_they_are():
    """A placement of one's own may mix types for a fungible job: 1 V100 and 4 T4 of half its speed are 3."""

    class Mix:
        def choose(self, free, demand, among=-1):
            return {0: 1, 1: 4}

    machines = [Machine("v", 0, "v", 4, gpu_type="V100"), Machine("t", 0, "t", 4, gpu_type="T4", speed=0.5)]
    there = free(4, 4, cluster=Cluster(machines))
    assert split_by(Mix(), "even").choose(there, Demand(3, fungible=True)) == {0: 1, 1: 4}
    assert split_by(Mix(), "even").choose(there, Demand(5, mixed_types=True)) == {0: 3, 1: 2}
