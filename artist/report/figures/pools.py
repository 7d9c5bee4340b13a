"""The figure of a cluster's pools over time: what jobs hold in each, what is on loan, what is needed."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from artist.drawing.looks import AREAS, NEED, SHORT, pale
from artist.drawing.panels import WIDTH_IN
from artist.drawing.time_axis import time_unit
from artist.report.figures.drawing import AVERAGED, Drawing, first, of_scenario
from artist.report.figures.facets import chosen
from artist.report.figures.row_panels import Key, row_panels
from artist.results.digest import Digest
from artist.results.names import listed
from artist.results.pools import Pool, Pools, have_pools, read_pools
from artist.results.scenarios import Contest
from artist.results.steps import Floats

_CAPTION = (
    "The GPUs of each pool, one pool above the other, over time: those that jobs hold in full colour, idle "
    "ones in pale."
)
_NEEDED = (
    " What {} needs itself hangs from the top, in grey: the larger of the signal's present and next value, "
    "because use moves from one to the other meanwhile; white below it are machines of that pool that are "
    "neither needed nor on loan."
)
_SHORT = " Red: machines that it lacks; a bar at the top marks when."
_NEVER = " It never lacks a machine."
_SPANS = 240  # areas with more corners make large files
_FEW = 3  # panels that are as wide as the figure
_BAR = (0.96, 0.03)  # bottom and height of the bar over times of shortage, in parts of the axis
Read = Mapping[int, Pools]


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure, if some cluster has several pools."""
    if not any(_has_pools(each) for each in digests):
        return []
    shown = chosen(digests, contest, _has_pools)
    read = {row: read_pools(digests[row].group.runs[0], _SPANS) for row in shown}
    caption = _CAPTION + _on_need([pool for each in read.values() for pool in each.pools])
    caption += f"{AVERAGED}." * any(each.thinned for each in read.values())
    caption += of_scenario(shown, contest) + first(digests)
    return [Drawing("pools", "Pools", caption, partial(pools_over_time, digests, read))]


def _has_pools(digest: Digest) -> bool:
    return have_pools(digest.group.runs[0])


def _on_need(pools: Sequence[Pool]) -> str:
    names = list(dict.fromkeys(spoken(pool.name) for pool in pools if pool.needed is not None))
    if not names:
        return ""
    return _NEEDED.format(listed(names)) + (_SHORT if any(map(_is_short, pools)) else _NEVER)


def _is_short(pool: Pool) -> bool:
    return pool.worst is not None and pool.worst.max() > 0


def spoken(name: str) -> str:
    """Return a pool's name as people write it."""
    return name.replace("_", " ")


def pools_over_time(digests: Sequence[Digest], read: Read, width_in: float = WIDTH_IN) -> Figure:
    """Draw the pools of each row above each other, a panel a row."""
    end_s = max(digests[row].end_s for row in read) or 1.0
    scale, unit = time_unit(end_s)
    every = sorted(
        (pool for each in read.values() for pool in each.pools), key=lambda p: p.needed is not None
    )
    areas = dict(zip(dict.fromkeys(pool.name for pool in every), cycle(AREAS), strict=False))
    figure = row_panels(
        digests,
        read,
        lambda axes, each: _draw(axes, each, areas, scale),
        Key(_key(read, areas), 3, 2),
        height_in=2.3,
        label=f"time ({unit})",
        limits=(0, end_s / scale),
        width_in=width_in,
        max_columns=1 if len(read) <= _FEW else 2,
    )
    figure.supylabel("GPUs", fontsize=9)
    return figure


def _draw(axes: Axes, each: Pools, areas: Mapping[str, str], scale: float) -> None:
    """Draw the pools of a run, the first one at the bottom."""
    x = each.times_s / scale
    bottom = np.zeros(len(x))
    for pool in each.pools:
        top = bottom + pool.gpus
        if pool.needed is None:
            _fill(axes, x, bottom + pool.held, top, pale(areas[pool.name]))
        else:
            _fill(axes, x, top - pool.needed, top, NEED)
        _fill(axes, x, bottom, bottom + pool.held, areas[pool.name])
        axes.plot(x, top, color="#555555", linewidth=0.8, drawstyle="steps-post")
        if pool.short is not None and pool.worst is not None:
            _fill(axes, x, bottom - pool.short, bottom, SHORT)
            missing = np.flatnonzero(pool.worst[:-1] > 0)
            spans = list(zip(x[missing], np.diff(x)[missing], strict=True))
            axes.broken_barh(spans, _BAR, color=SHORT, linewidth=0.8, transform=axes.get_xaxis_transform())
        bottom = top


def _fill(axes: Axes, x: Floats, low: Floats, high: Floats, colour: str) -> None:
    axes.fill_between(x, low, high, step="post", color=colour, linewidth=0)


def _key(read: Read, areas: Mapping[str, str]) -> list[Patch]:
    """Return what the areas are."""
    pools = [pool for each in read.values() for pool in each.pools]
    key = []
    for name, colour in areas.items():
        name_of = [pool for pool in pools if pool.name == name]
        if any(pool.held.max() > 0 for pool in name_of):
            key.append(Patch(facecolor=colour, label=f"{spoken(name)}, in use by jobs"))
        if all(pool.needed is None for pool in name_of):
            key.append(Patch(facecolor=pale(colour), label=f"{spoken(name)}, idle"))
        else:
            key.append(Patch(facecolor=NEED, label=f"needed by {spoken(name)}"))
        if any(map(_is_short, name_of)):
            key.append(Patch(facecolor=SHORT, label=f"{spoken(name)} is short"))
    return key
