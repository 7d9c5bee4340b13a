"""Dally, sentence by sentence: Algorithms 1 and 2, leases, priority.

Where nothing else is said: two GPUs a machine, two machines a rack, two racks.
"""

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, Start, Stop, Wake
from artist.policies.dally.policy import Dally
from artist.policies.dally.timers import Timers
from artist.policies.parts.orders import sensitivity, sensitivity_as_printed
from artist.testing.tiny import PlainPerformance, job, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns

HOUR = 3600


def dally(**parameters):
    """Return a manual Dally with timers of 10 and 20 s and endless leases, unless told otherwise."""
    given = {"auto_tune": False, "machine_timer_h": 10 / HOUR, "rack_timer_h": 20 / HOUR, "lease_s": 1e6}
    return Dally(**{**given, **parameters})


def racks(machines=2, gpus=2, racks=2):
    return tiny_cluster(machines * racks, gpus, per_rack=machines)


def started(events):
    """Return (job, seconds, machines) of every start."""
    results = [e for e in events if isinstance(e, Start)]
    return [(e.job, e.time_ns / NS_PER_S, [s.machine for s in e.allocation.slices]) for e in results]


def one_on_each(count, lasts=100):
    """Return jobs that hold one GPU of every machine: they arrive with a partner that ends at 1 s."""
    return [
        job(f"{name}{number}", 1, lasts if name == "long" else 1)
        for number in range(count)
        for name in ("long", "short")
    ]


def test_gpus_of_one_machine_are_taken_at_once():
    """Line 5: two GPUs on a machine, no wait, whatever the timers."""
    _, events = run_checked([job("a", 2, 5)], racks(), dally())
    assert started(events) == [(0, 0, [0])]


def test_before_the_machine_timer_gpus_of_a_rack_are_refused():
    """Lines 10 and 13: from 1 s on each machine has one free GPU; the pair that came at 2 s starts at 12."""
    jobs = [*one_on_each(4), job("pair", 2, 5, at=2)]
    _, events = run_checked(jobs, racks(), dally())
    assert started(events)[-1] == (8, 12, [0, 1])


def test_before_the_rack_timer_gpus_of_two_racks_are_refused():
    """Lines 18 and 21: from 1 s on one GPU is free in each rack, on machines 0 and 2: taken at 2 + 20 s."""
    half, other = one_on_each(2)[:2], one_on_each(2)[2:]
    jobs = [*half, job("full", 2, 100), *other, job("whole", 2, 100), job("pair", 2, 5, at=2)]
    _, events = run_checked(jobs, racks(), dally())
    assert started(events)[-1] == (6, 22, [0, 2])


def test_a_machine_is_taken_even_when_the_timers_have_run_out():
    """A machine is free at 30 s, when any GPUs would do: it gets that one, not one GPU on each of two."""
    jobs = [job(f"full{n}", 2, 30 if n == 3 else 100) for n in range(4)] + [job("pair", 2, 5, at=2)]
    _, events = run_checked(jobs, racks(), dally())
    assert started(events)[-1] == (4, 30, [3])


def test_a_demand_larger_than_a_machine_has_no_machine_timer():
    """Three GPUs of a rack at once. A rack timer they have: two free in each rack at 2 s are taken at 22."""
    _, events = run_checked([job("a", 3, 5)], racks(), dally())
    assert started(events) == [(0, 0, [0, 1])]
    full = [job(f"full{n}", 2, 100 if n in (0, 2) else 1) for n in range(4)]
    _, events = run_checked([*full, job("three", 3, 5, at=2)], racks(), dally())
    assert started(events)[-1] == (4, 22, [1, 3])


def test_a_demand_larger_than_a_rack_has_no_timer():
    """Five GPUs, a rack has four."""
    _, events = run_checked([job("a", 5, 5)], racks(), dally())
    assert started(events)[0][:2] == (0, 0)


def test_a_refusal_passes_the_offer_on():
    """The pair refuses two halves at 2 s; the single that came after it takes one of them at once."""
    jobs = [*one_on_each(4), job("pair", 2, 5, at=2), job("single", 1, 3, at=3)]
    _, events = run_checked(jobs, racks(), dally())
    assert [start[:2] for start in started(events)[-2:]] == [(9, 3), (8, 12)]


def test_the_wait_begins_again_when_gpus_are_lost():
    """A pair waits from 0 to 5 for machine 0; a single takes half of it at 13, the end of the lease of 8 s.

    From 14 on halves of both machines are idle. Had the first wait counted, the machine timer of 10 s would
    have run out; so the pair takes them at 13 + 10. (Equal sensitivities of 1 keep their GPUs at 16 and 21:
    renewal `keep`.)
    """
    jobs = [job("first", 2, 5), job("a", 1, 100), job("b", 1, 14), job("pair", 2, 30), job("c", 1, 100, at=9)]
    _, events = run_checked(jobs, racks(racks=1), dally(lease_s=8, renewal="keep"))
    assert [(e.job, e.time_ns / NS_PER_S) for e in events if isinstance(e, Stop)] == [(3, 13)]
    assert started(events)[-3:] == [(3, 5, [0]), (4, 13, [0]), (3, 23, [0, 1])]


def test_a_wait_since_the_last_assignment_counts_running_time():
    """The same jobs: the pair got machine 0 at 5, so its machine timer of 10 s ends at 15, not at 23."""
    jobs = [job("first", 2, 5), job("a", 1, 100), job("b", 1, 14), job("pair", 2, 30), job("c", 1, 100, at=9)]
    policy = dally(lease_s=8, renewal="keep", wait_since="assignment")
    _, events = run_checked(jobs, racks(racks=1), policy)
    assert started(events)[-3:] == [(3, 5, [0]), (4, 13, [0]), (3, 15, [0, 1])]


def test_before_its_first_assignment_a_job_waits_since_its_arrival():
    """A pair arrives at 2 and never held GPUs: halves at 12, as with waits since a loss."""
    jobs = [*one_on_each(4), job("pair", 2, 5, at=2)]
    _, events = run_checked(jobs, racks(), dally(wait_since="assignment"))
    assert started(events)[-1] == (8, 12, [0, 1])


def test_a_lease_is_renewed_at_no_cost_while_no_job_waits():
    """No job waits: 100 leases, one start, no stop; GPUs of one machine are not even offered again."""
    result, events = run_checked([job("a", 2, 100)], racks(), dally(lease_s=1))
    assert len(started(events)) == 1
    assert not [e for e in events if isinstance(e, Stop | Wake)]
    assert seconds(result, "finish_ns") == [100]


def test_at_the_end_of_a_lease_the_lower_sensitivity_gets_the_gpus():
    """One machine. a runs at half speed (sensitivity 1/2), b has not run (0): b takes over at 10, a at 20.

    At 20 a has 1/2 and b, at full speed, 1: a takes over again; b returns at 30. A lease is 5 iterations of
    a or 10 of b. a needs 10 iterations: 0-10, 20-30. b needs 15: 10-20, 30-35.
    """
    performance = PlainPerformance(lambda spec, allocation: 2.0 if spec.job_id == "a" else 1.0)
    jobs = [job("a", 2, 10), job("b", 2, 15, at=1)]
    result, _ = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=10), performance)
    assert seconds(result, "finish_ns") == [30, 35]


def test_no_job_is_preempted_within_a_lease():
    """B comes at 1; a's lease ends at 10."""
    jobs = [job("a", 2, 15), job("b", 2, 3, at=1)]
    result, _ = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=10))
    assert seconds(result, "first_start_ns") == [0, 10]
    never, _ = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=10, preemptive=False))
    assert seconds(never, "first_start_ns") == [0, 15]


def test_a_higher_sensitivity_does_not_take_over():
    """A runs at half speed (1/2); b ran at full speed (1) and lost its GPUs to a: it waits for a's end.

    b: 0-10; a (not run: 0) takes over at 10 and keeps at 20 and 30 (1/2 < 1): ends at 40 with 15 iterations.
    """
    performance = PlainPerformance(lambda spec, allocation: 2.0 if spec.job_id == "a" else 1.0)
    jobs = [job("b", 2, 20), job("a", 2, 15, at=1)]
    result, _ = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=10), performance)
    assert seconds(result, "finish_ns") == [50, 40]


def test_idle_gpus_are_offered_before_those_of_an_ended_lease():
    """At 10 the lease on machine 0 ends and c leaves machine 1: b, which waited, takes machine 1."""
    jobs = [job("a", 2, 30), job("c", 2, 10), job("b", 2, 5, at=1)]
    _, events = run_checked(jobs, tiny_cluster(2, 2), dally(lease_s=10))
    assert started(events)[-1] == (2, 10, [1])
    assert not [e for e in events if isinstance(e, Stop)]


def test_equal_sensitivity_keeps_its_gpus():
    """Both ran at full speed: once a has its GPUs back at 23, b waits for its end (renewal `keep`)."""
    jobs = [job("a", 2, 40), job("b", 2, 20, at=1), job("c", 2, 3, at=12)]
    result, events = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=10, renewal="keep"))
    # a 0-10; b (0) 10-20; at 20 c (0) takes over till 23; then a and b, equal at 1: a waited longer.
    assert [start[:2] for start in started(events)] == [(0, 0), (1, 10), (2, 20), (0, 23), (1, 53)]
    assert seconds(result, "finish_ns") == [53, 63, 23]


def test_jobs_of_equal_sensitivity_take_turns_at_literal_renewals():
    """The same jobs: at 33 b, which got GPUs at 10, goes before a, which got its at 23; b has 20 s at 43."""
    jobs = [job("a", 2, 40), job("b", 2, 20, at=1), job("c", 2, 3, at=12)]
    result, events = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=10))
    assert [start[:2] for start in started(events)] == [(0, 0), (1, 10), (2, 20), (0, 23), (1, 33), (0, 43)]
    assert seconds(result, "finish_ns") == [63, 43, 23]


@pytest.mark.parametrize(("at", "fails", "again"), [(7, 22, 30), (5, 28, 40)])
def test_a_literal_renewal_is_an_assignment(at, fails, again):
    """Two machines of one GPU, leases of 10 s, both jobs at full speed; the second machine fails for good.

    The second job got GPUs last at 17 (or 25), its last renewal, though no offers went round then. At 30 the
    first job got its own last at 20: the second takes over (or waits until 40).
    """
    jobs = [job("first", 1, 60), job("second", 1, 60, at=at)]
    outage = [CapacityEvent(seconds_to_ns(fails), "fail", 1)]
    _, events = run_checked(jobs, tiny_cluster(2, 1), dally(lease_s=10), capacity_events=outage)
    assert started(events)[2] == (1, again, [0])


@pytest.mark.parametrize(("gpus", "preemptive"), [(1, False), (0, True)])
def test_without_a_lease_there_are_no_renewals(gpus, preemptive):
    """Two machines of one GPU and one CPU; the second fails at 22, the first at 23, and is back at 30.

    Both jobs were at full speed, so equal. No lease, since none ends or no GPU is held: the last assignments
    are the starts, at 0 and 7, and the first job goes first. Renewals every 10 s would be at 20 and 17.
    """
    jobs = [job("first", gpus, 60, cpus=1), job("second", gpus, 60, at=7, cpus=1)]
    outage = [
        CapacityEvent(seconds_to_ns(at), kind, machine)
        for at, kind, machine in ((22, "fail", 1), (23, "fail", 0), (30, "join", 0))
    ]
    policy = dally(lease_s=10, preemptive=preemptive)
    _, events = run_checked(jobs, tiny_cluster(2, 1, cpus=1), policy, capacity_events=outage)
    assert started(events)[2] == (0, 30, [0])


def test_a_job_that_never_had_gpus_goes_before_one_of_equal_sensitivity():
    """The only GPU fails at 5 and is back at 8; a needs 10 s an iteration and has done none, b came at 6.

    Both have sensitivity 0. B never had GPUs: 8-11. A, though it came first, starts again at 11: 21.
    """
    jobs = [job("a", 1, 10, iteration_s=10), job("b", 1, 3, at=6)]
    outage = [CapacityEvent(seconds_to_ns(at), kind, 0) for at, kind in ((5, "fail"), (8, "join"))]
    result, _ = run_checked(jobs, tiny_cluster(1, 1), dally(), capacity_events=outage)
    assert seconds(result, "finish_ns") == [21, 11]


def test_ties_of_sensitivity_go_to_the_job_that_held_gpus_least_recently():
    """One GPU, leases of 10 s; a and b always at full speed, so equal at 1 whenever they wait together.

    a 0-10, b 10-20, c (0) 20-23; then a, which got GPUs at 0, b at 10: a 23-33; d (0) 33-36; then b, which
    got them at 10, a at 23: b 36-66, all the 30 s that it lacks, and a 66-86. By arrival a would go at 36.
    """
    jobs = [job("a", 1, 40), job("b", 1, 40, at=1), job("c", 1, 3, at=12), job("d", 1, 3, at=25)]
    result, events = run_checked(jobs, tiny_cluster(1, 1), dally(lease_s=10, renewal="keep"))
    assert [start[:2] for start in started(events)] == [
        (0, 0),
        (1, 10),
        (2, 20),
        (0, 23),
        (3, 33),
        (1, 36),
        (0, 66),
    ]
    assert seconds(result, "finish_ns") == [86, 66, 23, 36]


def test_of_ended_leases_the_last_in_order_is_preempted():
    """A machine of two: a and b, at full speed, until 10, when both leases end and c (0) takes one GPU.

    Equal in all but arrival, b comes last in the order: it waits for c's 3 s and ends at 10 + 3 + 10 = 23.
    """
    jobs = [job("a", 1, 20), job("b", 1, 20), job("c", 1, 3, at=1)]
    result, events = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=10))
    assert [(e.job, e.time_ns / NS_PER_S) for e in events if isinstance(e, Stop)] == [(1, 10)]
    assert seconds(result, "finish_ns") == [20, 23, 13]


def test_a_literal_renewal_refuses_spread_gpus_when_no_job_waits():
    """Two racks of one machine; the pair takes a half of each at 1 + 5 s, where an iteration takes 100 s.

    The others are done at 9. At 16, the end of its lease of 10 s, it refuses the halves, as if it had waited
    for 0 s, and moves to machine 0: 60 iterations later, at 76, it ends. Were it to keep them: 6 + 6000.
    """
    slow = PlainPerformance(lambda spec, allocation: 100.0 if len(allocation.slices) > 1 else 1.0)
    jobs = [*one_on_each(2, lasts=9), job("pair", 2, 60, at=1)]
    options = {"machine_timer_h": 5 / HOUR, "rack_timer_h": 5 / HOUR, "lease_s": 10}
    cluster = racks(machines=1)
    result, events = run_checked(jobs, cluster, dally(**options), slow)
    assert started(events)[4] == (4, 6, [0, 1])
    assert [(e.job, e.time_ns // NS_PER_S) for e in events if isinstance(e, Change)] == [(4, 16)]
    assert seconds(result, "finish_ns")[4] == 76
    kept, _ = run_checked(jobs, cluster, dally(renewal="keep", **options), slow)
    assert seconds(kept, "finish_ns")[4] == 6006
    ablation, _ = run_checked(jobs, cluster, dally(preemptive=False, **options), slow)
    assert seconds(ablation, "finish_ns")[4] == 6006


def test_the_wait_begins_again_where_a_literal_renewal_refuses():
    """Halves of two machines at 2 + 5 s; the other halves stay taken. At 17 it refuses, and waits 5 s again.

    It has its 20 iterations after 7 to 17 and 22 to 32. By arrival, so that no other job gives way.
    """
    jobs = [*one_on_each(2), job("pair", 2, 20, at=2)]
    options = {"machine_timer_h": 5 / HOUR, "lease_s": 10, "order": "fifo"}
    result, events = run_checked(jobs, tiny_cluster(2, 2), dally(**options))
    assert [start[1] for start in started(events) if start[0] == 4] == [7, 22]
    assert [(e.job, e.time_ns // NS_PER_S) for e in events if isinstance(e, Stop)] == [(4, 17)]
    assert seconds(result, "finish_ns")[4] == 32


def test_a_literal_renewal_prefers_own_gpus_to_others_as_near():
    """By arrival long0, then b: at 10 both machines have a half to offer b, and its own is on machine 1.

    The job of four waits behind them, so offers go round. Best fit, lowest first, would move b to machine 0.
    """
    jobs = [job("long0", 1, 30), job("short", 1, 5), job("b", 1, 30), job("c", 1, 30), job("four", 4, 5)]
    result, _ = run_checked(jobs, tiny_cluster(2, 2), dally(lease_s=10, order="fifo"))
    assert result.columns["migrations"].sum() == result.columns["preemptions"].sum() == 0


def test_fewer_machines_of_a_rack_are_nearer_in_a_literal_renewal():
    """A job of four has 1 + 1 + 2 GPUs from 2 on; machine 2 is idle from 5 on: 2 + 2 at 12, once."""
    jobs = [*one_on_each(2), job("full", 2, 5), job("four", 4, 40, at=2)]
    _, events = run_checked(jobs, tiny_cluster(4, 2), dally(lease_s=10))
    assert started(events)[5] == (5, 2, [0, 1, 3])
    moves = [e for e in events if isinstance(e, Change)]
    assert [(e.time_ns // NS_PER_S, [s.machine for s in e.allocation.slices]) for e in moves] == [
        (12, [2, 3])
    ]


def test_a_literal_renewal_keeps_gpus_on_an_equal_number_of_machines():
    """A job of four has 1 + 1 + 2 GPUs of machines 1, 2 and 3 from 2 on; at 12 machine 0 has a half, too.

    Machines 0, 1 and 3 would be the first choice, but are three as well: it stays.
    """
    jobs = [job("a", 1, 100), job("b", 1, 5), *one_on_each(2), job("four", 4, 40, at=2)]
    result, events = run_checked(jobs, tiny_cluster(4, 2), dally(lease_s=10))
    assert started(events)[6] == (6, 2, [1, 2, 3])
    assert result.columns["migrations"].sum() == 0


def test_fewer_racks_are_nearer_in_a_literal_renewal():
    """Machines 1 and 3 of two racks from 1 + 5 s on; machine 0 is idle from 9 on: both of rack 0 at 16."""
    jobs = [*(job(f"full{n}", 2, lasts) for n, lasts in enumerate((9, 1, 100, 1))), job("four", 4, 40, at=1)]
    timers = {"machine_timer_h": 5 / HOUR, "rack_timer_h": 5 / HOUR}
    _, events = run_checked(jobs, racks(), dally(lease_s=10, **timers))
    assert started(events)[4] == (4, 6, [1, 3])
    moves = [e for e in events if isinstance(e, Change)]
    assert [(e.time_ns // NS_PER_S, [s.machine for s in e.allocation.slices]) for e in moves] == [
        (16, [0, 1])
    ]


def test_literal_renewals_go_by_sensitivity_too():
    """Two machines of 3, any GPUs will do: a has two of machine 0, b two of machine 1, the pair 1 + 1.

    Spread is half as fast. At 10, in order: the pair (1/2) gets two of machine 0, where a's lease has ended;
    a two of machine 1; b the rest.
    """
    slow = PlainPerformance(lambda spec, allocation: float(len(allocation.slices)))
    jobs = [job("a", 2, 40), job("b", 2, 40), job("pair", 2, 40)]
    _, events = run_checked(jobs, tiny_cluster(2, 3), dally(delay=False, lease_s=10), slow)
    moves = [e for e in events if isinstance(e, Change) and e.time_ns == seconds_to_ns(10)]
    machines = {e.job: [s.machine for s in e.allocation.slices] for e in moves}
    assert machines == {0: [1], 1: [0, 1], 2: [0]}


def test_a_nearer_renewal_moves_at_the_end_of_a_lease():
    """The pair has halves from 7 on; both machines are free but for it from 15 on, and nobody waits.

    Its lease of 10 s ends at 17: then it moves to one machine, once, and stays there.
    """
    jobs = [*one_on_each(2, lasts=15), job("pair", 2, 40, at=2)]
    options = {"machine_timer_h": 5 / HOUR, "lease_s": 10, "renewal": "nearer"}
    result, events = run_checked(jobs, tiny_cluster(2, 2), dally(**options))
    moves = [
        (e.job, e.time_ns // NS_PER_S, len(e.allocation.slices)) for e in events if isinstance(e, Change)
    ]
    assert moves == [(4, 17, 1)]
    assert seconds(result, "finish_ns")[4] == 47
    stays, _ = run_checked(jobs, tiny_cluster(2, 2), dally(**options, preemptive=False))
    assert stays.columns["migrations"][4] == 0


def test_gpus_left_by_a_nearer_renewal_are_offered_at_once():
    """Machines of 3: the pair has halves from 6 on, 2 + 2 more are idle from 15 on, a triple waits.

    At 16 the pair moves to one machine, so the other is whole; by its timer the triple would wait until 17.
    """
    jobs = [job("a", 2, 15), job("b", 2, 14), job("pair", 2, 40, at=1), job("triple", 3, 5, at=12)]
    options = {"machine_timer_h": 5 / HOUR, "lease_s": 10, "renewal": "nearer"}
    _, events = run_checked(jobs, tiny_cluster(2, 3), dally(**options))
    assert started(events)[2:] == [(2, 6, [0, 1]), (3, 16, [0])]
    assert [e.time_ns // NS_PER_S for e in events if isinstance(e, Change)] == [16]


def test_sensitivity_is_one_over_one_plus_overhead():
    """Half the time exposed: 1 / (1 + 1) = 0.5 at whole iterations, wherever it ran; before a start 0."""

    class Columns:
        iterations_done = np.array([5, 0, 4])
        compute_ns = np.array([NS_PER_S] * 3)
        held_ns = np.array([10, 0, 4]) * NS_PER_S

    assert sensitivity(Columns()).tolist() == [0.5, 0.0, 1.0]


def test_sensitivity_as_printed_is_not_divided_by_gpus():
    """Section 4.3.1: 3 of 4 iterations' time on 2 GPUs is 2 x 3/4 = 1.5, after the 1 of a single GPU."""

    class Columns:
        gpus = np.array([2, 1, 8, 0])
        iterations_done = np.array([3, 4, 0, 4])
        compute_ns = np.array([NS_PER_S] * 4)
        held_ns = np.array([4, 4, 0, 4]) * NS_PER_S

    assert sensitivity(Columns()).tolist() == [0.75, 1.0, 0.0, 1.0]
    assert sensitivity_as_printed(Columns()).tolist() == [1.5, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(("order", "again"), [("sensitivity", 20), ("sensitivity_as_printed", 40)])
def test_as_printed_a_job_of_one_gpu_precedes_a_little_slowed_pair(order, again):
    """One machine of two. The pair takes 5/4 s per iteration: 0.8, or 1.6 as printed; the single has 1.

    The pair runs from 0 to 10, the end of its lease, then the single (0), which needs 30 s. At 20 the pair is
    first by sensitivity; as printed the single keeps its GPU, and ends at 40.
    """
    slow = PlainPerformance(lambda spec, allocation: 1.25 if spec.job_id == "pair" else 1.0)
    jobs = [job("pair", 2, 40), job("single", 1, 30, at=1)]
    _, events = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=10, order=order), slow)
    assert started(events)[2][:2] == (0, again)


# --- Without leases


def test_without_leases_a_new_job_takes_gpus_when_it_arrives():
    """One machine: a (sensitivity 1) has done 3 of 15 s when b (0) comes at 3 and runs to 8; a ends at 20."""
    jobs = [job("a", 2, 15), job("b", 2, 5, at=3)]
    result, events = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=None))
    assert [start[:2] for start in started(events)] == [(0, 0), (1, 3), (0, 8)]
    assert seconds(result, "finish_ns") == [20, 8]
    stays, _ = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=None, preemptive=False))
    assert seconds(stays, "finish_ns") == [15, 20]


@pytest.mark.parametrize(("offers_s", "finish"), [(10, [40, 45]), (None, [30, 45])])
def test_without_leases_offers_go_round_at_an_interval_too(offers_s, finish):
    """One machine. a, at half speed, has done no iteration when b comes at 1: both 0, so a keeps its GPUs.

    At 10 a has 1/2 and b 0: b takes over. At 20 b has 1: a takes over, and keeps its GPUs at 30 (1/2 < 1). a
    needs 15 iterations: 0-10, 20-40; b 15: 10-20, 40-45. Without the interval, timers being long, b waits for
    a's end.
    """
    performance = PlainPerformance(lambda spec, allocation: 2.0 if spec.job_id == "a" else 1.0)
    jobs = [job("a", 2, 15), job("b", 2, 15, at=1)]
    policy = dally(lease_s=None, offers_s=offers_s, machine_timer_h=1, rack_timer_h=1)
    result, _ = run_checked(jobs, tiny_cluster(1, 2), policy, performance)
    assert seconds(result, "finish_ns") == finish


@pytest.mark.parametrize(("order", "moves"), [("sensitivity", True), ("fifo", False)])
def test_without_leases_a_spread_job_that_loses_its_gpus_moves_to_one_machine(order, moves):
    """Two racks of one machine of two; the pair gets halves at 1 + 5 s, where an iteration takes 4 s.

    The others, of one iteration each, so at 0 as it is, are done at 9. It keeps its halves until a pair (0)
    comes at 20: with 3 iterations in 14 s it has 3/14, so it loses machine 0, and gets machine 1 at once, for
    57 s more: 77. By arrival the new pair waits, and the first ends at 6 + 60 x 4.
    """
    slow = PlainPerformance(lambda spec, allocation: 4.0 if len(allocation.slices) > 1 else 1.0)
    halves = [job(f"{n}", 1, lasts, iteration_s=lasts) for n, lasts in enumerate((9, 1, 9, 1))]
    jobs = [*halves, job("pair", 2, 60, at=1), job("late", 2, 5, at=20)]
    options = {"machine_timer_h": 5 / HOUR, "rack_timer_h": 5 / HOUR, "lease_s": None, "order": order}
    result, events = run_checked(jobs, racks(machines=1), dally(**options), slow)
    assert started(events)[4] == (4, 6, [0, 1])
    moved = [(e.job, e.time_ns // NS_PER_S) for e in events if isinstance(e, Change)]
    assert moved == ([(4, 20)] if moves else [])
    assert seconds(result, "finish_ns")[4] == (77 if moves else 246)


def test_without_leases_equal_sensitivity_keeps_its_gpus():
    """Both ran at full speed: once a has its GPUs back at 17 it keeps them, as b (1) is not below it.

    a 0-1, b (0) 1-12, c (0) 12-17; then a and b, equal at 1: a, assigned first, to 17 + 39 = 56, b to 65.
    """
    jobs = [job("a", 2, 40), job("b", 2, 20, at=1), job("c", 2, 5, at=12)]
    result, _ = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=None, offers_s=1))
    assert seconds(result, "finish_ns") == [56, 65, 17]


@pytest.mark.parametrize(
    ("given", "words"),
    [({"lease_s": None, "renewal": "nearer"}, "needs leases"), ({"offers_s": 60}, "no effect with leases")],
)
def test_settings_that_contradict_the_form_are_refused(given, words):
    """Without leases no job moves by itself; with leases offers go round at their ends."""
    with pytest.raises(ValueError, match=words):
        dally(**given)


# --- Algorithm 2


def timers(history_s=100):
    return Timers({"machine": 12, "rack": 24}, None if history_s is None else history_s * NS_PER_S)


def test_a_timer_is_mean_plus_two_sample_deviations():
    """Waits of 10, 20 and 30: 20 + 2 x 10; with fewer than two the default."""
    tuned = timers()
    assert tuned.timer_ns("machine", 2, 0) == 12
    tuned.accepted("machine", 2, 10, 0)
    assert tuned.timer_ns("machine", 2, 1) == 12
    tuned.accepted("machine", 2, 20, 1)
    tuned.accepted("machine", 2, 30, 2)
    assert tuned.timer_ns("machine", 2, 3) == 40


def test_tiers_and_demands_have_lists_of_their_own():
    """Waits of pairs for machines are no evidence for racks, or for jobs of four."""
    tuned = timers()
    for wait in (10, 10):
        tuned.accepted("machine", 2, wait, 0)
    assert [
        tuned.timer_ns("machine", 2, 1),
        tuned.timer_ns("rack", 2, 1),
        tuned.timer_ns("machine", 4, 1),
    ] == [
        10,
        24,
        12,
    ]


def test_waits_are_forgotten_by_age():
    """A history of 100 s: at 101 s the wait accepted at 0 is gone, one accepted at 1 s is not."""
    tuned = timers()
    for when in (0, 1, 2):
        tuned.accepted("rack", 2, 10 * when, when * NS_PER_S)
    assert tuned.timer_ns("rack", 2, 100 * NS_PER_S) == 10 + 2 * 10
    assert tuned.timer_ns("rack", 2, 101 * NS_PER_S) == round(15 + 2 * np.std([10, 20], ddof=1))


def test_waits_are_discarded_by_length():
    """Algorithm 2, lines 3 and 9: a limit of 100 s leaves out a wait of 101 s, but no old one."""
    tuned = Timers({"machine": 12, "rack": 24}, 100 * NS_PER_S, "length")
    for wait_s in (101, 100, 100):
        tuned.accepted("rack", 2, wait_s * NS_PER_S, 0)
    assert tuned.timer_ns("rack", 2, 1000 * NS_PER_S) == 100 * NS_PER_S


@pytest.mark.parametrize(
    ("given", "start"),
    [
        ({"history_leases": 2}, 13),
        ({"history_leases": 2, "discard": "length"}, 3),
        ({"history_leases": 1, "history_gpus": 6}, 13),
        ({"history_leases": 1, "history_gpus": 24}, 3),
    ],
)
def test_the_history_limit_by_age_length_and_cluster(given, start):
    """Three machines of two, leases of 1 s, and two pairs that waited 0 s for a machine at 0.

    At 3 they tune the third pair's timer to 0 s, unless they are too old: 2 s, or 1 s in a cluster of 6 GPUs,
    which is 4 s if 1 s was meant for 24 GPUs. Too few left, it takes halves after the default of 10 s, at 13.
    """
    halves = [job(f"s{n}", 1, 1 if n % 2 else 100, at=2) for n in range(6)]
    jobs = [job("p", 2, 1), job("q", 2, 1), *halves, job("pair", 2, 5, at=3)]
    policy = dally(auto_tune=True, lease_s=1, preemptive=False, **given)
    _, events = run_checked(jobs, tiny_cluster(3, 2), policy)
    assert started(events)[-1] == (8, start, [0, 1])


def test_manual_timers_never_move():
    """Nothing is remembered."""
    fixed = timers(None)
    for wait in (1, 1, 1):
        fixed.accepted("machine", 2, wait, 0)
    assert fixed.timer_ns("machine", 2, 1) == 12
    assert fixed.series == []


def test_the_series_records_each_change_of_a_timer():
    """For Fig. 5: time, which timer, hours."""
    tuned = timers()
    for wait in (NS_PER_S, 3 * NS_PER_S):
        tuned.accepted("rack", 8, wait, 0)
    for now in (5, 6):
        tuned.timer_ns("rack", 8, now)
    assert tuned.series == [(5, "rack timer, 8 GPUs (h)", pytest.approx((2 + 2 * 2**0.5) / HOUR))]


def test_accepted_waits_tune_the_timers_of_later_jobs():
    """Two pairs take a machine after 0 s: mean 0, no deviation, so the third takes halves at once."""
    halves = [job(f"s{n}", 1, 1 if n % 2 else 100, at=2) for n in range(6)]
    jobs = [job("p", 2, 1), job("q", 2, 1), *halves, job("pair", 2, 5, at=3)]
    _, events = run_checked(jobs, tiny_cluster(3, 2), dally(auto_tune=True))
    assert started(events)[-1] == (8, 3, [0, 1])


def test_a_renewal_tunes_no_timer():
    """P takes a machine after 0 s, and keeps it at the end of each lease of 1 s; one wait is too few to tune.

    So the pair of 3 takes halves by the default, at 13. Had renewals counted as waits of 0 s: at 4.
    """
    jobs = [job("p", 2, 30), *one_on_each(2), job("pair", 2, 5, at=3)]
    _, events = run_checked(jobs, tiny_cluster(3, 2), dally(auto_tune=True, lease_s=1, order="fifo"))
    assert started(events)[5] == (5, 13, [1, 2])


def test_an_accepted_rack_wait_tunes_the_rack_timer():
    """Machines of one GPU, so pairs have no machine timer: two of them take a rack each after 0 s.

    Their rack timer is then 0 + 2 x 0 s. From 3 on one GPU is free in each rack: the pair of 3 takes both at
    once. By the default of 20 s, had the waits gone to the machine's list, it would start at 23.
    """
    pairs = [job("p", 2, 1), job("q", 2, 1)]
    singles = [job(f"s{n}", 1, 1 if n % 2 else 100, at=2) for n in range(4)]
    jobs = [*pairs, *singles, job("pair", 2, 5, at=3)]
    _, events = run_checked(jobs, racks(gpus=1), dally(auto_tune=True))
    assert started(events)[-1] == (6, 3, [1, 3])


def test_a_wait_accepted_in_a_call_tunes_the_timer_of_the_next_job_in_it():
    """P and b take the machine of type B after 0 s, so from b on the machine timer is 0, not 10 s.

    At 2 the order is a, b, c. A has waited 1 s of 10 for a machine of type A; c, which has waited 0 s of 0,
    takes the halves at once. A follows when c has ended.
    """
    machines = [Machine(name, 0, kind, 2, gpu_type=kind) for name, kind in zip("uvw", "AAB", strict=True)]
    halves = [
        job(f"{name}{n}", 1, lasts, gpu_types=("A",)) for n in "01" for name, lasts in (("l", 9), ("s", 1))
    ]
    pairs = [("p", 0, "B", 1), ("a", 1, "A", 5), ("b", 2, "B", 5), ("c", 2, "A", 5)]
    jobs = halves + [job(name, 2, lasts, at=at, gpu_types=(kind,)) for name, at, kind, lasts in pairs]
    _, events = run_checked(jobs, Cluster(machines), dally(auto_tune=True, order="fifo"))
    assert started(events)[-3:] == [(6, 2, [2]), (7, 2, [0, 1]), (5, 7, [0, 1])]


def test_a_timer_is_read_once_per_call_whatever_the_number_of_waiting_jobs(monkeypatch):
    """Nine jobs of one demand wait: two timers per call, not eighteen: reading them took a fifth of a run."""
    read = []
    timer_ns = Timers.timer_ns
    monkeypatch.setattr(Timers, "timer_ns", lambda *key: read.append(key[1:]) or timer_ns(*key))
    jobs = [job("long", 2, 30), *[job(f"w{n}", 2, 1, at=n) for n in range(9)]]
    run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=7))
    assert len(read) == len(set(read)) + 10  # again after each of the ten starts, which tunes them


def test_without_delay_any_gpus_will_do():
    """The ablation: halves are taken at once."""
    jobs = [*one_on_each(4), job("pair", 2, 5, at=2)]
    _, events = run_checked(jobs, racks(), dally(delay=False))
    assert started(events)[-1][:2] == (8, 2)


def test_order_of_arrival_is_the_other_ablation():
    """B (0, not run) would take over from a at 10; by arrival a comes first and keeps its GPUs."""
    jobs = [job("a", 2, 15), job("b", 2, 3, at=1)]
    result, _ = run_checked(jobs, tiny_cluster(1, 2), dally(lease_s=10, order="fifo"))
    assert seconds(result, "first_start_ns") == [0, 15]


def test_dally_asks_no_network_and_knows_no_model(monkeypatch):
    """Section 4.1.3: compute time and iterations alone; columns of models and durations would raise."""
    policy = dally()
    for flag in ("knows_models", "knows_durations", "knows_performance"):
        assert not getattr(policy, flag, False)
