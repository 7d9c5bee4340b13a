"""Axes of time, with ticks and units as people count it."""

import math
from typing import TYPE_CHECKING

from artist.report.figures.panels import width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS_PER_IN = 1.2
_FINE_TICKS = tuple(
    (count * scale, f"{count:g} {unit}")
    for scale, unit, counts in (
        (1e-3, "ms", (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1, "s", (1, 2, 5, 10, 20, 30)),
        (60, "min", (1, 2, 5, 10, 20, 30)),
        (3600, "h", (1, 2, 5, 10)),
        (86_400, "d", (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000)),
    )
    for count in counts
)
_COARSE_TICKS = tuple(tick for tick in _FINE_TICKS if tick[1].split()[0] in ("1", "10", "100", "1000"))
_UNITS = ((2 * 86_400, 86_400, "days"), (2 * 3600, 3600, "hours"), (120, 60, "minutes"), (0, 1, "seconds"))


def log_time_axis(axes: "Axes", low: float, high: float, along: str = "x", *, room: int = 1) -> None:
    """Give an axis the times from `low` to `high`, in seconds, with ticks as people count time.

    Parameters
    ----------
    along
        "x" or "y".
    room
        How many panels share the width of the figure.
    """
    below = [at for at, _ in _FINE_TICKS if at <= low]
    above = [at for at, _ in _FINE_TICKS if at >= high]
    left, right = (below[-1] if below else low), (above[0] if above else high)
    inside = [tick for tick in _FINE_TICKS if left <= tick[0] <= right]
    most = _TICKS_PER_IN * width_of(axes) / room if along == "x" else 10
    if len(inside) > most:
        inside = [tick for tick in _COARSE_TICKS if left <= tick[0] <= right]
    inside = inside[:: math.ceil(len(inside) / most)]
    at, texts = [tick for tick, _ in inside], [text for _, text in inside]
    if along == "x":
        axes.set(xscale="log", xlim=(left, right))
        axes.set_xticks(at, texts)
        axes.set_xticks([], minor=True)
    else:
        axes.set(yscale="log", ylim=(left, right))
        axes.set_yticks(at, texts)
        axes.set_yticks([], minor=True)


def time_unit(end_s: float) -> tuple[float, str]:
    """Return seconds in a unit, and its name, for an axis that ends there."""
    return next((scale, unit) for least, scale, unit in _UNITS if end_s >= least)
