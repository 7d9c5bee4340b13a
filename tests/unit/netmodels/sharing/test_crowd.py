"""Many jobs on links, on average: closed forms, and the definition followed step by step."""

from dataclasses import replace

import numpy as np
import pytest

from artist.data import data_path
from artist.testing.links import model, shared_links
from netmodels.api import SystemSettings, load_topology
from netmodels.profile import get_profile
from netmodels.sharing.crowd import Mean, components, mean_of, slower
from netmodels.sharing.traffic import job_traffic

MACHINES = [(m // 16, m, "box", 4) for m in range(32)]
"""Two racks of 16 machines."""


def on(*machines):
    return [(m // 16, m, "box", 1) for m in machines]


def across(profiles, way="average"):
    """Return together / alone of jobs between the racks, each on machines of its own."""
    shared = shared_links(way, MACHINES)
    jobs = [shared.sending(profile, on(m, m + 16)) for m, profile in enumerate(profiles)]
    return [t / job.alone_ns for t, job in zip(shared.together(jobs), jobs, strict=True)]


@pytest.mark.parametrize("way", ["average", "phases"])
def test_twelve_equal_jobs_that_always_send_take_twelve_times_as_long(way):
    """Each has a twelfth of the uplink."""
    assert across([model(0, 1000)] * 12, way) == pytest.approx([12.0] * 12)


def test_many_slow_each_other_by_the_sum_of_what_they_send():
    """Computing c, sending 1 s at a time, 10 jobs: s = 1 + 9 s / (c + s), so s^2 + (c - 10) s = c.

    With c = 9: s = (1 + sqrt(37)) / 2 = 3.541, and iterations take (9 + s) / 10 = 1.254 times as long, in
    steps of 0.001.
    """
    s = (1 + 37**0.5) / 2
    assert across([model(9000, 1000)] * 10) == pytest.approx([round((9 + s) / 10, 3)] * 10)
    mean = Mean(10_000.0, 1000.0, np.ones(1), 0.0, 1000.0, np.array([9000.0]), np.array([1000.0]))
    ones, link = np.ones(10, dtype=np.int64), np.zeros(10, dtype=np.int64)
    exact = slower([mean] * 10, ones, link, np.array([1]), np.zeros(10))
    assert exact == pytest.approx([(9 + s) / 10] * 10, rel=5e-5)


@pytest.mark.parametrize("count", [8, 9])
def test_many_jobs_in_time_collide_as_few_do(count):
    """Aligned jobs compute 900 and send 100 ms: iterations take 900 + 100 x jobs, followed or added up."""
    expected = [(900 + 100 * count) / 1000] * count
    assert across([model(900, 100)] * count, "phases") == pytest.approx(expected)


@pytest.mark.parametrize("count", [8, 9])
def test_many_jobs_whose_sending_never_meets_are_alone(count):
    """Each begins 100 ms after the one before it, and sends for 100 of 1,000 ms."""
    shared = shared_links("phases", MACHINES)
    jobs = [shared.sending(model(900, 100), on(m, m + 16)) for m in range(count)]
    second = round(jobs[0].alone_ns)
    assert shared.together(jobs, [m * second // 10 for m in range(count)]) == pytest.approx([second] * count)


def test_half_an_overlap_counts_half():
    """Nine jobs send 100 of 1,000 ms; the first two half beside each other, the others one after another.

    The two take s times as long to send: s = 1 + the share of s x 100 ms in which the other sends. The first
    is met for (100 s - 50) of its 100 s, as the other begins 50 later: s = 2 - 1 / (2 s), so
    s = 1 + sqrt(1/2) = 1.707. It ends at 170.7; the third begins at 250.
    """
    shared = shared_links("phases", MACHINES)
    jobs = [shared.sending(model(900, 100), on(m, m + 16)) for m in range(9)]
    unit = jobs[0].alone_ns / 1000
    later = [0, 50, 300, 400, 500, 600, 700, 800, 850]
    found = shared.together(jobs[:2] + jobs[2:], [round(each * unit) for each in later])
    assert found[0] / jobs[0].alone_ns == pytest.approx((900 + 100 * (1 + 0.5**0.5)) / 1000, rel=2e-3)
    assert found[2] / jobs[2].alone_ns == pytest.approx(1.0)


def test_one_that_asks_for_little_gets_it_beside_many_greedy_ones():
    """One job uses 1/12 of the uplink, ten all of it, always: an eleventh is more than it needs."""
    shared = shared_links("average", MACHINES)
    greedy = [shared.sending(model(0, 1000), on(m, m + 16)) for m in range(10)]
    little = replace(greedy[0], sent_bytes=greedy[0].sent_bytes / 12)
    little = replace(little, links=shared.sending(model(0, 1000), on(10, 26)).links)
    found = shared.together([*greedy, little])
    assert found[-1] == little.alone_ns
    assert found[0] / greedy[0].alone_ns == pytest.approx(round(10 + 1 / 12, 3))


def test_a_job_that_needs_less_than_its_share_is_not_slowed_by_many():
    """Beside eight that always send a ninth is left: enough for 5 % of the link; 20 % take 9 / 5 as long.

    The greedy ones take 8 to 9 times as long.
    """
    greedy = [np.array([1.0])] * 8
    for rate, expected in ((0.05, 1.0), (0.2, 1.8)):
        jobs = [
            Mean(1000.0, 1000.0, each, 0.0, 1000.0, np.zeros(1), np.array([1000.0]))
            for each in (*greedy, np.array([rate]))
        ]
        ones = np.ones(9, dtype=np.int64)
        found = slower(jobs, ones, np.zeros(9, dtype=np.int64), np.array([1]), np.zeros(9))
        assert found[-1] == pytest.approx(expected)
        assert found[:8] == pytest.approx([8 + rate] * 8)


def test_hidden_communication_costs_many_jobs_nothing():
    """Ten jobs send 1 % of the time, behind 90 % of it: passages take longer, iterations do not."""
    assert across([model(100_000, 1000, hidden_ns=90_000)] * 10) == [1.0] * 10


@pytest.mark.parametrize("name", ["AlexNet", "MobileNetV3", "BERT-large"])
@pytest.mark.parametrize("way", ["flat_ring", "hierarchical"])
@pytest.mark.parametrize("update_ns", [0, 10**7])
def test_the_longest_line_is_the_iteration_walked_with_slower_passages(name, way, update_ns):
    """Whatever the factor, 1 to 30, and with updates that take longer after earlier passages."""
    fabric = load_topology(data_path("topologies", "cloud_ethernet.yaml")).fabric
    placement = [(0, 0, "p3_16xlarge", 2), (0, 1, "p3_16xlarge", 2), (1, 9, "p3_16xlarge", 2)]
    job = job_traffic(get_profile(name), placement, fabric, SystemSettings(across_machines=way))
    job = replace(job, updates_ns=update_ns * np.arange(len(job.rides_ns))[::-1])
    uplinks = [place for place, link in enumerate(job.links) if link.tier == "rack"]
    meets = (job.sent_bytes[:, uplinks] > 0).any(axis=1)
    mean = mean_of(job, meets, np.full(len(job.links), np.inf))
    for times in np.linspace(1, 30, 59):
        walked_ns = job.walked_ns(np.where(meets, job.rides_ns * times, job.rides_ns))
        assert (mean.offsets_ns + times * mean.slopes_ns).max() == pytest.approx(walked_ns, rel=1e-12)


def test_components_are_joined_by_links_that_could_be_overloaded():
    """Five links of capacity 1. Jobs: a on 0 and 1, b on 1, c on 2, d on 2 and 3, e on 3, f on none, g on 4.

    a and b offer 1.2 to link 1; c and d 0.9 to 2; d and e 1.1 to 3.
    """
    lengths, link = np.array([2, 1, 1, 2, 1, 0, 1]), np.array([0, 1, 1, 2, 2, 3, 3, 4])
    loads = np.array([0.6, 0.6, 0.6, 0.5, 0.4, 0.7, 0.4, 5.0])
    assert components(lengths, link, loads, np.ones(5)) == [[0, 1], [3, 4]]
    loads[3] = 0.7  # c, too
    assert components(lengths, link, loads, np.ones(5)) == [[0, 1], [2, 3, 4]]


def test_a_long_chain_is_one_component():
    """Each of 50 jobs meets the next one, in an order that numbers do not follow."""
    rng = np.random.default_rng(0)
    order = rng.permutation(50)
    link = np.stack([order, order + 1], axis=1).ravel()
    assert components(np.full(50, 2), link, np.full(100, 0.6), np.ones(51)) == [list(range(50))]


def test_parallel_uplinks_halve_what_others_do():
    """Two bare jobs on one of two paths each: on average half of the other is on the same one."""
    mean = mean_of_bare()
    alike = [mean, mean]
    numbers, lengths = np.array([0, 0]), np.array([1, 1])
    assert slower(alike, lengths, numbers, np.array([1]), np.zeros(2)).tolist() == [2.0, 2.0]
    assert slower(alike, lengths, numbers, np.array([2]), np.zeros(2)).tolist() == [1.5, 1.5]


def mean_of_bare():
    shared = shared_links("average", MACHINES)
    job = shared.sending(model(0, 1000), on(0, 16))
    one = mean_of(job, np.array([True]), np.ones(len(job.links)))
    return one._replace(rates=np.array([1.0]))
