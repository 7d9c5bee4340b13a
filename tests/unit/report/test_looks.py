"""Legibility of figures: colours, units, ticks, order, dark pages."""

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import yaml
from matplotlib.figure import Figure

from artist.drawing.looks import DARK, look
from artist.drawing.panels import WIDTH_IN, legend
from artist.drawing.render import rendered
from artist.drawing.time_axis import log_axis, log_ticks
from artist.report.figures.catalogue import drawings
from artist.report.figures.metrics_along import draw_metric
from artist.report.figures.over_time import over_time
from artist.report.page.page import asset
from artist.results.compare import Comparison, compare
from artist.results.digest import digest
from artist.results.folder import find_runs, read_run
from artist.results.measures import BY_NAME
from artist.results.scenarios import contest

SERIES = [look(number)["color"] for number in range(7)]
UNIT = re.compile(r"\((ms|s|seconds|min|minutes|h|hours|d|days|%|times|number)[ a-z]*\)|^%|^(s|min|h|%)$|^$")
COUNTED = re.compile(r"\b(jobs|GPUs|machines|placements|GPU-hours|racks|number)\b|^fraction of")


@pytest.fixture
def sweep(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., Comparison]:
    """Return a maker of sweeps of policies on 1 and 2 racks, with what Hydra wrote of its command."""

    def make(policies: list[str], task: list[str], params: dict[str, str] | None = None) -> Comparison:
        for policy in policies:
            for racks in (1, 2):
                config = {"policy": {"name": policy}, "seed": 0, "cluster": {"racks": racks}}
                run_folder(tmp_path / "sweep" / f"{policy}-{racks}", config)
        told = {"hydra": {"overrides": {"task": task}, "sweeper": {"params": params}}}
        (tmp_path / "sweep" / "multirun.yaml").write_text(yaml.safe_dump(told))
        return compare([read_run(folder) for folder in find_runs([tmp_path / "sweep"]).runs])

    return make


def lab(colour: str) -> np.ndarray:
    """Return a colour in CIE L*a*b* (D65), from sRGB: IEC 61966-2-1."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ linear / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def luminance(colour: str) -> float:
    """Return the relative luminance: ((L* + 16) / 116) ^ 3, its inverse above 8."""
    return float(((lab(colour)[0] + 16) / 116) ** 3)


def test_colours_of_policies_are_far_apart() -> None:
    """Seven differ by at least 25 in CIE L*a*b*, where 2.3 is just noticeable."""
    apart = [np.linalg.norm(lab(one) - lab(other)) for one, other in combinations(SERIES, 2)]
    assert len(apart) == 21
    assert min(apart) > 25


@pytest.mark.parametrize("colour", [*SERIES, DARK["#08306b"], DARK["#8c2d04"], DARK["#777777"]])
def test_lines_are_visible_on_dark_pages(colour: str) -> None:
    """3 to 1 at least, as WCAG 2 asks of graphics: (light + 0.05) / (dark + 0.05)."""
    shown = luminance(DARK.get(colour, colour))
    assert (shown + 0.05) / (luminance(DARK["#ffffff"]) + 0.05) > 3


def test_text_can_be_read_on_both_pages() -> None:
    """4.5 to 1 at least, as WCAG 2 asks of text, for ink, soft text and links, light and dark."""
    blocks = re.findall(r":root \{([^}]*)\}", asset("page.css"))
    assert len(blocks) == 2
    for block in blocks:
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]+)", block))
        full = {
            name: c if len(c) == 7 else "#" + "".join(2 * d for d in c[1:]) for name, c in colours.items()
        }
        for text in ("ink", "soft", "link"):
            for ground in ("paper", "raised", "odd", "best"):
                ends = sorted(luminance(full[name]) + 0.05 for name in (text, ground))
                assert ends[1] / ends[0] > 4.5, (text, ground)


def test_the_page_has_no_colour_beside_its_two_sets() -> None:
    """A colour written into a rule would stay light on a dark page."""
    rules = re.sub(r":root \{[^}]*\}", "", asset("page.css"))
    assert not re.findall(r"#[0-9a-f]{3,6}\b", rules)
    assert "color-scheme: light dark" in asset("page.css")


def test_an_svg_repaints_itself_on_dark_pages() -> None:
    """Paper, ink and grid have another colour there, on screens only; a black line is light."""
    figure = Figure()
    figure.subplots().plot([0, 1], [0, 1], color="#000000")
    svg = rendered(figure, "svg").decode()
    assert svg.count("@media screen and (prefers-color-scheme: dark)") == 1
    assert f"[style*='stroke: #000000']{{stroke:{DARK['#000000']}!important}}" in svg
    assert "stroke: #000000" in svg.partition("</style>")[2]


def test_every_axis_has_a_quantity_or_a_unit(sweep: Callable[..., Comparison]) -> None:
    """All figures of two policies on two clusters: a unit in the label, in its ticks, or a count or share."""
    comparison = sweep(["fifo", "srtf"], [])
    digests, competing = [digest(group) for group in comparison.groups], contest(comparison)
    for drawing in drawings(digests, comparison, competing):
        figure = drawing.draw(WIDTH_IN)
        figure.draw_without_rendering()
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                label, ticks = axis.get_label_text(), [text.get_text() for text in axis.get_ticklabels()]
                in_ticks = any(re.search(r"\d (ms|s|min|h|d)$", text) for text in ticks)
                assert UNIT.search(label) or COUNTED.search(label) or in_ticks, (drawing.name, label)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.02, 400.0, [0.1, 1, 10, 100]),
        (0.7, 13.0, [1, 2, 5, 10]),
        (8.0, 15.0, [8, 9, 10]),
        (11.0, 19.0, [10, 20]),
        (10.0, 10.0, [10, 20]),
    ],
)
def test_a_logarithmic_axis_has_at_least_two_ticks(low: float, high: float, ticks: list[float]) -> None:
    """Powers where three fit, else 1, 2 and 5, else all digits, else those around; each has its label."""
    assert log_ticks(low, high) == pytest.approx(ticks)
    axes = Figure().subplots()
    log_axis(axes, low, high)
    shown = [at for at in axes.get_xticks() if axes.get_xlim()[0] <= at <= axes.get_xlim()[1]]
    assert shown == pytest.approx(ticks)
    assert [text.get_text() for text in axes.get_xticklabels()] == [f"{tick:g}" for tick in ticks]


@pytest.mark.parametrize(
    ("times", "zero", "scale"), [(20, False, "linear"), (21, False, "log"), (21, True, "symlog")]
)
def test_a_policy_far_above_the_others_does_not_squash_them(
    sweep: Callable[..., Comparison], times: int, zero: bool, scale: str
) -> None:
    """Means of 1 s and 20 s share a linear axis; 21 s needs a logarithmic one, which may begin at 0."""
    comparison = sweep(["fifo", "srtf"], [])
    for group, makespan_s in zip(comparison.groups, (1.0, times, 0.0 if zero else 1.0, 1.0), strict=True):
        group.runs[0].summary["makespan_s"] = makespan_s
    axes = Figure().subplots()
    draw_metric(axes, comparison.groups, [[0, 1], [2, 3]], [0, 1], BY_NAME["makespan_s"])
    assert axes.get_yscale() == scale


@pytest.mark.parametrize(
    ("task", "params"),
    [
        (["+policy=srtf,fifo,las", "cluster.racks=1,2"], None),
        (["policy=choice(srtf, 'fifo', las)"], None),
        (["experiment=some"], {"policy": "srtf,fifo,las"}),
    ],
)
def test_policies_keep_the_order_given(
    sweep: Callable[..., Comparison], task: list[str], params: dict[str, str] | None
) -> None:
    """By the command, or else its experiment; one that neither names comes last; numbers ascend."""
    comparison = sweep(["drf", "fifo", "las", "srtf"], task, params)
    assert [(group.shown[0], group.shown[1]) for group in comparison.groups] == [
        (policy, racks) for policy in ("srtf", "fifo", "las", "drf") for racks in ("1", "2")
    ]


def test_a_sweep_without_an_order_is_sorted_by_names(sweep: Callable[..., Comparison]) -> None:
    """No policy in the command, no parameters: alphabetical, and no error."""
    assert [group.shown[0] for group in sweep(["srtf", "fifo"], []).groups][::2] == ["fifo", "srtf"]


def test_a_legend_is_read_row_by_row() -> None:
    """Five entries in columns, which matplotlib fills one after the other: they read 0 to 4 by rows."""
    figure = Figure(figsize=(9, 3), layout="constrained")
    lines = 5 * figure.subplots().plot([0, 1])
    legend(figure, [f"{i}" for i in range(5)], lines)
    figure.draw_without_rendering()
    texts = figure.legends[0].get_texts()
    boxes = {text.get_text(): text.get_window_extent() for text in texts}
    assert sorted(boxes, key=lambda name: (-round(boxes[name].y0), boxes[name].x0)) == [
        "0",
        "1",
        "2",
        "3",
        "4",
    ]


def test_a_line_of_its_own_keeps_its_policys_colour(sweep: Callable[..., Comparison]) -> None:
    """Five policies have a panel each for busy GPUs; colours are those of other figures."""
    comparison = sweep([f"p{i}" for i in range(5)], [])
    digests, competing = [digest(group) for group in comparison.groups], contest(comparison)
    figure = over_time(digests, "busy_gpus", competing)
    drawn = [axes.get_lines()[-1].get_color() for axes in figure.axes[:10]]
    assert drawn == [colour for colour in SERIES[:5] for _ in range(2)]
