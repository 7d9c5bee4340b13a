"""Jobs that share links packet by packet, on a fabric as in ../shared/reference/contention."""

from dataclasses import replace
from itertools import permutations

import pytest

from netmodels.contention import packet_level
from netmodels.contention.constellation import order_of
from netmodels.contention.contention import Contention
from netmodels.contention.packet_level import followed, packets_of
from netmodels.contention.traffic import job_traffic
from netmodels.fabric.fabric import Dimension, Fabric
from netmodels.fabric.links import capacities
from netmodels.fabric.system import SystemSettings
from netmodels.ns3.tree import Tree
from netmodels.packets.engine import Wire
from netmodels.packets.rings import Layer as Sent
from netmodels.packets.rings import RingJob, together
from netmodels.profiles.profile import Layer, Profile

PORT = 12.5  # byte/ns of a machine's port and of a rack's uplink
FABRIC = Fabric(
    "racks",
    (Dimension("switch", 500.0, 450.0),),
    (Dimension("switch", 1500.0, PORT, machine_bytes_per_ns=PORT),),
    (Dimension("switch", 3500.0, PORT, machine_bytes_per_ns=PORT, rack_bytes_per_ns=PORT),),
)
SYSTEM = SystemSettings(transport="windows")
CAPACITY = capacities([(machine // 2, machine, "a", 4) for machine in range(4)], FABRIC)
# Both have four GPUs in each rack, in machines of their own, and cross the uplinks.
FIRST, SECOND = ([(0, machine, "a", 4), (1, machine + 2, "a", 4)] for machine in (0, 1))
TREE = Tree(
    [gpu // 4 for gpu in range(16)],
    [0, 0, 1, 1],
    [Wire(3600, 500)] * 16,
    [Wire(100, 1000)] * 4,
    [Wire(100, 2000)] * 2,
)


def sending(placement, compute_ns=300_000, size=2**20, system=SYSTEM, more=()):
    """Return a job of one layer, all of whose computing comes before its all-reduce."""
    layers = (Layer("a", compute_ns, 0, 0, size), *more)
    return job_traffic(Profile("one", layers), placement, FABRIC, system, packets=True)


def slower(jobs, shifts=(), most=10**9, system=SYSTEM):
    """Return the added time of iterations, ns."""
    result = followed(jobs, CAPACITY, FABRIC, system, shifts, max_packets=most)
    return [(longer - 1) * job.alone_ns for longer, job in zip(result, jobs, strict=True)]


EVERYWHERE = [(machine // 2, machine, "a", 2) for machine in range(4)]
ALONE = [(0, 0, "a", 1), (1, 2, "a", 1)]
RINGS = {
    "own ports": {(*range(4), *range(8, 12)): FIRST, (*range(4, 8), *range(12, 16)): SECOND},
    "two GPUs a machine": {(0, 1, 4, 5, 8, 9, 12, 13): EVERYWHERE, (2, 3, 6, 7, 10, 11, 14, 15): EVERYWHERE},
    "one GPU a machine": {(0, 8): ALONE, (1, 9): ALONE},
}


@pytest.mark.parametrize("size", [2**20, 2**16], ids=["large", "small"])
@pytest.mark.parametrize("uplink", [PORT, PORT / 2], ids=["alike", "slow uplink"])
@pytest.mark.parametrize("rings", RINGS.values(), ids=RINGS)
def test_jobs_are_those_of_the_packet_engine(rings, uplink, size):
    """Six iterations beside the other / alone: to the ns as on the tree of all links.

    Small messages (8 KiB between 8 GPUs) wait for round trips, so that on average both have room on a link of
    one port's width; but their packets come as fast as a port lets them, and wait for each other.
    """
    result = followed_beside(rings, uplink, size)
    assert min(result) > 1.1 if size == 2**20 else 1.0 not in result


def test_an_uplink_may_be_wider_than_all_ports():
    """Three ports wide, for two machines: its packets take a third of the time, alone and together."""
    followed_beside(RINGS["two GPUs a machine"], 3 * PORT, 2**20)


def followed_beside(rings, uplink, size):
    """Return six iterations beside the other / alone of jobs that compute 300 us in each, to the ns."""
    tree = replace(TREE, racks=[Wire(uplink * 8, 2000)] * 2)
    network = replace(FABRIC.network[0], rack_bytes_per_ns=uplink)
    fabric = replace(FABRIC, network=(network,))
    jobs = [RingJob(ring, (Sent(300_000, size),), 6) for ring in rings]
    profile = Profile("one", (Layer("a", 300_000, 0, 0, size),))
    sent = [job_traffic(profile, ring, fabric, SYSTEM, packets=True) for ring in rings.values()]
    capacity = capacities([(machine // 2, machine, "a", 4) for machine in range(4)], fabric)
    result = followed(sent, capacity, fabric, SYSTEM, iterations=[6, 6])
    beside, alone = together(jobs, tree), [together([job], tree)[0] for job in jobs]
    assert result == [one[-1] / other[-1] for one, other in zip(beside, alone, strict=True)]
    return result


def test_jobs_that_never_meet_are_exactly_alone():
    """Started 247 us apart, each sends (194 us) while the other computes (300); or on links of its own."""
    assert slower([sending(FIRST), sending(SECOND)], [0, 247_000]) == [0, 0]
    apart = [[(0, 0, "a", 2), (0, 1, "a", 2)], [(1, 2, "a", 2), (1, 3, "a", 2)]]
    assert slower([sending(item) for item in apart]) == [0, 0]


def test_a_long_message_is_followed_in_less_time():
    """64 MiB: 1 % of the packets, and sharing adds as much as with many more within 14 %, iterations 6 %."""
    jobs = [sending(value, 3_000_000, 2**26) for value in (FIRST, SECOND)]
    few, many = slower(jobs, most=30_000), slower(jobs, most=100_000)
    assert few == pytest.approx(many, rel=0.14)
    times = ([ns + jobs[0].alone_ns for ns in value] for value in (few, many))
    assert next(times) == pytest.approx(next(times), rel=0.06)
    assert min(few) > 0.7 * (jobs[0].alone_ns - 3_000_000)


def test_small_rings_beside_a_large_one_keep_their_part():
    """4 MiB, then 15 of 64 KiB, whose latency counts: in less time sharing adds as much, within 10 %.

    If the large one, too, stood for small ones, sharing would add 23 % more.
    """
    small = [Layer(f"{number}", 10_000, 0, 0, 2**16) for number in range(15)]
    jobs = [sending(value, size=2**22, more=small) for value in (FIRST, SECOND)]
    few, many = slower(jobs, most=12_000), slower(jobs, most=100_000)
    assert few == pytest.approx(many, rel=0.1)


def test_jobs_without_messages_are_not_followed_by_packets():
    """Level by level there are no rings of messages; one packet is too few."""
    for way, most in (("hierarchical", 10**9), ("flat_ring", 1)):
        system = replace(SYSTEM, across_machines=way)
        jobs = [sending(value, system=system) for value in (FIRST, SECOND)]
        assert followed(jobs, CAPACITY, FABRIC, system, max_packets=most) is None


def test_stretched_jobs_stretch_their_rings():
    """Twice the times and the bytes, and 5 ns of waiting: rings have them too."""
    job = sending(FIRST)
    first, last = job.ring.layers
    first = first._replace(launch_ns=7, add_ns=30, update_ns=9)
    slow = replace(job, ring=job.ring._replace(layers=(first, last)))
    ring = slow.stretched(2.0, 5).ring
    assert [(layer.compute_ns, layer.bytes) for layer in ring.layers] == [(600_005, 2**21), (0, 0)]
    first = ring.layers[0]
    assert (first.launch_ns, first.add_ns, first.update_ns) == (14, 60, 18)


def test_without_windows_two_rings_alternate():
    """2^20 bytes, 14 messages of 131,072: alone 10.6 us each and a round trip; together sharing adds some."""
    system = replace(SYSTEM, transport="packets")
    jobs = [sending(value, system=system) for value in (FIRST, SECOND)]
    result = slower(jobs, system=system)
    assert result[0] == pytest.approx(result[1], rel=0.05)
    assert 50_000 < result[0] < 14 * 131_072 / PORT


@pytest.mark.parametrize(
    ("settings", "size", "most", "said"),
    [
        ({"transport": "packets"}, 2**25, None, []),  # messages of 4 MiB
        ({"transport": "packets"}, 2**25 + 8, None, ["PFC"]),
        ({"transport": "windows"}, 2**25 + 8, None, []),
        ({"transport": "windows"}, 2**20, 1, ["at flow level: packets would be too many"]),
        ({"transport": "windows", "across_machines": "hierarchical"}, 2**20, None, ["only flat rings"]),
        ({"transport": "ideal"}, 2**20, 1, ["at flow level: packets would be too many"]),
    ],
)
def test_differences_to_ns_3_are_logged_once(settings, size, most, said, caplog):
    """Switches would pause who sends; one packet is too few to follow; level by level there is no ring."""
    system = replace(SYSTEM, **settings)
    machines = [(machine // 2, machine, "a", 4) for machine in range(4)]
    shared = Contention("packets", machines, FABRIC, system, max_packets=most or 100_000)
    profile = Profile("one", (Layer("a", 300_000_000, 0, 0, size),))
    for placed in (FIRST, SECOND), (FIRST, FIRST):
        with caplog.at_level("WARNING"):
            shared.together([shared.traffic(profile, item) for item in placed])
    for words, record in zip(said, caplog.records, strict=True):
        assert words in record.message


@pytest.mark.parametrize("paths", [1, 2, 4])
def test_parallel_uplinks_are_followed_in_four_draws(paths, monkeypatch):
    """Two uplinks of a whole port, or four of half: the slowdown is the mean of those of four hashes."""
    core = replace(FABRIC.network[0], rack_bytes_per_ns=2 * PORT)
    fabric = replace(FABRIC, network=(core,), uplinks=paths)
    capacity = capacities([(machine // 2, machine, "a", 4) for machine in range(4)], fabric, paths)
    jobs = [
        job_traffic(Profile("one", (Layer("a", 9000, 0, 0, 2**20),)), value, fabric, SYSTEM, packets=True)
        for value in (FIRST, FIRST)
    ]
    channels, draws = packet_level.RingChannels, []

    def drawn(*of, draw, **more):
        draws.append(draw)
        return channels(*of, draw=draw, **more)

    monkeypatch.setattr(packet_level, "RingChannels", drawn)
    slowed = followed(jobs, capacity, fabric, SYSTEM, iterations=[2, 2])
    assert set(draws) == set(range(4 if paths > 1 else 1))
    monkeypatch.setattr(packet_level, "_DRAWS", 1)
    first = followed(jobs, capacity, fabric, SYSTEM, iterations=[2, 2])
    monkeypatch.setattr(packet_level, "RingChannels", lambda *of, draw, **more: channels(*of, draw=1, **more))
    packet_level._alone_ns.cache_clear()
    second = followed(jobs, capacity, fabric, SYSTEM, iterations=[2, 2])
    packet_level._alone_ns.cache_clear()
    assert (first == second) == (paths == 1)
    assert (slowed == first) == (paths == 1)


def test_iterations_that_recur_are_followed_no_longer():
    """Ends every 10 and 14 ns by turns, beside three in 24: seen twice after 48 ns, and not a ns before."""
    one, other = [5, 15, 29, 39, 53], [1, 9, 17, 25, 33, 41, 49]
    assert packet_level._period_ns([one, other]) == 24
    assert packet_level._period_ns([one[:-1], other]) is None
    assert packet_level._period_ns([one, other[1:]]) is None
    assert packet_level._period_ns([one, [*other[:-1], 50]]) is None
    assert [packet_level._mean_ns(ends, 24) for ends in (one, other)] == [12, 8]


def test_contention_follows_packets_where_messages_are_packets():
    """On machines of other numbers, asked by first occurrence: the answer is that of `followed`."""
    machines = [(rack, 10 * rack + machine, "a", 4) for rack in (3, 7) for machine in (5, 6)]
    shared = Contention("packets", machines, FABRIC, SYSTEM)
    profile = Profile("one", (Layer("a", 300_000, 0, 0, 2**20),))
    placed = ([(3, 30 + machine, "a", 4), (7, 70 + machine, "a", 4)] for machine in (5, 6))
    jobs = [shared.traffic(profile, item) for item in placed]
    longer = [ns - job.alone_ns for ns, job in zip(shared.together(jobs), jobs, strict=True)]
    assert longer == pytest.approx(slower([sending(FIRST), sending(SECOND)], most=None))


def test_equal_jobs_differ_by_the_jobs_on_their_links():
    """A chain on ports: A and B leave machine 0, B and C arrive at 3; however asked, each has its answer.

    By the order of the question, A would be slowed by 20 to 33 %.
    """
    ends = {"A": (0, 2), "B": (0, 3), "C": (1, 3)}
    profile = Profile("one", (Layer("a", 30_000, 0, 0, 2**18),))
    answers = set()
    for names in permutations("ABC"):
        shared = Contention("packets", [(i // 2, i, "a", 4) for i in range(4)], FABRIC, SYSTEM)
        jobs = [shared.traffic(profile, [(end // 2, end, "a", 1) for end in ends[name]]) for name in names]
        answers.add(tuple(sorted(zip(names, shared.together(jobs), strict=True))))
    assert len(answers) == 1


def test_jobs_are_ordered_by_content_then_by_places_then_as_mentioned():
    """5 comes first, then the one of the 7s that meets it; the others could change places.

    Of a chain, each job has a place of its own.
    """
    assert order_of([7, 5, 7, 7], ["ab", "c", "ab", "cd"]) == [1, 3, 0, 2]
    assert order_of([7, 5, 7, 7], ["cd", "c", "ab", "ab"]) == [1, 0, 2, 3]
    chain = ["ab", "ac", "dc"]
    order = [chain[item] for item in order_of([7] * 3, chain)]
    for turned in (chain[1:] + chain[:1], chain[::-1]):
        assert [turned[item] for item in order_of([7] * 3, turned)] == order


def test_the_number_of_packets_is_known_in_advance():
    """16 iterations of 14 steps of 8 GPUs; 2^20 / 8 bytes are 17 packets, and a message counts as 2 more."""
    jobs = [sending(value) for value in (FIRST, SECOND)]
    assert packets_of(jobs, CAPACITY, FABRIC, SYSTEM) == 2 * 16 * 14 * 8 * (17 + 2)
    level_by_level = replace(SYSTEM, across_machines="hierarchical")
    assert packets_of([sending(FIRST, system=level_by_level)] * 2, CAPACITY, FABRIC, level_by_level) == 0


def test_all_iterations_of_a_quick_job_count_until_the_slow_one_has_eight():
    """Beside a job that computes 1 s, one that computes 0.3 ms: until 8 of the one are done, many others are.

    8 x 14 steps of 8 GPUs of 19 packets for the slow one, and for the quick one so many times as many as it
    is quicker: not the 16 iterations on average, of which nearly all are its own.
    """
    quick, slow = sending(FIRST), sending(FIRST, compute_ns=1_001_000_000)
    item = 14 * 8 * (17 + 2)
    count = packets_of([quick, slow], CAPACITY, FABRIC, SYSTEM)
    assert count == pytest.approx(item * 8 * (1 + slow.alone_ns / quick.alone_ns), abs=1)
    assert count > 100 * 2 * 16 * item


def test_more_packets_are_followed_if_they_are_allowed():
    """None allows all, as a number does that is enough; one packet fewer, and there are cells."""
    jobs = [sending(value) for value in (FIRST, SECOND)]
    count = packets_of(jobs, CAPACITY, FABRIC, SYSTEM)
    assert slower(jobs, most=None) == slower(jobs, most=count) != slower(jobs, most=count - 1)
