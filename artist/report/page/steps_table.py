"""The table of the steps in which a policy found the cores of jobs, by model. Pure."""

from collections.abc import Mapping

from artist.report.page.datatable import Cell, Column, DataTable
from artist.results.measures import number_texts
from artist.results.steps import Floats

_KINDS = {"jobs": "count", "steps_mean": "ratio", "steps_most": "count"}


def steps_table(steps: Mapping[str, Mapping[str, Floats]]) -> DataTable | None:
    """Return the table; None if no policy looks for the cores of jobs.

    Parameters
    ----------
    steps
        By name of a row and model: of each job.
    """
    models = sorted({model for each in steps.values() for model in each})
    found = [(model, name, each[model]) for model in models for name, each in steps.items() if model in each]
    if not found:
        return None
    numbers = [(float(len(each)), float(each.mean()), float(each.max())) for _, _, each in found]
    columns = [
        number_texts([(number, None) for number in column], 1.0, kind)
        for column, kind in zip(zip(*numbers, strict=True), _KINDS.values(), strict=True)
    ]
    rows = [
        (
            Cell(model, model),
            Cell(name, name),
            *(Cell(texts[at][0], number) for texts, number in zip(columns, numbers[at], strict=True)),
        )
        for at, (model, name, _) in enumerate(found)
    ]
    heads = [Column("model", "model", word=True), Column("row", "row", word=True)]
    heads += [Column(name, name.replace("_", " ")) for name in _KINDS]
    breaks = frozenset(
        at for at in range(1, len(found)) if found[at][0] != found[at - 1][0] and len(steps) > 1
    )
    texts = tuple(f"{model} {name}".lower() for model, name, _ in found)
    return DataTable("steps", tuple(heads), tuple(rows), texts, breaks)
