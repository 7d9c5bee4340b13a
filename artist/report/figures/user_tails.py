"""The figure of how long users wait: a point a user and a row."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artist.drawing.looks import example_lines, style
from artist.drawing.panels import WIDTH_IN, legend, panels
from artist.drawing.time_axis import log_time_axis
from artist.report.figures.drawing import Drawing, of_scenario, several
from artist.report.figures.facets import chosen, facets
from artist.report.figures.kinds import have_kinds
from artist.report.figures.labels import group_texts
from artist.results.digest import MIN_WAIT_S, Digest
from artist.results.kinds import read_waits
from artist.results.names import natural
from artist.results.scenarios import Contest
from artist.tables.grid import clip

Tails = Mapping[int, Mapping[str, tuple[float, bool]]]  # by row and user: seconds, has GPU jobs

_CAPTION = (
    "The 99th percentile of the queueing times of each user's finished jobs: at the left of users with GPU "
    "jobs, at the right of those with CPU jobs only. Lower is better."
)
_AT_EDGE = " At the lower edge: 1 s or less."
_MEANS = " Means over replicates."
_MAX_USERS = 40
_SIDES = ("users with GPU jobs", "CPU jobs only")
_ASIDE = 0.5  # how far apart the first and the last row of a user are, in steps between users


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure, where runs tell GPU jobs from CPU jobs and name users."""
    if not any(map(have_kinds, digests)):
        return []
    rows = chosen(digests, contest, have_kinds)
    tails = {row: _tails(digests[row]) for row in rows}
    sides = _users(tails)
    count = sum(map(len, sides))
    if not count:
        return []
    left_out = len({user for each in tails.values() for user in each}) - count
    caption = _CAPTION + _AT_EDGE * (min(_seconds(tails)) <= MIN_WAIT_S) + _MEANS * several(digests)
    caption += of_scenario(rows, contest)
    caption += f" The last {left_out} users by name are left out." * bool(left_out)
    draw = partial(tails_by_user, digests, contest, tails, sides)
    return [Drawing("user_tails", "Queueing times by user", caption, draw)]


def _tails(digest: Digest) -> dict[str, tuple[float, bool]]:
    """Return the percentile of each user, the mean over replicates, and whether some job has GPUs."""
    found: dict[str, list[float]] = {}
    with_gpus: set[str] = set()
    for run in digest.group.runs:
        waits = read_waits(run)
        has_gpus = np.bincount(waits.user.codes, waits.of_gpu, len(waits.user.names)) > 0
        for name, tail_s, has in zip(waits.user.names, waits.p99_s(), has_gpus, strict=True):
            if name and not np.isnan(tail_s):
                found.setdefault(name, []).append(float(tail_s))
                with_gpus |= {name} if has else set()
    return {name: (float(np.mean(tails)), name in with_gpus) for name, tails in found.items()}


def _users(tails: Tails) -> tuple[list[str], list[str]]:
    """Return users with GPU jobs under some row, and the others, each in natural order."""
    users = sorted({user for each in tails.values() for user in each}, key=natural)[:_MAX_USERS]
    with_gpus = {user for each in tails.values() for user, (_, has) in each.items() if has}
    return [user for user in users if user in with_gpus], [user for user in users if user not in with_gpus]


def _seconds(tails: Tails) -> list[float]:
    return [seconds for each in tails.values() for seconds, _ in each.values()]


def tails_by_user(
    digests: Sequence[Digest],
    contest: Contest,
    tails: Tails,
    sides: tuple[Sequence[str], Sequence[str]],
    width_in: float = WIDTH_IN,
) -> Figure:
    """Draw a point for the 99th percentile of each user and row, users with GPU jobs first."""
    layout = facets([each.group for each in digests], contest)
    texts = group_texts([digests[row].group for row in tails])
    users = [*sides[0], *sides[1]]
    x = np.arange(len(users)) + np.repeat([0.0, float(all(sides))], [len(side) for side in sides])
    with style():
        figure, (axes,) = panels(1, 3.2, texts, width_in=width_in)
        for number, (row, found) in enumerate(tails.items()):
            aside = _ASIDE * ((number + 0.5) / len(tails) - 0.5)
            y = [max(found[user][0], MIN_WAIT_S) if user in found else np.nan for user in users]
            axes.plot(x + aside, y, clip_on=False, zorder=3, **layout.points[row])
        log_time_axis(axes, max(min(_seconds(tails)), MIN_WAIT_S), max(*_seconds(tails), 60.0), along="y")
        axes.set_xticks(x, [clip(user, 12) for user in users], rotation=60, ha="right", fontsize=7.5)
        axes.set(xlim=(-0.7, x[-1] + 0.7), ylabel="99th percentile of queueing")
        _name_sides(axes, sides)
        legend(figure, texts, example_lines([layout.points[row] for row in tails]))
        return figure


def _name_sides(axes: Axes, sides: Sequence[Sequence[str]]) -> None:
    """Write above the users of each side who they are, with a line between the sides."""
    begin = 0.0
    for users, name in zip(sides, _SIDES, strict=True):
        if users:
            middle = begin + (len(users) - 1) / 2
            axes.annotate(name, (middle, 1.02), xycoords=axes.get_xaxis_transform(), ha="center", fontsize=9)
            begin += len(users) + 1
    if all(sides):
        axes.axvline(len(sides[0]), color="#555555", linewidth=0.8)
