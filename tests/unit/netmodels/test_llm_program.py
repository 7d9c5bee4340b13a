"""Steps of language models: work, memory, schedules, and roles on placements."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from artist.data import data_path
from netmodels.api import AnalyticalModel, Dimension, Fabric, Plan, ZeroModel, language_profile, load_topology
from netmodels.collectives import rank_program
from netmodels.fabric.nccl import NcclFabric, NcclTier
from netmodels.fabric.system import SystemSettings, preset_system
from netmodels.inputs.errors import InputError
from netmodels.llm import schedule
from netmodels.llm.architecture import Architecture, get_architecture
from netmodels.llm.communication import Priced, messages_of, priced
from netmodels.llm.compute import Fitted, Gpu, times_of
from netmodels.llm.mapping import RankMapping, pieces_of, seats
from netmodels.llm.plan import Role, Sharding
from netmodels.llm.program import Program
from netmodels.llm.step import free_ns, step_of
from netmodels.llm.work import activation_bytes, held_by, state_bytes, work_of
from netmodels.nccl.model import collective_us
from netmodels.nccl.parameters import nccl_of
from netmodels.profiles.layers import Profile

TINY = Architecture("Tiny", layers=4, hidden=8, heads=2, ffn=32, vocabulary=100)
EXPERTS = Architecture("E", 4, 8, 2, 32, 100, experts=4, active=2, expert_ffn=32)
LLAMA = get_architecture("Llama3-70B")
NCCL = preset_system("machines")


def load_topology_of_h100() -> Fabric:
    """Return the shipped fabric of H100 machines."""
    return load_topology(data_path("topologies", "hgx_h100_ib400.yaml")).fabric


def shape(*racks: Sequence[int]) -> tuple[tuple[tuple[str, int], ...], ...]:
    """Return a shape of H100 machines by GPUs."""
    return tuple(tuple(("hgx_h100", count) for count in rack) for rack in racks)


# --- work and memory


def test_work_of_a_tiny_model_by_hand() -> None:
    """Per token: attention 4 x 8 x 8 = 256, network 2 x 8 x 32 = 512 parameters; 16 tokens, 2 FLOPs each."""
    work = work_of(TINY, Plan(sequence=16))
    assert work.products == 2 * 16 * (256 + 512)
    assert work.attention == 2 * 16 * 8 * 2 * (4 + 4)  # half of 16 tokens, two heads of 4, scores and values
    assert work.output == 2 * 16 * 8 * 100
    assert work.passed_bytes == 2 * 16 * 8
    assert work.layers == 4


def test_a_window_reaches_back_less() -> None:
    """Window 4 of 16 tokens: 4 (1 - 4 / 32) = 3.5 tokens in the half of the layers that have it, else 8."""
    windowed = Architecture("W", 4, 8, 2, 32, 100, window=4, windowed=0.5)
    full, half = (work_of(one, Plan(sequence=16)).attention for one in (TINY, windowed))
    assert half / full == pytest.approx((3.5 + 8) / 2 / 8)


def test_parallelism_divides_work() -> None:
    """tp2 cp2 halve the work of a layer twice; pp2 halves the layers."""
    whole, part = work_of(TINY, Plan(sequence=16)), work_of(TINY, Plan(tp=2, cp=2, pp=2, sequence=16))
    assert part.products == whole.products / 4
    assert part.attention == whole.attention / 4
    assert part.passed_bytes == whole.passed_bytes / 4
    assert part.layers == 2


def test_state_is_sharded() -> None:
    """Tiny: 4 x 768 + 2 x 800 = 4,672 parameters: 16 bytes; 4 + 12 / 4 on 4 GPUs; all of 16 / 4."""
    assert held_by(TINY, Plan()).dense + held_by(TINY, Plan()).embeddings == 4672
    assert state_bytes(TINY, Plan(), 4) == 4672 * 16
    assert state_bytes(TINY, Plan(sharding="optimizer"), 4) == 4672 * (4 + 3)
    assert state_bytes(TINY, Plan(sharding="full"), 4) == 4672 * 4


def test_experts_are_divided_by_ep_and_etp() -> None:
    """4 layers x 4 experts x 2 x 8 x 32 = 8,192 parameters, on ep2 etp2 a quarter of them."""
    assert held_by(EXPERTS, Plan(ep=2, etp=2)).experts == 8192 / 4


def test_activations_by_hand() -> None:
    """16 tokens x 4 layers x (16 x 8 + 2 x 2 x 32) bytes; recomputed 2 x 8; on 2 stages as many in flight.

    With 2 virtual stages each, 2 + (2 - 1) / 2 are.
    """
    assert activation_bytes(TINY, Plan(sequence=16), 1) == 16 * 4 * 256
    assert activation_bytes(TINY, Plan(sequence=16, recompute="full"), 1) == 16 * 4 * 16
    assert activation_bytes(TINY, Plan(pp=2, sequence=16), 2) == 16 * 2 * 256 * 2
    assert activation_bytes(TINY, Plan(pp=2, vp=2, sequence=16), 2) == 16 * 2 * 256 * 2.5


def test_a_model_that_does_not_fit_is_told_in_words() -> None:
    """70.6e9 x 16 bytes on one H100 are 1,129 GB; with tp8 fsdp on 256 GPUs 4.4."""
    program = Program(LLAMA, Plan(), "H100", 1.0, "whole")
    assert "1,128.8 GB of state" in program.lacking(8, 80 * 10**9)
    assert not Program(LLAMA, Plan(tp=8, sharding="full"), "H100", 1.0, "whole").lacking(256, 80 * 10**9)


def test_state_and_recomputed_activations_must_fit() -> None:
    """Tiny: 4,672 x 16 = 74,752 bytes of state and 16 x 4 x 16 = 1,024 of activations."""
    program = Program(TINY, Plan(sequence=16), "H100", 1.0, "whole")
    assert program.lacking(1, 74_752 + 1_023)
    assert not program.lacking(1, 74_752 + 1_024)


# --- schedules


def walk(forward: Sequence[float], backward: Sequence[float], micro: int, virtual: int, send: float) -> float:
    """Return the end of a schedule, operation by operation."""
    stages = len(forward)
    orders = [schedule.order(stage, stages, micro, virtual) for stage in range(stages)]
    clock, done, at = [0.0] * stages, {}, [0] * stages
    while any(at[stage] < len(orders[stage]) for stage in range(stages)):
        for stage in range(stages):
            while at[stage] < len(orders[stage]):
                forth, batch, chunk = orders[stage][at[stage]]
                before = stage + chunk * stages - (1 if forth else -1)
                last = stages * virtual - 1
                needs = (forth, batch, before) if 0 <= before <= last else (True, batch, last)
                if forth and before == -1:
                    ready = 0.0
                elif needs in done:
                    ready = done[needs] + (send if needs[2] % stages != stage else 0.0)
                else:
                    break
                took = (forward if forth else backward)[stage] / virtual
                clock[stage] = max(clock[stage], ready) + took
                done[forth, batch, stage + chunk * stages] = clock[stage]
                at[stage] += 1
    return max(clock)


def test_a_stage_alternates_passes_after_its_first() -> None:
    """1F1B of 2 stages; 2 x 2 interleaved: the first stage is 2 (2 - 1) + 2 forward passes ahead."""
    assert schedule.order(0, 2, 2, 1) == [(True, 0, 0), (True, 1, 0), (False, 0, 0), (False, 1, 0)]
    assert schedule.order(1, 2, 2, 1) == [(True, 0, 0), (False, 0, 0), (True, 1, 0), (False, 1, 0)]
    first = [(True, 0, 0), (True, 1, 0), (True, 0, 1), (True, 1, 1), (False, 0, 1)]
    assert schedule.order(0, 2, 2, 2)[:5] == first


@pytest.mark.parametrize(
    ("stages", "micro", "virtual"),
    [(2, 2, 1), (4, 4, 1), (4, 16, 1), (8, 32, 1), (4, 8, 2), (4, 16, 5), (8, 64, 8), (8, 8, 4), (2, 8, 3)],
)
@pytest.mark.parametrize("last", [1.0, 1.3])
def test_schedules_in_closed_form_equal_the_walk(stages: int, micro: int, virtual: int, last: float) -> None:
    """Without messages exactly, also where the last stage is longer; 4 stages, 4 micro batches: 7 x 3."""
    times = [3.0] * (stages - 1) + [3.0 * last]
    exact = walk([time / 3 for time in times], [2 * time / 3 for time in times], micro, virtual, 0.0)
    assert schedule.compute_ns(times, micro, virtual) == pytest.approx(exact)


@pytest.mark.parametrize(
    ("stages", "micro", "virtual"), [(4, 4, 1), (4, 16, 1), (8, 32, 1), (4, 8, 2), (4, 16, 5), (8, 64, 8)]
)
def test_messages_in_closed_form_are_near_the_walk(stages: int, micro: int, virtual: int) -> None:
    """Equal stages, messages of a tenth of a forward pass: within one message; 1F1B 4 x 4: 21 + 10 x 0.01."""
    send = 0.1 / virtual
    exact = walk([1.0] * stages, [2.0] * stages, micro, virtual, send)
    ours = schedule.compute_ns([3.0] * stages, micro, virtual)
    ours += schedule.sends_ns(send, stages, micro, virtual)
    assert ours == pytest.approx(exact, abs=send)


# --- placements


def test_whole_units_stay_in_a_machine() -> None:
    """tp2 on machines of 1, 2 and 3: units on the second and third, and the two GPUs that are left."""
    place = shape((1, 2, 3))
    machine, _ = seats(Plan(tp=2), "whole", place)
    assert machine.tolist() == [1, 1, 2, 2, 0, 2]
    assert seats(Plan(tp=2), "order", place)[0].tolist() == [0, 1, 1, 2, 2, 2]
    assert seats(Plan(tp=2), "round_robin", place)[0].tolist() == [0, 1, 2, 1, 2, 2]


def test_sibling_groups_share_the_ports_of_a_machine() -> None:
    """Two machines of 4, tp4: four data groups with a GPU in each machine have a quarter of its port."""
    pieces = pieces_of(Plan(tp=4), "whole", shape((4, 4)))
    assert [(piece.place, piece.machine_share) for piece in pieces["dp"]] == [(((1, 1),), 0.25)]
    assert [piece.place for piece in pieces["tp"]] == [((4,),)]
    racks = pieces_of(Plan(tp=4), "whole", shape((4,), (4,)))
    assert [(piece.place, piece.rack_share) for piece in racks["dp"]] == [(((1,), (1,)), 0.25)]


def test_the_worst_mapping_alternates_racks() -> None:
    """Racks of 2 machines and of 1: the first of each rack, the second, and again the one with 2 GPUs."""
    machine, rack = seats(Plan(tp=2), "round_robin", shape((2, 1), (1,)))
    assert machine.tolist() == [0, 2, 1, 0]
    assert rack[machine].tolist() == [0, 1, 0, 0]


def test_exchanges_of_unequal_groups_share_an_uplink_by_their_bytes() -> None:
    """Groups of 4 have 2 and 2, 3 and 1 GPUs in two racks: 2 x 2 / 4 and 3 x 1 / 4 of a GPU's bytes leave.

    Together 7/4 pass an uplink. Alone the first takes 4/4, so 4/7 of the uplink, the second 3/4, so 3/7.
    """
    pieces = pieces_of(Plan(ep=4), "round_robin", shape((5,), (3,)))["ep"]
    shares = {piece.place: piece.rack_share for piece in pieces}
    assert shares == {((2,), (2,)): 4 / 7, ((3,), (1,)): 3 / 7}


@pytest.mark.parametrize(
    "racks", [((3, 8, 5), (6, 2), (8,)), ((8, 1), (8, 7), (5, 3)), ((2,), (8, 8), (7, 7))]
)
@pytest.mark.parametrize("mapping", ["whole", "order", "round_robin"])
def test_uplinks_as_wide_as_their_ports_delay_no_exchange(
    racks: tuple[tuple[int, ...], ...], mapping: RankMapping
) -> None:
    """At 1:1 two machines' 16 ports of 40 GB/s have an uplink of 640: as without a limit of the uplink."""
    times = [
        priced(
            get_architecture("Mixtral-8x7B"),
            Plan(ep=8),
            mapping,
            shape(*racks),
            (NcclFabric(NcclTier(0.6, 400.0), NcclTier(5.0, 40.0), NcclTier(5.0, 40.0, rack_gb_s=uplink)),),
        )["ep"].forward_ns
        for uplink in (640.0, 0.0)
    ]
    assert times[0] == pytest.approx(times[1])


def test_a_split_unit_is_dearer_the_finer_it_is_split() -> None:
    """A group of 8 on pieces of 8, 4, 2, 1 GPUs: its collectives take longer at each step."""
    topology = load_topology_of_h100()
    times = [
        priced(LLAMA, Plan(tp=8), "whole", shape(sizes), (nccl_of(topology),))["tp"].forward_ns
        for sizes in ((8,), (4, 4), (2, 2, 2, 2), (1,) * 8)
    ]
    assert times == sorted(times)
    assert times[1] > 2 * times[0]


def test_messages_of_a_tiny_plan_by_hand() -> None:
    """tp2 pp2 dp2, 16 tokens of 8 values: 256 bytes a gather; 128 between stages; gradients of 2 layers."""
    found = {(one.role, one.collective): one for one in messages_of(TINY, Plan(tp=2, pp=2, sequence=16), 8)}
    assert set(found) == {
        ("tp", "all_gather"),
        ("tp", "reduce_scatter"),
        ("pp", "send_receive"),
        ("dp", "all_reduce"),
    }
    assert found["tp", "all_gather"].size_bytes == 2 * 16 * 8
    assert found["tp", "all_gather"].forward == 2
    assert found["pp", "send_receive"].size_bytes == 16 * 8
    assert found["dp", "all_reduce"].size_bytes == 2 * (2 * 768 / 2 + 800 / 2)


def test_messages_of_sharding_and_experts_by_hand() -> None:
    """Full sharding: weights twice, gradients once; 4 experts, 2 a token: two exchanges of 2 x 2 x 16 x 8."""
    full = messages_of(TINY, Plan(sharding="full", sequence=16), 2)
    counts = {one.collective: (one.forward, one.backward) for one in full}
    assert counts == {"all_gather": (1, 1), "reduce_scatter": (0, 1)}
    (sent,) = (one for one in messages_of(EXPERTS, Plan(ep=2, sequence=16), 2) if one.role == "ep")
    assert (sent.size_bytes, sent.forward, sent.backward) == (2 * 2 * 16 * 8, 2, 2)


def test_tensors_of_experts_gather_their_tokens_by_hand() -> None:
    """tp2: attention alone has tensor collectives. etp2: a gather of both GPUs' 2 x 2 x 8 x 8 bytes, too."""
    for etp, sizes in ((1, {}), (2, {"all_gather": 512, "reduce_scatter": 512})):
        found = messages_of(EXPERTS, Plan(tp=2, etp=etp, sequence=16), 2)
        assert {one.forward for one in found if one.role == "tp"} == {etp}
        assert {one.collective: one.size_bytes for one in found if one.role == "etp"} == sizes


def test_latent_attention_gathers_compressed_keys() -> None:
    """cp2, 8 tokens per GPU: ranks of 5 and rotary 2 from both, of 2 bytes: 2 x 16 x 7."""
    latent = replace(TINY, name="L", latent=(3, 5, 2))
    (keys, _) = (one for one in messages_of(latent, Plan(cp=2, sequence=16), 2) if one.role == "cp")
    assert keys.size_bytes == 2 * 16 * 7


@pytest.mark.parametrize(
    ("place", "rack", "network"),
    [
        (((4, 4),), NcclTier(5.0, 40.0, machine_gb_s=20.0), NcclTier(5.0, 40.0)),
        (((4,), (4,)), NcclTier(5.0, 40.0), NcclTier(5.0, 40.0, rack_gb_s=20.0)),
    ],
)
def test_four_groups_have_a_quarter_of_a_shared_port_each(
    place: tuple[tuple[int, ...], ...], rack: NcclTier, network: NcclTier
) -> None:
    """A port of 20 GB/s, of a machine or of a rack: as slow as with ports of 5 GB/s for one group alone."""
    machine = NcclTier(0.6, 400.0)
    ours = priced(TINY, Plan(tp=4), "whole", shape(*place), (NcclFabric(machine, rack, network),))["dp"]
    quarter = NcclFabric(
        machine,
        replace(rack, machine_gb_s=rack.machine_gb_s / 4),
        replace(network, rack_gb_s=network.rack_gb_s / 4),
    )
    size = np.array([2.0 * (4 * 768 + 2 * 800) / 4])
    lone = ((1, 1),) if len(place) == 1 else ((1,), (1,))
    assert ours.backward_ns == pytest.approx(1e3 * collective_us("all_reduce", size, lone, quarter)[0])


# --- steps

GPU = Gpu(1.0, 2.0, 4.0, Fitted(0.5, 1.0, 3.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0))


def test_compute_times_by_hand() -> None:
    """16 tokens: 24,576 / 1 + 4,096 / 2 + 3 x 256 / 4 + 1,000 ns forward; backward 2, 2 + attention, 3."""
    for recompute, again in (("none", 0.0), ("selective", 2048.0), ("full", 27816.0)):
        plan = Plan(sequence=16, recompute=recompute)  # type: ignore[arg-type]
        times = times_of(work_of(TINY, plan), held_by(TINY, plan), plan, GPU, (1, 1))
        assert times.forward == 24576 + 2048 + 192 + 1000
        assert times.backward == 2 * 27816 + again
        assert times.update == 30 * 4672 / 4


def test_full_sharding_passes_weights_and_experts_their_width_through_memory() -> None:
    """A layer's 768 weights of 2 bytes, 6 times, at 4 bytes per ns; 32 tokens x (8 + 32) x 2 bytes, once."""
    gpu = replace(GPU, fitted=GPU.fitted._replace(weight_passes=6.0, routed_passes=1.0))

    def forward(model: Architecture, plan: Plan, gpu: Gpu) -> float:
        return times_of(work_of(model, plan), held_by(model, plan), plan, gpu, (1, 1)).forward

    for sharding, added in (("none", 0.0), ("optimizer", 0.0), ("full", 768 * 2 * 6 / 4)):
        plan = Plan(sharding=sharding, sequence=16)  # type: ignore[arg-type]
        assert forward(TINY, plan, gpu) - forward(TINY, plan, GPU) == added
    plan = Plan(sequence=16)
    assert forward(EXPERTS, plan, gpu) - forward(EXPERTS, plan, GPU) == 32 * 40 * 2 / 4


def test_attention_hides_the_exchange_of_keys() -> None:
    """2,000 of 2,048 ns are hidden, 100 beyond exposed on 4 layers."""
    for keys_ns, exposed in ((2000.0, 0.0), (2148.0, 400.0)):
        roles = {"cp": Priced(keys_ns, 0.0, 0.0, 0.0, "machine")}
        step = step_of(TINY, Plan(sequence=16), 1, GPU, roles)  # type: ignore[arg-type]
        assert step.exposed["cp"] == pytest.approx(exposed)


def test_recomputation_sends_collectives_forward_again() -> None:
    """tp2 etp2 ep2 pp2 on 8 machines of 1: one time forward, one backward, and one again: 3 / 2 in all.

    So are time, bytes and exposure of each role, and the bytes on the links; messages between stages and
    gradients are as before.
    """
    model = replace(EXPERTS, name="Recomputed")
    placement = [(0, machine, "hgx_h100", 1) for machine in range(8)]
    steps, links = [], []
    for words in ("", " recompute"):
        plan = Plan.parse(f"tp2 etp2 ep2 pp2 seq16 gb4{words}")
        program = Program(model, plan, "H100", 1.0, "whole")
        steps.append(program.step(shape((1,) * 8), load_topology_of_h100())[0])
        links.append(program.traffic(placement, load_topology_of_h100(), 1.0).sent_bytes.sum(axis=1))
    once, again = steps
    for role in once.busy:
        more = 1.5 if role in ("tp", "etp", "ep") else 1.0
        assert again.busy[role] == pytest.approx(more * once.busy[role])
        assert again.sent_bytes[role] == pytest.approx(more * once.sent_bytes[role])
    assert again.exposed["tp"] == pytest.approx(1.5 * once.exposed["tp"])
    assert set(np.round(links[1] / links[0], 9)) == {1.0, 1.5}


def test_all_wait_for_the_slowest_of_many() -> None:
    """Straggling of 1 % a doubling: on 32 GPUs, two doublings beyond 8, a step is 1.02 times as long."""
    gpu = replace(GPU, fitted=GPU.fitted._replace(straggling=0.01))
    plan = Plan(sequence=16)
    assert free_ns(TINY, plan, 32, gpu) == pytest.approx(1.02 * free_ns(TINY, plan, 8, gpu))


def test_a_padded_last_stage_has_a_layer_less() -> None:
    """6 layers on 4 x 2 stages with places for 8: GPUs of 2 layers, the last one of 1 and the output.

    16 micro batches pass the longest; filling takes the half of two more and of the last.
    """
    padded, plan = replace(TINY, name="P", layers=6), Plan(pp=4, vp=2, sequence=16)
    times = times_of(work_of(padded, plan), held_by(padded, plan), plan, GPU, (1, 1))
    layer = times.forward + times.backward
    expected = 16 * 2 * layer + (2 * 2 * layer + layer + times.output) / 2 + times.update
    assert free_ns(padded, plan, 4, GPU) == pytest.approx(expected)


@pytest.mark.parametrize("sharding", ["none", "full"])
def test_nothing_hides_the_last_layers_gradients(sharding: Sharding) -> None:
    """Compute can hide all 40 + 80 ns but a layer's of 4: 10 + 20."""
    gpu = replace(GPU, fitted=GPU.fitted._replace(hidden_dp=1.0))
    state = Priced(40.0, 80.0, 0.0, 0.0, "machine")
    step = step_of(TINY, Plan(sharding=sharding, sequence=16), 2, gpu, {"dp": state})
    assert step.exposed["dp"] == pytest.approx(30)


@pytest.mark.parametrize(("sharding", "last"), [("optimizer", 0.0), ("full", 211_264 / 4)])
def test_weights_beyond_the_compute_beside_them_are_exposed(sharding: Sharding, last: float) -> None:
    """4 layers of 27,816 ns forward hide 111,264: gathers of 211,264 add 100,000; without overlap all.

    With full sharding nothing hides a layer's part at the end, 52,816; else it is part of the excess.
    """
    gathers, plan = Priced(211_264.0, 0.0, 0.0, 0.0, "rack"), Plan(sharding=sharding, sequence=16)
    for hidden, exposed in ((1.0, 100_000.0), (0.0, 211_264.0)):
        gpu = replace(GPU, fitted=GPU.fitted._replace(hidden_dp=hidden))
        step = step_of(TINY, plan, 2, gpu, {"dp": gathers})
        assert step.exposed["dp"] == pytest.approx(exposed + last)


def test_compute_hides_one_collective_at_a_time() -> None:
    """4 layers of 27,816 ns: exchanges of 20,000 are hidden, of 30,000 all but 27,816.

    Weights then have 4 x 7,816 ns beside them, or none: of 100,000 ns 68,736 are exposed, or all.
    """
    gpu = replace(GPU, fitted=GPU.fitted._replace(hidden_ep=1.0, hidden_dp=1.0))
    weights, plan = Priced(100_000.0, 0.0, 0.0, 0.0, "rack"), Plan(sharding="optimizer", sequence=16)
    for sent, exposed in ((20_000.0, (0.0, 68_736.0)), (30_000.0, (4 * 2_184.0, 100_000.0))):
        roles: dict[Role, Priced] = {"ep": Priced(sent, 0.0, 0.0, 0.0, "rack"), "dp": weights}
        step = step_of(TINY, plan, 2, gpu, roles)
        assert (step.exposed["ep"], step.exposed["dp"]) == pytest.approx(exposed)


def test_messages_of_a_step_are_counted_by_role() -> None:
    """3 ns and 3 bytes: fsdp per micro batch, 3 of them; zero1 once; pp2 vp2 8 x 2 times."""
    one = Priced(1.0, 2.0, 1.0, 2.0, "machine")
    cases: list[tuple[Plan, Role, float]] = [
        (Plan(sharding="full", batch=6, sequence=16), "dp", 9),
        (Plan(sharding="optimizer", batch=6, sequence=16), "dp", 3),
        (Plan(pp=2, vp=2, sequence=16), "pp", 48),
    ]
    for plan, role, total in cases:
        step = step_of(TINY, plan, 2, GPU, {role: one})
        assert (step.busy[role], step.sent_bytes[role]) == (total, total)


# --- profiles


def test_a_step_is_compute_and_what_placement_adds() -> None:
    """The parts add up to the step; tensors stay in the machine; round robin puts them on the network."""
    fabric = load_topology_of_h100()
    program = Program(LLAMA, Plan(tp=8, pp=2, vp=2, batch=32), "H100", 1.0, "whole")
    step, roles = program.step(shape((8,) * 4), fabric)
    free = program.free_ns(32)
    assert step.total_ns == pytest.approx(free + sum(step.exposed.values()))
    assert set(roles) == {"tp", "pp", "dp"}
    assert (roles["tp"].tier, roles["pp"].tier) == ("machine", "rack")
    worst = Program(LLAMA, program.plan, "H100", 1.0, "round_robin").step(shape((8,) * 4), fabric)[0]
    assert worst.total_ns > 1.3 * step.total_ns


def test_the_profile_of_a_plan_is_priced_in_integers() -> None:
    """Compute is the free step, exposed what is added, for any factor; spans stay inside the step."""
    fabric = load_topology_of_h100()
    profile = language_profile("Llama3-70B", Plan(tp=8, pp=2, batch=32))
    for factor in (1.0, 2.0):
        answer = AnalyticalModel().iteration(profile.scaled(factor), shape((8,) * 4), fabric, NCCL)
        assert answer.compute_ns == round(profile.program.free_ns(32, factor))  # type: ignore[union-attr]
        assert 0 < answer.exposed_ns <= answer.comm_ns
        assert max(span.end_ns for span in answer.spans) <= answer.total_ns
        assert ZeroModel().iteration(profile.scaled(factor), shape((8,) * 4), fabric, NCCL).total_ns == (
            answer.compute_ns
        )


@pytest.mark.parametrize(
    "plan", ["tp2 pp2", "pp4 vp2 gb16", "tp4 zero1 recompute", "fsdp cp2", "pp2 gb16 mb2 selective"]
)
def test_ranks_without_a_network_take_the_free_step(plan: str) -> None:
    """All messages and delays of 0 ns: the ranks followed one by one end with the closed form's step."""
    free = Dimension("switch", 0.0, 1e15)
    fabric = Fabric("free", (free,), (free,), (free,), SystemSettings(endpoint_delay_ns=0))
    architecture = replace(LLAMA, name="Some layers", layers=8)
    profile, place = language_profile(architecture, Plan.parse(plan)), shape((8,))
    network = rank_program.RankNetwork(place, fabric.tiers(), fabric.system)
    assert profile.program is not None
    ends = [
        time.end_ns for time in rank_program.rank_times(profile.program.ranks(place, network, 1.0), network)
    ]
    assert max(ends) == pytest.approx(profile.program.free_ns(8), rel=1e-4)  # 10 ns a step in smaller groups


def test_mapping_and_plan_are_part_of_the_digest() -> None:
    """Caches ask by the digest."""
    digests = {
        language_profile("Llama3-70B", plan, mapping=mapping).digest  # type: ignore[arg-type]
        for plan in (Plan(tp=8), Plan(tp=8, micro_batch=2), Plan(tp=4))
        for mapping in ("whole", "order", "round_robin")
    }
    assert len(digests) == 9


def test_data_parallelism_alone_is_a_profile_like_any_other() -> None:
    """A plan without parallelism gives layers alone: the answer of an equal profile, byte for byte."""
    fabric = load_topology_of_h100()
    profile = language_profile("MPT-1B", Plan())
    assert profile.program is None
    same = Profile(profile.name, profile.layers, profile.source)
    assert same.digest == profile.digest
    place = shape((8, 8))
    answers = [AnalyticalModel().iteration(one, place, fabric, NCCL) for one in (profile, same)]
    assert answers[0] == answers[1]


def test_what_no_model_prices_is_refused() -> None:
    """Contention, an unknown GPU or precision, and several types under tp."""
    fabric = load_topology_of_h100()
    profile = language_profile("Llama3-70B", Plan(tp=8))
    with pytest.raises(InputError, match="prices data parallelism alone"):
        AnalyticalModel().parts(profile, shape((8,)), fabric, preset_system("papers"))
    with pytest.raises(InputError, match="no training was measured on this GPU"):
        language_profile("Llama3-70B", Plan(tp=8), "T4")
    with pytest.raises(InputError, match="in this precision"):
        language_profile("Llama3-70B", Plan(tp=8, precision="nvfp4"), "H100")
    mixed = ((("a", 4), ("b", 4)),)
    with pytest.raises(InputError, match="several types divide one model"):
        AnalyticalModel().iteration(profile, mixed, fabric, NCCL)
