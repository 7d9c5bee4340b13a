"""The generator of Synergy's production-derived traces, against its authors' program and by hand."""

from pathlib import Path

import pandas as pd
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from artist.data import data_path
from artist.errors import InputError
from artist.workload.derived import EXPONENTS, DerivedTrace, draw_durations_s, draw_models, read_iterations_s
from artist.workload.table import work_s

ITERATIONS_S = read_iterations_s(data_path("traces", "measured/input_sensitivity.yaml"))
NAMES = {
    "alexnet": "AlexNet",
    "res18": "ResNet18",
    "res50": "ResNet50",
    "mobilenet": "MobileNetV2",
    "shufflenet": "ShuffleNet",
    "gnmt": "GNMT",
    "transformer": "Transformer-XL",
    "lstm": "LSTM",
    "m5": "M5",
    "deepspeech": "DeepSpeech",
}


def test_all_jobs_are_those_of_the_authors_program(shared: Path) -> None:
    """Seed 42, 9 jobs an hour, one GPU: arrival, model and iterations of 6,924 jobs."""
    file = shared / "reference/synergy/golden_fifo_1gpu_9jobsperhour_seed42.csv"
    theirs = pd.read_csv(file)
    ours = DerivedTrace(jobs=6924, seed=42).table().frame()
    assert len(theirs) == 6924
    assert ours["submit_s"].tolist() == theirs["arrival_s"].tolist()
    assert ours["model"].tolist() == theirs["model"].map(NAMES).tolist()
    assert ours["iterations"].tolist() == theirs["total_iterations"].tolist()
    assert ours["compute_s"].tolist() == theirs["iter_time_s_fair"].tolist()


def test_short_run_times_are_those_of_the_authors_testbed(shared: Path) -> None:
    """Their static trace has 97 of the 100 jobs that seed 42 draws; three were edited. It has no M5."""
    columns = ["id", "model", "arrival_s", "iterations", "gpus"]
    theirs = pd.read_csv(shared / "reference/synergy/static_100job.csv", names=columns)
    durations_s = draw_durations_s(EXPONENTS["short"], 100, 42)
    compute_s = {NAMES[name]: ITERATIONS_S[NAMES[name]] for name in NAMES}
    ours = [int(d / compute_s[NAMES[m]]) for d, m in zip(durations_s, theirs["model"], strict=True)]
    assert sum(a == b for a, b in zip(ours, theirs["iterations"], strict=True)) == 97


def test_the_first_short_jobs_by_hand() -> None:
    """Draws as below: 60 x 10^(1.5 + 0.02501) = 2009.9 s / 0.6 s = 3349; 60 x 10^1.72321 = 3172.2 / 0.12."""
    jobs = DerivedTrace(jobs=2, seed=42, durations="short").table().frame()
    assert jobs["iterations"].tolist() == [3349, 26435]


def test_the_first_jobs_by_hand() -> None:
    """Seed 42 draws 0.63943, 0.02501, 0.27503, 0.22321: x = 1.5 + 1.5 x 0.02501 = 1.53752, then 1.83482.

    60 x 10^1.53752 = 2068.5 s / 0.6 s = 3447.6 iterations; 60 x 10^1.83482 = 4101.7 s / 0.12 s = 34181.
    A gap is -ln(1 - 0.63943) / 9 h = 408.02 s, rounded up 409.
    """
    jobs = DerivedTrace(jobs=4, seed=42).table().frame()
    assert jobs[["submit_s", "gpus", "model", "iterations", "compute_s"]].values.tolist() == [
        [409.0, 1, "AlexNet", 3447, 0.6],
        [951.0, 1, "GNMT", 34181, 0.12],
        [1053.0, 1, "Transformer-XL", 29317, 0.67],
        [1505.0, 1, "M5", 122162, 0.6],
    ]


def test_a_model_of_the_class_furthest_below_its_share() -> None:
    """Split 20-70-10, what the classes lack before each job from the second on.

    1 0 0: -0.8, 0.7, 0.1; 1 1 0: -0.3, 0.2, 0.1; 1 2 0: -0.13, 0.03, 0.1; 1 2 1: -0.05, 0.2, -0.15;
    1 3 1: 0, 0.1, -0.1.
    """
    assert draw_models((20, 70, 10), 6) == [
        "AlexNet",
        "GNMT",
        "Transformer-XL",
        "M5",
        "LSTM",
        "GNMT",
    ]


def test_classes_that_lack_the_same_go_in_their_order() -> None:
    """Split 50-0-50: image, speech, then after 1 0 1 all lack 0: image again, never language."""
    assert draw_models((50, 0, 50), 6) == ["AlexNet", "M5", "ResNet18", "DeepSpeech", "ResNet50", "M5"]


@pytest.mark.parametrize("rate", [0, None])
def test_without_a_rate_all_arrive_at_once(rate: float | None) -> None:
    """A static trace: the jobs are those of any rate, at 0 s."""
    static, dynamic = (
        DerivedTrace(jobs=50, jobs_per_hour=value, seed=3).table().frame() for value in (rate, 9)
    )
    assert static["submit_s"].tolist() == [0.0] * 50
    assert static.drop(columns="submit_s").equals(dynamic.drop(columns="submit_s"))


def test_run_times_and_arrivals_are_those_of_the_paper() -> None:
    """20,000 jobs: 80 % in 10^1.5 to 10^3 minutes, half of these below 10^2.25; a gap of 400 s at 9 an hour.

    The mean is 0.8 x (10^3 - 10^1.5) / (1.5 ln 10) + 0.2 x (10^4 - 10^3) / ln 10 = 224.3 + 781.7 = 1006
    minutes, so 128 GPUs serve 128 x 60 / 1006 = 7.6 jobs of one GPU an hour.
    """
    jobs = DerivedTrace(jobs=20_000, seed=1).table().frame()
    minutes = jobs["iterations"] * jobs["compute_s"] / 60
    assert minutes.between(10**1.5 - 0.02, 1e4).all()
    assert (minutes < 1000).mean() == pytest.approx(0.8, abs=0.01)
    assert (minutes < 10**2.25).mean() == pytest.approx(0.4, abs=0.01)
    assert minutes.mean() == pytest.approx(1006, rel=0.03)
    assert jobs["submit_s"].diff().mean() == pytest.approx(400.5, rel=0.03)  # whole seconds, rounded up


@pytest.mark.parametrize(
    ("gpus", "mean", "single"),
    [("one", 1.0, 1.0), ("program", 1.9, 0.7), ("philly", 1.416, 0.91)],
)
def test_gpus_are_drawn_by_the_shares(gpus: str, mean: float, single: float) -> None:
    """0.7 + 2 x 0.1 + 4 x 0.15 + 8 x 0.05 = 1.9; 0.9099 + 0.032 + 0.1448 + 0.2776 + 0.0512 = 1.416."""
    jobs = DerivedTrace(jobs=40_000, gpus=gpus, seed=5).table().frame()
    assert jobs["gpus"].mean() == pytest.approx(mean, rel=0.02)
    assert (jobs["gpus"] == 1).mean() == pytest.approx(single, abs=0.01)


def test_traces_of_one_and_several_gpus_differ_in_nothing_else() -> None:
    """A stream of its own for the GPUs: Figs. 8 and 9 compare the same run times, models and arrivals."""
    one, several = (DerivedTrace(jobs=500, gpus=gpus, seed=42).table().frame() for gpus in ("one", "philly"))
    assert several["gpus"].max() > 1
    assert one.drop(columns="gpus").equals(several.drop(columns="gpus"))


@pytest.mark.parametrize(
    ("split", "told"),
    [
        ([0.2, 0.7, 0.1], "sum to 1\n"),  # fractions
        ([50, 0, 60], "sum to 110\n"),
        ([0, 0, 0], "sum to 0\n"),
        ([33, 33, 32.9], "sum to 98.9\n"),
        ([34, 34, 33.1], "sum to 101.1\n"),
    ],
)
def test_a_split_that_is_no_whole_is_refused(split: list[float], told: str) -> None:
    """Its sum is named; another sum would draw jobs of another split without a word."""
    with pytest.raises(InputError) as error:
        DerivedTrace(split=split)
    message = str(error.value)
    assert told in message.replace(",", "\n"), message
    assert "workload.split" in message
    assert "a sum of 99 to 101" in message


@pytest.mark.parametrize("split", [[33, 33, 33], [34, 34, 33], [20, 70, 10]])
def test_thirds_may_be_rounded(split: list[float]) -> None:
    """The paper's 33-33-33 sums to 99; 34 + 34 + 33 = 101."""
    assert DerivedTrace(split=split).parameters.split == tuple(split)


def test_a_rate_that_takes_forever_is_refused() -> None:
    """At 1e-310 jobs an hour a gap is no finite number of seconds."""
    with pytest.raises(InputError, match="submit_s is too large"):
        DerivedTrace(jobs=2, jobs_per_hour=1e-310).table().frame()


REPLAY = "0,alexnet,0.0,3349,1\n1,gnmt,0.001,26435,1\n2,m5,12,10,4\n"


def test_job_files_of_the_authors_program(tmp_path: Path) -> None:
    """3349 x 0.6 s; 26,435 x 0.12 s; 10 x 0.6 s: iterations by the file, their time by the model."""
    (tmp_path / "jobs.csv").write_text(REPLAY)
    base, files = (
        OmegaConf.load(data_path("conf", f"workload/{name}.yaml")) for name in ("columns", "synergy_replay")
    )
    del files["defaults"]
    node = OmegaConf.merge(
        {"seed": 0}, {"workload": OmegaConf.merge(base, files, {"path": str(tmp_path / "jobs.csv")})}
    )
    jobs = instantiate(node)["workload"].table().frame()
    assert jobs[["job_id", "submit_s", "gpus", "model"]].values.tolist() == [
        ["0", 0.0, 1, "AlexNet"],
        ["1", 0.001, 1, "GNMT"],
        ["2", 12.0, 4, "M5"],
    ]
    assert work_s(jobs).tolist() == pytest.approx([2009.4, 3172.2, 6.0])
    assert {NAMES[name]: time for name, time in files["constants"]["compute_s"].items()} == ITERATIONS_S
