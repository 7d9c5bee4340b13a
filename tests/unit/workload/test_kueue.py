"""Workloads of Kueue: a list as kubectl writes it, and a table."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from artist.errors import InputError
from artist.workload.readers.kueue import KueueWorkloads

Write = Callable[..., Any]
GIB = 2**30


def container(**asked: str) -> dict[str, Any]:
    """Return a container that requests some resources."""
    return {"resources": {"requests": asked}}


def workload(name: str, *conditions: tuple[str, str, str], **changes: Any) -> dict[str, Any]:
    """Return a workload: a driver without GPUs, and four workers of two GPUs, 3 CPUs and 8 GiB."""
    driver = {"name": "driver", "count": 1, "template": {"spec": {"containers": [container(cpu="500m")]}}}
    pod = [container(**{"nvidia.com/gpu": "2", "cpu": "2", "memory": "8Gi"}), container(cpu="1")]
    workers = {"name": "worker", "count": 4, "template": {"spec": {"containers": pod}}}
    times = [
        {"type": kind, "status": status, "lastTransitionTime": f"2026-08-01T00:{at}Z"}
        for kind, status, at in conditions
    ]
    spec = {"queueName": "team-a", "priority": 100, "priorityClassName": "high", "podSets": [driver, workers]}
    about = {"name": name, "namespace": "lab", "creationTimestamp": "2026-08-01T00:00:00Z"}
    return {
        "metadata": about,
        "spec": spec | changes.pop("spec", {}),
        "status": {"conditions": times} | changes,
    }


RUN = (("Admitted", "True", "05:00"), ("Finished", "True", "25:00"))


def read(write: Write, content: Any, **chosen: Any) -> dict[str, dict[str, Any]]:
    """Return the jobs by name."""
    text = content if isinstance(content, str) else json.dumps(content)
    return {row["job_id"]: row for _, row in KueueWorkloads(path=write(text), **chosen).table().records()}


def test_a_workload_is_the_sum_of_its_pod_sets(write: Write) -> None:
    """4 x 2 GPUs; 0.5 + 4 x 3 = 12.5, so 13 CPUs; 4 x 8 GiB; four pods have GPUs; 5 to 25 min are 1200 s."""
    items = {"items": [workload("w", *RUN, spec={"maximumExecutionTimeSeconds": 7200})]}
    (job,) = read(write, items, cpus="keep", memory="keep").values()
    wanted = {
        "submit_s": 0, "started_s": 300, "duration_s": 1200, "gpus": 8, "cpus": 13, "memory_bytes": 32 * GIB,
        "max_machines": 4, "vc": "team-a", "qos": "high", "priority": 100, "account": "lab", "limit_s": 7200,
    }  # fmt: skip
    assert {name: job[name] for name in wanted} == wanted


def test_the_admission_counts_with_its_flavors(write: Write) -> None:
    """Three of four workers were admitted, 6 GPUs of flavor a100, on at most three machines."""
    usage = {"nvidia.com/gpu": "6", "cpu": "9"}
    sets = [{"name": "worker", "count": 3, "resourceUsage": usage, "flavors": {"nvidia.com/gpu": "a100"}}]
    admission = {"clusterQueue": "research", "podSetAssignments": sets}
    (job,) = read(write, [workload("w", *RUN, admission=admission)]).values()
    assert (job["gpus"], job["gpu_types"], job["max_machines"]) == (6, "a100", 3)
    assert job["partition"] == "research"


def test_evicted_running_and_waiting_workloads(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Again admitted at 5 min; one runs until 25 min, the last time; two hold no GPUs."""
    items = [
        workload("again", ("Evicted", "False", "04:00"), *RUN),
        workload("runs", ("Admitted", "True", "10:00")),
        workload("evicted", ("Evicted", "True", "10:00"), ("Admitted", "False", "10:00")),
        workload("waits", ("QuotaReserved", "False", "00:10")),
    ]
    jobs = read(write, items)
    assert {name: job["duration_s"] for name, job in jobs.items()} == {"again": 1200, "runs": 900}
    assert "left out 2 of 4 jobs: not admitted (0 GPU-hours; never admitted 2)" in caplog.text
    assert list(read(write, items, running="drop")) == ["again"]
    assert (
        "left out 1 of 2 jobs: still run (running=drop) (2 of 4.667 GPU-hours; running 1 with 2)"
        in caplog.text
    )


def test_slices_of_gpus(write: Write) -> None:
    """A slice gets a whole GPU, or its job is left out, beside one of whole GPUs."""
    pod = {
        "name": "p",
        "count": 2,
        "template": {"spec": {"containers": [container(**{"nvidia.com/mig-1g.5gb": "1"})]}},
    }
    items = [workload("w", *RUN), workload("slice", *RUN, spec={"podSets": [pod]})]
    assert read(write, items)["slice"]["gpus"] == 2
    assert list(read(write, items, fractional_gpus="drop")) == ["w"]


def test_a_table(write: Write, shared: Any) -> None:
    """wl-a ran an hour after 5 s; wl-b from 00:00:06 to the last time, 01:00:05; wl-c was not admitted."""
    text = (shared / "reference/practice/kueue_workloads.csv").read_text()
    for separated in (
        text,
        text.replace("name,queue", "Name,Local-Queue").replace("created", "creationTimestamp"),
    ):
        jobs = read(write, separated, memory="keep", cpus="keep")
        assert {name: (job["started_s"], job["duration_s"]) for name, job in jobs.items()} == {
            "wl-a": (5, 3600),
            "wl-b": (6, 3599),
        }
        assert (jobs["wl-a"]["vc"], jobs["wl-a"]["priority"], jobs["wl-a"]["memory_bytes"]) == (
            "team-a",
            100,
            64 * GIB,
        )
        assert jobs["wl-b"]["cpus"] == 2  # 1500m


GOOD = {"items": [workload("w", *RUN)]}
WRONG: dict[str, Any] = {
    "empty": "",
    "no json": "{",
    "no items": {"items": []},
    "pods": {"items": [{"metadata": {"name": "p"}, "spec": {"containers": []}}]},
    "numbers": [1, 2],
    "a number": "[" + "1" * 5000 + "]",
    "items none": {"items": None},
    "items a word": {"items": "x"},
    "no such quantity": [workload("w", *RUN, spec={"podSets": [{"name": "p", "template": {"spec": {
        "containers": [container(**{"nvidia.com/gpu": "two"})]}}}]})],
    "no date": json.dumps(GOOD).replace("2026-08-01T00:05:00Z", "soon"),
    "before it was created": json.dumps(GOOD).replace("2026-08-01T00:05:00Z", "2026-07-01T00:00:00Z"),
    "none admitted": [workload("w")],
    "no gpus": "name,created,admitted,finished\na,2026-08-01,2026-08-01,2026-08-02\n",
    "gpus in words": "name,created,admitted,finished,gpus\na,2026-08-01,2026-08-01,2026-08-02,many\n",
    "header only": "name,created,admitted,finished,gpus\n",
    "priority": "name,created,admitted,finished,gpus,priority\na,2026-08-01,2026-08-01,2026-08-02,1,high\n",
}  # fmt: skip


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_a_wrong_file_gives_two_clear_lines(write: Write, content: Any) -> None:
    """Where and what; found and allowed."""
    with pytest.raises(InputError) as caught:
        read(write, content)
    where, allowed = str(caught.value).split("\n")
    assert "trace.csv" in where
    assert "allowed: " in allowed
