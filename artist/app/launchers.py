"""Launchers of the points of a sweep: in process, joblib, Ray, submitit. Results are yielded as points end.

A worker may be killed by the system when memory runs out, by the scheduler of a cluster at its time limit, or
when a machine is lost. Its point is lost, and the others continue:

- joblib, processes of this machine: a point that was lost while others ran is tried again alone, with all of
  the memory.
- Ray itself tries a point again on another worker (`hydra.launcher.ray.remote.max_retries`).
- submitit's jobs are independent.
"""

import os
import re
import signal
import socket
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pickle import dumps
from typing import TYPE_CHECKING, Any

from hydra.utils import get_method
from omegaconf import DictConfig, OmegaConf

from artist.errors import InputError
from artist.run.remote import RemotePoint, ending_at_once, timed
from artist.run.workers import Workers, held
from netmodels.inputs.naming import allowed_names

if TYPE_CHECKING:
    from artist.run.point import Outcome, Request

_PATIENCE_S = 10.0
_PERIOD_S = 0.1
_GRACE_S = 5.0  # of a worker that got SIGTERM
_HYDRAS_OWN = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"  # hydra/launcher=basic
_INIT = {"max_num_timeout"}  # arguments of the constructors of submitit's executors
_OF_ANY = {
    *("timeout_min", "cpus_per_task", "gpus_per_node", "tasks_per_node", "mem_gb", "nodes", "name"),
    "stderr_to_stdout",
}  # submitit's names for SLURM and for this machine alike


@dataclass(frozen=True, slots=True)
class Lost:
    """A point whose worker was lost."""

    why: str


Todo = Iterator[tuple[int, "Request"]]
Result = tuple["Outcome | Lost", float]  # and its wall time in seconds
Results = Generator[tuple[int, Result]]


def launcher(config: DictConfig) -> Callable[[Todo], Results]:
    """Return the launcher of a sweep: the function that `hydra.launcher` names, with its settings."""
    settings: Any = OmegaConf.to_container(config.hydra.launcher, resolve=True)
    target = settings.pop("_target_", "")
    run = run_here if target == _HYDRAS_OWN else get_method(target)
    return partial(run, settings)


def _check_installed(choice: str, package: str, extra: str) -> None:
    if find_spec(package) is None:
        allowed = f"pip install 'artist-sim[{extra}]', or joblib"
        raise InputError("not installed", where="hydra/launcher", found=choice, allowed=allowed)


def _check_known(settings: dict[str, Any], names: Sequence[str]) -> None:
    """Refuse settings added with `+` that no launcher has."""
    for name in settings.keys() - set(names):
        allowed = allowed_names(name, names) if names else "none"
        raise InputError("unknown option", where=f"hydra.launcher.{name}", found=name, allowed=allowed)


def run_here(settings: dict[str, Any], todo: Todo) -> Results:
    """Run one point after another in the process of the command."""
    _check_known(settings, ())
    for number, request in todo:
        yield number, timed(request)


# --- processes of this machine


def run_in_processes(settings: dict[str, Any], todo: Todo) -> Results:
    """Run `n_jobs` points at a time in processes of this machine."""
    _check_known(settings, ("n_jobs",))
    workers = Workers(ending_at_once, _at_once(settings["n_jobs"], "n_jobs"))
    again = list[tuple[int, "Request"]]()
    alone: set[int] = set()  # points that ran while no other did
    try:
        point = next(todo, None)
        while point or again or workers.busy:
            if point and len(workers.busy) < workers.limit:
                first = set() if workers.busy else {point[0]}
                workers.start(*point)
                point = next(todo, None)  # composed while the others run
                alone |= first if point is None else set()
                continue
            if not workers.busy:
                alone.add(again[0][0])
                workers.start(*again.pop(0))
            for number, request, result in workers.ended():
                if result is not None:
                    yield number, result
                elif number not in alone:
                    again.append((number, request))
                else:
                    yield number, (Lost("its process was killed while it ran alone (out of memory?)"), 0.0)
    finally:
        workers.stop()


def _at_once(value: Any, name: str) -> int:
    """Return the number of concurrent points; as for joblib, -1 and null are all cores, -2 all but one.

    Cores are those that a container, a batch system or LOKY_MAX_CPU_COUNT leaves to the command.
    """
    if value is None:
        value, name = -1, "n_jobs"
    if type(value) is not int or value == 0 or (value < 0 and name != "n_jobs"):
        allowed = "a positive integer, or null for all cores"
        raise InputError("wrong value", where=f"hydra.launcher.{name}", found=value, allowed=allowed)
    if value > 0:
        return value
    from joblib import effective_n_jobs

    return int(effective_n_jobs(value))


# --- other machines


def run_on_ray(settings: dict[str, Any], todo: Todo) -> Results:
    """Run on Ray: a running cluster, or one that ends with the command."""
    _check_installed("ray", "ray", "ray")
    init = settings["ray"]["init"]
    _check_reachable(str(init.get("address")))
    points = list(todo)  # an error of theirs is not Ray's
    # Set before the import: otherwise Ray sends usage statistics and announces changes concerning GPUs.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    def result(run: Any) -> Result:
        try:
            done: Result = ray.get(run)
            return done
        except ray.exceptions.RayTaskError as error:
            lines = str(error.cause).strip().splitlines() or [""]  # of a traceback, the last
            return Lost(f"{type(error.cause).__name__}: {lines[-1]}"), 0.0
        except ray.exceptions.RayError as error:
            return Lost(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"), 0.0

    # Ray's own processes print on stdout, partly at its end; its logs have the same.
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), _naming("ray"):
        try:
            ray.init(**init)
            here = RemotePoint()
            remote = ray.remote(**settings["ray"]["remote"])(lambda request: here(request))
            running = {remote.remote(dumps(request)): number for number, request in points}
            while running:
                (done,), _ = ray.wait(list(running))
                yield running.pop(done), result(done)
        finally:
            ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise if nothing listens at the address; Ray would retry for a quarter of an hour."""
    if match := re.fullmatch(r"([\w.-]+):(\d+)", address):
        try:
            socket.create_connection((match[1], int(match[2])), timeout=_PATIENCE_S).close()
        except OSError as error:
            where, allowed = "hydra.launcher.ray.init.address", "the address that `ray start --head` printed"
            what = f"no Ray cluster answers: {(error.strerror or str(error)).lower()}"
            raise InputError(what, where=where, found=address, allowed=allowed) from None


def run_on_slurm(settings: dict[str, Any], todo: Todo) -> Results:
    """Run as one array job of SLURM, which continues if the command ends."""
    waiting = list(todo)
    return _submitted("slurm", settings, waiting, RemotePoint(), at_once=len(waiting))


def run_on_submitit(settings: dict[str, Any], todo: Todo) -> Results:
    """Run `at_once` points at a time as jobs of submitit without a cluster, which end with the command."""
    at_once = _at_once(settings.pop("at_once"), "at_once")
    return _submitted("local", settings, list(todo), RemotePoint(os.getpid()), at_once)


def _submitted(
    cluster: str,
    settings: dict[str, Any],
    waiting: list[tuple[int, "Request"]],
    here: RemotePoint,
    at_once: int,
) -> Results:
    _check_installed(f"submitit_{cluster}", "submitit", "slurm")
    import submitit

    running: list[tuple[int, Any]] = []
    with _naming("submitit"):
        init = {f"{cluster}_{key}": settings.pop(key) for key in _INIT & settings.keys()}
        executor = submitit.AutoExecutor(settings.pop("submitit_folder"), cluster=cluster, **init)
        executor.update_parameters(
            **{key if key in _OF_ANY else f"{cluster}_{key}": value for key, value in settings.items()}
        )
        try:
            while waiting or running:
                room = at_once - len(running)
                fresh, waiting = waiting[:room], waiting[room:]
                if fresh:
                    with held():
                        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the command's alone
                        jobs = executor.map_array(here, [dumps(request) for _, request in fresh])
                    running += [(number, job) for (number, _), job in zip(fresh, jobs, strict=True)]
                done = [(number, job) for number, job in running if job.done()]
                running = [job for job in running if job not in done]
                for number, job in done:
                    yield number, _result(job)
                if not done:
                    time.sleep(_PERIOD_S)
        finally:
            if here.command is not None:
                _end([job for _, job in running])


def _end(jobs: list[Any]) -> None:
    """End submitit's processes on this machine as `cancel` does, without its traceback."""
    for job in jobs:
        with suppress(OSError):
            os.kill(int(job.job_id), signal.SIGTERM)
    end = time.monotonic() + _GRACE_S
    while time.monotonic() < end and not all(job.done() for job in jobs):
        time.sleep(_PERIOD_S)


def _result(job: Any) -> Result:
    from submitit.core.utils import FailedJobError, UncompletedJobError

    try:
        result: Result = job.result()
        return result
    except FailedJobError as error:
        lines = [line for line in str(error).splitlines() if line and not line.startswith("---")]
        trace = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt|Exit)\b", line)]
        return Lost(f"job {job.job_id}, {(trace or lines)[-1]}; see {job.paths.stderr}"), 0.0
    except UncompletedJobError as error:
        state = re.search(r"\(state: (.*?)\)", str(error))
        ended = f" and ended as {state[1]}" if state and state[1] != "FINISHED" else ""
        return Lost(f"job {job.job_id} gave no result{ended}; see {job.paths.stderr}"), 0.0


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Name the cluster that refuses a setting, such as a partition or an address."""
    try:
        yield
    except (RuntimeError, ValueError, ConnectionError) as error:
        if isinstance(error, InputError):
            raise
        what = f"{name} refused the sweep: {' '.join(str(error).split())[-300:]}"
        raise InputError(what, where="hydra.launcher", allowed="settings: artist --cfg hydra") from error
