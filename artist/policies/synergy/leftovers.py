"""Hands out the rest of machines to jobs that gain from it (Synergy, section 5.3.2)."""

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence

from artist.core.cluster import Allocation, Slice
from artist.core.view import ClusterView
from artist.policies.synergy.floor import at_least
from artist.policies.synergy.needs import Need

Left = list[int] | dict[int, int]  # by machine
Held = tuple[Slice, ...]
_MAX_REMEMBERED = 20_000
_STEPS = 128  # of memory that a job can have


class HandOut:
    """Hands out the rest of machines; the believed gains of identical jobs are computed once.

    In the given order each job takes, up to its best case, the least memory, in steps, with which it is as
    fast as with all that it could have, and then the fewest CPUs. On several machines both are in proportion
    to its GPUs, as far as the scarcest one has them. Needs the knowledge that `BestCases` needs.
    """

    def __init__(self) -> None:
        self._classes: dict[int, Hashable] = {}  # by job
        self._gains: dict[Hashable, tuple[int, int]] = {}

    def __call__(
        self, needs: Sequence[Need], held: Mapping[int, Held], cpus: Left, memory: Left, view: ClusterView
    ) -> dict[int, Held]:
        """Return the slices by job; jobs that hold nothing get nothing.

        Parameters
        ----------
        cpus, memory
            The rest, by machine; reduced by the amounts handed out.
        """
        raised = dict(held)
        for of_job in needs:
            slices = raised.get(of_job.job)
            if slices is None:
                continue
            need = of_job.at(view.cluster.machines[slices[0].machine])
            if len(slices) == 1:
                s = slices[0]
                if (s.cpus >= need.cpus or not cpus[s.machine]) and (
                    s.memory_bytes >= need.memory_bytes or not memory[s.machine]
                ):
                    continue
            more = self._raised(need, slices, cpus, memory, view)
            for before, after in zip(slices, more, strict=True):
                cpus[before.machine] -= after.cpus - before.cpus
                memory[before.machine] -= after.memory_bytes - before.memory_bytes
            raised[need.job] = more
        return raised

    def _raised(self, need: Need, slices: Held, cpus: Left, memory: Left, view: ClusterView) -> Held:
        """Return the slices of a job raised as far as it gains."""
        max_cpus = _max_total(need, need.cpus, [(s, s.cpus + cpus[s.machine]) for s in slices])
        max_memory = _max_total(
            need, need.memory_bytes, [(s, s.memory_bytes + memory[s.machine]) for s in slices]
        )
        largest = _with(need, slices, max_cpus, max_memory)
        if largest == slices:
            return slices
        key = self._class(need.job, view), _where(slices, view), slices[0][2:], max_cpus, max_memory
        gains = self._gains.get(key)
        if gains is None:
            if len(self._gains) == _MAX_REMEMBERED:
                self._gains.clear()
            gains = self._gains[key] = _gains(need, slices, max_cpus, max_memory, view)
        return _with(need, slices, *gains)

    def _class(self, job: int, view: ClusterView) -> Hashable:
        """Return the key of a job's class of identical jobs."""
        job_class = self._classes.get(job)
        if job_class is None:
            columns = view.columns([job])
            job_class = self._classes[job] = columns.model[0], view.demand(job), int(columns.compute_ns[0])
        return job_class


def _where(slices: Held, view: ClusterView) -> Hashable:
    """Return the key of a job's placement: machines if there are several, else the type."""
    if len(slices) == 1:
        return view.cluster.machines[slices[0].machine].type
    return tuple([s[:4] for s in slices])


def _gains(need: Need, slices: Held, max_cpus: int, max_memory: int, view: ClusterView) -> tuple[int, int]:
    """Return the total CPUs and memory beyond which a job does not gain."""

    def is_enough(cpus: int, memory_bytes: int) -> bool:
        return time_ns(cpus, memory_bytes) <= best_ns

    def time_ns(cpus: int, memory_bytes: int) -> int:
        held = Allocation(_with(need, slices, cpus, memory_bytes))
        return int(view.performance.alone([need.job], [held])[0])

    best_ns = time_ns(max_cpus, max_memory)
    steps = bisect_left(
        range(_STEPS), True, key=lambda step: is_enough(max_cpus, max_memory * step // _STEPS)
    )
    memory = max_memory * steps // _STEPS
    return bisect_left(range(max_cpus), True, key=lambda cpus: is_enough(cpus, memory)), memory


def _max_total(need: Need, best: int, there: Sequence[tuple[Slice, int]]) -> int:
    """Return the total amount that a job can have, up to its best case, for the amounts of its slices."""
    return min(best, *[amount * need.gpus // s.gpus for s, amount in there])


def _with(need: Need, slices: Held, cpus: int, memory_bytes: int) -> Held:
    """Return slices with their part of some CPUs and memory, and no less than they have."""
    parts = [Slice(s.machine, s.gpus, *need.part(cpus, memory_bytes, s.gpus)) for s in slices]
    return at_least(slices, parts)
