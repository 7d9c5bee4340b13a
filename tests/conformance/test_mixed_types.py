"""Every shipped policy, with every fill, runs or refuses jobs of all kinds on machines of two GPU types."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.job import JobSpec
from artist.core.result import RunResult
from artist.core.view import Policy
from artist.errors import InputError
from artist.run.parts import part
from artist.run.pools import check_fits
from artist.testing.tiny import job, run_checked, seconds
from tests.conformance.test_policies import FILES, preset

NAMES = [file.stem for file in FILES]
TUNED = "artist.policies.synergy.cpu_tuned.CpuTuned"


def cluster() -> Cluster:
    """Return a machine of 6 new GPUs, each worth 2 old ones, and two machines of 2 old GPUs."""
    has = {"cpus": 8, "memory_bytes": 8 << 30}
    new = Machine("new", 0, "big", 6, gpu_type="new", speed=2.0, **has)
    return Cluster([new, *(Machine(f"old{i}", 1, "small", 2, gpu_type="old", **has) for i in range(2))])


FUNGIBLE = {"fungible": True, "measured_worth": 2.0, "measured_speed": 2.0}
ALONE = {
    "fungible": job("fungible", 6, 10, **FUNGIBLE),  # 6 new; 12 old are more than all 10 GPUs
    "elastic": job("elastic", 8, 10, min_gpus=2, max_gpus=10, step=2, gpu_types=("old",)),
    "gpu_types": job("typed", 3, 10, gpu_types=("old", "new")),
    "max_machines": job("together", 3, 10, gpu_types=("old", "new"), max_machines=1),  # 4 old are apart
}
"""Jobs that one of the types cannot hold."""


def policies(name: str) -> Iterator[Policy]:
    """Yield a preset as it is, with each fill of its own, and with each mechanism for CPUs around it."""
    plain = preset(name)
    yield part(plain, "policy", ("decide",))
    inner = copy.deepcopy(plain)
    base = inner
    while "of" in base:
        base = base["of"]
    if "fill" not in base or TUNED in (plain["_target_"], inner["_target_"]):
        return
    for fill, mechanisms in (("proportional", ("tune", "opt")), ("as_asked", ("greedy",))):
        base["fill"] = fill
        yield part(inner, "policy", ("decide",))
        for mechanism in mechanisms:
            around = {"_target_": TUNED, "of": inner, "mechanism": mechanism}
            yield part(around, "policy", ("decide",))


def finished(policy: Policy, jobs: list[JobSpec]) -> RunResult | None:
    """Return the finished run of those jobs; None if one is refused by a policy with machines of its own."""
    there, admitted = cluster(), []
    for spec in jobs:
        try:
            check_fits(policy, there, [spec], (), {})
        except InputError:
            assert hasattr(policy, "reach")
        else:
            admitted.append(spec)
    if not admitted:
        return None
    result = run_checked(admitted, there, policy)[0]
    assert (result.columns["finish_ns"] >= 0).all()
    return result


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_jobs_that_a_gpu_type_is_too_small_for(name: str) -> None:
    """A plan for GPUs that no machine has, or a job that waits for ever, ends the run."""
    for jobs in (list(ALONE.values()), [ALONE["max_machines"]]):  # the last also when both types are free
        for policy in policies(name):
            finished(policy, jobs)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_runs_jobs_of_all_kinds(name: str) -> None:
    """The same, with jobs that combine what the three have."""
    for seed in range(8):
        for policy in policies(name):
            finished(policy, drawn(seed))


def drawn(seed: int) -> list[JobSpec]:
    """Return jobs of up to 8 GPUs; each property holds for half of them."""
    rng = np.random.default_rng([seed, 36])
    jobs = []
    for i in range(8):
        has = rng.random(6) < 0.5
        gpus = int(rng.choice([2, 4]))
        asks: dict[str, Any] = {"gpu_types": (("old", "new"), ("new",), ("old",))[i % 3] if has[0] else ()}
        asks |= {"min_gpus": 2, "max_gpus": 8, "step": 2} if has[1] else {}
        asks |= FUNGIBLE if has[2] and "new" in (asks["gpu_types"] or ("new",)) else {}
        asks |= {"cpus": gpus, "memory_bytes": gpus << 29} if has[3] else {}
        asks["mixed_types"] = bool(has[4])
        spec = job(f"j{i}", gpus, float(rng.exponential(20)) + 1, float(rng.exponential(20)), **asks)
        jobs.append(replace(spec, model=("", "skewed")[int(has[5])]))
    return jobs


@pytest.mark.parametrize(
    ("mechanism", "name", "kind", "expected"),
    [("greedy", "fifo", "fungible", 10.0), (None, "themis", "elastic", 20.0)],
)
def test_a_lone_job_has_the_gpus_that_are_there(
    mechanism: str | None, name: str, kind: str, expected: float
) -> None:
    """All 6 new GPUs: 10 iterations of 1 s. Of the 8 old ones asked for 4: 10 iterations of 1 x 8 / 4 s."""
    inner = {**preset(name), "fill": "as_asked" if mechanism else "proportional"}
    settings = {"_target_": TUNED, "of": inner, "mechanism": mechanism} if mechanism else inner
    result = finished(part(settings, "policy", ("decide",)), [ALONE[kind]])
    assert result is not None
    assert seconds(result, "finish_ns") == [expected]
