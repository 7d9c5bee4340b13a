"""The figures of GPU jobs and CPU jobs: use, queueing times, those of users, and CPUs held in the end."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from artist.drawing.looks import example_lines, style
from artist.drawing.panels import WIDTH_IN, legend, panels
from artist.drawing.time_axis import log_time_axis
from artist.report.figures.bars import SHADES
from artist.report.figures.distributions import draw_cdf
from artist.report.figures.drawing import AVERAGED, Drawing, first, group_texts, of_scenario, pooled, several
from artist.report.figures.facets import chosen, facets
from artist.report.figures.resources import in_panels
from artist.report.figures.row_panels import Key, row_panels
from artist.report.figures.time_span import on_cuts, time_span
from artist.results.digest import MIN_WAIT_S, Digest, Distribution, Gauge, distribution
from artist.results.job_types import has_job_types, read_cpus_changed, read_job_types, read_waits
from artist.results.names import natural
from artist.results.scenarios import Contest
from artist.results.steps import Floats, Steps
from artist.tables.grid import clip

_SHARES = (
    "The parts of the cluster's GPUs, CPUs and memory bandwidth that are in use, over time. GPUs "
    "are active while a job holds them, used for the part of that time for which the job keeps "
    "them busy, and starved while they are idle because their machine lacks the CPUs that a "
    "waiting GPU job needs."
)
_WAITING = "The number of GPU jobs and of CPU jobs that wait, over time."
_QUEUEING = (
    "The fraction of finished GPU jobs, and of finished CPU jobs, whose total wait is at most the "
    "time on the horizontal axis. The axis begins at 1 s, each line, with a dot, at the fraction "
    "that waited less. Higher is better."
)
_AXES_DIFFER = " The vertical axes of the panels differ."
_SPANS = 120
_IN_USE = {  # title: column, and the one that it is a part of
    "GPUs active": ("busy_gpus", "capacity_gpus"),
    "GPUs used": ("gpus_used", "capacity_gpus"),
    "GPUs starved": ("starved_gpus", "capacity_gpus"),
    "CPUs of GPU jobs": ("cpus_of_gpu_jobs", "capacity_cpus"),
    "CPUs of CPU jobs": ("cpus_of_cpu_jobs", "capacity_cpus"),
    "memory bandwidth": ("bandwidth_bytes_per_s", "capacity_bytes_per_s"),
}
_WAIT = {"GPU jobs waiting": ("gpu_jobs_waiting", None), "CPU jobs waiting": ("cpu_jobs_waiting", None)}
_TYPES = ("GPU jobs", "CPU jobs")
Gauges = dict[int, dict[str, Gauge]]  # by row and title


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures, where runs have GPU jobs and CPU jobs; each is of the rows of one scenario."""
    figures = (_over_time, _user_tails, _cpus_changed)
    return [drawing for figure in figures for drawing in figure(digests, contest)]


def _over_time(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures, where runs have GPU jobs and CPU jobs; each is of the rows of one scenario."""
    if not any(map(have_job_types, digests)):
        return []
    rows = chosen(digests, contest, have_job_types)
    read = {row: read_job_types(digests[row].group.runs[0], _SPANS, digests[row].work_end_s) for row in rows}
    waits = {row: _waits(digests[row]) for row in rows}
    in_use = partial(in_panels, digests, contest, _gauges(read, _IN_USE), "% of the cluster's", same_y=False)
    counts = partial(in_panels, digests, contest, _gauges(read, _WAIT), "jobs", scale_y=1.0, same_y=False)
    more = _AXES_DIFFER + f"{AVERAGED}." * any(steps.thinned for steps in read.values())
    more += on_cuts([time_span([digests[row] for row in rows])])
    more += of_scenario(rows, contest) + first(digests)
    text = _QUEUEING + of_scenario(rows, contest) + pooled(digests)
    queueing = partial(queueing_by_type, digests, contest, waits)
    return [
        Drawing("kinds_in_use", "GPUs, CPUs, bandwidth", _SHARES + more, in_use),
        Drawing("kinds_waiting", "Waiting jobs by job type", _WAITING + more, counts),
        Drawing("kinds_queueing", "Queueing times by job type", text, queueing),
    ]


def have_job_types(digest: Digest) -> bool:
    """Return whether all runs of a row recorded types of jobs."""
    return all(map(has_job_types, digest.group.runs))


def _gauges(read: Mapping[int, Steps], columns: Mapping[str, tuple[str, str | None]]) -> Gauges:
    """Return columns as parts of others, or as they are, by row and title."""
    gauges: Gauges = {}
    for row, (times_s, values, thinned) in read.items():
        gauges[row] = {}
        for title, (part, whole) in columns.items():
            of = np.ones_like(times_s) if whole is None else values[whole]
            parts = np.divide(values[part], of, out=np.zeros_like(of), where=of > 0)
            gauges[row][title] = Gauge(times_s, parts, parts, parts, thinned)
    return gauges


def _waits(digest: Digest) -> tuple[Distribution, ...]:
    """Return the distributions of queueing times by job type, replicates pooled."""
    pairs = [read_waits(run) for run in digest.group.runs]
    gpu = np.concatenate([pair.of_gpu for pair in pairs])
    queueing_s = np.concatenate([pair.queueing_s for pair in pairs])
    return tuple(distribution(queueing_s[of], int(of.sum()), MIN_WAIT_S) for of in (gpu, ~gpu))


def queueing_by_type(
    digests: Sequence[Digest],
    contest: Contest,
    waits: Mapping[int, Sequence[Distribution]],
    width_in: float = WIDTH_IN,
) -> Figure:
    """Draw the distributions of waiting times, a panel per job type and a line per row."""
    layout = facets([digest.group for digest in digests], contest)
    texts = tuple(group_texts([digests[row].group for row in waits]))
    layout = replace(layout, texts=texts, examples=tuple(waits))
    lines = [
        (title, {row: by_type[number] for row, by_type in waits.items()})
        for number, title in enumerate(_TYPES)
    ]
    return draw_cdf(layout, lines, "time in the queue", "no job has waited", width_in, MIN_WAIT_S, dots=True)


Tails = Mapping[int, Mapping[str, tuple[float, bool]]]  # by row and user: seconds, has GPU jobs

_TAILS = (
    "The 99th percentile of each user's waits, over finished jobs: at the left users with GPU "
    "jobs, at the right those with CPU jobs only. Lower is better."
)
_AT_EDGE = " At the lower edge: 1 s or less."
_MEANS = " Means over seeds."
_MAX_USERS = 40
_SIDES = ("users with GPU jobs", "CPU jobs only")
_ASIDE = 0.5  # how far apart the first and the last row of a user are, in steps between users


def _user_tails(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure, where runs have GPU jobs and CPU jobs and name users."""
    if not any(map(have_job_types, digests)):
        return []
    rows = chosen(digests, contest, have_job_types)
    tails = {row: _tails(digests[row]) for row in rows}
    sides = _users_by_side(tails)
    count = sum(map(len, sides))
    if not count:
        return []
    left_out = len({user for by_user in tails.values() for user in by_user}) - count
    caption = _TAILS + _AT_EDGE * (min(_seconds(tails)) <= MIN_WAIT_S) + _MEANS * several(digests)
    caption += of_scenario(rows, contest)
    caption += f" The last {left_out} users by name are left out." * bool(left_out)
    draw = partial(tails_by_user, digests, contest, tails, sides)
    return [Drawing("user_tails", "Queueing times by user", caption, draw)]


def _tails(digest: Digest) -> dict[str, tuple[float, bool]]:
    """Return the percentile of each user, the mean over replicates, and whether some job has GPUs."""
    by_user: dict[str, list[float]] = {}
    with_gpus: set[str] = set()
    for run in digest.group.runs:
        waits = read_waits(run)
        has_gpus = np.bincount(waits.user.codes, waits.of_gpu, len(waits.user.names)) > 0
        for name, tail_s, has in zip(waits.user.names, waits.p99_s(), has_gpus, strict=True):
            if name and not np.isnan(tail_s):
                by_user.setdefault(name, []).append(float(tail_s))
                with_gpus |= {name} if has else set()
    return {name: (float(np.mean(tails)), name in with_gpus) for name, tails in by_user.items()}


def _users_by_side(tails: Tails) -> tuple[list[str], list[str]]:
    """Return users with GPU jobs under some row, and the others, each in natural order."""
    users = sorted({user for by_user in tails.values() for user in by_user}, key=natural)[:_MAX_USERS]
    with_gpus = {user for by_user in tails.values() for user, (_, has) in by_user.items() if has}
    return [user for user in users if user in with_gpus], [user for user in users if user not in with_gpus]


def _seconds(tails: Tails) -> list[float]:
    return [seconds for by_user in tails.values() for seconds, _ in by_user.values()]


def tails_by_user(
    digests: Sequence[Digest],
    contest: Contest,
    tails: Tails,
    sides: tuple[Sequence[str], Sequence[str]],
    width_in: float = WIDTH_IN,
) -> Figure:
    """Draw a point for the 99th percentile of each user and row, users with GPU jobs first."""
    layout = facets([digest.group for digest in digests], contest)
    texts = group_texts([digests[row].group for row in tails])
    users = [*sides[0], *sides[1]]
    x = np.arange(len(users)) + np.repeat([0.0, float(all(sides))], [len(side) for side in sides])
    with style():
        figure, (axes,) = panels(1, 3.2, texts, width_in=width_in)
        for number, (row, by_user) in enumerate(tails.items()):
            aside = _ASIDE * ((number + 0.5) / len(tails) - 0.5)
            y = [max(by_user[user][0], MIN_WAIT_S) if user in by_user else np.nan for user in users]
            axes.plot(x + aside, y, clip_on=False, zorder=3, **layout.points[row])
        log_time_axis(axes, max(min(_seconds(tails)), MIN_WAIT_S), max(*_seconds(tails), 60.0), along="y")
        axes.set_xticks(x, [clip(user, 12) for user in users], rotation=60, ha="right", fontsize=8)
        axes.set(xlim=(-0.7, x[-1] + 0.7), ylabel="99th percentile of queueing")
        _name_sides(axes, sides)
        legend(figure, texts, example_lines([layout.points[row] for row in tails]))
        return figure


def _name_sides(axes: Axes, sides: Sequence[Sequence[str]]) -> None:
    """Write the name of each side above its users, with a line between the sides."""
    begin = 0.0
    for users, name in zip(sides, _SIDES, strict=True):
        if users:
            middle = begin + (len(users) - 1) / 2
            axes.annotate(name, (middle, 1.02), xycoords=axes.get_xaxis_transform(), ha="center", fontsize=9)
            begin += len(users) + 1
    if all(sides):
        axes.axvline(len(sides[0]), color="#555555", linewidth=0.8)


_CHANGED = (
    "The CPUs that a GPU job held last, minus those that it asked for: the part of the jobs with "
    "each difference. Above a panel: the parts with fewer, as many, and more."
)
_MOST = 20
_BEYOND = f" Differences beyond {_MOST} count as {_MOST}."
_PARTS = (("fewer", SHADES[5]), ("as many as asked for", "#777777"), ("more", SHADES[1]))


def _cpus_changed(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figure of the rows under which GPU jobs get other CPUs than they ask for, if any."""
    if not any(map(_changes, digests)):
        return []
    rows = chosen(digests, contest, _changes)
    changed = {
        row: np.concatenate([read_cpus_changed(run) for run in digests[row].group.runs]) for row in rows
    }
    beyond = _BEYOND * any((abs(of_row) > _MOST).any() for of_row in changed.values())
    caption = _CHANGED + beyond + of_scenario(rows, contest) + pooled(digests)
    return [
        Drawing(
            "cores_changed", "CPUs against those asked for", caption, partial(cpus_changed, digests, changed)
        )
    ]


def _changes(digest: Digest) -> bool:
    if not have_job_types(digest):
        return False
    entries = [run.summary["kinds"] for run in digest.group.runs]
    return any(entry["more_cpus"] or entry["fewer_cpus"] for entry in entries)


def cpus_changed(
    digests: Sequence[Digest], changed: Mapping[int, Floats], width_in: float = WIDTH_IN
) -> Figure:
    """Draw the shares of jobs by CPUs held beyond those asked for, a panel per row."""
    most = min(_MOST, max(int(abs(of_row).max(initial=1)) for of_row in changed.values()))
    shares = {row: _parts_changed(of_row) for row, of_row in changed.items()}
    figure = row_panels(
        digests,
        changed,
        lambda axes, of_row: _change_bars(axes, of_row, most),
        Key([Patch(facecolor=colour, label=name) for name, colour in _PARTS], 3, 3),
        height_in=2.1,
        label="CPUs held last less those asked for",
        limits=(-most - 0.7, most + 0.7),
        width_in=width_in,
        subtitles={
            row: " / ".join(f"{share:.0f}" for share in of_row) + " %" for row, of_row in shares.items()
        },
    )
    figure.supylabel("% of GPU jobs", fontsize=9)
    return figure


def _parts_changed(changed: Floats) -> tuple[float, float, float]:
    """Return the per cents of jobs with fewer, equally many, and more CPUs."""
    of = len(changed) or 1
    return tuple(100 * float(np.sum(np.sign(changed) == sign)) / of for sign in (-1, 0, 1))  # type: ignore


def _change_bars(axes: Axes, changed: Floats, most: int) -> None:
    x = np.arange(-most, most + 1)
    counts = np.bincount(np.clip(changed, -most, most).astype(np.int64) + most, minlength=len(x))
    colours = [_PARTS[int(np.sign(difference)) + 1][1] for difference in x]
    axes.bar(x, 100 * counts / (len(changed) or 1), 0.85, color=colours, linewidth=0)
