"""The picture of the first screen: mean completion times as dots, with their intervals."""

from collections.abc import Sequence
from functools import partial
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, points, style
from artist.drawing.panels import legend, panels
from artist.drawing.time_axis import log_time_axis, time_unit
from artist.report.figures.drawing import Drawing
from artist.results.compare import Replicates
from artist.results.measures import BY_NAME, Estimate, estimate
from artist.results.scenarios import Contest
from artist.tables.grid import clip

WIDTH_IN = 5.6
_MAX_LINES = 10
_ROW_IN = 0.24
_FAR = 10.0  # means farther apart need a logarithmic axis
_CHARS = 60  # of a line's name, in two lines
_CAPTION = "Mean completion time of jobs (JCT: from submission to finish)"
_WHISKERS = "; lines are 95 % intervals over seeds"


def drawing(groups: Sequence[Replicates], contest: Contest) -> Drawing:
    """Return the picture."""
    left_out = len(_lines(groups, contest)) - _MAX_LINES
    more = f"; {left_out} more scenarios are below" if left_out > 0 else ""
    repeated = any(len(group.runs) > 2 for group in groups)
    caption = f"{_CAPTION}{_WHISKERS * repeated}{more}."
    return Drawing("glance", "Mean completion times", caption, partial(glance, groups, contest))


def glance(groups: Sequence[Replicates], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw the picture."""
    lines = _lines(groups, contest)[:_MAX_LINES]
    names = list(dict.fromkeys(contest.contenders)) if len(contest.scenarios) > 1 else []
    names = names if len(names) > 1 else []
    with style():
        figure, (axes,) = panels(1, 0.4 + _ROW_IN * len(lines), names, width_in=width_in)
        mean_dots(axes, groups, contest)
        legend(figure, names, example_lines([points(i) for i in range(len(names))]))
        return figure


def mean_dots(axes: Axes, groups: Sequence[Replicates], contest: Contest) -> Axes:
    """Draw the mean JCT of each row as a dot, a line per scenario, or per row if there is one scenario."""
    lines = _lines(groups, contest)[:_MAX_LINES]
    names = list(dict.fromkeys(contest.contenders)) if len(contest.scenarios) > 1 else [""]
    means = {
        row: estimate(BY_NAME["jct_mean_s"], [run.summary for run in groups[row].runs])
        for _, rows in lines
        for row in rows
    }
    known = {row: number for row, number in means.items() if number.mean is not None}
    values = [number.mean for number in known.values() if number.mean is not None] or [1.0]
    far = min(values) > 0 and max(values) > _FAR * min(values)
    scale, unit = (1.0, "") if far else time_unit(max(values))
    for y, (_, rows) in enumerate(lines):
        for row in set(rows) & known.keys():
            number = names.index(contest.contenders[row]) if len(names) > 1 else 0
            _dot(axes, known[row], y, scale, points(number))
    axes.set_yticks(range(len(lines)), [fill(clip(name, _CHARS), _CHARS // 2 + 4) for name, _ in lines])
    axes.set_ylim(len(lines) - 0.5, -0.5)
    if far:
        log_time_axis(axes, min(values) / 1.2, max(values) * 1.2)
        axes.set_xlabel("mean JCT")
    else:
        axes.set_xlim(0, 1.08 * max([*values, *(number.high or 0.0 for number in known.values())]) / scale)
        axes.set_xlabel(f"mean JCT ({unit})")
    return axes


def _dot(axes: Axes, number: Estimate, y: float, scale: float, look: dict[str, object]) -> None:
    assert number.mean is not None
    if number.low is not None and number.high is not None:
        ends = [max(number.low, 0.0) / scale, number.high / scale]
        axes.plot(ends, [y, y], color=str(look["color"]), linewidth=1.0, alpha=0.6)
    axes.plot([number.mean / scale], [y], **look)  # type: ignore[arg-type]


def _lines(groups: Sequence[Replicates], contest: Contest) -> list[tuple[str, tuple[int, ...]]]:
    """Return name and rows of each line."""
    if len(contest.scenarios) > 1:
        return [(scenario.name, scenario.rows) for scenario in contest.scenarios]
    return [(group.label, (row,)) for row, group in enumerate(groups)]
