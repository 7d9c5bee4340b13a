"""Evidence for claims beyond table.csv: overheads, throughputs, timers, and job by job."""

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from artist.report.claims.evaluate import Result, evaluate
from artist.report.claims.evidence import Evidence
from artist.report.claims.schema import Claim
from artist.report.claims.table import ours_text, paper_text
from artist.results.folder import read_run
from artist.results.run import Run

Maker = Callable[..., list[Run]]
Holder = Callable[..., Result]


def number(run: Run, metric: str, **more: Any) -> float | None:
    """Hold a number against a run; return ours."""
    claim = Claim.model_validate({"says": "much", "source": "1", "metric": metric, "paper": 0.2} | more)
    return evaluate(claim, [Evidence(run)]).decisive.ours.mean


def rewrite(run: Run, name: str, values: list[float | None]) -> None:
    """Give a column of jobs.parquet other values."""
    path = run.folder / "jobs.parquet"
    table = pq.read_table(path)
    column = pa.array(values, pa.float64())
    pq.write_table(table.set_column(table.column_names.index(name), name, column), path)


def test_overheads_are_by_model_and_tier(runs: Maker) -> None:
    """BERT of the run on paper is on a rack: 2.5 s of 10 s; there is none of it in a machine."""
    (run,) = runs({("old", 2): (1.0,)})
    assert number(run, "overhead", model="bert_large", tier="rack") == 0.25
    assert number(run, "overhead", model="bert_large", tier="machine") is None


def test_throughputs_are_relative_to_each_job_alone(runs: Maker) -> None:
    """Alone a would take 5 of its 10 s, b 10 of 12.5 s, c 1 of 4 s: 0.5, 0.8, 0.25; a and c are one model."""
    (run,) = runs({("old", 2): (1.0,)})
    rewrite(run, "ideal_s", [5.0, 10.0, 1.0])
    assert number(run, "normalised_throughput", model="bert_large") == 0.8
    assert number(run, "normalised_throughput", model="resnet50") == 0.375
    assert number(run, "normalised_throughput") == pytest.approx(1.55)
    assert number(run, "normalised_throughput", model="vgg16") is None
    rewrite(run, "running_s", [10.0, 0.0, 4.0])  # b has not run
    assert number(run, "normalised_throughput") == 0.75


@pytest.mark.parametrize(
    ("new", "ours"),
    [
        ([8.0, 43.0, 5.0], 0.25),  # -20, +100 and +25 %
        ([8.0, 43.0, 3.2], -0.2),  # two of three sooner: -20, +100, -20 %
        ([8.0, None, 5.0], 0.025),  # b has not finished: -20 and +25 %
    ],
)
def test_jobs_are_compared_one_by_one(
    runs: Maker, held: Holder, new: list[float | None], ours: float
) -> None:
    """Under old they take 10, 21.5 and 4 s; the change of the one in the middle."""
    finished = runs({("old", 2): (1.0,), ("new", 2): (1.0,)})
    rewrite(finished[1], "jct_s", new)
    result = held(finished, metric="jct_job_by_job_s", paper="lower")
    assert result.decisive.ours.mean == pytest.approx(ours)


def test_jobs_without_gpus_are_not_compared_job_by_job(runs: Maker, held: Holder) -> None:
    """Two of the three hold CPUs only and are as fast as ever; one takes 43 s, not 21.5: +100 %."""
    finished = runs({("old", 2): (1.0,), ("new", 2): (1.0,)})
    for run in finished:
        rewrite(run, "gpus", [0, 1, 0])
    rewrite(finished[1], "jct_s", [10.0, 43.0, 4.0])
    result = held(finished, metric="jct_job_by_job_s", paper="higher")
    assert result.decisive.ours.mean == pytest.approx(1.0)


def test_a_share_is_a_number_where_it_is_compared_with_nothing(runs: Maker, held: Holder) -> None:
    """75 % of the GPUs held is near 70 % (15 % of it are 10.5 points), and off 60 %; a change, too."""
    finished = runs({("old", 2): 1.0, ("new", 2): 1.0})
    for run in finished:
        run.summary["gpu_allocated"] = 0.75
    alone = {"metric": "gpu_allocated", "against": []}
    assert held(finished, **alone, paper=0.7).verdict == "near"
    assert held(finished, **alone, paper=0.6).verdict == "off"
    assert held(finished, metric="gpu_allocated", paper="same").verdict == "shown"


def test_the_job_that_gains_most(runs: Maker, held: Holder) -> None:
    """Under old they take 10, 21.5 and 4 s, under new 8, 43 and 1: -20, +100 and -75 %."""
    finished = runs({("old", 2): (1.0,), ("new", 2): (1.0,)})
    rewrite(finished[1], "jct_s", [8.0, 43.0, 1.0])
    result = held(finished, metric="jct_of_best_job_s", paper="lower")
    assert result.decisive.ours.mean == pytest.approx(-0.75)


def test_only_jobs_of_the_window_are_compared(runs: Maker, held: Holder) -> None:
    """The second and third: +100 and +25 %; the first, -20 %, only fills the cluster."""
    finished = runs({("old", 2): (1.0,), ("new", 2): (1.0,)}, stop={"jobs": [1, 3]})
    rewrite(finished[1], "jct_s", [8.0, 43.0, 5.0])
    result = held(finished, metric="jct_job_by_job_s", paper="lower")
    assert result.decisive.ours.mean == pytest.approx(0.625)


def test_no_job_that_both_finished_is_no_ratio(runs: Maker, held: Holder) -> None:
    """Nothing can be said of jobs that one of the two never completed."""
    finished = runs({("old", 2): (1.0,), ("new", 2): (1.0,)})
    rewrite(finished[1], "jct_s", [None, None, None])
    assert held(finished, metric="jct_job_by_job_s", paper="lower").verdict == "no ratio"


def test_rack_timers_are_averaged_over_time_and_demands(runs: Maker) -> None:
    """16 GPUs: 24 h for 10 s, 4 h for 30 s: 9 h; 32 GPUs: 3 h from 20 s on; mean 6 h. No machine timers."""
    (run,) = runs({("dally", 2): (40.0,)})
    notes = [
        (0.0, "rack timer, 16 GPUs (h)", 24.0),
        (0.0, "machine timer, 4 GPUs (h)", 99.0),
        (10.0, "rack timer, 16 GPUs (h)", 4.0),
        (20.0, "rack timer, 32 GPUs (h)", 3.0),
    ]
    claim = Claim.model_validate(
        {"says": "longer", "source": "Fig. 5", "metric": "rack_timer_mean_h", "policy": "dally",
         "against": "manual", "paper": "higher"}
    )  # fmt: skip
    assert Evidence(run).value("rack_timer_mean_h", claim) is None  # it noted nothing
    pd.DataFrame(notes, columns=["time_s", "name", "value"]).to_parquet(run.folder / "policy.parquet")
    assert Evidence(run).value("rack_timer_mean_h", claim) == pytest.approx(6.0)


def test_steps_of_the_allocator_are_averaged_by_model(runs: Maker, held: Holder) -> None:
    """VGG16 took 3 and 4 steps, BAT 9: 3.5 is near 4 (15 % of it: 0.6), and shown not in per cent."""
    (run,) = runs({("new", 2): (40.0,)})
    claim = {"metric": "allocator_steps", "against": [], "model": "VGG16", "paper": 4}
    assert held([run], **claim).verdict == "not run"  # it noted nothing
    notes = [(0.0, "steps of VGG16", 3.0), (1.0, "steps of VGG16", 4.0), (2.0, "steps of BAT", 9.0)]
    pd.DataFrame(notes, columns=["time_s", "name", "value"]).to_parquet(run.folder / "policy.parquet")
    result = held([read_run(run.folder)], **claim)
    assert (result.verdict, ours_text(result), paper_text(result.claim)) == ("near", "3.5", "4.0")


def test_iterations_while_cpus_are_tried_are_steps_at_the_pace_of_the_jobs(runs: Maker) -> None:
    """BERT runs 5 iterations in 12.5 s, so 0.4 a second: 3 steps of 90 s are 108. VGG16 noted no steps."""
    (run,) = runs({("new", 2): (40.0,)}, policy={"step_s": 90})
    notes = [(0.0, "steps of bert_large", 3.0)]
    pd.DataFrame(notes, columns=["time_s", "name", "value"]).to_parquet(run.folder / "policy.parquet")
    ours = number(read_run(run.folder), "allocator_iterations", model="bert_large")
    assert ours == pytest.approx(108)
    assert number(run, "allocator_iterations", model="vgg16") is None


def test_the_worst_hour_is_that_in_which_most_jobs_wait(runs: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two jobs of the first hour waits, and the only one of the second, which is too few."""
    (run,) = runs({("new", 2): (40.0,)})
    rewrite(run, "submit_s", [0.0, 1.0, 4000.0])
    rewrite(run, "queueing_s", [0.0, 7.0, 1.0])
    assert number(run, "queued_worst_hour") == 0  # none has ten jobs
    monkeypatch.setattr("artist.report.claims.evidence.MIN_OF_HOUR", 2)
    assert number(run, "queued_worst_hour") == 0.5


def test_a_timer_that_is_noted_at_the_end_has_its_value(runs: Maker) -> None:
    """No time passes after it, so there is nothing to weigh it by."""
    (run,) = runs({("dally", 2): (40.0,)})
    notes = {"time_s": [40.0], "name": ["rack timer, 16 GPUs (h)"], "value": [7.0]}
    pd.DataFrame(notes).to_parquet(run.folder / "policy.parquet")
    result = Evidence(run).value("rack_timer_mean_h", Claim.model_construct())
    assert isinstance(result, float)
    assert math.isclose(result, 7.0)


def test_the_queue_length_is_that_of_the_run_on_paper(runs: Maker, held: Holder) -> None:
    """Jobs arrive at 0, 1 and 2 s, b waits from 1 s on: 0.5 in the mean of these 2 s, and no change."""
    result = held(runs({("old", 2): 9.0, ("new", 2): 9.0}), metric="queue_length_mean")
    assert result.decisive.ours.mean == 0.0
    (run,) = runs({("old", 2): (1.0,)}, topology="far")
    claim = Claim.model_validate(CLAIM_OF_QUEUES)
    assert Evidence(run).value("queue_length_mean", claim) == 0.5


CLAIM_OF_QUEUES = {
    "says": "fewer wait", "source": "1", "metric": "queue_length_mean", "policy": "new", "against": "old",
    "paper": "lower",
}  # fmt: skip


def test_short_and_long_jobs_are_columns_of_the_table(fed_run: Callable[..., Run], held: Holder) -> None:
    """With all CPUs needed (10 and 20 s) short jobs complete in half the time (20 and 40 s); none is long."""
    run_list = [fed_run(policy, cpus, seed=s) for policy, cpus in (("old", 4), ("new", 8)) for s in range(5)]
    assert held(run_list, metric="jct_short_p99_s").decisive.ours.mean == pytest.approx(-0.5)
    assert held(run_list, metric="relative_throughput", paper=1.0).decisive.ours.mean == pytest.approx(1.0)
    assert held(run_list, metric="jct_long_p95_s").verdict == "not run"
