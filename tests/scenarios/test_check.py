"""Bad plans are refused: one test per rule of the check. Nothing is repaired."""

import pytest

from artist.core.cluster import CapacityEvent, Cluster, Group, Machine
from artist.core.plan import Plan
from artist.errors import PlanError
from artist.testing.tiny import Scripted, job, on, run_checked, tiny_cluster
from artist.units import seconds_to_ns


def refused(match, act, jobs=None, cluster=None, at=0, **options):
    """Run `act` at `at` and expect its plan to be refused with a message."""
    with pytest.raises(PlanError, match=match):
        run_checked(jobs or [job("a", 2, 10)], cluster or tiny_cluster(), Scripted({at: act}), **options)


def test_gpus_are_not_given_twice():
    """m0 has 2 GPUs: two jobs of 2 do not fit."""

    def act(v, p):
        p.place(0, on((0, 2)))
        p.place(1, on((0, 2)))

    refused(r"takes 4 more GPUs.*free: 2 on machine m0 at 0\.0 s", act, [job("a", 2), job("b", 2)])


def test_a_running_job_s_gpus_are_not_free():
    """B is placed at t = 1 on what a holds."""
    script = {0: lambda v, p: p.place(0, on((0, 2))), 1: lambda v, p: p.place(1, on((0, 1)))}
    with pytest.raises(
        PlanError, match=r"job 'b'.*takes 1 more GPUs than now; free: 0 on machine m0 at 1\.0 s"
    ):
        run_checked([job("a", 2), job("b", 1, at=1)], tiny_cluster(), Scripted(script))


def test_swaps_are_legal():
    """A and b exchange their machines in one plan: judged by the end state, not step by step."""

    def start(v, p):
        p.place(0, on((0, 2)))
        p.place(1, on((1, 2)))

    def swap(v, p):
        p.place(0, on((1, 2)))
        p.place(1, on((0, 2)))

    result, _ = run_checked([job("a", 2), job("b", 2)], tiny_cluster(), Scripted({0: start, 1: swap}))
    assert result.columns["migrations"].tolist() == [1, 1]


def test_stops_make_room_for_starts_of_the_same_plan():
    """A is stopped and b takes its GPUs at once; a comes back when b is done."""

    def exchange(v, p):
        p.place(1, on((0, 2)))
        p.stop(0)

    script = {0: lambda v, p: p.place(0, on((0, 2))), 1: exchange, 3: lambda v, p: p.place(0, on((0, 2)))}
    result, _ = run_checked([job("a", 2, 4), job("b", 2, 2, at=1)], tiny_cluster(1), Scripted(script))
    assert result.columns["preemptions"].tolist() == [1, 0]


def test_the_number_of_gpus_is_the_one_asked_for():
    """2 asked, 1 given."""
    refused(r"job 'a': gets 1 GPUs; allowed: 2 at 0\.0 s", lambda v, p: p.place(0, on((0, 1))))


def test_elastic_jobs_stay_in_their_bounds_and_steps():
    """2..6 in steps of 2 allows 2, 4, 6 and not 3."""
    elastic = job("a", 4, min_gpus=2, max_gpus=6, step=2)
    refused(
        r"gets 3 GPUs; allowed: 2\.\.6 in steps of 2",
        lambda v, p: p.place(0, on((0, 3))),
        [elastic],
        tiny_cluster(1, 8),
    )


def test_a_fungible_job_takes_gpus_by_their_speed():
    """4 reference GPUs are ceil(4 / 0.5) = 8 GPUs of half the speed; 4 of them are refused."""
    cluster = Cluster([Machine("slow", 0, "t4", 8, speed=0.5)])
    fungible = job("a", 4, fungible=True)
    refused("gets 4 GPUs; allowed: 4", lambda v, p: p.place(0, on((0, 4))), [fungible], cluster)
    run_checked([fungible], cluster, Scripted({0: lambda v, p: p.place(0, on((0, 8)))}))


def test_a_fungible_job_takes_gpus_by_replacement_ratio_not_by_speed():
    """4 GPUs of worth 1 are 8 of worth 0.5, though these have a third of the speed, which would make 12."""
    cluster = Cluster([Machine("slow", 0, "t4", 12, speed=1 / 3, worth=0.5)])
    fungible = job("a", 4, fungible=True)
    refused("gets 12 GPUs; allowed: 4", lambda v, p: p.place(0, on((0, 12))), [fungible], cluster)
    run_checked([fungible], cluster, Scripted({0: lambda v, p: p.place(0, on((0, 8)))}))


def test_a_fungible_job_counts_in_the_gpus_that_it_was_measured_on():
    """4 GPUs of worth 0.5 are 2 reference GPUs, and ceil(4 x 0.5 / 0.75) = 3 of worth 0.75."""
    for worth, gpus in ((1.0, 2), (0.75, 3), (0.5, 4)):
        cluster = Cluster([Machine("m", 0, "box", 8, worth=worth)])
        fungible = job("a", 4, fungible=True, measured_worth=0.5)
        place = {0: lambda v, p, gpus=gpus: p.place(0, on((0, gpus)))}
        run_checked([fungible], cluster, Scripted(place))
        refused("allowed: 4", lambda v, p, gpus=gpus: p.place(0, on((0, gpus + 1))), [fungible], cluster)


def two_types():
    return Cluster([Machine("v", 0, "v", 4, gpu_type="V100"), Machine("t", 0, "t", 4, gpu_type="T4")])


def test_only_allowed_gpu_types():
    """The job allows V100 only."""
    refused(
        r"type \['T4'\]; allowed: \['V100'\]",
        lambda v, p: p.place(0, on((1, 2))),
        [job("a", 2, gpu_types=("V100",))],
        two_types(),
    )


def test_types_are_mixed_only_where_the_job_allows_it():
    """One GPU of each type."""
    place = lambda v, p: p.place(0, on((0, 1), (1, 1)))  # noqa: E731
    refused("mixed GPU types", place, [job("a", 2)], two_types())
    run_checked([job("a", 2, mixed_types=True)], two_types(), Scripted({0: place}))


def test_no_more_machines_than_allowed():
    """At most one machine."""
    refused(
        "gets 2 machines; allowed: at most 1",
        lambda v, p: p.place(0, on((0, 1), (1, 1))),
        [job("a", 2, max_machines=1)],
    )


def test_gpus_come_in_units_and_segments():
    """A unit of 2 as 2 + 1 + 1; a segment of 4, all GPUs of a rack, as 2 + 2 of two racks of two machines."""
    cluster = tiny_cluster(4, 2, per_rack=2)
    refused(
        r"gets \[2, 1, 1\] GPUs by machine; allowed: units of 2 on a machine and segments of 1 in a rack",
        lambda v, p: p.place(0, on((0, 2), (1, 1), (2, 1))),
        [job("a", 4, unit=2)],
        cluster,
    )
    refused(
        r"gets \[2, 2\] GPUs by machine; allowed: units of 1 on a machine and segments of 4 in a rack",
        lambda v, p: p.place(0, on((1, 2), (2, 2))),
        [job("a", 4, segment=4)],
        cluster,
    )
    place = lambda v, p: p.place(0, on((2, 2), (3, 2)))  # noqa: E731
    run_checked([job("a", 4, unit=2, segment=4)], cluster, Scripted({0: place}))


def test_cpus_and_memory_are_not_given_twice():
    """4 CPUs and 100 bytes on m0: 5 CPUs or 101 bytes are too much."""
    cluster = tiny_cluster(cpus=4, memory_bytes=100)
    refused(
        "takes 5 more CPUs than now; free: 4 on machine m0",
        lambda v, p: p.place(0, on((0, 2, 5))),
        cluster=cluster,
    )
    refused("takes 101 more bytes", lambda v, p: p.place(0, on((0, 2, 0, 101))), cluster=cluster)


def test_slices_are_sorted_one_a_machine_and_known():
    """Twice the same machine, the wrong order, and machine 7 of 2."""
    for slices in (((0, 1), (0, 1)), ((1, 1), (0, 1))):
        refused("not sorted, one per machine", lambda v, p, s=slices: p.place(0, on(*s)))
    refused("machine number 7, which does not exist", lambda v, p: p.place(0, on((7, 2))))


def test_empty_and_negative_slices_are_refused():
    """A GPU job holds at least one GPU on each of its machines."""
    refused("empty or negative slice", lambda v, p: p.place(0, on((0, 2), (1, 0))))
    refused("empty or negative slice", lambda v, p: p.place(0, on((0, 2, -1))))
    for gpus in (2, 0):
        jobs, cluster = [job("a", gpus, cpus=2)], tiny_cluster(cpus=4)
        refused("without slices", lambda v, p: p.place(0, on()), jobs, cluster)


def test_the_bandwidth_cap_is_a_share():
    """0 and 1.5 are no caps."""
    for cap in (0.0, 1.5):
        refused(r"bandwidth cap .*allowed: \(0, 1\]", lambda v, p, c=cap: p.place(0, on((0, 2), cap=c)))


def test_unknown_jobs_are_refused():
    """Job 5 does not exist; job 1 has not been submitted yet."""
    refused("job number 5 is unknown", lambda v, p: p.place(5, on((0, 2))))
    refused("job number 1 is unknown", lambda v, p: p.place(1, on((0, 2))), [job("a", 2), job("b", 2, at=5)])


def test_finished_jobs_are_refused():
    """A finished at 1."""
    script = {0: lambda v, p: p.place(0, on((0, 1))), 2: lambda v, p: p.place(0, on((0, 1)))}
    with pytest.raises(PlanError, match=r"job 'a': has finished at 2\.0 s"):
        run_checked([job("a", 1, 1), job("b", 1, 1, at=2)], tiny_cluster(), Scripted(script))


def test_a_waiting_job_cannot_be_stopped():
    """Nothing to take away: the author of the policy is told."""
    refused("is stopped but does not run", lambda v, p: p.stop(0))


@pytest.mark.parametrize("gpus", [None, "two", 1.5])
def test_gpus_that_are_waited_for_are_counted(gpus):
    """wait_for_gpus takes a whole number."""
    with pytest.raises(PlanError, match=f"waits for {gpus!r} GPUs at 5.0 s.*whole number"):
        run_checked([job("a", 1, 1, at=5)], tiny_cluster(), Scripted({5: lambda v, p: p.wait_for_gpus(gpus)}))


def test_the_past_cannot_wake():
    """wake_at before now."""
    with pytest.raises(PlanError, match=r"woken at 1\.0 s at 5\.0 s"):
        run_checked(
            [job("a", 1, 1, at=5)], tiny_cluster(), Scripted({5: lambda v, p: p.wake_at(seconds_to_ns(1))})
        )


def test_a_policy_that_returns_no_plan_is_refused():
    """Forgetting to return builder.done()."""

    class Forgetful:
        def decide(self, view):
            return None

    with pytest.raises(PlanError, match="policy Forgetful returned None"):
        run_checked([job("a", 1)], tiny_cluster(), Forgetful())


def test_a_leaving_machine_takes_no_new_work():
    """m0 leaves from t = 1 on; a placement there at t = 2 is refused."""
    events = [CapacityEvent(seconds_to_ns(1), "leave", 0, seconds_to_ns(9))]
    refused(
        "takes no new work on machine m0 at 2",
        lambda v, p: p.place(0, on((0, 2))),
        at=2,
        capacity_events=events,
    )


def test_jobs_on_a_leaving_machine_may_only_shrink():
    """A job on m0 may be retuned to fewer CPUs there, not to more."""
    cluster = tiny_cluster(cpus=4)
    events = [CapacityEvent(seconds_to_ns(1), "leave", 0, seconds_to_ns(99))]
    fewer = {0: lambda v, p: p.place(0, on((0, 2, 2))), 2: lambda v, p: p.place(0, on((0, 2, 1)))}
    run_checked([job("a", 2)], cluster, Scripted(fewer), capacity_events=events)
    more = {0: lambda v, p: p.place(0, on((0, 2, 2))), 2: lambda v, p: p.place(0, on((0, 2, 3)))}
    with pytest.raises(PlanError, match="takes no new work on machine m0"):
        run_checked([job("a", 2)], cluster, Scripted(more), capacity_events=events)


def test_a_group_takes_no_more_gpus_of_a_leaving_machine():
    """A's group has 1 of 2 GPUs of m0, which leaves from t = 1 on: at 2 it may not have the free one, too."""

    def grown(gpus):
        return lambda v, p: p.place(0, on((0, 1), group=Group("g", ((0, gpus),))))

    events = [CapacityEvent(seconds_to_ns(1), "leave", 0, seconds_to_ns(99))]
    with pytest.raises(PlanError, match=r"takes 1 more GPUs than now; free: 1 on machine m0 at 2\.0 s"):
        run_checked(
            [job("a", 1)], tiny_cluster(), Scripted({0: grown(1), 2: grown(2)}), capacity_events=events
        )


LOANED = "is on a machine that changes to pool 'inference'; it must stop or move away on machine m0"


@pytest.mark.parametrize("end", [None, on((0, 4)), on((0, 2), (1, 2), cap=0.5), on((0, 2), (2, 2))])
def test_only_a_machine_that_its_jobs_leave_changes_its_pool(end):
    """A has m0 and m1, and stays as it is, leaves m1, is retuned, or moves its other half: all are on m0."""

    def loan(v, p):
        if end is not None:
            p.place(0, end)
        p.assign(0, "inference")

    script = Scripted({0: lambda v, p: p.place(0, on((0, 2), (1, 2))), 1: loan})
    with pytest.raises(PlanError, match=f"job 'a': {LOANED} at 1.0 s"):
        run_checked([job("a", 4)], tiny_cluster(3, 4), script)


@pytest.mark.parametrize("retuned", [False, True])
def test_a_machine_changes_its_pool_only_without_its_groups(retuned):
    """A's group owns GPUs of m0, where only b, which stops, held some; a on m1 keeps the group."""
    both = Group("g", ((0, 2), (1, 2)))

    def share(v, p):
        p.place(0, on((1, 2), group=both))
        p.place(1, on((0, 2), group=both))

    def loan(v, p):
        if retuned:
            p.place(0, on((1, 2), group=both, cap=0.5))
        p.stop(1)
        p.assign(0, "inference")

    with pytest.raises(PlanError, match=f"job 'a': {LOANED}"):
        run_checked([job("a", 2), job("b", 2)], tiny_cluster(), Scripted({0: share, 1: loan}))


def test_a_pool_has_a_name():
    """None, or a number, is a slip of the policy."""

    def act(v, p):
        p.assign(0, None)

    refused("the plan names None as a pool; allowed: a text on machine m0", act)


def group(*gpus, depth=4, name="g"):
    return Group(name, gpus, depth)


def test_a_group_s_gpus_are_owned_once_and_not_given_twice():
    """A group of 2 GPUs on m0 fills m0: nobody else fits."""

    def act(v, p):
        p.place(0, on((0, 2), group=group((0, 2))))
        p.place(1, on((0, 1)))

    refused("takes 3 more GPUs than now; free: 2 on machine m0", act, [job("a", 2), job("b", 1)])


def test_a_member_holds_at_most_the_group_s_gpus():
    """The group owns 1 GPU on m0, the member asks for 2."""
    refused(
        "holds 2 GPUs of group 'g', more than it has",
        lambda v, p: p.place(0, on((0, 2), group=group((0, 1)))),
    )


def test_a_group_is_not_deeper_than_its_depth():
    """Depth 2 on 1 GPU: a third member of 1 GPU is too many."""

    def act(v, p):
        for j in range(3):
            p.place(j, on((0, 1), group=group((0, 1), depth=2)))

    refused("deeper than 2", act, [job(x, 1) for x in "abc"])


def test_members_name_an_equal_record():
    """A says that the group owns m0, b that it owns m1."""

    def act(v, p):
        p.place(0, on((0, 1), group=group((0, 1))))
        p.place(1, on((1, 1), group=group((1, 1))))

    refused("another record of group 'g'", act, [job("a", 1), job("b", 1)])


def test_a_cpu_job_needs_cpus_and_no_gpus():
    """A CPU-only job with a GPU, and one without CPUs."""
    cluster = tiny_cluster(cpus=4)
    jobs = [job("a", 0, cpus=2)]
    refused("needs CPUs and no GPUs", lambda v, p: p.place(0, on((0, 1, 1))), jobs, cluster)
    refused("needs CPUs and no GPUs", lambda v, p: p.place(0, on((0, 0, 0))), jobs, cluster)


def test_a_finished_plan_cannot_be_changed():
    """done() freezes: later calls of the builder do not reach the plan."""
    from artist.core.plan import PlanBuilder

    builder = PlanBuilder()
    plan = builder.done()
    assert isinstance(plan, Plan)
    with pytest.raises(TypeError):
        plan.changes[0] = None  # type: ignore[index]
    builder.stop(0)
    assert not plan.changes
