"""Parameters of NCCL: derived, from a topology file, and in iterations."""

import copy
from pathlib import Path

import numpy as np
import pytest

from netmodels.api import Layer, Profile, SystemSettings, collective_us, load_topology
from netmodels.inputs.errors import InputError
from netmodels.models.analytical import AnalyticalModel
from netmodels.nccl.parameters import nccl_of

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
        "machine": [{"kind": "switch", "latency_ns": 300, "bandwidth_gbit_s": 800}],
        "rack": [{"kind": "switch", "latency_ns": 2700, "bandwidth_gbit_s": 80}],
        "network": [{"kind": "ring", "latency_ns": 2700, "bandwidth_gbit_s": 8}],
    },
}
MEASURED = {"machine": {"step_us": 1, "gpu_gb_s": 90}, "rack": {"step_us": 4, "gpu_gb_s": 9}, "bulk": 3}
NCCL = SystemSettings(collectives="nccl", bucket_cap_mb=0)
SHAPE = ((("box", 2), ("box", 2)),)


def test_tiers_give_the_parameters_that_nothing_measured():
    """A switch is two links: 0.6 us inside, 5.4 us a ring's step, 10 a tree's; 92 % of 100 and 10 GB/s."""
    nccl = nccl_of(load_topology(TINY).fabric)
    assert (nccl.machine.step_us, nccl.machine.gpu_gb_s) == pytest.approx((0.6, 92))
    assert (nccl.rack.step_us, nccl.rack.gpu_gb_s) == pytest.approx((10, 9.2))
    assert (nccl.network.step_us, nccl.network.gpu_gb_s) == pytest.approx((5, 0.92))
    assert (nccl.round_us, nccl.bulk_round_us, nccl.message_us) == pytest.approx((6, 12, 20))


@pytest.mark.parametrize(
    ("section", "where", "allowed"),
    [
        ({"rack": {"step_us": 4, "gpu_gb_s": 80}}, "nccl.rack.gpu_gb_s", "up to 40: 4 times fabric.rack"),
        ({"network": {"step_us": 3, "gpu_gb_s": 2}}, "nccl.network", "step_us from 4"),
        (
            {"network": {"step_us": 9, "gpu_gb_s": 3.9}, "rack": {"step_us": 4, "gpu_gb_s": 3}},
            "nccl.network",
            "up to 3",
        ),
    ],
)
def test_a_section_against_the_tiers_of_its_file(section, where, allowed):
    """80 Gb/s are 10 GB/s: 80 is the other unit. Racks apart are not nearer than machines of a rack."""
    with pytest.raises(InputError) as caught:
        load_topology({**copy.deepcopy(TINY), "nccl": {**MEASURED, **section}})
    assert caught.value.where.endswith(where)
    assert allowed in str(caught.value.allowed)


def test_a_section_of_the_file_takes_their_place():
    """Stated values stand, the network is as the rack, all else keeps its default; the key differs."""
    topology = load_topology({**TINY, "nccl": MEASURED})
    nccl = nccl_of(topology.fabric)
    assert (nccl.machine.step_us, nccl.rack.gpu_gb_s, nccl.bulk, nccl.start_us) == (1, 9, 3, 6.8)
    assert nccl.network == nccl.rack
    assert topology.fabric.digest != load_topology(TINY).fabric.digest


@pytest.mark.parametrize(
    ("field", "value"),
    [("bulk", -1), ("ll_share", 1.5), ("ring_from_mb", -1), ("hop_us", 1), ("round_us", 0)],
)
def test_a_wrong_section_is_refused_by_name(field, value):
    """Latencies are more than 0, shares at most 1, names are known."""
    with pytest.raises(InputError) as caught:
        load_topology({**copy.deepcopy(TINY), "nccl": {**MEASURED, field: value}})
    assert f"nccl.{field}" in str(caught.value)


def test_iterations_queue_the_all_reduces():
    """Compute 4 us, all-reduces of 1 and 2 MB issued at 3 and 4 us: exposed are both, but for 1 us."""
    fabric = load_topology({**TINY, "nccl": MEASURED}).fabric
    layers = (Layer("a", 1000, 0, 1000, 2_000_000), Layer("b", 1000, 0, 1000, 1_000_000))
    answer = AnalyticalModel().iteration(Profile("two", layers), SHAPE, fabric, NCCL)
    times_us = collective_us("all_reduce", np.array([1e6, 2e6]), ((2, 2),), nccl_of(fabric))
    first, second = (round(1e3 * time_us) for time_us in times_us.tolist())
    assert answer.comm_ns == first + second
    assert answer.exposed_ns == 3000 + first + second - 4000
    assert [(span.tier, span.bytes) for span in answer.spans] == [("rack", 4_500_000)]  # 2 x 3/4 x 3 MB


def test_a_profile_s_own_start_comes_on_top():
    """Both collectives begin with 500 ns of the framework's; 1000 ns more in all."""
    fabric, model = load_topology(TINY).fabric, AnalyticalModel()
    layers = (Layer("a", 1000, 0, 1000, 2_000_000), Layer("b", 1000, 0, 1000, 1_000_000))
    plain = model.iteration(Profile("two", layers), SHAPE, fabric, NCCL)
    launched = model.iteration(Profile("two", layers, launch_ns=500), SHAPE, fabric, NCCL)
    assert launched.comm_ns - plain.comm_ns == 1000


def test_one_gpu_has_nothing_to_do():
    """No second GPU, no collective."""
    fabric = load_topology(TINY).fabric
    profile = Profile("one", (Layer("a", 1, 0, 1, 1000),))
    assert AnalyticalModel().iteration(profile, ((("box", 1),),), fabric, NCCL).total_ns == 2
    assert AnalyticalModel().collective_ns("all_reduce", 1000, ((("box", 1),),), fabric, NCCL) == 0


def test_an_all_gather_starts_with_a_part():
    """The bytes that a GPU starts with, times 4 GPUs, are the size that nccl-tests counts."""
    fabric = load_topology(TINY).fabric
    asked = AnalyticalModel().collective_ns("all_gather", 1000, SHAPE, fabric, NCCL)
    (time_us,) = collective_us("all_gather", np.array([4000.0]), ((2, 2),), nccl_of(fabric))
    assert asked == round(1e3 * time_us)


def test_the_slowest_type_of_machine_counts():
    """A machine type whose network has a tenth of the bandwidth slows the others to its own time."""
    raw = copy.deepcopy(TINY)
    slow = {**raw["machine_types"]["box"], "fabric": {"rack": [dict(raw["fabric"]["rack"][0])]}}
    slow["fabric"]["rack"][0]["bandwidth_gbit_s"] = 8
    raw["machine_types"]["slow"] = slow
    fabric, model = load_topology(raw).fabric, AnalyticalModel()
    mixed = model.collective_ns("all_reduce", 10**6, ((("box", 2), ("slow", 2)),), fabric, NCCL)
    alone = model.collective_ns("all_reduce", 10**6, ((("slow", 2), ("slow", 2)),), fabric, NCCL)
    assert mixed == alone > model.collective_ns("all_reduce", 10**6, SHAPE, fabric, NCCL)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_fabric_answers(path):
    """Without measured runs too: one machine, one rack, two racks; more than 0 and in this order."""
    topology = load_topology(path)
    name = topology.default_machine_type
    model, places = AnalyticalModel(), [[[4]], [[2, 2]], [[2], [2]]]
    if topology.machine_type().gpus < 4:
        places = places[1:]
    shapes = [tuple(tuple((name, count) for count in rack) for rack in place) for place in places]
    times = [model.collective_ns("all_reduce", 10**8, shape, topology.fabric, NCCL) for shape in shapes]
    assert times[0] > 0
    assert times == sorted(times)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_no_measured_fabric_has_far_gpus_nearer(path):
    """One machine before its halves on two, and before two; two machines in one rack before two racks."""
    topology = load_topology(path)
    nccl, gpus = topology.fabric.nccl, topology.machine_type().gpus
    if nccl is None:
        return
    sizes, half = np.geomspace(8, 4e9, 60), gpus // 2
    for nearer, farther in (
        (((gpus,),), ((half, half),)),
        (((gpus,),), ((gpus, gpus),)),
        (((gpus, gpus),), ((gpus,), (gpus,))),
    ):
        for collective in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive"):
            times = [collective_us(collective, sizes, place, nccl) for place in (nearer, farther)]
            assert (times[0] <= times[1] * (1 + 1e-9)).all(), collective
