"""A panel per row, all with the same axes, and a key above them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artist.drawing.looks import style
from artist.drawing.panels import WIDTH_IN, head, label_columns, legend, panels
from artist.report.figures.drawing import key_texts, title
from artist.results.digest import Digest

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Key:
    """The key to the colours of the panels.

    Attributes
    ----------
    handles
        Of matplotlib, each with its label.
    columns, narrow
        Entries per line in a wide and in a narrow figure.
    title
        Line above the entries; may be empty.
    """

    handles: Sequence[Any]
    columns: int
    narrow: int
    title: str = ""


def row_panels(
    digests: Sequence[Digest],
    read: Mapping[int, Read],
    draw: Callable[[Axes, Read], None],
    key: Key,
    *,
    height_in: float,
    label: str,
    limits: tuple[float, float],
    width_in: float,
    same_x: bool = True,
    same_y: bool = True,
    max_columns: int | None = None,
    subtitles: Mapping[int, str] | None = None,
) -> Figure:
    """Draw the data of each row in a panel of its own.

    Parameters
    ----------
    draw
        Draws it into the axes.
    height_in
        Of one panel.
    label, limits
        Of the horizontal axes.
    same_x, same_y
        Whether the panels have the same axes; a vertical one then begins at 0.
    max_columns
        Panels beside each other in a wide figure; see `panels`.
    subtitles
        Text above a panel, on a line of its own below the name of its row.
    """
    texts = key_texts([digests[row].group for row in read])
    with style():
        figure, places = panels(
            len(read), height_in, texts,
            shared=same_x, same_y=same_y, width_in=width_in, max_columns=max_columns,
        )  # fmt: skip
        for axes, (row, of_row) in zip(places, read.items(), strict=True):
            draw(axes, of_row)
            name = title(digests[row].group)
            head(axes, name, places, width_in, f"\n{subtitles[row]}" if subtitles else "")
            axes.set_xlim(limits)
            axes.set_axisbelow(True)
        label_columns(places, label)
        if same_y:
            places[0].set_ylim(bottom=0)  # they share it
        legend(figure, texts, ())
        _explain(figure, key, wide=width_in == WIDTH_IN)
        return figure


def _explain(figure: Figure, key: Key, *, wide: bool) -> None:
    more: Any = {"title": key.title, "title_fontsize": 8.5, "alignment": "left"} if key.title else {}
    figure.legend(
        handles=list(key.handles), loc="outside upper left", ncols=key.columns if wide else key.narrow,
        fontsize=8.5, **more,
    )  # fmt: skip
