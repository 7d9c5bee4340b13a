"""Limits around any policy, each rule in a schedule worked out by hand that fails without it."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from artist.core.cluster import Cluster, Machine
from artist.core.events import Pending, Stop
from artist.core.job import Demand
from artist.errors import InputError
from artist.policies.basic.ordered import Ordered
from artist.policies.partitions.policy import Partitions
from artist.policies.partitions.quotas import Gate, Quotas
from artist.policies.parts.limits import Association, Qos
from artist.run.pools import checked_quotas
from artist.testing.tiny import job as plain
from artist.testing.tiny import run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S

RED = {"account": "red", "user": "u"}


def job(name, gpus, runs_s, at=0, **texts):
    """Return a job of account red and user u, unless others are given."""
    return replace(plain(name, gpus, runs_s, at), **{**RED, **texts})


def run(jobs, quotas, *, order="fifo", cluster=None, by=None, **settings):
    """Return first starts in s, the reasons by time and job, and the events."""
    policy = Partitions(lambda: Ordered(order=order, **settings), by, quotas)
    policy.notes(cluster or tiny_cluster(1, 4), jobs)
    result, events = run_checked(jobs, cluster or tiny_cluster(1, 4), policy)
    noted = [(e.time_ns // NS_PER_S, e.job, e.reason) for e in events if isinstance(e, Pending)]
    return seconds(result, "first_start_ns"), noted, events


def red(gpus, **more):
    """Return limits with which account red may hold some GPUs."""
    return Quotas(associations=(Association("red", GrpTRES={"gres/gpu": gpus}, **more),))


def test_a_held_job_is_unseen_until_it_fits():
    """Strict FIFO on 4 GPUs; red may hold 2. R2 waits for r1 (to 10); b of blue, behind it, starts at 2.

    If the policy saw r2, it would hold up b. R3 (1 GPU) is held behind r2, which fits at 10, and starts then.
    """
    jobs = [
        job("r1", 2, 10),
        job("r2", 1, 5, at=1),
        job("b", 2, 30, at=2, account="blue"),
        job("r3", 1, 5, at=3),
    ]
    starts, noted, _ = run(jobs, red(2))
    assert starts == [0, 10, 2, 10]
    assert noted == [(1, 1, "AssocGrpGRES"), (3, 3, "AssocGrpGRES")]


def test_a_held_job_that_fits_passes_one_that_does_not():
    """Red may hold 3: r1 (2) runs to 10, r2 (3) is held, r3 (1) starts at 2 and runs to 12, then r2."""
    jobs = [job("r1", 2, 10), job("r2", 3, 5, at=1), job("r3", 1, 10, at=2)]
    assert run(jobs, red(3))[0] == [0, 12, 2]


def test_a_stopped_job_keeps_its_part_of_a_limit():
    """SRTF on 4 GPUs; red may hold 2. B (4 GPUs, 5 s) stops r1 at 3, which goes on at 8 and ends at 15.

    R2 (1 GPU, 1 s, at 4) would start at 8 beside r1's 2, or run while r1 is stopped; it starts at 15.
    """
    jobs = [job("r1", 2, 10), job("b", 4, 5, at=3, account="blue"), job("r2", 1, 1, at=4)]
    starts, _, events = run(jobs, red(2), order="srtf", preemptive=True)
    assert [(e.time_ns // NS_PER_S, e.job) for e in events if isinstance(e, Stop)] == [(3, 0)]
    assert starts == [0, 3, 15]


def test_a_job_that_waits_for_machines_keeps_its_part_of_a_limit():
    """B has all GPUs to 10; r1 (2) waits from 1. So r2 (1, the shortest) is unseen until r1 ends, at 15."""
    jobs = [job("b", 4, 10, account="blue"), job("r1", 2, 5, at=1), job("r2", 1, 1, at=2)]
    assert run(jobs, red(2), order="sjf")[0] == [0, 10, 15]


@pytest.mark.parametrize(
    ("quotas", "reason"),
    [
        (red(2), "AssocGrpGRES"),
        (red(9, GrpJobs=1), "AssocGrpJobsLimit"),
        (Quotas(associations=(Association("red"), Association("red", "u", MaxJobs=1))), "AssocMaxJobsLimit"),
        (
            Quotas(
                associations=(Association("all", GrpTRES={"gres/gpu": 3}), Association("red", Parent="all"))
            ),
            "AssocGrpGRES",
        ),
        (Quotas(qos=(Qos("q", GrpTRES={"gres/gpu": 3}),)), "QOSGrpGRES"),
        (Quotas(qos=(Qos("q", MaxTRESPerUser={"gres/gpu": 3}),)), "QOSMaxGRESPerUser"),
        (Quotas(qos=(Qos("q", MaxJobsPerUser=1),)), "QOSMaxJobsPerUserLimit"),
        (Quotas(qos=(Qos("q", GrpTRES={"cpu": 5}),)), "QOSGrpCpu"),
        (red(4), ""),
    ],
)
def test_each_limit_of_accounts_users_and_qos(quotas, reason):
    """Two jobs of 2 GPUs and 4 CPUs, for 10 s, at 0 and 1: the second waits for the first, or for nothing."""
    jobs = [job("a", 2, 10, qos="q"), job("b", 2, 10, at=1, qos="q")]
    jobs = [replace(one, demand=replace(one.demand, cpus=4)) for one in jobs]
    starts, noted, _ = run(jobs, quotas, cluster=tiny_cluster(1, 4, cpus=8))
    assert starts == ([0, 10] if reason else [0, 1])
    assert noted == ([(1, 1, reason)] if reason else [])


def test_a_reason_changes_with_the_limit():
    """Red may hold 2 GPUs, user u one job: u's r3 waits for u's r1, then for w's r2, if it has 2 GPUs."""
    quotas = Quotas(
        associations=(Association("red", GrpTRES={"gres/gpu": 2}), Association("red", "u", MaxJobs=1))
    )
    jobs = [job("r1", 1, 10), job("r2", 1, 15, user="w"), job("r3", 1, 5, at=2)]
    starts, noted, _ = run(jobs, quotas)
    assert starts == [0, 0, 10]
    assert noted == [(2, 2, "AssocMaxJobsLimit")]
    jobs[1] = job("r2", 2, 15, at=1, user="w")
    starts, noted, _ = run([*jobs[:2], job("r3", 1, 5, at=1)], quotas)
    assert starts == [0, 10, 25]
    assert noted == [(1, 1, "AssocGrpGRES"), (1, 2, "AssocMaxJobsLimit"), (10, 2, "AssocGrpGRES")]


def test_a_limit_holds_over_all_partitions():
    """Partitions p (m0) and q (m1) of 4 GPUs; red may hold 4. R2 in q waits for r1 in p, b does not."""
    jobs = [
        job("r1", 3, 10, partition="p"),
        job("r2", 2, 5, at=1, partition="q"),
        job("b", 2, 5, at=2, partition="q", account="blue"),
    ]
    cluster = tiny_cluster(2, 4, pools=("p", "q"))
    assert run(jobs, red(4), cluster=cluster, by="partition")[0] == [0, 10, 2]


def test_counted_are_the_gpus_that_a_job_may_get_at_most():
    """Elastic 1 to 4: 4. Fungible, for 2 GPUs of speed 1: 4 of speed 0.5, which the cluster has."""
    cluster = Cluster([Machine("m0", 0, "a", 8, "A", 1.0), Machine("m1", 0, "b", 8, "B", 0.5)])
    gate = Gate(Quotas())
    for demand, gpus in (
        (Demand(2, min_gpus=1, max_gpus=4), 4),
        (Demand(2, fungible=True), 4),
        (Demand(2, fungible=True, gpu_types=("A",)), 2),
        (Demand(3), 3),
        (Demand(0, cpus=5), 0),
    ):
        assert gate._job(cluster, demand, "", "", "").tres["gres/gpu"] == gpus


def test_a_job_above_a_limit_by_itself_is_refused_before_the_clock_starts():
    """3 GPUs of 2; and a QOS that the limits lack."""
    with pytest.raises(InputError, match=r"job 'a': it can never start \(AssocGrpGRES\)"):
        run([job("a", 3, 1)], red(2))
    with pytest.raises(InputError, match="unknown qos"):
        run([job("a", 1, 1, qos="p")], Quotas(qos=(Qos("q"),)))


def test_limits_that_would_not_hold_are_refused():
    """Under Slurm, whose limits are its own; among pools without partitions; of nodes; of no account."""
    from artist.policies.slurm.policy import Slurm

    policy, cluster = Ordered(order="fifo"), tiny_cluster(2, 4, pools=("p", "q"))
    assert checked_quotas(Quotas(), Slurm(), None, cluster) is None
    assert checked_quotas(red(2), policy, "vc", cluster) == red(2)
    for quotas, of, by, fault in (
        (red(2), Slurm(), "vc", "limits of its own"),
        (red(2), policy, None, "pools of machines"),
        (Quotas(conf="a.conf"), policy, "vc", "no limits there"),
    ):
        with pytest.raises(InputError, match=fault):
            checked_quotas(quotas, of, by, cluster)
    with pytest.raises(ValidationError, match="limits of nodes"):
        Quotas(qos=(Qos("q", MaxTRESPerUser={"node": 2}),))
    with pytest.raises(ValidationError, match="associations has red twice"):
        Quotas(associations=(Association("red"), Association("red")))
