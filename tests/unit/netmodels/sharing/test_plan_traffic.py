"""Jobs with a plan on shared links: bytes by role, and slowdowns of those that cross, by hand."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from artist.data import data_path
from netmodels.api import AnalyticalModel, Plan, get_profile, load_topology, shape_of
from netmodels.contention.contention import Contention, Way
from netmodels.contention.transfers import Exposure, JobTraffic
from netmodels.fabric.links import Link, Slice
from netmodels.llm.architecture import Architecture, get_architecture
from netmodels.llm.communication import SENT, messages_of
from netmodels.llm.mapping import seats
from netmodels.llm.program import Program, language_profile
from netmodels.llm.step import times_per_step, total_ns

TINY = Architecture("Tiny", layers=4, hidden=8, heads=2, ffn=32, vocabulary=100)
EXPERTS = Architecture("E", 4, 8, 2, 32, 100, experts=4, active=2, expert_ffn=32)
NARROW = load_topology(data_path("topologies", "hgx_h100_ib400.yaml")).fabric
NARROW = replace(NARROW, nccl=None, network=(replace(NARROW.network[0], rack_bytes_per_ns=200.0),))
"""Machines of 8 x 50 byte/ns; 2 in a rack with an uplink of 200: 4:1."""
SYSTEM = NARROW.system
MACHINES = [(m // 2, m, "hgx_h100", 8) for m in range(8)]
GOLDEN = (1 + 5**0.5) / 2


def links(way: Way = "mean_field") -> Contention:
    """Return the links of four racks."""
    return Contention(way, MACHINES, NARROW, SYSTEM)


def on(*machines: int, gpus: int = 8) -> list[Slice]:
    """Return a placement on some machines."""
    return [(m // 2, m, "hgx_h100", gpus) for m in machines]


def out_of(job: JobTraffic) -> dict[tuple[str, int], float]:
    """Return the bytes out of machines and racks."""
    sent = job.sent_bytes.sum(axis=0)
    of_link = zip(job.links, sent, strict=True)
    return {
        (link.tier, link.place): n
        for link, n in of_link
        if link.way == "out" and n and link.tier != "network"
    }


def sent(architecture: Architecture, plan: Plan, placement: list[Slice]) -> dict[tuple[str, int], float]:
    """Return the bytes of an iteration out of machines and racks."""
    profile = language_profile(architecture, plan)
    return out_of(links().traffic(profile, placement))


# --- bytes, by hand


def test_rings_of_gradients_cross_and_tensor_parallelism_stays_inside() -> None:
    """Tiny in two: (4 x 768 + 2 x 800) / 2 = 2,336 parameters, 4,672 bytes; tp pairs are in machines.

    Two rings, one per member of a tp pair, of two GPUs on each machine. Between two machines an all-reduce
    sends each byte once: 2 x 4,672. On four machines, one GPU of each ring on each, 2 x 3 / 4 of them.
    Sharded, each ring gathers and scatters 3 / 4 of them: the same on two machines.
    """
    both = {("machine", 0): 9344, ("machine", 2): 9344, ("rack", 0): 9344, ("rack", 1): 9344}
    assert sent(TINY, Plan(tp=2, sequence=16), on(0, 2, gpus=4)) == both
    four = sent(TINY, Plan(tp=2, sequence=16), on(0, 2, 4, 6, gpus=2))
    assert set(four.values()) == {2 * 1.5 * 4672}
    sharded = sent(TINY, Plan(tp=2, sequence=16, sharding="optimizer"), on(0, 2, gpus=4))
    assert set(sharded.values()) == {2 * 2 * 0.75 * 4672}


def test_stages_send_to_their_neighbours_only_between_racks() -> None:
    """Two stages of two GPUs each; 8 micro batches of 2 x 16 x 8 = 256 bytes: 2 x 8 x 256 = 4,096 each way.

    With two virtual stages each: a micro batch passes forward twice and back to the first stage once.
    """
    for virtual, messages in ((1, 1), (2, 3)):
        of_plan = sent(TINY, Plan(pp=2, vp=virtual, sequence=16), on(0, 2, gpus=2))
        assert of_plan == dict.fromkeys(of_plan, 2 * 8 * 256 * messages)
        assert len(of_plan) == 4  # gradients stay in the machines


def test_experts_exchange_half_of_their_tokens_with_the_other_machine() -> None:
    """512 bytes of a GPU's tokens, 1 / 4 for each of 4; 2 send 2 / 4 away, 4 times in 4 layers: 8,192."""
    job = links().traffic(language_profile(EXPERTS, Plan(ep=4, sequence=16)), on(0, 2, gpus=2))
    by_role = job.sent_bytes[:, job.links.index(Link("rack", 0, "out"))]
    assert 2 * 512 * 2 / 4 * 4 * 4 in by_role.tolist()


def test_a_plan_inside_machines_of_equal_stages_sends_on_no_uplink() -> None:
    """Stages in a rack each: only messages between them, and with one stage per rack no ring, cross."""
    job = links().traffic(language_profile(TINY, Plan(tp=2, pp=2, sequence=16)), on(0, 1, 2, 3, gpus=2))
    uplink = job.links.index(Link("rack", 0, "out"))
    assert sum(job.sent_bytes[:, uplink] > 0) == 1  # of two roles between machines
    assert len(job.transfers_ns) == 2


def around(machines: list[int], sizes: float) -> Counter[tuple[int, int]]:
    """Return the bytes between machines of a ring through them in order."""
    order = sorted(machines)
    sent = Counter[tuple[int, int]]()
    for here, there in pairwise([*order, order[0]]):
        sent[here, there] += sizes  # type: ignore[assignment]
    return sent


def message_by_message(architecture: Architecture, plan: Plan, shape: object) -> Counter[tuple[str, int]]:
    """Return the bytes out of machines and racks, message by message between all pairs of members."""
    machine, rack = seats(plan, "whole", shape)  # type: ignore[arg-type]
    count, out = len(machine), Counter[tuple[str, int]]()
    for role, collective, size, forward, backward in messages_of(architecture, plan, count):
        times = times_per_step(architecture, plan, count, role)
        for ranks in plan.groups(count)[role]:
            at, pairs = machine[ranks].tolist(), Counter[tuple[int, int]]()
            if collective == "all_to_all":
                for here in at:
                    pairs.update({(here, there): 0 for there in at})
                    for there in at:
                        pairs[here, there] += (forward + backward) * times * size / len(at)
            elif collective == "send_receive":
                for stage, here in enumerate(at):
                    there = at[(stage + 1) % len(at)]
                    part = times / plan.vp * (plan.vp if stage + 1 < len(at) else plan.vp - 1)
                    pairs[here, there] += forward * part * size
                    pairs[there, here] += backward * part * size
            else:
                whole = SENT[collective](len(at)) * size
                if collective == "all_reduce" and len(set(at)) == 2:
                    whole = size
                pairs = around(at, (forward + backward) * times * whole)
            for (here, there), sent_bytes in pairs.items():
                if here != there:
                    out["machine", here] += sent_bytes
                if rack[here] != rack[there]:
                    out["rack", rack[here]] += sent_bytes
    return out


PLANS = "tp2", "tp4 pp2", "pp4 vp2 zero1", "cp2 tp2 fsdp", "ep4 zero1", "ep8 pp2", "tp2 pp2 ep4", "fsdp"


def random_placement(draw: Random, replica: int) -> list[Slice]:
    """Return a placement of whole replicas on some of the machines, in pieces of any size."""
    while True:
        machines = draw.sample(range(8), draw.randint(2, 8))
        placement = [(m // 2, m, "hgx_h100", draw.randint(1, 8)) for m in machines]
        if sum(gpus for *_, gpus in placement) % replica == 0:
            return placement


@pytest.mark.parametrize("seed", range(40))
def test_bytes_on_links_are_those_of_all_messages(seed: int) -> None:
    """What leaves machines and racks is, role by role, what each member sends to each other one."""
    draw = Random(seed)
    plan = Plan.parse(f"{draw.choice(PLANS)} seq64")
    architecture = EXPERTS if plan.ep > 1 else TINY
    architecture = replace(architecture, layers=8, experts=8 * (plan.ep > 1))
    architecture = replace(architecture, heads=4, kv_heads=4)
    placement = random_placement(draw, plan.replica)
    traffic = links().traffic(language_profile(architecture, plan), placement)
    shape = shape_of((r, kind, n) for r, _, kind, n in placement)
    expected = message_by_message(architecture, plan, shape)
    for tier in ("machine", "rack"):
        result = sorted(sent for (of, _), sent in out_of(traffic).items() if of == tier)
        values = sorted(sent for (of, _), sent in expected.items() if of == tier and sent)
        assert result == pytest.approx(values)
        arrived = traffic.sent_bytes[:, [link.tier == tier and link.way == "in" for link in traffic.links]]
        assert arrived.sum() == pytest.approx(sum(result))


# --- time alone


@pytest.mark.parametrize("seed", range(40))
def test_a_slower_role_costs_what_it_costs_alone_on_slower_links(seed: int) -> None:
    """The step with one role's collectives s times as long, to 1e-5; as alone, to the ns, with s = 1."""
    draw = Random(seed)
    name, plan = draw.choice(
        [
            ("Llama3-8B", "fsdp gb128"),
            ("Llama3-70B", "tp8 pp2 zero1 gb128"),
            ("Llama3-8B", "cp2 tp2 gb64 zero1"),
            ("Qwen3-30B-A3B", "ep8 zero1 gb128"),
            ("Llama3-8B", "tp2 pp4 vp2 gb64"),
        ]
    )
    program = Program(get_architecture(name), Plan.parse(plan), "H100", 1.0, "whole")
    while True:
        placement = random_placement(draw, program.plan.replica)
        if 128 % sum(gpus for *_, gpus in placement) == 0:
            break
    shape = shape_of((r, kind, n) for r, _, kind, n in placement)
    traffic = program.traffic(placement, NARROW, 1.0)
    answer = AnalyticalModel().iteration(language_profile(name, program.plan), shape, NARROW, SYSTEM)
    assert traffic.alone_ns == answer.compute_ns + answer.exposed_ns
    assert traffic.compute_ns == answer.compute_ns
    step, roles = program.step(shape, NARROW)
    count, gpu = sum(gpus for *_, gpus in placement), program._gpu(1.0)
    crossing = [
        role
        for role in roles
        if any(step.busy[role] == pytest.approx(t, abs=2) for t in traffic.transfers_ns)
    ]
    for role in crossing:
        times = [number for number, t in enumerate(traffic.transfers_ns) if abs(step.busy[role] - t) < 2]
        for s in (1.01, 1.3, 2.0, 7.0, 100.0):
            slower = traffic.transfers_ns.astype(float)
            slower[times] *= s
            expected = total_ns(
                program.architecture, program.plan, count, gpu, {**roles, role: roles[role].slower(s)}
            )
            expected = max(expected, slower.sum())
            assert traffic.iteration_ns(slower) == pytest.approx(expected, rel=1e-5)


# --- slowdown, by hand


def job(alone_ns: int, *roles: tuple[int, float, float, dict[Link, float]]) -> JobTraffic:
    """Return a job of roles: time, its exposed part and cover, and rate on links in 200 byte/ns."""
    names = tuple(dict.fromkeys(link for *_, rates in roles for link in rates))
    times = np.array([time for time, *_ in roles], dtype=np.int64)
    sent = np.array([[200 * time * rates.get(link, 0.0) for link in names] for time, _, _, rates in roles])
    slopes = np.array([[0.0 if cover else slope, slope] for _, slope, cover, _ in roles])
    covers = np.array([[0.0, cover] for _, _, cover, _ in roles])
    spans, zeros = np.full_like(times, alone_ns), np.zeros_like(times)
    exposure = Exposure(alone_ns, spans, slopes, covers)
    return JobTraffic(alone_ns // 2, zeros, times, names, sent, zeros, exposure=exposure)


UPLINK, OTHER = Link("rack", 0, "out"), Link("rack", 2, "out")
S = 1_000_000_000


@pytest.mark.parametrize("way", ["mean_field", "packets"])
def test_two_rings_on_one_uplink_by_hand(way: Way) -> None:
    """Steps of 2 s, of which each rings for 1 s at the uplink's full rate: as two jobs without a plan.

    A ring takes s = (1 - p) + 2 p, p = s / (1 + s): the golden ratio; (1 + 1.618) / 2 = 1.309 times as long.
    """
    pair = [job(2 * S, (S, 1.0, 0.0, {UPLINK: 1.0})) for _ in range(2)]
    shared = links(way)
    assert shared.together(pair) == pytest.approx([S * (1 + GOLDEN)] * 2, rel=1e-6)
    assert shared.answers["mean_field"] == 1  # messages of layers are not followed in time


def test_a_ring_beside_a_pipeline_by_hand() -> None:
    """The ring fills the uplink for 1 s of 4; the other's stages send at half of its rate for 2 s of 4.

    Of the uplink each gets half while both send: the pipeline asks for no more and is as alone; it sends for
    half of the time, so the ring takes 1/2 + 2 / 2 = 1.5 s, and its job 4.5 s.
    """
    ring = job(4 * S, (S, 1.0, 0.0, {UPLINK: 1.0}))
    stages = job(4 * S, (2 * S, 0.8, 0.0, {UPLINK: 0.5}), (S, 1.0, 0.0, {OTHER: 1.0}))
    assert links().together([ring, stages]) == pytest.approx([4.5 * S, 4 * S])


def test_only_the_role_on_the_shared_link_is_slowed() -> None:
    """Both fill the uplink of rack 0 for 1 s of 4, one also that of rack 2: s = 1 + p, p = s / (3 + s).

    s^2 + 2 s - 3 = s, so s = (-1 + sqrt 13) / 2 = 1.3028: 4.3028 s each. What the third sends on its own
    uplink, twice as long as it may be alone, changes nothing.
    """
    one = job(4 * S, (S, 1.0, 0.0, {UPLINK: 1.0}))
    both = job(4 * S, (S, 1.0, 0.0, {UPLINK: 1.0}), (2 * S, 1.0, 0.0, {OTHER: 1.0}))
    assert links().together([one, both]) == pytest.approx([S * (3 + (13**0.5 - 1) / 2)] * 2, rel=1e-6)


def test_hidden_communication_costs_what_outlasts_its_cover() -> None:
    """As above with a ring that half a second of computing hides further: 1.5 s of it cost nothing.

    Beside stages that send for half of the time the ring takes 1.5 s; with 0.3 s of cover 0.2 s are exposed,
    and with none hidden but 4/5 of the delay waited for, 0.4 s.
    """
    stages = job(4 * S, (2 * S, 0.8, 0.0, {UPLINK: 0.5}))
    for slope, cover, added in ((1.0, 0.5 * S, 0.0), (1.0, 0.3 * S, 0.2), (0.8, 0.0, 0.4)):
        ring = job(4 * S, (S, slope, cover, {UPLINK: 1.0}))
        result, _ = links().together([ring, stages])
        assert result == pytest.approx((4 + added) * S)


def test_an_iteration_lasts_as_long_as_its_communication() -> None:
    """Both send all the time, all of it hidden: each gets half of the link, and takes twice as long."""
    pair = [job(S, (S, 0.0, 0.0, {UPLINK: 1.0})) for _ in range(2)]
    assert links().together(pair) == pytest.approx([2 * S] * 2, rel=1e-3)


def test_roles_of_a_job_do_not_slow_each_other() -> None:
    """Two roles fill the link one after the other; the other job's 1 % of it takes its own share only.

    It sends at 1 % all the time: each role gets 99 % of the link, 1 / 0.99 times as long, 2.0202 s of 4.
    """
    own = job(4 * S, (S, 1.0, 0.0, {UPLINK: 1.0}), (S, 1.0, 0.0, {UPLINK: 1.0}))
    little = job(S, (S, 0.0, 0.0, {UPLINK: 0.01}))
    result = links().together([own, little])
    assert result == pytest.approx([(2 + 2 / 0.99) * S, S], rel=1e-4)


def test_two_jobs_on_the_fabric_share_the_uplink_of_4_to_1() -> None:
    """Tensor parallelism in machines, rings between racks: each asks for 0.92 of the uplink, 1.84 together.

    With u the rate relative to the uplink: s = 1 - p + 2 u p, where p = s t / T, T = T alone + growth.
    """
    shared, plan = links(), Plan.parse("tp8 zero1 gb8 seq1024")
    profile = language_profile("Llama3-8B", plan)
    pair = [shared.traffic(profile, on(m, m + 2)) for m in (0, 1)]
    (ring,), (u,) = pair[0].transfers_ns, pair[0].rates(pair[0].limits(shared.capacity)).max(axis=1) / 200
    assert 0.85 < u < 0.92
    slowed = 1.0
    for _ in range(100):
        p = slowed * ring / pair[0].iteration_ns(np.array([slowed * ring]))
        slowed = 1 - p + 2 * u * p
    expected = pair[0].iteration_ns(np.array([slowed * ring]))
    assert expected > 1.01 * pair[0].alone_ns
    assert shared.together(pair) == pytest.approx([expected] * 2, rel=1e-5)
    elsewhere = [shared.traffic(profile, on(m, m + 2)) for m in (0, 4)]
    assert shared.together(elsewhere) == [pair[0].alone_ns] * 2  # to the ns
    inside = [shared.traffic(profile, on(m, m + 1)) for m in (0, 4)]  # rings in a rack
    assert shared.together(inside) == [inside[0].alone_ns] * 2


@pytest.mark.parametrize("seed", range(30))
def test_no_job_is_quicker_beside_others_and_no_link_too_full(seed: int) -> None:
    """Random jobs, some without a plan, on random placements; mean loads are within the capacity.

    5 % are allowed: hidden roles that send beside each other are priced above their link alone.
    """
    draw, shared = Random(seed), links()
    jobs = []
    for _ in range(draw.randint(2, 10)):
        name, text = draw.choice(
            [("Llama3-8B", "fsdp"), ("Llama3-8B", "tp4"), ("Qwen3-30B-A3B", "ep8 zero1")]
        )
        plan = Plan.parse(text)
        profile = language_profile(name, plan) if draw.random() < 0.7 else get_profile("VGG16")
        jobs.append(shared.traffic(profile, random_placement(draw, plan.replica)))
    together = shared.together(jobs)
    used = Counter[Link]()
    for one, ns in zip(jobs, together, strict=True):
        assert ns >= one.alone_ns * (1 - 1e-3 * (len(jobs) > 8))
        for link, sent_bytes in zip(one.links, one.sent_bytes.sum(axis=0), strict=True):
            used[link] += sent_bytes / ns
    assert all(load <= 1.05 * shared.capacity[link] for link, load in used.items() if link in shared.capacity)


def test_policies_see_messages_of_layers_spread_over_the_step() -> None:
    """Stages send 256 x 2 x 8 bytes throughout the step; sharded gradients at its end, at their own rate."""
    plan = Plan(tp=2, pp=2, sequence=16, sharding="optimizer")
    traffic = links().traffic(language_profile(TINY, plan), on(0, 2, 4, 6, gpus=2))
    seen = traffic.joined()
    assert seen.alone_ns == traffic.alone_ns
    begins, ends = seen.issued_ns.tolist(), (seen.issued_ns + seen.transfers_ns).tolist()
    assert (begins[0], ends[0], ends[1]) == (0, begins[1], traffic.alone_ns)
    assert seen.transfers_ns[1] == traffic.transfers_ns[1]
    assert seen.sent_bytes.sum(axis=0).tolist() == traffic.sent_bytes.sum(axis=0).tolist()
    assert seen.sent_bytes[0, 0] == 8 * 128 * 2  # half of 256 from each member of a tensor-parallel pair


def test_a_stretched_step_grows_by_twice_the_time() -> None:
    """Twice as long, and 100 ns of waiting: 1 s that 0.3 s cover add 0.7 s, 1.4 s of the stretched step."""
    ring = job(4 * S, (S, 1.0, 0.3 * S, {UPLINK: 1.0}))
    stretched = ring.stretched(2.0, 100)
    assert stretched.alone_ns == 8 * S + 100
    assert stretched.iteration_ns(np.array([4.0 * S])) == pytest.approx(8 * S + 100 + 1.4 * S)
