"""Runs a point in another process, which ends soon after the command, however that was killed."""

import os
import signal
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from pickle import loads
from shutil import rmtree
from threading import Thread
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any, NoReturn

from artist.run.folder import scratch_folder

if TYPE_CHECKING:
    from artist.run.point import Outcome, Request

_PERIOD_S = 1.0
_GRACE_S = 3.0


def timed(request: "Request") -> tuple["Outcome", float]:
    """Run a point; return its outcome and the seconds that it took."""
    from artist.run.point import run_point

    started = perf_counter()
    return run_point(request), perf_counter() - started


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Runs a point as if where the command was started: relative paths and variables hold.

    Attributes
    ----------
    command
        Process id of the command if the worker is to end with it.
    folder
        Working directory of the command.
    variables
        Variables of its environment that begin with ARTIST_.
    """

    command: int | None = None
    folder: str = field(default_factory=os.getcwd)
    variables: dict[str, str] = field(
        default_factory=lambda: {k: v for k, v in os.environ.items() if k.startswith("ARTIST_")}
    )

    def __call__(self, request: bytes) -> tuple["Outcome", float]:
        """Run a pickled request, unpickled after the watch has begun, since that imports for seconds."""
        if self.command is not None:
            end_with(self.command)
        os.environ.update(self.variables)
        os.chdir(self.folder)
        return timed(loads(request)) if self.command is None else ending_at_once(loads(request))

    def checkpoint(self, request: bytes) -> Any:
        """Return what submitit queues again when a job is preempted: the same request."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, request)


def ending_at_once(request: "Request") -> tuple["Outcome", float]:
    """Run a point in a process that SIGTERM ends at once, removing what it had written.

    An exception would not be enough: a library or policy may catch it and continue the run.
    """
    signal.signal(signal.SIGTERM, partial(_leave, scratch_folder(request.folder)))
    return timed(request)


def _leave(scratch: Path, *_: object) -> NoReturn:
    rmtree(scratch, ignore_errors=True)
    os._exit(1)


@lru_cache(maxsize=1)
def end_with(command: int) -> None:
    """Make this process end with another one, and at SIGTERM; takes effect once.

    A killed worker holds nothing: the kernel frees its lock, and the next run of the point removes its
    scratch folder.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=_watch, args=(command, os.getppid() == command), daemon=True).start()


def _watch(command: int, is_parent: bool) -> None:
    while os.getppid() == command if is_parent else _runs(command):
        sleep(_PERIOD_S)
    os.kill(os.getpid(), signal.SIGTERM)
    sleep(_GRACE_S)
    os._exit(1)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
