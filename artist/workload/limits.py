"""Time limits of jobs: those of the trace, or a factor of the run time, rounded up."""

import numpy as np
from pydantic import Field

from artist.bad_input.records import Strict
from artist.tables.rows import Table
from artist.units import MAX_S
from artist.workload.table import MEASURED_AT, work_s


class Limits(Strict):
    """Time limits.

    Attributes
    ----------
    factor
        Limit of a job without one in the trace, over its run time; None: it has none.
    round_s
        Such limits are rounded up to a multiple of this; 0 for no rounding.
    enforced
        Whether a job ends when it reaches its limit, done or not.
    """

    factor: float | None = Field(default=None, gt=0, le=1e6)
    round_s: float = Field(default=60, ge=0, le=MAX_S)
    enforced: bool = Field(default=False, strict=True)


def with_limits(table: Table, limits: Limits) -> Table:
    """Return the table with a limit of each job, where the trace has none, by the factor."""
    if limits.factor is None:
        return table
    measured_s = work_s(table)
    if MEASURED_AT in table:  # the run time as in the trace, whose GPUs are faster or slower
        measured_s = measured_s * table["measured_speed"] / table[MEASURED_AT]
    limit_s = limits.factor * measured_s
    if limits.round_s:
        limit_s = np.ceil(limit_s / limits.round_s) * limits.round_s
    known = table["limit_s"] if "limit_s" in table else np.full(len(table), np.nan)
    return table.assign(limit_s=np.where(np.isnan(known), np.minimum(limit_s, MAX_S), known))
