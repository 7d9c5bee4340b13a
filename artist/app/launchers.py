"""Hydra's launchers, made to outlive their workers.

A worker may be killed: by the system when memory runs out, by the scheduler of a cluster when time does, by
the loss of a machine. The plug-ins raise then, which would end the sweep and hide what was finished. Here
such a point is one that failed, and the others go on:

- joblib ends all workers when one dies. The points that ran are suspects: the rest goes on without them,
  then each suspect is tried once more, alone, with all of the memory.
- Ray tries a point anew on another worker by itself (`hydra.launcher.ray.remote.max_retries`); only what it
  gives up is lost.
- submitit's jobs are independent.
"""

import json
import os
import re
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict, read_write

from artist.app.point_lines import PointLines, Reporter, point_lines
from artist.data import data_path
from artist.errors import InputError
from artist.recording.names import SUMMARY

if TYPE_CHECKING:
    from artist.run.point import Outcome

_RAY, _SUBMITIT = "hydra_ray_launcher", "hydra_submitit_launcher"
_EXTRAS = {_RAY: "ray", _SUBMITIT: "slurm"}
_PATIENCE_S = 10.0
_AGAIN = "the same command tries it again, and repeats nothing that is finished"


@dataclass(frozen=True, slots=True)
class _Lost:
    """What a launcher returns for a point whose worker was lost."""

    why: str


@contextmanager
def steady_launchers() -> Iterator[None]:
    """Let every sweeper get its launcher with the care of this module around it."""
    instantiate = Plugins.instantiate_launcher

    def steady(
        self: Plugins, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> SteadyLauncher:
        plugin = _installed_plugin(config)
        reporter = Reporter()
        hydra_context.callbacks.callbacks.append(reporter)
        config, at_once = _without_at_once(config)
        launcher = instantiate(self, hydra_context, task_function, config)
        return SteadyLauncher(launcher, plugin, at_once, config, hydra_context, reporter)

    validate = BasicSweeper.validate_batch_is_legal

    def by_kind(self: BasicSweeper, batch: Sequence[Sequence[str]]) -> None:
        validate(self, _one_of_each_kind(batch, self.hydra_context))

    with (
        _replaced(Plugins, "instantiate_launcher", steady),
        _replaced(BasicSweeper, "validate_batch_is_legal", by_kind),
    ):
        yield


def _one_of_each_kind(
    batch: Sequence[Sequence[str]], hydra_context: HydraContext | None
) -> list[Sequence[str]]:
    """Return points that together show all that can be wrong with the composition of a batch.

    Hydra composes every point before the first runs, 0.2 s each. Which parts are chosen and which keys are
    set decides whether that succeeds; values are checked by each point itself.
    """
    assert hydra_context is not None

    @cache
    def chooses(key: str) -> bool:
        return bool(hydra_context.config_loader.get_group_options(key))

    def kind(override: str) -> str:
        key = override.partition("=")[0]
        return override if chooses(key.lstrip("+~").partition("@")[0]) else key

    return list({tuple(map(kind, overrides)): overrides for overrides in batch}.values())


def prefer_our_defaults() -> None:
    """Drop those of the plug-ins that conf/hydra/launcher has too; Hydra would take them for schemas."""
    Plugins.instance()  # which makes them register
    theirs = ConfigStore.instance().repo["hydra"]["launcher"]
    for path in data_path("conf", "hydra/launcher").glob("*.yaml"):
        theirs.pop(path.name, None)


class SteadyLauncher:
    """A launcher that lists lost points among the others instead of raising.

    Parameters
    ----------
    launcher
        Of a plug-in, or Hydra's own.
    plugin
        Package of the plug-in.
    at_once
        How many points it may be given at a time; None if it sees to that itself.
    config
        Of the sweep.
    hydra_context
        That the launcher has.
    reporter
        That the launcher takes to its workers.
    """

    def __init__(
        self,
        launcher: Launcher,
        plugin: str,
        at_once: int | None,
        config: DictConfig,
        hydra_context: HydraContext,
        reporter: Reporter,
    ) -> None:
        self._launcher, self._plugin, self._at_once = launcher, plugin, at_once
        self._config, self._loader = config, hydra_context.config_loader
        self._reporter = reporter

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> list[JobReturn]:
        """Run the points; return what became of each, in their order."""
        points = dict(enumerate(job_overrides, initial_job_idx))
        lines = point_lines(self._config)
        self._reporter.spool = lines.spool
        found: dict[int, JobReturn | _Lost] = {}
        with lines.follow(), _losses_returned(self._plugin, self._config.hydra.launcher):
            numbers = list(points)
            size = self._at_once or len(numbers)
            for start in range(0, len(numbers), size):
                self._run(numbers[start : start + size], points, lines, found)
        return [self._return(found[number], overrides) for number, overrides in points.items()]

    def _run(
        self,
        numbers: list[int],
        points: dict[int, Sequence[str]],
        lines: PointLines,
        found: dict[int, JobReturn | _Lost],
    ) -> None:
        suspects: list[int] = []
        while numbers or suspects:
            batch, numbers = numbers or [suspects.pop(0)], []
            first = lines.expect([(number, points[number]) for number in batch])
            try:
                results = self._launcher.launch([points[number] for number in batch], first)
                found.update(zip(batch, map(_judged, results), strict=True))
            except BrokenExecutor:
                begun = lines.begun()
                ended = {number: lines.ended[number] for number in batch if number in lines.ended}
                found.update({number: _reported(record) for number, record in ended.items()})
                left = [number for number in batch if number not in ended]
                if len(batch) > 1 and (begun or ended):
                    suspects += [number for number in left if number in begun]
                    numbers = [number for number in left if number not in begun]
                else:
                    why = "its process was killed while it ran alone (out of memory?)"
                    found.update(dict.fromkeys(left, _Lost(why)))
            for number in batch:
                if isinstance(found.get(number), _Lost):
                    lines.say(number, points[number], "lost")
        lines.read()
        again = [number for number in lines.twice if number in found]
        found.update({number: _reported(lines.ended[number]) for number in again})

    def _return(self, result: JobReturn | _Lost, overrides: Sequence[str]) -> JobReturn:
        if isinstance(result, _Lost):
            return _finished(self._failed(result.why, overrides), overrides)
        folder = getattr(result._return_value, "folder", None)
        if folder is not None and result._return_value.summary and not (folder / SUMMARY).is_file():
            why = f"it was finished on another machine, which does not share {folder.parent}"
            return _finished(self._failed(why, overrides), overrides)
        result.overrides = result.overrides or list(overrides)
        return result

    def _failed(self, why: str, overrides: Sequence[str]) -> "Outcome":
        from artist.run.point import Outcome

        settings = self._loader.load_sweep_config(self._config, list(overrides)).hydra.sweep
        folder = Path(settings.dir, settings.subdir).absolute()
        return Outcome("failed", folder, message=f"lost: {why}\n  {_AGAIN}")


def _installed_plugin(config: DictConfig) -> str:
    """Return the package of the launcher that was chosen.

    Raises
    ------
    InputError
        If it is not installed.
    """
    target = str(config.hydra.launcher.get("_target_", ""))
    package = target.split(".")[1] if target.startswith("hydra_plugins.") else ""
    if package in _EXTRAS and find_spec(f"hydra_plugins.{package}") is None:
        allowed = f"pip install 'artist-sim[{_EXTRAS[package]}]', or joblib"
        found = config.hydra.runtime.choices.get("hydra/launcher")
        raise InputError("not installed", where="hydra/launcher", found=found, allowed=allowed)
    return package


def _without_at_once(config: DictConfig) -> tuple[DictConfig, int | None]:
    """Return a configuration without our own option of a launcher, and that option."""
    if "at_once" not in config.hydra.launcher:
        return config, None
    config = config.copy()
    with read_write(config), open_dict(config):
        at_once = config.hydra.launcher.pop("at_once")
    if at_once is not None and (not isinstance(at_once, int) or at_once < 1):
        allowed = "a positive integer, or null for all cores"
        raise InputError("wrong value", where="hydra.launcher.at_once", found=at_once, allowed=allowed)
    import joblib  # only a sweep with a launcher of its own needs it

    return config, at_once or joblib.cpu_count()


# --- what became of a point


def _finished(outcome: "Outcome", overrides: Sequence[str]) -> JobReturn:
    done = JobReturn(overrides=list(overrides), status=JobStatus.COMPLETED)
    done.return_value = outcome
    return done


def _judged(result: JobReturn | _Lost) -> JobReturn | _Lost:
    """Return as lost what was raised in the worker; the task itself raises for a scheduler's doing alone."""
    if isinstance(result, JobReturn) and result.status == JobStatus.FAILED:
        return _Lost(" ".join(str(result._return_value).split()))
    return result


def _reported(record: dict[str, Any]) -> JobReturn:
    """Return what a point reported whose result was lost with others."""
    from artist.run.point import Outcome

    folder, log = Path(record["folder"]), record["log"]
    summary = folder / SUMMARY
    outcome = Outcome(
        record["status"],
        folder,
        json.loads(summary.read_text(encoding="utf-8")) if summary.is_file() else None,
        record["message"],
        Path(log) if log else None,
        tuple(record["notes"]),
    )
    return _finished(outcome, ())


# --- the plug-ins


def _losses_returned(plugin: str, settings: DictConfig) -> AbstractContextManager[None]:
    if plugin == _RAY:
        return _ray(str(settings.ray.init.get("address")))
    return _submitit() if plugin == _SUBMITIT else nullcontext()


@contextmanager
def _ray(address: str) -> Iterator[None]:
    _check_reachable(address)
    # Before it is imported: it sends statistics, and tells of plans with GPUs, unless it is asked not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray
    from hydra_plugins.hydra_ray_launcher import _core

    def get(run: Any) -> Any:
        try:
            return ray.get(run)
        except ray.exceptions.RayTaskError as error:
            lines = str(error.cause).strip().splitlines() or [""]  # the last says what, if it is a traceback
            return _Lost(f"{type(error.cause).__name__}: {lines[-1]}")
        except ray.exceptions.RayError as error:
            return _Lost(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")

    # What Ray's own processes say comes on stdout, some of it when it ends; its logs have it as well.
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        try:
            with _replaced(_core, "ray", SimpleNamespace(get=get)), _told("ray"):
                yield
        finally:
            ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise if nobody listens there; Ray would try for a quarter of an hour."""
    if match := re.fullmatch(r"([\w.-]+):(\d+)", address):
        try:
            socket.create_connection((match[1], int(match[2])), timeout=_PATIENCE_S).close()
        except OSError as error:
            where, allowed = "hydra.launcher.ray.init.address", "the address that `ray start --head` said"
            what = f"no Ray cluster answers: {(error.strerror or str(error)).lower()}"
            raise InputError(what, where=where, found=address, allowed=allowed) from None


@contextmanager
def _submitit() -> Iterator[None]:
    from submitit.core.core import Job
    from submitit.core.utils import FailedJobError, UncompletedJobError

    results = Job.results

    def kept(self: Any) -> list[Any]:
        try:
            found: list[Any] = results(self)
        except FailedJobError as error:
            lines = [line for line in str(error).splitlines() if line and not line.startswith("---")]
            trace = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt|Exit)\b", line)]
            return [_Lost(f"job {self.job_id}, {(trace or lines)[-1]}; see {self.paths.stderr}")]
        except UncompletedJobError as error:
            state = re.search(r"\(state: (.*?)\)", str(error))
            ended = f" and ended as {state[1]}" if state and state[1] != "FINISHED" else ""
            return [_Lost(f"job {self.job_id} gave no result{ended}; see {self.paths.stderr}")]
        return found

    with _replaced(Job, "results", kept), _told("submitit"):
        yield


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Say of what a cluster refuses (a partition, an address) where it comes from."""
    try:
        yield
    except (RuntimeError, ValueError, ConnectionError) as error:
        if isinstance(error, InputError | BrokenExecutor):
            raise
        what = f"{name} refused the sweep: {' '.join(str(error).split())[-300:]}"
        raise InputError(what, where="hydra.launcher", allowed="settings: artist --cfg hydra") from error


@contextmanager
def _replaced(owner: Any, name: str, value: object) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
