"""From seconds and tables to integer nanoseconds and job specs."""

import time

import numpy as np
import pandas as pd
import pytest

from artist.core.job import Demand, Stages
from artist.errors import InputError
from artist.workload.build_jobs import to_jobs
from artist.workload.table import check

S = 1_000_000_000


def compute_ns(model: str) -> int:
    """Return 0.3 s, for the one model that has a profile."""
    return {"M": 3 * S // 10}[model]


def table(**columns: object) -> pd.DataFrame:
    """Return jobs with the given columns beside id, arrival, GPUs and model."""
    base = {"job_id": ["a"], "submit_s": [1.5], "gpus": [2], "model": ["M"]}
    return check(pd.DataFrame({**base, **columns}), "t")


def test_a_duration_alone() -> None:
    """10 s / 0.3 s = 33.3, so 33 iterations, of 10 s / 33 = 303,030,303 ns."""
    job = to_jobs(table(duration_s=[10.0]), compute_ns)[0]
    assert (job.iterations, job.compute_ns) == (33, 303_030_303)
    assert (job.submit_ns, job.model, job.demand) == (1_500_000_000, "M", Demand(2))


def test_a_duration_shorter_than_an_iteration() -> None:
    """0.1 s / 0.3 s rounds to 0: at least 1 iteration, which then takes the 0.1 s."""
    job = to_jobs(table(duration_s=[0.1]), compute_ns)[0]
    assert (job.iterations, job.compute_ns) == (1, S // 10)


def test_iterations_and_compute_time_are_taken_as_they_are() -> None:
    """7 x 0.25 s, whatever the duration and the profile say."""
    job = to_jobs(table(iterations=[7], compute_s=[0.25], duration_s=[99.0]), compute_ns)[0]
    assert (job.iterations, job.compute_ns, job.ideal_ns) == (7, S // 4, 7 * S // 4)


def test_a_duration_with_one_of_the_two() -> None:
    """10 s in 4 iterations: 2.5 s each. 10 s of 4 s each: 2.5 rounds to the even 2 iterations, of 5 s."""
    by_iterations = to_jobs(table(duration_s=[10.0], iterations=[4]), compute_ns)[0]
    by_compute = to_jobs(table(duration_s=[10.0], compute_s=[4.0]), compute_ns)[0]
    assert (by_iterations.iterations, by_iterations.compute_ns) == (4, 5 * S // 2)
    assert (by_compute.iterations, by_compute.compute_ns) == (2, 5 * S)


def test_times_of_stalled_jobs_are_those_at_their_share() -> None:
    """Stalled to twice its compute, an iteration of the profile takes 0.6 s: 10 s are 17, each half compute.

    7 x 0.25 s, as a trace may say, compute for 0.125 s each. Input depends on model, GPUs, their speed, and
    the CPUs and memory asked for.
    """
    asked = []

    def stretch(model: str, gpus: int, speed: float, amounts: tuple[int, int]) -> float:
        asked.append((model, gpus, speed, amounts))
        return 2.0

    (alone,) = to_jobs(table(duration_s=[10.0]), compute_ns, stretch)
    assert (alone.iterations, alone.compute_ns) == (17, round(10 * S / 17 / 2))
    (known,) = to_jobs(table(iterations=[7], compute_s=[0.25]), compute_ns, stretch)
    assert (known.iterations, known.compute_ns) == (7, S // 8)
    assert asked == [("M", 2, 1.0, (0, 0))] * 2


def test_stages_become_nanoseconds() -> None:
    """0.1 + 0.2 + 0.3 + 0 s; a job without them has none, and so has every job of a table without them."""
    stages = {"storage_s": [0.1], "cpu_s": [0.2], "gpu_s": [0.3], "network_s": [0]}
    (known,) = to_jobs(table(duration_s=[10.0], **stages), compute_ns)
    assert known.stages == Stages(S // 10, S // 5, 3 * S // 10, 0)
    (without,) = to_jobs(table(duration_s=[10.0], **{name: [None] for name in stages}), compute_ns)
    assert without.stages is None
    assert to_jobs(table(duration_s=[10.0]), compute_ns)[0].stages is None


def test_a_cpu_only_job_needs_no_profile() -> None:
    """It advances by about a second: 10.4 s are 10 iterations of 1.04 s."""
    job = to_jobs(table(gpus=[0], cpus=[8], model=[""], duration_s=[10.4]), compute_ns)[0]
    assert (job.iterations, job.compute_ns, job.demand) == (10, 1_040_000_000, Demand(0, cpus=8))


def test_jobs_come_by_arrival_then_place_and_share_demands() -> None:
    """Job b stands before a, with which it arrives, c after both, though it arrives first; b and c share."""
    jobs = to_jobs(
        check(
            pd.DataFrame(
                {
                    "job_id": ["b", "a", "c"],
                    "submit_s": [5.0, 5.0, 1.0],
                    "gpus": [2, 4, 2],
                    "duration_s": 1.0,
                    "model": "M",
                    "max_gpus": [8, 0, 8],
                    "min_gpus": [1, 0, 1],
                    "memory_bytes": [7, 0, 7],
                }
            ),
            "t",
        ),
        compute_ns,
    )
    assert [job.job_id for job in jobs] == ["c", "b", "a"]
    assert jobs[0].demand == Demand(2, 1, 8, memory_bytes=7)
    assert jobs[0].demand is jobs[1].demand


def test_gpu_utilization_defaults_to_1() -> None:
    """0.4 as given; all of the time where the trace says nothing."""
    assert to_jobs(table(duration_s=[1.0], gpu_utilization=[0.4]), compute_ns)[0].gpu_utilization == 0.4
    assert to_jobs(table(duration_s=[1.0]), compute_ns)[0].gpu_utilization == 1


def test_the_class_of_a_job() -> None:
    """Promised its GPUs, unless the trace says otherwise."""
    given = [to_jobs(table(duration_s=[1.0], guaranteed=[value]), compute_ns)[0] for value in (0, 1)]
    assert [job.guaranteed for job in given] == [False, True]
    assert to_jobs(table(duration_s=[1.0]), compute_ns)[0].guaranteed


@pytest.mark.parametrize("columns", [{"duration_s": [1.0]}, {"iterations": [1], "compute_s": [1.0]}])
def test_an_unknown_model_is_named(columns: dict[str, object]) -> None:
    """Also where the job brings its own times: the network has to know its gradients."""
    with pytest.raises(InputError, match=r"row 1, job a: unknown model\n  found 'GPT'"):
        to_jobs(table(model=["GPT"], **columns), compute_ns)


def test_allowed_models_come_from_the_profiles() -> None:
    """The profiles know their names; the message passes them on, with the job."""

    def refuse(model: str) -> int:
        raise InputError("no such profile", found=model, allowed="M, N")

    with pytest.raises(InputError, match=r"job a: unknown model\n  found 'GPT'; allowed: M, N"):
        to_jobs(table(model=["GPT"], duration_s=[1.0]), refuse)


def test_no_model_is_named_too() -> None:
    """A source of one's own may forget to name models."""
    with pytest.raises(InputError, match="job a: no model"):
        to_jobs(table(model=[""], duration_s=[1.0]), compute_ns)


def test_jobs_of_the_size_of_venus_take_less_than_a_second() -> None:
    """77,574 jobs; measured 0.3 s of the processor. A loop over pandas rows would take four."""
    count = 77_574
    numbers = np.arange(count)
    ids = [f"{n:06d}" for n in numbers]
    columns = {"submit_s": numbers * 150.0, "gpus": 1 + numbers % 8, "duration_s": 1.0 + numbers % 9999}
    jobs = check(pd.DataFrame({"job_id": ids, **columns, "model": "M"}), "t")
    start = time.process_time()
    assert len(to_jobs(jobs, compute_ns)) == count
    assert time.process_time() - start < 1.0
