"""A trace with real starts: its run is held against what the site met."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from artist.app.cli import main

Called = Callable[..., tuple[int, str, str]]
CLUSTER = ("cluster.machines=1", "network=zero", "cluster.machines_per_rack=1")
# On one machine of 8 GPUs. The site ran strict FIFO: b waited for a, and c, which would have fitted, for b.
TRACE = """\
job,submit,start,end,gpus,vc
a,0,0,1000,6,x
b,100,1000,1600,4,x
c,200,1000,1300,2,y
d,4000,4000,4100,8,y
"""
COLUMNS = {
    "job_id": "job",
    "submit_s": "submit",
    "start_s": "start",
    "end_s": "end",
    "gpus": "gpus",
    "vc": "vc",
}


@pytest.fixture
def run(called: Called, tmp_path: Path) -> Callable[..., tuple[dict[str, Any], pd.DataFrame, Path]]:
    """Return a function that runs a trace, and returns the summary, the jobs by name, and the folder."""

    def simulate(text: str, *arguments: str) -> tuple[dict[str, Any], pd.DataFrame, Path]:
        (tmp_path / "trace.csv").write_text(text)
        columns = [f"workload.columns.{ours}={theirs}" for ours, theirs in COLUMNS.items()]
        folder = tmp_path / "run"
        code, _, err = called(
            main, "workload=columns", "workload.path=trace.csv", *columns, *CLUSTER, *arguments,
            f"hydra.run.dir={folder}",
        )  # fmt: skip
        assert code == 0, err
        jobs = (
            pd.read_parquet(folder / "jobs.parquet").set_index("job_id").round(3)
        )  # iterations are whole ns
        return json.loads((folder / "summary.json").read_text()), jobs, folder

    return simulate


def test_waits_of_the_site_stand_beside_those_of_the_run(run: Callable[..., Any]) -> None:
    """Seen: 0, 900, 800, 0; first fit starts c at once: 0, 900, 0, 0. Means 425 and 225.

    The first two hours: b and c wait for 900 + 800 of 3,600 s, in the run 900; 6 x 1,000 + 4 x 600 + 2 x 300
    GPU-seconds, then 8 x 100 from 4,000 s on, in both.
    """
    summary, jobs, folder = run(TRACE, "policy=fifo_backfill")
    assert jobs["seen_queueing_s"].to_dict() == {"a": 0, "b": 900, "c": 800, "d": 0}
    assert jobs["queueing_s"].to_dict() == {"a": 0, "b": 900, "c": 0, "d": 0}
    seen = summary["seen"]
    assert (seen["jobs"], seen["seen_mean_s"], seen["simulated_mean_s"]) == (4, 425, pytest.approx(225))
    assert seen["ratio"] == pytest.approx(225 / 425)
    assert seen["queueing_s"]["over_10min"] == 0.5
    assert seen["queueing_s"]["p90"] == pytest.approx(870)  # 0, 0, 800, 900: at 2.7 of 3
    # deviations seen -425, 475, 375, -425, run -225, 675, -225, -225
    assert seen["correlation"] == pytest.approx(427_500 / (727_500 * 607_500) ** 0.5)
    # ranks 1.5, 4, 3, 1.5 and 2, 4, 2, 2: deviations -1, 1.5, .5, -1 and -.5, 1.5, -.5, -.5
    assert seen["rank_correlation"] == pytest.approx(3 / (4.5 * 3) ** 0.5)
    assert seen["busy_ratio"] == pytest.approx(1)
    hours = pd.read_parquet(folder / "seen.parquet")
    assert hours["time_s"].tolist() == [0, 3600, 7200]
    assert hours["queue_seen"].tolist()[:2] == pytest.approx([1700 / 3600, 0])
    assert hours["queue_simulated"].tolist()[:2] == pytest.approx([900 / 3600, 0])
    assert hours["busy_seen"].tolist()[:2] == pytest.approx([9000 / 3600, 800 / 3600])
    assert hours["busy_simulated"].tolist()[:2] == pytest.approx([9000 / 3600, 800 / 3600])
    groups = {(group["by"], group["value"]): group for group in seen["groups"]}
    assert [groups["vc", name]["ratio"] for name in "xy"] == [pytest.approx(1), 0]  # x: a and b; y: 0 of 400
    assert set(groups) == {("vc", "x"), ("vc", "y"), ("gpus", "2-7"), ("gpus", "8")}


def test_the_rule_of_the_site_reproduces_its_waits(run: Callable[..., Any]) -> None:
    """Strict FIFO is what the site ran."""
    seen = run(TRACE, "policy=fifo")[0]["seen"]
    assert (seen["ratio"], seen["correlation"]) == (pytest.approx(1), pytest.approx(1))


def test_a_trace_without_starts_is_held_against_nothing(run: Callable[..., Any]) -> None:
    """Neither column, file nor summary."""
    summary, jobs, folder = run(TRACE.replace("start,end", "from,to"), "workload.columns.start_s=null",
                                "workload.columns.end_s=null", "workload.columns.duration_s=to")  # fmt: skip
    assert "seen" not in summary
    assert "seen_queueing_s" not in jobs
    assert not (folder / "seen.parquet").exists()


RUNNING = """\
job,submit,start,end,gpus,vc
w,900,1200,1300,8,x
z,50,60,90,1,x
s,950,950,1010,1,x
r,100,150,1100,7,x
n,1000,1300,1350,1,x
"""


def test_jobs_that_ran_when_the_window_begins_are_placed_at_once(run: Callable[..., Any]) -> None:
    """At 1,000 s r and s run, for 100 and 10 s more, and w waits; z is over; n arrives.

    They are placed at 0 before w, the first in the file, which follows at 100, as r ends, to 200. n would fit
    beside r and s only after s, at 10; strict FIFO lets it wait for w, to 200.
    """
    _, jobs, _ = run(RUNNING, "policy=fifo", "workload.window.start=950")
    assert sorted(jobs.index) == ["n", "r", "s", "w"]  # 950 is after the first arrival, at 50
    assert jobs["first_start_s"].to_dict() == {"r": 0, "s": 0, "w": 100, "n": 200}
    assert jobs["finish_s"].to_dict() == {"r": 100, "s": 10, "w": 200, "n": 250}
    waits = jobs["seen_queueing_s"]  # of w from the begin of the window on
    assert waits[["w", "n"]].to_dict() == {"w": 200, "n": 300}
    assert waits[["r", "s"]].isna().all()


def test_jobs_that_ran_are_counted_in_no_wait(run: Callable[..., Any]) -> None:
    """Two ran; w waits 200 and n 300 s, simulated 100 and 200."""
    seen = run(RUNNING, "policy=fifo", "workload.window.start=950")[0]["seen"]
    assert (seen["jobs"], seen["ran_at_start"], seen["ran_not_placed"]) == (2, 2, 0)
    assert (seen["seen_mean_s"], seen["simulated_mean_s"]) == (250, pytest.approx(150))


def test_run_times_of_compute_begin_with_the_window(run: Callable[..., Any]) -> None:
    """Only jobs that arrive in it are taken, as from any trace: n."""
    arguments = ("policy=fifo", "workload.window.start=950", "workload.durations=compute")
    assert list(run(RUNNING, *arguments)[1].index) == ["n"]


def test_jobs_of_the_first_instant_that_ran_come_first(run: Callable[..., Any]) -> None:
    """P and q are submitted when the trace begins, and q runs then: it is first, and p follows at 500."""
    rows = "p,0,500,600,8,x\nq,0,0,500,4,x\nz,700,700,710,1,x\n"
    _, jobs, _ = run(TRACE.splitlines()[0] + "\n" + rows, "policy=sjf")
    assert jobs["first_start_s"].to_dict() == {"q": 0, "p": 500, "z": 700}


def test_jobs_of_earth_that_ran_when_the_month_began_are_placed_at_once(
    called: Called, shared: Path, tmp_path: Path
) -> None:
    """The file marks 11 jobs of vc3sl and 9 of vcJLV with 1, all of minute 0: those that ran.

    Jobs marked 2 are of later minutes, in which its counts were taken up anew.
    """
    path = shared / "reference" / "waits" / "earth_2020_05_jobs.csv.gz"
    table = pd.read_csv(path)
    ran = table[table["submit_min"] == 0]
    assert set(ran["running_at_start"]) == {1}
    assert set(ran["start_min"]) == {0}
    assert (table["running_at_start"] == 1).sum() == len(ran)
    columns = {name: f"{name.removesuffix('_s')}_min" for name in ("submit_s", "start_s", "end_s")}
    machines = "{type: dgx_h100, count: %d, pool: %s}"
    code, _, err = called(
        main, "workload=columns", f"workload.path={path}", "workload.vcs=[vc3sl,vcJLV]", "network=zero",
        *(f"workload.columns.{ours}={theirs}" for ours, theirs in columns.items()),
        *(f"workload.units.{ours}=min" for ours in columns),
        "workload.columns.gpus=gpus", "workload.columns.vc=vc", "policy=fifo_backfill",
        "cluster=partitions", f"cluster.machines=[{machines % (8, 'vc3sl')}, {machines % (2, 'vcJLV')}]",
        f"hydra.run.dir={tmp_path / 'run'}",
    )  # fmt: skip
    assert code == 0, err
    seen = json.loads((tmp_path / "run" / "summary.json").read_text())["seen"]
    assert (seen["ran_at_start"], seen["ran_not_placed"]) == (20, 0)


def test_a_job_without_an_end_may_run_to_the_end_of_the_file(run: Callable[..., Any]) -> None:
    """E starts at 4,050 and has no end: it runs to 4,100, the last time of the file; f has no start."""
    rows = TRACE + "e,4050,4050,,1,x\nf,4060,,,1,x\n"
    _, jobs, _ = run(rows, "policy=fifo", "workload.no_duration=until_end", "cluster.machines=2")
    assert jobs["running_s"].to_dict() == {"a": 1000, "b": 600, "c": 300, "d": 100, "e": 50}
