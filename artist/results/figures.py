"""The figures of a report: names, headings and captions, and the drawing of each for a desk and a phone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from artist.results.digest import Digest
from artist.results.looks import NARROW_IN, WIDTH_IN
from artist.results.page import PageFigure, slim
from artist.results.scenarios import Contest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CDF = (
    "Fraction of all submitted jobs that completed within the time; a line that ends below 1 belongs to a "
    "run with unfinished jobs. Further left is better. Replicates are pooled."
)
_QUEUE_CDF = (
    "Fraction of finished jobs that waited no longer than the time, over the whole of their lives; each line "
    "begins at the fraction that waited less than 1 s. Higher is better. Replicates are pooled."
)
_PARTS = (
    "Where the mean completion time went. Computing is the work itself; exposed communication is what "
    "computing does not hide, contention on links included; restarts and moves hold GPUs without progress; "
    "lost work was done again after a preemption (taken from the other parts in proportion)."
)
_DEMAND = (
    "Completion times of jobs by the GPUs that they asked for: median, and the 95th percentile, which the "
    "slowest 5 % exceed. Lower is better. Replicates are pooled."
)
_AVERAGED = (
    "Long runs are averaged over short spans of time; a light band, where there is one, shows the least and "
    "the greatest number. Of replicates, the one with the lowest seed is shown."
)
_TIERS = (
    "Left, how often jobs were placed (starts, moves and resizes) within one machine, across machines of a "
    "rack, and across racks; right, for how many GPU-hours they ran there. The "
    "narrower the tier, the faster jobs communicate."
)
_OVERHEAD = (
    "Exposed communication relative to computing, of jobs with 2 GPUs or more, by model and by the tier that "
    "a job spent most time on: unweighted means over jobs. Less than 0.01 % is drawn at 0.01 %."
)
_OCCUPANCY = (
    "Each machine is a band with one line a GPU where there is room; its colour says how many GPUs the job "
    "that holds them had asked for, large jobs at the bottom of the band. White is idle. Spans of time are "
    "averaged. Of several scenarios, the one with the longest queue is shown."
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure that can be drawn at any width, in inches."""

    name: str
    title: str
    caption: str
    draw: Callable[[float], "Figure"]


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures of a comparison; reads the events of a few runs.

    Raises
    ------
    InputError
        If the events of a run are damaged.
    """
    from artist.results import barplots, pictures, plots

    pictured = [
        pictures.picture(digests[i].group, digests[i].end_s) for i in pictures.chosen(digests, contest)
    ]
    both = (digests, contest)

    def gauge(name: str) -> Callable[[float], "Figure"]:
        return partial(plots.over_time, digests, name, contest)

    return [
        Drawing("jct_parts", "Where the completion time went", _PARTS, partial(barplots.jct_parts, *both)),
        Drawing("jct_cdf", "Job completion times", _CDF, partial(plots.jct_cdf, *both)),
        Drawing("queueing_cdf", "Queueing times", _QUEUE_CDF, partial(plots.queueing_cdf, *both)),
        Drawing(
            "jct_by_demand", "Completion time by size of job", _DEMAND, partial(barplots.jct_by_demand, *both)
        ),
        Drawing("queue_length", "Waiting jobs", _AVERAGED, gauge("queue_length")),
        Drawing("busy_gpus", "Busy GPUs", _AVERAGED, gauge("busy_gpus")),
        Drawing("running_jobs", "Running jobs", _AVERAGED, gauge("running_jobs")),
        Drawing("placements", "Placements by tier", _TIERS, partial(barplots.placements_by_tier, *both)),
        Drawing(
            "comm_overhead",
            "Communication by model and tier",
            _OVERHEAD,
            partial(barplots.overhead_by_model, *both),
        ),
        Drawing("occupancy", "Who ran where", _OCCUPANCY, partial(pictures.occupancy, pictured)),
    ]


def drawn(drawing: Drawing, note: str) -> tuple[PageFigure, dict[str, bytes]]:
    """Draw a figure for the page, and as files of its own.

    Parameters
    ----------
    note
        What is added to the caption.
    """
    from artist.results.plots import rendered

    figure = drawing.draw(WIDTH_IN)
    wide, png = slim(rendered(figure, "svg", outlines=False)), rendered(figure, "png")
    narrow = slim(rendered(drawing.draw(NARROW_IN), "svg", outlines=False))
    page_figure = PageFigure(drawing.name, drawing.title, drawing.caption + note, wide, narrow)
    return page_figure, {f"{drawing.name}.svg": wide, f"{drawing.name}.png": png}
