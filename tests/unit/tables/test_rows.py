"""Tables as numpy columns: what they take, and that they are what pandas would have made."""

import numpy as np
import pandas as pd
import pytest

from artist.tables.rows import Table, coded, repeated, to_numbers


def test_a_row_keeps_its_place() -> None:
    """Lines 2, 4 and 5, of which the last two are taken, in another order: the first is line 5."""
    table = Table({"gpus": [1, 2, 3], "vc": "x"}, np.array([2, 4, 5]), "line").take([2, 1])
    assert (table["gpus"].tolist(), table["vc"].tolist(), table.place(0)) == ([3, 2], ["x", "x"], "line 5")


def test_rows_of_other_tables_by_place() -> None:
    """Lines 2 and 5 of a table of which only those are left: their values there, 1 and 3."""
    raw = Table({"gpus": [1, 2, 3]}, np.array([2, 4, 5]), "line")
    assert raw.at(raw.take([0, 2]).places)["gpus"].tolist() == [1, 3]


def test_a_value_for_all_rows_takes_no_memory() -> None:
    """A million jobs have the default in most of 24 columns: 8 bytes, also when half of them are left."""
    table = Table({"submit_s": np.arange(10.0), "cpus": 0}).take(slice(5))
    assert table["cpus"].strides == (0,)
    assert table["cpus"].tolist() == [0] * 5


def test_frames_become_tables_and_back() -> None:
    """A user's own reader may return any dtype: missing numbers are NaN, text is text, places stay."""
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["x", "y"]})
    frame.index = pd.RangeIndex(7, 9, name="entry")
    table = Table.of(frame)
    assert (table["a"][0], np.isnan(table["a"][1]), table["b"].tolist()) == (1.0, True, ["x", "y"])
    assert table.place(1) == "entry 8"
    assert table.frame().index.equals(frame.index)


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e3", 1000.0), (" 2 ", 2.0), ("1_0", np.nan), ("\u0661", np.nan), ("", np.nan), ("0x1", np.nan)],
)
def test_text_is_a_number_as_pandas_reads_it(text: str, number: float) -> None:
    """Python alone takes 1_0 for 10 and digits of other scripts for digits; alone and beside other text."""
    for column in ([text], [text, "x"], ["1", text]):
        ours = to_numbers(np.array(column, dtype=object))
        theirs = pd.to_numeric(pd.Series(column, dtype=str), errors="coerce").to_numpy(float)
        np.testing.assert_array_equal(ours, theirs)
        assert np.array_equal(ours[column.index(text)], number, equal_nan=True)


def test_values_are_coded_in_order_of_appearance() -> None:
    """b, a, b are 0, 1, 0; NaN is one value; the second b is repeated."""
    column = np.array(["b", "a", "b"], dtype=object)
    codes, values = coded(column)
    assert (codes.tolist(), values, repeated(column).tolist()) == (
        [0, 1, 0],
        ["b", "a"],
        [False, False, True],
    )
    assert len(coded(np.array([np.nan, 1.0, np.nan]))[1]) == 2
