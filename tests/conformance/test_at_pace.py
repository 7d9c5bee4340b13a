"""Every class of policies runs the conformance suite at its pace: leases, timers and thresholds of seconds.

The jobs of the suite last seconds, so with the shipped values no lease would end and no timer run out. Each
class also shows that what is its own happens in the suite's workload.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
from synergy_program import ProgramTune

from artist.core.cluster import Allocation, Cluster
from artist.core.events import Change, Event, Start, Stop, Wake
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec, Stages
from artist.core.plan import Plan
from artist.core.result import RunResult
from artist.core.view import ClusterView, Policy
from artist.performance.api import Changed, Performance, Running
from artist.performance.couplings.packed import Packed
from artist.performance.placed import PlacedPerformance
from artist.policies.antman.policy import AntMan
from artist.policies.basic.drf import Drf
from artist.policies.basic.ordered import Ordered
from artist.policies.coda.policy import Coda
from artist.policies.dally.policy import Dally
from artist.policies.gandiva.policy import Gandiva
from artist.policies.lyra.policy import Lyra
from artist.policies.muri.policy import Muri
from artist.policies.network_aware.policy import NetworkAware
from artist.policies.parts.placement import CHOOSERS
from artist.policies.pollux.policy import Pollux
from artist.policies.synergy.cpu_tuned import CpuTuned
from artist.policies.synergy.policy import Synergy
from artist.policies.themis.gavel import ThemisGavel
from artist.policies.themis.muri import ThemisMuri
from artist.policies.themis.policy import Themis
from artist.policies.tiresias.policy import Tiresias
from artist.testing.conformance import PolicyConformance, generated_jobs
from artist.testing.tiny import PlainPerformance, run_checked, tiny_cluster
from artist.units import seconds_to_ns
from artist.workload.signals import Series
from netmodels.api import IterationTime, JobTraffic, Link
from netmodels.models.zero import ZeroModel

HOUR = 3600


class TestPlacements(PolicyConformance):
    """Each placement under the order that stops most jobs."""

    @pytest.fixture(autouse=True, params=sorted(CHOOSERS))
    def _placement(self, request: pytest.FixtureRequest) -> None:
        self.placement: str = request.param

    def make_policy(self) -> Policy:
        return Ordered(order="srtf", preemptive=True, backfill=True, placement=self.placement)


EVEN = {
    "srtf": lambda: Ordered(order="srtf", preemptive=True, backfill=True, split="even"),
    "drf": lambda: Drf(resource="gpu", split="even"),
    "tiresias": lambda: Tiresias(thresholds_gpu_s=(5.0,), split="even"),
    "dally": lambda: Dally(lease_s=3, machine_timer_h=2 / HOUR, rack_timer_h=4 / HOUR, split="even"),
    "themis": lambda: Themis(lease_s=3, split="even"),
    "gavel": lambda: ThemisGavel(interval_s=3, split="even"),
    "gandiva": lambda: Gandiva(slicing=True, quantum_s=3, split="even"),
    "muri": lambda: Muri(order="srsf", on_events=True, interval_s=3, split="even"),
    "coda": lambda: Coda(step_s=2, review_s=10, split="even"),
    "antman": lambda: AntMan(split="even"),
    "pollux": lambda: Pollux(interval_s=3, generations=20, split="even"),
}


class TestEvenSplit(PolicyConformance):
    """Orders, leases, time slices and groups on machines that give equal parts."""

    @pytest.fixture(autouse=True, params=["srtf", "dally", "gandiva", "muri"])
    def _policy(self, request: pytest.FixtureRequest) -> None:
        self.policy: str = request.param

    def make_policy(self) -> Policy:
        return EVEN[self.policy]()


@pytest.mark.parametrize("policy", EVEN)
def test_gpus_of_a_job_are_as_equal_as_they_can_be(policy: str) -> None:
    """On two empty machines of four GPUs a job of six has 3 and 3 of them; packed, 4 and 2."""
    jobs = [JobSpec("a", 0, Demand(6), 10, seconds_to_ns(1))]
    _, events = run_checked(jobs, tiny_cluster(2, 4), EVEN[policy]())
    start = next(event for event in events if isinstance(event, Start))
    assert [s.gpus for s in start.allocation.slices] == [3, 3]


ORDERED = {
    "strict": {"order": "fifo", "preemptive": False, "backfill": False},
    "overtaking": {"order": "sjf", "preemptive": False, "backfill": True},
    "in_order": {"order": "srsf", "preemptive": True, "backfill": False, "interval_s": 2},
    "by_kind": {"order": "fifo", "preemptive": False, "queues": "kinds", "fill": "as_asked"},
    "on_a_clock": {
        "order": "las2d",
        "preemptive": True,
        "backfill": True,
        "on_events": False,
        "interval_s": 3,
    },
}


class TestOrdered(PolicyConformance):
    """Orders of all kinds: with and without durations, preemption, overtaking, events and a clock."""

    @pytest.fixture(autouse=True, params=ORDERED)
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.kind: str = request.param

    def make_policy(self) -> Policy:
        return Ordered(**ORDERED[self.kind])

    def test_jobs_are_stopped_only_if_preemptive(self) -> None:
        """The suite's workload gives reason to stop jobs: some are, and without preemption none."""
        result, _ = self._all_finish(generated_jobs(0), tiny_cluster(3, 4, per_rack=2))
        assert (result.columns["preemptions"].sum() > 3) == ORDERED[self.kind]["preemptive"]


CODA = {
    "whole": {},
    "4_gpus_first": {"large_machines": 1, "reserve_per_gpu": 1.5, "eliminator": "halve"},
    "as_asked": {"allocator": "requested", "eliminator": "off"},
    "one_array": {"arrays": False},
}


class TestCoda(PolicyConformance):
    """Walks, and looks at history, of seconds."""

    @pytest.fixture(autouse=True, params=CODA)
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.kind: str = request.param

    def make_policy(self) -> Policy:
        return Coda(**{"step_s": 2, "review_s": 10, **CODA[self.kind]})

    def test_cpus_are_tuned_unless_they_are_as_asked(self) -> None:
        """Jobs of the suite try other CPUs; with one machine for large jobs, some small ones move."""
        cluster = tiny_cluster(3, 4, per_rack=2, cpus=16, memory_bytes=1 << 30)
        result, events = self._all_finish(generated_jobs(0, 40, cpu_jobs=True), cluster)
        retunes = [e for e in events if isinstance(e, Change) and e.type == "retune"]
        assert (len(retunes) > 20) == (self.kind != "as_asked")
        assert (result.columns["migrations"].sum() > 0) == (self.kind == "4_gpus_first")


class TestDrf(PolicyConformance):
    """By GPUs and by dominant share, on CPUs as asked."""

    @pytest.fixture(autouse=True, params=["gpu", "dominant"])
    def _resource(self, request: pytest.FixtureRequest) -> None:
        self.resource: str = request.param

    def make_policy(self) -> Policy:
        return Drf(resource=self.resource)


TIRESIAS = {
    "queues": {"thresholds_gpu_s": (4, 20)},
    "in_order": {"thresholds_gpu_s": (4, 20), "backfill": False},
    "gittins": {"thresholds_gpu_s": (20,), "gittins": True, "gittins_quantum_gpu_s": 5, "gittins_sample": 3},
    "continuous": {"continuous": True, "interval_s": 5, "skew_threshold": 0.0},
}


class TestTiresias(PolicyConformance):
    """Thresholds of some GPU-seconds: jobs fall from queue to queue while they run."""

    @pytest.fixture(autouse=True, params=TIRESIAS)
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.kind: str = request.param

    def make_policy(self) -> Policy:
        return Tiresias(**TIRESIAS[self.kind])

    def test_jobs_are_demoted(self) -> None:
        """Some are stopped; with queues some of them when the policy is woken, at a threshold."""
        result, events = self._all_finish(generated_jobs(0), tiny_cluster(3, 4, per_rack=2))
        assert result.columns["preemptions"].sum() > 3
        assert (self.kind == "continuous") == (not [e for e in events if isinstance(e, Wake)])


DALLY = {
    "keep": {"renewal": "keep", "lease_s": 5, "machine_timer_h": 2 / HOUR, "rack_timer_h": 4 / HOUR},
    "literal": {"renewal": "literal", "lease_s": 6, "machine_timer_h": 1 / HOUR, "rack_timer_h": 2 / HOUR},
    "nearer": {"renewal": "nearer", "lease_s": 5, "machine_timer_h": 1 / HOUR, "rack_timer_h": 1 / HOUR},
    "no_leases": {"lease_s": None, "offers_s": 2, "machine_timer_h": 2 / HOUR, "rack_timer_h": 4 / HOUR},
    "printed": {
        **{"lease_s": 6, "machine_timer_h": 1 / HOUR, "rack_timer_h": 2 / HOUR, "wait_since": "assignment"},
        **{"discard": "length", "history_gpus": 24, "order": "sensitivity_as_printed"},
    },
}


class TestDally(PolicyConformance):
    """Leases and timers of seconds, on GPUs that are slower the farther they are from each other."""

    @pytest.fixture(autouse=True, params=DALLY)
    def _renewal(self, request: pytest.FixtureRequest) -> None:
        self.renewal: str = request.param

    def make_policy(self) -> Dally:
        return Dally(**DALLY[self.renewal], history_leases=5)

    def make_performance(self) -> Performance:
        return PlainPerformance(lambda spec, allocation: 1 + 0.25 * len(allocation.slices))

    def test_leases_end_and_timers_run_out_and_are_tuned(self) -> None:
        """Some jobs lose their GPUs, some take GPUs of several machines after a wait, and timers move."""
        policy = self.make_policy()
        jobs, cluster = generated_jobs(0, 48), tiny_cluster(3, 4, per_rack=2)
        result, events = run_checked(jobs, cluster, policy, self.make_performance())
        assert result.columns["preemptions"].sum() > 3
        assert self.renewal == "keep" or result.columns["migrations"].sum() > 0
        waited = [e for e in events if isinstance(e, Start) and e.time_ns > result.jobs[e.job].submit_ns]
        assert [e for e in waited if len(e.allocation.slices) > 1 and e.allocation.gpus <= 4]
        assert len(policy.series) > 3


AWARE = {
    "srtf": (lambda: Ordered(order="srtf", preemptive=True, backfill=True), {}),
    "by_kind": (lambda: Ordered(**ORDERED["by_kind"]), {}),
    "drf": (Drf, {}),
    "dally": (lambda: Dally(**DALLY["literal"], history_leases=5), {"shifts": "interleaved"}),
    "tiresias": (
        lambda: Tiresias(**TIRESIAS["queues"]),
        {"placement": "compatible", "shifts": "interleaved"},
    ),
    "lyra": (lambda: Lyra(interval_s=3), {"placement": "as_chosen", "shifts": "interleaved"}),
}


class Fussy(PlainPerformance):
    """Jobs on several machines take longer together, by a time that depends on which machines they are."""

    capacity = MappingProxyType({Link("machine", m, way): 1.0 for m in range(8) for way in ("out", "in")})

    def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
        prices = dict(super().reprice(changed, running))
        machines = range(len(running.cluster))
        for job in dict.fromkeys([*prices, *(j for m in machines for j in running.crossing_machine(m))]):
            there = running.allocation(job).machines
            others = {j for m in there for j in running.crossing_machine(m)} - {job}
            alone = super().reprice([Changed(job, None, running.allocation(job))], running)[job]
            apart = [other for other in others if running.shift_ns(other) == running.shift_ns(job)]
            added_ns = (sum(there) * 7 % 5 + len(apart)) * alone.compute_ns // 10 if others else 0
            prices[job] = alone._replace(contention_ns=added_ns)
        return prices

    def sending(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> JobTraffic | None:
        ports = [Link("machine", m, way) for m in allocation.machines for way in ("out", "in")]
        if len(allocation.slices) < 2:
            return None
        issued, rides = np.array([spec.compute_ns // 2]), np.array([spec.compute_ns // 2])
        sent = np.full((1, len(ports)), float(rides[0]))
        return JobTraffic(spec.compute_ns, issued, rides, tuple(ports), sent, np.zeros(1, dtype=np.int64))


class TestNetworkAware(PolicyConformance):
    """Policies of all kinds inside; on links where every place has another price."""

    signals = {"inference": Series(np.array([0]), np.array([0.5]))}

    @pytest.fixture(autouse=True, params=AWARE)
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.kind: str = request.param

    def make_policy(self) -> Policy:
        inner, settings = AWARE[self.kind]
        return NetworkAware(inner(), candidates=20, **settings)

    def make_performance(self) -> Performance:
        return Fussy()

    def test_some_jobs_are_moved_or_shifted(self) -> None:
        """The policy's own plan is not the one that is carried out, in the suite's workload."""
        changed = 0

        class Counting(NetworkAware):
            def _replaced(self, view: ClusterView, plan: Plan, new: Mapping[int, Allocation]) -> Plan:
                nonlocal changed
                result = super()._replaced(view, plan, new)
                changed += bool(result.shifts) or result.changes != plan.changes
                return result

        inner, settings = AWARE[self.kind]
        for machines, per_rack in ((8, 2), (5, 5)):
            cluster, policy = tiny_cluster(machines, 4, per_rack=per_rack), Counting(inner(), **settings)
            run_checked(generated_jobs(0, 96), cluster, policy, Fussy(), signals=self.signals)
        assert changed


TUNED = {
    "srtf_tune": (lambda: Ordered(order="srtf", preemptive=True, backfill=True), "tune"),
    "srtf_greedy": (lambda: Ordered(order="srtf", preemptive=True, backfill=True, fill="as_asked"), "greedy"),
    "las_opt": (lambda: Ordered(order="las", preemptive=True, backfill=True, interval_s=3), "opt"),
    "tiresias_tune": (lambda: Tiresias(thresholds_gpu_s=(4, 20)), "tune"),
    "dally_tune": (lambda: Dally(**DALLY["keep"], history_leases=5), "tune"),
    "network_aware_tune": (
        lambda: NetworkAware(Tiresias(thresholds_gpu_s=(4, 20))),
        "tune",
    ),
    "pollux_opt": (lambda: Pollux(**POLLUX["few"], interval_s=3), "opt"),
}


class TestCpuTuned(PolicyConformance):
    """Policies inside that stop and move jobs; some jobs want 6 CPUs per GPU, there are 4."""

    @pytest.fixture(autouse=True, params=TUNED)
    def _policy(self, request: pytest.FixtureRequest) -> None:
        self.policy: str = request.param

    def make_policy(self) -> Policy:
        make_inside, mechanism = TUNED[self.policy]
        return CpuTuned(make_inside(), mechanism)

    def make_performance(self) -> Performance:
        return PlainPerformance(_hungry)

    def test_jobs_are_retuned(self) -> None:
        """The suite would show nothing if CPUs never changed hands; greedy leaves each job what it has."""
        _, events = self._all_finish(generated_jobs(0), tiny_cluster(3, 4, per_rack=2))
        retunes = [e for e in events if isinstance(e, Change) and e.type == "retune"]
        assert bool(retunes) == ("greedy" not in self.policy)

    def _run(
        self, jobs: Sequence[JobSpec], cluster: Cluster, **options: object
    ) -> tuple[RunResult, list[Event]]:
        """Run on machines that have CPUs."""
        with_cpus = [replace(m, cpus=m.cpus or 4 * m.gpus) for m in cluster.machines]
        return super()._run(jobs, Cluster(with_cpus), **options)


def _hungry(spec: JobSpec, allocation: Allocation) -> float:
    """Let jobs of one model want 6 CPUs a GPU, those of the other 1."""
    wants = 6 if spec.model else 1
    return max(1.0, *(wants * s.gpus / max(s.cpus, 0.5) for s in allocation.slices))


class TestThemis(PolicyConformance):
    """Leases of seconds: auctions among a part of the jobs, and among all; leases that hold or are broken."""

    @pytest.fixture(autouse=True, params=[(0.5, "consolidate", True), (0.0, "consolidate_machine", False)])
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.knob, self.placement, self.breaks = request.param

    def make_policy(self) -> Policy:
        kind = {"placement": self.placement, "newcomers_break_leases": self.breaks}
        return Themis(lease_s=3, fairness_knob=self.knob, **kind)

    def test_leases_are_won_and_lost(self) -> None:
        """Some jobs lose the auction at the end of a lease; at other times only to newcomers, if at all."""
        result, events = self._all_finish(generated_jobs(0), tiny_cluster(3, 4, per_rack=2))
        stops = [event.time_ns for event in events if isinstance(event, Stop)]
        assert len(stops) == result.columns["preemptions"].sum() > 3
        assert any(time % seconds_to_ns(3) for time in stops) == self.breaks


class TestThemisGavel(PolicyConformance):
    """Rounds of seconds, in right and in mixed units; and on events."""

    @pytest.fixture(autouse=True, params=[(ThemisGavel, False), (ThemisMuri, False), (ThemisGavel, True)])
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.kind, self.on_events = request.param

    def make_policy(self) -> Policy:
        return self.kind(on_events=self.on_events, interval_s=3)

    def test_jobs_take_turns(self) -> None:
        """Some jobs lose their GPUs to jobs that have received less of their share."""
        result, _ = self._all_finish(generated_jobs(0), tiny_cluster(3, 4, per_rack=2))
        assert result.columns["preemptions"].sum() > 3


class TestGandivaThatPacks(PolicyConformance):
    """All parts of Gandiva at the pace of the suite; its jobs leave their GPUs idle for much of the time."""

    @pytest.fixture(autouse=True, params=[0.0, 1.5], ids=["gains", "loses"])
    def _interference(self, request: pytest.FixtureRequest) -> None:
        self.interference: float = request.param

    def make_policy(self) -> Policy:
        parts = {"slicing": True, "packing": True, "grow_shrink": True}
        return Gandiva(**parts, quantum_s=3, profile_s=1, grow_after_s=0.5)

    def make_performance(self) -> Performance:
        return PlacedPerformance(_ThirdBusy(), None, None, _no_profile, packed=Packed(self.interference))

    def test_jobs_are_packed_grown_and_parted(self) -> None:
        """The suite would show nothing if nobody were ever packed: here some are, and grow and shrink."""
        jobs = [
            replace(spec, model="any", demand=Demand(gpus, min_gpus=1, max_gpus=gpus + 2))
            for spec in generated_jobs(0)
            if (gpus := spec.demand.gpus) <= 4
        ]
        result, events = self._all_finish(jobs, tiny_cluster(3, 4, per_rack=2))
        packed = [e for e in events if isinstance(e, Start) and e.allocation.group]
        assert len(packed) > 3
        assert result.columns["resizes"].sum() > 3
        assert result.columns["preemptions"].sum() > 3  # turns


class TestMuriThatGroups(PolicyConformance):
    """Muri at the pace of the suite, with jobs that use a resource each: they are grouped all the time."""

    @pytest.fixture(
        autouse=True, params=[("srsf", "blossom", 4), ("las2d", "blossom", 3), ("las2d", "priority", 4)]
    )
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.order, self.matching, self.max_jobs = request.param

    def make_policy(self) -> Policy:
        how = {"order": self.order, "matching": self.matching, "max_jobs": self.max_jobs}
        return Muri(**how, on_events=True, interval_s=3, profiling_noise=0.2)

    def make_performance(self) -> Performance:
        return _OneResourceEach()

    def test_jobs_are_grouped(self) -> None:
        """The suite would show nothing if nobody were ever grouped: here some are, in groups of all sizes."""
        jobs = [replace(spec, submit_ns=0) for spec in generated_jobs(0, 48)]
        _, events = self._all_finish(jobs, tiny_cluster(3, 4, per_rack=2))
        held = [event.allocation for event in events if isinstance(event, Start | Change)]
        sizes = {allocation.group.name.count("+") + 1 for allocation in held if allocation.group}
        assert {2, self.max_jobs} <= sizes <= set(range(2, self.max_jobs + 1))


LYRA = {
    "lyra": {},
    "ungrouped": {"grouped": False, "base": "requested"},
    "afs": {"scaling": "marginal_gain", "reclaim": "smallest_count"},
    "gandiva": {
        "scaling": "idle",
        "base": "requested",
        "order": "fifo",
        "backfill": False,
        "reclaim": "random",
    },
    "no_loans": {"loaning": False, "order": "ftf"},
}
USE = Series(np.arange(40) * seconds_to_ns(2), np.array([0.0, 0.0, 0.3, 0.9] * 10))


class TestLyraThatLends(PolicyConformance):
    """Two machines of a second pool are on loan for 4 s of 8; many jobs of 2 or 4 GPUs are elastic."""

    signals = {"inference": USE, "inference.next": USE.ahead()}

    @pytest.fixture(autouse=True, params=LYRA)
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.kind: str = request.param

    def make_policy(self) -> Policy:
        return Lyra(**LYRA[self.kind], headroom=0, interval_s=2)

    def test_machines_are_lent_and_jobs_grow(self) -> None:
        """Without loans no job is preempted; else some are, and all grow at times."""
        result, _ = self._all_finish(generated_jobs(0, 48), tiny_cluster(3, 4, per_rack=2))
        assert (result.columns["preemptions"].sum() > 0) == (self.kind != "no_loans")
        assert result.columns["resizes"].sum() > 2

    def _run(
        self, jobs: Sequence[JobSpec], cluster: Cluster, **options: object
    ) -> tuple[RunResult, list[Event]]:
        """Run with a second pool of two machines like the last one, and elastic jobs."""
        training = [replace(m, pool="training") for m in cluster.machines]
        lent = [replace(training[-1], name=f"i{i}", pool="inference") for i in range(2)]
        return super()._run(list(map(_elastic, jobs)), Cluster([*training, *lent]), **options)


def _elastic(spec: JobSpec) -> JobSpec:
    """Let a job with a model that asks for 2 or 4 GPUs do with half of them, and take twice as many."""
    gpus = spec.demand.gpus
    if gpus not in (2, 4) or not spec.model or spec.demand.elastic or spec.demand.in_units:
        return spec
    return replace(spec, demand=replace(spec.demand, min_gpus=gpus // 2, max_gpus=2 * gpus, step=gpus // 2))


SYNERGY = {
    "tune": {"mechanism": "tune", "order": "las"},
    "tune_as_in_the_program": {"mechanism": ProgramTune()},
    "split": {"mechanism": "tune", "order": "srtf", "split": "when_faster", "pack_order": "descending"},
    "greedy": {"mechanism": "greedy", "order": "srsf"},
    "proportional": {"mechanism": "proportional", "order": "las2d", "pack_order": "ascending"},
}


class TestSynergyThatTunes(PolicyConformance):
    """Rounds of 3 s, for jobs that need 2 CPUs a GPU, or 8."""

    @pytest.fixture(autouse=True, params=SYNERGY)
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.kind: str = request.param

    def make_policy(self) -> Policy:
        return Synergy(**{"interval_s": 3, "memory_points_gib": [0.01], **SYNERGY[self.kind]})

    def make_performance(self) -> Performance:
        return PlainPerformance(_short_of_cpus)

    def test_jobs_are_retuned_and_moved(self) -> None:
        """With 3 CPUs a GPU jobs give up some for others, but for greedy, and shares are never tuned."""
        cluster = tiny_cluster(3, 4, per_rack=2, cpus=12, memory_bytes=1 << 30)
        result, events = self._all_finish(generated_jobs(0, 48), cluster)
        assert result.columns["migrations"].sum() > 3
        retuned = [e for e in events if isinstance(e, Change) and e.type == "retune"]
        assert (len(retuned) > 1) == (self.kind not in ("greedy", "proportional"))


def _short_of_cpus(spec: JobSpec, allocation: Allocation) -> float:
    """Return the slowdown of a job by lack of CPUs; machines without CPU counts cause none."""
    wanted = 8 if spec.user[1:] in ("0", "2") else 2
    return max([1.0, *(wanted * s.gpus / s.cpus for s in allocation.slices if s.cpus)])


class _OneResourceEach(PlacedPerformance):
    """Interleaved groups; which resource a job uses most of all goes by its user."""

    def __init__(self) -> None:
        super().__init__(ZeroModel(), None, None, _no_profile, network_stage="table")

    def stages(self, spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Stages:
        main = int(spec.user[1:] or 3)
        return Stages(*(spec.compute_ns * (7 if r == main else 1) // 10 for r in range(4)))


class TestAntManThatShares(PolicyConformance):
    """Jobs of several GPUs leave them idle for two thirds of the time, and others join them."""

    @pytest.fixture(autouse=True, params=[False, True], ids=["in_order", "backfill"])
    def _backfill(self, request: pytest.FixtureRequest) -> None:
        self.backfill: bool = request.param

    def make_policy(self) -> Policy:
        return AntMan(backfill=self.backfill)

    def make_performance(self) -> Performance:
        return PlacedPerformance(_ThirdBusy(), None, None, _no_profile)

    def test_jobs_of_both_kinds_share(self) -> None:
        """The suite would show nothing if nobody ever shared: here some do, and nobody is stopped."""
        jobs = [replace(spec, model="any", guaranteed=i % 3 > 0) for i, spec in enumerate(generated_jobs(0))]
        result, events = self._all_finish(jobs, tiny_cluster(3, 4, per_rack=2))
        shared = [e for e in events if isinstance(e, Start) and e.allocation.group]
        assert len(shared) > 3
        assert {e.allocation.opportunistic for e in shared} == {True, False}
        assert result.columns["preemptions"].sum() == result.columns["migrations"].sum() == 0


POLLUX = {"as_shipped": {}, "geometric": {"power": 0}, "few": {"population": 4, "generations": 3, "power": 1}}


class TestPollux(PolicyConformance):
    """Rounds of seconds: the means of several powers, and a search that is cut short."""

    @pytest.fixture(autouse=True, params=POLLUX)
    def _kind(self, request: pytest.FixtureRequest) -> None:
        self.kind: str = request.param

    def make_policy(self) -> Policy:
        return Pollux(**POLLUX[self.kind], interval_s=3)

    def test_jobs_grow_and_shrink_and_none_is_stopped(self) -> None:
        """The suite would show nothing if jobs never resized: most are elastic here."""
        jobs = [
            replace(spec, demand=Demand(gpus, min_gpus=1, max_gpus=2 * gpus)) if i % 4 else spec
            for i, spec in enumerate(generated_jobs(0))
            if (gpus := spec.demand.gpus) <= 6
        ]
        result, events = self._all_finish(jobs, tiny_cluster(3, 4, per_rack=2))
        resized = [e for e in events if isinstance(e, Change)]
        assert len(resized) > 10
        assert {e.type for e in resized} == {"resize"}
        assert result.columns["preemptions"].sum() == 0


class _ThirdBusy:
    """A network that exposes twice the compute: jobs of several GPUs keep them busy for a third."""

    def iteration(self, profile: object, shape: object, fabric: object, system: object) -> IterationTime:
        return IterationTime(1000, 2000, 2000)


def _no_profile(model: str) -> SimpleNamespace:
    return SimpleNamespace(skew=0.0, compute_ns=1000, program=None, scaled=lambda factor: _no_profile(model))
