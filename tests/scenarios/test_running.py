"""Running jobs as passed to performance, and their bandwidth as passed to policies."""

from types import SimpleNamespace

import pytest

from artist.core.cluster import Cluster, Group, Machine
from artist.core.events import Reprice
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.errors import InputError, PlanError
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns


class Watching(PlainPerformance):
    """Writes down, at every question, who crosses which links and when delays end."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def reprice(self, changed, running):
        machines = [running.crossing_machine(m) for m in range(len(running.cluster.machines))]
        racks = [running.crossing_rack(rack) for rack in range(running.cluster.n_racks)]
        ready = {c.job: running.ready_ns(c.job) for c in changed if c.after is not None}
        self.seen.append((machines, racks, ready))
        return super().reprice(changed, running)


def test_links_are_crossed_from_the_start_to_the_end():
    """Job 0 on m0 only, 5 s; job 1 on m1 and m2, in two racks, from 0 to 10 s; start takes 2 s.

    While both run the links of m1, m2 and of both racks carry job 1; at 12 s nothing does.
    """
    watching = Watching()
    place = {0: lambda v, p: [p.place(0, on((0, 1))), p.place(1, on((1, 1), (2, 1)))]}
    jobs = [job("a", 1, 5), job("b", 2, 10)]
    cluster = tiny_cluster(4, 2, per_rack=2)
    run_checked(jobs, cluster, Scripted(place), watching, overheads=Overheads(start_s=2))
    first, *_, last = watching.seen
    assert first[:2] == ([(), (1,), (1,), ()], [(1,), (1,)])
    assert first[2] == {0: seconds_to_ns(2), 1: seconds_to_ns(2)}
    assert last[:2] == ([(), (), (), ()], [(), ()])


@pytest.mark.parametrize(("only", "asked"), [(False, 3), (True, 2)])
def test_a_finish_outside_groups_need_not_be_asked_about(only, asked):
    """Two members of a group run from 0 s, one more job on m1 to 1 s: its end changes no other's time.

    The end of the first member, at 4 s, does: alone, the other one is twice as fast. Its own end is the last.
    """
    watching = Watching()
    watching.only_groups = only
    pair = Group("g", ((0, 1),), 2)
    place = {0: lambda v, p: [p.place(j, on((0, 1), group=pair)) for j in (0, 1)] + [p.place(2, on((1, 1)))]}
    jobs = [job("a", 1, 2), job("b", 1, 3), job("c", 1, 1)]
    result, _ = run_checked(jobs, tiny_cluster(2, 1), Scripted(place), watching)
    assert seconds(result, "finish_ns") == [4, 5, 1]
    assert len(watching.seen) == 1 + asked


def test_bandwidth_is_seen_by_machine_and_by_job():
    """A draws 100 on two machines, half of it on each; b, capped at 0.4, draws 40 of 100 on m1.

    At 1 s: 50, 50 + 40. B ends at 2 s: 50, 50. A job that says nothing draws nothing.
    """
    seen = []

    def look(view, plan):
        of_m1 = view.observed_bandwidth_on(1)
        seen.append((view.observed_bandwidth_bytes_per_s.tolist(), dict(of_m1)))

    def place(view, plan):
        plan.place(0, on((0, 1), (1, 1)))
        plan.place(1, on((1, 0, 2), cap=0.4))
        plan.place(2, on((0, 1)))
        look(view, plan)

    drawing = {"memory_bandwidth_bytes_per_s": 100}
    cpu_job = JobSpec("b", 0, Demand(0, cpus=2, **drawing), 2, seconds_to_ns(1))
    jobs = [job("a", 2, 9, **drawing), cpu_job, job("c", 1, 9)]
    script = {0: place, 1: look, 3: look}
    run_checked(jobs, tiny_cluster(2, 2, cpus=4), Scripted(script))
    assert seen == [([0, 0], {}), ([50, 90], {0: 50, 1: 40}), ([50, 50], {0: 50})]


def test_a_price_lists_all_parts():
    """An observer that asks for rates gets where the time goes, not only how much: 1 s and half a second."""
    log = []

    class Rates:
        rates = True

        def observe(self, time_ns, events, gauges):
            log.extend(events)

    half = PlainPerformance(slow=lambda spec, allocation: 1.5)
    script = Scripted({0: lambda v, p: p.place(0, on((0, 1)))})
    Engine([job("a")], tiny_cluster(), script, half, observers=[Rates()]).run()
    (priced,) = [event for event in log if isinstance(event, Reprice)]
    assert priced.parts == IterationParts(seconds_to_ns(1), exposed_ns=seconds_to_ns(0.5))
    assert priced.iteration_ns == seconds_to_ns(1.5)


@pytest.mark.parametrize("how", [{"mode": "mixed"}, {"ordering": "random"}])
def test_a_group_of_no_known_mode_is_refused(how):
    """Nobody would know how its members share."""
    group = Group("g", ((0, 1),), **how)
    script = Scripted({0: lambda v, p: p.place(0, on((0, 1), group=group))})
    with pytest.raises(PlanError, match="packed or interleaved, best or worst"):
        run_checked([job("a")], tiny_cluster(), script)


@pytest.mark.parametrize("times", [1e12, 1e200])
def test_prices_that_never_end_are_bad_input(times):
    """Ten iterations of 10^12 s would leave the 64 bits of nanoseconds: the job and the part are named."""
    endless = PlainPerformance(slow=lambda spec, allocation: times)
    script = Scripted({0: lambda v, p: p.place(0, on((0, 1)))})
    with pytest.raises(InputError) as error:
        run_checked([job("a")], tiny_cluster(), script, endless)
    assert error.value.where == "job 'a'"
    assert error.value.found.startswith("exposed_ns of 1e")


@pytest.mark.parametrize("times", [1e9, 1e8])
def test_a_rate_that_does_not_last_is_no_end(times):
    """10 iterations of 10^9 s are 317 years, but for 5 s only: moved to m1 it takes 10 s from there.

    10^8 s are 32 years on one GPU: that fits the accounts.
    """
    slow = PlainPerformance(slow=lambda spec, allocation: 1 if allocation.machines == [1] else times)
    moves = {0: lambda v, p: p.place(0, on((0, 1))), 5: lambda v, p: p.place(0, on((1, 1)))}
    assert seconds(run_checked([job("a")], tiny_cluster(), Scripted(moves), slow)[0], "finish_ns") == [15]


def test_a_job_too_slow_for_the_accounts_ends_the_run_after_a_year():
    """A policy that is called once a week would be called 7,600 times in the 146 years of the accounts."""
    slow, calls = PlainPerformance(slow=lambda spec, allocation: 1e9), []
    weekly = SimpleNamespace(on_events=True, interval_s=604_800.0)

    def decide(view):
        calls.append(view.now_ns)
        plan = view.plan()
        if len(calls) == 1:
            plan.place(0, on((0, 1)))
        return plan.done()

    weekly.decide = decide
    with pytest.raises(InputError, match="would never end"):
        run_checked([job("a")], tiny_cluster(), weekly, slow)
    assert len(calls) == 53  # 365.25 days are 52.2 weeks, and 0


@pytest.mark.parametrize("gpus", [1, 4])
def test_gpu_times_beyond_64_bits_are_exact(gpus):
    """10 iterations of 2^62 / 20 ns are 2^61 ns, 73 years: on four GPUs 2^63, which 64 bits do not hold."""
    long = PlainPerformance(slow=lambda spec, allocation: 2**62 / 20 / 1e9)
    script = Scripted({0: lambda v, p: p.place(0, on((0, gpus)))})
    columns = run_checked([job("a", gpus)], tiny_cluster(1, 4), script, long)[0].columns
    assert columns["finish_ns"][0] == pytest.approx(2**61)
    assert int(columns["gpu_held_ns"][0]) == gpus * int(columns["finish_ns"][0])


@pytest.mark.parametrize("wrong", [{"group": "g"}, {"cap": "x"}])
def test_an_allocation_of_wrong_types_is_refused(wrong):
    """A group by name, or a cap in words: the job and what is allowed are told."""
    script = Scripted({0: lambda v, p: p.place(0, on((0, 1), **wrong))})
    with pytest.raises(PlanError, match="job 'a': gets"):
        run_checked([job("a")], tiny_cluster(), script)


def test_cluster_without_racks_beyond_the_first():
    """One machine crosses nothing: the index has an entry a rack, and stays empty."""
    watching = Watching()
    script = Scripted({0: lambda v, p: p.place(0, on((0, 2)))})
    run_checked([job("a", 2)], Cluster([Machine("m0", 0, "box", 2)]), script, watching)
    assert {(tuple(machines), tuple(racks)) for machines, racks, _ in watching.seen} == {(((),), ((),))}
