"""The canonical table takes good jobs as they are and names the row and field of the first bad one."""

import numpy as np
import pandas as pd
import pytest

from artist.errors import InputError
from artist.units import MAX_S
from artist.workload.fields import COLUMNS
from artist.workload.table import check, work_s


def row(**values: object) -> pd.DataFrame:
    """Return a good job on line 2 and, on line 3, one with the given values."""
    good = {"job_id": "a", "submit_s": 0.0, "gpus": 1, "duration_s": 10.0}
    table = pd.DataFrame([good, {**good, "job_id": "b", **values}])
    table.index = pd.RangeIndex(2, 4, name="line")
    return table


def test_every_column_is_there_in_its_type() -> None:
    """Later parts may rely on columns and types without asking."""
    table = check(row(), "t.csv")
    assert tuple(table.columns) == COLUMNS
    assert table["gpus"].dtype == np.int64
    assert np.isnan(table["iterations"]).all()
    assert np.isnan(table["compute_s"]).all()
    assert table["model"].tolist() == ["", ""]
    assert table["max_gpus"].tolist() == [0, 0]


def test_a_checked_table_passes_again() -> None:
    """The check runs in the reader and once more in the loader: nothing may change."""
    once = check(row(iterations=5, compute_s=0.5), "t.csv")
    pd.testing.assert_frame_equal(check(once, "t.csv").frame(), once.frame())


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("submit_s", -1.0, "is negative"),
        ("submit_s", np.nan, "is missing"),
        ("submit_s", np.inf, "is not finite"),
        ("submit_s", "soon", "is not a number"),
        ("submit_s", True, "is not a number"),
        ("submit_s", MAX_S * 2, "is too large"),
        ("gpus", 0, "is zero"),
        ("gpus", -2, "is negative"),
        ("gpus", 1.5, "is not a whole number"),
        ("gpus", "many", "is not a number"),
        ("gpus", [1], "is not a number"),
        ("gpus", 1e9, "is too large"),
        ("gpus", None, "is missing"),
        ("duration_s", 0.0, "is zero"),
        ("duration_s", -3.0, "is negative"),
        ("duration_s", np.nan, "is missing"),
        ("duration_s", -np.inf, "is not finite"),
        ("iterations", 0, "is zero"),
        ("iterations", 2.5, "is not a whole number"),
        ("compute_s", -0.1, "is negative"),
        ("cpus", -1, "is negative"),
        ("memory_bytes", "1 GB", "is not a number"),
        ("gpu_utilization", -0.5, "is negative"),
        ("gpu_utilization", 40, "is too large"),
        ("guaranteed", 0.5, "is not a whole number"),
        ("job_id", "a", "is a duplicate"),
    ],
)
def test_a_bad_value_is_named(field: str, value: object, words: str) -> None:
    """A wrong value anywhere must end in a message with file, line, field, value and the allowed values."""
    with pytest.raises(InputError) as caught:
        check(row(**{field: value}), "t.csv")
    assert caught.value.where == "t.csv, line 3"
    assert caught.value.what == f"{field} {words}"
    assert caught.value.allowed
    assert len(str(caught.value).splitlines()) == 2


def test_the_first_bad_row_is_named_in_the_files_own_words() -> None:
    """A user looks for the name that her file uses, not for ours."""
    with pytest.raises(InputError, match=r"t\.csv, line 3: gpu_num is negative\n  found -4"):
        check(row(gpus=-4), "t.csv", {"gpus": "gpu_num"})


def test_a_duplicate_names_both_rows() -> None:
    """To mend a duplicate one needs both places."""
    with pytest.raises(InputError, match="line 2 has it too"):
        check(row(job_id="a"), "t.csv")


def test_an_empty_table_is_refused() -> None:
    """No job is no workload."""
    with pytest.raises(InputError, match="no jobs"):
        check(row().iloc[:0], "t.csv")


def test_a_missing_column_is_named() -> None:
    """The three columns without which there is no job."""
    with pytest.raises(InputError, match="allowed: add gpus"):
        check(row().drop(columns="gpus"), "t.csv")


def test_a_cpu_only_job_needs_cpus() -> None:
    """0 GPUs are right for a job that asks for CPUs, and only for that."""
    assert check(row(gpus=0, cpus=4), "t.csv")["cpus"].tolist() == [0, 4]


def test_an_elastic_job_keeps_its_bounds() -> None:
    """1 <= min_gpus 1 <= gpus 1 <= max_gpus 8."""
    assert check(row(min_gpus=1, max_gpus=8), "t.csv")["max_gpus"].tolist() == [0, 8]


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"min_gpus": 1}, "max_gpus is missing"),
        ({"max_gpus": 4}, "min_gpus is missing"),
        ({"min_gpus": 2, "max_gpus": 4}, "min_gpus does not fit"),
    ],
)
def test_bounds_that_do_not_fit_are_named(bounds: dict[str, int], words: str) -> None:
    """The one that is missing, if only one is there; else at least 2 do not fit a job that asks for 1 GPU."""
    with pytest.raises(InputError, match=words) as caught:
        check(row(**bounds), "t.csv")
    assert "1 <= min_gpus <= gpus <= max_gpus" in caught.value.allowed


def test_work_is_iterations_times_compute_or_else_the_duration() -> None:
    """a: 10 s given; b: 4 x 0.5 s = 2 s, which wins over its duration of 10 s as it does in the simulator."""
    assert work_s(check(row(iterations=4, compute_s=0.5), "t.csv")).tolist() == [10.0, 2.0]


def test_the_whole_work_must_fit_in_the_clock() -> None:
    """1e9 iterations x 1e9 s each pass their own ranges, but are 1e18 s."""
    with pytest.raises(InputError, match="iterations x compute_s is too large"):
        check(row(iterations=10**9, compute_s=1e9), "t.csv")
