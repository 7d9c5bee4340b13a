"""Runs whose jobs need CPUs: two jobs on two machines, as fast as the CPUs that they get.

Machines of 2 GPUs, 10 CPUs and 100 bytes. a (10 iterations) and b (20) compute for 1 s an iteration, on two
GPUs each; with fewer than 8 CPUs they wait for input as long again. They use all CPUs up to 8, and 30 bytes;
best are 8 CPUs and 40 bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from artist.core.cluster import Allocation, Cluster
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.engine.engine import Engine
from artist.performance.api import Changed, Running
from artist.recording.folder import write_run
from artist.recording.inputs import InputColumns
from artist.recording.metrics import summarise
from artist.recording.recorder import Recorder
from artist.recording.resources import Resources
from artist.results.folder import read_run
from artist.results.run import Run
from artist.testing.tiny import PlainPerformance, Scripted, job, on, tiny_cluster

BEST = 8
KINDS = {  # what a summary says of the jobs of kinds_run, and of their run
    "gpu": {"jobs": 2, "at_once": 0.5, "over_10min": 0.4},
    "cpu": {"jobs": 2, "within_3min": 0.9, "queueing_s": {"mean": 60.0}},
    "starved": 0.25,
    "more_cpus": 0.5,
    "fewer_cpus": 0.5,
    "aborted": 0,
}


class Fed(PlainPerformance):
    """Iterations wait for input as long as they compute unless all CPUs needed are there."""

    def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
        prices = super().reprice(changed, running)
        starved = {j: running.allocation(j).slices[0].cpus < BEST for j in prices}
        return {
            j: IterationParts(parts.compute_ns, parts.compute_ns * starved[j]) for j, parts in prices.items()
        }


class Needs:
    """Jobs' use of resources, and their best case."""

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
        topics = [*([resources] if recorded else []), InputColumns(recorder, Needs())]
        summary = summarise(result, policy=policy, seed=seed, network_distinct=0, topics=topics, run={})
        folder = tmp_path / f"{policy}-{racks}-{seed}"
        folder.mkdir()
        write_run(folder, result, recorder, summary, topics=topics)
        config = {"policy": {"name": policy}, "seed": seed, "cluster": {"racks": racks}}
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        return read_run(folder)

    return make


@pytest.fixture
def kinds_run(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., Run]:
    """Return a maker of runs of GPU jobs and CPU jobs, on 4 GPUs, 10 cores and 100 bytes/s.

    By default four jobs of two users, and how many cores they asked for and held:

        job       j0      j1      j2      j3
        user      ann     ann     bob     bob
        GPUs      2       1       0       0
        cores     2 -> 6  8 -> 3  4 -> 4  1 -> 1
        waits     0 s     100 s   0 s     5 s

        s                    0    5    10   20
        GPU jobs waiting     0    1    0    0
        CPU jobs waiting     0    2    1    0
        cores of GPU jobs    8    6    2    0
        cores of CPU jobs    2    4    8    0
        GPUs starved         0    1    0    0
        GPUs used            1    3    1    0
        bytes/s              50   90   20   0
    """
    told = (
        ("ann", 2, 2, 6, 0.0, "bert"),
        ("ann", 1, 8, 3, 100.0, "gpt"),
        ("bob", 0, 4, 4, 0.0, ""),
        ("bob", 0, 1, 1, 5.0, ""),
    )
    steps = {
        "gpu_jobs_waiting": [0, 1, 0, 0],
        "cpu_jobs_waiting": [0, 2, 1, 0],
        "cpus_of_gpu_jobs": [8, 6, 2, 0],
        "cpus_of_cpu_jobs": [2, 4, 8, 0],
        "capacity_cpus": [10, 10, 10, 10],
        "starved_gpus": [0, 1, 0, 0],
        "gpus_used": [1.0, 3.0, 1.0, 0.0],
        "bandwidth_bytes_per_s": [50, 90, 20, 0],
        "capacity_bytes_per_s": [100, 100, 100, 100],
    }

    def make(
        policy: str,
        jobs: Sequence[tuple[str, int, int, int, float, str]] = told,
        *,
        seed: int = 1,
        kinds: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Run:
        config = {"policy": {"name": policy}, "seed": seed, **more}
        folder = run_folder(tmp_path / "-".join(map(str, (policy, seed, *more.values()))), config)
        table = pq.read_table(folder / "jobs.parquet").take(pa.array([0] * len(jobs)))
        names = ("user", "gpus", "cpus", "cpus_last", "queueing_s", "model")
        columns = dict(zip(names, map(list, zip(*jobs, strict=True)), strict=True))
        columns["job_id"] = [f"j{i}" for i in range(len(jobs))]
        columns["jct_s"] = [60.0 + waited for waited in columns["queueing_s"]]
        for name, values in columns.items():
            if name in table.column_names:
                table = table.drop_columns([name])
            table = table.append_column(name, pa.array(values))
        pq.write_table(table, folder / "jobs.parquet")
        pq.write_table(pa.table({"time_s": [0.0, 5.0, 10.0, 20.0], **steps}), folder / "cores.parquet")
        run = read_run(folder)
        return replace(run, summary=run.summary | {"kinds": KINDS | dict(kinds or {})})

    return make
