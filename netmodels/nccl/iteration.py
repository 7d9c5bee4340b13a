"""Whole iterations with NCCL's collectives: one queue of all-reduces beside the backward pass."""

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.collectives.iteration_time import IterationTime
from netmodels.collectives.timeline import Durations, Part, issues_of, ring_iteration, ring_parts
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.shape import Shape, gpus
from netmodels.nccl.model import NcclCollective, Place, collective_us
from netmodels.nccl.parameters import nccl_of
from netmodels.profiles.layers import Profile


class NcclModel:
    """Prices iterations and collectives as NCCL runs them; closed forms: `netmodels.nccl.model`.

    Machines of several types are seen as if all were of one, type by type; the slowest counts. NCCL's stream
    runs one collective after the other. A profile's `launch_ns` is added to NCCL's own start.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Profile, Shape, str], IterationTime] = {}

    def iteration(self, profile: Profile, shape: Shape, fabric: Fabric) -> IterationTime:
        """Return the time of one iteration; see `netmodels.api.NetworkModel`."""
        question = (profile, shape, fabric.digest)
        answer = self._known.get(question)
        if answer is None:
            answer = self._known[question] = ring_iteration(
                profile, shape, lambda sizes: _durations_ns("all_reduce", sizes, shape, fabric)
            )
        return answer

    def collective_ns(self, collective: NcclCollective, size_bytes: int, shape: Shape, fabric: Fabric) -> int:
        """Return the time of one collective alone; `size_bytes` is the size per GPU at the start."""
        total = size_bytes * (gpus(shape) if collective == "all_gather" else 1)
        return int(_durations_ns(collective, np.array([total]), shape, fabric)[0])

    def parts(self, profile: Profile, shape: Shape, fabric: Fabric) -> tuple[Part, ...]:
        """Return an iteration's all-reduces as one part each; see `netmodels.models.analytical`."""
        return nccl_parts(profile, shape, lambda sizes: _durations_ns("all_reduce", sizes, shape, fabric))


def nccl_parts(profile: Profile, shape: Shape, durations: Durations) -> tuple[Part, ...]:
    """Return an iteration's all-reduces as one part each.

    Two machines, a root and a leaf of each of NCCL's two trees (`netmodels.nccl.model`), send each byte once.
    More machines send the bytes of a ring, about as many as those of trees.
    """
    parts = ring_parts(profile, shape, durations)
    if sum(map(len, shape)) != 2:
        return parts
    return tuple(Part(part.ns, (("tree", issues_of(profile).sizes),)) for part in parts)


def _durations_ns(collective: NcclCollective, sizes: Ints, shape: Shape, fabric: Fabric) -> Ints:
    """Return the times of collectives of several sizes, shape (n,), by the slowest type of machine."""
    if gpus(shape) < 2:
        return np.zeros_like(sizes)
    place: Place = tuple(tuple(count for _, count in rack) for rack in shape)
    parameters = dict.fromkeys(
        nccl_of(fabric, name) for name in sorted({name for rack in shape for name, _ in rack})
    )
    times = [collective_us(collective, sizes.astype(np.float64), place, nccl) for nccl in parameters]
    slowest: Ints = np.rint(1e3 * np.max(times, axis=0)).astype(np.int64)
    return slowest
