"""Topology files: what they say, and what is refused."""

import copy
import json
from pathlib import Path

import pytest
import yaml

from netmodels.api import load_topology
from netmodels.inputs.errors import InputError

FOLDER = Path(__file__).resolve().parents[3] / "topologies"
TINY = {
    "name": "tiny",
    "source": "made up",
    "machines_per_rack": 2,
    "default_machine_type": "box",
    "machine_types": {
        "box": {"gpus": 2, "gpu_type": "G", "cpus": 4, "memory_gib": 1, "memory_bandwidth_gb_s": 10}
    },
    "fabric": {
        "machine": [{"kind": "ring", "latency_ns": 1, "bandwidth_gbit_s": 80}],
        "rack": [{"kind": "switch", "latency_ns": 2, "bandwidth_gib_s": 1}],
        "network": [{"kind": "switch", "latency_ns": 3.5, "bandwidth_gbit_s": 8}],
    },
    "system": {"endpoint_delay_ns": 5},
}


def test_units_are_converted_once():
    """80 Gbit/s = 10 byte/ns; 1 GiB/s = 2^30 / 10^9 byte/ns; 1 GiB = 2^30 byte; 10 GB/s = 10^10 byte/s."""
    topology = load_topology(TINY)
    assert topology.fabric.machine[0].bandwidth_bytes_per_ns == 10
    assert topology.fabric.rack[0].bandwidth_bytes_per_ns == 2**30 / 1e9
    box = topology.machine_type()
    assert (box.memory_bytes, box.memory_bandwidth_bytes_per_s, box.speed) == (2**30, 1e10, 1.0)
    assert topology.fabric.system.endpoint_delay_ns == 5


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_topologies_load_alike_from_file_and_mapping(path):
    """Hydra hands over the mapping, other programs the file; the file's name is the topology's."""
    topology = load_topology(path)
    assert topology == load_topology(yaml.safe_load(path.read_text()))
    assert topology.name == path.stem


def test_default_fabric_has_the_vendor_s_figures():
    """NVLink 900 GB/s both ways: 450 each; an NDR port: 50, in the core too; a machine's: 100."""
    topology = load_topology(FOLDER / "dgx_h100_3tier.yaml")
    fabric = topology.fabric
    speeds = [tier[0].bandwidth_bytes_per_ns for tier in (fabric.machine, fabric.rack, fabric.network)]
    assert speeds == [450, 50, 50]
    assert fabric.network[0].machine_bytes_per_ns == 100
    machine = topology.machine_type()
    assert (machine.gpus, machine.cpus, machine.memory_bytes) == (8, 112, 2 * 2**40)


def test_dally_fabric_has_the_constants_of_the_program():
    """Slot 0 ns 600, machine 500 ns 600, rack 5 us 200, network 50 us 400 GiB/s, links with the members."""
    topology = load_topology(FOLDER / "dally_code.yaml")
    dims = [dimension for _, dimensions in topology.fabric.tiers() for dimension in dimensions]
    results = [(dim.kind, dim.latency_ns, dim.bandwidth_bytes_per_ns * 1e9 / 2**30, dim.size) for dim in dims]
    assert results == [
        ("fully_connected", 0, 600, 4),
        ("ring", 500, 600, 0),
        ("ring", 5000, 200, 0),
        ("switch", 50000, 400, 0),
    ]
    assert {dim.links for dim in dims} == {"members"}
    assert topology.fabric.system.queue_order == "lowest_layer_first"


@pytest.mark.parametrize(
    ("name", "preset", "collectives", "mib"),
    [
        ("dgx_h100_3tier", "machines", "nccl", 25),  # the file does not state collectives
        ("dgx_h100_3tier", "papers", "astra_sim", 0),
        ("hgx_h100_ib400", "papers", "nccl", 25),  # stated: nccl
        ("dally_code", "machines", "astra_sim", 0),  # stated: astra_sim
    ],
)
def test_a_preset_is_below_the_settings_of_the_file(name, preset, collectives, mib):
    """Measured fabrics stay NCCL's, and the Dally paper's fabrics ASTRA-sim's, by any preset."""
    topology = load_topology(FOLDER / f"{name}.yaml")
    system = topology.system(preset)
    assert (system.collectives, system.bucket_bytes) == (collectives, mib * 2**20)
    assert system.local_memory_gb_s == topology.fabric.system.local_memory_gb_s


def test_an_unknown_preset_is_refused_with_the_likely_one():
    """A typo must not silently price another network."""
    with pytest.raises(InputError, match="did you mean 'machines'") as error:
        load_topology(FOLDER / "dally_code.yaml").system("machine")
    assert error.value.where == "system.preset"


@pytest.mark.parametrize(
    ("path", "value", "where", "allowed"),
    [
        ("machines_per_rack", 0, "machines_per_rack", "greater than or equal to 1"),
        ("machines_per_rack", "8", "machines_per_rack", "an integer"),
        ("machines_per_rack", None, "machines_per_rack", "an integer"),
        ("default_machine_type", "bax", "default_machine_type", "did you mean 'box'?"),
        ("machine_types", {}, "machine_types", "at least 1 item"),
        ("machine_types.box.gpus", -1, "machine_types.box.gpus", "greater than or equal to 0"),
        ("machine_types.box.speed", float("nan"), "machine_types.box.speed", "finite number"),
        ("machine_types.box.colour", "red", "machine_types.box.colour", "did you mean"),
        ("fabric.rack", [], "fabric.rack", "at least 1 item"),
        ("fabric.rack.0.kind", "torus", "fabric.rack.0.kind", "'ring', 'switch' or 'fully_connected'"),
        ("fabric.rack.0.latency_ns", -1, "fabric.rack.0.latency_ns", "greater than or equal to 0"),
        (
            "fabric.rack.0.bandwidth_gib_s",
            0,
            "fabric.rack.0.bandwidth_gib_s",
            "greater than or equal to 0.001",
        ),
        ("fabric.rack.0.bandwidth_gbit_s", 1, "fabric.rack.0", "exactly one of bandwidth_gbit_s"),
        ("fabric.rack.0.size", 4, "fabric.rack.0.size", "0 for the last dimension"),
        ("fabric.machine.0.size", 1, "machine_types.box.gpus", "up to 1"),
        ("system.queue_order", "first", "system.queue_order", "issue, lowest_layer_first"),
    ],
)
def test_wrong_fields_are_refused_by_name(path, value, where, allowed):
    """Each mistake ends before the clock starts, with field, value and the allowed values."""
    raw = copy.deepcopy(TINY)
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    place = raw
    for part in parents:
        place = place[part]
    place[last] = value
    with pytest.raises(InputError) as error:
        load_topology(raw)
    assert where in error.value.where
    assert allowed in error.value.allowed
    assert len(str(error.value).splitlines()) == 2


def test_a_missing_field_is_named():
    """Leaving the source out is a mistake: no figure without one."""
    raw = {key: value for key, value in TINY.items() if key != "source"}
    with pytest.raises(InputError, match="source: field missing"):
        load_topology(raw)


@pytest.mark.parametrize("text", ["", "- 1\n- 2\n", "a: [1\n", "\x00"])
def test_files_that_hold_no_topology(tmp_path, text):
    """Empty, a list, broken YAML, binary: two lines that name the file."""
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"mine\.yaml"):
        load_topology(path)


def test_a_file_that_is_not_there(tmp_path):
    """A wrong path is bad input, not a traceback."""
    with pytest.raises(InputError, match="no such file"):
        load_topology(tmp_path / "none.yaml")


def test_unknown_machine_type_is_refused():
    """The cluster's list of types is checked against the topology."""
    with pytest.raises(InputError, match="did you mean 'box'"):
        load_topology(TINY).machine_type("bux")


def test_inner_dimensions_need_a_size():
    """Two dimensions in a rack: without a size for the inner one nobody knows where it ends."""
    raw = copy.deepcopy(TINY)
    raw["fabric"]["rack"] *= 2
    with pytest.raises(InputError, match=r"fabric\.rack\.0\.size"):
        load_topology(raw)


def changed(**parts):
    """Return the tiny topology with other dimensions of some tiers."""
    topology = copy.deepcopy(TINY)
    topology["fabric"].update(parts)
    return topology


PORT = {
    "kind": "switch",
    "latency_ns": 1,
    "bandwidth_gbit_s": 100,
    "shared_gbit_s": {"machine": 80, "rack": 8},
}


def test_shared_ports_are_read():
    """80 Gbit/s a machine and 8 Gbit/s a rack: 10 and 1 byte/ns; none where none is given."""
    fabric = load_topology(changed(network=[PORT])).fabric
    assert (fabric.network[0].machine_bytes_per_ns, fabric.network[0].rack_bytes_per_ns) == (10, 1)
    assert (fabric.rack[0].machine_bytes_per_ns, fabric.rack[0].rack_bytes_per_ns) == (0, 0)


@pytest.mark.parametrize(("tier", "inside"), [("machine", "machine"), ("rack", "rack")])
def test_links_inside_a_rack_are_not_shared(tier, inside):
    """A rack's uplink limits what leaves the rack, not what stays in it."""
    with pytest.raises(InputError) as error:
        load_topology(changed(**{tier: [PORT]}))
    assert error.value.where == f"topology tiny, fabric.{tier}.0.shared_gbit_s.{inside}"


def test_shared_ports_and_links_of_members_exclude_each_other():
    """As many links as members would leave through a port of one."""
    with pytest.raises(InputError, match="no shared ports"):
        load_topology(changed(network=[{**PORT, "links": "members"}]))


def test_a_machine_type_may_have_its_own_fabric():
    """A second type with another port: its rack tier is its own, the others are the usual ones."""
    topology = copy.deepcopy(TINY)
    port = [{"kind": "switch", "latency_ns": 7, "bandwidth_gbit_s": 16}]
    topology["machine_types"]["slow"] = {**topology["machine_types"]["box"], "fabric": {"rack": port}}
    fabric = load_topology(topology).fabric
    assert fabric.tiers("box") == fabric.tiers() == fabric.tiers("unheard of")
    seen = dict(fabric.tiers("slow"))
    assert (seen["machine"], seen["network"]) == (fabric.machine, fabric.network)
    assert (seen["rack"][0].latency_ns, seen["rack"][0].bandwidth_bytes_per_ns) == (7, 2)
    assert load_topology(TINY).fabric.digest != fabric.digest


def test_mistakes_in_a_machine_type_s_fabric_are_found():
    """The field named is the type's own."""
    topology = copy.deepcopy(TINY)
    topology["machine_types"]["box"]["fabric"] = {
        "rack": [{"kind": "switch", "latency_ns": 1, "bandwidth_gbit_s": 1, "size": 4}]
    }
    with pytest.raises(InputError) as error:
        load_topology(topology)
    assert error.value.where == "topology tiny, machine_types.box.fabric.rack.0.size"


ASTRA2 = "topology: [ Switch, Ring ]\nnpus_count: [ 8, 2 ]\nbandwidth: [ 450, 25 ]\nlatency: [ 500, 1000 ]\n"
ASTRA1 = {
    "topology-name": "Hierarchical",
    "topologies-per-dim": ["FullyConnected", "Ring", "Switch"],
    "units-count": [4, 4, 2],
    "links-count": [6, 3, 2],
    "link-latency": [500, 700, 5000],
    "link-bandwidth": [100, 30, 25],
}


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (ASTRA2, "net.yml", [("switch", 450, 500), ("ring", 25, 1000), ("ring", 25, 1000)]),
        # 6 links of 100 to 3 others; 3 links in a ring are one each way; two links to a switch
        (
            json.dumps(ASTRA1),
            "net.json",
            [("fully_connected", 200, 500), ("ring", 60, 700), ("switch", 50, 5000)],
        ),
    ],
)
def test_a_network_file_of_astra_sim_is_named_with_its_fabric(tmp_path, text, name, expected):
    """The fabric of the advice is one of a topology: kind, GiB/s and ns of the three tiers."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match="a network file of ASTRA-sim") as caught:
        load_topology(path)
    advice = yaml.safe_load("{" + caught.value.allowed.partition(";")[0] + "}")
    fabric = load_topology(TINY | {"fabric": advice["fabric"]}).fabric
    tiers = [
        (tier[0].kind, tier[0].bandwidth_bytes_per_ns, tier[0].latency_ns) for _, tier in fabric.tiers("box")
    ]
    assert tiers == [(kind, gib_s * 2**30 / 1e9, latency_ns) for kind, gib_s, latency_ns in expected]
    assert (advice["gpus"], advice["machines_per_rack"]) == ((8, 2) if name == "net.yml" else (4, 4))


@pytest.mark.parametrize("changed", [{"npus_count": 8}, {"latency": None}, {"topology": ["Torus2D", "Ring"]}])
def test_a_network_file_that_no_fabric_has_is_named(changed):
    """Without a fabric in the advice, and without a traceback."""
    with pytest.raises(InputError, match="a network file of ASTRA-sim 2"):
        load_topology(yaml.safe_load(ASTRA2) | changed)


@pytest.mark.parametrize(
    ("text", "found", "allowed"),
    [
        (
            "SwitchName=a Nodes=g[001-016]\nswitchname=b nodes=g[017-030],\\\n h[1,2]\nSwitchName=c",
            "2 racks of 16 machines",
            "cluster.racks=2 cluster.machines_per_rack=16",
        ),
        (
            "SwitchName=a Nodes=r[0-1]n[0-3]\nSwitchName=b Nodes=x #Nodes=y\n",
            "2 racks of 1 or 8 machines",
            "cluster.machines=9 cluster.machines_per_rack=8",
        ),
        ("BlockName=a Nodes=g[1-4]\nBlockSizes=4\n", "1 racks of 4 machines", "cluster.racks=1"),
    ],
)
def test_a_topology_of_slurm_is_named_with_its_racks(tmp_path, text, found, allowed):
    """Hosts are counted by their ranges: 16; 14 + 2; 2 x 4 and one."""
    path = tmp_path / "topology.conf"
    path.write_text(text)
    with pytest.raises(InputError, match="Slurm's topology") as caught:
        load_topology(path)
    assert caught.value.found == found
    assert caught.value.allowed.startswith(allowed)
