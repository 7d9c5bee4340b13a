"""Hand-worked schedules that fail without the distinctive rule of each base policy."""

import numpy as np
import pytest
from pydantic import ValidationError

from artist.app.composing import composed
from artist.core.buckets import ALL
from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Start, Stop
from artist.core.free import Free
from artist.core.job import Demand, JobSpec
from artist.performance.estimates import Noise, WrongFraction
from artist.policies.basic.ordered import Ordered
from artist.policies.tiresias.policy import Tiresias
from artist.policies.tiresias.slip import RackWhileFree
from artist.run.parts import part
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns


def finishes(jobs, cluster, policy, **options):
    result, _ = run_checked(jobs, cluster, policy, **options)
    return seconds(result, "finish_ns")


BLOCKED = [job("a", 3, 10), job("b", 4, 5), job("c", 1, 3)]  # on 4 GPUs: b blocks c, or c overtakes b


def test_strict_fifo_waits_behind_the_first():
    """C would fit beside a, but b is before it: b at 10, c at 15."""
    assert finishes(BLOCKED, tiny_cluster(), Ordered(order="fifo")) == [10, 15, 18]


def test_backfilling_fifo_lets_later_jobs_overtake():
    """C runs beside a at once."""
    assert finishes(BLOCKED, tiny_cluster(), Ordered(order="fifo", backfill=True)) == [10, 15, 3]


BY_KIND = [
    job("g1", 2, 10, cpus=2),
    job("g2", 2, 5, cpus=2),
    job("c1", 0, 4, cpus=2, at=1),
    job("c2", 0, 3, cpus=2, at=2),
    job("c3", 0, 9, cpus=1, at=2),
]  # on 2 GPUs and 5 CPUs


@pytest.mark.parametrize(("queues", "finish"), [("one", [10, 15, 14, 17, 23]), ("kinds", [10, 15, 5, 8, 14])])
def test_jobs_wait_behind_their_own_kind_only(queues, finish):
    """Behind g2, which waits for g1's GPUs, c1 starts at 1 with kinds, at 10 with one queue.

    Kinds: g1 and c1 leave 1 CPU, so c2 waits for c1's end at 5, and c3, which would fit, behind c2 (5-8,
    5-14); at 10 c3 leaves 4 CPUs to g2. One: at 10 g2 and c1 leave 1 CPU, so c2 waits for 14, c3 behind it.
    """
    policy = Ordered(order="fifo", queues=queues, fill="as_asked")
    assert finishes(BY_KIND, tiny_cluster(1, 2, cpus=5), policy) == finish


@pytest.mark.parametrize("first", ["gpu", "cpu"])
def test_the_first_arrival_of_two_job_types_takes_the_cpus(first):
    """Both want 2 of 3 CPUs when x, which holds all, ends at 10: the first has 10-15, the other 15-20."""
    kinds = [job("g", 1, 5, cpus=2), job("c", 0, 5, cpus=2)]
    jobs = [job("x", 1, 10, cpus=3), *(kinds if first == "gpu" else kinds[::-1])]
    policy = Ordered(order="fifo", queues="kinds", fill="as_asked")
    assert finishes(jobs, tiny_cluster(1, 2, cpus=3), policy) == [10, 15, 20]


class CountedChooser:
    """Places on machine 0, and counts how often it is asked."""

    asked = 0

    def choose(self, free, demand, among=ALL):
        self.asked += 1
        return {0: demand.gpus} if free.gpus[0] >= demand.gpus else None


@pytest.mark.parametrize(("queues", "asked"), [("one", 5), ("kinds", 3)])
def test_a_demand_that_did_not_fit_is_not_tried_again_at_an_arrival(queues, asked):
    """Two jobs for machine 0, which holds one, and CPU-only jobs at 1 and 2: a is asked about once.

    So is b at 0, when there is no room, and at a's end: 3. With one queue also at 1 and 2, for nothing.
    """
    chooser = CountedChooser()
    jobs = [job("a", 2), job("b", 2), job("c", 0, at=1, cpus=1), job("d", 0, at=2, cpus=1)]
    policy = Ordered(order="fifo", queues=queues, placement=chooser)
    assert finishes(jobs, tiny_cluster(2, 2, cpus=9), policy)[:2] == [10, 20]
    assert chooser.asked == asked


@pytest.mark.parametrize("field", ["preemptive", "backfill"])
def test_queues_by_kind_are_for_strict_orders(field):
    """With preemption, or where jobs may overtake, there is no queue to be first in."""
    with pytest.raises(ValidationError, match="queues=kinds needs preemptive=false and backfill=none"):
        Ordered(order="fifo", queues="kinds", **{field: True})


def test_sjf_does_not_preempt():
    """A (10 s) runs already when b (1 s) comes: b waits, but overtakes c (5 s)."""
    jobs = [job("a", 1, 10), job("c", 1, 5, at=1), job("b", 1, 1, at=2)]
    assert finishes(jobs, tiny_cluster(1, 1), Ordered(order="sjf", backfill=True)) == [10, 16, 11]


def test_srtf_preempts_by_remaining_time():
    """B (4 s) preempts a (10 s, 8 left) at 2; c (5 s) at 3 waits for b (3 left), then runs before a.

    b: 2-6, c: 6-11, a: 0-2 and 11-19.
    """
    jobs = [job("a", 1, 10), job("b", 1, 4, at=2), job("c", 1, 5, at=3)]
    policy = Ordered(order="srtf", preemptive=True, backfill=True)
    assert finishes(jobs, tiny_cluster(1, 1), policy) == [19, 6, 11]


def test_without_events_no_job_is_scheduled_between_ticks():
    """Every 6 s: b (3 s) comes at 2 and waits for 6, where a has 4 left. It ends at 9; a goes on at 12."""
    policy = Ordered(order="srtf", preemptive=True, backfill=True, on_events=False, interval_s=6)
    assert finishes([job("a", 1, 10), job("b", 1, 3, at=2)], tiny_cluster(1, 1), policy) == [16, 9]


def test_srsf_weighs_remaining_time_with_gpus():
    """a: 4 GPUs x 3 s = 12; b: 1 GPU x 5 s = 5. By time a goes first, by service b does."""
    jobs = [job("a", 4, 3), job("b", 1, 5)]
    srtf = Ordered(order="srtf", preemptive=True, backfill=True)
    srsf = Ordered(order="srsf", preemptive=True, backfill=True)
    assert finishes(jobs, tiny_cluster(), srtf) == [3, 8]
    assert finishes(jobs, tiny_cluster(), srsf) == [8, 5]


def test_las_prefers_the_job_that_ran_least():
    """B comes at 4 with nothing attained: runs until both have run 4 s (t = 8), then by ticks of 1 s.

    At 8 both have 4 s: a (arrived first) runs 8-9; b 9-10 (5 s done, ends), a 10-11 (6 s done, ends).
    """
    policy = Ordered(order="las", preemptive=True, backfill=True, interval_s=1)
    assert finishes([job("a", 1, 6), job("b", 1, 5, at=4)], tiny_cluster(1, 1), policy) == [11, 10]


def test_two_dimensional_las_counts_gpus():
    """At t = 4: a held 1 GPU for 4 s = 4, b 4 GPUs for 0 s. At 5 b has 4 = a's: a (first) runs again.

    LAS by time alone would let b (1 s < 4 s) run on until 8.
    """
    jobs = [job("a", 1, 8), job("b", 4, 3, at=4)]
    las = Ordered(order="las", preemptive=True, backfill=True, interval_s=1)
    las2d = Ordered(order="las2d", preemptive=True, backfill=True, interval_s=1)
    assert finishes(jobs, tiny_cluster(), las) == [11, 7]
    # las2d: b 4-5 (4 GPU-s); a 5-6 (5); b 6-7 (8); a has 5 < 8 until it ends: 7-10 (5 + 3 = 8 s of work)
    assert finishes(jobs, tiny_cluster(), las2d) == [10, 11]


def test_no_job_is_stopped_in_vain():
    """B (2 GPUs, on one machine) comes before c and d: by count stopping d would do, but it does not.

    m0: a and x, m1: c and d; x ends at 1. At 2 one GPU is free on m0 and a, before b by its 1 s left, keeps
    the other; only without c and d is there room: c moves to m0, d stops, and b runs 2-5. If a job with less
    time left than b is on m1 (a2 for c), no machine can be emptied for b: no job stops, and b starts when a
    ends at 3.
    """
    policy = Ordered(order="srtf", preemptive=True, backfill=True, placement="consolidate_machine")
    first = [job("a", 1, 3), job("x", 1, 1)]
    b, d = job("b", 2, 3, at=2), job("d", 1, 40, at=0.6)
    result, log = run_checked([*first, job("c", 1, 30, at=0.5), d, b], tiny_cluster(), policy)
    assert [e.job for e in log if isinstance(e, Stop)] == [3]
    assert result.columns["migrations"].tolist() == [0, 0, 1, 0, 0]
    assert seconds(result, "first_start_ns")[-1] == 2
    result, log = run_checked([*first, job("a2", 1, 4, at=0.5), d, b], tiny_cluster(), policy)
    assert not [e for e in log if isinstance(e, Stop)]
    assert seconds(result, "first_start_ns")[-1] == 3


def test_a_job_on_a_leaving_machine_is_neither_stopped_nor_counted():
    """B (10 s) on m0, a (100 s) on m1, which leaves from 2 on; c (5 s) comes at 3. One GPU each.

    C takes the only GPU that counts, b's, which has 7 s left: c 3-8, b 8-15. A runs on to 100: to stop it,
    the longest, would give c nothing, since its GPU takes no new work.
    """
    jobs = [job("a", 1, 100), job("b", 1, 10), job("c", 1, 5, at=3)]
    leaves = [CapacityEvent(seconds_to_ns(2), "leave", 1, seconds_to_ns(200))]
    policy = Ordered(order="srtf", preemptive=True, backfill=True)
    result, _ = run_checked(jobs, tiny_cluster(2, 1), policy, capacity_events=leaves)
    assert seconds(result, "finish_ns") == [100, 15, 8]
    assert result.columns["preemptions"].tolist() == [0, 1, 0]


def test_tiresias_demotes_at_the_very_instant_of_the_threshold():
    """Threshold 4 GPU-s: a (2 GPUs) is demoted at 2, not at the next event; b starts then.

    One machine of 2 GPUs. a: 0-2, b (from 1): 2-4, then demoted too; in queue 2 a was first: 4-7, b 7-8.
    """
    jobs = [job("a", 2, 5), job("b", 2, 3, at=1)]
    assert finishes(jobs, tiny_cluster(1), Tiresias(thresholds_gpu_s=(4,))) == [7, 8]


def test_tiresias_is_woken_at_the_nearest_threshold_of_all_running_jobs():
    """Threshold 4 GPU-s, three GPUs: a (1 GPU) crosses it at 4, b (2 GPUs) at 2; c (2 GPUs) waits since 1.

    B is demoted at 2, and c runs 2-3; b has 5 - 2 = 3 s left: 3-6. A, never stopped, ends at 10. Looked at
    when a crosses, b would be stopped at 4.
    """
    jobs = [job("a", 1, 10), job("b", 2, 5), job("c", 2, 1, at=1)]
    assert finishes(jobs, tiny_cluster(1, 3), Tiresias(thresholds_gpu_s=(4,))) == [10, 6, 3]


def test_tiresias_on_a_clock_demotes_at_its_ticks():
    """As above every 3 s: a crosses the threshold at 2 and is stopped at 3; b 3-6, then a has 2 s left."""
    jobs = [job("a", 2, 5), job("b", 2, 3, at=1)]
    policy = Tiresias(thresholds_gpu_s=(4,), on_events=False, interval_s=3)
    assert finishes(jobs, tiny_cluster(1), policy) == [8, 6]


def test_tiresias_queues_are_fifo_inside():
    """With a threshold that no job reaches, Tiresias is FIFO: c does not run before b."""
    jobs = [job("a", 2, 5), job("b", 2, 5, at=1), job("c", 2, 1, at=2)]
    assert finishes(jobs, tiny_cluster(1), Tiresias(thresholds_gpu_s=(1000,))) == [5, 10, 11]


def skewed(spec):
    return JobSpec(spec.job_id, spec.submit_ns, spec.demand, spec.iterations, spec.compute_ns, "skewed")


def test_tiresias_consolidates_by_skew():
    """One GPU is free on each machine: a 2-GPU job of low skew starts at once, one of high skew waits.

    x and y (1 GPU) fill m0, z goes to m1; x ends at 1. From 2 on one GPU is free on each. The low-skew job
    runs 2-4 across; the high-skew one starts when y (on m0) ends at 8.
    """
    ones = [job("x", 1, 1), job("y", 1, 8), job("z", 1, 9)]
    assert finishes([*ones, job("low", 2, 2, at=2)], tiny_cluster(), Tiresias())[-1] == 4
    assert finishes([*ones, skewed(job("high", 2, 2, at=2))], tiny_cluster(), Tiresias())[-1] == 10


def test_tiresias_with_the_slip_spreads_jobs_of_high_skew_too():
    """From 2 on as many GPUs are free as a machine has, so the job of high skew runs 2-4, too."""
    ones = [job("x", 1, 1), job("y", 1, 8), job("z", 1, 8)]
    policy = Tiresias(placement_high_skew=RackWhileFree())
    assert finishes([*ones, skewed(job("high", 2, 2, at=2))], tiny_cluster(), policy)[-1] == 4


@pytest.mark.parametrize(
    ("gpus_free", "need", "expected"),
    [
        ((1, 1, 1, 1), 2, {0: 1, 1: 1}),  # 4 free: any two GPUs of a rack
        ((1, 1, 1, 0), 2, None),  # 3 free: one machine or nothing
        ((0, 2, 1, 0), 2, {1: 2}),  # one machine has both
        ((4, 0, 4, 0), 2, {0: 2}),
        ((1, 0, 3, 0), 4, None),  # 4 free, but 3 in a rack
        ((3, 3, 2, 0), 6, {0: 3, 1: 3}),  # larger than a machine
    ],
)
def test_the_slip_counts_the_free_gpus_of_the_cluster(gpus_free, need, expected):
    """Two racks of two machines of 4 GPUs."""
    none = np.zeros(4, np.int64)
    free = Free(tiny_cluster(4, 4, per_rack=2), np.array(gpus_free), none, none)
    assert RackWhileFree().choose(free, Demand(need)) == expected


@pytest.mark.parametrize(
    ("skew", "second_rack", "expected"),
    [("low", (1, 1), {2, 3}), ("low", (1,), {0, 2}), ("high", (1, 1), {1})],
)
def test_tiresias_as_the_dally_authors_run_it(skew, second_rack, expected):
    """A rack of machines of 1 and 2 GPUs and a second one; x has the two GPUs of machine 1 until 10.

    A 2-GPU job of low skew takes one rack if it can, else what is free; one of high skew waits for machine 1.
    """
    sizes = [(0, 1), (0, 2), *((1, gpus) for gpus in second_rack)]
    cluster = Cluster([Machine(f"m{i}", rack, "box", gpus) for i, (rack, gpus) in enumerate(sizes)])
    last = job("last", 2, 5) if skew == "low" else skewed(job("last", 2, 5))
    policy = part(composed(["policy=tiresias_dally"])["policy"], "policy", ("decide",))
    _, events = run_checked([job("x", 2, 10), last], cluster, policy)
    (start,) = [event for event in events if isinstance(event, Start) and event.job == 1]
    assert {s.machine for s in start.allocation.slices} == expected


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"thresholds_gpu_s": (5, 5)}, "rising"),
        ({"continuous": True}, "interval_s"),
        ({"skew_threshold": 2}, "skew_threshold"),
        ({"placement_low_skew": "nowhere"}, "placement_low_skew"),
        ({"typo": 1}, "typo"),
    ],
)
def test_bad_parameters_of_tiresias_are_named(parameters, names):
    """Typed and range-checked by the policy's own class."""
    with pytest.raises(ValidationError, match=names):
        Tiresias(**parameters)


def test_gittins_prefers_the_job_most_likely_to_end_soon():
    """Learned: half of the jobs end at 1 GPU-s, the others at 10. A job that outlived 1 s has 9 to go.

    Index with quantum 2 at attained 0: of 4 jobs (1, 1, 10, 10) half end within 2; mean spent = (1 + 1 + 2 +
    2) / 4 = 1.5; index 0.5 / 1.5 = 1/3. At attained 9: both left end within 2 after 1 each: index 1.
    So the old job (9 attained) outranks a new one, which LAS would never do.
    """
    import numpy as np

    from artist.policies.tiresias.gittins import gittins_index

    index = gittins_index(np.array([0.0, 9.0, 11.0]), np.array([1.0, 1.0, 10.0, 10.0]), 2.0)
    np.testing.assert_allclose(index, [1 / 3, 1.0, 0.0])


def test_tiresias_learns_from_every_job_that_finishes():
    """One GPU, quantum 2 GPU-s: w ends after 1 GPU-s, l, 1-11, after 10. A runs from 11; b (1 s) comes at 20.

    Of (1, 10) half end within 2 of the start, after (1 + 2) / 2 each: b's index is 0.5 / 1.5 = 1/3. A has 9:
    the one that got so far ended 1 later: index 1. A goes on to 21, then b: 22. From w alone b would have
    index 1 / 1 and a, which outlived it, 0: b 20-21.
    """
    jobs = [job("w", 1, 1), job("l", 1, 10), job("a", 1, 10), job("b", 1, 1, at=20)]
    policy = Tiresias(thresholds_gpu_s=(1000,), gittins=True, gittins_sample=1, gittins_quantum_gpu_s=2)
    assert finishes(jobs, tiny_cluster(1, 1), policy) == [1, 11, 21, 22]


def test_gittins_preempts_inside_a_queue():
    """W showed that jobs end at 1 GPU-s: new b has index 1 / 1, a, which outlived it, 0: b runs 5-6, a 1-12.

    In order of start a would run 1-11, and b 11-12.
    """
    jobs = [job("w", 1, 1), job("a", 1, 10), job("b", 1, 1, at=5)]
    policy = Tiresias(thresholds_gpu_s=(1000,), gittins=True, gittins_sample=1, gittins_quantum_gpu_s=2)
    assert finishes(jobs, tiny_cluster(1, 1), policy) == [1, 12, 6]


def test_estimates_change_decisions_not_truth():
    """With noise 1 SRTF may believe that a (10 s) is shorter than b (9 s); the runs still take 10 and 9 s."""
    jobs = [job("a", 1, 10), job("b", 1, 9)]
    for seed in range(20):
        policy = Ordered(order="srtf", preemptive=True, backfill=True)
        result, _ = run_checked(jobs, tiny_cluster(1, 1), policy, estimates=Noise(level=1, seed=seed))
        assert seconds(result, "running_ns") == [10, 9]
        if seconds(result, "finish_ns") == [10, 19]:
            return
    pytest.fail("the noise never misled the policy")


def test_wrong_fraction_leaves_the_others_exact():
    """A fraction of 0 believes the truth; a fraction of 1 with error 0 too."""
    jobs = [job("a", 1, 10), job("b", 1, 9)]
    for estimates in (WrongFraction(fraction=0, error=1), WrongFraction(fraction=1, error=0)):
        assert estimates.factors(jobs).tolist() == [1, 1]


BY_START = [job("x", 1, 2), job("a", 2, 4), job("b", 1, 8)]  # on 2 GPUs: a finds no room beside x, b does


@pytest.mark.parametrize("gittins", [False, True])
def test_a_queue_runs_in_order_of_start(gittins):
    """X runs 0-2, and b, which started before a, goes on until 8; then a: 8-12.

    In order of arrival a would preempt b at 2: a 2-6, b 6-12. So it is under Gittins, too, with no sample.
    """
    policy = Tiresias(thresholds_gpu_s=(1000,), gittins=gittins)
    assert finishes(BY_START, tiny_cluster(1), policy) == [2, 12, 8]


def test_a_demoted_job_goes_behind_one_demoted_before_it():
    """The same with 4 GPU-s in the first queue: b falls at 4; a 4-6 falls behind it: b 6-10, a 10-12."""
    assert finishes(BY_START, tiny_cluster(1), Tiresias(thresholds_gpu_s=(4,))) == [2, 12, 10]


def test_a_demoted_job_goes_behind_those_that_wait():
    """As in the open program: b falls at 6 behind a, which waits since 3; c falls at 9 behind both."""
    jobs = [job("a", 1, 10), job("b", 1, 10, at=1), job("c", 1, 10, at=6)]
    policy = Tiresias(thresholds_gpu_s=(3,))
    assert finishes(jobs, tiny_cluster(1, 1), policy) == [16, 23, 30]


@pytest.mark.parametrize(("skip", "starts"), [(True, [0, 0, 10, 1]), (False, [0, 0, 10, 10])])
def test_gpus_that_a_refused_job_leaves_are_offered_under_backfill(skip, starts):
    """A (10 s) is on m0, b (20 s) on m1; at 1 s c needs 2 GPUs of one machine, then d 1 GPU for 40 s.

    The GPUs suffice for c, but no machine has both, and a and b have less time left: d takes one on m0 at 1 s
    and moves to m1 when a ends, as c comes before it by 30 s to 31; or d waits behind c. C has m0 at 10 s.
    """
    c = job("c", 2, 30, at=1, max_machines=1)
    jobs = [job("a", 1, 10), job("b", 1, 20), c, job("d", 1, 40, at=1)]
    policy = Ordered(order="srtf", preemptive=True, backfill=skip, placement="spread")
    assert seconds(run_checked(jobs, tiny_cluster(2, 2), policy)[0], "first_start_ns") == starts
