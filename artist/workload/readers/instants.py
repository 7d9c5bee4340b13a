"""Times of day in a file as instants, and the run times between them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated
from zoneinfo import ZoneInfo

import numpy as np
from pydantic import AfterValidator

from artist.errors import InputError
from artist.tables.rows import BadRowsError, Column, Table
from artist.workload.missing import is_missing_date
from artist.workload.readers.rules import log, seconds_after_first, seconds_between, stripped
from artist.workload.table import refuse

_ZONED = re.compile(r"(?:[Zz]|[+-]\d\d:?\d\d|:[\d.]+[+-]\d\d)$")
_ZONES = frozenset("Zz+-")  # after the date
_LAST_YEAR = np.datetime64("9999-01-01")
_EPOCH_S = 3e8  # more than nine years: a file whose times are larger counts from 1970
_FARTHEST_ZERO = np.datetime64("1970-01-01T14:00")  # second 0 as clocks in the farthest east show it


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise ValueError("no such time zone; a name such as Europe/Berlin or UTC") from None
    return name


TimeZone = Annotated[str, AfterValidator(_known_zone)]


def read_times(
    raw: Table,
    names: Sequence[str],
    where: str,
    zone: str | None = None,
    form: str | None = None,
    run_s: Column | None = None,
) -> list[Column]:
    """Return the dates of columns that follow each other, such as submission, start and end, in UTC.

    A time that clocks show twice is the first that is not before the columns to its left, or the one that
    agrees with the run time.

    Parameters
    ----------
    zone
        Zone of times without one; None to take them as UTC.
    form
        Format as Python writes it; None for ISO.
    run_s
        Seconds from the last column but one to the last, (n_jobs,); NaN or None if not known.

    Returns
    -------
    list
        A column, (n_jobs,) datetime64, by name; NaT where missing.

    Raises
    ------
    BadRowsError
        For values that are no dates, or times that the clocks of the zone skip.
    InputError
        For times with and without a zone, if `zone` does not say that of the latter.
    """
    columns = [_read(raw, name, where, zone, form) for name in names]
    local = np.logical_or.reduce([column.local for column in columns])
    zoned = np.logical_or.reduce([~column.local & ~np.isnat(column.earlier) for column in columns])
    if zone is None and local.any():
        if zoned.any():
            row = int(np.argmax(local))
            name = next(name for name, column in zip(names, columns, strict=True) if column.local[row])
            raise InputError(
                "times with and without a time zone",
                where=f"{where}, {raw.place(row)}",
                found=f"{name} {raw[name][row]}",
                allowed="workload.time_zone, the zone of the times without one, such as Europe/Berlin",
            )
        if len(names) > 1:
            note = (
                "%s: times without a zone are taken as UTC; if clocks change, workload.time_zone names theirs"
            )
            log.info(note, where, extra={"note": True})
    times = [columns[0].earlier]
    for column in columns[1:]:
        early = column.earlier < np.fmax.reduce(times)
        times.append(np.where(early, column.later, column.earlier))
    if run_s is None or len(columns) < 2 or zone is None:
        return times
    before, (start, end) = np.fmax.reduce([times[0], *times[:-2]]), columns[-2:]
    open_ = ~_lasts(times[-2], times[-1], run_s)
    for starts, ends in product((start.earlier, start.later), (end.earlier, end.later)):
        fits = open_ & _lasts(starts, ends, run_s) & ~(starts < before)
        times[-2:] = np.where(fits, starts, times[-2]), np.where(fits, ends, times[-1])
        open_ &= ~fits
    return times


def _lasts(start: Column, end: Column, run_s: Column) -> Column:
    """Return whether jobs run from start to end, to the second, (n_jobs,) bool."""
    lasting: Column = np.abs(seconds_between(start, end) - run_s) <= 1
    return lasting


def arrivals(
    raw: Table, column: str, where: str, dates: Column, zone: str | None = None
) -> dict[str, Column]:
    """Return `submit_s`, and `submit_date` as the clock of the zone, of jobs submitted at some dates."""
    import pandas as pd

    dates = begun(dates, dates)
    refuse(raw, np.isnat(dates), where, column, "is missing", "a time of arrival")
    clock = dates
    if zone is not None:
        clock = (
            pd.DatetimeIndex(dates).tz_localize("UTC").tz_convert(ZoneInfo(zone)).tz_localize(None).to_numpy()
        )
    return {"submit_s": seconds_after_first(dates), "submit_date": clock}


@dataclass(frozen=True, slots=True)
class _Instants:
    """Times of one column in UTC, all (n_jobs,).

    Attributes
    ----------
    earlier, later
        datetime64, NaT where missing. They differ for times that the clocks of the zone show twice.
    local
        True for a time without a zone of its own.
    """

    earlier: Column
    later: Column
    local: Column


def _read(raw: Table, column: str, where: str, zone: str | None, form: str | None) -> _Instants:
    import pandas as pd

    text = stripped(raw[column])
    dates = pd.to_datetime(pd.Series(text), format=form or "ISO8601", utc=True, errors="coerce")
    utc = dates.dt.tz_localize(None).to_numpy()
    utc = np.where(utc < _LAST_YEAR, utc, np.datetime64("NaT"))
    known = ~np.isnat(utc)
    wrong = ~known
    wrong[wrong] = [not is_missing_date(one) for one in text[wrong].tolist()]
    allowed = form or "a date such as 2023-05-17 11:00:58, or with a zone, 2023-05-17T11:00:58+01:00"
    refuse(raw, wrong, where, column, "is not a date", allowed)
    if form is not None:
        local = known & ("%z" not in form)
    elif _ZONES.isdisjoint("".join(one[10:] for one in text)):
        local = known
    else:
        local = known & ~np.fromiter((bool(_ZONED.search(one)) for one in text), bool, len(text))
    if zone is None or not local.any():
        return _Instants(utc, utc, local)
    clock, key = pd.DatetimeIndex(np.where(local, utc, np.datetime64("NaT"))), ZoneInfo(zone)
    earlier, later = (
        np.where(local, clock.tz_localize(key, np.full(len(clock), first), "NaT").tz_convert(None), utc)
        for first in (True, False)
    )
    fault = f"is no time of {zone}, whose clocks skip it"
    refuse(raw, local & np.isnat(earlier), where, column, fault, "a time that the clocks show")
    return _Instants(earlier, later, local)


def begun(times: Column, before: Column) -> Column:
    """Return times, (n_jobs,), with NaN or NaT for 0 or -1 in place of one that is not yet known.

    These are earlier than `before`, as no time can be, or the file's other times count from 1970.

    Parameters
    ----------
    times, before
        Seconds, or datetime64.
    """
    dates = times.dtype.kind == "M"
    zero = times <= (_FARTHEST_ZERO if dates else 0)
    if not zero.any():
        return times
    typical = np.nanmedian(before.astype("datetime64[s]").astype(float) if dates else before)
    none = zero & ((times < before) | (typical > _EPOCH_S))
    return np.where(none, np.datetime64("NaT") if dates else np.nan, times)


def run_times(
    raw: Table, where: str, names: Sequence[str], submit: Column, start: Column, end: Column, known: Column
) -> Column:
    """Return the run time of each job in seconds, (n_jobs,); NaN for one that did not start or end.

    Parameters
    ----------
    names
        Columns of the file for submission, start and end, for messages.
    submit, start, end
        Seconds or datetime64; NaN or NaT where missing.
    known
        Run times that the file states, in seconds; preferred, and NaN where there is none.

    Raises
    ------
    BadRowsError
        For jobs of unknown run time that start before they are submitted, or end before they start.
    """
    start = begun(start, submit)
    end = begun(end, np.fmax(submit, start))
    for first, then, fault, shown in (
        (submit, start, "starts {} s before it is submitted", names[:2]),
        (start, end, "ends {} s before it starts", names[-2:]),
    ):
        between_s = np.where(np.isnan(known), seconds(first, then), np.nan)
        if (bad := between_s < 0).any():
            row = int(np.argmax(bad))
            value = ", ".join(f"{name} {raw[name][row]}" for name in shown if name in raw)
            allowed = "submission, start and end in this order"
            if start.dtype.kind == "M":
                allowed += "; of clocks that change, name workload.time_zone"
            what = fault.format(f"{-between_s[row]:.15g}")
            raise BadRowsError(what, raw, bad, where=where, value=value, allowed=allowed)
    return np.where(np.isnan(known), seconds(start, end), known)


def with_starts(table: Table, submit: Column | None, start: Column | None) -> Table:
    """Return the table with real starts, if submission and start are both dates or both numbers.

    A start before submission is none; the row is bad unless it has a run time of its own.
    """
    if submit is None or start is None or submit.dtype.kind != start.dtype.kind:
        return table
    wait_s = seconds(submit, begun(start, submit))
    return table.assign(started_s=table["submit_s"] + np.where(wait_s < 0, np.nan, wait_s))


def seconds(start: Column, end: Column) -> Column:
    """Return the seconds from instants to others, dates or numbers, (n_jobs,)."""
    return seconds_between(start, end) if start.dtype.kind == "M" else end - start
