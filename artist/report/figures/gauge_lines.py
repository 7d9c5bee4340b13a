"""The line of a gauge over time, the band that it lies in, and the capacity."""

from typing import Any

from matplotlib.axes import Axes

from artist.results.digest import Digest, Gauge


def gauge_of(digest: Digest, name: str) -> Gauge:
    """Return a gauge that was recorded."""
    gauge = digest.gauge(name)
    assert gauge is not None  # rows without it are not drawn
    return gauge


def top_of(digest: Digest, gauge: str) -> float:
    """Return the greatest number of a gauge."""
    return float(gauge_of(digest, gauge).most.max())


def draw_gauge(axes: Axes, gauge: Gauge, scale: float, line_look: dict[str, Any], *, band: bool) -> None:
    """Draw a gauge, with its band if it is averaged; `scale` is the unit of time in seconds."""
    x = gauge.times_s / scale
    if band and gauge.thinned:
        axes.fill_between(
            x, gauge.least, gauge.most, step="post", alpha=0.3, linewidth=0, color=line_look["color"]
        )
    axes.plot(x, gauge.mean, drawstyle="steps-post", **line_look)


def draw_capacity(axes: Axes, gauge: Gauge, scale: float) -> None:
    """Draw the capacity as a dashed grey line; `scale` is the unit of time in seconds."""
    grey: dict[str, Any] = {"color": "#777777", "linewidth": 1.0, "linestyle": (0, (4, 3))}
    axes.plot(gauge.times_s / scale, gauge.mean, drawstyle="steps-post", **grey)
