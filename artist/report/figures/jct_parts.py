"""The figure of the parts of the completion time."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from artist.drawing.looks import style
from artist.drawing.panels import WIDTH_IN
from artist.drawing.time_axis import time_unit
from artist.report.figures.bars import bar_panels, part_key, stack
from artist.report.figures.drawing import Drawing, several
from artist.results.digest import Digest
from artist.results.jobcolumns import PARTS
from artist.results.measures import BY_NAME, estimate, number_texts
from artist.results.scenarios import Contest

_PARTS = (
    "The mean completion time, by its causes. Computing is the work itself; exposed communication "
    "is the part of communication that computing does not hide"
)
_MORE_PARTS = {
    "contention": "; contention is the time that shared links add to it",
    "stalls and sharing": "; stalls and sharing is waiting for input and for other jobs of the machine",
    "overheads": "; overheads are delays of starts, moves and measurements, and finishes not yet noticed",
    "lost work": (
        "; lost work was done again after a preemption (its time is taken from the other parts in proportion)"
    ),
}
_WHISKERS = " The thin black line is the 95 % interval (Student's t) of the mean over seeds."
_WHISKER: Any = {"color": "black", "linewidth": 1, "marker": "|", "markersize": 4}
_HOURS_FROM_S = 5400  # as in the tables


def drawing(digests: Sequence[Digest], contest: Contest) -> Drawing:
    """Return the figure."""
    parts = [PARTS[i] for i in drawn_parts(digests)]
    caption = (
        _PARTS + "".join(_MORE_PARTS.get(part, "") for part in parts) + "." + _WHISKERS * several(digests)
    )
    return Drawing(
        "jct_parts", "Where the completion time went", caption, partial(jct_parts, digests, contest)
    )


def jct_parts(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw the mean completion time of each row, split into its parts; rows of a scenario together."""
    values = np.nan_to_num(np.array([digest.parts_s for digest in digests]))
    totals = values.sum(axis=1)
    longest_s = float(totals.max())
    scale, unit = (3600, "hours") if longest_s >= _HOURS_FROM_S else time_unit(longest_s)
    used = drawn_parts(digests)
    with style():
        figure, (axes,) = bar_panels(1, digests, contest, width_in)
        y = stack(axes, digests, contest, values[:, used] / scale, [PARTS[i] for i in used], used)
        texts = number_texts([(float(total) or None, None) for total in totals], 1 / scale, "time")
        ends = []
        for at, total, digest, (text, _) in zip(y, totals, digests, texts, strict=True):
            mean = estimate(BY_NAME["jct_mean_s"], [run.summary for run in digest.group.runs])
            ends.append(max(float(total), mean.high or 0.0) / scale)
            if mean.low is not None and mean.high is not None:
                axes.plot([mean.low / scale, mean.high / scale], [at, at], **_WHISKER)
            axes.annotate(text, (ends[-1], at), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_xlim(0, 1.12 * max(ends) or 1.0)
        axes.set_xlabel(f"mean over finished jobs ({unit})")
        part_key(figure, axes, width_in)
        return figure


def drawn_parts(digests: Sequence[Digest]) -> list[int]:
    """Return the parts of the completion time that are large enough to be seen in some row."""
    values = np.nan_to_num(np.array([digest.parts_s for digest in digests]))
    least = 1e-3 * values.sum(axis=1).max()
    return [i for i in range(len(PARTS)) if i < 3 or values[:, i].max() > least]
