"""The figures of what jobs that share links do to each other: the use of links, and time lost to it."""

from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artist.report.figures.cdf import draw_cdf
from artist.report.figures.drawing import AVERAGED, Drawing, first, of_scenario, pooled
from artist.report.figures.facets import chosen, facets, only
from artist.report.figures.panels import WIDTH_IN
from artist.report.figures.resources import in_panels
from artist.report.figures.time_axis import log_axis
from artist.results.digest import Digest, Distribution, Gauge, distribution
from artist.results.links import has_contention, read_slowdowns, read_tiers
from artist.results.scenarios import Contest

_TIERS = {"machine": "ports of machines", "network": "ports to other racks", "rack": "uplinks of racks"}
_USES = {"use": "mean use", "highest": "highest use", "contended": "contended"}
_USE = (
    "The part of their capacity in use over time, of the ports that join machines to their rack and the "
    "uplinks that join racks: the mean, the highest of one link, and the part of these links that are "
    "contended: jobs there could overload them if all sent their most at once."
)
_SLOWDOWN = (
    "Fraction of jobs whose time running was longer by no more than this because others used the same links; "
    "each line begins at the fraction that lost less than 0.1 %. Higher is better."
)
_LEAST = 0.1  # %; a job that lost less lost nothing


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures, where jobs on the same links affected each other."""
    if not any(map(_has, digests)):
        return []
    rows = chosen(digests, contest, _has)
    read = dict(zip(rows, _gauges([digests[row] for row in rows]), strict=True))
    thinned = any(gauge.thinned for each in read.values() for gauge in each.values())
    use = _USE + f"{AVERAGED}." * thinned + of_scenario(rows, contest) + first(digests)
    in_use = partial(in_panels, digests, contest, read, "% of capacity, or of links", most_columns=len(_USES))
    lost = {row: _lost(each) for row, each in enumerate(digests) if _has(each)}
    slower = partial(slowdown_cdf, digests, contest, lost)
    drawn = [Drawing("link_use", "Use of links", use, in_use)] if read[rows[0]] else []
    return [*drawn, Drawing("contention", "Slowdown by contention", _SLOWDOWN + pooled(digests), slower)]


def _has(digest: Digest) -> bool:
    return all(map(has_contention, digest.group.runs))


def _gauges(digests: Sequence[Digest]) -> list[dict[str, Gauge]]:
    """Return the use of links of each row by title, of the tiers that all rows have."""
    found = [read_tiers(each.group.runs[0]) for each in digests]
    tiers = [tier for tier in _TIERS if all(tier in each for each in found)]
    return [
        {f"{_TIERS[tier]}: {title}": each[tier][what] for tier in tiers for what, title in _USES.items()}
        for each in found
    ]


def _lost(digest: Digest) -> Distribution:
    """Return the distribution of the time that contention added, in per cent."""
    added = 100 * (read_slowdowns(digest.group.runs) - 1)
    return distribution(added, len(added), _LEAST)


def slowdown_cdf(
    digests: Sequence[Digest], contest: Contest, lost: Mapping[int, Distribution], width_in: float = WIDTH_IN
) -> Figure:
    """Draw the distribution of the time that contention added, a line a row, over jobs that ran."""
    layout = only(
        facets([each.group for each in digests], contest), [row in lost for row in range(len(digests))]
    )
    lines = [(name, {row: lost[row] for row in rows}) for name, rows in layout.sets]
    label = "time added (% of the time without contention)"
    return draw_cdf(layout, lines, label, "no job was slowed", width_in, _LEAST, axis=_log_axis)


def _log_axis(axes: Axes, low: float, high: float, *, room: int) -> None:
    log_axis(axes, low, high)
