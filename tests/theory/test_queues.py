"""Queues with known answers: one machine of c GPUs, one GPU a job, exponential gaps and lengths.

Mean service is 1 s and the load rho per GPU. Simulated means are estimated by batch means with control
variates: quantities of the same run whose expectation is known are regressed out, which narrows the
interval without moving its centre. The controls are gap, service, and (where the policy is not FIFO)
the response that the same jobs would have had under FIFO, by Lindley's recursion in numpy.

The statement is: the formula lies in the 95 % interval, and the estimate within 2 % of it. Sizes were
chosen before looking, for a standard error of about 1 %; seed 0 throughout. (Over 200 seeds of Lindley's
recursion with 40,000 and 80,000 jobs at load 0.5 the interval held the formula in 96 % of cases and 2 %
in 95 and 98 %.)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import exp, factorial, sqrt

import numpy as np
import numpy.typing as npt
import pytest

from artist.core.job import Demand, JobSpec
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.policies.basic.ordered import Ordered
from artist.results.interval import student_t_95
from artist.testing.tiny import PlainPerformance, tiny_cluster

Floats = npt.NDArray[np.float64]
ITERATION_NS = 1000  # a millionth of the mean service
WARM_UP = 1000  # jobs; the slowest mode dies out in 1 / (1 - sqrt(rho))^2 = 12 services at rho = 0.5
BATCHES = 32


@dataclass(frozen=True)
class Sample:
    """Times in seconds, shape (n,), in order of arrival."""

    arrival: Floats
    service: Floats
    response: Floats
    finish_ns: npt.NDArray[np.int64]
    arrival_ns: npt.NDArray[np.int64]
    service_ns: npt.NDArray[np.int64]


def simulate(n: int, rho: float, servers: int = 1, **policy: object) -> Sample:
    """Run n jobs after a warm-up; a preempted job goes on where it was."""
    rng = np.random.default_rng(0)
    n += WARM_UP
    iterations = np.maximum(np.rint(rng.exponential(1e9 / ITERATION_NS, n)), 1).astype(np.int64)
    submit = np.rint(np.cumsum(rng.exponential(1e9 / (rho * servers), n))).astype(np.int64)
    demand = Demand(1)
    jobs = [
        JobSpec(str(i), at, demand, count, ITERATION_NS)
        for i, (at, count) in enumerate(zip(submit.tolist(), iterations.tolist(), strict=True))
    ]
    keep = Overheads(on_stop="keep")
    cluster = tiny_cluster(1, servers)
    result = Engine(jobs, cluster, Ordered(**policy), PlainPerformance(), overheads=keep).run()
    finish, service = result.columns["finish_ns"], iterations * ITERATION_NS
    return Sample(submit / 1e9, service / 1e9, (finish - submit) / 1e9, finish, submit, service)


def fifo_response(sample: Sample) -> Floats:
    """Return responses of one FIFO server: wait(i) = max(0, wait(i - 1) + service(i - 1) - gap(i))."""
    steps = np.concatenate(([0.0], sample.service[:-1] - np.diff(sample.arrival)))
    walk = np.cumsum(steps)
    return walk - np.minimum(np.minimum.accumulate(walk), 0) + sample.service


def estimate(values: Floats, controls: Sequence[Floats]) -> tuple[float, float]:
    """Return the mean of (n,) and half its 95 % interval; each control has expectation zero."""

    def batches(column: Floats) -> Floats:
        usable = len(column) // BATCHES * BATCHES
        return column[:usable].reshape(BATCHES, -1).mean(axis=1)

    matrix = np.column_stack([np.ones(BATCHES), *(batches(c) for c in controls)])
    means = batches(values)
    weights = np.linalg.lstsq(matrix, means, rcond=None)[0]
    error = means - matrix @ weights
    freedom = BATCHES - matrix.shape[1]
    variance = float(error @ error) / freedom * float(np.linalg.inv(matrix.T @ matrix)[0, 0])
    return float(weights[0]), student_t_95(freedom) * sqrt(variance)


def gap_and_service(sample: Sample, rate: float) -> list[Floats]:
    """Return controls of expectation zero: gap - 1 / rate, and service - 1."""
    gaps = np.diff(sample.arrival, prepend=0.0) - 1 / rate
    return [gaps[WARM_UP:], sample.service[WARM_UP:] - 1]


def assert_agrees(formula: float, measured: tuple[float, float]) -> None:
    mean, half = measured
    assert abs(mean - formula) <= half, f"{formula} is outside {mean} +- {half}"
    assert abs(mean - formula) <= 0.02 * formula


# --- first come, first served


def test_fifo_equals_lindley_s_recursion() -> None:
    """One FIFO server, to the nanosecond: finish(i) = max(finish(i - 1), arrival(i)) + service(i)."""
    sample = simulate(5000, 0.7, order="fifo")
    last, expected = 0, []
    for at, service in zip(sample.arrival_ns.tolist(), sample.service_ns.tolist(), strict=True):
        last = max(last, at) + service
        expected.append(last)
    assert sample.finish_ns.tolist() == expected


def test_fifo_on_c_gpus_equals_the_recursion_of_kiefer_and_wolfowitz() -> None:
    """Three FIFO servers, to the nanosecond: each job in turn takes the one that is free first."""
    sample = simulate(5000, 0.8, servers=3, order="fifo")
    free, expected = [0, 0, 0], []
    heapify(free)
    for at, service in zip(sample.arrival_ns.tolist(), sample.service_ns.tolist(), strict=True):
        finish = max(free[0], at) + service
        heapreplace(free, finish)
        expected.append(finish)
    assert sample.finish_ns.tolist() == expected


@pytest.mark.slow
def test_m_m_1_fifo() -> None:
    """Mean response 1 / (mu - lambda) = 1 / (1 - 0.5) = 2 s."""
    sample = simulate(60_000, 0.5, order="fifo")
    assert_agrees(2.0, estimate(sample.response[WARM_UP:], gap_and_service(sample, 0.5)))


def erlang_c(servers: int, load: float) -> float:
    """Return P(wait) = w / (sum of a^k / k! for k < c, plus w), with w = a^c / c! / (1 - rho)."""
    last = load**servers / factorial(servers) / (1 - load / servers)
    return last / (sum(load**k / factorial(k) for k in range(servers)) + last)


def test_erlang_c_formula() -> None:
    """The formula itself, by hand: c = 1 waits with rho; c = 2, a = 1: (1/2 / (1/2)) / (1 + 1 + 1) = 1/3."""
    assert erlang_c(1, 0.5) == pytest.approx(0.5)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)


@pytest.mark.slow
def test_m_m_c_fifo() -> None:
    """Mean response 1 / mu + C(c, a) / (c mu - lambda); c = 3, a = 1.8: 1 + 0.3547 / 1.2 = 1.296 s."""
    rate = 3 * 0.6
    sample = simulate(40_000, 0.6, servers=3, order="fifo")
    formula = 1 + erlang_c(3, rate) / (3 - rate)
    assert_agrees(formula, estimate(sample.response[WARM_UP:], gap_and_service(sample, rate)))


# --- formulas that depend on the size of a job

GRID = np.linspace(0, 40, 400_001)  # sizes in seconds; beyond lies exp(-40) of the jobs


def integral(values: Floats) -> Floats:
    """Return the integral from 0 to each size of GRID, by trapezoids."""
    steps = (values[1:] + values[:-1]) / 2 * np.diff(GRID)
    return np.concatenate(([0.0], np.cumsum(steps)))


def srpt_response(rho: float) -> Floats:
    """Return the mean response by size in M/M/1 SRPT (Schrage and Miller, Operations Research 14, 1966).

    lambda (m2(x) + x^2 P(S > x)) / 2 / (1 - rho(x))^2 + integral from 0 to x of dt / (1 - rho(t)), with
    rho(x) = lambda E[S; S <= x] and m2(x) = E[S^2; S <= x].
    """
    density = np.exp(-GRID)
    load = rho * integral(GRID * density)
    second = integral(GRID**2 * density)
    return rho * (second + GRID**2 * density) / 2 / (1 - load) ** 2 + integral(1 / (1 - load))


def las_response(rho: float) -> Floats:
    """Return the mean response by size in M/M/1 LAS, also foreground-background (Kleinrock II, 4.6).

    x / (1 - rho(x)) + lambda m2(x) / 2 / (1 - rho(x))^2, with rho(x) = lambda E[min(S, x)] and
    m2(x) = E[min(S, x)^2] = integral from 0 to x of 2 t P(S > t) dt.
    """
    beyond = np.exp(-GRID)
    load = rho * integral(beyond)
    second = integral(2 * GRID * beyond)
    return GRID / (1 - load) + rho * second / 2 / (1 - load) ** 2


def mean_over_sizes(
    by_size: Floats, of: Callable[[Floats], npt.NDArray[np.bool_]] = lambda x: x >= 0
) -> float:
    """Return E[by_size(S)] over the sizes that `of` selects."""
    weight = np.exp(-GRID) * of(GRID)
    return float(integral(by_size * weight)[-1] / integral(weight)[-1])


def test_size_formulas() -> None:
    """The formulas themselves, by what must hold: nobody alone waits, and LAS in M/M/1 has FIFO's mean.

    With exponential lengths attained service tells nothing, so every order blind to them has 1 / (1 - rho);
    SRPT is better than that.
    """
    assert mean_over_sizes(las_response(1e-9)) == pytest.approx(1, rel=1e-6)
    assert mean_over_sizes(srpt_response(1e-9)) == pytest.approx(1, rel=1e-6)
    assert mean_over_sizes(las_response(0.5)) == pytest.approx(2, rel=1e-4)
    assert mean_over_sizes(srpt_response(0.5)) < 1.5


def with_fifo(sample: Sample, rho: float) -> list[Floats]:
    """Return the controls of `gap_and_service`, and FIFO response - 1 / (1 - rho)."""
    return [*gap_and_service(sample, rho), fifo_response(sample)[WARM_UP:] - 1 / (1 - rho)]


def test_m_m_1_srpt() -> None:
    """Preemptive shortest remaining time: the formula of Schrage and Miller, 1.425 s at load 0.5."""
    sample = simulate(20_000, 0.5, order="srtf", preemptive=True, backfill=True)
    formula = mean_over_sizes(srpt_response(0.5))
    assert_agrees(formula, estimate(sample.response[WARM_UP:], with_fifo(sample, 0.5)))


def las_agrees(n: int, quantum_s: float) -> None:
    """Assert the mean response of LAS over all jobs, and over those longer than the median, ln 2.

    All jobs: 2 s at load 0.5 whatever the quantum, as for any order blind to lengths. Long jobs tell LAS
    (3.59 s) from FIFO: 1 + ln 2 + wait 1 = 2.69 s, whose known mean also makes FIFO a control for them.
    """
    rho, median = 0.5, float(np.log(2))
    sample = simulate(n, rho, order="las", preemptive=True, backfill=True, interval_s=quantum_s)
    assert_agrees(2.0, estimate(sample.response[WARM_UP:], with_fifo(sample, rho)))
    # a ratio of means over the long jobs, as a mean of zero-mean terms: E[(T - t) 1(S > median)] = 0
    long = sample.service[WARM_UP:] > median
    formula = mean_over_sizes(las_response(rho), lambda size: size > median)
    fifo = np.where(long, fifo_response(sample)[WARM_UP:] - (rho / (1 - rho) + 1 + median), 0.0)
    excess = np.where(long, sample.response[WARM_UP:] - formula, 0.0)
    result, half = estimate(excess, [*gap_and_service(sample, rho), fifo, long - exp(-median)])
    share = exp(-median)  # of long jobs
    assert_agrees(formula, (formula + result / share, half / share))


def test_m_m_1_las() -> None:
    """Least attained service, looked at ten times a mean service: foreground-background of Kleinrock."""
    las_agrees(8_000, 0.1)


@pytest.mark.slow
def test_m_m_1_las_with_a_smaller_quantum() -> None:
    """The same with ten times as many jobs and half the quantum."""
    las_agrees(80_000, 0.05)


@pytest.mark.slow
def test_m_m_1_at_a_higher_load() -> None:
    """FIFO and SRPT at load 0.7, where queues are longer and runs must be: 3.333 s and 1.88 s."""
    fifo = simulate(400_000, 0.7, order="fifo")
    assert_agrees(1 / 0.3, estimate(fifo.response[WARM_UP:], gap_and_service(fifo, 0.7)))
    srpt = simulate(200_000, 0.7, order="srtf", preemptive=True, backfill=True)
    formula = mean_over_sizes(srpt_response(0.7))
    assert_agrees(formula, estimate(srpt.response[WARM_UP:], with_fifo(srpt, 0.7)))
