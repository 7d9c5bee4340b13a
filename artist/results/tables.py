"""Summaries as tables of aligned text, for people."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from artist.results.compare import IDLE_SEEDS, POLICY, Comparison, along_note, compare, idle_seeds
from artist.results.coverage import OVERLOADED, OVERLOADED_NOTE, coverage_notes, mark
from artist.results.measures import (
    METRICS,
    Estimate,
    Metric,
    column_unit,
    estimate,
    estimate_of,
    number_texts,
)
from artist.results.names import short_key
from artist.results.overhead import overhead_by_gpu_time
from artist.results.run import Run
from artist.results.seen import seen_notes
from artist.results.stand_ins import stand_in_notes, stand_ins
from artist.tables.grid import Grid

if TYPE_CHECKING:
    from artist.results.fairness import Fairness

# Columns of a narrow terminal, the first ones kept longest; those that are not named are in the middle.
_KEPT = ("jct_mean_s", "queueing_mean_s", "seen_ratio", "gpu_utilization", "jct_p99_s", "makespan_s")
_LEFT_OUT = ("preemptions", "jct_median_s", "jct_p95_s", "comm_overhead_mean", "finished", "jobs")
_RANKS = {name: rank for rank, name in enumerate((*_KEPT, "", *_LEFT_OUT), 1)}
_FAIR = (
    Metric("bounded_slowdown", ("bounded", "slowdown"), ("",), "ratio", optional=True),
    Metric("jain", ("Jain's", "index"), ("",), "ratio", optional=True),
)
INTERVAL = (
    "+-: half width of the 95 % interval (Student's t) of the mean over the runs (seeds) of a row; "
    "fewer than 3 have none"
)


def run_table(summary: Mapping[str, Any], width: int | None = None) -> str:
    """Return the table of one run as aligned text, at most so wide."""
    return _grid((POLICY,), [((str(summary["policy"]),), (summary,))]).fitted(width).text()


def compare_table(runs: Sequence[Run], width: int | None = None) -> str:
    """Return the table of many runs as aligned text, at most so wide: one row per group of replicates.

    Leading columns are the config keys that differ; replicates show their mean and, after +-, half
    the width of its 95 % interval.
    """
    # With numpy, which the table of one run needs not.
    from artist.results.digest import digest, growing
    from artist.results.fairness import fairness_by_run

    comparison = compare(runs)
    fair = [fairness_by_run(group) for group in comparison.groups]
    rows = growing([digest(group) for group in comparison.groups])
    return comparison_grid(comparison, fair, rows).fitted(width).text()


def comparison_grid(
    comparison: Comparison,
    fair: Sequence[Sequence["Fairness"]] = (),
    growing: Collection[int] = (),
    *,
    letters: bool = False,
) -> Grid:
    """Return the table of a comparison.

    Parameters
    ----------
    fair
        Slowdown and fairness of the runs of each row, for two further columns.
    growing
        Rows whose queue grows.
    letters
        Prefix labels with the letters that figures use for long labels.
    """
    groups = comparison.groups
    keys = [short_key(key) for key in comparison.keys]
    leads = [
        (group.shown[0] + OVERLOADED * (row in growing), *group.shown[1:]) for row, group in enumerate(groups)
    ]
    if letters and any(group.letter for group in groups):
        keys = ["", *keys]
        leads = [(group.letter, *lead) for group, lead in zip(groups, leads, strict=True)]
    summaries = [[run.summary for run in group.runs] for group in groups]
    names = [group.name for group in groups]
    notes = [note for note in (along_note(comparison), idle_seeds(comparison)) if note]
    notes += [*seen_notes(comparison), *[OVERLOADED_NOTE] * bool(growing)]
    return _grid(keys, list(zip(leads, summaries, strict=True)), names, notes, fair)


_Rows = Sequence[tuple[Sequence[str], Sequence[Mapping[str, Any]]]]


def _grid(
    keys: Sequence[str],
    rows: _Rows,
    names: Sequence[str] = ("",),
    notes: Sequence[str] = (),
    fair: Sequence[Sequence["Fairness"]] = (),
) -> Grid:
    replicated = any(len(summaries) > 1 for _, summaries in rows)
    columns = [[values[i] for values, _ in rows] for i in range(len(keys))]
    heads = [_key_head(key, cells) for key, cells in zip(keys, columns, strict=True)]
    heads += [("", "runs", "")] * replicated
    ranks = [0] * len(heads)
    columns += [[str(len(summaries)) for _, summaries in rows]] * replicated
    every = [summary for _, summaries in rows for summary in summaries]
    for metric in (*METRICS, *(_FAIR if fair else ()), *stand_ins(every)):
        estimates = _fair(metric, rows, fair) if metric in _FAIR else _estimates(metric, rows)
        if metric.optional and all(number.mean is None for number in estimates):
            continue
        unit, scale = column_unit(metric.quantity, [number.mean for number in estimates])
        heads.append((*metric.title, unit))
        marks = [mark(summaries) * (metric.name == "finished") for _, summaries in rows]
        texts = _texts(estimates, scale, metric)
        columns.append([cell + star for cell, star in zip(texts, marks, strict=True)])
        ranks.append(0 if any(marks) else _RANKS.get(metric.name, len(_KEPT) + 1))
    apart = replicated and IDLE_SEEDS not in notes
    _, by_row = zip(*rows, strict=True)
    added = overhead_by_gpu_time(list(zip(names, by_row, strict=True)))
    by_gpu_time = [f"by GPU time: {added}"] * bool(added)
    notes = [*notes, *[INTERVAL] * apart, *coverage_notes(every), *by_gpu_time, *stand_in_notes(every)]
    lines = tuple(zip(*columns, strict=True))
    return Grid(tuple(heads), lines, len(keys), "\n".join(notes), tuple(ranks))


def _estimates(metric: Metric, rows: _Rows) -> list[Estimate]:
    return [estimate(metric, summaries) for _, summaries in rows]


def _fair(metric: Metric, rows: _Rows, fair: Sequence[Sequence["Fairness"]]) -> list[Estimate]:
    numbers = [[getattr(of_run, metric.name) for of_run in of_row] for of_row in fair]
    return [estimate_of(of, summaries) for of, (_, summaries) in zip(numbers, rows, strict=True)]


def _texts(estimates: Sequence[Estimate], scale: float, metric: Metric) -> list[str]:
    """Return means as texts, with half the width of their intervals."""
    texts = number_texts([(number.mean, number.half) for number in estimates], scale, metric.quantity)
    return [f"{mean} +- {half}" if half else mean for mean, half in texts]


def _key_head(key: str, cells: Sequence[str]) -> tuple[str, str, str]:
    """Return the heading of a config key, in lines where it is longer than the cells."""
    first, *rest = key.split(".", 2)
    if not rest or len(key) <= max(map(len, cells)):
        return "", key, ""
    return f"{first}.", rest[0] + "." * (len(rest) > 1), "".join(rest[1:])
