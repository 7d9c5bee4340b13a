"""A table as numpy columns, which need no pandas; each row knows its place in the source."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from artist.errors import InputError

if TYPE_CHECKING:  # pandas takes a fifth of a second, and most runs do without it
    import pandas as pd

Column = npt.NDArray[Any]


class Table:
    """Columns by name, each (n_rows,): numbers, dates, or Python's objects, such as text.

    Parameters
    ----------
    columns
        Sequences of one length, or a value for all rows.
    places
        Number of each row in the source, (n_rows,); None to count them from 1.
    unit
        The source's unit of counting: "line", "entry" or "row".
    """

    def __init__(self, columns: Mapping[str, Any], places: Column | None = None, unit: str = "row") -> None:
        if places is None:
            many = (one for one in columns.values() if isinstance(one, list | np.ndarray))
            places = np.arange(1, len(next(many, ())) + 1)
        self.columns: dict[str, Column] = {name: _column(one, len(places)) for name, one in columns.items()}
        self.places, self.unit = places, unit

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def place(self, row: int) -> str:
        """Name a row as the user would look for it, such as "line 7"."""
        return f"{self.unit} {self.places[row]}"

    def assign(self, **columns: Any) -> "Table":
        """Return the table with some columns more, or instead of those of the same names."""
        return Table(self.columns | columns, self.places, self.unit)

    def without(self, name: str) -> "Table":
        """Return the table without a column."""
        return Table({key: one for key, one in self.columns.items() if key != name}, self.places, self.unit)

    def take(self, rows: Any) -> "Table":
        """Return some rows, by a mask, positions or a slice."""
        which = np.arange(len(self))[rows]
        columns = {
            name: np.broadcast_to(one[:1], len(which)) if is_constant(one) else one[which]
            for name, one in self.columns.items()
        }
        return Table(columns, self.places[which], self.unit)

    def at(self, places: Column) -> "Table":
        """Return the rows in these places, which rise."""
        return self.take(np.searchsorted(self.places, places))

    def by_arrival(self) -> "Table":
        """Return the rows in order of `submit_s`; rows that arrive together keep their order."""
        submit_s = self["submit_s"]
        in_order = bool(np.all(submit_s[1:] >= submit_s[:-1]))
        return self if in_order else self.take(np.argsort(submit_s, kind="stable"))

    def counted(self) -> "Table":
        """Return the rows in order of arrival, their jobs named by number from 1."""
        width = len(str(len(self)))
        names = [f"job-{number:0{width}d}" for number in range(1, len(self) + 1)]
        return Table({"job_id": names, **self.by_arrival().columns})

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the place and the values of each row."""
        rows = zip(*(one.tolist() for one in self.columns.values()), strict=True)
        for place, row in zip(self.places.tolist(), rows, strict=True):
            yield place, dict(zip(self.columns, row, strict=True))

    def frame(self) -> "pd.DataFrame":
        """Return the table in pandas, whose index has the places."""
        import pandas as pd

        index = None if self.unit == "row" else pd.Index(self.places, name=self.unit)
        return pd.DataFrame(self.columns, index)

    @classmethod
    def of(cls, table: "Table | pd.DataFrame") -> "Table":
        """Return a table of pandas, such as a user's own reader makes, as one of these."""
        if isinstance(table, Table):
            return table
        columns = {str(name): _of_pandas(table[name]) for name in table.columns}
        if table.index.name is None:
            return cls(columns, np.arange(1, len(table) + 1))
        return cls(columns, table.index.to_numpy(), str(table.index.name))


class BadRowsError(InputError):
    """Some rows of a table have a fault; the message names the first.

    Attributes
    ----------
    places, first
        Places of the rows, (n_bad,), and the first in words, such as "line 7".
    rest
        The other rows, if the reader of the file raised it.
    gpu_h
        GPU-hours of the rows, as far as known.
    """

    def __init__(
        self, what: str, table: Table, bad: Column, *, where: str, value: object, allowed: str
    ) -> None:
        self.first = table.place(int(np.argmax(bad)))
        super().__init__(what, where=f"{where}, {self.first}", found=value, allowed=allowed)
        self.places: Column = table.places[bad]
        self.rest: Table | None = None
        self.gpu_h = 0.0


def joined(parts: Sequence[Table]) -> Table:
    """Return the rows of tables of the same columns, one table after the other, without their places."""
    return Table({name: np.concatenate([part[name] for part in parts]) for name in parts[0].columns})


def coded(column: Column) -> tuple[Column, list[Any]]:
    """Return the index of each row's value, (n_rows,), and the distinct values; NaN is one value."""
    if is_constant(column):
        return np.zeros(len(column), dtype=np.int64), column[:1].tolist()
    if column.dtype != object:
        values, codes = np.unique(column, return_inverse=True)
        return codes, values.tolist()
    number = {value: code for code, value in enumerate(dict.fromkeys(column.tolist()))}
    return np.fromiter(map(number.__getitem__, column.tolist()), np.int64, len(column)), list(number)


def repeated(column: Column) -> Column:
    """Return whether each value is in an earlier row, (n_rows,) bool."""
    seen = set[Any]()
    repeated = np.zeros(len(column), dtype=bool)
    for row, one in enumerate(column.tolist()):
        repeated[row] = one in seen
        seen.add(one)
    return repeated


def texts(column: Column) -> Column:
    """Return a column as text, (n_jobs,); missing values become empty."""
    if is_constant(column) or (column.dtype == object and {*map(type, column.tolist())} <= {str}):
        return column
    texts = ["" if one is None or one != one else str(one) for one in column.tolist()]
    return np.fromiter(texts, dtype=object, count=len(column))


def to_numbers(column: Column) -> np.ndarray:
    """Return a column as float64, (n_jobs,); values that are not numbers become NaN."""
    if column.dtype == bool:
        return np.full(len(column), np.nan)
    if column.dtype != object:
        return column.astype(float, copy=False)
    if set(map(type, column)) == {str} and _is_plain("".join(column)):
        with suppress(ValueError):
            return column.astype(float)
    return np.fromiter(map(_number, column), dtype=float, count=len(column))


def _number(value: object) -> float:
    """Return a value as a number, or NaN; forms that only Python reads, such as 1_000, are NaN."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return np.nan
    try:
        return float(value) if not isinstance(value, str) or _is_plain(value) else np.nan
    except ValueError:
        return np.nan
    except OverflowError:
        return np.inf if value > 0 else -np.inf  # type: ignore[operator]


def _is_plain(text: str) -> bool:
    return "_" not in text and text.isascii()


def is_constant(column: Column) -> bool:
    """Return whether a column is one value for all rows, which takes no memory."""
    return column.strides == (0,) and len(column) > 0


def _column(given: Any, rows: int) -> Column:
    if isinstance(given, np.ndarray):
        return given.astype(object) if given.dtype.kind in "US" else given
    if not isinstance(given, list):
        kind = object if isinstance(given, str) else None
        return np.broadcast_to(np.array(given, dtype=kind), rows)
    if set(map(type, given)) <= {int, float}:
        with suppress(OverflowError):
            return np.array(given, dtype=float if float in map(type, given) else np.int64)
    return np.fromiter(given, dtype=object, count=rows)


def _of_pandas(column: "pd.Series") -> Column:
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    if column.dtype.kind in "iuf":
        return column.to_numpy(float, na_value=np.nan)
    return column.to_numpy(object, na_value=np.nan)
