"""Several jobs on one fabric: where they are placed, what they lose, and the links that they fill."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.pricing.together import parse_jobs, placed, price_together
from netmodels.api import Layer, Profile, Topology, load_topology
from netmodels.models.analytical import AnalyticalModel

PORT = {"kind": "switch", "latency_ns": 0, "bandwidth_gbit_s": 8, "shared_gbit_s": {"machine": 8}}
BOX = {"gpus": 2, "gpu_type": "G", "cpus": 4, "memory_gib": 1, "memory_bandwidth_gb_s": 10}


@pytest.fixture
def topology(tmp_path: Path) -> Topology:
    """Return racks of three machines of two GPUs; ports of 1 byte/ns, uplinks of 1.5."""
    file = tmp_path / "mine.yaml"
    core = PORT | {"shared_gbit_s": {"machine": 8, "rack": 12}}
    inside = {"kind": "ring", "latency_ns": 0, "bandwidth_gbit_s": 800}
    fabric = {"machine": [inside], "rack": [PORT], "network": [core]}
    types = {"box": BOX, "other": BOX}
    rest = {"name": "mine", "source": "a test", "machines_per_rack": 3, "default_machine_type": "box"}
    system = {"collectives": "astra_sim", "endpoint_delay_ns": 0, "local_memory_gb_s": 1e9}
    file.write_text(str({**rest, "machine_types": types, "fabric": fabric, "system": system}))
    return load_topology(file)


def price(topology: Topology, *texts: str, compute_ns: int = 1000, bytes_: int = 1000):
    """Price jobs of one layer that computes at the start of an iteration and sends at its end, as flows."""
    profile = Profile("model", (Layer("layer", 0, 0, compute_ns, bytes_),))
    jobs = parse_jobs(texts, topology)
    network, system = AnalyticalModel(), topology.fabric.system
    return price_together(jobs, [profile] * len(jobs), network, topology, system, max_packets=0)


def test_two_jobs_on_one_port_by_hand(topology):
    """An iteration computes 1000 ns, then sends 1000 bytes through ports of 1 byte/ns: 2000 ns alone.

    Followed in time, both begin together and send together, at half the rate: 1000 + 2000 ns. On average, a
    job sends for w x 1000 of 1000 + w x 1000 ns, and takes twice as long while the other sends:
    w = 1 + w / (1 + w), the golden ratio. Both send 1000 bytes in 3000 ns on each of the two ports.
    """
    jobs, links = price(topology, "model 1+1", "model 1+1")
    for job in jobs:
        assert (job.alone_ns, job.packets_ns) == (2000, 3000)
        assert job.mean_field_ns == pytest.approx(1000 + 1000 * (1 + 5**0.5) / 2, rel=1e-5)
    assert [link.name for link in links] == ["port of machine 0 in rack 0", "port of machine 1 in rack 0"]
    for link in links:
        assert (link.jobs, link.bytes_per_ns, link.asked) == ((1, 2), 1.0, 2.0)
        assert link.use == pytest.approx(2000 / 3000)


def test_three_jobs_on_one_uplink_by_hand(topology):
    """Jobs on machines of their own send 1 byte/ns alone; an uplink of 1.5 gives each of three 0.5."""
    jobs, links = price(topology, "model 1|1", "model 0+1|0+1", "model 0+0+1|0+0+1")
    assert [job.packets_ns for job in jobs] == [1000 + 2000] * 3
    assert [link.name for link in links] == ["uplink of rack 0", "uplink of rack 1"]
    assert [(link.jobs, link.asked) for link in links] == [((1, 2, 3), 3 / 1.5)] * 2
    assert links[0].use == pytest.approx(3 * 1000 / 3000 / 1.5)


def test_parallel_uplinks_by_hand(topology):
    """Of two uplinks of 0.75 each job needs both: 1 byte/ns alone, 0.75 beside the other.

    So sending takes 4/3 as long, and what passes fills the uplinks: 2000 bytes in 1333 of 2333 ns.
    """
    fabric = replace(topology.fabric, uplinks=2)
    jobs, links = price(replace(topology, fabric=fabric), "model 1|1", "model 0+1|0+1")
    assert [(link.paths, link.bytes_per_ns, link.asked) for link in links] == [(2, 0.75, 2.0)] * 2
    assert [(job.alone_ns, job.packets_ns) for job in jobs] == [(2000, 1000 + 1333)] * 2
    assert links[0].use == pytest.approx(2000 / 2333 / 1.5)


@pytest.mark.parametrize("uplinks", [2, 3])
def test_parallel_uplinks_of_port_speed_collide_by_hash(topology, uplinks):
    """Each of two or three uplinks passes 1 byte/ns: a job takes one by hash; two meet in 1/2 or 1/3."""
    core = replace(topology.fabric.network[0], rack_bytes_per_ns=float(uplinks))
    wide = replace(topology, fabric=replace(topology.fabric, network=(core,), uplinks=uplinks))
    jobs, _ = price(wide, "model 1|1", "model 0+1|0+1")
    assert [job.packets_ns for job in jobs] == [1000 + round(1000 * (1 + 1 / uplinks))] * 2


def test_packets_are_counted_by_component(topology, caplog):
    """Two pairs of jobs, each on two ports: 2 x 16 iterations x 2 steps x 2 GPUs x (63 + 2) packets a pair.

    500,000 bytes are 63 packets, and a message counts as two more: 8,320.
    """
    profile = Profile("model", (Layer("layer", 0, 0, 1000, 10**6),))
    four = replace(topology, machines_per_rack=4)
    jobs = parse_jobs(["model 1+1", "model 1+1", "model 0+0+1+1", "model 0+0+1+1"], four)
    system = replace(four.fabric.system, transport="windows", across_machines="flat_ring")
    for most in (8320, 8319):
        price_together(jobs, [profile] * 4, AnalyticalModel(), four, system, max_packets=most)
        counts = [record.args[0] for record in caplog.records if record.args]
        assert counts == ["16,640"] * (most < 8320)


def test_jobs_that_meet_nowhere_stay_alone(topology):
    """Machines 0 and 1 for the first job, rack 1 for the second: no link in common, none to show."""
    jobs, links = price(topology, "model 1+1", "model 0 | 1+1")
    assert [(job.mean_field_ns, job.packets_ns) for job in jobs] == [(2000, 2000)] * 2
    assert links == []


@pytest.mark.parametrize(
    ("texts", "machines"),
    [
        (("m 1+1", "m 1+1"), ((0, 1), (0, 1))),  # the other GPU of each
        (("m 2+2", "m 2"), ((0, 1), (2,))),  # the first one with two free GPUs
        (("m 1+1", "m 0+1+1"), ((0, 1), (1, 2))),  # 0 passes over machine 0
        (("m 2+1", "m 1+1"), ((0, 1), (1, 2))),
        (("m 1|1", "m 0|2"), ((0, 3), (4,))),  # rack 1 begins with machine 3
        (("m 1@other", "m 2"), ((0,), (1,))),  # the first job on a machine decides its type
        (("m 1@other", "m 0+1"), ((0,), (1,))),  # 0 passes over a machine of any type
    ],
)
def test_machines_are_filled_in_order(topology, texts, machines):
    """One job after the other; the machines of a job are different ones."""
    result = placed(parse_jobs(texts, topology), topology)
    assert tuple(tuple(machine for _, machine, _, _ in slices) for slices in result) == machines


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        (("m 1+1",), "a job alone shares no links"),
        (("m 1+1", "m"), "not a job"),
        (("m 1+1", "m 3"), "more GPUs than a machine of type box has"),
        (("m 1+1", "m 0|0"), "not a placement"),
        (("m 2+2", "m 2+2"), "no machine is left in rack 0 with as many free GPUs as 2"),
        (("m 2x2", "m 0+0+1", "m 1@other"), "no machine is left in rack 0 with as many free GPUs as 1"),
    ],
)
def test_a_job_that_does_not_fit_is_refused(topology, texts, what):
    """With the job as it was given."""
    with pytest.raises(InputError) as error:
        placed(parse_jobs(texts, topology), topology)
    assert (error.value.what, error.value.where) == (what, "jobs")


def test_slower_gpus_compute_longer(network):
    """V100s compute 4 times as long as the GPUs of the profile: GPT-2 410 ms, plus what it waits."""
    assert network("jobs=[GPT-2 8, GPT-2 8]", "topology=v100_100g", "csv=a.csv").code == 0
    with Path("a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["model"] for row in rows] == ["GPT-2", "GPT-2"]
    assert all(float(row["alone_ns"]) == float(row["packets_ns"]) > 410e6 for row in rows)
    assert [row["fullest_link"] for row in rows] == ["", ""]


def test_the_command_shows_jobs_and_links(network):
    """Alone as without others; a row for each job, then one for each link that they could overload."""
    fixed = ("topology=cloud_ethernet", "network.system.preset=papers")
    result = network("jobs=[GPT-2 4|4, VGG16 4|4]", *fixed, "contention_packets=20_000")
    alone = network("model=GPT-2", "shape='4|4'", *fixed).rows[0]
    assert result.code == 0
    rows = result.rows
    assert rows[0][:5] == ["1", "GPT-2", "4|4", "network", "8"]
    assert rows[0][5] == alone[-4]
    links = [row for row in rows if row[:2] == ["port", "of"]]
    assert [row[3] for row in links] == ["0", "0"]
    assert [row[6] for row in links] == ["0", "1"]
    assert all(row[7:10] == ["1,", "2", "25"] for row in links)


def test_lists_beside_jobs_are_priced_one_after_the_other(network):
    """The fabric is the first column of both tables."""
    result = network(
        "jobs=[GPT-2 4|4, VGG16 4|4]",
        "topology=v100_100g,cloud_ethernet",
        "csv=a.csv",
    )
    assert result.code == 0
    assert [row[0] for row in result.rows[:4]] == ["v100_100g"] * 2 + ["cloud_ethernet"] * 2
    with Path("a.csv").open(newline="") as file:
        assert [row["job"] for row in csv.DictReader(file)] == ["1", "2", "1", "2"]


def test_settings_of_a_file_are_refused_beside_jobs_as_well(network):
    """Not only what the command line says."""
    Path("mine/extra").mkdir(parents=True)
    Path("mine/extra/placed.yaml").write_text("# @package _global_\nshape: 4+4\n")
    result = network("--config-dir=mine", "+extra=placed", "jobs=[GPT-2 4|4, VGG16 4|4]")
    assert result.code == 2
    assert result.err.startswith("shape: jobs are priced by themselves")


def test_jobs_that_share_no_link_are_reported(network):
    """No empty table."""
    result = network("jobs=[GPT-2 8, VGG16 4+4]")
    assert "no link could be overloaded" in result.out


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (("network=zero",), "network.model: this network model prices one job at a time"),
        (("shape=4",), "shape: jobs are priced by themselves"),
        (("collective=all_reduce",), "collective: jobs are priced by themselves"),
        (("plot=a.png",), "plot: jobs are priced by themselves"),
        (("model=VGG16",), "model: jobs are priced by themselves"),
        (("gpus=4",), "gpus: jobs are priced by themselves"),
        (("bytes=1e6",), "bytes: jobs are priced by themselves"),
        (("draw=a.png",), "jobs: a picture shows the fabric alone"),
    ],
)
def test_bad_input_ends_in_two_lines(network, arguments, first):
    """Message, field, value found and values allowed."""
    result = network("jobs=[GPT-2 4|4, VGG16 4|4]", *arguments)
    assert (result.code, len(result.err.splitlines())) == (2, 2)
    assert result.err.startswith(first)
