"""The figure of the use of storage, CPUs, GPUs and network over time."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from artist.recording.names import RESOURCES
from artist.report.figures.drawing import AVERAGED, UNRECORDED, Drawing, first, of_scenario
from artist.report.figures.facets import chosen, facets
from artist.report.figures.looks import example_lines, style
from artist.report.figures.panels import WIDTH_IN, columns, group_texts, label_rows, legend, panels
from artist.report.figures.time_axis import time_unit
from artist.results.digest import Digest
from artist.results.scenarios import Contest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CAPTION = (
    "The part of the GPUs' time in which a job on them uses each resource, over time; idle GPUs and those of "
    "jobs that start or move count as unused."
)


def drawing(digests: Sequence[Digest], contest: Contest, rows: Sequence[int]) -> Drawing:
    """Return the figure of some rows."""
    caption = _CAPTION + _of_resources(digests, rows, contest) + first(digests)
    return Drawing("resources", "Resources in use", caption, partial(in_use, digests, contest, rows))


def _of_resources(digests: Sequence[Digest], rows: Sequence[int], contest: Contest) -> str:
    thinned = any(gauge.thinned for row in rows for gauge in digests[row].resources)
    text = UNRECORDED * any(not each.resources for each in digests) + f"{AVERAGED}." * thinned
    there = [r for r in contest.scenario_of(rows[0]).rows if r < len(digests) and digests[r].resources]
    return text + of_scenario(rows, contest) + f" The first {len(rows)} rows." * (len(rows) < len(there))


def with_resources(digests: Sequence[Digest], contest: Contest) -> list[int]:
    """Return the rows to draw: those of one scenario whose runs recorded what was in use, if any did."""
    recorded = any(each.resources for each in digests)
    return chosen(digests, contest, lambda each: bool(each.resources)) if recorded else []


def in_use(
    digests: Sequence[Digest], contest: Contest, rows: Sequence[int], width_in: float = WIDTH_IN
) -> "Figure":
    """Draw the use of each resource, a panel a resource and a line a row; of replicates, the first."""
    layout = facets([each.group for each in digests], contest)
    texts = group_texts([digests[row].group for row in rows])
    end_s = max(digests[row].end_s for row in rows) or 1.0
    scale, unit = time_unit(end_s)
    with style():
        figure, places = panels(len(RESOURCES), 2.2, texts, same_y=True, width_in=width_in)
        for number, (axes, title) in enumerate(zip(places, RESOURCES.values(), strict=True)):
            for row in rows:
                gauge, row_look = digests[row].resources[number], layout.looks[row] | {"linewidth": 1.1}
                if gauge.thinned:  # means of spans, in their middle: five lines of steps cannot be read
                    middles = (gauge.times_s[:-1] + gauge.times_s[1:]) / 2
                    axes.plot(middles / scale, 100 * gauge.mean[:-1], **row_look)
                else:
                    axes.plot(gauge.times_s / scale, 100 * gauge.mean, drawstyle="steps-post", **row_look)
            axes.set_xlim(0, end_s / scale)
            axes.set_title(title, fontsize=9, loc="left")
            if axes in places[-columns(places) :]:
                axes.set_xlabel(f"time ({unit})")
        places[0].set_ylim(bottom=0)  # they share it
        label_rows(figure, "in use (% of the GPUs' time)", texts)
        legend(figure, texts, example_lines([layout.looks[row] for row in rows]))
        return figure
