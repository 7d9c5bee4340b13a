"""Tables of texts: columns that a narrow terminal leaves out, and the width of a terminal."""

import os
from typing import Any

import pytest

from artist.tables.grid import Grid, terminal_width

GRID = Grid(
    (("", "policy", ""), ("JCT", "mean", "h"), ("preemp-", "tions", ""), ("", "jobs", "")),
    (("fifo", "12.5", "3", "400"), ("srtf", "8.25", "41", "400")),
    1,
    "a note",
    (0, 1, 2, 3),
)


def test_the_columns_of_the_highest_rank_are_left_out_first() -> None:
    """Widths 6, 4, 7 and 4 with two spaces between are 27; without jobs 21; without preemptions too 12."""
    assert GRID.fitted(27) is GRID
    fitted = GRID.fitted(26)
    assert [head[1] for head in fitted.heads] == ["policy", "mean", "tions"]
    assert fitted.rows == (("fifo", "12.5", "3"), ("srtf", "8.25", "41"))
    assert fitted.note == "left out at 26 characters: jobs; --wide shows all\na note"
    assert [head[1] for head in GRID.fitted(20).heads] == ["policy", "mean"]
    assert GRID.fitted(20).note.startswith("left out at 20 characters: preemptions, jobs; ")


def test_words_and_columns_of_rank_0_stay() -> None:
    """However narrow the terminal; without ranks, or without a width, all columns stay."""
    assert [head[1] for head in GRID.fitted(1).heads] == ["policy"]
    unranked = Grid(GRID.heads, GRID.rows, 1)
    assert unranked.fitted(1) is unranked
    assert GRID.fitted(None) is GRID


def test_a_later_column_may_fit_where_a_wider_one_did_not() -> None:
    """Ranks decide, not widths: without the 7 characters of rank 3 the rest fits, so rank 2 stays."""
    heads, rows = GRID.heads, GRID.rows
    assert [head[1] for head in Grid(heads, rows, 1, "", (0, 1, 3, 2)).fitted(18).heads] == [
        *("policy", "mean", "jobs")
    ]


def test_the_width_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """COLUMNS, else stdout's, else stderr's, as behind `| less`; a program that reads gets all columns."""
    monkeypatch.setenv("COLUMNS", "77")
    assert terminal_width() == 77
    monkeypatch.delenv("COLUMNS")
    widths = iter([OSError, os.terminal_size((93, 24)), OSError, OSError])

    def of(_: int) -> Any:
        width = next(widths)
        if isinstance(width, os.terminal_size):
            return width
        raise OSError

    monkeypatch.setattr(os, "get_terminal_size", of)
    assert terminal_width() == 93
    assert terminal_width() is None


def test_a_table_in_html() -> None:
    """Words' heads are joined, numbers' have their unit in brackets; a policy called <b> stays text."""
    heads = (("policy.", "name", ""), ("JCT", "mean", "h"))
    html = Grid(heads, (("<b>", "1.5"),), 1, "a < b").html("one & all")
    assert html == (
        "<table><caption>one &amp; all</caption>"
        "<thead><tr><th>policy.name</th><th>JCT mean (h)</th></tr></thead>"
        "<tbody><tr><td>&lt;b&gt;</td><td>1.5</td></tr></tbody></table><small>a &lt; b</small>"
    )
