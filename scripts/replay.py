"""Replay every public training trace under FIFO and Tiresias, at its own load and at 0.9.

    python scripts/replay.py ../shared/traces [--first 20000]

prints a row a trace, load and policy: jobs, machines of 8 GPUs, offered load, mean and 95th percentile of the
completion time, mean queueing time, preemptions, and processor seconds of the whole run, reading included.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from artist.app.composing import composed
from artist.core.job import JobSpec
from artist.errors import InputError
from artist.recording.metrics import summarise
from artist.run.build import build, check_config


@dataclass(frozen=True, slots=True)
class Trace:
    """A file, how it is read, and the cluster that it is replayed on.

    Parameters
    ----------
    name
        What the table calls it.
    path
        Relative to the folder of traces.
    workload
        Overrides of the workload, its reader first.
    machines
        Machines of 8 GPUs: those of the traced cluster, or fewer where the trace is a part of its jobs.
    """

    name: str
    path: str
    workload: tuple[str, ...]
    machines: int


_VENUS_2VC = (
    "columns",
    "workload.columns={job_id:job_id,submit_s:submit_time,gpus:num_gpus,duration_s:duration,vc:vc}",
)
TRACES = (
    Trace("venus Jun week", "helios-venus/venus_gpu_jobs_2020-06-01_1week.csv", ("helios",), 133),
    Trace("venus Sep", "helios-venus/venus_gpu_jobs_2020-09-01_2020-09-13.csv.gz", ("helios",), 133),
    Trace("venus Mar-Jul", "helios-venus/venus_gpu_jobs_2020-03-18_2020-07-31.csv.gz", ("helios",), 133),
    Trace("philly day", "philly/cluster_job_log_2017-10-07.json.gz", ("philly",), 312),
    Trace("philly week", "philly/philly_pass_jobs_2017-10-02_1week.pollux-schema.csv", ("philly",), 56),
    Trace("philly passed", "philly/philly_pass_jobs.pollux-schema.csv.gz", ("philly",), 56),
    Trace("philly 3 weeks", "philly/philly_all_jobs_2017-10-02_3w.rfold-schema.csv.gz", ("philly",), 312),
    Trace("pai", "alibaba-pai-2020/pai_gpu_tasks_day21-34.csv.gz", ("pai",), 69),
    Trace("openb", "alibaba-openb-2023/openb_pod_list_default.csv", ("openb",), 8),
    Trace("lingjun", "alibaba-lingjun-2023/lingjun_jobs_day0-7.rfold-schema.csv", ("lingjun",), 847),
    Trace("acme sample", "acme/kalos_gpu_jobs_first500.csv", ("acme",), 302),
    Trace("acme converted", "acme/kalos_completed_train_jobs_day0-44.converted.csv", ("acme",), 302),
    Trace("muri trace1", "tiresias-muri/muri_trace1.csv", ("muri",), 16),
    Trace("muri trace3", "tiresias-muri/muri_trace3.csv", ("muri",), 8),
    Trace("muri testbed", "tiresias-muri/muri_cluster_trace.csv", ("muri",), 8),
    Trace("tiresias 60", "tiresias-muri/tiresias_60_job.csv", ("tiresias",), 16),
    Trace(
        "gavel fairness",
        "gavel/max_min_fairness.trace",
        ("gavel", "workload.throughputs={folder}/gavel/physical_cluster_throughputs.json"),
        6,
    ),
    Trace(
        "gavel makespan",
        "gavel/minimize_makespan.trace",
        ("gavel", "workload.throughputs={folder}/gavel/physical_cluster_throughputs.json"),
        6,
    ),
    Trace("dally batch", "artist-sim/sense_500jobs_0start0arrival-withBert.json.gz", ("artist_json",), 16),
    Trace("dally poisson", "artist-sim/sense_500jobs_poisson_1proc-week.json.gz", ("artist_json",), 16),
)
HEADS = ("trace", "jobs", "machines", "load", "policy", "JCT h", "p95 h", "queue h", "preempted", "s")


def replay(folder: Path, trace: Trace, policy: str, arrivals: str, first: int | None) -> tuple[Any, ...]:
    """Return one row of the table."""
    reader, *settings = (each.format(folder=folder) for each in trace.workload)
    overrides = [
        f"workload={reader}",
        f"workload.path={folder / trace.path}",
        *settings,
        f"cluster.machines={trace.machines}",
        f"policy={policy}",
        f"arrivals={arrivals}",
        *([] if first is None else [f"workload.first={first}"]),
    ]
    began = process_time()
    simulation = build(check_config(composed(overrides)))
    result = simulation.run(())
    summary = summarise(result, policy=policy, seed=0, network_distinct=0, run={})
    took = process_time() - began
    load = _load(simulation.jobs, simulation.cluster.own_gpus)
    return (
        trace.name,
        summary["jobs"],
        trace.machines,
        "batch" if load is None else f"{load:.2f}",
        policy,
        *(f"{summary[name][key] / 3600:,.2f}" for name, key in _HOURS),
        summary["preemptions"],
        f"{took:.1f}",
    )


_HOURS = (("jct_s", "mean"), ("jct_s", "p95"), ("queueing_s", "mean"))


def _load(jobs: Sequence[JobSpec], gpus: float) -> float | None:
    """Return GPU time asked for over what the cluster has while jobs arrive; None if all come at once."""
    span_ns = max(job.submit_ns for job in jobs) - min(job.submit_ns for job in jobs)
    return sum(job.ideal_ns * job.demand.gpus for job in jobs) / (gpus * span_ns) if span_ns else None


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 0, or 2 if a trace cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the traces")
    parser.add_argument("--first", type=int, help="at most so many jobs of each")
    parser.add_argument("--only", help="traces whose name has this in it")
    arguments = parser.parse_args(argv)
    logging.disable(logging.WARNING)  # what readers leave out; artist-trace tells
    print("  ".join(f"{head:>14}" for head in HEADS))
    for trace in TRACES:
        if arguments.only and arguments.only not in trace.name:
            continue
        for arrivals in ("trace", "compress"):
            for policy in ("fifo", "tiresias"):
                try:
                    row = replay(arguments.folder.resolve(), trace, policy, arrivals, arguments.first)
                except InputError as problem:
                    row = (trace.name, arrivals, policy, str(problem).splitlines()[0])
                print("  ".join(f"{cell!s:>14}" for cell in row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
