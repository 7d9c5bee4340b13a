"""The openb reader: pods by hand, and the file as published."""

from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.workload.readers.openb import OpenbTrace

Write = Callable[..., Path]
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
whole,12000,1024,1,1000,,LS,Running,0,500,10
part,6500,2048,1,460,,BE,Failed,20,300,20
large,64000,4096,8,1000,V100M32,Guaranteed,Succeeded,5,65,15
idle,1500,10,0,0,,BE,Running,7,100,8
never,1000,10,1,1000,,LS,Pending,9,100,
short,1000,10,2,1000,,LS,Running,11,50,50
"""


def test_pods_by_hand(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Run time is deletion - scheduled: 490, 280, 50 s. `part` shares a GPU and gets all of it.

    `never` was not scheduled, `idle` has no GPU, `short` ran 0 s: each left out, and counted.
    """
    caplog.set_level("INFO")
    table = OpenbTrace(path=write(PODS)).table().frame()
    assert table[["job_id", "submit_s", "gpus", "duration_s", "cpus", "memory_bytes"]].values.tolist() == [
        ["whole", 0.0, 1, 490.0, 0, 0],
        ["part", 20.0, 1, 280.0, 0, 0],
        ["large", 5.0, 8, 50.0, 0, 0],
    ]
    for words in ("1 of 6 jobs: never scheduled", "1 of 5 jobs: no GPUs", "1 of 4 jobs share a GPU",
                  "1 of 4 jobs: duration is 0", "1 of 3 jobs are out of order"):  # fmt: skip
        assert words in caplog.text


def test_the_rules(write: Write) -> None:
    """CPUs are rounded up (6.5 to 7), 2048 MiB are 2**31 bytes; classes and phases select."""
    table = OpenbTrace(path=write(PODS), cpus="keep", memory="keep", cpu_jobs="keep").table().frame()
    assert dict(zip(table["job_id"], table["cpus"], strict=True)) == {
        "whole": 12, "part": 7, "large": 64, "idle": 2,
    }  # fmt: skip
    assert table["memory_bytes"].iloc[1] == 2**31
    assert OpenbTrace(path=write(PODS), fractional_gpus="drop").table().frame()["job_id"].tolist() == [
        "whole",
        "large",
    ]
    assert OpenbTrace(path=write(PODS), qos=["BE"]).table().frame()["job_id"].tolist() == ["part"]
    assert OpenbTrace(path=write(PODS), states=["Succeeded"]).table().frame()["job_id"].tolist() == ["large"]
    assert len(OpenbTrace(path=write(PODS), zero_duration="one_second").table().frame()) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PODS.replace("0,500,10", "0,5,10"), "line 2: ends 5 s before it starts"),
        (PODS.replace("12000,1024", "many,1024"), "line 2: cpu_milli is not a number"),
        (PODS.replace("part,", "whole,"), "line 3: name is a duplicate"),
        (PODS.replace("64000,4096,8", "64000,4096,-8"), "line 4: num_gpu is negative"),
        (PODS.replace("gpu_milli", "milli"), "unknown header"),
    ],
)
def test_bad_files(write: Write, text: str, words: str) -> None:
    """One wrong value in a good file."""
    with pytest.raises(InputError, match=words):
        OpenbTrace(path=write(text), bad_rows="refuse").table().frame()


def test_the_pods_of_openb(traces: Path, caplog: pytest.LogCaptureFixture) -> None:
    """README of the trace: 8,152 pods, 897 Pending; of the others 1,052 ask no GPU; 44 have 8 GPUs."""
    table = OpenbTrace(path=traces / "alibaba-openb-2023/openb_pod_list_default.csv").table().frame()
    assert len(table) == 8_152 - 897 - 1_052 == 6_203
    assert "2573 of 6203 jobs share a GPU" in caplog.text
    assert (table["gpus"] == 8).sum() <= 44
    assert table["gpus"].sum() == 6_571
