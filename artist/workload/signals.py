"""Named series that policies may follow during a run, such as the demand of an inference service.

The file is a CSV table, plain or gzipped, one row per time and one column per signal:

    time_s     seconds from the start of the simulation, rising
    any name   the value from that time on, until the next row

A signal with the name of a pool is the fraction of its machines, from 0 to 1, in use by other work than jobs.
A policy sees `view.signals[name].up_to(time_ns)`, and no later values. A perfect forecast is a separate
series: at each time `NAME.next` has the next value of NAME; the last one stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from artist.bad_input.records import Strict, validated
from artist.core.arrays import Floats, Ints
from artist.core.view import NEXT
from artist.errors import InputError
from artist.tables.files import read_csv
from artist.tables.rows import Table, to_numbers
from artist.units import MAX_S, NS_PER_S

_GROUP = "signals"
_TIME = "time_s"


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One signal; see `artist.core.view.Signal`.

    Attributes
    ----------
    times_ns, values
        Times from which values hold, shape (n,), in order of time; read-only.
    source
        Origin of the values, if in a file: its path, the column and the line of each, shape (n,).
    """

    times_ns: Ints
    values: Floats
    source: tuple[Path, str, Ints] | None = None

    def place(self, number: int) -> str:
        """Return the place of a value in its file; "" without one."""
        if self.source is None:
            return ""
        path, column, lines = self.source
        return f"{path}, line {lines[number]}, {column}"

    def up_to(self, time_ns: int) -> tuple[Ints, Floats]:
        """Return times (n,) and values (n,) known at a time, the latest last."""
        n = int(np.searchsorted(self.times_ns, time_ns, side="right"))
        return self.times_ns[:n], self.values[:n]

    def ended(self, time_ns: int) -> bool:
        """Return whether no value follows a time."""
        return not len(self.times_ns) or time_ns >= int(self.times_ns[-1])

    def ahead(self) -> "Series":
        """Return the series with each value one step early; the last value stays."""
        values = np.append(self.values[1:], self.values[-1:])
        values.flags.writeable = False
        return Series(self.times_ns, values)


class NoSignals:
    """No signals."""

    class Parameters(Strict):
        """None."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters = validated(self.Parameters, parameters, _GROUP)

    def series(self) -> Mapping[str, Series]:
        """Return an empty mapping."""
        return {}

    def describe(self) -> str:
        """Return an empty text: there is nothing to report."""
        return ""


class FileSignals:
    """The columns of a CSV file."""

    class Parameters(Strict):
        """The file, the columns to take (None: all), and the names with a forecast, `NAME.next`."""

        path: Path
        names: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
        ahead: tuple[str, ...] = ()

    def __init__(self, **parameters: Any) -> None:
        self.parameters = validated(self.Parameters, parameters, _GROUP)
        self.input_files: tuple[Path, ...] = (self.parameters.path,)

    def describe(self) -> str:
        """Return the file in a clause, for a report."""
        return f"signals from {self.parameters.path.name}"

    def series(self) -> Mapping[str, Series]:
        """Read the file and return its series by name.

        Raises
        ------
        InputError
            With line and column, if it is not such a file.
        """
        path = self.parameters.path
        table = read_csv(path, "signal")
        signals = [name for name in table.columns if name != _TIME]
        unnamed = any(name.startswith("Unnamed: ") for name in signals)
        if _TIME not in table or not signals or unnamed:
            allowed = f"{_TIME} and a named column for each signal"
            raise InputError(
                "wrong columns", where=f"{path}, line 1", found=list(table.columns), allowed=allowed
            )
        for name in self.parameters.names or ():
            if name not in signals:
                raise InputError(
                    "no such signal", where=f"{_GROUP}.names", found=name, allowed=f"{', '.join(signals)}"
                )
        if not len(table):
            raise InputError("no rows", where=str(path), found=0, allowed="a row for each time")
        times_s = to_numbers(table[_TIME])
        allowed = f"seconds from 0 to {MAX_S:g}"
        _refuse(~((times_s >= 0) & (times_s <= MAX_S)), table, path, _TIME, "wrong time", allowed)
        times_ns = np.rint(times_s * NS_PER_S).astype(np.int64)
        later = np.diff(times_ns, prepend=-1) > 0
        _refuse(~later, table, path, _TIME, "wrong order", "a time later than that of the row before")
        times_ns.flags.writeable = False
        read: dict[str, Series] = {}
        for name in self.parameters.names or signals:
            values = to_numbers(table[name])
            _refuse(~np.isfinite(values), table, path, name, "not a number", "a finite number")
            values.flags.writeable = False
            read[name] = Series(times_ns, values, (path, name, table.places))
        for name in self.parameters.ahead:
            if name not in read or name + NEXT in read:
                problem = "no such signal" if name not in read else f"{name + NEXT} is in the file"
                raise InputError(problem, where=f"{_GROUP}.ahead", found=name, allowed=", ".join(read))
            read[name + NEXT] = read[name].ahead()
        return read


def _refuse(
    bad: npt.NDArray[np.bool_], table: Table, path: Path, name: str, problem: str, allowed: str
) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        where = f"{path}, {table.place(row)}, {name}"
        raise InputError(problem, where=where, found=table[name][row], allowed=allowed)
