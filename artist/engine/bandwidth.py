"""Memory bandwidth in use, as policies observe it; recomputed for a machine only if its jobs changed."""

from collections.abc import Mapping

import numpy as np

from artist.core.arrays import Floats
from artist.engine.machines import MachineTable
from artist.performance.api import Performance, Running


class BandwidthMeter:
    """Caches the bandwidth that the jobs on each machine draw, according to performance.

    Parameters
    ----------
    machines
        Records the machines whose jobs changed, from the first query on.
    performance, running
        Answer for one machine.
    """

    def __init__(self, machines: MachineTable, performance: Performance, running: Running) -> None:
        self._machines = machines
        self._performance = performance
        self._running = running
        self._on: list[Mapping[int, float]] = [{}] * len(machines.cluster)
        self._total = np.zeros(len(machines.cluster))

    def on(self, machine: int) -> Mapping[int, float]:
        """Return the bandwidth in bytes/s that each job on a machine draws."""
        self._catch_up()
        return dict(self._on[machine])

    def total(self) -> Floats:
        """Return the bandwidth in bytes/s in use on each machine, shape (n_machines,)."""
        self._catch_up()
        return self._total.copy()

    def _catch_up(self) -> None:
        touched = self._machines.touched
        if touched is None:
            touched = dict.fromkeys(range(len(self._on)))
        for machine in touched:
            drawn = self._on[machine] = self._performance.bandwidth(machine, self._running)
            self._total[machine] = sum(drawn.values())
        self._machines.touched = {}
