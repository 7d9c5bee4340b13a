"""Axes of time, with ticks and units as people count it, and other logarithmic axes."""

import math
from bisect import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING

from artist.drawing.panels import width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS_PER_IN = 1.2
_FEW_TICKS = 3
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
    _set_log(axes, along, (left, right), at, texts)


def log_axis(axes: "Axes", low: float, high: float, along: str = "x", *, zero: bool = False) -> None:
    """Give an axis of numbers a logarithmic scale with at least two ticks, from about `low` to `high`.

    Parameters
    ----------
    zero
        Whether it begins at 0 and is linear up to `low`.
    """
    at = log_ticks(low, high)
    limits = (min(low / 1.2, at[0]), max(1.2 * high, at[-1]))
    if zero:
        at, limits = [0.0, *at], (-low / 10, limits[1])
    _set_log(axes, along, limits, at, [f"{tick:g}" for tick in at], low if zero else None)


def log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten from `low` to `high`, with multiples between them if they are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5), range(1, 10)):
        ticks = [float(f"{step}e{power}") for power in powers for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= _FEW_TICKS:
            return inside
    return inside if len(inside) > 1 else [ticks[max(0, bisect(ticks, low) - 1)], ticks[bisect(ticks, high)]]


def _set_log(
    axes: "Axes",
    along: str,
    limits: tuple[float, float],
    at: Sequence[float],
    texts: Sequence[str],
    linear_to: float | None = None,
) -> None:
    """Set scale, limits and ticks of an axis; if it holds 0, it is linear below a number."""
    scale, axis = (axes.set_xscale, axes.xaxis) if along == "x" else (axes.set_yscale, axes.yaxis)
    if linear_to is None:
        scale("log")
    else:
        scale("symlog", linthresh=linear_to)
    axes.set(**{f"{along}lim": limits})
    axis.set_ticks(at, texts)
    axis.set_ticks([], minor=True)


def time_unit(end_s: float) -> tuple[float, str]:
    """Return seconds in a unit, and its name, for an axis that ends there."""
    return next((scale, unit) for least, scale, unit in _UNITS if end_s >= least)
