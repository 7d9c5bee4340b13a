"""Filters take what they say, in their order, and say which of them left nothing."""

from datetime import datetime

import pandas as pd
import pytest

from artist.bad_input.records import validated
from artist.errors import InputError
from artist.tables.rows import Table
from artist.workload.filters import Selection, select


def chosen(table: pd.DataFrame, **filters: object) -> list[str]:
    """Return the ids of the chosen jobs."""
    return list(select(table, validated(Selection, filters, "workload"))["job_id"])


def test_nothing_asked_takes_all_in_order_of_arrival(three: Table) -> None:
    """A file need not be sorted; the first job is moved to 0: 100, 110, 140 become 0, 10, 40."""
    later = three.assign(submit_s=three["submit_s"] + 100).take(slice(None, None, -1))
    result = select(later, Selection())
    assert result["job_id"].tolist() == ["a", "b", "c"]
    assert result["submit_s"].tolist() == [0.0, 10.0, 40.0]


def test_jobs_that_arrive_together_keep_their_order(three: Table) -> None:
    """The file's order is all that is known about them."""
    assert chosen(three.assign(submit_s=7.0).take([2, 0, 1])) == ["c", "a", "b"]


def test_the_window_is_half_open(three: Table) -> None:
    """Arrivals at 0, 10, 40 s: 10 <= t < 40 is b alone, which is then the first, at 0 s."""
    result = select(three, Selection.model_validate({"window": {"start": 10, "end": 40}}))
    assert (result["job_id"].tolist(), result["submit_s"].tolist()) == (["b"], [0.0])


def test_a_window_counts_from_the_first_arrival(three: Table) -> None:
    """Seconds of the user are not those of the file: from 10 s on, b and c, whatever the origin."""
    assert chosen(three.assign(submit_s=three["submit_s"] + 1e6), window={"start": 10}) == ["b", "c"]


def test_a_window_of_dates(three: Table) -> None:
    """Jobs of 1, 2 and 3 June: from 2 June, before 3 June, is b."""
    dated = three.assign(submit_date=pd.to_datetime(["2020-06-01", "2020-06-02", "2020-06-03"]))
    assert chosen(dated, window={"start": "2020-06-02", "end": "2020-06-03"}) == ["b"]
    assert chosen(dated, window={"start": datetime(2020, 6, 2)}) == ["b", "c"]
    assert chosen(dated, window={"start": "2020-06-01 12:00"}) == ["b", "c"]


def test_dates_need_a_trace_with_dates(three: Table) -> None:
    """A hand-made table has seconds only."""
    with pytest.raises(InputError, match=r"workload.window.start: a date\n.*this trace has no dates"):
        chosen(three, window={"start": "2020-06-02"})


def test_vcs_and_gpus(three: Table) -> None:
    """Jobs a and c are in VC x; b and c have 2 GPUs or more, a and b 2 or fewer."""
    assert chosen(three, vcs=["x"]) == ["a", "c"]
    assert chosen(three, min_gpus=2) == ["b", "c"]
    assert chosen(three, max_gpus=2) == ["a", "b"]
    assert chosen(three, min_gpus=2, max_gpus=2) == ["b"]


def test_run_times(three: Table) -> None:
    """Jobs a, b, c run 100, 50, 25 s; with 10 iterations of 3 s each all run 30 s, whatever the duration."""
    assert chosen(three, min_duration_s=50) == ["a", "b"]
    assert chosen(three, max_duration_s=50) == ["b", "c"]
    assert chosen(three, min_duration_s=26, max_duration_s=99) == ["b"]
    assert chosen(three.assign(iterations=10, compute_s=3.0), max_duration_s=30) == ["a", "b", "c"]


def test_first_comes_last(three: Table) -> None:
    """The first one of those with 2 GPUs or more is b; the first of all would be a, which has 1."""
    assert chosen(three, min_gpus=2, first=1) == ["b"]


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"window": {"start": 41}}, "workload.window.start: no job is left"),
        ({"window": {"start": 10, "end": 11}, "vcs": ["x"]}, "workload.vcs: no job is left"),
        ({"vcs": ["z"]}, r"workload.vcs: no job.*\n.*allowed: x, y"),
        ({"min_gpus": 5}, r"workload.min_gpus, max_gpus: no job.*\n.*jobs have 1 to 4 GPUs"),
        ({"min_duration_s": 101}, r"workload.min_duration_s, max_duration_s: .*\n.*jobs have 25 to 100 s"),
    ],
)
def test_the_filter_that_leaves_nothing_is_named(
    three: Table, filters: dict[str, object], words: str
) -> None:
    """Otherwise the user searches four filters for the one that is wrong."""
    with pytest.raises(InputError, match=words):
        chosen(three, **filters)


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"window": {"start": 5, "end": 5}}, "window.start must be before window.end"),
        (
            {"window": {"start": "soon"}},
            r"workload.window.start: .*\n  found 'soon'; allowed: .*number.*date",
        ),
        ({"min_gpus": 4, "max_gpus": 2}, "min_gpus must not be above max_gpus"),
        ({"min_duration_s": 4, "max_duration_s": 2}, "min_duration_s must not be above max_duration_s"),
        ({"first": 0}, r"workload.first: wrong value\n  found 0; allowed: greater than 0"),
        ({"frist": 3}, "did you mean '?first"),
    ],
)
def test_contradictions_are_refused(filters: dict[str, object], words: str) -> None:
    """Before any file is read."""
    with pytest.raises(InputError, match=words):
        validated(Selection, filters, "workload")
