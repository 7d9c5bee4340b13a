"""What is left on the machines goes to jobs below their best case (Synergy, section 5.3.2)."""

from collections.abc import Mapping, Sequence

from artist.core.cluster import Slice
from artist.policies.parts.mechanisms.api import Need

Left = list[int] | dict[int, int]  # by machine


def hand_out(
    needs: Sequence[Need], held: Mapping[int, tuple[Slice, ...]], cpus: Left, memory: Left
) -> dict[int, tuple[Slice, ...]]:
    """Return what each job gets with what is left; jobs that hold nothing get nothing.

    In the given order each job takes up to its best case, CPUs and memory apart; on several machines in
    proportion to its GPUs, as far as the scarcest one goes.

    Parameters
    ----------
    cpus, memory
        What is left; less then.
    """
    given = dict(held)
    for need in needs:
        slices = given.get(need.job)
        if slices is None:
            continue
        if len(slices) == 1:
            s = slices[0]
            if (s.cpus >= need.cpus or not cpus[s.machine]) and (
                s.memory_bytes >= need.memory_bytes or not memory[s.machine]
            ):
                continue
        held_cpus, held_memory = [s.cpus for s in slices], [s.memory_bytes for s in slices]
        new_cpus = _raised(need, need.cpus, slices, held_cpus, cpus)
        new_memory = _raised(need, need.memory_bytes, slices, held_memory, memory)
        given[need.job] = tuple(
            [Slice(s.machine, s.gpus, *new) for s, *new in zip(slices, new_cpus, new_memory, strict=True)]
        )
    return given


def _raised(need: Need, most: int, slices: Sequence[Slice], held: Sequence[int], free: Left) -> list[int]:
    """Return how much a job has on each machine once it took what is free, which is less then."""
    can_have = [
        (before + free[s.machine]) * need.gpus // s.gpus for s, before in zip(slices, held, strict=True)
    ]
    total = min(most, *can_have)
    raised = [max(before, -(-total * s.gpus // need.gpus)) for s, before in zip(slices, held, strict=True)]
    for s, before, after in zip(slices, held, raised, strict=True):
        free[s.machine] -= after - before
    return raised
