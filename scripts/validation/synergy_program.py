"""Plug-ins with which a run repeats the program of Synergy's authors, job by job.

Source, read but not copied: github.com/msr-fiddle/synergy @1bb2bed (MIT), simulator/. agreement_synergy.py
switches them on and off.

- `SteppedStall`: a job has two speeds, that of its proportional share and that of its best case.
- `WholeIterations`: a whole number of iterations fills a round.
- `ProgramProportional`, `ProgramGreedy`, `ProgramTune`: of machines with equally many free GPUs the one with
  the lowest number counts as the least free; under tune jobs make room in order, whether or not each helps,
  and nothing is handed out.
- `ProgramOpt`: a job counts once, whatever its GPUs. It is in no case, as no answer of the program is known.
"""

from collections.abc import Mapping, Sequence
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from artist.api import (
    Allocation,
    Changed,
    Cluster,
    Greedy,
    InputStall,
    IterationParts,
    JobSpec,
    Machine,
    Need,
    Opt,
    Proportional,
    Room,
    Running,
    Slice,
    Tune,
)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MEMORY_POINTS_GIB = (20.0, 62.5, 125.0, 187.5, 250.0)  # per GPU
TOLERANCE = 0.01  # saturated: at most this share slower than the best
ROUND_NS = 300 * 10**9
_COUNT_TOLERANCE = 1e-6  # of a count: iteration times are whole nanoseconds


class Steps(NamedTuple):
    """CPUs and memory of a job's best case, the lesser of these and its share, and the rates with each."""

    best_cpus: int
    best_bytes: int
    best_rate: float
    min_cpus: int
    min_bytes: int
    share_rate: float


class SteppedStall(InputStall):
    """Input stall of a job that is as fast as with its proportional share, or as in its best case.

    It runs at the speed of its best case if it holds all that this takes, and at that of its share if it
    holds the lesser of the two in CPUs and in memory. The best case is the least number of CPUs with which,
    given all memory, it is at most 1 % slower than with all CPUs, then the least of `MEMORY_POINTS_GIB` with
    which, given these CPUs, it is at most 1 % slower than with all memory. For a job whose GPUs fit one
    machine the best case is cut down to its CPUs and memory, and to the line between the two speeds at its
    CPUs. A larger job that needs more CPUs or memory than one machine has takes its share of them, and runs
    at the speed of its share.

    The program never gives a job less; here such a job runs as the curve says, and no faster than with its
    share.

    Parameters
    ----------
    stall
        The shipped input stall, of the same models.
    """

    def __init__(self, stall: InputStall) -> None:
        super().__init__(stall.models, stall.compute, stall.measured_with)
        self._known: dict[tuple[object, ...], Steps] = {}

    def rate(self, model: str, allocation: Allocation, cluster: Cluster) -> float:
        """Return the rate at which the slowest fed GPU is fed, relative to the need of a reference GPU."""
        steps = self._steps(model, allocation, cluster)
        cpus = allocation.cpus
        memory_bytes = sum(s.memory_bytes for s in allocation.slices)
        if cpus >= steps.best_cpus and memory_bytes >= steps.best_bytes:
            return steps.best_rate
        if cpus >= steps.min_cpus and memory_bytes >= steps.min_bytes:
            return steps.share_rate
        return min(super().rate(model, allocation, cluster), steps.share_rate)

    def rate_on_grid(
        self, model: str, allocation: Allocation, cluster: Cluster, cpus: Ints, memory_bytes: Ints
    ) -> Floats:
        """Return `rate` with other CPUs and memory in all."""
        steps = self._steps(model, allocation, cluster)
        best = (cpus >= steps.best_cpus) & (memory_bytes >= steps.best_bytes)
        least = (cpus >= steps.min_cpus) & (memory_bytes >= steps.min_bytes)
        curve = super().rate_on_grid(model, allocation, cluster, cpus, memory_bytes)
        below = np.where(least, steps.share_rate, np.minimum(curve, steps.share_rate))
        return np.where(best, steps.best_rate, below)

    def _steps(self, model: str, allocation: Allocation, cluster: Cluster) -> Steps:
        """Return the steps of a job with these GPUs, on machines like its first."""
        number, gpus = next(s.machine for s in allocation.slices if s.gpus), allocation.gpus
        machine = cluster.machines[number]
        key = (model, gpus, machine.gpus, machine.cpus, machine.memory_bytes, machine.speed)
        if key not in self._known:
            together = Allocation(tuple(Slice(number, count) for count in machine.fewest(gpus)))
            self._known[key] = self._search(model, together, cluster, machine)
        return self._known[key]

    def _search(self, model: str, place: Allocation, cluster: Cluster, machine: Machine) -> Steps:
        """Return the steps of a job on some GPUs of a machine, or of more machines like it."""

        def rates(cpus: Ints, memory_bytes: Ints) -> Floats:
            fed = super(SteppedStall, self).rate_on_grid(model, place, cluster, cpus, memory_bytes)
            return np.minimum(fed, machine.speed)

        gpus, known = place.gpus, self.models[model]
        saturating = known.cpus[known.throughput.index(known.throughput[-1])]
        max_cpus = ceil(gpus * saturating * max(1.0, machine.speed / known.speed))
        cpus = np.arange(1, max_cpus + 1)
        memory = np.array([round(point * 2**30) * gpus for point in MEMORY_POINTS_GIB])
        row = _first_saturated(rates(cpus, memory[-1:]))
        by_memory = rates(cpus[row : row + 1], memory)
        column = _first_saturated(by_memory)
        share = np.array(machine.share(gpus))
        share_rate = float(rates(share[:1], share[1:])[0])
        best_rate = max(share_rate, float(by_memory[column]))
        return _cut_down(int(cpus[row]), int(memory[column]), best_rate, share_rate, gpus, machine)


def _first_saturated(rates: Floats) -> int:
    """Return the first point that is at most TOLERANCE slower than the fastest."""
    return int(np.argmax(rates * (1 + TOLERANCE) >= rates.max()))


def _cut_down(
    cpus: int, memory_bytes: int, best_rate: float, share_rate: float, gpus: int, machine: Machine
) -> Steps:
    """Return the steps of a job with this best case, bounded by the CPUs and memory of machines."""
    share_cpus, share_bytes = machine.share(gpus)
    has_cpus, has_bytes = machine.cpus, machine.memory_bytes
    too_many, too_much = cpus > has_cpus, memory_bytes > has_bytes
    if gpus > machine.gpus:
        has_cpus, has_bytes, best_rate = share_cpus, share_bytes, share_rate
    elif too_many:
        best_rate = share_rate + (best_rate - share_rate) * (has_cpus - share_cpus) / (cpus - share_cpus)
    cpus = has_cpus if too_many else cpus
    memory_bytes = has_bytes if too_much else memory_bytes
    least = min(cpus, share_cpus), min(memory_bytes, share_bytes)
    return Steps(cpus, memory_bytes, best_rate, *least, share_rate)


class WholeIterations:
    """Iteration times of a run whose jobs do whole iterations in a round, and nothing in the rest of it.

    Of iterations of t, floor(round / t) fit a round, and each takes round / that count; the difference counts
    as compute. An iteration longer than a round is unchanged: the program would never finish it.

    Parameters
    ----------
    performance
        The iteration times that are rounded, such as `artist.performance.placed.PlacedPerformance`.
    round_ns
        Length of a round.
    """

    def __init__(self, performance: Any, round_ns: int = ROUND_NS) -> None:
        self._performance = performance
        self._round_ns = round_ns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._performance, name)

    def at_resources(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, cpus: Ints, memory_bytes: Ints
    ) -> Ints:
        """Return iteration times alone by CPUs and memory."""
        times = self._performance.at_resources(spec, allocation, cluster, cpus, memory_bytes)
        counts = np.floor(self._round_ns / times * (1 + _COUNT_TOLERANCE)).astype(np.int64)
        filling_ns = np.maximum(self._round_ns // np.maximum(counts, 1), 1)
        rounded: Ints = np.where(counts > 0, filling_ns, times)
        return rounded

    def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
        """Return the parts of every changed job that runs, and of the jobs that couplings touch."""
        prices = self._performance.reprice(changed, running)
        return {job: self._filling(parts) for job, parts in prices.items()}

    def _filling(self, parts: IterationParts) -> IterationParts:
        """Return the parts of an iteration of which a whole number fills a round."""
        total_ns = sum(parts)
        count = floor(self._round_ns / total_ns * (1 + _COUNT_TOLERANCE))
        if not count:
            return parts
        filling_ns = max(self._round_ns // count, 1)
        return parts._replace(compute_ns=parts.compute_ns + filling_ns - total_ns)


class RoomByGpus(Room):
    """Free machines of which the least free has the fewest GPUs, then the lowest number."""

    def key(self, m: int) -> tuple[int, int, int, int]:
        """Return the key of a machine: its free GPUs, then its number."""
        return self.gpus[m], 0, 0, m

    def as_good(self, held: int, entry: tuple[int, int, int, int], need: Need) -> bool:
        """Return False: a job is packed again without regard to its machine."""
        return False


class ProgramProportional(Proportional):
    """The proportional share, on the program's least free machine."""

    room = RoomByGpus


class ProgramGreedy(Greedy):
    """The best case or nothing, on the program's least free machine."""

    room = RoomByGpus


class ProgramTune(Tune):
    """Tune as in the program.

    Parameters
    ----------
    by_gpus
        Whether only GPUs and the number decide which machine is the least free.
    in_order
        Whether jobs make room in order until there is enough, whether or not each helps.
    hand_out
        As for `Tune`.
    """

    def __init__(self, *, by_gpus: bool = True, in_order: bool = True, hand_out: bool = False) -> None:
        super().__init__(hand_out=hand_out)
        self._in_order = in_order
        if by_gpus:
            self.room = RoomByGpus

    def lowered(
        self, peers: Sequence[tuple[Need, int, int]], cpus: int, memory: int
    ) -> Sequence[tuple[Need, int, int]]:
        """Return the first peers that together give up enough CPUs and memory."""
        if not self._in_order:
            return super().lowered(peers, cpus, memory)
        for count, (_, peer_cpus, peer_memory) in enumerate(peers, 1):
            cpus -= peer_cpus
            memory -= peer_memory
            if cpus <= 0 and memory <= 0:
                return peers[:count]
        return peers


class ProgramOpt(Opt):
    """Integer programs in which a job counts once, whatever its GPUs."""

    def weight(self, gpus: int) -> int:
        """Return the weight of a job's relative throughput."""
        return 1
