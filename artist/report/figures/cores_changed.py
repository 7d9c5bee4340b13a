"""The figure of the CPUs that GPU jobs hold in the end, against those that they asked for."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from artist.drawing.panels import WIDTH_IN
from artist.report.figures.bars import SHADES
from artist.report.figures.drawing import Drawing, of_scenario, pooled
from artist.report.figures.facets import chosen
from artist.report.figures.kinds import have_kinds
from artist.report.figures.row_panels import Key, row_panels
from artist.results.digest import Digest
from artist.results.kinds import read_cpus_changed
from artist.results.scenarios import Contest
from artist.results.steps import Floats

_CAPTION = (
    "The CPUs that a GPU job held last less those that it asked for, over all its GPUs: the parts of the "
    "jobs, and above a panel those with fewer, as many and more."
)
_MOST = 20
_BEYOND = f" Differences beyond {_MOST} count as {_MOST}."
_PARTS = (("fewer", SHADES[5]), ("as many as asked for", "#777777"), ("more", SHADES[1]))


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure of the rows under which GPU jobs get other CPUs than they ask for, if any."""
    if not any(map(_changes, digests)):
        return []
    rows = chosen(digests, contest, _changes)
    changed = {
        row: np.concatenate([read_cpus_changed(run) for run in digests[row].group.runs]) for row in rows
    }
    beyond = _BEYOND * any((abs(each) > _MOST).any() for each in changed.values())
    caption = _CAPTION + beyond + of_scenario(rows, contest) + pooled(digests)
    return [
        Drawing("cores_changed", "CPUs against those asked for", caption, partial(draw, digests, changed))
    ]


def _changes(digest: Digest) -> bool:
    if not have_kinds(digest):
        return False
    kinds = [run.summary["kinds"] for run in digest.group.runs]
    return any(each["more_cpus"] or each["fewer_cpus"] for each in kinds)


def draw(digests: Sequence[Digest], changed: Mapping[int, Floats], width_in: float = WIDTH_IN) -> Figure:
    """Draw how many jobs got so many CPUs more than they asked for, a panel a row."""
    most = min(_MOST, max(int(abs(each).max(initial=1)) for each in changed.values()))
    shares = {row: _shares(each) for row, each in changed.items()}
    figure = row_panels(
        digests,
        changed,
        lambda axes, each: _bars(axes, each, most),
        Key([Patch(facecolor=colour, label=name) for name, colour in _PARTS], 3, 3),
        height_in=2.1,
        label="CPUs held last less those asked for",
        limits=(-most - 0.7, most + 0.7),
        width_in=width_in,
        said={row: " / ".join(f"{share:.0f}" for share in each) + " %" for row, each in shares.items()},
    )
    figure.supylabel("% of GPU jobs", fontsize=9)
    return figure


def _shares(changed: Floats) -> tuple[float, float, float]:
    """Return the per cents of jobs with fewer, as many, and more CPUs."""
    of = len(changed) or 1
    return tuple(100 * float(np.sum(np.sign(changed) == sign)) / of for sign in (-1, 0, 1))  # type: ignore


def _bars(axes: Axes, changed: Floats, most: int) -> None:
    x = np.arange(-most, most + 1)
    counts = np.bincount(np.clip(changed, -most, most).astype(np.int64) + most, minlength=len(x))
    colours = [_PARTS[int(np.sign(each)) + 1][1] for each in x]
    axes.bar(x, 100 * counts / (len(changed) or 1), 0.85, color=colours, linewidth=0)
