"""Units and segments of jobs for which the trace has none."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from artist.core.arrays import Ints
from artist.tables.rows import Table

Multiple = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]
Unit = Literal["none", "machine"] | Multiple
Segment = Literal["none"] | Multiple


def with_units(table: Table, unit: Unit, segment: Segment, machine_gpus: int) -> Table:
    """Return the table with units and segments of the jobs whose GPUs are multiples of them.

    Those of the trace are kept. A segment is also a multiple of the job's unit. A fungible job has neither.

    Parameters
    ----------
    machine_gpus
        GPUs of a machine, the unit `machine`.
    """
    if unit != "none":
        table = _with_multiple(table, "unit", machine_gpus if unit == "machine" else unit)
    return table if segment == "none" else _with_multiple(table, "segment", segment)


def _with_multiple(table: Table, name: str, multiple: int) -> Table:
    n = len(table)
    known, unit = (table[column] if column in table else np.ones(n, int) for column in (name, "unit"))
    sizes: list[Ints] = [table["gpus"], table["min_gpus"], table["max_gpus"]]
    if "step" in table:
        sizes.append(np.where(table["max_gpus"] > 0, table["step"], 0))
    whole = np.all([size % multiple == 0 for size in sizes], axis=0) & (table["gpus"] > 0)
    if "fungible" in table:
        whole &= table["fungible"] == 0
    if name == "segment":
        whole &= multiple % unit == 0
    return table.assign(**{name: np.where((known == 1) & whole, multiple, known)})
