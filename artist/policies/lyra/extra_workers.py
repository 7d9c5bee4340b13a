"""Extra workers: elastic jobs grow and shrink according to a scaling rule. For Lyra.

In plain words: a rule (`artist.policies.lyra.scaling`) divides idle GPUs and those of flexible workers among
elastic jobs, separately for each GPU type, because a job grows on the type that it is on. Flexible workers of
a job that keeps as many stay where they are. If workers that a job should have find no room, because what is
left is fragmented, the rule is asked once more about the others. It is asked again only when the GPUs to
divide, or the jobs, have changed.

A heterogeneous job grows on loaned GPUs if all the workers that it may have fit into what is idle or flexible
there, beside those of others that grow there; else on the type of its base workers if they fit there. If
neither holds, one worker suffices. It stays with its type as long as it has flexible workers.

Source: Lyra, sections 5.2 (phase two), 5.3 and 6.
"""

from bisect import insort
from collections.abc import Mapping

from artist.core.cluster import Cluster
from artist.core.job import Demand
from artist.core.view import ClusterView
from artist.policies.lyra.reductions import GpusByType, Reductions
from artist.policies.lyra.scaling import Growing, Scaling
from artist.policies.lyra.worker_placement import Grounds
from artist.policies.lyra.workers import Held, Workers
from artist.policies.parts.base_demand import counts_from, steps_on


class ExtraWorkers:
    """Divides what base demands leave among elastic jobs.

    Parameters
    ----------
    requested
        Whether base demands are what jobs ask for; else their minimum.
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
        self._bases: dict[int, GpusByType] = {}  # of base workers, by job
        self._grows_on: dict[int, str] = {}  # the type of the flexible workers of heterogeneous jobs
        self._seen: dict[str, object] = {}  # the last question to the rule, by type
        self._left = 0  # number of elastic jobs that have left
        self._content: dict[str, int] = {}  # version of the workers when all jobs of a type had all they want
        self._steps: dict[tuple[Demand, float, float], tuple[int, ...]] = {}

    def enter(self, job: int) -> None:
        """Track an elastic job that has started on its base demand."""
        held = self._workers.jobs[job]
        self._bases[job] = self._by_type_of(held.base)
        own = self._own(job)
        if held.demand.fungible and held.demand.mixed_types:
            insort(self._heterogeneous, job)
            self._grows_on[job] = own
        else:
            insort(self._jobs[own], job)
        held.steps = self._steps_on(held, own)
        self._workers.version += 1

    def leave(self, job: int) -> None:
        """Track an elastic job that has finished or stopped."""
        heterogeneous = self._grows_on.pop(job, None) is not None
        (self._heterogeneous if heterogeneous else self._jobs[self._own(job)]).remove(job)
        del self._bases[job]
        self._left += 1

    def divide(self, view: ClusterView, *, pending: bool) -> None:
        """Grow and shrink jobs.

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
        """Ask the rule about the jobs of a type, and apply its answer."""
        held = self._workers.jobs
        bases = [self._bases[job] for job in jobs] if self._heterogeneous else None
        growing = self._reductions.growing(view, kind, jobs, [held[job].extra for job in jobs], bases)
        extra = self._scaling.extra(capacity, growing, pending=pending)
        machines = self._machines_of(kind)
        if short := self._change(growing, extra, machines):
            self._ask_others([job for job in growing if job.job not in short], machines, pending=pending)
        if all(held[job.job].extra == _max_worth(job) for job in growing):
            self._content[kind] = self._workers.version

    def _ask_others(self, jobs: list[Growing], machines: int, *, pending: bool) -> None:
        """Grow jobs on what is idle because workers of others had no room; none shrinks."""
        held = self._workers.jobs
        jobs = [job._replace(held=held[job.job].extra) for job in jobs]
        capacity = self._grounds.free.buckets.total(machines)
        capacity += sum(sum(held[job.job].flexible.values()) for job in jobs)
        extra = self._scaling.extra(capacity, jobs, pending=pending)
        self._change(jobs, [max(job.held, count) for job, count in zip(jobs, extra, strict=True)], machines)

    def _change(self, jobs: list[Growing], extra: list[int], machines: int) -> set[int]:
        """Shrink jobs, then grow others: those of the largest workers first.

        Returns
        -------
        set of int
            Jobs whose workers found no room.
        """
        wanted = [(job.job, count) for job, count in zip(jobs, extra, strict=True) if count != job.held]
        held = self._workers.jobs
        for job, count in wanted:
            if count < held[job].extra:
                self._workers.shrink_to(job, count, self._grounds.free)
        for job, count in sorted(wanted, key=lambda each: (-held[each[0]].demand.step, each[0])):
            if count > held[job].extra:
                self._grounds.grow(job, count, machines)
        return {job for job, count in wanted if held[job].extra < count}

    # --- which type

    def _machines_of(self, kind: str) -> int:
        return self._cluster.type_sets[kind] & (self._grounds.training | self._grounds.loaned)

    def _by_type(self) -> dict[str, list[int]]:
        """Return the elastic jobs by the type that they grow on, in order of number."""
        if not self._heterogeneous:
            return self._jobs
        held, jobs = self._workers.jobs, {kind: list(of_kind) for kind, of_kind in self._jobs.items()}
        left = {
            kind: self._workers.loose.total(self._machines_of(kind))
            - sum(held[job].steps[-1] for job in of_kind)
            for kind, of_kind in jobs.items()
        }
        for job in sorted(self._heterogeneous, key=lambda job: not held[job].flexible):
            if not held[job].flexible:
                self._choose_type(job, left)
            kind = self._grows_on[job]
            left[kind] -= held[job].steps[-1]
            jobs[kind].append(job)
        return {kind: sorted(of_kind) for kind, of_kind in jobs.items()}

    def _choose_type(self, job: int, left: Mapping[str, int]) -> None:
        """Choose the type on which a heterogeneous job grows: worth no more than any that it is on.

        Parameters
        ----------
        left
            GPUs of each type that are left for it.
        """
        held, own, worth_of = self._workers.jobs[job], self._own(job), self._cluster.worth_of
        loaned, sets = self._grounds.loaned, self._cluster.type_sets
        kinds = [kind for kind in sets if sets[kind] & loaned and worth_of[kind] <= worth_of[own]]
        steps = {kind: self._steps_on(held, kind) for kind in [*kinds, own]}
        all_fit = [kind for kind in steps if steps[kind][-1] <= left[kind]]
        one_fits = [kind for kind in steps if steps[kind][:2][-1] <= left[kind]]
        kind = [*all_fit, *one_fits, own][0]
        if kind != self._grows_on[job]:
            self._workers.version += 1
        self._grows_on[job], held.steps = kind, steps[kind]

    def _own(self, job: int) -> str:
        """Return the type of the base workers of a job; of several the one worth least."""
        return min((kind for kind, _ in self._bases[job]), key=self._cluster.worth_of.__getitem__)

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


def _max_worth(job: Growing) -> int:
    """Return the extra workers with which a job is fastest."""
    return int(job.reduction_ns.argmax()) + 1 if job.reduction_ns.max(initial=0) > 0 else 0
