"""Hands out what is left on the machines to jobs that gain from it (Synergy, section 5.3.2)."""

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
    """Divides what is left; what jobs are believed to gain is asked once for identical jobs, and remembered.

    In the given order each job takes, up to its best case, the least memory, in steps, with which it is as
    fast as with all that it could have, and then the fewest CPUs. On several machines both are in proportion
    to its GPUs, as far as the scarcest one has them. Needs what `BestCases` needs.
    """

    def __init__(self) -> None:
        self._kinds: dict[int, Hashable] = {}  # by job
        self._gains: dict[Hashable, tuple[int, int]] = {}

    def __call__(
        self, needs: Sequence[Need], held: Mapping[int, Held], cpus: Left, memory: Left, view: ClusterView
    ) -> dict[int, Held]:
        """Return what each job gets; jobs that hold nothing get nothing.

        Parameters
        ----------
        cpus, memory
            What is left; reduced by what jobs get.
        """
        given = dict(held)
        for each in needs:
            slices = given.get(each.job)
            if slices is None:
                continue
            need = each.at(view.cluster.machines[slices[0].machine])
            if len(slices) == 1:
                s = slices[0]
                if (s.cpus >= need.cpus or not cpus[s.machine]) and (
                    s.memory_bytes >= need.memory_bytes or not memory[s.machine]
                ):
                    continue
            raised = self._raised(need, slices, cpus, memory, view)
            for before, after in zip(slices, raised, strict=True):
                cpus[before.machine] -= after.cpus - before.cpus
                memory[before.machine] -= after.memory_bytes - before.memory_bytes
            given[need.job] = raised
        return given

    def _raised(self, need: Need, slices: Held, cpus: Left, memory: Left, view: ClusterView) -> Held:
        """Return what a job holds with more."""
        max_cpus = _most(need, need.cpus, [(s, s.cpus + cpus[s.machine]) for s in slices])
        max_memory = _most(need, need.memory_bytes, [(s, s.memory_bytes + memory[s.machine]) for s in slices])
        most = _with(need, slices, max_cpus, max_memory)
        if most == slices:
            return slices
        alike = self._kind(need.job, view), _where(slices, view), slices[0][2:], max_cpus, max_memory
        found = self._gains.get(alike)
        if found is None:
            if len(self._gains) == _MAX_REMEMBERED:
                self._gains.clear()
            found = self._gains[alike] = _gains(need, slices, max_cpus, max_memory, view)
        return _with(need, slices, *found)

    def _kind(self, job: int, view: ClusterView) -> Hashable:
        """Return what identical jobs have in common."""
        kind = self._kinds.get(job)
        if kind is None:
            columns = view.columns([job])
            kind = self._kinds[job] = columns.model[0], view.demand(job), int(columns.compute_ns[0])
        return kind


def _where(slices: Held, view: ClusterView) -> Hashable:
    """Return what matters about a job's place: machines if there are several, else the type."""
    if len(slices) == 1:
        return view.cluster.machines[slices[0].machine].type
    return tuple([s[:4] for s in slices])


def _gains(need: Need, slices: Held, max_cpus: int, max_memory: int, view: ClusterView) -> tuple[int, int]:
    """Return the CPUs and memory in all beyond which a job does not gain."""

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


def _most(need: Need, best: int, there: Sequence[tuple[Slice, int]]) -> int:
    """Return how much a job can have in all, up to its best case, if its slices can have so much."""
    return min(best, *[amount * need.gpus // s.gpus for s, amount in there])


def _with(need: Need, slices: Held, cpus: int, memory_bytes: int) -> Held:
    """Return slices with their part of some CPUs and memory, and no less than they have."""
    parts = [Slice(s.machine, s.gpus, *need.part(cpus, memory_bytes, s.gpus)) for s in slices]
    return at_least(slices, parts)
