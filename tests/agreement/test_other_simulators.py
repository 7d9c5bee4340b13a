"""With equal semantics our engine gives the answers of other simulators (scripts/validation/agreement.py)."""

from types import SimpleNamespace

import agreement
import numpy as np
import pytest

from artist.core.job import Demand, JobSpec
from artist.engine.overheads import Overheads
from artist.testing.tiny import run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns

DIGITS = 1e-6  # relative: theirs are floats, and printed to the millisecond


QUICK = ("muri-srtf-trace1", "muri-tiresias")  # of Muri's program; Tiresias' cases all are
CASES = [
    name if name in QUICK or name.startswith("tiresias") else pytest.param(name, marks=pytest.mark.slow)
    for name in agreement.CASES
]


@pytest.mark.parametrize("name", CASES)
def test_equal_semantics_give_their_answer(name, shared):
    """Mean JCT within 1 % is what is asked; mean, p99 and makespan are equal to the digits they print."""
    case = agreement.CASES[name]
    ours = agreement.run(case, case.steps[-1][1], shared)
    assert abs(agreement.off(ours, case.theirs)) <= agreement.LARGEST_DIFFERENCE
    assert ours.mean_s == pytest.approx(case.theirs.mean_s, rel=DIGITS)
    assert ours.p99_s == pytest.approx(case.theirs.p99_s, rel=DIGITS)
    assert ours.makespan_s == pytest.approx(case.theirs.makespan_s, rel=DIGITS)


@pytest.mark.parametrize(("name", "least"), [("muri-srtf", 0.05), ("muri-tiresias", 0.05)])
def test_shipped_semantics_differ(name, least, shared):
    """The first row says what the switches are worth: without them the difference is above 5 %."""
    case = agreement.CASES[name]
    ours = agreement.run(case, case.steps[0][1], shared)
    assert abs(agreement.off(ours, case.theirs)) > least


def test_the_table_has_a_row_per_step(shared, capsys):
    """Tiresias' FIFO on 16 GPUs: title, header, ours, two switches, theirs."""
    assert agreement.main([str(shared), "tiresias-fifo-16"]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 6
    assert lines[2].startswith("ours: policy=fifo")
    assert lines[-2].split()[-4:] == ["0.000", "0.766", "1,870", "3,341"]


def test_a_case_that_is_off_is_named(shared, capsys, monkeypatch):
    """Another answer of theirs, 2 % higher: exit code 1, and the name on stderr."""
    case = agreement.CASES["tiresias-fifo"]
    wrong = agreement.Answer(case.theirs.mean_s * 1.02, 1800, 3271)
    changed = agreement.Case(case.work, case.machines, case.gpus, case.steps, wrong)
    monkeypatch.setitem(agreement.CASES, "tiresias-fifo", changed)
    assert agreement.main([str(shared), "tiresias-fifo"]) == 1
    assert "tiresias-fifo" in capsys.readouterr().err


def test_completion_times_may_add_up_to_more_than_64_bits():
    """Two jobs of 160 years, 5 x 10^18 ns each: 10^19 is above 2^63, and their mean is 5 x 10^9 s."""
    columns = {"submit_ns": np.zeros(2, dtype=np.int64), "finish_ns": np.full(2, 5 * 10**18)}
    assert agreement.answer(SimpleNamespace(columns=columns)).mean_s == 5e9


# --- what the others do, by hand


def _work(*jobs):
    """Return a `Work` of (submit s, GPUs, seconds), in iterations of 1 s, with an overhead of 5 s."""
    submit, gpus, duration = zip(*jobs, strict=True)
    n = len(jobs)
    return agreement.Work(submit, gpus, duration, [1.0] * n, [""] * n, [5.0] * n)


def _finishes(specs, policy, machines=1):
    cluster = tiny_cluster(machines, gpus=2, cpus=2)
    result, _ = run_checked(specs, cluster, policy, overheads=Overheads(on_stop="keep"))
    return seconds(result, "finish_ns")


def test_overhead_of_all_that_run_at_every_instant():
    """a: 100 s from 0; b: 10 s from 30; a loses 5 s of [0, 30] and of [30, 40], nothing of the rest.

    b ends at 40, its only interval is free; then a has 100 - 25 - 5 = 70 s to go and ends at 110.
    """
    semantics = agreement.Semantics("srtf", first_fit=True, overhead=True, last_free=True)
    specs = agreement.job_specs(_work((0, 1, 100), (30, 1, 10)), overhead=True, last_free=True)
    assert _finishes(specs, semantics.make_policy(specs)) == [110, 40]


def test_a_completion_that_is_not_free_comes_one_overhead_later():
    """As above, but b ends at 30 + 5 + 10 = 45; a has 100 - 25 - 10 = 65 s to go, loses 5, ends at 115."""
    semantics = agreement.Semantics("srtf", first_fit=True, overhead=True)
    specs = agreement.job_specs(_work((0, 1, 100), (30, 1, 10)), overhead=True, last_free=False)
    assert _finishes(specs, semantics.make_policy(specs)) == [115, 45]


def test_running_jobs_of_a_queue_are_not_preempted():
    """Job x (1 GPU, 100 s) runs; y (2 GPUs) finds no room at 1; z (1 GPU, 200 s) overtakes it at 2.

    At 100 y, which came before z, would have room without it; but z runs, until 202. y follows, until 252.
    """
    specs = agreement.job_specs(_work((0, 1, 100), (1, 2, 50), (2, 1, 200)), overhead=False, last_free=False)
    policy = agreement.RunningFirst(agreement.at_whole_second)
    assert _finishes(specs, policy) == [100, 252, 202]


def test_a_lower_queue_is_preempted():
    """On 2 GPUs x reaches 3250 GPU-s at 1625 s and makes room for y, 50 s long and in the first queue.

    It goes on at 1675 and ends at 2000 + 50.
    """
    specs = agreement.job_specs(_work((0, 2, 2000), (9, 2, 50)), overhead=False, last_free=False)
    policy = agreement.RunningFirst(agreement.at_whole_second)
    assert _finishes(specs, policy) == [2050, 1675]


def test_all_jobs_are_placed_again_at_each_finish():
    """2 x 2 GPUs: a, b on m0, c on m1; when b ends at 10, c moves to m0 and d with 2 GPUs has m1, at once."""
    specs = agreement.job_specs(
        _work((0, 1, 40), (0, 1, 10), (0, 1, 50), (0, 2, 60)), overhead=False, last_free=False
    )
    anew = agreement.FirstFit(lambda jobs: jobs.remaining_ns)
    assert _finishes(specs, anew, machines=2) == [40, 10, 50, 70]
    fifo = agreement.FirstFit(lambda jobs: jobs.job, stay=True)
    assert _finishes(specs, fifo, machines=2) == [40, 10, 50, 100]  # m0 is empty at 40


def test_jobs_larger_than_a_machine_take_whole_ones():
    """3 GPUs on machines of 2: m1 is the first idle one, then the first with a GPU free is m0."""
    assert agreement.whole_first_fit([1, 2, 2], 2, 3) == {1: 2, 0: 1}
    assert agreement.whole_first_fit([1, 1, 2], 2, 4) == {}
    assert agreement.whole_first_fit([1, 0, 2], 2, 2) == {2: 2}


@pytest.mark.parametrize(("rule", "expected_s"), [("at_whole_second", 307), ("too_late", 393)])
def test_jobs_leave_a_queue_at_its_service_threshold(rule, expected_s):
    """8 GPUs held for 100 s: ceil(3250 / 8) - 100; floor((3250 - 100) / 8) s."""
    left = getattr(agreement, rule)(3250, seconds_to_ns(100), 8)
    assert left == seconds_to_ns(expected_s)


def test_jobs_shorter_than_their_overhead():
    """3 s of work, 5 s of overhead: the delay shrinks to just below 3 s, so that the job ends after 3 s."""
    (spec,) = agreement.job_specs(_work((0, 1, 3)), overhead=True, last_free=True)
    assert spec == JobSpec(
        "0", 0, Demand(1), 1, 1, "", delays_ns=dict.fromkeys(agreement.DELAYS, 3_000_000_000 - 1)
    )
