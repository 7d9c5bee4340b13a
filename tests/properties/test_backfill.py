"""Backfill around reservations on random traces: promises kept, and equal to a simulator written for this."""

import heapq
import random
from dataclasses import replace

import numpy as np
import pytest

import artist
from artist.core.cluster import Cluster
from artist.policies.basic.ordered import Ordered
from artist.testing.tiny import job, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns


def trace(seed, n_jobs, max_gpus, mean_gap_s=4):
    """Return jobs of whole seconds that keep their limits, which are up to three times the run time."""
    rng, at, jobs = random.Random(seed), 0, []
    for number in range(n_jobs):
        at += rng.choice((0, 0, round(rng.expovariate(1 / mean_gap_s))))
        gpus = min(max_gpus, rng.choice((1, 1, 2, 3, 4, 6, 8)))
        runs_s = rng.randint(1, 30)
        limit_ns = seconds_to_ns(runs_s * rng.choice((1, 1, 2, 3)))
        jobs.append(replace(job(str(number), gpus, runs_s, at), limit_ns=limit_ns))
    return jobs


class Watched(Ordered):
    """Checks, whenever the first waiting job has got a start by limits, that it is not put off."""

    def __init__(self, **fields):
        super().__init__(**fields)
        self.promised = {}  # job: latest start

    def decide(self, view):
        plan = super().decide(view)
        for number, (start_ns, _) in self._backfill.planned.items():
            assert start_ns <= self.promised.get(number, start_ns), f"job {number} put off"
            self.promised[number] = min(start_ns, self.promised.get(number, start_ns))
        return plan


def clusters(seed):
    """Return one machine of 8 GPUs, or several smaller ones."""
    return tiny_cluster(*((1, 8), (2, 4), (4, 2), (3, 3))[seed % 4])


@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_no_job_starts_after_the_time_once_reserved_for_it(backfill):
    """1,000 traces: under EASY the first waiting job has a time, under conservative all; limits hold."""
    for seed in range(1000):
        policy = Watched(order="fifo", backfill=backfill)
        result, _ = run_checked(trace(seed, 9, 8, mean_gap_s=2), clusters(seed), policy)
        starts = result.columns["first_start_ns"].tolist()
        assert all(starts[number] <= latest for number, latest in policy.promised.items()), seed


def easy_by_hand(jobs, processors):
    """Return starts in s of EASY on a count of processors: an independent simulator of SWF logs.

    At each arrival and end: start the queue's head while it fits; then find the shadow time at which the head
    will fit, and the extra processors there; start a later job if it ends by its limit until the shadow time,
    or takes extra ones only.
    """
    arrivals = [(spec.submit_ns // NS_PER_S, number) for number, spec in enumerate(jobs)]
    size = [spec.demand.gpus for spec in jobs]
    limit = [spec.limit_ns // NS_PER_S for spec in jobs]
    ends, running, queue, starts, free, now = [], {}, [], [0] * len(jobs), processors, 0

    def begin(number):
        nonlocal free
        free -= size[number]
        starts[number], running[number] = now, now + limit[number]
        heapq.heappush(ends, (now + jobs[number].iterations, number))

    while arrivals or ends:
        now = min(due[0][0] for due in (arrivals, ends) if due)
        while ends and ends[0][0] == now:
            number = heapq.heappop(ends)[1]
            free += size[number]
            del running[number]
        while arrivals and arrivals[0][0] == now:
            queue.append(arrivals.pop(0)[1])
        while queue and size[queue[0]] <= free:
            begin(queue.pop(0))
        if not queue:
            continue
        at_shadow, shadow = free, now
        for end, number in sorted((end, number) for number, end in running.items()):
            if at_shadow >= size[queue[0]] and end > shadow:
                break
            at_shadow, shadow = at_shadow + size[number], end
        extra = at_shadow - size[queue[0]]
        for number in queue[1:]:
            short = now + limit[number] <= shadow
            if size[number] <= free and (short or size[number] <= extra):
                extra -= 0 if short else size[number]
                begin(number)
                queue.remove(number)
    return starts


@pytest.mark.parametrize("seed", range(3))
def test_easy_is_that_of_a_simulator_of_processors_job_by_job(seed):
    """600 jobs on 16 processors of one machine, as SWF logs count them; starts are equal."""
    jobs = trace(seed, 600, 16, mean_gap_s=18)
    result, _ = run_checked(
        jobs, Cluster(tiny_cluster(1, 16).machines), Ordered(order="fifo", backfill="easy")
    )
    starts = seconds(result, "first_start_ns")
    assert starts == easy_by_hand(jobs, 16)
    waits = np.array(starts) - [spec.submit_ns / NS_PER_S for spec in jobs]
    assert (waits > 0).mean() > 0.3  # there is a queue to pass in


@pytest.mark.filterwarnings("ignore:models drawn")
def test_an_swf_log_under_easy_is_that_of_the_simulator_job_by_job(tmp_path, monkeypatch):
    """500 lines of a log, with the waits of another scheduler, on two machines of 8: processors alone count.

    Fields 1 to 4 are number, submission, wait and run time, 5 the processors, 8 and 9 those requested and the
    time requested.
    """
    monkeypatch.chdir(tmp_path)
    jobs = trace(4, 500, 16, mean_gap_s=22)
    lines = ["; UnixStartTime: 1000000000", "; MaxProcs: 16"]
    for number, spec in enumerate(jobs, 1):
        submit_s, limit_s = spec.submit_ns // NS_PER_S, spec.limit_ns // NS_PER_S
        cells = [number, submit_s, -1, spec.iterations, spec.demand.gpus, -1, -1, spec.demand.gpus, limit_s]
        lines.append(" ".join(map(str, [*cells, -1, 1, *[-1] * 7])))
    (tmp_path / "log.swf").write_text("\n".join(lines) + "\n")
    settings = (
        "workload=swf",
        "workload.path=log.swf",
        "cluster.machines=1",
        "topology.machine_types.dgx_h100.gpus=16",
        "network=zero",
    )
    run = artist.simulate([*settings, "policy=fifo", "policy.backfill=easy", f"hydra.run.dir={tmp_path}/run"])
    table = run.jobs.sort_values("job_id", key=lambda names: names.astype(int))
    assert len(table) == 500
    assert table["first_start_s"].tolist() == easy_by_hand(jobs, 16)
    assert (table["queueing_s"] > 0).mean() > 0.3
