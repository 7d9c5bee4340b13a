"""The reader of tables in columns of their own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from artist.errors import InputError
from artist.workload.readers.columns import ColumnsCsv

Write = Callable[..., Path]
LOG = """\
# a comment
id;sent;nodes;per_node;minutes;state;net;mem
a;2024-03-01T10:00:00+01:00;2;4;1.5;DONE;rn50;2
b;2024-03-01T09:30:00+00:00;1;1;;DONE;rn50;1
a;2024-03-01T11:00:00+02:00;1;0.5;60;DONE;bert;1
d;2024-03-01T12:00:00Z;1;1;3;LOST;rn50;1
"""
MAP: dict[str, Any] = {
    "columns": {
        "job_id": "id",
        "submit_s": "sent",
        "gpus": ["nodes", "per_node"],
        "duration_s": "minutes",
        "model": "net",
        "memory_bytes": "mem",
    },
    "units": {"submit_s": "timestamp", "duration_s": "min", "memory_bytes": "gib"},
    "filters": {"state": ["DONE"]},
    "model_names": {"rn50": "ResNet50"},
    "constants": {"vc": "all", "cpus": 3},
    "separator": ";",
    "comment": "#",
    "duplicates": "number",
}


def test_a_log_by_hand(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Line 3 came at 09:00 UTC, as did line 5, with half a GPU; b has no duration; d is lost.

    2 x 4 GPUs for 90 s; 1 GPU for 3600 s; 2 GiB are 2**31 bytes.
    """
    table = ColumnsCsv(path=write(LOG), **MAP).table().frame()
    columns = ["job_id", "submit_s", "gpus", "duration_s", "model", "vc", "cpus", "memory_bytes"]
    assert table[columns].values.tolist() == [
        ["a", 0.0, 8, 90.0, "ResNet50", "all", 3, 2**31],
        ["a#5", 0.0, 1, 3600.0, "bert", "all", 3, 2**30],
    ]
    assert table["submit_date"].tolist() == [pd.Timestamp("2024-03-01 09:00:00")] * 2
    for words in ("1 of 4 jobs: state is filtered", "1 of 3 jobs: no duration", "1 of 2 jobs share a GPU"):
        assert words in caplog.text


def test_duplicates(write: Write) -> None:
    """Refused, unless another rule is asked for."""
    with pytest.raises(InputError, match="line 5: id is a duplicate"):
        ColumnsCsv(path=write(LOG), **MAP | {"duplicates": "refuse"}).table().frame()
    assert len(ColumnsCsv(path=write(LOG), **MAP | {"duplicates": "first"}).table().frame()) == 1


def test_utilization_in_percent(write: Write) -> None:
    """35 % busy is a share of 0.35; nothing is known of the other job."""
    table = (
        ColumnsCsv(
            path=write("at,gpus,s,busy\n0,1,5,35\n1,1,5,\n"),
            columns={"submit_s": "at", "gpus": "gpus", "duration_s": "s", "gpu_utilization": "busy"},
            units={"gpu_utilization": "percent"},
        )
        .table()
        .frame()
    )
    assert table["gpu_utilization"].tolist() == [pytest.approx(0.35), 1.0]


NUMBERS = "5,18001000,18061000,1\n2,7200000,7205000,0\n"


def test_stages_in_ms(write: Write) -> None:
    """Times of an iteration on each resource, in one unit per column."""
    path = write("t,n,d,read,prepare,train,send\n0,1,10,600,0.2,150,50\n")
    stages = {"storage_s": "read", "cpu_s": "prepare", "gpu_s": "train", "network_s": "send"}
    columns = {"submit_s": "t", "gpus": "n", "duration_s": "d", **stages}
    units = {"storage_s": "ms", "gpu_s": "ms", "network_s": "ms"}
    table = ColumnsCsv(path=path, columns=columns, units=units).table().frame()
    assert table[list(stages)].iloc[0].tolist() == pytest.approx([0.6, 0.2, 0.15, 0.05])


def test_start_and_end_in_ms_without_a_header(write: Write) -> None:
    """(18061000 - 18001000) ms are 60 s; without job_id the line is the name; dates by origin."""
    table = (
        ColumnsCsv(
            path=write(NUMBERS),
            header=["at", "from", "to", "n"],
            columns={"submit_s": "at", "start_s": "from", "end_s": "to"},
            units={"submit_s": "h", "start_s": "ms", "end_s": "ms"},
            constants={"gpus": 2},
            origin="2024-01-01 00:00:00",
        )
        .table()
        .frame()
    )
    assert table[["job_id", "submit_s", "gpus", "duration_s"]].values.tolist() == [
        ["job-1", 18_000.0, 2, 60.0],
        ["job-2", 7200.0, 2, 5.0],
    ]
    assert table["submit_date"].iloc[0] == pd.Timestamp("2024-01-01 05:00:00")


def test_a_value_for_each_model(write: Write) -> None:
    """The file has iterations, their time is known by its names of models: 10 x 0.5 s and 4 x 2 s."""
    given: dict[str, Any] = {
        "header": ["at", "net", "n"],
        "columns": {"submit_s": "at", "model": "net", "iterations": "n"},
        "constants": {"gpus": 1, "compute_s": {"rn50": 0.5, "bert": 2}},
        "model_names": {"rn50": "ResNet50"},
    }
    table = ColumnsCsv(path=write("0,rn50,10\n5,bert,4\n"), **given).table().frame()
    assert table[["model", "iterations", "compute_s"]].values.tolist() == [
        ["ResNet50", 10, 0.5],
        ["bert", 4, 2.0],
    ]
    with pytest.raises(InputError, match=r"line 2: net has no value in constants.compute_s\n.*rn50, bert"):
        ColumnsCsv(path=write("0,rn50,10\n5,gpt2,4\n"), **given).table().frame()


def test_dates_in_a_format_and_another_zone(write: Write) -> None:
    """31/01 23:30 is taken as it is; with %z it becomes the clock of time_zone."""
    text = "at,s,g\n31/01/2024 23:30,5,1\n"
    given: dict[str, Any] = {
        "columns": {"submit_s": "at", "duration_s": "s", "gpus": "g"},
        "units": {"submit_s": "timestamp"},
        "timestamp_format": "%d/%m/%Y %H:%M",
    }
    naive = ColumnsCsv(path=write(text), **given, time_zone="Asia/Shanghai").table().frame()
    assert naive["submit_date"].iloc[0] == pd.Timestamp("2024-01-31 23:30")
    zoned = given | {"timestamp_format": "%d/%m/%Y %H:%M%z"}
    table = (
        ColumnsCsv(path=write(text.replace("23:30", "23:30+0000")), **zoned, time_zone="Asia/Shanghai")
        .table()
        .frame()
    )
    assert table["submit_date"].iloc[0] == pd.Timestamp("2024-02-01 07:30")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"columns": {"submit_s": "sendt", "gpus": "nodes"}}, "did you mean sent"),
        ({"columns": {"submit_s": "sent"}}, "name columns.gpus, or give constants.gpus"),
        ({"constants": {"gpu": 1}}, "constants.gpu is no column of ours"),
        (
            {"constants": {"cpus": {"rn50": 1}}, "columns": {"submit_s": "sent", "gpus": "nodes"}},
            "is by model",
        ),
        ({"constants": {"gpus": 1}}, "the file has this column, by columns.gpus"),
        ({"filters": {"state": ["DON"]}}, "found .'DON'.; allowed: DONE, LOST|no row has this value"),
        ({"filters": {"status": ["DONE"]}}, "did you mean state"),
        ({"separator": "ab"}, "separator must be one character, or tab"),
        ({"units": {"submit_s": "days"}}, "workload.units.submit_s"),
        ({"units": {"submit_s": "s"}}, "line 3: sent is not a number"),
        ({"comment": None}, "line 2: more fields than columns"),
        ({"no_duration": "refuse"}, "line 4: minutes is missing"),
    ],
)
def test_bad_maps(write: Write, change: dict[str, Any], words: str) -> None:
    """The user's most likely mistakes."""
    with pytest.raises(InputError, match=words):
        ColumnsCsv(path=write(LOG), **MAP | change).table().frame()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("2024-03-01T10:00:00+01:00", "noon", "line 3: sent is not a date"),
        ("2024-03-01T10:00:00+01:00", "", "line 3: sent is missing"),
        (";1.5;", ";-1.5;", "line 3: minutes is negative"),
        (
            "a;2024-03-01T10:00:00+01:00;2;4",
            "a;2024-03-01T10:00:00+01:00;2;four",
            "line 3: per_node is not a number",
        ),
        ("rn50;2", "rn50;2;9", "not a table|more fields"),
    ],
)
def test_bad_rows(write: Write, old: str, new: str, words: str) -> None:
    """One wrong value in a good file, named by line, comments counted."""
    with pytest.raises(InputError, match=words):
        ColumnsCsv(path=write(LOG.replace(old, new)), **MAP).table().frame()


def test_rows_that_are_blank_or_comments(write: Write) -> None:
    """They are no jobs, and lines are still counted right; nothing but those is an empty file."""
    text = "\n# x\nat,g,s\n\n1,1,5\n# y\n2,1,0\n"
    given: dict[str, Any] = {"columns": {"submit_s": "at", "gpus": "g", "duration_s": "s"}, "comment": "#"}
    table = ColumnsCsv(path=write(text), **given, zero_duration="one_second").table().frame()
    assert table["job_id"].tolist() == ["job-5", "job-7"]
    with pytest.raises(InputError, match="empty file"):
        ColumnsCsv(path=write("# x\n\n"), **given).table().frame()
    with pytest.raises(InputError, match="no jobs"):
        ColumnsCsv(path=write("at,g,s\n# x\n"), **given).table().frame()


def test_a_slice_of_venus_in_the_columns_of_others(traces: Path) -> None:
    """README of Helios: 684 jobs of two VCs, comments above the header, arrivals in us since 2020-09-01."""
    name = "helios-venus/venus_2vc_2020-09-01_2020-09-13.fleetsim-schema.csv"
    table = ColumnsCsv(
        path=traces / name,
        columns={
            "job_id": "job_id", "submit_s": "submit_time", "gpus": "num_chips",
            "duration_s": "duration_s", "user": "user", "vc": "tenant",
        },
        units={"submit_s": "us"},
        comment="#",
        origin="2020-09-01 00:00:00",
    ).table().frame()  # fmt: skip
    assert len(table) == 684
    assert set(table["vc"]) == {"vcvGl", "vcvlY"}
    assert table.iloc[0][["job_id", "submit_s", "gpus", "duration_s"]].tolist() == [
        "765563",
        5835.0,
        128,
        24.0,
    ]
    assert table["submit_date"].iloc[0] == pd.Timestamp("2020-09-01 01:37:15")
