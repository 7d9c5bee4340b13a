"""Benchmark cases: each is a generator that measures and yields the rows of its table.

The arguments of a case are words of the command line; README.md has their meaning and the figures measured.
"""

import heapq
import itertools
import multiprocessing
import resource
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import mean, median
from time import process_time
from typing import Any

import numpy as np

from artist.app.composing import composed
from artist.core.compact_jobs import field_of
from artist.core.job import JobSpec
from artist.core.plan import Plan
from artist.core.view import ClusterView
from artist.data import data_path
from artist.performance.effects.stages import measured_shares
from artist.performance.formulas.interleaving import MEASURED_SLOWDOWN, Clock
from artist.policies.lyra.knapsack import Group, multiple_choice
from artist.policies.muri.grouping import Candidate, Grouping, GroupingRule
from artist.recording.folder import write_run
from artist.recording.metrics import summarise
from artist.recording.recorder import Recorder
from artist.run.build import build, check_config
from netmodels.api import Shape, SystemSettings, load_topology, shape_of
from netmodels.collectives import (
    across_machines,
    collectives,
    dimensions,
    packet_transport,
    ring_steps,
    rings,
)
from netmodels.collectives.algorithms import Ints
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.max_min import Incidence, fair
from netmodels.models import analytical
from netmodels.models.analytical import AnalyticalModel
from netmodels.models.cache import CachedModel
from netmodels.profiles.profile import get_profile

Row = dict[str, str | float]


def times_ms(call: Callable[[], object], instances: int) -> list[float]:
    """Return the processor time of each call, after one that warms up."""
    times = []
    for _ in range(1 + instances):
        began = process_time()
        call()
        times.append(1000 * (process_time() - began))
    return times[1:]


# --- runs


def runs(*overrides: str) -> Iterator[Row]:
    """Speed and memory of whole runs, for every combination of the values of `key=a,b` overrides."""
    points = _combinations(overrides or ("policy=fifo,srtf",))
    shared = set.intersection(*map(set, points))
    spawn = multiprocessing.get_context("spawn")  # a process for each run, from a cold start
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as process:
        for point, figures in zip(points, process.map(_run, points), strict=True):
            yield figures | {"overrides": " ".join(word for word in point if word not in shared)}


def _combinations(overrides: Sequence[str]) -> list[tuple[str, ...]]:
    choices = []
    for override in overrides:
        key, _, values = override.partition("=")
        choices.append([f"{key}={value}" for value in values.split(",")])
    return list(itertools.product(*choices))


def _run(overrides: Sequence[str]) -> Row:
    began = process_time()
    simulation = build(check_config(composed(overrides)))
    recorder = Recorder(simulation.jobs, simulation.cluster)
    load_s = process_time() - began
    floor_s = min(times_ms(lambda: _count_gpus(simulation.jobs, simulation.cluster.total_gpus), 5)) / 1000
    loaded = process_time()
    result = simulation.run((recorder,))
    ran = process_time()
    with tempfile.TemporaryDirectory() as folder:
        summary = summarise(result, policy="benchmark", seed=0, network_distinct=0, run={})
        write_run(Path(folder), result, recorder, summary)
    run_s = ran - loaded
    return {
        "jobs": len(simulation.jobs),
        "events": result.events,
        "load_s": load_s,
        "run_s": run_s,
        "write_s": process_time() - ran,
        "us_event": run_s / result.events * 1e6,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "floor_s": floor_s,
        "ratio": run_s / floor_s,
    }


def _count_gpus(jobs: Sequence[JobSpec], gpus: int) -> None:
    """Run a strict FIFO that only counts free GPUs: the fastest event loop in this language."""
    columns = (field_of(jobs, name) for name in ("submit_ns", "demand", "iterations", "compute_ns"))
    arrivals = sorted((at, demand.gpus, n * ns) for at, demand, n, ns in zip(*columns, strict=True))
    finishes: list[tuple[int, int]] = []
    waiting: deque[tuple[int, int]] = deque()
    free, at = gpus, 0
    while at < len(arrivals) or finishes:
        if at < len(arrivals) and (not finishes or arrivals[at][0] < finishes[0][0]):
            now, need, time = arrivals[at]
            at += 1
            waiting.append((need, time))
        else:
            now, freed = heapq.heappop(finishes)
            free += freed
        while waiting and waiting[0][0] <= free:
            need, time = waiting.popleft()
            free -= need
            heapq.heappush(finishes, (now + time, need))


# --- contention


def contention(trace: str, *overrides: str) -> Iterator[Row]:
    """Runs of a Helios trace on 64 machines, without and with contention on shared links."""
    for topology, policy in itertools.product(("cloud_ethernet", "dgx_h100_3tier"), ("fifo", "tiresias")):
        jobs = ("workload=helios", f"workload.path={trace}", "cluster.machines=64")
        config = composed([*jobs, *overrides, f"topology={topology}", f"policy={policy}"])
        without_s = 0.0
        for way in ("none", "mean_field", "packets"):
            config["performance"]["contention"] = way
            simulation = build(check_config(config))
            began = process_time()
            result = simulation.run(())
            cpu_s = process_time() - began
            without_s = without_s or cpu_s
            yield {
                "events": result.events,
                "cpu_s": cpu_s,
                "ratio": cpu_s / without_s,
                "lost_h": float(result.columns["contention_ns"].sum()) / 3.6e12,
                "way": way,
                "policy": policy,
                "topology": topology,
            }


# --- Muri's plans


Stages = tuple[int, ...]


def grouping(*jobs: str) -> Iterator[Row]:
    """Muri's grouping plans from nothing, as the jobs grow."""
    for n_jobs in map(int, jobs or ("100", "300", "1000", "3000", "10000")):
        for different in (False, True):
            stages = _drawn_stages(n_jobs, different=different)
            plans = Grouping(GroupingRule(clock=Clock(MEASURED_SLOWDOWN, loading="whole")))
            began = process_time()
            plan = plans.group(_candidates(plans, stages), n_jobs // 4)
            seconds = process_time() - began
            profiles = "different" if different else "alike"
            yield {"jobs": n_jobs, "seconds": seconds, "groups": len(plan), "profiles": profiles}


def _drawn_stages(jobs: int, *, different: bool, seed: int = 0) -> list[Stages]:
    """Return the stages of jobs in ns, drawn from the measured models on one GPU."""
    rng = np.random.default_rng(seed)
    models = [[share * 1e9 for share in by_gpus[1]] for by_gpus in measured_shares().values()]
    drawn = np.array(models)[rng.integers(0, len(models), jobs)]
    if different:
        drawn = drawn * rng.lognormal(0.0, 0.5, drawn.shape)
    return [tuple(stages) for stages in np.rint(drawn).astype(np.int64).tolist()]


def _candidates(plans: Grouping, stages: Sequence[Stages]) -> list[Candidate]:
    """Return jobs of one GPU by priority, with their job types."""
    types = {profile: plans.new_kind(profile, sum(profile)) for profile in dict.fromkeys(stages)}
    return [Candidate(job, job, 1, 1, types[profile]) for job, profile in enumerate(stages)]


# --- Lyra's knapsack


def knapsack(*sizes: str) -> Iterator[Row]:
    """Lyra's knapsack over elastic jobs, by ITEMSxGPUS."""
    default = ("100x70", "354x245", "1000x750", "2000x1500", "5000x3750", "10000x7500")
    for size in sizes or default:
        items, gpus = map(int, size.split("x"))
        for values in ("linear", "random"):
            times = knapsack_ms(items, gpus, linear=values == "linear")
            yield {
                "items": items,
                "GPUs": gpus,
                "median_ms": median(times),
                "max_ms": max(times),
                "values": values,
            }


def drawn_groups(items: int, *, linear: bool, seed: int) -> list[Group]:
    """Return elastic jobs that have `items` numbers of workers in total."""
    rng = np.random.default_rng(seed)
    groups: list[Group] = []
    while items:
        extra = np.arange(1, min(items, int(rng.integers(1, 7))) + 1)
        base, gpus = int(rng.integers(1, 5)), int(rng.choice([1, 2, 4, 8]))
        share = extra / (base + extra) if linear else rng.random(len(extra))
        groups.append((gpus * extra, 2.3 * 3.6e12 * rng.lognormal(0, 1.5) * share))
        items -= len(extra)
    return groups


def knapsack_ms(items: int, gpus: int, *, linear: bool, instances: int = 30) -> list[float]:
    """Return the processor time of each instance, after one that warms up."""
    drawn = iter([drawn_groups(items, linear=linear, seed=seed % 1000) for seed in range(-1, instances)])
    return times_ms(lambda: multiple_choice(gpus, next(drawn)), instances)


# --- network answers


def network(model: str = "ResNet50", fabric: str = "dgx_h100_3tier") -> Iterator[Row]:
    """Answers of the analytical network model on 64 GPUs: cached, of a known shape, of a new one."""
    profile = get_profile(model)
    topology = load_topology(data_path("topologies", f"{fabric}.yaml"))
    machine, system = topology.default_machine_type, topology.fabric.system
    regular = shape_of((rack, machine, 8) for rack in range(2) for _ in range(4))
    irregular = shape_of((rack, machine, 8 - place) for rack in range(2) for place in range(rack, 4))
    chunked, by_packets = replace(system, chunks=4), replace(system, transport="packets")

    def fresh(shape: Shape, system: SystemSettings, known: bool = False) -> Callable[[], object]:
        def ask() -> object:
            if not known:
                _forget_shapes()
            return AnalyticalModel().iteration(profile, shape, topology.fabric, system)

        return ask

    cached = CachedModel(AnalyticalModel())
    cases = (
        ("cached", lambda: cached.iteration(profile, regular, topology.fabric, system), 20_000),
        ("shape known", fresh(regular, system, known=True), 50),
        ("shape known, 4 chunks", fresh(regular, chunked, known=True), 10),
        ("new shape", fresh(regular, system), 20),
        ("new shape, irregular", fresh(irregular, system), 20),
        ("new shape, irregular, packets", fresh(irregular, by_packets), 1),
    )
    for name, ask, times in cases:
        yield {"us": _min_us(ask, times), "answer": name}


def _min_us(act: Callable[[], object], times: int) -> float:
    """Return the least time of one act in microseconds, over seven rounds of `times`."""
    return min(times_ms(lambda: [act() for _ in range(times)], 6)) / times * 1e3


def _forget_shapes() -> None:
    for module in (
        analytical,
        across_machines,
        collectives,
        dimensions,
        packet_transport,
        ring_steps,
        rings,
    ):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


# --- max-min fair rates


def sharing(instances: str = "20") -> Iterator[Row]:
    """Max-min fair rates of jobs on links, the build of the incidence included."""
    sizes = ((20, 6, 40), (1000, 6, 10_000), (1000, 20, 10_000))
    calls = [(*size, values, fair_of(*size, values)) for size in sizes for values in ("equal", "random")]
    calls.append((1000, 2, 1001, "chain", _chain(1000)))
    for jobs, links_each, links, values, call in calls:
        times = times_ms(call, int(instances))
        yield {
            "jobs": jobs,
            "links_each": links_each,
            "links": links,
            "min_ms": min(times),
            "median_ms": median(times),
            "values": values,
        }


def crossed_links(n_jobs: int, links_each: int, n_links: int, *, seed: int) -> tuple[Ints, Ints]:
    """Return distinct random links of each job, as offsets by job and the links of all jobs."""
    rng = np.random.default_rng(seed)
    links = [rng.choice(n_links, links_each, replace=False) for _ in range(n_jobs)]
    return np.arange(0, (n_jobs + 1) * links_each, links_each), np.concatenate(links)


def drawn_values(distribution: str, n_links: int, n_jobs: int) -> tuple[Floats, Floats]:
    """Return capacities and weights: all 1 (`equal`), uniform (`random`), or lognormal (`wide`)."""
    rng = np.random.default_rng(1)
    if distribution == "equal":
        return np.ones(n_links), np.ones(n_jobs)
    if distribution == "wide":
        return rng.lognormal(0, 2, n_links), rng.lognormal(0, 2, n_jobs)
    return rng.uniform(1, 10, n_links), rng.uniform(0.5, 4, n_jobs)


def fair_of(n_jobs: int, links_each: int, n_links: int, distribution: str) -> Callable[[], object]:
    """Return a call that builds an incidence and finds max-min fair rates."""
    crossed = crossed_links(n_jobs, links_each, n_links, seed=0)
    capacities, weights = drawn_values(distribution, n_links, n_jobs)
    return lambda: fair(Incidence.of(*crossed, n_links), capacities, weights)


def _chain(n_jobs: int) -> Callable[[], object]:
    """Return the worst case: jobs on links i and i + 1 of rising capacity, of which one stops per round."""
    links = np.arange(n_jobs)
    crossed = (np.arange(0, 2 * n_jobs + 1, 2), np.stack([links, links + 1], axis=1).ravel())
    capacities = np.linspace(1, 3, n_jobs + 1) ** 2
    return lambda: fair(Incidence.of(*crossed, n_jobs + 1), capacities)


# --- Synergy's decisions


def decisions(*words: str) -> Iterator[Row]:
    """Synergy's decisions as the cluster grows; mechanisms and numbers of GPUs."""
    sizes = [int(word) for word in words if word.isdigit()] or [32, 64, 128, 256, 512, 1024, 2048]
    for mechanism in [word for word in words if not word.isdigit()] or ["tune", "opt"]:
        for gpus in sizes:
            yield {"GPUs": gpus, **decisions_ms(mechanism, gpus), "mechanism": mechanism}


def decisions_ms(mechanism: str, gpus: int) -> dict[str, float]:
    """Return the processor time of the first decision, and of later ones that change something or nothing."""
    simulation = build(
        check_config(
            composed(
                [
                    f"policy=synergy_{mechanism}" if mechanism != "tune" else "policy=synergy",
                    "policy.order=las",  # which reorders the jobs in every round
                    "topology=v100_synergy",
                    f"cluster.machines={gpus // 8}",
                    "performance.sensitivity=synergy",
                    "network=zero",
                    "workload=synergy",
                    "workload.jobs_per_hour=null",
                    "workload.gpus=philly",
                    f"workload.jobs={gpus}",
                    f"stop.time_s={20 * 3600}",
                ]
            )
        )
    )
    policy = _Timed(simulation.policy)
    replace(simulation, policy=policy).run([])
    (first, _), *later = policy.decisions
    changing = [ms for ms, changes in later if changes]
    idle = [ms for ms, changes in later if not changes]
    return {
        "first_ms": first,
        "changed_ms": mean(changing or [0.0]),
        "max_ms": max(changing, default=0.0),
        "idle_ms": mean(idle or [0.0]),
    }


class _Timed:
    """A policy that keeps the processor time of its decisions, and whether they changed anything."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy
        self.decisions: list[tuple[float, bool]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def decide(self, view: ClusterView) -> Plan:
        began = process_time()
        plan: Plan = self._policy.decide(view)
        self.decisions.append(((process_time() - began) * 1e3, bool(plan.changes)))
        return plan


CASES: dict[str, Callable[..., Iterator[Row]]] = {
    case.__name__: case for case in (runs, contention, grouping, knapsack, network, sharing, decisions)
}
