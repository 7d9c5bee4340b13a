"""The picture of who ran where, and the trace of it for a viewer."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from artist.drawing.panels import WIDTH_IN
from artist.report.figures.occupancy import drawing, picture
from artist.report.trace import trace_text
from artist.results.compare import compare
from artist.results.digest import digest
from artist.results.run import Run
from artist.results.scenarios import contest


def test_the_picture_of_the_run_on_paper(paper_run: Run) -> None:
    """2 machines x 2 GPUs: all of m0 in one colour (2-4 GPUs), m1 white before 2 s and from 6 s to 10 s."""
    drawing = picture(compare([paper_run]).groups[0], 22.5)
    rows, bins, _ = drawing.pixels.shape
    assert (rows, drawing.machines) == (4, 2)
    white = (drawing.pixels == 255).all(axis=2)
    assert not white[:2].any()
    middles_s = (np.arange(bins) + 0.5) * 22.5 / bins
    idle = (middles_s < 2) | ((middles_s > 6) & (middles_s < 10))
    assert (white[2:] == idle).mean() > 0.99
    assert len({tuple(pixel) for pixel in drawing.pixels[~white]}) == 1


def test_idle_machines_are_in_the_picture(paper_run: Run, rewrite: Callable[..., None]) -> None:
    """Only m0 was used; the capacity of 4 GPUs says that there is another machine of 2."""
    rewrite(paper_run, [(0.0, "start", "a", "m0:2"), (22.5, "finish", "a", None)])
    assert picture(compare([paper_run]).groups[0], 22.5).machines == 2


def test_machines_without_gpus_are_left_out(paper_run: Run, rewrite: Callable[..., None]) -> None:
    """m0 and m2 have none: m1, held by a, is the upper of two bands, and m3, held until 10 s, the lower."""
    rows: list[tuple[float, str, str, str | None]] = [
        (0.0, "start", "a", "m1:2"), (0.0, "start", "c", "m2:0"), (0.0, "start", "b", "m3:2"),
        (10.0, "finish", "b", None), (22.5, "finish", "a", None),
    ]  # fmt: skip
    rewrite(paper_run, rows)
    groups = [{"type": kind, "count": 1} for kind in ("plain", "box", "plain", "box")]
    topology = {"machine_types": {"box": {"gpus": 2}, "plain": {"gpus": 0}}}
    mixed = paper_run.config | {"cluster": {"machines": groups}, "topology": topology}
    comparison = compare([replace(paper_run, config=mixed)])
    built = picture(comparison.groups[0], 22.5)
    white = (built.pixels == 255).all(axis=2)
    assert (built.machines, len(white)) == (2, 4)
    assert not white[:2].any()
    assert white[2:].mean() == pytest.approx(12.5 / 22.5, abs=0.01)
    text = drawing([digest(comparison.groups[0])], contest(comparison)).caption
    assert "Machines without GPUs are left out." in text
    plain = compare([paper_run])
    assert "left out" not in drawing([digest(plain.groups[0])], contest(plain)).caption


def test_pools_are_named_beside_the_picture(paper_run: Run) -> None:
    """m0 begins in one pool and m1 in another: a line between them, at 1, and names beside their middles."""
    groups = [{"type": "box", "count": 1, "pool": pool} for pool in ("training", "inference")]
    pooled = replace(paper_run, config=paper_run.config | {"cluster": {"machines": groups}})
    for run, names, lines in ((paper_run, {}, []), (pooled, {"training": 0.5, "inference": 1.5}, [1, 1])):
        comparison = compare([run])
        built = drawing([digest(comparison.groups[0])], contest(comparison))
        (axes,) = built.draw(WIDTH_IN).axes
        assert {text.get_text(): text.xy[1] for text in axes.texts} == names  # type: ignore[attr-defined]
        assert [y for line in axes.get_lines() for y in np.ravel(line.get_ydata())] == lines
        assert ("Lines separate pools" in built.caption) == bool(names)


def _trace(run: Run) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads(trace_text(run)[0])["traceEvents"]
    return events


def test_the_trace_follows_the_format(paper_run: Run) -> None:
    """Trace Event Format: an object with traceEvents; X has ts and dur, C numbers, M names."""
    text, left_out = trace_text(paper_run)
    trace = json.loads(text)
    assert (trace["displayTimeUnit"], left_out) == ("ms", 0)
    needed = {"X": {"ts", "dur", "cat"}, "C": {"ts"}, "M": set()}
    for event in trace["traceEvents"]:
        assert {"name", "ph", "pid", "tid", "args"} | needed[event["ph"]] == set(event)
        assert event.get("dur", 1) > 0
        assert event.get("ts", 0) >= 0
        if event["ph"] == "C":
            assert all(isinstance(value, int) for value in event["args"].values())


def test_jobs_in_the_trace_of_the_run_on_paper(paper_run: Run) -> None:
    """An event for each GPU that a job held: 2 + 2 + 4; machines are processes, process 0 the cluster."""
    events = _trace(paper_run)
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {0: "cluster", 1: "m0", 2: "m1"}
    held = sorted((e["name"], names[e["pid"]], e["tid"], e["ts"], e["dur"]) for e in events if e["ph"] == "X")
    assert held == [
        *(("a", "m0", gpu, 0.0, 10e6) for gpu in (0, 1)),
        *(("b", machine, gpu, 10e6, 12.5e6) for machine in ("m0", "m1") for gpu in (0, 1)),
        *(("c", "m1", gpu, 2e6, 4e6) for gpu in (0, 1)),
    ]
    told = next(e["args"] for e in events if e["name"] == "b")
    assert (told["user"], told["gpus"], told["queueing_s"], told["ended"]) == ("bob", 4, 9.0, "finish")


def test_counters_of_the_trace(paper_run: Run) -> None:
    """The queue of the run on paper: b waits from 1 s to 10 s."""
    queue = [(e["ts"], e["args"]["value"]) for e in _trace(paper_run) if e["name"] == "queue length"]
    assert queue == [(0.0, 0), (1e6, 1), (10e6, 0)]


def test_events_of_a_thread_never_overlap(paper_run: Run, rewrite: Callable[..., None]) -> None:
    """Jobs that share a GPU, and one that begins as another ends: each thread is free when it is used."""
    rows: list[tuple[float, str, str, str | None]] = [
        (0.0, "start", "p", "m0:2 g=shared"),
        (1.0, "start", "q", "m0:2 g=shared"),
        (4.0, "finish", "p", None),
        (4.0, "start", "r", "m0:1"),
        (6.0, "finish", "q", None),
        (7.0, "finish", "r", None),
    ]
    rewrite(paper_run, rows)
    held = [e for e in _trace(paper_run) if e["ph"] == "X"]
    assert len({e["tid"] for e in held}) == 4
    for one in held:
        others = (e for e in held if e is not one and e["tid"] == one["tid"])
        assert all(one["ts"] + one["dur"] <= e["ts"] or e["ts"] + e["dur"] <= one["ts"] for e in others)


def test_a_long_trace_is_cut_with_a_note(paper_run: Run) -> None:
    """5 events allowed: a and c take 4, and b's 2 stays of 2 GPUs each are left out."""
    text, left_out = trace_text(paper_run, most=5)
    assert left_out == 2
    assert {e["name"] for e in json.loads(text)["traceEvents"] if e["ph"] == "X"} == {"a", "c"}
