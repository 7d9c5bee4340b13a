"""The Helios reader: both headers, its rules one by one, and the recovered Venus traces."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from artist.errors import InputError
from artist.workload.filters import Selection, select
from artist.workload.readers.helios import HeliosTrace

Write = Callable[..., Path]
LOG = """\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
7,u1,v1,8,16,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:20,2020-04-01 00:01:20,60,10
8,u2,v2,0,4,1,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 00:00:05,5,0
9,u1,,1,,1,CANCELLED,2020-04-02 00:00:00,,,0,
"""
RECOVERED = "job_id,arrival_s,service_sec,gpu_count\n7#0,100.0,60.0,8\n9#2,150.0,5.0,1\n"


def test_the_original_header(write: Write) -> None:
    """Job 7 comes 10 s after the earliest, job 8; 8 uses no GPU and 9 ran 0 s: both are left out."""
    table = HeliosTrace(path=write(LOG)).table().frame()
    assert table[["job_id", "submit_s", "gpus", "duration_s", "user", "vc", "cpus"]].values.tolist() == [
        ["7", 10.0, 8, 60.0, "u1", "v1", 0]
    ]
    assert table["submit_date"].tolist() == [pd.Timestamp("2020-04-01 00:00:10")]
    assert table.index.tolist() == [2]


def test_rows_left_out_are_counted(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Never silently: one CPU-only job of three, then one of duration 0 of the two that remain."""
    HeliosTrace(path=write(LOG)).table().frame()
    assert "left out 1 of 3 jobs: no GPUs" in caplog.text
    assert "left out 1 of 2 jobs: duration is 0" in caplog.text


def test_rules_can_be_chosen(write: Write) -> None:
    """All three jobs stay: 8 as CPU-only with 4 CPUs, 9 with 1 s, 7 with its 16 CPUs."""
    chosen = {"cpu_jobs": "keep", "cpus": "keep", "zero_duration": "one_second"}
    table = HeliosTrace(path=write(LOG), **chosen).table().frame()
    assert table["gpus"].tolist() == [8, 0, 1]
    assert table["cpus"].tolist() == [16, 4, 0]
    assert table["duration_s"].tolist() == [60.0, 5.0, 1.0]


def test_states(write: Write) -> None:
    """Only job 7 completed; a state that no job has is refused with those that there are."""
    assert HeliosTrace(path=write(LOG), states=["COMPLETED"]).table().frame()["job_id"].tolist() == ["7"]
    with pytest.raises(InputError, match="allowed: CANCELLED, COMPLETED, FAILED"):
        HeliosTrace(path=write(LOG), states=["Pass"]).table().frame()


def test_the_recovered_header_gzipped(write: Write) -> None:
    """arrival_s counts from the origin, 2020-03-18 04:01:39: 100 s later it is 04:03:19."""
    table = HeliosTrace(path=write(gzip.compress(RECOVERED.encode()))).table().frame()
    assert table[["job_id", "submit_s", "gpus", "duration_s"]].values.tolist() == [
        ["7#0", 100.0, 8, 60.0],
        ["9#2", 150.0, 1, 5.0],
    ]
    assert table["submit_date"].iloc[0] == pd.Timestamp("2020-03-18 04:03:19")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("100.0,60.0,8", "100.0,60.0,eight", "line 2: gpu_count is not a number\n  found 'eight'"),
        ("100.0,60.0,8", "-2,60.0,8", "line 2: arrival_s is negative"),
        ("100.0,60.0,8", "nan,60.0,8", "line 2: arrival_s is missing\n  found 'nan'"),
        ("150.0,5.0,1", "150.0,NaN,1", "line 3: service_sec is missing"),
        ("150.0,5.0,1", "150.0,-5,1", "line 3: service_sec is negative"),
        ("150.0,5.0,1", "150.0,inf,1", "line 3: service_sec is not finite"),
        ("150.0,5.0,1", "150.0,5.0,0", "line 3: gpu_count is zero"),
        ("150.0,5.0,1", "150.0,5.0", "line 3: gpu_count is missing"),
        ("9#2", "7#0", "line 3: job_id is a duplicate"),
        ("gpu_count", "gpus", "line 1: unknown header"),
    ],
)
def test_bad_recovered_files(write: Write, old: str, new: str, words: str) -> None:
    """One wrong value in a good file: the line and the file's own name of the field."""
    with pytest.raises(InputError, match=words):
        HeliosTrace(path=write(RECOVERED.replace(old, new)), bad_rows="refuse").table().frame()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("2020-04-01 00:00:10", "yesterday", "line 2: submit_time is not a date"),
        ("20,60,10", "20,sixty,10", "line 2: duration is not a number"),
        ("7,u1,v1,8,", "7,u1,v1,-8,", "line 2: gpu_num is negative"),
    ],
)
def test_bad_original_files(write: Write, old: str, new: str, words: str) -> None:
    """The same for the original header."""
    with pytest.raises(InputError, match=words):
        HeliosTrace(path=write(LOG.replace(old, new, 1))).table().frame()


@pytest.mark.parametrize("header", [LOG.splitlines()[0], RECOVERED.splitlines()[0]])
def test_a_header_alone_is_no_trace(write: Write, header: str) -> None:
    """A filter gone wrong often leaves just the header."""
    with pytest.raises(InputError, match="no jobs"):
        HeliosTrace(path=write(header + "\n")).table().frame()


def test_a_trace_whose_jobs_are_all_left_out(write: Write) -> None:
    """A file of CPU-only jobs holds nothing to simulate under cpu_jobs=drop."""
    lines = LOG.splitlines()
    with pytest.raises(InputError, match="found 'all 1: no GPUs"):
        HeliosTrace(path=write("\n".join([lines[0], lines[2]]))).table().frame()


def test_a_file_of_other_jobs_has_not_the_dates_of_venus(write: Write) -> None:
    """Alibaba's file has the same four columns; its jobs came in another year, unless the user says when."""
    path = write(RECOVERED.replace("9#2", "ali-e2f3-tensorflow#379314"))
    assert "submit_date" not in HeliosTrace(path=path).table().frame()
    dated = HeliosTrace(path=path, origin="2020-07-01 00:00:00").table().frame()
    assert dated["submit_date"].iloc[0] == pd.Timestamp("2020-07-01 00:01:40")


def test_venus_in_full(traces: Path) -> None:
    """README of the trace: 77,574 jobs; the first is 363167#0, 32 GPUs for the clamped 172,800 s."""
    table = (
        HeliosTrace(path=traces / "helios-venus/venus_gpu_jobs_2020-03-18_2020-07-31.csv.gz").table().frame()
    )
    assert len(table) == 77_574
    assert table.iloc[0][["job_id", "submit_s", "gpus", "duration_s"]].tolist() == [
        "363167#0",
        0.0,
        32,
        172_800.0,
    ]
    assert table["gpus"].max() == 160
    assert table["submit_s"].max() == 11_735_844.0


def test_the_tail_restores_the_gpu_time_of_venus(traces: Path) -> None:
    """712 GPUs of Venus were busy from April to July; run times cut at 48 h keep 520 busy."""
    path = traces / "helios-venus/venus_gpu_jobs_2020-03-18_2020-07-31.csv.gz"
    busy, tables = [], [HeliosTrace(path=path, tail=tail).table() for tail in ("cut", "exponential")]
    for table in tables:
        from_s = (table["submit_date"] - np.datetime64("2020-04-01")) / np.timedelta64(1, "s")
        ends_s = (from_s, from_s + table["duration_s"])
        inside_s = np.diff(np.clip(ends_s, 0, 122 * 86_400.0), axis=0)[0]
        busy.append(float((table["gpus"] * inside_s).sum()) / (122 * 86_400))
    assert busy == pytest.approx([520, 712], abs=1)
    cut = tables[0]["duration_s"] == 172_800
    assert (tables[1]["duration_s"][cut] > 172_800).all()
    assert (tables[1]["duration_s"][~cut] == tables[0]["duration_s"][~cut]).all()


def test_waits_on_venus_are_noted_as_a_what_if(traces: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One line of each run, and on the page's line of the trace."""
    source = HeliosTrace(path=traces / "helios-venus/venus_gpu_jobs_2020-06-01_1week.csv")
    with caplog.at_level("INFO"):
        source.table()
    (note,) = [record.getMessage() for record in caplog.records if getattr(record, "note", False)]
    assert "cut at 48 h (28 % of the GPU time; see workload.tail): its waits are a what-if" in note
    assert source.describe() == (
        "venus_gpu_jobs_2020-06-01_1week.csv, read as helios; no virtual clusters, and 64 run times cut at "
        "48 h (28 % of the GPU time; see workload.tail): its waits are a what-if, not those of Venus"
    )


def test_the_venus_week_is_a_window_of_the_whole(traces: Path) -> None:
    """The 4,089 jobs of the week file are those of the full file from 2020-06-01 to 06-08."""
    week = HeliosTrace(path=traces / "helios-venus/venus_gpu_jobs_2020-06-01_1week.csv").table().frame()
    full = HeliosTrace(path=traces / "helios-venus/venus_gpu_jobs_2020-03-18_2020-07-31.csv.gz").table()
    window = Selection.model_validate({"window": {"start": "2020-06-01", "end": "2020-06-08"}})
    chosen = select(full, window)
    assert len(week) == 4_089
    assert chosen["job_id"].tolist() == week["job_id"].tolist()
    assert chosen["submit_s"][1] == 6_465_831.0 - 6_465_706.0


def test_the_reconstructed_log(traces: Path) -> None:
    """1,669 jobs, none without GPUs or duration; 399455 came 2020-03-28 07:54:39 for 1,131,318 s."""
    table = HeliosTrace(path=traces / "helios-venus/cluster_log.reconstructed.csv").table().frame()
    assert len(table) == 1_669
    job = table[table["job_id"] == "399455"].iloc[0]
    assert (job["gpus"], job["duration_s"], job["user"]) == (16, 1_131_318.0, "uu8Zn")
    assert job["submit_date"] == pd.Timestamp("2020-03-28 07:54:39")
