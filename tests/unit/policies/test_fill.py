"""CPUs and memory that come with GPUs: machines of 4 GPUs, 28 CPUs and 80 bytes, if nothing else is said."""

import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.parts.fill import FILLS, Fill
from artist.policies.parts.placement import CHOOSERS
from artist.policies.parts.placer import placer_of
from artist.testing.tiny import on, tiny_cluster

CLUSTER = tiny_cluster(2, 4, cpus=28, memory_bytes=80)
AS_ASKED, PROPORTIONAL = FILLS["as_asked"], FILLS["proportional"]


def free(gpus, cpus, memory=(80, 80), cluster=CLUSTER):
    return Free(cluster, gpus, cpus, memory)


def test_in_proportion_to_gpus_as_far_as_free():
    """One of 4 GPUs brings 28 / 4 = 7 CPUs and 80 / 4 = 20 bytes, whatever is asked; or the 3 and 10 left."""
    demand = Demand(1, cpus=20, memory_bytes=5)
    assert PROPORTIONAL.fill(free((4, 4), (28, 28)), demand, {0: 1}) == on((0, 1, 7, 20))
    assert PROPORTIONAL.fill(free((4, 4), (3, 28), (10, 80)), demand, {0: 1}) == on((0, 1, 3, 10))


def test_exactly_the_demand_is_given():
    """One GPU with 20 of 28 CPUs and 5 bytes; with 19 CPUs free it does not fit, nor with 4 bytes."""
    demand = Demand(1, cpus=20, memory_bytes=5)
    assert AS_ASKED.fill(free((4, 4), (20, 28), (5, 80)), demand, {0: 1}) == on((0, 1, 20, 5))
    assert AS_ASKED.fill(free((4, 4), (19, 28)), demand, {0: 1}) is None
    assert AS_ASKED.fill(free((4, 4), (28, 28), (4, 80)), demand, {0: 1}) is None


def test_the_demand_is_divided_by_gpus():
    """10 CPUs over 3 + 1 GPUs are 7.5 + 2.5, so 7 + 3; 8 bytes are 6 + 2. The sums are what is asked."""
    demand = Demand(4, cpus=10, memory_bytes=8)
    assert AS_ASKED.fill(free((4, 4), (28, 28)), demand, {0: 3, 1: 1}) == on((0, 3, 7, 6), (1, 1, 3, 2))


def test_unspecified_resources_are_given_in_proportion():
    """2 of 4 GPUs: 28 / 2 = 14 CPUs if only memory is asked, 80 / 2 = 40 bytes if only CPUs are."""
    assert AS_ASKED.fill(free((4, 4), (28, 28)), Demand(2, memory_bytes=9), {0: 2}) == on((0, 2, 14, 9))
    assert AS_ASKED.fill(free((4, 4), (28, 28)), Demand(2, cpus=9), {0: 2}) == on((0, 2, 9, 40))


@pytest.mark.parametrize("name", sorted(CHOOSERS))
def test_a_job_goes_where_its_cpus_are(name):
    """m0 has 1 GPU and 7 CPUs free, m1 4 and 28: one GPU with 20 CPUs goes to m1, although m0 is tighter."""
    placer, demand = placer_of(name, "as_asked", seed=1), Demand(1, cpus=20)
    assert placer.place(free((1, 4), (7, 28)), demand) == on((1, 1, 20, 20))
    assert placer.place(free((4, 4), (19, 19)), demand) is None
    assert placer.place(free((4, 4), (28, 28), (80, 4)), Demand(1, memory_bytes=20)) == on((0, 1, 7, 20))


@pytest.mark.parametrize("name", sorted(CHOOSERS))
def test_a_job_takes_gpus_of_a_machine_up_to_its_cpus(name):
    """4 GPUs with 40 CPUs are 10 a GPU: 14 and 28 free CPUs are good for 1 and 2 GPUs, 20 and 28 for 2 and 2.

    An empty machine has CPUs for 2 of its 4 GPUs, so two machines are as few as can be: nobody waits for one.
    """
    placer, demand = placer_of(name, "as_asked", seed=1), Demand(4, cpus=40)
    assert placer.place(free((4, 4), (14, 28)), demand) is None
    assert placer.place(free((4, 4), (20, 28)), demand) == on((0, 2, 20, 40), (1, 2, 20, 40))


def test_a_machine_without_enough_cpus_offers_no_gpus():
    """3 GPUs with 30 CPUs are 10 a GPU: 9 and 29 free CPUs are good for 0 and 2 of them, 10 and 29 for 3."""
    demand = Demand(3, cpus=30)
    assert AS_ASKED.room(free((4, 4), (9, 29)), demand) is None
    room = AS_ASKED.room(free((4, 4), (10, 29)), demand)
    assert (room.gpus.tolist(), room.cpus.tolist(), room.total_gpus) == ([1, 2], [10, 29], 3)
    assert (room.buckets.sets[:3], room.sizes.tolist()) == (
        [0, 0b01, 0b10],
        [2, 2],
    )  # 28 // 10


def test_a_fungible_job_divides_by_the_gpus_that_it_takes():
    """2 GPUs of speed 1, or 4 of speed 0.5, with 24 CPUs: 12 a fast GPU or 6 a slow one.

    The fast machine has 12 CPUs left, good for one of two; the slow one 24, good for all 4.
    """
    machines = [
        Machine("f", 0, "f", 4, gpu_type="F", cpus=24),
        Machine("s", 0, "s", 4, gpu_type="S", speed=0.5, cpus=24),
    ]
    demand = Demand(2, cpus=24, fungible=True)
    placer = placer_of("best_fit", "as_asked")
    assert placer.place(free((4, 4), (12, 24), (0, 0), Cluster(machines)), demand) == on((1, 4, 24))


def test_colocated_jobs_have_equal_parts_or_their_demands():
    """All 4 GPUs bring 28 CPUs and 80 bytes: 9 and 26 for each of three. As asked: 3 and 5 CPUs."""
    three, two = [Demand(4)] * 3, [Demand(4, cpus=3), Demand(4, cpus=5)]
    shares = PROPORTIONAL.shares(free((4, 4), (28, 28)), three, {0: 4})
    assert shares == (on((0, 4, 28, 80)), [on((0, 4, 9, 26))] * 3)
    shares = AS_ASKED.shares(free((4, 4), (8, 28), (0, 0)), two, {0: 4})
    assert shares == (on((0, 4, 8)), [on((0, 4, 3)), on((0, 4, 5))])
    assert AS_ASKED.shares(free((4, 4), (7, 28), (0, 0)), two, {0: 4}) is None


def test_a_fill_of_ones_own_defines_one_method():
    """Twice the share of each GPU: 14 CPUs for one of 4 GPUs; shared by two jobs, one after the other."""

    class Double(Fill):
        def fill(self, free, demand, gpus):
            ((machine, count),) = gpus.items()
            cpus = 14 * count
            return on((machine, count, cpus)) if cpus <= free.cpus[machine] else None

    placer = placer_of("first_fit", Double())
    assert placer.place(free((4, 4), (14, 28)), Demand(1)) == on((0, 1, 14))
    assert placer.place(free((4, 4), (13, 28)), Demand(1)) is None  # where the chooser says, or not at all
    shares = placer.fill.shares(free((4, 4), (28, 28)), [Demand(1)] * 2, {0: 1})
    assert shares == (on((0, 1, 28)), [on((0, 1, 14))] * 2)


def test_jobs_that_ask_for_nothing_have_their_share_whatever_the_fill():
    """As asked is then in proportion: alone, colocated, and when a colocated job has left, 7 CPUs to 28."""
    silent, where = Demand(4), {0: 4}
    for fill in (AS_ASKED, PROPORTIONAL):
        assert fill.fill(free((4, 4), (20, 28)), silent, where) == on((0, 4, 20, 80))
        assert fill.shares(free((4, 4), (28, 28)), [silent] * 2, where).parts == [on((0, 4, 14, 40))] * 2
        assert fill.refilled(free((0, 4), (21, 28)), silent, on((0, 4, 7, 80))) == on((0, 4, 28, 80))
    assert AS_ASKED.refilled(free((0, 4), (21, 28)), Demand(4, cpus=7), on((0, 4, 7, 80))) == on(
        (0, 4, 7, 80)
    )


def test_colocated_jobs_that_ask_for_nothing_divide_the_rest():
    """Of 28 CPUs one job asks for 8, so two others have 10 each; of 80 bytes, none asked, each has 26."""
    shares = AS_ASKED.shares(free((4, 4), (28, 28)), [Demand(4), Demand(4, cpus=8), Demand(4)], {0: 4})
    assert shares.parts == [on((0, 4, 10, 26)), on((0, 4, 8, 26)), on((0, 4, 10, 26))]
    assert shares.whole == on((0, 4, 28, 78))
