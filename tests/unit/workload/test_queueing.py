"""Waiting under strict FIFO on machines of 8 GPUs, and the search for a mean."""

import numpy as np
import pytest

from artist.workload.queueing import fifo_waits_s, steer


def waits(machines: int, *jobs: tuple[float, int, int, float]) -> list[float]:
    """Return waits of jobs of submit_s, gpus, worker_gpus, run_time_s."""
    columns = (np.array(column) for column in zip(*jobs, strict=True))
    return fifo_waits_s(*columns, machines).tolist()


def test_no_job_overtakes() -> None:
    """The second needs all 8 GPUs and waits to 10; the third would fit at 2 but starts after it, at 20."""
    assert waits(1, (0, 4, 4, 10), (1, 8, 8, 10), (2, 4, 4, 5)) == [0, 9, 18]


def test_rows_may_come_in_any_order() -> None:
    """As above, the third job first."""
    assert waits(1, (2, 4, 4, 5), (0, 4, 4, 10), (1, 8, 8, 10)) == [18, 0, 9]


@pytest.mark.parametrize(("worker", "expected"), [(1, 0), (2, 10), (3, 0)])
def test_a_worker_is_on_one_machine(worker: int, expected: float) -> None:
    """Two machines have 3 GPUs free each: room for 6 workers of 1, 2 of 2 (4 GPUs) or 2 of 3."""
    assert waits(2, (0, 5, 5, 10), (0, 5, 5, 10), (0, 6, worker, 1))[2] == expected


def test_a_worker_takes_the_machine_that_fits_best() -> None:
    """3 and 8 GPUs are free: 2 of the 3 are taken, so the 8 are there for the next; else it waits to 10."""
    assert waits(2, (0, 5, 5, 10), (0, 2, 2, 10), (0, 8, 8, 1)) == [0, 0, 0]


def test_gpus_come_back_to_their_machine() -> None:
    """The first job ends at 5, so all 8 GPUs of its machine are free for the third, at 5, not at 10."""
    assert waits(2, (0, 8, 8, 5), (0, 1, 1, 10), (1, 8, 8, 1)) == [0, 0, 4]


def test_jobs_that_end_together_both_count() -> None:
    """4 + 4 GPUs come back at 10, when a job of 8 arrives: it does not wait."""
    assert waits(1, (0, 4, 4, 10), (0, 4, 4, 10), (10, 8, 8, 1)) == [0, 0, 0]


def test_batches_and_silence_can_have_all_published_figures_of_lyra() -> None:
    """Of 100 jobs 5 fill the cluster; batches of 45, 25, 20, 4 and 1 come behind one each and wait as given.

    Ranked, jobs 50, 75, 95 and 99 wait 55, 1892, 8357 and 14323 s. For a mean of 3072 the last has to wait
    307200 - 45 x 55 - 25 x 1892 - 20 x 8357 - 4 x 14323 = 32993 s. It has to be alone: a job that came within
    18670 s after it would wait more than 14323 s too.
    """
    jobs: list[tuple[float, int, int, float]] = []
    for count, wait_s in [(45, 55), (25, 1892), (20, 8357), (4, 14323), (1, 32993)]:
        begin_s = 100_000.0 * len(jobs)
        jobs += [(begin_s, 104, 8, wait_s + 1.0), *[(begin_s + 1, 1, 1, 1.0)] * count]
    waited = waits(13, *jobs)
    results = [np.percentile(waited, p, method="inverted_cdf") for p in (50, 75, 95, 99)]
    assert results == [55, 1892, 8357, 14323]
    assert sum(waited) == 307_200
    assert waits(13, *jobs, (jobs[-1][0] + 18_669, 1, 1, 1.0))[-1] == 14324


def test_a_bisection_finds_the_mean() -> None:
    """x^2 = 2 within 1 %: x within 0.5 % of 1.4142."""
    assert steer(lambda x: x * x, 2.0, 4.0) == pytest.approx((1.4142, 2.0), rel=0.01)


def test_a_jump_of_the_mean_is_searched_on_a_grid() -> None:
    """Only from 3.25 to 3.35 is the mean 1: above, it is 0, so a bisection looks below 2 and misses it."""
    result, mean = steer(lambda x: float(3.25 <= x <= 3.35) + 2 * (x < 3.25), 1.0, 4.0)
    assert mean == 1
    assert 3.25 <= result <= 3.35


def test_an_unreachable_mean_ends_at_the_nearest() -> None:
    """Of means up to 4, 4 is nearest to 10; it is had at the end of the range, of which 3.999 was tried."""
    assert steer(lambda x: x, 10.0, 4.0) == pytest.approx((4, 4), rel=0.001)
