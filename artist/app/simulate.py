"""`artist.simulate`: one run from Python, as the command line would make it."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING
from warnings import warn

from hydra import compose
from hydra.types import RunMode

from artist.app.cli import request_of
from artist.app.composing import composing, without_hydra
from artist.bad_input.explain import from_library, two_lines
from artist.errors import InputError, RunError
from artist.results.folder import read_run
from artist.results.run import Run
from artist.run.user_folder import check_shadows

if TYPE_CHECKING:
    from artist.run.point import Request

_ONE_AT_A_TIME = RLock()  # Hydra's state and the log exist once per process


def simulate(overrides: Sequence[str] = (), *, config_dir: str | os.PathLike[str] | None = None) -> Run:
    """Run once and return the run, read from its folder; a finished run is not repeated.

    The folder is the one that a sweep (`artist -m`) uses for the same point: `runs/sweeps/`, then
    `output.name`, then the run key. So `read_sweep` reads the runs of several calls. Calls may run
    concurrently in processes, for example those of joblib; threads take turns.

    Parameters
    ----------
    overrides
        As on the command line: `["policy=srtf", "cluster.racks=2", "seed=1"]`.
    config_dir
        Folder with parts of your own, as `--config-dir`.

    Raises
    ------
    RunError
        If the overrides are wrong, the policy fails, or jobs wait forever; with the message of the command.

    Warns
    -----
    UserWarning
        For notes that the command prints on stderr.
    """
    from artist.run.point import run_point

    with _ONE_AT_A_TIME:
        try:
            request = _request(list(overrides), config_dir)
        except Exception as error:
            raise RunError(two_lines(from_library(error))) from error
        outcome = run_point(request)
    for note in outcome.notes:
        warn(note, stacklevel=2)
    if outcome.message:
        raise RunError(outcome.message)
    return read_run(outcome.folder)


def _request(overrides: list[str], config_dir: str | os.PathLike[str] | None) -> "Request":
    if config_dir is not None:
        folder = Path(config_dir).absolute()
        check_shadows(folder)
        overrides = [*overrides, f"hydra.searchpath=[{json.dumps('file://' + str(folder))}]"]
    with composing():
        config = compose("config", overrides, return_hydra_config=True)
    settings = config.hydra
    if settings.mode == RunMode.MULTIRUN:
        what, name = "an experiment is a sweep of its own", settings.runtime.choices.experiment
        raise InputError(what, where="experiment", found=name, allowed="the command: artist experiment=NAME")
    return request_of(without_hydra(config), settings, Path(settings.sweep.dir, settings.sweep.subdir))
