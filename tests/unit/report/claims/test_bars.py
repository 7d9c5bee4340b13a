"""Figures of papers beside ours: bars, ratios seed by seed, names, and what is refused."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from artist.errors import InputError
from artist.report.claims.bars import Bar, bars_of, figures_asked, near_bars
from artist.report.claims.evidence import Evidence
from artist.report.claims.schema import PaperFigure, papers, read_claims
from artist.report.papers import paper_figure
from artist.results.measures import Estimate
from artist.results.run import Run

Maker = Callable[..., list[Run]]
PANEL: Mapping[str, Any] = {
    "says": "Normalized makespan", "metric": "makespan_s", "against": "new", "axis": "racks",
    "groups": {"2": {"cluster.racks": 2}, "4": {"cluster.racks": 4}, "8": None},
    "bars": {"Old": "old"}, "paper": {"Old": [2.0, 3.0, 4.0]},
}  # fmt: skip


def figure(**panel: Any) -> PaperFigure:
    """Return a figure of one panel, and what differs from it."""
    values = {"name": "Fig. 9", "says": "s", "read": "as printed", "panels": [PANEL | panel]}
    return PaperFigure.model_validate(values)


def bars(built: list[Run], **panel: Any) -> tuple[Bar, ...]:
    """Return the bars of the panel."""
    (of_panel,) = bars_of(figure(**panel), [Evidence(run) for run in built])
    return of_panel


def test_a_ratio_is_taken_seed_by_seed(runs: Maker) -> None:
    """Old / new is 2 and 4 at 2 racks, so 3, not 300 / 125; nothing at 4 racks was run, nor can 8 be."""
    built = runs({("old", 2): (100.0, 200.0), ("new", 2): (50.0, 50.0), ("old", 4): 1.0})
    two, four, eight = bars(built)
    assert (two.name, two.group, two.paper, two.seeds) == ("Old", "2", 2.0, 2)
    assert two.ours.mean == pytest.approx(3.0)
    assert (four.ours, four.seeds, eight.paper, eight.seeds) == (Estimate(), 0, 4.0, 0)


@pytest.mark.parametrize(("paper", "near"), [(2.4, 1), (2.39, 0), (4.0, 1), (4.01, 0), (None, 0)])
def test_a_mean_is_near_within_a_quarter_of_the_papers_bar(
    paper: float | None, near: int, runs: Maker
) -> None:
    """Ours is 3: 1.25 x 2.4 and 0.75 x 4. Bars of which one has no number do not count."""
    ran = bars(runs({("old", 2): 150.0, ("new", 2): 50.0}), paper={"Old": [paper, 3.0, 4.0]})
    assert near_bars([ran]) == (near, int(paper is not None))


def test_a_speedup_is_the_other_way_round(runs: Maker) -> None:
    """New takes a quarter of the time of old: 4 times as fast."""
    built = runs({("old", 2): 100.0, ("new", 2): 25.0})
    (two, *_) = bars(built, unit="speedup", against="old", bars={"New": "new"}, paper={"New": [2, 3, 4]})
    assert two.ours == pytest.approx((4.0, 4.0, 4.0))


def test_the_divisor_may_be_run_at_one_place(runs: Maker) -> None:
    """New at 4 racks, 30 s, against old at 2, 60 s: half; a number alone is in its unit, 1800 s are 0.5 h."""
    built = runs({("old", 2): 60.0, ("new", 4): 30.0, ("new", 2): 1800.0})
    new = {"bars": {"New": "new"}, "paper": {"New": [2, 3, 4]}}
    assert bars(built, **new, against="old", against_where={"cluster.racks": 2})[1].ours.mean == 0.5
    assert bars(built, **new, against=None, unit="h")[0].ours.mean == 0.5


def test_two_runs_that_differ_are_refused(runs: Maker) -> None:
    """Two settings that no group tells apart: the message names them."""
    built = runs({("old", 2): 100.0, ("new", 2): 50.0}) + runs({("old", 2): 90.0}, "far")
    with pytest.raises(InputError, match="several runs of old with seed 0 fit a bar of Fig") as error:
        bars(built)
    assert "they differ in topology" in str(error.value.allowed)


@pytest.mark.parametrize(
    ("panel", "message"),
    [
        ({"metric": "speed"}, "neither queue_length_mean nor a column of table.csv"),
        ({"against": None}, "a ratio has the unit"),
        ({"unit": "h"}, "a ratio has the unit"),
        ({"paper": {"Older": [2, 3, 4]}}, "for each bar, and for no other"),
        ({"paper": {"Old": [2, 3]}}, "a value, or null, for each group"),
        ({"groups": {}}, "at least 1 item"),
    ],
)
def test_a_panel_must_be_whole(panel: dict[str, Any], message: str) -> None:
    """A metric, a unit, and a value for each bar of each group."""
    with pytest.raises(ValidationError, match=message):
        figure(**panel)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("muri 9", "Fig. 9"),
        ("muri Fig. 9", "Fig. 9"),
        ("muri figure 9", "Fig. 9"),
        ("muri table 4", "Table 4"),
    ],
)
def test_a_figure_has_a_name(text: str, name: str) -> None:
    """As a reader writes it."""
    ((paper, _, found),) = figures_asked(text)
    assert (paper, found.name) == ("muri", name)


def test_several_figures_are_asked_for_at_once() -> None:
    """Of a paper, or of all; the latter are those of each paper together."""
    every = [(name, entry.name) for name, _, entry in figures_asked("all")]
    assert every == [(name, entry.name) for name in papers() for entry in read_claims(name).figures]
    assert [name for paper, name in every if paper == "muri"] == [f.name for _, _, f in figures_asked("muri")]


@pytest.mark.parametrize("text", ["muri 99", "muri nine", "all 99"])
def test_an_unknown_figure_is_refused_with_those_that_are_known(text: str) -> None:
    """The message lists them."""
    with pytest.raises(InputError, match="no such figure") as error:
        figures_asked(text)
    assert "muri 9" in str(error.value.allowed)


def test_the_picture_has_a_bar_for_the_paper_and_a_point_for_ours(runs: Maker) -> None:
    """Three bars; one point, since only 2 racks were run; names as in the paper."""
    built = runs({("old", 2): 100.0, ("new", 2): (40.0, 50.0, 60.0, 50.0, 50.0)})
    drawing = paper_figure("muri", read_claims("muri"), figure(), [bars(built)])
    assert (drawing.name, drawing.title) == ("muri_9", "Muri paper, Fig. 9")
    (axes,) = drawing.draw(9.0).axes
    assert [patch.get_height() for patch in axes.patches] == [2.0, 3.0, 4.0]
    (point,) = (line for line in axes.lines if len(line.get_ydata()))
    assert point.get_ydata() == [pytest.approx(100 * (1 / 40 + 3 / 50 + 1 / 60) / 5)]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "4", "8"]


@pytest.mark.parametrize("paper", papers())
def test_the_numbers_of_figures_are_those_of_claims(paper: str) -> None:
    """Every figure names its source, and says how exactly it was read."""
    for entry in read_claims(paper).figures:
        assert entry.read.startswith(("to ", "as printed", "from ")), entry.name
