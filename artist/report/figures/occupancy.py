"""The figure of which job ran where: machines by time, coloured by the GPUs that the job had asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from artist.drawing.looks import style
from artist.drawing.panels import MAX_STACKED, WIDTH_IN, label_columns, legend, panels
from artist.report.figures.drawing import Drawing, first, key_texts, of_scenario, title
from artist.report.figures.facets import chosen
from artist.report.figures.time_span import TimeSpan, on_cuts, time_span
from artist.results.compare import Replicates
from artist.results.digest import Digest
from artist.results.jobcolumns import DEMANDS, demand_classes
from artist.results.machines import pool_rows, with_gpus
from artist.results.occupancy import Stays, read_stays, used_gpus
from artist.results.run import Run
from artist.results.scenarios import Contest

_BINS = 700
_MAX_ROWS = 560
# From light (small jobs) to dark (large ones), so that it reads in grey too; idle GPUs are white.
COLOURS = ("#fee391", "#fec44f", "#f28c28", "#c4508b", "#6a3d9a", "#1b1247")
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Picture:
    """The GPUs of a run over time as an image.

    Attributes
    ----------
    pixels : ndarray, shape (rows, bins, 3)
    machines
        How many machines the rows are of.
    """

    group: Replicates
    pixels: Pixels
    machines: int
    end_s: float


def picture(group: Replicates, end_s: float) -> Picture:
    """Read the events of the row's first run into a picture.

    A machine has a line of pixels per GPU if there is room, else fewer; lines are filled from the
    bottom with the mean number of GPUs that jobs of each size held in each span of time.
    """
    run = group.runs[0]
    stays = read_stays(run)
    per_machine = int(stays.gpus.max()) if len(stays.gpus) else 1
    positions, machines = _positions(run, stays, per_machine)
    lines = max(1, min(per_machine, _MAX_ROWS // max(machines, 1)))
    together = -(-machines // _MAX_ROWS)  # machines that share a line
    n_rows = -(-machines // together)
    end_s = end_s or 1.0
    used = used_gpus(
        stays,
        _demands(run, stays)[stays.job],
        len(DEMANDS),
        n_rows,
        positions[stays.machine] // together,
        np.linspace(0.0, end_s, _BINS + 1),
    )
    return Picture(group, _painted(used / (per_machine * together), lines), machines, end_s)


def _positions(run: Run, stays: Stays, per_machine: int) -> tuple[npt.NDArray[np.int64], int]:
    """Return the place of each machine, and how many there are; idle ones of a plain cluster count too.

    A run folder does not list machines: they are m0, m1 ..., and the first capacity over the GPUs of one
    gives their number. Where the configuration lists them, those without GPUs have no place.
    """
    numbers = [name[1:] for name in stays.machines if name[:1] == "m" and name[1:].isdigit()]
    if len(numbers) < len(stays.machines) or not numbers:
        return np.arange(len(stays.machines)), max(1, len(stays.machines))
    (capacity,) = run.numbers("timeline", ["capacity_gpus"])
    least = max(map(int, numbers)) + 1
    places = np.array([int(number) for number in numbers])
    has_gpus = with_gpus(run.config)
    if not all(has_gpus):
        has_gpus += [True] * (least - len(has_gpus))
        before = np.cumsum(has_gpus)  # jobs on the others hold no GPUs, so their place does not matter
        return np.maximum(before[places] - 1, 0), max(1, int(before[-1]))
    return places, max(least, int(capacity[0]) // per_machine)


def _demands(run: Run, stays: Stays) -> npt.NDArray[np.int64]:
    """Return the class of demand of each job of the stays."""
    (ids,), (gpus_of,) = run.words("jobs", ["job_id"]), run.numbers("jobs", ["gpus"])
    gpus = {ids.names[code]: count for code, count in zip(ids.codes, gpus_of, strict=True)}
    return demand_classes(np.array([gpus.get(name, 1) for name in stays.jobs], dtype=np.int64))


def _painted(shares: npt.NDArray[np.float64], lines: int) -> Pixels:
    """Return pixels of shares of a row's GPUs, shape (rows, classes, bins); large jobs lie at the bottom."""
    rows, _, bins = shares.shape
    filled = np.cumsum(shares[:, ::-1], axis=1)  # (rows, classes, bins), the largest jobs first
    at = (np.arange(lines) + 0.5) / lines
    # How many classes end at or below a line's height: the next one covers it; `classes` is idle.
    demand_class = (filled[:, :, None, :] <= at[None, None, :, None] - 1e-9).sum(axis=1)
    colours = np.array(
        [[*bytes.fromhex(colour[1:])] for colour in (*COLOURS[::-1], "#ffffff")], dtype=np.uint8
    )
    pixels: Pixels = colours[demand_class[:, ::-1, :].reshape(rows * lines, bins)]
    return pixels


_CAPTION = (
    "Each machine is a band, with one line per GPU where there is room. The colour is the number "
    "of GPUs that the job asked for, large jobs at the bottom of a band; white is idle. Each "
    "column of pixels covers a span of time: a colour is as high as the mean number of GPUs that "
    "such jobs held in it."
)
_WITHOUT_GPUS = " Machines without GPUs are left out."
_POOLS = " Lines separate pools, named at the right, by the machines that begin in them."


def drawing(digests: Sequence[Digest], contest: Contest) -> Drawing:
    """Return the figure; reads the events of a few runs."""
    shown = chosen(digests, contest)
    span = time_span([digests[i] for i in shown])
    pictures = [picture(digests[i].group, min(digests[i].end_s, span.end_s)) for i in shown]
    configs = [picture.group.runs[0].config for picture in pictures]
    pooled, left_out = any(map(pool_rows, configs)), not all(all(with_gpus(config)) for config in configs)
    caption = _CAPTION + _WITHOUT_GPUS * left_out + _POOLS * pooled
    caption += on_cuts([span]) + of_scenario(shown, contest) + first(digests)
    return Drawing("occupancy", "Who ran where", caption, partial(occupancy, pictures, span))


def occupancy(pictures: Sequence[Picture], span: TimeSpan, width_in: float = WIDTH_IN) -> Figure:
    """Draw the pictures on one axis of time, a few below each other."""
    groups = [picture.group for picture in pictures]
    keyed = key_texts(groups)
    with style():
        stacked = 1 if len(pictures) <= MAX_STACKED else None
        figure, places = panels(len(pictures), 1.9, keyed, width_in=width_in, max_columns=stacked)
        for axes, image in zip(places, pictures, strict=True):
            axes.imshow(
                image.pixels,
                extent=(0, image.end_s / span.scale, image.machines, 0),
                aspect="auto",
                interpolation="nearest",
            )
            axes.set(xlim=span.limits, ylabel="machine number")
            span.mark(axes)
            axes.set_title(title(image.group), fontsize=9, loc="left")
            axes.grid(visible=False)
            _name_pools(axes, image)
        label_columns(places, span.label)
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


def _name_pools(axes: Axes, picture: Picture) -> None:
    """Write at the right which pool machines begin in, with lines between pools."""
    for name, begin, count in pool_rows(picture.group.runs[0].config):
        if begin:
            axes.axhline(begin, color="#555555", linewidth=0.8)
        axes.annotate(
            name, (1, begin + count / 2), (3, 0), xycoords=axes.get_yaxis_transform(), rotation=270,
            textcoords="offset points", va="center", fontsize=8,
        )  # fmt: skip
