"""Orders that look at fairness or at best-case demands: FTF, DRF, Tetris; and the columns that they need."""

from dataclasses import replace

import pytest

from artist.core.cluster import CapacityEvent
from artist.errors import PlanError
from artist.policies.basic.ordered import Ordered
from artist.policies.dally.policy import Dally
from artist.policies.muri.policy import Muri
from artist.policies.parts.orders import ORDERS
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns

GIB = 1 << 30
NEEDS = {"frugal": (1, 20), "hungry": (8, 20), "large": (4, 187.5)}  # CPUs, GiB


def slow(spec, allocation):
    """Take longer in proportion to the CPUs that lack, and twice as long with too little memory."""
    needs_cpus, needs_gib = NEEDS.get(spec.model, (0, 0))
    cpus, memory = (sum(s[column] for s in allocation.slices) for column in (2, 3))
    return max(1, needs_cpus / max(cpus, 1)) * (1 if memory >= needs_gib * GIB else 2)


def like(model, seconds=10, at=0, gpus=1):
    """Return a job that needs what `NEEDS` says."""
    return replace(job(f"{model} {gpus}", gpus, seconds, at), model=model)


def starts(jobs, policy):
    """Return first starts in s on two machines of 2 GPUs, 8 CPUs and 250 GiB each."""
    cluster = tiny_cluster(2, 2, cpus=8, memory_bytes=250 * GIB)
    return seconds(run_checked(jobs, cluster, policy, PlainPerformance(slow))[0], "first_start_ns")


# --- the columns


def test_best_cases_are_columns():
    """16 CPUs and 500 GiB for the 4 GPUs of a job on two machines, 8 and 250 for one.

    Of one GPU's points 20, 62.5, 125, 187.5 and 250 GiB, the least that do; 4 GPUs: 80, 250, 500. A CPU-only
    job has what it asks for; jobs without needs get the least that there is, 1 CPU.
    """
    seen = {}

    def act(v, p):
        seen["cpus"], seen["gib"] = v.jobs.best_cpus.tolist(), (v.jobs.best_memory_bytes / GIB).tolist()
        seen["one"] = v.columns([1]).best_cpus.tolist()
        for j, held in enumerate((on((0, 1)), on((0, 1)), on((1, 1)))):
            p.place(j, held)
        p.place(4, on((0, 0, 3, 5 * GIB)))

    policy = Scripted({0: act, 1000: lambda v, p: p.place(3, on((0, 2), (1, 2)))})
    policy.knows_performance = True
    jobs = [like("frugal"), like("hungry"), like("large"), like("large", gpus=4)]
    jobs.append(job("cpu", 0, 10, cpus=3, memory_bytes=5 * GIB))
    cluster = tiny_cluster(2, 2, cpus=8, memory_bytes=250 * GIB)
    run_checked(jobs, cluster, policy, PlainPerformance(slow))
    assert seen["cpus"] == [1, 8, 4, 4, 3]
    assert seen["gib"] == [20, 20, 187.5, 250, 5]
    assert seen["one"] == [8]


def test_jobs_alike_are_searched_once():
    """Two jobs of a kind cost two questions, one along CPUs and one along memory; another kind two more."""
    asked = []

    class Grid(PlainPerformance):
        def at_resources(self, spec, allocation, cluster, cpus, memory_bytes):
            asked.append((spec.job_id, cpus.size, memory_bytes.size))
            return (cpus + memory_bytes) * 0 + 1

    def act(v, p):
        assert v.jobs.best_cpus.tolist() == v.waiting.best_cpus.tolist() == [1, 1, 1]
        for j in range(3):
            p.place(j, on((0, 1)))

    policy = Scripted({0: act})
    policy.knows_performance = True
    jobs = [job("a"), job("b"), replace(job("c"), model="other")]
    run_checked(jobs, tiny_cluster(1, 4, cpus=8, memory_bytes=80 * GIB), policy, Grid())
    assert asked == [("a", 8, 1), ("a", 2, 3), ("c", 8, 1), ("c", 2, 3)]  # of 20 to 80 GiB; the share, too


@pytest.mark.parametrize("column", ["best_cpus", "best_memory_bytes"])
def test_best_cases_must_be_declared(column):
    """They are made of believed performance, so a policy that does not know it does not see them."""
    policy = Scripted({0: lambda v, p: getattr(v.jobs, column)})
    with pytest.raises(PlanError, match="knows_performance"):
        run_checked([job("a")], tiny_cluster(), policy)


def test_totals_follow_machines_that_join_and_leave():
    """Two machines of 2 GPUs, 8 CPUs and 5 bytes, one from 5 on, none from 7 on: at least 1 to divide by."""
    seen = []
    events = [CapacityEvent(seconds_to_ns(t), "fail", m) for t, m in ((5, 0), (7, 1))]
    events.append(CapacityEvent(seconds_to_ns(9), "join", 1))
    script = {at: lambda v, p: seen.append(tuple(v.jobs.capacity)) for at in (0, 5, 7)}
    script[9] = lambda v, p: p.place(0, on((1, 1)))
    cluster = tiny_cluster(cpus=8, memory_bytes=5)
    run_checked([job("a")], cluster, Scripted(script), capacity_events=events)
    assert seen == [(4, 16, 10), (2, 8, 5), (1, 1, 1)]


def test_colocated_jobs_are_averaged_over_the_jobs_stay():
    """A comes at 0, b and c at 10; c ends at 20, when d comes; at 30 a has met (10 + 30 + 30) / 30 jobs.

    B (30 + 30) / 20 = 3, d 3. At 20 a has met (10 + 30) / 20 = 2 and d, which has just come, 3.
    """
    seen = {}

    def place(j):
        return lambda v, p: p.place(j, on((0, 1)))

    def act(v, p):
        seen[v.now_ns // seconds_to_ns(1)] = v.jobs.mean_unfinished.tolist()
        if v.n_waiting == 3:
            p.place(0, on((0, 1)))
            p.place(1, on((0, 1)))
            p.place(3, on((1, 1)))

    jobs = [job("a", 1, 20), job("b", 1, 20, at=10), job("c", 1, 10, at=10), job("d", 1, 20, at=20)]
    run_checked(jobs, tiny_cluster(), Scripted({10: place(2), 20: act, 30: act}))
    assert seen == {20: [2, 3, 3], 30: [70 / 30, 3, 3]}


# --- finish-time fairness


def fair(**parameters):
    """Return FTF that decides every 10 s."""
    return Ordered(order="ftf", preemptive=True, on_events=False, interval_s=10, **parameters)


def test_ftf_runs_the_most_unfairly_treated_first():
    """One GPU; a (100 s) from 0, b (20 s) from 5: as Themis by `test_themis`, whose share goes by the mean.

    At 10: a 100 / (100 x 1.5 jobs) = 0.67, b 25 / (20 x 2) = 0.63: a goes on; with the 2 jobs of now it would
    be 0.5. At 20 a has 100 / 175, b 35 / 40: b runs 20-40 (at 30 it has 35 / 40, a 110 / 183), then a.
    """
    jobs = [job("a", 1, 100), job("b", 1, 20, at=5)]
    result, _ = run_checked(jobs, tiny_cluster(1, 1), fair())
    assert seconds(result, "first_start_ns") == [0, 20]
    assert seconds(result, "finish_ns") == [120, 40]


def test_ftf_counts_the_share_of_the_gpus():
    """Two GPUs, b asks for both, a for one, 10 s each: b has 10 / (10 x 2 x 2 / 2) = 0.5, a 10 / 10 = 1."""
    result, _ = run_checked([job("b", 2), job("a", 1)], tiny_cluster(1, 2), fair())
    assert seconds(result, "first_start_ns") == [10, 0]


@pytest.mark.parametrize("backfill", [False, True])
def test_ftf_ranks_waiting_jobs_again(backfill):
    """One GPU; x runs 0-10, a (100 s) comes at 1, b (10 s) at 5; nothing is preempted.

    On arrival a has 100 / (100 x 2) = 0.5, b 10 / (10 x 3) = 0.33. At 10 a has 109 s / (100 s x 23 / 9 jobs)
    = 0.43, b 15 / (10 x 3) = 0.5: b goes first.
    """
    jobs = [job("x"), job("a", 1, 100, at=1), job("b", 1, 10, at=5)]
    result, _ = run_checked(jobs, tiny_cluster(1, 1), Ordered(order="ftf", backfill=backfill))
    assert seconds(result, "first_start_ns") == [0, 20, 10]


def test_an_order_of_the_users_own_may_age():
    """One GPU; x runs 0-10. The key is the wait's remainder by 4 s: on arrival 0 for both, so a first.

    At 10 a has waited for 7 s, 3, and b for 5 s, 1: b goes first if the order says that its keys change.
    """

    class Own:
        ages = True

        def key(self, jobs):
            return (jobs.now_ns - jobs.submit_ns) % seconds_to_ns(4)

    jobs = [job("x"), job("a", at=3), job("b", at=5)]
    result, _ = run_checked(jobs, tiny_cluster(1, 1), Ordered(order=Own()))
    assert seconds(result, "first_start_ns") == [0, 20, 10]


# --- best-case demands

BLOCKED = [job("x", 3, 1000), job("w", 1, 10)]  # one of four GPUs is free, from 10 on


def test_drf_runs_the_smallest_dominant_share_first():
    """Of 4 GPUs, 16 CPUs, 500 GiB: hungry has 8 / 16, large 187.5 / 500 = 0.375, frugal its GPU, 1 / 4.

    By the sum of shares hungry (1/4 + 1/2 + 0.04 = 0.79) would precede large (1/4 + 1/4 + 0.375 = 0.875).
    """
    jobs = [*BLOCKED, like("hungry", 10, 1), like("large", 10, 2), like("frugal", 10, 3)]
    hungry, large, frugal = starts(jobs, Ordered(order="drf"))[2:]
    assert (frugal, large) == (10, 20)
    assert hungry > large + 10  # large has 125 GiB there and takes 20 s


def test_tetris_runs_the_least_volume_of_work_first():
    """Shares of GPUs, CPUs and memory x time: frugal (1/4 + 1/16 + 0.04) x 21 s = 7.4; hungry 0.79 x 10.

    Large 0.875 x 8 s = 7. By time alone hungry would precede frugal, and by the largest
    share x time too (5.25 against 5); by shares alone frugal would be first.
    """
    jobs = [*BLOCKED, like("frugal", 21, 1), like("hungry", 10, 2), like("large", 8, 3)]
    frugal, hungry, large = starts(jobs, Ordered(order="tetris"))[2:]
    assert large < frugal < hungry


def test_tetris_counts_the_remaining_work():
    """One GPU, every 10 s: a of 40 s is ahead of b of 25 s once it has run for 20, not at the start."""
    policy = Ordered(order="tetris", preemptive=True)
    jobs = [job("a", 1, 40), job("b", 1, 25, at=20), job("c", 1, 15, at=21)]
    result, _ = run_checked(jobs, tiny_cluster(1, 1, cpus=1), policy)
    assert seconds(result, "finish_ns") == [55, 80, 36]


@pytest.mark.parametrize("order", ["ftf", "drf", "tetris"])
@pytest.mark.parametrize("policy", [Dally, Ordered, Muri])
def test_every_policy_with_an_order_takes_them(policy, order):
    """All jobs finish, and what the order looks at is declared by the policy."""
    mixed = policy(order=order)
    for name in ("knows_durations", "knows_performance"):
        assert getattr(mixed, name, False) >= getattr(ORDERS[order], name)
    jobs = [like("hungry", 10), like("large", 10, 2), like("frugal", 10, 3)]
    assert min(starts(jobs, mixed)) == 0
