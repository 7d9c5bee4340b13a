"""Best-case demands: the least CPUs and memory at which a job reaches its highest speed (Synergy, 3.2).

The rule is `artist.performance.formulas.best_case`.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from artist.core.buckets import ALL, first_of
from artist.core.cluster import Cluster, Machine
from artist.core.view import ClusterView
from artist.performance.formulas.best_case import MEMORY_POINTS_GIB, Grid, best_case, points, share_of


class BestCase(NamedTuple):
    """Best-case demand of a whole job on given GPUs."""

    gpus: int
    cpus: int
    memory_bytes: int


ByType = Mapping[tuple[str, str], tuple[int, int]]  # CPUs and bytes by hardware of a machine


class BestCases:
    """Best-case demands of jobs, computed once for identical jobs; needs `knows_performance`.

    On machines of one type. A job whose GPUs fit one such machine gets at most that machine's CPUs and
    memory (section 6), a larger one at most those of the machines that it needs. Jobs with the same
    model, demand and compute time are identical: a policy that asks declares `knows_models`,
    `knows_iterations`.

    Parameters
    ----------
    memory_points_gib
        Amounts of memory to try, per GPU, ascending; CPUs are tried one by one.
    server_gpus
        GPUs of a server, if one machine stands for several: its part of the machine bounds jobs. None for the
        machine's own GPUs.
    bounded
        False for the best case of a job that has a machine for each of its GPUs.
    """

    def __init__(
        self,
        memory_points_gib: Sequence[float] = MEMORY_POINTS_GIB,
        *,
        server_gpus: int | None = None,
        bounded: bool = True,
    ) -> None:
        self._server_gpus = server_gpus
        self._bounded = bounded
        self._points_gib = memory_points_gib
        self._by_job: dict[int, BestCase] = {}
        self._by_key: dict[Hashable, BestCase] = {}

    def of(self, view: ClusterView, job: int, gpus: int, machine: Machine | None = None) -> BestCase:
        """Return the best case of a job on some GPUs.

        Parameters
        ----------
        machine
            Of the type that serves; None for the cluster's own.
        """
        if machine is not None and not view.cluster.uniform:
            return self._computed(view, job, gpus, machine)
        case = self._by_job.get(job)
        if case is None or case.gpus != gpus:
            case = self._by_job[job] = self._computed(view, job, gpus, own_machine(view.cluster))
        return case

    def among(self, view: ClusterView, job: int, gpus: int, among: int) -> tuple[BestCase, ByType | None]:
        """Return the best case of a job on some machines: on the first type, and on each if they differ."""
        machines = types_among(view.cluster, among)
        cases = [self.of(view, job, gpus, machine) for machine in machines]
        if len(cases) == 1:
            return cases[0], None
        return cases[0], {m.hardware: case[1:] for m, case in zip(machines, cases, strict=True)}

    def forget(self, job: int) -> None:
        """Forget a finished job."""
        self._by_job.pop(job, None)

    def grid(self, machine: Machine, gpus: int) -> tuple[list[int], list[int]]:
        """Return the CPUs and the bytes of memory to try for a job on some GPUs, ascending."""
        gpus_there = self._server_gpus or machine.gpus
        cpus, memory = machine.share(gpus_there)
        server = replace(machine, gpus=gpus_there if self._bounded else 1, cpus=cpus, memory_bytes=memory)
        return points(server, gpus, self._points_gib)

    def _computed(self, view: ClusterView, job: int, gpus: int, machine: Machine) -> BestCase:
        columns = view.columns([job])
        key = (columns.model[0], view.demand(job), int(columns.compute_ns[0]), gpus, machine.hardware)
        case = self._by_key.get(key)
        if case is None:
            times, share = times_on(view, job, gpus, machine), share_of(machine, gpus)
            best = best_case(times, *self.grid(machine, gpus), share)
            case = self._by_key[key] = BestCase(gpus, *best)
        return case


def times_on(view: ClusterView, job: int, gpus: int, machine: Machine) -> Grid:
    """Return iteration times of a job by CPUs and memory, on machines of a type if these have the GPUs."""
    times = partial(view.performance.at_resources, job, gpus)
    among = view.cluster.same_hardware(machine, gpus, view.demand(job).gpu_types)
    return times if among == ALL else partial(times, among=among)


def types_among(cluster: Cluster, among: int) -> list[Machine]:
    """Return a machine of each type with GPUs among some; the cluster's own if there is one type."""
    if cluster.uniform:
        return [own_machine(cluster)]
    sets = [machines & among for machines in cluster.hardware_sets.values()]
    return [cluster.machines[first_of(machines)] for machines in sets if machines]


def own_machine(cluster: Cluster) -> Machine:
    """Return a machine with the cluster's own GPUs; one exists because a job with GPUs was admitted."""
    assert cluster.default_machine is not None
    return cluster.default_machine
