"""Machines that fail, join, leave with a deadline, and change pools."""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent, Cluster, Group, Machine
from artist.core.events import Arrival, Finish, MachineEvent, Stop, Wake
from artist.engine.overheads import Overheads
from artist.errors import InputError, PlanError
from artist.performance.api import IterationParts
from artist.policies.basic.ordered import Ordered
from artist.policies.lyra.policy import Lyra
from artist.policies.slurm.policy import Slurm
from artist.policies.synergy.cpu_tuned import CpuTuned
from artist.policies.synergy.policy import Synergy
from artist.run.pools import check_fits, check_segments
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns


def event(at, kind, machine, deadline=0):
    return CapacityEvent(seconds_to_ns(at), kind, machine, seconds_to_ns(deadline))


def test_a_failure_evicts_at_once_and_the_job_continues_on_another_machine():
    """m0 fails at 3.5: the open half iteration is lost, 7 iterations follow on m1: 10.5.

    Capacity: 4 GPUs for 3.5 s, then 2 for 7 s = 28 GPU-s. Busy: 2 GPUs for 10.5 s = 21 GPU-s.
    """
    result, log = run_checked(
        [job("a", 2, 10)], tiny_cluster(), Ordered(order="fifo"), capacity_events=[event(3.5, "fail", 0)]
    )
    assert [e.reason for e in log if isinstance(e, Stop)] == ["evicted"]
    assert seconds(result, "finish_ns") == [10.5]
    assert result.columns["evictions"].tolist() == [1]
    assert result.columns["preemptions"].tolist() == [0]
    assert result.capacity_gpu_ns == seconds_to_ns(28)
    assert result.busy_gpu_ns == seconds_to_ns(21)


def test_a_failure_cannot_suspend():
    """on_stop=keep saves the open iteration at a preemption, not when the machine dies: 10.5 as above."""
    result, _ = run_checked(
        [job("a", 2, 10)],
        tiny_cluster(),
        Ordered(order="fifo"),
        overheads=Overheads(on_stop="keep"),
        capacity_events=[event(3.5, "fail", 0)],
    )
    assert seconds(result, "finish_ns") == [10.5]


def test_a_leaving_machine_evicts_at_its_deadline():
    """Told at 2, gone at 5: a runs on until 5 (5 iterations), then 5 more on m1: 10, nothing lost."""
    result, log = run_checked(
        [job("a", 2, 10)], tiny_cluster(), Ordered(order="fifo"), capacity_events=[event(2, "leave", 0, 5)]
    )
    assert [(e.type, e.time_ns) for e in log if isinstance(e, MachineEvent)] == [
        ("leave", seconds_to_ns(2)),
        ("left", seconds_to_ns(5)),
    ]
    assert seconds(result, "finish_ns") == [10]
    assert result.columns["evictions"].tolist() == [1]


def test_a_job_that_ends_before_the_deadline_is_not_evicted():
    """3 s of work, deadline at 5."""
    result, _ = run_checked(
        [job("a", 2, 3), job("late", 1, 1, at=20)],
        tiny_cluster(),
        Ordered(order="fifo"),
        capacity_events=[event(2, "leave", 0, 5)],
    )
    assert result.columns["evictions"].tolist() == [0, 0]


def test_a_machine_joins_and_takes_work():
    """One machine at first; b (2 GPUs) waits for it until m1 joins at 4."""
    cluster = Cluster([Machine("m0", 0, "box", 2), Machine("m1", 0, "box", 2, present=False)])
    result, _ = run_checked(
        [job("a", 2, 10), job("b", 2, 3)],
        cluster,
        Ordered(order="fifo"),
        capacity_events=[event(4, "join", 1)],
    )
    assert seconds(result, "first_start_ns") == [0, 4]
    # 2 GPUs for 4 s and 4 GPUs for 6 s
    assert result.capacity_gpu_ns == seconds_to_ns(8 + 24)


def test_a_machine_that_joins_again_calls_its_leaving_off():
    """Leaving at 2 with deadline 5, but called off at 4: a is not evicted and ends at 10."""
    result, _ = run_checked(
        [job("a", 2, 10)],
        tiny_cluster(),
        Ordered(order="fifo"),
        capacity_events=[event(2, "leave", 0, 5), event(4, "join", 0)],
    )
    assert seconds(result, "finish_ns") == [10]
    assert result.columns["evictions"].tolist() == [0]


def test_a_failed_machine_comes_back():
    """One machine, down from 3 to 8: 3 iterations, then 7 from 8 on: 15; queued for 5 s."""
    result, _ = run_checked(
        [job("a", 2, 10)],
        tiny_cluster(1),
        Ordered(order="fifo"),
        capacity_events=[event(3, "fail", 0), event(8, "join", 0)],
    )
    assert seconds(result, "finish_ns") == [15]
    assert seconds(result, "queueing_ns") == [5]


class OneLinkARack(PlainPerformance):
    """Jobs of a rack take turns on its link; what changes is priced from where it was and where it is."""

    def reprice(self, changed, running):
        machines = running.cluster.machines
        racks = [{m.rack for m in map(machines.__getitem__, _machines(change))} for change in changed]
        touched = [m for m, machine in enumerate(machines) if machine.rack in set().union(*racks)]
        return {j: self._crowded(j, running) for m in touched for j in running.jobs_on(m)}

    def _crowded(self, job, running):
        machines = running.cluster.machines
        rack = machines[running.allocation(job).slices[0].machine].rack
        crowd = {j for m, machine in enumerate(machines) if machine.rack == rack for j in running.jobs_on(m)}
        return IterationParts(running.spec(job).compute_ns * len(crowd))


def _machines(change):
    return [s.machine for held in (change.before, change.after) if held for s in held.slices]


def test_a_job_that_is_evicted_and_placed_at_one_instant_came_from_where_it_was():
    """Two machines in rack 0, one in rack 1: a on m0 and b on m1 share a link, 2 s an iteration.

    At 4 m0 fails, and the plan of that instant puts a on m2: both have done 2 of 10, and do 8 at 1 s: 12. If
    a seemed to come from nowhere, nothing would tell that rack 0 changed: b would end at 20.
    """
    script = {
        0: lambda v, p: (p.place(0, on((0, 1))), p.place(1, on((1, 1)))),
        4: lambda v, p: p.place(0, on((2, 1))),
    }
    result, _ = run_checked(
        [job("a", 1, 10), job("b", 1, 10)],
        tiny_cluster(3, 1, per_rack=2),
        Scripted(script),
        OneLinkARack(),
        capacity_events=[event(4, "fail", 0)],
    )
    assert seconds(result, "finish_ns") == [12, 12]


def test_a_job_over_two_machines_loses_both_when_one_fails():
    """A holds m0 and m1; m1's failure frees m0, where b (1 GPU) can start at that instant."""
    result, _ = run_checked(
        [job("a", 4, 10), job("b", 1, 1, at=1)],
        tiny_cluster(),
        Ordered(order="fifo", backfill=True),
        capacity_events=[event(3, "fail", 1), event(50, "join", 1)],
    )
    assert seconds(result, "first_start_ns") == [0, 3]
    assert result.columns["evictions"].tolist() == [1, 0]


def test_pools_are_assigned_and_seen():
    """The plan gives the empty m1 to another pool; the view shows it from then on."""
    seen = {}

    def assign(v, p):
        p.place(0, on((0, 1)))
        p.assign(1, "inference")
        assert p.assigns == {1: "inference"}  # beside `changes`, to read only

    script = {0: assign, 1: lambda v, p: seen.update(pools=list(v.pools))}
    _, log = run_checked([job("a", 1, 3)], tiny_cluster(), Scripted(script))
    assert seen["pools"] == ["default", "inference"]
    assert [(e.machine, e.pool) for e in log if isinstance(e, MachineEvent)] == [(1, "inference")]


def test_a_plan_may_empty_a_machine_and_assign_it():
    """A moves from m0 to m1 and m0 changes its pool, in one plan."""

    def loan(v, p):
        p.place(0, on((1, 1)))
        p.assign(0, "inference")

    result, _ = run_checked(
        [job("a", 1, 3)], tiny_cluster(), Scripted({0: lambda v, p: p.place(0, on((0, 1))), 1: loan})
    )
    assert result.columns["migrations"].tolist() == [1]


def test_a_plan_may_use_a_machine_that_it_empties_and_assigns():
    """One plan stops a on m0, gives m0 to training and starts b there: in this order, at 2; a is left 8 s.

    b runs from 2 to 5, then a again: 13.
    """

    def loan(v, p):
        p.place(1, on((0, 2)))
        p.assign(0, "training")
        p.stop(0)

    def back(v, p):
        p.place(0, on((0, 2)))

    script = Scripted({0: lambda v, p: p.place(0, on((0, 2))), 2: loan, 5: back})
    result, log = run_checked([job("a", 2, 10), job("b", 2, 3)], tiny_cluster(1), script)
    assert seconds(result, "finish_ns") == [13, 5]
    at_2 = [type(e).__name__ for e in log if e.time_ns == seconds_to_ns(2)]
    assert at_2 == ["Wake", "Stop", "MachineEvent", "Start"]


def test_a_plan_may_assign_a_machine_that_jobs_and_groups_swap():
    """A's group on m0 and b on m1 change places while both machines change pools; a new group comes to m0."""
    old, new = Group("old", ((0, 2),)), Group("new", ((0, 2),))

    def swap(v, p):
        p.place(0, on((1, 2)))
        p.place(1, on((0, 2), group=new))
        p.assign(0, "x")
        p.assign(1, "y")

    def start(v, p):
        p.place(0, on((0, 2), group=old))
        p.place(1, on((1, 2)))

    seen = {}
    script = {0: start, 1: swap, 2: lambda v, p: seen.update(pools=list(v.pools))}
    run_checked([job("a", 2, 5), job("b", 2, 5)], tiny_cluster(), Scripted(script))
    assert seen["pools"] == ["x", "y"]


def test_the_machines_of_a_pool_are_a_set():
    """70 machines; m69 goes to inference and back: bit 69, which a machine word does not have."""
    seen = []
    everything = (1 << 70) - 1

    def note(v, p):
        seen.append((v.in_pool("default"), v.in_pool("inference"), v.in_pool("nobody")))

    def assign(pool):
        return lambda v, p: (note(v, p), p.assign(np.int64(69), pool))

    script = {0: assign("inference"), 1: assign("default"), 2: note, 3: lambda v, p: p.place(0, on((0, 1)))}
    run_checked([job("a", 1, 3)], tiny_cluster(70), Scripted(script))
    assert seen == [
        (everything, 0, 0),
        (everything ^ 1 << 69, 1 << 69, 0),
        (everything, 0, 0),
    ]


def test_an_absent_machine_has_no_pool_to_change():
    """m1 failed before."""
    with pytest.raises(PlanError, match="machine number 1 cannot change to pool 'x': it is absent"):
        run_checked(
            [job("a", 1, 3)],
            tiny_cluster(),
            Scripted({1: lambda v, p: p.assign(1, "x")}),
            capacity_events=[event(0, "fail", 1)],
        )


def test_the_view_offers_nothing_of_closed_machines():
    """m0 is leaving: its free GPUs are not offered, and it does not accept."""
    seen = {}

    def look(v, p):
        seen.update(free=v.free().gpus.tolist(), total=v.free_gpus, accepts=v.accepts.tolist())
        p.place(0, on((1, 1)))

    run_checked(
        [job("a", 1, 3)], tiny_cluster(), Scripted({1: look}), capacity_events=[event(0, "leave", 0, 99)]
    )
    assert seen == {"free": [0, 2], "total": 2, "accepts": [False, True]}


def test_a_job_larger_than_the_cluster_is_refused_before_the_clock_starts():
    """5 GPUs on 2 x 2."""
    with pytest.raises(
        InputError, match=r"job 'a': the job can never fit the cluster\n  found '5 GPUs'; allowed: 1\.\.4"
    ):
        run_checked([job("a", 5)], tiny_cluster(), Ordered(order="fifo"))


def test_a_machine_that_joins_later_counts_for_feasibility():
    """4 GPUs asked: there from t = 2 on."""
    cluster = Cluster([Machine("m0", 0, "box", 2), Machine("m1", 0, "box", 2, present=False)])
    result, _ = run_checked(
        [job("a", 4, 1)], cluster, Ordered(order="fifo"), capacity_events=[event(2, "join", 1)]
    )
    assert seconds(result, "finish_ns") == [3]


@pytest.mark.parametrize(
    ("demand", "allowed"),
    [
        ({"gpus": 3, "max_machines": 1}, "1..2 GPUs on 1 machines"),
        ({"gpus": 1, "gpu_types": ("H100",)}, "GPUs of type H100; enlarge the cluster"),
        ({"gpus": 1, "gpu_types": ("V100;T4",)}, "GPUs of type V100;T4; separate several types with | "),
        ({"gpus": 0, "cpus": 9}, "1..8 CPUs"),
        ({"gpus": 4, "min_gpus": 5, "max_gpus": 6}, "min_gpus <= gpus"),
        ({"gpus": 4, "unit": 4}, "no job: there are no GPUs in units of 4"),
        ({"gpus": 6, "unit": 2}, "1..4 GPUs in units of 2"),
        ({"gpus": 3, "unit": 2}, "multiples of the unit"),
        ({"gpus": 4, "min_gpus": 1, "max_gpus": 4, "unit": 2}, "multiples of the unit"),
        ({"gpus": 4, "min_gpus": 2, "max_gpus": 4, "unit": 2}, "step that are multiples of the unit"),
        ({"gpus": 4, "unit": 2, "segment": 3}, "a segment that is a multiple of it"),
        ({"gpus": 8, "segment": 8}, "no job: there are no GPUs in segments of 8"),
        ({"gpus": 2, "unit": 2, "fungible": True}, "or fungible=0"),
        ({"gpus": 2, "unit": 0}, "a unit of at least 1"),
    ],
)
def test_demands_that_can_never_be_met(demand, allowed):
    """Each kind of misfit says what would be allowed."""
    with pytest.raises(InputError) as error:
        run_checked([job("a", **demand)], tiny_cluster(cpus=4), Ordered(order="fifo"))
    assert allowed in str(error.value)


@pytest.mark.parametrize(
    ("demand", "allowed"),
    [
        ({"gpus": 1, "gpu_types": ("new",)}, "no job: there are no GPUs of type new"),  # both are elsewhere
        ({"gpus": 5}, "1..4 GPUs"),
        ({"gpus": 4, "max_machines": 1}, "1..2 GPUs on 1 machines"),
        ({"gpus": 6, "min_gpus": 6, "max_gpus": 8}, "1..4 GPUs"),
        ({"gpus": 6, "min_gpus": 2, "max_gpus": 8, "step": 2}, ""),  # starts with 4
        ({"gpus": 2, "fungible": True, "measured_worth": 2.0}, ""),  # 4 old GPUs are worth 2 new ones
        ({"gpus": 3, "fungible": True, "measured_worth": 2.0}, "1..2 GPUs"),
        ({"gpus": 1, "cpus": 9, "max_machines": 1}, "up to 4 CPUs"),
        ({"gpus": 0, "cpus": 9, "max_machines": 1}, "1..4 CPUs"),
    ],
)
def test_a_job_must_fit_the_pool_that_the_policy_serves(demand, allowed):
    """Two machines of 2 old GPUs and 4 CPUs; another pool has 8 new GPUs and 16 CPUs on one."""
    old = [Machine(f"m{i}", 0, "box", 2, "old", cpus=4, pool="mine", present=i == 0) for i in range(2)]
    new = Machine("m2", 0, "big", 8, "new", 2.0, cpus=16, pool="theirs")
    policy = Ordered(order="fifo", pool="mine")
    check = partial(check_fits, policy, Cluster([*old, new]), [job("a", **demand)])
    with pytest.raises(InputError) if allowed else nullcontext() as error:
        check([event(9, "join", 1)], {})
    assert not error or allowed in str(error.value)


@pytest.mark.parametrize(
    ("policy", "demand", "allowed"),
    [
        (Lyra(), {"min_gpus": 2, "max_gpus": 4}, ""),
        (Lyra(base="requested", scaling="none"), {"min_gpus": 2, "max_gpus": 4}, "1..2 GPUs"),
        (Lyra(fungible_on="loan"), {"fungible": True}, "no job: there are no GPUs"),
    ],
)
def test_a_job_must_fit_as_the_policy_starts_it(policy, demand, allowed):
    """4 GPUs asked, of a cluster of 2: an elastic job starts with 2; fungible jobs wait for loans."""
    check = partial(check_fits, policy, tiny_cluster(1, 2), [job("a", 4, **demand)], (), {})
    with pytest.raises(InputError) if allowed else nullcontext() as error:
        check()
    assert not error or allowed in str(error.value)


def test_cpus_and_memory_must_be_on_the_same_machines():
    """Two machines of 10 CPUs and 1 byte, two of 1 CPU and 10 bytes; a job may span two.

    Two have 20 CPUs and 2 bytes, or 2 and 20, or 11 of each: 11 and 11 run for 3 s, 20 and 20 never would.
    """
    sizes = ((10, 1), (10, 1), (1, 10), (1, 10))
    cluster = Cluster(
        [Machine(f"m{i}", 0, "box", 0, cpus=c, memory_bytes=b) for i, (c, b) in enumerate(sizes)]
    )
    fits, never = (job("a", 0, 3, cpus=n, memory_bytes=n, max_machines=2) for n in (11, 20))
    result, _ = run_checked([fits], cluster, Ordered(order="fifo"))
    assert seconds(result, "finish_ns") == [3]
    with pytest.raises(
        InputError, match=r"1\.\.20 CPUs, up to 20 bytes of memory, both on the same 2 machines"
    ):
        run_checked([never], cluster, Ordered(order="fifo"))


def test_a_fungible_job_must_fit_one_gpu_type():
    """4 V100 of worth 1 and 4 T4 of worth 0.5: 4 GPUs run on the V100 for 3 s.

    6 would need a mix, 4 x 1 + 4 x 0.5 = 6, which no chooser makes; a job that is not fungible mixes 4 + 2.
    """
    cluster = Cluster([Machine("v", 0, "v", 4, "V100"), Machine("t", 0, "t", 4, "T4", worth=0.5)])
    for gpus, fungible in ((4, True), (6, False)):
        fits = job("a", gpus, 3, fungible=fungible, mixed_types=True)
        result, _ = run_checked([fits], cluster, Ordered(order="fifo"))
        assert seconds(result, "finish_ns") == [3]
    with pytest.raises(InputError, match=r"found '6 GPUs'; allowed: 1\.\.4 GPUs"):
        run_checked([job("a", 6, 3, fungible=True, mixed_types=True)], cluster, Ordered(order="fifo"))


def test_two_jobs_with_one_id_are_refused():
    """Ids are unique."""
    with pytest.raises(InputError, match="this id is used twice"):
        run_checked([job("a"), job("a")], tiny_cluster(), Ordered(order="fifo"))


def test_at_one_instant_finishes_come_first_then_capacity_arrivals_and_the_timer():
    """At 2: a (2 s from 0) finishes, m1 fails, b and c arrive, and the policy's timer is due."""
    jobs = [job("a", 1, 2), job("b", 1, 3, at=2), job("c", 1, 3, at=2)]

    def start_others(v, p):
        p.place(1, on((0, 1)))
        p.place(2, on((0, 1)))

    policy = Scripted({0: lambda v, p: p.place(0, on((0, 1))), 2: start_others})
    fails = (CapacityEvent(seconds_to_ns(2), "fail", 1),)
    _, log = run_checked(jobs, tiny_cluster(), policy, capacity_events=fails)
    then = [event for event in log if event.time_ns == seconds_to_ns(2)]
    assert [type(event) for event in then[:5]] == [Finish, MachineEvent, Arrival, Arrival, Wake]
    assert [event.job for event in then[2:4]] == [1, 2]


@pytest.mark.parametrize("policy", [Lyra(), Slurm(), Synergy(), CpuTuned(of=Slurm())])
def test_a_policy_that_does_not_place_by_rack_refuses_segments(policy):
    """By name, before the clock starts; a unit alone is kept."""
    check_segments(policy, [job("a", 4, unit=2), job("b", 0, cpus=1, segment=4)])
    name = type(getattr(policy, "of", policy)).__name__
    with pytest.raises(InputError, match=f"job 'c', segment: policy {name} does not place by rack"):
        check_segments(policy, [job("c", 4, unit=2, segment=4)])
