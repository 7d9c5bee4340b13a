"""The figures of contention: the use of shared links, and the time that jobs lose to it."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, style
from artist.drawing.panels import WIDTH_IN, head, label_columns, label_rows, legend, panels
from artist.drawing.time_axis import log_axis
from artist.report.figures.drawing import AVERAGED, Drawing, first, of_scenario, pooled
from artist.report.figures.facets import chosen, facets, only
from artist.report.figures.resources import in_panels
from artist.report.figures.time_span import on_cuts, time_span
from artist.results.digest import Digest, Distribution, Gauge, distribution
from artist.results.links import has_contention, read_slowdowns, read_tiers
from artist.results.scenarios import Contest

_TIERS = {"machine": "ports of machines", "network": "ports to other racks", "rack": "uplinks of racks"}
_USES = {"use": "mean use", "highest": "highest use", "contended": "contended"}
_USE = (
    "The part of their capacity that links use, over time: the mean over links, and the most used "
    "one. Links are the ports that join machines to their rack and the uplinks that join racks. "
    "The third line is the part of the links that are contended: their jobs would overload them "
    "if all sent at full speed at once."
)
_SLOWDOWN = (
    "The part of the jobs that ran longer, by more than the percentage on the horizontal axis, "
    "because other jobs used their links. The percentage is of the time without contention; the "
    "axis begins at 0.1 %. Lower is better."
)
_LEAST = 0.1  # %; a job that lost less lost nothing
_MIN_TOP = 1.0  # %, of an axis, so that a line of next to nothing is at the bottom


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures, where jobs on the same links affected each other."""
    if not any(map(_has, digests)):
        return []
    rows = chosen(digests, contest, _has)
    read = dict(zip(rows, _gauges([digests[row] for row in rows]), strict=True))
    thinned = any(gauge.thinned for gauges in read.values() for gauge in gauges.values())
    use = _USE + f"{AVERAGED}." * thinned + on_cuts([time_span([digests[row] for row in rows])])
    use += of_scenario(rows, contest) + first(digests)
    in_use = partial(in_panels, digests, contest, read, "% of capacity, or of links", max_columns=len(_USES))
    lost = {row: _lost(digest) for row, digest in enumerate(digests) if _has(digest)}
    slower = partial(slowed_jobs, digests, contest, lost)
    drawn = [Drawing("link_use", "Use of links", use, in_use)] if read[rows[0]] else []
    return [*drawn, Drawing("contention", "Slowdown by contention", _SLOWDOWN + pooled(digests), slower)]


def _has(digest: Digest) -> bool:
    return all(map(has_contention, digest.group.runs))


def _gauges(digests: Sequence[Digest]) -> list[dict[str, Gauge]]:
    """Return the use of links of each row by title, of the tiers that all rows have."""
    tiers_of = [read_tiers(digest.group.runs[0], digest.work_end_s) for digest in digests]
    tiers = [tier for tier in _TIERS if all(tier in of_row for of_row in tiers_of)]
    return [
        {f"{_TIERS[tier]}: {title}": of_row[tier][what] for tier in tiers for what, title in _USES.items()}
        for of_row in tiers_of
    ]


def _lost(digest: Digest) -> Distribution:
    """Return the distribution of the time that contention added, in per cent."""
    added = 100 * (read_slowdowns(digest.group.runs) - 1)
    return distribution(added, len(added), _LEAST)


def slowed_jobs(
    digests: Sequence[Digest], contest: Contest, lost: Mapping[int, Distribution], width_in: float = WIDTH_IN
) -> Figure:
    """Draw the share of the jobs that lost more than a time to contention, a line per row."""
    layout = facets([digest.group for digest in digests], contest)
    layout = only(layout, [row in lost for row in range(len(digests))])
    most = max((float(losses.times_s[-1]) for losses in lost.values() if len(losses.times_s)), default=0.0)
    height = 4.2 if len(layout.sets) == 1 and width_in == WIDTH_IN else 1.9
    with style():
        figure, places = panels(len(layout.sets), height, layout.texts, same_y=True, width_in=width_in)
        for axes, (name, rows) in zip(places, layout.sets, strict=True):
            for row in rows:
                of_row = lost[row]
                more = 100 * (1 - np.concatenate([[of_row.below], of_row.fractions]))
                axes.plot([_LEAST, *of_row.times_s], more, drawstyle="steps-post", **layout.looks[row])
            head(axes, name, places, width_in)
            if most:
                log_axis(axes, _LEAST, most)
            else:
                axes.text(0.5, 0.5, "no job was slowed", ha="center", transform=axes.transAxes)
                axes.set_xticks([])
        places[0].set_ylim(0, max(_MIN_TOP, places[0].get_ylim()[1]))
        label_columns(places, "time added by contention (%)")
        label_rows(figure, "% of jobs", layout.texts)
        legend(figure, layout.texts, example_lines([layout.looks[row] for row in layout.examples]))
        return figure
