"""Freed machines: most refused jobs can be ruled out without a search after others ended."""

from artist.core.events import Arrival, Finish
from artist.core.free import Free
from artist.core.job import Demand
from artist.core.view import ClusterView
from artist.policies.parts.fill import Fill
from artist.policies.parts.placement import Chooser


class Freed:
    """The machines on which jobs ended since the last call, of a policy that neither stops nor changes jobs.

    Parameters
    ----------
    placement, fill
        Those of the policy. Refusals are predictable only for shipped ones with the fill `as_asked`.
    """

    def __init__(self, placement: str | Chooser, fill: str | Fill) -> None:
        self._known = isinstance(placement, str) and fill == "as_asked"
        self._on: dict[int, list[int]] = {}  # machines by running job
        self._started: list[int] = []  # by the last plan
        self._machines: dict[int, None] | None = None  # None: any machine may have more

    def hold(self, job: int) -> None:
        """Track a job that starts."""
        self._started.append(job)

    def look(self, view: ClusterView) -> bool:
        """Note where jobs ended; return whether anything may have become free."""
        for job in self._started:  # where they are, which need not be where they were planned
            allocation = view.allocation(job)
            if allocation is not None:
                self._on[job] = allocation.machines
        self._started.clear()
        machines: dict[int, None] | None = {}
        for event in view.news:
            if isinstance(event, Arrival):
                continue
            ended = self._on.pop(event.job, None) if isinstance(event, Finish) else None
            if machines is not None and ended is not None:
                machines |= dict.fromkeys(ended)
            else:
                machines = None
        self._machines = machines if self._known else None
        return machines is None or bool(machines)

    def may_fit(self, free: Free, demand: Demand) -> bool:
        """Return whether a refused job may fit; exact for jobs that span one machine."""
        if self._machines is None or demand.max_machines != 1 or demand.fungible:
            return True
        gpus, cpus, memory = free.gpus, free.cpus, free.memory_bytes
        return any(
            cpus[m] >= demand.cpus
            and gpus[m] >= demand.min_feasible_gpus
            and memory[m] >= demand.memory_bytes
            for m in self._machines
        )
