"""History, and what follows from it: machines of the 4-GPU sub-array, and reserved CPUs."""

import pytest

from artist.core.buckets import ALL
from artist.core.cluster import Cluster, Machine
from artist.policies.coda.arrays import Arrays, History
from artist.testing.tiny import tiny_cluster

MIXED = Cluster(
    [
        Machine("none", 0, "cpus", 0, cpus=32),
        Machine("two", 0, "small", 2, cpus=6),
        Machine("five", 0, "big", 5, cpus=28),
    ]
)


def arrays_of(cluster, large_machines=None, reserve_per_gpu=None, **parameters):
    """Return arrays that look at history every 100 ns."""
    return Arrays(cluster, large_machines, reserve_per_gpu, 100, **parameters)


def test_cpus_a_gpu_are_the_mean_over_time():
    """Before any: 4. 2 GPUs with 4 CPUs for 30 ns, 1 more with 8 for 10 ns: (30 x 4 + 10 x 8) / 70."""
    history = History()
    history.advance(10)
    assert history.cpus_per_gpu == 4
    history.hold(2, 4, large=False)
    history.advance(30)
    history.hold(1, 8, large=False)
    history.advance(40)
    assert history.cpus_per_gpu == pytest.approx((30 * 4 + 10 * 8) / (30 * 2 + 10))


def test_the_peak_is_of_large_jobs_at_one_time():
    """4, then 4 + 8 = 12, then 8, then 8 + 2: the peak is 12; jobs that are not large do not count."""
    history = History()
    for gpus, large in ((4, True), (5, False), (8, True), (-4, True), (2, True)):
        history.hold(gpus, 0, large=large)
    assert history.large_peak == 12


@pytest.mark.parametrize(("peak", "large"), [(0, 0), (1, 0b010), (2, 0b010), (3, 0b110), (99, 0b110)])
def test_whole_machines_with_gpus_hold_the_peak_the_lowest_numbers_first(peak, large):
    """Machine 0 has no GPUs, 1 has 2, 2 has 5: three GPUs take both."""
    arrays = arrays_of(MIXED)
    arrays.history.hold(peak, 0, large=True)
    arrays.review(0)
    assert (arrays.large, arrays.small) == (large, 0b111 & ~large if large else ALL)


@pytest.mark.parametrize(("machines", "large"), [(0, 0), (1, 0b010), (2, 0b110), (9, 0b110)])
def test_a_fixed_number_of_machines_overrides_history(machines, large):
    """History does not count then."""
    arrays = arrays_of(MIXED, large_machines=machines)
    arrays.history.hold(7, 0, large=True)
    arrays.review(0)
    assert arrays.large == large


@pytest.mark.parametrize(("per_gpu", "reserve"), [(None, [0, 6, 20]), (2.5, [0, 5, 13]), (0, [0, 0, 0])])
def test_reserves_are_rounded_up_and_no_more_than_there_is(per_gpu, reserve):
    """4 x 2 of 6, and 4 x 5 of 28; 2.5 x 2 = 5 and 2.5 x 5 = 12.5."""
    arrays = arrays_of(MIXED, reserve_per_gpu=per_gpu)
    arrays.review(0)
    assert arrays.reserve.tolist() == reserve


def test_history_is_looked_at_once_in_a_while():
    """At 0, then at the first call from 100 on, then from 200 on: what changed by 250 counts at 310."""
    arrays = arrays_of(tiny_cluster(2, 4, cpus=16))
    assert arrays.review(0)
    arrays.history.hold(4, 8, large=True)
    arrays.history.advance(99)
    assert not arrays.review(99)
    assert arrays.review(150)
    assert (arrays.large, arrays.reserve.tolist()) == (1, [8, 8])
    arrays.history.hold(4, 8, large=True)
    assert not arrays.review(199)
    assert arrays.review(310)
    assert arrays.large == 3
    assert [name for _, name, _ in arrays.series] == 3 * [
        "machines of the 4-GPU sub-array",
        "CPUs reserved a GPU",
    ]
    assert not arrays.review(400)


def test_without_arrays_all_share_all():
    """No sub-array and no reserve, whatever was held."""
    arrays = arrays_of(tiny_cluster(2, 4, cpus=16), divided=False)
    arrays.history.hold(8, 8, large=True)
    assert not arrays.review(500)
    assert (arrays.preferred(large=True), arrays.reserve.tolist()) == ([ALL], [0, 0])


def test_jobs_prefer_their_own_sub_array():
    """One of two machines is for large jobs; where a sub-array is empty there is but the other."""
    arrays = arrays_of(tiny_cluster(2, 4, cpus=16), large_machines=1)
    arrays.review(0)
    assert (arrays.preferred(large=True), arrays.preferred(large=False)) == ([0b01, 0b10], [0b10, 0b01])
    arrays = arrays_of(tiny_cluster(2, 4, cpus=16), large_machines=2)
    arrays.review(0)
    assert arrays.preferred(large=False) == [0b11]
