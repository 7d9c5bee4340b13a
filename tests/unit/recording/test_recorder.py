"""Recorder: events and gauges of the run on paper (see conftest), and every kind of event."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from artist.core.cluster import Allocation, Cluster, Group, Slice
from artist.core.events import (
    Arrival,
    Change,
    Event,
    Finish,
    Gauges,
    MachineEvent,
    Pending,
    Reprice,
    Start,
    Stop,
    Wake,
)
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.core.result import RunResult
from artist.recording.columns import allocation_text, event_tables, timeline_tables
from artist.recording.recorder import Recorder

S = 1_000_000_000


def _events(recorder: Recorder, rows: int = 1000) -> list[dict[str, Any]]:
    rows_read: list[dict[str, Any]] = pa.concat_tables(event_tables(recorder, rows)).to_pylist()
    return rows_read


def test_events_of_the_run_on_paper(recorder: Recorder) -> None:
    """Each event is one row in the order it was told; without rates no repricing among them."""
    rows = [(e["seq"], e["time_s"], e["kind"], e["job_id"], e["allocation"]) for e in _events(recorder)]
    assert rows == [
        (0, 0.0, "arrival", "a", None),
        (1, 0.0, "start", "a", "m0:2"),
        (2, 1.0, "arrival", "b", None),
        (3, 2.0, "arrival", "c", None),
        (4, 2.0, "start", "c", "m1:2"),
        (5, 6.0, "finish", "c", None),
        (6, 10.0, "finish", "a", None),
        (7, 10.0, "start", "b", "m0:2+m1:2"),
        (8, 22.5, "finish", "b", None),
    ]


def test_rates_add_iteration_times(
    jobs: list[JobSpec], cluster: Cluster, story: Sequence[tuple[int, list[Event], Gauges]]
) -> None:
    """With rates, each repricing is a row: a and c need 1 s, b 2 s + 0.5 s."""
    recorder = Recorder(jobs, cluster, rates=True)
    for instant in story:
        recorder.observe(*instant)
    rows = [(e["job_id"], e["iteration_s"]) for e in _events(recorder) if e["iteration_s"] is not None]
    assert rows == [("a", 1.0), ("c", 1.0), ("b", 2.5)]


def test_timeline_of_the_run_on_paper(recorder: Recorder, result: RunResult) -> None:
    """One row an instant, its last state; integral of busy GPUs = 0 + 2x2 + 4x4 + 2x4 + 4x12.5 = 78 GPU s."""
    table = pa.concat_tables(timeline_tables(recorder, result.end_ns, rows=4))
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        (0.0, 2, 4, 0, 1),
        (1.0, 2, 4, 1, 1),
        (2.0, 4, 4, 1, 2),
        (6.0, 2, 4, 1, 1),
        (10.0, 4, 4, 0, 1),
        (22.5, 0, 4, 0, 0),
    ]
    time, busy = table["time_s"].to_numpy(), table["busy_gpus"].to_numpy()
    assert (busy[:-1] * (time[1:] - time[:-1])).sum() == result.busy_gpu_ns / S


def test_timeline_runs_from_zero_to_the_end(jobs: list[JobSpec], cluster: Cluster) -> None:
    """A first event at 5 s and an end at 9 s leave no gap: idle from 0 s, the last state to 9 s."""
    recorder = Recorder(jobs, cluster)
    recorder.observe(5 * S, [Start(5 * S, 0, Allocation((Slice(0, 2),)), "start", 0)], Gauges(2, 4, 0, 1))
    recorder.observe(7 * S, [Wake(7 * S)], Gauges(2, 4, 0, 1))
    rows = [tuple(row.values()) for row in next(timeline_tables(recorder, 9 * S)).to_pylist()]
    assert rows == [(0.0, 0, 4, 0, 0), (5.0, 2, 4, 0, 1), (9.0, 2, 4, 0, 1)]


def test_every_kind_has_its_row(jobs: list[JobSpec], cluster: Cluster) -> None:
    """No kind of event is confused with another: kind, job, reason and allocation of each."""
    one = Allocation((Slice(1, 2),))
    events: list[Event] = [
        Arrival(0, 2),
        Start(0, 2, one, "start", 0),
        Start(0, 2, one, "resume", 0),
        Start(0, 2, one, "restart", 0),
        Change(0, 2, one, "retune", 0),
        Change(0, 2, one, "resize", 0),
        Change(0, 2, one, "migrate", 0),
        Stop(0, 2, "preempted", 4),
        Stop(0, 2, "evicted", 4),
        Finish(0, 2),
        Reprice(0, 2, IterationParts(3 * S)),
        MachineEvent(0, 1, "fail"),
        MachineEvent(0, 1, "join"),
        MachineEvent(0, 1, "leave"),
        MachineEvent(0, 1, "left"),
        MachineEvent(0, 0, "assign", "training"),
        MachineEvent(0, 0, "assign", "loan"),
        Wake(0),
        Pending(0, 1, "QOSGrpGRES"),
        Pending(0, 1, ""),
        MachineEvent(0, 1, "spare"),
    ]
    recorder = Recorder(jobs, cluster, rates=True)
    recorder.observe(0, events, Gauges(0, 4, 0, 0))
    got = [
        (e["kind"], e["job_id"], e["reason"], e["allocation"], e["iteration_s"]) for e in _events(recorder)
    ]
    assert got == [
        ("arrival", "c", None, None, None),
        ("start", "c", None, "m1:2", None),
        ("resume", "c", None, "m1:2", None),
        ("restart", "c", None, "m1:2", None),
        ("retune", "c", None, "m1:2", None),
        ("resize", "c", None, "m1:2", None),
        ("migrate", "c", None, "m1:2", None),
        ("stop", "c", "preempted", None, None),
        ("stop", "c", "evicted", None, None),
        ("finish", "c", None, None, None),
        ("reprice", "c", None, None, 3.0),
        ("fail", None, None, "m1", None),
        ("join", None, None, "m1", None),
        ("leave", None, None, "m1", None),
        ("left", None, None, "m1", None),
        ("assign", None, "training", "m0", None),
        ("assign", None, "loan", "m0", None),
        ("wake", None, None, None, None),
        ("pending", "b", "QOSGrpGRES", None, None),
        ("pending", "b", "", None, None),
        ("spare", None, None, "m1", None),
    ]


def test_a_group_is_named_with_the_gpus_that_it_owns(jobs: list[JobSpec], cluster: Cluster) -> None:
    """Job a holds 1 of the 2 + 1 GPUs of its group; b has its own; a stop holds nothing."""
    pair = Group("pair", ((0, 2), (1, 1)))
    events: list[Event] = [
        Start(0, 0, Allocation((Slice(0, 1),), group=pair), "start", 0),
        Start(0, 1, Allocation((Slice(1, 1),)), "start", 0),
        Stop(0, 0, "preempted", 4),
    ]
    recorder = Recorder(jobs, cluster)
    recorder.observe(0, events, Gauges(4, 4, 0, 1))
    got = [(e["allocation"], e["group"], e["group_gpus"]) for e in _events(recorder)]
    assert got == [("m0:1 g=pair", "pair", "m0:2+m1:1"), ("m1:1", None, None), (None, None, None)]


def test_cpus_and_memory_are_written_beside_the_gpus(jobs: list[JobSpec], cluster: Cluster) -> None:
    """Job a holds 3 CPUs and 64 bytes on m0, 1 CPU and 32 bytes on m1, in a group of depth 2."""
    held = Allocation((Slice(0, 2, 3, 64), Slice(1, 1, 1, 32)), group=Group("g", ((0, 2), (1, 1)), depth=2))
    recorder = Recorder(jobs, cluster)
    recorder.observe(0, [Start(0, 0, held, "start", 0), Stop(0, 0, "preempted", 4)], Gauges(3, 4, 0, 1))
    got = [(e["cpus"], e["memory_bytes"], e["group_depth"]) for e in _events(recorder)]
    assert got == [("3+1", "64+32", 2), (None, None, None)]


@pytest.mark.parametrize("rows", [1, 2, 4, 9, 10])
def test_events_in_pieces_are_the_same(recorder: Recorder, rows: int) -> None:
    """Cutting the 9 events into pieces changes neither their order nor their numbers."""
    assert _events(recorder, rows) == _events(recorder)


def test_no_events_is_an_empty_table(jobs: list[JobSpec], cluster: Cluster) -> None:
    """A run in which nothing happened still has a table with all its columns."""
    assert _events(Recorder(jobs, cluster)) == []


def test_allocation_text_names_groups_and_caps_only_if_set(cluster: Cluster) -> None:
    """A group and a cap are named only where there is one."""
    pair = Group("g7", ((0, 2), (1, 2)))
    slices = (Slice(0, 2), Slice(1, 1))
    assert allocation_text(Allocation(slices), cluster) == "m0:2+m1:1"
    assert allocation_text(Allocation(slices, 0.5), cluster) == "m0:2+m1:1 cap=0.5"
    assert allocation_text(Allocation(slices, 0.5, pair), cluster) == "m0:2+m1:1 g=g7 cap=0.5"


def test_capped_and_plain_allocations_are_kept_apart(jobs: list[JobSpec], cluster: Cluster) -> None:
    """Equal slices with another cap are another allocation, although both are looked up by value."""
    recorder = Recorder(jobs, cluster)
    plain, capped = Allocation((Slice(0, 2),)), Allocation((Slice(0, 2),), 0.5)
    events = [Change(0, 0, allocation, "retune", 0) for allocation in (plain, capped, plain)]
    recorder.observe(0, events, Gauges(2, 4, 0, 1))
    assert [e["allocation"] for e in _events(recorder)] == ["m0:2", "m0:2 cap=0.5", "m0:2"]
