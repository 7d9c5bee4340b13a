"""The reader of the spot-GPU trace, by the fields that its authors publish; the file is not at hand."""

from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.workload.readers.spot import SpotTrace

Write = Callable[..., Path]
JOBS = """\
job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type
old,1,A10,4,1,1,0,900,HP
wide,2,A100-SXM4-80GB,32.5,8,4,60,100,HP
part,2,A10,2,0.25,3,30,50,Spot
idle,1,,8,0,1,70,10,HP
"""


def test_jobs_by_hand(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Wide: 8 x 4 = 32 GPUs; part: each of 3 workers gets a GPU of its own; idle has no GPUs."""
    table = SpotTrace(path=write(JOBS)).table().frame()
    assert table[["job_id", "submit_s", "gpus", "duration_s", "vc"]].values.tolist() == [
        ["old", 0.0, 1, 900.0, "1"],
        ["wide", 60.0, 32, 100.0, "2"],
        ["part", 30.0, 3, 50.0, "2"],
    ]
    assert "1 of 4 jobs share a GPU" in caplog.text
    assert "left out 1 of 4 jobs: no GPUs" in caplog.text


def test_the_rules(write: Write) -> None:
    """Jobs that ran before, types and models can be left out; 33 cores x 4 workers."""
    assert SpotTrace(path=write(JOBS), at_start="drop").table().frame()["job_id"].tolist() == ["wide", "part"]
    assert SpotTrace(path=write(JOBS), job_types=["Spot"]).table().frame()["job_id"].tolist() == ["part"]
    assert SpotTrace(path=write(JOBS), gpu_models=["A10"]).table().frame()["job_id"].tolist() == [
        "old",
        "part",
    ]
    kept = SpotTrace(path=write(JOBS), fractional_gpus="drop", cpu_jobs="keep", cpus="keep").table().frame()
    assert kept[["job_id", "gpus", "cpus"]].values.tolist() == [
        ["old", 1, 4],
        ["wide", 32, 132],
        ["idle", 0, 8],
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (JOBS.replace("8,4,60", "8,0,60"), "line 3: worker_num is no number of workers"),
        (JOBS.replace("wide", "old"), "line 3: job_name is a duplicate"),
        (JOBS.replace("60,100", "60,-2"), "line 3: duration is negative"),
        (JOBS.replace("job_type", "type"), "unknown header"),
    ],
)
def test_bad_files(write: Write, text: str, words: str) -> None:
    """One wrong value in a good file."""
    with pytest.raises(InputError, match=words):
        SpotTrace(path=write(text), bad_rows="refuse").table().frame()
