"""Commands in this process, and the run that a person can solve on paper.

3 jobs on 2 machines x 2 GPUs in one rack, in order of arrival:

    s            0    2    6   10        22.5
    m0 (2 GPUs)  a    a    a    b
    m1 (2 GPUs)       c         b

a: 2 GPUs, 10 x 1 s, submitted at 0 s. c: 2 GPUs, 4 x 1 s, submitted at 2 s. b: 4 GPUs, submitted at 1 s,
waits for a (9 s), then 5 x (2 s compute + 0.5 s exposed communication) = 12.5 s across the rack.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from artist.core.cluster import Allocation, Cluster, Machine, Slice
from artist.core.events import Arrival, Event, Finish, Gauges, Reprice, Start
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec, Stages
from artist.core.result import JOB_COLUMNS, RunResult
from artist.recording.folder import write_run
from artist.recording.metrics import summarise
from artist.recording.recorder import Recorder
from artist.recording.resources import Resources
from artist.results.folder import read_run
from artist.results.run import Run

ROOT = Path(__file__).resolve().parents[2]
S = 1_000_000_000
RUN = {"wall_s": 0.1, "network_calls": 3, "cache_hits": 0, "version": "0.1.0", "host": "paper"}

Called = Callable[..., tuple[int, str, str]]
PROGRAMS = {"all_to_all": "alltoall", "send_receive": "sendrecv"}


@pytest.fixture
def called(capsys: pytest.CaptureFixture[str]) -> Called:
    """Return a function from a command's main and arguments to its code, stdout and stderr."""

    def call(main: Callable[[list[str]], int], *arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(arguments))
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes text or bytes to a new file and returns its path."""

    def _write(content: str | bytes, name: str = "trace.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write


@pytest.fixture
def cluster() -> Cluster:
    """Two machines of two GPUs in one rack."""
    return Cluster([Machine("m0", 0, "box", 2), Machine("m1", 0, "box", 2)])


@pytest.fixture
def jobs() -> list[JobSpec]:
    """The three jobs."""
    return [
        JobSpec("a", 0, Demand(2), iterations=10, compute_ns=S, model="resnet50", user="ann", vc="vc0"),
        JobSpec("b", S, Demand(4), iterations=5, compute_ns=2 * S, model="bert_large", user="bob", vc="vc0"),
        JobSpec("c", 2 * S, Demand(2), iterations=4, compute_ns=S, model="resnet50", user="ann", vc="vc1"),
    ]


@pytest.fixture
def result(cluster: Cluster, jobs: list[JobSpec]) -> RunResult:
    """The engine's result of the run above."""
    columns = {name: np.zeros(3, dtype=np.int64) for name in JOB_COLUMNS}
    half = S // 2
    columns["submit_ns"][:] = (0, S, 2 * S)
    columns["first_start_ns"][:] = (0, 10 * S, 2 * S)
    columns["finish_ns"][:] = (10 * S, 45 * half, 6 * S)
    columns["queueing_ns"][:] = (0, 9 * S, 0)
    columns["running_ns"][:] = (10 * S, 25 * half, 4 * S)
    columns["gpu_held_ns"][:] = (20 * S, 50 * S, 8 * S)
    columns["compute_ns"][:] = (10 * S, 10 * S, 4 * S)
    columns["exposed_comm_ns"][:] = (0, 5 * half, 0)
    columns["gpu_compute_ns"][:] = (20 * S, 40 * S, 8 * S)
    columns["gpu_exposed_comm_ns"][:] = (0, 10 * S, 0)  # 4 x 2.5
    columns["iterations"][:] = (10, 5, 4)
    columns["starts"][:] = 1
    columns["machine_tier_ns"][:] = (10 * S, 0, 4 * S)
    columns["rack_tier_ns"][:] = (0, 25 * half, 0)
    return RunResult(
        jobs=jobs,
        cluster=cluster,
        columns=columns,
        stopped_by="finished",
        end_ns=45 * half,
        busy_gpu_ns=78 * S,  # 2 x 10 + 4 x 12.5 + 2 x 4
        capacity_gpu_ns=90 * S,  # 4 x 22.5
        group_gpu_ns=0,
        compute_gpu_ns=68 * S,  # 2 x 10 + 4 x 10 + 2 x 4
        placements={"machine": 2, "rack": 1, "network": 0},
        events=12,
    )


@pytest.fixture
def none_finished(result: RunResult) -> RunResult:
    """The same jobs in a run that was stopped before anything started or any capacity was there."""
    columns = {name: np.zeros(3, dtype=np.int64) for name in JOB_COLUMNS}
    columns["submit_ns"][:] = (0, S, 2 * S)
    columns["first_start_ns"][:] = columns["finish_ns"][:] = -1
    return replace(
        result, columns=columns, stopped_by="time", busy_gpu_ns=0, capacity_gpu_ns=0, compute_gpu_ns=0
    )


@pytest.fixture
def story() -> list[tuple[int, list[Event], Gauges]]:
    """The events of the run above that observers receive."""
    m0, m1 = Allocation((Slice(0, 2),)), Allocation((Slice(1, 2),))
    both = Allocation((Slice(0, 2), Slice(1, 2)))
    last = 45 * S // 2
    return [
        (0, [Arrival(0, 0)], Gauges(0, 4, 1, 0)),
        (0, [Start(0, 0, m0, "start", 0), Reprice(0, 0, IterationParts(S))], Gauges(2, 4, 0, 1)),
        (S, [Arrival(S, 1)], Gauges(2, 4, 1, 1)),
        (2 * S, [Arrival(2 * S, 2), Start(2 * S, 2, m1, "start", 0)], Gauges(4, 4, 1, 2)),
        (2 * S, [Reprice(2 * S, 2, IterationParts(S))], Gauges(4, 4, 1, 2)),
        (6 * S, [Finish(6 * S, 2)], Gauges(2, 4, 1, 1)),
        (10 * S, [Finish(10 * S, 0), Start(10 * S, 1, both, "start", 0)], Gauges(4, 4, 0, 1)),
        (10 * S, [Reprice(10 * S, 1, IterationParts(5 * S // 2))], Gauges(4, 4, 0, 1)),
        (last, [Finish(last, 1)], Gauges(0, 4, 0, 0)),
    ]


@pytest.fixture
def recorder(jobs: list[JobSpec], cluster: Cluster, story: list[tuple[int, list[Event], Gauges]]) -> Recorder:
    """A recorder that saw the run above."""
    recorder = Recorder(jobs, cluster)
    for instant in story:
        recorder.observe(*instant)
    return recorder


@pytest.fixture
def resources(
    jobs: list[JobSpec], cluster: Cluster, story: list[tuple[int, list[Event], Gauges]]
) -> Resources:
    """Resources in use in the run above: jobs read for a tenth of their iteration, compute for half of it.

    b waits from 1 s to 10 s, its rest takes 10 s: (t - 1) / 10.
    """

    def stages(spec: JobSpec, allocation: Allocation, cluster: Cluster) -> Stages:
        return Stages(spec.compute_ns // 10, 0, spec.compute_ns // 2, 0)

    resources = Resources(jobs, cluster, stages)
    for instant in story:
        resources.observe(*instant)
    resources.close(45 * S // 2)
    return resources


@pytest.fixture
def summary(result: RunResult) -> dict[str, Any]:
    """The summary of the run above."""
    return summarise(result, policy="fifo", seed=1, network_distinct=2, run=RUN)


@pytest.fixture
def run_folder(result: RunResult, recorder: Recorder, summary: dict[str, Any]) -> Callable[..., Path]:
    """Write the run, its completion times multiplied by `slower`, with a config, perhaps what was in use."""

    def write(
        folder: Path, config: dict[str, Any], slower: float = 1, resources: Resources | None = None
    ) -> Path:
        folder.mkdir(parents=True)
        slow = dict(result.columns)
        slow["finish_ns"] = (slow["submit_ns"] + slower * (slow["finish_ns"] - slow["submit_ns"])).astype(int)
        changed = replace(result, columns=slow)
        policy, seed = str(config["policy"]["name"]), int(config["seed"])
        topics = () if resources is None else (resources,)
        write_run(
            folder,
            changed,
            recorder,
            summarise(changed, policy=policy, seed=seed, network_distinct=2, topics=topics, run=RUN),
            topics=topics,
        )
        (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
        return folder

    return write


@pytest.fixture
def traces() -> Path:
    """Return the folder of the recovered traces, which the repository does not hold."""
    folder = ROOT.parent / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip(f"the recovered traces are not at {folder}")
    return folder


@pytest.fixture
def paper_run(run_folder: Callable[..., Path], tmp_path: Path) -> Run:
    """The run on paper: a on m0 until 10 s, c on m1 from 2 s to 6 s, b on both from 10 s to 22.5 s."""
    return read_run(run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1}))


@pytest.fixture
def rewrite() -> Callable[[Run, list[tuple[float, str, str, str | None]]], None]:
    """Return a function that replaces the events of a run."""

    def replace_events(run: Run, rows: list[tuple[float, str, str, str | None]]) -> None:
        time_s, kind, job_id, allocation = map(list, zip(*rows, strict=True))
        columns = {
            "time_s": time_s,
            "kind": kind,
            "job_id": job_id,
            "allocation": pa.array(allocation, pa.string()),
        }
        pq.write_table(pa.table(columns), run.folder / "events.parquet")

    return replace_events


@pytest.fixture
def with_pools() -> Callable[[Run], Run]:
    """Return a function that adds the pools below to a run; a machine has 2 GPUs.

        s                      0   5  10  15  22.5
        training machines      2   2   2   2   2
        GPUs held there        4   2   4   4   0
        on loan                0   1   2   0   0
        GPUs held there        0   2   3   0   0
        inference              3   2   1   3   3
        needed by inference    2   2   2   1   1

    From 10 to 15 s inference lacks a machine. At 15 s two go back: one is idle, from one a job is preempted.
    """
    columns = {
        "training_machines": [2, 2, 2, 2, 2],
        "training_gpus": [4, 4, 4, 4, 4],
        "training_held": [4, 2, 4, 4, 0],
        "inference_machines": [3, 2, 1, 3, 3],
        "inference_gpus": [6, 4, 2, 6, 6],
        "inference_held": [0, 0, 0, 0, 0],
        "on_loan_machines": [0, 1, 2, 0, 0],
        "on_loan_gpus": [0, 2, 4, 0, 0],
        "on_loan_held": [0, 2, 3, 0, 0],
        "inference_needed": [2, 2, 2, 1, 1],
        "reclaimed_idle": [0, 0, 0, 1, 1],
        "reclaimed_flexible": [0, 0, 0, 0, 0],
        "reclaimed_preempting": [0, 0, 0, 1, 1],
        "reclaimed_preempted_jobs": [0, 0, 0, 1, 1],
    }
    more = {
        "inference_short": {"server_s": 5.0, "worst_servers": 1},
        "pools": {"training_held": 0.8, "on_loan_held": 0.75, "combined": 0.6},
        "reclaims": {"machines": 2, "idle": 1, "flexible": 0, "preempting": 1, "preempted_jobs": 1},
    }

    def give(run: Run) -> Run:
        times_s = [0.0, 5.0, 10.0, 15.0, 22.5]
        pq.write_table(pa.table({"time_s": times_s, **columns}), run.folder / "pools.parquet")
        return replace(run, summary=run.summary | more)

    return give


@pytest.fixture
def elastic_run(paper_run: Run, rewrite: Callable[..., None]) -> Callable[..., Run]:
    """Return a maker of a run of elastic jobs: a of 2 to 4 GPUs, c of 1 to 4; b is not elastic.

    Machine m0 has the cluster's own GPUs; two of m1 replace one, and ten of m2 three:

        s         0    1    2      3      4    6    8     10
        a, GPUs   2    2    2+1/2  2+1/2  4    -    4/2   -      on m0, then on both; after its stop on m1
        c, GPUs        8/2  8/2    -                             on m1
    """
    told = [
        (0.0, "start", "a", "m0:2"),
        (1.0, "start", "c", "m1:8"),
        (2.0, "resize", "a", "m0:2+m1:1"),
        (3.0, "finish", "c", None),
        (4.0, "resize", "a", "m0:4"),
        (6.0, "stop", "a", None),
        (8.0, "restart", "a", "m1:4"),
        (10.0, "finish", "a", None),
    ]
    kinds = {"v": {"worth": 1.0}, "t": {"worth": 0.5}, "s": {"worth": 0.3}}
    config = {
        "policy": {"name": "fifo"},
        "seed": 1,
        "topology": {"default_machine_type": "v", "machine_types": kinds},
        "cluster": {"machines": [{"type": name, "count": 1} for name in kinds]},
    }

    def make(story: list[tuple[float, str, str, str | None]] = told) -> Run:
        rewrite(paper_run, story)
        path = paper_run.folder / "jobs.parquet"
        table = pq.read_table(path)
        for name, values in (("min_gpus", [2, 4, 1]), ("max_gpus", [4, 4, 4])):
            if name not in table.column_names:
                table = table.append_column(name, pa.array(values))
        pq.write_table(table, path)
        return replace(paper_run, config=config)

    return make


@pytest.fixture
def printed_log() -> Callable[..., str]:
    """Return the output of nccl-tests for (bytes, us) measured on machines of some GPUs.

    `style`: `2.0` (`error` columns, and none for redop and root where they mean nothing), `2.13`, `2.19`
    (names the program and NCCL) or `rccl`. In place all takes half as long, so that no one mistakes it.
    """
    return _printed_log


def _printed_log(
    points: Sequence[tuple[int, float]],
    machines: int = 2,
    gpus: int = 8,
    collective: str = "all_reduce",
    style: str = "2.13",
    gpu: str = "NVIDIA H100 80GB HBM3",
    redop: str = "sum",
) -> str:
    program, old = PROGRAMS.get(collective, collective), style == "2.0"
    ranks = [
        (machine * gpus + device, machine, device) for machine in range(machines) for device in range(gpus)
    ]
    n = len(ranks)
    factor = {"all_reduce": 2 * (n - 1) / n, "send_receive": 1.0}.get(collective, (n - 1) / n)
    reduces = collective in ("all_reduce", "reduce_scatter")
    named = ["redop", "root"] if not old else ["redop"] if reduces or collective == "all_to_all" else []
    wrong = "error" if old else "#wrong"
    columns = ["size", "count", "type", *named, *["time", "algbw", "busbw", wrong] * 2]
    group = "" if old or style == "rccl" else " Group  0"
    lines = [
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20",
        "#",
        "# Using devices",
        *(
            f"#  Rank {rank:2d}{group} Pid {1000 + rank:6d} on node{machine + 1:02d} device {device:2d} "
            f"[0x{16 * device + 7:02x}] {gpu}"
            for rank, machine, device in ranks
        ),
        "#",
        "#" + " " * 62 + "out-of-place                       in-place          ",
        "# " + " ".join(f"{name:>9}" for name in columns),
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)",
    ]
    if style == "2.19":
        lines[:0] = [
            "# nccl-tests version 2.19.6 nccl-headers=22203 nccl-library=22203",
            f"# Collective test starting: {program}_perf",
        ]
    if style == "rccl":
        lines.insert(2, "rccl-tests: Version develop:83d38d9")
    for size, time_us in points:
        values = {"redop": redop if reduces else "none", "root": "-1"}
        algbw = [size / us / 1e3 for us in (time_us, time_us / 2)]
        ends = ["2e-07"] * 2 if old else ["0", "N/A" if program in PROGRAMS.values() else "0"]
        blocks = [
            f"  {us:7.{2 if us < 100 else 1 if us < 10_000 else 0}f}  {bw:6.2f}  {factor * bw:6.2f}  {end:>5}"
            for us, bw, end in zip((time_us, time_us / 2), algbw, ends, strict=True)
        ]
        lines.append(
            f"{size:12d}  {size // 4:12d}     float"
            + "".join(f"  {values[name]:>6}" for name in named)
            + "".join(blocks)
        )
    lines += ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 12.3456 ", "#", ""]
    return "\n".join(lines)
