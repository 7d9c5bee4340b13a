"""Jobs in series: their rules by hand, their distributions, and how like the traces they come out."""

import hashlib
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from artist.describe.structure import next_correlation, time_structure
from artist.randomness import child_generator
from artist.workload.readers.helios import HeliosTrace
from artist.workload.series import Series, alone, levels, offsets_s, repeated, series_of
from artist.workload.synthetic import (
    GeneratorTable,
    SizeClass,
    SyntheticTrace,
    draw_jobs,
    read_generator_table,
)

PLAIN = Series(
    max_jobs=4,
    pace_s=10,
    pace_spread=0,
    level_spread=0.5,
    level_hours=3,
    same_gpus=0.5,
    same_duration=0.5,
    alone_power=4,
)
DAYS = 30


def random() -> np.random.Generator:
    """Return a generator of one seed."""
    return child_generator(0, "test")


def drawn(preset: str = "helios_venus", days: float = DAYS, **parameters: object) -> pd.DataFrame:
    """Return jobs of a preset at its own rate, from Monday 0:00."""
    rate = read_generator_table(SyntheticTrace(preset=preset, load=1).input_files[0]).jobs_per_day
    jobs = round(rate * days)
    return SyntheticTrace(preset=preset, jobs=jobs, days=days, start_hour=0, **parameters).table().frame()


def test_a_series_has_k_jobs_or_more_with_probability_1_over_k() -> None:
    """Draws 0.99, 0, 0.5, 0.7: of 100 the most, 4 jobs, then 1, 2 and 3. The tenth job is the last."""
    draws = np.array([0.99, 0.0, 0.5, 0.7, *[0.0] * 6])
    assert series_of(PLAIN, draws).tolist() == [0, 0, 0, 0, 1, 2, 2, 3, 3, 3]


def test_without_series_every_job_is_its_own() -> None:
    """Whatever was drawn."""
    assert series_of(None, np.array([0.0, 0.9, 0.99])).tolist() == [0, 1, 2]


def test_gaps_are_exponential_of_the_pace_of_their_series() -> None:
    """1,000 series of 100 jobs, 10 s apart in the mean: the first at 0 s, gaps of 10 s, CV 1; within 2 %.

    With paces of spread 1 the CV between the means of series is that of a lognormal, sqrt(e - 1) = 1.31.
    """
    member_of = np.repeat(np.arange(1000), 100)
    since = offsets_s(PLAIN, member_of, 1e9, random()).reshape(1000, 100)
    gaps = np.diff(since, axis=1)
    assert (since[:, 0] == 0).all()
    assert gaps.mean() == pytest.approx(10, rel=0.02)
    assert gaps.std() == pytest.approx(10, rel=0.02)
    spread = offsets_s(PLAIN.model_copy(update={"pace_spread": 1.0}), member_of, 1e9, random())
    paces = np.diff(spread.reshape(1000, 100), axis=1).mean(axis=1)
    assert np.log(paces).std() == pytest.approx(1.0, rel=0.05)
    assert np.median(paces) == pytest.approx(10, rel=0.1)
    slow = offsets_s(PLAIN, member_of, 5.0, random())
    assert slow == pytest.approx(since.ravel() / 2)  # no slower than the 5 s that there are


def test_levels_are_lognormal_and_autoregressive() -> None:
    """Logarithms of mean 0 and deviation 0.5; correlation exp(-n / 3) with the hour after n."""
    logs = np.log(levels(PLAIN, 200_000, random()))
    assert logs.mean() == pytest.approx(0, abs=0.01)
    assert logs.std() == pytest.approx(0.5, abs=0.01)
    for lag in (1, 2):
        assert np.corrcoef(logs[:-lag], logs[lag:])[0, 1] == pytest.approx(np.exp(-lag / 3), abs=0.01)
    firsts = [np.log(levels(PLAIN, 1, np.random.default_rng(seed))[0]) for seed in range(2000)]
    assert np.std(firsts) == pytest.approx(0.5, abs=0.04)  # from the first hour on


def test_jobs_repeat_their_series() -> None:
    """Never, always, or half of them: of a series of 10,000 jobs 5,000 within 4 x 50."""
    draws, member_of = random().random(20_000), np.repeat([0, 1], 10_000)
    repeats, all_of, some = (repeated(draws, chance, member_of, random()) for chance in (0, 1, 0.5))
    assert (repeats == draws).all()
    assert len(set(all_of[:10_000])) == len(set(all_of[10_000:])) == 1
    assert all_of[0] != all_of[-1]
    assert (some == all_of)[:10_000].sum() == pytest.approx(5000, abs=200)


def test_the_more_work_a_job_is_the_more_often_it_comes_by_itself() -> None:
    """Power 4: 1 in 5 of 100,000 jobs; 0.82 of the tenth of most work, 0.0125 of the half of least.

    However the work is distributed. The mean of x ** 4 is (1 - 0.9 ** 5) / (5 x 0.1) = 0.819 from 0.9 to 1,
    and 0.5 ** 5 / (5 x 0.5) up to 0.5.
    """
    for work in (np.arange(100_000.0), np.exp(np.arange(100_000) / 1e4)):
        mixed = np.random.default_rng(1).permutation(work)
        by_itself = alone(PLAIN, mixed, random())
        place = np.argsort(np.argsort(mixed))
        assert by_itself.mean() == pytest.approx(0.2, abs=0.005)
        assert by_itself[place >= 90_000].mean() == pytest.approx(0.819, abs=0.015)
        assert by_itself[place < 50_000].mean() == pytest.approx(0.0125, abs=0.003)


def in_bursts(alone_power: float) -> pd.DataFrame:
    """Return 20,000 jobs of 1 or 8 GPUs and 1 to 4 s in every other of 1,000 hours, of different levels."""
    series = {"max_jobs": 50, "pace_s": 1, "level_spread": 2, "same_duration": 1, "alone_power": alone_power}
    known = GeneratorTable(
        source={},
        jobs_per_day=1,
        gpu_probability={1: 0.5, 8: 0.5},
        quantiles=(0, 1),
        size_classes=(SizeClass(max_gpus=None, jobs=1, duration_s=(1, 4)),),
        hour_rate=(1, 0) * 12,
        weekday_rate=(1,) * 7,
        series=PLAIN.model_copy(update=series),
    )
    chosen = SyntheticTrace.Parameters(jobs=20_000, days=1000 / 24, start_hour=0)
    return draw_jobs(known, chosen).frame()


def dispersion(jobs: pd.DataFrame) -> float:
    """Return variance / mean of the jobs in those hours that may have some."""
    count = np.bincount((jobs["submit_s"] // 3600).astype(int), minlength=1000)
    assert count[1::2].sum() == 0
    return float(count[::2].var() / count[::2].mean())


def test_jobs_that_come_by_themselves_keep_to_the_rates_and_to_no_series() -> None:
    """20,000 jobs in 500 hours: Poisson, 1 +- 0.06, if all come by themselves; if none does, far more.

    Jobs of a series take equally long: the next job does in bursts, and not where each comes by itself.
    """
    every, none = in_bursts(1e-9), in_bursts(1e9)
    assert dispersion(every) == pytest.approx(1, abs=0.25)
    assert dispersion(none) > 50
    assert next_correlation(np.log(every["duration_s"])) == pytest.approx(0, abs=0.03)
    assert next_correlation(np.log(none["duration_s"])) > 0.5


def test_jobs_of_much_work_come_by_themselves_and_those_of_little_in_series() -> None:
    """Power 4: by themselves come 2e-5 of the tenth of least GPU time, of that of most 0.82.

    The variance of as many jobs goes with the square of the share in series: 0.18 ** 2 = 0.03 of the excess
    over 1; a fifth is asked. All jobs of 8 GPUs, 8 GPU-s or more, are above those of one, 4 or less: 0.39 of
    them come by themselves, so 0.61 ** 2 = 0.38; 0.6 is asked.
    """
    jobs = in_bursts(4)
    work = jobs.assign(work=jobs["gpus"] * jobs["duration_s"]).sort_values("work")
    assert dispersion(work[-2000:]) - 1 < 0.2 * (dispersion(work[:2000]) - 1)
    one, eight = (dispersion(jobs[jobs["gpus"] == gpus]) for gpus in (1, 8))
    assert eight - 1 < 0.6 * (one - 1)


@pytest.mark.parametrize("days", [0.5, 30])
def test_arrivals_are_within_the_span(days: float) -> None:
    """A series that runs over the end goes on at the beginning, so the load is what was asked."""
    submit_s = drawn(days=days)["submit_s"]
    assert submit_s.between(0, days * 86_400).all()
    assert submit_s.is_monotonic_increasing


def test_series_leave_the_distributions_as_they_are() -> None:
    """20 seeds of 20,000 jobs: GPUs, durations, hours as without series, within five standard errors."""
    runs = [drawn(seed=seed) for seed in range(20)]
    plain = drawn(structure="none", days=300)

    def figures(jobs: pd.DataFrame) -> list[float]:
        hours = np.bincount((jobs["submit_s"] // 3600 % 24).astype(int), minlength=24) / len(jobs)
        shares = [float(jobs["gpus"].eq(gpus).mean()) for gpus in (1, 4, 8, 32)]
        below = [float((jobs["duration_s"] <= limit_s).mean()) for limit_s in (10, 68, 204, 1613, 172_799)]
        large = float((jobs["duration_s"][jobs["gpus"] > 8] <= 300).mean())
        return [*shares, *below, large, *hours]

    many = np.array([figures(run) for run in runs])
    error = many.std(axis=0, ddof=1) / np.sqrt(len(runs))
    apart = np.abs(many.mean(axis=0) - figures(plain))
    assert (apart < 5 * error + 0.002).all()
    assert (error < 0.02).all()


@pytest.mark.parametrize(
    ("preset", "jobs", "days", "digest"),
    [("dally_batch", 500, 0, "73440e85239901aa"), ("dally_poisson", 411, 7, "16dd6baa7385867b")],
)
def test_the_jobs_of_dally_are_those_of_before_there_were_series(
    preset: str, jobs: int, days: float, digest: str
) -> None:
    """Byte for byte, with either structure: their tables have no series."""
    for structure in ("none", "series"):
        source = SyntheticTrace(preset=preset, jobs=jobs, days=days, structure=structure, work="per_gpu")
        table = source.table().frame()
        assert hashlib.sha256(table.to_csv().encode()).hexdigest()[:16] == digest


def structure_of(tables: list[pd.DataFrame]) -> dict[str, float]:
    """Return the mean figures of time structure."""
    return dict(pd.DataFrame([asdict(time_structure(table)) for table in tables]).mean())


def venus(traces: Path, file: str, *months: str) -> list[pd.DataFrame]:
    """Return months of Venus, each by itself."""
    jobs = HeliosTrace(path=traces / "helios-venus" / file).table().frame()
    parts = [jobs[jobs["submit_date"].dt.strftime("%Y-%m") == month] for month in months]
    return [part.assign(submit_s=part["submit_s"] - part["submit_s"].min()) for part in parts]


@pytest.fixture(scope="module")
def like_venus() -> dict[str, float]:
    """Return the mean figures of 40 draws of 30 days: the daily dispersion of one may be a third off."""
    return structure_of([drawn(seed=seed) for seed in range(40)])


SPRING = "venus_gpu_jobs_2020-03-18_2020-07-31.csv.gz"
AUTUMN = "venus_gpu_jobs_2020-09-01_2020-09-13.csv.gz"


@pytest.mark.parametrize(
    ("months", "near"),
    [
        pytest.param((("2020-04", "2020-05"), ()), 0.3, marks=pytest.mark.slow),
        ((("2020-06", "2020-07"), ("2020-09",)), 0.4),
    ],
)
def test_draws_are_like_the_months_that_were_fitted_and_like_the_others(
    traces: Path, like_venus: dict[str, float], months: tuple[tuple[str, ...], tuple[str, ...]], near: float
) -> None:
    """Within 30 % of April and May, 40 % of June, July and September: months differ among each other by more.

    The CV of the gaps hangs on a few nights and stops of hours, which the generator has not: at least half.
    """
    real = structure_of([*venus(traces, SPRING, *months[0]), *venus(traces, AUTUMN, *months[1])])
    cv = real.pop("interarrival_cv")
    assert 0.45 * cv < like_venus["interarrival_cv"] < cv
    for name, value in real.items():
        assert like_venus[name] == pytest.approx(value, rel=near), name


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "jobs", "days"), [("philly", 45_829, 31), ("muri", 992, 94.5)])
def test_other_presets_are_in_series_too(preset: str, jobs: int, days: float) -> None:
    """Against independent jobs: four times the dispersion, and jobs that are like the next one.

    As many jobs in as many days as in what was fitted.
    """
    chosen = {"preset": preset, "jobs": jobs, "days": days, "start_hour": 0}
    runs = {
        structure: structure_of(
            [SyntheticTrace(**chosen, structure=structure, seed=seed).table().frame() for seed in range(10)]
        )
        for structure in ("series", "none")
    }
    series, none = runs["series"], runs["none"]
    assert series["hourly_dispersion"] > 4 * none["hourly_dispersion"]
    assert series["gpus_correlation"] > 0.3 > 0.1 > abs(none["gpus_correlation"])
    assert series["duration_correlation"] > 0.3 > 0.1 > abs(none["duration_correlation"])
