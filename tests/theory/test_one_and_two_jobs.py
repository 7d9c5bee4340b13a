"""One job alone, and two jobs that share a group or a link: finish times that a person can work out."""

from collections.abc import Mapping, Sequence

import pytest

from artist.core.cluster import Allocation, Group
from artist.core.iteration import IterationParts
from artist.core.job import Demand, JobSpec
from artist.engine.overheads import Overheads
from artist.performance.api import Changed, Running
from artist.performance.placed import PlacedPerformance
from artist.policies.basic.ordered import Ordered
from artist.testing.tiny import PlainPerformance, Scripted, job, on, run_checked, seconds, tiny_cluster
from artist.units import NS_PER_S
from netmodels.api import IterationTime
from netmodels.models.zero import ZeroModel

# --- one job alone


@pytest.mark.parametrize("delay_s", [0, 17.25])
@pytest.mark.parametrize(("gpus", "exposed_ns"), [(1, 0), (2, 0), (4, 41_000)])
def test_one_job_alone(gpus: int, exposed_ns: int, delay_s: float) -> None:
    """JCT = start delay + iterations x (compute + exposed communication), to the nanosecond.

    The network says 41 of 100 us are exposed on the shape of 4 GPUs (2 machines), nothing inside one
    machine, and that share is applied to the trace's own 1,234,567 ns:
    1,234,567 x 41,000 / 100,000 = 506,172.47, rounded 506,172 ns. 1000 iterations of 1,740,739 ns.
    """

    class Network:
        version = "1"

        def iteration(self, profile, shape, fabric, system):
            return IterationTime(100_000, exposed_ns, exposed_ns)

    performance = PlacedPerformance(Network(), None, None, lambda model: None)
    spec = JobSpec("a", 7, Demand(gpus), 1000, 1_234_567, model="net")
    costs = Overheads(start_s=delay_s)
    result, _ = run_checked([spec], tiny_cluster(2, 2), Ordered(order="fifo"), performance, overheads=costs)
    iteration = 1_234_567 + (506_172 if exposed_ns else 0)
    delay = round(delay_s * NS_PER_S)
    assert result.columns["finish_ns"].tolist() == [7 + delay + 1000 * iteration]
    assert result.columns["overhead_ns"].tolist() == [delay]
    assert result.columns["queueing_ns"].tolist() == [0]
    assert result.columns["exposed_comm_ns"].tolist() == [1000 * (iteration - 1_234_567)]
    assert result.busy_gpu_ns == gpus * (delay + 1000 * iteration)


def test_one_long_job_is_exact() -> None:
    """Ten million iterations of a prime number of ns: float seconds would be off by now.

    10^7 x 86,028,121 ns = 860,281,210,000,000 ns, and the iteration count comes out right.
    """
    spec = JobSpec("a", 3, Demand(1), 10**7, 86_028_121)
    result, _ = run_checked([spec], tiny_cluster(1, 1), Ordered(order="fifo"))
    assert result.columns["finish_ns"].tolist() == [3 + 860_281_210_000_000]
    assert result.columns["iterations"].tolist() == [10**7]


# --- two jobs take turns in one group


@pytest.mark.parametrize(
    ("first", "second", "at"), [(10, 4, 3), (10, 7, 3), (10, 40, 3), (5, 5, 0), (8, 3, 0.5), (9, 9, 2.25)]
)
@pytest.mark.parametrize("placed", [False, True], ids=["plain", "placed"])
def test_two_jobs_in_a_group_run_at_half_speed(first: int, second: int, at: float, placed: bool) -> None:
    """Taking turns on the same GPUs halves the speed of both and loses no work.

    Iterations of 1 s; the second job comes at `at` < first. Together each is half as fast, until the
    shorter rest is done: min(first - at, second) = m seconds of work each, over at + 2 m. The other goes
    on alone and ends when all work is done, at first + second. (10, 4, 3): m = 4; 3 + 8 = 11, and 14.
    """
    group = Group("g", ((0, 2),))

    def start(number: int):
        return lambda view, plan: plan.place(number, on((0, 2), group=group))

    jobs = [job("a", 2, first), job("b", 2, second, at=at)]
    script = {0: start(0), at: start(1)}
    if not at:
        script = {0: lambda view, plan: [start(n)(view, plan) for n in (0, 1)]}
    performance = PlacedPerformance(ZeroModel(), None, None, lambda model: None) if placed else None
    result, _ = run_checked(jobs, tiny_cluster(1, 2), Scripted(script), performance)
    shorter = at + 2 * min(first - at, second)
    a_first = first - at <= second
    expected = [shorter, first + second] if a_first else [first + second, shorter]
    if first - at == second:
        expected = [first + second] * 2
    assert seconds(result, "finish_ns") == expected
    shared = 2 * min(first - at, second)  # of which half is waiting for the other
    assert seconds(result, "sharing_ns") == [shared / 2] * 2
    assert result.group_gpu_ns == result.busy_gpu_ns == 2 * (first + second) * NS_PER_S


# --- two jobs on one link


class OneLink:
    """All jobs that span machines share one link; where two communicate at once each gets half of it.

    Average rate: the other communicates for the share f of its iteration alone, so the mean rate is
    1 - f / 2, and communication takes exposed / (1 - f / 2). Compute 2 s and communication 4 s for all:
    f = 4 / 6 = 2 / 3, communication 4 / (2 / 3) = 6 s: an iteration takes 6 s alone and 8 s with another.
    """

    compute_ns, exposed_ns = 2 * NS_PER_S, 4 * NS_PER_S

    def __init__(self) -> None:
        self.answered: list[list[int]] = []

    def skew(self, spec: JobSpec) -> float:
        return 0.0

    def reprice(self, changed: Sequence[Changed], running: Running) -> Mapping[int, IterationParts]:
        machines = range(len(running.cluster))
        everyone = dict.fromkeys(j for m in machines for j in running.jobs_on(m))
        on_link = [j for j in everyone if self._spans(running.allocation(j))]
        touched = {c.job: None for c in changed if c.after is not None}
        if any(self._spans(a) for c in changed for a in (c.before, c.after)):
            touched.update(dict.fromkeys(on_link))
        self.answered.append(list(touched))
        return {j: self._parts(j in on_link, len(on_link)) for j in touched}

    @staticmethod
    def _spans(allocation: Allocation | None) -> bool:
        return allocation is not None and len(allocation.slices) > 1

    def _parts(self, spans: bool, together: int) -> IterationParts:
        if not spans:
            return IterationParts(self.compute_ns)
        contention = 2 * NS_PER_S if together == 2 else 0
        return IterationParts(self.compute_ns, exposed_ns=self.exposed_ns, contention_ns=contention)


def two(iterations: tuple[int, int], at: float) -> list[JobSpec]:
    spread = Demand(2)
    counts = zip(("a", "b"), iterations, (0, round(at * NS_PER_S)), strict=True)
    return [JobSpec(name, submit, spread, n, OneLink.compute_ns) for name, n, submit in counts]


def test_two_jobs_share_a_link() -> None:
    """A neighbour that comes and goes changes a job's speed twice, and its open iteration is carried.

    a: 10 iterations from 0, b: 5 from 15.
    0..15: a alone, 6 s each: 2 done, 3 s into the third: 3 of 6 s left, that is 4 of 8 s.
    15..55: together, 8 s each. b: 5 x 8 = 40 s, ends at 55. a: 4 s end the third at 19, the 4th to 7th
    at 27, 35, 43, 51, and 4 s into the eighth: 4 of 8 s left, that is 3 of 6 s.
    55..: a alone: 8th at 58, then 64 and 70.
    Contention is 2 of 8 s in those 40 s: 10 s each. Exposed: 40 s for a, 10 x 4; 20 s for b, 5 x 4.
    """
    policy = Scripted(
        {0: lambda v, p: p.place(0, on((0, 1), (1, 1))), 15: lambda v, p: p.place(1, on((0, 1), (1, 1)))}
    )
    performance = OneLink()
    result, _ = run_checked(two((10, 5), 15), tiny_cluster(2, 2), policy, performance)
    assert seconds(result, "finish_ns") == [70, 55]
    assert seconds(result, "contention_ns") == [10, 10]
    assert seconds(result, "exposed_comm_ns") == [40, 20]
    assert seconds(result, "compute_ns") == [20, 10]
    assert performance.answered == [[0], [1, 0], [0], []]


def test_a_neighbour_that_moves_off_the_link_frees_it() -> None:
    """A move reprices the job that moved and the neighbour it left; the mover's open iteration is cut.

    a: 10 iterations from 0, b: 4 from 0; together 8 s each. At 20 both are 4 s into their third (2 done).
    b moves into one machine: its open iteration is lost (4 s), and 2 iterations of 2 s end at 24.
    a: 4 of 8 s left are 3 of 6 s: third at 23, then 7 x 6 = 42 s: 65.
    """
    spread = on((0, 1), (1, 1))

    def both(view, plan):
        plan.place(0, spread)
        plan.place(1, spread)

    policy = Scripted({0: both, 20: lambda v, p: p.place(1, on((2, 2)))})
    result, _ = run_checked(two((10, 4), 0), tiny_cluster(3, 2), policy, OneLink())
    assert seconds(result, "finish_ns") == [65, 24]
    assert seconds(result, "lost_ns") == [0, 4]
    assert seconds(result, "contention_ns") == [5, 5]


def test_events_off_the_link_do_not_change_its_jobs() -> None:
    """A job inside one machine starts and ends; whoever uses the link keeps its finish to the nanosecond.

    a: 4 x 6 = 24 s across; c: 2 x 2 s inside machine 2 from 5.5 to 9.5.
    """
    specs = [*two((4, 1), 50)[:1], JobSpec("c", 5_500_000_000, Demand(2), 2, OneLink.compute_ns)]
    policy = Scripted(
        {0: lambda v, p: p.place(0, on((0, 1), (1, 1))), 5.5: lambda v, p: p.place(1, on((2, 2)))}
    )
    performance = OneLink()
    result, _ = run_checked(specs, tiny_cluster(3, 2), policy, performance)
    assert seconds(result, "finish_ns") == [24, 9.5]
    assert performance.answered == [[0], [1], [], []]


def test_speeds_that_do_not_divide_are_rounded_up_once_a_change() -> None:
    """Carrying an open iteration loses less than a nanosecond at a change of speed, never gains one.

    Iterations of 10 ns; at 7 ns (3 left) a retune to cap 0.3 makes them 33 ns: ceil(3 x 33 / 10) = 10 left,
    so the first ends at 17, and the second at 50.
    """
    performance = PlainPerformance(lambda spec, allocation: 1 / allocation.bandwidth_cap)
    script = {0: lambda v, p: p.place(0, on((0, 1))), 7e-9: lambda v, p: p.place(0, on((0, 1), cap=0.3))}
    spec = JobSpec("a", 0, Demand(1), 2, 10)
    result, _ = run_checked([spec], tiny_cluster(1, 1), Scripted(script), performance)
    assert result.columns["finish_ns"].tolist() == [50]
