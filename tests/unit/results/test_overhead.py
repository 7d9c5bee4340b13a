"""Jobs behind the overhead by GPU time, in words."""

from typing import Any

from artist.results.overhead import overhead_by_gpu_time


def summary(added: float | None, model: str = "VGG16", jobs: int = 5, seed: int = 0) -> dict[str, Any]:
    """Return the parts of a summary that count, of jobs on 160 GPUs that have half of the overhead."""
    largest = {"model": model, "gpus": 160, "jobs": jobs, "share": 0.5}
    return {"seed": seed, "comm_overhead": {"by_gpu_time": added, "largest": largest}}


def test_model_and_gpus_of_the_largest_part_are_named() -> None:
    """17.7 % of the GPU time, half of it by five jobs; the name of a lone row is not repeated."""
    assert overhead_by_gpu_time([("fifo", [summary(0.177)])]) == (
        "communication adds 17.7 % to computing time, and 50 % of that comes from 5 jobs of VGG16 on 160 GPUs"
    )


def test_little_overhead_and_runs_of_earlier_code_are_passed_over() -> None:
    """0.9 % is below 1 %; a run may lack the number, or, as damaged ones do, only the jobs."""
    alone: dict[str, Any] = {"seed": 0, "comm_overhead": {"by_gpu_time": 0.2}}
    old: dict[str, Any] = {"seed": 0, "comm_overhead": {"mean": 0.2, "p95": 0.2}}
    runs = [summary(0.009), summary(None), alone, old]
    assert overhead_by_gpu_time([("fifo", [run]) for run in runs for _ in range(2)]) == ""


def test_equal_jobs_are_named_once_with_the_highest_overhead() -> None:
    """VGG16 under srtf, seed 1 (20 %), before fifo (10 %), then a job without a model under las (5 %)."""
    rows = [
        ("fifo", [summary(0.1)]),
        ("las", [summary(0.05, "", 1)]),
        ("srtf", [summary(0.15), summary(0.2, seed=1)]),
    ]
    assert overhead_by_gpu_time(rows) == (
        "communication adds 20.0 % to computing time under srtf (seed 1), and 50 % of that comes from 5 jobs "
        "of VGG16 on 160 GPUs; 5.0 % under las, and 50 % of that comes from 1 job on 160 GPUs"
    )
