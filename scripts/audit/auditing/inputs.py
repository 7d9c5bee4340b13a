"""Files of a run folder, read with pandas and YAML alone."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import ceil, inf, sqrt, ulp
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

EXACT_NS = 2**53
DELAYS = ("start", "resume", "restart", "migrate", "resize", "retune")
NAMES = ("model", "user", "vc")
SCHEDULER_NAMES = ("partition", "account", "qos")  # columns that only some runs have
EVENT_CELLS = ("kind", "job_id", "reason", "allocation", "group", "group_gpus", "group_depth", "cpus",
               "memory_bytes", "iteration_s")  # fmt: skip
PARTS = ("compute_s", "input_stall_s", "interference_s", "exposed_comm_s", "contention_s", "sharing_s")
FAILURE_PARTS = ("slowed_s", "checkpoint_s")
_COLUMNS = {
    "jobs": (*NAMES, *PARTS, "job_id", "submit_s", "gpus", "iterations", "ideal_s", "lost_s", "resizes"),
    "events": (*EVENT_CELLS, "time_s"),
    "timeline": ("time_s", "busy_gpus", "capacity_gpus", "queue_length", "running_jobs"),
}
_PUBLISHED = {"llama3": 1000 * 419 / (2048 * 54), "rsc1": 6.5, "rsc2": 2.34}  # per 1000 machine-days
_CSV = "artist.workload.readers.canonical.CanonicalCsv"
_MAPPED = "artist.workload.readers.columns."
_TELLS_BUSY = (_CSV, "artist.workload.readers.muri.", "artist.workload.staged.", "artist.workload.coda.")


class OlderRunError(ValueError):
    """A run folder without something that the auditor needs."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine of the configuration."""

    name: str
    rack: int
    gpus: int
    cpus: int
    memory_bytes: int
    gpu_type: str
    pool: str = ""
    present: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """Facts of a job in the trace and the configuration; None where the run folder does not have them.

    `limit_ns` is 0 for a job that no limit ends; `observed` is True if `work_ns` includes communication;
    `partition` is the pool on whose machines alone the job runs.
    """

    gpus: int
    counts: range | None
    max_machines: int = 0
    gpu_types: tuple[str, ...] = ()
    elastic: bool | None = False
    utilisation: float | None = None
    delays_ns: Mapping[str, int] | None = field(default_factory=dict)
    on_stop: str | None = None
    iterations: int | None = None
    work_ns: int | None = None
    observed: bool = False
    waited_ns: int | None = None
    limit_ns: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    saves: bool = False
    partition: str | None = None
    unit: int = 1
    segment: int = 1


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of a run folder, with times still in seconds."""

    config: dict[str, Any]
    summary: dict[str, Any]
    jobs: pd.DataFrame
    events: pd.DataFrame
    timeline: pd.DataFrame
    resources: pd.DataFrame | None
    machines: list[Machine]
    trace: pd.DataFrame | None
    costs: pd.DataFrame | None

    @property
    def grain_ns(self) -> int:
        """By how much a time of the run may be off when it is read (`Findings`)."""
        end_s = float(self.timeline["time_s"].max())
        return 0 if end_s * 1e9 < EXACT_NS else ceil(ulp(end_s) * 1e9)


def read_run(folder: Path) -> RunFiles:
    """Read a run folder, and the trace if it is one of our own CSV files that is still there."""
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    jobs, events, timeline = (
        pd.read_parquet(folder / f"{n}.parquet") for n in ("jobs", "events", "timeline")
    )
    for name, table in (("jobs", jobs), ("events", events), ("timeline", timeline)):
        if lacks := [column for column in _COLUMNS[name] if column not in table]:
            missing = f"{name}.parquet has no column {', '.join(lacks)}"
            raise OlderRunError(f"made by an older version ({missing}): run it again")
    resources = folder / "resources.parquet"
    workload, costs = config["workload"], config["overheads"].get("table")
    path = Path(str(workload.get("path")))
    has_trace = workload["_target_"] == _CSV and path.is_file()
    return RunFiles(
        config,
        json.loads((folder / "summary.json").read_text(encoding="utf-8")),
        jobs,
        events,
        timeline,
        pd.read_parquet(resources) if resources.is_file() else None,
        _without_spares(_machines(config, int(timeline["capacity_gpus"].iloc[0])), events),
        pd.read_csv(path, dtype=str, keep_default_na=False).set_index("job_id") if has_trace else None,
        pd.read_csv(costs) if costs else None,
    )


def to_ns(seconds: float) -> int:
    """Return whole nanoseconds; exactly, since a product of floats may be off by one from 2^52 ns on."""
    return round(Fraction(float(seconds)) * 10**9)


def maybe(value: float) -> float | None:
    """Return a number, or None for a cell without one."""
    return None if pd.isna(value) else float(value)


def capacity_events(config: dict[str, Any]) -> pd.DataFrame | None:
    """Return the file of capacity events as texts, None if there is none or it is gone."""
    path = config["cluster"].get("events")
    return pd.read_csv(path, dtype=str, keep_default_na=False) if path and Path(path).is_file() else None


# --- the machines


def _machines(config: dict[str, Any], capacity_gpus: int) -> list[Machine]:
    """Return the machines: `machines_per_rack` to a rack, then those that join later, with a new name.

    How many the most GPUs in use make is not recounted: as many as the capacity at the beginning.
    """
    cluster, topology = config["cluster"], config["topology"]
    per_rack = cluster["machines_per_rack"] or topology["machines_per_rack"]
    default = cluster["machine_type"] or topology["default_machine_type"]
    groups = cluster["machines"]
    if cluster.get("shares"):
        if cluster["shares"] != "largest":
            raise OlderRunError("its machines follow a file by date, which is not recounted")
        count = capacity_gpus // max(1, topology["machine_types"][default]["gpus"])
        groups = [{"type": default, "count": count}]
    elif not isinstance(groups, list):
        groups = [{"type": default, "count": groups or (cluster["racks"] or 2) * per_rack}]
    if not cluster.get("shares"):
        groups = _resized(groups, cluster.get("scale") or 1, cluster.get("more") or 0)
    machines = _of_groups(groups, per_rack, topology["machine_types"])
    rows = capacity_events(config)
    known, last_rack = {machine.name for machine in machines}, machines[-1].rack
    for row in [] if rows is None else rows.to_dict("records"):
        if row["machine"] not in known:
            known.add(row["machine"])
            kind = topology["machine_types"][row.get("type") or default]
            machines.append(_machine(row["machine"], int(row.get("rack") or last_rack), kind, present=False))
    return machines


def _of_groups(groups: list[dict[str, Any]], per_rack: int, types: Mapping[str, Any]) -> list[Machine]:
    """Return the machines of groups; more than a group names are named for the last: n8+1, ..."""
    machines = list[Machine]()
    for group in groups:
        names, rack = group.get("names") or [], group.get("rack")
        for place in range(group["count"]):
            number, beyond = len(machines), place - len(names) + 1
            more = f"{names[-1]}+{beyond}" if names else f"m{number}"
            on = number // per_rack if rack is None else rack
            name = names[place] if beyond <= 0 else more
            machines.append(_machine(name, on, types[group["type"]], group.get("pool", "")))
    return machines


def _without_spares(machines: list[Machine], events: pd.DataFrame) -> list[Machine]:
    """Return the machines, of which those that are spare when the run begins are absent."""
    spares = set(events[(events["kind"] == "spare") & (events["time_s"] == 0)]["allocation"])
    return [replace(machine, present=machine.present and machine.name not in spares) for machine in machines]


def _resized(groups: list[dict[str, Any]], scale: float, more: Any) -> list[dict[str, Any]]:
    """Return the groups, scaled, and with more machines: by pool, or shared by largest remainder."""
    counts = [max(1, int(group["count"] * scale + 0.5)) for group in groups]
    changed = list(counts)
    for pool, change in (more if isinstance(more, dict) else {"": more}).items():
        rows = [row for row, group in enumerate(groups) if pool in ("", group.get("pool", ""))]
        exact = {row: Fraction(abs(change) * counts[row], sum(counts[row] for row in rows)) for row in rows}
        left = abs(change) - sum(int(part) for part in exact.values())
        extra = sorted(rows, key=lambda row: int(exact[row]) - exact[row])[:left]
        for row in rows:
            changed[row] += (int(exact[row]) + (row in extra)) * (1 if change > 0 else -1)
    return [group | {"count": count} for group, count in zip(groups, changed, strict=True)]


def _machine(name: str, rack: int, kind: dict[str, Any], pool: str = "", present: bool = True) -> Machine:
    memory = round(kind["memory_gib"] * 2**30)
    return Machine(name, rack, kind["gpus"], kind["cpus"], memory, str(kind["gpu_type"]), pool, present)


# --- the jobs


def asked(run: RunFiles) -> dict[str, Asked]:
    """Return the facts and the demand of each job, by its id."""
    source = run.config["workload"]["_target_"]
    rows = {} if run.trace is None else run.trace.to_dict("index")
    busy = 1.0 if _always_busy(run.config["workload"]) else None
    plenty = run.config["performance"].get("sensitivity") is None  # else times hold for a share of the CPUs
    jobs = {}
    for job, model, gpus in zip(run.jobs["job_id"], run.jobs["model"], run.jobs["gpus"], strict=True):
        constants = {kind: to_ns(run.config["overheads"][f"{kind}_s"]) for kind in DELAYS}
        if run.costs is not None:
            constants |= _measured(run.costs, model, gpus)
        on_stop = run.config["overheads"]["on_stop"]
        if not gpus:
            on_stop = run.config["overheads"].get("cpu_on_stop") or on_stop
        stated = rows.get(job, {}).get("on_stop") or (not gpus and run.config["overheads"].get("cpu_on_stop"))
        saves = not stated and run.config["overheads"].get("on_preemption") == "save"
        if job in rows:
            one = _of_row(rows[job], int(gpus), constants, on_stop, run.config["workload"])
            jobs[job] = replace(one, saves=saves) if plenty else replace(one, saves=saves, work_ns=None)
        elif source.startswith("artist.") and source != _CSV and not source.startswith(_MAPPED):
            jobs[job] = Asked(
                int(gpus),
                range(gpus, gpus + 1),
                utilisation=busy,
                delays_ns=constants,
                on_stop=on_stop,
                saves=saves,
            )
        else:
            jobs[job] = Asked(int(gpus), None, elastic=None, utilisation=busy, delays_ns=None)
    jobs |= {job: replace(jobs[job], partition=pool) for job, pool in _partitions(run).items()}
    jobs = dict(zip(jobs, map(partial(_in_units, run), map(rows.get, jobs), jobs.values()), strict=True))
    if run.config["estimates"].get("charge"):  # the delays of first runs are not in the run folder
        jobs = {job: replace(job_asked, delays_ns=None) for job, job_asked in jobs.items()}
    return jobs


def checkpoint_ns(run: RunFiles, gpus: int) -> float:
    """Return the time between periodic checkpoints of a job; if daly, from the failures that stop it."""
    every_s = run.config["overheads"]["checkpoint_every_s"]
    if every_s != "daly":
        return to_ns(every_s)
    per_day = failures_per_day(run, max(1, ceil(gpus / largest_machine(run))))
    if not per_day:
        return inf
    mean_s, write_s = 86400 / per_day, run.config["overheads"]["checkpoint_write_s"]
    ratio = write_s / (2 * mean_s)
    if ratio >= 1:
        return mean_s * 1e9
    return 1e9 * float(sqrt(2 * write_s * mean_s) * (1 + sqrt(ratio) / 3 + ratio / 9) - write_s)


def largest_machine(run: RunFiles) -> int:
    """Return the GPUs of the largest machine, at least 1."""
    return max(1, *(machine.gpus for machine in run.machines))


def failures_per_day(run: RunFiles, machines: int) -> float:
    """Return the rate at which random failures stop a job on some machines."""
    racks = ceil(machines / max(Counter(machine.rack for machine in run.machines).values()))
    units, per_day = {"machine": machines, "rack": racks, "cluster": 1}, 0.0
    failures = run.config["cluster"]["failures"]
    for cause in [failures] if isinstance(failures, str) else failures:
        if isinstance(cause, str):
            times, _, name = cause.rpartition("*")
            per_day += machines * float(times or 1) * _PUBLISHED[name.strip()] / 1000
        elif cause.get("slow") is None and not cause.get("drain"):
            lemons = cause.get("lemons") or {}
            factor = 1 + lemons.get("share", 0) * (lemons.get("times", 1) - 1)
            per_day += units[cause.get("scope", "machine")] * cause["per_1000_days"] / 1000 * factor
    return per_day


def _in_units(run: RunFiles, row: Mapping[Any, str] | None, job: Asked) -> Asked:
    """Return a job with its unit and segment: those of the trace, else of the settings where they divide."""
    if job.counts is None or not job.gpus:
        return job
    largest, workload = max(machine.gpus for machine in run.machines), run.config["workload"]
    sizes = [job.gpus, job.counts[0], job.counts[-1], job.counts.step if job.elastic else 0]

    def multiple_of(name: str, unit: int) -> int:
        known, setting = int((row or {}).get(name) or 1), workload.get(name, "none")
        multiple = {"none": 1, "machine": largest}.get(setting, setting)
        divides = not any(size % multiple for size in sizes) and multiple % unit == 0
        return int(multiple) if known == 1 and divides else known

    unit = multiple_of("unit", 1)
    return replace(job, unit=unit, segment=multiple_of("segment", unit))


def _partitions(run: RunFiles) -> dict[str, str]:
    """Return the pools on whose machines alone jobs run; empty for any."""
    cluster = run.config["cluster"]
    by = None if cluster.get("one_pool") else cluster.get("partition_by")
    return {} if by is None else dict(zip(run.jobs["job_id"], run.jobs[by], strict=True))


def _always_busy(workload: Mapping[str, Any]) -> bool:
    """Return whether a source lacks GPU utilisation: then GPUs are busy for all the compute time of a job."""
    source = workload["_target_"]
    if source.startswith(_MAPPED):
        told = (workload.get("columns") or {}, workload.get("constants") or {})
        return all(named.get("gpu_utilization") is None for named in told)
    return source.startswith("artist.") and not source.startswith(_TELLS_BUSY)


def _measured(costs: pd.DataFrame, model: str, gpus: int) -> dict[str, int]:
    rows = costs[(costs["model"] == model) & (costs["gpus"] == gpus)]
    cells = rows.iloc[-1].to_dict() if len(rows) else {}
    return {k: to_ns(cells[f"{k}_s"]) for k in DELAYS if pd.notna(cells.get(f"{k}_s"))}


def _of_row(
    row: Mapping[Any, str], gpus: int, delays: dict[str, int], on_stop: str, workload: Mapping[str, Any]
) -> Asked:
    def number(name: str, default: float = 0) -> float:
        return float(row[name]) if row.get(name, "").strip() else default

    least, most = int(number("min_gpus")), int(number("max_gpus"))
    counts = range(least, most + 1, int(number("step", 1))) if most else range(gpus, gpus + 1)
    columns = {
        kind: to_ns(number(f"{kind}_delay_s")) for kind in DELAYS if row.get(f"{kind}_delay_s", "").strip()
    }
    work_s = number("iterations") * number("compute_s") or number("duration_s")
    limits, limit_s = workload["limits"], number("limit_s")
    if not limit_s and limits["factor"] is not None:
        limit_s = limits["factor"] * work_s
        if limits["round_s"]:
            limit_s = ceil(limit_s / limits["round_s"]) * limits["round_s"]
    started = row.get("started_s", "").strip() != ""
    return Asked(
        gpus,
        None if number("fungible") else counts,
        int(number("max_machines")),
        tuple(part.strip() for part in row.get("gpu_types", "").split("|") if part.strip()),
        bool(most),
        number("gpu_utilization", 1),
        delays | columns,
        row.get("on_stop") or on_stop,
        int(number("iterations")) or None,
        None if row.get("measured_on") else to_ns(work_s),
        workload["durations"] == "observed",
        to_ns(number("started_s") - number("submit_s")) if started else None,
        to_ns(limit_s) if limits["enforced"] else 0,
        {
            name: row.get(name, "").strip()
            for name in (*NAMES, *SCHEDULER_NAMES)
            if name != "model" or row.get(name, "").strip()
        },
    )
