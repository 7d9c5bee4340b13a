"""Profiles before and after calibration, as a table."""

from collections.abc import Sequence

from artist.calibrating.measured import Measured
from artist.tables.grid import Grid, percent
from netmodels.calibration.fit import Fit

_HEADS = (
    ("", "", "model"),
    ("", "", "GPUs"),
    ("overhead %", "", "measured"),
    ("", "", "before"),
    ("", "", "after"),
    ("", "compute", "scale"),
    ("", "launch", "us"),
    ("compute ms", "", "before"),
    ("", "", "after"),
)


def fit_table(rows: Sequence[Measured], fits: Sequence[Fit]) -> str:
    """Return the table before and after, one row per model; overheads in % of compute."""
    cells = tuple(
        (
            row.profile.name,
            str(row.gpus),
            *(percent(overhead) for overhead in (row.overhead, fit.before, fit.achieved)),
            f"{fit.compute_scale:.5g}",
            f"{fit.launch_ns / 1e3:,.3f}",
            *(
                f"{compute_ns / 1e6:,.3f}"
                for compute_ns in (round(row.profile.compute_ns / row.machine.speed), fit.profile.compute_ns)
            ),
        )
        for row, fit in zip(rows, fits, strict=True)
    )
    return Grid(_HEADS, cells, 1).text()
