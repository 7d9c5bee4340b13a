"""The page on paper: the form of each figure, its place on the sheets, and text that can be read."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pandas as pd
import pytest

from artist.drawing.panels import NARROW_IN, WIDTH_IN, columns, label_columns, panels
from artist.report.figures import policy_series
from artist.report.page.page import PageFigure, report_page
from artist.results.compare import Replicates

BROAD, SMALL = (0.5, 3.0), (0.5, 1.0)  # height / width of the wide and of the narrow form


def svg(shape: float) -> bytes:
    """Return a drawing 100 points wide."""
    return f'<svg width="100pt" height="{100 * shape}pt"></svg>'.encode()


def figure(name: str, shapes: tuple[float, float]) -> PageFigure:
    """Return a figure without a caption."""
    return PageFigure(name, name, "", *map(svg, shapes))


def printed(figures: Sequence[PageFigure]) -> str:
    """Return the names of the figures in their order on paper, those across the sheet in capitals."""
    page = report_page("t", "", (), (), (), None, (), (), figures, (), (), "")
    found = re.findall(r'<section class="figure( broad)?" style="order: (\d+)"><h2 id="(\w+)"', page)
    assert [name for *_, name in found] == [figure.name for figure in figures]  # as on the screen
    ordered = sorted(found, key=lambda part: int(part[1]))
    return "".join(name.upper() if broad else name for broad, _, name in ordered)


@pytest.mark.parametrize(
    ("shapes", "across"),
    [((0.5, 1.0), False), ((0.5, 1.8), False), ((0.5, 1.9), True), ((0.8, 2.5), False), ((0.8, 2.7), True)],
)
def test_a_figure_is_printed_in_the_form_that_takes_less_paper(
    shapes: tuple[float, float], across: bool
) -> None:
    """190 x 0.5 = 95 mm across the sheet, or 1.9 x 92 = 175 mm of half of it; and no column above 240 mm."""
    assert printed([figure("a", shapes)]) == ("A" if across else "a")


def test_narrow_figures_are_in_pairs_on_paper() -> None:
    """The second one is printed beside the first, before what is across the sheet between them."""
    figures = [figure("a", SMALL), figure("b", BROAD), figure("c", SMALL), figure("d", SMALL)]
    assert printed(figures) == "acBd"


def test_figures_fill_sheets_from_the_last_one_on() -> None:
    """106 mm each, but b 163: of 268 mm, less 11 of the foot, d and c leave 45; b leaves 105 of another.

    So a has a sheet of its own, the first, which it may share with the tables. With c as tall as b, it fills
    the sheet of d, after b and c.
    """
    tall = (0.8, 3.4)
    figures = [figure("a", BROAD), figure("b", tall), figure("c", BROAD), figure("d", BROAD)]
    assert printed(figures) == "ABCD"
    figures[2] = figure("c", tall)
    assert printed(figures) == "BCAD"


@pytest.mark.parametrize(
    ("count", "expected"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3), (6, 3), (7, 4), (9, 3), (12, 4), (16, 4)]
)
def test_many_panels_share_a_line_so_that_a_sheet_holds_the_figure(count: int, expected: int) -> None:
    """16 panels of 1.6 in are 4 lines, 6.4 in and a legend on 9 in; in 2 columns they were 12.8 in."""
    drawn, places = panels(count, 1.6, ["a"])
    assert columns(places) == expected
    assert drawn.get_figheight() / drawn.get_figwidth() < 245 / 190


def test_labels_below_narrow_panels_are_wrapped() -> None:
    """44 characters below panels of 2.25 in, 10 characters to an inch: two lines, below the last ones."""
    drawn, places = panels(7, 1.6, [])
    label_columns(places, "time (days), until 99 % of the work is done")
    drawn.draw_without_rendering()
    labels = [axes.xaxis.label for axes in places[-4:]]
    assert {label.get_text() for label in labels} == {"time (days), until 99\n% of the work is done"}
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: (box.y0, box.x0))
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes) if abs(left.y0 - right.y0) < 1)


@pytest.mark.parametrize("width_in", [WIDTH_IN, NARROW_IN])
def test_the_key_to_what_policies_noted_is_beside_its_panel(
    monkeypatch: pytest.MonkeyPatch, width_in: float
) -> None:
    """Eight lines of 0 to 1 in a panel: their key lies at the right of it, or below it in a narrow figure."""
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(8)], "time_s": 0.0, "value": 1.0})
    run: Any = type("Fake", (), {"numbers": lambda *_: [[0.0, 9.0]]})()
    group = Replicates(("fifo",), ("fifo",), "fifo", "", (run,))
    monkeypatch.setattr(policy_series, "other_series", lambda _: frame)
    drawn = policy_series.policy_series([group], width_in)
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    key = axes.get_legend()
    assert key is not None
    assert not key.get_window_extent().overlaps(axes.get_window_extent())
