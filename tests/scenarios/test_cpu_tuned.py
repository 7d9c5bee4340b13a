"""CPUs and memory around any policy: it decides which job runs where, the mechanism on CPUs and memory.

Jobs of model "hungry" want 6 CPUs per GPU, those of "frugal" 1, and with c CPUs per GPU an iteration of 1 s
takes max(1, 6 / c) or max(1, 1 / c) seconds; machines have 4 CPUs per GPU if nothing else is said. So in
proportion a hungry job takes 1.5 s per iteration. "eager" is like hungry, but squared: max(1, (6 / c)^2).
"""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from artist.core.cluster import Allocation, CapacityEvent, Cluster, Machine
from artist.core.events import Change, Start, Stop
from artist.core.job import Stages
from artist.errors import PlanError
from artist.policies.antman.policy import AntMan
from artist.policies.basic.ordered import Ordered
from artist.policies.coda.policy import Coda
from artist.policies.dally.policy import Dally
from artist.policies.gandiva.policy import Gandiva
from artist.policies.muri.policy import Muri
from artist.policies.network_aware.policy import NetworkAware
from artist.policies.parts.fill import AsAsked
from artist.policies.synergy.cpu_tuned import CpuTuned
from artist.policies.synergy.division_rules import DivisionRule
from artist.policies.synergy.policy import Synergy
from artist.policies.themis.gavel import ThemisGavel
from artist.policies.themis.policy import Themis
from artist.policies.tiresias.policy import Tiresias
from artist.testing.tiny import PlainPerformance, job, on, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns

HOUR, GIB = 3600, 1 << 30
WANTS = {"hungry": 6, "eager": 6, "frugal": 1, "": 0}  # CPUs per GPU
POLICIES = {
    "fifo": lambda fill: Ordered(order="fifo", fill=fill),
    "srtf": lambda fill: Ordered(order="srtf", preemptive=True, backfill=True, fill=fill),
    "las": lambda fill: Ordered(order="las", preemptive=True, backfill=True, interval_s=2, fill=fill),
    "tiresias": lambda fill: Tiresias(thresholds_gpu_s=[8], fill=fill),
    "dally": lambda fill: Dally(machine_timer_h=3 / HOUR, rack_timer_h=6 / HOUR, lease_s=5, fill=fill),
    "gandiva": lambda fill: Gandiva(slicing=True, quantum_s=3, grow_shrink=True, grow_after_s=0.5, fill=fill),
    "themis": lambda fill: Themis(lease_s=5, fill=fill),
    "themis_gavel": lambda fill: ThemisGavel(on_events=True, interval_s=3, fill=fill),
    "antman": lambda fill: AntMan(fill=fill),
    "muri": lambda fill: Muri(order="las2d", on_events=True, interval_s=3, fill=fill),
}


def slower(spec, allocation):
    """Return a job's slowdown relative to all CPUs that it wants."""
    wants = WANTS[spec.model]
    lacking = max(1.0, *(wants * s.gpus / max(s.cpus, 0.1) for s in allocation.slices)) if wants else 1.0
    return lacking**2 if spec.model == "eager" else lacking


def hungry(job_id, *args, **demand):
    return replace(job(job_id, *args, **demand), model="hungry")


def frugal(job_id, *args, **demand):
    return replace(job(job_id, *args, **demand), model="frugal")


def eager(job_id, *args, **demand):
    return replace(job(job_id, *args, **demand), model="eager")


def simulate(jobs, cluster, policy, **options):
    """Run jobs that want CPUs; return the result and all events."""
    return run_checked(jobs, cluster, policy, PlainPerformance(slower), **options)


def tuned(make_policy, mechanism):
    """Return a policy around the one that is made with the fill that the mechanism expects, if it is one."""
    if mechanism == "proportional":
        return make_policy("proportional")
    return CpuTuned(make_policy("as_asked" if mechanism == "greedy" else "proportional"), mechanism)


def fifo(mechanism):
    return tuned(POLICIES["fifo"], mechanism)


def cpus(events, number, kinds=(Start, Change)):
    """Return the CPUs by machine that a job was given, one after the other, with the time in seconds."""
    given = [e for e in events if isinstance(e, kinds) and e.job == number]
    return [(e.time_ns / 1e9, [s.cpus for s in e.allocation.slices]) for e in given]


@pytest.mark.parametrize("name", POLICIES)
def test_cpus_left_by_a_frugal_job_go_to_a_hungry_one(name):
    """2 GPUs, 8 CPUs. In proportion 4 and 4: 12 iterations of 1.5 s are 18 s; tuned 6 and 1: 12 s.

    Whatever the policy: it only has to start both.
    """
    for mechanism, finish in (("proportional", 18), ("tune", 12)):
        jobs = [hungry("h", 1, 12), frugal("f", 1, 12)]
        jobs = [replace(spec, stages=Stages(0, 0, seconds_to_ns(1), 0)) for spec in jobs]
        result, events = simulate(jobs, tiny_cluster(1, 2, cpus=8), tuned(POLICIES[name], mechanism))
        assert seconds(result, "finish_ns") == [finish, 12]
        assert cpus(events, 1) == [(0, [4 if mechanism == "proportional" else 1])]


def test_no_job_has_less_than_its_share_or_its_best_case_and_the_first_have_more():
    """3 GPUs, 12 CPUs: at least 4, 4 and 1. Of the 3 that are left a takes 2, b takes 1."""
    jobs = [hungry("a"), hungry("b"), frugal("c")]
    _, events = simulate(jobs, tiny_cluster(1, 3, cpus=12), fifo("tune"))
    assert [cpus(events, number)[0] for number in range(3)] == [(0, [6]), (0, [5]), (0, [1])]


def test_a_finish_hands_cpus_on():
    """Two hungry jobs have 4 of 8 CPUs; a's 4 iterations take 6 s. Then b has 6: its other 4 take 4 s."""
    jobs = [hungry("a", 1, 4), hungry("b", 1, 8)]
    result, events = simulate(jobs, tiny_cluster(1, 2, cpus=8), fifo("tune"))
    assert seconds(result, "finish_ns") == [6, 10]
    assert cpus(events, 1) == [(0, [4]), (6, [6])]


def test_a_finish_hands_cpus_on_though_the_first_job_waits_for_more_gpus():
    """The same, and c waits for both GPUs: FIFO needs no call for the one that a leaves, b has 6 CPUs yet.

    At 10 c starts with 8 CPUs for 2 GPUs: 1.5 s.
    """
    jobs = [hungry("a", 1, 4), hungry("b", 1, 8), hungry("c", 2, 1, 1)]
    result, events = simulate(jobs, tiny_cluster(1, 2, cpus=8), fifo("tune"))
    assert seconds(result, "finish_ns") == [6, 10, 11.5]
    assert cpus(events, 1) == [(0, [4]), (6, [6])]


def test_a_start_takes_cpus_back():
    """Alone a has 6 of 8 CPUs; b comes at 3: 4 and 4. When b ends after 2 x 1.5 s, a has 6 again.

    A's 9 iterations: 3 in 3 s, 2 in the 3 s of b, 4 in the rest: 10 s.
    """
    jobs = [hungry("a", 1, 9), hungry("b", 1, 2, 3)]
    result, events = simulate(jobs, tiny_cluster(1, 2, cpus=8), fifo("tune"))
    assert seconds(result, "finish_ns") == [10, 6]
    assert cpus(events, 0) == [(0, [6]), (3, [4]), (6, [6])]
    assert {e.type for e in events if isinstance(e, Change)} == {"retune"}


def test_events_on_other_machines_retune_no_job():
    """Jobs come and go on m1, and one waits: a on m0 is never retuned."""
    jobs = [hungry("a", 2, 30), hungry("b", 1, 4), hungry("c", 1, 6), hungry("d", 2, 5, 1)]
    _, events = simulate(jobs, tiny_cluster(2, 2, cpus=12), fifo("tune"))
    assert cpus(events, 0) == [(0, [12])]
    assert cpus(events, 2) == [(0, [6])]


def spread(mechanism):
    """Return a policy that puts GPU after GPU on the emptiest machine: 5 GPUs are 3 and 2."""
    return tuned(lambda fill: Ordered(order="fifo", fill=fill, placement="spread"), mechanism)


def test_a_job_on_two_machines_has_cpus_in_proportion_to_gpus():
    """Machines of 4 GPUs and 16 CPUs, a frugal job on each: w has 3 GPUs of m0 and 2 of m1, 12 and 8 CPUs.

    3 are left on m0, so each of its GPUs may have 5, and has 5 on m1, too, where 7 are left.
    """
    jobs = [frugal("f0"), frugal("f1"), hungry("w", 5)]
    _, events = simulate(jobs, tiny_cluster(2, 4, cpus=16), spread("tune"))
    assert cpus(events, 2)[0] == (0, [15, 10])


def test_a_finish_on_one_machine_reaches_the_other():
    """As above, but the job on m0 is hungry: 16 - 4 - 12 CPUs are left there, so w has no more on m1, either.

    When h ends, after 4 x 1.5 s, w has 16 CPUs for 3 GPUs: 26 in all would be 15.6 and 10.4.
    """
    jobs = [hungry("h", 1, 4), frugal("f", 1, 30), hungry("w", 5, 20)]
    _, events = simulate(jobs, tiny_cluster(2, 4, cpus=16), spread("tune"))
    assert cpus(events, 2)[:2] == [(0, [12, 8]), (6, [16, 11])]


def test_greedy_waits_for_its_best_case():
    """8 CPUs: a has its 6 at once and runs 4 s; b wants 6 of the 2 that are left and starts at 4.

    C wants 1 and may overtake with backfill only.
    """
    jobs = [hungry("a", 1, 4), hungry("b", 1, 4), frugal("c", 1, 4)]
    for backfill, starts in ((True, [0, 4, 0]), (False, [0, 4, 4])):
        policy = CpuTuned(Ordered(order="fifo", backfill=backfill, fill="as_asked"), "greedy")
        result, events = simulate(jobs, tiny_cluster(1, 3, cpus=8), policy)
        assert seconds(result, "first_start_ns") == starts
        assert cpus(events, 0) == [(0, [6])]


def test_greedy_goes_where_its_cpus_are():
    """M0 has 1 GPU and 2 CPUs left, m1 2 GPUs and 8: b goes to m1, although m0 is tighter."""
    jobs = [hungry("a", 1), hungry("b", 1)]
    result, events = simulate(jobs, tiny_cluster(2, 2, cpus=8), fifo("greedy"))
    assert seconds(result, "first_start_ns") == [0, 0]
    assert [e.allocation.slices[0].machine for e in events if isinstance(e, Start)] == [0, 1]


def test_greedy_asks_a_machine_for_no_more_than_it_has():
    """5 hungry GPUs want 30 of 16 CPUs. On machines of 2 GPUs and 8 CPUs they ask for 20: 8, 8 and 4.

    A job of 2 GPUs asks for the 8 of one machine, and w of 1 GPU for 6.
    """
    for gpus, given in ((5, [8, 8, 4]), (2, [8]), (1, [6])):
        _, events = simulate([hungry("a", gpus)], tiny_cluster(3, 2, cpus=8), fifo("greedy"))
        assert cpus(events, 0) == [(0, given)]


def test_greedy_asks_a_machine_for_no_more_memory_than_it_has():
    """5 GPUs want 100 GiB each of machines with 2 GPUs and 125 GiB: they ask for 62.5 each, their share."""

    def forgetful(spec, allocation):
        return max(1.0, *(100 * GIB * s.gpus / max(s.memory_bytes, GIB) for s in allocation.slices))

    jobs, cluster = [replace(job("a", 5), model="new")], tiny_cluster(3, 2, cpus=8, memory_bytes=125 * GIB)
    _, events = run_checked(jobs, cluster, fifo("greedy"), PlainPerformance(forgetful))
    (start,) = (e for e in events if isinstance(e, Start))
    assert [s.memory_bytes / GIB for s in start.allocation.slices] == [125, 125, 62.5]


def test_greedy_leaves_elastic_jobs_their_shares():
    """An elastic job of 2 to 4 GPUs gets 4 CPUs with each of 2 GPUs, not 6: its GPUs may change."""
    elastic = hungry("e", 2, min_gpus=2, max_gpus=4)
    _, events = simulate([elastic], tiny_cluster(1, 4, cpus=16), fifo("greedy"))
    assert cpus(events, 0) == [(0, [8])]


def test_opt_gives_cpus_to_the_job_that_gains_most():
    """With tune 3 of 12 CPUs are left; but h gains 1/4 of its speed per CPU, e more: (5/4)^2, then (6/4)^2.

    6 and 5 are worth 1.5 + 1.5625, 5 and 6 1.25 + 2.25: so e has 6. When e ends, after 4 s, h has 6.
    """
    jobs = [hungry("h"), eager("e", 1, 4), frugal("f")]
    _, events = simulate(jobs, tiny_cluster(1, 3, cpus=12), fifo("opt"))
    assert [cpus(events, number) for number in range(3)] == [[(0, [5]), (4, [6])], [(0, [6])], [(0, [1])]]


@pytest.mark.parametrize("mechanism", ["tune", "opt"])
def test_shares_are_of_the_cpus_that_undivided_jobs_leave(mechanism):
    """Of 12 CPUs c has 9, e the other 3 as in proportion, g and h none. When c ends at 4, they have 4 each.

    D comes at 5 and asks for 9: to the policy e, g and h hold 3 CPUs as before, so d starts at once.
    """
    jobs = [job("c", 0, 4, cpus=9), *(hungry(name, 1, 20, 1) for name in "egh"), job("d", 0, 4, 5, cpus=9)]
    _, events = simulate(jobs, tiny_cluster(1, 3, cpus=12), fifo(mechanism))
    for number, first in ((1, 3), (2, 0), (3, 0)):
        assert cpus(events, number)[:3] == [(1, [first]), (4, [4]), (5, [first])]


@pytest.mark.parametrize("mechanism", ["tune", "opt"])
def test_cpus_left_beside_undivided_jobs_are_handed_out(mechanism):
    """Of 12 CPUs c has 6, f 4 of the 6 that are free, h the other 2. F needs 1 of them, so h has 5."""
    jobs = [job("c", 0, 50, cpus=6), frugal("f", 1, 9, 1), hungry("h", 1, 9, 1)]
    _, events = simulate(jobs, tiny_cluster(1, 3, cpus=12), fifo(mechanism))
    assert [cpus(events, number)[0] for number in (1, 2)] == [(1, [1]), (1, [5])]


def test_remaining_cpus_are_given_by_arrival_not_by_start():
    """A comes at 1 and waits for x, b overtakes it at 2. From 4 on 4 of 16 CPUs are left, all of them a's."""
    jobs = [frugal("x", 3, 4), hungry("a", 2, 9, 1), hungry("b", 1, 9, 2)]
    policy = CpuTuned(Ordered(order="fifo", backfill=True))
    _, events = simulate(jobs, tiny_cluster(1, 4, cpus=16), policy)
    assert cpus(events, 1)[0] == (4, [12])
    assert cpus(events, 2)[:2] == [(2, [6]), (4, [4])]


@pytest.mark.parametrize("mechanism", ["tune", "opt"])
def test_a_best_case_on_one_machine_does_not_hold_on_two(mechanism):
    """A job of 2 GPUs wants 1 CPU for each on one machine, 6 on two: there it keeps its shares of 4."""

    def torn(spec, allocation):
        wants = 6 if len(allocation.slices) > 1 else 1
        return max(1.0, *(wants * s.gpus / max(s.cpus, 0.1) for s in allocation.slices))

    jobs = [replace(job("w", 2), model="new")]
    _, events = run_checked(jobs, tiny_cluster(2, 2, cpus=8), spread(mechanism), PlainPerformance(torn))
    assert cpus(events, 0) == [(0, [4, 4])]


def test_a_best_case_that_does_not_hold_there_takes_nothing_away():
    """A job wants 1 CPU per GPU on m0, the cluster's own type, and 6 on m1: there it keeps its share of 4."""

    def by_machine(spec, allocation):
        return max(1.0, *((1 + 5 * s.machine) * s.gpus / max(s.cpus, 0.1) for s in allocation.slices))

    cluster = Cluster([Machine(f"m{i}", 0, "ab"[i], 2, cpus=8) for i in range(2)])
    for mechanism in ("tune", "opt"):
        jobs = [replace(job(f"j{i}", 2), model="new") for i in range(2)]
        _, events = run_checked(jobs, cluster, fifo(mechanism), PlainPerformance(by_machine))
        assert [cpus(events, number) for number in range(2)] == [[(0, [2])], [(0, [8])]]


def test_cpu_jobs_keep_their_cpus_and_take_from_handed_out_ones():
    """H has 6 of 8 CPUs. C comes at 3 and asks for 3: as in proportion 4 are free, h has 5 while it runs."""
    jobs = [hungry("h", 1, 12), job("c", 0, 3, 3, cpus=3)]
    result, events = simulate(jobs, tiny_cluster(1, 2, cpus=8), fifo("tune"))
    assert seconds(result, "first_start_ns") == [0, 3]
    assert cpus(events, 0) == [(0, [6]), (3, [5]), (6, [6])]
    assert cpus(events, 1) == [(3, [3])]


def test_an_elastic_job_has_cpus_for_the_gpus_that_it_holds():
    """E grows from 2 to 3 GPUs when it has been quiet for 2 s: 12 of 16 CPUs for 2 GPUs, then all 16."""
    elastic = hungry("e", 2, 40, min_gpus=2, max_gpus=3)
    policy = CpuTuned(Gandiva(grow_shrink=True, grow_after_s=2))
    _, events = simulate([elastic], tiny_cluster(1, 4, cpus=16), policy)
    assert cpus(events, 0) == [(0, [12]), (2, [16])]


def test_a_grown_job_shrinks_again_though_it_was_retuned():
    """The same, and d comes at 10 for 2 GPUs: e gives back what it had grown by, and each has 8 CPUs.

    What e grew to is 3 GPUs and their share of 12 CPUs, to the policy, although it has 16.
    """
    jobs = [hungry("e", 2, 60, min_gpus=2, max_gpus=3), hungry("d", 2, 6, 10)]
    policy = CpuTuned(Gandiva(grow_shrink=True, grow_after_s=2))
    result, events = simulate(jobs, tiny_cluster(1, 4, cpus=16), policy)
    assert cpus(events, 0)[1:4] == [(2, [16]), (10, [12]), (10, [8])]
    assert seconds(result, "first_start_ns")[1] == 10


def test_jobs_on_a_machine_that_leaves_are_not_retuned():
    """A and f have 6 and 1 of m0's CPUs. It leaves from 2 on; f ends at 4, and a cannot take more."""
    jobs = [hungry("a", 2, 20), frugal("f", 1, 4)]
    leave = [CapacityEvent(seconds_to_ns(2), "leave", 0, seconds_to_ns(100))]
    _, events = simulate(jobs, tiny_cluster(1, 3, cpus=12), fifo("tune"), capacity_events=leave)
    assert cpus(events, 0) == [(0, [11])]


def test_a_job_on_a_machine_that_leaves_and_another_has_the_least():
    """W has 15 CPUs of m0 and 10 of m1; m0 leaves at 2, so w keeps its shares, 12 and 8, and does not stop.

    When f1 ends at 3, h takes its GPU of m1 and the free one, and the 8 CPUs that go with them.
    """
    jobs = [frugal("f0", 1, 50), frugal("f1", 1, 3), hungry("w", 5, 20), hungry("h", 2, 4, 1)]
    leave = [CapacityEvent(seconds_to_ns(2), "leave", 0, seconds_to_ns(100))]
    _, events = simulate(jobs, tiny_cluster(2, 4, cpus=16), spread("tune"), capacity_events=leave)
    assert cpus(events, 2) == [(0, [15, 10]), (2, [12, 8])]
    assert cpus(events, 3) == [(3, [8])]
    assert not [e for e in events if isinstance(e, Stop)]


def test_a_job_takes_no_more_of_a_machine_that_leaves():
    """C has 13 of m0's 16 CPUs, so w has 3 for its 3 GPUs there, also when c ends: m0 is leaving then."""
    jobs = [job("c", 0, 3, cpus=13), hungry("w", 5, 20, 1)]
    leave = [CapacityEvent(seconds_to_ns(2), "leave", 0, seconds_to_ns(500))]
    _, events = simulate(jobs, tiny_cluster(2, 4, cpus=16), spread("tune"), capacity_events=leave)
    assert cpus(events, 1) == [(1, [3, 8])]


def test_a_failure_frees_what_evicted_jobs_held_on_other_machines():
    """W on both machines is evicted when m0 fails at 2: 16 CPUs of m1 for h0 and h1, which had 4 each."""
    jobs = [frugal("f", 1, 50), hungry("h0", 1, 20), hungry("w", 5, 20), hungry("h1", 1, 20)]
    fail = [CapacityEvent(seconds_to_ns(2), "fail", 0), CapacityEvent(seconds_to_ns(90), "join", 0)]
    _, events = simulate(jobs, tiny_cluster(2, 4, cpus=16), spread("tune"), capacity_events=fail)
    assert [cpus(events, number)[:2] for number in (1, 3)] == [[(0, [4]), (2, [6])]] * 2


def test_jobs_that_share_gpus_keep_their_shares():
    """Two jobs that use different resources share the one GPU and its 8 CPUs: 4 each, hungry or not."""
    stages = Stages(seconds_to_ns(1), 0, 0, 0), Stages(0, 0, seconds_to_ns(1), 0)
    jobs = [replace(hungry("a"), stages=stages[0]), replace(frugal("b"), stages=stages[1])]
    policy = CpuTuned(Muri(order="las2d", on_events=True, interval_s=None))
    _, events = simulate(jobs, tiny_cluster(1, 1, cpus=8), policy)
    assert [e.allocation.slices[0].cpus for e in events[2:4]] == [4, 4]
    assert all(e.allocation.group for e in events[2:4])


@pytest.mark.parametrize("name", POLICIES)
def test_a_victim_stays_where_it_is_though_it_was_tuned(name):
    """Policies compare shares, as with the proportional fill, whatever CPUs a job was given.

    Jobs that want no CPUs: all that a policy does is the same, at the same times.
    """
    jobs = [job(f"j{i}", (1, 2, 1, 3)[i % 4], 3 + i % 5, i * 0.7, cpus=4) for i in range(24)]
    jobs = [replace(spec, stages=Stages(0, 0, seconds_to_ns(1), 0)) for spec in jobs]
    runs = [
        simulate(jobs, tiny_cluster(2, 3, cpus=12), tuned(POLICIES[name], mechanism))
        for mechanism in ("proportional", "tune")
    ]
    where = [
        [(e.time_ns, e.job, e.allocation.gpu_map()) for e in events if isinstance(e, Start | Change)]
        for _, events in runs
    ]
    assert where[0] == where[1]
    assert runs[0][0].columns["finish_ns"].tolist() == runs[1][0].columns["finish_ns"].tolist()


def test_a_rule_of_ones_own_divides_what_is_left():
    """All that is left goes to the last job: f has 1 + 3 of 8 CPUs; h, once it is the last, all 8."""

    class Last(DivisionRule):
        def divide(self, tenants, left, view):
            given = {need.job: least for need, least in tenants}
            last = max(given)
            (s,) = given[last].slices
            given[last] = on((s.machine, s.gpus, s.cpus + left[s.machine].cpus))
            return given

    jobs = [hungry("h"), frugal("f")]
    _, events = simulate(jobs, tiny_cluster(1, 2, cpus=8), fifo(Last()))
    assert [cpus(events, number) for number in (0, 1)] == [[(0, [4]), (10, [8])], [(0, [4])]]


@pytest.mark.parametrize("less", ["machine", "gpus", "cpus", "memory_bytes"])
def test_a_division_that_gives_less_than_the_least_is_refused(less):
    """A job would be slower than with its share: 3 of its 4 CPUs, or 2 of its 3 GPUs, or elsewhere."""

    class Less(DivisionRule):
        def divide(self, tenants, left, view):
            return {
                need.job: Allocation(tuple(s._replace(**{less: getattr(s, less) - 1}) for s in least.slices))
                for need, least in tenants
            }

    with pytest.raises(
        PlanError, match=r"mechanism .*Less: divide returned .* for job number 0; allowed: at least"
    ):
        simulate(
            [hungry("h", 3, memory_bytes=GIB)], tiny_cluster(1, 4, cpus=16, memory_bytes=GIB), fifo(Less())
        )


def test_such_a_policy_knows_performance():
    """Best cases are believed iteration times: tune and greedy look at them, the plain fills do not."""
    for name, knows in (("proportional", False), ("tune", True), ("greedy", True)):
        assert getattr(fifo(name), "knows_performance", False) == knows


@pytest.mark.parametrize(
    ("inside", "mechanism", "advice"),
    [
        (lambda: Ordered(order="fifo", fill="proportional"), "greedy", "policy.of.fill=as_asked"),
        (lambda: Ordered(order="fifo", fill=AsAsked()), "tune", "policy.of.fill=proportional or as_asked"),
        (lambda: Synergy(), "tune", "policy@policy.of=another policy"),
        (lambda: Coda(), "tune", "policy@policy.of=another policy"),
        (lambda: fifo("tune"), "opt", "policy@policy.of=another policy"),
    ],
    ids=["greedy over shares", "tune over one of one's own", "synergy", "coda", "cpu_tuned"],
)
def test_a_policy_inside_whose_cpus_do_not_go_with_the_mechanism_is_refused(inside, mechanism, advice):
    """Greedy needs demands that are met, the others a shipped fill; some policies decide on CPUs."""
    with pytest.raises(ValidationError, match=advice):
        CpuTuned(inside(), mechanism)


def test_network_aware_does_not_move_jobs_of_cpu_tuned():
    """Their CPUs and memory are divided on the machines of the plan; `cpu_tuned` around it is the way."""
    with pytest.raises(ValidationError, match=r"policy\.placement=as_chosen"):
        NetworkAware(fifo("tune"))
    assert CpuTuned(NetworkAware(fifo("proportional"))).mechanism == "tune"
