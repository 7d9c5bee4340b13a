"""Resources in use over time and the blocking index: rows of the observer, worked out by hand."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artist.core.cluster import CapacityEvent, Group
from artist.core.job import Stages
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.engine.stopping import StopRule
from artist.performance.placed import PlacedPerformance
from artist.policies.basic.ordered import Ordered
from artist.recording.names import BLOCKING, RESOURCE_COLUMNS, RESOURCES
from artist.recording.resources import Resources
from artist.testing.tiny import PlainPerformance, Scripted, job, on, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns
from netmodels.models.zero import ZeroModel

PAIR = Group("g", ((0, 2),), mode="interleaved")


def staged(spec, *stages):
    """Return a job with these stages (storage, CPU, GPU, network; in s)."""
    return replace(spec, stages=Stages(*map(seconds_to_ns, stages)))


def record(jobs, policy, cluster=None, performance=None, **options):
    """Run, and return the rows as (time in s, use of each resource ..., blocking index), and the means."""
    cluster, performance = cluster or tiny_cluster(), performance or PlainPerformance()
    resources = Resources(jobs, cluster, performance.stages)
    result = Engine(jobs, cluster, policy, performance, observers=(resources,), **options).run()
    resources.close(result.end_ns)
    width, values = len(RESOURCE_COLUMNS), resources.row_values.tolist()
    rows = [
        (time_ns / NS_PER_S, *values[width * i : width * (i + 1)])
        for i, time_ns in enumerate(resources.row_ns)
    ]
    return rows, resources.means(result)


def column(rows, name):
    """Return the times and the values of a column, where it changes, and at the end."""
    at = RESOURCE_COLUMNS.index(name) + 1
    kept = [row for i, row in enumerate(rows) if i in (0, len(rows) - 1) or row[at] != rows[i - 1][at]]
    return [(row[0], pytest.approx(row[at], abs=1e-12)) for row in kept]


def test_a_job_uses_each_resource_for_its_stage_after_its_delay():
    """2 of 4 GPUs, iterations of 1 s with stages 0.1, 0.3, 0.5, 0.2: half of each, from 3 s to 13 s.

    Over 13 s: 10 / 13 of that. That the stages sum to 1.1 s does not matter: jobs pipeline them.
    """
    jobs = [staged(job("a", 2, 10), 0.1, 0.3, 0.5, 0.2)]
    rows, means = record(jobs, Ordered(order="fifo"), overheads=Overheads(start_s=3))
    nothing, used = (0.0,) * 5, (0.05, 0.15, 0.25, 0.1, 0.0)
    assert rows == [(0, *nothing), (3, *map(pytest.approx, used)), (13, *nothing)]
    assert list(means["resources"].values()) == pytest.approx([10 / 13 * part for part in used[:4]])
    assert means[BLOCKING] == 0


def test_a_resource_is_used_at_most_all_the_time():
    """A CPU stage of 1.5 s in an iteration of 1 s: CPUs are in use on both GPUs of the 4, no more."""
    rows, _ = record([staged(job("a", 2, 10), 0, 1.5, 1, 0)], Ordered(order="fifo"))
    assert column(rows, "cpu") == [(0, 0.5), (10, 0)]


def test_two_jobs_on_one_clock_share_the_gpus():
    """A (CPU 2, GPU 1) x 4 and b (CPU 1, GPU 1) x 2 on both GPUs: T = 4 s until 8 s, then a alone at 3 s.

    Together CPU (2 + 1) / 4 and GPU (1 + 1) / 4 of the time; then 2 / 3 and 1 / 3, until 14 s.
    Over 14 s: CPU 8 x 3/4 + 6 x 2/3 = 10 = 4 x 2 + 2 x 1, GPU 4 + 2 = 6 = 4 x 1 + 2 x 1.
    """
    jobs = [
        staged(job("a", 2, 12, iteration_s=3), 0, 2, 1, 0),
        staged(job("b", 2, 4, iteration_s=2), 0, 1, 1, 0),
    ]
    together = Scripted({0: lambda v, p: [p.place(j, on((0, 2), group=PAIR)) for j in (0, 1)]})
    performance = PlacedPerformance(ZeroModel(), None, None, None, network_stage="table")
    rows, means = record(jobs, together, tiny_cluster(1), performance)
    assert column(rows, "cpu") == [(0, 3 / 4), (8, 2 / 3), (14, 0)]
    assert column(rows, "gpu") == [(0, 2 / 4), (8, 1 / 3), (14, 0)]
    assert means["resources"] == pytest.approx({"storage": 0, "cpu": 10 / 14, "gpu": 6 / 14, "network": 0})


def test_the_gpus_that_there_are_count():
    """M1 is away from 4 to 8 s: the job on m0 uses 2 of 4, 2 of 2, 2 of 4 GPUs; 20 of 32 GPU s in all."""
    capacity = [CapacityEvent(seconds_to_ns(4), "fail", 1), CapacityEvent(seconds_to_ns(8), "join", 1)]
    alone = Scripted({0: lambda v, p: p.place(0, on((0, 2)))})
    rows, means = record([job("a", 2, 10)], alone, capacity_events=capacity)
    assert column(rows, "gpu") == [(0, 0.5), (4, 1), (8, 0.5), (10, 0)]
    assert means["resources"]["gpu"] == pytest.approx(20 / 32)


def test_no_gpus_no_use():
    """The only machine fails at 4 s with the job on it, and comes back at 6 s: nothing is in use between."""
    capacity = [CapacityEvent(seconds_to_ns(4), "fail", 0), CapacityEvent(seconds_to_ns(6), "join", 0)]
    rows, _ = record([job("a", 2, 10)], Ordered(order="fifo"), tiny_cluster(1), capacity_events=capacity)
    assert column(rows, "gpu") == [(0, 1), (4, 0), (6, 1), (12, 0)]


def test_the_longest_delay_under_way_counts():
    """Starts at 0 (3 s) and is retuned at 1 (1 s): used from 3 s on. If it moves at 2 (5 s), from 7 s on."""
    script = {
        0: lambda v, p: p.place(0, on((0, 2))),
        1: lambda v, p: p.place(0, on((0, 2), cap=0.5)),
    }
    costs, jobs = Overheads(start_s=3, retune_s=1, migrate_s=5), [job("a", 2, 10)]
    rows, _ = record(jobs, Scripted(script), overheads=costs)
    assert column(rows, "gpu") == [(0, 0), (3, 0.5), (13, 0)]
    rows, _ = record(jobs, Scripted(script | {2: lambda v, p: p.place(0, on((1, 2)))}), overheads=costs)
    assert column(rows, "gpu") == [(0, 0), (7, 0.5), (17, 0)]


def test_a_move_changes_the_stages():
    """On one machine a job sends nothing, on two for half of its iteration: 2 of 4 GPUs x 0.5 from 4 s on."""

    class Sending(PlainPerformance):
        def stages(self, spec, allocation, cluster):
            return Stages(0, 0, NS_PER_S, (len(allocation.slices) - 1) * NS_PER_S // 2)

    script = {0: lambda v, p: p.place(0, on((0, 2))), 4: lambda v, p: p.place(0, on((0, 1), (1, 1)))}
    rows, _ = record([job("a", 2, 10)], Scripted(script), performance=Sending())
    assert column(rows, "network") == [(0, 0), (4, 0.25), (10, 0)]


def test_a_delay_that_a_stop_ends_uses_nothing_later():
    """Starts at 0 (5 s), is stopped at 2, resumes at 4 (no delay): in use from 4 s to 14 s, not from 5 s."""
    script = {
        0: lambda v, p: p.place(0, on((0, 2))),
        2: lambda v, p: p.stop(0),
        4: lambda v, p: p.place(0, on((0, 2))),
    }
    rows, _ = record([job("a", 2, 10)], Scripted(script), overheads=Overheads(start_s=5))
    assert column(rows, "gpu") == [(0, 0), (4, 0.5), (14, 0)]


def test_a_move_interrupts_the_use():
    """Moves at 4 s with 2 s of delay: in use until 4, and from 6 s to 12 s, the last 6 iterations."""
    script = {0: lambda v, p: p.place(0, on((0, 2))), 4: lambda v, p: p.place(0, on((1, 2)))}
    rows, _ = record([job("a", 2, 10)], Scripted(script), overheads=Overheads(migrate_s=2))
    assert column(rows, "gpu") == [(0, 0.5), (4, 0), (6, 0.5), (12, 0)]


def test_the_blocking_index_divides_waiting_by_remaining_time():
    """FIFO on 2 GPUs: a 10 s at 0, b 4 s at 2, c 2 s at 6 s; b starts at 10, c at 14, the end is at 16 s.

    2 to 6 s: b, (t - 2) / 4, on average 0.5. 6 to 10 s: b at 8 s 1.5, c (t - 6) / 2 at 8 s 1: mean 1.25.
    10 to 14 s: c at 12 s 3. Over 16 s: (4 x 0.5 + 4 x 1.25 + 4 x 3) / 16 = 19 / 16.
    """
    jobs = [job("a", 2, 10), job("b", 2, 4, at=2), job("c", 2, 2, at=6)]
    rows, means = record(jobs, Ordered(order="fifo"), tiny_cluster(1))
    assert column(rows, BLOCKING) == [(0, 0), (2, 0.5), (6, 1.25), (10, 3), (14, 0), (16, 0)]
    assert means[BLOCKING] == pytest.approx(19 / 16)


def test_earlier_waiting_counts_and_work_that_is_lost_is_left_again():
    """Runs 0 to 4, waits to 6, runs to 8, waits to 10 s. 6, then 4 of 10 iterations are left if kept.

    4 to 6 s: on average 1 / 6. 8 to 10 s: it has waited 2 s before, (2 + 1) / 4. If a stop loses all: 10 are
    left each time, 1 / 10 and 3 / 10.
    """
    place, stop = lambda v, p: p.place(0, on((0, 2))), lambda v, p: p.stop(0)
    for on_stop, first, second in (("keep", 1 / 6, 3 / 4), ("lose_all", 1 / 10, 3 / 10)):
        script = {0: place, 4: stop, 6: place, 8: stop, 10: place}
        rows, _ = record([job("a", 2, 10)], Scripted(script), overheads=Overheads(on_stop=on_stop))
        assert column(rows, BLOCKING)[:5] == [(0, 0), (4, first), (6, 0), (8, second), (10, 0)]


def test_rows_end_with_the_run():
    """Stopped at 5 s with a on the GPUs and b, 4 s, waiting since 2 s: 3 / 8 on average, 3 / 4 at the end."""
    jobs = [job("a", 2, 10), job("b", 2, 4, at=2)]
    rows, means = record(
        jobs, Ordered(order="fifo"), tiny_cluster(1), stop=StopRule(time_ns=seconds_to_ns(5))
    )
    assert column(rows, BLOCKING) == [(0, 0), (2, 3 / 8), (5, 3 / 4)]
    assert column(rows, "gpu") == [(0, 1), (5, 1)]
    assert means == {
        "resources": dict.fromkeys(RESOURCES, 0) | {"gpu": 1},
        BLOCKING: pytest.approx(3 * 3 / 8 / 5),
    }


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 4), st.integers(1, 9), st.floats(0, 1)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from((0, 0.5, 2)),
)
def test_use_over_time_is_the_work_that_was_done(specs, delay):
    """Whoever waits, is stopped and delayed, if nothing is lost: GPU s = sum of GPUs x stage x iterations."""
    jobs = [
        staged(job(f"j{i}", gpus, seconds, at), 0, 0, share, 0)
        for i, (at, gpus, seconds, share) in enumerate(sorted(specs))
    ]
    policy = Ordered(order="srtf", preemptive=True, backfill=True)
    costs = Overheads(start_s=delay, resume_s=delay, restart_s=delay, on_stop="keep")
    rows, _ = record(jobs, policy, overheads=costs)
    used = sum(4 * now[3] * (then[0] - now[0]) for now, then in pairwise(rows))
    done = sum(spec.demand.gpus * spec.stages.gpu_ns / NS_PER_S * spec.iterations for spec in jobs)
    assert used == pytest.approx(done, rel=1e-9)
    assert rows[-1][1:] == (0.0,) * len(RESOURCE_COLUMNS)
