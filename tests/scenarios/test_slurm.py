"""Slurm's rules, each in a schedule worked out by hand that fails without it."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from artist.core.buckets import members_of, set_of
from artist.core.cluster import CapacityEvent, Cluster, Machine, Slice
from artist.core.events import Finish, Pending, Start, Stop
from artist.engine.overheads import Overheads
from artist.errors import InputError
from artist.policies.parts.limits import Association, Qos
from artist.policies.slurm.configuration import Partition, time_ns
from artist.policies.slurm.fair_share import FairShare
from artist.policies.slurm.job import Job, Need
from artist.policies.slurm.nodes import Nodes
from artist.policies.slurm.policy import Slurm
from artist.policies.slurm.priority import Multifactor, Weights
from artist.policies.slurm.starts import NodeSpace, chosen_at, earliest
from artist.testing.conformance import PolicyConformance
from artist.testing.tiny import job as plain
from artist.testing.tiny import run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns


class TestSlurm(PolicyConformance):
    make_policy = staticmethod(lambda: Slurm(bf_interval=1, bf_resolution=1))


def job(name, gpus, runs_s, limit_s=None, at=0, *, demand=None, **texts):
    """Return a job with a limit, by default its run time, and its account, QOS, partition and user."""
    limit_ns = seconds_to_ns(limit_s or runs_s)
    return replace(plain(name, gpus, runs_s, at, **(demand or {})), limit_ns=limit_ns, **texts)


def run(jobs, policy, machines=1, gpus=4, **options):
    """Return first starts in s and the machines of each job's first start."""
    result, events = run_checked(jobs, tiny_cluster(machines, gpus, cpus=64), policy, **options)
    places = {}
    for event in events:
        if isinstance(event, Start):
            places.setdefault(event.job, event.allocation.machines)
    return seconds(result, "first_start_ns"), [places[number] for number in range(len(jobs))], events


def slurm(**settings):
    """Return the policy with short intervals."""
    return Slurm(**{"bf_interval": 1, "bf_resolution": 1, **settings})


# --- the loops

QUEUE = [
    job("runs", 3, 10),
    job("first", 4, 5, at=1),
    job("long", 1, 12, at=1),
    job("short", 1, 8, at=1),
]


def test_the_backfill_loop_starts_jobs_that_delay_no_reservation():
    """On a node of 4 GPUs `first` has it from 10 on: `short` (to 9 + 1) passes, `long` does not.

    The first pass is at 0, when runs starts; the next due at 1, for those that came then. Without the loop
    all wait behind first.
    """
    assert run(QUEUE, slurm())[0] == [0, 10, 15, 1]
    assert run(QUEUE, slurm(SchedulerType="sched/builtin"))[0] == [0, 10, 15, 15]


def test_a_pass_is_due_every_bf_interval_at_the_earliest():
    """`first` waits from 0, so the second pass is at 4: too late for 8 s before 10, in time for 5 s."""
    first = job("first", 4, 5)
    assert run([QUEUE[0], first, QUEUE[3]], slurm(bf_interval=4))[0] == [0, 10, 15]
    assert run([QUEUE[0], first, job("short", 1, 5, at=1)], slurm(bf_interval=4))[0] == [0, 10, 4]


def test_a_reservation_takes_whole_nodes():
    """Two nodes of 4: a (3, to 10) and b (4, to 100) run. c (2 GPUs) has a's node from 10 on, whole.

    d (1 GPU for 15 s) would leave c its 2 GPUs there, but waits: c runs 10-14, d starts beside it.
    """
    jobs = [job("a", 3, 10), job("b", 4, 100), job("c", 2, 4, at=1), job("d", 1, 15, at=1)]
    assert run(jobs, slurm(), machines=2)[0] == [0, 0, 10, 10]


def test_starts_beyond_bf_window_are_not_reserved():
    """First would start after 10 s: a window of 6 s reserves nothing for it at 1, so `long` passes to 13."""
    assert run(QUEUE[:3], slurm(bf_window=0.1))[0] == [0, 13, 1]


def test_a_start_is_the_end_of_a_window_of_30_seconds():
    """Two nodes: a (to 10) and b (to 25) run. c needs one node, its start in the window is 25, not 10.

    So d (1 GPU, 14 s, on a's fourth GPU) may run from 1 to 15; with exact starts it would delay c.
    """
    jobs = [job("a", 3, 10), job("b", 4, 25), job("c", 4, 5, at=1), job("d", 1, 14, at=1)]
    assert run(jobs, slurm(), machines=2)[0] == [0, 0, 15, 1]


def test_depths_bound_the_loops():
    """Tested are the first 2 that wait, or 3, with `short`; per user one: first of u, then short of v."""
    beyond = [*QUEUE[:2], job("second", 4, 5, at=1), QUEUE[3]]  # two that the window leaves without nodes
    assert run(beyond, slurm(bf_window=0.1, bf_max_job_test=2))[0] == [0, 10, 15, 20]
    assert run(beyond, slurm(bf_window=0.1, bf_max_job_test=3))[0] == [0, 10, 15, 1]
    users = [replace(spec, user=user) for spec, user in zip(QUEUE, "uuuv", strict=True)]
    assert run(users, slurm(bf_max_job_user=1))[0] == [0, 10, 15, 1]
    users = [replace(spec, user="u") for spec in QUEUE]
    assert run(users, slurm(bf_max_job_user=1))[0] == [0, 10, 15, 15]


def test_the_backfill_loop_ends_when_its_table_is_full():
    """The table has bf_max_job_test rows: 1, and 2 more for `first` (10 to 15), 1 more for `long` (15 to 27).

    So it is full with 4, before `short`, though only two jobs were tested.
    """
    assert run(QUEUE, slurm(bf_max_job_test=4))[0] == [0, 10, 15, 15]
    assert run(QUEUE, slurm(bf_max_job_test=5))[0] == [0, 10, 15, 1]


def test_reservations_begin_at_multiples_of_bf_resolution():
    """`first` has the node from 19 on, with a resolution of 10 s from 10 on: too early for 12 s from 1."""
    jobs = [job("runs", 3, 19), job("first", 4, 5, at=1), job("next", 1, 12, at=1)]
    assert run(jobs, slurm())[0] == [0, 19, 1]
    assert run(jobs, slurm(bf_resolution=10))[0] == [0, 19, 24]


def test_a_reservation_lasts_for_a_multiple_of_bf_resolution_at_least():
    """`first` would have the node from 12 to 17, 10 to 10 in tens: so to 20, and 15 s from 1 are too long."""
    jobs = [job("runs", 3, 12), job("first", 4, 5, at=1), job("next", 1, 15, at=1)]
    assert run(jobs, slurm(bf_resolution=10))[0] == [0, 12, 17]


def test_a_reservation_ends_at_a_multiple_of_bf_resolution():
    """In tens: a, for m0 only, has it from 19 to 24, so from 10 to 20. C wants both, and r1 has m1 to 22.

    C is planned from 22, so 20, on: d (1 GPU, 25 s) would delay it, and starts behind c (24 to 29).
    """
    partitions = (Partition("all", Default=True), Partition("one", Nodes=("m0",)))
    jobs = [job("r0", 4, 19), job("r1", 3, 22), job("a", 4, 5, at=1, partition="one")]
    jobs += [job("c", 8, 5, at=1), job("d", 1, 25, at=1)]
    policy = slurm(bf_resolution=10, partitions=partitions)
    assert run(jobs, policy, machines=2)[0] == [0, 0, 19, 24, 29]


def test_lln_holds_for_reservations_too():
    """R0 and r2 have m0, r1 has 3 GPUs of m1; r2 (1 GPU) stays beyond 10, so c (3 GPUs) is reserved m1 then.

    D (1 GPU, 20 s) may not join r1 at 1. At 10 c has m1 and d has m0.
    """
    jobs = [
        job("r0", 3, 10),
        job("r1", 3, 10),
        job("r2", 1, 100),
        job("c", 3, 5, at=1),
        job("d", 1, 20, at=1),
    ]
    starts, places, _ = run(jobs, slurm(partitions=(Partition("p", LLN=True),)), machines=2)
    assert (starts, places) == ([0, 0, 0, 10, 10], [[0], [1], [0], [1], [0]])


def test_a_start_that_overlaps_a_reservation_is_tried_again_from_then_on():
    """Node 0 has r1 (2, to 10) and r2 (2, to 95), node 1 r3 (2, to 40) and r4 (1). A (4) has node 0 from 95.

    B (2, 90 s) would start at 40, the end of the window, on node 0, to 130: from 40 on only node 1 is left,
    which b has to 130. So c (1, 60 s) may not take its free GPU at 1, and has node 0 at 10.
    """
    jobs = [
        job("r1", 2, 10),
        job("r2", 2, 95),
        job("r3", 2, 40),
        job("r4", 1, 2000),
        job("a", 4, 5, at=1),
        job("b", 2, 90, at=1),
        job("c", 1, 60, at=1),
    ]
    starts, places, _ = run(jobs, slurm(), machines=2)
    assert (starts[6], places[6]) == (10, [0])


ENDS = {0: 10, 1: 50, 2: 95, 3: 140, 4: 170}  # s at which the jobs on five nodes of one GPU end


def planned(ends, count, among):
    """Return the planned start in s and the nodes of a job on `count` of the nodes `among`."""
    nodes = Nodes(tiny_cluster(5, 1, cpus=9))
    for node, end_s in ends.items():
        nodes.take(node, end_s * NS_PER_S, (Slice(node, 1, 1),))
    one = Job(9, count, Need(1, 1, 0), count, count, 0, 1, (0b11111,), Partition("p"), 0, 0)
    start_ns = earliest(nodes, one, set_of(among))
    return start_ns / NS_PER_S, members_of(chosen_at(start_ns, nodes, one, set_of(among)))


@pytest.mark.parametrize(
    ("count", "start_s"),
    [
        (1, 50),  # the first window is to 30 + 30: ends of 10 and 50
        (2, 50),
        (3, 140),  # the next to 30 + 60, but 95 is later, so to 30 + 120: 95 and 140
        (5, 170),  # to 30 + 240
    ],
)
def test_windows_double_from_the_first_end_rounded_up_to_30_seconds(count, start_s):
    """The first end, 10, is rounded up to 30. A window from its own first end would have 95 to 180."""
    assert planned(ENDS, count, range(5))[0] == start_s


def test_a_window_is_over_only_if_the_next_job_of_all_is_later():
    """On nodes 0 and 4 one fits from 10 on; with a job elsewhere that ends at 50 the window has 170, too."""
    assert planned({0: 10, 4: 170}, 1, (0, 4)) == (10, [0])
    assert planned({0: 10, 1: 50, 4: 170}, 1, (0, 4)) == (170, [0])


@pytest.mark.parametrize(("over", "start"), [("0", 65), ("0:05", 65), ("0:10", 33)])
def test_a_job_beyond_its_limit_is_expected_to_end_by_over_time_limit_and_30_seconds(over, start):
    """Runs has 3 of 4 GPUs to 60, though its limit is 2 s; first wants 4. Short (8 s) comes at 33.

    First is expected at 2 + 30, which has passed, so in a second: short would delay it, and starts after it,
    at 65. With 10 s more it is expected at 42: short starts at once.
    """
    jobs = [job("runs", 3, 60, 2), job("first", 4, 5, at=1), job("short", 1, 8, at=33)]
    assert run(jobs, slurm(OverTimeLimit=over))[0][2] == start
    within = job("within", 1, 1, 0.5, at=33)  # by its limit done within the second
    assert run([*jobs[:2], within], slurm(OverTimeLimit=over))[0][2] == 33


def test_periods_of_the_table_of_reservations():
    """Nodes 0 and 1 from 0 to 100; node 0 is reserved from 20 to 40, node 1 from 40 to 60.

    From 10 to 30 node 1 is free, and other nodes come at the end of the period from 20 to 40, not at 20, as
    nothing is added there. Periods with equal nodes are one, but each counts in the size of the table.
    """
    space = NodeSpace(0, 100, 0b11)
    space.reserve(20, 40, 0b01)
    space.reserve(40, 60, 0b10)
    job = lambda limit_ns, nodes=1: Job(  # noqa: E731
        0, nodes, Need(1, 1, 0), nodes, nodes, 0, limit_ns, (0b11,), Partition("p"), 0, 0
    )
    assert space.first_free(10, job(20), 0b11) == (10, 0b10, 40)
    assert space.first_free(10, job(9), 0b11) == (10, 0b11, 40)
    assert space.first_free(10, job(10), 0b11) == (10, 0b10, 40)  # both ends included
    assert space.first_free(50, job(20), 0b11) == (50, 0b01, 60)
    assert space.first_free(60, job(140), 0b11) == (60, 0b11, None)
    assert space.first_free(10, job(20, 2), 0b11) == (60, 0b11, None)  # two nodes: not at 10 and 40
    # node 1 alone has room, from 50 on: free at 10, but not able by 40; at 40 only node 0 is free to 60
    assert space.first_free(10, job(20), 0b11, [50], [0, 0b10]) == (60, 0b11, None)
    assert not space.overlaps(0, 20, 0b11)
    assert space.overlaps(0, 21, 0b01)
    assert not space.overlaps(0, 40, 0b10)
    assert space.records == 4
    space.reserve(20, 40, 0b10)
    space.reserve(40, 60, 0b01)
    assert space.first_free(30, job(0), 0b11) == (60, 0b11, None)
    space.reserve(40, 50, 0b01)
    assert space.records == 6


def test_a_machine_that_fails_and_joins_is_left_out_meanwhile():
    """The only node fails at 2 and joins at 30: the job starts over 121 s after its stop, at 123."""
    events = [CapacityEvent(seconds_to_ns(at), kind, 0) for at, kind in ((2, "fail"), (30, "join"))]
    _, _, log = run([job("a", 4, 10)], slurm(), capacity_events=events)
    assert [event.time_ns // NS_PER_S for event in log if isinstance(event, Start)] == [0, 123]


@pytest.mark.parametrize("loops", ["sched/builtin", "sched/backfill"])
def test_no_job_starts_on_a_machine_that_is_away(loops):
    """M0 fails at 2 and joins at 30; b and c (4 GPUs each) come at 5: b has m1 to 25, c then, d m0 at 30."""
    events = [CapacityEvent(seconds_to_ns(at), kind, 0) for at, kind in ((2, "fail"), (30, "join"))]
    jobs = [job("a", 4, 1), *(job(name, 4, 20, at=5) for name in "bcd")]
    policy = slurm(SchedulerType=loops)
    starts, places, _ = run(jobs, policy, machines=2, capacity_events=events)
    assert (starts, places) == ([0, 5, 25, 30], [[0], [1], [1], [0]])


def test_a_job_above_a_limit_takes_no_place_of_the_tested_ones():
    """As above with one tested job beyond first: red's r is above its limit, so short is tested."""
    red = Association("red", GrpJobs=1)
    held = [replace(QUEUE[0], account="red"), QUEUE[1], job("r", 1, 12, at=1, account="red"), QUEUE[3]]
    policy = slurm(bf_window=0.1, bf_max_job_test=2, associations=(red,))
    assert run(held, policy)[0] == [0, 10, 15, 1]


def test_the_table_of_reservations_ends_at_a_multiple_of_bf_resolution():
    """At 1 the window of a minute ends at 61, so the table at 60: `first`, which would start then, has none.

    Long (70 s) passes it.
    """
    jobs = [job("runs", 3, 60), job("first", 4, 5, at=1), job("long", 1, 70, at=1)]
    assert run(jobs, slurm(bf_resolution=60, bf_window=1))[0] == [0, 71, 1]


def test_a_start_beyond_the_window_is_tried_again_where_other_nodes_become_free():
    """R0 has m0 to 1000, r1 m1 to 20, r2 3 GPUs of m2 to 10; a, for m1 only, is reserved m1 from 20 to 50.

    C (two nodes, 60 s) finds m0 and m2 without a reservation now: 1000, beyond the window of 2 min. From 50
    on m1 is free again: c has m1 and m2 then, so d (1 GPU, 55 s), beside r2 from 1 to 56, would delay it.
    """
    partitions = (Partition("all", Default=True), Partition("one", Nodes=("m1",)))
    jobs = [job("r0", 4, 1000), job("r1", 4, 20), job("r2", 3, 10), job("a", 4, 30, at=1, partition="one")]
    jobs += [job("c", 8, 60, at=1), job("d", 1, 55, at=1)]
    starts, _, _ = run(jobs, slurm(bf_window=2, partitions=partitions), machines=3)
    assert starts == [0, 0, 0, 20, 50, 110]


def test_a_start_at_the_time_at_which_other_nodes_become_free_is_not_tried_again():
    """R0 has m0 to 20, then a, for m0 only, is reserved it to 50. R1 has 3 GPUs of m1 to 50.

    C starts on m1 at 50, when m0 is free again too: m1 is reserved, so d (1 GPU, 60 s) may not join r1 at 1,
    but at 20, when a has m0 and c is planned there.
    """
    partitions = (Partition("all", Default=True), Partition("one", Nodes=("m0",)))
    jobs = [job("r0", 4, 20), job("r1", 3, 50), job("a", 4, 30, at=1, partition="one")]
    jobs += [job("c", 4, 60, at=1), job("d", 1, 60, at=1)]
    assert run(jobs, slurm(partitions=partitions), machines=2)[0] == [0, 0, 20, 50, 20]


def test_of_gpu_types_with_equal_starts_the_first_nodes_are_reserved():
    """M0 has GPUs A, m1 B, one free of each to 10. C (4 of A or B) reserves m0: d (A) waits, e (B) starts."""
    cluster = Cluster([Machine(f"m{i}", 0, "t", 4, "AB"[i], 1.0, 64) for i in range(2)])
    a, b, both = ({"gpu_types": kinds} for kinds in (("A",), ("B",), ("A", "B")))
    jobs = [job("r0", 3, 10, demand=a), job("r1", 3, 10, demand=b), job("c", 4, 5, at=1, demand=both)]
    jobs += [job("d", 1, 20, at=1, demand=a), job("e", 1, 20, at=1, demand=b)]
    result, _ = run_checked(jobs, cluster, slurm())
    assert seconds(result, "first_start_ns") == [0, 0, 10, 15, 1]


# --- partitions and priorities


def test_tiers_go_before_and_a_job_holds_up_its_nodes_only():
    """Partition p has node 0, q (tier 2) node 1, both of 2 GPUs.

    p2 waits for p1 (to 10) and holds up p3, which would fit no other node; q2, the last one, starts at once.
    """
    partitions = (Partition("p", Nodes=("m0",), Default=True), Partition("q", Nodes=("m1",), PriorityTier=2))
    jobs = [
        job("p1", 1, 10, partition="p"),
        job("p2", 2, 5, at=1, partition="p"),
        job("p3", 1, 20, at=1, partition="p"),
        job("q2", 2, 5, at=1, partition="q"),
    ]
    starts, places, _ = run(jobs, slurm(partitions=partitions), machines=2, gpus=2)
    assert starts == [0, 10, 15, 1]
    assert places == [[0], [0], [0], [1]]


def test_default_queue_depth_bounds_the_main_loop():
    """P2 waits for p1 (to 10), q1 for nobody: with a depth of one job it is tested first at the end of p2."""
    partitions = (Partition("p", Nodes=("m0",), Default=True), Partition("q", Nodes=("m1",)))
    jobs = [job("p1", 2, 10), job("p2", 2, 5, at=1), job("q1", 2, 5, at=1, partition="q")]
    for depth, start in ((1, 15), (2, 1)):
        policy = slurm(SchedulerType="sched/builtin", partitions=partitions, default_queue_depth=depth)
        assert run(jobs, policy, machines=2, gpus=2)[0] == [0, 10, start]


def test_a_higher_tier_is_first():
    """Both wait for a: the later job of tier 10 starts at 5, the other after it."""
    partitions = (Partition("p", Default=True), Partition("urgent", PriorityTier=10))
    jobs = [job("a", 4, 5), job("b", 4, 5, at=1), job("c", 4, 5, at=2, partition="urgent")]
    assert run(jobs, slurm(partitions=partitions))[0] == [0, 10, 5]


@pytest.mark.parametrize(
    ("weights", "starts"),
    [
        ({}, [0, 5, 10]),  # 1 and 1: by number
        ({"PriorityWeightPartition": 100}, [0, 10, 5]),  # 10 and 100
        ({"PriorityWeightQOS": 100}, [0, 10, 5]),  # 0 and 100
        ({"PriorityWeightJobSize": 1000, "PriorityFavorSmall": True}, [0, 5, 10]),  # equal sizes
        (
            {"PriorityWeightAge": 100, "PriorityWeightQOS": 1, "PriorityMaxAge": "0:1"},
            [0, 10, 5],
        ),  # both full
        (
            {"PriorityWeightAge": 100, "PriorityWeightQOS": 1, "PriorityMaxAge": "2:00"},
            [0, 5, 10],
        ),  # 3.3, 2.6
    ],
)
def test_multifactor_adds_weights_and_factors(weights, starts):
    """B waits since 1, c, with the larger factors of partition and QOS, since 2; a ends at 5.

    Recalculated at 5: ages of 4 and 3 s are 3.3 and 2.5 of 100 with two minutes, and 100 with one second.
    """
    policy = slurm(
        PriorityType="priority/multifactor",
        PriorityCalcPeriod="0:1",
        partitions=(Partition("p", Default=True), Partition("q", PriorityJobFactor=10)),
        qos=(Qos("normal"), Qos("high", Priority=5)),
        **weights,
    )
    jobs = [job("a", 4, 5), job("b", 4, 5, at=1), job("c", 4, 5, at=2, partition="q", qos="high")]
    assert run(jobs, policy)[0] == starts


def test_job_size_is_the_mean_of_the_shares_of_nodes_and_cpus():
    """A job of 1 of 2 nodes and 32 of 128 CPUs: (1/2 + 1/4) / 2 of 1000, and 1000 - 375 to favor small."""
    one = Job(0, 1, Need(1, 32, 0), 1, 32, 0, 1, (0b11,), Partition("p"), 0, 0)
    for favors_small, priority in ((False, 375), (True, 625)):
        cluster = tiny_cluster(2, 4, cpus=64)
        multifactor = Multifactor(Weights(0, 0, 1000, 0, 0), 1, favors_small, (), (), None, cluster)
        assert multifactor.priority(one, 0) == priority
    few = Job(
        0, 1, Need(1, 0, 0), 1, 0, 0, 1, (0b11,), Partition("p"), 0, 0
    )  # names none: one per node, 1/128
    assert Multifactor(Weights(0, 0, 1000, 0, 0), 1, False, (), (), None, cluster).priority(few, 0) == 253


def test_age_counts_from_the_time_at_which_a_job_became_eligible():
    """Requeued at 0 and eligible at 121: at 131 its age is 10 of 100 s, before 121 it is 0."""
    one = Job(0, 1, Need(1, 1, 0), 1, 1, 0, 1, (1,), Partition("p"), 0, 121 * NS_PER_S)
    multifactor = Multifactor(
        Weights(1000, 0, 0, 0, 0), 100 * NS_PER_S, False, (), (), None, tiny_cluster(1, 1)
    )
    assert [multifactor.priority(one, at * NS_PER_S) for at in (131, 221, 300, 50)] == [100, 1000, 1000, 1]


def test_usage_is_billed_by_the_weights_of_the_partition():
    """8 CPUs and 2 GPUs: 8 a second by default, 8 x 0.5 + 2 x 10 with weights."""
    for weights, billing in (({}, 8), ({"cpu": 0.5, "gres/gpu": 10}, 24)):
        partition = Partition("p", TRESBillingWeights=weights)
        assert Job(0, 1, Need(2, 8, 0), 2, 8, 0, 1, (0b1,), partition, 0, 0).billing == billing


RED = Association("red", Fairshare=1), Association("red", "u")
BLUE = Association("blue", Fairshare=3), Association("blue", "v")


def billed(account, user):
    """Return a job of one CPU that runs from 0 on."""
    one = Job(0, 1, Need(1, 1, 0), 1, 1, 0, 1, (1,), Partition("p"), 0, 0, None, account, user)
    one.start_ns = 0
    return one


def test_classic_fair_share_is_two_to_the_minus_usage_over_shares():
    """Root has red 1, blue 3 and its own user 1: red 1/5, blue 3/5. U used 30 s and v 90 s: 1/4 and 3/4.

    Each is the only user of its account, so U = its account's: 2^-(0.25/0.2), 2^-(0.75/0.6), both 2^-1.25.
    A user's part counts from its first use after a recalculation; half of it is left after a half-life.
    """
    shares = FairShare((*RED, *BLUE), 0, tree=False)
    shares.add(billed("red", "u"), 30 * NS_PER_S)
    shares.add(billed("blue", "v"), 90 * NS_PER_S)
    shares.decay(0)
    assert shares.factor("red", "u") == pytest.approx(2**-1.25)
    assert shares.factor("blue", "v") == pytest.approx(2**-1.25)
    assert shares.factor("red", "nobody") == 0
    halved = FairShare((*RED, *BLUE), 600 * NS_PER_S, tree=False)
    halved.add(billed("red", "u"), NS_PER_S)
    halved.decay(600 * NS_PER_S)
    assert halved.usage["red", "u"] == pytest.approx(0.5, rel=0.01)


def test_an_account_has_the_usage_of_the_last_recalculation_a_user_that_of_its_first_use_after_it():
    """Red's U is 1 of 1 at the recalculation at 10. Then blue's v ends with 30 s: u's part is 10/40.

    U of u: 1/4 + (1 - 1/4) x its only share = 1: 2^-(1/0.2). Blue's is 0 of then: v 3/4 + (0 - 3/4) x 1 = 0.
    """
    shares = FairShare((*RED, *BLUE), 0, tree=False)
    shares.add(billed("red", "u"), 10 * NS_PER_S)
    shares.decay(10 * NS_PER_S)
    shares.add(billed("blue", "v"), 30 * NS_PER_S)
    assert shares.factor("red", "u") == pytest.approx(2**-5)
    assert shares.factor("blue", "v") == 1


def test_the_fair_tree_ranks_accounts_then_users():
    """Red has used 30 of 40 with 1/5 of the shares, blue 10 with 3/5: root's user is first, then v, u."""
    shares = FairShare((*RED, *BLUE), 0, tree=True)
    shares.add(billed("red", "u"), 30 * NS_PER_S)
    shares.add(billed("blue", "v"), 10 * NS_PER_S)
    shares.decay(0)
    assert shares.factor("root", "root") == 1
    assert shares.factor("blue", "v") == pytest.approx(2 / 3)
    assert shares.factor("red", "u") == pytest.approx(1 / 3)


def test_users_of_root_are_beside_its_accounts_and_root_itself_has_no_shares():
    """Shares: root 1, red 1, blue 3, w 5. w has used 10 of 40, so its factor is 2^-((10/40) / (5/10))."""
    users = Association("root"), Association("root", "w", Fairshare=5)
    shares = FairShare((*users, *RED, *BLUE), 0, tree=False)
    shares.add(billed("root", "w"), 10 * NS_PER_S)
    shares.add(billed("blue", "v"), 30 * NS_PER_S)
    shares.decay(0)
    assert shares.factor("root", "w") == pytest.approx(2**-0.5)
    ranked = FairShare((*users, *RED, *BLUE), 0, tree=True)
    ranked.add(billed("root", "w"), 10 * NS_PER_S)
    ranked.decay(0)
    assert ranked.factor("root", "w") == pytest.approx(1 / 4)  # the only one with usage is last of four


def test_usage_of_a_job_counts_from_its_end_and_that_of_qos_by_usage_factor():
    """Two jobs of u end at 10: 10 s, and 20 s of a QOS with UsageFactor 2; a third runs to 20: 50 s at 20.

    All usage is u's: 2^-(1/0.2) of 1000, and in the fair tree the last rank, 1/3.
    """
    for tree, u in ((False, 2**-5), (True, 1 / 3)):
        shares = FairShare((*RED, *BLUE), 0, tree=tree)
        weights = Weights(0, 1000, 0, 0, 0)
        multifactor = Multifactor(weights, 1, False, (), (), shares, tiny_cluster(1, 1))
        ended, double = billed("red", "u"), billed("red", "u")
        double.qos = Qos("double", UsageFactor=2)
        multifactor.end(ended, 10 * NS_PER_S)
        assert shares.usage["red", "u"] == 10
        multifactor.end(double, 10 * NS_PER_S)
        assert shares.usage["red", "u"] == 30
        waiting, running = billed("red", "u"), billed("red", "u")
        waiting.start_ns = -1
        multifactor.recalculate(20 * NS_PER_S, [waiting, running])
        assert waiting.priority == int(1000 * u)
        assert shares.usage["red", "u"] == 50


def test_in_classic_fair_share_only_usage_of_jobs_before_the_first_that_waits_counts():
    """Both are u's: without the one that runs its usage is 0, its factor 1; at the next time 2^-(1/0.2)."""
    shares = FairShare((*RED, *BLUE), 0, tree=False)
    multifactor = Multifactor(Weights(0, 1000, 0, 0, 0), 1, False, (), (), shares, tiny_cluster(1, 1))
    waiting, running = billed("red", "u"), billed("red", "u")
    waiting.start_ns = -1
    for at, priority in ((20, 1000), (40, int(1000 / 2**5))):
        multifactor.recalculate(at * NS_PER_S, [waiting, running])
        assert waiting.priority == priority


def test_each_recalculation_adds_the_usage_since_the_last_and_lets_all_decay():
    """Half-life 600 s: a job runs from 0 on: 5 s at 5, 10 at 10, less 1 %; it is gone, and half left at 610.

    In one piece of 600 s it would be 600 x 1/2.
    """
    shares = FairShare(RED, 600 * NS_PER_S, tree=False)
    multifactor = Multifactor(Weights(0, 1, 0, 0, 0), 1, False, (), (), shares, tiny_cluster(1, 1))
    running = billed("red", "u")
    for at, jobs, used in ((5, [running], 5), (10, [running], 10), (610, [], 5)):
        multifactor.recalculate(at * NS_PER_S, jobs)
        assert shares.usage["red", "u"] == pytest.approx(used, rel=0.02)
    whole = FairShare(RED, 600 * NS_PER_S, tree=False)
    whole.add(running, 600 * NS_PER_S)
    assert whole.usage["red", "u"] == pytest.approx(300, rel=0.01)


def test_in_the_fair_tree_all_usage_counts_before_the_priorities():
    """W of u waits, b of v, behind it, runs. With b's usage u is first, 3/3; without, v is, and u has 2/3."""
    shares = FairShare((*RED, *BLUE), 0, tree=True)
    multifactor = Multifactor(Weights(0, 1000, 0, 0, 0), 1, False, (), (), shares, tiny_cluster(1, 1))
    waiting, running = billed("red", "u"), billed("blue", "v")
    waiting.start_ns = -1
    multifactor.recalculate(20 * NS_PER_S, [waiting, running])
    assert waiting.priority == 1000


def test_fair_share_under_load_converges_to_the_shares():
    """Red with 1 and blue with 3 shares always have jobs waiting: their GPU time is as 1 to 3, within 5 %."""
    jobs = []
    for number in range(400):
        red = number % 2
        at = number * 0.01
        account, user = ("red", "u") if red else ("blue", "v")
        jobs.append(job(str(number), 1, 10, at=at, account=account, user=user))
    policy = slurm(
        PriorityType="priority/multifactor",
        PriorityWeightFairshare=100_000,
        PriorityCalcPeriod="0:10",
        PriorityDecayHalfLife=5,
        PriorityFlags=("NO_FAIR_TREE",),
        associations=(*RED, *BLUE),
    )
    starts, _, _ = run(jobs, policy, gpus=4)
    blue = sum(spec.account == "blue" for spec, start in zip(jobs, starts, strict=True) if start < 600)
    assert blue / sum(start < 600 for start in starts) == pytest.approx(0.75, abs=0.05)


# --- limits


def test_a_job_above_a_limit_waits_and_holds_up_none():
    """Red may hold 2 GPUs: r2 waits for r1 (to 10) though 2 are free; b, behind it, starts at once.

    The policy's notes have one job for AssocGrpGRES from 1 to 10.
    """
    policy = slurm(associations=(Association("red", GrpTRES={"gres/gpu": 2}), Association("blue")))
    jobs = [
        job("r1", 2, 10, account="red", user="u"),
        job("r2", 1, 5, at=1, account="red", user="w"),
        job("b", 2, 30, at=2, account="blue", user="v"),
    ]
    assert run(jobs, policy)[0] == [0, 10, 2]
    notes = [(time_ns_ / NS_PER_S, name, value) for time_ns_, name, value in policy.series]
    assert notes == [(1, "AssocGrpGRES", 1), (10, "AssocGrpGRES", 0)]


def test_a_limit_reached_in_a_pass_of_the_backfill_loop_holds_for_its_later_jobs():
    """First waits for the GPUs that r holds, to 10. S1 and s2 of u, 4 s each, fit beside r; u may run one."""
    policy = slurm(associations=(Association("red"), Association("red", "u", MaxJobs=1)))
    jobs = [job("r", 2, 10), job("first", 4, 5, at=1)]
    jobs += [job(name, 1, 4, at=1, account="red", user="u") for name in ("s1", "s2")]
    assert run(jobs, policy)[0] == [0, 10, 1, 5]


@pytest.mark.parametrize(
    ("settings", "start", "reason"),
    [
        ({"associations": (Association("red"), Association("red", "u", MaxJobs=1))}, 10, "AssocMaxJobsLimit"),
        ({"associations": (Association("red", GrpJobs=1),)}, 10, "AssocGrpJobsLimit"),
        ({"associations": (Association("red", MaxJobs=2),)}, 1, ""),
        (
            {"associations": (Association("all", GrpTRES={"gres/gpu": 1}), Association("red", Parent="all"))},
            10,
            "AssocGrpGRES",
        ),
        ({"qos": (Qos("q", GrpTRES={"node": 1}),)}, 10, "QOSGrpNode"),
        ({"qos": (Qos("q", MaxTRESPerUser={"gres/gpu": 1}),)}, 10, "QOSMaxGRESPerUser"),
        ({"qos": (Qos("q", MaxJobsPerUser=1),)}, 10, "QOSMaxJobsPerUserLimit"),
        ({"qos": (Qos("q", GrpJobs=1),)}, 10, "QOSGrpJobsLimit"),
        ({"qos": (Qos("q", GrpJobs=2, MaxTRESPerUser={"gres/gpu": 2}),)}, 1, ""),
    ],
)
def test_limits_of_associations_and_qos(settings, start, reason):
    """A second job of the user, at 1, waits for the end of the first at 10, with Slurm's reason for it."""
    policy = slurm(**settings)
    jobs = [job(name, 1, 10, at=at, account="red", user="u", qos="q") for name, at in (("a", 0), ("b", 1))]
    starts, _, events = run(jobs, policy)
    assert starts == [0, start]
    assert [name for _, name, value in policy.series if value] == ([reason] if reason else [])
    noted = [(e.time_ns // NS_PER_S, e.job, e.reason) for e in events if isinstance(e, Pending)]
    assert noted == ([(1, 1, reason)] if reason else [])


@pytest.mark.parametrize(
    ("settings", "other"),
    [
        ({"qos": (Qos("q", GrpJobs=1), Qos("p", GrpJobs=1))}, {"qos": "p"}),
        ({"qos": (Qos("q", GrpTRES={"gres/gpu": 1}), Qos("p", GrpTRES={"gres/gpu": 1}))}, {"qos": "p"}),
        ({"qos": (Qos("q", MaxJobsPerUser=1),)}, {"user": "w"}),
        ({"qos": (Qos("q", MaxTRESPerUser={"gres/gpu": 1}),)}, {"user": "w"}),
        ({"associations": (Association("red", GrpJobs=1), Association("blue"))}, {"account": "blue"}),
        ({"associations": (Association("red", MaxJobs=1),)}, {"user": "w"}),
        (  # each user in each account below has one
            {
                "associations": (
                    Association("all", MaxJobs=1),
                    *(Association(a, Parent="all") for a in ("red", "blue")),
                )
            },
            {"account": "blue"},
        ),
    ],
)
def test_limits_count_the_jobs_of_their_own_qos_user_and_account(settings, other):
    """B, of another one than a, starts at 1; a third job, like a, waits for it to 10."""
    of = {"account": "red", "user": "u", "qos": "q"}
    jobs = [job("a", 1, 10, **of), job("b", 1, 20, at=1, **{**of, **other}), job("c", 1, 5, at=2, **of)]
    assert run(jobs, slurm(**settings))[0] == [0, 1, 10]


def test_a_reason_is_noted_as_it_changes_and_as_it_ends():
    """Of u's jobs on 4 GPUs a (1, to 10) and r (3 of v, to 30) run; b (4) waits for MaxJobs from 1 on.

    At 10 the limit is kept, at 20 u's own c is submitted and waits behind b without a reason; b starts at 30,
    and from then on c waits for MaxJobs.
    """
    policy = slurm(associations=(Association("red"), Association("red", "u", MaxJobs=1)))
    jobs = [job("a", 1, 10, account="red", user="u"), job("r", 3, 30, account="red", user="v")]
    jobs += [job(name, 4, 10, at=at, account="red", user="u") for name, at in (("b", 1), ("c", 20))]
    starts, _, events = run(jobs, policy)
    assert starts == [0, 0, 30, 40]
    noted = [(e.time_ns // NS_PER_S, e.job, e.reason) for e in events if isinstance(e, Pending)]
    assert noted == [(1, 2, "AssocMaxJobsLimit"), (10, 2, ""), (30, 3, "AssocMaxJobsLimit")]


@pytest.mark.parametrize(
    ("settings", "gpus", "told"),
    [
        ({"qos": (Qos("q", GrpTRES={"gres/gpu": 2}),)}, 3, "it can never start (QOSGrpGRES)"),
        ({"qos": (Qos("q", MaxTRESPerUser={"gres/gpu": 2}),)}, 3, "it can never start (QOSMaxGRESPerUser)"),
        (
            {"associations": (Association("red", GrpTRES={"node": 1}),)},
            6,
            "it can never start (AssocGrpNode)",
        ),
        ({"associations": (Association("red", MaxJobs=0),)}, 1, "it can never start (AssocMaxJobsLimit)"),
    ],
)
def test_a_job_that_can_never_start_is_refused_before_the_clock_starts(settings, gpus, told):
    """2 nodes of 4 GPUs: a job above a limit by itself waited forever, woken every PriorityCalcPeriod.

    With what the limit allows (2 GPUs; 4 on one node) it is no fault.
    """
    wrong = job("j", gpus, 10, account="red", user="u", qos="q", partition="p")
    policy = slurm(PriorityType="priority/multifactor", **settings)
    cluster = tiny_cluster(2, 4, cpus=64)
    with pytest.raises(InputError) as error:
        policy.notes(cluster, [wrong])
    first, second = str(error.value).split("\n")
    assert first == f"job 'j': {told}"
    assert f"found {gpus} GPUs, 0 CPUs" in second.replace('"', "").replace("'", "")
    if "MaxJobs" not in told:
        assert policy.notes(cluster, [replace(wrong, demand=replace(wrong.demand, gpus=2))]) == []


def test_nice_lowers_a_priority():
    """Behind r, to 10, wait a (nice 100 at 1), b (0 at 2), c (-100 at 3) and d (0 at 4), 10 s each.

    Basic: r has -1, a -2 - 100, b, below the lowest so far, -103, c -104 + 100, d, below it, -104.
    So a stays before the jobs that come later, as in Slurm: c, a, b, d. Multifactor without weights: - nice,
    at least 1, so 1, 1, 100 and 1: c, then by submission; with 500 for the partition 400, 500, 600 and 500.
    """
    jobs = [job("r", 4, 10)]
    niced = (("a", 1, 100), ("b", 2, 0), ("c", 3, -100), ("d", 4, 0))
    jobs += [replace(job(name, 4, 10, at=at), nice=nice) for name, at, nice in niced]
    assert run(jobs, slurm())[0] == [0, 20, 30, 10, 40]
    assert run(jobs, slurm(PriorityType="priority/multifactor"))[0] == [0, 20, 30, 10, 40]
    weighted = slurm(PriorityType="priority/multifactor", PriorityWeightPartition=500)
    assert run(jobs, weighted)[0] == [0, 40, 20, 10, 30]


# --- preemption

TIERS = (Partition("gpu", Default=True), Partition("urgent", PriorityTier=10, PreemptMode="OFF"))


def preempting(**settings):
    """Return the policy with preemption by tier."""
    return slurm(PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=TIERS, **settings)


def test_a_higher_tier_preempts_and_the_victim_waits_121_s():
    """Urgent takes a's GPUs at 3; it ends at 8, and a, which may not start before 3 + 121, does so at 124."""
    jobs = [job("a", 4, 10), job("b", 4, 5, at=3, partition="urgent")]
    starts, _, events = run(jobs, preempting(), overheads=Overheads(on_stop="lose_all"))
    assert starts == [0, 3]
    assert [(e.job, e.time_ns // NS_PER_S) for e in events if isinstance(e, Start)] == [
        (0, 0),
        (1, 3),
        (0, 124),
    ]


def test_victims_are_the_fewest_nodes_first_then_by_number_and_only_those_needed():
    """Nodes of 2: w has m0 and m1, a and b share m2. Urgent, for one node, stops a and b, not w.

    Candidates in order: a, b (one node each), w; with a and b removed m2 suffices.
    """
    jobs = [job("w", 4, 50), job("a", 1, 50), job("b", 1, 50), job("u", 2, 5, at=3, partition="urgent")]
    _, places, events = run(jobs, preempting(), machines=3, gpus=2)
    assert [e.job for e in events if isinstance(e, Stop)] == [1, 2]
    assert places[3] == [2]


def test_victims_that_hold_no_chosen_node_are_spared():
    """Nodes of 2: a (1 of m0), b (2 of m1). Urgent wants 2 on one node: removing a suffices, b goes on."""
    jobs = [job("a", 1, 50), job("b", 2, 50), job("u", 2, 5, at=3, partition="urgent")]
    _, places, events = run(jobs, preempting(), machines=2, gpus=2)
    assert [e.job for e in events if isinstance(e, Stop)] == [0]
    assert places[2] == [0]


def test_victims_of_the_lowest_tier_are_first():
    """Nodes of 2: a of tier 5 has m0, b of tier 1 m1. Urgent, of tier 10, stops b, though a came first."""
    policy = slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode="REQUEUE",
        partitions=(*TIERS, Partition("mid", PriorityTier=5)),
    )
    jobs = [job("a", 2, 50, partition="mid"), job("b", 2, 50), job("u", 2, 5, at=3, partition="urgent")]
    _, _, events = run(jobs, policy, machines=2, gpus=2)
    assert [e.job for e in events if isinstance(e, Stop)] == [1]


def test_victims_of_the_lowest_qos_priority_are_first():
    """Nodes of 2: a of QOS mid has m0, b of low m1. High stops b, though a came first."""
    qos = (Qos("mid", Priority=5), Qos("low", Priority=1), Qos("high", Preempt=("mid", "low")))
    policy = slurm(PreemptType="preempt/qos", PreemptMode="REQUEUE", qos=qos)
    jobs = [job("a", 2, 50, qos="mid"), job("b", 2, 50, qos="low"), job("u", 2, 5, at=3, qos="high")]
    _, _, events = run(jobs, policy, machines=2, gpus=2)
    assert [e.job for e in events if isinstance(e, Stop)] == [1]


@pytest.mark.parametrize(("lln", "place"), [(False, [0]), (True, [1])])
def test_lln_holds_for_the_nodes_that_victims_leave(lln, place):
    """Nodes of 3 GPUs: k (1) is on m0, w (4) on both. Without w m1 has the most free CPUs, m0 the fewest."""
    partitions = (
        TIERS[0],
        Partition("urgent", PriorityTier=10, LLN=lln),
        Partition("kept", PreemptMode="OFF"),
    )
    policy = slurm(PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=partitions)
    jobs = [job("k", 1, 50, partition="kept"), job("w", 4, 50), job("u", 2, 5, at=3, partition="urgent")]
    assert run(jobs, policy, machines=2, gpus=3)[1] == [[0], [0, 1], place]


def test_victims_are_sorted_again_to_spare_some():
    """On 4 GPUs a (1) and b (3): urgent wants 3. Removed are a and b, then b is tried first, and suffices."""
    jobs = [job("a", 1, 50), job("b", 3, 50), job("u", 3, 5, at=3, partition="urgent")]
    _, _, events = run(jobs, preempting())
    assert [e.job for e in events if isinstance(e, Stop)] == [1]


def test_a_job_that_may_preempt_reserves_the_nodes_that_its_victims_leave():
    """Urgent wants both nodes; k, which is not preempted, has m0 to 10, a has m1: urgent starts at 10.

    So c (1 GPU, 20 s), beside a, would delay it by its limit: it waits, though only k has to end. D (4 s) has
    time enough, and starts at 4.
    """
    kept = Partition("kept", PriorityTier=5, PreemptMode="OFF")
    policy = slurm(PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=(*TIERS, kept))
    jobs = [
        job("k", 2, 10, partition="kept"),
        job("a", 1, 50),
        job("u", 4, 5, at=3, partition="urgent"),
        job("c", 1, 20, at=4, partition="kept"),
        job("d", 1, 4, at=4, partition="kept"),
    ]
    starts, _, _ = run(jobs, policy, machines=2, gpus=2)
    assert starts == [0, 0, 10, 15, 4]


def test_the_backfill_loop_preempts_beside_a_reservation_too():
    """Urgent u (both nodes of 2) waits for k, which is not preempted, to 10, and holds up v in the main loop.

    V (1 GPU, 3 s, at 4) ends before u's reservation: the backfill loop stops a for it.
    """
    kept = Partition("kept", PriorityTier=5, PreemptMode="OFF")
    policy = slurm(PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=(*TIERS, kept))
    jobs = [
        job("k", 2, 10, partition="kept"),
        job("a", 2, 50),
        job("u", 4, 5, at=3, partition="urgent"),
        job("v", 1, 3, at=4, partition="urgent"),
    ]
    starts, _, events = run(jobs, policy, machines=2, gpus=2)
    assert starts == [0, 0, 10, 4]
    assert [(e.job, e.time_ns // NS_PER_S) for e in events if isinstance(e, Stop)] == [(1, 4)]


def test_jobs_that_preempt_none_of_each_other_are_by_priority_under_qos_too():
    """B came before c."""
    policy = slurm(PreemptType="preempt/qos", PreemptMode="REQUEUE", qos=(Qos("low"),))
    jobs = [job(name, 4, 10, at=at, qos="low") for at, name in enumerate("abc")]
    assert run(jobs, policy)[0] == [0, 10, 20]


def test_a_job_is_no_victim_at_the_instant_of_its_start():
    """N starts at 0. X, of another QOS, waits behind it, and h behind x; h may preempt n, but not at 0.

    Nothing happens until n ends, at 10, and x starts; h follows at 20.
    """
    qos = (Qos("normal"), Qos("other"), Qos("high", Preempt=("normal",)))
    jobs = [job(name, 4, 10, qos=of) for name, of in (("n", "normal"), ("x", "other"), ("h", "high"))]
    starts, _, events = run(jobs, slurm(PreemptType="preempt/qos", PreemptMode="REQUEUE", qos=qos))
    assert (starts, [e.job for e in events if isinstance(e, Stop)]) == ([0, 10, 20], [])


def test_a_requeued_job_keeps_its_place_by_priority_basic_and_goes_behind_its_equals_by_multifactor():
    """Urgent stops a at 1 and ends at 200; w was submitted with a, at 0. Which of them is first at 200?"""
    jobs = [job("a", 4, 10), job("w", 4, 10), job("u", 4, 199, at=1, partition="urgent")]
    for kind, first in (("priority/basic", 0), ("priority/multifactor", 1)):
        _, _, events = run(jobs, preempting(PriorityType=kind), overheads=Overheads(on_stop="lose_all"))
        assert [e.job for e in events if isinstance(e, Start) and e.time_ns == 200 * NS_PER_S] == [first]


def test_a_qos_that_may_preempt_another_is_before_it_whatever_the_priorities():
    """Both wait for a, of QOS low, no victim: b (normal) has the higher priority, h (high) may preempt it."""
    qos = (Qos("low"), Qos("normal", Priority=9), Qos("high", Preempt=("normal",)))
    policy = slurm(
        PriorityType="priority/multifactor",
        PriorityWeightQOS=100,
        PreemptType="preempt/qos",
        PreemptMode="REQUEUE",
        qos=qos,
    )
    jobs = [
        job("a", 4, 10, qos="low"),
        job("b", 4, 10, at=1, qos="normal"),
        job("h", 4, 10, at=2, qos="high"),
    ]
    assert run(jobs, policy)[0] == [0, 20, 10]


def test_no_job_is_preempted_by_its_own_tier_or_with_mode_off():
    """B waits for a in each of them."""
    jobs = [job("a", 4, 10), job("b", 4, 5, at=3)]
    assert run(jobs, preempting())[0] == [0, 10]
    jobs = [job("a", 4, 10), job("b", 4, 5, at=3, partition="urgent")]
    assert run(jobs, slurm(PreemptType="preempt/partition_prio", partitions=TIERS))[0] == [0, 10]


def test_preemption_by_qos_follows_its_list():
    """High preempts normal, not low, and not spared, whose own PreemptMode is OFF."""
    spared = Qos("spared", PreemptMode="OFF")
    qos = (Qos("normal"), Qos("low"), spared, Qos("high", Priority=10, Preempt=("normal", "spared")))
    for name, start in (("normal", 3), ("low", 10), ("spared", 10)):
        policy = slurm(PreemptType="preempt/qos", PreemptMode="REQUEUE", qos=qos)
        jobs = [job("a", 4, 10, qos=name), job("b", 4, 5, at=3, qos="high")]
        assert run(jobs, policy)[0] == [0, start]


def test_a_victim_goes_on_for_its_grace_time():
    """Chosen at 3, a stops at 3 + 4, and urgent starts then; the submission of c, at 5, begins none anew."""
    partitions = (replace_grace(TIERS[0], 4), TIERS[1])
    policy = slurm(PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=partitions)
    jobs = [job("a", 4, 10), job("b", 4, 5, at=3, partition="urgent"), job("c", 4, 5, at=5)]
    starts, _, events = run(jobs, policy, overheads=Overheads(on_stop="lose_all"))
    assert [e.time_ns // NS_PER_S for e in events if isinstance(e, Stop)] == [7]
    assert starts == [0, 7, 12]


@pytest.mark.parametrize(
    ("kind", "of_all", "own", "grace_s", "ends"),
    [
        ("partition_prio", "REQUEUE", "CANCEL", 0, (3, 8, 1)),
        ("partition_prio", "CANCEL", None, 0, (3, 8, 1)),
        ("partition_prio", "CANCEL", None, 4, (7, 12, 1)),
        ("partition_prio", "CANCEL", "REQUEUE", 0, (131, 8, 1)),
        ("partition_prio", "CANCEL", "OFF", 0, (10, 15, 0)),
        ("qos", "REQUEUE", "CANCEL", 0, (3, 8, 1)),
        ("qos", "CANCEL", None, 4, (7, 12, 1)),
        ("qos", "CANCEL", "REQUEUE", 0, (131, 8, 1)),
        ("qos", "CANCEL", "OFF", 0, (10, 15, 0)),
    ],
)
def test_a_victim_with_mode_cancel_ends_as_it_stops(kind, of_all, own, grace_s, ends):
    """A (4 GPUs, 10 s) runs from 0, u (5 s) may preempt it at 3: a ends at 3, u at 3 + 5, and a is gone.

    With 4 s of grace a ends at 7 with 7 of 10 s done, u at 12. Requeued, with 3 s done, a ends at 124 + 7.
    Partition and QOS have a mode of their own before that of all; a preemption is counted once.
    """
    partitions = [Partition("gpu", Default=True, PreemptMode=own, GraceTime=grace_s), TIERS[1]]
    qos = [Qos("low", PreemptMode=own, GraceTime=grace_s), Qos("high", Preempt=("low",))]
    more = {"partitions": partitions} if kind == "partition_prio" else {"qos": qos}
    jobs = [job("a", 4, 10, qos="low"), job("u", 4, 5, at=3, partition="urgent", qos="high")]
    policy = slurm(PreemptType=f"preempt/{kind}", PreemptMode=of_all, **more)
    overheads = Overheads(on_stop="keep")
    result, events = run_checked(jobs, tiny_cluster(1, 4, cpus=64), policy, overheads=overheads)
    cancelled = ends[0] in (3, 7)
    assert [*seconds(result, "finish_ns"), result.columns["preemptions"][0]] == [*ends]
    assert result.cancelled == ((0,) if cancelled else ())
    assert result.columns["iterations"].tolist() == [ends[0] if cancelled else 10, 5]
    assert [e.job for e in events if isinstance(e, Finish) and e.cancelled] == [0] * cancelled
    assert result.busy_gpu_ns == 4 * ((ends[0] if cancelled else 10) + 5) * NS_PER_S


def test_the_usage_of_a_victim_counts_up_to_its_stop():
    """Victim a of red holds a node, one CPU by Slurm's default, from 0 to 3: 3 CPU-seconds, once.

    Both modes, with and without grace time (4 s more); no usage decays, and priorities are not set anew.
    """
    accounts = (Association("red"), Association("red", "u"))
    for mode, grace_s, used in (("REQUEUE", 0, 3), ("CANCEL", 0, 3), ("REQUEUE", 4, 7), ("CANCEL", 4, 7)):
        policy = slurm(
            PreemptType="preempt/partition_prio",
            PreemptMode=mode,
            PriorityType="priority/multifactor",
            PriorityDecayHalfLife=0,
            partitions=(replace_grace(TIERS[0], grace_s), TIERS[1]),
            associations=accounts,
        )
        jobs = [job("a", 4, 10, account="red", user="u"), job("b", 4, 90, at=3, partition="urgent")]
        run(jobs, policy, overheads=Overheads(on_stop="lose_all"))
        assert policy._multifactor._fair_share.usage["red", "u"] == used


def replace_grace(partition, grace_s):
    """Return the partition with a grace time."""
    return Partition(partition.PartitionName, Default=True, GraceTime=grace_s)


# --- nodes


@pytest.mark.parametrize(
    ("free_cpus", "count", "chosen"),
    [
        ([9, 5, 7, 0, 6], 1, [4]),  # sets 0-2 (21 CPUs) and 4 (6): the smaller, though node 1 has 5
        ([9, 5, 7, 0, 0], 1, [1]),  # one set: the node with the fewest
        ([9, 5, 7, 0, 6], 2, [0, 1]),  # 4 alone is too small: the first nodes of 0-2
        ([9, 5, 7, 0, 6], 4, [0, 1, 2, 4]),  # none suffices: the largest set, then the rest
        ([9, 5, 0, 4, 6], 2, [3, 4]),  # 14 and 10 CPUs
        ([1, 2, 0, 9, 0], 2, [0, 3]),  # 0-1 suffices, 3 does not but has more; last node: fewest of 0-1
        ([9, 9, 0, 5, 4], 3, [0, 1, 4]),  # the last node: the fewest of the next set
        ([9, 0, 1, 2, 0], 2, [2, 3]),  # in the other order 2-3 replaces 0, as the first that suffices
        ([1, 0, 5, 6, 0], 2, [2, 3]),  # though it has more
    ],
)
def test_nodes_of_a_job_by_consecutive_sets(free_cpus, count, chosen):
    """Nodes with no free CPU are not able."""
    nodes = Nodes(tiny_cluster(5, 1, cpus=9))
    for machine, free in enumerate(free_cpus):
        if free < 9:
            nodes.take(machine, NS_PER_S, (replace_cpus(machine, 9 - free),))
    able = nodes.able(Need(0, 1, 0))
    assert nodes.choose(able, count) == sum(1 << machine for machine in chosen)


def test_nodes_are_chosen_by_the_cpus_that_are_free_at_the_start():
    """Of 64 CPUs m0 has 34 free, 64 from 10 on, m1 34, 54 without job 2: the fewest then are m1's."""
    nodes = Nodes(tiny_cluster(2, 4, cpus=64))
    for number, end_s, part in (
        (0, 10, Slice(0, 2, 30)),
        (1, 100, Slice(1, 1, 10)),
        (2, 200, Slice(1, 1, 20)),
    ):
        nodes.take(number, end_s * NS_PER_S, (part,))
    assert nodes.choose(0b11, 1) == 0b01
    assert nodes.choose(0b11, 1, 10 * NS_PER_S) == 0b10
    assert nodes.choose(0b11, 1, 10 * NS_PER_S, (2,)) == 0b10
    assert nodes.choose(0b11, 1, 0, (2,)) == 0b01


def test_a_job_that_names_no_cpus_and_memory_takes_those_that_are_left():
    """Two of four GPUs go with 32 CPUs and 500 bytes, but a (1 GPU) has named 60 of 64, and 900 of 1,000."""
    jobs = [job("a", 1, 10, demand={"cpus": 60, "memory_bytes": 900}), job("b", 2, 10)]
    _, events = run_checked(jobs, tiny_cluster(1, 4, cpus=64, memory_bytes=1000), slurm())
    slices = [event.allocation.slices for event in events if isinstance(event, Start)]
    assert slices == [(Slice(0, 1, 60, 900),), (Slice(0, 2, 4, 100),)]


def replace_cpus(machine, cpus):
    """Return a slice of CPUs alone."""
    return Slice(machine, 0, cpus)


def test_topology_tree_takes_the_tightest_leaf():
    """Leaves 0-1, 2-3 and 4: one node goes to 4, two to 0-1, three to 0-1 and 4."""
    nodes = Nodes(tiny_cluster(5, 1, cpus=9), [0b00011, 0b01100, 0b10000])
    assert [nodes.choose(0b11111, count) for count in (1, 2, 3)] == [0b10000, 0b00011, 0b10011]
    uneven = Nodes(tiny_cluster(5, 1, cpus=9), [0b00001, 0b00110, 0b11000])
    assert uneven.choose(0b11111, 4) == 0b11110  # none suffices: those with the most


@pytest.mark.parametrize(
    ("count", "chosen"),
    [(1, [3]), (2, [3, 4]), (3, [0, 3, 4]), (5, [0, 1, 2, 3, 4])],
)
def test_nodes_of_the_lowest_weight_come_first(count, chosen):
    """Nodes 3 and 4 weigh 1, 0 and 1 weigh 5, 2 weighs 9; else the first would be taken."""
    nodes = Nodes(tiny_cluster(5, 1, cpus=9), by_weight=[0b11000, 0b00011, 0b00100])
    assert nodes.choose(0b11111, count) == sum(1 << machine for machine in chosen)


def test_a_job_gets_the_machine_of_the_lowest_weight():
    """Machine m0 weighs 3 and m1 1, unstated: the first job is on m1, the second, of all GPUs, on m0."""
    jobs = [job("a", 1, 10), job("b", 4, 10, at=1)]
    assert run(jobs, slurm(), machines=2)[1] == [[0], [1]]
    assert run(jobs, slurm(Weight={3: ("m0",)}), machines=2)[1] == [[1], [0]]


def test_lln_goes_by_the_share_of_free_cpus():
    """Of m0 5 of 8 CPUs are free, of m1 4 of 4: m1."""
    nodes = Nodes(Cluster([Machine("m0", 0, "t", 1, cpus=8), Machine("m1", 0, "t", 1, cpus=4)]))
    nodes.take(0, NS_PER_S, (replace_cpus(0, 3),))
    assert nodes.choose(0b11, 1, spread=True) == 0b10


def test_lln_takes_the_nodes_with_the_most_free_cpus():
    """Jobs of one GPU with 2 CPUs go to different nodes with LLN, else to the same."""
    jobs = [job("a", 1, 10, demand={"cpus": 2}), job("b", 1, 10, at=1, demand={"cpus": 2})]
    assert run(jobs, slurm(), machines=2)[1] == [[0], [0]]
    assert run(jobs, slurm(partitions=(Partition("p", LLN=True),)), machines=2)[1] == [[0], [1]]


# --- exclusive

ALONE = Partition("alone", OverSubscribe="EXCLUSIVE")
EXCLUSIVE = ({"exclusive": True}, {"partition": "alone"})  # by the job, by its partition


def alone(**settings):
    """Return the policy with a partition of exclusive jobs."""
    return slurm(partitions=(Partition("gpu", Default=True), ALONE), **settings)


@pytest.mark.parametrize("texts", EXCLUSIVE)
def test_an_exclusive_job_waits_for_an_empty_node_and_lets_none_join_it(texts):
    """Four GPUs. A has one to 10; e (1 GPU, 5 s, at 1) waits for its end, c (1 GPU, 20 s, at 2) for e's.

    Else three GPUs are free for both at once. In the trace c may be backfilled to 10: here it is too long.
    """
    jobs = [job("a", 1, 10), job("e", 1, 5, at=1, **texts), job("c", 1, 20, at=2)]
    assert run(jobs, alone())[0] == [0, 10, 15]
    assert run([replace(one, exclusive=False, partition="") for one in jobs], alone())[0] == [0, 1, 2]


@pytest.mark.parametrize("texts", EXCLUSIVE)
def test_an_exclusive_job_gets_the_nodes_that_it_needs_and_no_part_of_another(texts):
    """Two nodes of 4: e (5 GPUs, to 9) has both, so b (1) waits, though 3 are free."""
    starts, places, _ = run([job("e", 5, 9, **texts), job("b", 1, 5, at=1)], alone(), machines=2)
    assert (starts, places[0]) == ([0, 9], [0, 1])


def test_the_start_of_an_exclusive_job_is_the_last_end_on_its_node():
    """A (1 GPU) ends at 10, b (1) at 20: e may start at 20. C (15 s, at 2) is done by then, d (19 s) not."""
    jobs = [job("a", 1, 10), job("b", 1, 20), job("e", 1, 5, at=1, exclusive=True)]
    assert run([*jobs, job("c", 1, 15, at=2)], alone())[0] == [0, 0, 20, 2]
    assert run([*jobs, job("d", 1, 19, at=2)], alone())[0] == [0, 0, 20, 25]


def test_an_exclusive_job_preempts_all_jobs_of_its_node_and_leaves_all_of_it_as_a_victim():
    """Urgent e (1 of 4 GPUs) stops a and b (1 each), though 2 GPUs are free; urgent u (1) stops e."""
    jobs = [job("a", 1, 50), job("b", 1, 50), job("e", 1, 5, at=3, partition="urgent", exclusive=True)]
    starts, _, events = run(jobs, preempting())
    assert sorted(e.job for e in events if isinstance(e, Stop)) == [0, 1]
    assert starts[2] == 3
    jobs = [job("e", 1, 50, exclusive=True), job("u", 1, 5, at=3, partition="urgent")]
    starts, _, events = run(jobs, preempting())
    assert [e.job for e in events if isinstance(e, Stop)] == [0]
    assert starts == [0, 3]


@pytest.mark.parametrize("texts", EXCLUSIVE)
def test_limits_count_all_gpus_and_cpus_of_the_nodes_of_an_exclusive_job(texts):
    """Two nodes of 4 GPUs; red may hold 6. R1 (1 GPU, to 10) counts 4, so r2, exclusive too, waits for it.

    R3 (2 GPUs), not exclusive, makes 6 and starts at once. With 3 of red's no exclusive job ever starts.
    """
    red = {"account": "red", "user": "u"}
    policy = alone(associations=(Association("red", GrpTRES={"gres/gpu": 6}),))
    jobs = [job("r1", 1, 10, **red, **texts), job("r2", 1, 5, at=1, **red, **texts)]
    starts, _, events = run([*jobs, job("r3", 2, 3, at=2, **red)], policy, machines=2)
    assert starts == [0, 10, 2]
    noted = [(e.time_ns // NS_PER_S, e.job, e.reason) for e in events if isinstance(e, Pending)]
    assert noted == [(1, 1, "AssocGrpGRES")]
    policy = alone(associations=(Association("red", GrpTRES={"gres/gpu": 3}),))
    with pytest.raises(InputError, match="can never start"):
        policy.notes(tiny_cluster(2, 4, cpus=64), jobs)


def test_resources_of_an_exclusive_job_are_those_of_the_largest_nodes_until_it_starts():
    """A job of 1 GPU and 8 CPUs on m0 (2 GPUs, 16 CPUs) or m1 (8 and 96): 8 and 96, on m0 2 and 16."""
    small, large = Machine("m0", 0, "t", 2, cpus=16), Machine("m1", 0, "t", 8, cpus=96)
    partition = Partition("p", TRESBillingWeights={"gres/gpu": 10})
    one = Job(0, 1, Need(1, 8, 0), 1, 8, 2**31, 1, (0b11,), partition, 0, 0, largest=(large,))
    assert one.tres == {"cpu": 96, "gres/gpu": 8, "mem": 2, "node": 1}
    one.held = (small,)
    assert one.tres == {"cpu": 16, "gres/gpu": 2, "mem": 2, "node": 1}
    assert one.billing == 20


def test_an_exclusive_job_needs_a_limit_for_the_largest_of_its_nodes():
    """Nodes of 2 and 4 GPUs: with 3 of red's it may not start, though it would fit m0; with 4 it may."""
    cluster = Cluster([Machine("m0", 0, "t", 2, cpus=8), Machine("m1", 0, "t", 4, cpus=8)])
    one = [job("e", 1, 5, account="red", exclusive=True)]
    enough, short = (slurm(associations=(Association("red", GrpTRES={"gres/gpu": n}),)) for n in (4, 3))
    assert enough.notes(cluster, one) == []
    with pytest.raises(InputError, match="can never start"):
        short.notes(cluster, one)


def test_usage_of_an_exclusive_job_is_that_of_its_whole_node():
    """E (1 of 4 GPUs and 64 CPUs) runs for 10 s: 640 CPU-seconds, if nothing decays; else one CPU's 10."""
    accounts = (Association("red"), Association("red", "u"))
    for exclusive, used in ((True, 640), (False, 10)):
        policy = slurm(PriorityType="priority/multifactor", PriorityDecayHalfLife=0, associations=accounts)
        red = {"account": "red", "user": "u"}
        run([job("e", 1, 10, exclusive=exclusive, **red), job("later", 1, 5, at=20)], policy)
        assert policy._multifactor._fair_share.usage["red", "u"] == used


def test_a_requeued_exclusive_job_counts_as_before_its_start():
    """On m0 it counts for 2 GPUs; as it waits again for the 4 of m1, the most that it may get."""
    cluster = Cluster([Machine("m0", 0, "t", 2, cpus=8), Machine("m1", 0, "t", 4, cpus=8)])
    one = Job(
        0, 1, Need(1, 1, 0, 1), 1, 1, 0, 10, (0b11,), Partition("p"), 0, 0, largest=(cluster.machines[1],)
    )
    policy = slurm()
    scheduler = policy._built(cluster)
    scheduler.submit(one)
    scheduler.start(one, 0b01, 0)
    assert one.tres["gres/gpu"] == 2
    scheduler.requeue(0, 3)
    assert one.tres["gres/gpu"] == 4


# --- configuration


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("10", 10), (10, 10), ("1:30", 1.5), ("00:10:00", 10), ("1-0", 1440), ("1-2:30", 1590)],
)
def test_times_as_slurm_writes_them(text, minutes):
    """Minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes."""
    assert time_ns(text) == minutes * 60 * NS_PER_S


def test_limits_of_a_partition_bound_those_of_jobs():
    """A job of 100 s and unknown limit has DefaultTime 20 s, another's 50 s are cut to MaxTime 30 s.

    On 4 GPUs `first` has the node from 20 on (30): the two that pass must end before by these limits.
    """
    partition = Partition("p", MaxTime="0:30", DefaultTime="0:20")
    short = replace(job("short", 1, 9, at=1), limit_ns=None)
    runs, first = replace(job("runs", 3, 100), limit_ns=None), job("first", 4, 5, at=1)
    assert run([runs, first, short], slurm(partitions=(partition,)))[0][2] > 1  # 1 + 20 is after 20
    for beside_s, starts in ((28, True), (29, False)):  # 1 + 28 is before the 30 s to which 50 are cut
        beside = job("beside", 1, 26, beside_s, at=1)
        jobs = [job("runs", 3, 26, 50), first, beside]
        assert (run(jobs, slurm(partitions=(partition,)))[0][2] == 1) == starts
    late = job("late", 1, 18, 18, at=1)
    assert run([runs, first, late], slurm(partitions=(partition,)))[0][2] == 1  # 1 + 18 is before it


def test_jobs_without_a_limit_from_anywhere_are_noted():
    """A limit may be a job's, or DefaultTime or MaxTime of its partition; the main loop alone needs none."""
    jobs, cluster = [replace(job("a", 1, 1), limit_ns=None)], tiny_cluster(1, 2)
    assert "no job has a time limit" in slurm().notes(cluster, jobs)[0]
    for policy in (
        slurm(partitions=(Partition("p", DefaultTime="1-0"),)),
        slurm(partitions=(Partition("p", MaxTime="1-0"),)),
        slurm(SchedulerType="sched/builtin"),
    ):
        assert policy.notes(cluster, jobs) == []


def test_unknown_names_are_refused_before_the_clock_starts():
    """A partition or QOS that the policy lacks, machines that are not there or too small, doubles."""
    cluster = tiny_cluster(2, 2)
    for policy, texts, found in (
        (slurm(partitions=(Partition("p"),)), {"partition": "q"}, "q"),
        (slurm(qos=(Qos("a"),)), {"qos": "b"}, "b"),
        (slurm(partitions=(Partition("p", Nodes=("m7",)),)), {}, "m7"),
        (slurm(partitions=(Partition("p", Nodes=("m1",)),)), {"gpus": 4}, "4 GPUs, 0 CPUs"),
    ):
        with pytest.raises(InputError) as error:
            policy.notes(cluster, [job("a", texts.pop("gpus", 1), 1, **texts)])
        assert error.value.found == found
    with pytest.raises(ValidationError, match="partitions has p twice"):
        slurm(partitions=(Partition("p"), Partition("p")))
    with pytest.raises(ValidationError, match="not a time"):
        slurm(PriorityMaxAge="soon")


@pytest.mark.parametrize(
    ("associations", "problem"),
    [
        ([("",)], "at least 1 character"),
        ([("a",), ("a",)], "associations has a twice"),
        ([("a",), ("a", "u"), ("a", "u")], "associations has u a twice"),
        ([("a", "u")], "has user u of a, which is not there"),
        ([("a", "", "b")], "has a below b, which is not there"),
        ([("a", "", "a")], "has a below a, which is below itself"),
        ([("root", "", "root")], "has root below root, which is below itself"),
        ([("a", "", "root"), ("root", "", "a")], "which is below itself"),
        ([("c", "", "a"), ("a", "", "b"), ("b", "", "a")], "has b below a, which is below itself"),
    ],
)
def test_accounts_that_are_no_tree_are_refused(associations, problem):
    """Limits and shares go from an account to those above it, which would not end, or not begin."""
    with pytest.raises(ValidationError, match=problem):
        slurm(associations=tuple(Association(*one) for one in associations))
