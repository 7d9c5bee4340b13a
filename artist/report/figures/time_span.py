"""End of an axis of time: the last run, or 99 % of the work if little of it is left for long."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from artist.drawing.time_axis import time_unit
from artist.results.digest import Digest
from artist.results.steps import WORK, axis_end_s

_WORK = f"{100 * WORK:.0f} % of the work"


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The span of time that an axis shows.

    Attributes
    ----------
    end_s, last_s
        Ends of the axis and of the longest run on it.
    """

    end_s: float
    last_s: float

    @property
    def cut(self) -> bool:
        """Return whether runs go on after the end of the axis."""
        return self.end_s < self.last_s

    @property
    def scale(self) -> float:
        """Return the seconds in the unit of the axis."""
        return time_unit(self.end_s)[0]

    @property
    def limits(self) -> tuple[float, float]:
        """Return the ends of the axis in its unit."""
        return 0.0, self.end_s / self.scale

    @property
    def label(self) -> str:
        """Return the label of the axis."""
        return f"time ({time_unit(self.end_s)[1]})" + f", until {_WORK} is done" * self.cut

    def mark(self, axes: Axes) -> None:
        """Mark the end of a cut axis."""
        if self.cut:
            axes.annotate(
                "//", (1, 0), xycoords="axes fraction", ha="center", va="center", annotation_clip=False
            )


def time_span(digests: Sequence[Digest]) -> TimeSpan:
    """Return the span that shows all but the last 1 % of the GPU time of each row's first run.

    It ends with the longest run unless that shortens it by more than a quarter.
    """
    last_s = max(digest.end_s for digest in digests) or 1.0
    work_s = max(digest.work_end_s for digest in digests)
    return TimeSpan(axis_end_s(last_s, work_s), last_s)


def on_cuts(spans: Sequence[TimeSpan]) -> str:
    """Return the caption's sentence on axes that are cut, if there are any."""
    if not any(span.cut for span in spans):
        return ""
    last_s = max(span.last_s for span in spans)
    scale, unit = time_unit(last_s)
    return (
        f" Axes that end with // are cut where {_WORK} (GPU time) is done; the longest "
        f"run lasts {last_s / scale:.3g} {unit}."
    )
