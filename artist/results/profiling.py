"""Steps of a policy's search for the CPUs of each job, apart from its other notes."""

from typing import TYPE_CHECKING

import numpy as np

from artist.results.compare import Replicates
from artist.results.run import Run
from artist.results.steps import Floats

if TYPE_CHECKING:
    import pandas as pd

_OF = "steps of "  # a model: what the series is called, an entry a job


def read_profiling(group: Replicates) -> dict[str, Floats]:
    """Return the steps of each job whose CPUs were found, by model; empty if the policy does not search.

    Raises
    ------
    InputError
        If the notes of a policy are damaged.
    """
    by_model: dict[str, list[Floats]] = {}
    for run in group.runs:
        series = run.series
        if series is not None:
            steps = series[series["name"].str.startswith(_OF)]
            for name, values in steps.groupby("name", sort=True)["value"]:
                by_model.setdefault(str(name).removeprefix(_OF), []).append(values.to_numpy(dtype=np.float64))
    return {model: np.concatenate(parts) for model, parts in sorted(by_model.items())}


def other_series(run: Run) -> "pd.DataFrame | None":
    """Return the policy's notes except these steps; None if there are none."""
    series = run.series
    if series is None:
        return None
    rest = series[~series["name"].str.startswith(_OF)]
    return rest if len(rest) else None
