"""A run as a trace that https://ui.perfetto.dev and chrome://tracing open: the jobs on each GPU over time.

Format: "Trace Event Format", JSON object form (Google),
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: complete events (`"ph": "X"`)
with `ts` and `dur` in microseconds, counters (`"C"`) and metadata (`"M"`). A machine is a process and each of
its GPUs a thread, so complete events of a thread never overlap; process 0 is the cluster with its counters.
"""

import heapq
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from artist.results.compare import Comparison
from artist.results.digest import TIMELINE
from artist.results.occupancy import Stays, read_stays
from artist.results.run import Run

US_PER_S = 1e6
MAX_EVENTS = 300_000  # about 100 MB; viewers get slow beyond that
_CLUSTER = 0
_COUNTERS = {"busy_gpus": "busy GPUs", "queue_length": "queue length", "running_jobs": "running jobs"}
_TOLD = ("model", "user", "vc", "gpus", "submit_s", "jct_s", "queueing_s")

Event = dict[str, Any]


def traces(comparison: Comparison) -> dict[str, bytes]:
    """Return a trace of each row's first run: timeline.json, or numbered files where rows are several."""
    several = len(comparison.groups) > 1
    texts = {}
    for number, group in enumerate(comparison.groups, start=1):
        name = f"timeline-{number:02}.json" if several else "timeline.json"
        text, left_out = trace_text(group.runs[0])
        texts[name] = text.encode()
        if left_out:
            print(f"{name} ends early: {left_out} later stays of jobs are left out", file=sys.stderr)
    return texts


def trace_text(run: Run, most: int = MAX_EVENTS) -> tuple[str, int]:
    """Return the trace of a run as JSON, and how many stays of jobs were left out because they are too many.

    Parameters
    ----------
    most
        Complete events to write; those that begin first are.
    """
    stays = read_stays(run)
    events = [*_names(stays), *_counters(run)]
    left_out = 0
    for number, slots in enumerate(_slots(stays)):
        if most < len(slots):
            left_out = len(stays.gpus) - number
            break
        most -= len(slots)
        events += _complete(stays, number, slots)
    _tell(run, stays, events)
    for event in events:
        event.pop("job", None)
    trace = {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"program": "artist-sim", "policy": run.summary["policy"], "seed": run.summary["seed"]},
    }
    lines = json.dumps(trace, allow_nan=False, separators=(",", ":")).replace('},{"name"', '},\n{"name"')
    return lines + "\n", left_out


def _names(stays: Stays) -> Iterator[Event]:
    yield _meta("process_name", _CLUSTER, {"name": "cluster"})
    yield _meta("process_sort_index", _CLUSTER, {"sort_index": -1})
    for machine, name in enumerate(stays.machines):
        yield _meta("process_name", machine + 1, {"name": name})
        yield _meta("process_sort_index", machine + 1, {"sort_index": machine})


def _meta(name: str, process: int, args: Event) -> Event:
    return {"name": name, "ph": "M", "pid": process, "tid": 0, "args": args}


def _counters(run: Run) -> Iterator[Event]:
    """Yield a counter for each change of a gauge."""
    times, *values = run.numbers("timeline", ["time_s", *TIMELINE])
    for gauge, value in zip(TIMELINE, values, strict=True):
        name = _COUNTERS.get(gauge)
        if name is None or not len(times):
            continue
        changed = np.flatnonzero(np.diff(value, prepend=np.nan) != 0)
        for at in changed.tolist():
            ts = float(times[at]) * US_PER_S
            args = {"value": int(value[at])}
            yield {"name": name, "ph": "C", "ts": ts, "pid": _CLUSTER, "tid": 0, "args": args}


def _slots(stays: Stays) -> Iterator[list[int]]:
    """Yield the GPUs of each stay: the lowest free ones of the machine, and more where GPUs are shared."""
    free: list[list[int]] = [[] for _ in stays.machines]
    known = [0] * len(stays.machines)
    busy: list[list[tuple[float, list[int]]]] = [[] for _ in stays.machines]
    columns = zip(
        stays.machine.tolist(), stays.gpus.tolist(), stays.start_s.tolist(), stays.end_s.tolist(), strict=True
    )
    for machine, gpus, start_s, end_s in columns:
        while busy[machine] and busy[machine][0][0] <= start_s:
            for slot in heapq.heappop(busy[machine])[1]:
                heapq.heappush(free[machine], slot)
        slots = [heapq.heappop(free[machine]) for _ in range(min(gpus, len(free[machine])))]
        fresh = gpus - len(slots)
        slots += range(known[machine], known[machine] + fresh)
        known[machine] += fresh
        heapq.heappush(busy[machine], (end_s, slots))
        yield slots


def _complete(stays: Stays, number: int, slots: list[int]) -> Iterator[Event]:
    start_s, end_s = float(stays.start_s[number]), float(stays.end_s[number])
    ts = start_s * US_PER_S
    for slot in slots:
        yield {
            "name": stays.jobs[stays.job[number]],
            "cat": "job",
            "ph": "X",
            "ts": ts,
            "dur": end_s * US_PER_S - ts,
            "pid": int(stays.machine[number]) + 1,
            "tid": slot,
            "args": {"began": stays.how[number], "ended": stays.ended[number] or "still runs"},
            "job": int(stays.job[number]),
        }


def _tell(run: Run, stays: Stays, events: list[Event]) -> None:
    """Add the facts on a job to the arguments of its events."""
    table = run.jobs
    row_of = {name: row for row, name in enumerate(table["job_id"].astype(str))}
    columns = {name: table[name].tolist() for name in _TOLD if name in table.columns}
    rows = [row_of.get(name) for name in stays.jobs]
    for event in events:
        row = rows[event["job"]] if "job" in event else None
        if row is not None:
            facts = ((name, column[row]) for name, column in columns.items())
            # Not a number: the job has not finished; an empty text: the trace names nobody.
            event["args"] |= {name: value for name, value in facts if value == value and value != ""}
