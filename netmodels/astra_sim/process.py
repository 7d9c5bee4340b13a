"""Run the network program: the one place that starts a process.

It gets its own session, so that its child processes end with it; its output is written to files, so that no
pipe can fill up or be held open by a surviving child.
"""

import ctypes
import os
import resource
import shlex
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from netmodels.inputs.errors import InputError

_SPARE_FILES = 64  # beside a trace for each NPU
_TAIL = 3  # lines that an error repeats
_SPARE_CPU_S = 60
_PR_SET_PDEATHSIG = 1
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a run of the program.

    Parameters
    ----------
    command
        The command, as for a shell.
    folder
        Working directory with its files.
    status
        Exit status; minus the signal that killed it.
    stdout, stderr
        Its output.
    """

    command: str
    folder: Path
    status: int
    stdout: str
    stderr: str


class ProgramError(InputError):
    """Failure of the network program: problem, command, exit status, last lines, scratch folder."""

    def __init__(self, problem: str, outcome: Outcome) -> None:
        lines = [line.strip() for line in (outcome.stdout + "\n" + outcome.stderr).splitlines()]
        last = " / ".join([line for line in lines if line][-_TAIL:])
        super().__init__(
            f"{problem} (exit status {outcome.status}): {outcome.command}",
            where="network program",
            found=last[-180:],
            allowed=f"an answer; its files are left in {outcome.folder}",
        )


def run(command: Sequence[str], folder: Path, timeout_s: float, files: int = 0) -> Outcome:
    """Run a command in a folder, and return its outcome.

    Parameters
    ----------
    command
        Program and arguments.
    folder
        Its working directory; stdout.txt and stderr.txt are written there.
    timeout_s
        Seconds after which it is killed with its child processes.
    files
        Number of files that it keeps open at once.

    Raises
    ------
    ProgramError
        If it cannot be started, or does not end in time.
    """
    shown = shlex.join(command)
    _allow_files(files + _SPARE_FILES)
    paths = folder / "stdout.txt", folder / "stderr.txt"
    with paths[0].open("wb") as out, paths[1].open("wb") as err:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=_dies_with_parent,
            )
            cpu_s = int(timeout_s) + _SPARE_CPU_S  # should no process be left to keep the time
            with suppress(OSError, AttributeError):
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu_s, cpu_s))
        except OSError as problem:
            failed = Outcome(shown, folder, -1, "", str(problem))
            raise ProgramError("it cannot be started", failed) from None
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with suppress(ProcessLookupError):  # also after a good end: it may have left children
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    outputs = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    if status is None:
        outcome = Outcome(shown, folder, process.returncode, *outputs)
        raise ProgramError(f"no answer within {timeout_s:g} s: killed", outcome)
    return Outcome(shown, folder, status, *outputs)


def _dies_with_parent() -> None:
    """Make the kernel kill the program when this process is killed; Linux only."""
    if _PRCTL is not None:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _allow_files(count: int) -> None:
    """Raise the limit on open files as far as allowed; the program inherits it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        most = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
