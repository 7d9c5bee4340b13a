"""Notes of a run on a policy whose parts have no effect on these jobs or this cluster."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.job import Demand, JobSpec
from artist.policies.basic.drf import Drf
from artist.policies.coda.policy import Coda

ON = (
    "topology=pcie_10g",
    "cluster.machines=1",
    "cluster.racks=null",
    "workload=csv",
    "workload.path=jobs.csv",
)
MIXED = Cluster([Machine("none", 0, "cpus", 0, cpus=32), Machine("five", 0, "big", 5, cpus=28)])


def jobs(*given: tuple[int, str]) -> list[JobSpec]:
    """Return jobs of so many GPUs, of a user each."""
    return [
        JobSpec(f"j{number}", 0, Demand(gpus, cpus=1), 1, 1, "ResNet18" * (gpus > 0), user)
        for number, (gpus, user) in enumerate(given)
    ]


@pytest.mark.parametrize(
    ("users", "told"),
    [(("", ""), "no job has a user"), (("ann", "ann"), "all jobs are of one user"), (("ann", ""), "")],
)
@pytest.mark.parametrize("policy", [Drf, Coda])
def test_fairness_among_users_needs_users(
    policy: type[Drf | Coda], users: tuple[str, str], told: str
) -> None:
    """With one queue it is first come, first served; jobs without a user are one more user."""
    notes = policy().notes(MIXED, jobs((1, users[0]), (0, users[1])))
    assert len(notes) == bool(told)
    assert all(note.startswith(f"{told}, so none is preferred") for note in notes)


@pytest.mark.parametrize(
    ("policy", "gpus", "told"),
    [
        (Coda(), (1, 0), []),
        (Coda(), (1, 2), ["no job is CPU-only"]),
        (Coda(arrays=False, eliminator="off"), (1, 2), []),
        (Coda(large_machines=0), (1, 0), []),
        (Coda(large_machines=1), (1, 0), ["large_machines is 1, so all 1 machines with GPUs"]),
        (Coda(large_machines=9), (1, 2), ["no job is CPU-only", "large_machines is 9"]),
        (Coda(large_machines=9, arrays=False), (1, 0), []),
    ],
)
def test_coda_warns_of_its_parts_without_effect(policy: Coda, gpus: tuple[int, int], told: list[str]) -> None:
    """One of two machines has GPUs: a sub-array of one takes all; a CPU array needs jobs without GPUs."""
    notes = policy.notes(MIXED, jobs((gpus[0], "ann"), (gpus[1], "ben")))
    assert len(notes) == len(told)
    assert all(note.startswith(words) for note, words in zip(notes, told, strict=True))


def test_notes_of_a_policy_are_logged(artist: Callable[..., Any]) -> None:
    """The two jobs have no user, and both use a GPU."""
    Path("jobs.csv").write_text("job_id,submit_s,gpus,duration_s,model\na,0,1,10,BAT\nb,0,1,10,BAT\n")
    result = artist("policy=coda", *ON, "performance.sensitivity=coda", tiny=False)
    assert result.code == 0, result.err
    assert result.err.count("policy Coda: ") == 2


@pytest.mark.parametrize(
    ("policy", "asked", "sensitivity", "told"),
    [
        ("tiresias", 0, "coda", True),
        ("tiresias", 4, "coda", False),
        ("coda_fifo", 0, "coda", True),
        ("coda_fifo", 4, "coda", False),
        ("coda", 0, "coda", False),
        ("coda_fifo", 0, "null", False),
    ],
)
def test_gpu_jobs_without_cpus_are_warned_about(
    artist: Callable[..., Any], policy: str, asked: int, sensitivity: str, told: bool
) -> None:
    """C holds all 28 CPUs to 100 s. G, at 10 s, waits for 4, asks for none and has none, or C is stopped."""
    rows = f"c,0,0,28,100,,ann\ng,10,1,{asked},60,ResNet18,ben\nh,200,1,{asked},60,ResNet18,ben\n"
    Path("jobs.csv").write_text("job_id,submit_s,gpus,cpus,duration_s,model,user\n" + rows)
    result = artist(f"policy={policy}", *ON, f"performance.sensitivity={sensitivity}", tiny=False)
    assert result.code == 0, result.err
    assert result.err.count("1 of 2 GPU jobs held no CPUs at times") == told  # once, though it is logged too
    (summary,) = Path("runs").rglob("summary.json")
    starts_with_none = told or sensitivity == "null"
    assert json.loads(summary.read_text())["kinds"]["without_cpus"] == starts_with_none


PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-1,88000,16384,1,1000,,BE,Succeeded,100,3800,200
pod-2,88000,16384,1,1000,,BE,Succeeded,100,7300,3700
pod-3,88000,16384,1,1000,,BE,Succeeded,100,10900,7300
"""
SHARES = "3 of 3 GPU jobs ask for CPUs or memory, and may get others: "


@pytest.mark.parametrize(
    ("policy", "mean_h", "told"),
    [
        *[(name, 2.0, "") for name in ("fifo", "srtf", "dally", "gandiva", "antman")],
        (
            "tiresias",
            10_450 / 3600,
            "",
        ),  # 3250 s each in the first queue, then 350 s: (10,100 + 10,450 + 10,800) / 3
        ("muri_l", 2.0, ""),
        ("pollux", 2.0, ""),
        ("fifo", 1.0, "shares are in proportion to GPUs; policy.fill=as_asked"),
        ("lyra", 1.0, "shares are in proportion to GPUs; policy.fill=as_asked"),
        ("synergy", 1.0, "the policy decides on CPUs and memory"),
    ],
)
def test_pods_wait_for_the_cpus_that_they_ask_for(
    artist: Callable[..., Any], policy: str, mean_h: float, told: str
) -> None:
    """Three pods of 88 CPUs and 1 h on a machine of 92: at 1, 2 and 3 h, or all at 1 h, which is said."""
    Path("pods.csv").write_text(PODS)
    fill = ["policy.fill=proportional"] if told and policy == "fifo" else []
    machine = ("topology=v100_t4_cloud", "cluster.machines=[{type: t4_8gpu, count: 1}]", "network=zero")
    source = ("workload=openb", "workload.path=pods.csv", "workload.cpus=keep")
    result = artist(f"policy={policy}", *fill, *machine, *source, tiny=False)
    assert result.code == 0, result.err
    (summary,) = Path("runs").rglob("summary.json")
    assert json.loads(summary.read_text())["jct_s"]["mean"] == pytest.approx(3600 * mean_h, rel=1e-3)
    assert (SHARES + told in result.err) == bool(told)


@pytest.mark.parametrize(("topology", "lacking"), [("dgx_h100_3tier", "21.9 GB more"), ("a3ultra_h200", "")])
def test_jobs_that_no_gpu_holds_are_reported(artist: Callable[..., Any], topology: str, lacking: str) -> None:
    """6.74e9 parameters x 16 bytes are 107.8 GB, of H100's 85.9 (80 GiB) and H200's 151.4."""
    Path("jobs.csv").write_text("job_id,submit_s,gpus,duration_s,model\na,0,1,10,llama2-7b\nb,0,1,10,VGG16\n")
    source = ("workload=csv", "workload.path=jobs.csv", f"topology={topology}")
    result = artist("policy=fifo", *source, tiny=False)
    assert result.code == 0, result.err
    assert (f"{lacking} than H100 GPUs have: 1 of 2 jobs" in result.err) == bool(lacking)
    assert ("Llama-2-7B takes" in result.err) == bool(lacking)
