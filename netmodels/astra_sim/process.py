"""Run the network program: the one place that starts a process.

Its output is written to files, so that no pipe can fill up or be held open by a surviving child. On Linux a
supervisor, forked between this process and the program, is the subreaper of all that the program starts,
whatever sessions that makes: it kills them when the program ends, at the timeout, and when this process is
killed. Elsewhere the program has a process group, which is killed at its end.
"""

import ctypes
import gc
import os
import resource
import shlex
import signal
import stat
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import IO, NoReturn

from netmodels.inputs.errors import InputError

MAX_OUTPUT_BYTES = 64 * 2**20
"""Largest output that is read: 2,048 NPUs write 2 MB."""
_SPARE_FILES = 64  # beside a trace for each NPU
_TAIL, _TAIL_LENGTH = 3, 4096  # lines that an error repeats, and characters to look for them
_SPARE_CPU_S = 60
_WATCH_S = 0.25  # between looks at the size of the output
_GRACE_S, _KILLED_S = 10.0, 0.01
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None
_MARK = "ARTIST_QUESTION"  # of the processes of a question, in their environment
_NEWS = (signal.SIGCHLD, signal.SIGTERM)  # for the supervisor


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
        ends = (text[-_TAIL_LENGTH:] for text in (outcome.stdout, outcome.stderr))
        lines = [line.strip() for line in "\n".join(ends).splitlines()]
        last = " / ".join([line for line in lines if line][-_TAIL:])
        left = "its files are left in" if outcome.folder.is_dir() else "it deleted its folder,"
        super().__init__(
            f"{problem} (exit status {outcome.status}): {outcome.command}",
            where="network program",
            found=last[-180:],
            allowed=f"an answer; {left} {outcome.folder}",
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
        Seconds after which it is killed with all that it has started.
    files
        Number of files that it keeps open at once.

    Raises
    ------
    ProgramError
        If it cannot be started, does not end in time, or writes more than `MAX_OUTPUT_BYTES`.
    """
    shown = shlex.join(command)
    _allow_files(files + _SPARE_FILES)
    cpu_s = int(timeout_s) + _SPARE_CPU_S  # should no process be left to keep the time
    try:
        with (folder / "stdout.txt").open("w+b") as out, (folder / "stderr.txt").open("w+b") as err:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, _MARK: str(folder)},
                start_new_session=True,
                preexec_fn=None if _PRCTL is None else partial(_supervised, os.getpid(), cpu_s),
            )
            try:
                problem = _wait(process, (out, err), timeout_s)
            finally:
                _end(process, folder)
            outputs = [_text(file) for file in (out, err)]  # also of a program that deletes its folder
            for file in (out, err):
                file.truncate(min(os.fstat(file.fileno()).st_size, MAX_OUTPUT_BYTES))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        failed = Outcome(shown, folder, -1, "", str(error))
        raise ProgramError("it cannot be started", failed) from None
    outcome = Outcome(shown, folder, process.returncode, *outputs)
    if problem:
        raise ProgramError(f"{problem}: killed", outcome)
    return outcome


def read_output(path: Path) -> str:
    """Return the text of a file that the program wrote; empty if it is no file, or too large."""
    with suppress(OSError), open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_OUTPUT_BYTES:
            return _text(file)
    return ""


def _wait(process: subprocess.Popen[bytes], outputs: Sequence[IO[bytes]], timeout_s: float) -> str:
    """Wait for the end of the process; return the reason to kill it, or nothing."""
    end_s = monotonic() + timeout_s
    ended = False
    while not ended:
        left_s = end_s - monotonic()
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, min(left_s, _WATCH_S)))
            ended = True
        if any(os.fstat(file.fileno()).st_size > MAX_OUTPUT_BYTES for file in outputs):
            return f"more than {MAX_OUTPUT_BYTES >> 20} MiB of output"
        if not ended and left_s <= 0:
            return f"no answer within {timeout_s:g} s"
    return ""


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    """End the process with all that it has started."""
    if _PRCTL is None:
        with suppress(ProcessLookupError):  # also after a good end: it may have left children
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.terminate()
        process.send_signal(signal.SIGCONT)  # the program may have stopped its supervisor
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        process.kill()
    if process.wait() == -signal.SIGKILL and _PRCTL is not None:  # its supervisor may have been killed
        end_s = monotonic() + _GRACE_S
        while (left := _marked(f"{_MARK}={folder}".encode())) and monotonic() < end_s:
            for pid in left:
                _killed(pid)
            sleep(_KILLED_S)


def _marked(mark: bytes) -> list[int]:
    """Return the processes with an entry in their environment."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in path.read_bytes().split(b"\0"):
                pids.append(int(path.parent.name))
    return pids


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MAX_OUTPUT_BYTES).decode(encoding="utf-8", errors="replace")


# --- the supervisor (Linux), which has only system calls to make


def _supervised(owner: int, cpu_s: int) -> None:
    """Return in a child of this process, which becomes the program; supervise it here, and end."""
    assert _PRCTL is not None
    gc.disable()  # objects of the simulator must not be finalised here
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    _PRCTL(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _PRCTL(_PR_SET_PDEATHSIG, signal.SIGTERM)
    program = os.fork()
    if program:
        _supervise(program, owner)
    os.setsid()  # signals of the program to its group spare the supervisor
    _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _supervise(program: int, owner: int) -> NoReturn:
    """Wait for the program, or for the end of its owner; kill all that is left; end as the program did."""
    status: int = signal.SIGKILL
    try:
        os.closerange(0, os.sysconf("SC_OPEN_MAX"))
        while os.getppid() == owner:
            if signal.sigwait(_NEWS) == signal.SIGTERM:
                break
            ended = {}
            with suppress(ChildProcessError):
                while (child := os.waitpid(-1, os.WNOHANG))[0]:
                    ended[child[0]] = child[1]
            if program in ended:
                status = ended[program]
                break
        _kill_children(program)
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with suppress(OSError):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
            os.kill(os.getpid(), number)
    finally:
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _kill_children(program: int) -> None:
    """Kill the children, and theirs, which become children of a subreaper then, until there are none."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(program, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                killed = [_killed(child) for child in _children()]
                if not any(killed):
                    return
                os.waitpid(-1, 0)


def _killed(pid: int) -> bool:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def _children() -> list[int]:
    """Return the children of this process."""
    children, owner = [], str(os.getpid())
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
            if fields[1].decode() == owner:
                children.append(int(name))
    return children


def _allow_files(count: int) -> None:
    """Raise the limit on open files as far as allowed; the program inherits it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        most = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
