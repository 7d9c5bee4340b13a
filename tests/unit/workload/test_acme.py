"""The Acme reader: the originals by their published header, the sample and the converted file of Kalos."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from artist.errors import InputError
from artist.workload.readers.acme import AcmeTrace

Write = Callable[..., Path]
SEREN = """\
job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time
1,u1,1,8,96,Pretrain,COMPLETED,2023-03-01 09:00:00+08:00,2023-03-01 09:01:00+08:00,\
2023-03-01 09:03:00+08:00,120,60,960
2,u2,1,0,16,Other,FAILED,2023-03-01 09:00:10+08:00,2023-03-01 09:00:10+08:00,2023-03-01 09:00:40+08:00,30,0,0
3,u2,1,1,16,Evaluation,RUNNING,2023-03-01 09:00:20+08:00,2023-03-01 09:00:25+08:00,,,5,
4,u1,1,1,16,Evaluation,CANCELLED,2023-03-01 09:00:30+08:00,,2023-03-01 09:00:50+08:00,0,20,0
"""
KALOS = """\
job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,end_time,\
fail_time,stop_time,duration,queue,gpu_time
dlc1,u,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,\
2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0
"""
SAMPLE = """\
source_trace_id,gpu_type,gpu_count,timestamp,e2e_latency_s,queue_wait_s
acme:a,A100,64,2023-05-17 11:00:58+00:00,18.0,10.0
acme:b,A100,8,2023-05-17 20:00:58+00:00,100.0,7.0
"""
CONVERTED = """\
job_id,arrival_time,num_iteration,iteration_computing_time,iteration_networking_time,gpu_workers,ps,gpu_per_worker
0,0.0,208,0.5,0.25,8,0,8.0
1,10.0,100,0.5,0.25,2,0,1.0
"""


def test_the_original_of_seren(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Job 1 runs 09:01 to 09:03; 2 has no GPUs, 3 has not ended, 4 has not started."""
    table = AcmeTrace(path=write(SEREN)).table().frame()
    assert table[["job_id", "submit_s", "gpus", "duration_s", "user", "cpus"]].values.tolist() == [
        ["1", 0.0, 8, 120.0, "u1", 0]
    ]
    assert table["submit_date"].iloc[0] == pd.Timestamp("2023-03-01 09:00:00")
    assert "left out 1 of 4 jobs: no GPUs" in caplog.text
    assert "left out 2 of 3 jobs: no start or no end" in caplog.text


def test_the_duration_of_kalos_has_the_wait_in_it(write: Write) -> None:
    """The example row of its authors: duration 18 s is 10 s queue + 8 s run; 11:00 UTC is 19:00 there."""
    table = AcmeTrace(path=write(KALOS)).table().frame()
    assert table[["gpus", "duration_s"]].values.tolist() == [[64, 8.0]]
    assert table["submit_date"].iloc[0] == pd.Timestamp("2023-05-17 19:00:58")
    utc = AcmeTrace(path=write(KALOS), time_zone="UTC").table().frame()
    assert utc["submit_date"].iloc[0] == pd.Timestamp("2023-05-17 11:00:58")


def test_states_types_and_cpus(write: Write) -> None:
    """Of the original only; 2 is kept as a job of 16 cores."""
    assert len(AcmeTrace(path=write(SEREN), types=["Pretrain"], states=["COMPLETED"]).table().frame()) == 1
    table = AcmeTrace(path=write(SEREN), cpu_jobs="keep", cpus="keep").table().frame()
    assert table[["job_id", "cpus"]].values.tolist() == [["1", 96], ["2", 16]]
    with pytest.raises(InputError, match="no types"):
        AcmeTrace(path=write(SAMPLE), types=["Pretrain"]).table().frame()


def test_the_sample(write: Write) -> None:
    """18 - 10 = 8 s and 100 - 7 = 93 s, nine hours apart; the second arrives on the next day in Shanghai."""
    table = AcmeTrace(path=write(SAMPLE)).table().frame()
    assert table[["job_id", "submit_s", "gpus", "duration_s"]].values.tolist() == [
        ["acme:a", 0.0, 64, 8.0],
        ["acme:b", 32_400.0, 8, 93.0],
    ]
    assert table["submit_date"].iloc[1] == pd.Timestamp("2023-05-18 04:00:58")


def test_the_converted_file(write: Write) -> None:
    """8 x 8 GPUs for 208 x 0.5 s; its iterations are made up, so none are given."""
    table = AcmeTrace(path=write(CONVERTED)).table().frame()
    assert table[["job_id", "gpus", "duration_s"]].values.tolist() == [["0", 64, 104.0], ["1", 2, 50.0]]
    assert table["iterations"].isna().all()
    assert table["submit_date"].iloc[0] == pd.Timestamp("2023-05-17 19:30:13")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SEREN.replace("2023-03-01 09:00:00+08:00", "soon"), "line 2: submit_time is not a date"),
        (SEREN.replace("2023-03-01 09:00:00+08:00", ""), "line 2: submit_time is missing"),
        (SEREN.replace("09:03:00", "08:03:00"), "line 2: ends 3480 s before it starts"),
        (SAMPLE.replace("18.0,10.0", "18.0,"), "line 2: queue_wait_s is no wait"),
        (SAMPLE.replace("18.0,10.0", "8.0,10.0"), "line 2: e2e_latency_s is negative"),
        (SAMPLE.replace("acme:b", "acme:a"), "line 3: source_trace_id is a duplicate"),
        (CONVERTED.replace("8,0,8.0", "8,0,"), "line 2: gpu_per_worker is no number of GPUs"),
        (SAMPLE.replace("gpu_count", "gpus"), "unknown header"),
    ],
)
def test_bad_files(write: Write, text: str, words: str) -> None:
    """One wrong value in a good file."""
    with pytest.raises(InputError, match=words):
        AcmeTrace(path=write(text), bad_rows="refuse").table().frame()


def test_the_sample_of_kalos(traces: Path) -> None:
    """500 jobs; the first had 64 GPUs for 18 - 10 = 8 s; 320 are the most."""
    table = AcmeTrace(path=traces / "acme/kalos_gpu_jobs_first500.csv").table().frame()
    assert len(table) == 500
    assert table.iloc[0][["gpus", "duration_s"]].tolist() == [64, 8.0]
    assert table["gpus"].max() == 320


def test_the_converted_jobs_are_in_the_sample(traces: Path) -> None:
    """README: where both overlap, each converted job is in the sample, the wait (6 s or more) taken off."""
    converted = (
        AcmeTrace(path=traces / "acme/kalos_completed_train_jobs_day0-44.converted.csv").table().frame()
    )
    assert len(converted) == 158
    sample = AcmeTrace(path=traces / "acme/kalos_gpu_jobs_first500.csv").table().frame()
    both = converted.merge(sample, on=["submit_date", "gpus"], suffixes=("", "_sample"))
    assert len(both) >= 50
    waits_s = both["duration_s"] - both["duration_s_sample"]
    assert ((waits_s >= 6) & (waits_s <= 400)).mean() > 0.9
