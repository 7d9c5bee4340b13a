"""Run folders: what is written is what is read, byte for byte the same for equal results."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from artist.core.cluster import Cluster
from artist.core.events import Event, Gauges
from artist.core.job import JobSpec
from artist.core.result import RunResult
from artist.errors import InputError
from artist.recording.folder import write_run
from artist.recording.recorder import Recorder
from artist.results.folder import read_run

# The contract of jobs.parquet; docs/run_folder.md
JOB_COLUMNS = """
job_id, model, user, vc, gpus, submit_s, first_start_s, finish_s, jct_s, queueing_s, running_s, overhead_s,
ideal_s, gpu_held_s, compute_s, input_stall_s, interference_s, exposed_comm_s, contention_s, sharing_s,
lost_s, iterations, starts, preemptions, evictions, migrations, resizes, machine_tier_s, rack_tier_s,
network_tier_s
"""


def test_jobs_are_read_back(
    tmp_path: Path, result: RunResult, recorder: Recorder, summary: dict[str, Any]
) -> None:
    """Rows in the order of the result, columns in the order of the contract, nanoseconds as seconds."""
    write_run(tmp_path, result, recorder, summary)
    jobs = read_run(tmp_path).jobs
    assert ", ".join(jobs.columns) == " ".join(JOB_COLUMNS.split())
    assert list(jobs.job_id) == ["a", "b", "c"]
    assert list(jobs.jct_s) == [10.0, 21.5, 4.0]
    assert list(jobs.jct_s) == list(jobs.queueing_s + jobs.running_s + jobs.overhead_s)
    assert list(jobs.ideal_s) == [10.0, 10.0, 4.0]
    assert list(jobs.iterations) == [10, 5, 4]


def test_equal_results_give_equal_bytes(
    tmp_path: Path,
    result: RunResult,
    summary: dict[str, Any],
    jobs: list[JobSpec],
    cluster: Cluster,
    story: list[tuple[int, list[Event], Gauges]],
) -> None:
    """Two recorders of the same run leave the same four files."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        recorder = Recorder(jobs, cluster)
        for instant in story:
            recorder.observe(*instant)
        write_run(tmp_path / name, result, recorder, summary)
    names = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert names == ["events.parquet", "jobs.parquet", "summary.json", "timeline.parquet"]
    for name in names:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_unfinished_jobs_have_empty_times(
    tmp_path: Path, none_finished: RunResult, summary: dict[str, Any]
) -> None:
    """A job that never started has no start, finish or completion time, rather than a false one."""
    write_run(tmp_path, none_finished, None, summary)
    jobs = read_run(tmp_path).jobs
    assert np.isnan(jobs[["first_start_s", "finish_s", "jct_s"]].to_numpy(dtype=float)).all()


def test_summary_and_config_are_read_back(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """The summary is JSON in the order given, the config a mapping; events and timeline have their rows."""
    run = read_run(run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 3}))
    assert (run.config["seed"], run.summary["seed"]) == (3, 3)
    assert list(run.summary)[:2] == ["policy", "jobs"]
    assert (len(run.events), len(run.timeline)) == (9, 6)


def test_a_folder_called_like_a_partition_is_not_one(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """Arrow takes `a=b` in a path for a column of a data set; sweeps name folders so."""
    run = read_run(run_folder(tmp_path / "racks=2" / "seed=1", {"policy": {"name": "fifo"}, "seed": 1}))
    assert ", ".join(run.jobs.columns) == " ".join(JOB_COLUMNS.split())


def test_nan_is_refused(
    tmp_path: Path, result: RunResult, recorder: Recorder, summary: dict[str, Any]
) -> None:
    """NaN is no JSON; writing it would break every other reader."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_run(tmp_path, result, recorder, summary | {"gpu_utilization": float("nan")})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("summary.json", "{", "cannot be read"),
        ("summary.json", "[]", "a mapping such as"),
        ("summary.json", '{"policy": "fifo"}', "jobs: field missing"),
        ("config.yaml", "a: [", "cannot be read"),
        ("config.yaml", "just text", "not a mapping"),
    ],
)
def test_damaged_text_is_refused(
    run_folder: Callable[..., Path], tmp_path: Path, name: str, text: str, message: str
) -> None:
    """A damaged summary or config is named, with what is wrong in it."""
    folder = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1})
    (folder / name).write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_run(folder)
    assert str(folder / name) in str(caught.value)


def test_a_number_of_the_wrong_type_is_refused(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """A summary edited by hand is refused by field: here a mean that is a text."""
    folder = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1})
    summary = json.loads((folder / "summary.json").read_text())
    summary["jct_s"]["mean"] = "fast"
    (folder / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(InputError, match=r"jct_s\.mean"):
        read_run(folder)


@pytest.mark.parametrize("content", [b"", b"PAR1 is not enough", None])
def test_damaged_table_is_refused(
    run_folder: Callable[..., Path], tmp_path: Path, content: bytes | None
) -> None:
    """A table that is empty, garbage or absent is an error of ours, not of Arrow's."""
    folder = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1})
    path = folder / "jobs.parquet"
    path.write_bytes(content) if content is not None else path.unlink()
    with pytest.raises(InputError, match=r"jobs\.parquet"):
        _ = read_run(folder).jobs


def test_absent_columns_are_refused(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """A table of another kind in the place of ours is recognised by its columns."""
    folder = run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1})
    (folder / "jobs.parquet").write_bytes((folder / "timeline.parquet").read_bytes())
    with pytest.raises(InputError, match="columns are missing"):
        read_run(folder).numbers("jobs", ["jct_s"])


def test_texts_are_no_numbers(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """A column of texts where numbers are asked for is an error of ours; NaN stands for what is empty."""
    run = read_run(run_folder(tmp_path / "run", {"policy": {"name": "fifo"}, "seed": 1}))
    with pytest.raises(InputError, match="cannot be read"):
        run.numbers("jobs", ["user"])
    assert np.isnan(run.numbers("events", ["iteration_s"])[0]).all()


def test_the_order_of_a_sweep_is_that_of_its_command_before_its_experiment(
    tmp_path: Path, run_folder: Callable[..., Path]
) -> None:
    """The values as a comparison has them: null is none; the command replaces the experiment's policies."""
    run = run_folder(tmp_path / "sweep" / "one", {"policy": {"name": "fifo"}, "seed": 0})
    task = ["policy=srtf,fifo", "cluster.failures=null,rsc1,'20*rsc1'", "+x=[{a: 1}, {a: 2}],[{a: 3}]"]
    hydra = {"overrides": {"task": task}, "sweeper": {"params": {"policy": "las,fifo", "seed": "range(0,3)"}}}
    told = {"hydra": hydra, "variant": {"today": {}, "later": {}}}
    (tmp_path / "sweep" / "multirun.yaml").write_text(yaml.safe_dump(told, sort_keys=False))
    order = read_run(run).order
    assert order["policy"] == ("srtf", "fifo")
    assert order["cluster.failures"] == ("none", "rsc1", "20*rsc1")
    assert order["x"] == ("[{'a': 1}, {'a': 2}]", "[{'a': 3}]")
    assert order["variant"] == ("today", "later")
