"""The book of base and flexible workers: which GPUs a job that shrinks gives back."""

import pytest

from artist.core.free import Free
from artist.core.job import Demand
from artist.policies.lyra.workers import Workers
from artist.testing.tiny import on, tiny_cluster

CLUSTER = tiny_cluster(4, 4, cpus=8)


def grown(gpus, steps):
    """Return the book of job 7, two GPUs of base on machine 0, grown by GPUs by machine; and what is free."""
    free = Free(CLUSTER, CLUSTER.gpus, CLUSTER.cpus, CLUSTER.memory_bytes)
    workers = Workers(CLUSTER, free)
    base = on((0, 2, 4))
    free.take(base)
    workers.start(7, Demand(2, min_gpus=2, max_gpus=12, step=2), base)
    workers.jobs[7].steps = steps
    workers.grow(7, gpus, free)
    return workers, free


def test_a_grown_job_has_its_share_of_cpus():
    """Two CPUs a GPU: 4 GPUs on machine 0 have 8, 2 on machine 1 have 4; loose is all but the base."""
    workers, free = grown({0: 2, 1: 2}, (0, 2, 4))
    assert workers.jobs[7].allocation == on((0, 4, 8), (1, 2, 4))
    assert free.gpus.tolist() == [0, 2, 4, 4]
    assert workers.loose_gpus == [2, 4, 4, 4]
    assert (workers.with_base, workers.with_flexible) == (0b1, 0b11)


def test_a_job_shrinks_first_where_it_has_fewest():
    """Of 4 GPUs on machine 1 and 2 on machine 2 the latter go, then half of the others."""
    workers, free = grown({1: 4, 2: 2}, (0, 2, 4, 6))
    workers.shrink_to(7, 2, free)
    assert workers.jobs[7].flexible == {1: 4}
    workers.shrink_to(7, 1, free)
    assert workers.jobs[7].allocation == on((0, 2, 4), (1, 2, 4))
    assert free.gpus.tolist() == [2, 2, 4, 4]
    assert free.cpus.tolist() == [4, 4, 8, 8]


@pytest.mark.parametrize(("gone", "left"), [(1, {2: 1, 3: 3}), (2, {1: 1, 3: 3}), (3, {1: 1, 2: 3})])
def test_no_part_of_a_worker_stays_alone(gone, left):
    """Extra workers are 4 GPUs each here: 2 on machine 1, 3 on 2 and 3 on 3, two workers in all.

    If machine 1 is vacated 6 are left: 2 more go, of machine 2; if 2 or 3 is, 5: one more, of machine 1.
    """
    workers, _ = grown({1: 2, 2: 3, 3: 3}, (0, 4, 8))
    workers.vacate(gone)
    assert workers.jobs[7].flexible == left
    assert workers.jobs[7].extra == 1
