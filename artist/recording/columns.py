"""Arrow tables of a run, with names and seconds. Pure.

Tables are yielded in pieces, at least one, so that writing a long run does not double its memory.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from artist.core.arrays import Bools, Ints
from artist.core.cluster import Allocation, Cluster, Slice
from artist.core.compact_jobs import array_of, field_of, of_templates, templates_of
from artist.core.job import JobSpec
from artist.core.result import JOB_COLUMNS, RunResult
from artist.recording import arrow
from artist.recording.names import SCHEDULER_TEXTS
from artist.recording.recorder import (
    ASSIGN,
    CHECK,
    EVENT_TYPES,
    FAIL,
    MIGRATE,
    PENDING,
    REPRICE,
    SLOW,
    SPARE,
    START,
    WAKE,
    Recorder,
)
from artist.recording.topic import Table
from artist.units import NS_PER_S

PIECE_ROWS = 1 << 16
_AT_ONCE = 1 << 13

_GAUGES = ("busy_gpus", "capacity_gpus", "queue_length", "running_jobs")
# For audits, as groups' GPUs are counted once there; for the summary.
_NOT_WRITTEN = ("gpu_held_alone_ns", "gpu_compute_ns", "gpu_exposed_comm_ns")
_ONLY_WITH = ("slowed_ns", "checkpoint_ns")  # written if some job has any
_UNKNOWN = -1  # in RunResult's columns: never started, not finished


def job_tables(
    result: RunResult,
    rows: int = PIECE_ROWS,
    more: Mapping[str, npt.NDArray[np.float64] | Ints] | None = None,
) -> Iterator[Any]:
    """Yield jobs.parquet: one row per job, in the order of the result.

    Columns are those of JOB_COLUMNS, times in seconds, and some more. Values that an unfinished or never
    started job lacks are null.
    """
    texts = ("job_id", "model", "user", "vc", *scheduler_texts(result.jobs))
    names = [name for name in JOB_COLUMNS if name not in _ONLY_WITH or result.columns[name].any()]
    for part in _parts(len(result.jobs), rows):
        columns = {name: result.columns[name][part] for name in names}
        others = {name: column[part] for name, column in (more or {}).items()}
        yield pa.table(
            _jobs(result.jobs, part, columns, texts)
            | {name: arrow.numbers(column, np.isnan(column)) for name, column in others.items()}
        )


def timeline_tables(recorder: Recorder, end_ns: int, rows: int = PIECE_ROWS) -> Iterator[Any]:
    """Yield timeline.parquet: step functions, one row per change and one more for the end of the run."""
    time_ns, *values = recorder.gauges()
    last, count = len(time_ns) - 1, len(time_ns) + int(time_ns[-1] < end_ns)
    for part in _parts(count, rows):
        at = np.arange(part.start, min(part.stop, count))
        known = np.minimum(at, last)
        columns = zip(_GAUGES, values, strict=True)
        gauges = {name: arrow.numbers(column[known].astype(np.int64)) for name, column in columns}
        ends = np.where(at > last, end_ns, time_ns[known])
        yield pa.table({"time_s": _seconds(ends), **gauges})


def topic_tables(table: Table, rows: int = PIECE_ROWS) -> Iterator[Any]:
    """Yield a table of a topic."""
    times_ns, columns = table
    if times_ns is None:
        arrays = (arrow.numbers(c) if isinstance(c, np.ndarray) else arrow.texts(c) for c in columns.values())
        yield pa.table(dict(zip(columns, arrays, strict=True)))
        return
    for part in _parts(len(times_ns), rows):
        named = {name: arrow.numbers(column[part]) for name, column in columns.items()}
        yield pa.table({"time_s": _seconds(times_ns[part]), **named})


def scheduler_texts(jobs: Sequence[JobSpec]) -> list[str]:
    """Return the columns of the site's scheduler, `SCHEDULER_TEXTS`, that some job has."""
    return [name for name in SCHEDULER_TEXTS if any(getattr(spec, name) for spec in templates_of(jobs))]


def elastic_columns(jobs: Sequence[JobSpec]) -> dict[str, Ints]:
    """Return the least and the most GPUs that each job takes, shape (n_jobs,), if any job is elastic."""
    if not any(spec.demand.elastic for spec in templates_of(jobs)):
        return {}
    return {
        "min_gpus": of_templates(jobs, lambda spec: spec.demand.targets()[0]),
        "max_gpus": of_templates(jobs, lambda spec: spec.demand.max_gpus or spec.demand.gpus),
    }


def end_columns(result: RunResult) -> dict[str, Ints]:
    """Return 1 for each job that reached its limit, or was cancelled, before it was done, if any was.

    Of shape (n_jobs,).
    """
    columns = result.columns
    short = columns["iterations"] < array_of(result.jobs, "iterations")
    cancelled = np.isin(np.arange(len(short)), result.cancelled)
    timed_out = short & (columns["finish_ns"] != _UNKNOWN) & ~cancelled
    ends = {"timed_out": timed_out, "cancelled": cancelled}
    return {name: of_jobs.astype(np.int64) for name, of_jobs in ends.items() if of_jobs.any()}


def event_tables(recorder: Recorder, rows: int = PIECE_ROWS) -> Iterator[Any]:
    """Yield events.parquet: one row an event.

    `group` is the group in which a job shares GPUs, `group_gpus` the GPUs that it owns, once for all its
    members: busy GPUs are those of the allocations without a group and those of the groups. `cpus` and
    `memory_bytes` are held on each machine of the job's `allocation`, in that order: `14+7`.
    An event of a machine has the machine's name as its `allocation`, and as its `reason` the new pool if it
    is an `assign`, the cause if it is a `fail`, or a drain (`leave`, `left`), at random, and cause and factor
    if it is `slow`. A `pending` job has the reason for which it waits from then on, empty for none.
    """
    names = _Names(recorder)
    time_ns, event_type, subject, detail = recorder.events()
    for part in _parts(len(event_type), rows):
        yield _events(names, part.start, time_ns[part], event_type[part], subject[part], detail[part])


def allocation_text(allocation: Allocation | tuple[Slice, ...], cluster: Cluster) -> str:
    """Return an allocation as people read it: `m3:8+m4:8 g=NAME cap=0.5`, defaults left out."""
    slices = allocation.slices if isinstance(allocation, Allocation) else allocation
    text = _gpus_text(((part.machine, part.gpus) for part in slices), cluster)
    if isinstance(allocation, Allocation):
        if allocation.group is not None:
            text += f" g={allocation.group.name}"
            text += " opportunistic" if allocation.opportunistic else ""
        if allocation.bandwidth_cap != 1.0:
            text += f" cap={allocation.bandwidth_cap!r}"
    return text


def _gpus_text(gpus: Iterable[tuple[int, int]], cluster: Cluster) -> str:
    """Return GPUs by machine as `m3:8+m4:8`."""
    return "+".join(f"{cluster.machines[machine].name}:{count}" for machine, count in gpus)


class _Names:
    """Texts by the numbers that a recorder uses for them."""

    def __init__(self, recorder: Recorder) -> None:
        cluster, allocations = recorder.cluster, recorder.allocations
        groups = [
            allocation.group if isinstance(allocation, Allocation) else None for allocation in allocations
        ]
        slices = [
            allocation.slices if isinstance(allocation, Allocation) else allocation
            for allocation in allocations
        ]
        self.groups = _texts(None if group is None else group.name for group in groups)
        self.group_gpus = _texts(
            None if group is None else _gpus_text(group.gpus, cluster) for group in groups
        )
        self.depths = np.array(
            [*(-1 if group is None else group.depth for group in groups), -1], dtype=np.int64
        )
        self.cpus = _texts("+".join([str(s.cpus) for s in part]) for part in slices)
        self.memory = _texts("+".join([str(s.memory_bytes) for s in part]) for part in slices)
        places = (allocation_text(allocation, cluster) for allocation in allocations)
        self.places = _texts(chain(places, (machine.name for machine in cluster.machines)))
        self.first_machine = len(allocations)
        self.first_reason = len(EVENT_TYPES)
        self.jobs = _texts(field_of(recorder.jobs, "job_id"))
        self.event_types = arrow.texts(event_type for event_type, _ in EVENT_TYPES)
        self.reasons = arrow.texts(chain((reason for _, reason in EVENT_TYPES), recorder.reasons))


def _texts(values: Iterable[str | None]) -> Any:
    """Return texts as one column, few of them at a time as Python's."""
    left, pieces = iter(values), [arrow.texts([])]
    while some := list(islice(left, _AT_ONCE)):
        pieces.append(arrow.texts(some))
    return pa.concat_arrays(pieces)


def _parts(n_rows: int, rows: int) -> Iterator[slice]:
    return (slice(start, start + rows) for start in range(0, max(1, n_rows), rows))


def _jobs(
    specs: Sequence[JobSpec], part: slice, columns: Mapping[str, Ints], texts: Sequence[str]
) -> dict[str, Any]:
    table = {name: _texts(field_of(specs, name, part)) for name in texts}
    table["gpus"] = arrow.numbers(
        np.array([demand.gpus for demand in field_of(specs, "demand", part)], dtype=np.int64)
    )
    for name, values in _derived(specs, part, columns).items():
        if name.endswith("_ns"):
            table[f"{name.removesuffix('_ns')}_s"] = _seconds(values, values == _UNKNOWN)
        else:
            table[name] = arrow.numbers(values)
    return table


def _derived(specs: Sequence[JobSpec], part: slice, columns: Mapping[str, Ints]) -> dict[str, Ints]:
    """Return the columns to write, with completion and ideal time at their places."""
    derived: dict[str, Ints] = {}
    for name in (name for name in columns if name not in _NOT_WRITTEN):
        derived[name] = columns[name]
        if name == "finish_ns":
            finish = columns[name]
            derived["jct_ns"] = np.where(finish == _UNKNOWN, _UNKNOWN, finish - columns["submit_ns"])
        elif name == "overhead_ns":
            iterations, compute_ns = (array_of(specs, one)[part] for one in ("iterations", "compute_ns"))
            derived["ideal_ns"] = iterations * compute_ns
    return derived


def _events(
    names: _Names,
    first: int,
    time_ns: Ints,
    event_type: npt.NDArray[np.int8],
    subject: npt.NDArray[np.int32],
    detail: Ints,
) -> Any:
    job = subject.astype(np.int64)
    of_machine = (event_type >= FAIL) & (event_type <= ASSIGN) | (event_type >= SLOW) & (event_type <= SPARE)
    of_machine |= event_type == CHECK
    noted = (of_machine | (event_type == PENDING)) & (detail >= 0)
    placing = (event_type >= START) & (event_type <= MIGRATE)
    place = np.where(of_machine, names.first_machine + job, detail)
    reason = np.where(noted, names.first_reason + detail, event_type)
    depth = names.depths[np.where(placing, place, -1)]
    return pa.table(
        {
            "time_s": _seconds(time_ns),
            "seq": arrow.numbers(np.arange(first, first + len(event_type), dtype=np.int64)),
            "kind": arrow.taken(names.event_types, event_type),
            "job_id": arrow.taken(names.jobs, job, of_machine | (event_type == WAKE)),
            "reason": arrow.taken(names.reasons, reason),
            "allocation": arrow.taken(names.places, place, ~(of_machine | placing)),
            "group": arrow.taken(names.groups, place, ~placing),
            "group_gpus": arrow.taken(names.group_gpus, place, ~placing),
            "group_depth": arrow.numbers(depth, depth < 0),
            "cpus": arrow.taken(names.cpus, place, ~placing),
            "memory_bytes": arrow.taken(names.memory, place, ~placing),
            "iteration_s": _seconds(detail, event_type != REPRICE),
        }
    )


def _seconds(time_ns: Ints, missing: Bools | None = None) -> Any:
    return arrow.numbers(np.asarray(time_ns / float(NS_PER_S), dtype=np.float64), missing)
