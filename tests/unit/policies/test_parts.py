"""Shared parts of policies: selection by count, the waiting queue, the fewest machines."""

import pickle

import numpy as np
import pytest

from artist.core.buckets import Buckets
from artist.core.job import Demand
from artist.policies.parts.preemption import take_first
from artist.policies.parts.waiting_queue import WaitingQueue


@pytest.mark.parametrize(
    ("gpus", "capacity", "backfill", "taken"),
    [
        ([2, 4, 1, 1], 4, True, [1, 0, 1, 1]),  # 4 does not fit beside 2; the ones do
        ([2, 4, 1, 1], 4, False, [1, 0, 0, 0]),  # nobody overtakes
        ([5, 1], 4, True, [0, 1]),
        ([1, 1, 1], 2, True, [1, 1, 0]),
        ([0, 3, 0], 2, True, [1, 0, 1]),  # CPU-only jobs need no GPUs
        ([], 4, True, []),
    ],
)
def test_the_first_that_fit_by_count(gpus, capacity, backfill, taken):
    """Greedy in order, with and without overtaking."""
    assert take_first(np.array(gpus, dtype=np.int64), capacity, backfill=backfill).tolist() == [
        bool(t) for t in taken
    ]


def test_taking_first_equals_the_plain_loop():
    """The vectorised form is the loop `for g: if g <= left: take`."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        gpus = rng.integers(0, 9, rng.integers(0, 30))
        left = capacity = int(rng.integers(0, 40))
        expected = []
        for g in gpus:
            expected.append(bool(g <= left))
            left -= int(g) if g <= left else 0
        assert take_first(gpus, capacity, backfill=True).tolist() == expected


def test_the_queue_goes_by_key_then_number_over_all_demands():
    """Keys 5, 3, 3: the two threes by number; a passed-over demand hides its jobs only."""
    queue = WaitingQueue()
    one, two = Demand(1), Demand(2)
    for job, key, demand in ((0, 5.0, one), (2, 3.0, two), (1, 3.0, two)):
        queue.push(job, key, demand)
    assert queue.first() == (two, 1)
    queue.refuse(two)
    assert queue.first() == (one, 0)
    queue.try_again(lambda demand: demand == one)
    assert queue.first() == (one, 0)
    queue.try_again(lambda demand: demand == two)
    queue.pop(two)
    assert queue.first() == (two, 2)
    queue.pop(two)
    queue = pickle.loads(pickle.dumps(queue))
    queue.pop(one)
    assert queue.first() is None


def test_jobs_inserted_out_of_order_are_served_in_order():
    """Keys 4, 5, 2, 3, 6 of one lane: 2 goes first, 1 comes behind it and goes next, then 3, 4, 5, 6."""
    queue, demand = WaitingQueue(), Demand(1)
    for job, key in enumerate((4.0, 5.0, 2.0, 3.0, 6.0)):
        queue.push(job, key, demand)
    gone = []
    while (first := queue.first()) is not None:
        gone.append(first[1])
        queue.pop(demand)
        if gone == [2]:
            queue.push(5, 1.0, demand)
    assert gone == [2, 5, 3, 0, 1, 4]


@pytest.mark.parametrize(
    ("need", "taken"),
    [
        (9, {0: 4, 1: 4, 2: 1}),  # one is left: the tightest machine that has it
        (11, {0: 4, 1: 4, 3: 3}),
        (8, {0: 4, 1: 4}),
        (7, {0: 4, 3: 3}),  # three fit tighter beside machine 1
        (12, {0: 4, 1: 4, 2: 1, 3: 3}),
        (14, None),
    ],
)
def test_the_fewest_machines_the_last_one_the_tightest(need, taken):
    """4, 4, 2 and 3 GPUs are free: the emptiest machines first, the tightest that is enough last."""
    buckets = Buckets.of([4, 4, 2, 3], [True] * 4, [0] * 4, 4)
    assert buckets.fewest(need) == taken
