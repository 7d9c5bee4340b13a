"""Logs in the Standard Workload Format: 18 numbers a line."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from artist.errors import InputError
from artist.workload.readers.swf import SwfTrace

Write = Callable[..., Any]
HEAD = "; Version: 2.2\n; MaxNodes: 4\n;  UnixStartTime: 1785542400\n\n"
# number submit wait run procs cpu mem asked limit memory status user group program queue part before think
LINES = """\
 1   0  10 100  8 -1 -1  8  200 -1 1 3 2 -1 1 1 -1 -1
 2   5  -1  50 -1 -1 -1 12   -1 -1 0 4 2 -1 1 -1 -1 -1
 3   6   0  -1  4 -1 -1  4  100 -1 5 4 2 -1 1 1 -1 -1
 4   7   0   0  4 -1 -1  4  100 -1 1 4 2 -1 1 1 -1 -1
 5   8   0  60 -1 -1 -1 -1  100 -1 1 4 2 -1 1 1 -1 -1
 1   0  10  40  8 -1 -1  8  200 -1 2 3 2 -1 1 1 -1 -1
 1  60   0  60  8 -1 -1  8  200 -1 3 3 2 -1 1 1 -1 -1
"""


def read(write: Write, text: str, **chosen: Any) -> dict[str, dict[str, Any]]:
    """Return the jobs by name."""
    return {row["job_id"]: row for _, row in SwfTrace(path=write(text), **chosen).table().records()}


def test_fields_become_columns(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Job 1 waited 10 s; job 2 has the processors that it asked for; -1 is none.

    Left out: the parts of job 1, 8 x 100 / 3600 = 0.2222 GPU-hours that its own line has, and jobs without
    a run time, processors, or any length. Second 0 is 2026-08-01 00:00 UTC.
    """
    jobs = read(write, HEAD + LINES)
    assert list(jobs) == ["1", "2"]
    first, second = jobs.values()
    assert (first["gpus"], first["started_s"], first["duration_s"], first["limit_s"]) == (8, 10, 100, 200)
    assert (first["user"], first["account"], first["vc"], first["partition"]) == ("3", "2", "1", "1")
    assert (second["gpus"], second["partition"], second["submit_s"]) == (12, "", 5)
    assert np.isnan([second["started_s"], second["limit_s"]]).all()
    assert str(np.datetime64(first["submit_date"], "ns"))[:19] == "2026-08-01T00:00:00"
    for words in (
        "2 of 7 jobs: parts of jobs (status 2 to 4) (0.2222 of",
        "1 of 5 jobs: no run time (0 GPU-hours; cancelled 1)",
    ):
        assert words in caplog.text


def test_processors_per_gpu(write: Write) -> None:
    """Of nodes with 6 cores per GPU: 8 / 6 and 12 / 6 are 2 GPUs each."""
    assert [job["gpus"] for job in read(write, LINES, processors_per_gpu=6).values()] == [2, 2]


def test_a_bad_line_is_left_out_or_refused(write: Write) -> None:
    """Line 1 of 17 numbers, and line 2 with a word."""
    text = "9 0 0 1 1 -1 -1 1 1 -1 1 1 1 -1 1 1 -1\n9 x" + " 1" * 16 + "\n" + LINES
    source = SwfTrace(path=write(text))
    assert len(source.table()) == 2
    assert "no row of SWF (2, first line 1)" in source.describe()
    with pytest.raises(InputError, match="no row of SWF"):
        SwfTrace(path=write(text), bad_rows="refuse").table()


@pytest.mark.parametrize(
    "text",
    [
        "", "\n", HEAD, "a,b,c\n1,2,3\n", "1 2 3\n", '{"jobs": []}\n', "JobID|Submit\n1|2\n",
        "1 -1 0 5 1 -1 -1 1 1 -1 1 1 1 -1 1 1 -1 -1\n",  # no submission
        "1 -5 0 5 1 -1 -1 1 1 -1 1 1 1 -1 1 1 -1 -1\n",
        "1 0 0 -7 1 -1 -1 1 1 -1 1 1 1 -1 1 1 -1 -1\n",
        "1 0 0 nan 1 -1 -1 1 1 -1 1 1 1 -1 1 1 -1 -1\n",
        "1 0 0 inf 1 -1 -1 1 1 -1 1 1 1 -1 1 1 -1 -1\n",
        "1 0 0 5 1e9 -1 -1 1 1 -1 1 1 1 -1 1 1 -1 -1\n",
        "1 0 0 5 0 -1 -1 0 1 -1 1 1 1 -1 1 1 -1 -1\n",
        "1 0 0 5 1 -1 -1 1 1 -1 2 1 1 -1 1 1 -1 -1\n",  # only a part
    ],
)  # fmt: skip
def test_a_wrong_log_gives_two_clear_lines(write: Write, text: str) -> None:
    """Where and what; found and allowed."""
    with pytest.raises(InputError) as caught:
        SwfTrace(path=write(text, name="log.swf")).table()
    where, allowed = str(caught.value).split("\n")
    assert "log.swf" in where
    assert "allowed: " in allowed
