"""Series of inference demand: GPUs wanted over time, from traces of instances or of requests.

Three files are read, plain or gzipped, told apart by their header:

- Alibaba's disaggregated DLRM serving (NSDI'25): instances, in use from scheduled_time to deletion_time,
  seconds from the start of the trace; empty means from its start or to its end. Demand is gpu_request,
  which is 1 for a heterogeneous node (HN) and 0 for a CPU node (CN).
- Alibaba's GenTD26 Stable-Diffusion serving (2026): requests, each taken to use one GPU for exec_time_seconds
  from gmt_create (naive dates) on. PENDING ones, which were never served, are left out.
- Our own: time_s and gpus, the demand from that time on, one row per change; the last row ends the series.

The series has one exact mean per step, over the whole steps that the trace covers.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from artist.core.waiting import Floats, mean_in_use
from artist.errors import InputError
from artist.tables.files import read_csv
from artist.tables.rows import Table, to_numbers
from artist.workload.readers.instants import read_times
from artist.workload.readers.rules import seconds_between
from artist.workload.table import refuse

_log = logging.getLogger(__name__)

_DLRM = ("instance_sn", "role", "app_name", "gpu_request", "scheduled_time", "deletion_time")
_GENAI = ("gmt_create", "predict_status", "exec_time_seconds")
_OWN = ("time_s", "gpus")
_DAY_S = 86_400.0
_MAX_STEPS = 10_000_000
_MOST = 1e12  # of seconds or GPUs: beyond any trace, and sums of their products stay finite


@dataclass(frozen=True, slots=True)
class DemandSeries:
    """GPUs wanted over time.

    Attributes
    ----------
    step_s
        Length of a step.
    start_s
        Of the first step, from the start of the trace or, if `date` is known, from that day's midnight.
    gpus
        Mean of each step, (n_steps,).
    date
        Midnight of the first day; None if the trace has no dates.
    """

    name: str
    step_s: float
    start_s: float
    gpus: Floats
    date: pd.Timestamp | None

    @property
    def times_s(self) -> Floats:
        """Start of each step, (n_steps,)."""
        return self.start_s + self.step_s * np.arange(len(self.gpus))

    def by_hour(self) -> Floats:
        """Return the mean demand of each hour of the day, (24,); NaN for hours without any.

        Without dates, hours count from the start of the trace.
        """
        hours = (self.times_s // 3600).astype(np.int64) % 24
        count = np.bincount(hours, minlength=24)
        total = np.bincount(hours, weights=self.gpus, minlength=24)
        means: Floats = np.divide(total, count, out=np.full(24, np.nan), where=count > 0)
        return means


def read_demand(path: Path, step_s: float) -> DemandSeries:
    """Return the demand series of a file.

    Raises
    ------
    InputError
        If the file is invalid, or shorter than a step.
    """
    raw = read_csv(path, "demand")
    if not len(raw):
        raise InputError("no rows", where=str(path), found="0 rows", allowed="one row an instance or request")
    readers = ((_DLRM, _instances), (_GENAI, _requests), (_OWN, _levels))
    for header, reader in readers:
        if all(name in raw for name in header):
            return reader(raw, path, step_s)
    allowed = "; or ".join(",".join(header) for header, _ in readers)
    columns = ",".join(raw.columns)
    raise InputError("unknown header", where=f"{path}, line 1", found=columns, allowed=allowed)


def _instances(raw: Table, path: Path, step_s: float) -> DemandSeries:
    start_s = _seconds(raw, "scheduled_time", path, empty=0.0)
    asked = _seconds(raw, "deletion_time", path, empty=np.inf)
    gpus = _seconds(raw, "gpu_request", path)
    known = np.concatenate([start_s, asked[np.isfinite(asked)]])
    end_s = _DAY_S * np.ceil(float(known.max()) / _DAY_S)
    until_s = np.minimum(asked, end_s)
    refuse(raw, until_s < start_s, str(path), "deletion_time", "is before scheduled_time", "a later time")
    return _series(path, step_s, (start_s, until_s, gpus), 0.0, end_s, None)


def _requests(raw: Table, path: Path, step_s: float) -> DemandSeries:
    pending = raw["predict_status"] == "PENDING"
    if pending.any():
        _log.warning("%s: left out %d of %d requests: PENDING", path, int(pending.sum()), len(raw))
    raw = raw.take(~pending)
    (dates,) = read_times(raw, ["gmt_create"], str(path), "UTC")
    allowed = "a date such as 2024-11-15 16:57:50"
    refuse(raw, np.isnat(dates), str(path), "gmt_create", "is not a date", allowed)
    if not len(raw):
        raise InputError("no requests", where=str(path), found="all PENDING", allowed="at least one served")
    midnight = dates.min().astype("datetime64[D]")
    start_s = seconds_between(midnight, dates)
    taken_s = _seconds(raw, "exec_time_seconds", path)
    ends = float(start_s.max())
    use = (start_s, start_s + taken_s, np.ones(len(raw)))
    return _series(path, step_s, use, float(start_s.min()), ends, pd.Timestamp(midnight))


def _levels(raw: Table, path: Path, step_s: float) -> DemandSeries:
    times_s, gpus = _seconds(raw, "time_s", path), _seconds(raw, "gpus", path)
    falls = np.append(False, np.diff(times_s) <= 0)
    refuse(raw, falls, str(path), "time_s", "is not after the row before", "rising times")
    use = (times_s[:-1], times_s[1:], gpus[:-1])
    return _series(path, step_s, use, float(times_s[0]), float(times_s[-1]), None)


def _series(
    path: Path,
    step_s: float,
    use: tuple[Floats, Floats, Floats],
    first_s: float,
    last_s: float,
    date: pd.Timestamp | None,
) -> DemandSeries:
    """Return the means over the whole steps between two times."""
    first, last = np.ceil(first_s / step_s), np.floor(last_s / step_s)
    if last <= first:
        span = f"{last_s - first_s:g} s"
        raise InputError(
            "too short for a step", where=str(path), found=span, allowed="a smaller demand.step_s"
        )
    if last - first > _MAX_STEPS:
        allowed = f"up to {_MAX_STEPS} steps"
        raise InputError("too many steps", where="demand.step_s", found=step_s, allowed=allowed)
    edges_s = step_s * np.arange(first, last + 1)
    return DemandSeries(path.name, step_s, float(edges_s[0]), mean_in_use(*use, edges_s), date)


def _seconds(raw: Table, column: str, path: Path, empty: float | None = None) -> Floats:
    """Return a column of numbers from 0 to `_MOST`; `empty` replaces an empty value."""
    values = to_numbers(raw[column])
    gaps = (raw[column] == "") & (empty is not None)
    wrong = ~gaps & ~((values >= 0) & (values <= _MOST))
    refuse(raw, wrong, str(path), column, "is no such number", f"a number from 0 to {_MOST:g}")
    return np.where(gaps, empty if empty is not None else np.nan, values)
