"""The figures of GPU jobs and CPU jobs: what they hold, and how many wait, over time; how long each waits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from artist.drawing.panels import WIDTH_IN
from artist.report.figures.cdf import draw_cdf
from artist.report.figures.drawing import AVERAGED, Drawing, first, of_scenario, pooled
from artist.report.figures.facets import chosen, facets
from artist.report.figures.labels import group_texts
from artist.report.figures.resources import in_panels
from artist.results.digest import MIN_WAIT_S, Digest, Distribution, Gauge, distribution
from artist.results.kinds import Kinds, has_kinds, read_kinds, read_waits
from artist.results.scenarios import Contest
from artist.results.steps import Floats

_SHARES = (
    "The parts of the cluster's GPUs, CPUs and memory bandwidth that are in use, over time. GPUs are active "
    "while jobs hold them, used while they compute in the part of that time for which their job keeps them "
    "busy, and starved while they are idle because their machine lacks the CPUs for a GPU job that waits."
)
_WAITING = "GPU jobs and CPU jobs that wait, over time."
_QUEUEING = (
    "Fractions of finished GPU jobs, and of finished CPU jobs, that waited no longer than the time, over the "
    "whole of their lives; each line begins, at the dot, at the fraction that waited less than 1 s. Higher "
    "is better."
)
_AXES_DIFFER = " The vertical axes of the panels differ."
_SPANS = 120
_KINDS = ("GPU jobs", "CPU jobs")
Gauges = dict[int, dict[str, Gauge]]  # by row and title


def drawings(digests: Sequence[Digest], contest: Contest) -> list[Drawing]:
    """Return the figures, where runs tell GPU jobs from CPU jobs; each is of the rows of one scenario."""
    if not any(map(have_kinds, digests)):
        return []
    rows = chosen(digests, contest, have_kinds)
    read = {row: read_kinds(digests[row].group.runs[0], _SPANS) for row in rows}
    waits = {row: _waits(digests[row]) for row in rows}
    in_use = partial(in_panels, digests, contest, _shares(read), "% of the cluster's", same_y=False)
    counts = partial(in_panels, digests, contest, _waiting(read), "jobs", scale_y=1.0, same_y=False)
    more = _AXES_DIFFER + f"{AVERAGED}." * any(each.thinned for each in read.values())
    more += of_scenario(rows, contest) + first(digests)
    text = _QUEUEING + of_scenario(rows, contest) + pooled(digests)
    queueing = partial(queueing_by_kind, digests, contest, waits)
    return [
        Drawing("kinds_in_use", "GPUs, CPUs, bandwidth", _SHARES + more, in_use),
        Drawing("kinds_waiting", "Waiting jobs by kind", _WAITING + more, counts),
        Drawing("kinds_queueing", "Queueing times by kind", text, queueing),
    ]


def have_kinds(digest: Digest) -> bool:
    """Return whether all runs of a row recorded kinds of jobs."""
    return all(map(has_kinds, digest.group.runs))


def _shares(read: Mapping[int, Kinds]) -> Gauges:
    """Return what is in use, as parts of what there is."""
    return {
        row: {
            "GPUs active": _gauge(each, each.gpus_held, each.gpus),
            "GPUs used": _gauge(each, each.gpus_used, each.gpus),
            "GPUs starved": _gauge(each, each.starved_gpus, each.gpus),
            "CPUs of GPU jobs": _gauge(each, each.cpus_of_gpu_jobs, each.cpus),
            "CPUs of CPU jobs": _gauge(each, each.cpus_of_cpu_jobs, each.cpus),
            "memory bandwidth": _gauge(each, each.bandwidth_drawn, each.bandwidth),
        }
        for row, each in read.items()
    }


def _waiting(read: Mapping[int, Kinds]) -> Gauges:
    return {
        row: {
            f"{name} waiting": _gauge(each, counts, np.ones_like(counts))
            for name, counts in zip(_KINDS, (each.gpu_jobs_waiting, each.cpu_jobs_waiting), strict=True)
        }
        for row, each in read.items()
    }


def _gauge(read: Kinds, values: Floats, of: Floats) -> Gauge:
    parts = np.divide(values, of, out=np.zeros_like(values), where=of > 0)
    return Gauge(read.times_s, parts, parts, parts, read.thinned)


def _waits(digest: Digest) -> tuple[Distribution, ...]:
    """Return how long jobs of each kind waited, replicates pooled."""
    pairs = [read_waits(run) for run in digest.group.runs]
    gpu = np.concatenate([each.of_gpu for each in pairs])
    queueing_s = np.concatenate([each.queueing_s for each in pairs])
    return tuple(distribution(queueing_s[of], int(of.sum()), MIN_WAIT_S) for of in (gpu, ~gpu))


def queueing_by_kind(
    digests: Sequence[Digest],
    contest: Contest,
    waits: Mapping[int, Sequence[Distribution]],
    width_in: float = WIDTH_IN,
) -> Figure:
    """Draw the distributions of waiting times, a panel a kind and a line a row."""
    layout = facets([each.group for each in digests], contest)
    texts = tuple(group_texts([digests[row].group for row in waits]))
    layout = replace(layout, texts=texts, examples=tuple(waits))
    lines = [
        (title, {row: each[number] for row, each in waits.items()}) for number, title in enumerate(_KINDS)
    ]
    return draw_cdf(layout, lines, "time in the queue", "no job has waited", width_in, MIN_WAIT_S, dots=True)
