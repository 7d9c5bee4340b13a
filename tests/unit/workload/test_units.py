"""Units and segments of jobs for which the trace has none."""

import numpy as np
import pytest

from artist.tables.rows import Table
from artist.workload.units import with_units


def table(**columns: list[int]) -> Table:
    """Return jobs of 16, 12, 4 and 0 GPUs; the second may have 4, 8 ... 16."""
    own = {name: np.array(values) for name, values in columns.items()}
    sizes = {"gpus": [16, 12, 4, 0], "min_gpus": [0, 4, 0, 0], "max_gpus": [0, 16, 0, 0]}
    return Table({name: np.array(values) for name, values in sizes.items()} | own, np.arange(4), "row")


@pytest.mark.parametrize(
    ("unit", "step", "expected"),
    [
        ("none", 4, [1, 1, 1, 1]),
        ("machine", 4, [8, 1, 1, 1]),  # of 8 GPUs: only 16 is a multiple
        (4, 4, [4, 4, 4, 1]),
        (4, 2, [4, 1, 4, 1]),  # the second could have 6
    ],
)
def test_jobs_of_such_sizes_have_the_unit(unit: str | int, step: int, expected: list[int]) -> None:
    """All numbers of GPUs that a job may have are multiples; a job without GPUs has none."""
    jobs = with_units(table(step=[1, step, 1, 1], unit=[1, 1, 1, 1]), unit, "none", 8)
    assert jobs["unit"].tolist() == expected


def test_fungible_jobs_have_none() -> None:
    """They take as many GPUs as their type needs, which may be no multiple."""
    assert with_units(table(fungible=[1, 0, 0, 0]), 4, "none", 8)["unit"].tolist() == [1, 4, 4, 1]


def test_those_of_the_trace_are_kept_and_segments_are_multiples_of_them() -> None:
    """Units 8, 3, 1: the segment of 4 is no multiple of 8 and of 3; the third job has one."""
    jobs = with_units(table(unit=[8, 3, 1, 1], step=[1, 4, 1, 1]), 2, 4, 8)
    assert jobs["unit"].tolist() == [8, 3, 2, 1]
    assert jobs["segment"].tolist() == [1, 1, 4, 1]
