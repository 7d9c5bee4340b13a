"""The fabric as a graph: what is linked to what, and how fast."""

from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

from netmodels.api import Dimension, Fabric, MachineType, Topology, load_topology
from netmodels.fabric.graph import fabric_graph, members_of
from netmodels.inputs.errors import InputError

FOLDER = Path(__file__).resolve().parents[3] / "topologies"
SHIPPED = sorted(path.stem for path in FOLDER.glob("*.yaml"))
SWITCH, RING, MESH = (Dimension(kind, 1.0, 1.0) for kind in ("switch", "ring", "fully_connected"))


def shipped(name):
    """Load a topology of ours."""
    return load_topology(FOLDER / f"{name}.yaml")


def made_of(gpus, machine, rack=(SWITCH,), network=(SWITCH,)):
    """Return a topology of boxes with so many GPUs, two in a rack."""
    types = {"box": MachineType("box", gpus, "G", 1.0, 1, 1, 1)}
    return Topology("made", "here", Fabric("made", machine, rack, network), types, "box", 2)


def kinds(graph):
    """Count the nodes by kind."""
    return Counter(kind for _, kind in graph.nodes(data="kind"))


def links(graph):
    """Return a graph's links without those of mere membership."""
    return graph.edge_subgraph([(a, b) for a, b, link in graph.edges(data="link") if link])


def edges(graph):
    """Count the edges by tier and kind; membership has no kind."""
    return Counter((data["tier"], data.get("kind")) for _, _, data in graph.edges(data=True))


def test_switches_in_all_tiers_make_a_tree():
    """2 racks x 8 machines x 8 GPUs: 128 + 16 + 2 + 1 = 147 nodes, and all but the core hang on one link."""
    graph = fabric_graph(shipped("dgx_h100_3tier"), 2)
    assert kinds(graph) == {"gpu": 128, "machine": 16, "rack": 2, "core": 1}
    switch = {(tier, "switch"): count for tier, count in (("machine", 128), ("rack", 16), ("network", 2))}
    assert edges(graph) == switch
    assert nx.is_tree(links(graph))


def test_rings_and_meshes_link_their_members():
    """The Dally program: slots of 4 have 4 x 3 / 2 links, a ring of 2 slots has 1, a ring of 8 has 8.

    2 racks x 8 machines x 8 GPUs: 128 + 32 + 16 + 2 + 1 = 179 nodes. Links: 32 x 6 = 192 and 16 x 1 of the
    machines, 2 x 8 of the racks, 2 to the core. Membership: 128 GPUs and 32 slots, 16 machines. 402 in all.
    """
    graph = fabric_graph(shipped("dally_code"), 2)
    assert kinds(graph) == {"gpu": 128, "group": 32, "machine": 16, "rack": 2, "core": 1}
    assert edges(graph) == {
        ("machine", "fully_connected"): 192,
        ("machine", "ring"): 16,
        ("machine", None): 160,
        ("rack", "ring"): 16,
        ("rack", None): 16,
        ("network", "switch"): 2,
    }
    assert graph.number_of_edges() == 402
    assert graph.has_edge(("group", "machine", 0, 0, 0, 0), ("group", "machine", 0, 0, 0, 1))
    assert graph.has_edge(("machine", 1, 7), ("machine", 1, 0))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_machine_type_s_data_centre_is_connected(name):
    """Whatever has no links to what is above it is its member all the same."""
    topology = shipped(name)
    for machine_type in topology.machine_types:
        graph = fabric_graph(topology, 2, 3, machine_type)
        assert nx.is_connected(graph)
        assert kinds(graph)["gpu"] == 6 * topology.machine_type(machine_type).gpus


def test_a_shared_port_is_all_that_a_machine_has():
    """v100_100g: 8 GPUs that send 100 Gb/s each have one port of 100; a rack of 8 machines has 8 of them."""
    graph = fabric_graph(shipped("v100_100g"), 2)
    assert graph.edges[("gpu", 0, 0, 0), ("gpu", 0, 0, 1)]["capacity_gbit_s"] == 960
    rack = graph.edges[("machine", 0, 0), ("rack", 0)]
    assert (rack["bandwidth_gbit_s"], rack["capacity_gbit_s"]) == (100, 100)
    assert graph.edges[("rack", 1), ("core",)]["capacity_gbit_s"] == 800


def test_an_oversubscribed_uplink_is_all_that_a_rack_has():
    """cloud_ethernet: 8 machines x 25 = 200 Gb/s of ports have an uplink of 50; 1 machine has 25."""
    topology = shipped("cloud_ethernet")
    assert fabric_graph(topology, 2).edges[("rack", 0), ("core",)]["capacity_gbit_s"] == 50
    assert fabric_graph(topology, 2, 1).edges[("rack", 0), ("core",)]["capacity_gbit_s"] == 25


def test_a_machine_type_sees_its_own_fabric():
    """cloud_ethernet: machines of 4 T4 on PCIe with a port of 50 Gb/s, 100 from the rack."""
    graph = fabric_graph(shipped("cloud_ethernet"), 1, machine_type="g4dn_12xlarge")
    assert kinds(graph)["gpu"] == 32
    assert graph.edges[("gpu", 0, 0, 0), ("gpu", 0, 0, 3)]["latency_ns"] == 1000
    assert graph.edges[("machine", 0, 0), ("rack", 0)]["capacity_gbit_s"] == 50
    assert graph.edges[("rack", 0), ("core",)]["capacity_gbit_s"] == 100


def test_bandwidths_add_up_where_nothing_is_shared():
    """dgx_h100_3tier: 3600; 8 GPUs x 400 = 3200; 64 GPUs x 100 = 6400 Gb/s."""
    graph = fabric_graph(shipped("dgx_h100_3tier"), 1)
    ends = [(("gpu", 0, 0, 0), ("machine", 0, 0)), (("machine", 0, 0), ("rack", 0)), (("rack", 0), ("core",))]
    assert [graph.edges[pair]["capacity_gbit_s"] for pair in ends] == [3600, 3200, 6400]


def test_with_links_members_bandwidth_is_that_of_one_link():
    """dally_code: 600 GiB/s x 8 bit between GPUs; 4 of them from slot to slot."""
    graph = fabric_graph(shipped("dally_code"), 1)
    one = 600 * 2**30 / 1e9 * 8
    gpus = graph.edges[("gpu", 0, 0, 0), ("gpu", 0, 0, 3)]
    slots = graph.edges[("group", "machine", 0, 0, 0, 0), ("group", "machine", 0, 0, 0, 1)]
    assert gpus["capacity_gbit_s"] == gpus["bandwidth_gbit_s"] == slots["bandwidth_gbit_s"] == one
    assert slots["capacity_gbit_s"] == 4 * one


def test_latency_of_a_path_through_a_switch_is_hops_times_latency():
    """NVSwitch: GPU, switch, GPU: 2 links of 300 ns, what a network model takes for a step."""
    graph = links(fabric_graph(shipped("dgx_h100_3tier"), 1))
    ends = ("gpu", 0, 0, 0), ("gpu", 0, 0, 7)
    assert nx.shortest_path_length(graph, *ends) == 2
    assert nx.shortest_path_length(graph, *ends, weight="latency_ns") == 600


def test_latency_around_a_ring_takes_the_shorter_way():
    """v100_100g: GPU 0 to 6 of 8 is 2 links of 600 ns, to 4 it is 4."""
    graph = links(fabric_graph(shipped("v100_100g"), 1))
    lengths = nx.shortest_path_length(graph, ("gpu", 0, 0, 0), weight="latency_ns")
    assert (lengths["gpu", 0, 0, 6], lengths["gpu", 0, 0, 4]) == (1200, 2400)


@pytest.mark.parametrize(("gpus", "expected"), [(1, 0), (2, 1), (3, 3), (4, 4)])
def test_small_rings(gpus, expected):
    """One member has nobody to link to, two have one link and not two, three have three."""
    assert edges(fabric_graph(made_of(gpus, (RING,)), 1, 1))["machine", "ring"] == expected


def test_groups_are_filled_innermost_first():
    """6 GPUs in meshes of 4: one of 4 with 6 links, one of 2 with 1, as a network model sees them."""
    mesh = Dimension("fully_connected", 1.0, 1.0, size=4)
    graph = fabric_graph(made_of(6, (mesh, RING)), 1, 1)
    groups = members_of(graph, ("machine", 0, 0))
    assert [len(members_of(graph, group)) for group in groups] == [4, 2]
    assert edges(graph)["machine", "fully_connected"] == 7
    assert graph.edges[groups]["capacity_gbit_s"] == 2 * 8  # the smaller's 2 GPUs x 1 byte/ns


def test_groups_outside_machines():
    """Machines and racks in pairs, each under a switch: groups with a name, a tier and shared ports."""
    pair = Dimension("switch", 1.0, 1.0, size=2)
    shared = Dimension("switch", 1.0, 1.0, machine_bytes_per_ns=0.5, rack_bytes_per_ns=0.75)
    graph = fabric_graph(made_of(2, (SWITCH,), (pair, SWITCH), (pair, shared)), 4, 4)
    assert kinds(graph) == {"gpu": 32, "machine": 16, "group": 8 + 2, "rack": 4, "core": 1}
    group = graph.nodes["group", "core", 0, 1]
    assert group == {"kind": "group", "tier": "network", "label": "group 1", "layer": 4}
    assert members_of(graph, ("group", "core", 0, 1)) == [("rack", 2), ("rack", 3)]
    uplink = graph.edges[("group", "core", 0, 1), ("core",)]
    assert uplink["capacity_gbit_s"] == 2 * 0.75 * 8  # less than 8 machines x 0.5 and 16 GPUs x 1


def test_names_labels_and_order_are_fixed():
    """Callers name nodes by place and compare graphs; GPUs come before their machine."""
    graph = fabric_graph(made_of(2, (SWITCH,)), 1)
    first, second = ("machine", 0, 0), ("machine", 0, 1)
    inside = [[("gpu", *machine[1:], gpu) for gpu in (0, 1)] + [machine] for machine in (first, second)]
    assert list(graph) == [*inside[0], *inside[1], ("rack", 0), ("core",)]
    assert [label for _, label in graph.nodes(data="label")][-4:] == ["GPU 1", "machine 1", "rack 0", "core"]
    assert list(graph.edges) == list(fabric_graph(made_of(2, (SWITCH,)), 1).edges)
    assert members_of(graph, ("gpu", 0, 0, 0)) == []


@pytest.mark.parametrize(
    ("arguments", "where"),
    [((0,), "racks"), ((1, 0), "machines_per_rack"), ((1, 1, "dgx"), "topology dgx_h100_3tier")],
)
def test_bad_sizes_and_types_are_refused(arguments, where):
    """An empty data centre would be a core alone; a wrong type would be another's fabric."""
    with pytest.raises(InputError) as caught:
        fabric_graph(shipped("dgx_h100_3tier"), *arguments)
    assert caught.value.where == where


def test_machines_without_gpus_are_refused():
    """They are allowed in a topology, but a network model never sees them."""
    with pytest.raises(InputError, match="without GPUs"):
        fabric_graph(made_of(0, (RING,)), 1)
