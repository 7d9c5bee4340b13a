"""Machines by pool: from a file of counts by date, or the largest use that a trace shows.

The file is a CSV table, plain or gzipped, with either

    date, and a column per pool with its GPUs; a column `total` is left out
    date, pool, and gpus or machines: a row per pool and date, which holds until its next one

in any order. Parts of a machine count as a whole one. A count that differs on a single date, and is the same
on the dates before and after it, is a fault of the file: it is replaced, with a note.

Machines that a pool gains join at the start of the date. Those that it loses take no new jobs from then on,
and leave a day later; jobs that still run there wait again.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from artist.core.arrays import Floats, Ints
from artist.core.cluster import CapacityEvent
from artist.datacenter.config import scaled
from artist.errors import InputError
from artist.tables.files import read_csv
from artist.tables.rows import Column, Table, coded, to_numbers
from artist.units import seconds_to_ns

Dates = npt.NDArray[np.datetime64]

_log = logging.getLogger(__name__)
_DAY_S = 86_400
_MAX_GPUS = 1e6


@dataclass(frozen=True, slots=True)
class Shares:
    """Machines by pool over time.

    Attributes
    ----------
    times_s
        Times from which the counts hold, the first one 0.
    machines
        Counts by pool, as long as `times_s`.
    """

    times_s: Sequence[float]
    machines: Mapping[str, Sequence[int]]

    def scaled(self, factor: float) -> "Shares":
        """Return the counts times a factor, rounded; a pool that has machines keeps at least one."""
        of = {
            pool: [scaled(count, factor) if count else 0 for count in counts]
            for pool, counts in self.machines.items()
        }
        return Shares(self.times_s, of)

    def enlarged(self, machines: Mapping[str, int]) -> "Shares":
        """Return the counts with some machines more by pool; a pool that has machines keeps at least one."""
        of = {
            pool: [max(1, count + machines[pool]) if count else 0 for count in counts]
            for pool, counts in self.machines.items()
        }
        return Shares(self.times_s, of)

    def events(self, pool: str, first: int) -> list[CapacityEvent]:
        """Return the events of a pool, whose machines are numbered from `first`."""
        events, counts = list[CapacityEvent](), self.machines[pool]
        for time_s, before, after in zip(self.times_s[1:], counts, counts[1:], strict=False):
            time_ns, last_ns = seconds_to_ns(time_s), seconds_to_ns(time_s + _DAY_S)
            events += [CapacityEvent(time_ns, "join", first + i) for i in range(before, after)]
            events += [CapacityEvent(time_ns, "leave", first + i, last_ns) for i in range(after, before)]
        return events


def read_shares(path: Path, machine_gpus: int, since: datetime | None, only: Sequence[str] | None) -> Shares:
    """Read the file of machines by pool and date.

    Parameters
    ----------
    machine_gpus
        GPUs of a machine.
    since
        Time of second 0; None for the first date of the file.
    only
        Pools to take; None for all.

    Raises
    ------
    InputError
        For the first fault: file, line or column, value, and allowed values.
    """
    table = read_csv(path, "shares")
    if "date" not in table:
        allowed = "date, and a column per pool; or date, pool, and gpus or machines"
        columns = list(table.columns)
        raise InputError("column is missing", where=f"{path}, date", found=columns, allowed=allowed)
    days = _days(table, path)
    dates = np.unique(days)
    by_pool = _by_row if "pool" in table else _by_column
    of_pool = by_pool(table, path, machine_gpus)
    known = list(of_pool)
    for pool in only or ():
        if pool not in known:
            allowed = f"pools of {path}: {', '.join(known)}"
            raise InputError("no such pool", where="cluster.pools", found=pool, allowed=allowed)
    start = since or _midnight(dates[0])
    if not dates[0] <= np.datetime64(start, "D") <= dates[-1]:
        what, allowed = "no count for this date", f"a date from {dates[0]} to {dates[-1]}, those of {path}"
        raise InputError(what, where="cluster.shares_since", found=str(start), allowed=allowed)
    machines: dict[str, list[int]] = {}
    first = int(np.searchsorted(dates, np.datetime64(start, "D"), side="right")) - 1
    for pool in only or known:
        rows, values = of_pool[pool]
        machines[pool] = _held(dates, days[rows], values).tolist()
    _smooth(machines, dates, path)
    times_s = [max(0.0, (_midnight(date) - start).total_seconds()) for date in dates[first:]]
    machines = {pool: counts[first:] for pool, counts in machines.items()}
    return Shares(times_s, {pool: of for pool, of in machines.items() if any(of)})


def largest_use(pools: Column, gpus: Ints, start_s: Floats, end_s: Floats, machine_gpus: int) -> Shares:
    """Return the machines that hold the most GPUs that each pool had in use at a time.

    Parameters
    ----------
    pools, gpus, start_s, end_s
        Of each job, shape (n_jobs,); NaN for one that did not start.
    machine_gpus
        GPUs of a machine.
    """
    codes, names = coded(np.array(pools, dtype=np.object_))
    machines = {}
    for code, name in enumerate(names):
        of = (codes == code) & ~np.isnan(start_s)
        at = np.concatenate((end_s[of], start_s[of]))
        change = np.concatenate((-gpus[of], gpus[of]))  # ends before starts of the same time
        used = change[np.argsort(at, kind="stable")].cumsum()
        at_least = gpus[codes == code].max(initial=0)
        machines[str(name)] = [-(-max(int(used.max(initial=0)), int(at_least)) // machine_gpus)]
    return Shares([0.0], machines)


def _midnight(date: np.datetime64) -> datetime:
    return datetime.combine(date.astype(datetime), time())


def _days(table: Table, path: Path) -> Dates:
    days = []
    for row, text in enumerate(table["date"]):
        try:
            days.append(np.datetime64(datetime.fromisoformat(text.strip()), "D"))
        except ValueError:
            where = f"{path}, {table.place(row)}, date"
            raise InputError("no date", where=where, found=text, allowed="such as 2020-05-01") from None
    return np.array(days)


def _by_column(table: Table, path: Path, machine_gpus: int) -> dict[str, tuple[Ints, Ints]]:
    """Return rows and machines by pool, of a file with a column per pool."""
    names = [name for name in table.columns if name not in ("date", "total")]
    if not names:
        allowed = "a column per pool; or pool, and gpus or machines"
        raise InputError("no pools", where=str(path), found=list(table.columns), allowed=allowed)
    rows = np.arange(len(table))
    return {name: (rows, _machines(table, name, path, machine_gpus)) for name in names}


def _by_row(table: Table, path: Path, machine_gpus: int) -> dict[str, tuple[Ints, Ints]]:
    """Return rows and machines by pool, of a file with a row per pool and date."""
    count = next((name for name in ("machines", "gpus") if name in table), None)
    if count is None:
        raise InputError(
            "column is missing", where=str(path), found=list(table.columns), allowed="gpus or machines"
        )
    values = _machines(table, count, path, machine_gpus if count == "gpus" else 1)
    codes, names = coded(table["pool"])
    rows = {str(name): np.flatnonzero(codes == code) for code, name in enumerate(names)}
    return {name: (at, values[at]) for name, at in rows.items()}


def _machines(table: Table, name: str, path: Path, per_machine: int) -> Ints:
    values = to_numbers(table[name])
    wrong = ~((values >= 0) & (values <= _MAX_GPUS) & (values == np.rint(values)))
    if wrong.any():
        row = int(np.argmax(wrong))
        where = f"{path}, {table.place(row)}, {name}"
        allowed = f"a whole number from 0 to {_MAX_GPUS:.0f}"
        raise InputError("no count", where=where, found=table[name][row], allowed=allowed)
    return -(-values.astype(np.int64) // per_machine)


def _held(dates: Dates, days: Dates, values: Ints) -> Ints:
    """Return the count at each date: the last one up to it, 0 before the first."""
    order = np.argsort(days, kind="stable")
    at = np.searchsorted(days[order], dates, side="right") - 1
    return np.where(at >= 0, values[order][at], 0)


def _smooth(machines: Mapping[str, list[int]], dates: Dates, path: Path) -> None:
    """Replace counts that differ on a single date, with a note on each such date."""
    for at in range(1, len(dates) - 1):
        odd = [pool for pool, n in machines.items() if n[at - 1] == n[at + 1] != n[at]]
        for pool in odd:
            machines[pool][at] = machines[pool][at - 1]
        if odd:
            note = "%s: the counts of %s differ on %s alone: taken as a fault, and as on the day before"
            _log.warning(note, path, ", ".join(odd), dates[at], extra={"note": True})
