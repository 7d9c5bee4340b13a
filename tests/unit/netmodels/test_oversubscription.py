"""Ports and uplinks as ratios: what passes, what is refused, and what a lone job's price makes of it."""

import copy
from math import inf
from pathlib import Path

import numpy as np
import pytest
import yaml

from netmodels.api import load_topology
from netmodels.fabric.graph import fabric_graph
from netmodels.fabric.links import Link, capacities
from netmodels.inputs.errors import InputError
from netmodels.nccl.model import collective_us
from netmodels.nccl.parameters import nccl_of

FOLDER = Path(__file__).resolve().parents[3] / "topologies"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
OF_MEMBERS = {"dally_code"}  # as many links as members, so no ports


def shipped(name, machines_per_rack=None, uplinks=1, **ratios):
    """Return a shipped topology with other ratios."""
    raw = copy.deepcopy(yaml.safe_load((FOLDER / f"{name}.yaml").read_text()))
    raw["oversubscription"].update(ratios)
    raw["uplinks"] = uplinks
    return load_topology(raw, machines_per_rack)


def uplink(topology, machines_per_rack=None):
    """Return the capacity of a full rack's uplink, byte/ns."""
    machine = topology.machine_type()
    per_rack = machines_per_rack or topology.machines_per_rack
    machines = [(0, number, machine.name, machine.gpus) for number in range(per_rack)]
    return capacities(machines, topology.fabric)[Link("rack", 0, "out")]


@pytest.mark.parametrize("name", sorted({*NAMES} - OF_MEMBERS))
def test_an_uplink_passes_its_share_of_all_that_machines_send(name):
    """A quarter of the uplink at 1:1, on every shipped fabric; the picture's graph has the same."""
    whole, quarter = shipped(name, rack=1), shipped(name, rack=4)
    assert uplink(quarter) == pytest.approx(uplink(whole) / 4)
    edge = fabric_graph(quarter, 2).edges[("rack", 0), ("core",)]
    assert edge["capacity_gbit_s"] == pytest.approx(uplink(quarter) * 8)


def test_shipped_fabrics_have_the_gbit_s_of_their_files():
    """Cloud: 8 machines of 25 Gb/s behind 50 is 4:1; H100: 8 x 800 at 4:1 are 1,600 Gb/s, 200 byte/ns."""
    assert shipped("cloud_ethernet", rack=4).fabric == shipped("cloud_ethernet").fabric
    assert uplink(shipped("dgx_h100_3tier", rack=4)) == 200
    assert uplink(shipped("dgx_h100_3tier")) == 800


def test_uplink_bandwidth_follows_the_clusters_machines_per_rack():
    """Cloud, 4 machines a rack instead of 8: 4 x 3.125 byte/ns at 4:1 are 3.125, one machine's port."""
    assert uplink(shipped("cloud_ethernet", 4, rack=4), 4) == 3.125


def test_a_port_passes_its_fraction_of_its_gpus_bandwidth():
    """H100: 8 GPUs of 50 byte/ns at 4:1 are 100, in the rack as beyond it; its uplink follows at 2:1."""
    fabric = shipped("dgx_h100_3tier", machine=4, rack=2).fabric
    assert (fabric.rack[0].machine_bytes_per_ns, fabric.network[0].machine_bytes_per_ns) == (100, 100)
    assert fabric.network[0].rack_bytes_per_ns == 8 * 100 / 2


def test_each_machine_type_has_its_own_ports():
    """Cloud at 2:1: 8 x 25 / 2 Gb/s for V100 machines, 8 x 50 / 2 for T4 machines."""
    fabric = shipped("cloud_ethernet", rack=2).fabric
    assert fabric.network[0].rack_bytes_per_ns * 8 == 100
    assert fabric.by_machine_type["g4dn_12xlarge"][2][0].rack_bytes_per_ns * 8 == 200


def test_types_of_one_fabric_and_other_gpus_have_other_ports():
    """Machines of 2 and of 4 GPUs of 10 byte/ns each, at 2:1: ports of 10 and of 20."""
    raw = yaml.safe_load((FOLDER / "dgx_h100_3tier.yaml").read_text())
    raw["machine_types"]["half"] = {**raw["machine_types"]["dgx_h100"], "gpus": 4}
    raw["oversubscription"]["machine"] = 2
    fabric = load_topology(raw).fabric
    ports = [dict(fabric.tiers(name))["rack"][0].machine_bytes_per_ns for name in ("dgx_h100", "half")]
    assert ports == [8 * 50 / 2, 4 * 50 / 2]


def test_measured_parameters_are_limited_too():
    """8 H100 of 44.8 GB/s, 32 machines: 11,469 GB/s; at 64:1 a rack passes half of what a machine sends.

    An all-reduce over two racks then takes nearly twice as long: start-up and steps stay.
    """
    assert nccl_of(shipped("hgx_h100_ib400", rack=8).fabric).network.rack_gb_s == 8 * 44.8 * 32 / 8
    size, place = np.array([1e9]), ((8, 8), (8, 8))
    usual, same, narrow = (
        collective_us("all_reduce", size, place, nccl_of(shipped("hgx_h100_ib400", rack=value).fabric))[0]
        for value in (None, 32, 64)
    )
    assert same == usual
    assert 1.8 < narrow / usual < 2


def test_one_job_of_nccl_has_all_of_an_uplink():
    """At 8:1 the 8 machines of a rack share one machine's bandwidth; rings and trees leave by one of them."""
    size, place = np.array([1e9]), ((8,) * 8, (8,) * 8)
    wide, narrow = (nccl_of(shipped("cloud_ethernet", rack=value).fabric) for value in (1, 8))
    for collective in ("all_reduce", "all_gather"):
        assert collective_us(collective, size, place, wide) == collective_us(collective, size, place, narrow)
    assert collective_us("all_to_all", size, place, wide) < collective_us("all_to_all", size, place, narrow)


@pytest.mark.parametrize("name", ["cloud_ethernet", "hgx_h100_ib400"])
def test_prices_do_not_depend_on_parallel_uplinks(name):
    """Equal digests, which are what caches of prices know a fabric by."""
    one, two = shipped(name).fabric, shipped(name, uplinks=2).fabric
    assert (one.uplinks, two.uplinks) == (1, 2)
    assert one.digest == two.digest


def test_nothing_changes_by_default():
    """A file that says nothing of either is the same fabric as one that says null and 1."""
    raw = yaml.safe_load((FOLDER / "cloud_ethernet.yaml").read_text())
    said = load_topology(raw)
    del raw["oversubscription"], raw["uplinks"]
    assert load_topology(raw) == said


@pytest.mark.parametrize(
    ("field", "value", "where", "allowed"),
    [
        ("oversubscription", {"rack": 0.5}, "oversubscription.rack", "greater than or equal to 1"),
        ("oversubscription", {"rack": 0}, "oversubscription.rack", "greater than or equal to 1"),
        ("oversubscription", {"machine": inf}, "oversubscription.machine", "finite number"),
        ("oversubscription", {"rack": "4:1"}, "oversubscription.rack", "a number"),
        ("oversubscription", {"network": 4}, "oversubscription.network", "machine"),
        ("oversubscription", 4, "oversubscription", "a mapping"),
        ("uplinks", 0, "uplinks", "greater than or equal to 1"),
        ("uplinks", 1.5, "uplinks", "an integer"),
        ("uplinks", 257, "uplinks", "less than or equal to 256"),
    ],
)
def test_wrong_ratios_are_refused_by_name(field, value, where, allowed):
    """Less than 1 would widen an uplink beyond what its machines send."""
    raw = yaml.safe_load((FOLDER / "cloud_ethernet.yaml").read_text())
    raw[field] = value
    with pytest.raises(InputError) as error:
        load_topology(raw)
    assert where in error.value.where
    assert allowed in error.value.allowed


@pytest.mark.parametrize("tier", ["machine", "rack"])
def test_links_of_members_have_no_ports_to_oversubscribe(tier):
    """The Dally program's links grow with a job's members: there is nothing to share."""
    with pytest.raises(InputError, match="links: members") as error:
        shipped("dally_code", **{tier: 2})
    assert error.value.where == f"topology dally_code, oversubscription.{tier}"
