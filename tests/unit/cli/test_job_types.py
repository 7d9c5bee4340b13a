"""GPU jobs and CPU jobs from the command line: what their runs have more, and other runs do not.

A machine of 5 GPUs and 28 CPUs. C holds 20 CPUs from 0 to 100 s; g asks for 10 at 10 s and waits 90 s for
them; e takes 1 from 50 to 60 s, past g, and f asks for 8 of the 28 at 120 s.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from artist.results.folder import read_run
from artist.results.job_types import has_job_types, read_cpus_changed, read_job_types, read_waits
from artist.results.measures import BY_NAME
from artist.results.run import Run

Artist = Callable[..., Any]

JOBS = """job_id,submit_s,gpus,cpus,duration_s,model,user
c,0,0,20,100,,ann
g,10,1,10,60,ResNet18,ben
e,50,0,1,10,,cy
f,120,1,8,40,ResNet18,ann
"""


@pytest.fixture
def run_of(artist: Artist, tmp_path: Path) -> Callable[..., Run]:
    """Return a function that runs jobs on the machine."""

    def run(policy: str, jobs: str = JOBS) -> Run:
        path = tmp_path / "jobs.csv"
        path.write_text(jobs)
        where = "topology=pcie_10g", "cluster.machines=1", "cluster.racks=null"
        done = artist(f"policy={policy}", "workload=csv", f"workload.path={path}", *where, tiny=False)
        assert done.code == 0
        (written,) = Path("runs").rglob("cores.parquet")
        return read_run(written.parent)

    return run


@pytest.fixture
def run(run_of: Callable[..., Run]) -> Run:
    """Run them first in, first out, a queue a kind, with the CPUs that they ask for."""
    return run_of("coda_fifo")


def test_runs_with_cpu_jobs_record_starved_gpus(run: Run) -> None:
    """From 10 to 100 of the 120 s between arrivals all 5 idle GPUs starve."""
    values = {name: metric.of(run.summary) for name, metric in BY_NAME.items() if metric.path[0] == "kinds"}
    assert None not in [value for name, value in values.items() if name != "gpu_utilization_queued"]
    names = ("gpu_jobs", "cpu_jobs", "gpu_jobs_at_once", "gpu_jobs_within_3min", "cpu_jobs_within_10s")
    assert [values[name] for name in names] == [2, 2, 1 / 2, 1, 1]
    assert (values["starved_gpus"], values["gpu_active_queued"]) == (1, 0)
    assert values["gpu_jobs_waiting"] == 90 / 120
    assert values["gpu_queueing_mean_s"] == 45
    assert values["cpus_of_cpu_jobs"] == pytest.approx((20 * 100 + 10) / (28 * 120))
    assert values["user_p99_gpu_s"] == pytest.approx(90 / 2)  # ann 0, ben 90; cy has no GPU jobs
    assert values["user_p99_cpu_only_s"] == 0


def test_tables_of_runs_with_cpu_jobs_can_be_read_back(run: Run) -> None:
    """C, g and f over time; g computes for 60 s, and nothing hinders it."""
    assert has_job_types(run)
    steps = read_job_types(run, 100)
    assert steps.times_s[:4].tolist() == [0, 10, 50, 60]
    assert steps.columns["gpu_jobs_waiting"][:5].tolist() == [0, 1, 1, 1, 0]
    assert steps.columns["cpus_of_cpu_jobs"][:5].tolist() == [20, 20, 21, 20, 0]
    assert steps.columns["cpus_of_gpu_jobs"][:5].tolist() == [0, 0, 0, 0, 10]
    assert set(steps.columns["capacity_bytes_per_s"]) == {256e9}
    assert read_waits(run).queueing_s.tolist() == [0, 90, 0, 0]
    assert read_waits(run).of_gpu.tolist() == [False, True, False, True]
    assert read_cpus_changed(run).tolist() == [0, 0]
    assert run.jobs["cpus"].tolist() == run.jobs["cpus_last"].tolist() == [20, 10, 1, 8]


@pytest.mark.parametrize(("policy", "share"), [("coda_no_tuning", 3 * 40 / (5 * 50)), ("coda", 0)])
def test_gpus_starve_only_for_the_cpus_that_the_policy_requires(
    run_of: Callable[..., Run], policy: str, share: float
) -> None:
    """Y lacks GPUs from 10 s on, z is behind it from 20 s on and asks for 26 CPUs; x holds 4 or more.

    3 of 5 GPUs are idle to 60 s: starved, unless z would start with one CPU.
    """
    rows = ("c,0,0,1,1,,b", "x,0,2,10,100,ResNet18,a", "y,10,4,4,10,ResNet18,a", "z,20,1,26,10,ResNet18,a")
    jobs = "\n".join([JOBS.splitlines()[0], *rows, "e,60,0,1,1,,b"])
    assert run_of(policy, jobs).summary["kinds"]["starved"] == pytest.approx(share)


def test_runs_without_cpu_jobs_are_as_they_were(artist: Artist) -> None:
    """Neither a file nor a key nor a column."""
    assert artist("policy=fifo").code == 0
    (path,) = Path("runs").rglob("summary.json")
    assert "kinds" not in json.loads(path.read_text())
    assert not (path.parent / "cores.parquet").exists()
    assert not {"cpus", "cpus_last"} & set(pd.read_parquet(path.parent / "jobs.parquet").columns)
    assert not has_job_types(read_run(path.parent))
