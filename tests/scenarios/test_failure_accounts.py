"""GPU time by cause, worked by hand."""

import pytest

from artist.core.cluster import CapacityEvent
from artist.core.events import Change, Stop
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.policies.basic.ordered import Ordered
from artist.recording.failures import FailureAccounts
from artist.recording.names import FAILURES
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns


def event(at, kind, machine, **more):
    return CapacityEvent(seconds_to_ns(at), kind, machine, **more)


def causes(jobs, machines, events, policy=None, **overheads):
    """Return the summary of a run's failures, and its GPU-seconds by cause without zeros."""
    cluster = tiny_cluster(machines)
    accounts = FailureAccounts(jobs, cluster)
    policy = policy or Ordered(order="fifo")
    costs = Overheads(**overheads)
    options = {"overheads": costs, "failures": events, "observers": [accounts]}
    result = Engine(jobs, cluster, policy, PlainPerformance(), **options).run()
    accounts.close(result.end_ns)
    summary = accounts.summary_entries(result)[FAILURES]
    assert sum(summary["gpu_ns"].values()) == 2 * machines * result.end_ns
    columns = accounts.job_columns(result)
    held_s = [ns / NS_PER_S for ns in result.columns["gpu_held_alone_ns"].tolist()]
    by_job = sum(column for name, column in columns.items() if name.endswith("_gpu_s"))
    assert by_job.tolist() == pytest.approx(held_s, abs=1e-6)
    shrunk = summary["stops"] - sum(result.columns["evictions"].tolist())
    assert sum(columns["failures"].tolist()) == summary["stops"]
    assert 0 <= shrunk <= sum(result.columns["resizes"].tolist())
    return summary, {cause: ns / NS_PER_S for cause, ns in summary["gpu_ns"].items() if ns}


def test_a_failure_costs_lost_work_recovery_and_repair():
    """2 GPUs fail at 3.5 s for 2 s: 3 iterations kept, 0.5 lost; 1 s of recovery, 7 iterations: 11.5 s.

    Useful 2 x 10, lost 2 x 0.5, recovery 2 x 1, repair 2 x 2; idle the others: 46 - 20 - 1 - 2 - 4 = 19.
    """
    events = [event(3.5, "fail", 0, cause="gpu"), event(5.5, "join", 0)]
    summary, gpu_s = causes([job("a", 2, 10)], 2, events, recover_s=1)
    assert gpu_s == {"useful": 20, "lost_by_failure": 1, "recovery": 2, "repair": 4, "idle": 19}
    assert summary["availability"] == pytest.approx((46 - 4) / 46)
    assert summary["causes"] == {"gpu": {"failures": 1, "stops": 1}}
    assert summary["sizes"]["1-7"] == {
        "jobs": 1, "failures": 1, "mttf_h": pytest.approx(11.5 / 3600), "effective": pytest.approx(20 / 23)
    }  # fmt: skip


def test_gpus_beside_a_failed_machine_wait_for_its_replacement():
    """A job of both machines loses m0 from 3 s to 5 s: the 2 GPUs of m1 wait 2 s."""
    events = [event(3, "fail", 0), event(5, "join", 0)]
    summary, gpu_s = causes([job("a", 4, 10)], 2, events)
    assert gpu_s == {"useful": 40, "replacement": 4, "repair": 4}
    assert summary["causes"] == {"failure": {"failures": 1, "stops": 1}}


def test_a_slow_machine_and_checkpoints_take_their_parts():
    """Iterations of 1 + 0.5 + 0.25 s until 3.5 s, 2 of them, then 8 of 1 + 0.25 s: 13.5 s x 2 GPUs."""
    events = [event(0, "slow", 0, cause="link", factor=1.5, repair_ns=seconds_to_ns(3.5))]
    costs = {"on_stop": "lose_since_checkpoint", "checkpoint_every_s": 4.0, "checkpoint_write_s": 1.0}
    _, gpu_s = causes([job("a", 2, 10)], 1, events, **costs)
    assert gpu_s == {"useful": 20, "slowed": 2, "checkpoint": 5}


def test_preemption_loses_apart_from_failures():
    """SRTF: a short job preempts at 2.5 s (0.5 s lost), and both of its restarts are overhead of 1 s."""
    jobs = [job("a", 2, 10), job("b", 2, 1, at=2.5)]
    srtf = Ordered(order="srtf", preemptive=True)
    _, gpu_s = causes(jobs, 1, [], srtf, restart_s=1, resume_s=1)
    assert gpu_s == {"useful": 22, "lost_by_preemption": 1, "overhead": 2}


def test_spare_and_absent_machines_are_their_own_causes():
    """m1 is spare from 0 s, m2 leaves at 4 s: 2 x 10 and 2 x 6 GPU-s."""
    events = [event(0, "spare", 1), event(4, "leave", 2, deadline_ns=seconds_to_ns(4))]
    cluster_events = [event(0, "fail", 1), *events]
    _, gpu_s = causes([job("a", 2, 10)], 3, cluster_events)
    assert gpu_s == {"useful": 20, "spare": 20, "absent": 12, "idle": 8}


def test_idle_gpus_of_a_draining_machine_repairs_and_health_checks_are_apart():
    """The other GPU of a's machine drains from 3 to 10 s; then a repair of 5 s and a check of 1 s, of 2 GPUs.

    c runs from 16 to 18 s. Of 4 x 18 = 72 GPU-s 10 + 8 + 8 are useful, 7 draining, 10 repair, 2 check; idle
    are 3, and 2 x 12 of m1 from 4 to 16 s.
    """
    jobs = [job("a", 1, 10), job("b", 2, 4), job("c", 4, 2, at=5)]
    ns = {"repair_ns": seconds_to_ns(5), "check_ns": seconds_to_ns(1)}
    summary, gpu_s = causes(jobs, 2, [event(3, "leave", 0, cause="ecc", **ns)])
    assert gpu_s == {"useful": 26, "draining": 7, "repair": 10, "check": 2, "idle": 27}
    assert summary["causes"] == {"ecc": {"failures": 1, "stops": 0}}
    assert summary["availability"] == (72 - 12) / 72


class Shrinking(Scripted):
    """Places job 0 at first, lets it go on with at most so many GPUs, and looks for it in the news."""

    def __init__(self, *held, at_most=99):
        super().__init__({0: lambda view, plan: plan.place(0, on(*held))})
        self.at_most, self.news = at_most, []

    def shrunk(self, demand, gpus):
        return max((n for n in demand.targets() if n <= min(gpus, self.at_most)), default=0)

    def decide(self, view):
        self.news += [e for e in view.news if isinstance(e, Change | Stop)]
        return super().decide(view)


def test_an_elastic_job_goes_on_with_the_machines_left_after_a_recovery():
    """3 of 20 iterations on 6 GPUs and 0.5 s lost; 2 s of recovery, 17 x 1.5 s on 4 GPUs: 31 s.

    Of 6 x 31 = 186 GPU-s 3 x 6 + 25.5 x 4 = 120 are useful, 3 lost, 8 recovery, 2 x 20 repair, 15 idle.
    """
    policy = Shrinking((0, 2), (1, 2), (2, 2))
    job_a = job("a", 6, 20, min_gpus=2, max_gpus=6, step=2)
    fails = event(3.5, "fail", 0, cause="gpu", repair_ns=seconds_to_ns(20))
    summary, gpu_s = causes([job_a], 3, [fails], policy, recover_s=2, resize_s=9)
    assert gpu_s == {"useful": 120, "lost_by_failure": 3, "recovery": 8, "repair": 40, "idle": 15}
    assert summary["causes"] == {"gpu": {"failures": 1, "stops": 1}}
    (change,) = policy.news
    assert (change.type, change.allocation, change.cause) == ("resize", on((1, 2), (2, 2)), "gpu")


@pytest.mark.parametrize(
    ("unit", "at_most", "left"),
    [((0,), 2, {1: 2}), ((0, 1), 99, {2: 2}), ((0, 1, 2), 99, None), ((0,), 1, None)],
)
def test_the_policy_and_the_unit_that_fails_decide_on_the_size(unit, at_most, left):
    """Of 2 + 2 + 2 GPUs: at most 2, those of a rack less, and none where all fail or 2 are too many."""
    policy = Shrinking((0, 2), (1, 2), (2, 2), at_most=at_most)
    job_a = job("a", 6, 20, min_gpus=2, max_gpus=6, step=2)
    more = {"cause": "gpu", "repair_ns": seconds_to_ns(20), "unit": unit}
    policy._script |= {seconds_to_ns(40): lambda view, plan: view.allocation(0) or policy.place(plan)}
    policy.place = lambda plan: plan.place(0, on((0, 2), (1, 2), (2, 2)))
    causes([job_a], 3, [event(3.5, "fail", machine, **more) for machine in unit], policy)
    first = policy.news[0]
    assert (first.allocation.gpu_map() if isinstance(first, Change) else None) == left


def test_the_largest_parts_stay_with_their_cpus():
    """Of 2 + 2 + 1 GPUs the last fails: 3 of 1, 3 or 5 stay, two of m0 and one of m1 with half its CPUs."""
    policy = Shrinking((0, 2, 4), (1, 2, 4), (2, 1, 2))
    job_a = job("a", 5, 20, min_gpus=1, max_gpus=5, step=2)
    cluster = tiny_cluster(3, cpus=4)
    fails = [event(3, "fail", 2, cause="gpu", repair_ns=seconds_to_ns(20))]
    run_checked([job_a], cluster, policy, failures=fails)
    assert policy.news[0].allocation == on((0, 2, 4), (1, 1, 2))


def test_a_job_whose_rest_is_in_no_segments_waits():
    """Segments of 4 GPUs on racks of 2 x 2: without m0, 2 + 2 GPUs of the largest parts are in two racks."""
    policy = Shrinking(*((machine, 2) for machine in range(4)))
    job_a = job("a", 8, 20, min_gpus=4, max_gpus=8, step=4, segment=4)
    policy._script |= {seconds_to_ns(40): lambda view, plan: plan.place(0, on((0, 2), (1, 2)))}
    fails = [event(3, "fail", 0, cause="gpu", repair_ns=seconds_to_ns(20))]
    run_checked([job_a], tiny_cluster(4, per_rack=2), policy, failures=fails)
    assert isinstance(policy.news[0], Stop)


def test_failures_are_counted_by_the_machines_that_a_job_holds():
    """The job of 6 GPUs holds 3 machines for 3.5 s, then 2 for 27.5 s: 65.5 of 31; it fails with 3."""
    policy = Shrinking((0, 2), (1, 2), (2, 2))
    job_a = job("a", 6, 20, min_gpus=2, max_gpus=6, step=2)
    fails = event(3.5, "fail", 0, cause="gpu", repair_ns=seconds_to_ns(20))
    summary, _ = causes([job_a], 3, [fails], policy, recover_s=2)
    of_two = {"held_h": pytest.approx(31 / 3600), "machines": pytest.approx(65.5 / 31), "failures": 1}
    assert summary["machines"] == {"2-3": of_two}
    assert summary["per_machine_h"] is None


def test_a_job_that_is_cut_keeps_its_largest_part():
    """Of 1 + 2 + 2 GPUs m1 fails: of the 3 left it may hold 2, those of m2."""
    policy = Shrinking((0, 1), (1, 2), (2, 2))
    fails = [event(3, "fail", 1, cause="gpu", repair_ns=seconds_to_ns(20))]
    job_a = job("a", 5, 20, min_gpus=2, max_gpus=5, step=3)
    run_checked([job_a], tiny_cluster(3), policy, failures=fails)
    assert policy.news[0].allocation == on((2, 2))


def test_no_more_gpus_wait_for_a_replacement_than_the_job_asks_for():
    """A job of 2 GPUs waits from 3 to 5 s beside 4 idle ones: 4 GPU-s of replacement, and as many idle."""
    script = {
        0: lambda view, plan: plan.place(0, on((0, 2))),
        5: lambda view, plan: plan.place(0, on((1, 2))),
    }
    fails = event(3, "fail", 0, cause="gpu", repair_ns=seconds_to_ns(90))
    _, gpu_s = causes([job("a", 2, 10)], 3, [fails], Scripted(script))
    assert gpu_s == {"useful": 20, "replacement": 4, "repair": 2 * 9, "idle": 4 * 3 + 4 + 2 * 7}
