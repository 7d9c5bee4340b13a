"""The worker process: started when it is first asked, kept alive, and ended with this process."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from netmodels.inputs.errors import InputError

COMMAND = (sys.executable, "-P", "-m", "netmodels.ns3.worker")
_START_S = 600.0  # a second or two, but minutes on a machine that others keep busy
_TAIL = 3  # lines that an error repeats
_WHERE = "network=ns3"


class Worker:
    """A process that has ns-3.

    Parameters
    ----------
    timeout_s
        Longest time for an answer.
    command
        The program; the id of this process is added to its arguments.

    Attributes
    ----------
    starts
        Number of starts.
    """

    def __init__(self, timeout_s: float, command: Sequence[str] = COMMAND) -> None:
        self.timeout_s, self.command, self.starts = timeout_s, tuple(command), 0
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._owner = 0

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a question.

        Raises
        ------
        InputError
            If it gives none: it cannot be started, ends, takes too long, or answers something else.
        """
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(question, separators=(",", ":")).encode() + b"\n")
            process.stdin.flush()
        except OSError:  # it has ended; its output is read below
            pass
        return self._read(process, self.timeout_s)

    def end(self) -> None:
        """End the process; the next question starts another one."""
        if self._process is not None and self._owner == os.getpid():
            self._stop()
        self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        """Return the process, a new one after a fork: two processes cannot share its answers."""
        if self._process is not None and self._owner == os.getpid() and self._process.poll() is None:
            return self._process
        self.end()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 -- open as long as the process is
        try:
            self._process = process = subprocess.Popen(
                [*self.command, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except OSError as problem:
            self._errors.close()
            raise InputError("the worker cannot be started", where=_WHERE, found=str(problem)) from None
        self._owner = os.getpid()
        self.starts += 1
        self._stop = weakref.finalize(self, _end, process, self._errors, self._owner)
        self._read(process, _START_S)
        return process

    def _read(self, process: subprocess.Popen[bytes], timeout_s: float) -> dict[str, Any]:
        """Return the next line of the process as an answer."""
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], timeout_s)
        line = process.stdout.readline() if ready else b""
        try:
            answer = json.loads(line)
            if isinstance(answer, dict):
                return answer
        except ValueError:
            pass
        problem = f"no answer within {timeout_s:g} s" if not ready else "it did not answer"
        if not line and ready:
            problem = f"it ended (status {process.wait()})"
        output = line.decode(errors="replace").strip() or self._last_output()
        self.end()
        raise InputError(
            f"ns-3 gives no answer: {problem}",
            where=_WHERE,
            found=output,
            allowed="a smaller question, or another network model (network=analytical)",
        )

    def _last_output(self) -> str:
        """Return ns-3's own message if there is one, else its last lines."""
        if self._errors is None:
            return ""
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().decode(errors="replace").splitlines()]
        of_ns3 = [line for line in lines if "msg=" in line or "assert failed" in line]
        return " / ".join(of_ns3[:1] or [line for line in lines if line][-_TAIL:])


def _end(process: subprocess.Popen[bytes], errors: IO[bytes], owner: int) -> None:
    """Kill the process, if it is ours and not of a process that was forked, and close all files."""
    if os.getpid() == owner:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for file in (process.stdin, process.stdout, errors):
        if file is not None:
            with suppress(OSError):  # unflushed data, to a process that has ended
                file.close()
