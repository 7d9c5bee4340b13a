"""Input files of the programs, against a small placement worked by hand."""

import json
from dataclasses import replace

import pytest

from netmodels.api import Dimension, Layer, Profile, SystemSettings, shape_of
from netmodels.astra_sim import inputs, ns3, version1
from netmodels.astra_sim.chakra import iteration_trace
from netmodels.collectives.dimensions import views_of
from netmodels.inputs.errors import InputError
from tests.astra_sim.chakra_traces import read_trace

TWO_BY_TWO = shape_of([(0, "box", 2), (0, "box", 2)])
THREE_TIERS = shape_of([(0, "box", 2), (0, "box", 1), (1, "box", 1)])


def view(shape, fabric):
    (only,) = views_of(shape, fabric)
    return only


def test_a_trace_begins_with_its_version(toy):
    """Length 7, then field 1 (0x0a) of 5 characters: the format's own first bytes."""
    assert iteration_trace(toy, 1).startswith(b"\x07\n\x050.0.4")


def test_the_trace_follows_the_iteration_timeline(toy):
    """Forward 80 us and head's gradient 11: first all-reduce at 91; then 12 + 45 = 57, then 60 + 30 = 90 us.

    Collectives hang on the compute node before them and are numbered as they are issued.
    """
    _, nodes = read_trace(iteration_trace(toy, 2))
    rows = []
    for node in nodes:
        values = {attribute.name: attribute for attribute in node.attr}
        assert values["is_cpu_op"].HasField("bool_val")
        assert not values["is_cpu_op"].bool_val
        if node.type == 4:
            rows.append((node.id, list(node.data_deps), (values["num_ops"].int64_val - 500) / 1000))
            assert values["tensor_size"].uint64_val == 1
        else:
            assert node.type == 7
            assert values["comm_type"].int64_val == 0
            assert list(values["involved_dim"].bool_list.values) == [True, True]
            rows.append((node.id, list(node.data_deps), f"{values['comm_size'].int64_val} B"))
    assert rows == [
        (1, [], 91_000),
        (2, [1], "1048576 B"),
        (3, [1], 57_000),
        (4, [3], "16777216 B"),
        (5, [3], 90_000),
        (6, [5], "4000000 B"),
    ]


def test_layers_without_gradient_or_time_make_no_node():
    """Pooling computes but sends nothing, an instant layer the other way round: 7 ns, one all-reduce."""
    layers = (Layer("instant", 0, 0, 0, 64), Layer("pool", 3, 4, 0, 0))
    _, nodes = read_trace(iteration_trace(Profile("p", layers), 1))
    assert [node.type for node in nodes] == [4, 7]
    assert {attribute.name: attribute for attribute in nodes[0].attr}["num_ops"].int64_val == 7500


def test_the_network_file_has_a_row_a_dimension(toy, switches):
    """2 GPUs in each of 2 machines; GB/s of the file are 2^30 byte/s, latency that of one link."""
    files = inputs.analytical_files(toy, view(TWO_BY_TWO, switches).levels, switches.system)
    assert files["network.yml"].decode().splitlines() == [
        "topology: [ Switch, Switch ]",
        "npus_count: [ 2, 2 ]",
        "bandwidth: [ 450.0, 25.0 ]",
        "latency: [ 500.0, 1000.0 ]",
    ]
    system = json.loads(files["system.json"])
    assert system["all-reduce-implementation"] == ["ring", "ring"]
    assert (system["endpoint-delay"], system["local-mem-bw"]) == (10, 3350)
    assert system["collective-optimization"] == "localBWAware"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"collective_queue": "per_dimension"}, "collective_queue"),
        ({"endpoint_delay_ns": 0}, "endpoint_delay_ns"),
        ({"collective_algorithm": "halving_doubling"}, "collective_algorithm"),
        ({"collective_algorithm": "double_binary_tree"}, "collective_algorithm"),
    ],
)
def test_settings_that_would_fail_or_hang_are_refused(toy, switches, changes, field):
    """Three machines are no power of two: there halving-doubling never ends and trees crash."""
    system = replace(switches.system, **changes)
    levels = view(shape_of([(0, "box", 1)] * 3), switches).levels
    with pytest.raises(InputError, match=field):
        inputs.check_system(toy, system, levels)


def test_an_irregular_placement_has_no_dimensions(switches):
    """2 + 1 GPUs make no product."""
    assert not view(shape_of([(0, "box", 2), (0, "box", 1)]), switches).regular


def test_the_slice_of_ns3_has_hosts_machine_switches_rack_switch_and_core(switches):
    """2 + 1 | 1 GPUs. The machine of two has a switch (4), the rack one (5), both racks the core (6).

    Latencies are of links: from GPU to machine 500; the rack's 1000 lie between GPU and rack, so 500 from
    the machine switch, 1000 from the lone GPU of the second machine; the core's 2500 likewise: 1500 from the
    rack, 2500 from the lone GPU of the second rack. Two GPUs behind one link have twice the rate.
    """
    shape = shape_of([(0, "box", 2), (0, "box", 1), (1, "box", 1)])
    network = ns3.Network(shape, switches.tiers())
    assert shape == ((("box", 1),), (("box", 1), ("box", 2)))  # sorted: host 0 is alone in its rack
    assert (network.hosts, network.switches) == (4, 3)
    gib = 8 * 2**30
    assert [(link.ends, link.bits_per_s / gib, link.latency_ns) for link in network.links] == [
        ((4, 2), 450, 500),
        ((4, 3), 450, 500),
        ((5, 1), 25, 1000),
        ((5, 4), 50, 500),
        ((6, 0), 12.5, 2500),
        ((6, 5), 37.5, 1500),
    ]
    assert network.text().splitlines()[:3] == ["7 3 6", "4 5 6", f"4 2 {450 * gib}bps 500ns 0"]


def test_ns3_files_name_each_other_and_list_every_rate(toy, switches):
    """Logical dimensions are those of the regular placement; congestion thresholds need all link rates."""
    seen = view(TWO_BY_TWO, switches)
    files = ns3.files(
        toy, TWO_BY_TWO, switches.tiers(), seen, switches.system, {"PACKET_PAYLOAD_SIZE": "1000"}
    )
    assert json.loads(files["logical.json"]) == {"logical-dims": ["2", "2"]}
    settings = dict(line.split(" ", 1) for line in files["config.txt"].decode().splitlines())
    assert settings["PACKET_PAYLOAD_SIZE"] == "1000"
    assert settings["KMAX_MAP"].split()[0] == "2"
    for name in ("TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE"):
        assert settings[name] in files


def test_an_irregular_placement_is_one_ring_for_ns3(toy, switches):
    """2 + 1 | 1 GPUs: four members, machine by machine."""
    files = ns3.files(toy, THREE_TIERS, switches.tiers(), view(THREE_TIERS, switches), switches.system, {})
    assert json.loads(files["logical.json"]) == {"logical-dims": ["4"]}
    assert json.loads(files["system.json"])["all-reduce-implementation"] == ["ring"]


def test_ns3_counts_a_message_in_31_bits(switches):
    """Two members of 8 GiB send 4 GiB a step, which a C int cannot hold."""
    large = Profile("large", (Layer("all", 1, 1, 1, 2**33),))
    shape = shape_of([(0, "box", 2)])
    with pytest.raises(InputError, match="2 GiB"):
        ns3.files(large, shape, switches.tiers(), view(shape, switches), switches.system, {})


def test_version_1_reads_text(toy, switches):
    """A layer a line: forward, input gradient (not of the first), weight gradient, all-reduce, update."""
    lines = version1.workload_text(toy).splitlines()
    assert lines[:2] == ["DATA", "3"]
    assert lines[2].split("\t") == (
        ["layer0", "-1", "20000", "NONE", "0", "0", "NONE", "0", "30000", "ALLREDUCE", "4000000", "0"]
    )
    system = version1.system_text(["ring", "direct"], SystemSettings(queue_order="lowest_layer_first"))
    assert "all-reduce-implementation: ring_direct\n" in system
    assert "scheduling-policy: LIFO\n" in system


def test_version_1_divides_bandwidth_over_links(switches):
    """A ring member has two links, a switch member one, a mesh member one to each of two others."""
    ring, mesh = (
        replace(switches, machine=(Dimension(kind, 500.0, 450 * 2**30 / 1e9),))
        for kind in ("ring", "fully_connected")
    )
    shape = shape_of([(0, "box", 3), (0, "box", 3)])
    results = [json.loads(version1.network_json(view(shape, fabric).levels)) for fabric in (ring, mesh)]
    assert [item["links-count"] for item in results] == [[2, 1], [2, 1]]
    assert [item["link-bandwidth"] for item in results] == [
        pytest.approx([225, 25]),
        pytest.approx([450, 25]),
    ]
    assert results[0]["units-count"] == [3, 2]


@pytest.mark.parametrize(
    "changes", [{"collective_queue": "one"}, {"collective_queue": "per_dimension", "local_memory_gb_s": 1.0}]
)
def test_version_1_refuses_settings_of_version_2(toy, switches, changes):
    """One queue for all collectives, and the cost of reductions, came with 2.x."""
    system = replace(switches.system, **changes)
    with pytest.raises(InputError, match=r"ASTRA-sim 1\.0"):
        version1.check_system(toy, system, ())


def test_slots_filled_unevenly_are_one_ring_for_ns3(toy, switches):
    """Six GPUs on slots of four stand as 4 + 2, and three by two would cross slots. Eight are 4 by 2."""
    slots = (Dimension("fully_connected", 100.0, 100.0, size=4), Dimension("ring", 500.0, 50.0))
    fabric = replace(switches, machine=slots)
    dims = []
    for gpus in (6, 8):
        shape = shape_of([(0, "box", gpus)])
        files = ns3.files(toy, shape, fabric.tiers(), view(shape, fabric), fabric.system, {})
        dims.append(json.loads(files["logical.json"])["logical-dims"])
    assert dims == [["6"], ["4", "2"]]


def test_irregular_placements_are_checked_by_ns3_too(toy, switches):
    """A setting that is refused for 2 + 2 is refused for 2 + 1."""
    system = replace(switches.system, collective_queue="per_dimension")
    shape = shape_of([(0, "box", 2), (0, "box", 1)])
    with pytest.raises(InputError, match="collective_queue"):
        ns3.files(toy, shape, switches.tiers(), view(shape, switches), system, {})


def test_halving_doubling_needs_chunks_of_two_bytes_a_member(switches):
    """Eight members and 16 chunks of 128 bytes: 8 bytes each, where 16 are needed."""
    small = Profile("small", (Layer("all", 1, 1, 1, 128),))
    levels = view(shape_of([(0, "box", 8)]), switches).levels
    for chunks, enough in ((8, True), (16, False)):
        system = replace(switches.system, collective_algorithm="halving_doubling", chunks=chunks)
        if enough:
            inputs.check_system(small, system, levels)
        else:
            with pytest.raises(InputError, match="chunks of 16 bytes"):
                inputs.check_system(small, system, levels)
