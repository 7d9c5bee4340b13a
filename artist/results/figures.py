"""The figures of a report: names, headings and captions, and the drawing of each for a desk and a phone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from artist.recording.names import BLOCKING
from artist.results.compare import Comparison
from artist.results.digest import Digest, Distribution
from artist.results.jobcolumns import PARTS
from artist.results.looks import NARROW_IN, WIDTH_IN
from artist.results.names import short_key
from artist.results.page import PageFigure, slim
from artist.results.scenarios import Contest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FEW = 12  # rows whose figures are drawn before other processes have started
_POOLED = " Replicates are pooled."
_FIRST = " Of replicates, the one with the lowest seed is shown."
_UNFINISHED = " A line that ends below 1 belongs to a run with unfinished jobs."
_CDF = "Fraction of all submitted jobs that completed within the time. The earlier a line rises, the better."
_QUEUE_CDF = (
    "Fraction of finished jobs that waited no longer than the time, over the whole of their lives; each line "
    "begins at the fraction that waited less than 1 s. Higher is better."
)
_PARTS = (
    "Where the mean completion time went. Computing is the work itself; exposed communication is what "
    "computing does not hide, contention on links included"
)
_MORE_PARTS = {
    "stalls and sharing": "; stalls and sharing is waiting for input and for other jobs of the machine",
    "restarts and moves": "; restarts and moves hold GPUs without progress",
    "lost work": "; lost work was done again after a preemption (taken from the other parts in proportion)",
}
_DEMAND = (
    "Completion times of jobs by the GPUs that they asked for: median, and the 95th percentile (p95), which "
    "the slowest 5 % exceed. Lower is better."
)
_WAITING = "Jobs that wait for GPUs, over time."
_BUSY = "GPUs that jobs hold, over time. Dashed grey: GPUs that there are."
_BLOCKED = (
    "Over time, the mean over waiting jobs of the time that they have waited in their lives, relative to the "
    "time that the rest of their iterations computes. 0 if nobody waits. Lower is better."
)
_IN_USE = (
    "The part of the GPUs' time in which a job on them uses each resource, over time; idle GPUs and those of "
    "jobs that start or move count as unused."
)
_UNRECORDED = " Drawn are the runs made with output.resources=true."
_UNFINISHED_JOBS = "Jobs that wait or run, over time."
_HISTOGRAM = (
    "How many jobs took how long, as fractions of all submitted jobs, in spans of time that grow by the "
    "same factor; each line ends where 95 % of its jobs are done (p95)."
)
_ALONG = (
    "Numbers of the comparison along {key}. Lower is better. Scales are logarithmic if values are far apart."
)
_RELATIVE = (
    "Numbers of the comparison along {key}, relative to those of the baseline where all else is equal, or as "
    "far as it is. Below 0 is better than the baseline."
)
_SEEDS = " Differences are taken seed by seed; whiskers are their 95 % bootstrap intervals."
_MEANS = " Means over replicates; whiskers are their 95 % bootstrap intervals."
_WHISKERS = " The thin black line is the 95 % bootstrap interval of the mean over replicates."
_AVERAGED = " Averaged over short spans of time"
_BAND = "; the light band shows the least and the greatest number"
_LOG_ABOVE_1 = " The vertical scale is logarithmic above 1."
_AXES_DIFFER = " The vertical axes of the panels differ."
_TIERS = (
    "How often jobs were placed (starts, moves and resizes) within one machine, across machines of a rack, "
    "and across racks; and for how many GPU-hours they ran there. The narrower the tier, the faster jobs "
    "communicate."
)
_OVERHEAD = (
    "Exposed communication relative to computing, of jobs with 2 GPUs or more, by model and by the tier that "
    "a job spent most time on: unweighted means over jobs."
)
_OVERHEAD_FLOOR = " Less than 0.01 % is drawn at 0.01 %."
_OCCUPANCY = (
    "Each machine is a band with one line a GPU where there is room; its colour says how many GPUs the job "
    "that holds them had asked for, large jobs at the bottom of the band. White is idle. Spans of time are "
    "averaged."
)
_NOTED = (
    "Values that a policy kept of itself over time, such as the timers of delay scheduling; each "
    "holds until the next one."
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure that can be drawn at any width, in inches."""

    name: str
    title: str
    caption: str
    draw: Callable[[float], "Figure"]


def drawings(digests: Sequence[Digest], comparison: Comparison, contest: Contest) -> list[Drawing]:
    """Return the figures of a comparison; reads the events of a few runs.

    Parameters
    ----------
    digests
        Of the first rows of the comparison, those that are drawn.

    Raises
    ------
    InputError
        If the events of a run are damaged.
    """
    from artist.results import barplots, pictures, plots, resourceplots, seriesplots, sweepplots

    noted = seriesplots.with_series([each.group for each in digests])
    shown = pictures.chosen(digests, contest)
    used = resourceplots.with_resources(digests, contest)
    pictured = [pictures.picture(digests[i].group, digests[i].end_s) for i in shown]
    both = (digests, contest)
    several = any(len(each.group.runs) > 1 for each in digests)
    pooled, first = _POOLED * several, _FIRST * several
    parts = [PARTS[i] for i in barplots.drawn_parts(digests)]

    def gauge(name: str, title: str, text: str) -> Drawing:
        caption = text + _of_gauge(digests, name, contest) + first
        return Drawing(name, title, caption, partial(plots.over_time, digests, name, contest))

    swept = sweepplots.along(comparison, contest)
    apart = sweepplots.relative(swept, contest.baseline) if swept is not None and contest.asked else None
    along = (
        []
        if swept is None
        else [
            Drawing(
                "along",
                f"Along {short_key(swept.key)}",
                _ALONG.format(key=short_key(swept.key)) + _MEANS * several,
                partial(sweepplots.metrics_along, comparison.groups, swept),
            ),
        ]
    )
    if swept is not None and apart is not None:
        draw = partial(sweepplots.metrics_along, comparison.groups, apart, baseline=contest.baseline)
        caption = _RELATIVE.format(key=short_key(swept.key)) + _SEEDS * several
        title = f"Along {short_key(swept.key)}, against the baseline"
        along.append(Drawing("along_relative", title, caption, draw))
    return [
        *along,
        Drawing(
            "jct_parts", "Where the completion time went",
            _PARTS + "".join(_MORE_PARTS.get(part, "") for part in parts) + "." + _WHISKERS * several,
            partial(barplots.jct_parts, *both),
        ),
        Drawing(
            "jct_cdf", "Job completion times",
            _CDF + _UNFINISHED * any(_ends_below_1(each.jct) for each in digests) + pooled,
            partial(plots.jct_cdf, *both),
        ),
        Drawing(
            "jct_histogram", "Histogram of completion times", _HISTOGRAM + pooled,
            partial(plots.jct_histogram, *both),
        ),
        Drawing(
            "queueing_cdf", "Queueing times",
            _QUEUE_CDF + _idle(plots.queueing_panels(*both)[1], "no job waited 1 s or longer") + pooled,
            partial(plots.queueing_cdf, *both),
        ),
        Drawing(
            "jct_by_demand", "Completion time by size of job", _DEMAND + pooled,
            partial(barplots.jct_by_demand, *both),
        ),
        gauge("queue_length", "Waiting jobs", _WAITING),
        *([gauge(BLOCKING, "Blocking index", _BLOCKED)] if used else []),
        gauge("busy_gpus", "Busy GPUs", _BUSY),
        *([Drawing("resources", "Resources in use", _IN_USE + _of_resources(digests, used, contest) + first,
                   partial(resourceplots.in_use, *both, used))] if used else []),
        gauge("unfinished_jobs", "Unfinished jobs", _UNFINISHED_JOBS),
        Drawing("placements", "Placements by tier", _TIERS, partial(barplots.placements_by_tier, *both)),
        Drawing(
            "comm_overhead", "Communication by model and tier",
            _OVERHEAD + _OVERHEAD_FLOOR * _some_below(digests, barplots.LEAST_OVERHEAD) + pooled,
            partial(barplots.overhead_by_model, *both),
        ),
        Drawing(
            "occupancy", "Who ran where", _OCCUPANCY + _of_pictures(shown, contest) + first,
            partial(pictures.occupancy, pictured),
        ),
        *([
            Drawing("policy_series", "What the policies noted", _NOTED + first,
                    partial(seriesplots.policy_series, noted))
        ] if noted else []),
    ]  # fmt: skip


def all_drawn(drawings: Sequence[Drawing], note: str, rows: int) -> list[tuple[PageFigure, dict[str, bytes]]]:
    """Draw figures; those of many rows on all cores, for that takes half a minute on one."""
    if rows <= _FEW:
        return [drawn(drawing, note) for drawing in drawings]
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=-1)(delayed(drawn)(drawing, note) for drawing in drawings))


def drawn(drawing: Drawing, note: str) -> tuple[PageFigure, dict[str, bytes]]:
    """Draw a figure for the page, and as files of its own.

    Parameters
    ----------
    note
        What is added to the caption.
    """
    from artist.results.plots import rendered

    figure = drawing.draw(WIDTH_IN)
    wide = slim(rendered(figure, "svg", outlines=False))
    figure.set_layout_engine("none")  # everything has its place, and looking for it again takes as long
    png = rendered(figure, "png")
    narrow = slim(rendered(drawing.draw(NARROW_IN), "svg", outlines=False))
    page_figure = PageFigure(drawing.name, drawing.title, drawing.caption + note, wide, narrow)
    return page_figure, {f"{drawing.name}.svg": wide, f"{drawing.name}.png": png}


def _of_gauge(digests: Sequence[Digest], name: str, contest: Contest) -> str:
    """Return what a caption says of a gauge's lines and panels."""
    from artist.results import plots

    layout, idle = plots.gauge_panels(digests, name, contest)
    gauges = [gauge for each in digests if (gauge := each.gauge(name)) is not None]
    text = _UNRECORDED * (len(gauges) < len(digests)) + _idle(idle, "nobody waited")
    tops = plots.gauge_tops(digests, name, layout)
    text += _LOG_ABOVE_1 * plots.on_a_far_scale(name, tops) + _AXES_DIFFER * (len(set(tops)) > 1)
    if any(each.thinned for each in gauges):
        text += _AVERAGED + _BAND * plots.have_band(digests, name, contest) + "."
    return text


def _of_resources(digests: Sequence[Digest], rows: Sequence[int], contest: Contest) -> str:
    thinned = any(gauge.thinned for row in rows for gauge in digests[row].resources)
    text = _UNRECORDED * any(not each.resources for each in digests) + f"{_AVERAGED}." * thinned
    there = [r for r in contest.scenario_of(rows[0]).rows if r < len(digests) and digests[r].resources]
    return text + _of_pictures(rows, contest) + f" The first {len(rows)} rows." * (len(rows) < len(there))


def _idle(titles: Sequence[str], what: str) -> str:
    return f" Without a panel, as {what}: {', '.join(titles)}." if titles else ""


def _ends_below_1(jct: Distribution) -> bool:
    return (float(jct.fractions[-1]) if len(jct.fractions) else jct.below) < 1 - 1e-9


def _some_below(digests: Sequence[Digest], least: float) -> bool:
    return any(value < least for each in digests for _, value in each.overheads)


def _of_pictures(rows: Sequence[int], contest: Contest) -> str:
    name = contest.scenario_of(rows[0]).name if len(contest.scenarios) > 1 else ""
    return f" Shown: {name}, where jobs wait longest." if name else ""
