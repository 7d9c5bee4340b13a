"""Tune, job by job on machines of 4 GPUs, 12 CPUs and 120 bytes: a GPU's share is 3 CPUs and 30 bytes."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from synergy_program import ProgramTune

from artist.core.cluster import Allocation, Cluster, Machine
from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.synergy.needs import Need
from artist.policies.synergy.tune import Tune
from artist.testing.tiny import on, tiny_cluster
from tests.unit.policies.packings import Amounts, believed, need, packed, view, whole


def test_a_job_gets_its_best_case_where_there_is_room():
    """12 CPUs: 9 for the first, 3 are left for the second, which wants 2."""
    assert packed([(1, 9, 10), (1, 2, 100)]) == [((0, 1, 9, 10),), ((0, 1, 2, 100),)]


def test_one_that_does_not_fit_gets_the_lesser_of_best_case_and_share_in_each_dimension():
    """5 CPUs do not fit beside 9 of 12: it gets its share of 3; of memory its own 10, not its share of 30."""
    assert packed([(1, 7, 10), (1, 5, 10)])[1] == ((0, 1, 5, 10),)
    assert packed([(1, 9, 10), (1, 5, 10)])[1] == ((0, 1, 3, 10),)


def test_a_job_goes_where_its_share_is_free_before_others_make_room():
    """Machine 0 has fewer free GPUs, but no CPUs; machine 1 has 8, and the third wants 9: it gets 3 there."""
    assert packed([(2, 12, 10), (1, 4, 10), (1, 9, 10)], machines=2) == [
        ((0, 2, 12, 10),),
        ((1, 1, 4, 10),),
        ((1, 1, 3, 10),),
    ]


def test_a_job_that_needs_less_than_its_share_leaves_the_rest_to_others():
    """A job with a best case below its share takes no more when it has to go down: 1 CPU, not 3."""
    assert packed([(1, 1, 91), (1, 9, 10), (1, 1, 40)]) == [
        ((0, 1, 1, 30),),  # went down for the last one's 30 bytes: it had 91 of 120
        ((0, 1, 9, 10),),
        ((0, 1, 1, 30),),
    ]


def test_jobs_that_hold_more_than_their_share_make_room_all_the_way():
    """No CPU is left for the third, which needs 3: the first goes from 11 to 3, not to 9."""
    assert packed([(1, 11, 10), (1, 1, 10), (1, 9, 10)]) == [
        ((0, 1, 3, 10),),
        ((0, 1, 1, 10),),
        ((0, 1, 3, 10),),
    ]


def test_the_smallest_set_makes_room():
    """6 CPUs for 2 GPUs: 8 - 3 = 5 of the first are too few alone, 4 - 3 = 1 of the second makes 6."""
    assert packed([(1, 8, 10), (1, 4, 10), (2, 24, 10)]) == [
        ((0, 1, 3, 10),),
        ((0, 1, 3, 10),),
        ((0, 2, 6, 10),),
    ]


def test_ties_of_sets_go_to_the_one_with_most_cpus_per_gpu():
    """3 CPUs are lacking, and each of two jobs could give them; the one with 6 CPUs stays as it is."""
    assert packed([(1, 6, 10), (1, 6, 40), (1, 3, 10)])[:2] == [((0, 1, 6, 10),), ((0, 1, 3, 30),)]
    one_is_lacking = packed([(2, 7, 10), (1, 5, 10), (1, 1, 10)])
    assert one_is_lacking[:2] == [((0, 2, 7, 10),), ((0, 1, 3, 10),)]  # 3.5 and 5 a GPU


def test_a_job_with_little_of_the_lacking_resource_keeps_it():
    """30 bytes are lacking: the first has most CPUs but 10 bytes to give; the second gives 50 of its 80."""
    jobs: list[Amounts] = [(1, 9, 40), (1, 2, 80), (1, 1, 30)]
    assert packed(jobs)[:2] == [((0, 1, 9, 40),), ((0, 1, 2, 30),)]
    in_order = packed(jobs, mechanism=ProgramTune(by_gpus=False))
    assert in_order[:2] == [((0, 1, 3, 30),), ((0, 1, 2, 30),)]


def test_in_order_stops_once_there_is_room():
    """The first alone gives 8 CPUs of the 3 that are lacking, so the second keeps its 4 bytes too many."""
    jobs: list[Amounts] = [(1, 11, 10), (1, 1, 34), (1, 3, 10)]
    assert packed(jobs, mechanism=ProgramTune(by_gpus=False))[1] == ((0, 1, 1, 34),)


def test_a_job_on_several_machines_goes_down_on_all_of_them():
    """It has 12 + 8 CPUs on 3 + 2 GPUs; the newcomer lacks 3 on machine 0, and machine 1 is freed, too."""
    assert packed([(5, 20, 50), need(1, (1, 3, 10), among=0b01)], machines=2) == [
        ((0, 3, 9, 30), (1, 2, 6, 20)),
        ((0, 1, 3, 10),),
    ]


def test_jobs_on_fewer_machines_make_room_first():
    """1 CPU is lacking: 4 - 3 of a job on one machine, though an earlier one on two has 4 a GPU, too."""
    jobs = [need(0, (5, 20, 50)), need(1, (1, 4, 10)), need(2, (1, 1, 10), among=0b10)]
    assert packed(jobs, machines=2) == [
        ((0, 3, 12, 30), (1, 2, 8, 20)),
        ((1, 1, 3, 10),),
        ((1, 1, 1, 10),),
    ]


def test_the_least_free_machine_is_the_one_with_the_fewest_gpus_then_cpus_then_memory():
    """Each line leaves two machines that differ in one thing; the last job goes to the scarcer one."""
    by_gpus: list[Amounts] = [(4, 4, 40), (3, 3, 30), (2, 2, 20), (1, 1, 10)]
    assert packed(by_gpus, machines=3)[3] == ((1, 1, 1, 10),)
    by_cpus: list[Amounts] = [(3, 3, 30), (3, 6, 30), (1, 1, 10)]
    assert packed(by_cpus, machines=2)[2] == ((1, 1, 1, 10),)
    by_memory: list[Amounts] = [(3, 3, 30), (3, 3, 60), (1, 1, 10)]
    assert packed(by_memory, machines=2)[2] == ((1, 1, 1, 10),)
    only_gpus = ProgramTune(in_order=False)
    assert packed(by_cpus, 2, only_gpus)[2] == packed(by_memory, 2, only_gpus)[2] == ((0, 1, 1, 10),)


def test_ties_of_free_machines_keep_a_job_in_place():
    """Machine 1 is as free as machine 0; a job that holds both, or a freer one, goes by the number."""
    assert packed([(1, 1, 1)], 2, held={0: on((1, 1))}) == [((1, 1, 1, 1),)]
    assert packed([(1, 1, 1)], 2, held={0: on((0, 1), (1, 1))}) == [((0, 1, 1, 1),)]
    assert packed([(2, 1, 1), (1, 1, 1)], 2, held={1: on((1, 1))})[1] == ((0, 1, 1, 1),)
    fewer_cpus_on_1: list[Amounts] = [(3, 3, 30), (3, 6, 30), (1, 1, 10)]
    assert packed(fewer_cpus_on_1, 2, held={2: on((0, 1))})[2] == ((1, 1, 1, 10),)
    assert packed([(1, 1, 1)], 2, ProgramTune(in_order=False, hand_out=True), held={0: on((1, 1))}) == [
        ((0, 1, 1, 1),)
    ]


def test_a_job_goes_to_the_fewest_machines_its_cpus_and_memory_by_gpus():
    """3, 3 and 4 GPUs are free for 6: 4 of machine 2, and 2 of machine 0, as machine 1 has no CPUs left.

    10 CPUs are 6.7 and 3.3 on 4 and 2 GPUs, rounded up. With 2, 3 and 4 free GPUs the last 2 are those of the
    least free.
    """
    part_taken = [need(0, (2, 1, 1), among=0b001), need(1, (1, 1, 1), among=0b010), need(2, (6, 6, 6))]
    assert packed(part_taken, machines=3)[2] == ((0, 2, 2, 2), (2, 4, 4, 4))
    assert packed([(1, 1, 1), (1, 12, 1), (6, 10, 60)], machines=3)[2] == ((0, 2, 4, 20), (2, 4, 7, 40))


def test_a_best_case_that_takes_more_machines_than_the_gpus_is_not_one():
    """5 GPUs on 4 + 1; 20 CPUs would be 16 on the first: 3 GPUs (12) and 2 (8) fit, on two machines, too.

    With 24 CPUs, 2 a machine could be served, so three machines: the share of two is taken instead.
    """
    assert packed([(5, 20, 50)], machines=3) == [((0, 3, 12, 30), (1, 2, 8, 20))]
    assert packed([(5, 24, 50)], machines=3) == [((0, 4, 12, 40), (1, 1, 3, 10))]


def test_the_remainder_is_given_in_packing_order_below_the_best_case():
    """The first went from 11 to 3 CPUs, the third has 3 of 9; 5 are left: all of them for the first."""
    jobs: list[Amounts] = [(1, 11, 10), (1, 1, 10), (1, 9, 10)]
    assert packed(jobs, mechanism=Tune()) == [((0, 1, 8, 10),), ((0, 1, 1, 10),), ((0, 1, 3, 10),)]


def test_no_job_is_handed_more_than_its_best_case():
    """40 bytes do not fit beside 100, so 30 each are taken: 60 are left, 70 short of 100, and 40 stay 30.

    With 30 of 40 bytes the second can use 3.75 of its 5 CPUs, so it is handed 4.
    """
    assert packed([(1, 4, 100), (1, 5, 40)], mechanism=Tune()) == [((0, 1, 4, 90),), ((0, 1, 4, 30),)]
    wants_little: list[Amounts] = [(1, 8, 10), (1, 5, 10), (1, 1, 10)]  # 3 + 3 + 1: 5 are left for the first
    assert packed(wants_little, mechanism=Tune())[0] == ((0, 1, 8, 10),)


def test_jobs_on_several_machines_are_limited_by_the_scarcest():
    """5 GPUs, best case 20 CPUs: 4 + 1 hold 12 + 3. Machine 0 has nothing left, so machine 1's 9 stay."""
    assert packed([(5, 24, 50)], machines=2, mechanism=Tune()) == [((0, 4, 12, 40), (1, 1, 3, 10))]
    left = packed([(5, 24, 250), (1, 9, 1)], machines=2, mechanism=Tune())
    assert left == [((0, 4, 12, 120), (1, 1, 3, 30)), ((1, 1, 9, 1),)]
    halves = [need(0, (1, 1, 1), among=0b01), need(1, (1, 2, 1), among=0b10), need(2, (6, 40, 60))]
    assert packed(halves, machines=2, mechanism=Tune()) == [  # 9 + 2 and 9 + 1 CPUs: 10 on each
        ((0, 1, 1, 1),),
        ((1, 1, 2, 1),),
        ((0, 3, 10, 30), (1, 3, 10, 30)),
    ]


def test_a_job_whose_gpus_are_not_free_waits():
    """3 of 4 GPUs are taken."""
    assert packed([(3, 3, 3), (2, 2, 2), (1, 1, 1)])[1:] == [None, ((0, 1, 1, 1),)]


def test_a_job_that_may_span_no_more_machines_waits():
    """5 GPUs need two machines, and it may have one."""
    job = Need(0, Demand(5, max_machines=1), 5, 5, 5)
    assert packed([job], machines=2) == [None]


def test_a_job_goes_only_to_machines_that_may_serve():
    """Machines 1 and 2 (binary 110): the least free of all is machine 0."""
    jobs = [need(0, (2, 2, 2)), need(1, (1, 1, 1), among=0b110), need(2, (7, 7, 70), among=0b110)]
    assert packed(jobs, machines=3)[1:] == [((1, 1, 1, 1),), ((1, 3, 3, 30), (2, 4, 4, 40))]
    six = [need(0, (2, 2, 2)), need(1, (6, 6, 6), among=0b110)]
    assert packed(six, machines=3)[1] == ((1, 4, 4, 4), (2, 2, 2, 2))
    assert packed([need(0, (1, 1, 1), among=0b10)], 2, held={0: on((0, 1))}) == [((1, 1, 1, 1),)]


def test_a_job_below_its_share_keeps_its_allocation():
    """One CPU is free, and the first takes it, of its 3, with 30 bytes; the second has none, and 30 bytes."""
    free = Free(tiny_cluster(1, 4, cpus=12, memory_bytes=120), [4], [1], [120])
    for mechanism in (Tune(hand_out=False), ProgramTune(by_gpus=False)):
        result = mechanism.pack([need(0, (1, 9, 120)), need(1, (1, 9, 40))], free, view())
        assert result == {0: on((0, 1, 1, 30)), 1: on((0, 1, 0, 30))}


def test_jobs_get_the_rest_if_others_may_not_shrink():
    """CPU-only jobs hold 10 of 12 CPUs: a job that would get 3 gets 2, and the next gets none."""
    cluster = tiny_cluster(1, 4, cpus=12, memory_bytes=120)
    free = Free(cluster, [4], [2], [20])
    jobs = [need(0, (1, 9, 10)), need(1, (1, 9, 40))]
    result = Tune().pack(jobs, free, believed(jobs, cluster))
    assert result == {0: on((0, 1, 2, 10)), 1: on((0, 1, 0, 10))}


def test_shares_are_those_of_the_machine():
    """Machine 1 has 2 CPUs a GPU: a job that wants 9 gets 2 there, one that wants 1 gets 1."""
    machines = [Machine("a", 0, "a", 1, cpus=4), Machine("b", 0, "b", 2, cpus=4)]
    free = whole(Cluster(machines))
    result = Tune(hand_out=False).pack(
        [need(0, (1, 4, 0)), need(1, (1, 9, 0)), need(2, (1, 1, 0))], free, view()
    )
    assert result == {0: on((0, 1, 4)), 1: on((1, 1, 2)), 2: on((1, 1, 1))}


def test_a_machine_of_another_kind_is_not_as_good():
    """2 GPUs and 4 CPUs are left of both: a share on machine 0; where the job is, 6 CPUs are one."""
    machines = [Machine("a", 0, "a", 2, cpus=4), Machine("b", 0, "b", 4, cpus=12)]
    jobs = [need(0, (2, 8, 0), among=0b10), need(1, (2, 12, 0))]
    result = Tune(hand_out=False).pack(jobs, whole(Cluster(machines)), view({1: on((1, 2))}))
    assert result[1] == on((0, 2, 4))


@pytest.mark.parametrize(("several_ns", "is_split"), [(79, True), (80, False), (81, False)])
def test_a_job_is_split_only_if_it_is_faster(several_ns: int, is_split: bool):
    """2 GPUs that would gain from 20 CPUs; on one machine 12 of them are there, on two 10 + 10.

    Believed: 80 ns on one machine, with its communication on two a little less, as much, or more.
    """
    asked = []

    def alone(jobs: list[int], allocations: list[Allocation]) -> Any:
        asked.append(allocations)
        return np.array([80 if len(a.slices) == 1 else several_ns for a in allocations])

    job = need(0, (2, 12, 20), unbounded=(20, 20))
    cluster = tiny_cluster(2, 4, cpus=12, memory_bytes=120)
    seen = view(cluster=cluster, performance=SimpleNamespace(alone=alone))
    result = Tune().pack([job], whole(cluster), seen)
    two = on((0, 1, 10, 10), (1, 1, 10, 10))
    assert [on((0, 2, 12, 20)), two] in asked
    assert result[0] == (two if is_split else on((0, 2, 12, 20)))
