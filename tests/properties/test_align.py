"""Alignment with racks, for any placement policy and any state: valid, and never more groups split."""

import numpy as np
import pytest

from artist.core.buckets import set_of
from artist.core.cluster import Cluster, Machine
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.placement import CHOOSERS
from artist.policies.parts.placer import placer_of


def drawn(rng):
    """Return free GPUs, a demand with a plan, and machines that may serve."""
    racks = np.sort(rng.integers(0, 4, rng.integers(3, 14)))
    types = rng.choice(["old", "new"], 4) if rng.random() < 0.3 else ["gpu"] * 4
    machines = [
        Machine(f"m{i}", int(rack), "box", int(rng.choice([4, 8])), str(types[rack]))
        for i, rack in enumerate(racks)
    ]
    cluster = Cluster(machines)
    sizes = np.array([machine.gpus for machine in machines])
    gpus = np.where(rng.random(len(sizes)) < 0.5, sizes, rng.integers(0, sizes + 1))
    none = np.zeros(len(sizes), np.int64)
    accepts = rng.random(len(sizes)) < 0.9
    free = Free(cluster, gpus * accepts, none, none, accepts)
    unit, stages = int(rng.choice([1, 2, 4])), int(rng.choice([1, 2, 3]))
    replica = unit * stages * int(rng.choice([1, 2]))
    asked = replica * int(rng.integers(1, 5))
    segment = replica if rng.random() < 0.15 else 1
    elastic = {"min_gpus": replica, "max_gpus": asked, "step": replica} if rng.random() < 0.3 else {}
    limit = int(rng.choice([0, 0, 0, 4, 6]))
    demand = Demand(
        asked,
        unit=unit,
        segment=segment,
        max_machines=limit,
        pipeline_stages=stages,
        replica_gpus=replica,
        **elastic,
    )
    among = -1 if rng.random() < 0.7 else set_of(np.flatnonzero(rng.random(len(sizes)) < 0.8).tolist())
    return free, demand, among


@pytest.mark.parametrize("name", CHOOSERS)
def test_a_placement_is_valid_and_splits_no_more_groups_than_the_policys_own(name):
    """600 states: free GPUs, units, segments, limits and one GPU type are kept, and some placements gain."""
    rng, better = np.random.default_rng(41), 0
    for state in range(600):
        free, demand, among = drawn(rng)
        align, split = ("stages", "replicas")[state % 2], ("packed", "even")[state // 2 % 2]
        placer = placer_of(name, "proportional", state, split, align)
        own = placer_of(name, "proportional", state, split).place(free, demand, among)
        placed = placer.place(free, demand, among)
        assert (own is None) == (placed is None)
        if own is None:
            continue
        gpus, cluster = placed.gpu_map(), free.cluster
        assert sum(gpus.values()) == own.gpus
        assert all(0 < count <= free.gpus[m] and among >> m & 1 for m, count in gpus.items())
        assert demand.is_whole(gpus, cluster.rack_of)
        assert len(gpus) <= (demand.max_machines or len(gpus))
        assert len({cluster.machines[m].gpu_type for m in gpus}) == 1
        splits = [placer.split(demand, cluster, one.gpu_map()) for one in (placed, own)]
        assert splits[0] <= splits[1]
        assert splits[0] < splits[1] or placed == own
        better += splits[0] < splits[1]
    assert better > (0 if name in ("consolidate_machine", "consolidate_rack") else 10), better


def test_the_fewest_stages_are_split_that_free_racks_allow():
    """Machines of one unit: racks with n1, n2, ... free stages hold min(n, n1 + n2 + ...) whole."""
    rng = np.random.default_rng(42)
    for _ in range(300):
        racks = np.sort(rng.integers(0, 4, rng.integers(3, 14)))
        cluster = Cluster([Machine(f"m{i}", int(rack), "box", 4) for i, rack in enumerate(racks)])
        gpus = np.where(rng.random(len(racks)) < 0.7, 4, 0)
        none = np.zeros(len(racks), np.int64)
        stages, size = int(rng.integers(2, 4)), 4 * int(rng.integers(1, 4))
        free = Free(cluster, gpus, none, none)
        demand = Demand(stages * size, unit=4, pipeline_stages=stages, replica_gpus=4 * stages)
        if demand.gpus > free.total_gpus:
            continue
        whole = np.bincount(racks, gpus).astype(int) // size
        for name in ("first_fit", "best_fit", "consolidate", "spread", "random"):
            placer = placer_of(name, "proportional", align="stages")
            placed = placer.place(free, demand).gpu_map()
            assert placer.split(demand, cluster, placed) == stages - min(stages, whole.sum())
