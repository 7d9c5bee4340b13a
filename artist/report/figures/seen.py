"""The figures of a site against its runs: waiting jobs and busy GPUs over time, and waits."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, look, style
from artist.drawing.panels import MAX_STACKED, WIDTH_IN, columns, head, label_columns, legend, panels
from artist.drawing.time_axis import log_time_axis, time_unit
from artist.recording.names import SEEN_COLUMN, SEEN_FILE
from artist.report.figures.drawing import Drawing, first, title
from artist.results.compare import Replicates
from artist.results.digest import Digest
from artist.results.seen import have_seen

_MET: dict[str, Any] = {"color": "#777777", "linewidth": 1.4}
_LINES = ("on the site", "simulated")
_FLAT_IN = 1.3  # height of the first picture of a page
_LEAST_S = 1.0  # of a logarithmic axis: a job that did not wait is drawn there
_OVER_TIME = {
    "queue": ("Waiting jobs, seen and simulated", "waiting jobs"),
    "busy": ("Busy GPUs, seen and simulated", "busy GPUs"),
}


def drawings(digests: Sequence[Digest]) -> list[Drawing]:
    """Return the figures, if the trace of some row has real starts."""
    groups = have_seen([digest.group for digest in digests])
    if not groups:
        return []
    more = first(digests)
    caption = "Means by hour, while jobs arrive. Grey: on the site; in colour: simulated." + more
    spread = (
        "The fraction of jobs that waited no longer than the time on the horizontal axis. Grey: on "
        "the site; in colour: simulated."
    ) + more
    names = [name for name in _OVER_TIME if name != "queue" or len(groups) > 1]  # one row's is at the top
    return [
        *(
            Drawing(f"seen_{name}", _OVER_TIME[name][0], caption, partial(over_time, groups, name))
            for name in names
        ),
        Drawing("seen_waits", "Waits, seen and simulated", spread, partial(distribution, groups)),
    ]


def at_a_glance(row: Replicates) -> Drawing:
    """Return the first figure: waiting jobs of the row that represents the site, and those met."""
    caption = f"Waiting jobs by hour: on the site, and simulated ({row.label})."
    return Drawing(
        "seen_today", _OVER_TIME["queue"][0], caption, partial(over_time, [row], "queue", height_in=_FLAT_IN)
    )


def over_time(
    groups: Sequence[Replicates], name: str, width_in: float = WIDTH_IN, height_in: float = 1.9
) -> Figure:
    """Draw waiting jobs or busy GPUs, a panel per row."""
    names = ["time_s", f"{name}_seen", f"{name}_simulated"]
    series = [group.runs[0].numbers(SEEN_FILE.removesuffix(".parquet"), names) for group in groups]
    scale, unit = time_unit(max(float(times_s[-1]) for times_s, _, _ in series))
    with style():
        figure, places = panels(
            len(groups), height_in, _LINES, width_in=width_in,
            max_columns=1 if len(groups) <= MAX_STACKED else None,
        )  # fmt: skip
        rows = enumerate(zip(places, groups, series, strict=True))
        for number, (axes, group, (times_s, met, simulated)) in rows:
            axes.plot(times_s / scale, met, drawstyle="steps-post", **_MET)
            axes.plot(times_s / scale, simulated, drawstyle="steps-post", **_simulated(number))
            axes.set(xlim=(0, times_s[-1] / scale), ylim=(0, None), ylabel=_OVER_TIME[name][1])
            head(axes, title(group) if height_in != _FLAT_IN else "", places, width_in)
        label_columns(places, f"time ({unit})")
        legend(figure, _LINES, example_lines([_MET, _simulated(0)]))
        return figure


def distribution(groups: Sequence[Replicates], width_in: float = WIDTH_IN) -> Figure:
    """Draw the distribution of waits, a panel per row."""
    with style():
        figure, places = panels(len(groups), 2.4, _LINES, width_in=width_in)
        for number, (axes, group) in enumerate(zip(places, groups, strict=True)):
            met, simulated = group.runs[0].numbers("jobs", [SEEN_COLUMN, "queueing_s"])
            known = ~np.isnan(met)
            for waits_s, line in ((met[known], _MET), (simulated[known], _simulated(number))):
                ordered = np.sort(np.maximum(waits_s, _LEAST_S))
                fractions = np.arange(1, len(ordered) + 1) / len(ordered)
                axes.plot(ordered, fractions, drawstyle="steps-post", **line)
            log_time_axis(
                axes,
                _LEAST_S,
                2 * float(np.max([met[known], simulated[known]], initial=_LEAST_S)),
                room=columns(places),
            )
            axes.tick_params(axis="x", rotation=30)
            axes.set(ylim=(None, 1.005), ylabel="fraction of jobs")
            head(axes, title(group), places, width_in)
        label_columns(places, "wait (none: at the left end)")
        legend(figure, _LINES, example_lines([_MET, _simulated(0)]))
        return figure


def _simulated(number: int) -> dict[str, Any]:
    return look(number) | {"marker": "", "linestyle": "-", "linewidth": 1.1}
