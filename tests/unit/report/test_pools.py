"""Figures and sentences on pools and returned machines (the pools on paper: `with_pools`)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from artist.drawing.looks import NEED, SHORT, pale
from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.report.figures.catalogue import drawings
from artist.report.figures.drawing import Drawing
from artist.report.figures.pools import bin_width
from artist.report.words.pools import pools
from artist.results.compare import Comparison, compare
from artist.results.digest import digest
from artist.results.folder import read_run
from artist.results.run import Run
from artist.results.scenarios import contest

Make = Callable[..., Run]
BLUE, ORANGE = "#0072b2", "#e69f00"
NAMES = ("pools", "reclaims", "reclaims_over_time")


@pytest.fixture
def make(run_folder: Callable[..., Path], with_pools: Callable[[Run], Run], tmp_path: Path) -> Make:
    """Return a maker of runs of a policy, with the pools on paper or without any."""

    def of(policy: str, *, pooled: bool = True, seed: int = 1, **more: Any) -> Run:
        config = {"policy": {"name": policy}, "seed": seed}
        run = read_run(run_folder(tmp_path / f"{policy}{seed}", config))
        run = with_pools(run) if pooled else run
        return replace(run, summary=run.summary | more)

    return of


def drawn(comparison: Comparison) -> dict[str, Drawing]:
    """Return the figures of a comparison by name."""
    digests = [digest(group) for group in comparison.groups]
    return {drawing.name: drawing for drawing in drawings(digests, comparison, contest(comparison))}


def said(runs: Sequence[Run]) -> dict[str, str]:
    """Return the sentences on the pools of runs by topic."""
    return dict(pools([digest(group) for group in compare(runs).groups]))


def areas(axes: Any) -> dict[str, list[tuple[float, float, float]]]:
    """Return of each area of a panel, by colour, where it is not empty: from, bottom and top there."""
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.colors import to_hex

    results: dict[str, list[tuple[float, float, float]]] = {}
    for area in axes.collections:
        if isinstance(area, FillBetweenPolyCollection):
            (path,) = area.get_paths()
            xs = sorted(set(path.vertices[:, 0]))
            for left, right in pairwise(xs):
                inside = [y for x, y in _edges(path.vertices, (left + right) / 2)]
                low, high = min(inside), max(inside)
                if high > low:
                    results.setdefault(to_hex(area.get_facecolor()[0]), []).append((left, low, high))
    return results


def _edges(vertices: Any, x: float) -> list[tuple[float, float]]:
    """Return the crossings of a polygon's outline with a vertical line."""
    return [
        (x, float(y0 + (y1 - y0) * (x - x0) / (x1 - x0)))
        for (x0, y0), (x1, y1) in zip(vertices, np.roll(vertices, -1, axis=0), strict=True)
        if min(x0, x1) < x < max(x0, x1)
    ]


def test_without_pools_nothing_is_drawn_or_reported(make: Make) -> None:
    """No figure, no finding."""
    run = make("fifo", pooled=False)
    figures = drawn(compare([run]))
    assert not set(NAMES) & set(figures)
    assert "pools" not in figures["busy_gpus"].caption
    assert said([run]) == {}


def test_pools_are_stacked(make: Make) -> None:
    """Training up to 4 GPUs, loans from there to 6 and 8, inference up to 10; its need hangs from the top.

    Needed are 4 GPUs, so from 6 on, and 2 from 15 s on, so from 8 on. From 10 to 15 s, where the pool begins
    at 8, the need begins at 6: 2 GPUs are missing.
    """
    figures = drawn(compare([make("lyra")]))
    assert "All pools count" in figures["busy_gpus"].caption
    drawing = figures["pools"]
    (axes,) = drawing.draw(WIDTH_IN).axes
    result = areas(axes)
    assert result[BLUE] == [(0, 0, 4), (5, 0, 2), (10, 0, 4), (15, 0, 4)]
    assert result[pale(BLUE)] == [(5, 2, 4)]
    assert result[ORANGE] == [(5, 4, 6), (10, 4, 7)]
    assert result[pale(ORANGE)] == [(10, 7, 8)]
    assert result[NEED] == [(0, 6, 10), (5, 6, 10), (10, 6, 10), (15, 8, 10)]
    assert result[SHORT] == [(10, 6, 8)]
    tops = [np.ravel(line.get_ydata()).tolist() for line in axes.get_lines()]
    assert tops == [[4] * 5, [4, 6, 8, 4, 4], [10] * 5]
    assert "Red" in drawing.caption


def test_times_of_shortage_are_marked_at_the_top(make: Make) -> None:
    """A bar from 10 to 15 s; the key says what it is."""
    figure = drawn(compare([make("lyra")]))["pools"].draw(WIDTH_IN)
    (bar,) = [
        collection
        for collection in figure.axes[0].collections
        if type(collection).__name__ == "PolyCollection"
    ]
    (path,) = bar.get_paths()
    assert (path.vertices[:, 0].min(), path.vertices[:, 0].max()) == (10, 15)
    texts = [text.get_text() for text in figure.legends[-1].get_texts()]
    assert texts == [
        "training, in use by jobs", "training, idle", "on loan, in use by jobs", "on loan, idle",
        "needed by inference", "inference is short",
    ]  # fmt: skip


def test_colours_stay_with_their_pools(make: Make) -> None:
    """A first row that lends nothing has no such column, and the loans of the next are orange as ever."""
    import pyarrow.parquet as pq

    runs = [make("fifo"), make("lyra")]
    path = runs[0].folder / "pools.parquet"
    table = pq.read_table(path)
    pq.write_table(table.select([name for name in table.column_names if "on_loan" not in name]), path)
    figure = drawn(compare(runs))["pools"].draw(WIDTH_IN)
    assert ORANGE not in areas(figure.axes[0])
    assert areas(figure.axes[1])[ORANGE] == [(5, 4, 6), (10, 4, 7)]


def test_returned_machines_are_counted_by_their_clearing(make: Make) -> None:
    """Of seeds with 2 and 4 machines 3 in the mean: 1 idle, 1 by preemption and 1 flexible; 1 job."""
    more = {"machines": 4, "idle": 1, "flexible": 2, "preempting": 1, "preempted_jobs": 1}
    runs = [make("lyra"), make("lyra", seed=2, reclaims=more), make("fifo", pooled=False)]
    figure = drawn(compare(runs))["reclaims"].draw(WIDTH_IN)
    machines, jobs = figure.axes
    widths = [[bar.get_width() for bar in bars] for bars in machines.containers]
    assert widths == [[0, 1], [0, 1], [0, 1]]  # fifo, lyra
    assert [[bar.get_width() for bar in bars] for bars in jobs.containers] == [[0, 1]]
    assert [text.get_text() for text in machines.texts] == ["0", "3"]


def test_machines_returned_over_time(make: Make) -> None:
    """A bar a minute of a run of 22.5 s: one bar of 2 machines, and a dot at 1 job."""
    drawing = drawn(compare([make("lyra")]))["reclaims_over_time"]
    (axes,) = drawing.draw(WIDTH_IN).axes
    assert [[(bar.get_y(), bar.get_height()) for bar in bars] for bars in axes.containers] == [
        [(0, 1)],
        [(1, 0)],
        [(1, 1)],
    ]
    assert np.ravel(axes.get_lines()[0].get_ydata()).tolist() == [1]
    assert "by minute" in drawing.caption


@pytest.mark.parametrize(
    ("end_s", "word"), [(1920, "minute"), (1921, "5 minutes"), (15 * 86_400, "day"), (1e9, "4 weeks")]
)
def test_there_are_never_too_many_bars(end_s: float, word: str) -> None:
    """32 minutes have a bar a minute, more have wider ones; 15 days one a day; the widest is 4 weeks."""
    assert bin_width(end_s)[1] == word


def test_runs_without_times_of_returns_have_their_totals(make: Make) -> None:
    """Bars, but nothing over time."""
    import pyarrow.parquet as pq

    run = make("lyra")
    path = run.folder / "pools.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["reclaimed_idle"]), path)
    figures = drawn(compare([run]))
    assert "reclaims" in figures
    assert "reclaims_over_time" not in figures


def test_no_machine_went_back(make: Make) -> None:
    """A cluster of two pools whose policy lends nothing: pools are drawn, returns are not, nor said."""
    none = {"machines": 0, "idle": 0, "flexible": 0, "preempting": 0, "preempted_jobs": 0}
    run = make("lyra_fifo", reclaims=none, inference_short={"server_s": 0.0, "worst_servers": 0})
    assert set(NAMES) & set(drawn(compare([run]))) == {"pools"}
    result = said([run])
    assert result.pop("GPUs in use")
    assert result == {"Pools short of machines": "The inference pool was never short of machines."}


def test_findings_cover_shortage_and_reclaims(make: Make) -> None:
    """5 server-seconds, 1 machine at worst; of 2 machines half idle, half by preempting a job."""
    never = {"server_s": 0.0, "worst_servers": 0}
    result = said([make("lyra"), make("fifo", inference_short=never, reclaims=None)])
    assert result["Pools short of machines"] == (
        "The inference pool was short for 5 server-seconds, at worst by 1 machine, under lyra; never under "
        "fifo. Short: needs more than is there, by the larger of the signal's present and next value."
    )
    assert result["Machines returned"] == (
        "lyra returned 2 machines, of which 50 % were idle and 50 % were cleared by preempting 1 job."
    )


def test_use_is_listed_from_the_greatest_down(make: Make) -> None:
    """Fifo has nothing on loan; of five rows the ends are told: p4 with (0.9 + 0.5) / 2, and p1."""
    none = {"training_held": 0.5, "on_loan_held": None, "combined": 0.5}
    runs = [make("fifo", pools=none), make("lyra")]
    assert said(runs)["GPUs in use"] == (
        "While jobs arrived, jobs and inference used 60 % of all GPUs under lyra and 50 % under fifo; jobs "
        "held 75 % of GPUs on loan under lyra."
    )
    more = [make(f"p{i}", pools=none | {"combined": 0.1 * i}) for i in range(1, 4)]
    more += [make("p4", seed=seed, pools=none | {"combined": share}) for seed, share in ((1, 0.9), (2, 0.5))]
    assert said([*runs[:1], *more])["GPUs in use"] == (
        "While jobs arrived, jobs and inference used 70 % of all GPUs under p4 and 10 % under p1."
    )


def test_use_without_the_series_is_not_compared(make: Make) -> None:
    """Fifo knows nothing of inference, so its 57 % leave out what inference uses; lyra's 60 % do not."""
    fifo = make("fifo", pools={"training_held": 0.6, "on_loan_held": None, "combined": 0.57})
    summary = {key: value for key, value in fifo.summary.items() if key != "inference_short"}
    assert said([replace(fifo, summary=summary), make("lyra")])["GPUs in use"] == (
        "While jobs arrived, jobs and inference used 60 % of all GPUs under lyra; jobs held 75 % of GPUs on "
        "loan under lyra. The use of all GPUs is not compared with fifo: without the series inference."
    )


def test_loans_that_no_job_uses_are_named(make: Make) -> None:
    """Machines were on loan under both, and jobs on them under lyra only; fifo never had any."""
    use = {"training_held": 0.5, "combined": 0.5}
    runs = [make("fifo", pools=use | {"on_loan_held": None}), make("lyra")]
    assert "Unused loans" not in said(runs)
    text = said([*runs, make("mine", pools=use | {"on_loan_held": 0.0})])["Unused loans"]
    assert text.startswith("No job used the machines on loan under mine. On GPUs of a type")


def test_means_of_counts_have_a_decimal(make: Make) -> None:
    """Of 2 and 3 machines 2.5, in words and on the bar; 1 job of each seed is 1 job."""
    more = {"machines": 3, "idle": 2, "flexible": 0, "preempting": 1, "preempted_jobs": 1}
    runs = [make("lyra"), make("lyra", seed=2, reclaims=more)]
    text = said(runs)["Machines returned"]
    assert text.startswith("lyra returned 2.5 machines, of which ")
    assert text.endswith("by preempting 1 job.")
    machines, jobs = drawn(compare(runs))["reclaims"].draw(WIDTH_IN).axes
    assert [text.get_text() for text in machines.texts] == ["2.5"]
    assert [text.get_text() for text in jobs.texts] == ["1"]


def test_of_many_rows_the_extremes_are_named(make: Make) -> None:
    """Five policies: for 2 machines p1 preempts no job, p3 four; p0 is short for the least time."""
    runs = [
        make(
            f"p{i}",
            reclaims={
                "machines": 2,
                "idle": 0,
                "flexible": 0,
                "preempting": 2,
                "preempted_jobs": (1, 0, 2, 4, 3)[i],
            },
            inference_short={"server_s": 10.0 + i, "worst_servers": 1},
        )
        for i in range(5)
    ]
    result = said(runs)
    assert result["Machines returned"].startswith(
        "Of 5 rows, fewest jobs per returned machine were preempted under p1,"
    )
    assert (
        "most jobs per returned machine were preempted under p3, which returned 2 machines"
        in result["Machines returned"]
    )
    assert "under p1 and for less under 1 other. " in result["Pools short of machines"]


@pytest.mark.parametrize("width_in", [pytest.param(WIDTH_IN, marks=pytest.mark.slow), NARROW_IN])
def test_all_of_it_fits(make: Make, width_in: float) -> None:
    """Of seven rows with pools six have a panel: the layouts hold (warnings are errors here)."""
    figures = drawn(compare([make(f"a_long_name_of_a_policy_number_{i}") for i in range(7)]))
    for name in NAMES:
        figure = figures[name].draw(width_in)
        figure.draw_without_rendering()
        assert len(figure.axes) == (2 if name == "reclaims" else 6)
        assert figure.get_figwidth() == width_in
