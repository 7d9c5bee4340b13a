"""Growth of a queue while jobs arrive, on runs whose every number is written down here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from artist.results.drift import Drift, drained, drift, mean_queue_length
from artist.results.run import Run

SECONDS = list(map(float, range(31)))  # 31 jobs arrive from 0 to 30 s: thirds of 10 s


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Write a run of jobs that arrive at these times, and of these steps of the queue length."""
    run_list: list[Run] = []

    def write(
        steps: Sequence[tuple[float, int]],
        submit_s: Sequence[float] = SECONDS,
        stop: Sequence[int] | None = None,
        takes_s: float = 1.0,
        end_s: float = 99.0,
    ) -> Run:
        folder = tmp_path / str(len(run_list))
        folder.mkdir()
        finish_s = [time_s + takes_s for time_s in submit_s]
        pq.write_table(pa.table({"submit_s": submit_s, "finish_s": finish_s}), folder / "jobs.parquet")
        times, queue = zip(*steps, (end_s, 0), strict=True)
        pq.write_table(pa.table({"time_s": times, "queue_length": queue}), folder / "timeline.parquet")
        run_list.append(Run(folder, {}, {"stop": {"jobs": stop}}))
        return run_list[-1]

    return write


def test_a_queue_that_grows_from_empty(run: Any) -> None:
    """0, 2, 4 jobs wait in the thirds: it grows by 4, twice its mean; what follows does not matter."""
    assert drift([run([(0.0, 0), (10.0, 2), (20.0, 4), (30.0, 900)])]) == Drift(0.0, 4.0, True)


def test_a_steady_queue(run: Any) -> None:
    """3 jobs wait all the time."""
    assert drift([run([(0.0, 3)])]) == Drift(3.0, 3.0, False)


def test_the_mean_is_weighted_by_time(run: Any) -> None:
    """8 jobs wait for 2 of the first 10 s, 1.6 in the mean; 4 for half of the last, 2 in the mean."""
    result = drift([run([(0.0, 8), (2.0, 0), (25.0, 4)])])
    assert result is not None
    assert (result.first, result.last) == pytest.approx((1.6, 2.0))


def test_a_shrinking_queue_is_no_growth(run: Any) -> None:
    """4, 2, 0 jobs wait: it falls."""
    assert drift([run([(0.0, 4), (10.0, 2), (20.0, 0)])]) == Drift(4.0, 0.0, False)


@pytest.mark.parametrize(("replicates", "grows"), [(1, False), (2, False), (3, True)])
def test_without_an_interval_it_takes_more(run: Any, replicates: int, grows: bool) -> None:
    """2, 3, 4 jobs wait: it grows by 2, more than half its mean of 3 and less than all of it."""
    steps = [(0.0, 2), (10.0, 3), (20.0, 4)]
    result = drift([run(steps) for _ in range(replicates)])
    assert result is not None
    assert result.grows is grows


def test_growth_that_replicates_do_not_share_is_chance(run: Any) -> None:
    """Growth 8, 8 and -4: 4 in the mean, of a mean queue of 4, and its interval contains 0."""
    up, down = [(0.0, 0), (10.0, 4), (20.0, 8)], [(0.0, 6), (10.0, 4), (20.0, 2)]
    assert drift([run(up), run(up), run(down)]) == Drift(2.0, 6.0, False)


def test_little_growth_is_none(run: Any) -> None:
    """8, 9, 10 jobs wait in every replicate: sure, but 2 of 9 is no drift."""
    steps = [(0.0, 8), (10.0, 9), (20.0, 10)]
    assert drift([run(steps) for _ in range(3)]) == Drift(8.0, 10.0, False)


@pytest.mark.parametrize(("from_s", "grows"), [(20.0, True), (21.0, False)])
def test_fewer_than_one_waiting_job_is_no_queue(run: Any, from_s: float, grows: bool) -> None:
    """One job waits through the last 10 s, 1.0 in the mean; or for 9 of them, 0.9."""
    result = drift([run([(0.0, 0), (from_s, 1)])])
    assert result is not None
    assert result.grows is grows


def test_all_at_once_has_no_drift(run: Any) -> None:
    """A batch drains by construction."""
    assert drift([run([(0.0, 31)], submit_s=[0.0] * 31)]) is None


def test_few_jobs_have_no_thirds(run: Any) -> None:
    """30 jobs are enough, 29 are not."""
    steps = [(0.0, 0), (10.0, 5)]
    assert drift([run(steps, submit_s=SECONDS[:29])]) is None
    assert drift([run(steps, submit_s=SECONDS[:30])]) is not None


def test_the_warm_up_is_left_out(run: Any) -> None:
    """Jobs arrive from 0 to 60 s; the queue fills until 20 s, and the window begins with the job at 30 s."""
    steps, submit_s = [(0.0, 0), (20.0, 6)], list(map(float, range(61)))
    assert drift([run(steps, submit_s=submit_s)]) == Drift(0.0, 6.0, True)
    assert drift([run(steps, submit_s=submit_s, stop=[30, 61])]) == Drift(6.0, 6.0, False)


def test_a_run_stopped_by_time_is_seen_up_to_then(run: Any) -> None:
    """Stopped at 15 s of 30: thirds of 5 s, in which 0, 2, 4 jobs wait."""
    result = drift([run([(0.0, 0), (5.0, 2), (10.0, 4)], end_s=15.0)])
    assert result == Drift(0.0, 4.0, True)


@pytest.mark.parametrize(
    ("takes_s", "stop", "expected"), [(10.0, [0, 21], False), (11.0, [0, 21], True), (11.0, None, False)]
)
def test_arrivals_last_as_long_as_the_window(
    run: Any, takes_s: float, stop: Sequence[int] | None, expected: bool
) -> None:
    """The last job of the window arrives at 20 s, the last of all at 30 s: with 11 s it finishes after it."""
    assert drained(run([(0.0, 0)], stop=stop, takes_s=takes_s)) is expected


def test_the_mean_queue_is_that_while_measured_jobs_arrive(run: Any) -> None:
    """0, 2, 4 jobs wait in the thirds: 2; of a window of the jobs that arrive from 10 to 20 s alone: 2 too.

    With 8 jobs until 2 s and 4 from 25 s on: (16 + 20) / 30; what waits after 30 s does not matter.
    """
    assert mean_queue_length(run([(0.0, 0), (10.0, 2), (20.0, 4), (30.0, 900)])) == pytest.approx(2)
    assert mean_queue_length(run([(0.0, 9), (10.0, 2), (20.0, 9)], stop=[10, 21])) == pytest.approx(2)
    assert mean_queue_length(run([(0.0, 8), (2.0, 0), (25.0, 4)])) == pytest.approx(36 / 30)


def test_all_at_once_the_mean_queue_is_that_of_the_run(run: Any) -> None:
    """5 jobs wait from 0 to 10 s, none until 99 s: 50 / 99."""
    assert mean_queue_length(run([(0.0, 5), (10.0, 0)], submit_s=[0.0] * 31)) == pytest.approx(50 / 99)


def test_without_jobs_or_time_there_is_no_mean_queue(run: Any) -> None:
    """No job arrives within the window; or the run ends as it begins."""
    assert mean_queue_length(run([(0.0, 5)], stop=[40, 50], end_s=0.0)) is None
    assert mean_queue_length(run([(0.0, 5)], submit_s=[0.0], end_s=0.0)) is None
