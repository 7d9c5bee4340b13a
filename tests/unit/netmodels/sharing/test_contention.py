"""Jobs that share the links of a cluster: which affect which, and what is asked once, worked out by hand."""

from collections.abc import Callable
from math import inf

import pytest

from artist.data import data_path
from artist.testing.links import ENDLESS, FABRIC, model, shared_links
from netmodels.api import SystemSettings, load_topology
from netmodels.contention import contention
from netmodels.contention.contention import Contention

MACHINES = [(m // 4, m, "box", 4) for m in range(16)]
"""Racks of 4 machines."""
BARE = model(0, 1000)
GOLDEN = (1 + 5**0.5) / 2


def links(way="flow_level", fabric=FABRIC, **more) -> Contention:
    return shared_links(way, MACHINES, fabric, **more)


def on(*machines, gpus=1):
    """Return a placement of so many GPUs on each of some machines."""
    return [(m // 4, m, "box", gpus) for m in machines]


def slower(shared, *jobs, **more):
    """Return together / alone of jobs given as (model, placement)."""
    contention = [shared.traffic(profile, placement) for profile, placement in jobs]
    times = shared.together(contention, **more)
    return [time / job.alone_ns for time, job in zip(times, contention, strict=True)]


@pytest.fixture
def asked(monkeypatch) -> list[int]:
    """Return the number of jobs in each question, as questions are asked."""
    sizes: list[int] = []
    for name in ("together", "slowdowns_of"):
        answer: Callable = getattr(contention, name)

        def noted(jobs, *rest, answer=answer, **more):
            sizes.append(len(jobs))
            return answer(jobs, *rest, **more)

        monkeypatch.setattr(contention, name, noted)
    return sizes


@pytest.mark.parametrize("way", ["mean_field", "flow_level"])
def test_two_equal_jobs_on_one_uplink_take_exactly_twice_as_long(way):
    """Both send all the time, on racks 0 and 1 and on machines of their own: each gets half."""
    shared = links(way)
    assert slower(shared, (BARE, on(0, 4)), (BARE, on(1, 5))) == [2, 2]
    assert slower(shared, *[(BARE, on(m, m + 4)) for m in range(3)]) == [3, 3, 3]


@pytest.mark.parametrize("way", ["mean_field", "flow_level", "packets"])
@pytest.mark.parametrize("other", [1e-3, 1.0, 5e3, 1e11])
def test_iterations_from_1_ns_to_1e5_s_share_an_uplink(way, other):
    """Both send all the time, one for 1 ns an iteration: each gets half, however long the other's iterations.

    Alone they take 1000 ns; with 64 iterations of each on average 1e14 of the short ones would be followed.
    """
    jobs = [links(way).traffic(BARE, on(m, m + 4)) for m in range(2)]
    times = links(way).together(jobs, stretch=[1e-3, other])
    assert times == [pytest.approx(2 * 1000 * stretch, rel=0.01) for stretch in (1e-3, other)]


@pytest.mark.parametrize("way", ["mean_field", "flow_level"])
def test_two_jobs_on_one_machine_share_its_port(way):
    """Machine 1 is in both: half of its port each; a third on machines 2 and 3 alone is not affected."""
    jobs = (BARE, on(0, 1)), (BARE, on(1, 2)), (BARE, on(8, 9))
    assert slower(links(way), *jobs) == [2, 2, 1]


def test_a_job_limited_on_another_link_leaves_its_share():
    """One sends 1/4 byte/ns, whatever else there is: the other one gets 3/4, and takes 4/3 as long."""
    quick, slow = links(), links(slower=4)
    contention = slow.traffic(BARE, on(0, 4)), quick.traffic(BARE, on(1, 5))
    assert quick.together(contention) == pytest.approx([4000, 1000 * 4 / 3], rel=1e-3)


@pytest.mark.parametrize("way", ["mean_field", "flow_level"])
@pytest.mark.parametrize("fabric", [FABRIC, ENDLESS], ids=["disjoint", "endless"])
def test_jobs_on_other_links_stay_exactly_alone(way, fabric, asked):
    """Racks of their own, or links without end: nothing is even asked."""
    other = on(8, 9) if fabric is FABRIC else on(0, 1)
    assert slower(links(way, fabric), (BARE, on(0, 1)), (BARE, other)) == [1, 1]
    assert asked == []


def test_computing_hides_slower_communication_until_it_outlasts_it():
    """600 ns of computing hide sending: twice 250 fits, twice 400 takes 200 more, twice 600 takes 600."""
    for sent_ns, expected in ((250, 1.0), (400, 1.2), (600, 1.6)):
        hidden = model(1000, sent_ns, hidden_ns=600)
        assert slower(links(), (hidden, on(0, 4)), (hidden, on(1, 5))) == [expected] * 2


def test_in_the_mean_a_job_slows_by_the_others_sending_fraction():
    """Computing 1, sending 1: with s = slowdown of sending, s = 1 + s / (1 + s), so s is the golden ratio."""
    half = model(1000, 1000)
    result = slower(links("mean_field"), (half, on(0, 4)), (half, on(1, 5)))
    assert result == pytest.approx([(1 + GOLDEN) / 2] * 2, rel=1e-6)


def test_in_time_a_shift_keeps_jobs_apart():
    """Computing 1,000, sending 1,000: together from the start 3,000, a shift of 1,000 avoids all of it."""
    half = model(1000, 1000)
    jobs = (half, on(0, 4)), (half, on(1, 5))
    assert slower(links(), *jobs) == [1.5, 1.5]
    assert slower(links(), *jobs, shift_ns=(0, 1000)) == [1, 1]
    assert slower(links(), *jobs, shift_ns=(5000, 6000)) == [1, 1]  # only the difference counts


def test_a_wait_before_computing_is_part_of_the_iteration():
    """Waiting 1,000 and computing 1,000 before 1,000 of sending: 3,000 alone, 4,000 together."""
    half, shared = model(1000, 1000), links()
    contention = [shared.traffic(half, placement) for placement in (on(0, 4), on(1, 5))]
    assert shared.together(contention, waiting_ns=(1000, 1000)) == [4000, 4000]
    assert shared.together(contention, waiting_ns=(1000, 0)) != [4000, 3000]


@pytest.mark.parametrize("count", [2, 10])
@pytest.mark.parametrize("way", ["mean_field", "flow_level"])
def test_twice_the_speed_is_half_the_time(way, count):
    """All times of all jobs doubled, waiting too: iterations take twice as long, alone or together."""
    shared = links(way)
    jobs = [shared.traffic(model(1000, 1000), on(m % 4, 4 + m % 4)) for m in range(count)]
    once = shared.together(jobs, waiting_ns=[500] * count)
    assert min(once) > 2500  # 2,500 is alone
    for joined in (False, True):  # so they are, known or found
        twice = shared.together(jobs, stretch=[2.0] * count, waiting_ns=[1000] * count, joined=joined)
        assert twice == pytest.approx([2 * item for item in once])


def test_shifts_and_waits_are_part_of_the_question():
    """One Contention, asked in turn: 1 s computed and 1 s sent; aligned 3 s, shifted by 1 s 2 s.

    If one waits 1 s first, its iterations take 3 s, and the two meet now and then.
    """
    shared, half = links(), model(1000, 1000)
    jobs = [(half, on(0, 4)), (half, on(1, 5))]
    second = round(shared.traffic(*jobs[0]).alone_ns) // 2
    for _ in range(2):
        assert slower(shared, *jobs) == pytest.approx([1.5, 1.5])
        assert slower(shared, *jobs, shift_ns=[0, second]) == [1.0, 1.0]
        waits = slower(shared, *jobs, waiting_ns=[0, second])
        assert 1.0 < waits[0] < 1.5


def test_components_do_not_affect_each_other(asked):
    """Three jobs on rack 0 and 1, two on 2 and 3: two questions, the answers of each alone."""
    near = [(BARE, on(m, m + 4)) for m in range(3)]
    far = [(model(500, 1000), on(m, m + 4)) for m in (8, 9)]
    assert slower(links(), *near, *far) == slower(links(), *near) + slower(links(), *far)
    assert asked == [2, 3, 3, 2] or asked == [3, 2, 3, 2]


def test_a_job_between_two_joins_them(asked):
    """Jobs a and c share nothing, b meets both: with b all three are one question."""
    half = model(1000, 1000)
    shared = links()
    slower(shared, (half, on(0, 1)), (half, on(2, 3)))
    slower(shared, (half, on(0, 1)), (half, on(1, 2)), (half, on(2, 3)))
    assert asked == [3]


def test_the_same_constellation_is_asked_once(asked):
    """Other machines, other racks, another order, times that differ by less than 0.1 %: one question."""
    shared, other = links(), model(500, 1000)
    first = slower(shared, (BARE, on(0, 4)), (other, on(1, 5)))
    assert slower(shared, (other, on(14, 10)), (BARE, on(15, 9))) == first[::-1]
    contention = [shared.traffic(BARE, on(0, 4)), shared.traffic(other, on(1, 5))]
    times = shared.together(contention, stretch=(3.0, 3.0002))
    assert times == pytest.approx([3 * first[0] * 1000, 3.0002 * first[1] * 1500])
    assert asked == [2]


def test_jobs_of_other_speeds_are_another_question(asked):
    """In time it counts that one takes twice as long; on average it does not."""
    half = model(1000, 1000)
    for way, questions in (("flow_level", 2), ("mean_field", 1)):
        shared = links(way)
        contention = [shared.traffic(half, placement) for placement in (on(0, 4), on(1, 5))]
        equal, slow = shared.together(contention), shared.together(contention, stretch=(1.0, 2.0))
        assert (len(asked) if way == "flow_level" else len({equal[0], slow[0], slow[1] / 2})) == questions
        asked.clear()


@pytest.mark.parametrize("most", [0, None])
@pytest.mark.parametrize("transport", ["ideal", "packets"])
def test_rings_are_followed_packet_by_packet_unless_no_packets_are_allowed(
    transport, most, asked, monkeypatch
):
    """Three jobs on an uplink for two: rings of packets beside each other, or one flow a job."""
    answers = []

    def noted(*question, **more):
        answers.append(followed(*question, **more))
        return answers[-1]

    followed = contention.followed
    monkeypatch.setattr(contention, "followed", noted)
    fabric = load_topology(data_path("topologies", "cloud_ethernet.yaml")).fabric
    machines = [(m // 4, m, "p3_16xlarge", 8) for m in range(8)]
    shared = Contention("packets", machines, fabric, SystemSettings(transport=transport), max_packets=most)
    kind = "p3_16xlarge"
    jobs = [(model(10**6, 10**7), [(0, m, kind, 1), (1, 4 + m, kind, 1)]) for m in (0, 1, 2)]
    result = slower(shared, *jobs)
    assert min(result) > 1.2
    assert (len(answers), len(asked)) == ((1, 0) if most is None else (0, 1))


def test_periods_that_differ_much_meet_on_average(asked, monkeypatch):
    """Some 500 iterations while the other does one: 8 of those, and 4,000 of these, are not followed."""
    quick, slow = model(1000, 1000), model(10**6, 10**6)
    in_time, mean = (
        slower(links(way), (quick, on(0, 4)), (slow, on(1, 5))) for way in ("flow_level", "mean_field")
    )
    monkeypatch.setattr(contention, "_MAX_EVENTS", 1000)
    cut = slower(links(), (quick, on(0, 4)), (slow, on(1, 5)))
    assert cut == mean
    assert in_time == pytest.approx(mean, rel=0.05)


def test_a_job_whose_messages_carry_no_bytes_shares_no_link():
    """One byte over five GPUs, level by level: in whole bytes, none leaves a machine."""
    shared = Contention("mean_field", MACHINES, FABRIC, SystemSettings(across_machines="hierarchical"))
    job = shared.traffic(model(10, 1), [(0, 1, "box", 3), (1, 4, "box", 1), (1, 5, "box", 1)])
    sender = shared.load(job)
    assert sender.loads == {}
    assert (sender.slack, sender.busy) == (inf, 0.0)
    assert shared.together([job, job]) == [job.alone_ns] * 2
