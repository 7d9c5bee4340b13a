"""One run, from its configuration to its folder. Never raises for bad input: it returns an outcome."""

import io
import logging
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import parent_process
from pathlib import Path
from time import perf_counter
from traceback import format_exc
from typing import Any, Literal

import yaml

from artist.build import Simulation, build, check_config
from artist.core.events import Observer
from artist.errors import InputError, PlanError, StuckError
from artist.explain import from_library, two_lines
from artist.progress import ProgressBar
from artist.results.folder import write_run
from artist.results.metrics import summarise
from artist.results.recorder import Recorder
from artist.run_folder import CONFIG, LOG, RunFolder
from artist.run_key import program_version
from artist.user_folder import check_targets, put_on_path

log = logging.getLogger("artist")

_LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@dataclass(frozen=True, slots=True)
class Request:
    """What to run and where to put it.

    Attributes
    ----------
    config
        Resolved, without `hydra`.
    policy
        The name that the results give to the policy.
    folder
        The run folder.
    user_folders
        Folders with a user's own parts.
    alone
        Whether it is the only run of the command, so that it may show its progress.
    """

    config: Mapping[str, Any]
    policy: str
    folder: Path
    user_folders: tuple[Path, ...] = ()
    alone: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run.

    Attributes
    ----------
    status
        Finished now; kept, since it was finished before; bad input; failed; interrupted.
    message
        Why it did not finish, for the user.
    """

    status: Literal["finished", "kept", "bad_input", "failed", "interrupted"]
    folder: Path
    summary: dict[str, Any] | None = None
    message: str = ""


def run_point(request: Request) -> Outcome:
    """Run, unless it was run before; write the run folder; leave `error.json` if it fails.

    Only the interruption of a process of its own is raised.
    """
    lines = io.StringIO()
    folder = RunFolder(request.folder, Path(str(request.config["output"]["dir"])).expanduser() / ".locks")
    with _logging_to(lines):
        try:
            return _finish(request, folder, lines)
        except (InputError, OSError) as error:
            outcome = Outcome("bad_input", request.folder, message=two_lines(from_library(error)))
        except (PlanError, StuckError) as error:
            outcome = Outcome("failed", request.folder, message=f"{type(error).__name__}: {error}")
        except KeyboardInterrupt:
            if parent_process() is None:
                raise
            return Outcome("interrupted", request.folder, message="interrupted")
        except Exception as error:  # a bug, ours or of a user's part: say where, and go on with the sweep
            log.error("%s", format_exc())
            outcome = Outcome("failed", request.folder, message=_bug(error))
    if not request.alone:
        record = {"status": outcome.status, "message": outcome.message, "log": lines.getvalue()}
        folder.fail(record, {CONFIG: _as_yaml(request.config), LOG: lines.getvalue()})
    return outcome


def _finish(request: Request, folder: RunFolder, lines: io.StringIO) -> Outcome:
    kept = folder.summary()
    if kept is None:
        for own in request.user_folders:
            put_on_path(own)
            check_targets(request.config, own)
        simulation = build(check_config(request.config))
        with folder.claim() as scratch:
            if scratch is not None:
                summary = _simulate(request, simulation, scratch)
                (scratch / CONFIG).write_text(_as_yaml(request.config), encoding="utf-8")
                (scratch / LOG).write_text(lines.getvalue(), encoding="utf-8")
                return Outcome("finished", request.folder, summary)
        kept = folder.summary()
    return Outcome("kept", request.folder, kept)


def _simulate(request: Request, simulation: Simulation, scratch: Path) -> dict[str, Any]:
    config, network = simulation.config, simulation.network
    started = perf_counter()
    log.info(
        "%d jobs on %d GPUs under %s", len(simulation.jobs), simulation.cluster.total_gpus, request.policy
    )
    jobs = sorted(simulation.jobs, key=lambda job: job.submit_ns)
    recorder = Recorder(jobs, simulation.cluster, rates=config.output.rates)
    with ExitStack() as stack:
        observers: list[Observer] = [recorder]
        if _shows_progress(config.output.progress, request.alone):
            observers.append(stack.enter_context(ProgressBar(len(jobs))))
        result = simulation.run(observers)
    wall_s = perf_counter() - started
    log.info("stopped by %s after %d events in %.2f s", result.stopped_by, result.events, wall_s)
    summary = summarise(
        result,
        policy=request.policy,
        seed=config.seed,
        network_distinct=len(network.distinct),
        run={
            "wall_s": round(wall_s, 3),
            "network_calls": network.calls,
            "cache_hits": network.hits,
            "version": program_version(),
            "host": socket.gethostname(),
        },
    )
    write_run(scratch, result, recorder, summary)
    return summary


def _shows_progress(wanted: bool | None, alone: bool) -> bool:
    return (alone and sys.stderr.isatty()) if wanted is None else wanted


def _bug(error: Exception) -> str:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = f" at {last.tb_frame.f_code.co_filename}:{last.tb_lineno}" if last else ""
    return f"{type(error).__name__}{place}: {error}\n  this is a bug of the program, or of your own part"


def _as_yaml(config: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(dict(config), sort_keys=False)
    return text


@contextmanager
def _logging_to(lines: io.StringIO) -> Iterator[None]:
    handler = logging.StreamHandler(lines)
    handler.setFormatter(logging.Formatter(_LOG_FORMAT))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
