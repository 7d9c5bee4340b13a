"""Figures drawn for a desk and a phone, for the page and as files of their own."""

from collections.abc import Sequence

from artist.drawing.panels import NARROW_IN, WIDTH_IN
from artist.drawing.render import rendered
from artist.report.figures.drawing import Drawing
from artist.report.figures.glance import WIDTH_IN as GLANCE_IN
from artist.report.page.page import PageFigure, slim


def all_drawn(drawings: Sequence[Drawing], note: str) -> list[tuple[PageFigure, dict[str, bytes]]]:
    """Draw figures, one after the other."""
    return [drawn(drawing, note) for drawing in drawings]


def drawn(drawing: Drawing, note: str) -> tuple[PageFigure, dict[str, bytes]]:
    """Draw a figure for the page, and as files of its own.

    Parameters
    ----------
    note
        Text added to the caption.
    """
    figure = drawing.draw(WIDTH_IN)
    wide = slim(rendered(figure, "svg"))
    figure.set_layout_engine("none")  # everything has its place, and looking for it again takes as long
    png = rendered(figure, "png")
    narrow = slim(rendered(drawing.draw(NARROW_IN), "svg"))
    page_figure = PageFigure(drawing.name, drawing.title, drawing.caption + note, wide, narrow)
    return page_figure, {f"{drawing.name}.svg": wide, f"{drawing.name}.png": png}


def drawn_once(drawing: Drawing) -> tuple[PageFigure, dict[str, bytes]]:
    """Draw a small figure, the same for a desk and a phone, and as files of its own."""
    figure = drawing.draw(GLANCE_IN)
    svg = slim(rendered(figure, "svg"))
    figure.set_layout_engine("none")
    page_figure = PageFigure(drawing.name, drawing.title, drawing.caption, svg, svg)
    return page_figure, {f"{drawing.name}.svg": svg, f"{drawing.name}.png": rendered(figure, "png")}
