"""Jobs like those of the CODA paper's month: its published figures, and the drawing rules by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from artist.data import data_path
from artist.workload.coda import CodaTable, CodaTrace, RunTimes, draw_cpu_jobs, draw_gpu_jobs, read_coda_table

TABLE = read_coda_table(data_path("traces", "generator_coda.yaml"))
SMALL: dict[str, Any] = {"gpus": 40, "days": 3}
COMPANIES = [f"company-{number}" for number in range(1, 5)]
DAY_S = 86_400


@pytest.fixture(scope="module")
def month() -> pd.DataFrame:
    """Return the whole month."""
    return CodaTrace().table().frame()


def made(**parameters: Any) -> pd.DataFrame:
    """Return the jobs of 3 days on 40 GPUs: 250 GPU and 750 CPU jobs, a hundredth of the month."""
    return CodaTrace(**SMALL | parameters).table().frame()


def known(**changes: Any) -> CodaTable:
    """Return the table with other values."""
    return TABLE.model_validate(TABLE.model_dump() | changes)


def test_the_published_jobs(month: pd.DataFrame) -> None:
    """Section VI-A: 25,000 and 75,000; III-A: 76.1 % ask for 1 or 2 CPUs a GPU, 15.3 % for more than 10.

    Section VI-F: 68.5 % run for more than an hour, 39.6 % for more than two. Most train on text or sound.
    """
    jobs = month[month["gpus"] > 0]
    assert (len(month), len(jobs)) == (100_000, 25_000)
    assert (jobs["cpus"] <= 2 * jobs["gpus"]).mean() == pytest.approx(0.761, abs=0.001)
    assert (jobs["cpus"] > 10).mean() == pytest.approx(0.153, abs=0.002)
    assert (jobs["duration_s"] > 3600).mean() == pytest.approx(0.685, abs=0.001)
    assert (jobs["duration_s"] > 7200).mean() == pytest.approx(0.396, abs=0.001)
    assert jobs["model"].isin(["BAT", "Transformer", "WaveNet", "DeepSpeech"]).mean() > 0.75
    assert set(jobs["gpus"]) == {1, 2, 4, 8}


def test_the_published_users(month: pd.DataFrame) -> None:
    """Section III-A: a lab has most GPU jobs, four companies most CPU jobs; users 15 to 20 no others."""
    counts = month.assign(gpu=month["gpus"] > 0).groupby(["vc", "gpu"]).size().unstack()
    assert sorted(counts.index) == [*COMPANIES, "lab"]
    assert counts.loc["lab", True] > counts.loc[COMPANIES, True].sum()
    assert (counts.loc[COMPANIES, False] > counts.loc[COMPANIES, True]).all()
    users = month.groupby("user")["gpus"].sum()
    assert users[users == 0].index.tolist() == [f"user-{number}" for number in range(15, 21)]
    assert len(users) == 20


def test_jobs_are_on_as_few_machines_as_users_ask_for(month: pd.DataFrame) -> None:
    """One machine for CPU jobs and up to 4 GPUs, two for 8; no machine has to give more than 28 CPUs."""
    assert (month["max_machines"] == np.where(month["gpus"] == 8, 2, 1)).all()
    assert (month["cpus"] / month["max_machines"]).between(1, 28).all()


def test_gpus_are_as_busy_as_their_model_keeps_them(month: pd.DataFrame) -> None:
    """The file of CODA's models has 0.7 for BAT, 0.8 for Transformer; CPU jobs have the default, 1."""
    result = month.groupby("model")["gpu_utilization"].unique().map(list)
    assert (result["BAT"], result["Transformer"], result[""]) == ([0.7], [0.8], [1.0])


@pytest.mark.parametrize("seed", [0, 1])
def test_days_are_alike(seed: int) -> None:
    """A day has a thirtieth of the jobs, within 2 %, and of their GPU- and CPU-seconds, within 15 %."""
    jobs = CodaTrace(seed=seed).table().frame()
    for part in (jobs[jobs["gpus"] > 0], jobs[jobs["gpus"] == 0]):
        day = (part["submit_s"] // DAY_S).astype(int)
        held = part["gpus"].where(part["gpus"] > 0, part["cpus"])
        work = (held * part["duration_s"]).groupby(day).sum().to_numpy()
        assert part.groupby(day).size().to_numpy() == pytest.approx(len(part) / 30, rel=0.02)
        assert work == pytest.approx(work.mean(), rel=0.15)


def test_jobs_arrive_at_the_rates_of_their_hour() -> None:
    """GPU jobs 2 : 1 by half-days, company-1's CPU jobs 1 : 3, others evenly: mornings have 2/3, 1/4, 1/2."""
    rates = dict.fromkeys(TABLE.cpu_hour_rate, (1.0,) * 24) | {"company-1": (1.0,) * 12 + (3.0,) * 12}
    table = known(gpu_hour_rate=(2.0,) * 12 + (1.0,) * 12, cpu_hour_rate=rates)
    chosen = CodaTrace.Parameters(days=4, gpus=100)
    gpu, cpu = draw_gpu_jobs(table, chosen).frame(), draw_cpu_jobs(table, chosen).frame()
    tenant = cpu["user"].map({name: user.tenant for name, user in table.users.items()})
    parts = (gpu, cpu[tenant == "company-1"], cpu[tenant == "company-2"])
    mornings = [(part["submit_s"] % DAY_S < DAY_S / 2).mean() for part in parts]
    assert mornings == pytest.approx([2 / 3, 1 / 4, 1 / 2], abs=0.02)


def test_classes_ask_for_cpus_of_each_gpu_or_of_the_job() -> None:
    """Three quarters ask for 2 CPUs a GPU on 4 GPUs, a quarter for 12; users 04 and 12 train AlexNet."""
    classes = [
        {"share": 3, "gpus": {4: 1}, "models": {"BAT": 1}, "cpus_per_gpu": {2: 1}},
        {"share": 1, "gpus": {1: 1}, "models": {"AlexNet": 1}, "cpus": {12: 1}},
    ]
    jobs = draw_gpu_jobs(known(requests=classes), CodaTrace.Parameters(**SMALL)).frame()
    asked = jobs.groupby(["gpus", "cpus", "model"]).size()
    assert dict(asked) == pytest.approx({(1, 12, "AlexNet"): 62, (4, 8, "BAT"): 188}, abs=1)
    assert set(jobs["user"][jobs["model"] == "AlexNet"]) == {"user-04", "user-12"}


def test_run_times_are_quantiles() -> None:
    """Half-way between 100 and 10,000 s is 1,000 s, their logarithms being linear."""
    times = RunTimes(quantiles=(0, 0.5, 1), seconds=(1, 100, 10_000))
    assert times.at(np.array([0, 0.5, 0.75, 1])).tolist() == [1, 100, 1000, 10_000]


def test_hungry_jobs_do_the_same_work_on_a_socket() -> None:
    """A tenth of 750 CPU jobs, 75: 14 CPUs that draw 14 GB/s each, for as many CPU-seconds as without."""
    fed, hungry = made(hungry=0), made(hungry=0.1)
    assert (fed["memory_bandwidth_bytes_per_s"] == 0).all()
    drawing = hungry["memory_bandwidth_bytes_per_s"] > 0
    assert (drawing.sum(), set(hungry["gpus"][drawing])) == (75, {0})
    assert set(hungry["memory_bandwidth_bytes_per_s"][drawing]) == {14 * 14e9}
    assert (hungry["cpus"][drawing] == 14).all()
    work = [jobs["cpus"] * jobs["duration_s"] for jobs in (fed, hungry)]
    assert work[1].to_numpy() == pytest.approx(work[0].to_numpy(), abs=0.01)
    drawn = hungry["memory_bandwidth_bytes_per_s"]
    more = made(hungry=0.1, hungry_gb_s=18)
    assert more.equals(hungry.assign(memory_bandwidth_bytes_per_s=drawn / 14 * 18))  # 252 GB/s instead of 196
    same = ["job_id", "submit_s", "gpus", "user"]
    assert fed[same].equals(hungry[same])
    more = made(hungry=0.2)["memory_bandwidth_bytes_per_s"] > 0
    assert (more[drawing].all(), more.sum()) == (True, 150)


@pytest.mark.parametrize(("load", "jobs"), [(1.0, 1000), (0.5, 500), (0.001, 2)])
def test_the_number_of_jobs_goes_with_the_load(load: float, jobs: int) -> None:
    """A hundredth of 100,000, half of that; and never none of a kind."""
    table = made(load=load)
    assert len(table) == jobs
    assert table["submit_s"].is_monotonic_increasing
    assert table["submit_s"].max() < 3 * DAY_S
    assert table["job_id"].is_unique


def test_equal_seeds_give_equal_jobs() -> None:
    """The same seed gives the same jobs, another one others."""
    assert made(seed=1).equals(made(seed=1))
    assert not made(seed=1)["submit_s"].equals(made(seed=2)["submit_s"])


USER = {"tenant": "lab", "gpu_jobs": 1.0, "models": ["BAT"]}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"gpu_run_times": {"quantiles": [0, 0.5], "seconds": [1, 2]}}, "rise to 1"),
        ({"gpu_run_times": {"quantiles": [0, 1], "seconds": [2, 1]}}, "not falling"),
        ({"gpu_run_times": {"quantiles": [0, 1], "seconds": [2]}}, "one value for each"),
        ({"requests": [{"share": 1, "gpus": {1: 1}, "models": {"BAT": 1}}]}, "either cpus or cpus_per_gpu"),
        ({"cpu_hour_rate": TABLE.cpu_hour_rate | {"lab": (1.0,) * 23}}, "24 rates"),
        ({"users": {"me": USER}}, "needs a user"),
        ({"users": TABLE.users | {"me": {"tenant": "nowhere", "cpu_jobs": 1.0}}}, "no cpu_hour_rate"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(change: dict[str, Any], fault: str) -> None:
    """Quantiles that end early; run times that fall or lack; CPUs unsaid; hours, users or tenants missing."""
    with pytest.raises(ValueError, match=fault):
        known(**change)
