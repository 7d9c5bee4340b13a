"""Jobs like those of the Lyra paper's trace: the drawing rules by hand, and its published figures."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from artist.data import data_path
from artist.errors import InputError
from artist.randomness import child_generator
from artist.tables.rows import Table
from artist.workload.lyra import (
    LyraTable,
    LyraTrace,
    days_of,
    draw_arrivals_s,
    draw_jobs,
    read_lyra_table,
)
from artist.workload.queueing import fifo_waits_s

TABLE = read_lyra_table(data_path("traces", "generator_lyra.yaml"))
SMALL: dict[str, Any] = {"training_gpus": 256, "days": 5}


def made(**parameters: Any) -> pd.DataFrame:
    """Return the jobs of 5 days on 256 GPUs: 50390 x 256 / 3544 / 3 = 1213."""
    return LyraTrace(**SMALL | parameters).table().frame()


def waits_s(jobs: pd.DataFrame, gpus: int) -> np.ndarray:
    """Return the jobs' waits under strict FIFO."""
    columns = (jobs[name].to_numpy() for name in ("submit_s", "gpus", "step", "duration_s"))
    return fifo_waits_s(*columns, gpus // 8)


def test_the_published_figures() -> None:
    """Under strict FIFO: JCT within 15 %, queueing mean and p95 within 25 % and median below 10 minutes.

    Usage is not a percentile: 0.72 within 0.02. Waits are those of `policy=lyra_fifo`, as another test shows.
    """
    jobs = LyraTrace().table().frame()
    assert len(jobs) == 50_390
    waited_s = waits_s(jobs, 3544)
    jct_s = waited_s + jobs["duration_s"].to_numpy()
    assert [jct_s.mean(), *np.percentile(jct_s, (50, 75, 95, 99))] == pytest.approx(
        [16_610, 791, 29_163, 82_933, 376_513], rel=0.15
    )
    assert [waited_s.mean(), np.percentile(waited_s, 95)] == pytest.approx([3072, 8357], rel=0.25)
    assert np.median(waited_s) < 600
    start_s = jobs["submit_s"] + waited_s
    end_s = jobs["submit_s"].max()
    held_s = (start_s + jobs["duration_s"]).clip(upper=end_s) - start_s.clip(upper=end_s)
    assert (held_s * jobs["gpus"]).sum() / (3544 * end_s) == pytest.approx(0.72, abs=0.02)


def test_the_published_elastic_and_fungible_jobs() -> None:
    """5 % of the jobs are elastic, with 36 % of the GPU time and 14.2 h each; 21 % are fungible besides."""
    jobs = LyraTrace(queueing_s=None, elastic_on_loan=False).table().frame()
    elastic, work = jobs["max_gpus"] > 0, jobs["gpus"] * jobs["duration_s"]
    assert elastic.mean() == pytest.approx(0.05, abs=0.001)
    assert work[elastic].sum() / work.sum() == pytest.approx(0.36, abs=0.01)
    assert jobs["duration_s"][elastic].mean() / 3600 == pytest.approx(14.2, rel=0.05)
    assert set(jobs["model"][elastic]) == {"ResNet50", "VGG16", "BERT-large", "GNMT"}
    assert jobs["fungible"].mean() == pytest.approx(0.21, abs=1e-4)
    by_load = LyraTrace(queueing_s=None, elastic_on_loan=False, fungible_by="load").table().frame()
    assert work[by_load["fungible"] > 0].sum() / work.sum() == pytest.approx(0.21, abs=0.001)


@pytest.mark.parametrize("seed", [1, 2])
def test_small_clusters_wait_as_long(seed: int) -> None:
    """2480 s within 10 % on 32 machines too, of any seed; without an aim, as it comes."""
    assert waits_s(made(seed=seed), 256).mean() == pytest.approx(2480, rel=0.1)
    assert waits_s(made(seed=seed, queueing_s=None), 256).mean() != pytest.approx(2480, rel=0.1)


def test_a_waiting_time_that_was_set_and_cannot_be_had_is_refused() -> None:
    """30 jobs in 5 days on 256 GPUs hardly wait; 0 s, which is no setting, is not named as one."""
    with pytest.raises(InputError, match="queueing_s") as refused:
        made(jobs=30, queueing_s=2480)
    assert "allowed: another number of jobs, preset or null" in str(refused.value)
    with pytest.raises(InputError, match=r"allowed: about [1-9][0-9]*, which is nearest, another number of"):
        made(queueing_s=1e7)


def test_the_nearest_to_the_waiting_time_of_the_preset_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    """The jobs are made, and a note says how long they wait; none where that is near enough."""
    with caplog.at_level("INFO"):
        jobs = made(jobs=30)
    assert (len(jobs), waits_s(jobs, 256).mean()) == (30, pytest.approx(0, abs=1))
    (note,) = [record.getMessage() for record in caplog.records if getattr(record, "note", False)]
    assert note.startswith("jobs wait 0 s on average in a strict FIFO queue, nearest to the 2480 s of lyra;")
    caplog.clear()
    made()
    assert not caplog.records


@pytest.mark.parametrize(("preset", "seconds"), [("lyra", 2480), ("lyra_testbed", 1532)])
def test_the_waiting_time_of_a_preset_is_as_if_it_were_set(preset: str, seconds: int) -> None:
    """On 256 GPUs, 440 or 4 machines, the same jobs come at the same times."""
    sizes = (
        [{"training_gpus": 32, "days": 1 / 3}]
        if preset == "lyra_testbed"
        else [SMALL, {"training_gpus": 440}]
    )
    for size in sizes:
        chosen = LyraTrace(preset=preset, **size).table().frame()
        pd.testing.assert_frame_equal(
            chosen, LyraTrace(preset=preset, queueing_s=seconds, **size).table().frame()
        )


def test_run_times_have_the_percentiles_of_the_table() -> None:
    """One job in each of 1000 equal parts: the median is between the quantiles 0.499 and 0.501."""
    run_time_s = draw_jobs(TABLE, LyraTrace.Parameters(jobs=1000, seed=3)).run_time_s
    at = np.interp([0.499, 0.501], TABLE.quantiles, np.log(TABLE.run_time_s))
    low, high = np.exp(at)
    assert low - 0.001 <= np.median(run_time_s) <= high + 0.001
    assert (np.diff(run_time_s) >= 0).all()


def test_gpus_have_the_shares_of_their_class_all_along_it() -> None:
    """0.46 of the short jobs have 1 GPU: 92 of any 200 in a row, one more or less."""
    drawn = draw_jobs(TABLE, LyraTrace.Parameters(jobs=5000))
    ones = (drawn.gpus[drawn.short][:3600] == 1).reshape(18, 200).sum(axis=1)
    assert set(ones) <= {91, 92, 93}


def test_no_job_asks_for_half_a_small_cluster() -> None:
    """Up to 128 GPUs on 3544; a sixteenth of 888, 55, is 6 machines; on 4 machines, one of them."""
    wide = [made(training_gpus=gpus, queueing_s=None)["gpus"].max() for gpus in (3544, 888, 32)]
    assert wide == [128, 48, 8]


def test_arrivals_follow_the_rates() -> None:
    """Thursday, Friday at 1, Saturday at 0.5; mornings three times as busy: 0.4, 0.4, 0.2; within 3 : 1."""
    halves = (3.0,) * 12 + (1.0,) * 12
    week = (1.0,) * 5 + (0.5, 1.0)
    update = {"short_hour_rate": halves, "long_hour_rate": halves, "weekday_rate": week}
    known = TABLE.model_copy(update=update)
    chosen = LyraTrace.Parameters(days=3, jobs=20_000, queueing_s=None)
    drawn = draw_jobs(known, chosen)
    submit_s = draw_arrivals_s(known, chosen, drawn, drawn.gpus)
    for part in (drawn.short, ~drawn.short):
        counts = np.histogram(submit_s[part], bins=np.arange(7) * 43_200)[0] / part.sum()
        assert counts == pytest.approx([0.3, 0.1, 0.3, 0.1, 0.15, 0.05], abs=0.02)


def test_days_come_in_the_order_drawn() -> None:
    """Days 1, 1, 0 of jobs at 100 s of day 0, 50 and 60 s of day 1: each keeps its time of day."""
    table = Table({"submit_s": [100.0, 86_450.0, 86_460.0], "gpus": [1, 2, 3]})
    result = days_of(table, [1, 1, 0])
    assert result["submit_s"].tolist() == [50, 60, 86_450, 86_460, 172_900]
    assert result["gpus"].tolist() == [2, 3, 2, 3, 1]


def test_bootstrapped_traces_are_days_of_the_one() -> None:
    """Number 0 under seed 0 draws 4 of 5 days with its own generator; number 1 others. Ids stay unique."""
    whole, drawn, other = made(), made(bootstrap=0, bootstrap_days=4), made(bootstrap=1, bootstrap_days=4)
    days = child_generator(0, "lyra.bootstrap.0").integers(5, size=4)
    day_of = (whole["submit_s"] // 86_400).astype(int)
    assert len(drawn) == sum((day_of == day).sum() for day in days)
    assert drawn["job_id"].is_unique
    assert drawn["submit_s"].is_monotonic_increasing
    assert drawn["submit_s"].tolist() != other["submit_s"].tolist()


def test_scenarios_share_jobs_arrivals_and_run_times() -> None:
    """In Ideal all are elastic up to twice their GPUs, and mixed; in Heterogeneous a tenth is mixed."""
    same = ["job_id", "submit_s", "gpus", "duration_s", "model"]
    basic, ideal = made(), made(elastic=1, heterogeneous=1)
    other = made(fungible=0, elastic_on_loan=False, heterogeneous=0.1)
    assert basic[same].equals(ideal[same])
    assert basic[same].equals(other[same])
    assert (ideal["max_gpus"] == 2 * ideal["gpus"]).all()
    assert (ideal["min_gpus"] == ideal["gpus"]).all()
    assert (ideal["mixed_types"] == 1).all()
    assert other["mixed_types"].sum() == other["fungible"].sum() == round(0.1 * len(other))


def test_job_types_restrict_gpu_types() -> None:
    """V100 only, unless it is fungible, as elastic and mixed jobs are too; the others are neither."""
    jobs = made(heterogeneous=0.1, checkpointing=0.3)
    assert (jobs["gpu_types"] == np.where(jobs["fungible"] > 0, "", "V100")).all()
    assert (jobs["fungible"][(jobs["max_gpus"] > 0) | (jobs["mixed_types"] > 0)] == 1).all()
    assert 0.21 < jobs["fungible"].mean() < 0.21 + 0.1 + 0.05
    assert (jobs["on_stop"] == "keep").sum() == round(0.3 * len(jobs))
    assert set(jobs["on_stop"]) == {"keep", ""}


def test_workers_have_up_to_8_gpus_and_those_of_elastic_jobs_2() -> None:
    """Columns `step` of the whole table; gpus are whole workers."""
    jobs = made()
    elastic = jobs["max_gpus"] > 0
    assert (jobs["step"] == np.minimum(jobs["gpus"], np.where(elastic, 2, 8))).all()
    odd = made(worker_gpus=3)
    assert (odd["gpus"] % odd["step"] == 0).all()


@pytest.mark.parametrize("name", ["lyra_advanced", "lyra_heterogeneous", "lyra_ideal", "lyra_testbed"])
def test_presets_are_complete(name: str) -> None:
    """Each inherits all of conf/workload/lyra.yaml, which lists every parameter of the class."""
    base, preset = (OmegaConf.load(data_path("conf", f"workload/{value}.yaml")) for value in ("lyra", name))
    config = OmegaConf.merge(
        base, {key: value for key, value in preset.items() if key != "defaults"}, {"seed": 0}
    )
    assert set(config) - {"_target_", "_convert_"} == set(LyraTrace.Parameters.model_fields)
    assert len(instantiate(config).parameters.elastic_range) == 2


def test_the_testbed_has_its_180_jobs() -> None:
    """Section 7.5: 10 are elastic, at most 16 GPUs even so, 2 minutes to 2 hours, within 8; mean 4078 s."""
    jobs = LyraTrace(preset="lyra_testbed", training_gpus=32, days=1 / 3, queueing_s=1532).table().frame()
    waited_s = waits_s(jobs, 32)
    assert len(jobs) == 180
    assert (jobs["max_gpus"] > 0).sum() == 10
    assert max(jobs["max_gpus"].max(), jobs["gpus"].max()) <= 16
    assert jobs["duration_s"].between(120, 7200).all()
    assert jobs["submit_s"].max() < 8 * 3600
    assert waited_s.mean() == pytest.approx(1532, rel=0.1)
    assert (waited_s + jobs["duration_s"]).mean() == pytest.approx(4078, rel=0.1)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"quantiles": (0.1, 0.05, 1.0)}, "rise"),
        ({"run_time_s": (5.0, 4.0)}, "one value for each"),
        ({"classes": ({"until": 0.5, "gpus": {1: 1.0}},)}, "rise to 1"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(change: dict[str, Any], fault: str) -> None:
    """Quantiles that fall, run times that are too few or fall, classes that leave jobs out."""
    with pytest.raises(ValueError, match=fault):
        LyraTable(**TABLE.model_dump() | change)


@pytest.mark.parametrize("given", [(1.5, 2.0), (0.5, 0.9), (0, 2)])
def test_bounds_that_exclude_the_request_are_refused(given: tuple[float, float]) -> None:
    """min_gpus <= gpus <= max_gpus, and min_gpus above 0."""
    with pytest.raises(InputError, match="elastic_range"):
        LyraTrace(elastic_range=given)
