"""The chain of effects and couplings: what each adds, in which order, and who may add to it."""

from dataclasses import replace

import pytest

from artist.core.cluster import Cluster, Group, Machine, racks_of
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec
from artist.engine.hypothetical import Hypothetical
from artist.performance.api import Changed
from artist.performance.effects.compute import Compute
from artist.performance.placed import PlacedPerformance
from artist.testing.performance_conformance import PerformanceConformance
from artist.testing.tiny import on, tiny_cluster
from netmodels.models.zero import ZeroModel

V100, T4 = Machine("fast", 0, "v", 4, gpu_type="V100", speed=1.0), Machine("slow", 0, "t", 8, "T4", 0.25)
MIXED = Cluster([V100, T4])


class Stall:
    """Waits for input as long as it computes."""

    part = "input_stall_ns"

    def ns(self, spec, allocation, cluster, compute_ns):
        return compute_ns


class Crowd:
    """Every other job on the first machine costs a job there a tenth of its iteration so far."""

    def touched(self, changed, running):
        return running.jobs_on(0)

    def coupled(self, prices, running, alone):
        others = len(running.jobs_on(0)) - 1
        here = [job for job in prices if any(s.machine == 0 for s in running.allocation(job).slices)]
        return {
            j: prices[j]._replace(contention_ns=sum(prices[j]._replace(contention_ns=0)) * others // 10)
            for j in here
        }


class Echo:
    """A job waits a tenth of what the others take whose last machine is its own, whatever these wait for."""

    def touched(self, changed, running):
        machines = dict.fromkeys(a.slices[-1].machine for _, *both in changed for a in both if a is not None)
        return [job for m in machines for job in self._there(running, m)]

    def coupled(self, prices, running, alone):
        longer = {}
        for job, parts in prices.items():
            near = self._there(running, running.allocation(job).slices[-1].machine)
            others = [prices[j] if j in prices else alone(j) for j in near if j != job]
            longer[job] = parts._replace(contention_ns=parts.contention_ns + sum(map(sum, others)) // 10)
        return longer

    def _there(self, running, machine):
        return [j for j in running.jobs_on(machine) if running.allocation(j).slices[-1].machine == machine]


class Reads:
    """A changed job waits as long as an iteration of job 0 takes, which did not change."""

    def touched(self, changed, running):
        return [job for job, _, after in changed if after is not None]

    def coupled(self, prices, running, alone):
        return {j: parts._replace(contention_ns=sum(alone(0))) for j, parts in prices.items() if j}


class TestCouplingsThatReadEachOther(PerformanceConformance):
    """A coupling after groups hears of the members that they touched, and of their times."""

    def make_performance(self):
        return chain(couplings=[Echo()])


class TestChainWithPartsOfOnesOwn(PerformanceConformance):
    """The suite of every source of times, with an effect and a coupling of the user's own."""

    def make_performance(self):
        return chain(effects=[Stall()], couplings=[Crowd()])


def chain(**parts):
    return PlacedPerformance(ZeroModel(), None, None, None, **parts)


def spec(gpus, compute_ns=1000, **demand):
    return JobSpec("j", 0, Demand(gpus, **demand), 10, compute_ns)


def price(performance, held, cluster=MIXED):
    """Return the parts of jobs that run together, in order."""
    running = Hypothetical([s for s, _ in held], cluster, {i: a for i, (_, a) in enumerate(held)})
    parts = performance.reprice([Changed(i, None, a) for i, (_, a) in enumerate(held)], running)
    return [parts[i] for i in range(len(held))]


def test_an_effect_sees_compute_only_and_adds_to_its_part():
    """A cap of 0.5 adds 1000 to compute 1000; the stall is compute's 1000, not 2000."""
    performance = chain(effects=[Stall()])
    held = [(spec(1), on((0, 1), cap=0.5))]
    assert price(performance, held) == [IterationParts(1000, input_stall_ns=1000, interference_ns=1000)]


def test_two_effects_of_one_part_add_up():
    """Twice a stall as long as compute: 2000."""
    performance = chain(effects=[Stall(), Stall()])
    assert price(performance, [(spec(1), on((0, 1)))]) == [IterationParts(1000, input_stall_ns=2000)]


def test_a_coupling_comes_after_all_effects():
    """Two jobs of 1000 + 1000 on the first machine: each waits a tenth of 2000 for the other."""
    performance = chain(effects=[Stall()], couplings=[Crowd()])
    first, second, elsewhere = price(performance, [(spec(1), on((m, 1))) for m in (0, 0, 1)])
    assert first == second == IterationParts(1000, input_stall_ns=1000, contention_ns=200)
    assert elsewhere.contention_ns == 0


@pytest.mark.parametrize(
    ("how", "time_ns"),
    [
        ({}, 2000),  # 4 GPUs asked, 2 V100 and 6 T4 as slow as a T4: 4 / (8 x 0.25)
        ({"mixed_types": "sum"}, 1143),  # 2 + 6 / 4 = 3.5 V100: 4 / 3.5
        ({"mixed_types": "sum", "mixed_efficiency": 0.7}, 1633),  # 4 / (0.7 x 3.5)
        ({"mixed_types": "sum", "mixed_efficiency": 0.1}, 2000),  # never worse than all as slow as a T4
    ],
)
def test_gpus_of_several_types(how, time_ns):
    """An iteration of 1000 ns on 4 V100, now on 2 of them and 6 T4 of a quarter of the speed."""
    job = spec(4, min_gpus=4, max_gpus=8, mixed_types=True)
    held = [(job, on((0, 2), (1, 6)))]
    assert price(chain(compute=Compute(**how)), held) == [IterationParts(time_ns)]


@pytest.mark.parametrize(("gpus", "time_ns"), [(2, 1000), (4, 556), (1, 2000)])
def test_gpus_beyond_the_least_bring_less(gpus, time_ns):
    """Loss 0.2, least 2, asked 2: 4 GPUs do as much as 2 + 2 x 0.8 = 3.6, so 1000 x 2 / 3.6.

    Where the least is 1 of 2 asked, these count 1 + 0.8 = 1.8 and one GPU takes 1.8 times as long.
    """
    job = spec(2, min_gpus=2, max_gpus=4)
    if gpus == 1:
        job, time_ns = replace(job, demand=replace(job.demand, min_gpus=1)), 1800
    held = [(job, on((0, gpus)))]
    assert price(chain(compute=Compute(scaling_loss=0.2)), held) == [IterationParts(time_ns)]


GROUP = Group("g", ((0, 1), (1, 1)))
GROUPED = {0: on((0, 1), (1, 1), group=GROUP), 1: on((0, 1), group=GROUP), 2: on((1, 1))}


def reprice(performance, changed):
    """Return the new parts of jobs 0 to 2 where they are in GROUPED, after some of them came."""
    running = Hypothetical([spec(2), spec(1), spec(1)], tiny_cluster(2, 4), GROUPED)
    return performance.reprice([Changed(job, None, GROUPED[job]) for job in changed], running)


def test_a_coupling_hears_of_those_whom_an_earlier_one_touched():
    """Job 1 joins job 0 on m0: both take 2000 from now on. Job 2, beside job 0 on m1, waits 200, not 100."""
    performance = chain(couplings=[Echo()])
    result, anew = reprice(performance, [1]), reprice(performance, [0, 1, 2])
    assert result == anew
    assert result[2] == IterationParts(1000, contention_ns=200)


def test_a_coupling_asks_for_times_as_earlier_ones_left_them():
    """Job 0 shares with job 1 and takes 2000, not 1000: so long does job 2 wait, which comes now."""
    assert reprice(chain(couplings=[Reads()]), [2])[2] == IterationParts(1000, contention_ns=2000)


def test_a_job_that_is_not_elastic_loses_nothing_by_scaling():
    """8 V100 of worth 1, or 16 T4 of worth 0.5 and a third of the speed: 1.5 times as long, loss or none."""
    cluster = Cluster([Machine("m", 0, "t", 16, "T4", speed=1 / 12, worth=0.5)])
    job = spec(8, fungible=True, measured_speed=0.25)
    (parts,) = price(chain(compute=Compute(scaling_loss=0.2)), [(job, on((0, 16)))], cluster)
    assert parts == IterationParts(1500)


def test_gpus_beyond_the_minimum_count_by_replacement_ratio():
    """The same, elastic from 4: 8 of 8 count 4 + 4 x 0.8 = 7.2; 24 T4 are worth 12: 4 + 8 x 0.8 = 10.4.

    24 T4 of a third of the speed do as much as 8: 1000 ns without loss; x (7.2 / 8) / (10.4 / 12) = 1038.
    """
    cluster = Cluster([Machine("m", 0, "t", 24, "T4", speed=1 / 12, worth=0.5)])
    job = spec(8, min_gpus=4, max_gpus=12, fungible=True, measured_speed=0.25, measured_worth=1)
    (parts,) = price(chain(compute=Compute(scaling_loss=0.2)), [(job, on((0, 24)))], cluster)
    assert parts == IterationParts(1038)


def test_jobs_cross_the_links_of_the_racks_that_they_are_in():
    """Machines 0, 1 in rack 0, machine 2 in rack 1: one job inside a machine, one in a rack, one beyond."""
    cluster = Cluster([Machine(f"m{i}", i // 2, "box", 4) for i in range(3)])
    held = {0: on((0, 1)), 1: on((0, 1), (1, 1)), 2: on((1, 1), (2, 1))}
    running = Hypothetical([spec(1), spec(2), spec(2)], cluster, held)
    assert [running.crossing_machine(m) for m in range(3)] == [[1], [1, 2], [2]]
    assert [running.crossing_rack(rack) for rack in (0, 1)] == [[2], [2]]
    assert [racks_of(a, cluster) for a in held.values()] == [(0,), (0,), (0, 1)]
