"""All runs of a sweep as pandas frames, with the swept values as columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from artist.results.compare import POLICY, compare, flatten
from artist.results.folder import find_runs, read_run
from artist.results.names import short_key
from artist.results.run import Frames, Run
from artist.results.tables import comparison_grid
from artist.tables.grid import Grid

if TYPE_CHECKING:
    import pandas as pd

SEED = "seed"


@dataclass(frozen=True, repr=False)
class Sweep(Frames):
    """Finished runs, in natural order of the keys that distinguish them, then of their seeds.

    Attributes
    ----------
    runs
        Of equal runs the newest.
    settings
        By run, the policy, the configuration keys whose values differ between the runs, and the seed.
    failed
        Folders of the points that did not finish.
    """

    runs: tuple[Run, ...]
    settings: tuple[dict[str, Any], ...]
    failed: tuple[Path, ...]

    def _shown(self) -> tuple[str, Grid]:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"sweep of {len(self.runs)} runs{failed}", comparison_grid(compare(self.runs))

    @cached_property
    def summary(self) -> "pd.DataFrame":
        """One row a run: its settings, then summary.json, nested keys joined by dots (`jct_s.mean`)."""
        import pandas as pd

        left_out = (POLICY, SEED, "setting")  # the last is text for reports
        numbers = [{k: v for k, v in run.summary.items() if k not in left_out} for run in self.runs]
        facts = pd.json_normalize(numbers)
        return pd.concat([pd.DataFrame(self.settings), facts], axis="columns")

    def table(self, name: str) -> "pd.DataFrame":
        """Read a table of all runs, with each run's settings in front; raise InputError if a run has none."""
        import pandas as pd

        frames = []
        for run, settings in zip(self.runs, self.settings, strict=True):
            frame = run.table(name)
            repeated = pd.DataFrame({key: [value] * len(frame) for key, value in settings.items()})
            frames.append(pd.concat([repeated, frame], axis="columns"))
        return pd.concat(frames, ignore_index=True)


def read_sweep(*folders: str | PathLike[str]) -> Sweep:
    """Read the runs at or under folders, usually that of one sweep.

    Raises
    ------
    InputError
        If there is no finished run, or one is damaged.

    Examples
    --------
    >>> sweep = read_sweep("runs/sweeps/first")  # doctest: +SKIP
    >>> sweep.summary.groupby("policy")["jct_s.mean"].mean()  # doctest: +SKIP
    """
    run_folders = find_runs([Path(folder) for folder in folders])
    comparison = compare([read_run(folder) for folder in run_folders.runs])
    runs, settings = [], []
    for group in comparison.groups:
        for run in group.runs:
            runs.append(run)
            settings.append(_settings(run, comparison.keys, group.shown))
    return Sweep(tuple(runs), tuple(settings), run_folders.failed)


def _settings(run: Run, keys: Sequence[str], shown: Sequence[str]) -> dict[str, Any]:
    """Return the settings that distinguish a run: numbers and names as configured, others in short form."""
    config = dict(flatten(run.config))
    values: dict[str, Any] = {}
    for key, text in zip(keys, shown, strict=True):
        value = config.get(key)
        plain = isinstance(value, bool | int | float | str | None) and not key.endswith("_target_")
        values[short_key(key)] = value if plain and key in config else text
    return {**values, SEED: run.summary[SEED]}
