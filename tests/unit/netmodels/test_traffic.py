"""Bytes of a job per link: closed forms of bytes, capacities, and times alone."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from netmodels.api import Dimension, Fabric, Layer, Profile, SystemSettings, load_topology, shape_of
from netmodels.contention.traffic import carried_by, job_traffic, links_of, tree_edges
from netmodels.fabric.graph import fabric_graph
from netmodels.fabric.links import Link, capacities
from netmodels.models.analytical import AnalyticalModel
from netmodels.profiles.profile import get_profile

FOLDER = Path(__file__).resolve().parents[3] / "topologies"
SWITCH = Dimension("switch", 0.0, 1.0)
FABRIC = Fabric("any", (replace(SWITCH, bandwidth_bytes_per_ns=10.0),), (SWITCH,), (SWITCH,))
RING = SystemSettings(endpoint_delay_ns=0)
S = 8_000
PROFILE = Profile("one", (Layer("only", 100, 0, 100, S),))
MODEL = AnalyticalModel()


def placed(*racks):
    """Return a placement; a rack is the list of its machines' GPUs, machines are numbered throughout."""
    numbers = iter(range(100))
    return [(rack, next(numbers), "a", gpus) for rack, item in enumerate(racks) for gpus in item]


def sent_by(placement, profile=PROFILE, fabric=FABRIC, **settings):
    """Return the bytes of one iteration per link."""
    sending = job_traffic(profile, placement, fabric, replace(RING, **settings), MODEL)
    return dict(zip(sending.links, sending.sent_bytes.sum(axis=0).tolist(), strict=True))


def shipped(name):
    """Load a topology of ours."""
    return load_topology(FOLDER / f"{name}.yaml")


def test_a_ring_over_machines_passes_each_port_once():
    """4 machines of 1 GPU: 2 x 3/4 x 8,000 = 12,000 out of each and into each."""
    sent = sent_by(placed([1, 1, 1, 1]))
    assert sent == {Link("machine", m, way): 12_000 for m in range(4) for way in ("out", "in")}


def test_a_rings_bytes_do_not_depend_on_gpus_per_machine():
    """5 + 3 GPUs: 2 x 7/8 x 8,000 = 14,000 on both ports."""
    assert set(sent_by(placed([5, 3])).values()) == {14_000}


def test_nccls_trees_pass_each_port_of_two_machines_once():
    """A root and a leaf: 8,000 on both ports of 5 + 3 GPUs; of 3 machines a ring's 2 x 8/9 x 8,000.

    With a ring's 14,000 bytes of 5 + 3 in the time of the trees, a port would pass more than its bandwidth.
    """
    assert set(sent_by(placed([5, 3]), collectives="nccl").values()) == {8_000}
    assert set(sent_by(placed([3], [3], [3]), collectives="nccl").values()) >= {2 * 8_000 * 8 // 9}
    cloud = shipped("cloud_ethernet")
    machines = [(0, machine, cloud.default_machine_type, gpus) for machine, gpus in ((0, 8), (1, 4))]
    job = job_traffic(get_profile("VGG16"), machines, cloud.fabric, cloud.system("machines"))
    assert (job.sent_bytes / job.transfers_ns[:, None] <= 25 / 8).all()  # 25 Gb/s, in byte/ns


def test_a_ring_leaves_every_rack_once():
    """2 + 2 | 4 GPUs: 14,000 on the three ports and on the two uplinks, in each direction."""
    sent = sent_by(placed([2, 2], [4]))
    assert {sent[Link("rack", rack, way)] for rack in (0, 1) for way in ("out", "in")} == {14_000}
    assert {sent[Link("machine", machine, "out")] for machine in (0, 1, 2)} == {14_000}


def test_bytes_beyond_a_rack_are_divided_over_its_ports():
    """2 + 2 | 4 GPUs: 14,000 leave each rack, half of them by each machine of the first.

    H100, 4 x 8 | 4 x 8: 4 ports of 100 byte/ns to the core pass 400: the uplink carries more than one.
    """
    sent = sent_by(placed([2, 2], [4]))
    assert [sent[Link("network", machine, "out")] for machine in (0, 1, 2)] == [7_000, 7_000, 14_000]
    topology = shipped("dgx_h100_3tier")
    machines = [(rack, 8 * rack + place, "dgx_h100", 8) for rack in (0, 1) for place in range(4)]
    limits = capacities(machines_of(topology, "dgx_h100", 8), topology.fabric)
    job = job_traffic(get_profile("VGG16"), machines, topology.fabric, topology.system("papers"))
    most = dict(zip(job.links, job.peaks(job.limits(limits)).tolist(), strict=True))
    assert 300 < most[Link("rack", 0, "out")] < 400
    assert most[Link("network", 0, "out")] == pytest.approx(most[Link("rack", 0, "out")] / 4)


def test_packets_come_as_fast_as_ports_let_them():
    """2 + 1 | 1 GPUs, 1 byte/ns each within the rack, 3 beyond: an uplink gets what comes through a port.

    Two of a machine's GPUs may send 2 and 6, one 1 and 3. Uplinks carry 1.5.
    """
    beyond = replace(SWITCH, bandwidth_bytes_per_ns=3.0, rack_bytes_per_ns=1.5)
    fabric, placement = replace(FABRIC, network=(beyond,)), placed([2, 1], [1])
    job = job_traffic(PROFILE, placement, fabric, replace(RING, transport="windows"), MODEL, packets=True)
    most = dict(zip(job.links, job.peaks(job.limits({Link("rack", 0, "out"): 1.5})).tolist(), strict=True))
    assert [most[Link("machine", machine, "in")] for machine in (0, 1, 2)] == [2, 1, 1]
    assert [most[Link("network", machine, "out")] for machine in (0, 1, 2)] == [6, 3, 3]
    assert [most[Link("rack", *value)] for value in ((0, "out"), (0, "in"), (1, "out"))] == [1.5, 2, 1]


def test_levels_carry_the_bytes_of_all_gpus_behind_them():
    """2 racks x 2 machines x 2 GPUs, level by level.

    In the machine 8,000 are scattered to 4,000; in the rack each GPU sends 2,000 and later gathers 2,000; in
    the network it all-reduces 2,000, sending 2 x 1/2 x 2,000. Port: 2 x (4,000 + 2,000); uplink: 4 x 2,000.
    """
    sent = sent_by(placed([2, 2], [2, 2]), across_machines="hierarchical")
    assert sent[Link("machine", 0, "out")] == sent[Link("machine", 3, "in")] == 12_000
    assert sent[Link("network", 0, "out")] == 4_000
    assert sent[Link("rack", 0, "out")] == sent[Link("rack", 1, "in")] == 8_000


def test_direct_collectives_send_to_each_peer():
    """4 machines of 1 GPU, all-reduce to all directly: 2 x 3/4 x 8,000 = 12,000, as a ring."""
    sent = sent_by(placed([1] * 4), across_machines="hierarchical", collective_algorithm="direct")
    assert set(sent.values()) == {12_000}


def test_trees_pass_twice_the_bytes_at_inner_machines():
    """4 machines: edges 1-2, 2-0, 3-2 and their mirror image; half of 8,000 each way over each.

    Machines 0 and 3 have 2 edges (8,000), 1 and 2 have 4 (16,000): 2 x 3 x 8,000 in all.
    """
    sent = sent_by(placed([1, 1, 1, 1]), across_machines="tree")
    assert [sent[Link("machine", machine, "out")] for machine in range(4)] == [8_000, 16_000, 16_000, 8_000]
    assert [sent[Link("machine", machine, "in")] for machine in range(4)] == [8_000, 16_000, 16_000, 8_000]


def test_trees_cross_racks_where_their_edges_do():
    """2 + 2 | as above: machines 0, 1 and 2, 3. Edges 1-2, 2-0, 2-1, 1-3 cross: 4 x 4,000 a direction."""
    sent = sent_by(placed([1, 1], [1, 1]), across_machines="tree")
    assert {sent[Link("rack", rack, way)] for rack in (0, 1) for way in ("out", "in")} == {16_000}


@pytest.mark.parametrize("machines", [2, 3, 5, 8, 13])
def test_both_trees_join_all_machines(machines):
    """Each of k - 1 machines has one parent, and all lead to the root."""
    edges = tree_edges(machines)
    for tree in (edges[: machines - 1], edges[machines - 1 :]):
        assert len({child for child, _ in tree}) == len(tree) == machines - 1
        above = dict(tree)
        for machine in range(machines):
            steps = 0
            while machine in above:
                machine, steps = above[machine], steps + 1
                assert steps < machines


def test_the_second_tree_of_an_odd_number_is_shifted():
    """3 machines: 1-2, 2-0, and one place on 2-0, 0-1: machine 1 is a leaf of both, as in NCCL."""
    assert tree_edges(3) == ((1, 2), (2, 0), (2, 0), (0, 1))


def test_the_order_of_a_ring_is_that_of_its_shape():
    """Trees depend on the order: machines by GPUs, then by number, whatever order they are given in."""
    given = [(7, 4, "a", 2), (3, 9, "a", 1), (7, 2, "a", 1), (7, 1, "a", 0)]
    assert carried_by(given, "tree") == carried_by(given[::-1], "tree")
    assert links_of(given)[:6:2] == tuple(Link("machine", machine, "out") for machine in (9, 2, 4))


def test_a_machine_alone_sends_on_no_shared_link():
    """8 GPUs of one machine: its switch is theirs alone."""
    sending = job_traffic(PROFILE, placed([8]), FABRIC, RING, MODEL)
    assert sending.links == ()
    assert sending.alone_ns == MODEL.iteration(PROFILE, shape_of([(0, "a", 8)]), FABRIC, RING).total_ns


def test_packets_have_headers():
    """36 bytes for every 8,000: 12,000 are 12,054."""
    sent = sent_by(placed([1] * 4), transport="packets")
    assert list(sent.values()) == pytest.approx([12_054] * 8)


@pytest.mark.parametrize("name", ["v100_100g", "cloud_ethernet", "dgx_h100_3tier", "hgx_h100_ib400"])
@pytest.mark.parametrize("across", ["flat_ring", "tree", "hierarchical"])
@pytest.mark.parametrize(
    "more", [{}, {"transport": "windows"}, {"chunks": 4}, {"bucket_cap_mb": 25.0}], ids=str
)
def test_a_job_alone_takes_the_models_time(name, across, more):
    """Passages in one queue are the iteration that the analytical model prices, to the nanosecond."""
    topology = shipped(name)
    kind = topology.default_machine_type
    placement = [(0, 0, kind, 4), (0, 1, kind, 3), (2, 9, kind, 4)]
    system = replace(topology.system("papers"), across_machines=across, **more)
    profile = get_profile("VGG16").scaled(0.1).with_launch(1_000)
    shape = shape_of((rack, value, gpus) for rack, _, value, gpus in placement)
    sending = job_traffic(profile, placement, topology.fabric, system, MODEL)
    assert sending.alone_ns == MODEL.iteration(profile, shape, topology.fabric, system).total_ns


def test_a_queue_per_dimension_is_taken_as_one_queue():
    """Collectives that pass dimensions side by side follow each other here: never faster."""
    system = replace(RING, collective_queue="per_dimension", across_machines="hierarchical")
    profile, placement = get_profile("ResNet18").scaled(0.01), placed([2, 2], [2, 2])
    sending = job_traffic(profile, placement, FABRIC, system, MODEL)
    shape = shape_of((rack, kind, gpus) for rack, _, kind, gpus in placement)
    assert sending.alone_ns >= MODEL.iteration(profile, shape, FABRIC, system).total_ns
    assert len(sending.transfers_ns) == sum(layer.gradient_bytes > 0 for layer in profile.layers)


def test_the_slowest_machine_type_sets_the_pace():
    """Type b has half the ports: 2 machines of 1 GPU send 8,000 at 0.5 byte/ns, 16,000 ns."""
    slow = replace(SWITCH, bandwidth_bytes_per_ns=0.5)
    fabric = replace(FABRIC, by_machine_type={"b": ((SWITCH,), (slow,), (slow,))})
    sending = job_traffic(PROFILE, [(0, 0, "a", 1), (0, 1, "b", 1)], fabric, RING, MODEL)
    assert sending.transfers_ns.tolist() == [16_000]
    limits = capacities([(0, 0, "a", 1), (0, 1, "b", 1)], fabric)
    assert (limits[Link("machine", 0, "out")], limits[Link("machine", 1, "out")]) == (1.0, 0.5)
    assert sending.rates_on(sending.links[:4], limits).tolist() == [[0.5] * 4]


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.yaml")))
def test_capacities_are_those_of_the_graph(name):
    """Ports and uplinks of equal machines pass what the graph's links do, in byte/ns instead of Gb/s.

    The Dally program's links multiply with the members of a job: none is shared.
    """
    topology = shipped(name)
    kind, gpus = topology.default_machine_type, topology.machine_type().gpus
    result = capacities(machines_of(topology, kind, gpus), topology.fabric)
    graph = fabric_graph(topology, 2)
    for link, edge in (
        (Link("machine", 1, "out"), (("machine", 0, 1), ("rack", 0))),
        (Link("rack", 1, "in"), (("rack", 1), ("core",))),
    ):
        expected = inf if name == "dally_code" else graph.edges[edge]["capacity_gbit_s"] / 8
        assert result[link] == expected


def machines_of(topology, kind, gpus):
    """Return the machines of two racks of a topology, all of one type."""
    per_rack = topology.machines_per_rack
    return [(number // per_rack, number, kind, gpus) for number in range(2 * per_rack)]


def test_bandwidth_beyond_the_rack_may_be_limited_per_machine():
    """DGX H100: 8 x 50 byte/ns to the rack, but 100 for the core; a ring over it has both links."""
    topology = shipped("dgx_h100_3tier")
    kind = topology.default_machine_type
    result = capacities(machines_of(topology, kind, 8), topology.fabric)
    assert (result[Link("machine", 3, "in")], result[Link("network", 3, "in")]) == (400.0, 100.0)
    assert Link("network", 0, "out") not in capacities(placed([8]), FABRIC)


def test_an_uplink_is_shared_by_its_parallel_links():
    """Cloud: 8 machines of 3.125 byte/ns, oversubscribed to 6.25 in all; two links of half of that."""
    topology = shipped("cloud_ethernet")
    kind = topology.default_machine_type
    result = capacities(machines_of(topology, kind, 8), topology.fabric, uplinks=2)
    assert result[Link("rack", 0, "out", 0)] == result[Link("rack", 1, "in", 1)] == 3.125


def test_a_rack_of_two_types_has_the_wider_uplink():
    """Machines of 2 and of 1 byte/ns send 3; uplinks of 2.5 and, as the others see it, 1.5 pass 2.5."""
    wide, slow = (
        replace(SWITCH, bandwidth_bytes_per_ns=value, rack_bytes_per_ns=limit)
        for value, limit in ((2.0, 2.5), (1.0, 1.5))
    )
    fabric = Fabric(
        "two", (SWITCH,), (SWITCH,), (wide,), by_machine_type={"b": ((SWITCH,), (SWITCH,), (slow,))}
    )
    result = capacities([(0, 0, "a", 1), (0, 1, "b", 1)], fabric)
    assert result[Link("rack", 0, "out")] == 2.5
    assert capacities([(0, 0, "a", 1)], fabric)[Link("rack", 0, "out")] == 2.5  # wider than its one port of 2
