"""The figure of the use of storage, CPUs, GPUs and network over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from artist.recording.names import RESOURCES
from artist.results.digest import Digest
from artist.results.facets import facets
from artist.results.looks import WIDTH_IN, columns, group_texts, label_rows, legend, panels, style, time_unit
from artist.results.pictures import chosen
from artist.results.scenarios import Contest

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def with_resources(digests: Sequence[Digest], contest: Contest) -> list[int]:
    """Return the rows to draw: those of one scenario whose runs recorded what was in use, if any did."""
    recorded = any(each.resources for each in digests)
    return chosen(digests, contest, lambda each: bool(each.resources)) if recorded else []


def in_use(
    digests: Sequence[Digest], contest: Contest, rows: Sequence[int], width_in: float = WIDTH_IN
) -> "Figure":
    """Draw the use of each resource, a panel a resource and a line a row; of replicates, the first."""
    from matplotlib.lines import Line2D

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
        examples = [{k: v for k, v in layout.looks[row].items() if k != "markevery"} for row in rows]
        legend(figure, texts, [Line2D([], [], **each) for each in examples])
        return figure
