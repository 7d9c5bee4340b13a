"""`across_machines` in the terms of each program, and settings without meaning for it."""

import json
from dataclasses import replace

import pytest

from netmodels.api import SystemSettings, shape_of
from netmodels.astra_sim import asked, inputs, ns3
from netmodels.collectives.dimensions import view_of
from netmodels.inputs.errors import InputError

EVEN = shape_of([(0, "box", 2), (0, "box", 2)])
ODD = shape_of([(0, "box", 2), (0, "box", 1)])
ONE_MACHINE = shape_of([(0, "box", 4)])


def files_of(model, tmp_path, shape, fabric, toy, **settings):
    """Return the files that a program is given for a placement, by name."""
    system = replace(fabric.system, **settings)
    model.iteration(toy, shape, fabric, system)
    (folder,) = (tmp_path / "scratch").iterdir()
    return {path.name: path.read_text() for path in folder.iterdir() if path.suffix in (".json", ".yml")}


@pytest.mark.parametrize(
    ("way", "algorithm"), [("flat_ring", "ring"), ("tree", "doubleBinaryTree")], ids=["ring", "tree"]
)
def test_ns3_runs_one_ring_or_tree_through_even_machines(toy, switches, way, algorithm):
    """2+2: one logical dimension of 4 where `hierarchical` has two of 2; direct stays inside."""
    system = replace(switches.system, across_machines=way, collective_algorithm="direct")
    view = view_of(EVEN, switches.tiers())
    files = ns3.files(toy, EVEN, switches.tiers(), view, system, {})
    assert json.loads(files["logical.json"]) == {"logical-dims": ["4"]}
    assert json.loads(files["system.json"])["all-reduce-implementation"] == [algorithm]


def test_a_machine_alone_is_asked_by_its_own_dimensions(astra, toy, switches, tmp_path):
    """Four GPUs of one machine span no machines: the algorithm inside it, on its links, whatever is said."""
    said = {"across_machines": "tree", "collective_algorithm": "direct"}
    files = files_of(astra(keep=True), tmp_path, ONE_MACHINE, switches, toy, **said)
    assert "bandwidth: [ 450.0 ]" in files["network.yml"]
    assert json.loads(files["system.json"])["all-reduce-implementation"] == ["direct"]


@pytest.mark.parametrize("backend", ["unaware", "aware"])
def test_a_ring_through_machines_is_one_switch_with_its_narrowest_link(
    astra, toy, switches, tmp_path, backend
):
    """1+2: GPU 0 to 1 and 2 to 0 over the rack take 1000 + 500 + 500 ns, 1 to 2 in the machine 2 x 500.

    The mean is 5000 / 3 ns, half of it a link; the one port of GPU 0 has 25 GiB/s, that of the others 50.
    """
    files = files_of(astra(backend, keep=True), tmp_path, ODD, switches, toy, across_machines="flat_ring")
    lines = files["network.yml"].splitlines()
    assert lines[:3] == ["topology: [ Switch ]", "npus_count: [ 3 ]", "bandwidth: [ 25.0 ]"]
    assert float(lines[3].split()[2]) == pytest.approx(5000 / 6)
    assert json.loads(files["system.json"])["all-reduce-implementation"] == ["ring"]


def test_a_tree_takes_as_long_as_its_steps(switches):
    """4+4: from GPU 0 1 or 2 places on take 2 x 500 ns, 4 on 2 x (500 + 500): 4000 / 3, half a link.

    The ring has six steps of 1000 ns and two of 2000, 1250 in the mean. The rack's link: 4 x 25 GiB/s.
    """
    shape, system = shape_of([(0, "box", 4)] * 2), replace(switches.system, across_machines="tree")
    level = asked.one_dimension(shape, switches.tiers(), view_of(shape, switches.tiers()), system)
    assert (level.members, level.dimension.latency_ns) == (8, pytest.approx(2000 / 3))
    assert level.dimension.bandwidth_bytes_per_ns == pytest.approx(100 * 2**30 / 1e9)


def test_trees_need_a_power_of_two(astra, toy, switches):
    """Three GPUs: the program would crash, so it is not started, and the message names the setting."""
    system = replace(switches.system, across_machines="tree")
    with pytest.raises(InputError, match=r"across_machines.*power of two.*3 GPUs"):
        astra().iteration(toy, ODD, switches, system)


@pytest.mark.parametrize(
    ("backend", "way", "carried"),
    [
        ("ns3", "hierarchical", [False, False, False]),
        ("ns3", "flat_ring", [False, False, False]),
        ("unaware", "hierarchical", [False, True, False]),
        ("unaware", "flat_ring", [True, True, False]),
        ("aware", "flat_ring", [True, True, False]),
        ("aware", "hierarchical", [True, True, False]),
    ],
)
def test_the_shape_asked_in_place_of_the_placement_is_logged(astra, switches, backend, way, carried):
    """2+2, 2+1, 1+1: a flat ring is itself for ns-3, one dimension alone for the others.

    ns-3 has dimensions for 2+2, and for 2+1 a ring over the true hosts; 1+1 is one dimension for all.
    """
    shapes = (EVEN, ODD, shape_of([(0, "box", 1), (0, "box", 1)]))
    model, system = astra(backend), replace(switches.system, across_machines=way)
    assert [model.carries(shape, switches, system) for shape in shapes] == carried


def test_ns3_is_asked_about_what_the_program_cannot_express(astra, fake, toy, switches, tmp_path):
    """2+2 is [2, 2] for the congestion-unaware back end; 2+1 is a ring of 3 over true hosts for ns-3.

    The fake exposes 1 us per dimension. A setting of ns-3 is another answer, and so is another program.
    """
    model = astra(keep=True, ns3_binary=fake, ns3={"ERROR_RATE_PER_LINK": 0})
    assert [model.backend_of(shape, switches, switches.system) for shape in (EVEN, ODD)] == ["unaware", "ns3"]
    assert not model.carries(ODD, switches, switches.system)
    answers = [model.iteration(toy, shape, switches, switches.system).exposed_ns for shape in (EVEN, ODD)]
    assert answers == [2_000, 1_000]
    even, odd = sorted((tmp_path / "scratch").iterdir(), key=lambda folder: (folder / "config.txt").exists())
    assert "npus_count: [ 2, 2 ]" in (even / "network.yml").read_text()
    assert json.loads((odd / "logical.json").read_text()) == {"logical-dims": ["3"]}
    assert (odd / "topology.txt").read_text().split()[0] == "5"  # 3 GPUs, switches of a machine and the rack
    assert len({astra().version, model.version, astra(ns3_binary=fake).version}) == 3


@pytest.mark.parametrize(
    ("backend", "settings", "words"),
    [
        ("version1", {"across_machines": "flat_ring"}, "across_machines.*dimension by dimension"),
        ("unaware", {"collectives": "nccl"}, "collectives.*network=analytical"),
        ("ns3", {"transport": "ideal"}, "transport.*packets"),
        ("aware", {"transport": "packets"}, "transport.*ideal"),
    ],
)
def test_settings_without_meaning_are_refused(astra, toy, switches, monkeypatch, backend, settings, words):
    """Named in the message, before the program is started."""
    monkeypatch.setenv("FAKE_MODE", "crash")
    with pytest.raises(InputError, match=f"(?s){words}") as refused:
        astra(backend).iteration(toy, EVEN, switches, replace(SystemSettings(), **settings))
    assert refused.value.where.startswith("network.system.")


def test_a_program_reads_the_bandwidth_that_the_model_has():
    """GB/s times 2^30 by 10^9 is the very number again; divided by both at once, 649 of 3196 miss a bit."""
    wanted = [gbit / 8 / share for gbit in range(5, 4000, 5) for share in (1, 3, 5, 7)]
    assert [inputs.gib_s(value) * 2**30 / 1e9 for value in wanted] == wanted
    assert sum(value / (2**30 / 1e9) * 2**30 / 1e9 != value for value in wanted) == 649
    assert [inputs.gib_s(value * 2**30 / 1e9) for value in (450, 25, 12.5)] == [450, 25, 12.5]


@pytest.mark.parametrize(("dimensions", "in_flight", "refused"), [(2, 1, False), (3, 1, True), (3, 4, False)])
def test_trees_that_dead_lock_are_refused(toy, switches, dimensions, in_flight, refused):
    """Four chunks one after another: 2x2x2 GPUs never finish, 2x2 do, and so do all that fly at once."""
    racks = range(dimensions - 1)
    shape = shape_of([(rack, "box", 2) for rack in racks for _ in range(2)])
    system = replace(
        switches.system, collective_algorithm="double_binary_tree", chunks=4, chunks_in_flight=in_flight
    )
    levels = view_of(shape, switches.tiers()).levels
    if not refused:
        inputs.check_system(toy, system, levels)
        return
    with pytest.raises(InputError, match="dead-lock"):
        inputs.check_system(toy, system, levels)


def test_a_fabric_of_version_1_is_refused_with_the_setting_to_use(toy, switches):
    """Its queues are per dimension: the message has the setting as it is typed."""
    system = replace(switches.system, collective_queue="per_dimension")
    with pytest.raises(InputError, match=r"network\.system\.collective_queue=one"):
        inputs.check_system(toy, system, view_of(EVEN, switches.tiers()).levels)


@pytest.mark.parametrize(("said", "written"), [(1, (2, 2)), (4, (4, 1))])
def test_the_congestion_aware_back_end_gets_two_chunks(astra, toy, switches, tmp_path, said, written):
    """It stores and forwards whole messages; who says 4 chunks gets 4, as many in flight as are said (1)."""
    files = files_of(astra("aware", keep=True), tmp_path, ONE_MACHINE, switches, toy, chunks=said)
    system = json.loads(files["system.json"])
    assert (system["preferred-dataset-splits"], system["active-chunks-per-dimension"]) == written
    assert astra("aware", pipelined=4).version != astra("aware").version


def test_windows_are_off_by_default(toy, switches):
    """One round trip of the slowest link for all messages of a sender leaves links idle."""
    view = view_of(EVEN, switches.tiers())
    for said, written in (({}, "HAS_WIN 0"), ({"HAS_WIN": 1}, "HAS_WIN 1")):
        files = ns3.files(toy, EVEN, switches.tiers(), view, switches.system, said)
        assert written in files["config.txt"].decode().splitlines()
