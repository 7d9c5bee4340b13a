"""summary.json of the run on paper (see conftest) and of its edge cases."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from artist.core.result import RunResult
from artist.recording.metrics import distribution, summarise
from artist.results.schema import SummaryFile

S = 1_000_000_000


def test_summary_of_the_run_on_paper(summary: dict[str, Any]) -> None:
    """Every number of the summary, worked out by hand."""
    assert summary["makespan_s"] == 22.5  # last finish 22.5 - first submit 0
    # Completion times 10, 21.5, 4; sorted 4, 10, 21.5: p95 at 0.95 x 2 = 1.9, so 10 + 0.9 x 11.5.
    assert summary["jct_s"] == pytest.approx(
        {
            "mean": 35.5 / 3,
            "median": 10.0,
            "p95": 20.35,
            "p99": 21.27,
            "max": 21.5,
            "mean_beyond_p95": 21.5,
            "mean_beyond_p99": 21.5,
        }
    )
    assert summary["queueing_s"]["mean"] == 3.0  # (0 + 9 + 0) / 3
    assert summary["exposed_s"]["mean"] == 2.5 / 3  # b alone: 5 x 0.5 s
    # Overheads 0, 2.5 / 10, 0: mean 0.25 / 3, p95 at 1.9: 0.9 x 0.25.
    # By GPU time 4 x 2.5 of 2 x 10 + 4 x 10 + 2 x 4; all of it by b.
    largest = summary["comm_overhead"].pop("largest")
    assert largest == {"model": "bert_large", "gpus": 4, "jobs": 1, "share": 1.0}
    assert summary["comm_overhead"] == pytest.approx({"mean": 0.25 / 3, "p95": 0.225, "by_gpu_time": 10 / 68})
    assert summary["gpu_utilization"] == 68 / 90
    assert summary["gpu_allocated"] == 78 / 90
    counts = ("jobs", "finished", "preemptions", "migrations", "network_distinct", "events", "seed")
    assert [summary[key] for key in counts] == [3, 3, 0, 0, 2, 12, 1]
    assert summary["placements"] == {"machine": 2, "rack": 1, "network": 0}
    assert (summary["policy"], summary["stopped_by"]) == ("fifo", "finished")


def test_keys_are_those_of_the_contract_in_its_order(summary: dict[str, Any]) -> None:
    """The documented order of the keys, which is also what reading back checks."""
    of_some_runs = (
        "resources",
        "blocking_index",
        "shares",
    )  # on request; and where jobs need CPUs and memory
    of_some_runs += ("relative_throughput", "jct_short_s", "jct_long_s")
    of_some_runs += ("inference_short", "pools", "reclaims")  # where machines begin in several pools
    of_some_runs += ("contention", "contention_answers")  # where jobs on the same links affect each other
    of_some_runs += ("kinds",)  # where jobs are CPU-only
    of_some_runs += ("seen",)  # of a trace with real starts
    of_some_runs += ("network_back_ends", "above_port")  # of a network program; faster than a port
    of_some_runs += ("stuck",)  # where jobs wait forever
    of_some_runs += ("setting",)  # of those whose parts describe themselves
    assert list(summary) == [name for name in SummaryFile.model_fields if name not in of_some_runs]
    SummaryFile.model_validate(summary)


def test_nothing_finished_gives_null_and_never_nan(none_finished: RunResult) -> None:
    """A run stopped before the first finish: times and ratios are null, counts are 0, JSON is valid."""
    summary = summarise(none_finished, policy="fifo", seed=1, network_distinct=0, run={})
    json.dumps(summary, allow_nan=False)
    assert summary["finished"] == 0
    assert set(summary["jct_s"].values()) == {None}
    assert [summary[key] for key in ("makespan_s", "gpu_utilization", "gpu_allocated")] == [None, None, None]
    assert summary["comm_overhead"] == {"mean": None, "p95": None, "by_gpu_time": None}


def test_unfinished_jobs_do_not_enter_the_times(result: RunResult) -> None:
    """b, waiting 9 s, is cut off: completion (10 + 4) / 2, queueing 0, but its overhead still counts."""
    columns = dict(result.columns)
    columns["finish_ns"] = columns["finish_ns"].copy()
    columns["finish_ns"][1] = -1
    summary = summarise(replace(result, columns=columns), policy="fifo", seed=1, network_distinct=2, run={})
    assert (summary["jct_s"]["mean"], summary["queueing_s"]["max"]) == (7.0, 0.0)
    assert summary["makespan_s"] == 10.0  # a finishes last
    assert summary["measured"] == {"jobs": 3, "finished": 2}
    assert summary["comm_overhead"]["mean"] == pytest.approx(0.25 / 3)
    assert summary["comm_overhead"]["by_gpu_time"] == 10 / 68


def test_largest_part_of_the_overhead_is_that_of_equal_jobs_together(result: RunResult) -> None:
    """Jobs a and c, of resnet50 on 2 GPUs, wait for 6 + 5 GPU-seconds, b for 10: 11 of 21 are theirs."""
    columns = dict(result.columns) | {"gpu_exposed_comm_ns": np.array([6, 10, 5]) * S}
    summary = summarise(replace(result, columns=columns), policy="fifo", seed=1, network_distinct=2, run={})
    assert summary["comm_overhead"]["by_gpu_time"] == 21 / 68
    assert summary["comm_overhead"]["largest"] == {
        "model": "resnet50",
        "gpus": 2,
        "jobs": 2,
        "share": 11 / 21,
    }


def test_one_job_is_its_own_distribution() -> None:
    """With one value every statistic is that value; none lies beyond it, so the tail is the maximum."""
    assert set(distribution(np.array([4 * S])).values()) == {4.0}


def test_tail_is_the_mean_above_the_percentile() -> None:
    """0..100 s: p95 = 95, so the tail is 96..100 with mean 98; p99 = 99, so it is 100."""
    times = distribution(np.arange(101, dtype=np.int64) * S)
    assert (times["p95"], times["mean_beyond_p95"], times["mean_beyond_p99"]) == (95.0, 98.0, 100.0)


def test_mean_is_exact_where_int64_would_overflow() -> None:
    """10,000 jobs of 10^16 ns (115 days): the sum, 10^20, does not fit 64 bits; the mean is 10^7 s."""
    assert distribution(np.full(10_000, 10**16, dtype=np.int64))["mean"] == 1e7


def test_times_of_a_window_are_those_of_its_jobs(result: RunResult) -> None:
    """Jobs 1 and 2 are measured: b waited 9 s and c none, mean 4.5; JCT (21.5 + 4) / 2 = 12.75 s."""
    measured = replace(result, window=(1, 3), stopped_by="window")
    summary = summarise(measured, policy="fifo", seed=0, network_distinct=0, run={})
    assert summary["queueing_s"]["mean"] == 4.5
    assert summary["jct_s"]["mean"] == 12.75
    assert summary["finished"] == 3
    assert summary["measured"] == {"jobs": 2, "finished": 2}
    assert summary["makespan_s"] == 21.5  # b submitted at 1 s, finished at 22.5 s
