"""Hand-worked schedules that fail without a rule of DRF: who is next, ties, and who is passed over."""

from dataclasses import replace

import pytest

from artist.core.cluster import CapacityEvent
from artist.policies.basic.drf import Drf
from artist.policies.basic.ordered import Ordered
from artist.testing.conformance import generated_jobs
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns


def of(user, *args, **options):
    """Return a job of a user."""
    return replace(job(*args, **options), user=user)


def finishes(jobs, cluster, **options):
    result, _ = run_checked(jobs, cluster, Drf(**options))
    return seconds(result, "finish_ns")


def test_the_user_with_the_smallest_share_is_next():
    """Of 2 GPUs u takes one (a, the first), v the other (d: v holds 0, u 1). At 10 u's b and c have both."""
    jobs = [of("u", "a"), of("u", "b"), of("u", "c"), of("v", "d")]
    assert finishes(jobs, tiny_cluster(1, 2)) == [10, 20, 20, 10]


def test_holdings_of_users_end_with_their_jobs():
    """On 1 GPU: when u's a ends at 10, u holds no more than v, and u's b is older than v's c."""
    jobs = [of("u", "a"), of("u", "b", at=1), of("v", "c", at=2)]
    assert finishes(jobs, tiny_cluster(1, 1)) == [10, 20, 30]


def test_ties_in_gpus_go_to_the_user_with_fewer_cpus():
    """At 5 w's GPU is free; u and v hold one each, with 3 and 1 CPUs: v's d goes before u's older c."""
    held = [of("u", "a", 1, 20, cpus=3), of("v", "b", 1, 20, cpus=1), of("w", "x", 1, 5, cpus=1)]
    jobs = [*held, of("u", "c", at=1, cpus=1), of("v", "d", at=2, cpus=1)]
    assert finishes(jobs, tiny_cluster(1, 3, cpus=8)) == [20, 20, 5, 25, 15]


@pytest.mark.parametrize("older", ["u", "v"])
@pytest.mark.parametrize(("resource", "first"), [("gpu", "v"), ("dominant", "u")])
def test_cpus_count_as_a_share_only_if_asked_for(resource, first, older):
    """U holds 1 of 4 GPUs and 1 of 8 CPUs, v 5 CPUs; at 4 there are 2 CPUs for one of two jobs of 6 s.

    By GPUs v (0 < 1) is next, by dominant shares u (1/4 < 5/8), whichever job is older: 4-10, then 10-16.
    """
    held = [of("u", "a", 1, 20, cpus=1), of("v", "b", 0, 20, cpus=5), of("w", "x", 0, 4, cpus=2)]
    wait = [of(user, user, 0, 6, at=1, cpus=2) for user in ("u", "v")]
    jobs = held + (wait if older == "u" else wait[::-1])
    done = finishes(jobs, tiny_cluster(1, 4, cpus=8), resource=resource)[3:]
    assert done == ([10, 16] if older == first else [16, 10])


@pytest.mark.parametrize(("gpus", "cpus", "first"), [(2, 6, "u"), (3, 3, "v")])
def test_the_dominant_share_is_the_larger_one(gpus, cpus, first):
    """V holds 9 of 16 CPUs (0.56). U: 2 of 4 GPUs and 6 CPUs are 0.5, not their sum 0.88; 3 GPUs are 0.75.

    In numbers, not shares, u would always hold less than 9. At 4 the CPUs that x held go to the first: 4-10.
    """
    rest = 16 - 9 - cpus
    held = [of("u", "a", gpus, 20, cpus=cpus), of("v", "b", 0, 20, cpus=9), of("w", "x", 0, 4, cpus=rest)]
    wait = [of(user, user, 0, 6, at=1, cpus=rest) for user in ("uv" if first == "v" else "vu")]
    done = finishes([*held, *wait], tiny_cluster(1, 4, cpus=16), resource="dominant")[3:]
    assert done == [16, 10]


def test_a_user_whose_first_job_does_not_fit_is_passed_over():
    """U's b wants 4 GPUs, of which a holds one: v's d runs beside a; u's c would fit, and waits for b."""
    jobs = [
        of("u", "a", 1, 10),
        of("u", "b", 4, 10, at=1),
        of("u", "c", 1, 5, at=1),
        of("v", "d", 1, 5, at=2),
    ]
    assert finishes(jobs, tiny_cluster(1, 4)) == [10, 20, 25, 7]


def test_a_user_is_passed_over_for_one_kind_only():
    """U's GPU job b waits for a's GPU; u's CPU-only job c starts beside, behind no job of its kind."""
    jobs = [of("u", "a", cpus=1), of("u", "b", at=1, cpus=1), of("u", "c", 0, 5, at=2, cpus=1)]
    assert finishes(jobs, tiny_cluster(1, 1, cpus=4)) == [10, 20, 7]


def test_jobs_get_the_cpus_that_they_ask_for():
    """Of 4 CPUs a holds 3, so b, which asks for 2, waits although a GPU is free."""
    jobs = [of("u", "a", cpus=3), of("v", "b", cpus=2)]
    assert finishes(jobs, tiny_cluster(1, 2, cpus=4)) == [10, 20]


def test_an_evicted_job_goes_behind_the_earlier_ones_only():
    """Machine 0 fails at 4 and is back at 6: a (10 s) starts over before b, which waits. 6-16, 16-26."""
    events = [CapacityEvent(seconds_to_ns(at), kind, 0) for at, kind in ((4, "fail"), (6, "join"))]
    result, _ = run_checked(
        [of("u", "a", iteration_s=10), of("u", "b", at=1)], tiny_cluster(1, 1), Drf(), capacity_events=events
    )
    assert seconds(result, "finish_ns") == [16, 26]


@pytest.mark.parametrize("seed", range(4))
def test_with_one_user_it_is_fifo_by_kind(seed):
    """Nothing to rank by: each job starts and ends as in a queue for each kind, machines failing or not."""
    cluster = tiny_cluster(3, 4, per_rack=2, cpus=8, memory_bytes=1 << 30)
    jobs = [replace(spec, user="u") for spec in generated_jobs(seed, cpu_jobs=True)]
    events = [
        CapacityEvent(seconds_to_ns(at), kind, m) for at, kind, m in ((9.5, "fail", 0), (40, "join", 0))
    ]
    drf, fifo = (
        run_checked(jobs, cluster, policy, capacity_events=events)[0].columns
        for policy in (Drf(), Ordered(order="fifo", queues="kinds", fill="as_asked"))
    )
    assert drf["finish_ns"].tolist() == fifo["finish_ns"].tolist()
    assert drf["queueing_ns"].sum() > 0
