"""Rate at which CPUs, cache and storage feed the GPUs of a job (Synergy, sections 2.1 and 3.1).

The preparing rate follows the CPUs of each GPU along a measured curve. The fetching rate follows memory: the
rest beside the processes is a cache that holds the same samples in every epoch (MinIO), so hits = cache /
data set, and storage delivers the rest. The slower of the two feeds the GPUs. More CPUs than the GPUs need
may slow a job down a little, and across machines it may need few (CODA, section IV-B).
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from artist.core.arrays import Floats, Ints


@dataclass(frozen=True)
class Sensitivity:
    """Effect of CPUs and memory on jobs of one model.

    Rates are relative to the consumption of a measured GPU that never waits; throughputs are relative to any
    one of them.

    Attributes
    ----------
    cpus
        Measured CPUs per GPU, with all the memory needed, increasing.
    throughput
        With each of them, never decreasing. Linear between them, in proportion to CPUs below the first. From
        the first that reaches the last value on the GPU never waits; further CPUs continue to prepare in
        proportion, which faster GPUs need.
    speed
        Of the measured GPUs, relative to the reference GPU.
    dataset_bytes
        Size of the data set.
    uncached
        Throughput if storage delivers everything; None if fetching never limits.
    machine_bytes, gpu_bytes
        Memory of a job's processes on each of its machines, and for each GPU.
    full
        Throughput of a GPU that never waits; 0 for the last one measured.
    beyond
        Share of its speed that a job loses with each CPU per GPU above those that its GPUs need.
    max_beyond
        Limit of that loss.
    across
        Most CPUs that a job of several machines needs on each of them, however many GPUs are there; 0: as
        many as on one machine.
    memory_bandwidth_bytes_per_s
        Memory bandwidth that the input of one GPU draws on its machine; 0: not known.
    bandwidth_loss
        Share of its speed that a job loses if the memory bandwidth of its machine is used up.
    pcie_greedy
        Whether it crowds the PCIe of its machine.
    """

    cpus: tuple[float, ...]
    throughput: tuple[float, ...]
    speed: float = 1.0
    dataset_bytes: int = 0
    uncached: float | None = None
    machine_bytes: int = 0
    gpu_bytes: int = 0
    full: float = 0.0
    beyond: float = 0.0
    max_beyond: float = 0.0
    across: int = 0
    memory_bandwidth_bytes_per_s: int = 0
    bandwidth_loss: float = 0.0
    pcie_greedy: bool = False

    def prepared(self, cpus: float) -> float:
        """Return the rate at which some CPUs per GPU prepare samples."""
        points, begins, bases, slopes = self._pieces
        piece = bisect_right(points, cpus)
        return bases[piece] + (cpus - begins[piece]) * slopes[piece]

    def prepared_on_grid(self, cpus: Floats) -> Floats:
        """Return `prepared` for each of many."""
        points, begins, bases, slopes = self._arrays
        piece = np.searchsorted(points, cpus, side="right")
        return bases[piece] + (cpus - begins[piece]) * slopes[piece]

    def counts(self, gpus: int) -> float:
        """Return the CPUs that each one beside some GPUs on one of several machines counts for."""
        return max(1.0, gpus * self._enough / self.across) if self.across else 1.0

    def dragged(self, spare_cpus: float) -> float:
        """Return the relative time of a job with some CPUs per GPU beyond those that it needs."""
        return 1 / (1 - min(self.max_beyond, self.beyond * spare_cpus)) if spare_cpus > 0 else 1.0

    def dragged_on_grid(self, spare_cpus: Floats) -> Floats:
        """Return `dragged` for each of many."""
        return 1 / (1 - np.minimum(self.max_beyond, self.beyond * np.maximum(spare_cpus, 0)))

    def needs(self, gpus: int) -> int:
        """Return the memory that the processes of a job need on a machine, in bytes."""
        return self.machine_bytes + self.gpu_bytes * gpus

    def preparing(self, rate: float) -> float:
        """Return the least CPUs per GPU that prepare samples at a rate."""
        _, begins, bases, slopes = self._pieces
        piece = max(bisect_left(bases, rate) - 1, 0)
        return begins[piece] + max(rate - bases[piece], 0.0) / slopes[piece] if rate > 0 else 0.0

    def fetched(self, cache_bytes: int) -> float:
        """Return the rate at which samples come from storage and a cache of some bytes in all."""
        missed = 1 - cache_bytes / self.dataset_bytes if cache_bytes < self.dataset_bytes else 0.0
        return self._storage / missed if missed else float("inf")

    def fetched_on_grid(self, cache_bytes: Ints) -> Floats:
        """Return `fetched` for each of many."""
        rates = np.full(cache_bytes.shape, np.inf)
        missing = cache_bytes < self.dataset_bytes
        rates[missing] = self._storage / (1 - cache_bytes[missing] / self.dataset_bytes)
        return rates

    @cached_property
    def _pieces(self) -> tuple[tuple[float, ...], ...]:
        """Return the pieces of the curve, from no CPUs on: begin, rate there and slope of each."""
        n = self.throughput.index(self.throughput[-1]) + 1
        points, rates = self.cpus[:n], [rate / self._full for rate in self.throughput[:n]]
        begins, bases = (0.0, *points), (0.0, *rates)
        rises = [(bases[i + 1] - bases[i]) / (begins[i + 1] - begins[i]) for i in range(n)]
        return points, begins, bases, (*rises, rates[-1] / points[-1])

    @cached_property
    def _arrays(self) -> tuple[Floats, ...]:
        return tuple(np.array(piece) for piece in self._pieces)

    @cached_property
    def _enough(self) -> float:
        """CPUs per GPU with which a measured GPU never waits."""
        return self.preparing(1.0)

    @property
    def _full(self) -> float:
        return self.full or self.throughput[-1]

    @cached_property
    def _storage(self) -> float:
        return float("inf") if self.uncached is None else self.uncached / self._full
