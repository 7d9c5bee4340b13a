"""The Gavel reader: two jobs by hand, and both traces."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.workload.readers.gavel import GavelTrace
from artist.workload.table import work_s

Write = Callable[..., Path]
SPEEDS = {
    "v100": {
        "('LM (batch size 40)', 2)": {"null": 80.0, "('x', 1)": [1.0, 2.0]},
        "('CycleGAN', 1)": {"null": 4.0},
    },
    "k80": {"('LM (batch size 40)', 2)": {"null": 8.0}, "('CycleGAN', 1)": {"null": 0.0}},
}


def line(kind: str, steps: object, gpus: object, arrival: object) -> str:
    """Return a job as Gavel writes it."""
    return (
        "\t".join(map(str, (kind, "python3 x.py", "lm", "--steps", 1, steps, gpus, 1, "-1.0", arrival)))
        + "\n"
    )


def msr_line(kind: str, steps: object, gpus: object, arrival: object) -> str:
    """Return a job as the files in traces/msr have it."""
    return "\t".join(map(str, (kind, "python3 x.py", "--steps", 1, steps, arrival, gpus))) + "\n"


TRACE = line("LM (batch size 40)", 4000, 2, 30) + line("CycleGAN", 100, 1, 0)


def read(write: Write, trace: str = TRACE, speeds: object = SPEEDS, **parameters: object) -> GavelTrace:
    """Return a reader of both files."""
    other = write(json.dumps(speeds), "throughputs.json")
    return GavelTrace(path=write(trace, "x.trace"), throughputs=other, **parameters)


def test_two_jobs_by_hand(write: Write) -> None:
    """4000 steps at 80 steps/s are 50 s; 100 at 4 are 25 s; CycleGAN has no profile: drawn later."""
    reader = read(write)
    table = reader.table().frame()
    assert table[["job_id", "submit_s", "gpus", "iterations", "compute_s", "model"]].values.tolist() == [
        ["gavel-1", 30.0, 2, 4000, 1 / 80, "LSTM"],
        ["gavel-2", 0.0, 1, 100, 0.25, ""],
    ]
    assert work_s(table).tolist() == [50.0, 25.0]
    assert [path.name for path in reader.input_files] == ["x.trace", "throughputs.json"]


def test_another_worker(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """On a K80 the LM takes 500 s, and CycleGAN does not run."""
    table = read(write, worker="k80").table().frame()
    assert work_s(table).tolist() == [500.0]
    assert "left out 1 of 2 jobs: does not run on k80" in caplog.text


def test_files_of_seven_fields(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """75 of the 83 files of Gavel's repository; arrival before GPUs. CycleGAN on 4 was never measured."""
    trace = msr_line("LM (batch size 40)", 4000, 2, 30.5) + msr_line("CycleGAN", 100, 4, 31)
    table = read(write, trace).table().frame()
    assert table[["job_id", "submit_s", "gpus", "iterations"]].values.tolist() == [["gavel-1", 30.5, 2, 4000]]
    assert work_s(table).tolist() == [50.0]
    assert (
        "left out 1 of 2 jobs: no throughput in throughputs.json, such as that of ('CycleGAN', 4)"
        in caplog.text
    )


@pytest.mark.parametrize(
    ("trace", "speeds", "worker", "words"),
    [
        (TRACE, SPEEDS, "a100", "workload.worker"),
        (TRACE, [], "v100", "workload.worker"),
        (TRACE, {"v100": {"x": 1}}, "v100", "malformed throughputs"),
        (TRACE, {"v100": {"('CycleGAN', 1)": {"null": -4.0}}}, "v100", "-4.0 steps/s of "),
        (line("LM (batch size 40)", 4000, 4, 0), SPEEDS, "v100", "line 1: job_type has no throughput"),
        (line("CycleGAN", 0, 1, 0), SPEEDS, "v100", "line 1: total_steps is zero"),
        (line("CycleGAN", 10, 1, "now"), SPEEDS, "v100", "line 1: arrival_time is not a number"),
        ("a,b\n", SPEEDS, "v100", "not a file of Gavel"),
        ("", SPEEDS, "v100", "empty file"),
    ],
)
def test_bad_files(write: Write, trace: str, speeds: object, worker: str, words: str) -> None:
    """One wrong value in good files."""
    with pytest.raises(InputError, match=words):
        read(write, trace, speeds, worker=worker).table().frame()


@pytest.mark.parametrize(
    ("name", "jobs", "span_s"), [("max_min_fairness", 96, 46_317), ("minimize_makespan", 100, 0)]
)
def test_the_traces_of_gavel(traces: Path, name: str, jobs: int, span_s: float) -> None:
    """96 jobs over 12.9 h, and 100 at once; on a V100 all of them run."""
    speeds = traces / "gavel/physical_cluster_throughputs.json"
    table = GavelTrace(path=traces / f"gavel/{name}.trace", throughputs=speeds).table().frame()
    assert len(table) == jobs
    assert table["submit_s"].max() - table["submit_s"].min() == span_s
    assert table["gpus"].max() == 4


def test_traces_of_shockwave(write: Write) -> None:
    """Twelve fields, with a mode and a duration: 4000 / 80 = 50 s, at 30 s."""
    *most, arrival = line("LM (batch size 40)", 4000, 2, 30).split("\t")
    wide = "\t".join([*most[:7], "static", *most[7:], "1234.5", arrival])
    table = read(write, wide).table()
    assert work_s(table).tolist() == [50.0]
    assert (table["submit_s"].tolist(), table["gpus"].tolist()) == ([30.0], [2])


def test_a_job_without_a_whole_step_is_left_out(write: Write) -> None:
    """0 steps, and 3000.5 steps, beside a job of 100."""
    trace = "".join(line("CycleGAN", steps, 1, 0) for steps in (0, 3000.5, 100))
    assert read(write, trace).table()["iterations"].tolist() == [100]
