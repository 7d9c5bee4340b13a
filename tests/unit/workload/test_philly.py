"""The Philly reader: the JSON and both CSV files, its rules one by one, and the recovered traces."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from artist.errors import InputError
from artist.workload.readers.philly import PhillyTrace

Write = Callable[..., Path]
PASSED = """\
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-06 23:27:26,100.0,4,400.0,v1
2017-10-06 23:27:16,50.0,1,50.0,v2
"""
ALL = """\
#job id,arrival time (sec),topology,shape,size,duration (sec)
11,60.0,CLOS,1,1,108.0
12,70.0,CLOS,2,2,0.0
"""


def attempt(start: str | None, end: str | None, gpus: int) -> dict[str, Any]:
    """Return one attempt on 2017-10-07 on one machine."""
    dated = [t if t in (None, "None") else f"2017-10-07 {t}" for t in (start, end)]
    return {
        "start_time": dated[0],
        "end_time": dated[1],
        "detail": [{"ip": "m1", "gpus": [f"gpu{g}" for g in range(gpus)]}],
    }


def job(name: str, submitted: str, *attempts: dict[str, Any], status: str = "Pass") -> dict[str, Any]:
    """Return one job of 2017-10-07."""
    times = {"submitted_time": f"2017-10-07 {submitted}", "attempts": list(attempts)}
    return {"jobid": name, "vc": "v", "user": "u", "status": status, **times}


JOBS = [
    job("twice", "00:00:00", attempt("00:00:10", "00:01:10", 2), attempt("00:02:00", "00:02:30", 2)),
    job("never", "00:01:00", status="Killed"),
    job("open", "00:02:00", attempt("00:02:10", "None", 1), status="Failed"),
    job("cut", "00:03:00", attempt("00:03:10", "00:03:50", 4), attempt("00:04:00", None, 4)),
]


def test_gpus_are_those_of_the_last_attempt_that_counts(write: Write) -> None:
    """2 GPUs, then 4, then 8 without an end: 4."""
    attempts = (
        attempt("00:00:10", "00:01:10", 2),
        attempt("00:02:00", "00:02:30", 4),
        attempt("00:03:00", None, 8),
    )
    table = PhillyTrace(path=write(json.dumps([job("grows", "00:00:00", *attempts)]))).table()
    assert table["gpus"].tolist() == [4]


@pytest.mark.parametrize(
    ("rule", "seconds"),
    # twice: attempts of 60 s and 30 s, from 00:00:10 to 00:02:30 = 140 s; cut: the one that has an end, 40 s
    [("sum", [90.0, 40.0]), ("last", [30.0, 40.0]), ("first_to_last", [140.0, 40.0])],
)
def test_the_run_time_by_each_rule(write: Write, rule: str, seconds: list[float]) -> None:
    """Jobs never and open have no attempt with start, end and GPUs: left out under every rule."""
    table = PhillyTrace(path=write(json.dumps(JOBS)), attempt_time=rule).table().frame()
    assert table["job_id"].tolist() == ["twice", "cut"]
    assert table["duration_s"].tolist() == seconds
    assert table["gpus"].tolist() == [2, 4]
    assert table["submit_s"].tolist() == [0.0, 180.0]


def test_jobs_without_an_attempt_are_counted(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Never silently: two of four."""
    PhillyTrace(path=write(json.dumps(JOBS))).table().frame()
    assert "left out 2 of 4 jobs: no attempt" in caplog.text


def test_a_day_without_any_attempt(write: Write) -> None:
    """All of one job is left out, so there is nothing to simulate."""
    with pytest.raises(InputError, match="found 'all 1: no attempt"):
        PhillyTrace(path=write(json.dumps([JOBS[1]]))).table().frame()


def test_states_of_the_json(write: Write) -> None:
    """Passed and run at all: twice and cut; the CSV files know no states, so there it is an error."""
    assert len(PhillyTrace(path=write(json.dumps(JOBS)), states=["Pass"]).table().frame()) == 2
    with pytest.raises(InputError, match="has no final states"):
        PhillyTrace(path=write(PASSED), states=["Pass"]).table().frame()


def test_the_file_of_passed_jobs(write: Write) -> None:
    """It names no jobs: they are called by their line; the second came 10 s before the first."""
    table = PhillyTrace(path=write(PASSED)).table().frame()
    assert table[["job_id", "submit_s", "gpus", "duration_s", "vc"]].values.tolist() == [
        ["philly-2", 10.0, 4, 100.0, "v1"],
        ["philly-3", 0.0, 1, 50.0, "v2"],
    ]


def test_the_file_of_all_jobs(write: Write) -> None:
    """Job 12 ran 0 s: left out, or 1 s. Arrival 60 s after 2017-08-14 23:27:00 is 23:28:00."""
    table = PhillyTrace(path=write(ALL)).table().frame()
    assert table[["job_id", "submit_s", "gpus", "duration_s"]].values.tolist() == [["11", 60.0, 1, 108.0]]
    assert table["submit_date"].iloc[0] == pd.Timestamp("2017-08-14 23:28:00")
    kept = PhillyTrace(path=write(ALL), zero_duration="one_second").table().frame()
    assert kept["duration_s"].tolist() == [108.0, 1.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"submitted_time": "noon"}, "entry 1: submitted_time is not a date"),
        ({"submitted_time": ["2017-10-07"]}, "entry 1: submitted_time is not a date"),
        ({"attempts": None}, "entry 1: malformed attempts"),
        ({"attempts": [{"start_time": None}]}, "entry 1: malformed attempts"),
        ({"attempts": [attempt("25:00:00", "26:00:00", 1)]}, "entry 1: start_time is not a date"),
        ({"attempts": [attempt("00:00:20", "00:00:10", 1)]}, "entry 1: ends 10 s before it starts"),
        ({"jobid": "cut"}, "entry 4: jobid is a duplicate"),
    ],
)
def test_bad_jobs_of_the_json(write: Write, change: dict[str, Any], words: str) -> None:
    """One wrong value in the first of four jobs."""
    with pytest.raises(InputError, match=words):
        PhillyTrace(
            path=write(json.dumps([{**JOBS[0], **change}, *JOBS[1:]])), bad_rows="refuse"
        ).table().frame()


def test_a_missing_key_of_the_json(write: Write) -> None:
    """The second job has no vc."""
    lost = {key: value for key, value in JOBS[1].items() if key != "vc"}
    with pytest.raises(InputError, match="entry 2: vc is missing"):
        PhillyTrace(path=write(json.dumps([JOBS[0], lost])), bad_rows="refuse").table().frame()


def test_malformed_json(write: Write) -> None:
    """A download that was cut."""
    with pytest.raises(InputError, match="malformed JSON"):
        PhillyTrace(path=write(json.dumps(JOBS)[:-5])).table().frame()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PASSED.replace("100.0,4", "100.0,four"), "line 2: num_gpus is not a number"),
        (PASSED.replace("50.0,1,", "-50.0,1,"), "line 3: duration is negative"),
        (PASSED.replace("2017-10-06 23:27:16", "2017-13-06 23:27:16"), "line 3: timestamp is not a date"),
        (PASSED.splitlines()[0], "no jobs"),
        (ALL.replace("12,70.0", "11,70.0").replace("0.0\n", "5\n"), "line 3: #job id is a duplicate"),
        ("a,b\n1,2\n", "line 1: unknown header"),
    ],
)
def test_bad_csv_files(write: Write, text: str, words: str) -> None:
    """One wrong value in a good file."""
    with pytest.raises(InputError, match=words):
        PhillyTrace(path=write(text), bad_rows="refuse").table().frame()


def test_the_original_day(traces: Path) -> None:
    """452 jobs, 3 without an attempt; and the attempts of _14199 add up.

    01:12:09 to 01:13:23 is 74 s; 01:13:30 to 06:53:12 two days later is 2 x 86,400 + 20,382 = 193,182 s;
    together 193,256 s on 8 GPUs.
    """
    table = PhillyTrace(path=traces / "philly/cluster_job_log_2017-10-07.json.gz").table().frame()
    assert len(table) == 452 - 3
    job = table[table["job_id"] == "application_1506638472019_14199"].iloc[0]
    assert (job["gpus"], job["duration_s"], job["vc"]) == (8, 193_256.0, "ee9e8c")


def test_the_passed_week(traces: Path) -> None:
    """README of the trace: 11,192 jobs; the first line is 4 GPUs for 197,281 s in VC 103959."""
    table = (
        PhillyTrace(path=traces / "philly/philly_pass_jobs_2017-10-02_1week.pollux-schema.csv")
        .table()
        .frame()
    )
    assert len(table) == 11_192
    assert table.iloc[0][["job_id", "gpus", "duration_s", "vc"]].tolist() == [
        "philly-00002",
        4,
        197_281.0,
        "103959",
    ]


def test_all_jobs_of_three_weeks(traces: Path) -> None:
    """46,492 jobs, of which 5 ran 0 s; the first arrival, 4,149,295 s after the origin, is on 2017-10-02."""
    table = (
        PhillyTrace(path=traces / "philly/philly_all_jobs_2017-10-02_3w.rfold-schema.csv.gz").table().frame()
    )
    assert len(table) == 46_492 - 5
    assert table["submit_date"].min() == pd.Timestamp("2017-10-02 00:01:55")
