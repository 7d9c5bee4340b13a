"""Random failures by cause: units, repairs, spares, slow machines, and runs that they keep from ending."""

from collections.abc import Iterable
from itertools import islice

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import MachineEvent
from artist.datacenter.causes import PUBLISHED, Cause
from artist.datacenter.config import ClusterConfig
from artist.datacenter.failures import Failures
from artist.engine.agenda import Agenda
from artist.engine.capacity import Capacity
from artist.engine.jobs import JobTable
from artist.engine.machines import MachineTable
from artist.engine.overheads import Overheads
from artist.engine.transitions import Transitions
from artist.errors import StuckError
from artist.policies.basic.ordered import Ordered
from artist.testing.tiny import PlainPerformance, job, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns

DAY_NS = seconds_to_ns(86_400)
FIFO = Ordered(order="fifo")


def racks(*sizes: int, spares: int = 0) -> Cluster:
    """Return racks of machines with 8 GPUs, of which the last ones are spares."""
    names = ((rack, at < size - spares) for rack, size in enumerate(sizes) for at in range(size))
    return Cluster([Machine(f"m{i}", rack, "box", 8, present=there) for i, (rack, there) in enumerate(names)])


def endless(cluster: Cluster, *causes: dict, seed: int = 0) -> Failures:
    return Failures([Cause(**cause) for cause in causes], cluster, seed)


def until(cluster: Cluster, failures: Iterable[CapacityEvent], days: float) -> list[MachineEvent]:
    """Return the events of machines without jobs."""
    agenda, machines = Agenda([]), MachineTable(cluster)
    transitions = Transitions(JobTable([]), machines, Overheads(), lambda event: None, [], False)
    capacity, events = Capacity(failures, machines, transitions, agenda), []
    while (now := agenda.next_time()) is not None and now < days * DAY_NS:
        for _, subject in agenda.due(now):
            events += capacity.apply(subject, now)
    return events


def drawn(cluster: Cluster, *causes: dict, days: float, seed: int = 0, **options) -> list[MachineEvent]:
    return until(cluster, Failures([Cause(**cause) for cause in causes], cluster, seed, **options), days)


def test_published_causes_have_the_published_rates():
    """Llama 3: 419 in 2,048 machines x 54 days; RSC-1 and RSC-2: 6.50 and 2.34 in 1000 machine-days."""
    assert sum(c["per_1000_days"] for c in PUBLISHED["llama3"]) * 2048 * 54 / 1000 == pytest.approx(419)
    assert [PUBLISHED[name][0]["per_1000_days"] for name in ("rsc1", "rsc2")] == [6.50, 2.34]
    cluster = racks(*[16] * 128)
    fails = [e for e in drawn(cluster, *PUBLISHED["llama3"], days=54) if e.type == "fail"]
    assert abs(len(fails) - 419) < 3 * 419**0.5  # Poisson


def test_a_published_name_may_have_a_factor_and_stand_among_causes():
    """10 x 6.50 = 65 in 1000 days; a list holds the causes of its names, in order."""
    ten = ClusterConfig(failures="10*rsc1").failures
    assert [(c.cause, c.per_1000_days) for c in ten] == [("any", pytest.approx(65))]
    link = {"cause": "link", "per_1000_days": 2}
    mixed = ClusterConfig(failures=["0.5*rsc2", link]).failures
    assert [(c.cause, c.per_1000_days) for c in mixed] == [("any", pytest.approx(1.17)), ("link", 2)]


@pytest.mark.parametrize(
    "wrong", ["rsc3", "rsc1*10", "x*rsc1", {"rsc1": 10}, [{"rsc1": 10}], [["rsc1"]], [3], 3, ""]
)
def test_what_is_no_cause_is_refused_with_what_to_write(wrong):
    """The form with a factor, and a list of names and causes."""
    with pytest.raises(
        ValueError, match=r"10\*rsc1 for ten times its rate, or a list of these and of causes"
    ):
        ClusterConfig(failures=wrong)


@pytest.mark.parametrize(("scope", "together"), [("machine", 1), ("rack", 3), ("cluster", 6)])
def test_a_unit_fails_and_is_repaired_as_a_whole(scope, together):
    """Of 2 racks of 3 machines 1, 3 or all 6 fail at one time, and join 1 h later."""
    cause = {"cause": "power", "per_1000_days": 100, "scope": scope, "repair": "fixed", "repair_h": 1}
    events = drawn(racks(3, 3), cause, days=200)
    fails, joins = events[:together], events[together : 2 * together]
    assert {(e.type, e.cause) for e in fails} == {("fail", "power")}
    assert len({e.time_ns for e in fails}) == 1
    assert {(e.type, e.time_ns - fails[0].time_ns) for e in joins} == {("join", seconds_to_ns(3600))}
    assert {e.machine for e in joins} == {e.machine for e in fails}


def test_the_rate_of_a_job_counts_its_machines_and_racks_but_nothing_that_only_slows():
    """4 machines in racks of 3: 4 x 1 + 2 x 10 + 1 x 100 = 124 in 1000 days, without the slow links.

    With a fifth of lemons at 11 times the rate, whichever they are, 124 + 4 x 0.2 x 10 = 132.
    """
    scopes = {"machine": 1, "rack": 10, "cluster": 100}
    causes = [{"cause": s, "scope": s, "per_1000_days": rate} for s, rate in scopes.items()]
    failures = endless(racks(3, 3), *causes, {"cause": "links", "per_1000_days": 1000, "slow": 2})
    assert failures.of_gpus_per_s(32) * 86_400 * 1000 == pytest.approx(124)
    causes[0]["lemons"] = {"share": 0.2, "times": 11}
    assert endless(racks(3, 3), *causes).of_gpus_per_s(32) * 86_400 * 1000 == pytest.approx(132)


def test_lemons_fail_more_often():
    """Half of 1000 machines at 10 times 1 in 1000 days: 5500 failures in these, +- 3 sqrt(5500) = 222.

    Each lemon more or less, of 500 +- 3 x 16, makes 9 more or less: +- 427.
    """
    cause = {"cause": "any", "per_1000_days": 1, "repair": "fixed", "repair_h": 0}
    lemons = {"lemons": {"share": 0.5, "times": 10}}
    count = np.zeros(1000)
    for event in drawn(racks(1000), cause | lemons, days=1000):
        count[event.machine] += event.type == "fail"
    assert abs(count.sum() - 5500) < 222 + 427
    assert 0.4 < (count > 4.5).mean() < 0.6


def test_repairs_have_their_mean_and_form():
    """All of mean 2 h; lognormal of sigma 1: median 2 / sqrt(e) = 1.21 h; fixed always; measured 1 or 3 h."""
    rng = np.random.default_rng(0)
    for repair, repair_h, median_h in (
        ("exponential", 2, 2 * np.log(2)),
        ("lognormal", 2, 2 / np.sqrt(np.e)),
        ("fixed", 2, 2),
        ("empirical", (1, 3), None),
    ):
        cause = Cause(cause="any", per_1000_days=1, repair=repair, repair_h=repair_h)
        hours = np.array([cause.repair_s(rng) for _ in range(20_000)]) / 3600
        assert hours.mean() == pytest.approx(2, rel=0.05), repair
        if median_h is None:
            assert set(hours) == {1.0, 3.0}
        else:
            assert np.median(hours) == pytest.approx(median_h, rel=0.05), repair


def test_a_spare_of_the_rack_serves_at_once_and_the_machine_that_is_repaired_becomes_one():
    """Racks of 2 and a spare: 2 serve at any time unless 2 of a rack are down; no other rack gets one."""
    cluster = racks(3, 3, spares=1)
    cause = {"cause": "any", "per_1000_days": 20_000, "repair": "fixed", "repair_h": 1}
    events = drawn(cluster, cause, days=30)
    assert [(e.time_ns, e.type, e.machine) for e in events[:2]] == [(0, "spare", 2), (0, "spare", 5)]
    state = dict.fromkeys((0, 1, 3, 4), "join")
    replaced = 0
    for at, event in enumerate(events):
        before = state.get(event.machine)
        state[event.machine] = event.type
        if at + 1 < len(events) and events[at + 1].time_ns == event.time_ns:
            continue
        rack = [state[m] for m in range(6) if (m < 3) == (event.machine < 3)]
        assert rack.count("join") == min(2, 3 - rack.count("fail"))
        replaced += event.type == "join" and before == "spare"
    assert replaced > 100


def test_failures_are_the_runs_own_whatever_other_causes_there_are():
    """Another seed draws others; a further cause leaves those of the first as they are."""
    gpu, nic = ({"cause": name, "per_1000_days": 50, "repair_h": 0.1} for name in ("gpu", "nic"))
    alone = [e for e in drawn(racks(2), gpu, days=400) if e.type == "fail"]
    assert alone != [e for e in drawn(racks(2), gpu, days=400, seed=1) if e.type == "fail"]
    both = [e for e in drawn(racks(2), nic, gpu, days=400) if e.type == "fail" and e.cause == "gpu"]
    assert both == alone


def test_all_policies_of_a_seed_meet_the_same_failures():
    """FIFO and SRTF, whose runs differ, see one sequence of failures of machines up to the end of both."""
    cluster = racks(2, 2)
    jobs = [job(f"j{at}", 8 * (1 + at % 3), 40_000 // (1 + at), at=100 * at) for at in range(12)]
    cause = {"cause": "gpu", "per_1000_days": 2000, "repair_h": 1}
    runs = {}
    for order in ("fifo", "srtf"):
        result, log = run_checked(
            jobs, cluster, Ordered(order=order), failures=endless(cluster, cause, seed=7)
        )
        failed = [(e.time_ns, e.type, e.machine) for e in log if isinstance(e, MachineEvent)]
        runs[order] = (result.end_ns, seconds(result, "finish_ns"), failed)
    end_ns = min(end for end, *_ in runs.values())
    (_, fifo_s, fifo), (_, srtf_s, srtf) = runs.values()
    assert fifo_s != srtf_s
    met = [event for event in fifo if event[0] < end_ns]
    assert len(met) > 5
    assert met == [event for event in srtf if event[0] < end_ns]


def slow(at, machine, factor, lasts):
    return outage(at, "slow", machine, lasts, factor=factor)


def outage(at, kind, machine, lasts, **more):
    times = {"repair_ns": seconds_to_ns(lasts), "check_ns": seconds_to_ns(more.pop("check", 0))}
    return CapacityEvent(seconds_to_ns(at), kind, machine, cause="link", **times, **more)


def test_a_slow_machine_makes_its_jobs_slower_until_it_is_repaired():
    """10 iterations of 1 s; from 3 s to 6 s they take 1.5 s: 3 + 2 of them by 6 s, the rest by 11 s."""
    failures = [slow(3, 0, 1.5, 3)]
    result, log = run_checked([job("a", 2, 10)], tiny_cluster(1), FIFO, failures=failures)
    assert seconds(result, "finish_ns") == [11]
    assert seconds(result, "slowed_ns") == [1]
    assert [e.factor for e in log if isinstance(e, MachineEvent)] == [1.5, 1.0]


def test_a_job_is_as_slow_as_its_slowest_machine_and_others_are_not():
    """4 GPUs on machines of factors 2 and 3: 3 s an iteration; the job on m2 keeps its pace."""
    jobs = [job("a", 4, 4), job("b", 2, 4)]
    result, _ = run_checked(jobs, tiny_cluster(3), FIFO, failures=[slow(0, 0, 2.0, 99), slow(0, 1, 3.0, 99)])
    assert seconds(result, "finish_ns") == [12, 4]


def test_a_machine_that_fails_faster_than_its_job_gets_on_ends_the_run_in_words():
    """10 s of work that every stop loses, and a failure every 5 s, for ever."""
    kinds = ("fail", "join")
    failures = (
        CapacityEvent(seconds_to_ns(5 * at), kind, 0, cause="any") for at in range(1, 10**6) for kind in kinds
    )
    with pytest.raises(StuckError, match=r"machines failed or returned [\d,]+ times"):
        run_checked(
            [job("a", 2, 10)],
            tiny_cluster(1),
            FIFO,
            overheads=Overheads(on_stop="lose_all"),
            failures=failures,
        )


def test_failures_between_arrivals_are_no_livelock():
    """20,000 events while no job is there; the second job comes after them."""
    kinds = ("fail", "join")
    failures = [CapacityEvent(seconds_to_ns(100 + at), kind, 0) for at in range(10_000) for kind in kinds]
    result, _ = run_checked(
        [job("a", 1, 10), job("b", 1, 10, at=20_000)], tiny_cluster(1), FIFO, failures=failures
    )
    assert seconds(result, "finish_ns") == [10, 20_010]


def machine_events(jobs, machines, *failures):
    """Return when jobs finish, seconds, and the events of machines: (second, type, machine)."""
    result, log = run_checked(jobs, tiny_cluster(machines), FIFO, failures=failures)
    events = [(e.time_ns / 1e9, e.type, e.machine) for e in log if isinstance(e, MachineEvent)]
    return seconds(result, "finish_ns"), events


def test_a_drained_machine_keeps_its_jobs_takes_none_and_is_repaired_once_they_have_left():
    """Job a holds m0 until 10 s; c, of 4 GPUs, waits for its repair until 15 s; m1 is free from 4 s."""
    jobs = [job("a", 2, 10), job("b", 2, 4), job("c", 4, 2, at=5)]
    finish_s, events = machine_events(jobs, 2, outage(3, "leave", 0, 5))
    assert finish_s == [10, 4, 17]
    assert events == [(3, "leave", 0), (10, "left", 0), (15, "join", 0)]


def test_a_drained_machine_without_jobs_is_repaired_at_once():
    """m1 is idle: from 3 s to 8 s; the job of 4 GPUs starts then."""
    jobs = [job("a", 2, 4), job("b", 4, 2, at=1)]
    finish_s, events = machine_events(jobs, 2, outage(3, "leave", 1, 5))
    assert finish_s == [4, 10]
    assert events == [(3, "leave", 1), (3, "left", 1), (8, "join", 1)]


def test_the_repair_of_a_draining_machine_begins_when_it_fails():
    """Drained at 3 s, failed at 4 s with 10 of 4 done: its 5 s end at 9 s, those of the failure at 5 s."""
    finish_s, events = machine_events([job("a", 2, 10)], 1, outage(3, "leave", 0, 5), outage(4, "fail", 0, 1))
    assert finish_s == [9 + 6]
    assert events == [(3, "leave", 0), (4, "fail", 0), (9, "join", 0)]


def test_a_slow_machine_that_is_drained_is_slow_until_its_repair_ends():
    """5 s of a's 10, then 2 s each until 10 + 5 = 15 s; m0 is repaired at 16 s, b takes 4 s from there."""
    jobs = [job("a", 2, 10), job("b", 2, 4, at=1)]
    finish_s, events = machine_events(jobs, 1, outage(5, "leave", 0, 1, factor=2.0))
    assert finish_s == [15, 20]
    assert [e for e in events if e[1] == "slow"] == [(5, "slow", 0), (16, "slow", 0)]


def test_a_spare_serves_from_the_drain_on_and_the_repaired_machine_is_the_next_spare():
    """m1 joins at 3 s and takes b, of 4 s; m0 is empty at 10 s and spare at 12 s; it replaces m1 at 14 s."""
    jobs = [job("a", 2, 10), job("b", 2, 4, at=1), job("c", 2, 3, at=12)]
    failures = [CapacityEvent(0, "spare", 1), outage(3, "leave", 0, 2), outage(14, "fail", 1, 9)]
    cluster = Cluster([Machine("m0", 0, "box", 2), Machine("m1", 0, "box", 2, present=False)])
    result, log = run_checked(jobs, cluster, FIFO, failures=failures)
    events = [(e.time_ns / 1e9, e.type, e.machine) for e in log if isinstance(e, MachineEvent)]
    assert events[1:] == [
        (3, "leave", 0), (3, "join", 1), (10, "left", 0), (12, "spare", 0), (14, "fail", 1), (14, "join", 0),
    ]  # fmt: skip
    assert seconds(result, "finish_ns") == [10, 7, 14 + 1]  # c: 2 of 3 s done, nothing lost


def test_a_repaired_machine_is_checked_before_it_serves_and_again_if_it_fails_meanwhile():
    """Down at 3 s, checked from 5 to 7 s; a failure at 6 s: repaired at 8 s, checked until 10 s."""
    fails = [outage(3, "fail", 0, 2, check=2), outage(6, "fail", 0, 2, check=2)]
    alone = [(3, "fail", 0), (5, "check", 0), (7, "join", 0)]
    assert machine_events([job("a", 2, 4)], 1, fails[0]) == ([8], alone)
    both = [*alone[:2], (6, "fail", 0), (8, "check", 0), (10, "join", 0)]
    assert machine_events([job("a", 2, 4)], 1, *fails) == ([11], both)


def test_a_machine_with_two_outages_serves_when_the_last_one_ends():
    """From 3 to 8 s, and from 4 to 6 s; no second event, and one check, at 8 s."""
    fails = [outage(3, "fail", 0, 5, check=1), outage(4, "fail", 0, 2, check=1)]
    events = [(3, "fail", 0), (8, "check", 0), (9, "join", 0)]
    assert machine_events([job("a", 2, 4)], 1, *fails) == ([10], events)


def test_a_cause_may_drain_and_slow_its_machines():
    """Drained ones stop no job, so their rate is none of a job's; the check follows each repair."""
    cause = {"cause": "ecc", "per_1000_days": 100, "drain": True, "repair": "fixed", "repair_h": 1}
    failures = Failures([Cause(**cause, slow=1.5)], racks(2), 0, check_s=1800)
    facts = {(e.type, e.cause, e.factor, e.repair_ns, e.check_ns) for e in islice(failures, 5)}
    assert facts == {("leave", "ecc", 1.5, seconds_to_ns(3600), seconds_to_ns(1800))}
    assert failures.of_gpus_per_s(16) == 0
    events = drawn(racks(1), cause, days=50, check_s=1800)[:4]
    assert [event.type for event in events] == ["leave", "left", "check", "join"]


def test_a_machine_is_as_slow_as_the_worst_of_its_parts():
    """Twice to 4 s, four times from 1 to 3 s: 0.5 + 0.5 + 0.5 iterations, the other 2.5 of 4 to 6.5 s."""
    failures = [slow(0, 0, 2.0, 4), slow(1, 0, 4.0, 2)]
    result, _ = run_checked([job("a", 2, 4)], tiny_cluster(1), FIFO, failures=failures)
    assert seconds(result, "finish_ns") == [6.5]


def test_a_draining_machine_that_fails_is_replaced_once():
    """Of two spares m1 joins at the drain, at 3 s; m2 stays one when m0 fails at 4 s."""
    cluster = racks(3, spares=2)
    spares = [CapacityEvent(0, "spare", machine) for machine in (1, 2)]
    failures = [*spares, outage(3, "leave", 0, 90), outage(4, "fail", 0, 90)]
    _, log = run_checked([job("a", 8, 20)], cluster, FIFO, failures=failures)
    events = [(e.time_ns / 1e9, e.type, e.machine) for e in log if isinstance(e, MachineEvent)]
    assert events[2:] == [(3, "leave", 0), (3, "join", 1), (4, "fail", 0)]


@pytest.mark.parametrize("other", [{"pool": "b"}, {"type": "big"}, {"rack": 1}])
def test_a_spare_replaces_no_machine_of_another_pool_hardware_or_rack(other):
    """The job waits for the repair of m0, from 3 s to 8 s."""
    facts = {"rack": 0, "type": "box", "pool": "a"}
    machines = [Machine("m0", gpus=2, **facts), Machine("m1", gpus=2, present=False, **facts | other)]
    failures = [CapacityEvent(0, "spare", 1), outage(3, "fail", 0, 5)]
    result, _ = run_checked([job("a", 2, 4)], Cluster(machines), FIFO, failures=failures)
    assert seconds(result, "finish_ns") == [8 + 1]


def test_a_health_check_ends_by_its_own_time():
    """Checked from 5 s; a failure at 5.5 s until 6 s: the second check lasts until 8 s, not the first's 7."""
    fails = [outage(3, "fail", 0, 2, check=2), outage(5.5, "fail", 0, 0.5, check=2)]
    _, events = machine_events([job("a", 2, 4)], 1, *fails)
    assert events[-2:] == [(6, "check", 0), (8, "join", 0)]


def test_a_unit_works_before_it_fails_again():
    """Every 100 h of work, with repairs of 1000 h: failures are further apart than these."""
    cause = {"cause": "any", "per_1000_days": 240, "repair": "fixed", "repair_h": 1000}
    times_ns = [event.time_ns for event in islice(endless(racks(1), cause), 20)]
    assert min(np.diff(times_ns)) > seconds_to_ns(3_600_000)


def test_a_spare_that_fails_with_its_rack_replaces_no_machine():
    """All three are down at once, and none joins before the first repair."""
    cause = {"cause": "power", "per_1000_days": 100, "scope": "rack", "repair": "fixed", "repair_h": 1}
    events = drawn(racks(3, spares=1), cause, days=200)
    assert [event.type for event in events[:4]] == ["spare", "fail", "fail", "fail"]


def test_a_drain_stops_no_job():
    """Its rate is none of a job's."""
    assert endless(racks(2), {"cause": "ecc", "per_1000_days": 9, "drain": True}).of_gpus_per_s(16) == 0


def test_a_slow_machine_makes_communication_slower_too():
    """4 iterations of 1 s and 0.5 s of communication at half the pace: 3 s each."""
    performance = PlainPerformance(slow=lambda spec, allocation: 1.5)
    failures = [slow(0, 0, 2.0, 99)]
    result, _ = run_checked([job("a", 2, 4)], tiny_cluster(1), FIFO, performance, failures=failures)
    assert seconds(result, "finish_ns") == [12]
