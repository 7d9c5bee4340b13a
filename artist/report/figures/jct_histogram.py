"""The figure of how many of the jobs took how long."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, style
from artist.drawing.panels import WIDTH_IN, columns, head, label_rows, legend, panels
from artist.drawing.time_axis import log_time_axis
from artist.report.figures.drawing import Drawing, pooled
from artist.report.figures.facets import facets
from artist.results.digest import Digest, Distribution
from artist.results.scenarios import Contest

_CAPTION = (
    "How many jobs took how long, as fractions of all submitted jobs, in spans of time that grow by the "
    "same factor; each line ends where 95 % of its jobs are done (p95)."
)
_BARS = 30  # of a histogram


def drawing(digests: Sequence[Digest], contest: Contest) -> Drawing:
    """Return the figure."""
    draw = partial(jct_histogram, digests, contest)
    return Drawing("jct_histogram", "Histogram of completion times", _CAPTION + pooled(digests), draw)


def jct_histogram(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw how many of the jobs have which completion time, each row up to its 95th percentile."""
    layout = facets([each.group for each in digests], contest)
    ends_s = [_time_below(each.jct, 0.95) for each in digests]
    low_s = min((float(each.jct.times_s[0]) for each in digests if len(each.jct.times_s)), default=1.0)
    edges = np.geomspace(0.999 * low_s, 1.001 * max(*ends_s, 2 * low_s), _BARS + 1)
    with style():
        figure, places = panels(len(layout.sets), 2.6, layout.texts, same_y=True, width_in=width_in)
        for axes, (name, rows) in zip(places, layout.sets, strict=True):
            for row in rows:
                jct = digests[row].jct
                if not len(jct.times_s):
                    continue
                below = np.concatenate([[0.0], jct.fractions])[
                    np.searchsorted(jct.times_s, edges, side="right")
                ]
                shown = int(np.searchsorted(edges, ends_s[row]))
                line = {key: layout.looks[row][key] for key in ("color", "linestyle", "linewidth")}
                axes.stairs(np.diff(below)[:shown], edges[: shown + 1], **line)
            axes.set_xlabel("job completion time" if axes in places[-columns(places) :] else "")
            head(axes, name, places, width_in)
            log_time_axis(axes, low_s, float(edges[-1]), room=columns(places))
        places[0].set_ylim(bottom=0)  # they share it
        label_rows(figure, "fraction of jobs", layout.texts)
        legend(figure, layout.texts, example_lines([layout.looks[row] for row in layout.examples], marker=""))
        return figure


def _time_below(jct: Distribution, part: float) -> float:
    """Return the time that this part of the jobs need at most; of all that have finished if fewer have."""
    if not len(jct.times_s):
        return 0.0
    return float(jct.times_s[min(int(np.searchsorted(jct.fractions, part)), len(jct.times_s) - 1)])
