"""The analytical model: irregular shapes, speed, and what it does with one GPU."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from netmodels.api import (
    Dimension,
    Fabric,
    IterationTime,
    Layer,
    NetworkModel,
    Profile,
    SystemSettings,
    load_topology,
    shape_of,
)
from netmodels.models.analytical import AnalyticalModel, iteration_on
from netmodels.models.zero import ZeroModel
from netmodels.profiles.profile import get_profile, profile_names

TOPOLOGIES = Path(__file__).resolve().parents[3] / "topologies"
RING = Dimension("ring", 100, 1.0)
FABRIC = Fabric("rings", (RING,), (RING,), (RING,))
# one layer: 50 + 50 ns compute, then 6000 B with nothing to hide behind
ONE = Profile("one", (Layer("a", 50, 0, 50, 6000),))
SYSTEM = SystemSettings(across_machines="hierarchical", endpoint_delay_ns=10)


def exposed_ns(*racks, system=SYSTEM):
    """Return the exposed time of the one-layer model; a rack is the list of its machines' GPUs."""
    shape = shape_of((rack, "a", gpus) for rack, machines in enumerate(racks) for gpus in machines)
    return AnalyticalModel().iteration(ONE, shape, FABRIC, system).exposed_ns


def test_one_gpu_sends_nothing():
    """Compute 50 + 50 and nothing else, no spans."""
    assert AnalyticalModel().iteration(ONE, shape_of([(0, "a", 1)]), FABRIC, SYSTEM) == IterationTime(
        100, 0, 0
    )


def test_two_gpus_by_hand():
    """2 steps of 100 + 3000 and 3 delays: 6230 ns, in the machine, in the rack, over the network alike."""
    assert exposed_ns([2]) == exposed_ns([1, 1]) == exposed_ns([1], [1]) == 2 * 3100 + 30


def test_an_irregular_shape_has_the_price_of_its_averages():
    """2 + 3 GPUs are 2.5 a machine. By hand, bandwidth-aware, parts of 6000 / 2.5 = 2400, then 1200 B:

    scatter 1.5 (100 + 2400) + 25, reduce 2 (100 + 1200) + 30, gather as scatter: 3775 + 2630 + 3775 = 10180,
    between 2 + 2 (scatter 3120, reduce 3230, gather 3120: 9470) and 3 + 3 (4230, 2230, 4230: 10690).
    """
    assert exposed_ns([2, 2]) == 9470
    assert exposed_ns([3, 3]) == 10690
    assert exposed_ns([2, 3]) == exposed_ns([3, 2]) == 10180
    assert exposed_ns([5, 3]) == exposed_ns([4, 4])  # no narrow gate here: all links are alike


def test_the_narrowest_gate_sets_the_pace():
    """7 + 1 through slow ports: all 6000 B pass the one port of the machine with one GPU: 60 us.

    1 + 1 would be 2 (100 + 3000 / 0.1) + 30 = 60230; 4 + 4 has four ports: 3 (100 + 1500) + 40 there
    and back, 2 (100 + 750 / 0.1) + 30 between: 24910.
    """
    slow = Fabric("slow", (RING,), (Dimension("ring", 100, 0.1),), (RING,))
    results = {
        shape: AnalyticalModel()
        .iteration(ONE, shape_of((0, "a", gpus) for gpus in shape), slow, SYSTEM)
        .exposed_ns
        for shape in ((7, 1), (1, 1), (4, 4))
    }
    assert results == {(7, 1): 60_000, (1, 1): 60_230, (4, 4): 24_910}


def test_gates_slow_every_collective():
    """9 GPUs as 8 + 1, ports of 1 byte/ns, 9000 B: what the lone GPU must send or take at least.

    Gather: 8 parts of 1000 B in. Scatter: its 8/9 of 9000 B out. To all: 8/9 of 9000 B out. Reduce: 9000 B.
    """
    quick = Dimension("ring", 0, 1e6)
    fabric = Fabric("quick inside", (quick,), (Dimension("ring", 0, 1.0),), (quick,))
    shape = shape_of([(0, "a", 8), (0, "a", 1)])
    system = SystemSettings(across_machines="hierarchical", endpoint_delay_ns=0)
    model = AnalyticalModel()
    assert model.collective_ns("all_gather", 1000, shape, fabric, system) == 8000
    assert model.collective_ns("reduce_scatter", 9000, shape, fabric, system) == 8000
    assert model.collective_ns("all_to_all", 9000, shape, fabric, system) == 8000
    assert model.collective_ns("all_reduce", 9000, shape, fabric, system) == 9000


def test_mixed_machine_types_wait_for_the_slower_network():
    """Of 2 + 2 GPUs, two in a machine of type b with a rack port of a tenth: priced as if all were."""
    tiers = ((RING,), (Dimension("ring", 100, 0.1),), (RING,))
    fabric = Fabric("two types", (RING,), (RING,), (RING,), by_machine_type={"b": tiers})
    mixed, slow = (
        AnalyticalModel().iteration(ONE, shape_of([(0, first, 2), (0, "b", 2)]), fabric, SYSTEM)
        for first in "ab"
    )
    assert mixed == slow
    # scatter 3120, reduce 2 (100 + 1500 / 0.1) + 30, gather 3120
    assert mixed.exposed_ns == 2 * 3120 + 2 * 15100 + 30


def test_explicit_dimensions_are_the_same_model():
    """The ASTRA-sim tests price dimensions; the cluster prices shapes: one answer for both."""
    dims = [("machine", RING, 4), ("rack", RING, 2), ("network", RING, 1)]
    shape = shape_of([(0, "a", 4), (0, "a", 4)])
    assert iteration_on(ONE, dims, SYSTEM) == AnalyticalModel().iteration(ONE, shape, FABRIC, SYSTEM)


@pytest.mark.parametrize("model", [AnalyticalModel(), ZeroModel()])
def test_models_are_network_models(model):
    """The object of a config's `_target_` must be a network model, checked at run time."""
    assert isinstance(model, NetworkModel)
    assert model.version


def test_zero_model_is_compute_alone():
    """8 GPUs or 1: 100 ns."""
    assert ZeroModel().iteration(ONE, shape_of([(0, "a", 8)]), FABRIC, SYSTEM) == IterationTime(100, 0, 0)


@pytest.mark.parametrize("name", ["dgx_h100_3tier", "dally_code"])
@pytest.mark.parametrize("model", profile_names())
def test_consolidation_pays_on_the_shipped_fabrics(name, model):
    """Taken for granted by the papers: 8 <= 4 + 4 in a rack <= over two; 64 in a rack <= over two.

    Of a hierarchy: one ring leaves a rack by all of its machines' ports, so 64 GPUs may gain by two racks.
    """
    fabric = load_topology(TOPOLOGIES / f"{name}.yaml").fabric
    system = replace(fabric.system, across_machines="hierarchical")
    spreads = [
        [[(0, "a", 8)], [(0, "a", 4), (0, "a", 4)], [(0, "a", 4), (1, "a", 4)]],
        [[(0, "a", 8)] * 8, [(rack, "a", 8) for rack in (0, 1) for _ in range(4)]],
    ]
    for spread in spreads:
        answers = [
            AnalyticalModel().iteration(get_profile(model), shape_of(machines), fabric, system)
            for machines in spread
        ]
        exposed = [answer.exposed_ns for answer in answers]
        assert exposed == sorted(exposed)


def test_on_dally_code_two_pairs_of_gpus_may_cost_less_than_a_slot_of_four():
    """The constants of the authors' program: links come with members, and tiers work at the same time.

    An all-reduce of 64 MiB among n takes 2 (n - 1) steps with 1 / n of it, and a delay of 10 ns for each
    step and one more. Four in a slot, over 4 // 3 = 1 link: 6 steps of 16 MiB / 600 GiB/s = 26,041 ns:
    156,316 ns. Pairs, in the slots over 2 // 1 = 2 links: 2 of 32 MiB / 1200 GiB/s = 26,041 ns: 52,112 ns;
    then the ring of two machines over 4 links: 2 of 5000 ns + 32 MiB / 800 GiB/s = 44,062 ns: 88,154 ns.
    For 1 MiB, the latency decides.
    """
    fabric = load_topology(TOPOLOGIES / "dally_code.yaml").fabric
    slot, pairs = (shape_of([(0, "a", 4)]), shape_of([(0, "a", 2), (0, "a", 2)]))

    def exposed(shape, *sizes):
        profile = Profile("large", tuple(Layer(str(size), 0, 0, 0, size) for size in sizes))
        return AnalyticalModel().iteration(profile, shape, fabric, fabric.system).exposed_ns

    mib = 2**20
    assert exposed(slot, 64 * mib) == 156_316
    assert exposed(pairs, 64 * mib) == 52_112 + 88_154
    # two at once: the slots take the second while the ring has the first
    assert exposed(slot, 64 * mib, 64 * mib) == 2 * 156_316
    assert exposed(pairs, 64 * mib, 64 * mib) == 52_112 + 2 * 88_154
    assert exposed(slot, mib) < exposed(pairs, mib)


def test_resnet50_on_64_gpus_is_cheap():
    """An order of magnitude above the 0.3 ms measured, so that only a loop over GPUs or worse can fail it."""
    fabric = load_topology(TOPOLOGIES / "dgx_h100_3tier.yaml").fabric
    shape = shape_of([(rack, "a", 8) for rack in range(2) for _ in range(4)])
    profile, model = get_profile("ResNet50"), AnalyticalModel()
    best_s = float("inf")
    for _ in range(5):
        start_s = time.perf_counter()
        model.iteration(profile, shape, fabric, fabric.system)
        best_s = min(best_s, time.perf_counter() - start_s)
    assert best_s < 0.005


def launched_ns(*racks, system=SYSTEM, launch_ns=5000):
    """Return the exposed time that each collective's start-up adds to the one-layer model."""
    shape = shape_of((rack, "a", gpus) for rack, machines in enumerate(racks) for gpus in machines)
    answer = AnalyticalModel().iteration(ONE.with_launch(launch_ns), shape, FABRIC, system)
    assert max(span.end_ns for span in answer.spans) == answer.total_ns  # the details say the same
    return answer.exposed_ns - exposed_ns(*racks, system=system)


@pytest.mark.parametrize("racks", [([2],), ([1, 1],), ([4, 4], [4, 4]), ([5, 3],), ([2, 3], [4])])
@pytest.mark.parametrize("chunks", [1, 4])
@pytest.mark.parametrize("in_flight", [1, 2, 4])
@pytest.mark.parametrize("queue", ["one", "per_dimension"])
def test_a_collective_starts_up_once(racks, chunks, in_flight, queue):
    """One layer has one all-reduce, and nothing hides it: 5000 ns more, whatever the chunks and the queue."""
    system = SystemSettings(
        across_machines="hierarchical",
        endpoint_delay_ns=10,
        chunks=chunks,
        chunks_in_flight=in_flight,
        collective_queue=queue,
    )
    assert launched_ns(*racks, system=system) == 5000


def test_jobs_without_traffic_start_no_collective():
    """One GPU has no collective; the model without a network has none either."""
    one_gpu = shape_of([(0, "a", 1)])
    launched = ONE.with_launch(500)
    assert AnalyticalModel().iteration(launched, one_gpu, FABRIC, SYSTEM) == IterationTime(100, 0, 0)
    two = shape_of([(0, "a", 2)])
    assert ZeroModel().iteration(launched, two, FABRIC, SYSTEM) == IterationTime(100, 0, 0)


@pytest.mark.parametrize("queue", ["one", "per_dimension"])
def test_start_ups_queue_behind_each_other(queue):
    """Two layers, 2 GPUs, rides of 2 (100 + 500) + 30 = 1230 ns, compute 10 a step, launch 2000.

    Forward 20; b issues at 30 and its input gradient ends at 40, a issues at 50 = compute. b: 30 to 30 + 3230
    = 3260; a to 6490. Exposed: 6490 - 50 = 6440. Without launches 30 + 2 x 1230 - 50 = 2440: 2 x 2000 less.
    """
    layers = (Layer("a", 10, 0, 10, 1000), Layer("b", 10, 10, 10, 1000))
    profile, shape = Profile("two", layers), shape_of([(0, "a", 2)])
    system = SystemSettings(across_machines="hierarchical", endpoint_delay_ns=10, collective_queue=queue)
    answer = AnalyticalModel().iteration(profile.with_launch(2000), shape, FABRIC, system)
    assert (answer.compute_ns, answer.exposed_ns, answer.comm_ns) == (50, 6440, 2 * 3230)
    assert AnalyticalModel().iteration(profile, shape, FABRIC, system).exposed_ns == 2440
