"""Interference of jobs on one machine: they share memory bandwidth and PCIe (CODA, section IV-C).

The paper's text does not give the figures. GPU jobs are affected from 75 % of the bandwidth on (section V-D);
that their loss grows in proportion from there, up to the model's `bandwidth_loss` at full use, is an
ASSUMPTION. On PCIe they lose 5 to 10 %: the middle is used. CPU caches have no effect (Fig. 7).

A job draws bandwidth as long as it holds something, also in its delays (ASSUMPTION: it loads its data then).
"""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from artist.core.cluster import Allocation
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.performance.api import Changed, Running
from artist.performance.bandwidth import Models, drawn_by, slice_on
from artist.performance.couplings.api import Alone

NOTICED = 0.75
"""Share of a machine's memory bandwidth beyond which GPU jobs there are slower."""
PCIE_SLOWER = 0.075
"""Share by which a GPU job's iteration takes longer beside one with which it crowds PCIe."""
_SLACK = 1 - 1e-9  # rounding: a machine at the threshold may have been beyond it

_Tenant = tuple[int, JobSpec, Allocation]


class _Load(NamedTuple):
    """Use of a machine by its jobs.

    Attributes
    ----------
    used
        Memory bandwidth drawn over that of the machine; 0 if the latter is not known.
    by_job
        Each job's part of that.
    holders
        The jobs that hold GPUs, with their number, and whether they are greedy.
    """

    used: float
    by_job: Mapping[int, float]
    holders: list[tuple[int, int, bool]]

    @property
    def may_crowd(self) -> bool:
        """Possibility that two of the holders crowd PCIe."""
        holders = self.holders
        return (
            len(holders) > 1 and any(greedy for _, _, greedy in holders) and max(g for _, g, _ in holders) > 1
        )

    def crowds(self, job: int) -> bool:
        """Return whether a GPU job and one of the others there crowd PCIe."""
        if not self.may_crowd:
            return False
        holder = next((holder for holder in self.holders if holder[0] == job), None)
        return holder is not None and any(
            (holder[2] or greedy) and (holder[1] > 1 or gpus > 1) for _, gpus, greedy in self.holders
        )


class Machines:
    """Jobs that use much of a machine's memory bandwidth, or of its PCIe, slow down those beside them.

    With p = (drawn / available - 0.75) / 0.25, from 0 to 1, the compute of a GPU job takes 1 / (1 - loss x p)
    times as long. If more is drawn than available, jobs without GPUs that draw any take drawn / available
    times as long. A GPU job takes 1.075 times as long if another one holds GPUs of the same machine, one of
    the two is of a greedy model, and one of the two has at least two GPUs there. Of several machines the
    worst decides. A job's effect on itself is part of its measured time, and does not count.

    Parameters
    ----------
    models
        Draw and loss of jobs, by the name of the model. A job without a model is not greedy, and loses
        nothing to those that draw bandwidth.
    """

    def __init__(self, models: Models) -> None:
        self._models = models

    def touched(self, changed: Sequence[Changed], running: Running) -> Iterable[int]:
        """Return the jobs on the machines of a change on which bandwidth or PCIe are, or were, short."""
        left: dict[int, list[_Tenant]] = {}  # by machine: jobs as they were there
        for job, before, after in changed:
            spec = running.spec(job)
            if spec.demand.gpus or spec.demand.memory_bandwidth_bytes_per_s:
                if after is not None:
                    for s in after.slices:
                        left.setdefault(s.machine, [])
                if before is not None and before is not after:
                    for s in before.slices:
                        left.setdefault(s.machine, []).append((job, spec, before))
        jobs: dict[int, None] = {}
        for machine, were in left.items():
            if self._may_be_short(machine, were, running):
                there = self._there(machine, running)
                load = self._load(machine, [*there, *were], running)  # those that changed count twice
                if load.used > NOTICED * _SLACK or load.may_crowd:
                    jobs.update((job, None) for job, _, _ in there)
        return jobs

    def _may_be_short(self, machine: int, were: Sequence[_Tenant], running: Running) -> bool:
        """Return False if the jobs' demands alone show that nothing is short: quick, and usually the case."""
        specs = [running.spec(job) for job in running.jobs_on(machine)]
        specs += [spec for _, spec, _ in were]
        draws, holders, several, greedy = 0, 0, False, False
        for spec in specs:
            demand = spec.demand
            if demand.memory_bandwidth_bytes_per_s or demand.fungible:
                return True
            if demand.gpus:
                most = demand.max_gpus or demand.gpus
                holders, several = holders + 1, several or most > 1
                if spec.model:
                    model = self._models[spec.model]
                    draws += model.memory_bandwidth_bytes_per_s * most
                    greedy = greedy or model.pcie_greedy
        has = running.cluster.machines[machine].memory_bandwidth_bytes_per_s
        return (greedy and several and holders > 1) or (has > 0 and draws > NOTICED * _SLACK * has)

    def coupled(
        self, prices: Mapping[int, IterationParts], running: Running, alone: Alone
    ) -> Mapping[int, IterationParts]:
        """Return the parts of those jobs whose iterations others on their machines make longer."""
        known: dict[int, _Load] = {}
        longer = {}
        for job, parts in prices.items():
            spec, allocation = running.spec(job), running.allocation(job)
            if not spec.demand.gpus and not spec.demand.memory_bandwidth_bytes_per_s:
                continue
            for s in allocation.slices:
                if s.machine not in known:
                    known[s.machine] = self._load(s.machine, self._there(s.machine, running), running)
            loads = [known[s.machine] for s in allocation.slices]
            added_ns = self._added_ns(job, spec, parts, loads)
            if added_ns:
                longer[job] = parts._replace(interference_ns=parts.interference_ns + added_ns)
        return longer

    def _added_ns(self, job: int, spec: JobSpec, parts: IterationParts, loads: Sequence[_Load]) -> int:
        """Return the time that other jobs add to an iteration."""
        loss = self._models[spec.model].bandwidth_loss if spec.model else 0.0
        slower = max(_slower(load, job, loss if spec.demand.gpus else None) for load in loads)
        if not spec.demand.gpus:
            return round(sum(parts) * (slower - 1))
        added_ns = round(parts.compute_ns * (slower - 1))
        if any(load.crowds(job) for load in loads):
            added_ns += round((sum(parts) + added_ns) * PCIE_SLOWER)
        return added_ns

    def _load(self, machine: int, tenants: Sequence[_Tenant], running: Running) -> _Load:
        has = running.cluster.machines[machine].memory_bandwidth_bytes_per_s
        drawn, holders, models = [], [], self._models
        for job, spec, allocation in tenants:
            here = slice_on(allocation, machine)
            if has:
                drawn.append((job, drawn_by(spec, allocation, here, models) / has))
            if spec.demand.gpus:
                holders.append((job, here.gpus, models[spec.model].pcie_greedy if spec.model else False))
        used = fsum(share for _, share in drawn)  # exact, so independent of the order
        return _Load(used, dict(drawn), holders)

    @staticmethod
    def _there(machine: int, running: Running) -> list[_Tenant]:
        """Return the jobs on a machine that hold GPUs or draw bandwidth."""
        there = []
        for job in running.jobs_on(machine):
            spec = running.spec(job)
            if spec.demand.gpus or spec.demand.memory_bandwidth_bytes_per_s:
                there.append((job, spec, running.allocation(job)))
        return there


def _slower(load: _Load, job: int, loss: float | None) -> float:
    """Return the slowdown of a job with the memory bandwidth that others on a machine leave.

    Parameters
    ----------
    loss
        Of a GPU job; None for one without GPUs.
    """
    together, alone = load.used, load.by_job.get(job, 0.0)
    if loss is None:
        return max(1.0, together) / max(1.0, alone)
    return (1 - loss * _pressure(alone)) / (1 - loss * _pressure(together))


def _pressure(used: float) -> float:
    return min(max((used - NOTICED) / (1 - NOTICED), 0.0), 1.0)
