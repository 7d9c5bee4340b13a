"""What ns-3 is asked: ways through the fabric, windows, messages and packets."""

from netmodels.astra_sim.hosts import Network
from netmodels.fabric import Dimension
from netmodels.ns3.question import (
    graph_of_placement,
    graph_of_tree,
    messages_of,
    packets_of,
    question,
    window_bytes,
)
from netmodels.sharing.packet_jobs import Layer, RingJob
from netmodels.sharing.tree import Tree, Wire

# Two racks of a machine of two GPUs: GPUs 0-3, machines 4 and 5, racks 6 and 7, cores 8 and 9.
TREE = Tree([0, 0, 1, 1], [0, 1], [Wire(800, 100)] * 4, [Wire(100, 1000)] * 2, [Wire(50, 2000)] * 2, cores=2)


def asked(jobs, **settings):
    """Return a question about jobs on the tree."""
    values = {"windows": True, "payload_bytes": 8000, "endpoint_delay_ns": 10, "attributes": {}, "tree": TREE}
    return question(jobs, graph_of_tree(TREE), messages_of(jobs), **{**values, **settings})


def test_ways_turn_at_the_first_switch_in_common():
    """Within a machine by its switch; between racks by either core."""
    graph = graph_of_tree(TREE)
    assert graph.way(0, 1) == (0, 4, 1)
    assert [graph.way(0, 2, core) for core in (0, 1)] == [(0, 4, 6, 8, 7, 5, 2), (0, 4, 6, 9, 7, 5, 2)]
    assert list(graph.along((0, 4, 6))) == [(800 * 10**9, 100), (100 * 10**9, 1000)]


def test_a_placement_has_the_links_that_astra_sims_ns3_gets():
    """2+1 GPUs: two to a machine's switch, that and the third GPU to the rack's."""
    switch = Dimension("switch", 12.5, 500.0)
    network = Network(
        ((("box", 2), ("box", 1)),), (("machine", (switch,)), ("rack", (switch,)), ("network", (switch,)))
    )
    graph = graph_of_placement(network)
    assert graph.way(0, 1) == (0, 3, 1)
    assert graph.way(0, 2) == (0, 3, 4, 2)
    assert len(graph.links) == len(network.links) == 4


def test_a_window_is_a_round_trip_of_the_slowest_link_in_whole_packets():
    """100 Gb/s, 1 us, 8,000 bytes: 2 us + 640 ns carry 33,000 bytes, 5 packets; two links 66,000, 9."""
    link = (100 * 10**9, 1000.0)
    assert window_bytes([link], 8000) == 5 * 8000
    assert window_bytes([link, link], 8000) == 9 * 8000


def test_messages_and_packets_are_counted():
    """3 GPUs, 2 iterations: 4 messages of 9,000 / 3 in a ring, 1 of 20,000 / 2 to each in an all-to-all."""
    ring = RingJob((0, 1, 2), (Layer(0, 9000), Layer(5, 0)), 2)
    direct = RingJob((4, 5), (Layer(0, 20_000, "all_to_all"),), 3)
    found = messages_of([ring, direct])
    assert found == {(0, 1, 3000): 8, (1, 2, 3000): 8, (2, 0, 3000): 8, (4, 5, 10_000): 3, (5, 4, 10_000): 3}
    assert packets_of(found, 8000) == 24 * 1 + 6 * 2


def test_messages_choose_an_uplink_each_and_acknowledgements_theirs():
    """As the tree's hashes say, message by message; within a machine there is one way."""
    (there, _) = asked([RingJob((0, 2), (Layer(0, 16_000),), 4)])["connections"]
    assert there["ends"] == [0, 2]
    assert len(there["choices"]) == 2 * 4
    assert 1 < len(there["ways"]) <= 4
    for number, choice in enumerate(there["choices"]):
        ways = there["ways"][choice]
        lanes = TREE.lanes(0, 2, 10_000 + number, 100), TREE.lanes(2, 0, 100, 10_000 + number)
        for way, passed in zip(ways, lanes, strict=True):
            assert way[3] == 8 + passed[2].link.path
    (inside, _) = asked([RingJob((0, 1), (Layer(0, 16_000),), 4)])["connections"]
    assert inside["choices"] == [0]


def test_without_windows_the_receivers_buffer_does_not_limit():
    """A GiB, the widest window of TCP."""
    (there, _) = asked([RingJob((0, 1), (Layer(0, 16_000),), 1)], windows=False)["connections"]
    assert there["window_bytes"] == 2**30
