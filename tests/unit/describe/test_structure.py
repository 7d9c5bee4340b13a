"""Time structure of job tables that a person can count."""

import numpy as np
import pandas as pd
import pytest

from artist.describe.structure import time_structure
from artist.workload.table import check


def jobs(submit_s: list[float], gpus: list[int], duration_s: list[float]) -> pd.DataFrame:
    """Return a checked table."""
    names = [f"job-{place}" for place in range(len(submit_s))]
    table = {"job_id": names, "submit_s": submit_s, "gpus": gpus, "duration_s": duration_s}
    return check(pd.DataFrame(table), "x").frame()


def test_dispersion_is_variance_over_mean() -> None:
    """4, 0, 2, 2 jobs in four hours: mean 2, variance 2, so 1; all 8 in one day, which does not vary: 0.

    Of the pairs (4, 0), (0, 2), (2, 2) the first have deviations 2, -2, 0, the second -4/3, 2/3, 2/3:
    -4 / sqrt(8 x 8/3) = -0.866.
    """
    hours = [0, 1, 2, 3, 2 * 3600, 2 * 3600 + 60, 3 * 3600, 3 * 3600 + 60]
    result = time_structure(jobs([float(hour) for hour in hours], [1] * 8, [10.0] * 8))
    assert result.hourly_dispersion == pytest.approx(1.0)
    assert result.daily_dispersion == 0
    assert result.hourly_correlation == pytest.approx(-4 / np.sqrt(8 * 8 / 3))


def test_gaps() -> None:
    """0, 1, 6 and 9 s apart: mean 4, variance (16 + 9 + 4 + 25) / 4 = 13.5; two of four are at most 1 s."""
    result = time_structure(jobs([0.0, 0.0, 1.0, 7.0, 16.0], [1] * 5, [10.0] * 5))
    assert result.interarrival_cv == pytest.approx(np.sqrt(13.5) / 4)
    assert result.together == 0.5


def test_likeness_is_in_logarithms_and_in_order_of_arrival() -> None:
    """GPUs 1, 2, 8, 2 one after the other: pairs (0, 1), (1, 3), (3, 1) in powers of two.

    Deviations of the first, times 3: -4, -1, 5, of the second -2, 4, -2: -6 / sqrt(42 x 24) = -0.189.
    Durations 1, 100, 1, 100 s alternate: -1. The rows are not in order of arrival.
    """
    table = jobs([0.0, 10.0, 20.0, 30.0], [1, 2, 8, 2], [1.0, 100.0, 1.0, 100.0])
    for value in (table, table.iloc[[2, 0, 3, 1]]):
        result = time_structure(value)
        assert result.gpus_correlation == pytest.approx(-6 / np.sqrt(42 * 24))
        assert result.duration_correlation == pytest.approx(-1)


def test_busy_hours_and_run_times_are_compared_in_logarithms() -> None:
    """Hours of 2, 1, 4 and 1 jobs; run times 16 / jobs in the hour, or the square root of it: both -1.

    Two jobs of 1 and 4 s in one hour, one of 2 s in the next: the mean of the logarithms is 1 in both, so 0.
    """
    submit_s = [0.0, 60.0, 3700.0, 7200.0, 7300.0, 7400.0, 7500.0, 10_800.0]
    run_s = [8.0, 8.0, 16.0, 4.0, 4.0, 4.0, 4.0, 16.0]
    for power in (1.0, 0.5):
        result = time_structure(jobs(submit_s, [1] * 8, [run_**power for run_ in run_s]))
        assert result.busy_duration_correlation == pytest.approx(-1)
    mixed = time_structure(jobs(submit_s[:3], [1] * 3, [1.0, 4.0, 2.0]))
    assert mixed.busy_duration_correlation == pytest.approx(0)


def test_work_of_a_day_is_gpu_time() -> None:
    """2 x 10 + 1 x 40 = 60 GPU-s on the first day, none on the second, 30 on the third: mean 30.

    Variance (900 + 900 + 0) / 3 = 600.
    """
    result = time_structure(jobs([0.0, 5.0, 172_800.0], [2, 1, 3], [10.0, 40.0, 10.0]))
    assert result.daily_work_cv == pytest.approx(np.sqrt(600) / 30)


def test_jobs_without_gpus_have_no_logarithm() -> None:
    """Left out: 1, 1, 8, 8 is what remains."""
    table = jobs([0.0, 5.0, 10.0, 20.0, 30.0], [1, 1, 1, 8, 8], [1.0] * 5)
    table.loc[1, "gpus"] = 0
    assert time_structure(table).gpus_correlation == pytest.approx(0.5)


def test_undefined_statistics_are_nan() -> None:
    """One job has no gaps; equal jobs have no correlation, all at once no CV."""
    one, equal = jobs([0.0], [1], [5.0]), jobs([0.0] * 4, [1] * 4, [5.0] * 4)
    assert np.isnan(time_structure(one).interarrival_cv)
    assert np.isnan(time_structure(one).together)
    assert np.isnan(time_structure(equal).interarrival_cv)
    assert np.isnan(time_structure(equal).gpus_correlation)
    assert time_structure(equal).together == 1
