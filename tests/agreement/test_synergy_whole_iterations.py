"""Iterations of which a whole number fills a round."""

import numpy as np
import pytest
from synergy_program import WholeIterations

from artist.engine.overheads import Overheads
from artist.performance.couplings.packed import Packed
from artist.performance.placed import PlacedPerformance
from artist.policies.basic.ordered import Ordered
from artist.testing.performance_conformance import PerformanceConformance
from artist.testing.tiny import Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S
from netmodels.models.zero import ZeroModel

ROUND_NS = 300 * NS_PER_S


class Stall:
    """Waits for input three times as long as it computes, with a CPU for as long."""

    part = "input_stall_ns"

    def ns(self, spec, allocation, cluster, compute_ns):
        return compute_ns * (1 if sum(s.cpus for s in allocation.slices) else 3)

    def on_grid(self, spec, allocation, cluster, compute_ns, cpus, memory_bytes):
        return compute_ns * np.where(cpus + 0 * memory_bytes > 0, 1, 3)


def chain(round_ns=ROUND_NS, **parts):
    return WholeIterations(PlacedPerformance(ZeroModel(), None, None, None, **parts), round_ns)


class TestWholeIterations(PerformanceConformance):
    """A grid's answers equal a run's, groups, CPU-only jobs and a stall included."""

    def make_performance(self):
        return chain(10_000_000, packed=Packed(0.2), effects=[Stall()])


@pytest.mark.parametrize(
    ("iteration_ns", "expected_ns"),
    [
        (670_000_000, ROUND_NS // 447),  # 447.76 fit, and 0.51 s would be left
        (600_000_000, 600_000_000),  # 500, and nothing is left
        (204_081_633, ROUND_NS // 1470),  # 0.6 s / 2.94 is 300 s / 1470, rounded up: 1469.999997 fit
        (300_000_000_000, ROUND_NS),  # one
        (301_000_000_000, 301_000_000_000),  # none: left as it is
        (1, 1),
    ],
)
def test_a_whole_number_fills_a_round(iteration_ns, expected_ns):
    """300 s / 0.67 s is 447.76: each of 447 takes 300 s / 447 = 0.67114 s, in a run and on a grid."""
    spec, performance = job("a", 1, iteration_ns / NS_PER_S, iteration_s=iteration_ns / NS_PER_S), chain()
    result, _ = run_checked([spec], tiny_cluster(), Ordered(order="fifo"), performance)
    assert result.columns["finish_ns"].tolist() == [expected_ns]
    none = np.array([[0]])
    assert performance.at_resources(spec, on((0, 1)), tiny_cluster(), none, none).tolist() == [[expected_ns]]


@pytest.mark.parametrize(("iterations", "finish_s"), [(447, 300), (448, 600), (894, 600)])
def test_a_round_has_room_for_447(iterations, finish_s):
    """Of 0.67 s: 447 fill a round of 300 s, one more is noticed after the next, twice as many there, too.

    Without, 300 s / 0.67 s = 447.76 would go on into the next round, and 894 end at 599 s, 895 at 599.65 s.
    """
    spec = job("a", 1, iteration_s=0.67, seconds=0.67 * iterations)
    noticed = Overheads(notice_s=300)
    result, _ = run_checked([spec], tiny_cluster(), Ordered(order="fifo"), chain(), overheads=noticed)
    assert seconds(result, "finish_ns") == [finish_s]


def test_the_added_time_of_an_iteration_counts_as_compute():
    """0.21 s of compute and 0.63 s of stall are 0.84 s: 357.14 fit, and each of 357 takes 0.840336134 s.

    With a CPU the stall is 0.21 s: 714.29 fit.
    """
    cluster = tiny_cluster(cpus=1)
    spec, performance = job("a", 1, iteration_s=0.21, seconds=0.21), chain(effects=[Stall()])
    times = performance.at_resources(spec, on((0, 1)), cluster, np.array([[0], [1]]), np.array([[0]]))
    assert times.tolist() == [[840_336_134], [ROUND_NS // 714]]
    script = Scripted({0: lambda view, plan: plan.place(0, on((0, 1)))})
    result, _ = run_checked([spec], cluster, script, performance)
    assert seconds(result, "input_stall_ns") == [0.63]
    assert result.columns["compute_ns"].tolist() == [210_336_134]
