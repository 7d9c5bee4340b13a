"""The reader of the Dally authors' JSON: the two meanings of total_iterations, and the recovered files."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.workload.readers.artist_json import ArtistJson
from artist.workload.table import work_s

Write = Callable[..., Path]
JOB = {
    "job_id": "1",
    "arrival_time": "5",
    "max_parallelism": "4",
    "total_iterations": "10",
    "time_per_iteration": "0.5",
    "model": "VGG",
    "user": "u",
    "cpu_num": "8",
    "priority": "1",
}


def test_n_gpus_retire_n_iterations(write: Write) -> None:
    """per_gpu: ceil(10 / 4) = 3 iterations of 0.5 s on 4 GPUs; VGG is the profile VGG11."""
    job = ArtistJson(path=write(json.dumps([JOB])), work="per_gpu").table().frame().iloc[0]
    assert (job["iterations"], job["compute_s"], job["gpus"], job["submit_s"]) == (3, 0.5, 4, 5.0)
    assert (job["model"], job["user"], job["cpus"]) == ("VGG11", "u", 0)


def test_the_number_as_it_is(write: Write) -> None:
    """per_job, the default: 10 iterations of 0.5 s are the job's real 5 s; with its 8 CPUs if asked for."""
    table = ArtistJson(path=write(json.dumps([JOB])), cpus="keep").table().frame()
    assert table["iterations"].tolist() == [10]
    assert work_s(table).tolist() == [5.0]
    assert table["cpus"].tolist() == [8]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"total_iterations": "-2"}, "entry 2: total_iterations is negative"),
        ({"total_iterations": "1.5"}, "entry 2: total_iterations is not a whole number"),
        ({"time_per_iteration": "NaN"}, "entry 2: time_per_iteration is missing"),
        ({"time_per_iteration": 0}, "entry 2: time_per_iteration is zero"),
        ({"max_parallelism": "0"}, "entry 2: max_parallelism is zero"),
        ({"max_parallelism": {"gpus": 1}}, "entry 2: max_parallelism is not a number"),
        ({"arrival_time": None}, "entry 2: arrival_time is missing"),
        ({"job_id": "1"}, "entry 2: job_id is a duplicate"),
    ],
)
def test_bad_jobs(write: Write, change: dict[str, object], words: str) -> None:
    """One wrong value in the second of two jobs."""
    jobs = [JOB, {**JOB, "job_id": "2", "cpu_num": "0", **change}]
    with pytest.raises(InputError, match=words):
        ArtistJson(path=write(json.dumps(jobs)), bad_rows="refuse").table().frame()


def test_a_missing_key(write: Write) -> None:
    """The field is named, not a KeyError."""
    with pytest.raises(InputError, match="entry 1: model is missing"):
        ArtistJson(path=write(json.dumps([{k: v for k, v in JOB.items() if k != "model"}]))).table().frame()


def test_the_batch_of_500(traces: Path) -> None:
    """README: 270 jobs of 1 GPU, 109 of 8. Job 396689 has 826,085,656 iterations on 4 GPUs: 206,521,414."""
    path = traces / "artist-sim/sense_500jobs_0start0arrival-withBert.json.gz"
    table = ArtistJson(path=path, work="per_gpu").table().frame()
    assert len(table) == 500
    assert Counter(table["gpus"])[1] == 270
    assert Counter(table["gpus"])[8] == 109
    assert set(table["submit_s"]) == {0.0}
    assert table[table["job_id"] == "396689"]["iterations"].tolist() == [206_521_414]
    assert set(table["model"]) == {"AlexNet", "VGG11", "MobileNetV3", "ResNet18", "ResNet50", "BERT-large"}


def test_the_411_poisson_jobs(traces: Path) -> None:
    """All have at least 2 GPUs; 600,112 - 4,286 s over 410 gaps is a mean of 1,453 s (README: about 1460)."""
    table = ArtistJson(path=traces / "artist-sim/sense_500jobs_poisson_1proc-week.json.gz").table().frame()
    assert len(table) == 411
    assert table["gpus"].min() == 2
    assert (table["submit_s"].max() - table["submit_s"].min()) / 410 == pytest.approx(1453.2, abs=0.1)


def test_per_job_work_is_the_real_duration(traces: Path) -> None:
    """README: total_iterations x time_per_iteration = wall clock; job 396689 ran 633,257 s."""
    path = traces / "artist-sim/sense_500jobs_0start0arrival-withBert.json.gz"
    table = ArtistJson(path=path).table().frame()
    seconds = work_s(table)[table["job_id"].eq("396689").to_numpy()]
    assert seconds == pytest.approx([633_257.0], abs=0.02)


@pytest.mark.parametrize(("work", "millions"), [("per_job", 298.2), ("per_gpu", 47.0)])
def test_work_per_gpu_is_a_sixth_of_the_batch(traces: Path, work: str, millions: float) -> None:
    """GPU-seconds, in millions: a job of n GPUs needs n times its run time, or, per GPU, the time itself."""
    path = traces / "artist-sim/sense_500jobs_0start0arrival-withBert.json.gz"
    table = ArtistJson(path=path, work=work).table()
    assert float((work_s(table) * table["gpus"]).sum()) / 1e6 == pytest.approx(millions, abs=0.1)
