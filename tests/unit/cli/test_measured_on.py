"""`workload.measured_on` from the configuration to finished jobs."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from artist.app.composing import register_topologies
from artist.core.result import RunResult
from artist.data import data_path
from artist.run.build import build, check_config

JOBS = "job_id,arrival_s,service_sec,gpu_count\n" + "".join(
    f"j{i},{i * 37.31:.2f},{300 + i * 7919 % 1009 + i * 0.713:.3f},{1 << (i * 3 % 5)}\n" for i in range(40)
)
EIGHT_GPUS = ("dgx_h100_3tier", "dally_code", "dally_paper", "v100_100g", "v100_t4_pools", "cloud_ethernet")
FABRICS = [*((name,) for name in EIGHT_GPUS), ("v100_t4_pools", "cluster.machine_type=t4_8gpu")]


@cache
def composed(*overrides: str) -> str:
    """Return a configuration as JSON."""
    register_topologies()
    with initialize_config_dir(version_base="1.3", config_dir=str(data_path("conf"))):
        return json.dumps(OmegaConf.to_container(compose("config", list(overrides)), resolve=True))


def run(path: Path, fabric: Sequence[str], *overrides: str, machines: int = 4) -> RunResult:
    """Return a run of a Helios file without communication."""
    topology, *others = fabric
    raw: dict[str, Any] = json.loads(
        composed(
            *(
                f"topology={topology}",
                "workload=helios",
                f"workload.path={path}",
                "network=zero",
                "overheads=keep",
            ),
            *(f"cluster.machines={machines}", "cluster.machines_per_rack=8", *others, *overrides),
        )
    )
    return build(check_config(raw)).run(())


def jct_s(result: RunResult) -> np.ndarray:
    """Return completion times, (n_jobs,), in seconds."""
    return (result.columns["finish_ns"] - result.columns["submit_ns"]) / 1e9


@pytest.mark.parametrize("policy", ["fifo", pytest.param("srtf", marks=pytest.mark.slow), "tiresias"])
@pytest.mark.parametrize("fabric", FABRICS[1:], ids="-".join)
def test_a_trace_takes_as_long_on_every_fabric(tmp_path: Path, fabric: Sequence[str], policy: str) -> None:
    """Machines of 8 GPUs, whatever their speed: durations hold on the cluster's own GPUs."""
    path = tmp_path / "jobs.csv"
    path.write_text(JOBS)
    settings = (f"policy={policy}", *(["policy.thresholds_gpu_s=[2000]"] if policy == "tiresias" else []))
    here, reference = (jct_s(run(path, value, *settings)) for value in (fabric, FABRICS[0]))
    assert np.abs(here - reference).max() < 1e-3
    assert reference.max() > 2 * 1400  # jobs wait


def test_v100_jobs_take_a_quarter_of_the_time_on_h100(tmp_path: Path) -> None:
    """Each runs for a quarter of its seconds, and costs that: ideal_ns is on the cluster's own GPUs, too."""
    path = tmp_path / "jobs.csv"
    path.write_text(JOBS)
    whole, quarter = (
        run(path, FABRICS[0], "policy=fifo", f"workload.measured_on={m}") for m in ("cluster", "trace")
    )
    assert np.abs(quarter.columns["running_ns"] - whole.columns["running_ns"] / 4).max() < 1e6
    assert np.abs(whole.columns["running_ns"][:3] / 1e9 - [300, 1156.713, 1004.426]).max() < 1e-3


def test_a_run_s_arrivals_aim_at_a_load_that_counts_speeds(tmp_path: Path) -> None:
    """8 V100 and 24 T4 are 16 V100: all GPU-seconds of the trace in span x 16 x 0.5."""
    path = tmp_path / "jobs.csv"
    path.write_text(JOBS)
    pools = "[{type: v100_8gpu, count: 1}, {type: t4_8gpu, count: 3}]"
    raw = json.loads(
        composed(
            *("topology=v100_t4_pools", f"cluster.machines={pools}", "workload=helios"),
            *(f"workload.path={path}", "arrivals=compress", "arrivals.load=0.5"),
        )
    )
    jobs = build(check_config(raw)).jobs
    gpu_s = sum(spec.demand.gpus * spec.ideal_ns for spec in jobs) / 1e9
    assert jobs[-1].submit_ns / 1e9 == pytest.approx(gpu_s / (16 * 0.5), rel=1e-6)


@pytest.mark.slow
def test_venus_takes_as_long_on_every_fabric(traces: Path) -> None:
    """Five months of Venus under FIFO on 64 machines: mean completion times within a second, of 44 hours."""
    path = traces / "helios-venus/venus_gpu_jobs_2020-03-18_2020-07-31.csv.gz"
    means = [jct_s(run(path, fabric, "policy=fifo", machines=64)).mean() for fabric in FABRICS]
    assert max(means) - min(means) < 1


def test_limits_by_a_factor_follow_the_run_time_in_the_trace(tmp_path: Path) -> None:
    """A job of 1,790 s for T4 alone has a limit of 1,800 s, rounded up, not of the 600 s for a V100.

    It ended at 600 s: the speeds are 1 and 1/3.
    """
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit_s,duration_s,gpus,model,gpu_types\na,0,1790,1,ResNet50,T4\n")
    machines = "[{type: v100_8gpu, count: 1}, {type: t4_8gpu, count: 1}]"
    settings = ("topology=v100_t4_cloud", "workload=csv", f"workload.path={path}", "network=zero")
    limits = ("workload.limits.factor=1", "workload.limits.enforced=true", f"cluster.machines={machines}")
    raw = json.loads(composed(*settings, *limits, "policy=fifo"))
    result = build(check_config(raw)).run(())
    assert result.jobs[0].limit_ns == 1800 * 10**9
    assert jct_s(result).tolist() == pytest.approx([1790], abs=1e-3)
    assert result.columns["iterations"][0] == result.jobs[0].iterations
