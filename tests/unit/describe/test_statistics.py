"""Statistics of three jobs that a person can add up, and of clusters."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from artist.core.waiting import mean_in_use
from artist.describe.cpus import CpusAsked
from artist.describe.statistics import UNNAMED, describe


def test_three_jobs_by_hand(three: pd.DataFrame) -> None:
    """400 GPU-s over 40 s are 10 GPUs on average: load 1 of 10, and 2 machines of 5 more than suffice.

    For load 0.9, 400 / (0.9 x 40 x 5) = 2.2 machines: 3.
    """
    d = describe(three, "three", cluster_gpus=10, machines=2, target_load=0.9)
    assert (d.jobs, d.span_s, d.users, d.vcs, d.max_gpus) == (3, 40.0, 0, 2, 8)
    assert d.mean_gpus == pytest.approx(11 / 3)
    assert d.gpu_h == pytest.approx(400 / 3600)
    assert d.load == 1.0
    assert d.machines_needed == 3
    assert dict(d.duration_s.named())["p50"] == 50.0
    assert d.duration_s.mean == pytest.approx(175 / 3)
    assert d.interarrival_s is not None
    assert (d.interarrival_s.mean, dict(d.interarrival_s.named())["max"]) == (20.0, 30.0)


def test_cpus_asked_by_hand(three: pd.DataFrame) -> None:
    """Jobs a and b ask for 4 and 2 CPUs, c for none; d is CPU-only, from 40 s on: 6 CPUs for 100 s.

    GPUs of a GPU job: 11 / 3. CPUs a GPU: (4 / 1 + 2 / 2) / 2 = 2.5. 4 x 100 + 2 x 50 + 6 x 100 = 1100
    CPU-s over 40 s: 27.5 CPUs of 55. Without CPUs asked nothing is said; nor of means over no jobs.
    """
    cluster: dict[str, Any] = {"cluster_gpus": 10, "machines": 2, "target_load": 0.9, "cluster_cpus": 55}
    assert describe(three, "three", **cluster).cpus is None
    cpu_only = three.iloc[[2]].assign(gpus=0, duration_s=100.0)
    four = pd.concat([three, cpu_only]).assign(cpus=[4, 2, 0, 6])
    d = describe(four, "four", **cluster)
    assert d.mean_gpus == pytest.approx(11 / 3)
    assert d.cpus == CpusAsked(1, 1, 2.5, 6.0, pytest.approx(1100 / 3600), 0.5)
    alone = describe(four.iloc[[3]].assign(submit_s=0.0), "d", **cluster)
    assert alone.mean_gpus == 0
    assert alone.cpus is not None
    assert np.isnan([alone.cpus.of_a_gpu, alone.cpus.load]).all()


def test_shares_by_gpus_and_by_model(three: pd.DataFrame) -> None:
    """Of 400 GPU-s, 1 and 2 GPUs make 100 each, 8 the other half; a third of the jobs names no model."""
    d = describe(three, "three", cluster_gpus=10, machines=2, target_load=0.9)
    sizes = {share.name: (share.jobs, share.of_gpu_time) for share in d.sizes if share.jobs}
    assert sizes == {"1": (1, 0.25), "2": (1, 0.25), "5-8": (1, 0.5)}
    models = [(share.name, share.jobs, share.of_gpu_time) for share in d.models]
    assert models == [("VGG11", 2, 0.75), (UNNAMED, 1, 0.25)]


def test_every_number_of_gpus_has_one_place(three: pd.DataFrame) -> None:
    """0 to 200 GPUs: the shares of jobs add up to 1."""
    many = pd.concat([three.iloc[[0]].assign(gpus=gpus) for gpus in range(201)])
    d = describe(many.assign(submit_s=np.arange(201.0)), "x", cluster_gpus=10, machines=2, target_load=0.9)
    assert {s.name: s.jobs for s in d.sizes} == {
        "0": 1, "1": 1, "2": 1, "3-4": 2, "5-8": 4, "9-16": 8, "17-32": 16, "33-63": 31, "64+": 137,
    }  # fmt: skip
    assert sum(share.of_jobs for share in d.sizes) == pytest.approx(1.0)


def test_hours_are_those_of_the_dates(three: pd.DataFrame) -> None:
    """2024-03-03 is a Sunday: 23:59:50, then Monday 0:00:00 and 0:00:30."""
    first = pd.Timestamp("2024-03-03 23:59:50")
    dated = three.assign(submit_date=first + pd.to_timedelta(three["submit_s"], unit="s"))
    d = describe(dated, "x", cluster_gpus=10, machines=2, target_load=0.9)
    assert d.first_date == first
    assert (d.by_hour[23], d.by_hour[0]) == pytest.approx((1 / 3, 2 / 3))
    assert (d.by_weekday[6], d.by_weekday[0]) == pytest.approx((1 / 3, 2 / 3))


def test_dates_do_not_count_when_jobs_arrive_at_other_times(three: pd.DataFrame) -> None:
    """arrivals=poisson keeps the column, which says nothing of the new arrivals."""
    first = pd.Timestamp("2024-03-03 23:59:50")
    dated = three.assign(submit_date=first + pd.to_timedelta(three["submit_s"], unit="s"))
    d = describe(
        dated.assign(submit_s=[0.0, 4000.0, 9000.0]), "x", cluster_gpus=10, machines=2, target_load=0.9
    )
    assert d.first_date is None
    assert d.by_weekday == ()
    assert d.by_hour[:3] == pytest.approx((1 / 3, 1 / 3, 1 / 3))


def test_jobs_that_arrive_at_once_have_no_load(three: pd.DataFrame) -> None:
    """GPU time / 0 s: said as such, not divided."""
    d = describe(three.assign(submit_s=0.0), "x", cluster_gpus=10, machines=2, target_load=0.9)
    assert (d.load, d.machines_needed, d.over_time) == (float("inf"), None, None)


def test_the_mean_of_arriving_work_is_the_load(three: pd.DataFrame) -> None:
    """However the steps are cut; the last, shorter one counts by its length."""
    for scale in (1.0, 977.0, 12_345.0):
        table = three.assign(submit_s=three["submit_s"] * scale)
        d = describe(table, "x", cluster_gpus=10, machines=2, target_load=0.9)
        assert d.over_time is not None
        lengths = np.diff(d.over_time.edges_s)
        assert (lengths > 0).all()
        assert np.average(d.over_time.arriving, weights=lengths) == pytest.approx(d.load)


def test_gpus_in_use_by_hand() -> None:
    """2 GPUs from 0 to 10 and 1 from 5 to 30: in steps of 10 s (20 + 5) / 10, 10 / 10, 10 / 10, 0."""
    use = np.array([0.0, 5.0]), np.array([10.0, 30.0]), np.array([2.0, 1.0])
    assert mean_in_use(*use, np.array([0.0, 10, 20, 30, 40])).tolist() == [2.5, 1.0, 1.0, 0.0]
