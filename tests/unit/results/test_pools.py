"""Pools over time, read back from a run folder (the pools on paper: `with_pools`)."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from artist.errors import InputError
from artist.results.measures import BY_NAME
from artist.results.pools import has_returns, have_pools, read_pools, read_returns
from artist.results.run import Run

Give = Callable[[Run], Run]


def test_gpus_held_and_needed(paper_run: Run, with_pools: Give) -> None:
    """Needs are in GPUs, 2 a machine; 2 needed and 1 there are 2 GPUs short; needy pools come last."""
    pools = read_pools(with_pools(paper_run), 100)
    assert pools.times_s.tolist() == [0, 5, 10, 15, 22.5]
    assert [pool.name for pool in pools.pools] == ["training", "on_loan", "inference"]
    training, on_loan, inference = pools.pools
    assert (training.held.tolist(), training.needed) == ([4, 2, 4, 4, 0], None)
    assert on_loan.gpus.tolist() == [0, 2, 4, 0, 0]
    assert inference.needed is not None
    assert inference.short is not None
    assert inference.needed.tolist() == [4, 4, 4, 2, 2]
    assert inference.short.tolist() == [0, 0, 2, 0, 0]
    assert not pools.thinned


def test_a_pool_is_short_of_machines_with_jobs(paper_run: Run, with_pools: Give) -> None:
    """Jobs on 1, 0, 1, 3, 0 of 3, 2, 1, 3, 3 machines leave 2, 2, 0, 0, 3: 2 short from 10 s, 1 from 15 s."""
    run = with_pools(paper_run)
    path = run.folder / "pools.parquet"
    pq.write_table(pq.read_table(path).append_column("inference_taken", pa.array([1, 0, 1, 3, 0])), path)
    inference = read_pools(run, 100).pools[-1]
    assert inference.name == "inference"
    assert inference.short is not None
    assert inference.short.tolist() == [0, 0, 4, 2, 0]


def test_long_runs_are_averaged_but_keep_the_worst(paper_run: Run, with_pools: Give) -> None:
    """Two halves of 11.25 s: 2 GPUs short for 1.25 and 3.75 s are 2/9 and 2/3 in the mean, 2 at worst."""
    pools = read_pools(with_pools(paper_run), 2)
    assert pools.times_s.tolist() == [0, 11.25, 22.5]
    training, _, inference = pools.pools
    assert inference.short is not None
    assert inference.worst is not None
    assert inference.short.tolist() == pytest.approx([2 / 9, 2 / 3, 0])
    assert inference.worst.tolist() == [2, 2, 0]
    assert training.held.tolist() == pytest.approx([(4 * 5 + 2 * 5 + 4 * 1.25) / 11.25, 4, 0])
    assert pools.thinned


def test_returned_machines_are_counted_per_span(paper_run: Run, with_pools: Give) -> None:
    """At 15 s, which begins the second span of 15 s: one idle, one by preemption, one job."""
    run = with_pools(paper_run)
    returns = read_returns(run, 15.0, 22.5)
    assert returns.machines.tolist() == [[0, 1], [0, 0], [0, 1]]
    assert returns.jobs.tolist() == [0, 1]
    assert read_returns(run, 7.5, 15.0).jobs.tolist() == [0, 1]  # the end of a run is in its last span


def test_a_run_has_pools_if_its_table_exists(paper_run: Run, with_pools: Give) -> None:
    """No pools; pools without totals of what went back; a damaged table, which is refused."""
    assert not have_pools(paper_run)
    assert not has_returns(paper_run)
    run = with_pools(paper_run)
    assert have_pools(run)
    assert has_returns(run)
    path = run.folder / "pools.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["reclaimed_idle"]), path)
    assert have_pools(run)
    assert not has_returns(run)
    path.write_bytes(b"PAR1")
    with pytest.raises(InputError, match="cannot be read"):
        read_pools(run, 100)


def test_columns_that_are_missing_are_named(paper_run: Run) -> None:
    """A pool without its GPUs."""
    pq.write_table(pa.table({"time_s": [0.0], "x_machines": [1]}), paper_run.folder / "pools.parquet")
    with pytest.raises(InputError, match="x_gpus"):
        read_pools(paper_run, 100)


def test_runs_made_before_loans_were_counted_have_no_number(paper_run: Run, with_pools: Give) -> None:
    """54 machine-seconds in 40 s are 1.35 machines; a summary without the key has none, and no error."""
    summary = with_pools(paper_run).summary
    metric = BY_NAME["on_loan_machines"]
    assert metric.of(summary) is None
    assert metric.of(summary | {"pools": summary["pools"] | {"on_loan_machines": 54 / 40}}) == 1.35
