"""Tables of the page: what they are sorted by, and differences to the baseline."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from artist.report.page.comparison_table import comparison_table
from artist.report.page.datatable import Cell, Column, html_table, signed_per_cent
from artist.report.page.grouped_tables import members_table
from artist.results.compare import Comparison, compare
from artist.results.digest import digest
from artist.results.folder import read_run
from artist.results.measures import ALL_METRICS
from artist.results.scenarios import contest


@pytest.fixture
def comparison(run_folder: Callable[..., Path], tmp_path: Path) -> Comparison:
    """FIFO with seeds 1 to 3, two slower; <b> is another policy, always 3 times as slow as seed 1 of fifo."""
    points = [("fifo", 1, 1), ("fifo", 2, 2), ("fifo", 3, 1.5), *(("<b>", seed, 3) for seed in (1, 2, 3))]
    return compare(
        [
            read_run(run_folder(tmp_path / str(i), {"policy": {"name": policy}, "seed": seed}, slower=slower))
            for i, (policy, seed, slower) in enumerate(points)
        ]
    )


def test_every_metric_is_a_column_with_its_difference(comparison: Comparison) -> None:
    """Rows <b>, fifo; the baseline <b> has 35.5 s, fifo a mean of 17.75 s: 50 % less, the best.

    Fifo has 11.83, 23.67 and 17.75 s: s 5.92, half the interval 4.303 x 5.92 / sqrt(3) = 14.70.
    """
    table = comparison_table(comparison, contest(comparison))
    asked_for = {metric.name for metric in ALL_METRICS if not metric.optional}
    assert asked_for < {column.name for column in table.columns}
    at = [column.name for column in table.columns].index("jct_mean_s")
    base, fifo = (row[at] for row in table.rows)
    assert (base.text, base.apart, base.best) == ("35.50", None, False)
    assert (fifo.text, fifo.half, fifo.apart, fifo.best) == ("17.75", "14.70", pytest.approx(-0.5), True)


def test_cells_carry_their_sort_value(comparison: Comparison) -> None:
    """The script sorts by the full number, not by its rounded text; names are safe in HTML."""
    html = html_table(comparison_table(comparison, contest(comparison)))
    assert 'data-v="17.75" data-d="-0.5"' in html
    assert "<b>" not in re.sub(r"<b>[\d.]+</b>", "", html)
    assert 'data-text="policy=fifo fifo"' in html


def test_members_of_all_rows_are_sorted_together(comparison: Comparison) -> None:
    """Bob has most GPU time, so his two rows come first; his job takes 3 x 21.5 s under <b>."""
    rows = [digest(group) for group in comparison.groups]
    table = members_table("users", "user", rows)
    assert table is not None
    assert [row[0].text for row in table.rows] == ["bob", "bob", "ann", "ann"]
    assert [row[1].text for row in table.rows[:2]] == ["<b>", "fifo"]
    assert table.rows[0][3].value == pytest.approx(64.5)
    assert table.breaks == {2}


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (0.0, "="),
        (1e-5, "&asymp; 0 %"),
        (-0.464, "\u221246.4 %"),
        (0.05, "+5.0 %"),
        (12.0, "+1200 %"),
    ],
)
def test_differences_have_a_sign(part: float, text: str) -> None:
    """A sign that is no hyphen; what rounds to nothing says so, what is as good as equal is =."""
    assert signed_per_cent(part) == text


@pytest.fixture
def with_means(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., Comparison]:
    """Write a run for each policy, with another mean JCT and overhead in its summary."""

    def make(means: dict[str, float], overheads: tuple[float, ...] = ()) -> Comparison:
        runs = []
        for i, (policy, mean_s) in enumerate(means.items()):
            runs.append(read_run(run_folder(tmp_path / policy, {"policy": {"name": policy}, "seed": 1})))
            runs[-1].summary["jct_s"]["mean"] = mean_s
            runs[-1].summary["comm_overhead"]["mean"] = overheads[i] if overheads else 0.1
        return compare(runs)

    return make


def cells_of(comparison: Comparison, name: str) -> tuple[Column, list[Cell]]:
    """Return a column with its cells."""
    table = comparison_table(comparison, contest(comparison))
    at = [column.name for column in table.columns].index(name)
    return table.columns[at], [row[at] for row in table.rows]


def test_rows_level_with_the_best_are_marked_too(with_means: Callable[..., Comparison]) -> None:
    """600 s, 605 s (0.8 % more) and 700 s: the first two; within 1 % of each other: nobody."""
    _, cells = cells_of(with_means({"a": 600.0, "b": 605.0, "c": 700.0}), "jct_mean_s")
    assert [cell.best for cell in cells] == [True, True, False]
    _, cells = cells_of(with_means({"d": 600.0, "e": 605.0}), "jct_mean_s")
    assert [cell.best for cell in cells] == [False, False]


def test_negligible_differences_count_as_equal(with_means: Callable[..., Comparison]) -> None:
    """0.5 s and 1.4 s differ by 180 %, but by less than a second; 0.05 % and 0.08 % are as good as equal."""
    compared = with_means({"a": 0.5, "b": 1.4, "c": 2.0}, (5e-4, 8e-4, 5e-3))
    for name, apart in (("jct_mean_s", 3.0), ("comm_overhead_mean", 9.0)):
        _, cells = cells_of(compared, name)
        assert [cell.apart for cell in cells] == [None, 0.0, pytest.approx(apart)]
    assert '<span class="diff">=</span>' in html_table(comparison_table(compared, contest(compared)))


@pytest.mark.parametrize(
    ("values_s", "unit", "texts"),
    [
        ((7200.0, 3600.0), "h", ["2.000", "1.000"]),
        ((994.0, 197.0), "min", ["16.57", "3.28"]),
        ((89.0, 30.0), "s", ["89.00", "30.00"]),
        ((36000.0, 0.34), "s", ["36000.00", "0.34"]),  # in hours the second would be 0.0001
        ((36000.0, 0.0), "h", ["10.00", "0.00"]),
    ],
)
def test_a_column_has_the_unit_that_suits_it(
    with_means: Callable[..., Comparison], values_s: tuple[float, float], unit: str, texts: list[str]
) -> None:
    """The greatest value chooses; seconds where the least would be lost."""
    column, cells = cells_of(with_means(dict(zip("ab", values_s, strict=True))), "jct_mean_s")
    assert column.unit == unit
    assert [cell.text for cell in cells] == texts
