"""Failures against theory and published figures: Daly's efficiency and interval, Llama 3, RSC.

Daly, A higher order estimate of the optimum checkpoint interval (FGCS 22, 2006): with a mean time M between
failures of a job, recovery u0, a checkpoint of w every dt of work, all exponential, work of T takes
M exp(u0 / M) (exp((dt + w) / M) - 1) T / dt. Meta (arXiv 2410.21680) writes, with N machines of rate r,
E = (1 - N r (u0 + dt/2)) / (1 + w / dt).
"""

from itertools import islice
from math import exp
from statistics import mean, stdev

import pytest

from artist.core.cluster import Cluster, Machine
from artist.core.job import Demand, JobSpec
from artist.datacenter.causes import PUBLISHED, Cause
from artist.datacenter.failures import Failures
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.engine.stopping import StopRule
from artist.policies.basic.ordered import Ordered
from artist.recording.failures import FailureAccounts
from artist.recording.names import FAILURES
from artist.testing.tiny import PlainPerformance
from artist.units import NS_PER_S, seconds_to_ns

U0_S, DT_S, W_S = 300, 600, 30
AT_ONCE = {"repair": "fixed", "repair_h": 0}


def per_1000_days(mean_s: float) -> float:
    return 1000 * 86_400 / mean_s


def exact(mean_s: float, dt_s: float = DT_S, w_s: float = W_S) -> float:
    """Return Daly's efficiency."""
    return dt_s / (mean_s * exp(U0_S / mean_s) * (exp((dt_s + w_s) / mean_s) - 1))


def efficiency(
    mean_s: float, seed: int, every_s: float | str = DT_S, w_s: float = W_S, failures: int = 600
) -> float:
    """Simulate a job on 4 machines, one of which fails every `mean_s` and is back at once."""
    cluster = Cluster([Machine(f"m{i}", 0, "box", 8) for i in range(4)])
    causes = [Cause(cause="any", per_1000_days=per_1000_days(4 * mean_s), **AT_ONCE)]
    work_s = round(mean_s * 600 * exact(mean_s))
    costs = Overheads(
        recover_s=U0_S, on_stop="lose_since_checkpoint", checkpoint_every_s=every_s, checkpoint_write_s=W_S
    )
    drawn = Failures(causes, cluster, seed)
    costs = costs.under(drawn.of_gpus_per_s)
    job = JobSpec("a", 0, Demand(32), work_s, NS_PER_S)
    engine = Engine(
        [job], cluster, Ordered(order="fifo"), PlainPerformance(), overheads=costs, failures=drawn
    )
    return work_s * NS_PER_S / engine.run().end_ns


SLOW = [pytest.param(load, marks=pytest.mark.slow) for load in (0.02, 0.1, 0.2, 0.35)]


@pytest.mark.parametrize("load", [0.05, 0.5, *SLOW])
def test_efficiency_is_dalys(load: float) -> None:
    """Failures per time x (u0 + dt/2 = 600 s) = load: within 1 % and 3 standard errors of twelve seeds.

    Below 0.1 also within 0.5 % of Meta's formula; at 0.1 that is 0.900 / 1.05 = 0.857, Daly's 0.859.
    """
    mean_s = (U0_S + DT_S / 2) / load
    runs = [efficiency(mean_s, seed) for seed in range(12)]
    off, error = mean(runs) / exact(mean_s) - 1, stdev(runs) / 12**0.5 / exact(mean_s)
    assert abs(off) < min(0.01, 3 * error), (off, error)
    if load < 0.1:
        assert mean(runs) == pytest.approx((1 - load) / (1 + W_S / DT_S), rel=0.005)


@pytest.mark.slow
def test_dalys_interval_is_never_worse_than_a_fixed_one() -> None:
    """Write times of 5 to 300 s, failures every 20 min to 2 days: within 1 % of the best of 60.

    By the exact efficiency of the interval in whole iterations of 1 s; and as simulated on equal failures.
    """
    for w_s in (5, 30, 300):
        for mean_s in (1200, 3600, 14_400, 172_800):
            daly = Overheads(
                on_stop="lose_since_checkpoint", checkpoint_every_s="daly", checkpoint_write_s=w_s
            )
            daly = daly.under(lambda _, per_s=1 / mean_s: per_s)
            (dt_s,) = daly.checkpoints([JobSpec("a", 0, Demand(8), 10**6, NS_PER_S)])
            best = max(exact(mean_s, 5 * 1.15**i, w_s) for i in range(60))
            assert exact(mean_s, dt_s, w_s) > 0.99 * best, (w_s, mean_s, dt_s)
    ours = mean(efficiency(3600, seed, "daly") for seed in range(4))
    for every_s in (100.0, 200.0, 400.0, 800.0, 1600.0):
        assert ours > 0.99 * mean(efficiency(3600, seed, every_s) for seed in range(4)), every_s


@pytest.mark.parametrize(("machines", "mttf_h"), [(2048, 1.8), (16_384, 0.23)])
def test_rsc1_fails_as_often_as_projected(machines: int, mttf_h: float) -> None:
    """Meta's projections for 16,384 and 131,072 GPUs: 24 / (2048 x 0.0065) = 1.803 h, and an eighth, 0.225 h.

    Its other two figures fit no such rate: 7.9 h observed at 1,024 GPUs is 24 / (128 x 7.9) = 0.0237 per
    machine and day, 47.7 days at 8 GPUs 0.0210, where 0.0065 gives 28.8 h and 154 days. These count all that
    ended jobs; the rate, and the projections from it, hardware alone.
    """
    cluster = Cluster([Machine(f"m{i}", 0, "box", 8) for i in range(machines)])
    failures = Failures([Cause(**PUBLISHED["rsc1"][0] | AT_ONCE)], cluster, 0)
    events = islice((event for event in failures if event.type == "fail"), 9999, None)
    expected_h = 24 / (machines * 0.0065)
    assert expected_h == pytest.approx(mttf_h, rel=0.03)
    assert next(events).time_ns / 1e4 / 3.6e12 == pytest.approx(expected_h, rel=0.03)


@pytest.mark.slow
def test_llama_3_is_interrupted_as_often_as_it_was() -> None:
    """419 in 54 days on 16,384 GPUs, by component within two sigma of the mean of five seeds; 90 % effective.

    68 racks of 31 machines and a spare; a checkpoint every 10 min of 5 s, recovery 10 min.
    """
    racks = [at < 31 for _ in range(68) for at in range(32)]
    cluster = Cluster([Machine(f"m{i}", i // 32, "box", 8, present=there) for i, there in enumerate(racks)])
    costs = Overheads(
        recover_s=600, on_stop="lose_since_checkpoint", checkpoint_every_s=600.0, checkpoint_write_s=5
    )
    llama = JobSpec("llama 3", 0, Demand(16_384), 400_000, 14 * NS_PER_S)
    stops = {cause["cause"]: 0 for cause in PUBLISHED["llama3"]}
    for seed in range(5):
        accounts = FailureAccounts([llama], cluster)
        failures = Failures([Cause(**cause) for cause in PUBLISHED["llama3"]], cluster, seed)
        stop = StopRule(time_ns=seconds_to_ns(54 * 86_400))
        policy, options = Ordered(order="fifo"), {"overheads": costs, "failures": failures, "stop": stop}
        engine = Engine([llama], cluster, policy, PlainPerformance(), observers=[accounts], **options)
        result = engine.run()
        accounts.close(result.end_ns)
        summary = accounts.summary_entries(result)[FAILURES]
        assert abs(summary["stops"] - 419) <= 3 * 20.5
        assert summary["sizes"]["4096-32767"]["effective"] > 0.9
        for cause in stops:
            stops[cause] += accounts.stopped[cause]
    assert abs(sum(stops.values()) / 5 - 419) <= 41
    counts = {cause["cause"]: cause["per_1000_days"] * 2048 * 54 / 1000 for cause in PUBLISHED["llama3"]}
    for cause, count in counts.items():
        assert abs(stops[cause] / 5 - count) <= 2 * count**0.5, cause
