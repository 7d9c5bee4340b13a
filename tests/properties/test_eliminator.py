"""Whatever starts and stops: machines that train keep their memory bandwidth, at least cost to CPU jobs."""

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, Event, Gauges
from artist.core.job import Demand, JobSpec
from artist.core.plan import Plan
from artist.core.view import ClusterView
from artist.engine.engine import Engine
from artist.performance.api import Changed
from artist.performance.bandwidth import slice_on
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.placed import PlacedPerformance
from artist.policies.coda.eliminator import MIN_CAP, THRESHOLD, eliminator_of
from artist.policies.coda.policy import Coda
from artist.policies.parts.cpu_jobs import place_cpus
from artist.policies.parts.placer import placer_of
from artist.run.sensitivity import read_sensitivities
from artist.testing.tiny import audit
from artist.units import seconds_to_ns
from netmodels.models.zero import ZeroModel
from netmodels.profiles.profile import get_profile

GB = 10**9
LIMIT = THRESHOLD * 100 * GB
MODELS = read_sensitivities(Path("coda"))
CLUSTER = Cluster(
    [
        Machine(f"m{i}", 0, "box", 5, "GTX1080Ti", 0.14, 28, 64 * GB, memory_bandwidth_bytes_per_s=100 * GB)
        for i in range(3)
    ]
)
COME_AND_GO = [
    CapacityEvent(seconds_to_ns(40), "fail", 0),
    CapacityEvent(seconds_to_ns(60), "leave", 1, seconds_to_ns(75)),
    CapacityEvent(seconds_to_ns(90), "join", 0),
    CapacityEvent(seconds_to_ns(110), "join", 1),
]
NAMES = ["", "AlexNet", "BAT", "WaveNet", "ResNet50"]  # 12, 1, 8 and 6 GB/s a GPU


@st.composite
def workloads(draw: st.DrawFn, gb_s: Sequence[int] = (0, 0, 5, 30, 90)) -> list[JobSpec]:
    """Return GPU jobs, and CPU-only jobs, some on several machines, that draw 0 to 90 GB/s."""
    jobs = []
    for n in range(draw(st.integers(5, 20))):
        second, seconds = draw(st.integers(0, 90)), draw(st.integers(5, 90))
        if draw(st.booleans()):
            gpus, model = draw(st.integers(1, 6)), draw(st.sampled_from(NAMES))
            demand = Demand(gpus, measured_speed=0.14)
        else:
            machines, drawn = draw(st.sampled_from([0, 1, 1])), draw(st.sampled_from(list(gb_s)))
            cpus, model = draw(st.integers(1, 40 if not machines else 20)), ""
            demand = Demand(0, cpus=cpus, max_machines=machines, memory_bandwidth_bytes_per_s=drawn * GB)
        jobs.append(JobSpec(f"j{n}", seconds_to_ns(second), demand, seconds, seconds_to_ns(1), model))
    return jobs


class Restless:
    """Starts what fits, in order of arrival, stops jobs by chance, and lets an eliminator add to its plan."""

    def __init__(self, eliminator: str, seed: int) -> None:
        self._eliminator = eliminator_of(eliminator)
        self._placer = placer_of("consolidate", "proportional")
        self._rng = random.Random(seed)

    def decide(self, view: ClusterView) -> Plan:
        plan, free = view.plan(), view.free()
        for job in view.jobs.job.tolist():
            held, demand = view.allocation(job), view.demand(job)
            if held is not None:
                if self._rng.random() < 0.1:
                    plan.stop(job)
                    free.give(held)
                continue
            place = self._placer.place(free, demand) if demand.gpus else place_cpus(free, demand)
            if place is not None:
                free.take(place)
                plan.place(job, place)
        self._eliminator.throttle(view, plan)
        return plan.done()


class Watch:
    """Recounts prices and what is drawn after each instant, and has a test look at what each machine has."""

    def __init__(self, look) -> None:
        self._look = look
        self.engine: Engine | None = None
        self.log: list[Event] = []

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        self.log.extend(events)
        engine = self.engine
        held = {job: a for job, a in enumerate(engine.jobs.held) if a is not None}
        anew = [Changed(job, None, allocation) for job, allocation in held.items()]
        prices = engine._performance.reprice(anew, engine.running)
        assert prices == {job: engine.jobs.parts[job] for job in held}  # no neighbour was forgotten
        for machine in range(len(CLUSTER)):
            drawn = engine._performance.bandwidth(machine, engine.running)
            gpu_jobs, cpu_jobs = {}, {}
            for job in engine.running.jobs_on(machine):
                kind = gpu_jobs if engine.jobs.specs[job].demand.gpus else cpu_jobs
                kind[job] = drawn.get(job, 0.0)
            self._look(machine, engine.running.allocation, gpu_jobs, cpu_jobs)


def run(jobs, policy, look=lambda machine, allocation, gpu_jobs, cpu_jobs: None):
    stall = InputStall(MODELS, Compute())
    performance = PlacedPerformance(ZeroModel(), None, None, get_profile, input_stall=stall)
    watch = Watch(look)
    engine = Engine(jobs, CLUSTER, policy, performance, observers=[watch], capacity_events=COME_AND_GO)
    watch.engine = engine
    audit(engine.run())
    return watch.log


@given(workloads(), st.integers(0, 9), st.booleans())
def test_capped_machines_that_train_draw_three_quarters_at_most(jobs, seed, coda):
    """After each decision, or their CPU jobs are capped at 0.05, or their GPU jobs alone draw more.

    Those with one machine are capped no more than it takes, to 0.001, and not at all without GPU jobs. So it
    is where CODA borrows, aborts and tunes, on one machine a job.
    """

    def look(machine, allocation, gpu_jobs, cpu_jobs):
        caps = {job: allocation(job).bandwidth_cap for job, draws in cpu_jobs.items() if draws}
        others, total = sum(gpu_jobs.values()), sum(gpu_jobs.values()) + sum(cpu_jobs.values())
        uncapped = sum(draws / allocation(job).bandwidth_cap for job, draws in cpu_jobs.items())
        if gpu_jobs:
            assert total <= LIMIT * (1 + 1e-9) or set(caps.values()) == {MIN_CAP} or not caps
        if any(len(allocation(job).slices) > 1 for job in caps):
            return
        if not gpu_jobs or others + uncapped <= LIMIT:
            assert set(caps.values()) <= {1.0}
        else:
            assert len(set(caps.values())) <= 1
            assert not caps or total >= LIMIT - 0.001 * uncapped

    if coda:
        run([spec for spec in jobs if spec.demand.cpus <= 28], Coda(step_s=10), look)
    else:
        run(jobs, Restless("mba", seed), look)


@given(workloads(), st.integers(0, 9))
def test_halved_machines_that_train_draw_three_quarters_at_most(jobs, seed):
    """After each decision, or their CPU jobs that draw any have one core each there, or GPU jobs alone do."""

    def look(machine, allocation, gpu_jobs, cpu_jobs):
        total = sum(gpu_jobs.values()) + sum(cpu_jobs.values())
        assert all(allocation(job).bandwidth_cap == 1 for job in cpu_jobs)
        if gpu_jobs and total > LIMIT:
            drawing = (allocation(job) for job, draws in cpu_jobs.items() if draws)
            assert all(slice_on(job, machine).cpus == 1 for job in drawing)

    run(jobs, Restless("halve", seed), look)


@given(workloads(), st.integers(0, 9), st.sampled_from(["mba", "halve"]))
@settings(max_examples=20)
def test_gpu_jobs_are_never_throttled(jobs, seed, eliminator):
    """The policy only starts and stops jobs: what changes is by the eliminator, and of CPU jobs that draw."""
    log = run(jobs, Restless(eliminator, seed))
    jobs = sorted(jobs, key=lambda spec: spec.submit_ns)
    assert all(jobs[e.job].demand.memory_bandwidth_bytes_per_s for e in log if isinstance(e, Change))


@given(workloads(gb_s=(0,)), st.integers(0, 9))
@settings(max_examples=20)
def test_without_jobs_that_draw_nothing_changes(jobs, seed):
    """GPU jobs draw at most 5 x 12 of 100 GB/s, CPU jobs nothing: all runs are one, event by event."""
    logs = [run(jobs, Restless(eliminator, seed)) for eliminator in ("off", "mba", "halve")]
    assert all(one == other for one, other in pairwise(logs))
