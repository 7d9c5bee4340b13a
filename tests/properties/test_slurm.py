"""Slurm on random traces: limits are never exceeded, and fair share gives accounts their shares."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from artist.core.events import Finish, Start, Stop
from artist.engine.engine import StopRule
from artist.errors import InputError
from artist.policies.parts.limits import Association, Qos
from artist.policies.slurm.configuration import Partition
from artist.policies.slurm.policy import Slurm
from artist.testing.tiny import job, run_checked, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns

ACCOUNTS, USERS, QOS = ("red", "blue", "green"), ("u", "v", "w"), ("normal", "high")
PARENT = {"green": "blue"}


def trace(rng, n_jobs):
    """Return jobs of random accounts, users, QOS and partitions; a third run beyond their limits."""
    at, jobs = 0, []
    for number in range(n_jobs):
        at += rng.choice((0, 0, 1, 3, 10))
        runs_s = rng.randint(1, 40)
        names = {"account": rng.choice(ACCOUNTS), "user": rng.choice(USERS), "qos": rng.choice(QOS)}
        limit_ns = seconds_to_ns(runs_s * rng.choice((1, 2, 0.5)))
        spec = job(str(number), rng.choice((1, 1, 2, 3, 4)), runs_s, at)
        names |= {"partition": rng.choice(("p", "q")), "exclusive": rng.random() < 0.2}
        jobs.append(replace(spec, limit_ns=limit_ns, **names))
    return jobs


def limit(rng, low, high):
    """Return a limit in half of the cases."""
    return rng.randint(low, high) if rng.random() < 0.5 else None


def tres(rng):
    """Return GPUs and nodes at most, each in half of the cases."""
    most = {"gres/gpu": limit(rng, 4, 9), "node": limit(rng, 1, 3)}
    return {name: value for name, value in most.items() if value is not None}


def limited(rng):
    """Return the policy with random limits, partitions that overlap, and preemption."""
    qos = tuple(
        Qos(
            name,
            Priority=rng.randint(0, 9),
            Preempt=("normal",) if name == "high" else (),
            GrpTRES=tres(rng),
            GrpJobs=limit(rng, 1, 4),
            MaxTRESPerUser=tres(rng),
            MaxJobsPerUser=limit(rng, 1, 3),
        )
        for name in QOS
    )
    accounts = [(name, "") for name in ACCOUNTS] + [(name, user) for name in ACCOUNTS for user in USERS]
    associations = tuple(
        Association(
            name,
            User=user,
            Parent="" if user else PARENT.get(name, ""),
            GrpTRES=tres(rng),
            GrpJobs=limit(rng, 1, 5),
            MaxJobs=limit(rng, 1, 3),
        )
        for name, user in accounts
    )
    return Slurm(
        bf_interval=rng.choice((1, 5)),
        bf_resolution=rng.choice((1, 10)),
        PriorityType=rng.choice(("priority/basic", "priority/multifactor")),
        PriorityWeightFairshare=100,
        PreemptType=rng.choice(("preempt/none", "preempt/qos", "preempt/partition_prio")),
        PreemptMode="REQUEUE",
        partitions=(
            Partition("p", Default=True),
            Partition(
                *("q", ("m1", "m2")), PriorityTier=2, OverSubscribe=rng.choice(("NO", "NO", "EXCLUSIVE"))
            ),
        ),
        qos=qos,
        associations=associations,
    )


def check_limits(running, policy):
    """Recount what runs, a mapping of jobs to GPUs by node, and hold it against every limit.

    An exclusive job counts for the 4 GPUs of each of its nodes, and has them alone.
    """
    (_, q) = policy.partitions
    exclusive = [
        spec for spec in running if spec.exclusive or (spec.partition, q.OverSubscribe) == ("q", "EXCLUSIVE")
    ]
    running = {spec: dict.fromkeys(held, 4) if spec in exclusive else held for spec, held in running.items()}
    for spec in exclusive:
        assert all(running[spec].keys().isdisjoint(held) for other, held in running.items() if other != spec)

    def check(of, most, jobs):
        held = {
            "gres/gpu": sum(sum(gpus.values()) for gpus in of.values()),
            "node": sum(map(len, of.values())),
        }
        assert all(held[name] <= value for name, value in most.items()), (of, most)
        assert jobs is None or len(of) <= jobs, (of, jobs)

    for one in policy.qos:
        members = {spec: held for spec, held in running.items() if spec.qos == one.Name}
        check(members, one.GrpTRES, one.GrpJobs)
        for user in USERS:
            mine = {spec: held for spec, held in members.items() if spec.user == user}
            check(mine, one.MaxTRESPerUser, one.MaxJobsPerUser)
    for one in policy.associations:
        below = {one.Account, *(name for name, parent in PARENT.items() if parent == one.Account)}
        members = {
            spec: held
            for spec, held in running.items()
            if (spec.account, spec.user) == (one.Account, one.User)
            or (not one.User and spec.account in below)
        }
        check(members, one.GrpTRES, one.GrpJobs)
        pairs = Counter((spec.account, spec.user) for spec in members)
        assert one.MaxJobs is None or max(pairs.values(), default=0) <= one.MaxJobs


def test_no_limit_is_ever_exceeded():
    """120 traces of 30 jobs on three nodes of 4 GPUs, held against each limit after every instant.

    Jobs that are above a limit by themselves are left out, since such a trace is refused.
    """
    reached = 0
    for seed in range(120):
        rng = random.Random(seed)
        policy, jobs = limited(rng), []
        for spec in trace(rng, 30):
            try:
                policy.notes(CLUSTER, [spec])
            except InputError:
                continue
            jobs.append(spec)
        running, at_ns = {}, -1
        _, events = run_checked(jobs, CLUSTER, policy)
        for event in events:
            if event.time_ns > at_ns:
                check_limits(running, policy)
            at_ns = event.time_ns
            if isinstance(event, Start):
                running[jobs[event.job]] = {part.machine: part.gpus for part in event.allocation.slices}
            elif isinstance(event, Stop | Finish):
                running.pop(jobs[event.job])
        reached += bool(policy.series)
    assert reached > 90  # jobs that waited for a limit


CLUSTER = tiny_cluster(3, 4, cpus=64)


@pytest.mark.parametrize("flags", [(), ("NO_FAIR_TREE",)])
def test_an_overloaded_cluster_is_shared_as_the_shares_say(flags):
    """Accounts with 1, 2 and 5 shares, each always with jobs of 50 to 150 s waiting, on 8 GPUs for 5,000 s.

    Per 10 s they submit 0.2, 0.4 and 0.8 jobs, 1.7 times the 0.8 that run. Of 40,000 GPU-seconds, 1/8 are
    red's, 2/8 blue's and 5/8 green's: 5,000, 10,000 and 25,000, within 5 % of each. Fair tree: the account
    of the most shares / usage is first, so these ratios become equal. Classic: 2^-(usage / shares), the same
    order.
    """
    rng = random.Random(1)
    shares, gpu_seconds = {"red": 1, "blue": 2, "green": 5}, Counter()
    jobs = []
    for account, every_s in (("red", 50), ("blue", 25), ("green", 12.5)):
        for number in range(int(5_000 / every_s)):
            spec = job(f"{account}{number}", 1, rng.randint(50, 150), number * every_s)
            jobs.append(replace(spec, account=account, user=f"of {account}"))
    jobs.sort(key=lambda spec: spec.submit_ns)
    policy = Slurm(
        PriorityType="priority/multifactor",
        SchedulerType="sched/builtin",
        PriorityWeightFairshare=1_000_000,
        PriorityCalcPeriod="0:30",
        PriorityDecayHalfLife="0:0",
        PriorityFlags=flags,
        associations=tuple(
            association
            for account, part in shares.items()
            for association in (Association(account, Fairshare=part), Association(account, f"of {account}"))
        ),
    )
    end_ns = 5_000 * NS_PER_S
    _, events = run_checked(jobs, tiny_cluster(1, 8), policy, stop=StopRule(time_ns=end_ns))
    for event in events:
        if isinstance(event, Start | Finish):
            sign = 1 if isinstance(event, Start) else -1
            gpu_seconds[jobs[event.job].account] += sign * (end_ns - event.time_ns) / NS_PER_S
    assert sum(gpu_seconds.values()) == pytest.approx(40_000, rel=0.01)
    for account, part in shares.items():
        assert gpu_seconds[account] == pytest.approx(5_000 * part, rel=0.05), account
