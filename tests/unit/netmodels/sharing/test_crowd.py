"""Many jobs on links, on average: closed forms, and the definition followed step by step."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from artist.data import data_path
from artist.testing.links import model, shared_links
from netmodels.api import SystemSettings, load_topology
from netmodels.contention.contention import components
from netmodels.contention.mean_field import MeanJob, Overlap, mean_of, slowdowns, slowdowns_of
from netmodels.contention.shares import Shares
from netmodels.contention.traffic import job_traffic
from netmodels.contention.transfers import JobTraffic
from netmodels.fabric.links import Link
from netmodels.profiles.profile import get_profile

MACHINES = [(m // 16, m, "box", 4) for m in range(32)]
"""Two racks of 16 machines."""


def on(*machines):
    return [(m // 16, m, "box", 1) for m in machines]


def across(profiles, way="mean_field"):
    """Return together / alone of jobs between the racks, each on machines of its own."""
    shared = shared_links(way, MACHINES)
    jobs = [shared.traffic(profile, on(m, m + 16)) for m, profile in enumerate(profiles)]
    return [t / job.alone_ns for t, job in zip(shared.together(jobs), jobs, strict=True)]


@pytest.mark.parametrize("way", ["mean_field", "flow_level"])
def test_twelve_equal_jobs_that_always_send_take_twelve_times_as_long(way):
    """Each has a twelfth of the uplink."""
    assert across([model(0, 1000)] * 12, way) == pytest.approx([12.0] * 12)


def test_many_jobs_slow_each_other_by_the_sum_of_their_sending():
    """Computing c, sending 1 s at a time, 10 jobs: s = 1 + 9 s / (c + s), so s^2 + (c - 10) s = c.

    With c = 9: s = (1 + sqrt(37)) / 2 = 3.541, and iterations take (9 + s) / 10 = 1.254 times as long, in
    steps of 0.001.
    """
    s = (1 + 37**0.5) / 2
    assert across([model(9000, 1000)] * 10) == pytest.approx([round((9 + s) / 10, 3)] * 10)
    mean = MeanJob(10_000.0, 1000.0, np.ones(1), 0.0, 1000.0, np.array([9000.0]), np.array([1000.0]))
    ones, link = np.ones(10, dtype=np.int64), np.zeros(10, dtype=np.int64)
    exact = slowdowns_of([mean] * 10, ones, link, np.array([1]), np.zeros(10))
    assert exact == pytest.approx([(9 + s) / 10] * 10, rel=5e-5)


@pytest.mark.parametrize("count", [8, 9])
def test_many_jobs_in_time_collide_as_few_do(count):
    """Aligned jobs compute 900 and send 100 ms: iterations take 900 + 100 x jobs, followed or added up."""
    expected = [(900 + 100 * count) / 1000] * count
    assert across([model(900, 100)] * count, "flow_level") == pytest.approx(expected)


@pytest.mark.parametrize("count", [8, 9])
def test_many_jobs_whose_sending_never_meets_are_alone(count):
    """Each begins 100 ms after the one before it, and sends for 100 of 1,000 ms."""
    shared = shared_links("flow_level", MACHINES)
    jobs = [shared.traffic(model(900, 100), on(m, m + 16)) for m in range(count)]
    second = round(jobs[0].alone_ns)
    assert shared.together(jobs, [m * second // 10 for m in range(count)]) == pytest.approx([second] * count)


def test_half_an_overlap_counts_half():
    """Five pairs send 50 of 1,000 ms, each job of a pair half beside the other, pairs one after another.

    A job takes s times as long to send: s = 1 + the share of s x 50 ms in which the other sends. The first
    is met for (50 s - 25) of its 50 s, as the other begins 25 later: s = 2 - 1 / (2 s), so
    s = 1 + sqrt(1/2) = 1.707. The second ends at 110; the next pair begins at 200. All iterations take the
    same, so all keep their distance.
    """
    shared = shared_links("flow_level", MACHINES)
    jobs = [shared.traffic(model(950, 50), on(m, m + 16)) for m in range(10)]
    unit = jobs[0].alone_ns / 1000
    later = [round((200 * pair + begin) * unit) for pair in range(5) for begin in (0, 25)]
    expected = (950 + 50 * (1 + 0.5**0.5)) / 1000
    results = [ns / job.alone_ns for ns, job in zip(shared.together(jobs, later), jobs, strict=True)]
    assert results == pytest.approx([expected] * 10, rel=1e-3)


def test_jobs_that_become_slower_than_others_do_not_keep_their_distance():
    """Nine jobs send 100 of 1,000 ms; two of them together, so that they take 10 % longer than others alone.

    So they pass through the others, and slow them, too. Followed event by event, all nine take 1.123 to 1.127
    times as long.
    """
    shared = shared_links("flow_level", MACHINES)
    jobs = [shared.traffic(model(900, 100), on(m, m + 16)) for m in range(9)]
    unit = jobs[0].alone_ns / 1000
    later = [round(value * unit) for value in (0, 0, 300, 400, 500, 600, 700, 800, 900)]
    results = [ns / job.alone_ns for ns, job in zip(shared.together(jobs, later), jobs, strict=True)]
    assert all(1.1 < item < 1.2 for item in results)


def bare(*rates):
    """Return a job that always sends on as many links."""
    return MeanJob(1000.0, 1000.0, np.array(rates, float), 0.0, 1000.0, np.zeros(1), np.array([1000.0]))


def slowed(jobs, link, paths=1):
    """Return together / alone of such jobs; `link` has the links of all, job by job."""
    lengths, all_paths = np.array([len(job.rates) for job in jobs]), np.full(max(link) + 1, paths)
    return slowdowns_of(jobs, lengths, np.array(link), all_paths, np.zeros(len(jobs))).tolist()


def test_one_that_asks_for_little_gets_it_beside_many_greedy_ones():
    """One job uses 1/12 of the uplink, ten all of it, always: an eleventh is more than it needs.

    The others share 11/12, so take 10 / (11/12) times as long.
    """
    shared = shared_links("mean_field", MACHINES)
    greedy = [shared.traffic(model(0, 1000), on(m, m + 16)) for m in range(10)]
    little = replace(greedy[0], sent_bytes=greedy[0].sent_bytes / 12)
    little = replace(little, links=shared.traffic(model(0, 1000), on(10, 26)).links)
    result = shared.together([*greedy, little])
    assert result[-1] == little.alone_ns
    assert result[0] / greedy[0].alone_ns == pytest.approx(round(120 / 11, 3))


def test_a_job_that_needs_less_than_its_share_is_not_slowed_by_many():
    """Beside eight that always send a ninth is left: enough for 5 % of the link; 20 % take 9 / 5 as long.

    The greedy ones share 95 %, or have a ninth each.
    """
    for rate, expected, others in ((0.05, 1.0, 8 / 0.95), (0.2, 1.8, 9.0)):
        result = slowed([*[bare(1.0)] * 8, bare(rate)], [0] * 9)
        assert result[-1] == pytest.approx(expected)
        assert result[:8] == pytest.approx([others] * 8)


def test_a_job_slowed_on_another_link_leaves_its_share_to_others():
    """Eight share link 0; one of them, on link 1, too, sends an eighth there: the ninth job has 7/8."""
    result = slowed([bare(1.0, 1.0), *[bare(1.0)] * 7, bare(1.0)], [0, 1, *[0] * 7, 1])
    assert result == pytest.approx([8.0] * 8 + [8 / 7])


def test_links_that_slow_jobs_alike_may_differ_by_next_to_nothing():
    """Two that always send and eight that do half of the time, on two links, and one that hardly sends, on
    one of these and a third: it changes nothing, though it decides which link is fuller.
    """
    jobs = [bare(1.0, 1.0)] * 2 + [
        bare(1.0, 1.0)._replace(alone_ns=2000.0, offsets_ns=np.array([1000.0]))
    ] * 8
    alike = slowed(jobs, [0, 1] * 10)
    little = slowed([*jobs, bare(1e-6, 1e-6)], [0, 1] * 10 + [0, 2])
    assert little[:10] == pytest.approx(alike, rel=1e-4)
    assert alike[0] > alike[2] > 2


def test_jobs_that_always_send_meet_though_their_periods_differ():
    """Five take 1,000 ns alone and five 975, so that half of their distance counts: ten share a link."""
    periods = np.repeat([1000.0, 975.0], 5)
    jobs = [
        MeanJob(period, period, np.ones(1), 0.0, period, np.zeros(1), np.array([period]))
        for period in periods.tolist()
    ]
    timing, ones = Overlap(np.zeros(10), periods, np.ones(10)), np.ones(10, dtype=np.int64)
    result = slowdowns_of(jobs, ones, np.zeros(10, dtype=np.int64), np.array([1]), np.zeros(10), timing)
    assert result == pytest.approx([10.0] * 10, rel=1e-3)


def test_no_job_asks_for_more_than_a_link():
    """Direct collectives may: nine of them have a ninth each."""
    assert slowed([bare(1.5)] * 9, [0] * 9) == pytest.approx([9.0] * 9)


def drawn(seed):
    """Return 9 to 11 jobs that send for 5 to 100 % of 0.5 to 2 ms over two or three of up to six uplinks."""
    rng = np.random.default_rng(seed)
    racks = int(rng.integers(3, 7))
    for _ in range(rng.integers(9, 12)):
        on_racks = rng.choice(racks, min(racks, int(rng.choice([2, 2, 2, 3]))), replace=False)
        period_ns, share = (
            rng.lognormal(0, 0.5) * 1e6,
            rng.choice([rng.uniform(0.05, 0.5), rng.uniform(0.5, 1)]),
        )
        ride_ns, rate = int(period_ns * share), rng.choice([1.0, rng.uniform(0.05, 0.4), rng.uniform(0.3, 1)])
        yield JobTraffic(
            int(period_ns) - ride_ns,
            np.array([int(period_ns) - ride_ns]),
            np.array([ride_ns]),
            tuple(Link("rack", int(rack), "out") for rack in sorted(on_racks)),
            np.full((1, len(on_racks)), rate * ride_ns),
            np.array([0]),
        )


def by_choice(jobs, capacity, uplinks):
    """Return together / alone of jobs that send at their ends, as the mean over all choices of senders."""
    shares = Shares(jobs, capacity, uplinks)
    choices = [choice for choice in product((False, True), repeat=len(jobs)) if any(choice)]
    times = np.zeros((len(choices), len(jobs)))
    for row, choice in zip(times, choices, strict=True):
        senders = np.flatnonzero(
            [on and rates[0] >= 0 for on, rates in zip(choice, shares.rates_of, strict=True)]
        )
        if len(senders):
            row[senders] = [1 / speed for speed in shares.speeds(tuple((job, 0) for job in senders.tolist()))]
    sends, alone = np.array(choices), np.array([job.alone_ns for job in jobs])
    sending, slowed = np.array([float(job.transfers_ns[0]) for job in jobs]), np.ones(len(jobs))
    for _ in range(10):
        together = alone + sending * (slowed - 1)
        chances = np.where(sends, sending * slowed / together, 1 - sending * slowed / together)
        others = [np.delete(chances, job, axis=1).prod(axis=1) for job in range(len(jobs))]
        slowed = np.maximum([chance @ time for chance, time in zip(others, times.T, strict=True)], 1.0)
    return together / alone


@pytest.mark.parametrize(("uplinks", "median", "p90"), [(1, 0.01, 0.08), (2, 0.04, 0.12)])
def test_many_jobs_on_several_links_as_every_choice_of_senders_has_it(uplinks, median, p90):
    """Jobs that add up send no more than links carry, and take what a mean over all choices says.

    Over 15 draws.
    """
    errors = []
    for seed in range(15):
        jobs = list(drawn(seed))
        capacity = {link: 1.0 for job in jobs for link in job.links}
        many = np.array(slowdowns(jobs, capacity, uplinks))
        used = dict.fromkeys(capacity, 0.0)
        for job, longer in zip(jobs, many, strict=True):
            for link, sent in zip(job.links, job.sent_bytes[0], strict=True):
                used[link] += sent / (job.alone_ns * longer)
        assert max(used.values()) <= uplinks
        errors.append(many / by_choice(jobs, capacity, uplinks) - 1)
    result = np.abs(np.concatenate(errors))
    assert np.median(result) < median
    assert np.percentile(result, 90) < p90


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
    job = replace(job, updates_ns=update_ns * np.arange(len(job.transfers_ns))[::-1])
    uplinks = [place for place, link in enumerate(job.links) if link.tier == "rack"]
    meets = (job.sent_bytes[:, uplinks] > 0).any(axis=1)
    mean = mean_of(job, meets, np.full(len(job.links), np.inf))
    for times in np.linspace(1, 30, 59):
        iteration_ns = job.iteration_ns(np.where(meets, job.transfers_ns * times, job.transfers_ns))
        assert (mean.offsets_ns + times * mean.slopes_ns).max() == pytest.approx(iteration_ns, rel=1e-12)


def test_components_are_joined_by_links_that_could_be_overloaded():
    """Five links of capacity 1. Jobs: a on 0 and 1, b on 1, c on 2, d on 2 and 3, e on 3, f on none, g on 4.

    a and b offer 1.2 to link 1; c and d 0.9 to 2; d and e 1.1 to 3.
    """
    links = [[0, 1], [1], [2], [2, 3], [3], [], [4]]
    loads = [[0.6, 0.6], [0.6], [0.5], [0.4, 0.7], [0.4], [], [5.0]]
    assert components(links, loads, [1.0] * 5) == [[0, 1], [3, 4]]
    loads[2] = [0.7]  # c, too
    assert components(links, loads, [1.0] * 5) == [[0, 1], [2, 3, 4]]


def test_a_long_chain_is_one_component():
    """Each of 50 jobs meets the next one, in an order that numbers do not follow."""
    rng = np.random.default_rng(0)
    order = rng.permutation(50)
    links = np.stack([order, order + 1], axis=1).tolist()
    assert components(links, [[0.6, 0.6]] * 50, [1.0] * 51) == [list(range(50))]


def test_parallel_uplinks_halve_the_effect_of_others():
    """Two jobs on one of two paths each: on average half of the other is on the same one."""
    assert slowed([bare(1.0), bare(1.0)], [0, 0]) == [2.0, 2.0]
    assert slowed([bare(1.0), bare(1.0)], [0, 0], paths=2) == [1.5, 1.5]


def test_jobs_that_need_several_parallel_uplinks_take_them():
    """Of four paths one job fills all, the other one: it always meets the first, and that it on one of four.

    Two that fill 1.5, so three quarters of two, meet with chance 1/2, where each path passes 1 of 1.5.
    """
    assert slowed([bare(4.0), bare(1.0)], [0, 0], paths=4) == pytest.approx([1.25, 2.0])
    assert slowed([bare(1.5), bare(1.5)], [0, 0], paths=4) == pytest.approx([(1 + 1.5) / 2] * 2)
    assert slowed([bare(2.5), bare(0.0)], [0, 0], paths=4) == [1.0, 1.0]
