"""`artist.simulate` and `artist.sweep`: runs and sweeps from Python, as on the command line."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING
from warnings import warn

from hydra import compose
from hydra.types import RunMode

from artist.app.cli import request_of, request_of_point
from artist.app.composing import SweepWanted, composing, prefer_our_defaults, sweep_config, without_hydra
from artist.app.sweep import run_sweep
from artist.bad_input.explain import from_library, two_lines
from artist.errors import InputError, RunError
from artist.results.folder import read_run
from artist.results.run import Run
from artist.results.sweep import Sweep, read_sweep
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
            request = _request(_with_folder(overrides, config_dir))
        except Exception as error:
            raise RunError(two_lines(from_library(error))) from error
        outcome = run_point(request)
    for note in outcome.notes:
        warn(note, stacklevel=2)
    if outcome.message:
        raise RunError(outcome.message)
    return read_run(outcome.folder)


def sweep(overrides: Sequence[str] = (), *, config_dir: str | os.PathLike[str] | None = None) -> Sweep:
    """Run all combinations of the values in the overrides, and return their runs; finished ones are kept.

    It is `artist -m` in this process, with the same folder and launchers (`hydra/launcher=joblib` takes all
    cores). A line on stderr tells when a point has ended, unless `output.progress=false`. Other runs in the
    folder are not returned.

    Parameters
    ----------
    overrides
        As on the command line: `["policy=fifo,srtf", "seed=range(0,5)"]`, or `["experiment=whole_machines"]`.
    config_dir
        Folder with parts of your own, as `--config-dir`.

    Raises
    ------
    RunError
        If the overrides are wrong, or no point finishes; with the message of the command.

    Warns
    -----
    UserWarning
        For points that fail, each with its message, and for notes that the command prints on stderr.

    Examples
    --------
    >>> import artist
    >>> runs = artist.sweep(["policy=fifo,srtf", "workload.jobs=20"])  # doctest: +SKIP
    >>> runs.summary[["policy", "jct_s.mean"]]  # doctest: +SKIP
    """
    with _ONE_AT_A_TIME:
        try:
            prefer_our_defaults()
            with composing():
                points = run_sweep(
                    SweepWanted(*sweep_config(_with_folder(overrides, config_dir))), request_of_point
                )
        except Exception as error:
            raise RunError(two_lines(from_library(error))) from error
    outcomes = [point.outcome for point in points]
    finished = [outcome for outcome in outcomes if outcome.summary is not None and not outcome.message]
    messages = list(dict.fromkeys(outcome.message for outcome in outcomes if outcome.message))
    if not finished:
        raise RunError(messages[0])
    for note in dict.fromkeys(note for outcome in outcomes for note in outcome.notes):
        warn(note, stacklevel=2)
    for point in points:
        if point.outcome.message:
            warn(f"{' '.join(point.overrides)}: {point.outcome.message}", stacklevel=2)
    return read_sweep(*(outcome.folder for outcome in outcomes if outcome.folder.is_dir()))


def _with_folder(overrides: Sequence[str], config_dir: str | os.PathLike[str] | None) -> list[str]:
    """Return the overrides, with a folder of the user's in the search path."""
    if config_dir is None:
        return list(overrides)
    folder = Path(config_dir).absolute()
    check_shadows(folder)
    return [*overrides, f"hydra.searchpath=[{json.dumps('file://' + str(folder))}]"]


def _request(overrides: list[str]) -> "Request":
    with composing():
        config = compose("config", overrides, return_hydra_config=True)
    settings = config.hydra
    if settings.mode == RunMode.MULTIRUN:
        what, name = "an experiment is a sweep of its own", settings.runtime.choices.experiment
        raise InputError(what, where="experiment", found=name, allowed="the command: artist experiment=NAME")
    return request_of(without_hydra(config), settings, Path(settings.sweep.dir, settings.sweep.subdir))
