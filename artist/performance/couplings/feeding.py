"""Feeding of jobs that share GPUs: by the CPUs and the memory of all of them, used in turns.

How a policy divides CPUs and memory among members says little, because each prepares its samples while the
others compute. So a member is priced as if alone on its GPUs with the resources of all members on each
machine, in proportion to GPUs, and at least the share that goes with these GPUs there: with that share it
takes the time of its trace. `packed` and `interleaved` account for all members preparing on the same CPUs.
Memory is assumed to serve each in turn, processes and cache (ASSUMPTION: they are swapped, as in AntMan).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.job import JobSpec

InputOf = Callable[[JobSpec, Allocation, Cluster], int]


def with_group(members: Sequence[Allocation], cluster: Cluster) -> list[Allocation]:
    """Return the allocation of each member of a group if it were alone on its GPUs."""
    held: dict[int, tuple[int, int]] = {}
    for s in (s for member in members for s in member.slices):
        cpus, memory_bytes = held.get(s.machine, (0, 0))
        held[s.machine] = cpus + s.cpus, memory_bytes + s.memory_bytes
    group = members[0].group
    gpus = dict(group.gpus) if group is not None else {}

    def alone(s: Slice) -> Slice:
        here = zip(held[s.machine], cluster.machines[s.machine].share(s.gpus), strict=True)
        parts = (max(share, together * s.gpus // gpus[s.machine]) for together, share in here)
        return Slice(s.machine, s.gpus, *parts)

    return [replace(member, slices=tuple(map(alone, member.slices))) for member in members]
