"""Tables as people have them: fillers for missing values, local clocks, pods of gangs, Parquet."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from artist.errors import InputError
from artist.workload.readers.canonical import CanonicalCsv
from artist.workload.readers.columns import ColumnsCsv
from artist.workload.readers.pai import PaiTrace

Write = Callable[..., Path]
COLUMNS = {"job_id": "id", "submit_s": "submit", "start_s": "start", "end_s": "end", "gpus": "gpus"}
STAMPS: dict[str, Any] = {
    "columns": COLUMNS,
    "units": dict.fromkeys(("submit_s", "start_s", "end_s"), "timestamp"),
}
HEAD = "id,submit,start,end,gpus\n"


def run_times(path: Path, **given: Any) -> dict[str, float]:
    """Return the run time of each job in seconds."""
    table = ColumnsCsv(path=path, **given).table()
    return dict(zip(table["job_id"], table["duration_s"], strict=True))


@pytest.mark.parametrize(
    "filler", ["0", "-1", "4294967294", "4294967295", "18446744073709551615", "2147483647"]
)
@pytest.mark.parametrize("row", ["b,1612000100,{},1612000900,1", "b,1612000100,1612000100,{},1"])
def test_a_job_that_did_not_start_or_end_has_no_run(write: Write, filler: str, row: str) -> None:
    """A ran 1612003610 - 1612000010 = 3600 s; b, which would have run for 18,657 days, is left out."""
    path = write(f"{HEAD}a,1612000000,1612000010,1612003610,1\n{row.format(filler)}\n")
    assert run_times(path, columns=COLUMNS) == {"a": 3600.0}


@pytest.mark.parametrize(
    "filler",
    [
        "1970-01-01 00:00:00",
        "1970-01-01T01:00:00",
        "0001-01-01T00:00:00",
        "9999-12-31 23:59:59",
        "NULL",
        "0",
        "4294967295",
    ],
)
def test_dates_that_stand_for_none(write: Write, filler: str) -> None:
    """The epoch in any zone, the zero of Go, words: b did not end. a ran 3600 s."""
    text = f"{HEAD}a,2025-01-01 00:00,2025-01-01 00:01,2025-01-01 01:01,1\n"
    assert run_times(write(f"{text}b,2025-01-01 00:00,2025-01-01 00:01,{filler},1\n"), **STAMPS) == {
        "a": 3600.0
    }


def test_zero_is_a_time_where_the_file_counts_from_it(write: Write) -> None:
    """Submitted and started at second 0, a runs 60 s."""
    assert run_times(write(HEAD + "a,0,0,60,1\n"), columns=COLUMNS) == {"a": 60.0}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("b,100,1000,100,1", "line 3: ends 900 s before it starts"),
        ("b,100,40,200,1", "line 3: starts 60 s before it is submitted"),
    ],
)
def test_times_out_of_order_are_never_believed(write: Write, row: str, words: str) -> None:
    """1000 - 100 = 900 s, and 100 - 40 = 60 s, too early; a duration of the file needs neither time."""
    path = write(f"{HEAD}a,0,0,60,1\n{row}\n")
    with pytest.raises(InputError, match=words):
        run_times(path, columns=COLUMNS)
    assert run_times(path, columns=COLUMNS, bad_rows="drop") == {"a": 60.0}
    stated = write("id,submit,start,end,gpus,s\na,0,0,60,1,50\n" + row + ",7\n")
    assert run_times(stated, columns=COLUMNS | {"duration_s": "s"}) == {"a": 50.0, "b": 7.0}


def test_a_task_of_pai_that_ends_before_it_starts(write: Write) -> None:
    """Published traces follow the same rule: 100 to 40 s is no run, 100 to 160 s is 60 s."""
    rows = "j,worker,1,Terminated,100,160,600,29,100,V100\nk,worker,1,Terminated,100,40,600,29,100,V100\n"
    assert PaiTrace(path=write(rows)).table()["duration_s"].tolist() == [60.0]


def test_clocks_of_a_zone(write: Write) -> None:
    """Berlin skips 02:00 to 03:00 on 2025-03-30 and shows 02:00 to 03:00 twice on 2025-10-26.

    b runs 01:30 to 03:30 of the first night, 1 h. In the second c runs from 02:50, the first, to 02:10, the
    second: 20 min; d from 02:10 to 02:50, 40 min, and e from 01:30 to 03:30, 3 h.
    """
    night = "2025-10-26 "
    rows = [
        "b,2025-03-30 00:00,2025-03-30 01:30,2025-03-30 03:30,8",
        f"c,{night}01:00,{night}02:50,{night}02:10,1",
        f"d,{night}01:00,{night}02:10,{night}02:50,1",
        f"e,{night}01:00,{night}01:30,{night}03:30,1",
    ]
    given = STAMPS | {"time_zone": "Europe/Berlin"}
    expected = {"b": 3600.0, "c": 1200.0, "d": 2400.0, "e": 10_800.0}
    assert run_times(write(HEAD + "\n".join(rows) + "\n"), **given) == expected
    skipped = write(HEAD + rows[0] + "\nf,2025-03-30 00:00,2025-03-30 02:30,2025-03-30 03:30,8\n")
    with pytest.raises(InputError, match="line 3: start is no time of Europe/Berlin, whose clocks skip it"):
        run_times(skipped, **given)


def test_times_with_and_without_a_zone(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Midnight to 01:00 UTC is 3600 s; without +00:00 the start is 23:00 UTC of the day before: 7200 s."""
    caplog.set_level(logging.INFO)
    mixed = write(HEAD + "a,2025-05-31 00:00,2025-06-01 00:00,2025-06-01T01:00:00Z,1\n")
    with pytest.raises(InputError, match="times with and without a time zone"):
        run_times(mixed, **STAMPS)
    assert run_times(mixed, **STAMPS, time_zone="Etc/GMT-1") == {"a": 7200.0}
    assert not caplog.records
    assert run_times(write(mixed.read_text().replace("T01:00:00Z", " 01:00")), **STAMPS) == {"a": 3600.0}
    assert "times without a zone are taken as UTC" in caplog.text
    with pytest.raises(InputError, match="no such time zone"):
        run_times(mixed, **STAMPS, time_zone="Europe")


@pytest.mark.parametrize(
    "word", ["", "NULL", "None", "N/A", "nan", "NaT", r"\N", "Unknown", "INVALID", "-1", "none yet"]
)
def test_words_for_a_missing_value(write: Write, word: str) -> None:
    """In a text and in a number; job-2 is named by its line, and the last word is the user's own."""
    path = write(f"id,submit,gpus,run,user,cpus\n{word},0,1,60,{word},{word}\nb,0,1,60,u,4\n")
    columns = {
        "job_id": "id",
        "submit_s": "submit",
        "gpus": "gpus",
        "duration_s": "run",
        "user": "user",
        "cpus": "cpus",
    }
    table = ColumnsCsv(path=path, columns=columns, missing=["none yet"]).table()
    named = "-1" if word == "-1" else "job-2"
    assert table["job_id"].tolist() == [named, "b"]
    assert table["user"].tolist() == ["-1" if word == "-1" else "", "u"]
    assert table["cpus"].tolist() == [0, 4]


def test_ids_may_be_absent_and_zero_utilization_is_a_value(write: Write) -> None:
    """Our own CSV, without ids: jobs of lines 2 and 3; GPUs that are never busy."""
    table = CanonicalCsv(path=write("submit_s,gpus,duration_s,gpu_utilization\n0,1,60,0\n0,1,60,\n")).table()
    assert table["job_id"].tolist() == ["job-2", "job-3"]
    assert table["gpu_utilization"].tolist() == [0.0, 1.0]


PODS = """\
job,pod,created,started,finished,gpus,cpu,memory
train,train-0,5,10,3610,8,16,64Gi
train,train-1,0,12,3611,8,1500m,64Gi
train,launcher,0,9,3612,0,1,
small,small-0,100,101,701,1,2,1Gi
"""


def test_pods_are_gathered_into_a_gang(write: Write) -> None:
    """8 + 8 GPUs of two pods, and a launcher, from the latest start, 12 s, to the latest end, 3612 s: 3600 s.

    CPUs 16 + 2 (1500m rounded up) + 1; memory 128 GiB; it arrives with its first pod and spans two machines.
    """
    columns = {
        "job_id": "job", "submit_s": "created", "start_s": "started", "end_s": "finished", "gpus": "gpus",
        "cpus": "cpu", "memory_bytes": "memory",
    }  # fmt: skip
    table = ColumnsCsv(path=write(PODS), columns=columns, gather="job_id").table()
    names = ["job_id", "submit_s", "duration_s", "gpus", "cpus", "memory_bytes", "max_machines"]
    assert table.frame()[names].values.tolist() == [
        ["train", 0.0, 3600.0, 16, 19, 128 * 2**30, 2],
        ["small", 100.0, 600.0, 1, 2, 2**30, 1],
    ]
    bad = write(PODS.replace("3611,8", "3611,many"))
    table = ColumnsCsv(path=bad, columns=columns, gather="job_id", bad_rows="drop").table()
    assert table["job_id"].tolist() == ["small"]  # a gang without one of its pods is none


def test_a_parquet_table(tmp_path: Path) -> None:
    """Dates, a number that is missing, a list: b has no end; a runs 2 h on 4 GPUs of two types."""
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "submit": pd.to_datetime(["2020-05-05 00:00", "2020-05-05 01:00"]),
            "start": pd.to_datetime(["2020-05-05 00:10", "2020-05-05 01:10"]),
            "end": pd.to_datetime(["2020-05-05 02:10", None]),
            "gpus": [4, 8],
            "types": [["V100", "T4"], None],
        }
    )
    frame.to_parquet(tmp_path / "jobs.parquet")
    given = STAMPS | {"columns": COLUMNS | {"gpu_types": "types"}}
    table = ColumnsCsv(path=tmp_path / "jobs.parquet", **given).table()
    names = ["job_id", "duration_s", "gpus", "gpu_types"]
    assert table.frame()[names].values.tolist() == [["1", 7200.0, 4, "V100|T4"]]
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "jobs.parquet").read_bytes()[:-20])
    with pytest.raises(InputError, match="broken Parquet table"):
        ColumnsCsv(path=tmp_path / "cut.parquet", **given).table()


def test_decimal_commas(write: Write) -> None:
    """1.234,5 s and 12,5 s; without the setting the message names it, as it does the separator."""
    path = write("\ufeffid;submit;run;gpus\na;0;1.234,5;1\nb;0;12,5;1\n")
    given: dict[str, Any] = {
        "columns": {"job_id": "id", "submit_s": "submit", "duration_s": "run", "gpus": "gpus"}
    }
    assert run_times(path, **given, separator=";", decimal=",") == {"a": 1234.5, "b": 12.5}
    with pytest.raises(InputError, match=r'line 2: run is not a number\n.*workload\.decimal=","'):
        run_times(path, **given, separator=";")
    with pytest.raises(InputError, match=r"workload\.separator=';'"):
        run_times(path, **given)


def test_a_long_value_is_cut_at_sixty_characters() -> None:
    """57 characters with the quotation mark, and three dots."""
    message = str(InputError("wrong", where="f", found="x" * 1000))
    assert message.splitlines()[1] == "  found '" + "x" * 56 + "..."
