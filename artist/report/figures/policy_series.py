"""The figure of the values that policies noted over time."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from artist.drawing.looks import look, style
from artist.drawing.panels import WIDTH_IN, panels
from artist.drawing.time_axis import time_unit
from artist.report.figures.drawing import Drawing, first, key_texts, title
from artist.results.compare import Replicates
from artist.results.digest import Digest
from artist.results.job_types import other_series

_MAX_LINES = 8  # of a panel; beyond, those that changed most often
_CAPTION = (
    "Values that the policy recorded over time, such as the timers of delay scheduling; each "
    "value holds until the next one."
)


def drawings(digests: Sequence[Digest]) -> list[Drawing]:
    """Return the figure, if some policy noted something."""
    noted = with_series([digest.group for digest in digests])
    draw = partial(policy_series, noted)
    caption = _CAPTION + first(digests)
    return [Drawing("policy_series", "What the policies noted", caption, draw)] if noted else []


def with_series(groups: Sequence[Replicates]) -> list[Replicates]:
    """Return the rows whose first run has noted something."""
    return [group for group in groups if other_series(group.runs[0]) is not None]


def policy_series(groups: Sequence[Replicates], width_in: float = WIDTH_IN) -> Figure:
    """Draw the series of each row's first run, a panel per row, as steps that last until the next value."""
    frames = [frame for group in groups if (frame := other_series(group.runs[0])) is not None]
    end_s = max(float(group.runs[0].numbers("timeline", ["time_s"])[0][-1]) for group in groups)
    scale, unit = time_unit(end_s)
    with style():
        figure, places = panels(len(groups), 2.8, key_texts(groups), width_in=width_in, max_columns=1)
        for axes, group, frame in zip(places, groups, frames, strict=True):
            by_name = [(str(name), lines) for name, lines in frame.groupby("name", sort=True)]
            by_name.sort(key=lambda pair: -len(pair[1]))
            lines_of = sorted(by_name[:_MAX_LINES], key=lambda pair: pair[0])
            for number, (name, lines) in enumerate(lines_of):
                times = np.append(lines["time_s"], end_s) / scale
                values = np.append(lines["value"], lines["value"].iloc[-1])
                axes.plot(times, values, drawstyle="steps-post", label=name, **look(number))
            units = {_unit(name) for name, _ in lines_of}
            axes.set(xlim=(0, end_s / scale), ylim=(0, None), ylabel=f"value ({' or '.join(sorted(units))})")
            axes.set_title(title(group), fontsize=9, loc="left")
            aside = (1, 1) if width_in == WIDTH_IN else (0, -0.3)  # the lines are left free
            axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=aside)
        axes.set_xlabel(f"time ({unit})")
        return figure


def _unit(name: str) -> str:
    """Return the unit that a name ends with, in brackets; without one it is a number."""
    return name.rpartition("(")[2].rstrip(")") if name.endswith(")") else "number"
