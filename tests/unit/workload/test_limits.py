"""Time limits of a workload: those of the trace, a factor, and rounding."""

import numpy as np
import pytest

from artist.errors import InputError
from artist.tables.rows import Table
from artist.workload.limits import Limits, with_limits
from artist.workload.readers.canonical import CanonicalCsv


def limits_of(limit_s: list[float] | None = None, **setting: object) -> list[float]:
    """Return the limits in s of jobs of 50, 60 and 61 s; 0 for none."""
    columns: dict[str, object] = {"duration_s": np.array([50.0, 60.0, 61.0])}
    columns |= {"iterations": np.full(3, np.nan), "compute_s": np.full(3, np.nan)}
    if limit_s:
        columns["limit_s"] = np.array(limit_s)
    table = with_limits(Table(columns), Limits(**setting))
    return list(np.nan_to_num(table["limit_s"])) if "limit_s" in table else []


def test_a_factor_gives_limits_rounded_up_where_the_trace_has_none() -> None:
    """1.5 x 50, 60, 61 = 75, 90, 91.5, in minutes 120, 120, 120; the trace's own 7 s stay."""
    assert limits_of(factor=1.5) == [120, 120, 120]
    assert limits_of(factor=1.5, round_s=0) == [75, 90, 91.5]
    assert limits_of([np.nan, 7, np.nan], factor=1, round_s=10) == [50, 7, 70]


def test_without_a_factor_limits_are_those_of_the_trace() -> None:
    """None is invented."""
    assert limits_of() == []
    assert limits_of([np.nan, 7, 8]) == [0, 7, 8]


def test_limits_reach_the_jobs(tmp_path) -> None:
    """The whole way from a file: limit_s of 30 s is 30e9 ns, and an unknown key is refused."""
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit_s,gpus,duration_s,limit_s\na,0,1,10,30\nb,0,1,10,\n")
    assert CanonicalCsv(path=path, limits={"factor": 2}).parameters.limits.factor == 2
    with pytest.raises(InputError, match="limits"):
        CanonicalCsv(path=path, limits={"factor": 0})
