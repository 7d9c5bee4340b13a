"""A fit of a fabric as a table and as a picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from artist.calibrating.fabric import bus_gb_s, errors_of
from artist.drawing.looks import AREAS, style
from artist.drawing.panels import WIDTH_IN
from artist.tables.grid import Grid
from netmodels.api import MeasuredRun, NcclFabric
from netmodels.nccl.fit import Fitted, predicted_us

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEADS = (
    ("", "", "run"),
    ("", "", "collective"),
    ("", "", "machines"),
    ("", "GPUs", "each"),
    ("", "", "sizes"),
    ("", "from", "bytes"),
    ("", "to", "bytes"),
    ("error %", "", "median"),
    ("", "", "p90"),
)
_MARKERS = ("o", "^", "s", "D", "v", "P")


def fabric_table(runs: Sequence[MeasuredRun], outcome: Fitted) -> str:
    """Return the errors of the fit, one row per run and one for all."""
    rows = [
        (
            run.name,
            run.collective,
            str(run.machines),
            str(run.gpus_per_machine),
            str(len(run.points)),
            *(f"{run.points[place][0]:,}" for place in (0, -1)),
            *_percents(errors_of(run, outcome.nccl)),
        )
        for run in runs
    ]
    sizes = sum(len(run.points) for run in runs)
    rows.append(("all", "", "", "", str(sizes), "", "", *_percents(_all_errors(runs, outcome.nccl))))
    return Grid(_HEADS, tuple(rows), 2).text()


def _all_errors(runs: Sequence[MeasuredRun], nccl: NcclFabric) -> Any:
    return np.concatenate([errors_of(run, nccl) for run in runs])


def _percents(errors: Any) -> tuple[str, str]:
    return f"{100 * np.median(errors):.1f}", f"{100 * np.quantile(errors, 0.9):.1f}"


def fabric_figure(runs: Sequence[MeasuredRun], nccl: NcclFabric, title: str) -> "Figure":
    """Draw measured points and the fit by size: bus bandwidth and time, one row per collective."""
    from matplotlib.figure import Figure

    collectives = list(dict.fromkeys(run.collective for run in runs))
    places = sorted({(run.machines, run.gpus_per_machine) for run in runs})
    with style():
        figure = Figure(figsize=(WIDTH_IN, 0.9 + 2.4 * len(collectives)), layout="constrained")
        panels = figure.subplots(len(collectives), 2, squeeze=False)
        for (left, right), collective in zip(panels, collectives, strict=True):
            for run in runs:
                if run.collective == collective:
                    _draw(left, right, run, nccl, places.index((run.machines, run.gpus_per_machine)))
            _name(left, right, collective)
        figure.suptitle(title, fontsize=10)
        _legend(figure, places)
    return figure


def _draw(left: "Axes", right: "Axes", run: MeasuredRun, nccl: NcclFabric, place: int) -> None:
    colour, marker = AREAS[place % len(AREAS)], _MARKERS[place % len(_MARKERS)]
    predicted = predicted_us(run, nccl)
    dots: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3.5, "linestyle": "none"}
    lone: dict[str, Any] = {"marker": "_"} if len(run.points) == 1 else {}
    left.plot(run.sizes_bytes, bus_gb_s(run, run.times_us), **dots)
    left.plot(run.sizes_bytes, bus_gb_s(run, predicted), color=colour, linewidth=1.2, **lone)
    right.plot(run.sizes_bytes, run.times_us, **dots)
    right.plot(run.sizes_bytes, predicted, color=colour, linewidth=1.2, **lone)


def _name(left: "Axes", right: "Axes", collective: str) -> None:
    from matplotlib.ticker import LogLocator

    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(LogLocator(base=2, numticks=5))
        axes.xaxis.set_major_formatter(lambda value, _: _bytes(value))
        axes.set_xlabel("size")
    left.set_ylim(bottom=0)
    right.set_yscale("log")
    right.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    left.set_ylabel(f"{collective}\nbus bandwidth, GB/s")
    right.set_ylabel("time, us")


def _bytes(size: float) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size:.4g} B"


def _legend(figure: "Figure", places: Sequence[tuple[int, int]]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            *([], []),
            color=AREAS[place % len(AREAS)],
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=3.5,
            label=f"{machines} x {gpus} GPUs",
        )
        for place, (machines, gpus) in enumerate(places)
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(6, len(handles)),
        title="points: measured; lines: fitted",
        title_fontsize=8,
    )
