"""Other places for a job on several machines: whatever is free, they fit, and are no farther apart."""

import random
from types import SimpleNamespace

from artist.core.cluster import Allocation, Slice
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.plan import Plan
from artist.policies.network_aware.alternatives import Alternatives
from artist.policies.parts.locality import span
from artist.testing.tiny import on, tiny_cluster


def view_of(cluster, gpus, demand, held=None):
    """Return the view of a cluster with these free GPUs by machine, on which one job is to start."""
    free = Free(cluster, gpus, [2 * gpu for gpu in gpus], gpus)
    return SimpleNamespace(
        cluster=cluster,
        free=lambda: free,
        allocation=lambda job: held,
        pools=["default"] * len(cluster),
        in_pool=lambda name: (1 << len(cluster)) - 1,
        demand=lambda job: demand,
        jobs_on=lambda machine: (),
    )


def test_all_fit_and_none_is_farther_apart():
    """500 random states of up to four racks: each place once, never the one chosen, with the same amounts."""
    rng, result = random.Random(3), 0
    for _ in range(500):
        per_rack = rng.randint(1, 3)
        cluster = tiny_cluster(n := rng.randint(2, 10), 4, per_rack=per_rack)
        gpus = [rng.randint(0, 4) for _ in range(n)]
        there = [m for m in range(n) if gpus[m]]
        taken = sorted(rng.sample(there, min(len(there), rng.randint(2, 4))))
        if len(taken) < 2:
            continue
        chosen = Allocation(tuple(Slice(m, k := rng.randint(1, gpus[m]), k, k) for m in taken))
        plan = Plan({0: chosen}, {})
        view = view_of(cluster, gpus, Demand(chosen.gpus))
        places = Alternatives(view, plan, {0: chosen}).of(0, chosen, 10)
        maps = [value.gpu_map() for value in (chosen, *places)]
        assert all(map not in maps[:i] for i, map in enumerate(maps))
        for place in places:
            assert (place.gpus, place.cpus) == (chosen.gpus, chosen.cpus)
            assert all(s.gpus <= gpus[s.machine] and s.cpus <= 2 * gpus[s.machine] for s in place.slices)
            assert span(place, cluster) <= span(chosen, cluster)
        result += len(places)
    assert result > 500


def test_elastic_workers_stay_whole_and_machines_are_no_more_than_allowed():
    """2 + 2 GPUs of workers of 2: not 1 + 3, and with at most 2 machines not 2 + 1 + 1."""
    cluster = tiny_cluster(5, 4, per_rack=8)
    chosen = on((0, 2), (1, 2))
    worker = Demand(4, min_gpus=2, max_gpus=4, step=2)
    for demand, third in ((worker, 2), (Demand(4, max_machines=2), 3)):
        view = view_of(cluster, [2, 2, third, 2, 1], demand)
        places = Alternatives(view, Plan({0: chosen}, {}), {0: chosen}).of(0, chosen, 10)
        assert places
        for place in places:
            assert len(place.slices) <= 2
            assert demand is not worker or all(s.gpus % 2 == 0 for s in place.slices)


def test_units_and_segments_stay_whole():
    """4 + 4 + 4 GPUs in units of 2 and segments of 4: other places, and none is a part of either.

    3 + 1 in one rack and 4 in another are 3 + 3 + 2 if split evenly, 6 and 2 by rack: no such place.
    """
    cluster = tiny_cluster(8, 4, per_rack=2)
    chosen, demand = on((0, 4), (1, 4), (2, 4)), Demand(12, unit=2, segment=4)
    places = Alternatives(
        view_of(cluster, [4, 4, 4, 3, 4, 4, 3, 3], demand), Plan({0: chosen}, {}), {0: chosen}
    )
    others = places.of(0, chosen, 10)
    assert others
    for place in others:
        assert demand.is_whole(place.gpu_map(), cluster.rack_of)
    chosen = on((0, 3), (1, 1), (2, 4))
    for segment, expected in ((1, [{0: 3, 1: 3, 2: 2}]), (4, [])):
        view = view_of(cluster, [4, 4, 4, 0, 0, 0, 0, 0], Demand(8, segment=segment))
        places = Alternatives(view, Plan({0: chosen}, {}), {0: chosen})
        assert [place.gpu_map() for place in places.even(0, chosen, chosen)] == expected


def test_a_job_that_moves_is_not_offered_its_allocation():
    """It moves from m2 and m3 to m0 and m1: to stay is not another place."""
    cluster = tiny_cluster(4, 2, per_rack=8)
    before, chosen = on((2, 2), (3, 2)), on((0, 2), (1, 2))
    view = view_of(cluster, [2, 2, 0, 0], Demand(4), before)
    places = Alternatives(view, Plan({0: chosen}, {}), {0: chosen}).of(0, chosen, 10)
    assert before.gpu_map() not in [place.gpu_map() for place in places]
    assert {0: 2, 2: 2} in [place.gpu_map() for place in places]
