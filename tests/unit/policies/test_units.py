"""Units and segments in placement: 2 racks x 2 machines x 8 GPUs, and where units leave GPUs over."""

from types import SimpleNamespace

import numpy as np
import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.gandiva.growth import _max_gpus
from artist.policies.parts.placement import CHOOSERS
from artist.policies.parts.placer import placer_of
from artist.policies.pollux.policy import Candidate, Pollux, Round
from artist.policies.pollux.speedups import Speedups
from artist.testing.tiny import on, tiny_cluster

CLUSTER = tiny_cluster(4, 8, per_rack=2)  # m0, m1 | m2, m3


def where(name, gpus_free, demand, cluster=CLUSTER, split="packed"):
    """Return the GPUs by machine of a shipped placement policy, None for a refusal."""
    none = np.zeros(len(cluster), np.int64)
    free = Free(cluster, np.array(gpus_free), none, none)
    allocation = placer_of(name, "proportional", 1, split).place(free, demand)
    return None if allocation is None else allocation.gpu_map()


@pytest.mark.parametrize(
    ("name", "gpus_free", "need", "unit", "expected"),
    [
        # on one machine as without a unit: m2 fits more tightly than m0 and m1, though all hold one unit
        ("best_fit", (7, 5, 4, 3), 4, 4, {2: 4}),
        ("first_fit", (7, 5, 4, 3), 4, 4, {0: 4}),
        # on several: 7, 5, 4 and 3 free GPUs are 1, 1, 1 and 0 units; without a unit 7 + 4 were taken
        ("best_fit", (7, 5, 4, 3), 12, 4, {0: 4, 1: 4, 2: 4}),
        ("first_fit", (3, 8, 3, 8), 12, 4, {1: 8, 3: 4}),
        ("consolidate", (8, 5, 8, 8), 16, 8, {2: 8, 3: 8}),  # one rack has two whole machines
        ("consolidate_rack", (8, 5, 8, 7), 16, 8, None),  # each rack has one
        ("consolidate_machine", (4, 4, 8, 4), 8, 4, {2: 8}),
        ("consolidate_machine", (4, 4, 4, 4), 8, 4, None),  # a whole machine could hold it
        # unit after unit on the machine with most free ones: 2, 2, 2, 0 -> 1, 1, 1, 0
        ("spread", (8, 8, 8, 3), 12, 4, {0: 4, 1: 4, 2: 4}),
        ("best_fit", (7, 7, 7, 3), 16, 4, None),  # 24 GPUs are free, but 3 units
    ],
)
def test_gpus_of_a_machine_come_in_units(name, gpus_free, need, unit, expected):
    """One line per rule; an even split of these units is the same."""
    for split in ("packed", "even"):
        assert where(name, gpus_free, Demand(need, unit=unit), split=split) == expected


def test_an_even_split_is_one_of_units():
    """20 GPUs are 5 units of 4, 2 + 2 + 1 at best; without a unit they are 7 + 7 + 6.

    24 are 6 units on 4 machines of which two have one free: 2 + 2 + 1 + 1.
    """
    assert where("consolidate", (8, 8, 8, 8), Demand(20), split="even") == {0: 7, 1: 7, 2: 6}
    assert where("consolidate", (8, 8, 8, 8), Demand(20, unit=4), split="even") == {0: 8, 1: 8, 2: 4}
    expected = {0: 8, 1: 4, 2: 8, 3: 4}
    assert where("consolidate", (8, 7, 8, 7), Demand(24, unit=4), split="even") == expected


@pytest.mark.parametrize(
    ("gpus_free", "need", "unit", "segment", "expected"),
    [
        # without segments 8 + 8 | 8; a rack has room for one segment of 12
        ((8, 8, 8, 8), 24, 4, 12, {0: 8, 1: 4, 2: 8, 3: 4}),
        ((8, 8, 8, 3), 24, 4, 12, None),  # 11 GPUs are free in the second rack
        ((8, 8, 8, 4), 24, 1, 8, {0: 8, 1: 8, 2: 8}),  # two segments in a rack
        # 2, 1 | 1, 2 machines: 5 + 5 | 5 free are 2 + 1 segments of 4 if units allow it, else 1 + 1 | 1 units
        ((5, 5, 5, 0), 12, 1, 4, {0: 5, 1: 3, 2: 4}),
        ((5, 5, 5, 0), 12, 4, 4, {0: 4, 1: 4, 2: 4}),
    ],
)
def test_gpus_of_a_rack_come_in_segments(gpus_free, need, unit, segment, expected):
    """The fewest racks with enough whole segments, in each the machines that the policy takes."""
    assert where("consolidate", gpus_free, Demand(need, unit=unit, segment=segment)) == expected


def test_the_tightest_rack_has_the_last_segment():
    """Segments of 8 in racks with 16, 8 and 15 free GPUs are 2, 1 and 1: of three, two and then one.

    Consolidated without segments they would be 16 in the first rack and 8 of the 15, on m4.
    """
    cluster = tiny_cluster(6, 8, per_rack=2)
    demand = Demand(24, segment=8)
    assert where("consolidate", (8, 8, 4, 4, 8, 7), demand, cluster) == {0: 8, 1: 8, 2: 4, 3: 4}
    assert where("consolidate", (8, 8, 4, 3, 8, 7), demand, cluster) == {0: 8, 1: 8, 4: 8}


def test_one_gpu_type_has_all_segments():
    """Each rack has 6 old and 8 new GPUs: 12 old would be enough, but not in segments of 4; 8 + 4 new are."""
    box = [("old", 6), ("new", 8)] * 2
    cluster = Cluster([Machine(f"m{i}", i // 2, t, n, gpu_type=t) for i, (t, n) in enumerate(box)])
    demand = Demand(12, segment=4, gpu_types=("old", "new"))
    assert where("consolidate", (6, 8, 6, 8), demand, cluster) == {1: 8, 3: 4}
    assert where("consolidate", (6, 8, 6, 3), demand, cluster) is None


@pytest.mark.parametrize("name", CHOOSERS)
def test_every_placement_policy_keeps_units_and_segments(name):
    """Random free GPUs of machines of 8 and of 6: whatever is placed is whole; most of it is placed."""
    rng = np.random.default_rng(41)
    machines = [Machine(f"m{i}", i // 3, "box", (8, 6)[i % 2]) for i in range(9)]
    cluster, placed = Cluster(machines), 0
    for _ in range(300):
        unit = int(rng.choice([1, 2, 3, 4]))
        segment = unit * int(rng.choice([1, 1, 2, 3]))
        most = int(rng.choice([0, 0, 4])) if segment == unit else 0
        need = segment * int(rng.integers(1, 5))
        elastic = {"min_gpus": segment, "max_gpus": need, "step": segment} if rng.random() < 0.3 else {}
        demand = Demand(need, unit=unit, segment=segment, max_machines=most, **elastic)
        gpus_free = [int(rng.integers(0, m.gpus + 1)) for m in machines]
        for split in ("packed", "even"):
            gpus = where(name, gpus_free, demand, cluster, split)
            if gpus is not None:
                placed += 1
                assert sum(gpus.values()) in demand.targets()
                assert all(count <= gpus_free[m] for m, count in gpus.items())
                assert not any(count % unit for count in gpus.values())
                racks = [sum(count for m, count in gpus.items() if m // 3 == rack) for rack in range(3)]
                assert not any(count % segment for count in racks)
                assert len(gpus) <= (most or 9)
    assert placed > 200


@pytest.mark.parametrize(
    ("unit", "segment", "expected"),
    [
        (1, 1, {0: 7, 1: 4, 2: 5}),  # 4 more: 3 + 0 + 1
        (2, 1, {0: 6, 1: 4, 2: 6}),  # a pair on m0 and one on m2
        (4, 4, None),  # no machine has 4 free
        (1, 4, None),  # 11 and 5 by rack, and 1 and 3 of the 4 more are no better
    ],
)
def test_gandivas_jobs_grow_by_whole_units(unit, segment, expected):
    """A job of 4 + 4 | 4 GPUs that may have 16; 3 and 0 | 2 are free beside it."""
    none = np.zeros(4, np.int64)
    free, held = Free(CLUSTER, np.array([3, 0, 2, 0]), none, none), on((0, 4), (1, 4), (2, 4))
    demand = Demand(12, min_gpus=12, max_gpus=16, step=4, unit=unit, segment=segment)
    assert _max_gpus(free, demand, held, placer_of("best_fit", "proportional")) == expected


def test_polluxs_jobs_shrink_by_whole_segments():
    """3 + 1 | 2 + 2 GPUs lose 4, a segment: all of the first rack. Without segments 1 + 2 + 1 of them."""
    none = np.zeros(4, np.int64)
    held, speedups = on((0, 3), (1, 1), (2, 2), (3, 2)), Speedups(np.array([4, 8]), np.array([1.0, 2.0]))
    for segment, expected in ((1, {0: 3, 3: 1}), (4, {2: 2, 3: 2})):
        demand = Demand(8, min_gpus=4, max_gpus=8, step=4, segment=segment)
        view = SimpleNamespace(demand=lambda job, demand=demand: demand, cluster=CLUSTER)
        now = Round(view, None, Free(CLUSTER, none, none, none), -1)
        after = Pollux()._shrunk(now, Candidate(0, "", held, speedups), held, 4)
        assert after.gpu_map() == expected
