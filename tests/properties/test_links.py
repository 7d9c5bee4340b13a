"""Invariants of jobs that share links, checked against textbook solvers."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from cases import crossed_links, drawn_values
from hypothesis import given
from hypothesis import strategies as st

from netmodels.contention.max_min import Incidence, fair
from tests.unit.netmodels.sharing.crossings import crossings

LINKS = 5
halves = st.integers(1, 8).map(lambda value: Fraction(value, 2))
one_flow_each = st.sets(st.integers(0, LINKS - 1)).map(
    lambda value: dict.fromkeys(sorted(value), Fraction(1))
)
any_flows = st.dictionaries(st.integers(0, LINKS - 1), halves)
capacities = st.lists(st.one_of(st.integers(0, 12), st.just(inf)), min_size=LINKS, max_size=LINKS)


def several(value):
    """Return lists of up to seven, of which a test takes as many as there are jobs."""
    return st.lists(value, min_size=7, max_size=7)


jobs_of = st.one_of(st.lists(one_flow_each, max_size=7), st.lists(any_flows, max_size=7))
weights_of, limits_of = several(halves), several(st.one_of(st.just(inf), halves))


def floats(values):
    """Return fractions as an array."""
    return np.array([float(value) for value in values])


def filled(jobs, room, weights, limits):
    """Raise all rates together and stop those whose link is full or limit reached; in fractions, exactly."""
    rates, left, rising = [Fraction(0)] * len(jobs), dict(enumerate(room)), set(range(len(jobs)))
    while rising:
        load = {link: sum(weights[job] * jobs[job].get(link, 0) for job in rising) for link in left}
        rises = [left[link] / load[link] for link in left if load[link]]
        rises += [(limits[job] - rates[job]) / weights[job] for job in rising]
        rise = min(rises)
        if rise == inf:
            return [inf if job in rising else rate for job, rate in enumerate(rates)]
        for job in rising:
            rates[job] += rise * weights[job]
        left = {link: left[link] - rise * load[link] for link in left}
        full = {link for link in left if load[link] and not left[link]}
        rising = {job for job in rising if rates[job] < limits[job] and not full & set(jobs[job])}
    return rates


@given(jobs_of, capacities, weights_of, limits_of)
def test_rates_are_those_of_the_textbook(jobs, room, weights, limits):
    """Up to 7 jobs on 5 links, with ties, no or infinite capacity, weights, limits and any flows."""
    weights, limits = weights[: len(jobs)], limits[: len(jobs)]
    result = fair(crossings(jobs, LINKS), floats(room), floats(weights), floats(limits))
    assert result.tolist() == pytest.approx(floats(filled(jobs, room, weights, limits)).tolist())


@pytest.mark.parametrize("how", ["equal", "random", "wide"])
@pytest.mark.parametrize("links_each", [1, 6, 20])
def test_every_job_of_a_thousand_has_a_bottleneck(links_each, how):
    """No link above capacity; each job crosses a full one on which no job has more for its weight."""
    incidence = Incidence.of(*crossed_links(1000, links_each, 10_000, seed=1), 10_000)
    room, weights = drawn_values(how, 10_000, 1000)
    rates = fair(incidence, room, weights)
    job, link, capacity = incidence.job, incidence.link, room[incidence.used]
    carried = np.bincount(link, rates[job])
    assert (carried <= capacity * (1 + 1e-9)).all()
    level = rates / weights
    highest = np.zeros(len(capacity))
    np.maximum.at(highest, link, level[job])
    held = (carried >= capacity * (1 - 1e-9))[link] & (level[job] >= highest[link] * (1 - 1e-9))
    assert set(job[held].tolist()) == set(range(1000))


@given(st.lists(any_flows.filter(bool), min_size=2, max_size=7), capacities, weights_of)
def test_another_job_never_raises_the_lowest_rate(jobs, room, weights):
    """For its weight; without the last job the least is as high or higher. A single one's may well rise."""
    weights = floats(weights[: len(jobs)])
    after = fair(crossings(jobs, LINKS), floats(room), weights) / weights
    before = fair(crossings(jobs[:-1], LINKS), floats(room), weights[:-1]) / weights[:-1]
    assert after[:-1].min() <= before.min() * (1 + 1e-9)


def test_another_job_often_raises_the_rate_of_a_third():
    """It slows a job that then leaves more to others: 12 jobs, 3 of 10 links each; never the lowest rate."""
    n_jobs, links_each, n_links = 12, 3, 10
    lowest = higher = 0
    for seed in range(100):
        indptr, links = crossed_links(n_jobs + 1, links_each, n_links, seed=seed)
        capacities = np.random.default_rng((seed, 1)).uniform(1, 5, n_links)
        before = fair(Incidence.of(indptr[:-1], links[:-links_each], n_links), capacities)
        after = fair(Incidence.of(indptr, links, n_links), capacities)[:-1]
        lowest += int(after.min() > before.min() * (1 + 1e-9))
        higher += int(np.count_nonzero(after > before * (1 + 1e-9)))
    assert lowest == 0
    assert 0.1 < higher / (100 * n_jobs) < 0.3
