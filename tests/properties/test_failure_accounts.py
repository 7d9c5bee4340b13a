"""GPU time by cause in random runs with everything on: it sums exactly, and to each job's own time."""

import random
from dataclasses import replace

import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.job import JobSpec, Stages
from artist.core.rates import Intensity, Rates, Watts
from artist.core.result import RunResult
from artist.datacenter.causes import Cause
from artist.datacenter.failures import Failures
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.engine.stopping import StopRule
from artist.errors import StuckError
from artist.performance.couplings.interleaved import Interleaved
from artist.performance.placed import PlacedPerformance
from artist.policies.basic.ordered import Ordered
from artist.policies.dally.policy import Dally
from artist.policies.lyra.policy import Lyra
from artist.policies.muri.policy import Muri
from artist.policies.pollux.policy import Pollux
from artist.recording.costs import CostAccounts
from artist.recording.failures import FailureAccounts
from artist.recording.names import FAILURES
from artist.testing.tiny import job
from artist.units import NS_PER_S, seconds_to_ns
from netmodels.api import ZeroModel
from tests.scenarios.test_muri import FORMULA

N_RUNS = 60
KINDS = (("box", "A"), ("box", "B"))
RATES = Rates(dict.fromkeys(KINDS, 3600.0), dict.fromkeys(KINDS, Watts(1e3, 1e3)), Intensity([0], [1]))
POLICIES = (
    lambda: Ordered(order="fifo"),
    lambda: Ordered(order="srtf", preemptive=True),
    lambda: Dally(lease_s=90),
    lambda: Pollux(interval_s=20, generations=5),
    lambda: Lyra(loaning=False),
    lambda: Muri(order="srsf", on_events=True, interval_s=None, loading="split", group_slowdown=FORMULA),
)


def random_causes(rng: random.Random) -> list[Cause]:
    """Return failures of machines every six minutes, slow and drained ones, and those of racks and all."""
    lemons = {"share": 0.3, "times": 3}
    return [
        Cause(cause="gpu", per_1000_days=240_000, repair_h=0.03, lemons=lemons),
        Cause(cause="link", per_1000_days=100_000, slow=rng.uniform(1, 4), repair="fixed", repair_h=0.04),
        Cause(cause="ecc", per_1000_days=90_000, drain=True, slow=rng.choice((None, 2)), repair_h=0.03),
        Cause(cause="power", per_1000_days=50_000, scope="rack", repair="lognormal", repair_h=0.02),
        Cause(cause="site", per_1000_days=20_000, scope="cluster", repair="empirical", repair_h=(0.01, 0)),
    ]


def random_job(number: int, rng: random.Random) -> JobSpec:
    gpus, at, stages = rng.choice((1, 1, 2, 3, 4, 6)), rng.uniform(0, 1000), (0.5, 1.5, 4.0, 1.0)
    elastic = {"min_gpus": 1, "max_gpus": gpus + 2} if rng.random() < 0.4 else {}
    spec = job(f"j{number}", gpus, rng.randint(10, 800), at, iteration_s=sum(stages), **elastic)
    return replace(spec, stages=Stages(*map(seconds_to_ns, stages)))


def random_costs(rng: random.Random, failures: Failures) -> Overheads:
    every_s = rng.choice((15.0, 50.0, "daly"))
    costs = Overheads(
        start_s=rng.choice((0, 3)),
        restart_s=rng.choice((0, 11.1)),
        resume_s=1,
        migrate_s=2,
        recover_s=rng.choice((None, 9)),
        on_stop="lose_since_checkpoint",
        on_preemption=rng.choice((None, "save")),
        checkpoint_every_s=every_s,
        checkpoint_write_s=3.1 if every_s == "daly" else rng.choice((0, 3.1)),
    )
    return costs.under(failures.of_gpus_per_s)


def random_run(seed: int) -> tuple[FailureAccounts, RunResult, Cluster, CostAccounts]:
    """Simulate jobs on 2 racks of 4 machines and a spare, under random failures, delays and checkpoints."""
    rng = random.Random(seed)
    there = [at < 4 for _ in range(2) for at in range(5)]
    types = [rng.choice("AB") for _ in there]
    machines = [
        Machine(f"m{i}", i // 5, "box", 2, t, present=p)
        for i, (t, p) in enumerate(zip(types, there, strict=True))
    ]
    cluster = Cluster(machines)
    jobs = [random_job(number, rng) for number in range(rng.randint(1, 25))]
    clock = Interleaved(FORMULA)
    by_arrival = sorted(jobs, key=lambda spec: spec.submit_ns)
    accounts = FailureAccounts(by_arrival, cluster)
    costs = CostAccounts(by_arrival, cluster, RATES)
    failures = Failures(random_causes(rng), cluster, seed, check_s=rng.choice((0, 40)))
    engine = Engine(
        jobs,
        cluster,
        rng.choice(POLICIES)(),
        PlacedPerformance(ZeroModel(), None, None, None, interleaved=clock, network_stage="table"),
        overheads=random_costs(rng, failures),
        failures=failures,
        stop=StopRule(time_ns=seconds_to_ns(rng.choice((600, 20_000)))),
        observers=[accounts, costs],
    )
    try:
        result = engine.run()
    except StuckError as error:
        result = error.result
    accounts.close(result.end_ns)
    costs.close(result.end_ns)
    return accounts, result, cluster, costs


@pytest.mark.parametrize("seed", range(N_RUNS))
def test_gpu_time_by_cause_sums_exactly(seed: int) -> None:
    """All causes: 20 GPUs x the time of the run, none below 0; of a job: its GPU time outside of groups."""
    accounts, result, cluster, _ = random_run(seed)
    gpu_ns = accounts.summary_entries(result)[FAILURES]["gpu_ns"]
    assert sum(gpu_ns.values()) == 2 * len(cluster) * result.end_ns
    assert min(gpu_ns.values()) >= 0
    assert gpu_ns["shared"] == result.group_gpu_ns
    for number, alone_ns in enumerate(result.columns["gpu_held_alone_ns"].tolist()):
        assert sum(accounts.of_job(number).values()) == alone_ns
    shrunk = result.columns["resizes"].sum()
    assert sum(accounts.stopped.values()) <= result.columns["evictions"].sum() + shrunk


@pytest.mark.parametrize("seed", range(N_RUNS))
def test_costs_of_jobs_and_causes_sum_to_all_gpu_time(seed: int) -> None:
    """1 per GPU-s, 1 kW, 1 g per kWh at all times: jobs sum to the busy GPU time, all to that of all GPUs."""
    accounts, result, cluster, costs = random_run(seed)
    entry, jobs = costs.summary_entries(result)["costs"], costs.job_columns(result)
    there_s = (2 * len(cluster) * result.end_ns - accounts.total("absent")) / NS_PER_S
    held_s = result.busy_gpu_ns / NS_PER_S
    for name, unit in (("money", 1), ("energy_kwh", 1 / 3600), ("co2_kg", 1e-3 / 3600)):
        assert entry["total"][name] == pytest.approx(unit * there_s, rel=1e-12)
        assert jobs[name].sum() == pytest.approx(unit * held_s, rel=1e-12)
    for cause, amounts in entry["causes"].items():
        gpu_ns = accounts.total(cause) + (accounts.total("replacement") if cause == "idle" else 0)
        assert amounts["money"] == pytest.approx(gpu_ns / NS_PER_S, abs=1e-6)  # parts rounded down by type
