"""Observed run times include communication: the same job, placed as it was, takes the time that it took."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from artist.app.cli import main
from artist.workload.build_jobs import to_jobs
from artist.workload.table import check

Called = Callable[..., tuple[int, str, str]]
S = 10**9
HEAD = "job_id,submit_s,gpus,duration_s,model,nodes\n"


def built(duration_s: float, share: float, **more: object) -> tuple[int, int]:
    """Return iterations and compute_ns of a job of 8 GPUs whose model computes for 1 s per iteration."""
    row = {"job_id": "a", "submit_s": 0.0, "gpus": 8, "duration_s": duration_s, "model": "M"} | more
    table = check(pd.DataFrame([row]), "t")
    (job,) = to_jobs(table, {"M": S}.__getitem__, price=lambda *key: share)
    return job.iterations, job.compute_ns


def exact(duration_ns: int, share: float, model_ns: int = S, **more: object) -> tuple[int, int, int]:
    """Return iterations, compute_ns and first_shorter_ns of a job like that of `built`."""
    row = {"job_id": "a", "submit_s": 0.0, "gpus": 8, "duration_s": duration_ns / S, "model": "M"} | more
    (job,) = to_jobs(check(pd.DataFrame([row]), "t"), {"M": model_ns}.__getitem__, price=lambda *key: share)
    return job.iterations, job.compute_ns, job.first_shorter_ns


@pytest.mark.parametrize(
    ("share", "compute_ns"), [(0.0, 3_333_333_334), (0.25, 2_666_666_667), (0.6, 2_083_333_334)]
)
def test_the_first_iteration_is_shorter_where_the_others_do_not_divide_the_run_time(
    share: float, compute_ns: int
) -> None:
    """10 s in three iterations of 3,333,333,334 ns are 2 ns too many.

    At a share of 0.25, 666,666,667 of each are communication (666,666,666.75), at 0.6 1,250,000,000.
    """
    assert exact(10 * S, share, iterations=3) == (3, compute_ns, 2)


def test_compute_takes_one_more_where_rounded_communication_leaves_iterations_too_short() -> None:
    """31 ns in three at a share of 0.3: 31 / 3 / 1.3 = 7.95, so 8 of compute, and 2.4, rounded 2, make 10.

    Three of 10 are 1 too few; 9 of compute and 2.7, rounded 3, make 12, and three of these 5 too many.
    """
    assert exact(31, 0.3, iterations=3) == (3, 9, 5)


def test_iterations_that_divide_the_run_time_are_all_alike() -> None:
    """100 s are 80 iterations of 1.25 s, none shorter."""
    assert exact(100 * S, 0.25) == (80, S, 0)


def test_short_iterations_are_fewer_where_their_excess_is_more_than_one() -> None:
    """100 ns of a model that computes for 1 ns, at a share of 0.4: 100 / 1.4 = 71 iterations.

    Each has 2 ns of compute (100 / 71 / 1.4 = 1.006) and 1 of communication (0.8): 34 are enough, the first
    2 ns shorter. 71 iterations of the trace stay, as near as whole ns come.
    """
    assert exact(100, 0.4, model_ns=1) == (34, 2, 2)
    assert exact(100, 0.4, model_ns=1, iterations=71) == (71, 1, 0)


def test_compute_is_the_rest_after_the_price() -> None:
    """1 s of compute and 0.25 s of communication: 100 s are 80 iterations of 1.25 s."""
    assert built(100, 0.25) == (80, S)
    assert built(100, 0.0) == (100, S)


def test_iterations_of_the_trace_are_kept() -> None:
    """100 s in 50 iterations are 2 s each, of which 2 / 1.25 = 1.6 s are compute."""
    assert built(100, 0.25, iterations=50) == (50, 16 * S // 10)


def test_a_compute_time_of_the_trace_includes_nothing() -> None:
    """50 iterations that compute for 1 s are what the trace says, at any price."""
    assert built(100, 0.25, iterations=50, compute_s=1.0) == (50, S)


def test_compute_is_never_below_a_nanosecond() -> None:
    """At a price of 10^12 times the compute: 1 s is one iteration of 1 ps, rounded up."""
    assert built(1, 1e12) == (1, 1)


def test_a_job_on_one_gpu_has_no_price() -> None:
    """It sends nothing, so the price is not asked for."""
    assert built(100, np.nan, gpus=1) == (100, S)


@pytest.fixture
def times(called: Called, tmp_path: Path) -> Callable[..., dict[str, float]]:
    """Return a function that runs jobs on two racks of two machines, and returns their running times in s."""

    def simulate(rows: str, *arguments: str) -> dict[str, float]:
        (tmp_path / "jobs.csv").write_text(HEAD + rows)
        folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        code, _, err = called(
            main, "workload=csv", "workload.path=jobs.csv", "workload.durations=observed",
            "cluster.racks=2", "cluster.machines_per_rack=2", "policy=fifo", *arguments,
            f"hydra.run.dir={folder}",
        )  # fmt: skip
        assert code == 0, err
        jobs = pd.read_parquet(folder / "jobs.parquet").set_index("job_id")
        running: dict[str, float] = jobs["running_s"].to_dict()
        return running

    return simulate


@pytest.mark.parametrize("gpus", [2, 8, 16, 32])
@pytest.mark.parametrize("model", ["VGG11", "BERT-large"])
def test_a_job_on_free_machines_takes_the_observed_time(
    times: Callable[..., dict[str, float]], gpus: int, model: str
) -> None:
    """In a machine, in a rack and over racks, to the nanosecond: 3,601 s is no multiple of an iteration."""
    row = f"a,0,{gpus},3601,{model},\n"
    assert times(row)["a"] == 3601
    assert times(row, "workload.durations=compute")["a"] > 3601


def test_a_job_that_was_spread_is_faster_when_consolidated(times: Callable[..., dict[str, float]]) -> None:
    """Eight GPUs on two machines took 3,600 s; on one, without the rack's network, they take less."""
    assert times("a,0,8,3600,VGG11,2\n")["a"] < 3599.9
    assert times("a,0,8,3600,VGG11,1\n")["a"] == 3600
    assert times("a,0,16,3600,VGG11,2\n")["a"] == 3600


def test_impossible_numbers_of_machines_are_taken_as_unknown(times: Callable[..., dict[str, float]]) -> None:
    """Nine machines for eight GPUs, or more than there are: as consolidated."""
    assert times("a,0,8,3600,VGG11,9\n")["a"] == 3600
    assert times("a,0,8,3600,VGG11,7\n")["a"] == 3600


def test_without_a_network_nothing_is_taken_off(times: Callable[..., dict[str, float]]) -> None:
    """All of the run time is compute."""
    assert times("a,0,16,3600,VGG11,\n", "network=zero")["a"] == 3600
