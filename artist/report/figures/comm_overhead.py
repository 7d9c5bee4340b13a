"""The figure of communication over compute, by model and tier."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, style
from artist.drawing.panels import WIDTH_IN, columns, head, legend, panels
from artist.drawing.time_axis import log_axis
from artist.report.figures.drawing import TIER_NAMES, Drawing, pooled
from artist.report.figures.facets import facets
from artist.results.digest import Digest
from artist.results.jobcolumns import TIERS
from artist.results.scenarios import Contest
from artist.tables.grid import clip

_CAPTION = (
    "Exposed communication relative to computing, without contention, of jobs with 2 GPUs or "
    "more: by model, and by the tier on which a job spent most of its time. Means over jobs, "
    "short and long ones alike."
)
_FLOOR = " Less than 0.01 % is drawn at 0.01 %."
_LEAST = 1e-4  # less is drawn there
_MAX_MODELS = 12


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure, but where several GPUs were used and communication took no time at all."""
    overheads = [value for digest in digests for _, value in digest.overheads]
    if overheads and not any(overheads):
        return []
    caption = _CAPTION + _FLOOR * any(value < _LEAST for value in overheads) + pooled(digests)
    draw = partial(overhead_by_model, digests, contest)
    return [Drawing("comm_overhead", "Communication by model and tier", caption, draw)]


def overhead_by_model(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw exposed communication over compute by model, a panel for each scenario and tier with such jobs."""
    layout = facets([digest.group for digest in digests], contest)
    overheads = [dict(digest.overheads) for digest in digests]
    pairs = {pair for of_row in overheads for pair in of_row}
    tiers = sorted({tier for _, tier in pairs}, key=TIERS.index)
    models = sorted({model for model, _ in pairs})[:_MAX_MODELS]
    both = [(tier, name, rows) for tier in tiers for name, rows in layout.sets] or [("", "", ())]
    columns_at_most = min(len(layout.sets), 4) if len(layout.sets) > 1 else max(1, len(tiers))
    most = max(len(rows) for _, rows in layout.sets)
    with style():
        figure, places = panels(
            len(both), 0.7 + max(2, len(models)) * min(0.6, 0.12 + 0.05 * most), layout.texts,
            shared=False, same_y=True, width_in=width_in, max_columns=columns_at_most,
        )  # fmt: skip
        if not tiers:
            places[0].text(0.5, 0.5, "no job used several GPUs", ha="center", transform=places[0].transAxes)
        values = [100 * max(value, _LEAST) for of_row in overheads for value in of_row.values()]
        for axes, (tier, name, rows) in zip(places, both, strict=True):
            for i, row in enumerate(rows):
                y = np.arange(len(models)) + 0.7 * ((i + 0.5) / len(rows) - 0.5)
                x = [overheads[row].get((model, tier), np.nan) for model in models]
                axes.plot(100 * np.maximum(x, _LEAST), y, **layout.points[row])
            if tier:
                _overhead_axes(axes, models, values, last=axes in places[-columns(places) :])
                head(axes, name, places, width_in, "\n" * bool(name) + TIER_NAMES[TIERS.index(tier)])
        legend(figure, layout.texts, example_lines([layout.points[row] for row in layout.examples]))
        return figure


def _overhead_axes(axes: Axes, models: Sequence[str], values: Sequence[float], *, last: bool) -> None:
    axes.set_yticks(range(len(models)), [clip(model, 14) for model in models], fontsize=8)
    axes.set_ylim(len(models) - 0.5, -0.5)
    for edge in range(1, len(models)):
        axes.axhline(edge - 0.5, color="#dddddd", linewidth=0.6)
    axes.grid(visible=False, axis="y")
    log_axis(axes, min(values), max(values))
    if last:
        axes.set_xlabel("communication / compute (%)")
