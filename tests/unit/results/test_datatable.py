"""Tables of the page: what they are sorted by, and differences to the baseline."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from artist.results.compare import Comparison, compare
from artist.results.datatable import comparison_table, html_table, members_table, signed_per_cent
from artist.results.digest import digest
from artist.results.folder import read_run
from artist.results.measures import ALL_METRICS
from artist.results.scenarios import contest


@pytest.fixture
def comparison(run_folder: Callable[..., Path], tmp_path: Path) -> Comparison:
    """FIFO with seeds 1 and 2 (slower); <b> is another policy, 3 times as slow as seed 1 of fifo."""
    points = (("fifo", 1, 1), ("fifo", 2, 2), ("<b>", 1, 3))
    return compare(
        [
            read_run(run_folder(tmp_path / str(i), {"policy": {"name": policy}, "seed": seed}, slower=slower))
            for i, (policy, seed, slower) in enumerate(points)
        ]
    )


def test_every_metric_is_a_column_with_its_difference(comparison: Comparison) -> None:
    """Rows <b>, fifo; the baseline <b> has 35.5 s, fifo a mean of 17.75 s: 50 % less, and it is the best."""
    table = comparison_table(comparison, contest(comparison))
    assert {metric.name for metric in ALL_METRICS} < {column.name for column in table.columns}
    at = [column.name for column in table.columns].index("jct_mean_s")
    base, fifo = (row[at] for row in table.rows)
    assert (base.text, base.apart, base.best) == ("35.50", None, False)
    assert (fifo.text, fifo.half, fifo.apart, fifo.best) == ("17.75", "75.18", pytest.approx(-0.5), True)


def test_cells_carry_what_they_are_sorted_by(comparison: Comparison) -> None:
    """The script sorts by the full number, not by its rounded text; names are safe in HTML."""
    html = html_table(comparison_table(comparison, contest(comparison)))
    assert 'data-v="17.75" data-d="-0.5"' in html
    assert "<b>" not in re.sub(r"<b>[\d.]+</b>", "", html)
    assert 'data-text="policy=fifo fifo"' in html


def test_members_of_all_rows_stand_together(comparison: Comparison) -> None:
    """Bob has most GPU time, so his two rows come first; his job takes 3 x 21.5 s under <b>."""
    rows = [digest(group) for group in comparison.groups]
    table = members_table("users", "user", rows, ("s", 1.0))
    assert table is not None
    assert [row[0].text for row in table.rows] == ["bob", "bob", "ann", "ann"]
    assert [row[1].text for row in table.rows[:2]] == ["<b>", "fifo"]
    assert table.rows[0][3].value == pytest.approx(64.5)
    assert table.breaks == {2}


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (0.0, "0 %"),
        (1e-5, "&asymp; 0 %"),
        (-0.464, "\u221246.4 %"),
        (0.05, "+5.0 %"),
        (12.0, "+1200 %"),
    ],
)
def test_differences_have_a_sign(part: float, text: str) -> None:
    """A sign that is no hyphen; what rounds to nothing says so."""
    assert signed_per_cent(part) == text
