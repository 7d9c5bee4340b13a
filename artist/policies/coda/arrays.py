"""Arrays of a cluster: the machines of the two GPU sub-arrays, and the CPUs kept for GPU jobs. For Coda.

The 4-GPU sub-array is for jobs of `large_gpus` or more: as many machines with GPUs, those with the lowest
numbers, as have the most GPUs that such jobs held at one time. The others are the 1-GPU sub-array. On each
machine CPUs are reserved for GPU jobs: its GPUs x the mean CPUs per GPU that GPU jobs held over time (4
before any), rounded up, at most its CPUs. The rest is its part of the CPU array.

Source: Zhao et al., CODA, ICDCS 2020, section V-C.
"""

from dataclasses import dataclass, field

import numpy as np

from artist.core.arrays import Ints
from artist.core.buckets import ALL
from artist.core.cluster import Cluster

BEFORE_ANY = 4.0
"""CPUs reserved per GPU where no GPU job has run (ASSUMPTION: the mean of the paper's starts)."""
_ROUNDING = 1e-9


@dataclass(slots=True)
class History:
    """Resources that GPU jobs held so far in this run.

    Attributes
    ----------
    large_peak
        The most GPUs that large jobs held at one time.
    """

    large_peak: int = 0
    _large: int = 0
    _gpus: int = 0  # held now
    _cpus: int = 0
    _gpu_ns: int = 0
    _cpu_ns: int = 0
    _upto: int = 0

    def advance(self, now: int) -> None:
        """Integrate held GPUs and CPUs up to now; call before anything changes at an instant."""
        self._gpu_ns += self._gpus * (now - self._upto)
        self._cpu_ns += self._cpus * (now - self._upto)
        self._upto = now

    def hold(self, gpus: int, cpus: int, *, large: bool) -> None:
        """Record that GPU jobs hold more GPUs and CPUs from now on, or fewer."""
        self._gpus += gpus
        self._cpus += cpus
        if large:
            self._large += gpus
            self.large_peak = max(self.large_peak, self._large)

    @property
    def cpus_per_gpu(self) -> float:
        """Mean CPUs per GPU that GPU jobs held over time."""
        return self._cpu_ns / self._gpu_ns if self._gpu_ns else BEFORE_ANY


@dataclass(slots=True)
class Arrays:
    """The division of a cluster; without arrays there is one GPU array, and no CPU is reserved.

    Parameters
    ----------
    large_machines
        Machines of the 4-GPU sub-array; None to follow history.
    reserve_per_gpu
        CPUs reserved per GPU; None to follow history.
    review_ns
        Time after which history is evaluated again.

    Attributes
    ----------
    large, small
        Machines of the two sub-arrays, as sets of `artist.core.buckets`.
    reserve : ndarray of int64, shape (n_machines,)
        CPUs reserved for GPU jobs.
    series
        (time in ns, name, value) whenever history was evaluated.
    """

    cluster: Cluster
    large_machines: int | None
    reserve_per_gpu: float | None
    review_ns: int
    divided: bool = True
    history: History = field(default_factory=History)
    large: int = 0
    small: int = ALL
    reserve: Ints = field(init=False)
    series: list[tuple[int, str, float]] = field(default_factory=list)
    _due: int = 0

    def __post_init__(self) -> None:
        self.reserve = np.zeros(len(self.cluster), dtype=np.int64)

    def review(self, now: int) -> bool:
        """Divide the cluster according to history, if that is due; return whether anything changed."""
        if not self.divided or now < self._due:
            return False
        self._due = (now // self.review_ns + 1) * self.review_ns
        before = self.large, self.reserve.tolist()
        self._choose_machines()
        per_gpu = self.reserve_per_gpu
        if per_gpu is None:
            per_gpu = self.history.cpus_per_gpu
        gpus, cpus = self.cluster.gpus, self.cluster.cpus
        self.reserve = np.minimum(np.ceil(gpus * per_gpu - _ROUNDING).astype(np.int64), cpus)
        if before == (self.large, self.reserve.tolist()):
            return False
        self.series.append((now, "machines of the 4-GPU sub-array", self.large.bit_count()))
        self.series.append((now, "CPUs reserved a GPU", per_gpu))
        return True

    def preferred(self, *, large: bool) -> list[int]:
        """Return the sub-arrays that may serve a job, its own first; empty ones are left out."""
        both = (self.large, self.small) if large else (self.small, self.large)
        return [machines for machines in both if machines]

    def _choose_machines(self) -> None:
        left, self.large = self.history.large_peak, 0
        count = 0
        for number, machine in enumerate(self.cluster.machines):
            more = left > 0 if self.large_machines is None else count < self.large_machines
            if not more:
                break
            if machine.gpus:
                self.large |= 1 << number
                left -= machine.gpus
                count += 1
        self.small = ((1 << len(self.cluster)) - 1) & ~self.large if self.large else ALL
