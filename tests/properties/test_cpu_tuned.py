"""Whatever the policy inside does, each job has at least its share or its best case, and nothing twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from artist.core.cluster import Allocation, CapacityEvent, Cluster, Slice
from artist.core.events import Change, Event, Gauges, Start
from artist.core.job import JobSpec
from artist.core.plan import Plan
from artist.core.view import ClusterView, Policy
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.engine.view import View
from artist.policies.antman.policy import AntMan
from artist.policies.basic.ordered import Ordered
from artist.policies.dally.policy import Dally
from artist.policies.gandiva.policy import Gandiva
from artist.policies.synergy.cpu_tuned import CpuTuned
from artist.policies.themis.gavel import ThemisGavel
from artist.policies.themis.policy import Themis
from artist.policies.tiresias.policy import Tiresias
from artist.testing.conformance import cpu_job
from artist.testing.tiny import PlainPerformance, Recount, job, run_checked, tiny_cluster
from artist.units import seconds_to_ns

HOUR, GIB = 3600, 1 << 30
KEEP = Overheads(on_stop="keep")  # an iteration may take longer than a turn
CLUSTER = tiny_cluster(3, 4, per_rack=2, cpus=16, memory_bytes=250 * GIB)
WANTS = {"": (0, 0), "cpus": (6, 0), "memory": (1, 125 * GIB), "both": (9, 187 * GIB), "little": (1, GIB)}
SHARING: dict[str, Callable[[str], Policy]] = {
    "gandiva": lambda fill: Gandiva(
        slicing=True, quantum_s=3, packing=True, profile_s=1, grow_shrink=True, grow_after_s=0.5, fill=fill
    ),
    "antman": lambda fill: AntMan(fill=fill),
}
POLICIES: dict[str, Callable[[str], Policy]] = {
    "fifo": lambda fill: Ordered(order="fifo", backfill=True, fill=fill, placement="spread"),
    "srtf": lambda fill: Ordered(order="srtf", preemptive=True, backfill=True, fill=fill),
    "las": lambda fill: Ordered(order="las", preemptive=True, backfill=True, interval_s=2, fill=fill),
    "tiresias": lambda fill: Tiresias(thresholds_gpu_s=[8], fill=fill),
    "dally": lambda fill: Dally(machine_timer_h=3 / HOUR, rack_timer_h=6 / HOUR, lease_s=5, fill=fill),
    "themis": lambda fill: Themis(lease_s=5, fill=fill),
    "themis_gavel": lambda fill: ThemisGavel(on_events=True, interval_s=3, fill=fill),
}


def slower(spec: JobSpec, allocation: Allocation) -> float:
    """Return a job's slowdown relative to all CPUs and memory that it wants."""
    cpus, memory = WANTS[spec.model]
    lacking = [1.0]
    for s in allocation.slices:
        lacking.append(cpus * s.gpus / max(s.cpus, 0.1))
        lacking.append(memory * s.gpus / max(s.memory_bytes, GIB))
    return max(lacking)


def share(cluster: Cluster, allocation: Allocation) -> Allocation:
    """Return the same GPUs with CPUs and memory in proportion."""
    slices = [Slice(s.machine, s.gpus, *cluster.machines[s.machine].share(s.gpus)) for s in allocation.slices]
    return replace(allocation, slices=tuple(slices))


def tuned(make_policy: Callable[[str], Policy], mechanism: str) -> Policy:
    """Return a policy around the one that is made with the fill that the mechanism expects."""
    return CpuTuned(make_policy("as_asked" if mechanism == "greedy" else "proportional"), mechanism)


@dataclass(frozen=True)
class Case:
    """All that a random run is made of."""

    jobs: list[JobSpec]
    capacity: list[CapacityEvent]
    policy: str
    mechanism: str

    def run(self, policies: dict[str, Callable[[str], Policy]]) -> list[Event]:
        policy = tuned(policies[self.policy], self.mechanism)
        performance = PlainPerformance(slower)
        result, events = run_checked(
            self.jobs, CLUSTER, policy, performance, overheads=KEEP, capacity_events=self.capacity
        )
        assert (result.columns["finish_ns"] >= 0).all()
        return events


@st.composite
def jobs(draw: st.DrawFn, *, cpu_jobs: bool) -> list[JobSpec]:
    """Return jobs of 1 to 12 GPUs that want CPUs or memory, some elastic; perhaps CPU-only jobs."""
    drawn: list[JobSpec] = []
    for i in range(draw(st.integers(1, 10))):
        at, length = draw(st.integers(0, 60)) / 4, draw(st.integers(1, 16))
        gpus = draw(st.sampled_from((0,) * cpu_jobs + (1, 1, 2, 2, 3, 4, 5, 8, 12)))
        if not gpus:
            drawn.append(cpu_job(f"j{i}", draw(st.integers(1, 16)), length, at))
            continue
        elastic = {"min_gpus": 1, "max_gpus": gpus + 2} if draw(st.integers(0, 4)) == 0 else {}
        spec = job(f"j{i}", gpus, length, at, gpu_utilization=draw(st.sampled_from((0.4, 1.0))), **elastic)
        drawn.append(replace(spec, model=draw(st.sampled_from(sorted(WANTS)))))
    return drawn


@st.composite
def cases(
    draw: st.DrawFn,
    policies: Sequence[str],
    mechanisms: Sequence[str],
    *,
    cpu_jobs: bool = False,
    fails: bool = False,
) -> Case:
    """Return a random run; with `fails` machines fail, or leave, and come back."""
    capacity = []
    for m in draw(st.lists(st.integers(0, 2), max_size=2, unique=True)) if fails else ():
        at, later = draw(st.integers(0, 80)) / 4, draw(st.integers(4, 80)) / 4
        kind = draw(st.sampled_from(("fail", "leave")))
        capacity.append(CapacityEvent(seconds_to_ns(at), kind, m, seconds_to_ns(at + later / 2)))
        capacity.append(CapacityEvent(seconds_to_ns(at + later), "join", m))
    how = draw(st.sampled_from(policies)), draw(st.sampled_from(mechanisms))
    return Case(draw(jobs(cpu_jobs=cpu_jobs)), capacity, *how)


EVERYWHERE = {**POLICIES, **SHARING}


@given(cases(sorted(EVERYWHERE), ("tune", "greedy", "opt"), cpu_jobs=True, fails=True))
def test_every_job_ends_and_nothing_is_given_twice(case: Case) -> None:
    """All resources are recounted at every instant, plans checked, and all accounts audited at the end."""
    case.run(EVERYWHERE)


@given(cases(sorted(POLICIES), ("tune", "opt"), fails=True))
def test_no_job_is_slower_than_with_its_share(case: Case) -> None:
    """Whenever a job gets an allocation, it is as fast as with what goes with its GPUs.

    That is what best cases leave out, once in CPUs, once in memory. Without jobs that share GPUs or ask for
    CPUs only: beside them the share is what they leave of it.
    """
    for event in case.run(POLICIES):
        if isinstance(event, Start | Change):
            spec = sorted(case.jobs, key=lambda spec: spec.submit_ns)[event.job]
            in_proportion = slower(spec, share(CLUSTER, event.allocation))
            assert slower(spec, event.allocation) <= in_proportion + 1


@dataclass(frozen=True)
class Planned(Policy):
    """Returns one plan."""

    plan: Plan

    def decide(self, view: ClusterView) -> Plan:
        return self.plan


class Again(Recount):
    """Divides CPUs and memory again after every instant: nothing may change."""

    def __init__(self, mechanism: str) -> None:
        super().__init__()
        self._mechanism = mechanism

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Recount, and compare with a division of what runs now."""
        super().observe(time_ns, events, gauges)
        assert self.engine is not None
        view = View(time_ns, [], self.engine._state)
        plan = view.plan()
        for number, allocation in enumerate(self.engine.jobs.held):
            if allocation is not None:
                plan.place(number, share(view.cluster, allocation))
        fresh = CpuTuned(Planned(plan.done()), self._mechanism)
        assert not fresh.decide(view).changes


@given(cases(sorted(POLICIES), ("tune", "opt")))
def test_resources_held_depend_on_placements_only(case: Case) -> None:
    """However it came about: the same jobs on the same GPUs hold the same CPUs and memory."""
    again = Again(case.mechanism)
    policy, performance = tuned(POLICIES[case.policy], case.mechanism), PlainPerformance(slower)
    again.engine = Engine(case.jobs, CLUSTER, policy, performance, overheads=KEEP, observers=(again,))
    again.engine.run()
