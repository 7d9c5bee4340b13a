"""A figure as the bytes of a file."""

import io
import warnings
from typing import TYPE_CHECKING, Any, Literal

from artist.report.figures.looks import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def rendered(figure: "Figure", kind: Literal["png", "svg"], *, outlines: bool = True) -> bytes:
    """Return a figure as the bytes of a file; equal figures give equal bytes.

    Parameters
    ----------
    outlines
        Whether letters of an SVG are drawn; otherwise they are text in the reader's font, which is smaller.
    """
    import matplotlib as mpl

    data = io.BytesIO()
    letters: Any = {"svg.fonttype": "path" if outlines else "none"}
    with style(), mpl.rc_context(letters), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box; no need to warn
        if kind == "svg":
            figure.savefig(data, format="svg", metadata={"Date": None})
        else:
            figure.savefig(data, format="png", dpi=160)
    return data.getvalue()
