"""Any policy in partitions: each is as if it were alone, job by job, and its policy sees nothing else."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from artist.core.cluster import Allocation, CapacityEvent, Cluster, Machine
from artist.core.events import Arrival, Change, Finish, Start, Stop
from artist.core.free import Free
from artist.core.job import JobSpec
from artist.core.plan import Plan
from artist.core.result import JOB_COLUMNS
from artist.core.view import ClusterView, Policy
from artist.engine.machines import MachineTable
from artist.engine.overheads import Overheads
from artist.errors import PlanError, StuckError
from artist.policies.antman.policy import AntMan
from artist.policies.basic.drf import Drf
from artist.policies.basic.ordered import Ordered
from artist.policies.coda.policy import Coda
from artist.policies.dally.policy import Dally
from artist.policies.gandiva.policy import Gandiva
from artist.policies.lyra.policy import Lyra
from artist.policies.muri.policy import Muri
from artist.policies.network_aware.policy import NetworkAware
from artist.policies.partitions.policy import Partitions
from artist.policies.partitions.quotas import Quotas
from artist.policies.parts.limits import Association
from artist.policies.pollux.policy import Pollux
from artist.policies.synergy.cpu_tuned import CpuTuned
from artist.policies.synergy.policy import Synergy
from artist.policies.themis.gavel import ThemisGavel
from artist.policies.themis.policy import Themis
from artist.policies.tiresias.policy import Tiresias
from artist.testing.conformance import PolicyConformance, generated_jobs
from artist.testing.tiny import PlainPerformance, job, on, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns

HOUR = 3600
SIZES = {"a": 3, "b": 4, "c": 3}  # machines of 4 GPUs, 2 per rack


def srtf(**settings: object) -> Policy:
    return Ordered(**{"order": "srtf", "preemptive": True, "backfill": True, **settings})


INSIDE: Mapping[str, Callable[[], Policy]] = {
    "fifo": lambda: Ordered(order="fifo"),
    "fifo_backfill": lambda: Ordered(order="fifo", backfill=True),
    "kinds": lambda: Ordered(order="fifo", queues="kinds"),
    "random": lambda: srtf(placement="random", seed=3),
    "ftf": lambda: srtf(order="ftf"),
    "clock": lambda: srtf(order="las2d", on_events=False, interval_s=3),
    "drf": Drf,
    "tiresias": lambda: Tiresias(thresholds_gpu_s=(4, 20)),
    "dally": lambda: Dally(
        renewal="literal", lease_s=6, machine_timer_h=1 / HOUR, rack_timer_h=2 / HOUR, history_leases=5
    ),
    "themis": lambda: Themis(lease_s=3),
    "gavel": lambda: ThemisGavel(interval_s=3),
    "gandiva": lambda: Gandiva(slicing=True, packing=True, grow_shrink=True, quantum_s=3, profile_s=1),
    "muri": lambda: Muri(order="srsf", on_events=True, interval_s=3, profiling_noise=0.2),
    "pollux": lambda: Pollux(interval_s=3),
    "lyra": lambda: Lyra(loaning=False, interval_s=2),
    "antman": AntMan,
    "coda": lambda: Coda(step_s=2, review_s=10),
    "synergy": lambda: Synergy(interval_s=3),
    "network_aware": lambda: NetworkAware(srtf(), placement="as_chosen"),
    "cpu_tuned": lambda: CpuTuned(srtf(), "tune"),
}


def by_place(spec: JobSpec, allocation: Allocation) -> float:
    """Make jobs slower on several machines, and without the CPUs that they want."""
    wants = 3 if spec.model else 1
    starved = max(wants * s.gpus / max(s.cpus, 0.5) for s in allocation.slices)
    return (1 + 0.25 * len(allocation.slices)) * max(1.0, starved)


def jobs_of(*names: str) -> list[JobSpec]:
    """Return jobs that overload each of some partitions for a while."""
    jobs = [
        replace(spec, job_id=f"{name}{spec.job_id}", vc=name)
        for seed, name in enumerate(SIZES)
        for spec in generated_jobs(seed, 12, cpu_jobs=True)
        if name in names
    ]
    return sorted(jobs, key=lambda spec: spec.submit_ns)


def cluster_of(*names: str) -> Cluster:
    """Return the machines of some partitions, each in racks of its own; of one partition, in no pool."""
    machines: list[Machine] = []
    for name in names:
        part = tiny_cluster(SIZES[name], 4, per_rack=2, cpus=8, memory_bytes=1 << 30).machines
        rack = machines[-1].rack + 1 if machines else 0
        pool = name if len(names) > 1 else "default"
        machines += [replace(m, name=name + m.name, rack=rack + m.rack, pool=pool) for m in part]
    return Cluster(machines)


def run(make: Callable[[], Policy], *names: str) -> dict[str, list[int]]:
    """Return the accounts of each job of some partitions, in which machines fail and leave."""
    cluster, events = cluster_of(*names), list[CapacityEvent]()
    number = {machine.name: number for number, machine in enumerate(cluster.machines)}
    for name in names:
        first, start_s = number[f"{name}m0"], 6 + 2 * list(SIZES).index(name)
        events.append(CapacityEvent(seconds_to_ns(start_s), "fail", first))
        events.append(CapacityEvent(seconds_to_ns(start_s + 9.5), "join", first))
        events.append(CapacityEvent(seconds_to_ns(30), "leave", first + 1, seconds_to_ns(34)))
        events.append(CapacityEvent(seconds_to_ns(50), "join", first + 1))
    costs = Overheads(start_s=0.5, restart_s=1, migrate_s=0.5)
    policy = Partitions(make) if len(names) > 1 else make()
    performance = PlainPerformance(by_place)
    result, _ = run_checked(
        jobs_of(*names), cluster, policy, performance, overheads=costs, capacity_events=events
    )
    rows = zip(*(result.columns[name].tolist() for name in JOB_COLUMNS), strict=True)
    return {spec.job_id: list(row) for spec, row in zip(result.jobs, rows, strict=True)}


@pytest.mark.parametrize("kind", INSIDE)
def test_each_partition_is_as_if_alone(kind: str) -> None:
    """One run of three partitions equals three runs, in all accounts of all jobs, to the nanosecond."""
    together = run(INSIDE[kind], *SIZES)
    apart = [run(INSIDE[kind], name) for name in SIZES]
    assert together == {job_id: row for rows in apart for job_id, row in rows.items()}


def run_within(kind: str, most: int | None) -> tuple[dict[str, list[int]], int]:
    """Return the accounts of each job of a partition in which users u and v hold `most` GPUs each at most.

    And the most GPUs that one of them held.
    """
    limits = [Association("all", user, GrpTRES={"gres/gpu": most or 1000}) for user in "uv"]
    jobs = [replace(spec, user="uvw"[i % 3], account="all") for i, spec in enumerate(jobs_of("b"))]
    jobs = [spec for spec in jobs if max(spec.demand.gpus, spec.demand.max_gpus) <= (most or 1000)]
    policy = Partitions(INSIDE[kind], None, Quotas(associations=(Association("all"), *limits)))
    result, events = run_checked(jobs, cluster_of("b"), policy, PlainPerformance(by_place))
    held, peak = dict[int, int](), 0
    for event in events:
        if isinstance(event, Start | Change):
            held[event.job] = event.allocation.gpus
        elif isinstance(event, Stop | Finish):
            held.pop(event.job, None)
        of_user = Counter[str]()
        for number, gpus in held.items():
            of_user[jobs[number].user] += gpus
        peak = max(peak, of_user["u"], of_user["v"])
    rows = zip(*(result.columns[name].tolist() for name in JOB_COLUMNS), strict=True)
    return {spec.job_id: list(row) for spec, row in zip(result.jobs, rows, strict=True)}, peak


@pytest.mark.parametrize("kind", INSIDE)
def test_limits_are_never_exceeded_and_without_effect_where_they_hold_none(kind: str) -> None:
    """Of 16 GPUs users u and v may hold 4 each; with 1,000 each all accounts are those without limits.

    Within the same instant stops come before starts, so the count is exact after every event.
    """
    unlimited, peak = run_within(kind, None)
    policy = INSIDE[kind]()
    jobs = [replace(spec, user="uvw"[i % 3], account="all") for i, spec in enumerate(jobs_of("b"))]
    result, _ = run_checked(jobs, cluster_of("b"), policy, PlainPerformance(by_place))
    rows = zip(*(result.columns[name].tolist() for name in JOB_COLUMNS), strict=True)
    assert unlimited == {spec.job_id: list(row) for spec, row in zip(result.jobs, rows, strict=True)}
    assert peak > 4
    assert run_within(kind, 4)[1] <= 4


class TestOnePartition(PolicyConformance):
    """A cluster without named pools is one partition; the suite runs on numbers that are translated."""

    @pytest.fixture(autouse=True, params=["clock", "dally"])
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.kind: str = request.param

    def make_policy(self) -> Policy:
        return Partitions(INSIDE[self.kind])


class Looking(Ordered):
    """Notes what it sees, and asks for a wake-up 1 s after each arrival."""

    def __init__(self, calls: list[tuple[object, ...]]) -> None:
        super().__init__(order="fifo", backfill=True)
        self.only_while_jobs_wait = False
        self._calls = calls

    def decide(self, view: ClusterView) -> Plan:
        names = [machine.name for machine in view.cluster.machines]
        assert len(view.accepts) == len(view.pools) == len(names) == view.in_pool("default").bit_count()
        held = dict.fromkeys(job for m in range(len(names)) for job in view.jobs_on(m))
        assert sorted(held) == view.jobs.job[view.jobs.running].tolist()
        assert view.free().total_gpus == view.free_gpus == 4 * len(names) - view.jobs.held_gpus.sum()
        seen = view.now_ns // 10**9, names, view.jobs.job.tolist(), view.jobs.capacity.gpus
        self._calls.append((*seen, [(type(e).__name__, getattr(e, "job", None)) for e in view.news]))
        plan = super().decide(view)
        arrived = [e for e in view.news if isinstance(e, Arrival)]
        return replace(plan, wake_ns=view.now_ns + 10**9) if arrived else plan


def test_a_policy_sees_and_hears_its_partition_only() -> None:
    """A has m0 and m2, b has m1: a1 arrives at 0 s, b1 at 5 s, a2 at 10 s; each is followed by a wake-up.

    a is called at 0, 1 (wake-up), 3 (a1 ends), 10, 11, 12 (a2 ends); b at 5, 6, and 9 (b1 ends) s, unless no
    job of it is left to be decided on, as at 3, 9 and 12 s. Jobs are numbered 0, 1 in each.
    """
    calls: list[tuple[object, ...]] = []
    jobs = [job("a1", 4, 3, 0), job("b1", 2, 4, 5), job("a2", 8, 2, 10)]
    jobs = [replace(spec, vc=spec.job_id[0]) for spec in jobs]
    cluster = tiny_cluster(3, 4, pools=["a", "b", "a"])
    result, _ = run_checked(jobs, cluster, Partitions(lambda: Looking(calls)))
    assert calls == [
        (0, ["m0", "m2"], [0], 8, [("Arrival", 0)]),
        (1, ["m0", "m2"], [0], 8, [("Wake", None)]),
        (5, ["m1"], [0], 4, [("Arrival", 0)]),
        (6, ["m1"], [0], 4, [("Wake", None)]),
        (10, ["m0", "m2"], [1], 8, [("Finish", 0), ("Arrival", 1)]),
        (11, ["m0", "m2"], [1], 8, [("Wake", None)]),
    ]
    assert seconds(result, "finish_ns") == [3, 9, 12]


def test_a_partition_does_not_wait_for_another() -> None:
    """Strict FIFO: a2 waits behind a1 in a until 10 s; b2, which arrives later, starts in b at once."""
    jobs = [job("a1", 4, 10, 0), job("a2", 4, 1, 1), job("b2", 4, 1, 2)]
    jobs = [replace(spec, vc=spec.job_id[0]) for spec in jobs]
    cluster = tiny_cluster(2, 4, pools=["a", "b"])
    result, _ = run_checked(jobs, cluster, Partitions(INSIDE["fifo"]))
    assert seconds(result, "queueing_ns") == [0, 9, 0]


def test_a_finish_where_no_job_waits_calls_no_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """FIFO with backfill: jobs arrive at 0, 1 and 6 s, and others wait in b as b1 and b2 end, at 2 and 11 s.

    At 5 and 7 s jobs of a end, where none waits; nor does one of b as b3 ends at 12 s.
    """
    times: list[int] = []
    jobs = [
        job("a1", 4, 5, 0),
        job("b1", 4, 2, 0),
        job("b2", 4, 9, 1),
        job("b3", 4, 1, 1),
        job("a2", 4, 1, 6),
    ]
    jobs = [replace(spec, vc=spec.job_id[0]) for spec in jobs]
    decide = Partitions.decide
    monkeypatch.setattr(
        Partitions, "decide", lambda self, view: times.append(view.now_ns // 10**9) or decide(self, view)
    )
    cluster = tiny_cluster(2, 4, pools=["a", "b"])
    result, _ = run_checked(jobs, cluster, Partitions(lambda: Ordered(order="fifo", backfill="first_fit")))
    assert seconds(result, "finish_ns") == [5, 2, 11, 12, 7]
    assert times == [0, 1, 2, 6, 11]


@pytest.mark.parametrize("among", [0b011, 0b110, 0b101])
def test_free_gpus_of_a_part_are_those_of_its_machines(among: int) -> None:
    """4, 3 and 2 of 4 are free on three machines in two racks; m0 and m2 are no successive ones."""
    machines = MachineTable(tiny_cluster(3, 4, per_rack=2))
    machines.take(0, on((1, 1)))
    machines.take(1, on((2, 2)))
    free = machines.free_part(among)
    expected = Free(
        machines.cluster.part(among), [4 - m for m in range(3) if among >> m & 1], [0] * 2, [0] * 2
    )
    assert (free.gpus.tolist(), free.total_gpus) == (expected.gpus.tolist(), expected.total_gpus)
    assert (free.buckets.sets, free.buckets.in_rack) == (expected.buckets.sets, expected.buckets.in_rack)


class Wrong(Policy):
    """Plans whatever a function returns."""

    def __init__(self, plan: Callable[[ClusterView], Any]) -> None:
        self._plan = plan

    def decide(self, view: ClusterView) -> Plan:
        return self._plan(view)  # type: ignore[no-any-return]


def placed(view: ClusterView, job: object, machine: object) -> Plan:
    plan = view.plan()
    plan.place(job, on((machine, 4)))  # type: ignore[arg-type]
    return plan.done()


def assigned(view: ClusterView) -> Plan:
    plan = view.plan()
    plan.assign(0, "b")
    return plan.done()


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (lambda view: placed(view, 0, 1), "names machine number 1"),
        (lambda view: placed(view, 0, -1), "names machine number -1"),
        (lambda view: placed(view, 0, None), "names machine number None"),
        (lambda view: placed(view, 1, 0), "names job number 1"),
        (assigned, "assigns machines to pools"),
        (lambda view: None, "returned None"),
        (lambda view: view.columns([1]), "names job number 1"),
        (lambda view: view.demand(-1), "names job number -1"),
    ],
)
def test_a_wrong_plan_is_refused_with_its_partition(plan: Callable[[ClusterView], Any], fault: str) -> None:
    """Machine 1 of the cluster is another partition's, and there is no job 1 in this one."""
    jobs = [replace(job("x", 4, 1), vc="a"), replace(job("y", 4, 1), vc="b")]
    with pytest.raises(PlanError, match=f"policy Wrong, partition 'a': it {fault}"):
        run_checked(jobs, tiny_cluster(2, 4, pools=["a", "b"]), Partitions(lambda: Wrong(plan)))


def test_a_stuck_partition_ends_the_run_once_nothing_else_is_due() -> None:
    """A policy that starts nothing in a is asked once more; then the run is stuck, and b is at its end."""

    def lazy(view: ClusterView) -> object:
        lone = view.cluster.machines[0].name == "m0"
        return view.plan().done() if lone or not view.n_waiting else placed(view, int(view.waiting.job[0]), 0)

    jobs = [replace(job("x", 4, 1), vc="a"), replace(job("y", 4, 9), vc="b")]
    with pytest.raises(StuckError):
        run_checked(jobs, tiny_cluster(2, 4, pools=["a", "b"]), Partitions(lambda: Wrong(lazy)))
