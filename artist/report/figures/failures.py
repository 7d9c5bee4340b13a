"""The figure of the time of all GPUs by cause, where machines fail."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from artist.drawing.looks import style
from artist.drawing.panels import WIDTH_IN
from artist.recording.names import GPU_CAUSES
from artist.report.figures.bars import bar_panels, part_key, stack
from artist.report.figures.drawing import Drawing, several
from artist.results.digest import Digest
from artist.results.failures import gpu_hours, has_failures
from artist.results.scenarios import Contest

_CAPTION = (
    "The time of all GPUs by cause, over the whole run; at the end of each bar, the part that is useful "
    "work. Numbers are in table.csv. Waiting for a replacement: free GPUs, while jobs wait that a failure "
    "stopped."
)
_BARE = " Rows whose machines do not fail have no bar."
_MEANS = " Means over replicates."
_SHADES = (0, 2, 4, 3, 5, 7, 8, 1, 9, 12, 10, 13, 11, 14, 6)  # of GPU_CAUSES
_SEEN = 1e-3  # of the longest bar


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure, if machines fail in some row."""
    failing = [has_failures(digest.group) for digest in digests]
    if not any(failing):
        return []
    caption = _CAPTION + _BARE * (not all(failing)) + _MEANS * several(digests)
    draw = partial(hours_by_cause, digests, contest)
    return [Drawing("gpu_hours", "Where the GPU-hours went", caption, draw)]


def hours_by_cause(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw the GPU-hours of each row, split by cause; rows of a scenario together."""
    hours = np.array([list(gpu_hours(digest.group).values()) for digest in digests])
    totals = hours.sum(axis=1)
    names = list(GPU_CAUSES.values())
    shown = [i for i in range(len(names)) if hours[:, i].max() > _SEEN * totals.max()]
    with style():
        figure, (axes,) = bar_panels(1, digests, contest, width_in)
        shades = [_SHADES[i] for i in shown]
        y = stack(axes, digests, contest, hours[:, shown], [names[i] for i in shown], shades)
        for at, total, useful in zip(y, totals, hours[:, 0], strict=True):
            text = f"{useful / total:.0%}".replace("%", " %") if total else ""
            axes.annotate(text, (total, at), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_xlim(0, 1.12 * totals.max() or 1.0)
        axes.set_xlabel("GPU-hours")
        part_key(figure, axes, width_in)
        return figure
