"""Kueue's quotas hold on random traces, recounted from the events alone."""

import random
from dataclasses import replace
from itertools import groupby

import yaml

from artist.core.events import Change, Finish, Start, Stop
from artist.policies.kueue.policy import Kueue
from artist.testing.tiny import job, run_checked, tiny_cluster

GPU = "nvidia.com/gpu"


def drawn(rng):
    """Return cluster queues of one cohort by name: nominal quota, borrowing and lending limit, and rules."""
    queues = {}
    for name in "abcd"[: rng.randint(2, 4)]:
        reclaim = rng.choice(("Never", "LowerPriority", "Any"))
        borrow = {"policy": rng.choice(("Never", "LowerPriority")) if reclaim != "Never" else "Never"}
        borrow |= {"maxPriorityThreshold": 1} if rng.random() < 0.3 else {}
        rules = {
            "reclaimWithinCohort": reclaim,
            "borrowWithinCohort": borrow,
            "withinClusterQueue": rng.choice(("Never", "LowerPriority", "LowerOrNewerEqualPriority")),
        }
        strategy = rng.choice(("StrictFIFO", "BestEffortFIFO"))
        limits = rng.choice((None, 0, 1, 3)), rng.choice((None, 0, 1, 3))
        queues[name] = rng.randint(1, 6), *limits, {"preemption": rules, "queueingStrategy": strategy}
    return queues


def exported(queues):
    """Return the queues as kubectl writes them."""
    items = []
    for name, (nominal, borrow, lend, spec) in queues.items():
        quota = {"name": GPU, "nominalQuota": nominal, "borrowingLimit": borrow, "lendingLimit": lend}
        quota = {key: value for key, value in quota.items() if value is not None}
        flavors = [{"name": "any", "resources": [quota]}]
        spec = {
            **spec,
            "cohortName": "all",
            "resourceGroups": [{"coveredResources": [GPU], "flavors": flavors}],
        }
        items.append({"kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec})
    return {"kind": "List", "items": items}


def used(events, jobs):
    """Yield the GPUs in use by queue after each instant."""
    held = {}
    for _, instant in groupby(events, key=lambda event: event.time_ns):
        for event in instant:
            if isinstance(event, Start | Change):
                held[event.job] = event.allocation.gpus
            elif isinstance(event, Stop | Finish):
                del held[event.job]
        usage = dict.fromkeys((spec.partition for spec in jobs), 0)
        for number, gpus in held.items():
            usage[jobs[number].partition] += gpus
        yield usage


def test_quotas_are_never_exceeded(tmp_path):
    """200 traces: a queue uses at most nominal quota + borrowing limit, the cohort the sum of nominal quotas.

    And the queues beside one use at most their quotas and its lending limit. All jobs finish, though most
    traces preempt some.
    """
    preempted = borrowed = 0
    for seed in range(200):
        rng = random.Random(seed)
        queues, jobs, at = drawn(rng), [], 0
        for number in range(16):
            at += rng.choice((0, 0, 1, 3))
            name = rng.choice(list(queues))
            gpus = rng.randint(1, queues[name][0])
            spec = job(f"{name}{number}", gpus, rng.randint(1, 15), at)
            jobs.append(replace(spec, partition=name, priority=float(rng.randint(0, 3))))
        path = tmp_path / "kueue.yaml"
        path.write_text(yaml.safe_dump(exported(queues)))
        topology = rng.choice(("none", "unconstrained", "preferred"))
        cluster = tiny_cluster(rng.randint(3, 6), 4, per_rack=2)
        policy = Kueue(conf=path, topology=topology)
        policy.notes(cluster, jobs)
        result, events = run_checked(jobs, cluster, policy)
        assert (result.columns["finish_ns"] >= 0).all(), seed
        preempted += result.columns["preemptions"].sum() > 0
        total = sum(nominal for nominal, *_ in queues.values())
        for usage in used(events, jobs):
            everything = sum(usage.values())
            assert everything <= total, seed
            for name, gpus in usage.items():
                nominal, borrow, lend, _ = queues[name]
                borrowed += gpus > nominal
                assert borrow is None or gpus <= nominal + borrow, seed
                assert lend is None or everything - gpus <= total - nominal + lend, seed
    assert preempted > 100
    assert borrowed > 500
