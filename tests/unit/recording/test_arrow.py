"""Arrow columns made of buffers are those of `pyarrow.array`."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from artist.recording import arrow


@pytest.mark.parametrize(
    "values",
    [
        np.arange(9, dtype=np.int64),
        np.arange(9, dtype=np.int8),
        np.arange(9.0),
        np.arange(9) % 2 == 0,
        np.empty(0),
    ],
)
def test_numbers_as_pyarrow_makes_them(values: npt.NDArray[np.generic]) -> None:
    """Nine of each type, more than the eight bits of a byte; and with every third missing."""
    missing = np.arange(len(values)) % 3 == 0
    assert arrow.numbers(values).equals(pa.array(values))
    assert arrow.numbers(values, missing).equals(pa.array(values, mask=missing))


def test_texts_as_pyarrow_makes_them() -> None:
    """Characters of one and of three bytes, an empty text, and none; taken by position, one missing."""
    given = ["a", "", None, "\u20ac"]
    texts = arrow.texts(given)
    assert texts.equals(pa.array(given, pa.string()))
    assert arrow.taken(texts, np.array([3, 0]), np.array([False, True])).to_pylist() == ["\u20ac", None]


@pytest.mark.parametrize("repeats", [1, 1 << 13])
def test_few_and_many_texts_are_taken_alike(repeats: int) -> None:
    """Three rows, and 3 * 8,192 of them, which `pyarrow.compute` takes: a place beyond the end is missing."""
    index, missing = np.array([1, 9, 0] * repeats), np.array([False, True, False] * repeats)
    result = arrow.taken(arrow.texts(["a", "\u20ac"]), index, missing)
    assert result.equals(pa.array(["\u20ac", None, "a"] * repeats))
