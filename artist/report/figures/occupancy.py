"""The figure of which job ran where."""

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from artist.drawing.looks import style
from artist.drawing.panels import WIDTH_IN, legend, panels
from artist.drawing.time_axis import time_unit
from artist.report.figures.drawing import Drawing, first, of_scenario
from artist.report.figures.facets import chosen
from artist.report.figures.labels import key_texts, title
from artist.report.figures.picture import COLOURS, Picture, picture
from artist.results.digest import Digest
from artist.results.jobcolumns import DEMANDS
from artist.results.machines import pool_rows, with_gpus
from artist.results.scenarios import Contest

_CAPTION = (
    "Each machine is a band with one line a GPU where there is room; its colour says how many GPUs the job "
    "that holds them had asked for, large jobs at the bottom of the band. White is idle. Spans of time are "
    "averaged."
)
_WITHOUT_GPUS = " Machines without GPUs are left out."
_POOLS = " Lines part the machines that begin in different pools, named at the right."


def drawing(digests: Sequence[Digest], contest: Contest) -> Drawing:
    """Return the figure; reads the events of a few runs."""
    shown = chosen(digests, contest)
    pictures = [picture(digests[i].group, digests[i].end_s) for i in shown]
    configs = [each.group.runs[0].config for each in pictures]
    pooled, left_out = any(map(pool_rows, configs)), not all(all(with_gpus(each)) for each in configs)
    caption = _CAPTION + _WITHOUT_GPUS * left_out + _POOLS * pooled
    caption += of_scenario(shown, contest) + first(digests)
    return Drawing("occupancy", "Who ran where", caption, partial(occupancy, pictures))


def occupancy(pictures: Sequence[Picture], width_in: float = WIDTH_IN) -> Figure:
    """Draw the pictures below each other, on one axis of time."""
    groups = [each.group for each in pictures]
    keyed = key_texts(groups)
    end_s = max(each.end_s for each in pictures)
    scale, unit = time_unit(end_s)
    with style():
        figure, places = panels(len(pictures), 1.9, keyed, width_in=width_in, max_columns=1)
        for axes, each in zip(places, pictures, strict=True):
            axes.imshow(
                each.pixels,
                extent=(0, each.end_s / scale, each.machines, 0),
                aspect="auto",
                interpolation="nearest",
            )
            axes.set(xlim=(0, end_s / scale), ylabel="machine number")
            axes.set_title(title(each.group), fontsize=9, loc="left")
            axes.grid(visible=False)
            _name_pools(axes, each)
        places[-1].set_xlabel(f"time ({unit})")
        legend(figure, keyed, ())
        patches = [
            Patch(facecolor=colour, edgecolor="#666666", linewidth=0.4, label=name)
            for name, colour in zip(DEMANDS, COLOURS, strict=True)
        ]
        figure.legend(
            handles=patches, loc="outside upper left", ncols=6 if width_in == WIDTH_IN else 3, fontsize=8.5,
            title="GPUs that the job asked for (white: idle)", title_fontsize=8.5, alignment="left",
        )  # fmt: skip
        return figure


def _name_pools(axes: Axes, each: Picture) -> None:
    """Write at the right which pool machines begin in, with lines between pools."""
    for name, begin, count in pool_rows(each.group.runs[0].config):
        if begin:
            axes.axhline(begin, color="#555555", linewidth=0.8)
        axes.annotate(
            name, (1, begin + count / 2), (3, 0), xycoords=axes.get_yaxis_transform(), rotation=270,
            textcoords="offset points", va="center", fontsize=7.5,
        )  # fmt: skip
