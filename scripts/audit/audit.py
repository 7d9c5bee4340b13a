"""Audit run folders: replay events.parquet, and recount jobs.parquet, timeline.parquet and summary.json.

    python scripts/audit/audit.py RUN_OR_SWEEP_FOLDER ...

prints a line per check for each run, with the number of comparisons, and names the faults: job, machine,
time, both values. The exit code is 1 if anything is, else 2 if there is no run or one is of an older version,
whose tables lack a column. It reads the run folder, and the
trace, table of overheads and file of capacity events that its config.yaml names, with pandas and YAML alone,
and shares no code with the simulator.

Recounted, exactly: GPUs, CPUs and memory by machine after every instant, groups' GPUs once; demands; states;
times, counts, tiers, GPU time, and mean CPUs and memory of every job; busy GPUs, capacity, waiting and
running jobs over time; the numbers of the summary (statistics of floats to 1e-12). Times after 104 days, 2^53
ns, are held to the grain of their seconds, which are 64-bit floats. With `output.rates=true` the iterations
of every job, too: the last one ends when the job finishes, and the loss is the progress since the last
checkpoint.
Running jobs are held against the limits of QOS and associations (GPUs, nodes, jobs) of policy=slurm, and of
`quotas` around another. Jobs of an exclusive partition of Slurm are alone on their machines. A job
runs only on machines of its partition.
A job that reaches its time limit ends there; real waits are those of the trace, and the numbers of `seen`
that are about all jobs follow from them.

Not in a run folder, and so not recounted: how an iteration's time divides into compute, communication and the
rest (only that the parts sum to the time run), the CPUs and memory that jobs use (only its means over time)
and need at best, and the questions to the network model. Jobs' models, users, virtual clusters and
ideal times are held against a trace that is a CSV of our own, ideal times against the rates, too; a line says
of how many jobs that cannot be done.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from auditing.accounts import Account
from auditing.findings import Findings
from auditing.inputs import (
    FAILURE_PARTS,
    NAMES,
    PARTS,
    SCHEDULER_NAMES,
    OlderRunError,
    RunFiles,
    capacity_events,
    maybe,
    read_run,
    to_ns,
)
from auditing.replay import TIERS, Replay, gauges
from auditing.summary import CAUSES_OF_JOBS, check_summary

COUNTS = {
    "starts": "starts",
    "preemptions": "preempted",
    "evictions": "evicted",
    "migrations": "migrate",
    "resizes": "resize",
}
SETTLED_NS = 6  # parts of a span are rounded down, one by one


def audit(folder: Path) -> Findings:
    """Recount one run folder."""
    run = read_run(folder)
    findings = Findings(run.grain_ns)
    for job, rows in run.jobs["job_id"].value_counts(sort=False).items():
        findings.hold("jobs.parquet: one row per job", rows == 1, "stands {} times", rows, job=str(job))
    if findings.faults:
        return findings
    replay = Replay(run, findings)
    replay.run()
    one_type = len({machine.gpu_type for machine in run.machines}) == 1
    performance = run.config["performance"]
    own_speed = one_type and run.config["workload"].get("measured_on") == "cluster"
    own_speed = own_speed and not performance["tuned_jobs"]  # whose batches change with their workers
    untold = dict.fromkeys(("ideal_s", *NAMES), 0)
    for row in run.jobs.to_dict("records"):
        account = replay.accounts[row["job_id"]]
        _check_job(row, account, replay.rates, findings)
        for name in (*NAMES, *(name for name in SCHEDULER_NAMES if name in row)):
            if name in account.asked.names:
                findings.same(
                    f"jobs.parquet: {name}", account.asked.names[name], row[name].strip(), job=account.name
                )
            else:
                untold[name] = untold.get(name, 0) + 1
        if not _check_ideal(row, account, replay.rates, own_speed, findings):
            untold["ideal_s"] += 1
    _check_timeline(run, replay, findings)
    _check_capacity_events(run, replay, findings)
    check_summary(run, replay, findings)
    if any(untold.values()):
        columns = ", ".join(f"{name} ({jobs} jobs)" for name, jobs in untold.items() if jobs)
        findings.unknown.append(f"{columns} of jobs.parquet: neither a trace nor rates lead to them")
    if not replay.rates:
        findings.unknown.append("iterations and lost time: run with output.rates=true")
    if any(account.asked.counts is None for account in replay.accounts.values()):
        findings.unknown.append(
            "bounds of elastic and fungible jobs, and jobs' own delays, that the trace gives"
        )
    return findings


def _check_job(row: dict[Any, Any], account: Account, rates: bool, findings: Findings) -> None:
    name, steps = account.name, account.steps + 1
    jct_ns = None if account.finish_ns is None else account.finish_ns - account.submit_ns
    times = {
        "first_start_s": account.first_start_ns,
        "finish_s": account.finish_ns,
        "jct_s": jct_ns,
        "queueing_s": account.queueing_ns,
        **{f"{tier}_tier_s": time_ns for tier, time_ns in zip(TIERS, account.tier_ns, strict=True)},
        **({"lost_s": account.lost_ns} if rates and account.asked.delays_ns is not None else {}),
    }
    if account.asked.delays_ns is not None:
        times |= {"running_s": account.running_ns, "overhead_s": account.overhead_ns}
    for column, time_ns in times.items():
        slack_ns = _first_shorter_ns(row, account) if column == "lost_s" else 0
        check = f"jobs.parquet: {column}"
        findings.same_time(check, time_ns, maybe(row[column]), job=name, steps=steps, slack_ns=slack_ns)
    gpu_steps = steps * max(account.gpus_held, default=1)
    findings.same_time(
        "jobs.parquet: gpu_held_s", account.held_gpu_ns, row["gpu_held_s"], job=name, steps=gpu_steps
    )
    waited_ns = account.asked.waited_ns
    if waited_ns is not None and "seen_queueing_s" in row:
        seen_ns, column = waited_ns if waited_ns >= 0 else None, "seen_queueing_s"
        findings.same_time(f"jobs.parquet: {column}", seen_ns, maybe(row[column]), job=name)
    for column, kind in COUNTS.items():
        findings.same(f"jobs.parquet: {column}", account.counts.get(kind, 0), int(row[column]), job=name)
    if "cpus_held" in row and account.held_ns and not findings.grain_ns:
        for column, held in (("cpus_held", account.held_cpu_ns), ("memory_bytes_held", account.held_byte_ns)):
            findings.same(f"jobs.parquet: {column}", held / account.held_ns, row[column], job=name)
    running_ns = to_ns(row["running_s"])
    parts_ns = sum(to_ns(row.get(part, 0)) for part in (*PARTS, *FAILURE_PARTS))
    findings.same_time(
        "parts of the iterations sum to the time run", parts_ns, row["running_s"], job=name, steps=8
    )
    if jct_ns is not None:
        sums_ns = to_ns(row["queueing_s"]) + running_ns + to_ns(row["overhead_s"])
        check = "completion = queueing + running + overheads"
        findings.same_time(check, sums_ns, row["jct_s"], job=name, steps=steps)
    if rates and account.asked.delays_ns is not None:
        _check_iterations(row, account, findings)
        _check_causes(row, account, gpu_steps, findings)


def _check_causes(row: dict[Any, Any], account: Account, steps: int, findings: Findings) -> None:
    """Hold the GPU time of a job by cause, in runs that have it."""
    for cause in CAUSES_OF_JOBS if "failures" in row else ():
        check, ours_ns = f"jobs.parquet: {cause}_gpu_s", account.gpu_ns[cause]
        slack_ns = _first_shorter_ns(row, account) * max(account.gpus_held, default=0)
        findings.same_time(
            check, ours_ns, row[f"{cause}_gpu_s"], job=account.name, steps=steps, slack_ns=slack_ns
        )
    if "failures" in row:
        findings.same("jobs.parquet: failures", account.failures, int(row["failures"]), job=account.name)


def _check_iterations(row: dict[Any, Any], account: Account, findings: Findings) -> None:
    """Hold the iterations done by the rates against those written and those asked for."""
    name, iterations, asked = account.name, int(row["iterations"]), account.asked
    slack_ns = findings.grain_ns * account.steps + _first_shorter_ns(row, account)
    near = (
        account.done == iterations or slack_ns >= (abs(account.done - iterations) - 1) * account.iteration_ns
    )
    good, text = near if slack_ns else account.done == iterations, "recounted {}, written {}"
    findings.hold("iterations done, by the rates", good, text, account.done, iterations, job=name)
    if account.finish_ns is None:
        return
    if account.timed_out or account.cancelled:
        good, check = iterations < (asked.iterations or iterations + 1), "a job that ends early is not done"
        findings.hold(check, good, "has done {}", iterations, job=name)
        return
    ahead_ns = (account.done - iterations + 1) * account.iteration_ns - account.left_ns
    good, text = abs(ahead_ns) <= slack_ns, "finishes {} ns after its last iteration"
    findings.hold("the last iteration ends as the job finishes", good, text, ahead_ns, job=name)
    if asked.iterations is not None:
        findings.same("iterations done = iterations asked", iterations, asked.iterations, job=name)


def _first_shorter_ns(row: dict[Any, Any], account: Account) -> int:
    """Return the most by which the first iteration may be shorter, so that an observed run time is exact."""
    iterations, ideal_ns = int(row["iterations"]), to_ns(row["ideal_s"])
    if not account.asked.observed or not ideal_ns:
        return 0
    slowest_ns = max((span.iteration_ns for span in account.spans), default=account.iteration_ns)
    return min(
        slowest_ns, int(iterations * (2 + slowest_ns * iterations / ideal_ns)) + 1
    )  # parts are rounded


def _check_ideal(
    row: dict[Any, Any], account: Account, rates: bool, own_speed: bool, findings: Findings
) -> bool:
    """Hold the ideal time of a finished job against its compute time and the trace; return whether it could.

    The run folder gives the work asked for as ideal time; the compute time of a job that lost nothing, and
    always held what it asked for, is that, but for rounding. Our own CSV says the same once more; it is
    an upper bound if its times include communication.
    """
    name, asked = account.name, account.asked
    if account.finish_ns is None or not own_speed:
        return False
    computed = (
        rates
        and asked.delays_ns is not None
        and not account.lost_ns
        and not (account.timed_out or account.cancelled)
    )
    computed = computed and list(account.gpus_held) == [asked.gpus] and asked.gpus > 0
    if computed:
        off_ns = to_ns(row["compute_s"]) - to_ns(row["ideal_s"])
        slack_ns = (SETTLED_NS + findings.grain_ns) * account.steps + _first_shorter_ns(row, account)
        good = abs(off_ns) <= slack_ns
        text = "computes {} ns longer than asked"
        findings.hold("compute time = iterations asked x compute time of one", good, text, off_ns, job=name)
    if asked.work_ns is not None and not (account.timed_out or account.cancelled):
        more_ns = to_ns(row["ideal_s"]) - asked.work_ns
        good = (more_ns if asked.observed else abs(more_ns)) <= int(row["iterations"])
        text = "ideal time {} s, {} s in the trace"
        findings.hold("ideal time as in the trace", good, text, row["ideal_s"], asked.work_ns / 1e9, job=name)
    return computed or asked.work_ns is not None


def _check_timeline(run: RunFiles, replay: Replay, findings: Findings) -> None:
    rows = list(replay.rows)
    if rows[-1][0] < replay.end_ns:
        rows.append((replay.end_ns, *rows[-1][1:]))
    written = gauges(run.timeline)
    if findings.grain_ns:  # instants that are 1 ns apart may be written with the same seconds
        rows, written = _distinguished(rows), _distinguished(written)
    check = "timeline.parquet: time, busy GPUs, capacity, waiting and running jobs"
    findings.same(f"{check}, rows", len(rows), len(written))
    for ours, theirs in zip(rows, written, strict=False):
        good = ours[1:] == theirs[1:] and abs(ours[0] - theirs[0]) <= findings.grain_ns
        values = ours[0] / 1e9, ours[1:], theirs
        if not findings.hold(check, good, "at {} s: recounted {}, written {}", *values):
            break
    busy_ns = sum(row[1] * (later[0] - row[0]) for row, later in pairwise(written))
    held_ns = sum(account.alone_gpu_ns for account in replay.accounts.values()) + replay.group_gpu_ns
    check = "integral of busy GPUs = GPU time of groups and jobs that share with none, in ns"
    if not findings.grain_ns:
        findings.same(check, held_ns, busy_ns)
        findings.same(check, replay.busy_gpu_ns, busy_ns)


def _distinguished(rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the last row of each time, without those that change nothing but for the very last."""
    last = list({row[0]: row for row in rows}.values())
    return [row for i, row in enumerate(last) if i in (0, len(last) - 1) or row[1:] != last[i - 1][1:]]


def _check_capacity_events(run: RunFiles, replay: Replay, findings: Findings) -> None:
    """Compare the file of capacity events with the events of the run."""
    file = capacity_events(run.config)
    if file is None:
        return
    wanted = []
    for row in file.to_dict("records"):
        at = to_ns(float(row["time_s"]))
        wanted.append((at, row["kind"], row["machine"]))
    events = run.events[run.events["kind"].isin(["fail", "join", "leave"])]
    happened = sorted(zip(map(to_ns, events["time_s"]), events["kind"], events["allocation"], strict=True))
    due = sorted(event for event in wanted if event[0] <= replay.end_ns)
    for ours, theirs in zip(due, happened, strict=False):
        findings.same("capacity events as in their file", ours, theirs)
    late = [event for event in due[len(happened) :] if event[0] < replay.end_ns]
    findings.same("capacity events as in their file", [], late + happened[len(due) :])


def run_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the finished runs at or below some folders."""
    findings = []
    for folder in folders:
        for path in sorted(folder.rglob("summary.json")):
            if not any(part.startswith(".") for part in path.relative_to(folder).parts):
                findings.append(path.parent)
    return findings


def main(argv: Sequence[str] | None = None) -> int:
    """Audit all runs and print the findings; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="a run, or a folder of runs")
    folders = run_folders(parser.parse_args(argv).folders)
    if not folders:
        print("no finished run: no summary.json there or below", file=sys.stderr)
        return 2
    wrong = older = 0
    for folder in folders:
        try:
            findings = audit(folder)
        except OlderRunError as error:
            print(f"{folder}\n  NOT AUDITED: {error}")
            older += 1
            continue
        except (OSError, KeyError, ValueError) as error:
            print(f"{folder}\n  WRONG: it cannot be read: {type(error).__name__}: {error}")
            wrong += 1
            continue
        print("\n".join([str(folder), *findings.lines()]))
        wrong += bool(findings.faults)
    print(f"{len(folders)} runs, {wrong} of them with faults" + f", {older} not audited" * bool(older))
    return 1 if wrong else 2 if older else 0


if __name__ == "__main__":
    sys.exit(main())
