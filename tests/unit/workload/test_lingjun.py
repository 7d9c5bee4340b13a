"""The Lingjun reader: the converted file by hand and as it is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.workload.readers.lingjun import LingjunTrace

Write = Callable[..., Path]
JOBS = """\
#job id,arrival time (sec),topology,shape,size,duration (sec)
0,0.0,CLOS,48,48,720.0
1,5040.0,CLOS,8,8,0.0
2,60.0,CLOS,256,256,120.0
"""


def test_jobs_by_hand(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Job 1 took less than its minute: left out and counted, or 1 s."""
    table = LingjunTrace(path=write(JOBS), origin="2023-08-01 00:00:00").table().frame()
    assert table[["job_id", "submit_s", "gpus", "duration_s"]].values.tolist() == [
        ["0", 0.0, 48, 720.0],
        ["2", 60.0, 256, 120.0],
    ]
    assert str(table["submit_date"].iloc[1]) == "2023-08-01 00:01:00"
    assert "left out 1 of 3 jobs: duration is 0" in caplog.text
    kept = LingjunTrace(path=write(JOBS), zero_duration="one_second").table().frame()
    assert kept["duration_s"].tolist() == [720.0, 1.0, 120.0]
    assert "submit_date" not in kept


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (JOBS.replace("\n2,", "\n0,"), "line 4: #job id is a duplicate"),
        (JOBS.replace("8,8,", "8,0,").replace("0.0\n2", "60\n2"), "line 3: size is zero"),
        (JOBS.replace("720.0", "-60"), r"line 2: duration \(sec\) is negative"),
        (JOBS.replace("48,48,720.0", "48,48,"), r"line 2: duration \(sec\) is missing"),
        (JOBS.replace("size", "gpus"), "unknown header"),
    ],
)
def test_bad_files(write: Write, text: str, words: str) -> None:
    """One wrong value in a good file."""
    with pytest.raises(InputError, match=words):
        LingjunTrace(path=write(text), bad_rows="refuse").table().frame()


def test_a_week_of_lingjun(traces: Path) -> None:
    """973 jobs, of which 92 took less than a minute; the widest has 744 GPUs; whole minutes."""
    table = (
        LingjunTrace(path=traces / "alibaba-lingjun-2023/lingjun_jobs_day0-7.rfold-schema.csv")
        .table()
        .frame()
    )
    assert len(table) == 973 - 92
    assert table["gpus"].max() == 744
    assert (table["submit_s"] % 60 == 0).all()
    assert (table["duration_s"] % 60 == 0).all()
