"""Series from a file: read exactly, told up to a time, and refused in words if anything is wrong."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from artist.errors import InputError
from artist.units import NS_PER_S
from artist.workload.signals import FileSignals, NoSignals

Write = Callable[..., Path]
GOOD = "time_s,inference,inference.next\n0,0.42,0.5\n300,5e-1,0.95\n600.5,-1,0\n"


def known(source: FileSignals, name: str, at_s: float) -> list[tuple[float, float]]:
    """Return the known part of a signal at a time, as (seconds, value)."""
    times, values = source.series()[name].up_to(round(at_s * NS_PER_S))
    return list(zip((times / NS_PER_S).tolist(), values.tolist(), strict=True))


def test_a_value_is_known_from_its_time_on(write: Write) -> None:
    """0.42 from 0, 0.5 from 300 s: at 299.9 only the first, at 300 both, before 0 none."""
    source = FileSignals(path=write(GOOD))
    assert known(source, "inference", -1) == []
    assert known(source, "inference", 299.9) == [(0, 0.42)]
    assert known(source, "inference", 300) == [(0, 0.42), (300, 0.5)]
    assert known(source, "inference.next", 1e9) == [(0, 0.5), (300, 0.95), (600.5, 0)]


def test_names_choose_columns(write: Write) -> None:
    """Columns that are not taken need not be numbers; plain or gzipped."""
    path = write(gzip.compress(GOOD.replace("-1,0\n", "-1,?\n").encode()), "series.csv.gz")
    assert list(FileSignals(path=path, names=["inference"]).series()) == ["inference"]
    assert FileSignals(path=path).input_files == (path,)


def test_the_next_value_is_a_series_of_its_own(write: Write) -> None:
    """Of 0.42, 0.5, -1 the next are 0.5, -1, and -1 from then on: an oracle sees one step ahead."""
    path = write(GOOD)
    source = FileSignals(path=path, names=["inference"], ahead=["inference"])
    assert known(source, "inference.next", 600.5) == [(0, 0.5), (300, -1), (600.5, -1)]
    assert known(source, "inference", 600.5) == [(0, 0.42), (300, 0.5), (600.5, -1)]
    for names, told in ((["inference"], "inference.next is in the file"), (["demand"], "no such signal")):
        with pytest.raises(InputError, match=rf"signals\.ahead: {told}\n.*'{names[0]}'"):
            FileSignals(path=path, ahead=names).series()


def test_no_policy_can_change_a_series(write: Write) -> None:
    """Arrays of a view are the engine's own; no signals are no mapping to trip over."""
    times, values = FileSignals(path=write(GOOD)).series()["inference"].up_to(NS_PER_S)
    for column in (times, values):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    assert dict(NoSignals().series()) == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ["empty file"]),
        ("time_s,a\n", ["no rows"]),
        ("time_s\n0\n", ["line 1", "wrong columns", "time_s"]),
        ("a,b\n0,1\n", ["line 1", "wrong columns", "time_s"]),
        ("time_s,\n0,1\n", ["line 1", "wrong columns"]),
        ("time_s,a,a\n0,1,2\n", ["two columns of one name", "a"]),
        ("time_s,a\n0,1,2\n", ["more fields"]),
        ("time_s,a\n0,1\nx,2\n", ["line 3, time_s", "wrong time", "x", "seconds from 0 to 4e+09"]),
        ("time_s,a\n-1,2\n", ["line 2, time_s", "wrong time", "-1"]),
        ("time_s,a\n5e9,2\n", ["line 2, time_s", "wrong time", "5e9"]),
        ("time_s,a\n0,1\n\n7,1\n5,2\n", ["line 5, time_s", "wrong order", "5"]),
        ("time_s,a\n3,1\n3,2\n", ["line 3, time_s", "wrong order", "3"]),
        ("time_s,a\n0,1\n1,\n", ["line 3, a", "not a number", "''"]),
        ("time_s,a\n0,1\n1\n", ["line 3, a", "not a number"]),
        ("time_s,a\n0,inf\n", ["line 2, a", "not a number", "inf", "finite"]),
        ("time_s,a\n0,high\n", ["line 2, a", "not a number", "high"]),
    ],
)
def test_a_bad_file_is_refused(write: Write, text: str, told: list[str]) -> None:
    """File, line and column, the value found, and the allowed values."""
    with pytest.raises(InputError) as error:
        FileSignals(path=write(text)).series()
    for words in told:
        assert words in str(error.value)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({}, ["signals.path"]),
        ({"path": "nowhere.csv"}, ["nowhere.csv", "no such file"]),
        ({"path": "x", "names": []}, ["signals.names"]),
        ({"path": "x", "names": "inference"}, ["signals.names"]),
        ({"path": "x", "colour": 1}, ["colour"]),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], told: list[str]) -> None:
    """Before the clock starts, in words."""
    with pytest.raises(InputError) as error:
        FileSignals(**parameters).series()
    for words in told:
        assert words in str(error.value)


def test_an_unknown_name_is_refused(write: Write) -> None:
    """With the names that there are."""
    with pytest.raises(InputError, match=r"signals\.names: no such signal\n.*'demand'.*: inference, inf"):
        FileSignals(path=write(GOOD), names=["demand"]).series()


@pytest.mark.slow
def test_half_a_million_rows_are_read_at_once(write: Write) -> None:
    """A year of minutes: one vector expression a check; the last value is that of its row."""
    rows = "".join(f"{60 * i},{i % 7}\n" for i in range(525_600))
    series = FileSignals(path=write(f"time_s,a\n{rows}")).series()["a"]
    assert series.values[-1] == 525_599 % 7
    assert np.array_equal(np.diff(series.times_ns), np.full(525_599, 60 * NS_PER_S))
