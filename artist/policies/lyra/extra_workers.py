"""Extra workers: elastic jobs grow and shrink by a scaling rule. For Lyra.

In plain words: a rule (`artist.policies.lyra.scaling`) divides idle GPUs and those of flexible workers among
elastic jobs, separately for each GPU type, because a job grows on the type that it is on. Flexible workers of
a job that keeps their number stay where they are. If workers that a job should have find no room, because the
GPUs left are fragmented, the rule is asked once more about the others. It is asked again only when the GPUs
to divide, or the jobs, have changed.

A heterogeneous job grows on loaned GPUs if all the workers that it may have fit on idle or flexible GPUs
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
from artist.policies.lyra.worker_placement import WorkerPlacement
from artist.policies.lyra.workers import Held, Workers
from artist.policies.parts.base_demand import counts_from, steps_on


class ExtraWorkers:
    """Divides the GPUs beyond base demands among elastic jobs.

    Parameters
    ----------
    requested
        Whether base demands are the GPUs that jobs ask for; else their minimum.
    """

    def __init__(
        self,
        cluster: Cluster,
        scaling: Scaling,
        workers: Workers,
        placement: WorkerPlacement,
        *,
        requested: bool,
    ) -> None:
        self._cluster, self._workers, self._placement = cluster, workers, placement
        self._scaling, self._requested = scaling, requested
        self._heeds_pending = getattr(scaling, "heeds_pending", True)
        self._reductions = Reductions(requested=requested)
        self._jobs: dict[str, list[int]] = {
            gpu_type: [] for gpu_type in cluster.type_sets
        }  # by the type they are on
        self._heterogeneous: list[int] = []
        self._bases: dict[int, GpusByType] = {}  # of base workers, by job
        self._grows_on: dict[int, str] = {}  # the type of the flexible workers of heterogeneous jobs
        self._seen: dict[str, object] = {}  # the last question to the rule, by type
        self._left = 0  # number of elastic jobs that have left
        self._content: dict[str, int] = {}  # version of the workers at which all jobs of a type were fastest
        self._steps: dict[tuple[Demand, float, float], tuple[int, ...]] = {}

    def enter(self, job: int) -> None:
        """Track an elastic job that has started on its base demand."""
        held = self._workers.jobs[job]
        self._bases[job] = self._by_type_of(held.base)
        base = self._base_type(job)
        if held.demand.fungible and held.demand.mixed_types:
            insort(self._heterogeneous, job)
            self._grows_on[job] = base
        else:
            insort(self._jobs[base], job)
        held.steps = self._steps_on(held, base)
        self._workers.version += 1

    def leave(self, job: int) -> None:
        """Track an elastic job that has finished or stopped."""
        heterogeneous = self._grows_on.pop(job, None) is not None
        (self._heterogeneous if heterogeneous else self._jobs[self._base_type(job)]).remove(job)
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
        for gpu_type, jobs in self._by_type().items():
            if not jobs or (self._content.get(gpu_type) == self._workers.version and not self._heeds_pending):
                continue
            capacity = self._workers.loose.total(self._machines_of(gpu_type))
            if (capacity, self._workers.version, self._left, heeded) != self._seen.get(gpu_type):
                self._ask(view, gpu_type, jobs, capacity, pending=pending)
                self._seen[gpu_type] = (capacity, self._workers.version, self._left, heeded)

    def _ask(
        self, view: ClusterView, gpu_type: str, jobs: list[int], capacity: int, *, pending: bool
    ) -> None:
        """Ask the rule about the jobs of a type, and apply its answer."""
        held = self._workers.jobs
        bases = [self._bases[job] for job in jobs] if self._heterogeneous else None
        growing = self._reductions.growing(view, gpu_type, jobs, [held[job].extra for job in jobs], bases)
        extra = self._scaling.extra(capacity, growing, pending=pending)
        machines = self._machines_of(gpu_type)
        if short := self._change(growing, extra, machines):
            self._ask_others([job for job in growing if job.job not in short], machines, pending=pending)
        if all(held[job.job].extra == _fastest(job) for job in growing):
            self._content[gpu_type] = self._workers.version

    def _ask_others(self, jobs: list[Growing], machines: int, *, pending: bool) -> None:
        """Grow jobs on GPUs that are idle because workers of others had no room; none shrinks."""
        held = self._workers.jobs
        jobs = [job._replace(held=held[job.job].extra) for job in jobs]
        capacity = self._placement.free.buckets.total(machines)
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
                self._workers.shrink_to(job, count, self._placement.free)
        for job, count in sorted(wanted, key=lambda pair: (-held[pair[0]].demand.step, pair[0])):
            if count > held[job].extra:
                self._placement.grow(job, count, machines)
        return {job for job, count in wanted if held[job].extra < count}

    # --- GPU types

    def _machines_of(self, gpu_type: str) -> int:
        return self._cluster.type_sets[gpu_type] & (self._placement.training | self._placement.loaned)

    def _by_type(self) -> dict[str, list[int]]:
        """Return the elastic jobs by the type that they grow on, in order of number."""
        if not self._heterogeneous:
            return self._jobs
        held, jobs = self._workers.jobs, {gpu_type: list(of_type) for gpu_type, of_type in self._jobs.items()}
        left = {
            gpu_type: self._workers.loose.total(self._machines_of(gpu_type))
            - sum(held[job].steps[-1] for job in of_type)
            for gpu_type, of_type in jobs.items()
        }
        for job in sorted(self._heterogeneous, key=lambda job: not held[job].flexible):
            if not held[job].flexible:
                self._choose_type(job, left)
            gpu_type = self._grows_on[job]
            left[gpu_type] -= held[job].steps[-1]
            jobs[gpu_type].append(job)
        return {gpu_type: sorted(of_type) for gpu_type, of_type in jobs.items()}

    def _choose_type(self, job: int, left: Mapping[str, int]) -> None:
        """Choose the type on which a heterogeneous job grows: no better than any that it is on.

        Parameters
        ----------
        left
            GPUs of each type that are left for it.
        """
        held, base, worth_of = self._workers.jobs[job], self._base_type(job), self._cluster.worth_of
        loaned, sets = self._placement.loaned, self._cluster.type_sets
        gpu_types = [
            gpu_type for gpu_type in sets if sets[gpu_type] & loaned and worth_of[gpu_type] <= worth_of[base]
        ]
        steps = {gpu_type: self._steps_on(held, gpu_type) for gpu_type in [*gpu_types, base]}
        all_fit = [gpu_type for gpu_type in steps if steps[gpu_type][-1] <= left[gpu_type]]
        one_fits = [gpu_type for gpu_type in steps if steps[gpu_type][:2][-1] <= left[gpu_type]]
        gpu_type = [*all_fit, *one_fits, base][0]
        if gpu_type != self._grows_on[job]:
            self._workers.version += 1
        self._grows_on[job], held.steps = gpu_type, steps[gpu_type]

    def _base_type(self, job: int) -> str:
        """Return the type of the base workers of a job; of several the one that replaces least."""
        return min((gpu_type for gpu_type, _ in self._bases[job]), key=self._cluster.worth_of.__getitem__)

    def _by_type_of(self, base: Mapping[int, int]) -> GpusByType:
        """Return the GPUs of each type, given GPUs by machine."""
        gpus = dict[str, int]()
        for machine, count in base.items():
            gpu_type = self._cluster.machines[machine].gpu_type
            gpus[gpu_type] = gpus.get(gpu_type, 0) + count
        return tuple(sorted(gpus.items()))

    def _steps_on(self, held: Held, gpu_type: str) -> tuple[int, ...]:
        """Return the GPUs of a type that 0, 1, 2, ... extra workers take, once for jobs that are alike."""
        machines, worth = self._cluster.machines, self._cluster.worth_of[gpu_type]
        base_worth = sum(gpus * machines[machine].worth for machine, gpus in held.base.items())
        key = (held.demand, base_worth, worth)
        steps = self._steps.get(key)
        if steps is None:
            counts = counts_from(held.demand, requested=self._requested)
            steps = self._steps[key] = steps_on(held.demand, counts, base_worth, worth)
        return steps


def _fastest(job: Growing) -> int:
    """Return the extra workers with which a job is fastest."""
    return int(job.reduction_ns.argmax()) + 1 if job.reduction_ns.max(initial=0) > 0 else 0
