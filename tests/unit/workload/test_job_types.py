"""Shares of jobs by kind, and bounds of elastic jobs, by hand."""

import numpy as np
import pytest

from artist.workload.job_types import bounds_of, draw, draw_elastic, first_share


def test_a_share_of_the_jobs_is_the_first_of_an_order() -> None:
    """Half of jobs 2, 0, 3, 1 in this order: 2 and 0."""
    assert first_share(np.array([2, 0, 3, 1]), 0.5).tolist() == [True, False, True, False]


def test_a_share_of_the_load_is_not_exceeded() -> None:
    """Loads 1, 5, 2, 2; half is 5: jobs 2 and 0 have 3, job 3 makes it 5, job 1 would make it 10."""
    weights = np.array([1.0, 5.0, 2.0, 2.0])
    assert first_share(np.array([2, 0, 3, 1]), 0.5, weights).tolist() == [True, False, True, True]
    assert first_share(np.array([2, 0, 3, 1]), 0.4, weights).tolist() == [True, False, True, False]


def test_a_kind_has_a_generator_of_its_own_and_grows_with_its_share() -> None:
    """Of 100 jobs, the 20 of a fifth are among the 50 of a half; another kind takes others."""
    fifth, half = (draw("fungible", 0, share, 100) for share in (0.2, 0.5))
    assert (fifth.sum(), half.sum(), (fifth & half).sum()) == (20, 50, 20)
    assert (draw("heterogeneous", 0, 0.2, 100) != fifth).any()


def test_the_likely_jobs_are_elastic_first() -> None:
    """3 of 20 jobs are likely: alone by default; 2 of them at 10 %; all and 2 others at 25 %; all 20 at 1."""
    likely = np.arange(20) % 8 == 0
    assert draw_elastic(likely, None, 0).tolist() == likely.tolist()
    counts = [(share, *_counts(likely, share)) for share in (0.1, 0.25, 1.0)]
    assert counts == [(0.1, 2, 2), (0.25, 5, 3), (1.0, 20, 3)]


def _counts(likely: np.ndarray, share: float) -> tuple[int, int]:
    elastic = draw_elastic(likely, share, 0)
    return int(elastic.sum()), int((elastic & likely).sum())


@pytest.mark.parametrize(
    ("gpus", "worker", "least", "most", "expected"),
    [
        (8, 2, 1.0, 2.0, (8, 16)),
        (8, 8, 0.5, 1.5, (8, 8)),  # one worker: neither half a worker nor half a worker more
        (6, 2, 0.5, 1.5, (4, 8)),  # 3 workers: 1.5 and 4.5, towards 3
        (
            100,
            1,
            0.55,
            1.15,
            (55, 115),
        ),  # 55.00000000000001 and 114.99999999999999
    ],
)
def test_bounds_are_whole_workers(
    gpus: int, worker: int, least: float, most: float, expected: tuple[int, int]
) -> None:
    """Bounds as multiples of the GPUs, rounded towards these."""
    result = bounds_of(np.array([gpus]), np.array([worker]), least, most)
    assert tuple(int(item[0]) for item in result) == expected
