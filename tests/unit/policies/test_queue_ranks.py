"""Whose turn it is inside a queue, from one decision to the next."""

from types import SimpleNamespace

import numpy as np

from artist.policies.tiresias.queue_ranks import QueueRanks


def order(ranks, running, queue=(0, 0, 0)):
    """Return the jobs in order, given who runs and the queue of each."""
    runs = np.isin(np.arange(3), running)
    return ranks.ranking(SimpleNamespace(job=np.arange(3), running=runs), np.array(queue)).tolist()


def test_running_jobs_come_first_and_a_stopped_one_stays_before_the_others():
    """Job 2 overtakes 0 and 1, which find no room; when it is stopped it is still before them."""
    ranks = QueueRanks()
    assert order(ranks, []) == [0, 1, 2]
    assert order(ranks, [2]) == [2, 0, 1]
    assert order(ranks, []) == [2, 0, 1]


def test_a_job_falls_to_the_end_of_the_next_queue_and_goes_on_if_there_is_room():
    """0 waits in the second queue when 1 falls to it: 0, then 1; if 1 runs on all the same, then it, 0."""
    ranks = QueueRanks()
    assert order(ranks, [1, 2], (1, 0, 0)) == [1, 2, 0]
    assert order(ranks, [1, 2], (1, 1, 0)) == [2, 0, 1]
    assert order(ranks, [1, 2], (1, 1, 0)) == [2, 1, 0]


def test_newcomers_come_last():
    """Only 1 and 2 are there at first; 0 has a smaller number, and comes later."""
    ranks = QueueRanks()
    early = SimpleNamespace(job=np.array([1, 2]), running=np.zeros(2, dtype=bool))
    assert ranks.ranking(early, np.zeros(2, dtype=np.int64)).tolist() == [0, 1]
    assert order(ranks, []) == [1, 2, 0]
