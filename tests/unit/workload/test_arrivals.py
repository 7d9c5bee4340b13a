"""Arrivals: as in the trace, at once, exactly at a load, or at random around one."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from artist.errors import InputError
from artist.tables.rows import Table
from artist.workload.arrivals import (
    BatchArrivals,
    CompressArrivals,
    PoissonArrivals,
    TraceArrivals,
    load_of,
)
from artist.workload.table import check


def many(jobs: int) -> pd.DataFrame:
    """Return jobs of 2 GPUs x 30 s = 60 GPU-seconds each, one a second."""
    numbers = np.arange(jobs)
    ids = [f"j{n:06d}" for n in numbers]
    return check(
        pd.DataFrame({"job_id": ids, "submit_s": numbers * 1.0, "gpus": 2, "duration_s": 30.0}), "many"
    )


def test_load_by_hand(three: Table) -> None:
    """(1 x 100 + 2 x 50 + 4 x 25) GPU-seconds / (4 GPUs x 40 s) = 300 / 160."""
    assert load_of(three, cluster_gpus=4) == 300 / 160


def test_load_by_iterations(three: Table) -> None:
    """10 iterations x 2 s = 20 s each: (1 + 2 + 4) x 20 / (4 x 40) = 140 / 160."""
    assert load_of(three.assign(iterations=10, compute_s=2.0), cluster_gpus=4) == 140 / 160


def test_trace_moves_the_first_job_to_zero(three: Table) -> None:
    """5, 15, 45 s become 0, 10, 40 s."""
    later = three.assign(submit_s=three["submit_s"] + 5)
    assert TraceArrivals().apply(later, 4)["submit_s"].tolist() == [0.0, 10.0, 40.0]


def test_the_first_job_may_arrive_later(three: Table) -> None:
    """409 s into the first of rounds of 300 s, as in the run of Synergy's authors: 0, 10, 40 + 409."""
    assert TraceArrivals(first_s=409).apply(three, 4)["submit_s"].tolist() == [409.0, 419.0, 449.0]


def test_batch_is_all_at_zero(three: Table) -> None:
    """The batch experiments of the Dally paper."""
    assert BatchArrivals().apply(three, 4)["submit_s"].tolist() == [0.0, 0.0, 0.0]


def test_compress_reaches_its_load_exactly(three: Table) -> None:
    """Load 300 / 160 on 4 GPUs to 0.75: all times x 2.5, so 0, 25, 100 s."""
    result = CompressArrivals(load=0.75).apply(three, 4)
    assert result["submit_s"].tolist() == [0.0, 25.0, 100.0]
    assert load_of(result, 4) == 0.75


def test_compress_needs_a_span(three: Table) -> None:
    """Jobs that arrive at once stay so by any factor."""
    with pytest.raises(InputError, match="all jobs arrive at once"):
        CompressArrivals(load=0.9).apply(three.assign(submit_s=0.0), 4)


@pytest.mark.parametrize("parameters", [{}, {"load": 0}, {"load": -1}, {"load": float("nan")}, {"laod": 1}])
def test_compress_wants_a_load_above_zero(parameters: dict[str, float]) -> None:
    """A wrong load must end before any trace is read."""
    with pytest.raises(InputError, match="arrivals"):
        CompressArrivals(**parameters)


def test_poisson_reaches_its_load_within_sampling_error() -> None:
    """20,001 jobs: the mean gap has a deviation of 1 / sqrt(20,000) = 0.7 %; 3 of them are 2.1 %."""
    result = PoissonArrivals(load=0.7, seed=1).apply(many(20_001), 64)
    assert load_of(result, 64) == pytest.approx(0.7, rel=0.021)


def test_poisson_gaps_are_exponential() -> None:
    """Deviation = mean (1 % at 20,000 gaps), and a share of 1 - 1/e = 0.632 is below the mean."""
    gaps = np.diff(PoissonArrivals(jobs_per_hour=360, seed=2).apply(many(20_001), 64)["submit_s"])
    assert gaps.mean() == pytest.approx(10.0, rel=0.021)  # 3600 s / 360
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.03)
    assert (gaps < gaps.mean()).mean() == pytest.approx(0.632, abs=0.01)


def test_poisson_keeps_order_and_seed(three: Table) -> None:
    """The same seed gives the same arrivals, another seed others; the first job stays first, at 0 s."""
    first = PoissonArrivals(load=0.7, seed=1).apply(three.take(slice(None, None, -1)), 4)
    again = PoissonArrivals(load=0.7, seed=1).apply(three, 4)
    other = PoissonArrivals(load=0.7, seed=2).apply(three, 4)
    assert first["job_id"].tolist() == ["a", "b", "c"]
    assert first["submit_s"][0] == 0.0
    assert first["submit_s"].tolist() == again["submit_s"].tolist() != other["submit_s"].tolist()


@pytest.mark.parametrize(
    "rule", [TraceArrivals(), BatchArrivals(), PoissonArrivals(load=1), CompressArrivals(load=1)]
)
def test_rules_of_a_users_own_may_ask_a_shipped_one(three: Table, rule: Any) -> None:
    """They have a DataFrame, and get the arrivals that the table gets."""
    asked = rule.apply(three.frame(), 4)["submit_s"]
    assert asked.tolist() == rule.apply(three, 4)["submit_s"].tolist()


def test_one_job_arrives_at_zero(three: Table) -> None:
    """There is no gap to draw."""
    assert PoissonArrivals(load=0.7).apply(three.take(slice(1)), 4)["submit_s"].tolist() == [0.0]


@pytest.mark.parametrize("parameters", [{}, {"load": 0.7, "jobs_per_hour": 3}, {"load": 0.7, "seed": -1}])
def test_poisson_wants_one_rate(parameters: dict[str, float]) -> None:
    """Two rates contradict each other, none says nothing."""
    with pytest.raises(InputError, match="arrivals"):
        PoissonArrivals(**parameters)
