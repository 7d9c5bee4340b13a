"""Figures drawn for a desk and a phone, for the page and as files of their own."""

from collections.abc import Sequence

from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.drawing.render import rendered
from artist.report.figures.drawing import Drawing
from artist.report.page.page import PageFigure, slim


def all_drawn(drawings: Sequence[Drawing], note: str) -> list[tuple[PageFigure, dict[str, bytes]]]:
    """Draw figures, one after the other."""
    return [drawn(drawing, note) for drawing in drawings]


def drawn(
    drawing: Drawing, note: str = "", width_in: float = WIDTH_IN, narrow_in: float = NARROW_IN
) -> tuple[PageFigure, dict[str, bytes]]:
    """Draw a figure for the page, and as files of its own.

    Parameters
    ----------
    note
        Text added to the caption.
    width_in, narrow_in
        Widths for a desk and for a phone.
    """
    figure = drawing.draw(width_in)
    wide = slim(rendered(figure, "svg"))
    figure.set_layout_engine("none")  # everything has its place, and looking for it again takes as long
    png = rendered(figure, "png")
    narrow = wide if narrow_in == width_in else slim(rendered(drawing.draw(narrow_in), "svg"))
    page_figure = PageFigure(drawing.name, drawing.title, drawing.caption + note, wide, narrow)
    return page_figure, {f"{drawing.name}.svg": wide, f"{drawing.name}.png": png}
