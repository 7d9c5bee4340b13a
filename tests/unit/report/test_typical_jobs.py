"""Figures of single jobs under two policies (jobs as given to `kinds_run`, which run for 60 s each)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from matplotlib.colors import to_hex

from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.report.figures.catalogue import drawings
from artist.report.figures.drawing import Drawing
from artist.report.figures.job_by_job import COLOURS
from artist.results.compare import compare
from artist.results.digest import digest
from artist.results.job_by_job import Typical, typical_jobs
from artist.results.run import Run
from artist.results.scenarios import contest

Make = Callable[..., Run]


def jobs(*waits_s: float) -> list[tuple[str, int, int, int, float, str]]:
    """Return jobs of gpt with 1, 2 ... GPUs that wait so long, one of bert that waits 5 s, two CPU jobs."""
    rows = [("ann", 1 + i, 1, 1, wait_s, "gpt") for i, wait_s in enumerate(waits_s)]
    return [*rows, ("bob", 8, 1, 1, 5.0, "bert"), *[("bob", 0, 1, 1, 0.0, "gpt")] * 2]


def drawn(runs: Sequence[Run], baseline: str | None = "policy=fifo") -> Drawing | None:
    """Return the figure."""
    comparison = compare(runs)
    digests = [digest(group) for group in comparison.groups]
    figures = drawings(digests, comparison, contest(comparison, baseline))
    return next((item for item in figures if item.name == "typical_jobs"), None)


def test_the_median_job_of_each_model_is_shown(kinds_run: Make) -> None:
    """Under fifo gpt's jobs wait 30, 10 and 20 s: the third is the median, and waits 2 s under coda."""
    coda, fifo = kinds_run("coda", jobs(9, 9, 2)), kinds_run("fifo", jobs(30, 10, 20))
    groups = compare([coda, fifo]).groups
    assert typical_jobs(*groups, 12) == [
        Typical("gpt", 3, (2.0, 60.0), (20.0, 60.0)),
        Typical("bert", 8, (5.0, 60.0), (5.0, 60.0)),
    ]
    assert [typical_job.model for typical_job in typical_jobs(*groups, 1)] == ["gpt"]  # the most frequent


def test_jobs_are_drawn_side_by_side(kinds_run: Make) -> None:
    """Four areas: 20 and 60 s at the left, 2 and 60 s at the right of gpt; 80 s are below two minutes."""
    drawing = drawn([kinds_run("coda", jobs(9, 9, 2)), kinds_run("fifo", jobs(30, 10, 20))])
    assert drawing is not None
    (axes,) = drawing.draw(WIDTH_IN).axes
    bars: dict[str, list[tuple[float, float, float]]] = {}
    for bar in axes.patches:
        box: Any = bar
        where = round(box.get_x() + box.get_width() / 2, 9), box.get_y(), box.get_height()
        bars.setdefault(to_hex(box.get_facecolor()), []).append(where)
    assert [bars[colour] for colour in COLOURS] == [
        [(-0.2, 0, 20), (0.8, 0, 5)],
        [(-0.2, 20, 60), (0.8, 5, 60)],
        [(0.2, 0, 2), (1.2, 0, 5)],
        [(0.2, 2, 60), (1.2, 5, 60)],
    ]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["gpt x 3", "bert x 8"]
    assert axes.get_title(loc="left") == "coda"
    assert "under fifo" in drawing.caption


def test_only_against_a_baseline_of_the_same_jobs(kinds_run: Make) -> None:
    """Not unless the user names one; not of other jobs, other seeds or without jobs that finished."""
    fifo = kinds_run("fifo", jobs(30, 10, 20))
    assert drawn([kinds_run("coda", jobs(9, 9, 2)), fifo], None) is None
    assert drawn([kinds_run("drf", jobs(9)), fifo]) is None
    assert drawn([kinds_run("las", jobs(9, 9, 2), seed=2), fifo]) is None
    never = [(*job[:4], float("nan"), job[5]) for job in jobs(9, 9, 2)]
    assert drawn([kinds_run("srtf", never), fifo]) is None


def test_the_lowest_common_seed_is_shown(kinds_run: Make) -> None:
    """Seeds 1, 2 and 3 of coda, 2 and 3 of fifo: seed 2, in which gpt waits 7 s under coda."""
    coda = [kinds_run("coda", jobs(wait, wait), seed=seed) for seed, wait in ((1, 9), (2, 7), (3, 8))]
    fifo = [kinds_run("fifo", jobs(30, 30), seed=seed) for seed in (2, 3)]
    first, *_ = typical_jobs(*compare([*coda, *fifo]).groups, 12)
    assert first.own_s == (7.0, 60.0)


@pytest.mark.parametrize("width_in", [pytest.param(WIDTH_IN, marks=pytest.mark.slow), NARROW_IN])
def test_all_of_it_fits(kinds_run: Make, width_in: float) -> None:
    """Three policies beside the baseline, twelve models: the layouts hold (warnings are errors here)."""
    many = [("ann", 1, 1, 1, 10.0 * i, f"a_model_of_a_long_name_{i}") for i in range(14)]
    run = kinds_run("fifo", many)
    others = [
        replace(
            run, summary=run.summary | {"policy": f"p{i}"}, config=run.config | {"policy": {"name": f"p{i}"}}
        )
        for i in range(3)
    ]
    drawing = drawn([run, *others])
    assert drawing is not None
    figure = drawing.draw(width_in)
    figure.draw_without_rendering()
    assert [len(axes.get_xticklabels()) for axes in figure.axes] == [12] * 3
