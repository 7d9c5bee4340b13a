"""Placements over time, read back from events."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from artist.errors import InputError
from artist.results.occupancy import Stays, parse_allocation, read_stays, used_gpus
from artist.results.run import Run


def as_rows(stays: Stays) -> list[tuple[object, ...]]:
    """Return job, machine, GPUs, start, end, how it began and how it ended."""
    columns = (stays.job, stays.machine, stays.gpus, stays.start_s, stays.end_s, stays.how, stays.ended)
    return [
        (stays.jobs[job], stays.machines[machine], int(gpus), float(start), float(end), how, ended)
        for job, machine, gpus, start, end, how, ended in zip(*columns, strict=True)
    ]


def test_stays_of_the_run_on_paper(paper_run: Run) -> None:
    """Three jobs, of which b is on two machines: four stays, in order of start."""
    assert as_rows(read_stays(paper_run)) == [
        ("a", "m0", 2, 0.0, 10.0, "start", "finish"),
        ("c", "m1", 2, 2.0, 6.0, "start", "finish"),
        ("b", "m0", 2, 10.0, 22.5, "start", "finish"),
        ("b", "m1", 2, 10.0, 22.5, "start", "finish"),
    ]


def test_stays_end_at_moves_stops_and_the_last_event(paper_run: Run, rewrite: Callable[..., None]) -> None:
    """Job x moves at 3 s, is stopped at 5 s, starts anew at 8 s and still runs at the last event, at 9 s."""
    rewrite(
        paper_run,
        [
            (0.0, "arrival", "x", None),
            (1.0, "start", "x", "m0:1"),
            (3.0, "migrate", "x", "m10:1+m2:1 g=pair cap=0.5"),
            (5.0, "stop", "x", None),
            (8.0, "restart", "x", "m2:2"),
            (9.0, "arrival", "y", None),
        ],
    )
    stays = read_stays(paper_run)
    assert stays.machines == ("m0", "m2", "m10")  # in natural order
    assert as_rows(stays) == [
        ("x", "m0", 1, 1.0, 3.0, "start", "migrate"),
        ("x", "m10", 1, 3.0, 5.0, "migrate", "stop"),
        ("x", "m2", 1, 3.0, 5.0, "migrate", "stop"),
        ("x", "m2", 2, 8.0, 9.0, "restart", ""),
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("m3:8", [("m3", 8)]),
        ("m3:8+m4:1 g=a b cap=0.5", [("m3", 8), ("m4", 1)]),
        ("a:b:2", [("a:b", 2)]),
        ("", []),
    ],
)
def test_allocations_are_read_as_they_are_written(text: str, parts: list[tuple[str, int]]) -> None:
    """One machine; two with a group and a cap; a name with a colon; a job without machines."""
    assert parse_allocation(text) == parts


def test_use_is_exact_in_each_bin(paper_run: Run) -> None:
    """m0 in bins of 7.5 s: 2 GPUs in the first; a's 2.5 s and b's 5 s in the second; b in the third."""
    stays = read_stays(paper_run)
    edges = np.linspace(0.0, 22.5, 4)
    used = used_gpus(stays, np.zeros(4, dtype=np.int64), 1, 2, stays.machine, edges)
    assert used[0, 0].tolist() == pytest.approx([2.0, 2.0, 2.0])
    assert used[1, 0].tolist() == pytest.approx([2 * 4 / 7.5, 2 * 5 / 7.5, 2.0])


def test_use_keeps_all_gpu_time(paper_run: Run) -> None:
    """Whatever the bins, their sum is the GPU time of the run: 20 + 50 + 8 = 78 GPU s."""
    stays = read_stays(paper_run)
    for bins in (1, 7, 100):
        used = used_gpus(
            stays, np.zeros(4, dtype=np.int64), 1, 2, stays.machine, np.linspace(0.0, 22.5, bins + 1)
        )
        assert used.sum() * 22.5 / bins == pytest.approx(78.0)


@pytest.mark.slow
def test_half_a_million_events_are_read_in_seconds(paper_run: Run) -> None:
    """A month of a large trace: 400,000 events of 100,000 jobs; measured 0.4 s, 5 s are allowed."""
    import time

    n = 100_000
    kinds = np.tile(["arrival", "start", "stop", "finish"], n)
    jobs = np.repeat([f"job{i}" for i in range(n)], 4)
    place = np.repeat([f"m{i % 500}:8+m{(7 * i) % 500}:8" for i in range(n)], 4).astype(object)
    place[kinds != "start"] = None
    table = {
        "time_s": np.arange(4.0 * n),
        "kind": kinds,
        "job_id": jobs,
        "allocation": pa.array(place, pa.string()),
    }
    pq.write_table(pa.table(table), paper_run.folder / "events.parquet")
    before = time.perf_counter()
    assert len(read_stays(paper_run).job) == 2 * n
    assert time.perf_counter() - before < 5


def test_events_without_allocations_are_refused(paper_run: Run) -> None:
    """A table of another program: the message names the column."""
    pq.write_table(
        pa.table({"time_s": [0.0], "kind": ["start"], "job_id": ["a"]}), paper_run.folder / "events.parquet"
    )
    with pytest.raises(InputError, match="columns are missing"):
        read_stays(paper_run)
