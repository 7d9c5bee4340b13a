"""Pairs: two jobs packed on the same GPUs, measured, then kept or parted. For Gandiva.

In plain words: while jobs wait, a waiting job (the guest) joins a running one (the host) that asked for an
equal number of GPUs, has run for `profile_s`, and keeps them busy, as measured, for at most `utilization` of
the time; hosts by lowest utilization, guests in order of arrival. After another `profile_s` the pair is
judged, and from then on whenever the policy is called: it stays while both together progress faster than in
time slices:

    host's speed packed / alone + guest's speed packed / alone > 1

A guest that has not run alone for `profile_s` counts with the measured share in which it keeps the GPUs busy:
alone it would use at most all of the time, so this is the least that its speed can be. A pair that fails is
parted and never tried again; the guest moves to free GPUs of its own, else to the queue. A guest whose host
is slowed down also moves to GPUs of its own when they are free and no job waits.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from artist.core.cluster import Allocation, Cluster, Group
from artist.core.job import Demand
from artist.core.plan import PlanBuilder
from artist.core.view import ClusterView
from artist.policies.parts.fill import Fill, without_gpus
from artist.policies.parts.placer import Placer


@dataclass(frozen=True, slots=True)
class Pair:
    """Two jobs on the host's GPUs, the start of the pair, and the host's iteration time before."""

    host: int
    guest: int
    since_ns: int
    host_alone_ns: int


class Pairs:
    """The pairs that run, with the measurements of jobs and pairs.

    Parameters
    ----------
    utilization
        Share of busy time up to which a running job may become a host.
    profile_ns
        Time for which a job, and a pair, is measured.
    fill
        Allocates CPUs and memory with the GPUs that a guest shares.
    """

    def __init__(self, utilization: float, profile_ns: int, fill: Fill) -> None:
        self._fill = fill
        self._utilization = utilization
        self._profile_ns = profile_ns
        self._pairs: dict[int, Pair] = {}  # by host
        self._left: list[int] = []  # jobs whose partner has left, still in their group
        self._alone_ns: dict[int, int] = {}  # iteration time of jobs when they last ran alone
        self._parted: dict[int, set[int]] = {}  # partners with which a job did badly

    @property
    def guests(self) -> list[int]:
        """The jobs on GPUs of others."""
        return [pair.guest for pair in self._pairs.values()]

    def follow(self, view: ClusterView, finished: Iterable[int]) -> None:
        """End the pairs of which a job has stopped or finished."""
        for pair in list(self._pairs.values()):
            running = [job for job in (pair.host, pair.guest) if view.allocation(job) is not None]
            if len(running) < 2:
                self._end(pair)
                self._left += running
        for job in finished:
            self._alone_ns.pop(job, None)
            for other in self._parted.pop(job, ()):
                self._parted[other].discard(job)

    def stop_with_hosts(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Stop the guests of hosts that lose their GPUs; remember the speed of jobs that ran alone."""
        changed = list(plan.changes)
        for job in changed:
            if job in self._pairs:
                plan.stop(self._pairs[job].guest)
                self._end(self._pairs[job])
        alone = [job for job in changed if (held := view.allocation(job)) is not None and held.group is None]
        if alone:
            jobs = view.columns(alone)
            measured = jobs.held_ns >= self._profile_ns
            times = jobs.observed_iteration_ns[measured].tolist()
            self._alone_ns.update(zip(jobs.job[measured].tolist(), times, strict=True))

    def part(self, view: ClusterView, plan: PlanBuilder, placer: Placer) -> None:
        """Part pairs that do badly or are no longer needed; give jobs left behind GPUs of their own."""
        left, self._left = self._left, []
        if not left and not self._pairs:
            return
        free = view.free()
        for job in left:
            held = view.allocation(job)
            if held is not None and held.group is not None:
                plan.place(job, self._fill.refilled(free, view.demand(job), replace(held, group=None)))
        for pair in list(self._pairs.values()):
            judged_ns = pair.since_ns + self._profile_ns
            if view.now_ns < judged_ns:
                plan.wake_at(judged_ns)
                continue
            host_speed, guest_speed = self._speeds(view, pair)
            bad = host_speed + guest_speed <= 1
            if not bad and (view.n_waiting or host_speed == 1 or not free.total_gpus):
                continue
            apart = placer.place(free, view.demand(pair.guest))
            if apart is not None:
                free.take(apart)
                plan.place(pair.guest, apart)
            elif bad:
                plan.stop(pair.guest)
            else:
                continue
            if bad:
                self._parted.setdefault(pair.host, set()).add(pair.guest)
                self._parted.setdefault(pair.guest, set()).add(pair.host)
            held = view.allocation(pair.host)
            assert held is not None
            plan.place(
                pair.host, self._fill.refilled(free, view.demand(pair.host), replace(held, group=None))
            )
            self._end(pair)

    def pack(self, view: ClusterView, plan: PlanBuilder) -> None:
        """Join waiting jobs to running ones; ask to be woken when the next one has been measured."""
        if not view.n_waiting:
            return
        hosts = self._hosts(view, plan)
        if not hosts:
            return
        free = view.free()
        for job in view.waiting.job.tolist():
            demand = view.demand(job)
            for host, alone_ns in hosts.get(demand.gpus, ()):
                held = view.allocation(host)
                assert held is not None
                if host in self._parted.get(job, ()) or not _suits(demand, held, view.cluster):
                    continue
                group = Group(f"{host}+{job}", tuple((s.machine, s.gpus) for s in held.slices), depth=2)
                beside = self._fill.fill(free, demand, held.gpu_map())
                if beside is None:
                    continue
                free.take(without_gpus(beside))
                plan.place(host, replace(held, group=group))
                plan.place(job, replace(beside, group=group))
                plan.wake_at(view.now_ns + self._profile_ns)
                self._pairs[host] = Pair(host, job, view.now_ns, alone_ns)
                hosts[demand.gpus].remove((host, alone_ns))
                break

    # --- measurements

    def _hosts(self, view: ClusterView, plan: PlanBuilder) -> dict[int, list[tuple[int, int]]]:
        """Return jobs that a guest may join, and their iteration times, by GPUs; lowest utilization first."""
        everyone = view.jobs
        rows = everyone.running & (everyone.gpus > 0) & (everyone.held_gpus == everyone.gpus)
        jobs = view.columns(everyone.job[rows].tolist())
        measured = jobs.held_ns >= self._profile_ns
        if not measured.all():
            plan.wake_at(view.now_ns + self._profile_ns - int(jobs.held_ns[~measured].max()))
        idle = np.flatnonzero(measured & (jobs.observed_gpu_utilization <= self._utilization))
        order = idle[np.lexsort((jobs.job[idle], jobs.observed_gpu_utilization[idle]))]
        accepts = view.accepts
        hosts: dict[int, list[tuple[int, int]]] = {}
        for row in order.tolist():
            job = int(jobs.job[row])
            held = view.allocation(job)
            if held is not None and held.group is None and all(accepts[s.machine] for s in held.slices):
                alone_ns = int(jobs.observed_iteration_ns[row])
                hosts.setdefault(int(jobs.gpus[row]), []).append((job, alone_ns))
        return hosts

    def _speeds(self, view: ClusterView, pair: Pair) -> tuple[float, float]:
        """Return the measured speeds of host and guest relative to running alone, at most 1."""
        jobs = view.columns([pair.host, pair.guest])
        host_ns, guest_ns = jobs.observed_iteration_ns.tolist()
        host_speed = min(1.0, pair.host_alone_ns / host_ns)
        alone_ns = self._alone_ns.get(pair.guest)
        if alone_ns is None:
            return host_speed, float(jobs.observed_gpu_utilization[1])
        return host_speed, min(1.0, alone_ns / guest_ns)

    def _end(self, pair: Pair) -> None:
        del self._pairs[pair.host]
        self._alone_ns[pair.host] = pair.host_alone_ns


def _suits(demand: Demand, held: Allocation, cluster: Cluster) -> bool:
    """Return whether a job may run on the GPUs of another that holds the number that it asks for."""
    machines = [cluster.machines[s.machine] for s in held.slices]
    types = {machine.gpu_type for machine in machines}
    return (
        (not demand.max_machines or len(machines) <= demand.max_machines)
        and (not demand.gpu_types or types <= set(demand.gpu_types))
        and (len(types) == 1 or demand.mixed_types)
        and demand.allows((s.gpus, m.worth) for s, m in zip(held.slices, machines, strict=True))
        and demand.is_whole(held.gpu_map(), cluster.rack_of)
    )
