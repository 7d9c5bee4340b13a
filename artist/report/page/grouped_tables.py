"""Tables of two words and some numbers per row: contended links, users, steps of a CPU search. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from artist.report.page.datatable import Cell, Column, DataTable
from artist.results.compare import Comparison, Replicates
from artist.results.costs import AMOUNTS, costs
from artist.results.digest import Digest, Member
from artist.results.failures import by_size, failures_by_cause, has_failures
from artist.results.fairness import Fairness, fairness
from artist.results.jobcolumns import DEMANDS
from artist.results.links import SharedLink
from artist.results.measures import column_unit, number_texts
from artist.results.seen import Record, groups_of, have_seen, seen_of
from artist.results.steps import Floats

TOP_MEMBERS = 20
_NO_JOBS: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))


class Numbers(NamedTuple):
    """A column of numbers, by row: name, title and unit of its head, quantity, and scale when shown."""

    name: str
    title: str
    quantity: str
    values: Sequence[float | None]
    unit: str = ""
    scale: float = 1.0


def links_table(links: Mapping[str, Sequence[SharedLink]]) -> DataTable | None:
    """Return the table of the links that were contended longest, by name of a row; None if there are none."""
    rows = [(name, link) for name, of_row in links.items() for link in of_row]
    numbers = (
        Numbers("gbit_s", "capacity", "ratio", [link.gbit_s for _, link in rows], "Gb/s"),
        Numbers("contended", "contended", "fraction", [link.contended for _, link in rows], "% of time", 100),
        Numbers("use", "mean use", "fraction", [link.use for _, link in rows], "%", 100),
    )
    heads = ("row", "row"), ("link", "link")
    return _grouped("links", heads, [(name, link.name) for name, link in rows], numbers, lines=True)


def seen_table(comparison: Comparison) -> DataTable | None:
    """Return the table of waits met and simulated, by pool and size of jobs; None without real starts."""
    rows = [
        (_of_group(of), row, of)
        for row in have_seen(comparison.groups)
        for of in ({**seen_of(row), "by": "", "value": ""}, *groups_of(seen_of(row)))
    ]
    order = list(dict.fromkeys(name for name, _, _ in rows))
    rows.sort(key=lambda entry: order.index(entry[0]))
    waits_s = [of[name] for _, _, of in rows for name in ("seen_mean_s", "simulated_mean_s")]
    times = column_unit("time", waits_s)
    numbers = (
        Numbers("jobs", "jobs", "count", [of["jobs"] for _, _, of in rows]),
        Numbers("seen", "seen", "time", [of["seen_mean_s"] for _, _, of in rows], *times),
        Numbers("simulated", "simulated", "time", [of["simulated_mean_s"] for _, _, of in rows], *times),
        *(
            Numbers(name, title, "ratio", [of[name] for _, _, of in rows])
            for name, title in (
                ("ratio", "simulated / seen"),
                ("correlation", "correlation by job"),
                ("rank_correlation", "of ranks"),
                ("queue_correlation", "of waiting jobs by hour"),
                ("busy_correlation", "of busy GPUs by hour"),
            )
        ),
    )
    pairs = [(name, row.name) for name, row, _ in rows]
    return _grouped("seen", (("jobs_of", "jobs"), ("row", "row")), pairs, numbers, lines=True)


def _of_group(of: Record) -> str:
    word = {"gpus": "GPUs:", "vc": "VC"}.get(of["by"], of["by"])
    return f"{word} {of['value']}".strip() or "all jobs"


def causes_table(groups: Sequence[Replicates]) -> DataTable | None:
    """Return the table of failures by cause; None if no machine failed."""
    counts = {group.name: failures_by_cause(group) for group in groups}
    causes = sorted({cause for of_row in counts.values() for cause in of_row})
    pairs = [(cause, row) for cause in causes for row, of_row in counts.items() if cause in of_row]
    numbers = [
        Numbers(name, title, "count", [counts[row][cause][i] for cause, row in pairs])
        for i, (name, title) in enumerate((("failures", "failures of machines"), ("stops", "jobs stopped")))
    ]
    return _grouped("causes", (("cause", "cause"), ("row", "row")), pairs, numbers, lines=True)


def sizes_table(groups: Sequence[Replicates]) -> DataTable | None:
    """Return the table of jobs by size, all of them first; None if machines fail in no row."""
    if not any(map(has_failures, groups)):
        return None
    of_rows = [(group.name, of) for group in groups for of in by_size(group)]
    rows = sorted(of_rows, key=lambda entry: ("", *DEMANDS).index(entry[1].size))
    jct, mttf = [of.jct_s for _, of in rows], [of.mttf_s for _, of in rows]
    numbers = (
        Numbers("jobs", "jobs", "count", [of.jobs for _, of in rows]),
        Numbers("jct", "JCT mean", "time", jct, *column_unit("time", jct)),
        Numbers("stops", "stops by failures", "count", [of.stops for _, of in rows]),
        Numbers("mttf", "MTTF", "time", mttf, *column_unit("time", mttf)),
        Numbers("effective", "effective", "fraction", [of.effective for _, of in rows], "% of time", 100),
    )
    pairs = [(f"{of.size} GPU{'s' * (of.size != '1')}" if of.size else "all", row) for row, of in rows]
    return _grouped("sizes", (("size", "jobs of"), ("row", "row")), pairs, numbers, lines=True)


def costs_table(groups: Sequence[Replicates]) -> DataTable | None:
    """Return the table of energy, money and CO2 by cause, GPU type and user; None where none is counted."""
    of_rows = {group.name: costs(group) for group in groups}
    titles = dict.fromkeys(title for of_row in of_rows.values() for title in of_row)
    some = [title for title in titles if any(any(of_row.get(title, ())) for of_row in of_rows.values())]
    pairs = [(title, row) for title in some for row, of_row in of_rows.items() if title in of_row]
    heads = ("GPU-hours", "energy, kWh", "money", "CO2, kg")
    numbers = [
        Numbers(name, head, "ratio", [of_rows[row][title][i] for title, row in pairs])
        for i, (name, head) in enumerate(zip(AMOUNTS, heads, strict=True))
    ]
    counted = [column for column in numbers if any(value is not None for value in column.values)]
    return _grouped("costs", (("of", "of"), ("row", "row")), pairs, counted, lines=True)


def fairness_table(groups: Sequence[Replicates], fair: Sequence[Sequence[Fairness]]) -> DataTable | None:
    """Return the table of slowdown and fairness, a row of the comparison per line; None without jobs.

    Parameters
    ----------
    fair
        Of the runs of each group.
    """
    rows = [fairness(of_runs) for of_runs in fair]
    if all(row.slowdown is None for row in rows):
        return None
    heads = (
        ("slowdown", "mean slowdown", "ratio"),
        ("bounded_slowdown", "bounded slowdown", "ratio"),
        ("jain", "Jain's index", "ratio"),
        ("finish_time_p95", "finish-time fairness, p95", "ratio"),
        ("unfair", "jobs above 1", "fraction"),
    )
    columns, cells = [Column("row", "row", word=True)], [[Cell(group.name, group.name) for group in groups]]
    for name, title, quantity in heads:
        values = [getattr(row, name) for row in rows]
        if all(value is None for value in values):
            continue  # no users are known
        unit, scale = column_unit(quantity, values)
        texts = number_texts([(value, None) for value in values], scale, quantity)
        columns.append(Column(name, title, unit))
        cells.append([Cell(text, value) for (text, _), value in zip(texts, values, strict=True)])
    texts_of_rows = tuple(group.name.lower() for group in groups)
    return DataTable("fairness", tuple(columns), tuple(zip(*cells, strict=True)), texts_of_rows)


def members_table(name: str, title: str, digests: Sequence[Digest]) -> DataTable | None:
    """Return the table of users or virtual clusters; None if no row names any.

    Parameters
    ----------
    name
        "users" or "vcs". Those with most GPU time over all rows are shown, in every row.
    """
    members: dict[str, list[tuple[str, Member]]] = {}
    for digest in digests:
        for member in getattr(digest, name):
            members.setdefault(member.name, []).append((digest.group.name, member))
    hours = {name: sum(member.gpu_hours for _, member in of_name) for name, of_name in members.items()}
    top = sorted(members, key=lambda name: (-hours[name], name))[:TOP_MEMBERS]
    rows = [(row, member) for name in top for row, member in members[name]]
    jct = [member.jct_s or (None, None, None) for _, member in rows]
    queue = [member.queueing_s for _, member in rows]
    jct_unit = column_unit("time", [seconds for of_row in jct for seconds in of_row])
    numbers = (
        Numbers("jobs", "jobs", "count", [member.jobs for _, member in rows]),
        *(
            Numbers(f"jct_{word}", f"JCT {word}", "time", [of_row[i] for of_row in jct], *jct_unit)
            for i, word in enumerate(("mean", "median", "p95"))
        ),
        Numbers("queue", "queue mean", "time", queue, *column_unit("time", queue)),
        Numbers("gpu_hours", "GPU-hours", "time", [member.gpu_hours for _, member in rows]),
    )
    pairs = [(member.name, row) for row, member in rows]
    return _grouped(name, ((name, title), ("row", "row")), pairs, numbers, lines=len(digests) > 1)


def steps_table(
    steps: Mapping[str, Mapping[str, Floats]],
    kept: Mapping[str, Mapping[str, tuple[Floats, Floats]]] | None = None,
) -> DataTable | None:
    """Return the table of steps, by model and row; None if no policy searches for the CPUs of jobs.

    Parameters
    ----------
    steps
        By name of a row and model: of each job.
    kept
        Likewise, CPUs per GPU asked for and held in the end: of each finished job.
    """
    models = sorted({model for of_row in steps.values() for model in of_row})
    pairs = [(model, row) for model in models for row, of_row in steps.items() if model in of_row]
    counts = [steps[row][model] for model, row in pairs]
    cpus = [(kept or {}).get(row, {}).get(model, _NO_JOBS) for model, row in pairs]
    numbers = (
        Numbers("jobs", "jobs", "count", [float(len(count)) for count in counts]),
        Numbers("steps_mean", "steps mean", "ratio", [float(count.mean()) for count in counts]),
        Numbers("steps_most", "steps most", "count", [float(count.max()) for count in counts]),
        Numbers("CPUs_a_GPU_asked", "CPUs per GPU asked", "ratio", [_median(asked) for asked, _ in cpus]),
        Numbers("CPUs_a_GPU_kept", "CPUs per GPU kept", "ratio", [_median(last) for _, last in cpus]),
    )
    known = [column for column in numbers if any(value is not None for value in column.values)]
    return _grouped("steps", (("model", "model"), ("row", "row")), pairs, known, lines=len(steps) > 1)


def _grouped(
    name: str,
    heads: Sequence[tuple[str, str]],
    pairs: Sequence[tuple[str, str]],
    numbers: Sequence[Numbers],
    *,
    lines: bool,
) -> DataTable | None:
    """Return a table; None without rows.

    Parameters
    ----------
    heads
        Names and titles of the two columns of words.
    pairs
        Words of each row.
    lines
        Whether there is a line above each row whose first word is new.
    """
    if not pairs:
        return None
    columns = [Column(*head, word=True) for head in heads]
    cells = [[Cell(word, word) for word in words] for words in zip(*pairs, strict=True)]
    for column in numbers:
        texts = number_texts([(value, None) for value in column.values], column.scale, column.quantity)
        columns.append(Column(column.name, column.title, column.unit))
        cells.append([Cell(text, value) for (text, _), value in zip(texts, column.values, strict=True)])
    new = {at for at in range(1, len(pairs)) if pairs[at][0] != pairs[at - 1][0]}
    texts_of_rows = tuple(" ".join(pair).lower() for pair in pairs)
    rows = tuple(zip(*cells, strict=True))
    return DataTable(name, tuple(columns), rows, texts_of_rows, frozenset(new if lines else ()))


def _median(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None
