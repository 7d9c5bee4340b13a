"""Measured runs of nccl-tests or rccl-tests."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from netmodels.nccl.model import NcclCollective


def bus_factor(collective: NcclCollective, gpus: int) -> float:
    """Return bus bandwidth / bytes per time, `busbw / algbw` (nccl-tests, doc/PERFORMANCE.md)."""
    if collective == "send_receive":
        return 1.0
    return (2 if collective == "all_reduce" else 1) * (gpus - 1) / gpus


@dataclass(frozen=True)
class MeasuredRun:
    """One run of one collective over a range of sizes, as nccl-tests prints it.

    Parameters
    ----------
    name
        Name in messages and tables.
    collective
        The collective.
    machines, gpus_per_machine
        Machines of the run, and GPUs on each.
    points
        (bytes, time in us, out of place), by bytes. Bytes as printed: those of an all-gather are the total
        over ranks, of all others the size per rank at the start.
    source
        Origin, in one line.
    settings
        Program versions and environment, as the source states them.
    """

    name: str
    collective: NcclCollective
    machines: int
    gpus_per_machine: int
    points: tuple[tuple[int, float], ...]
    source: str = ""
    settings: str = ""

    @property
    def place(self) -> tuple[tuple[int, ...], ...]:
        """GPUs by rack and machine; runs do not state racks, so all machines are in one."""
        return ((self.gpus_per_machine,) * self.machines,)

    @cached_property
    def sizes_bytes(self) -> npt.NDArray[np.float64]:
        """Sizes, shape (n_points,)."""
        return np.array([size for size, _ in self.points], dtype=np.float64)

    @cached_property
    def times_us(self) -> npt.NDArray[np.float64]:
        """Times, shape (n_points,)."""
        return np.array([time_us for _, time_us in self.points], dtype=np.float64)
