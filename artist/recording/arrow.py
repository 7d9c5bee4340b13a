"""Arrow columns of numbers and text, without `pyarrow.array`, which imports pandas to know its types."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def numbers(values: npt.ArrayLike, missing: npt.NDArray[np.bool_] | None = None) -> Any:
    """Return numbers or truth values as an Arrow array of their type, null where `missing`."""
    given = np.ascontiguousarray(values)
    data = np.packbits(given, bitorder="little") if given.dtype == bool else given
    buffers = [_validity(missing), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(given.dtype), len(given), buffers)


def texts(values: Iterable[str | None]) -> Any:
    """Return texts as an Arrow array of strings, null where None."""
    given = list(values)
    encoded = [b"" if text is None else text.encode() for text in given]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    missing = np.array([text is None for text in given], dtype=bool)
    buffers = [_validity(missing), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(given), buffers)


def taken(values: Any, index: npt.ArrayLike, missing: npt.NDArray[np.bool_] | None = None) -> Any:
    """Return the values at some positions, null where `missing`, as their method `take` does.

    That loads `pyarrow.compute`, which takes 25 ms to describe every function.
    """
    from pyarrow._compute import call_function

    return call_function("take", [values, numbers(index, missing)])


def _validity(missing: npt.NDArray[np.bool_] | None) -> Any:
    if missing is None or not missing.any():
        return None
    return pa.py_buffer(np.packbits(~missing, bitorder="little"))
