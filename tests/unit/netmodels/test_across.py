"""Rings and trees through all GPUs of several machines, by hand."""

from collections import Counter
from dataclasses import replace
from math import sqrt
from pathlib import Path
from random import Random

import numpy as np
import pytest

from netmodels.api import (
    Dimension,
    Fabric,
    Layer,
    Profile,
    SystemSettings,
    load_topology,
    shape_of,
)
from netmodels.collectives.across_machines import across_ns, sent_bytes
from netmodels.collectives.rings import rings_of
from netmodels.models.analytical import AnalyticalModel, iteration_on
from netmodels.profiles.profile import get_profile

TOPOLOGIES = Path(__file__).resolve().parents[3] / "topologies"
MACHINE = Dimension("switch", 100.0, 10.0)
RACK = Dimension("switch", 1000.0, 1.0, machine_bytes_per_ns=1.0)
FABRIC = Fabric("any", (MACHINE,), (RACK,), (RACK,))
IDEAL = SystemSettings(endpoint_delay_ns=10, across_machines="flat_ring", transport="ideal")
PACKETS = replace(IDEAL, transport="packets")
TREE = replace(IDEAL, across_machines="tree")


def shape(*racks):
    """Return a shape; a rack is the list of its machines' GPUs."""
    return shape_of((rack, "a", gpus) for rack, item in enumerate(racks) for gpus in item)


def collective(name, size, placed, system, fabric=FABRIC):
    """Return the time of one collective."""
    return AnalyticalModel().collective_ns(name, size, placed, fabric, system)


def test_an_ideal_step_takes_as_long_as_its_narrowest_crossing():
    """2+2, 40,000 bytes: 6 steps of 10,000 byte / 1 byte/ns, 7 delays; a mean hop takes 6600."""
    assert collective("all_reduce", 40_000, shape([2, 2]), IDEAL) == 6 * 10_000 + 70


def test_an_ideal_step_of_few_bytes_takes_the_mean_hop():
    """2+2, 400 bytes: hops of 200 + 10 and 2000 + 100 ns; mean 1155, 6 steps of it and 7 delays."""
    assert collective("all_reduce", 400, shape([2, 2]), IDEAL) == 6 * 1155 + 70


@pytest.mark.parametrize(
    ("name", "steps", "message"),
    [("reduce_scatter", 3, 10_000), ("all_gather", 3, 40_000), ("all_to_all", 6, 10_000)],
)
def test_collectives_take_the_steps_of_their_ring(name, steps, message):
    """2+2: 3 steps of a quarter, of everything, or 4 x 3 / 2 steps of a quarter; a delay more than steps."""
    assert collective(name, 40_000, shape([2, 2]), IDEAL) == steps * message + (steps + 1) * 10


def test_on_links_that_are_all_alike_a_ring_is_the_closed_form_of_one_dimension():
    """1+1+1+1 is a ring in one dimension, flat or not."""
    profile = Profile("one", (Layer("all", 1, 1, 1, 40_000),))
    placed = shape([1, 1, 1, 1])
    levels = iteration_on(profile, [("rack", replace(RACK, machine_bytes_per_ns=0.0), 4)], IDEAL)
    assert AnalyticalModel().iteration(profile, placed, FABRIC, IDEAL).total_ns == levels.total_ns


@pytest.mark.parametrize("name", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all"])
def test_packets_are_never_faster_than_ideal_links(name):
    """Even and uneven, few bytes and many."""
    for placed in (shape([2, 2]), shape([5, 3]), shape([7, 1], [4])):
        for size in (1000, 10**6, 10**9):
            ideal, packets = (collective(name, size, placed, value) for value in (IDEAL, PACKETS))
            assert ideal <= packets


def test_an_all_to_all_takes_a_quarter_of_n_all_reduces_without_additions():
    """2+2: n / 4 = 1 times 2 (n - 1) steps of a quarter."""
    placed = shape([2, 2])
    assert collective("all_to_all", 40_000, placed, PACKETS) == collective(
        "all_reduce", 40_000, placed, PACKETS
    )


def test_a_tree_passes_all_bytes_to_parents_and_to_children():
    """Four machines of 2: chain 1 x 210, two levels of 2010, down again: L = 8460; 2 S / 1 byte/ns."""
    latency, carried = 2 * (210 + 2 * 2010), 2 * 40_000
    expected = latency + carried + 2 * sqrt(latency * carried)
    assert collective("all_reduce", 40_000, shape([2, 2], [2, 2]), TREE) == round(expected)


def test_other_collectives_of_a_tree_run_as_a_ring():
    """Trees all-reduce only, as NCCL's."""
    placed = shape([5, 3])
    for name in ("reduce_scatter", "all_gather", "all_to_all"):
        assert collective(name, 40_000, placed, TREE) == collective(name, 40_000, placed, IDEAL)


def test_a_tree_beats_a_ring_where_latency_counts():
    """32 machines of 1 GPU and 1 kB: 10 hops and not 62; with 1 GB the ring sends as much and waits less."""
    placed = shape([1] * 32)
    few, many = (
        [collective("all_reduce", size, placed, value) for value in (TREE, IDEAL)] for size in (1000, 10**9)
    )
    assert few[0] < few[1]
    assert many[1] < many[0] < 1.1 * many[1]


def test_a_ring_sends_the_sum_of_its_steps():
    """5+3: 14 steps of an eighth; everything 7 times; 28 steps of an eighth."""
    (ring,) = rings_of(shape([5, 3]), FABRIC)
    sent = {
        name: int(sent_bytes(name, ring, np.array([8000]), IDEAL)[0])
        for name in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
    }
    assert sent == {"all_reduce": 14_000, "reduce_scatter": 7000, "all_gather": 56_000, "all_to_all": 28_000}
    assert int(sent_bytes("all_reduce", ring, np.array([8000]), TREE)[0]) == 14_000


def test_all_tiers_of_a_ring_carry_it_at_the_same_time():
    """4+4 | 4: machine, rack and network are busy for the whole of the one all-reduce."""
    profile = Profile("one", (Layer("all", 1000, 1000, 1000, 12_000),))
    answer = AnalyticalModel().iteration(profile, shape([4, 4], [4]), FABRIC, PACKETS)
    assert [tier for tier, _ in answer.tiers] == ["machine", "rack", "network"]
    assert {busy for _, busy in answer.tiers} == {answer.comm_ns}
    assert {(span.start_ns, span.bytes) for span in answer.spans} == {(2000, 22_000)}


def test_a_machine_alone_runs_by_its_dimensions():
    """8 GPUs in one machine have no machines to go across: `across_machines` changes nothing."""
    for name in ("flat_ring", "tree"):
        system = replace(IDEAL, across_machines=name)
        usual = replace(system, across_machines="hierarchical")
        assert collective("all_reduce", 8000, shape([8]), system) == collective(
            "all_reduce", 8000, shape([8]), usual
        )


def test_chunks_of_a_ring_follow_each_other():
    """One ring is one server: 4 chunks of a quarter take 4 times a quarter's time."""
    placed, (ring,) = shape([5, 3]), rings_of(shape([5, 3]), FABRIC)
    quarter = int(across_ns("all_reduce", ring, np.array([200_000]), PACKETS)[0])
    assert collective("all_reduce", 800_000, placed, replace(PACKETS, chunks=4)) == 4 * quarter


def test_hierarchical_packets_take_round_trips_in_every_level():
    """2+2 of 4 bytes: 1 step in the machine, 2 between, 1 in the machine, each 2 x latency and more.

    In the machine 38 bytes on two links of 10 byte/ns and 48 back: 400 + 7.6 + 9.6. Between machines 37 bytes
    of two GPUs on one link of 1 byte/ns, then on links of 1, 10 and 10, and 48 back: 4000 + 74 + 44 + 106.
    7 delays.
    """
    system = replace(PACKETS, across_machines="hierarchical")
    expected = 2 * (400 + 7.6 + 9.6) + 2 * (4000 + 74 + 37 * 1.2 + 48 * 2.2) + 70
    assert collective("all_reduce", 4, shape([2, 2]), system) == pytest.approx(expected, abs=3)


def test_ideal_hierarchies_know_no_packets():
    """The closed forms that equal ASTRA-sim's stay as they are, whatever is asked of other placements."""
    profile, dims = Profile("one", (Layer("all", 1, 1, 1, 40_000),)), [("rack", RACK, 4)]
    flat = SystemSettings(across_machines="flat_ring")
    assert iteration_on(profile, dims, flat) == iteration_on(profile, dims, SystemSettings())
    assert (
        iteration_on(profile, dims, replace(flat, transport="packets")).total_ns
        > iteration_on(profile, dims, flat).total_ns
    )


def followed_ns(hops, steps):
    """Return the arrival of each step's last message; a hop is (transmission, latency)."""
    starts, ends = [0.0] * len(hops), []
    for _ in range(steps):
        arrivals = [start + sum(hop) for start, hop in zip(starts, hops, strict=True)]
        ends.append(max(arrivals))
        free = [start + carried for start, (carried, _) in zip(starts, hops, strict=True)]
        starts = [max(free[place], arrivals[place - 1]) for place in range(len(hops))]
    return ends


@pytest.mark.parametrize("size", [300, 30_000, 300_000])
@pytest.mark.parametrize("machines", [[2, 1], [4, 4], [7, 1], [1, 1, 1]])
def test_an_ideal_step_is_the_pace_of_gpus_that_wait_for_their_messages_alone(machines, size):
    """2+1, 300 bytes: hops of 2100, 2100 and 210: 1470 a step. 30,000: 10,000 a step, of two crossings.

    In the long run exactly; in the 4 steps of an all-reduce, 3 x 2100 + 210 - 4 x 1470 = 630 ns more for
    300 bytes: no more than the two long hops, each 630 above the mean.
    """
    placed, count = shape(machines), sum(machines)
    part, steps = size // count, 2 * (count - 1)
    hops = []
    for gpus in machines:
        inner = [(part / 10, 200.0)] * (gpus - 1)
        hops += [*inner, (part, 2000.0)]
    ends = followed_ns(hops, steps + 4000 * count)
    result = collective("all_reduce", size, placed, replace(IDEAL, endpoint_delay_ns=0))
    assert (ends[-1] - ends[-1 - 2000 * count]) / (2000 * count) == pytest.approx(result / steps, rel=1e-4)
    beyond = sum(max(sum(hop) - result / steps, 0) for hop in hops)
    assert result - 1 <= ends[steps - 1] <= result + beyond + 1


def test_uneven_machines_of_one_port_cost_the_same_as_even_ones():
    """Ideal links, one port a machine: 4+4, 5+3 and 7+1 have two crossings of 1 byte/ns and 6 inner hops."""
    for size in (1000, 10**6, 10**8):
        times = {collective("all_reduce", size, shape(value), IDEAL) for value in ([4, 4], [5, 3], [7, 1])}
        assert len(times) == 1


def test_uneven_machines_of_a_port_per_gpu_cost_the_time_of_the_smallest():
    """80,000 bytes in 14 steps of 10,000 over crossings of 4, 3 and 1 byte/ns: 2500, 3333 and 10,000 ns."""
    rack = replace(RACK, latency_ns=100.0, machine_bytes_per_ns=0.0)
    fabric = Fabric("ports", (MACHINE,), (rack,), (rack,))
    times = [
        collective("all_reduce", 80_000, shape(value), IDEAL, fabric) for value in ([4, 4], [5, 3], [7, 1])
    ]
    assert times == [14 * 2500 + 150, round(14 * 10_000 / 3) + 150, 14 * 10_000 + 150]


@pytest.mark.parametrize("gpus", [2, 4, 5, 8, 16, 20])
def test_spreading_at_random_is_slower_than_consolidating(gpus):
    """VGG16 on pcie_10g, 80 machines of 5: as near as it gets, beside the mean of 50 random draws of GPUs."""
    topology = load_topology(TOPOLOGIES / "pcie_10g.yaml")
    name, system = topology.default_machine_type, topology.fabric.system
    model, profile = AnalyticalModel(), get_profile("VGG16").scaled(1 / topology.machine_type().speed)

    def total_ns(machines):
        placed = shape_of((rack, name, count) for (rack, _), count in machines.items())
        return model.iteration(profile, placed, topology.fabric, system).total_ns

    draw = Random(3)
    slots = [(machine // 8, machine) for machine in range(80) for _ in range(5)]
    spread = [total_ns(Counter(draw.sample(slots, gpus))) for _ in range(50)]
    near = {(0, machine): min(5, gpus - 5 * machine) for machine in range(-(-gpus // 5))}
    assert total_ns(near) < sum(spread) / len(spread)
