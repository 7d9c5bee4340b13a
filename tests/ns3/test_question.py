"""Questions to ns-3: routes through the fabric, windows, messages and packets."""

from netmodels.collectives.hosts import Network
from netmodels.fabric.fabric import Dimension
from netmodels.fabric.links import Link
from netmodels.ns3.question import Placement, messages_of, packets_in, question, window_bytes
from netmodels.ns3.tree import Tree
from netmodels.packets.engine import Channel, PrivateLink, Wire
from netmodels.packets.rings import Layer, RingJob

# Two racks of a machine of two GPUs, two core switches.
TREE = Tree([0, 0, 1, 1], [0, 1], [Wire(800, 100)] * 4, [Wire(100, 1000)] * 2, [Wire(50, 2000)] * 2, cores=2)


def asked(jobs, network=TREE, **settings):
    """Return a question about jobs, on the tree by default."""
    values = {"windows": True, "payload_bytes": 8000, "endpoint_delay_ns": 10, "attributes": {}, "uplinks": 2}
    return question(jobs, network, messages_of(jobs), **{**values, **settings})


def passed(question, way):
    """Return the nodes that a way passes, and its links' rates in Gb/s and latencies in ns."""
    nodes, wires = [], []
    for step in way:
        *ends, bits, picoseconds = question["links"][step // 2]
        start, end = reversed(ends) if step % 2 else ends
        assert not nodes or nodes[-1] == start
        nodes += [end] if nodes else [start, end]
        wires.append((bits / 1e9, picoseconds / 1e3))
    assert len(set(nodes)) == len(nodes)  # a way that came back would not know where to go on
    return nodes, wires


def test_routes_turn_at_the_first_common_switch():
    """Within a machine by its switch; between racks by three tiers of links up, and down again."""
    result = asked([RingJob((0, 1), (Layer(0, 16_000),), 1), RingJob((2, 3), (Layer(0, 16_000),), 1)])
    ways = [passed(result, way) for connection in result["connections"] for way in connection["ways"][0]]
    assert [(nodes[0], nodes[-1], len(nodes)) for nodes, _ in ways] == [
        *((0, 1, 3), (1, 0, 3), (1, 0, 3), (0, 1, 3)),
        *((2, 3, 3), (3, 2, 3), (3, 2, 3), (2, 3, 3)),
    ]
    assert len({nodes[1] for nodes, _ in ways}) == 2
    result = asked([RingJob((0, 2), (Layer(0, 16_000),), 1)])
    up = [(800, 100), (100, 1000), (50, 2000)]
    for there, back in result["connections"][0]["ways"]:
        assert [passed(result, way)[1] for way in (there, back)] == [up + up[::-1]] * 2
        assert (
            passed(result, there)[0][:3] == passed(result, back)[0][:-4:-1]
        )  # to the rack by the same nodes


def test_a_placement_has_the_links_that_astra_sims_ns3_gets():
    """2+1 GPUs: two to a machine's switch, that and the third GPU to the rack's: 4 links."""
    switch = Dimension("switch", 12.5, 500.0)
    network = Network(
        ((("box", 2), ("box", 1)),), (("machine", (switch,)), ("rack", (switch,)), ("network", (switch,)))
    )
    result = asked([RingJob((0, 1, 2), (Layer(0, 16_000),), 1)], Placement(network))
    ends = {
        tuple(connection["ends"]): passed(result, connection["ways"][0][0])[0]
        for connection in result["connections"]
    }
    assert [len(ends[value]) for value in ((0, 1), (1, 2), (2, 0))] == [3, 4, 4]
    assert len(result["links"]) == len(network.links) == 4
    assert result["nodes"] == 5


class Two:
    """Two jobs of two GPUs: 0 and 1, 2 and 3. GPUs 0 and 2 are on one port; 1 and 3 have a link each.

    The second job may see another latency of the port.
    """

    hosts = 4

    def __init__(self, second_ns=1000):
        self.second_ns = second_ns

    def path(self, sender, receiver, from_port, to_port):
        """Return port and own link; packets never queue on the latter."""
        port, wide = Wire(100, self.second_ns if sender > 1 else 1000), Wire(400, 500)
        if sender in (0, 2):
            return Channel(Link("machine", 0, "out"), port), Channel(None, wide)
        return Channel(PrivateLink(sender, "out"), wide), Channel(Link("machine", 0, "in"), port)


def test_gpus_on_one_port_stay_apart():
    """The port is one link for both jobs, behind a link of each GPU that is 100 times as fast."""
    result = asked([RingJob(gpus, (Layer(0, 16_000),), 1) for gpus in ((0, 1), (2, 3))], Two(), uplinks=1)
    there = {connection["ends"][0]: connection["ways"][0][0] for connection in result["connections"]}
    (first, rates), (second, _) = (passed(result, there[gpu]) for gpu in (0, 2))
    assert rates == [(10_000, 0), (100, 1000), (400, 500)]
    assert there[0][1] == there[2][1]
    assert there[0][2] != there[2][2]
    assert (first[0], first[1:3], second[0], second[1:3]) == (0, first[1:3], 2, first[1:3])
    assert passed(result, there[1])[1] == [(400, 500), (100, 1000), (10_000, 0)]


def test_jobs_that_see_other_latencies_of_a_port_share_it():
    """1,000 ns and 3,000, both ways: the port has 1,000, and behind it is a link of 0, or of 2,000 ns."""
    jobs = [RingJob(gpus, (Layer(0, 16_000),), 1) for gpus in ((0, 1), (2, 3))]
    for first_ns, second_ns, rests in ((1000, 3000, (0, 2000)), (1000, 400, (600, 0))):
        result = asked(jobs, Two(second_ns), uplinks=1)
        there = {connection["ends"][0]: connection["ways"][0] for connection in result["connections"]}
        port = min(first_ns, second_ns)
        for gpu, rest_ns in zip((0, 2), rests, strict=True):
            wires = [(10_000, 0), (100, port), (10_000, rest_ns), (400, 500)]
            assert [passed(result, way)[1] for way in there[gpu]] == [wires, wires[::-1]]
            assert [passed(result, way)[1] for way in there[gpu + 1]] == [wires[::-1], wires]
        assert there[0][0][1] == there[2][0][1]
        assert there[0][0][2] != there[2][0][2]


def test_a_window_is_a_round_trip_of_the_slowest_link_in_whole_packets():
    """100 Gb/s, 1 us, 8,000 bytes: 2 us + 640 ns carry 33,000 bytes, 5 packets; two links 66,000, 9."""
    wire = Wire(100, 1000)
    assert window_bytes([wire], 8000) == 5 * 8000
    assert window_bytes([wire, wire], 8000) == 9 * 8000


def test_messages_and_packets_are_counted():
    """3 GPUs, 2 iterations: 4 messages of 9,000 / 3 in a ring, 1 of 20,000 / 2 to each in an all-to-all.

    Of 8,000 bytes a packet, those take 1 and 2; so does a message of no bytes take 1.
    """
    ring = RingJob((0, 1, 2), (Layer(0, 9000), Layer(5, 0)), 2)
    direct = RingJob((4, 5), (Layer(0, 20_000, "all_to_all"),), 3)
    result = messages_of([ring, direct])
    assert result == {(0, 1, 3000): 8, (1, 2, 3000): 8, (2, 0, 3000): 8, (4, 5, 10_000): 3, (5, 4, 10_000): 3}
    assert [packets_in(size, 8000) for size in (0, 3000, 8000, 10_000)] == [1, 1, 1, 2]


def test_messages_choose_an_uplink_each_and_acknowledgements_theirs():
    """As the tree's hashes say, message by message; within a machine there is one way."""
    (there, _) = asked([RingJob((0, 2), (Layer(0, 16_000),), 4)])["connections"]
    assert there["ends"] == [0, 2]
    assert len(there["choices"]) == 2 * 4
    assert 1 < len(there["ways"]) <= 4
    result = asked([RingJob((0, 2), (Layer(0, 16_000),), 4)])
    cores = {}
    for number, choice in enumerate(there["choices"]):
        lanes = TREE.path(0, 2, 10_000 + number, 100), TREE.path(2, 0, 100, 10_000 + number)
        for way, lane in zip(there["ways"][choice], lanes, strict=True):
            cores.setdefault(passed(result, way)[0][3], set()).add(lane[2].link.path)
    assert sorted(map(tuple, cores.values())) == [(0,), (1,)]  # a node for each core switch
    (inside, _) = asked([RingJob((0, 1), (Layer(0, 16_000),), 4)])["connections"]
    assert inside["choices"] == [0]


def test_without_windows_the_receivers_buffer_does_not_limit():
    """A GiB, the widest window of TCP."""
    (there, _) = asked([RingJob((0, 1), (Layer(0, 16_000),), 1)], windows=False)["connections"]
    assert there["window_bytes"] == 2**30
