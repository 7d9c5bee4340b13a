"""Placement choosers on a cluster small enough to be drawn: 2 racks x 2 machines x 4 GPUs."""

import numpy as np
import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.placement import CHOOSERS, Consolidate, chooser_of
from artist.policies.parts.placer import Packing, placer_of
from artist.testing.tiny import on, tiny_cluster

CLUSTER = tiny_cluster(4, 4, per_rack=2)  # m0, m1 | m2, m3


def free(*gpus, cluster=CLUSTER, accepts=None):
    n = len(cluster)
    return Free(cluster, np.array(gpus), np.zeros(n, np.int64), np.zeros(n, np.int64), accepts)


def where(name, gpus_free, need, cluster=CLUSTER, **demand):
    """Return the chosen GPUs by machine, None for a refusal."""
    return chooser_of(name, seed=1).choose(free(*gpus_free, cluster=cluster), Demand(need, **demand))


@pytest.mark.parametrize(
    ("name", "gpus_free", "need", "expected"),
    [
        # first fit: the first machine that fits, although m1 fits more tightly; else in order
        ("first_fit", (4, 2, 0, 3), 2, {0: 2}),
        ("first_fit", (1, 2, 0, 3), 5, {0: 1, 1: 2, 3: 2}),
        # best fit: the tightest machine; else the emptiest ones, wherever they are
        ("best_fit", (4, 2, 0, 3), 2, {1: 2}),
        ("best_fit", (1, 2, 0, 3), 5, {1: 2, 3: 3}),
        # worker by worker: by default of one GPU, on machines in use first, the fullest of them; m0 is empty
        ("best_fit_workers", (4, 2, 0, 3), 3, {1: 2, 3: 1}),
        ("best_fit_workers", (4, 1, 0, 0), 4, {1: 1, 0: 3}),
        ("best_fit_workers", (1, 1, 0, 0), 3, None),
        # one machine or nothing; a demand of 8 needs two whole ones, in one rack if there is one
        ("consolidate_machine", (3, 3, 3, 3), 4, None),
        ("consolidate_machine", (4, 2, 3, 3), 3, {2: 3}),
        ("consolidate_machine", (4, 3, 4, 4), 8, {2: 4, 3: 4}),
        ("consolidate_machine", (4, 3, 4, 3), 8, {0: 4, 2: 4}),
        ("consolidate_machine", (4, 3, 3, 3), 8, None),
        # one rack: the fewest machines, then the rack with fewer free GPUs; never over racks if a rack can do
        ("consolidate_rack", (2, 2, 3, 3), 4, {0: 2, 1: 2}),
        ("consolidate_rack", (2, 1, 2, 1), 4, None),
        ("consolidate_rack", (4, 3, 4, 3), 9, {0: 4, 1: 3, 3: 2}),
        # anywhere: the fewest racks, then the fewest machines
        ("consolidate", (2, 1, 2, 1), 4, {0: 2, 1: 1, 3: 1}),
        ("consolidate", (1, 3, 2, 1), 4, {0: 1, 1: 3}),
        ("consolidate", (0, 0, 0, 3), 4, None),
        # spread: the fullest of free GPUs first, so 4, 3, 1 -> 3, 3, 1 -> 2, 3, 1 -> 2, 2, 1
        ("spread", (4, 3, 1, 0), 3, {0: 2, 1: 1}),
        ("spread", (4, 0, 4, 0), 8, {0: 4, 2: 4}),
        ("spread", (1, 1, 0, 0), 3, None),
    ],
)
def test_each_placement_policy_selects_its_machines(name, gpus_free, need, expected):
    """One line per rule of the choosers; GPUs free on m0, m1 | m2, m3."""
    assert where(name, gpus_free, need) == expected


def test_random_is_seeded_and_uses_all_free_gpus():
    """The same seed chooses the same machines; a spread job gets all it needs."""
    assert where("random", (4, 4, 4, 4), 3) == where("random", (4, 4, 4, 4), 3)
    chosen = where("random", (2, 2, 2, 2), 7)
    assert chosen is not None
    assert sum(chosen.values()) == 7


def test_no_more_machines_than_the_job_allows():
    """5 GPUs in order lie on three machines; a job that allows two gets the emptiest two; 6 fit on no two."""
    assert where("first_fit", (1, 2, 0, 3), 5, max_machines=2) == {1: 2, 3: 3}
    assert where("first_fit", (1, 2, 0, 3), 6, max_machines=2) is None


def test_the_last_of_the_fewest_racks_is_the_tightest():
    """3, 2, 4, 2 GPUs are free in racks of one machine; 6 are 4 and 2, of the first rack with two."""
    assert where("consolidate", (3, 2, 4, 2), 6, tiny_cluster(4, 4, per_rack=1)) == {1: 2, 2: 4}


def test_ties_of_racks_go_to_the_one_with_fewest_free_gpus():
    """4, 4, 2 | 4, 3, 0 | 2, 2, 4 are free: 7 GPUs lie on two machines of the first or the second rack.

    10 GPUs are free in the first, 7 in the second, 8 in the third, which has 7 on three machines only.
    """
    racks = tiny_cluster(9, 4, per_rack=3)
    assert where("consolidate", (4, 4, 2, 4, 3, 0, 2, 2, 4), 7, racks) == {3: 4, 4: 3}


def test_few_machines_do_not_widen_a_rack():
    """2, 1, 1 | 2, 1, 0 are free, 4 GPUs: rack 0 has them on three machines; 2 + 2 on two lie in two racks.

    Each rack of three machines of 4 GPUs could hold the job on two (8), so a job that allows two waits. Racks
    of 1, 1, 1, 1 | 2 | 2 never hold it on two (2 at most), so there it takes 2 + 2 over racks.
    """
    racks = tiny_cluster(6, 4, per_rack=3)
    assert where("consolidate_rack", (2, 1, 1, 2, 1, 0), 4, racks) == {0: 2, 1: 1, 2: 1}
    assert where("consolidate_rack", (2, 1, 1, 2, 1, 0), 4, racks, max_machines=2) is None
    assert where("consolidate", (2, 1, 1, 2, 1, 0), 4, racks, max_machines=2) == {0: 2, 3: 2}
    sizes = ((0, 1), (0, 1), (0, 1), (0, 1), (1, 2), (2, 2))
    uneven = Cluster([Machine(f"m{i}", rack, "box", gpus) for i, (rack, gpus) in enumerate(sizes)])
    assert where("consolidate_rack", (1, 1, 1, 1, 2, 2), 4, uneven, max_machines=2) == {4: 2, 5: 2}


def test_the_fewest_machines_of_unequal_size():
    """Sizes 8, 4, 4: a demand of 16 takes all three at best, not ceil(16 / 8) = 2: not refused for ever."""
    cluster = Cluster([Machine(f"m{i}", 0, f"t{g}", g) for i, g in enumerate((8, 4, 4))])
    assert where("consolidate_machine", (8, 4, 4), 16, cluster) == {0: 8, 1: 4, 2: 4}


def test_an_elastic_job_accepts_the_size_of_the_cluster():
    """It asks for 20 of at least 10 in steps of 5; the cluster has 16: 15."""
    chosen = where("first_fit", (4, 4, 4, 4), 20, min_gpus=10, max_gpus=20, step=5)
    assert chosen == {0: 4, 1: 4, 2: 4, 3: 3}


MIXED = Cluster(
    [
        Machine("v", 0, "v", 4, gpu_type="V100"),
        Machine("t0", 0, "t", 2, gpu_type="T4", speed=0.5),
        Machine("t1", 0, "t", 2, gpu_type="T4", speed=0.5),
    ]
)


def test_one_gpu_type_unless_a_mix_is_allowed():
    """Free: 1 V100 and 2 + 1 T4. 3 GPUs: the T4s; 4 GPUs: none without a mix."""
    assert where("consolidate", (1, 2, 1), 3, MIXED) == {1: 2, 2: 1}
    assert where("consolidate", (1, 2, 1), 4, MIXED) is None
    assert where("consolidate", (1, 2, 1), 4, MIXED, mixed_types=True) == {0: 1, 1: 2, 2: 1}


def test_a_fungible_job_takes_more_of_the_slower_gpus():
    """2 reference GPUs are 4 T4 of half the speed."""
    assert where("consolidate", (1, 2, 2), 2, MIXED, fungible=True) == {1: 2, 2: 2}


@pytest.mark.parametrize("name", sorted(CHOOSERS))
def test_only_the_machines_that_may_serve(name):
    """Of m0, m1 | m2, m3 only m1 and m3 may (bits 1 and 3): 8 GPUs if all 4 of each are free, never 9.

    With 4, 1, 4, 3 free one worker of two GPUs goes to m3, whatever the rule: only there is room.
    """
    choose, among = chooser_of(name, seed=1).choose, 0b1010
    assert choose(free(4, 4, 4, 4), Demand(8), among) == {1: 4, 3: 4}
    assert choose(free(4, 4, 4, 4), Demand(9), among) is None
    assert choose(free(4, 1, 4, 3), Demand(2, step=2), among) == {3: 2}


def test_an_elastic_job_accepts_the_gpus_of_allowed_machines():
    """It asks for 8 of at least 2 in steps of 2; m1, which alone may serve, has 4."""
    demand = Demand(8, min_gpus=2, max_gpus=8, step=2)
    assert chooser_of("first_fit").choose(free(4, 4, 4, 4), demand, 0b0010) == {1: 4}


def test_what_counts_as_one_machine_depends_on_the_type():
    """3 T4s cannot lie on one machine of 2, so two machines are as few as can be: not refused for ever."""
    assert where("consolidate_machine", (0, 2, 2), 3, MIXED) == {1: 2, 2: 1}


def test_allowed_types_only():
    """T4 is free, V100 asked for."""
    assert where("first_fit", (1, 2, 2), 2, MIXED, gpu_types=("V100",)) is None


def test_packing_takes_and_remembers_refusals():
    """After 4 GPUs are taken from m0 nothing holds another 4; the chooser is asked once for it."""

    class Counting(Consolidate):
        asked = 0

        def choose(self, free, demand, among):
            self.asked += 1
            return super().choose(free, demand, among)

    counting = Counting("machine")
    placer = placer_of(counting, "proportional")
    packing = Packing(free(4, 3, 3, 0))
    demand = Demand(4)
    assert packing.place(demand, placer) == on((0, 4))
    assert [packing.place(demand, placer) for _ in range(3)] == [None, None, None]
    assert counting.asked == 2
    assert packing.free.total_gpus == 6


def test_nothing_comes_free_on_a_closed_machine():
    """Giving back on m0, which is leaving, frees nothing for others."""
    scratch = free(0, 2, 0, 0, accepts=np.array([False, True, True, True]))
    scratch.give(on((0, 2), (1, 1)))
    assert scratch.gpus.tolist() == [0, 3, 0, 0]
    assert scratch.total_gpus == 3


@pytest.mark.parametrize(
    ("gpus_free", "need", "expected", "demand"),
    [
        ((4, 3, 3, 2), 4, {3: 2, 1: 2}, {"step": 2}),  # m3 is full then; m1 has 3, as m2
        ((4, 1, 1, 1), 4, {0: 4}, {"step": 2}),  # one GPU is no room for a worker of two
        ((3, 3, 3, 3), 10, None, {"step": 2}),  # room for four workers, though 12 GPUs are free
        ((3, 3, 3, 3), 7, {0: 3, 1: 2, 2: 2}, {"step": 2}),  # the last has one
        ((4, 4, 0, 0), 8, {0: 4, 1: 4}, {"step": 8}),  # no worker is larger than a machine
        ((4, 2, 2, 0), 4, {0: 4}, {"step": 2, "max_machines": 1}),  # the fewest machines, if it must be few
        ((2, 2, 2, 0), 4, None, {"step": 2, "max_machines": 1}),
    ],
)
def test_each_worker_is_placed_on_one_machine(gpus_free, need, expected, demand):
    """Each worker goes to one machine, in use if possible; the last one may be smaller."""
    assert where("best_fit_workers", gpus_free, need, **demand) == expected


def test_a_machine_in_use_goes_before_an_empty_one_that_is_smaller():
    """M0 has 2 GPUs, both free; m1 3 of 4: a worker of two fits m0 better, but m1 is in use."""
    cluster = Cluster([Machine("m0", 0, "box", 2), Machine("m1", 0, "box", 4)])
    assert where("best_fit_workers", (2, 3), 2, cluster, step=2) == {1: 2}


@pytest.mark.parametrize("fill", ["proportional", "as_asked"])
def test_a_job_that_asks_for_cpus_waits_where_cpu_jobs_have_left_none(fill):
    """Machine 0 has 1 GPU and no CPU free, machine 1 has 2 of both: one GPU is found on machine 1.

    With 2 GPUs and no CPU on 0, and 1 GPU on 1, two are found only by a job that asks for no CPUs.
    """
    placer = placer_of("best_fit", fill)
    free = Free(tiny_cluster(2, 4, cpus=8), [1, 2], [0, 2], [0, 0])
    assert [s.machine for s in placer.place(free, Demand(1, cpus=1)).slices] == [1]
    free = Free(tiny_cluster(2, 4, cpus=8), [2, 1], [0, 2], [0, 0])
    assert placer.place(free, Demand(2, cpus=1)) is None
    assert [s.machine for s in placer.place(free, Demand(2)).slices] == [0]


def test_machines_without_cpu_counts_limit_no_job():
    """A job that asks for a CPU starts on a machine of 4 GPUs and no CPUs."""
    placer = placer_of("best_fit", "proportional")
    assert placer.place(Free(tiny_cluster(1, 4), [2], [0], [0]), Demand(2, cpus=1)) is not None
