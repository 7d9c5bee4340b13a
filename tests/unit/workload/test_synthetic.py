"""The generator resembles the published distributions and does what its parameters say."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from artist.errors import InputError
from artist.workload.arrivals import load_of
from artist.workload.synthetic import SyntheticTrace, read_generator_table

Write = Callable[..., Path]
DAY_S = 86_400.0

# distributions.json of the recovered traces, job_level, emp_median and emp_mean by size
# (GPUs from, to): (median_s, mean_s)
VENUS = {
    (1, 1): (209.0, 6765.9),
    (2, 4): (201.0, 14144.8),
    (5, 8): (195.0, 9595.1),
    (9, 16): (394.5, 17234.0),
    (17, 32): (193.0, 14918.2),
    (33, 160): (75.0, 6387.8),
}
PHILLY = {(1, 1): (1352.0, 7310.1), (2, 4): (70.0, 35561.9), (5, 8): (23598.5, 123813.1)}


@pytest.mark.parametrize(("preset", "published"), [("helios_venus", VENUS), ("philly", PHILLY)])
def test_the_shipped_tables_are_the_published_distributions(
    preset: str, published: dict[tuple[int, int], tuple[float, float]]
) -> None:
    """Exact, without sampling: the median of each class, and its mean within 3 %.

    Between two quantiles a and b of a log-linear table the mean is (b - a) / ln(b / a).
    """
    known = read_generator_table(SyntheticTrace(preset=preset, load=1).input_files[0])
    steps = np.diff(known.quantiles)
    for part, (median_s, mean_s) in zip(known.size_classes, published.values(), strict=False):
        low, high = np.array(part.duration_s[:-1]), np.array(part.duration_s[1:])
        ratio = np.log(high / low)
        means = np.where(ratio > 0, (high - low) / np.where(ratio > 0, ratio, 1.0), low)
        assert part.duration_s[known.quantiles.index(0.5)] == pytest.approx(median_s, abs=0.06)
        assert float(np.sum(steps * means)) == pytest.approx(mean_s, rel=0.03)


@pytest.mark.parametrize(
    ("preset", "work", "gpu_hours", "mean_gpus", "within"),
    [
        ("dally_batch", "per_gpu", 13_054, 5.09, 0.05),
        ("dally_poisson", "per_gpu", 13_413, 9.21, 0.05),
        ("dally_batch", "per_job", 82_827, 5.09, 0.1),
        ("dally_poisson", "per_job", 138_767, 9.21, 0.1),
    ],
)
def test_drawn_jobs_are_like_those_of_the_dally_authors(
    preset: str, work: str, gpu_hours: float, mean_gpus: float, within: float
) -> None:
    """50 times as many: GPU-hours and GPUs per job as in their files (measured by the reader).

    Per job within 10 %: run times are drawn by model, whatever the GPUs.
    """
    jobs = SyntheticTrace(preset=preset, jobs=25_000, days=1, work=work).table().frame()
    per_file = {"dally_batch": 500, "dally_poisson": 411}[preset] / 25_000
    drawn = float((jobs["gpus"] * jobs["duration_s"]).sum()) / 3600 * per_file
    assert drawn == pytest.approx(gpu_hours, rel=within)
    assert jobs["gpus"].mean() == pytest.approx(mean_gpus, rel=0.05)


def test_work_per_gpu_divides_the_run_time_by_the_gpus() -> None:
    """The same draws: GPUs and models are equal, and a job of n GPUs takes 1/n of the time (ms rounded)."""
    job, gpu = (SyntheticTrace(preset="dally_batch", days=1, work=w).table() for w in ("per_job", "per_gpu"))
    assert job["gpus"].tolist() == gpu["gpus"].tolist()
    assert job["model"].tolist() == gpu["model"].tolist()
    assert gpu["duration_s"] == pytest.approx(job["duration_s"] / job["gpus"], abs=0.0011)


@pytest.mark.parametrize("preset", ["helios_venus", "philly", "muri", "acme_kalos"])
def test_work_per_gpu_is_refused_where_run_times_were_measured(preset: str) -> None:
    """Their run times are those of whole jobs: there are no iterations of one GPU to divide."""
    with pytest.raises(InputError, match=r"(?s)workload\.work: no effect.*found 'per_gpu'"):
        SyntheticTrace(preset=preset, load=1, work="per_gpu").table()


def test_no_days_are_a_batch() -> None:
    """`days: 0`: all arrive at 0 s; the other draws are those of any other length, in order of arrival."""
    batch, week = (SyntheticTrace(jobs=20, days=days, seed=3).table().frame() for days in (0, 7))
    assert batch["submit_s"].tolist() == [0.0] * 20
    assert sorted(batch["gpus"]) == sorted(week["gpus"])


def test_a_large_sample_of_venus_is_like_venus() -> None:
    """100,000 jobs against distributions.json: GPU mix, mean GPUs, mean and quartiles of durations."""
    jobs = SyntheticTrace(jobs=100_000, days=100, seed=1, structure="none").table().frame()
    shares = jobs["gpus"].value_counts(normalize=True)
    for gpus, share in {1: 0.5126, 4: 0.07587, 8: 0.24648, 16: 0.04812, 32: 0.02906}.items():
        assert shares[gpus] == pytest.approx(
            share, abs=0.006
        )  # 4 deviations of sqrt(0.25 / 1e5), + others left out
    assert jobs["gpus"].mean() == pytest.approx(6.931, rel=0.03)
    assert jobs["duration_s"].median() == pytest.approx(204, rel=0.03)
    assert jobs["duration_s"].mean() == pytest.approx(9228.9, rel=0.04)
    assert jobs["duration_s"].quantile(0.25) == pytest.approx(68, rel=0.05)
    assert jobs["duration_s"].quantile(0.75) == pytest.approx(1613, rel=0.06)
    assert jobs["duration_s"].max() == 172_800  # the clamp of the recovered trace


def test_a_large_sample_of_philly_is_like_philly() -> None:
    """95 % of the jobs have 1 GPU; median 1,329 s. The mean hangs on a few jobs of weeks: 10 %."""
    jobs = SyntheticTrace(preset="philly", jobs=100_000, days=100, seed=1, structure="none").table().frame()
    assert jobs["gpus"].eq(1).mean() == pytest.approx(0.9503, abs=0.003)
    assert jobs["duration_s"].median() == pytest.approx(1329, rel=0.03)
    assert jobs["duration_s"].mean() == pytest.approx(9972, rel=0.1)


def test_arrivals_follow_the_hours_and_days() -> None:
    """Of distributions.json, hourly_mult: 0.175 at 6 h, 1.748 at 17 h; Saturday is below Wednesday."""
    jobs = SyntheticTrace(jobs=100_000, days=70, start_hour=0, seed=1, structure="none").table().frame()
    hours = np.bincount((jobs["submit_s"] // 3600 % 24).astype(int), minlength=24) / (100_000 / 24)
    days = np.bincount((jobs["submit_s"] // DAY_S % 7).astype(int), minlength=7)
    assert hours[6] == pytest.approx(0.175, abs=0.03)
    assert hours[17] == pytest.approx(1.748, abs=0.08)
    assert days[5] < 0.7 * days[2]


def test_the_start_shifts_the_hour_of_day() -> None:
    """Beginning at 17 h the first hour is the busiest: 1.748 of the mean, 24 hours in all."""
    jobs = SyntheticTrace(jobs=50_000, days=1, start_hour=17, seed=1, structure="none").table().frame()
    first = (jobs["submit_s"] < 3600).mean() * 24
    assert first == pytest.approx(1.748, rel=0.1)  # Monday 17 h to Tuesday 17 h: the days differ by 6 %


@pytest.mark.parametrize(("structure", "count", "near"), [("none", 400, 0.03), ("series", 20_000, 0.01)])
def test_load_sets_the_span(structure: str, count: int, near: float) -> None:
    """Work / (128 GPUs x span) = 0.9; the last of 400 arrivals lies about 1 / 400 before the end.

    In series 400 arrivals may end with a silent night: 20,000 do not, and are nearer.
    """
    chosen = {"jobs": count, "structure": structure, "max_gpus": 64, "seed": 0}
    jobs = SyntheticTrace(load=0.9, load_gpus=128, **chosen).table().frame()
    assert len(jobs) == count
    assert load_of(jobs, 128) == pytest.approx(0.9, rel=near)


def test_rate_and_days_set_the_span() -> None:
    """1,000 jobs at 500 a day, or in 2 days: both within 2 days, and almost 2 days long."""
    for length in ({"jobs_per_day": 500}, {"days": 2}):
        last_s = SyntheticTrace(jobs=1000, **length).table().frame()["submit_s"].max()
        assert 1.9 * DAY_S < last_s <= 2 * DAY_S


def test_bounds_condition_the_draw() -> None:
    """All 500 jobs lie between 2 and 16 GPUs; of those 8 GPUs keep 0.246 / 0.425 = 58 %."""
    jobs = SyntheticTrace(jobs=500, load=1, min_gpus=2, max_gpus=16, structure="none").table().frame()
    assert len(jobs) == 500
    assert set(jobs["gpus"]) <= {2, 3, 4, 5, 6, 7, 8, 16}
    assert jobs["gpus"].eq(8).mean() == pytest.approx(0.58, abs=0.09)  # 4 x sqrt(0.58 x 0.42 / 500)


def test_the_seed_decides_and_parts_do_not_touch_each_other() -> None:
    """Same seed, same jobs; another span changes arrivals only, since each part has its own generator."""
    first, again = (SyntheticTrace(jobs=50, days=1, seed=3).table().frame() for _ in range(2))
    longer, other = (
        SyntheticTrace(jobs=50, days=9, seed=3).table().frame(),
        SyntheticTrace(jobs=50, days=1).table().frame(),
    )
    assert first.equals(again)
    assert sorted(first["duration_s"]) == sorted(longer["duration_s"]) != sorted(other["duration_s"])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "give one of load, days and jobs_per_day"),
        ({"load": 1, "days": 2}, "not load and days"),
        ({"load": 1, "jobs": 0}, "workload.jobs: wrong value"),
        ({"load": 1, "jobs": "many"}, "workload.jobs: wrong value"),
        ({"load": -1}, "workload.load: wrong value"),
        ({"load": 1, "preset": "acme"}, "workload.preset: wrong value"),
        ({"load": 1, "job": 3}, r"workload.job: unknown option\n.*did you mean '?jobs"),
        ({"load": 1, "start_hour": 24}, "workload.start_hour: wrong value"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], words: str) -> None:
    """Before anything is drawn."""
    with pytest.raises(InputError, match=words):
        SyntheticTrace(**parameters)


def test_bounds_without_a_job() -> None:
    """Venus has no job of 1,000 GPUs."""
    with pytest.raises(InputError, match="no job has GPUs in this range"):
        SyntheticTrace(load=1, min_gpus=1000).table().frame()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("quantiles: [0.0", "quantiles: [0.5", "quantiles must rise from 0 to 1"),
        ("hour_rate: [", "hour_rate: [1, ", "hour_rate"),
        ("  8: 0.2", "  8: -0.2", "gpu_probability"),
        ("max_gpus: null", "max_gpus: 2", "must rise and end with null"),
        ("source:", "source: [", "not YAML"),
    ],
)
def test_a_bad_table_is_refused(write: Write, old: str, new: str, words: str) -> None:
    """A table of one's own may be wrong."""
    text = SyntheticTrace(load=1).input_files[0].read_text()
    assert old in text
    with pytest.raises(InputError, match=words):
        read_generator_table(write(text.replace(old, new), "g.yaml"))


def test_the_published_figures_above_are_the_published_ones(traces: Path) -> None:
    """The numbers of this file are copied from distributions.json."""
    levels = json.loads((traces / "distributions.json").read_text())["job_level"]
    for name, copied in (("helios_venus", VENUS), ("philly_pass", PHILLY)):
        for part, (median_s, mean_s) in zip(levels[name]["by_size"].values(), copied.values(), strict=False):
            assert (part["emp_median"], part["emp_mean"]) == (median_s, mean_s)
