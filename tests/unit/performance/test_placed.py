"""The iteration time of a placement: compute, communication from the network model, cap, turns."""

from dataclasses import replace

import pytest

from artist.core.cluster import Cluster, Group, Machine
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec, Stages
from artist.engine.hypothetical import Hypothetical
from artist.performance.api import Changed
from artist.performance.couplings.interleaved import Interleaved
from artist.performance.couplings.packed import Packed
from artist.performance.effects.compute import Compute
from artist.performance.effects.stages import measured_shares, stages_of
from artist.performance.placed import PlacedPerformance
from artist.testing.tiny import on
from netmodels.api import Dimension, Fabric, IterationTime, Layer, Profile, SystemSettings

LINK = Dimension("switch", 500, 50.0)
FABRIC = Fabric("f", (LINK,), (LINK,), (LINK,), SystemSettings())
PROFILE = Profile(
    "toy", (Layer("only", 400, 300, 300, 4000),), source="hand"
)  # 400 + 300 run: no input gradient
CLUSTER = Cluster(
    [Machine(f"m{i}", i // 2, "box", 4) for i in range(4)]
    + [Machine("slow", 2, "old", 4, gpu_type="t4", speed=0.5)]
)


class Network:
    """Answers 40 % of its compute on one machine, 80 % in a rack, 160 % beyond; writes down the questions."""

    version = "test"

    def __init__(self):
        self.asked = []

    def iteration(self, profile, shape, fabric, system):
        self.asked.append((profile.compute_ns, shape))
        share = 0.4 if len(shape) == 1 and len(shape[0]) == 1 else 0.8 if len(shape) == 1 else 1.6
        exposed = round(profile.compute_ns * share)
        return IterationTime(profile.compute_ns, exposed, exposed)


def spec(gpus, compute_ns=1000, model="toy", gpu_utilization=1.0, stages=None, **demand):
    demand = Demand(gpus, **demand)
    stages = Stages(*stages) if stages else None
    return JobSpec("j", 0, demand, 10, compute_ns, model, gpu_utilization=gpu_utilization, stages=stages)


def price(*held, network=None, interference=0.0, stage="model", **parts):
    """Return the parts of jobs that run together, in order."""
    parts = {"packed": Packed(interference), "network_stage": stage, **parts}
    profiles = {"toy": PROFILE}.__getitem__
    performance = PlacedPerformance(network or Network(), FABRIC, FABRIC.system, profiles, **parts)
    running = Hypothetical([s for s, _ in held], CLUSTER, {i: a for i, (_, a) in enumerate(held)})
    parts = performance.reprice([Changed(i, None, a) for i, (_, a) in enumerate(held)], running)
    return [parts[i] for i in range(len(held))]


@pytest.mark.parametrize(
    ("slices", "exposed"),
    [
        (((0, 4),), 400),
        (((0, 2), (1, 2)), 800),
        (((0, 2), (2, 2)), 1600),
    ],
)
def test_the_share_of_the_network_model_is_applied_to_the_trace_s_compute(slices, exposed):
    """Compute 1000 ns in the trace, 700 in the profile: 40, 80, 160 % of the former by tier."""
    assert price((spec(4), on(*slices))) == [IterationParts(1000, exposed_ns=exposed)]


def test_one_gpu_communicates_nothing_and_asks_no_model():
    """A single GPU needs no network model."""
    network = Network()
    assert price((spec(1), on((0, 1))), network=network) == [IterationParts(1000)]
    assert network.asked == []


def test_equal_shapes_are_asked_once():
    """Two jobs of one model on other machines of the same shape: one question."""
    network = Network()
    price((spec(2), on((0, 2))), (spec(2, 5000), on((3, 2))), network=network)
    assert len(network.asked) == 1


def test_fewer_gpus_take_longer_and_the_profile_is_scaled_with_them():
    """4 asked, 2 held: compute 2000; the profile is asked with 2 x 700 = 1400 ns."""
    network = Network()
    elastic = spec(4, min_gpus=2, max_gpus=4)
    assert price((elastic, on((0, 2))), network=network) == [IterationParts(2000, exposed_ns=800)]
    assert network.asked == [(1400, ((("box", 2),),))]


def test_equal_shapes_of_other_demands_are_asked_again():
    """Two GPUs of one machine: of two asked the profile computes for 700 ns, of four asked for 1400.

    What 2100 ns of communication are exposed beyond that is 1400 and 700, 2 and 1/2 times the compute, so of
    1000 and 2 x 1000 ns of the trace 2000 and 1000. With one answer for both it would be 2000 and 4000.
    """

    class Hiding(Network):
        def iteration(self, profile, shape, fabric, system):
            return IterationTime(profile.compute_ns, 2100, 2100 - profile.compute_ns)

    two, four = (spec(2), on((0, 2))), (spec(4, min_gpus=2, max_gpus=4), on((3, 2)))
    assert price(two, four, network=Hiding()) == [
        IterationParts(1000, exposed_ns=2000),
        IterationParts(2000, exposed_ns=1000),
    ]


def test_slower_gpus_take_longer():
    """Speed 0.5: twice the compute; the shape names the machine type."""
    network = Network()
    assert price((spec(2), on((4, 2))), network=network) == [IterationParts(2000, exposed_ns=800)]
    assert network.asked == [(1400, ((("old", 2),),))]


def test_a_trace_s_times_hold_for_the_gpus_that_it_was_measured_on():
    """Measured at speed 0.5: 1000 ns on two of these, 2000 on one, 500 on two reference GPUs."""
    parts = price((spec(2, measured_speed=0.5), on((4, 2))), (spec(2, measured_speed=0.5), on((0, 2))))
    assert parts == [IterationParts(1000, exposed_ns=400), IterationParts(500, exposed_ns=200)]
    elastic = spec(2, measured_speed=0.5, min_gpus=1, max_gpus=2)
    assert price((elastic, on((4, 1)))) == [IterationParts(2000)]
    loss = Compute(scaling_loss=0.5)  # of two GPUs the second counts half: 1000 x 1.5 / 1 on one
    assert loss.ns(elastic, on((4, 1)), CLUSTER) == 1500


@pytest.mark.parametrize("measured_speed", [0.5, 1.0, 4.0])
def test_the_profile_is_of_the_reference_gpu_whatever_the_trace_was_measured_on(measured_speed):
    """700 ns on the reference GPU are 1400 on GPUs of half the speed, for any trace."""
    network = Network()
    price((spec(2, measured_speed=measured_speed), on((4, 2))), network=network)
    assert network.asked == [(1400, ((("old", 2),),))]


def test_a_cpu_job_has_no_speed():
    """4 asked, 2 held: twice the time, whatever it was measured on."""
    assert price((spec(0, cpus=4, model="", measured_speed=0.5), on((4, 0, 2)))) == [IterationParts(2000)]


def test_the_slowest_gpu_sets_the_pace_of_a_mix():
    """2 fast and 2 slow ones: as four of half the speed."""
    (parts,) = price((spec(4, mixed_types=True), on((0, 2), (4, 2))))
    assert parts.compute_ns == 2000


def test_a_cpu_job_goes_by_its_cpus():
    """4 asked, 2 held: twice the time; no network."""
    assert price((spec(0, cpus=4, model=""), on((0, 0, 2)))) == [IterationParts(2000)]


def test_a_bandwidth_cap_stretches_compute():
    """Half of the bandwidth: as much again, booked as interference."""
    assert price((spec(1), on((0, 1), cap=0.5))) == [IterationParts(1000, interference_ns=1000)]


PAIR = Group("g", ((0, 2),))


def member(gpus=2, group=PAIR, machine=0, **its):
    """Return a job that holds GPUs of a group."""
    return spec(gpus, **its), on((machine, gpus), group=group)


def test_members_that_never_leave_a_gpu_idle_run_in_sequence():
    """One GPU, no communication, so u = 1: of two, each waits 1000 ns for the other; of three 2000."""
    single = Group("g", ((0, 1),))
    assert price(*[member(1, single)] * 2) == [IterationParts(1000, sharing_ns=1000)] * 2
    assert price(*[member(1, single)] * 3) == [IterationParts(1000, sharing_ns=2000)] * 3


def test_members_side_by_side_do_not_wait():
    """Two of one GPU each in a group of two GPUs: 2 x 1 busy of 2, and no interference either."""
    assert price(member(1), member(1), interference=0.5) == [IterationParts(1000)] * 2


def test_members_fill_each_other_s_communication():
    """1000 of 1400 ns compute: u = 0.714, two of them 1.43: 2000 ns, which is both computes, one by one."""
    assert price(member(), member()) == [IterationParts(1000, exposed_ns=400, sharing_ns=600)] * 2


def test_members_whose_shares_fit_run_as_if_alone():
    """Half of 1000 of 1400 ns busy is u = 0.5 x 1000 / 1400 = 0.357, twice 0.71 < 1: nobody waits."""
    low = member(gpu_utilization=0.5)
    assert price(low, low) == [IterationParts(1000, exposed_ns=400)] * 2


def test_a_busy_and_an_idle_member_are_slowed_down_alike():
    """Alone u = 1 (no model) and 0.25: the sum of 1.25 stretches 1000 ns and 4000 ns by a quarter."""
    busy, idle = member(model=""), member(model="", compute_ns=4000, gpu_utilization=0.25)
    assert price(busy, idle) == [IterationParts(1000, sharing_ns=250), IterationParts(4000, sharing_ns=1000)]


def test_an_opportunistic_member_runs_at_the_idle_fraction_of_the_fullest_machine():
    """A (u = 1 / 2.6 on m0 and m3) is not slowed down; b on m3, u = 1, gets 1.6 / 2.6 of it: 1625 ns."""
    group = Group("g", ((0, 2), (3, 2)))
    a = spec(4), on((0, 2), (3, 2), group=group)
    b = spec(2, model=""), on((3, 2), group=group, opportunistic=True)
    assert [sum(parts) for parts in price(a, b)] == [2600, 1625]


def test_packed_jobs_share_storage_and_network_too():
    """60 % of 1000 ns on storage, 40 % on the GPU, each: 0.8 of the GPU, 1.2 of the storage: 1.2 x 1000 ns.

    If one is opportunistic it gets the 0.4 of the time in which the other does not read: 0.6 / 0.4 x 1000.
    """
    group = Group("g", ((0, 1),))
    reads = member(1, group, gpu_utilization=0.4, stages=LOADS)
    assert [sum(parts) for parts in price(reads, reads)] == [1200, 1200]
    guest = reads[0], on((0, 1), group=group, opportunistic=True)
    assert [sum(parts) for parts in price(reads, guest)] == [1000, 1500]
    for stages in ((0, 600, 400, 0), (0, 0, 400, 600)):  # CPUs, and network
        other = member(1, group, gpu_utilization=0.4, stages=stages)
        assert [sum(parts) for parts in price(other, other, stage="table")] == [1200, 1200]


def test_a_stall_leaves_the_gpus_idle():
    """A cap of 0.5: 1000 of 2000 ns busy, u = 0.5; two of them fit."""
    capped = spec(1), on((0, 1), cap=0.5, group=Group("g", ((0, 1),)))
    assert price(capped, capped) == [IterationParts(1000, interference_ns=1000)] * 2


def test_the_fullest_machine_sets_the_pace():
    """A on m0 and m3 with u = 1 / 2.6; b on m3 with u = 1 shares only that: 1.385 x 2600 = 3600 ns for a."""
    group = Group("g", ((0, 2), (3, 2)))
    a = spec(4), on((0, 2), (3, 2), group=group)
    b = spec(2, model=""), on((3, 2), group=group)
    assert [sum(parts) for parts in price(a, b)] == [3600, 1385]
    (alone,) = price(a)
    assert alone == IterationParts(1000, exposed_ns=1600)


def test_packing_may_cost_more_than_waiting():
    """Two of u = 0.5 on the same GPUs do not wait, but lose 30 % to each other; alone they lose nothing."""
    low = member(1, Group("g", ((0, 1),)), gpu_utilization=0.5)
    assert price(low, low, interference=0.3) == [IterationParts(1000, interference_ns=300)] * 2
    assert price(low, interference=0.3) == [IterationParts(1000)]


def test_the_end_of_a_member_reprices_the_others():
    """After one of two members left, the other one is in the answer although it did not change."""
    group = Group("g", ((0, 2),))
    mine = on((0, 2), group=group)
    performance = PlacedPerformance(Network(), FABRIC, FABRIC.system, {"toy": PROFILE}.__getitem__)
    running = Hypothetical([spec(2), spec(2)], CLUSTER, {0: mine})
    assert performance.reprice([Changed(1, mine, None)], running) == {0: IterationParts(1000, exposed_ns=400)}


def test_skew_comes_from_the_profile():
    """The only layer is the whole model; CPU jobs have none."""
    performance = PlacedPerformance(Network(), FABRIC, FABRIC.system, {"toy": PROFILE}.__getitem__)
    assert performance.skew(spec(2)) == 1.0
    assert performance.skew(spec(0, cpus=1, model="")) == 0.0


LOADS = (600, 0, 400, 0)  # storage, CPU, GPU, network
COMPUTES = (100, 0, 700, 300)
ONE = Group("g", ((0, 1),), mode="interleaved")
TWO = Group("g", ((0, 2),), mode="interleaved")


def test_interleaved_members_have_one_clock():
    """One GPU each, alone 1000 and 800 ns: storage 600 beside GPU 700, then GPU 400 beside storage 100.

    T = 700 + 400 + 0 + 0: one GPU does not use the network, whatever the trace's stage of 300 says.
    """
    pair = [member(1, ONE, stages=LOADS), member(1, ONE, stages=COMPUTES, compute_ns=800)]
    assert price(*pair) == [
        IterationParts(1000, sharing_ns=100),
        IterationParts(800, sharing_ns=300),
    ]


def test_the_network_stage_is_all_of_the_communication_or_the_trace_s():
    """Two GPUs. The model sends for 40 % of the GPU's stage: 160 and 280 ns; the trace says 0 and 300.

    LOADS 600 0 400 n shifted by two against COMPUTES 100 0 700 m: max(600, 700) + max(0, m) + max(400, 100)
    + max(n, 0) = 1100 + m + n: by the trace 1400, by the model 1540. By one it is 600 + 700 + max(400, m) +
    max(n, 100) = 1860, by three max(600, m) + max(0, 100) + 400 + max(n, 700) = 1800.
    """
    pair = [member(group=TWO, stages=LOADS), member(group=TWO, stages=COMPUTES)]
    by_model, by_trace = (price(*pair, stage=stage) for stage in ("model", "table"))
    assert [sum(parts) for parts in by_model] == [1540, 1540]
    assert [sum(parts) for parts in by_trace] == [1400, 1400]
    assert by_trace[0] == IterationParts(1000, exposed_ns=160, sharing_ns=240)


def test_no_member_is_faster_than_the_slowest_alone():
    """Stages of 300 in all were measured for an iteration of 1000 ns: T would be 300, both take 1000."""
    short = spec(1, 1000, stages=(0, 0, 300, 0)), on((0, 1), group=ONE)
    other = spec(1, 500, stages=(0, 100, 0, 0)), short[1]
    assert [sum(parts) for parts in price(short, other)] == [1000, 1000]


def test_the_slowdown_and_the_worst_ordering_stretch_the_clock():
    """CPU 1000, GPU 1000: shifted by one 1000 each, by two all four in turn; both times 1.33."""
    for ordering, period in (("best", 3990), ("worst", 5320)):
        group = replace(ONE, ordering=ordering)
        both = member(1, group, stages=(0, 1000, 1000, 0), compute_ns=2000)
        assert [sum(p) for p in price(both, both, interleaved=Interleaved((1.33,)))] == [period, period]


def test_an_interleaved_group_of_one_takes_its_measured_time():
    """The sum of its stages, 1100, is not what was measured: 800 compute, 40 % of GPU 700 exposed."""
    alone = price(member(group=TWO, stages=COMPUTES, compute_ns=800))
    assert alone == [IterationParts(800, exposed_ns=280)]


def test_stages_are_the_trace_s_or_the_model_s_or_all_on_the_gpu():
    """VGG16 on 8 V100: 70.29, 11.71, 75 and 66 of 214 ms; on 12 the same. One not measured: GPU only."""
    toy, vgg = spec(2), spec(12, 214_000, "VGG16")
    assert stages_of(spec(2, stages=LOADS)) == LOADS
    assert stages_of(toy) == (0, 0, 1000, 0)
    assert stages_of(vgg) == (70_290, 11_710, 75_000, 66_000)
    assert all(sum(shares) > 0.7 for by_gpus in measured_shares().values() for shares in by_gpus.values())


def test_stages_follow_the_gpus():
    """Half the GPUs of half the speed: all that is done by the job itself takes four times as long."""
    performance = PlacedPerformance(Network(), FABRIC, FABRIC.system, {"toy": PROFILE}.__getitem__)
    elastic = spec(4, min_gpus=2, max_gpus=4, stages=LOADS)
    assert performance.stages(elastic, on((4, 2)), CLUSTER) == (2400, 0, 1600, 640)  # 40 % of the GPU sent
    there = spec(4, min_gpus=2, max_gpus=4, stages=LOADS, measured_speed=0.5)  # where measured: half of that
    assert performance.stages(there, on((4, 2)), CLUSTER) == (1200, 0, 800, 320)


def test_interleaved_members_are_all_guaranteed():
    """One clock leaves no time idle for others: the prices are the same, whoever of them is opportunistic."""
    first, second = member(1, ONE, stages=LOADS), member(1, ONE, stages=COMPUTES, compute_ns=800)
    opportunistic = second[0], on((0, 1), group=ONE, opportunistic=True)
    assert price(first, opportunistic) == price(first, second)


def test_a_group_is_priced_at_once():
    """AntMan's groups have a hundred members: priced once a member, a change would cost their square."""

    class Counting(Packed):
        asked = 0

        def parts(self, members, group):
            self.asked += 1
            return super().parts(members, group)

    counting, group = Counting(), Group("g", ((0, 2),))
    parts = price(*[member(1, group, gpu_utilization=0.5) for _ in range(8)], packed=counting)
    assert (counting.asked, {sum(part) for part in parts}) == (1, {2000})  # 8 x 0.5 on 2 GPUs
