"""The table of the steps in which a policy found the CPUs of jobs, and of those kept, by model. Pure."""

from collections.abc import Mapping

import numpy as np

from artist.report.page.datatable import Cell, Column, DataTable
from artist.results.measures import number_texts
from artist.results.steps import Floats

_NO_JOBS: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))


def steps_table(
    steps: Mapping[str, Mapping[str, Floats]],
    kept: Mapping[str, Mapping[str, tuple[Floats, Floats]]] | None = None,
) -> DataTable | None:
    """Return the table; None if no policy looks for the CPUs of jobs.

    Parameters
    ----------
    steps
        By name of a row and model: of each job.
    kept
        Likewise, CPUs a GPU asked for and held in the end: of each finished job.
    """
    models = sorted({model for each in steps.values() for model in each})
    found = [(model, name, each[model]) for model in models for name, each in steps.items() if model in each]
    if not found:
        return None
    steps_of = [each for *_, each in found]
    kept_of = [(kept or {}).get(name, {}).get(model, _NO_JOBS) for model, name, _ in found]
    numbers: dict[str, tuple[str, list[float | None]]] = {
        "jobs": ("count", [float(len(each)) for each in steps_of]),
        "steps_mean": ("ratio", [float(each.mean()) for each in steps_of]),
        "steps_most": ("count", [float(each.max()) for each in steps_of]),
        "CPUs_a_GPU_asked": ("ratio", [_median(asked) for asked, _ in kept_of]),
        "CPUs_a_GPU_kept": ("ratio", [_median(last) for _, last in kept_of]),
    }
    heads = [Column("model", "model", word=True), Column("row", "row", word=True)]
    pairs = [(model, name) for model, name, _ in found]
    cells = [[Cell(pair[at], pair[at]) for pair in pairs] for at in (0, 1)]
    for name, (kind, column) in numbers.items():
        if any(number is not None for number in column):
            shown = number_texts([(number, None) for number in column], 1.0, kind)
            heads.append(Column(name, name.replace("_", " ")))
            cells.append([Cell(text, number) for (text, _), number in zip(shown, column, strict=True)])
    rows = tuple(zip(*cells, strict=True))
    breaks = frozenset(
        at for at in range(1, len(found)) if found[at][0] != found[at - 1][0] and len(steps) > 1
    )
    texts = tuple(f"{model} {name}".lower() for model, name, _ in found)
    return DataTable("steps", tuple(heads), rows, texts, breaks)


def _median(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None
