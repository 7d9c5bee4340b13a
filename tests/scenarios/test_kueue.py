"""Kueue's rules, each in a schedule worked out by hand that fails without it."""

from dataclasses import replace

import pytest
import yaml

from artist.core.cluster import CapacityEvent, Cluster
from artist.core.events import Start, Stop
from artist.errors import InputError
from artist.policies.kueue.policy import Kueue
from artist.testing.conformance import PolicyConformance
from artist.testing.tiny import job as plain
from artist.testing.tiny import run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns


class TestKueue(PolicyConformance):
    make_policy = staticmethod(Kueue)


def job(name, gpus, runs_s, at=0, **texts):
    """Return a job of the cluster queue that is the first letter of its name."""
    demand = {key: texts.pop(key) for key in ("cpus", "gpu_types") if key in texts}
    return replace(plain(name, gpus, runs_s, at, **demand), **{"partition": name[0], **texts})


def queue(name, gpus, cohort="", *, borrow=None, lend=None, strategy="BestEffortFIFO", **preemption):
    """Return a cluster queue with a quota of GPUs in one flavor."""
    quota = {"name": "nvidia.com/gpu", "nominalQuota": str(gpus)}
    quota |= {"borrowingLimit": borrow} if borrow is not None else {}
    quota |= {"lendingLimit": lend} if lend is not None else {}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "any", "resources": [quota]}]}
    spec = {"cohortName": cohort, "queueingStrategy": strategy, "preemption": preemption}
    return item("ClusterQueue", name, {**spec, "resourceGroups": [group]})


def item(kind, name, spec, **about):
    """Return an object as kubectl writes it."""
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name, **about}} | (
        {"value": spec} if isinstance(spec, int) else {"spec": spec}
    )


@pytest.fixture
def starts(tmp_path):
    """Return a function from jobs and objects of Kueue to first starts in s, on 4 machines of 4 GPUs."""

    def run(jobs, *objects, machines=4, gpus=4, cluster=None, capacity_events=(), **settings):
        path = tmp_path / "kueue.yaml"
        path.write_text(yaml.safe_dump_all(objects))
        cluster = cluster or tiny_cluster(machines, gpus, per_rack=2, cpus=16)
        policy = Kueue(conf=path, **settings)
        policy.notes(cluster, jobs)
        result, run.events = run_checked(jobs, cluster, policy, capacity_events=capacity_events)
        run.series = policy.series
        return seconds(result, "first_start_ns")

    return run


def stops(events):
    """Return times in s and jobs of all stops."""
    return [(event.time_ns // NS_PER_S, event.job) for event in events if isinstance(event, Stop)]


# --- quotas


def test_a_queue_uses_no_more_than_its_nominal_quota(starts):
    """Queue a has 4 of the 16 GPUs: a2 (2) fits beside a1 (2), a3 waits for their ends at 10, b1 for none."""
    jobs = [job("a1", 2, 10), job("a2", 2, 10), job("a3", 2, 5), job("b1", 8, 5)]
    assert starts(jobs, queue("a", 4), queue("b", 8)) == [0, 0, 10, 0]


def test_a_queue_borrows_what_its_cohort_does_not_use(starts):
    """Quotas of 4 and 4: a1 (4) and a2 (4, borrowed) run at once; b1 waits for an end. Alone a2 waits."""
    jobs = [job("a1", 4, 10), job("a2", 4, 20), job("b1", 4, 5, 1)]
    assert starts(jobs, queue("a", 4, "c"), queue("b", 4, "c")) == [0, 0, 10]
    assert starts(jobs, queue("a", 4), queue("b", 4)) == [0, 10, 1]


def test_borrowing_and_lending_are_limited(starts):
    """Quotas of 4: with 2 to borrow a uses 6 (a1, a2, not a3), as it does if b lends 2 of 4; with 0, 4."""
    jobs = [job("a1", 4, 10), job("a2", 2, 10), job("a3", 2, 10)]
    assert starts(jobs, queue("a", 4, "c", borrow=2), queue("b", 4, "c")) == [0, 0, 10]
    assert starts(jobs, queue("a", 4, "c"), queue("b", 4, "c", lend=2)) == [0, 0, 10]
    assert starts(jobs, queue("a", 4, "c", borrow=0), queue("b", 4, "c")) == [0, 10, 10]
    assert starts(jobs, queue("a", 4, "c"), queue("b", 4, "c")) == [0, 0, 0]


def test_a_queue_keeps_what_it_does_not_lend(starts):
    """B (4, lends 2) has 2 to itself: while a uses 6, b1 (2) starts at 1 and b2 (2) waits for a1's end."""
    jobs = [job("a1", 6, 10), job("b1", 2, 10, 1), job("b2", 2, 10, 1)]
    assert starts(jobs, queue("a", 4, "c"), queue("b", 4, "c", lend=2)) == [0, 1, 10]


def test_a_cohort_has_quota_of_its_own_and_cohorts_form_a_tree(starts):
    """B's 2, c's 4 and the 3 of d, in the cohort above c, make 9: a (0) borrows 6 + 3, and b1 (1) waits."""
    cohort = queue("c", 4, "")["spec"]["resourceGroups"]
    jobs = [job("a1", 6, 10), job("a2", 3, 10), job("b1", 1, 10, 1)]
    upper = item("Cohort", "top", {}), queue("d", 3, "top")
    lower = item("Cohort", "c", {"parentName": "top", "resourceGroups": cohort})
    assert starts(jobs, queue("a", 0, "c"), queue("b", 2, "c"), lower, *upper) == [0, 0, 10]


def test_heads_that_do_not_borrow_go_first_then_by_priority_then_by_submission(starts):
    """At 10 run0's 8 GPUs are free. B's head needs no borrowing; a1 (earlier, borrows 2 of 4 + 4) waits.

    Of two that borrow the one with the higher priority is first, of equal ones the earlier.
    """
    quotas = queue("a", 2, "c"), queue("b", 4, "c"), queue("r", 2, "c")
    first = job("r0", 8, 10)
    assert starts([first, job("a1", 5, 5, 1), job("b1", 4, 5, 2)], *quotas) == [0, 15, 10]
    borrow = [first, job("a1", 5, 5, 1), job("b1", 5, 5, 2)]
    assert starts(borrow, *quotas) == [0, 10, 15]
    borrow[2] = replace(borrow[2], priority=1.0)
    assert starts(borrow, *quotas) == [0, 15, 10]


def test_a_job_that_no_quota_could_hold_is_refused(starts):
    """A's 4 and 2 borrowed are 6; a rack has 8 GPUs. Without GPUs in its quota a queue has none."""
    quotas = queue("a", 4, "c", borrow=2), queue("b", 4, "c")
    with pytest.raises(InputError, match=r"queue a can never admit.*\n.*allowed: 6 nvidia.com/gpu in any"):
        starts([job("a1", 7, 5)], *quotas)
    with pytest.raises(InputError, match="the required level of the topology"):
        starts([job("a1", 9, 5)], queue("a", 16), topology="required_rack")
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [{"name": "cpu"}]}]}
    with pytest.raises(InputError, match="allowed: no GPUs"):
        starts([job("a1", 1, 5)], item("ClusterQueue", "a", {"resourceGroups": [group]}))


def test_the_part_that_a_queue_does_not_lend_counts_before_its_cohort(starts):
    """A (4, lends 2) and b (2) make l's 4; above it is d (2). A0 holds all 8 to 10.

    Then a1 (6) borrows of l only: 2 kept by a and l's 4. D1 (5) borrows of the cohort above, and goes second.
    """
    tree = (
        queue("a", 4, "l", lend=2),
        queue("b", 2, "l"),
        item("Cohort", "l", {"parentName": "t"}),
        queue("d", 2, "t"),
    )
    jobs = [job("a0", 8, 10), job("d1", 5, 5, 1), job("a1", 6, 5, 2)]
    assert starts(jobs, *tree) == [0, 15, 10]


# --- strategies and priorities


def test_strict_fifo_blocks_and_best_effort_does_not(starts):
    """A has 4: a1 (3) runs to 10, a2 (2) waits. a3 (1, to 6) passes it only with BestEffortFIFO."""
    jobs = [job("a1", 3, 10), job("a2", 2, 5, 1), job("a3", 1, 5, 1)]
    assert starts(jobs, queue("a", 4)) == [0, 10, 1]
    assert starts(jobs, queue("a", 4, strategy="StrictFIFO")) == [0, 10, 10]


def test_a_strict_head_reserves_quota_of_the_cohort(starts):
    """A (4, strict) waits with a2 (4) for b1, which borrows; b2 (1) may not take the GPU free in a's quota.

    With BestEffortFIFO a2 reserves for one cycle only, and b2 starts at 2.
    """
    jobs = [job("b1", 7, 10), job("a2", 4, 5, 1), job("b2", 1, 20, 2)]
    quotas = lambda strategy: (queue("a", 4, "c", strategy=strategy), queue("b", 4, "c"))  # noqa: E731
    assert starts(jobs, *quotas("StrictFIFO")) == [0, 10, 10]
    assert starts(jobs, *quotas("BestEffortFIFO")) == [0, 10, 2]


def test_higher_priority_goes_first_by_class_then_by_the_trace(starts):
    """A3's class is worth 10, a2's 5, whatever the trace says; without classes the trace's 7 and 3 count."""
    jobs = [job("a1", 4, 10), job("a2", 4, 5, 1, qos="low", priority=7.0)]
    jobs += [job("a3", 4, 5, 2, qos="high", priority=3.0)]
    classes = item("WorkloadPriorityClass", "low", 5), item("WorkloadPriorityClass", "high", 10)
    assert starts(jobs, queue("a", 4), *classes) == [0, 15, 10]
    assert starts(jobs, queue("a", 4)) == [0, 10, 15]


# --- preemption

NEWER = "LowerOrNewerEqualPriority"


@pytest.mark.parametrize(
    ("policy", "priority", "expected", "stopped"),
    [
        ("Never", 1, [0, 1, 10], []),
        ("LowerPriority", 0, [0, 1, 10], []),
        ("LowerPriority", 1, [0, 1, 2], [(2, 1)]),
        ("LowerOrNewerEqualPriority", 0, [0, 1, 10], []),
    ],
)
def test_preemption_within_a_queue(starts, policy, priority, expected, stopped):
    """Queue a (4) runs a0 (2, to 10, of priority 1) and a1 (2, of 0); a2 (2) comes at 2.

    It preempts only a lower priority; equal and newer than a2 is no job here.
    """
    jobs = [job("a0", 2, 10, priority=1.0), job("a1", 2, 20, 1), job("a2", 2, 5, 2, priority=priority)]
    assert starts(jobs, queue("a", 4, withinClusterQueue=policy)) == expected
    assert stops(starts.events) == stopped


def test_newer_jobs_of_equal_priority_make_room_for_an_older_one(starts):
    """Of a's 5, a1 (3, priority 1) runs to 10 and a2 (2), newer than a0 (4), from 2 to 20.

    At 10 a0 lacks 1: with LowerOrNewerEqualPriority a2 is stopped for it, else it waits for a2's end at 20.
    """
    jobs = [job("a1", 3, 10, priority=1.0), job("a0", 4, 5, 1), job("a2", 2, 18, 2)]
    assert starts(jobs, queue("a", 5, withinClusterQueue=NEWER)) == [0, 10, 2]
    assert stops(starts.events) == [(10, 2)]
    assert starts(jobs, queue("a", 5, withinClusterQueue="LowerPriority")) == [0, 20, 2]


@pytest.mark.parametrize(
    ("policy", "priority", "stopped"),
    [("Never", 1, []), ("LowerPriority", 0, []), ("LowerPriority", 1, [(1, 1)]), ("Any", -1, [(1, 1)])],
)
def test_nominal_quota_is_reclaimed_within_the_cohort(starts, policy, priority, stopped):
    """B (4) runs b0 (4) and b1 (4), borrowed of a (4). At 1 a1 (4) takes its quota back from b1, the later.

    It fits a's nominal quota, so no job of b's own quota need go: b0 runs on. Else a1 waits to 20.
    """
    jobs = [job("b0", 4, 20), job("b1", 4, 20), job("a1", 4, 5, 1, priority=priority)]
    assert starts(jobs, queue("a", 4, "c", reclaimWithinCohort=policy), queue("b", 4, "c"))[2] == (
        1 if stopped else 20
    )
    assert stops(starts.events) == stopped


def test_a_job_that_borrows_reclaims_nothing_unless_it_may(starts):
    """Quotas of 4, 2 and 2: b0 holds 4, 2 of them borrowed, a0 2. A1 (4) would borrow 2, and 2 are left.

    Only with borrowWithinCohort it stops b0, of a lower priority, and only up to the threshold of 0.
    """
    jobs = [job("b0", 4, 20), job("a0", 2, 30), job("a1", 4, 5, 1, priority=5.0)]
    others = queue("b", 2, "c"), queue("d", 2, "c")
    borrow = {"policy": "LowerPriority", "maxPriorityThreshold": 0}
    rules = {"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": borrow}
    assert starts(jobs, queue("a", 4, "c", reclaimWithinCohort="LowerPriority"), *others) == [0, 0, 20]
    assert starts(jobs, queue("a", 4, "c", **rules), *others) == [0, 0, 1]
    assert stops(starts.events) == [(1, 0)]
    jobs[0] = replace(jobs[0], priority=1.0)
    assert starts(jobs, queue("a", 4, "c", **rules), *others) == [0, 0, 20]


def test_victims_are_few_of_the_lowest_priority_and_the_last_admitted(starts):
    """A (8) runs a0 (1) of priority 1, a1 (2), a2 (4) and a3 (1) of 0, the last two from 1 on.

    A4 (4) at 2: by admission a3, a2, a1 are candidates before a0. After a3 and a2 it fits; without a3 also,
    so a3 goes on and only a2 is stopped. It restarts when a4 ends at 7.
    """
    jobs = [job("a0", 1, 20, priority=1.0), job("a1", 2, 20), job("a2", 4, 20, 1), job("a3", 1, 20, 1)]
    jobs += [job("a4", 4, 5, 2, priority=2.0)]
    assert starts(jobs, queue("a", 8, withinClusterQueue="LowerPriority")) == [0, 0, 1, 1, 2]
    assert stops(starts.events) == [(2, 2)]
    again = [
        event.time_ns // NS_PER_S for event in starts.events if isinstance(event, Start) and event.job == 2
    ]
    assert again == [1, 7]


def test_jobs_of_other_queues_are_stopped_before_those_of_the_own(starts):
    """A (4) runs a0 (2); b (2) runs b0 (4), 2 borrowed. A1 (2) of the highest priority stops b0, not a0."""
    jobs = [job("a0", 2, 20), job("b0", 4, 20), job("a1", 2, 5, 1, priority=1.0)]
    rules = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    assert starts(jobs, queue("a", 4, "c", **rules), queue("b", 2, "c")) == [0, 0, 1]
    assert stops(starts.events) == [(1, 1)]


def test_quota_nearer_in_the_tree_is_reclaimed_whatever_the_threshold(starts):
    """Cohort l (a 2, b 2) is below t, d (2) too. D0 holds 6: it uses l's 4, and a1 (4) takes them back.

    A1 exceeds a's quota of 2, but not l's of 4, which is nearer to it than to d0: it may be preempted though
    borrowWithinCohort is Never. With d in l too, a1 borrows as d0 does, and waits.
    """
    near = queue("a", 2, "l", reclaimWithinCohort="Any"), queue("b", 2, "l"), queue("d", 2, "t")
    tree = item("Cohort", "l", {"parentName": "t"})
    jobs = [job("d0", 6, 20), job("a1", 4, 5, 1)]
    assert starts(jobs, *near, tree) == [0, 1]
    assert starts(
        jobs, queue("a", 2, "l", reclaimWithinCohort="Any"), queue("b", 2, "l"), queue("d", 2, "l")
    ) == [
        0,
        20,
    ]


def test_reclaim_any_reserves_nothing_for_a_job_without_victims(starts):
    """A (4) may borrow by preemption, but a2 (5) finds no lower priority.

    With LowerPriority its 5 are reserved and b2 (1, of 8 - 7) waits; with Any b2 starts at 2.
    """
    jobs = [job("b1", 7, 10), job("a2", 5, 5, 1), job("b2", 1, 20, 2)]
    for policy, start in (("LowerPriority", 10), ("Any", 2)):
        rules = {"reclaimWithinCohort": policy, "borrowWithinCohort": {"policy": "LowerPriority"}}
        quotas = queue("a", 4, "c", strategy="StrictFIFO", **rules), queue("b", 4, "c")
        assert starts(jobs, *quotas) == [0, 10, start]


def test_a_job_above_nominal_quota_preempts_only_with_borrow_within_cohort(starts):
    """A (4) runs a0 (6), 2 of them borrowed. A1 (6) is above a's 4 and waits; a2 (4) would preempt a0."""
    quotas = queue("a", 4, "c", withinClusterQueue="LowerPriority"), queue("b", 2, "c")
    assert starts([job("a0", 6, 20), job("a1", 6, 5, 1, priority=1.0)], *quotas) == [0, 20]
    assert starts([job("a0", 6, 20), job("a2", 4, 5, 1, priority=1.0)], *quotas) == [0, 1]


def test_a_job_within_nominal_quota_reclaims_above_the_threshold_too(starts):
    """B1 (8, priority 5) is above the threshold, 0, but a1 (4) does not borrow: it takes its 4 back."""
    borrow = {"policy": "LowerPriority", "maxPriorityThreshold": 0}
    rules = {"reclaimWithinCohort": "Any", "borrowWithinCohort": borrow}
    jobs = [job("b1", 8, 20, priority=5.0), job("a1", 4, 5, 1, priority=6.0)]
    assert starts(jobs, queue("a", 4, "c", **rules), queue("b", 4, "c")) == [0, 1]


def test_the_lowest_priority_is_preempted_before_the_last_admitted(starts):
    """A0 (priority 0) runs from 0, a1 (1) from 1, both borrowed: b1 stops a0."""
    jobs = [job("a0", 2, 20), job("a1", 2, 20, 1, priority=1.0), job("b1", 2, 5, 2)]
    assert starts(jobs, queue("a", 2, "c"), queue("b", 2, "c", reclaimWithinCohort="Any")) == [0, 1, 2]
    assert stops(starts.events) == [(2, 0)]


def test_jobs_of_both_queues_make_room_for_a_job_within_nominal_quota(starts):
    """A (4) runs a0 (2), b (2) b0 (4). Without b0 alone a1 (4) would borrow, without a0 alone 2 are left.

    So both are victims; then a0 borrows the 2 that a1 leaves, and goes on.
    """
    rules = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    jobs = [job("a0", 2, 20), job("b0", 4, 20), job("a1", 4, 5, 1, priority=1.0)]
    assert starts(jobs, queue("a", 4, "c", **rules), queue("b", 2, "c")) == [0, 0, 1]
    assert stops(starts.events) == [(1, 1)]


def test_a_later_job_of_equal_demand_but_higher_priority_is_tried(starts):
    """A2 (priority 0) cannot preempt a1 (1) at 1, a3 (2) can at 2."""
    jobs = [
        job("a1", 4, 20, priority=1.0),
        job("a2", 4, 5, 1, priority=0.0),
        job("a3", 4, 5, 2, priority=2.0),
    ]
    assert starts(jobs, queue("a", 4, withinClusterQueue="LowerPriority"))[2] == 2


def test_a_queue_that_borrows_no_more_loses_no_more_jobs(starts):
    """C0 (4 of c's 2), b0 and b1 (2 each of b's 2) run. For a1 (4) b1 goes, then b is at its quota: c0 goes.

    That is enough without b1, which runs on.
    """
    jobs = [job("c0", 4, 20), job("b0", 2, 20), job("b1", 2, 20), job("a1", 4, 5, 1)]
    others = queue("b", 2, "x"), queue("c", 2, "x")
    assert starts(jobs, queue("a", 4, "x", reclaimWithinCohort="Any"), *others) == [0, 0, 0, 1]
    assert stops(starts.events) == [(1, 0)]


def test_a_job_that_need_not_stop_keeps_its_quota(starts):
    """A1 (1), the last, and a0 (4) make room for b1 (4); a0 alone does too, so aw (1) gets no quota of a1."""
    jobs = [job("a9", 3, 20), job("a0", 4, 20, 1), job("a1", 1, 20, 1), job("aw", 1, 5, 1, priority=1.0)]
    jobs[3] = replace(jobs[3], submit_ns=seconds_to_ns(1.5))
    jobs += [job("b1", 4, 5, 2)]
    assert starts(jobs, queue("a", 4, "c"), queue("b", 4, "c", reclaimWithinCohort="Any")) == [0, 1, 1, 7, 2]


def test_jobs_with_the_same_victim_start_one_after_the_other(starts):
    """Both a1 and d1 (2 of 2) need b0 (4, all borrowed) to stop: a1 stops it, d1 fits in the next cycle."""
    rules = {"reclaimWithinCohort": "Any"}
    jobs = [job("b0", 4, 20), job("a1", 2, 5, 1), job("d1", 2, 5, 1)]
    assert starts(jobs, queue("a", 2, "c", **rules), queue("d", 2, "c", **rules), queue("b", 0, "c")) == [
        0,
        1,
        1,
    ]


def test_quota_that_a_victim_leaves_serves_others_at_once(starts):
    """A3 (2) stops a0 (6 of 8): of the 4 left a2 (1), refused at 1, takes 1 at 2; a0 waits."""
    jobs = [
        job("a0", 6, 20),
        job("a1", 2, 20, priority=5.0),
        job("a2", 1, 5, 1),
        job("a3", 2, 5, 2, priority=1.0),
    ]
    assert starts(jobs, queue("a", 8, withinClusterQueue="LowerPriority")) == [0, 0, 2, 2]


def test_a_victim_may_preempt_a_newer_job_at_once(starts):
    """B (2): bo (2, of 1) waits for a0 (5 of a's 4) to end at 6; bn (1, of 2) is newer, but runs from 2 on.

    At 7 a1 (4) takes a's quota back from bo, the last admitted. Bo then stops bn, of equal priority.
    """
    jobs = [job("a0", 5, 6), job("bo", 2, 20, 1), job("bn", 1, 20, 2), job("a1", 4, 5, 7)]
    quotas = queue("a", 4, "c", reclaimWithinCohort="Any"), queue("b", 2, "c", withinClusterQueue=NEWER)
    assert starts(jobs, *quotas) == [0, 6, 2, 7]
    assert stops(starts.events) == [(7, 2)]


def test_a_strict_head_reserves_no_more_than_it_may_borrow(starts):
    """A (4, borrows 1) runs a0 (2); a2 (4) waits and reserves 3. B (1, d 3) has 8 - 2 - 3 = 3 for b1."""
    jobs = [job("a0", 2, 20), job("a2", 4, 5, 1), job("b1", 3, 5, 2)]
    quotas = queue("b", 1, "c"), queue("d", 3, "c")
    assert starts(jobs, queue("a", 4, "c", borrow=1, strategy="StrictFIFO"), *quotas) == [0, 20, 2]


# --- flavors


def test_the_first_flavor_that_fits_serves_and_names_its_gpu_type(starts):
    """Queue a has 2 GPUs of flavor v100 and 4 of t4-spot: a1 (2) gets V100, a2 (2) T4, a3 (V100) waits."""
    machines = [replace(m, gpu_type=kind) for m, kind in zip(MIXED.machines, ("V100", "T4"), strict=True)]
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [flavor("v100", 2), flavor("t4-spot", 4)]}
    jobs = [job("a1", 2, 10), job("a2", 2, 10), job("a3", 1, 5, gpu_types=("V100",))]
    objects = item("ClusterQueue", "a", {"resourceGroups": [group]})
    assert starts(jobs, objects, cluster=Cluster(machines)) == [0, 0, 10]
    held = {event.job: event.allocation.machines for event in starts.events if isinstance(event, Start)}
    assert held == {0: [0], 1: [1], 2: [0]}


def test_a_flavor_that_fits_by_borrowing_ends_the_search(starts):
    """V100 of b's quota is before a's T4; reclaiming T4 from b is better than preempting in a on V100."""
    machines = [replace(m, gpu_type=kind) for m, kind in zip(MIXED.machines, ("V100", "T4"), strict=True)]

    def queue_of(name, v100, t4, **preemption):
        group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [flavor("v100", v100), flavor("t4", t4)]}
        return item(
            "ClusterQueue", name, {"cohort": "c", "resourceGroups": [group], "preemption": preemption}
        )

    starts([job("a1", 2, 10)], queue_of("a", 0, 4), queue_of("b", 4, 0), cluster=Cluster(machines))
    assert [e.allocation.machines for e in starts.events if isinstance(e, Start)] == [[0]]
    rules = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    jobs = [job("a0", 2, 20), job("b0", 2, 20), job("a1", 2, 5, 1, priority=1.0)]
    starts(jobs, queue_of("a", 2, 2, **rules), queue_of("b", 0, 0), cluster=Cluster(machines))
    assert [(e.job, e.allocation.machines) for e in starts.events if isinstance(e, Start)][2] == (2, [1])


def test_cpus_and_memory_count_where_they_have_quota(starts):
    """8 CPUs for a: a1 and a2 ask for 4 each, a3 waits for one of them though GPUs are left."""
    group = {"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": [flavor("any", 8, cpu="8000m")]}
    jobs = [job(name, 1, 10, cpus=4) for name in ("a1", "a2", "a3")]
    assert starts(jobs, item("ClusterQueue", "a", {"resourceGroups": [group]})) == [0, 0, 10]


MIXED = tiny_cluster(2, 4)


def flavor(name, gpus, **others):
    """Return quotas of a flavor."""
    quotas = {"nvidia.com/gpu": gpus, **others}
    return {"name": name, "resources": [{"name": one, "nominalQuota": n} for one, n in quotas.items()]}


# --- machines


def test_an_admitted_job_holds_quota_while_it_waits_for_machines(starts):
    """Of a's quota of 8, on 8 GPUs, a2 (4) holds 4 from 1 on, and waits for machines that b1 (6) has to 10.

    So a3 (5) has no quota before a2's end at 20; a4 (2) has, and passes a2 on the 2 free GPUs.
    """
    jobs = [job("b1", 6, 10), job("a2", 4, 10, 1), job("a3", 5, 5, 1), job("a4", 2, 5, 1)]
    assert starts(jobs, queue("a", 8), queue("b", 8), machines=2) == [0, 10, 20, 1]


def test_a_timeout_frees_quota_and_a_backoff_doubles(starts):
    """A2 (8) has quota, but b1 (4 of 8 GPUs, to 35) leaves it no machines: it times out after 5 s each time.

    At 5, at 5 + 4 + 5 = 14, at 14 + 8 + 5 = 27; then it waits 16 s, to 43. With at most 6 s it times out
    at 5, 14 and 25, is admitted at 31, and starts when b1 ends.
    """
    jobs = [job("b1", 4, 35), job("a2", 8, 10)]
    wait = {"timeout": 5, "backoffBaseSeconds": 4}
    assert starts(jobs, queue("a", 8), queue("b", 8), machines=2, waitForPodsReady=wait) == [0, 43]
    assert starts(jobs, queue("a", 8), queue("b", 8), machines=2) == [0, 35]
    capped = {**wait, "backoffMaxSeconds": 6}
    assert starts(jobs, queue("a", 8), queue("b", 8), machines=2, waitForPodsReady=capped) == [0, 35]


@pytest.mark.parametrize(
    ("sizes", "topology", "start", "machines"),
    [
        ((3, 4, 3, 4), "required_rack", 10, [0]),
        ((3, 4, 3, 4), "preferred", 1, [0, 2]),
        ((3, 3, 4, 4), "required_rack", 1, [0, 1]),
        ((3, 3, 4, 4), "required_machine", 10, [0]),
        ((3, 4, 3, 3), "preferred", 1, [2, 3]),
        ((3, 4, 3, 3), "unconstrained", 1, [0, 2]),
    ],
)
def test_levels_of_a_topology_are_required_or_preferred(starts, sizes, topology, start, machines):
    """Two racks of two machines of 4 GPUs, one job on each; b (2) takes single GPUs of two, if it may.

    Else it waits for the first job to end at 10. Preferred is the rack with both, where there is one.
    """
    jobs = [job(f"a{size}{m}", size, 10 + 10 * m) for m, size in enumerate(sizes)] + [job("b", 2, 5, 1)]
    assert starts(jobs, queue("a", 16), queue("b", 16), topology=topology)[4] == start
    placed = [event.allocation.machines for event in starts.events if isinstance(event, Start)]
    assert placed[4] == machines


def test_with_a_topology_jobs_without_machines_hold_no_quota(starts):
    """Of a's quota of 4, a2 (4) holds all while b1 (6 of 8 GPUs) runs to 10, and a3 (2) waits for its end.

    With a topology, here by the flavor, a2 is not admitted, and a3 has quota and the 2 free GPUs.
    """
    jobs = [job("b1", 6, 10), job("a2", 4, 10, 1), job("a3", 2, 5, 1)]
    quotas = queue("a", 4), queue("b", 8)
    assert starts(jobs, *quotas, machines=2) == [0, 10, 20]
    levels = item("ResourceFlavor", "any", {"topologyName": "default"})
    assert starts(jobs, *quotas, levels, machines=2) == [0, 10, 1]
    assert starts(jobs, *quotas, levels, machines=2, topology="none") == [0, 10, 20]


def test_with_a_topology_jobs_preempt_for_machines(starts):
    """A's quota of 16 is enough for both, 8 GPUs are not: a2 (4, priority 1) stops a1 (8), or waits."""
    jobs = [job("a1", 8, 20), job("a2", 4, 5, 1, priority=1.0)]
    rules = queue("a", 16, withinClusterQueue="LowerPriority")
    assert starts(jobs, rules, machines=2, topology="preferred") == [0, 1]
    assert stops(starts.events) == [(1, 0)]
    assert starts(jobs, rules, machines=2) == [0, 20]
    jobs = [job("a0", 4, 20), job("a1", 4, 20), job("a2", 8, 5, 1, priority=1.0)]
    assert starts(jobs, rules, machines=2, topology="preferred") == [0, 0, 1]
    assert sorted(stops(starts.events)) == [(1, 0), (1, 1)]


def test_for_machines_alone_a_queue_at_its_quota_reclaims_nothing(starts):
    """On each of two machines are 1 GPU of a (2, all used) and 3 of b, which borrows. A1 (2) needs one.

    Stopping a's jobs leaves single GPUs. As a is not below its quota, b's stay, unless a may borrow by them.
    """
    rules = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    jobs = [
        job("a0", 1, 20),
        job("b0", 3, 20),
        job("a2", 1, 20),
        job("b1", 3, 20),
        job("a1", 2, 5, 1, priority=1.0),
    ]
    others = queue("b", 2, "c"), queue("d", 4, "c")
    setting = {"machines": 2, "topology": "required_machine"}
    assert starts(jobs, queue("a", 2, "c", **rules), *others, **setting) == [0, 0, 0, 0, 20]
    rules["borrowWithinCohort"] = {"policy": "LowerPriority", "maxPriorityThreshold": -1}
    assert starts(jobs, queue("a", 2, "c", **rules), *others, **setting) == [0, 0, 0, 0, 1]


def test_admitted_jobs_get_machines_by_priority(starts):
    """R0 has all 8 GPUs to 10; then b1 (priority 1, admitted at 2) is before a1 (admitted at 1)."""
    jobs = [job("r0", 8, 10), job("a1", 8, 5, 1), job("b1", 8, 5, 2, priority=1.0)]
    assert starts(jobs, *(queue(name, 8) for name in "rab"), machines=2) == [0, 15, 10]


def test_a_job_is_queued_by_its_last_timeout_or_its_creation(starts):
    """B1 has the machines to 12. A2 times out at 5, so a3 (of 3) is admitted, which times out at 10.

    Then a4, of 4, is before a2, of 5, by evictions; by creation a2, of 0, is the first, then a3, back at 14.
    """
    jobs = [job("b1", 8, 12), job("a2", 8, 2), job("a3", 8, 2, 3), job("a4", 8, 2, 4)]
    for timestamp, expected in (("Eviction", [0, 14, 16, 12]), ("Creation", [0, 12, 14, 16])):
        wait = {"timeout": 5, "backoffBaseSeconds": 4, "timestamp": timestamp}
        assert starts(jobs, queue("a", 8), queue("b", 8), machines=2, waitForPodsReady=wait) == expected


def test_machines_that_fail_leave_the_quota_with_their_job(starts):
    """The only machine fails at 2 and joins at 30: a1, of 8 s more, has its quota and goes first, to 38.

    With a topology a1 waits again, behind a2 of priority 1, and on 3 GPUs for a2 and b1 to end.
    """
    events = [CapacityEvent(seconds_to_ns(at), kind, 0) for at, kind in ((2, "fail"), (30, "join"))]
    jobs = [job("a1", 4, 10), job("b1", 1, 5, 3), job("a2", 1, 5, 3, priority=1.0)]
    quotas = queue("a", 4), queue("b", 4)
    for topology, expected in (("none", [0, 38, 38]), ("unconstrained", [0, 30, 30])):
        assert starts(jobs, *quotas, machines=1, topology=topology, capacity_events=events) == expected


def test_a_local_queue_names_the_cluster_queue(starts):
    """Team x of namespace n is queue a (2), of m queue b (4): the job of n waits; partitions count last."""
    local = [item("LocalQueue", "x", {"clusterQueue": name}, namespace=space) for name, space in ("an", "bm")]
    jobs = [
        job(f"{account}{i}", 2, 10, vc="x", account=account, partition="b")
        for i in (1, 2)
        for account in "nm"
    ]
    assert starts(jobs, queue("a", 2), queue("b", 4), *local) == [0, 0, 10, 0]
    jobs = [replace(spec, account="", vc="", partition="a") for spec in jobs]
    assert starts(jobs, queue("a", 2), queue("b", 4), *local) == [0, 10, 20, 30]
    default = item("LocalQueue", "default", {"clusterQueue": "b"})
    jobs = [replace(spec, partition="") for spec in jobs]
    assert starts(jobs, queue("a", 2), queue("b", 4), default) == [0, 0, 10, 10]
