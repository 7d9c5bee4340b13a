"""The PAI reader: the original task table, the recovered file, and the recovered trace."""

from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.workload.readers.pai import PaiTrace

Write = Callable[..., Path]
# job_name, task_name, inst_num, status, start_time, end_time, plan_cpu, plan_mem, plan_gpu, gpu_type
TASKS = """\
j1,worker,2.0,Terminated,100.0,160.0,600.0,29.3,50.0,V100
j1,ps,1.0,Terminated,90.0,160.0,150.0,29.3,,MISC
j2,worker,3.0,Failed,50.0,80.0,600.0,29.3,200.0,V100
j3,worker,1.0,Running,60.0,,600.0,29.3,100.0,T4
j4,worker,1.0,Terminated,70.0,70.0,600.0,29.3,100.0,T4
"""
RECOVERED = """\
job_id,arrival_s,service_sec,gpu_count
ali-b,70.0,4305.0,1
ali-a,60.0,95.0,20
"""


def test_the_task_table_by_hand(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """j1: 2 instances of half a GPU take 2 GPUs for 60 s; j2: 3 x 2 = 6 for 30 s.

    Left out: j3 has no end, j1's ps no GPU, j4 ran for 0 s. Line 3 arrives before line 1.
    """
    caplog.set_level("INFO")
    table = PaiTrace(path=write(TASKS)).table().frame()
    assert table[["job_id", "submit_s", "gpus", "duration_s", "cpus"]].values.tolist() == [
        ["j1-worker#1", 100.0, 2, 60.0, 0],
        ["j2-worker#3", 50.0, 6, 30.0, 0],
    ]
    for words in ("1 of 5 jobs: no inst_num, start or end", "1 of 4 jobs share a GPU",
                  "1 of 4 jobs: no GPUs", "1 of 3 jobs: duration is 0", "1 of 2 jobs are out"):  # fmt: skip
        assert words in caplog.text


def test_the_rules_of_the_task_table(write: Write) -> None:
    """Without sharers j2 and the ps are left; the ps needs ceil(1.5) = 2 cores, j2 3 x 6 = 18."""
    kept = PaiTrace(path=write(TASKS), fractional_gpus="drop", cpu_jobs="keep", cpus="keep").table().frame()
    assert kept[["job_id", "gpus", "cpus"]].values.tolist() == [["j1-ps#2", 0, 2], ["j2-worker#3", 6, 18]]
    failed = PaiTrace(path=write(TASKS), states=["Failed"]).table().frame()
    assert failed["job_id"].tolist() == ["j2-worker#3"]
    with_header = (
        "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"
    )
    assert len(PaiTrace(path=write(with_header + TASKS)).table().frame()) == 2


def test_the_recovered_file(write: Write) -> None:
    """Four columns as they are; a date only if one is given: 60 s after midnight is 0:01."""
    table = PaiTrace(path=write(RECOVERED)).table().frame()
    assert table[["job_id", "submit_s", "gpus", "duration_s"]].values.tolist() == [
        ["ali-b", 70.0, 1, 4305.0],
        ["ali-a", 60.0, 20, 95.0],
    ]
    assert "submit_date" not in table
    dated = PaiTrace(path=write(RECOVERED), origin="2020-07-01 00:00:00").table().frame()
    assert str(dated["submit_date"].iloc[1]) == "2020-07-01 00:01:00"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TASKS.replace("160.0,600", "40.0,600"), "line 1: ends 60 s before it starts"),
        (RECOVERED.replace(",20", ",2.5"), "line 3: gpu_count is not a whole number"),
        (RECOVERED.replace("ali-a", "ali-b"), "line 3: job_id is a duplicate"),
        (RECOVERED.replace("95.0", "-2"), "line 3: service_sec is negative"),
        (RECOVERED.replace("service_sec", "x"), "unknown header"),
        ("a,b,c,d,e,f,g,h,i,j\n", "all 1: no inst_num"),
    ],
)
def test_bad_files(write: Write, text: str, words: str) -> None:
    """One wrong value in a good file, named by line and by the file's own column."""
    with pytest.raises(InputError, match=words):
        PaiTrace(path=write(text), bad_rows="refuse").table().frame()


def test_the_recovered_file_knows_no_states(write: Write) -> None:
    """A filter that cannot work is refused, not ignored."""
    with pytest.raises(InputError, match="no states"):
        PaiTrace(path=write(RECOVERED), states=["Failed"]).table().frame()


def test_two_weeks_of_pai(traces: Path) -> None:
    """README of the trace: 13,187 rows of days 21 to 34, durations clamped at 172,800 s, all with GPUs."""
    table = PaiTrace(path=traces / "alibaba-pai-2020/pai_gpu_tasks_day21-34.csv.gz").table().frame()
    assert len(table) == 13_187
    assert (table["gpus"] == 1).sum() == 10_233
    assert table["duration_s"].max() == 172_800.0
    assert 21 <= table["submit_s"].min() / 86_400 < table["submit_s"].max() / 86_400 < 35
