"""Runs of a point in another process, perhaps on another machine, as if in the command's own."""

import os
import signal
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from pickle import loads
from shutil import rmtree
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

from artist.run.folder import scratch_folder
from artist.run.workers import end_with

if TYPE_CHECKING:
    from artist.run.point import Outcome, Request


def timed(request: "Request") -> tuple["Outcome", float]:
    """Run a point; return its outcome and its wall time in seconds."""
    from artist.run.point import run_point

    started = perf_counter()
    return run_point(request), perf_counter() - started


@dataclass(frozen=True, slots=True)
class RemotePoint:
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
        """Return the submission that submitit queues when a job is preempted: the same request."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, request)


def ending_at_once(request: "Request") -> tuple["Outcome", float]:
    """Run a point in a process that SIGTERM ends at once, removing its unfinished files.

    An exception would not be enough: a library or policy may catch it and continue the run.
    """
    signal.signal(signal.SIGTERM, partial(_leave, scratch_folder(request.folder)))
    return timed(request)


def _leave(scratch: Path, *_: object) -> NoReturn:
    rmtree(scratch, ignore_errors=True)
    os._exit(1)
