"""Lyra's loans: when machines move, which jobs stop, and what they lose; through the whole policy."""

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, MachineEvent, Start, Stop
from artist.engine.overheads import Overheads
from artist.errors import StuckError
from artist.policies.lyra.policy import Lyra
from artist.testing.tiny import job, run_checked, seconds
from artist.units import seconds_to_ns
from artist.workload.signals import Series

LOSES_ALL = Overheads(on_stop="lose_all", resume_s=63, restart_s=63)
ELASTIC = {"min_gpus": 2, "max_gpus": 4, "step": 2}


def pools(training=1, inference=4):
    """Return machines of two GPUs, all of one type: those of the training pool first."""
    owners = ["training"] * training + ["inference"] * inference
    return Cluster([Machine(f"m{i}", 0, "box", 2, pool=owner) for i, owner in enumerate(owners)])


def uses(*values):
    """Return the use of the inference machines every 300 s, and one step ahead."""
    times = np.arange(len(values)) * seconds_to_ns(300)
    return {
        "inference": Series(times, np.array(values, dtype=np.float64)),
        "inference.next": Series(times, np.array([*values[1:], values[-1]], dtype=np.float64)),
    }


def run(jobs, use, cluster=None, **parameters):
    """Return the result, moves of machines, stops, and where jobs are placed, each as (time in s, ...)."""
    policy = Lyra(**{"headroom": 0} | parameters)
    cluster = cluster or pools()
    result, events = run_checked(jobs, cluster, policy, signals=uses(*use), overheads=LOSES_ALL)
    moves, stops, places = [], [], []
    for event in events:
        at = event.time_ns / 1e9
        if isinstance(event, MachineEvent):
            moves.append((at, event.machine, event.pool))
        elif isinstance(event, Stop):
            stops.append((at, event.job))
        elif isinstance(event, Start | Change):
            places.append((at, event.job, event.allocation.gpu_map()))
    return result, moves, stops, places


USE = (0.5, 0.5, 0.75, 0.75, 0.5)  # of 4 machines: 2 loaned at 0 s, 1 from 300 s on (the oracle), 2 at 1200 s


def test_a_preempted_job_waits_and_loses_all():
    """B (500 s) is shortest and takes the training machine, a (1000 s) machine 1, c (2000 s) machine 2.

    At 300 s one goes back. Both cost 1 and vacate nothing else: 1. A loses 300 s, waits for the training
    machine until b ends at 500 s, and ends after 63 + 1000 s more.
    """
    jobs = [job("a", 2, 1000), job("b", 2, 500), job("c", 2, 2000)]
    result, moves, stops, places = run(jobs, USE)
    assert moves == [
        (0, 1, "on_loan"),
        (0, 2, "on_loan"),
        (300, 1, "inference"),
        (1200, 1, "on_loan"),
    ]
    assert stops == [(300, 0)]
    assert places == [(0, 1, {0: 2}), (0, 0, {1: 2}), (0, 2, {2: 2}), (500, 0, {0: 2})]
    assert seconds(result, "lost_ns") == [300, 0, 0]
    assert seconds(result, "queueing_ns") == [200, 0, 0]
    assert seconds(result, "finish_ns") == [1563, 500, 2000]


def test_a_preempted_job_starts_on_another_machine_at_the_same_instant():
    """Two training machines, b on one of them ends at 300 s when a loses its own: a starts there at once."""
    jobs = [job("a", 2, 1000), job("b", 2, 300), job("c", 2, 2000)]
    result, _, stops, places = run(jobs, USE)
    assert stops == [(300, 0)]
    assert places[3:] == [(300, 0, {0: 2})]
    assert seconds(result, "queueing_ns") == [0, 0, 0]
    assert seconds(result, "finish_ns") == [1363, 300, 2000]


def test_the_flexible_group_alone_is_enough():
    """A fills the training machine; e (2000 GPU seconds) has its base on machine 1 and flexible workers on 2.

    At 300 s one machine goes back: 2, and e shrinks. Done: 1200 GPU seconds, so 400 s more on two GPUs.
    """
    jobs = [job("a", 2, 900), job("e", 2, 1000, **ELASTIC)]
    result, moves, stops, places = run(jobs, USE)
    assert moves[2] == (300, 2, "inference")
    assert stops == []
    assert [place for place in places if place[1]] == [(0, 1, {1: 2, 2: 2}), (300, 1, {1: 2})]
    assert seconds(result, "finish_ns") == [900, 700]


def test_the_flexible_group_is_not_enough():
    """As before, but both machines go back at 300 s: e stops, loses 300 s, and starts over at 1200 s.

    Then it has four GPUs again: 63 + 2000 / 4 s.
    """
    jobs = [job("a", 2, 2000), job("e", 2, 1000, **ELASTIC)]
    result, moves, stops, _ = run(jobs, (0.5, 0.5, 1, 1, 0.5))
    assert moves[2:4] == [(300, 2, "inference"), (300, 1, "inference")]
    assert stops == [(300, 1)]
    assert seconds(result, "lost_ns") == [0, 300]
    assert seconds(result, "finish_ns") == [2000, 1200 + 63 + 500]


@pytest.mark.parametrize(
    ("reclaim", "stopped"), [("server_fraction", [3]), ("optimum", [3]), ("smallest_count", [1, 2])]
)
def test_the_way_to_reclaim_is_a_part(reclaim, stopped):
    """Job 0 fills the training machine; on loan are 1 (job 1), 2 (job 2), and 3 and 4 (job 3); two go back.

    By server fractions 3 and 4 cost 0.5 each: one job stops. By count all are alike: 1 and 2, two jobs stop.
    """
    jobs = [job("s", 2, 900), job("a", 2, 1000), job("b", 2, 1100), job("w", 4, 1200)]
    _, _, stops, _ = run(jobs, (0.5, 0.5, 0.75), pools(inference=8), reclaim=reclaim)
    assert [value for at, value in stops if at == 300] == stopped


def test_without_loaning_nothing_moves():
    """No series is asked for, and c waits for the training machine."""
    policy = Lyra(loaning=False)
    jobs = [job("a", 2, 100), job("b", 2, 50)]
    result, events = run_checked(jobs, pools(), policy)
    assert not [event for event in events if isinstance(event, MachineEvent)]
    assert seconds(result, "finish_ns") == [150, 50]


def sized(*machines):
    """Return machines of one type, each of (GPUs, pool)."""
    return Cluster([Machine(f"m{i}", 0, "box", n, pool=pool) for i, (n, pool) in enumerate(machines)])


def test_a_worker_is_no_larger_than_the_machines_that_are_there():
    """A (16 GPUs, one worker) is on machine 2, b wants as much; at 50 s machine 2 fails for good.

    Now 8 GPUs are the largest worker: b, 10 s, starts on machines 0 and 1, then a, which lost 50 of 100 s.
    """
    cluster = sized((8, "training"), (8, "training"), (16, "training"))
    jobs = [job("a", 16, 100, step=16), job("b", 16, 10, 1, step=16)]
    events = [CapacityEvent(seconds_to_ns(50), "fail", 2)]
    policy = Lyra(loaning=False)
    result, _ = run_checked(jobs, cluster, policy, overheads=LOSES_ALL, capacity_events=events)
    assert seconds(result, "first_start_ns") == [0, 50]
    assert seconds(result, "finish_ns") == [60 + 63 + 100, 60]


def test_a_worker_is_no_larger_than_the_machines_of_a_pool():
    """C holds machine 0, of 16 GPUs, to the end. D ends at 51 s: b starts on the loaned ones, of 8 GPUs."""
    cluster = sized((16, "training"), (8, "on_loan"), (8, "on_loan"))
    jobs = [job("c", 16, 1000), job("d", 16, 50, 1, step=8), job("b", 16, 10, 2, step=16)]
    result, _ = run_checked(jobs, cluster, Lyra(loaning=False))
    assert seconds(result, "first_start_ns") == [0, 1, 51]


def test_an_opportunistic_job_that_outlasts_every_loan_ends_the_run_with_an_error():
    """Both machines are on loan for 300 s, from 0 s and from 1200 s on: 250 s of work fit, 350 s never do.

    Two training machines are idle all the time, which a job that waits for loans does not use.
    """
    cluster, use = pools(2, 2), (0, 0, 1, 1, 0, 0, 1, 1)
    how = {"fungible_on": "loan", "order": "fifo", "backfill": False, "scaling": "none"}
    result, *_ = run([job("a", 4, 250, fungible=True)], use, cluster, **how)
    assert seconds(result, "finish_ns") == [250]
    with pytest.raises(StuckError, match=r"(?s)1 jobs wait.*'a'.*asks for 4 GPUs"):
        run([job("a", 4, 350, fungible=True)], use, cluster, **how)
