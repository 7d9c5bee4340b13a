"""Clusters and jobs small enough to be worked out by hand, and a check of every account.

The default instance is two machines of two GPUs; a job's iteration takes one second.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from artist.core.buckets import sets_by
from artist.core.cluster import Allocation, Cluster, Group, Machine, Slice
from artist.core.events import Event, Gauges
from artist.core.iteration import IterationParts
from artist.core.job import UNLIMITED_NS, Demand, JobSpec, Stages
from artist.core.plan import Plan, PlanBuilder
from artist.core.result import PART_COLUMNS, TIER_COLUMNS, RunResult
from artist.core.view import ClusterView, Policy
from artist.engine.engine import Engine
from artist.engine.machines import MachineTable
from artist.performance.api import Changed, Running
from artist.performance.bandwidth import drawn_bandwidth, drawn_by
from artist.performance.couplings.groups import members_touched
from artist.performance.formulas.opportunistic import slowdowns
from artist.performance.formulas.packing import busy_share
from artist.units import NS_PER_S, seconds_to_ns


def tiny_cluster(
    machines: int = 2,
    gpus: int = 2,
    *,
    per_rack: int = 8,
    cpus: int = 0,
    memory_bytes: int = 0,
    memory_bandwidth_bytes_per_s: int = 0,
    pools: Sequence[str] = (),
) -> Cluster:
    """Return machines m0, m1, ... of one type; in these pools, a machine each, and one if none is named."""
    pools = pools or ["default"] * machines
    has = (cpus, memory_bytes, memory_bandwidth_bytes_per_s)
    return Cluster(
        [
            Machine(f"m{i}", i // per_rack, "box", gpus, "gpu", 1.0, *has, pool)
            for i, pool in zip(range(machines), pools, strict=True)
        ]
    )


def job(
    job_id: str,
    gpus: int = 1,
    seconds: float = 10,
    at: float = 0,
    *,
    iteration_s: float = 1,
    gpu_utilization: float = 1,
    guaranteed: bool = True,
    **demand: object,
) -> JobSpec:
    """Return a job of `seconds` on its GPUs, in iterations of `iteration_s`; `demand`: fields of `Demand`."""
    return JobSpec(
        job_id,
        seconds_to_ns(at),
        Demand(gpus, **demand),  # type: ignore[arg-type]
        iterations=max(1, round(seconds / iteration_s)),
        compute_ns=seconds_to_ns(iteration_s),
        gpu_utilization=gpu_utilization,
        guaranteed=guaranteed,
    )


def on(
    *slices: tuple[int, ...], cap: float = 1.0, group: Group | None = None, opportunistic: bool = False
) -> Allocation:
    """Return an allocation of (machine, GPUs[, CPUs[, memory bytes]])."""
    return Allocation(tuple(Slice(*s) for s in slices), cap, group, opportunistic)


class PlainPerformance:
    """Compute only, inversely proportional to the GPUs held; `slow` stretches it by a factor of the job.

    Group members fill each other's idle time, and take turns where there is none, on however many of the
    group's GPUs. `slow` may be changed by a test during a run.
    """

    def __init__(self, slow: Callable[[JobSpec, Allocation], float] = lambda spec, allocation: 1.0) -> None:
        self.slow = slow

    def sending(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> None:
        """Return None: jobs send nothing."""

    def skew(self, spec: JobSpec) -> float:
        """Return the skew by the model's name: 1 for "skewed", else 0."""
        return 1.0 if spec.model == "skewed" else 0.0

    def stages(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Stages:
        """Return the job's own stages, else compute on the GPUs and nothing else."""
        return spec.stages or Stages(0, 0, spec.compute_ns, 0)

    def bandwidth(self, machine: int, running: Running) -> Mapping[int, float]:
        """Return the bandwidth of the demands, up to the caps."""
        return drawn_bandwidth(machine, running)

    def drawn(self, spec: JobSpec, allocation: Allocation, here: Slice) -> float:
        """Return the bandwidth of the demand on a slice, up to the cap."""
        return drawn_by(spec, allocation, here, None)

    def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
        """Return parts of the changed jobs and of their groups."""
        jobs = members_touched(changed, running)
        return {j: self._parts(running.spec(j), running.allocation(j), running) for j in jobs}

    def _parts(self, spec: JobSpec, allocation: Allocation, running: Running) -> IterationParts:
        alone = self._alone(spec, allocation)
        if allocation.group is None:
            return alone
        busy: tuple[list[float], list[float]] = ([], [])
        for member in running.members(allocation.group.name):
            its, held = running.spec(member), running.allocation(member)
            parts = self._alone(its, held)
            busy[held.opportunistic].append(busy_share(parts.compute_ns, sum(parts), its.gpu_utilization))
        slower = slowdowns(*busy)[allocation.opportunistic]
        return alone._replace(sharing_ns=round(sum(alone) * (slower - 1)))

    def _alone(self, spec: JobSpec, allocation: Allocation) -> IterationParts:
        gpus = allocation.gpus
        compute = spec.compute_ns * spec.demand.gpus // gpus if gpus else spec.compute_ns
        return IterationParts(compute, exposed_ns=round(compute * (self.slow(spec, allocation) - 1)))


class Scripted:
    """A scripted policy: `script` maps times in seconds to functions that fill the plan."""

    interval_s: float | None = None
    on_events = True
    knows_durations = True

    def __init__(self, script: Mapping[float, Callable[[ClusterView, PlanBuilder], None]]) -> None:
        self._script = {seconds_to_ns(t): act for t, act in script.items()}
        self.calls: list[float] = []

    def decide(self, view: ClusterView) -> Plan:
        """Carry out the entry of this instant, once; ask to be woken for the next one."""
        self.calls.append(view.now_ns / NS_PER_S)
        plan = view.plan()
        act = self._script.pop(view.now_ns, None)
        if act is not None:
            act(view, plan)
        later = [t for t in self._script if t > view.now_ns]
        if later:
            plan.wake_at(min(later))
        return plan.done()


class Recount:
    """An observer that recounts every resource after every instant."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.log: list[Event] = []

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Recount, and keep the events."""
        assert self.engine is not None
        engine = self.engine
        self.log.extend(events)
        held = [(j, a) for j, a in enumerate(engine.jobs.held) if a is not None]
        recount(engine.machines, held)
        assert gauges.running == len(held)
        assert gauges.busy_gpus <= gauges.capacity_gpus


def recount(machines: MachineTable, held: Sequence[tuple[int, Allocation]]) -> None:
    """Recount all resources from running jobs' allocations; raise AssertionError on any difference."""
    fresh = MachineTable(machines.cluster)
    for machine, present in enumerate(machines.present):
        fresh.set_present(machine, present)
        fresh.set_accepts(machine, bool(machines.accepts[machine]))
    for job, allocation in held:
        fresh.take(job, allocation)
    free = ("free_gpus", "free_cpus", "free_memory", "open_gpus", "closed")
    for name in (*free, "busy_gpus", "group_gpus"):
        assert getattr(machines, name) == getattr(fresh, name), name
    assert machines.buckets.sets == fresh.buckets.sets, "buckets"
    assert machines.buckets.in_rack == fresh.buckets.in_rack, "free GPUs by rack"
    assert [sorted(x) for x in machines.jobs_on] == [sorted(x) for x in fresh.jobs_on], "jobs_on"
    if machines.crossing_rack is not None:
        assert list(map(sorted, machines.crossing_rack)) == list(map(sorted, fresh.watch_racks(held))), (
            "racks"
        )
    assert min(machines.free_gpus, default=0) >= 0, "GPUs given twice"
    assert min(machines.free_cpus, default=0) >= 0, "CPUs given twice"
    assert min(machines.free_memory, default=0) >= 0, "memory given twice"
    pools = {pool: members for pool, members in machines.pool_sets.items() if members}
    assert pools == sets_by(machines.pools), "pools"
    present_gpus = sum(m.gpus for m, p in zip(machines.cluster.machines, machines.present, strict=True) if p)
    assert machines.capacity_gpus == present_gpus, "capacity"


def run_checked(
    jobs: Sequence[JobSpec], cluster: Cluster, policy: Policy, performance: object = None, **options: object
) -> tuple[RunResult, list[Event]]:
    """Run with a recount at every instant and an audit at the end; return the result and all events."""
    observer = Recount()
    engine = Engine(
        jobs,
        cluster,
        policy,
        performance or PlainPerformance(),  # type: ignore[arg-type]
        observers=(observer,),
        **options,  # type: ignore[arg-type]
    )
    observer.engine = engine
    result = engine.run()
    audit(result)
    return result, observer.log


def audit(result: RunResult) -> None:
    """Assert the exact invariants of a finished run, in integers."""
    c = result.columns
    done = c["finish_ns"] >= 0
    jct = (c["finish_ns"] - c["submit_ns"])[done]
    assert (jct == (c["queueing_ns"] + c["running_ns"] + c["overhead_ns"])[done]).all()
    asked = np.array([s.iterations for s in result.jobs], dtype=np.int64)
    limit_ns = np.array([s.limit_ns or UNLIMITED_NS for s in result.jobs], dtype=np.int64)
    timed_out = (c["iterations"] < asked) & (c["running_ns"] + c["overhead_ns"] >= limit_ns)
    cancelled = np.isin(np.arange(len(asked)), result.cancelled)
    assert ((c["iterations"] == asked) | timed_out | cancelled)[done].all()
    assert (np.sum([c[name] for name in PART_COLUMNS], axis=0) == c["running_ns"]).all()
    held = np.sum([c[name] for name in TIER_COLUMNS], axis=0)
    assert (held == c["running_ns"] + c["overhead_ns"]).all()
    assert sum(c["gpu_held_alone_ns"].tolist()) + result.group_gpu_ns == result.busy_gpu_ns
    assert result.busy_gpu_ns <= result.capacity_gpu_ns
    assert (c["lost_ns"] <= c["running_ns"]).all()


def seconds(result: RunResult, column: str) -> list[float]:
    """Return a column of times in seconds, -1 ns as -1."""
    return [v / NS_PER_S if v >= 0 else -1.0 for v in result.columns[column].tolist()]
