"""Runs whose jobs need CPUs: two jobs on two machines, as fast as the CPUs that they get.

Machines of 2 GPUs, 10 CPUs and 100 bytes. a (10 iterations) and b (20) compute for 1 s an iteration, on two
GPUs each; with fewer than 8 CPUs they wait for input as long again. They use all CPUs up to 8, and 30 bytes;
best are 8 CPUs and 40 bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import yaml

from artist.core.cluster import Allocation, Cluster
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.engine.engine import Engine
from artist.performance.api import Changed, Running
from artist.recording.folder import write_run
from artist.recording.inputs import summarise_inputs
from artist.recording.metrics import summarise
from artist.recording.recorder import Recorder
from artist.recording.resources import Resources
from artist.results.folder import read_run
from artist.results.run import Run
from artist.testing.tiny import PlainPerformance, Scripted, job, on, tiny_cluster

BEST = 8


class Fed(PlainPerformance):
    """Iterations wait for input as long as they compute unless all CPUs needed are there."""

    def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
        prices = super().reprice(changed, running)
        starved = {j: running.allocation(j).slices[0].cpus < BEST for j in prices}
        return {
            j: IterationParts(parts.compute_ns, parts.compute_ns * starved[j]) for j, parts in prices.items()
        }


class Needs:
    """What jobs use, and need at best."""

    def in_use(
        self, spec: JobSpec, allocation: Allocation, cluster: Cluster, iteration_ns: int
    ) -> tuple[float, float]:
        return float(min(allocation.slices[0].cpus, BEST)), 30.0

    def best_case(self, spec: JobSpec, cluster: Cluster) -> tuple[int, int]:
        return BEST, 40


@pytest.fixture
def fed_run(tmp_path: Path) -> Callable[..., Run]:
    """Return a maker of runs under a policy that gives each job so many CPUs and 50 bytes."""

    def make(policy: str, cpus: int, *, seed: int = 1, recorded: bool = True, racks: int = 1) -> Run:
        cluster, jobs = tiny_cluster(cpus=10, memory_bytes=100), [job("a", 2, 10), job("b", 2, 20)]
        performance, recorder = Fed(), Recorder(jobs, cluster)
        resources = Resources(jobs, cluster, performance.stages, Needs().in_use)
        script = Scripted({0: lambda view, plan: [plan.place(j, on((j, 2, cpus, 50))) for j in (0, 1)]})
        result = Engine(jobs, cluster, script, performance, observers=(recorder, resources)).run()
        resources.close(result.end_ns)
        kept = resources if recorded else None
        more = summarise_inputs(result)
        summary = summarise(
            result, policy=policy, seed=seed, network_distinct=0, resources=kept, more=more, run={}
        )
        folder = tmp_path / f"{policy}-{racks}-{seed}"
        folder.mkdir()
        write_run(folder, result, recorder, summary, resources=kept, inputs=Needs())
        config = {"policy": {"name": policy}, "seed": seed, "cluster": {"racks": racks}}
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        return read_run(folder)

    return make
