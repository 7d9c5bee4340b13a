"""Shares of GPUs, CPUs and memory that are held and used, and what each job got: worked out by hand.

Two machines of 2 GPUs, 10 CPUs and 100 bytes. A job that runs waits for input as long as it computes, uses 4
CPUs and 30 bytes, and would be as fast as it gets with 8 CPUs and 40 bytes.
"""

from dataclasses import replace

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent
from artist.core.iteration import IterationParts
from artist.engine.engine import Engine
from artist.engine.overheads import Overheads
from artist.engine.stopping import StopRule
from artist.recording.inputs import input_columns, mean_held, summarise_inputs
from artist.recording.names import RESOURCE_COLUMNS, SHARES
from artist.recording.recorder import Recorder
from artist.recording.resources import Resources
from artist.testing.tiny import PlainPerformance, Scripted, job, on, tiny_cluster
from artist.units import NS_PER_S, seconds_to_ns

CLUSTER = tiny_cluster(cpus=10, memory_bytes=100)


class Stalled(PlainPerformance):
    """Every iteration waits for input as long as it computes."""

    def reprice(self, changed, running):
        prices = super().reprice(changed, running)
        return {job: IterationParts(sum(parts), sum(parts)) for job, parts in prices.items()}


class Needs:
    """Every job's use of resources, and its best case."""

    def in_use(self, spec, allocation, cluster, iteration_ns):
        return 4.0, 30.0

    def best_case(self, spec, cluster):
        return 8, 40


def run(jobs, script, inputs=Needs(), **options):  # noqa: B008
    """Run, and return the observer, the recorder and the result."""
    performance = Stalled()
    resources = Resources(jobs, CLUSTER, performance.stages, inputs and inputs.in_use)
    recorder = Recorder(jobs, CLUSTER)
    observers = (resources, recorder)
    result = Engine(jobs, CLUSTER, Scripted(script), performance, observers=observers, **options).run()
    resources.close(result.end_ns)
    return resources, recorder, result


def column(resources, name):
    """Return the times (s) and the values of a column where it changes."""
    at, width = resources.columns.index(name), len(resources.columns)
    rows = zip(resources.row_ns, resources.row_values[at::width], strict=True)
    kept = []
    for time_ns, value in rows:
        if not kept or kept[-1][1] != value:
            kept.append((time_ns / NS_PER_S, value))
    return [(time_s, pytest.approx(value)) for time_s, value in kept]


def test_a_job_holds_from_the_start_and_uses_after_its_delay():
    """2 of 4 GPUs, 6 of 20 CPUs, 60 of 200 bytes from 0 s on; 3 s of delay, then 10 iterations of 2 s.

    From 3 to 23 s half of the time of 2 of 4 GPUs, 4 of 20 CPUs and 30 of 200 bytes are used: 20 of 23 s.
    """
    resources, _, result = run(
        [job("a", 2, 10)], {0: lambda v, p: p.place(0, on((0, 2, 6, 60)))}, overheads=Overheads(start_s=3)
    )
    assert column(resources, "cpus_held") == [(0, 0.3), (23, 0)]
    assert column(resources, "memory_held") == [(0, 0.3), (23, 0)]
    assert column(resources, "gpus_used") == [(0, 0), (3, 0.25), (23, 0)]
    assert column(resources, "cpus_used") == [(0, 0), (3, 0.2), (23, 0)]
    assert column(resources, "memory_used") == [(0, 0), (3, 0.15), (23, 0)]
    assert resources.means(result)["shares"] == pytest.approx(
        {
            "gpus_used": 0.25 * 20 / 23,
            "cpus_held": 0.3,
            "cpus_used": 0.2 * 20 / 23,
            "memory_held": 0.3,
            "memory_used": 0.15 * 20 / 23,
        }
    )


def test_held_resources_change_with_a_retune():
    """From 4 s on 10 CPUs and 20 bytes; what is used stays. Mean of 20 s: (4 x 6 + 16 x 10) / 20 = 9.2."""
    script = {
        0: lambda v, p: p.place(0, on((0, 2, 6, 60))),
        4: lambda v, p: p.place(0, on((0, 2, 10, 20))),
    }
    resources, recorder, result = run([job("a", 2, 10)], script)
    assert column(resources, "cpus_held") == [(0, 0.3), (4, 0.5), (20, 0)]
    assert column(resources, "memory_held") == [(0, 0.3), (4, 0.1), (20, 0)]
    assert column(resources, "cpus_used") == [(0, 0.2), (20, 0)]
    columns = input_columns(result, recorder, Needs())
    assert {name: values.tolist() for name, values in columns.items()} == {
        "cpus_held": [pytest.approx(9.2)],
        "cpus_best": [8],
        "memory_bytes_held": [pytest.approx((4 * 60 + 16 * 20) / 20)],
        "memory_bytes_best": [40],
    }


def test_shares_are_of_the_machines_that_are_there():
    """M1 is away from 4 to 8 s: 6 of 20, 6 of 10, 6 of 20 CPUs; in all 6 x 20 of 20 x 16 + 10 x 4 CPU s."""
    capacity = [CapacityEvent(seconds_to_ns(4), "fail", 1), CapacityEvent(seconds_to_ns(8), "join", 1)]
    script = {0: lambda v, p: p.place(0, on((0, 2, 6, 60)))}
    resources, _, result = run([job("a", 2, 10)], script, capacity_events=capacity)
    assert column(resources, "cpus_held") == [(0, 0.3), (4, 0.6), (8, 0.3), (20, 0)]
    assert column(resources, "memory_used") == [(0, 0.15), (4, 0.3), (8, 0.15), (20, 0)]
    assert resources.means(result)["shares"]["cpus_held"] == pytest.approx(120 / 360)


def test_a_machine_that_leaves_counts_to_its_deadline():
    """M1 leaves at 4 s, its deadline is 10 s, and it fails when it is gone: 6 of 20 CPUs, then 6 of 10."""
    capacity = [
        CapacityEvent(seconds_to_ns(4), "leave", 1, seconds_to_ns(10)),
        CapacityEvent(seconds_to_ns(12), "fail", 1),
    ]
    script = {0: lambda v, p: p.place(0, on((0, 2, 6, 60)))}
    resources, _, _ = run([job("a", 2, 10)], script, capacity_events=capacity)
    assert column(resources, "cpus_held") == [(0, 0.3), (10, 0.6), (20, 0)]


def test_waiting_does_not_count_as_held():
    """Held 0 to 4 s (6 CPUs) and 8 to 14 s (1 CPU): (24 + 6) / 10; b from 10 to 14 s; c never.

    The run ends at 14 s, with a and b on the GPUs: 1 of 20 CPUs, from 10 s on 1 + 2.
    """
    script = {
        0: lambda v, p: p.place(0, on((0, 2, 6, 60))),
        4: lambda v, p: p.stop(0),
        8: lambda v, p: p.place(0, on((1, 2, 1, 10))),
        10: lambda v, p: p.place(1, on((0, 2, 2, 70))),
    }
    stop = StopRule(time_ns=seconds_to_ns(14))
    jobs = [job("a", 2, 20), job("b", 2, 20), job("c", 2, 20)]
    resources, recorder, result = run(jobs, script, stop=stop)
    cpus, memory = mean_held(recorder, result.end_ns)
    assert cpus == pytest.approx([3, 2, np.nan], nan_ok=True)
    assert memory == pytest.approx([(4 * 60 + 6 * 10) / 10, 70, np.nan], nan_ok=True)
    assert column(resources, "cpus_held") == [(0, 0.3), (4, 0), (8, 0.05), (10, 0.15)]


def test_a_stop_within_the_delay_ends_the_holding():
    """Starts at 0 (5 s), is stopped at 2, resumes at 4 s (no delay) for 20 s: held to 2 s and from 4 s on."""
    script = {
        0: lambda v, p: p.place(0, on((0, 2, 6, 60))),
        2: lambda v, p: p.stop(0),
        4: lambda v, p: p.place(0, on((0, 2, 6, 60))),
    }
    resources, _, _ = run([job("a", 2, 10)], script, overheads=Overheads(start_s=5))
    assert column(resources, "cpus_held") == [(0, 0.3), (2, 0), (4, 0.3), (24, 0)]
    assert column(resources, "cpus_used") == [(0, 0), (4, 0.2), (24, 0)]


def test_a_job_on_two_machines_holds_the_sum_of_both():
    """3 + 5 of 20 CPUs, 10 + 20 of 200 bytes."""
    resources, recorder, result = run(
        [job("a", 2, 10)], {0: lambda v, p: p.place(0, on((0, 1, 3, 10), (1, 1, 5, 20)))}
    )
    assert column(resources, "cpus_held") == [(0, 0.4), (20, 0)]
    assert column(resources, "memory_held") == [(0, 0.15), (20, 0)]
    assert [means.tolist() for means in mean_held(recorder, result.end_ns)] == [[8], [30]]


def test_without_cpu_demands_no_columns_are_added():
    """The columns are those that there were before: storage, CPU, GPU, network, and the blocking index."""
    script = {0: lambda v, p: p.place(0, on((0, 2, 6, 60)))}
    resources, _, result = run([job("a", 2, 10)], script, inputs=None)
    assert resources.columns == RESOURCE_COLUMNS
    assert not set(SHARES) & set(resources.columns)
    assert set(resources.means(result)) == {"resources", "blocking_index"}


def test_the_summary_has_throughput_and_the_times_of_short_and_long_jobs():
    """A computes 4 h, b 1 s less: of the two b is short. Both start at 0 s and stall as long as they compute.

    JCT 8 h and 8 h - 2 s, throughput half of the best.
    """
    hours = 4 * 3600
    script = {0: lambda v, p: [p.place(j, on((j, 2, 6, 60))) for j in (0, 1)]}
    _, _, result = run([job("a", 2, hours), job("b", 2, hours - 1)], script)
    said = summarise_inputs(result)
    assert said["relative_throughput"] == 0.5
    assert (said["jct_long_s"]["mean"], said["jct_short_s"]["mean"]) == (2 * hours, 2 * hours - 2)


def test_throughputs_count_alike():
    """1 s of stall beside 1 s, and beside 3 s, of computing: the mean of 1 / 2 and 3 / 4, not 4 / 6."""
    script = {0: lambda v, p: [p.place(j, on((j, 2, 6, 60))) for j in (0, 1)]}
    _, _, result = run([job("a", 2, 10), job("b", 2, 5)], script)
    seconds = {"compute_ns": (1, 3), "input_stall_ns": (1, 1)}
    columns = {name: np.array(parts) * NS_PER_S for name, parts in seconds.items()}
    result = replace(result, columns={**result.columns, **columns})
    assert summarise_inputs(result)["relative_throughput"] == 0.625


def test_jobs_outside_the_window_do_not_count():
    """Of a (10 s x 2, in the window) and b (5 s x 2), which has finished, too, a counts; none is long."""
    script = {0: lambda v, p: [p.place(j, on((j, 2, 6, 60))) for j in (0, 1)]}
    _, _, result = run([job("a", 2, 10), job("b", 2, 5)], script, stop=StopRule(jobs=(0, 1)))
    said = summarise_inputs(result)
    assert (said["jct_short_s"]["mean"], said["jct_long_s"]["mean"]) == (20, None)


def test_without_progress_there_is_no_throughput():
    """Stopped at 5 s, while the only job still starts, which takes 9 s."""
    script, costs = {0: lambda v, p: p.place(0, on((0, 2, 6, 60)))}, Overheads(start_s=9)
    stop = StopRule(time_ns=seconds_to_ns(5))
    _, _, result = run([job("a", 2, 10)], script, overheads=costs, stop=stop)
    assert summarise_inputs(result)["relative_throughput"] is None


def test_gpus_that_a_job_keeps_partly_busy_are_partly_used():
    """2 of 4 GPUs compute half of the time and are busy for 0.8 of that: 0.2, the run's GPU utilisation."""
    script = {0: lambda v, p: p.place(0, on((0, 2, 6, 60)))}
    resources, _, result = run([job("a", 2, 10, gpu_utilization=0.8)], script)
    assert column(resources, "gpus_used") == [(0, 0.2), (20, 0)]
    assert result.compute_gpu_ns / result.capacity_gpu_ns == pytest.approx(0.2)
