"""The interface of a coupling between jobs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from artist.core.iteration import IterationParts
from artist.performance.api import Changed, Running

Alone = Callable[[int], IterationParts]
"""The parts of a running job after all couplings before this one, by its number."""


class Coupling(Protocol):
    """One way in which jobs make each other's iterations longer: on GPUs, in machines, on links."""

    def touched(self, changed: Sequence[Changed], running: Running) -> Iterable[int]:
        """Return the running jobs whose times a change may affect; none if it couples no job.

        Jobs touched by couplings before this one count as changed, too, with the same allocation as before.
        """

    def coupled(
        self, prices: Mapping[int, IterationParts], running: Running, alone: Alone
    ) -> Mapping[int, IterationParts]:
        """Return the new parts of those of some jobs whose iterations others make longer.

        Parameters
        ----------
        prices
            The jobs in question, with their parts after all couplings before this one.
        """
