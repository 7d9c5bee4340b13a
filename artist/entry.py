"""Entry points of the installed commands: signals, standard streams, exit codes.

A signal ends a command with one line; a closed or full standard stream does not end it. The command itself is
imported once this is in place, so this module imports quickly.
"""

import atexit
import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from importlib import import_module
from io import TextIOWrapper
from types import FrameType
from typing import Any, NoReturn, ParamSpec

from artist.errors import InputError, Stopped, out_of_memory

SUCCESS, SOME_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
GOES_ON = "the same command goes on with a sweep where it stopped"
_STOPS = {1: "terminated", 2: "interrupted", 15: "terminated"}  # by SIGHUP, SIGINT, SIGTERM
_SOON_S = 0.05
_LONGEST_S = 30.0  # that a command takes to end


def guarded(module: str, hint: str = "") -> int:
    """Run `main` of a module and return its exit code; a signal ends the process with 128 + its number.

    Parameters
    ----------
    module
        The command.
    hint
        Suffix of the line printed at a signal.
    """
    arrived: list[int] = []

    def stop(number: int, _: FrameType | None) -> NoReturn:
        """Print one line and raise; output of libraries that catch the exception is suppressed."""
        if not arrived:
            with suppress(OSError):
                os.write(2, f"{_STOPS[number]}{hint}\n".encode())
            signal.signal(signal.SIGALRM, lambda *_: os._exit(128 + number))
            signal.setitimer(signal.ITIMER_REAL, _LONGEST_S)  # should a part catch every exception
        arrived.append(number)
        stderr.muted = True
        raise Stopped(number)

    stdout, stderr = _open_streams()
    heeded = [number for number in _STOPS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    for number in heeded:  # but not those that nohup, or `&` in a script, ignores
        signal.signal(number, stop)
    sys.unraisablehook = _raise_later
    os.environ["MPLBACKEND"] = "agg"  # figures go to files, whatever the user's shell asks for
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # 5 ms to look for them in 90 packages
    gc.set_threshold(200_000, 2, 10)  # imports make no garbage: collecting took a tenth of a short run
    try:
        code: int = import_module(module).main()
    except SystemExit as leaving:  # --help and the like
        code = leaving.code if isinstance(leaving.code, int) else SUCCESS
    except MemoryError:
        print(out_of_memory("the command"), file=sys.stderr)
        code = SOME_FAILED
    except BaseException:
        if not arrived:
            raise
    finally:
        for number in heeded:  # Python itself would show a traceback
            signal.signal(number, signal.SIG_DFL)
    stdout.flush()
    if arrived:  # modules that are half imported may crash when Python ends in its own way
        atexit._run_exitfuncs()
        os._exit(128 + arrived[0])
    gc.freeze()  # no last collection at exit: half a second saved
    return code or _reported(stdout.error)


# The scripts of pyproject.toml
artist = partial(guarded, "artist.app.cli", f"; {GOES_ON}")
report = partial(guarded, "artist.report.command")
network = partial(guarded, "artist.pricing.command")
trace = partial(guarded, "artist.describe.command")
calibrate = partial(guarded, "artist.calibrating.command")


def _raise_later(lost: Any) -> None:
    """Raise a signal's exception again if Python dropped it, as it does in a `__del__`."""
    if not isinstance(lost.exc_value, Stopped):
        sys.__unraisablehook__(lost)
        return
    from threading import Timer

    Timer(_SOON_S, os.kill, (os.getpid(), *lost.exc_value.args)).start()


_P = ParamSpec("_P")


def script(main: Callable[_P, int]) -> Callable[_P, int]:
    """Return the `main` of a script with its bad input, or missing file, as two lines and exit code 2."""

    @wraps(main)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> int:
        try:
            return main(*args, **kwargs)
        except InputError as problem:
            print(problem, file=sys.stderr)
        except FileNotFoundError as problem:
            allowed = "the files that the script's first lines name"
            what = str(problem.strerror)
            print(InputError(what, where=str(problem.filename), allowed=allowed), file=sys.stderr)
        return BAD_INPUT

    return checked


# --- standard streams


class _Stream(TextIOWrapper):
    """stdout or stderr: output that cannot be written is dropped, and the first error is kept."""

    error: OSError | None = None
    muted = False

    def write(self, text: str) -> int:
        try:
            return len(text) if self.muted else super().write(text)
        except OSError as error:
            self.error = self.error or error
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self.error = self.error or error


def _open_streams() -> tuple[_Stream, _Stream]:
    """Replace stdout and stderr; a closed one goes to /dev/null, or the next file would get its number."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdout = sys.__stdout__ = stdout = _replaced(sys.stdout, 1)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = stderr = _replaced(sys.stderr, 2)  # type: ignore[misc]
    return stdout, stderr


def _replaced(before: Any, number: int) -> _Stream:
    if before is None:
        before = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    how = {"line_buffering": before.line_buffering, "write_through": before.write_through}
    encoding = before.encoding
    return _Stream(before.detach(), encoding, "backslashreplace", **how)


def _reported(error: OSError | None) -> int:
    """Report a result that could not be printed, unless its reader closed the pipe; return the exit code."""
    if error is None or isinstance(error, BrokenPipeError):
        return SUCCESS
    what = f"the result cannot be printed: {(error.strerror or str(error)).lower()}"
    print(
        InputError(what, where="stdout", allowed="a place with room; what was written lies in its folder"),
        file=sys.stderr,
    )
    return SOME_FAILED
