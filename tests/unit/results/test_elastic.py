"""Holdings of elastic jobs, read back from a run folder (the elastic jobs on paper: `elastic_run`)."""

from collections.abc import Callable

import pytest

from artist.errors import InputError
from artist.results.elastic import LEVELS, Elastic, have_elastic, read_elastic
from artist.results.run import Run


def stretches(elastic: Elastic) -> list[tuple[str, str, float, float, float]]:
    """Return job, level, GPUs, start and end."""
    columns = (elastic.job, elastic.level, elastic.gpus, elastic.start_s, elastic.end_s)
    return [
        (elastic.jobs[job], LEVELS[level], float(gpus), float(start), float(end))
        for job, level, gpus, start, end in zip(*columns, strict=True)
    ]


def test_stretches_count_own_gpus(elastic_run: Callable[..., Run]) -> None:
    """4 GPUs of m1 are 2, a's least; 8 are 4, c's most; 2 and 1 of m1 are 2.5: in between."""
    assert stretches(read_elastic(elastic_run())) == [
        ("a", "at the least", 2.0, 0.0, 2.0),
        ("a", "in between", 2.5, 2.0, 4.0),
        ("a", "at the most", 4.0, 4.0, 6.0),
        ("a", "at the least", 2.0, 8.0, 10.0),
        ("c", "at the most", 4.0, 1.0, 3.0),
    ]


def test_shares_of_running_time(elastic_run: Callable[..., Run]) -> None:
    """Of 2 + 2 + 2 + 2 + 2 s two stretches at the least, one in between, two at the most."""
    assert read_elastic(elastic_run()).shares().tolist() == pytest.approx([0.4, 0.2, 0.4])


def test_shares_are_of_time(elastic_run: Callable[..., Run]) -> None:
    """1 s at the least and 3 s at the most: a quarter and three quarters, though it is a stretch each."""
    run = elastic_run([(0.0, "start", "a", "m0:2"), (1.0, "resize", "a", "m0:4"), (4.0, "finish", "a", None)])
    assert read_elastic(run).shares().tolist() == [0.25, 0, 0.75]


def test_elastic_jobs_are_counted_per_level(elastic_run: Callable[..., Run]) -> None:
    """A and c from 1 s on, a alone from 3 s on, none while a waits from 6 to 8 s."""
    times, running = read_elastic(elastic_run()).running()
    assert times.tolist() == [0, 1, 2, 3, 4, 6, 8, 10]
    assert running.tolist() == [[1, 1, 0, 0, 0, 0, 1, 0], [0, 0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 1, 0, 0, 0]]


def test_the_gpus_of_one_job(elastic_run: Callable[..., Run]) -> None:
    """A's steps, with nothing from its stop to its restart and after its finish."""
    times, gpus = read_elastic(elastic_run()).held(0)
    assert times.tolist() == [0, 2, 4, 6, 8, 10]
    assert gpus.tolist() == [2, 2.5, 4, 0, 2, 0]


def test_a_rounded_least_is_the_least(elastic_run: Callable[..., Run]) -> None:
    """1 GPU is 4 of m2 (3.3 rounded up, worth 1.2); a fifth one (1.5) is one more than the least."""
    run = elastic_run([(0.0, "start", "c", "m2:4"), (1.0, "resize", "c", "m2:5"), (2.0, "finish", "c", None)])
    assert [stretch[1] for stretch in stretches(read_elastic(run))] == ["at the least", "in between"]


def test_no_elastic_job_ran(elastic_run: Callable[..., Run]) -> None:
    """Only b, which is not elastic, runs: no stretch, no share, and no step."""
    elastic = read_elastic(elastic_run([(0.0, "start", "b", "m0:1"), (1.0, "finish", "b", None)]))
    assert stretches(elastic) == []
    assert elastic.shares().tolist() == [0, 0, 0]
    assert [part.size for part in elastic.running()] == [0, 0]


def test_runs_are_elastic_by_the_columns_of_jobs(paper_run: Run, elastic_run: Callable[..., Run]) -> None:
    """By the columns of jobs.parquet; a file that is no table is refused."""
    assert not have_elastic([paper_run])
    assert have_elastic([elastic_run()])
    (paper_run.folder / "jobs.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="cannot be read"):
        have_elastic([paper_run])
