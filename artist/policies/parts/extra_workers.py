"""Extra workers: elastic jobs grow and shrink as a scaling rule says. For Lyra.

In plain words: idle GPUs and those of flexible workers are divided among elastic jobs by a rule
(`artist.policies.parts.scaling`), for each type of GPU by itself, since a job grows on the type that it is
on. Flexible workers of a job that keeps as many stay where they are. The rule is asked again only when the
GPUs to divide, or the jobs, have changed.

A heterogeneous job grows on loaned GPUs if some are idle or flexible there, else on the type of its base
workers, and stays with that type as long as it has flexible workers.

Source: Lyra, sections 5.2 (phase two), 5.3 and 6.
"""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence

from artist.core.cluster import Cluster
from artist.core.job import Demand
from artist.core.view import ClusterView
from artist.policies.parts.base_demand import counts_from, steps_on
from artist.policies.parts.grounds import Grounds
from artist.policies.parts.reductions import GpusByType, Reductions
from artist.policies.parts.scaling import Growing, Scaling
from artist.policies.parts.workers import Held, Workers


class ExtraWorkers:
    """Divides among elastic jobs what base demands leave.

    Parameters
    ----------
    requested
        Whether base demands are what jobs ask for; else the least that they may have.
    """

    def __init__(
        self, cluster: Cluster, scaling: Scaling, workers: Workers, grounds: Grounds, *, requested: bool
    ) -> None:
        self._cluster, self._workers, self._grounds = cluster, workers, grounds
        self._scaling, self._requested = scaling, requested
        self._heeds_pending = getattr(scaling, "heeds_pending", True)
        self._reductions = Reductions(requested=requested)
        self._jobs: dict[str, list[int]] = {kind: [] for kind in cluster.type_sets}  # by the type they are on
        self._heterogeneous: list[int] = []
        self._seen: dict[str, object] = {}  # what the rule was asked about last, by type
        self._left = 0  # how many elastic jobs have gone
        self._content: dict[str, int] = {}  # version of the workers when all jobs of a type had all they want
        self._steps: dict[tuple[Demand, float, float], tuple[int, ...]] = {}

    def enter(self, job: int) -> None:
        """Track an elastic job that has started on its base demand."""
        held = self._workers.jobs[job]
        if _is_heterogeneous(held.demand):
            insort(self._heterogeneous, job)
        else:
            kind = self._type_of(held.base)
            insort(self._jobs[kind], job)
            held.steps = self._steps_on(held, kind)
        self._workers.version += 1

    def leave(self, job: int, held: Held) -> None:
        """Track an elastic job that has finished or stopped, and what it held."""
        heterogeneous = _is_heterogeneous(held.demand)
        (self._heterogeneous if heterogeneous else self._jobs[self._type_of(held.base)]).remove(job)
        self._left += 1

    def divide(self, view: ClusterView, *, pending: bool) -> None:
        """Let jobs grow and shrink.

        Parameters
        ----------
        pending
            Whether a job waits for its base demand.
        """
        heeded = pending and self._heeds_pending
        for kind, jobs in self._by_type().items():
            if not jobs or (self._content.get(kind) == self._workers.version and not self._heeds_pending):
                continue
            capacity = self._workers.loose.total(self._machines_of(kind))
            if (capacity, self._workers.version, self._left, heeded) != self._seen.get(kind):
                self._ask(view, kind, jobs, capacity, pending=pending)
                self._seen[kind] = (capacity, self._workers.version, self._left, heeded)

    def _ask(self, view: ClusterView, kind: str, jobs: list[int], capacity: int, *, pending: bool) -> None:
        """Ask the rule about the jobs of a type, and do as it says."""
        held = self._workers.jobs
        bases = [self._by_type_of(held[job].base) for job in jobs] if self._heterogeneous else None
        growing = self._reductions.growing(view, kind, jobs, [held[job].extra for job in jobs], bases)
        extra = self._scaling.extra(capacity, growing, pending=pending)
        self._change(growing, extra, self._machines_of(kind))
        if all(held[job.job].extra == _most_worth(job) for job in growing):
            self._content[kind] = self._workers.version

    def _change(self, jobs: list[Growing], extra: list[int], machines: int) -> None:
        """Shrink jobs, then let others grow: those of the largest workers first."""
        wanted = [(job.job, count) for job, count in zip(jobs, extra, strict=True) if count != job.held]
        held = self._workers.jobs
        for job, count in wanted:
            if count < held[job].extra:
                self._workers.shrink_to(job, count, self._grounds.free)
        for job, count in sorted(wanted, key=lambda each: (-held[each[0]].demand.step, each[0])):
            if count > held[job].extra:
                self._grounds.grow(job, count, machines)

    # --- which type

    def _machines_of(self, kind: str) -> int:
        return self._cluster.type_sets[kind] & (self._grounds.training | self._grounds.loaned)

    def _by_type(self) -> dict[str, list[int]]:
        """Return the elastic jobs by the type that they grow on, in order of number."""
        if not self._heterogeneous:
            return self._jobs
        jobs = {kind: list(of_kind) for kind, of_kind in self._jobs.items()}
        loose, loaned = self._workers.loose, self._grounds.loaned
        on_loan = [kind for kind, there in self._cluster.type_sets.items() if loose.total(there & loaned)]
        for job in self._heterogeneous:
            held = self._workers.jobs[job]
            kind = self._type_of(held.flexible) if held.flexible else self._grows_on(held, on_loan)
            if not held.flexible:
                held.steps = self._steps_on(held, kind)
            jobs[kind].append(job)
        return {kind: sorted(of_kind) for kind, of_kind in jobs.items()}

    def _grows_on(self, held: Held, on_loan: Sequence[str]) -> str:
        """Return the type on which a heterogeneous job grows: worth no more than any that it is on."""
        own, worth_of = self._type_of(held.base), self._cluster.worth_of
        return next((kind for kind in on_loan if worth_of[kind] <= worth_of[own]), own)

    def _type_of(self, machines: Iterable[int]) -> str:
        """Return the type that is worth least on some machines."""
        kinds = (self._cluster.machines[machine] for machine in machines)
        return min(kinds, key=lambda machine: machine.worth).gpu_type

    def _by_type_of(self, base: Mapping[int, int]) -> GpusByType:
        """Return the GPUs of each type, given GPUs by machine."""
        gpus = dict[str, int]()
        for machine, count in base.items():
            kind = self._cluster.machines[machine].gpu_type
            gpus[kind] = gpus.get(kind, 0) + count
        return tuple(sorted(gpus.items()))

    def _steps_on(self, held: Held, kind: str) -> tuple[int, ...]:
        """Return the GPUs of a type that 0, 1, 2, ... extra workers take, once for jobs that are alike."""
        machines, worth = self._cluster.machines, self._cluster.worth_of[kind]
        base_worth = sum(gpus * machines[machine].worth for machine, gpus in held.base.items())
        key = (held.demand, base_worth, worth)
        steps = self._steps.get(key)
        if steps is None:
            counts = counts_from(held.demand, requested=self._requested)
            steps = self._steps[key] = steps_on(held.demand, counts, base_worth, worth)
        return steps


def _most_worth(job: Growing) -> int:
    """Return the extra workers with which a job is fastest."""
    return int(job.reduction_ns.argmax()) + 1 if job.reduction_ns.max(initial=0) > 0 else 0


def _is_heterogeneous(demand: Demand) -> bool:
    return demand.fungible and demand.mixed_types
