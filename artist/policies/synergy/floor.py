"""A lower bound for jobs on several machines: no slower there than with their shares of them.

CPUs and memory that make a job as fast as with its share on one machine may not suffice on several: each
further machine may need memory for its own processes. So the believed performance on exactly these GPUs
decides.
"""

from collections.abc import Sequence

from artist.core.cluster import Allocation, Slice
from artist.core.view import ClusterView

_MAX_REMEMBERED = 20_000


class Floor:
    """Lower bounds of jobs on several machines, remembered."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, tuple[Slice, ...]], tuple[Slice, ...]] = {}

    def under(self, view: ClusterView, job: int, slices: tuple[Slice, ...]) -> tuple[Slice, ...]:
        """Return slices, with at least each machine's share if a job would be slower than with that."""
        if len(slices) == 1:
            return slices
        bound = self._known.get((job, slices))
        if bound is None:
            if len(self._known) == _MAX_REMEMBERED:
                self._known.clear()
            bound = self._known[job, slices] = _raised(view, job, slices)
        return bound


def at_least(slices: Sequence[Slice], others: Sequence[Slice]) -> tuple[Slice, ...]:
    """Return slices with no less CPUs and memory than others have on the same machines."""
    return tuple(
        [
            Slice(s.machine, s.gpus, max(s.cpus, t.cpus), max(s.memory_bytes, t.memory_bytes))
            for s, t in zip(slices, others, strict=True)
        ]
    )


def _raised(view: ClusterView, job: int, slices: tuple[Slice, ...]) -> tuple[Slice, ...]:
    share = tuple([view.cluster.share(m, gpus) for m, gpus, _, _ in slices])
    raised = at_least(slices, share)
    if raised == slices:
        return slices
    pair = [Allocation(slices), Allocation(share)]
    there_ns, share_ns = view.performance.alone([job, job], pair)
    return slices if there_ns <= share_ns else raised
