"""Figure of prices: overhead by model and tier, as in Fig. 2 of the Dally paper."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from artist.drawing.looks import style
from artist.drawing.panels import WIDTH_IN
from artist.errors import InputError
from artist.pricing.price import Price

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colour-blind safe (Okabe and Ito), from dark to light and hatched, so that they differ in grey too.
_FILLS = (("#0072B2", ""), ("#E69F00", "///"), ("#F0E442", "..."), ("#999999", "xxx"), ("#ffffff", ""))
_LEAST, _MAX_PANELS = 1e-5, 12


def overheads(prices: Sequence[Price]) -> "Figure":
    """Draw exposed communication / compute, a group of bars per model, a panel per fabric or setting.

    Bars represent tiers, or placements if a tier has several. The axis is logarithmic from 0.001 % on.

    Raises
    ------
    InputError
        If there is too much to distinguish in one figure.
    """
    from matplotlib.figure import Figure

    leads = list(dict.fromkeys(price.lead for price in prices))
    models = list(dict.fromkeys(price.model for price in prices))
    names = _bar_names(prices)
    bars = list(dict.fromkeys(names))
    if len(bars) > len(_FILLS) or len(leads) > _MAX_PANELS:
        what = f"{len(bars)} placements and {len(leads)} panels cannot be told apart in one figure"
        allowed = f"up to {len(_FILLS)} placements and {_MAX_PANELS} panels"
        raise InputError(what, where="plot", allowed=allowed)
    most = max((price.overhead for price in prices), default=1.0)
    top = 10 ** math.ceil(math.log10(max(most, 1e-3) * 1.5))
    with style():
        columns = 1 if len(models) > 12 or len(leads) == 1 else 2
        rows = -(-len(leads) // columns)
        figure = Figure(figsize=(WIDTH_IN, 0.8 + 2.6 * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for axes in list(panels.flat)[len(leads) :]:
            axes.set_axis_off()
        for axes, lead in zip(panels.flat, leads, strict=False):
            chosen = [(name, price) for name, price in zip(names, prices, strict=True) if price.lead == lead]
            _panel(axes, chosen, models, bars)
            axes.set_ylim(_LEAST, top)
            if lead:
                axes.set_title(", ".join(lead), fontsize=9)
        for axes in panels[:, 0]:
            axes.set_ylabel("exposed communication\n/ compute")
        handles, labels = panels.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(bars))
    return figure


def _bar_names(prices: Sequence[Price]) -> list[str]:
    """Return the tier of each price, or its placement if a model has several in a tier."""
    cells = [(price.lead, price.model, price.tier) for price in prices]
    if len(set(cells)) == len(cells):
        gpus = {price.gpus for price in prices}
        count = f"{gpus.pop()} GPUs " if len(gpus) == 1 else ""
        words = {"machine": "in one machine", "rack": "in one rack", "network": "over several racks"}
        return [f"{count}{words[price.tier]}" for price in prices]
    return [price.placement for price in prices]


def _panel(axes: "Axes", prices: list[tuple[str, Price]], models: list[str], bars: list[str]) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:,.10g} %")
    axes.set_axisbelow(True)
    axes.grid(visible=False, axis="x")
    width = 0.8 / len(bars)
    for place, bar in enumerate(bars):
        colour, hatch = _FILLS[place]
        overhead_of = {price.model: price.overhead for name, price in prices if name == bar}
        at = [models.index(model) + (place - (len(bars) - 1) / 2) * width for model in overhead_of]
        heights = [max(overhead, _LEAST) for overhead in overhead_of.values()]
        axes.bar(at, heights, width, label=bar, color=colour, hatch=hatch, edgecolor="#333333", linewidth=0.5)
        for x, overhead in zip(at, overhead_of.values(), strict=True):
            if overhead < _LEAST:
                axes.text(x, _LEAST * 1.2, "0" if overhead == 0 else "<", ha="center", fontsize=7)
    axes.set_xticks(range(len(models)), models)
    if len(models) > 6 or sum(map(len, models)) > 60 or len(axes.figure.axes) > 1:
        axes.tick_params(axis="x", rotation=40)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
