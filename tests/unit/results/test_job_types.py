"""Kinds of jobs read back from a run folder: the run on paper (see conftest), with cores and CPUs beside it.

    s                  0    5    20   22.5
    GPUs used          1    2    4    0
    GPU jobs waiting   0    1    0    0

Jobs a (2 GPUs) and c (a CPU job here) are Ann's, b is Bob's; they wait 0, 0 and 9 s.
"""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from artist.errors import InputError
from artist.results.job_types import has_job_types, read_cpus_changed, read_job_types, read_waits
from artist.results.run import Run

TIMES_S = [0.0, 5.0, 20.0, 22.5]
COLUMNS = {
    "gpus_used": [1.0, 2.0, 4.0, 0.0],
    "starved_gpus": [0, 2, 0, 0],
    "capacity_cpus": [8, 8, 8, 8],
    "cpus_of_gpu_jobs": [1, 2, 3, 0],
    "cpus_of_cpu_jobs": [4, 4, 0, 0],
    "bandwidth_bytes_per_s": [10, 20, 30, 0],
    "capacity_bytes_per_s": [100, 100, 100, 100],
    "gpu_jobs_waiting": [0, 1, 0, 0],
    "cpu_jobs_waiting": [3, 0, 0, 0],
}


@pytest.fixture
def run(paper_run: Run) -> Run:
    """Give the run the cores above; c asks for no GPUs; CPUs asked for and held last."""
    pq.write_table(pa.table({"time_s": TIMES_S, **COLUMNS}), paper_run.folder / "cores.parquet")
    path = paper_run.folder / "jobs.parquet"
    jobs = pq.read_table(path)
    jobs = jobs.set_column(jobs.column_names.index("gpus"), "gpus", pa.array([2, 4, 0]))
    jobs = jobs.append_column("cpus", pa.array([4, 6, 1]))
    pq.write_table(jobs.append_column("cpus_last", pa.array([7.0, 1.0, 1.0])), path)
    return paper_run


def test_times_are_those_of_both_tables(run: Run) -> None:
    """GPUs held change at 2, 6 and 10 s, all else at 5 and 20 s; what does not change holds on."""
    steps = read_job_types(run, 100)
    assert steps.times_s.tolist() == [0, 1, 2, 5, 6, 10, 20, 22.5]
    assert steps.columns["busy_gpus"].tolist() == [2, 2, 4, 4, 2, 4, 4, 0]
    assert steps.columns["gpus_used"].tolist() == [1, 1, 1, 2, 2, 2, 4, 0]
    assert steps.columns["starved_gpus"].tolist() == [0, 0, 0, 2, 2, 2, 0, 0]
    there = ("capacity_gpus", "capacity_cpus", "capacity_bytes_per_s")
    assert [set(steps.columns[name]) for name in there] == [{4}, {8}, {100}]
    assert steps.columns["cpus_of_gpu_jobs"].tolist() == [1, 1, 1, 2, 2, 2, 3, 0]
    assert steps.columns["cpus_of_cpu_jobs"].tolist() == [4, 4, 4, 4, 4, 4, 0, 0]
    assert steps.columns["bandwidth_bytes_per_s"].tolist() == [10, 10, 10, 20, 20, 20, 30, 0]
    assert steps.columns["gpu_jobs_waiting"].tolist() == [0, 0, 0, 1, 1, 1, 0, 0]
    assert steps.columns["cpu_jobs_waiting"].tolist() == [3, 3, 3, 0, 0, 0, 0, 0]
    assert not steps.thinned


def test_long_runs_are_averaged(run: Run) -> None:
    """Two halves of 11.25 s. Held: 2 x 2 + 4 x 4 + 2 x 4 + 4 x 1.25 = 33 GPU s, then 4 all the time.

    Used: 5 + 2 x 6.25 = 17.5, then 2 x 8.75 + 4 x 2.5 = 27.5 GPU s.
    """
    steps = read_job_types(run, 2)
    assert steps.times_s.tolist() == [0, 11.25, 22.5]
    assert steps.columns["busy_gpus"].tolist() == pytest.approx([33 / 11.25, 4, 0])
    assert steps.columns["gpus_used"].tolist() == pytest.approx([17.5 / 11.25, 27.5 / 11.25, 0])
    assert steps.thinned


def test_waits_by_kind_and_user(run: Run) -> None:
    """Ann waits 0 s in the 99th percentile, Bob 9 s with his GPU job; Bob has no CPU jobs."""
    waits = read_waits(run)
    assert waits.queueing_s.tolist() == [0, 9, 0]
    assert waits.of_gpu.tolist() == [True, True, False]
    assert waits.user.names == ("ann", "bob")
    assert waits.p99_s().tolist() == [0, 9]
    assert waits.p99_s(waits.of_gpu).tolist() == [0, 9]
    assert waits.p99_s(~waits.of_gpu) == pytest.approx([0, float("nan")], nan_ok=True)


def test_cpus_given_less_those_asked_for(run: Run) -> None:
    """A has 7 of 4, b 1 of 6; c is a CPU job."""
    assert read_cpus_changed(run).tolist() == [3, -5]


def test_jobs_that_have_not_finished_or_are_outside_the_window_do_not_count(run: Run) -> None:
    """A has not finished; the window has a and b, or c alone."""
    path = run.folder / "jobs.parquet"
    jobs = pq.read_table(path)
    times = pa.array([None, 21.5, 4.0], pa.float64())
    pq.write_table(jobs.set_column(jobs.column_names.index("jct_s"), "jct_s", times), path)
    assert read_cpus_changed(run).tolist() == [-5]
    assert read_waits(run).queueing_s.tolist() == [9, 0]
    run.config["stop"] = {"jobs": [0, 2]}
    assert read_waits(run).queueing_s.tolist() == [9]
    run.config["stop"] = {"jobs": [2, 3]}
    assert read_cpus_changed(run).tolist() == []


def test_jobs_that_asked_for_no_cpus_do_not_count(run: Run) -> None:
    """Nothing is known of what a asked for."""
    path = run.folder / "jobs.parquet"
    jobs = pq.read_table(path)
    pq.write_table(jobs.set_column(jobs.column_names.index("cpus"), "cpus", pa.array([0, 6, 1])), path)
    assert read_cpus_changed(run).tolist() == [-5]


def test_a_run_says_whether_it_has_job_types(paper_run: Run) -> None:
    """No table; a table; a damaged one, which is refused."""
    assert not has_job_types(paper_run)
    path = paper_run.folder / "cores.parquet"
    pq.write_table(pa.table({"time_s": TIMES_S}), path)
    assert has_job_types(paper_run)
    with pytest.raises(InputError, match="columns are missing"):
        read_job_types(paper_run, 100)
    path.write_bytes(b"PAR1")
    with pytest.raises(InputError, match="cannot be read"):
        read_job_types(paper_run, 100)
