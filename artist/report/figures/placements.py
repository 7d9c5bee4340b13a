"""The figure of placements, and GPU-hours, by tier."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from artist.drawing.looks import style
from artist.drawing.panels import WIDTH_IN
from artist.report.figures.bars import bar_panels, part_key, stack
from artist.report.figures.drawing import TIER_NAMES, Drawing
from artist.results.digest import Digest
from artist.results.scenarios import Contest

_CAPTION = (
    "How often jobs were placed (at starts, moves and resizes) within one machine, across "
    "machines of a rack, and across racks, and for how many GPU-hours they ran there. The "
    "narrower the tier, the faster they communicate."
)


def drawing(digests: Sequence[Digest], contest: Contest) -> Drawing:
    """Return the figure."""
    return Drawing(
        "placements", "Placements by tier", _CAPTION, partial(placements_by_tier, digests, contest)
    )


def placements_by_tier(digests: Sequence[Digest], contest: Contest, width_in: float = WIDTH_IN) -> Figure:
    """Draw the numbers of placements, and of GPU-hours, in a machine, in a rack and over the network."""
    with style():
        figure, places = bar_panels(2, digests, contest, width_in)
        pairs = (("placements", "placements"), ("tier_gpu_hours", "GPU-hours of jobs"))
        for axes, (name, label) in zip(places, pairs, strict=True):
            values = np.array([getattr(digest, name) for digest in digests])
            stack(axes, digests, contest, values, TIER_NAMES, (0, 3, 2))
            axes.set_xlabel(label)
            axes.locator_params(axis="x", nbins=5)
        if width_in == WIDTH_IN:
            places[1].set_yticklabels([])
        part_key(figure, places[0], width_in)
        return figure
