"""The figure of completion times by how many GPUs jobs asked for."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from artist.drawing.looks import style
from artist.drawing.panels import WIDTH_IN, head, label_columns, label_rows, legend, panels
from artist.drawing.time_axis import log_time_axis
from artist.report.figures.drawing import Drawing, pooled
from artist.report.figures.facets import facets
from artist.report.figures.job_types import have_job_types
from artist.results.digest import Digest
from artist.results.jobcolumns import DEMANDS
from artist.results.scenarios import Contest

_CAPTION = (
    "Completion times of jobs by the number of GPUs that they asked for: the median, and the 95th "
    "percentile (p95), which only the slowest 5 % exceed. Lower is better."
)
_CPU_JOBS = " CPU jobs, which ask for none, are left out."


def drawing(digests: Sequence[Digest], contest: Contest) -> Drawing:
    """Return the figure."""
    draw = partial(jct_by_demand, digests, contest)
    caption = _CAPTION + _CPU_JOBS * any(map(have_job_types, digests)) + pooled(digests)
    return Drawing("jct_by_demand", "Completion time by size of job", caption, draw)


def jct_by_demand(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw median and 95th percentile of the completion time of jobs, by the GPUs asked for."""
    layout = facets([digest.group for digest in digests], contest)
    used = np.flatnonzero(sum(digest.by_demand[:, 0] for digest in digests))
    both = [
        (column, f"{statistic}{', ' if name else ''}{name}", rows)
        for column, statistic in ((1, "median"), (2, "p95"))
        for name, rows in layout.sets
    ]
    values = np.concatenate([digest.by_demand[:, 1:].ravel() for digest in digests])
    values = values[values > 0]
    with style():
        height = 3.2 if len(both) == 2 else 1.9
        figure, places = panels(
            len(both), height, layout.texts,
            same_y=True, width_in=width_in, shared=False, max_columns=min(max(len(layout.sets), 2), 4),
        )  # fmt: skip
        lines: dict[int, Any] = {}
        for axes, (column, name, rows) in zip(places, both, strict=True):
            for row in rows:
                marker = {"marker": layout.points[row]["marker"], "markevery": None, "markersize": 4}
                times = digests[row].by_demand[used, column]
                (lines[row],) = axes.plot(range(len(used)), times, **layout.looks[row] | marker)
            axes.set_xticks(range(len(used)), [DEMANDS[i] for i in used])
            head(axes, name, places, width_in)
            if len(values):
                log_time_axis(axes, float(values.min()), float(values.max()), along="y")
        label_columns(places, "GPUs asked for")
        label_rows(figure, "job completion time", layout.texts)
        legend(figure, layout.texts, [lines[row] for row in layout.examples])
        return figure
