"""Oracle for any input: a valid result or a refusal in words, soon, and in little memory."""

import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeVar

from hypothesis import HealthCheck, settings

from artist.bad_input.explain import two_lines
from artist.errors import InputError

_SOME_CPU_S = 8.0  # of one input: far above all that is good, far below an endless loop
_MAX_GROWTH = 400 * 2**20
_MAX_RESERVED = 3 * 2**30  # on top of what the process has: protects the machine from a mistake of ours
_FACTOR = 30 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1
_UNFORESEEN = re.compile(r"configuration: \w*(Error|Warning|Exception)\b|bug of the program|Traceback")
_NOTE = re.compile(r"\d+ (of|like) ")  # what readers say that they leave out, change or draw

Result = TypeVar("Result")
tried = 0  # inputs so far, of all tests of this process


class TooSlow(BaseException):
    """An input took too long; no `except Exception` of the program may swallow it."""


def fuzzed(quick: int) -> Callable[[Result], Result]:
    """Return a decorator for tests of `quick` inputs, and 30 times the number under the thorough profile."""
    return settings(max_examples=quick * _FACTOR, deadline=None, suppress_health_check=list(HealthCheck))


@contextmanager
def guarded() -> Iterator[None]:
    """Count one input, and fail if it takes too long or too much memory."""
    global tried
    tried += 1
    before, limits = _peak_bytes(), resource.getrlimit(resource.RLIMIT_AS)
    previous = signal.signal(signal.SIGPROF, _too_slow)
    if sys.platform == "linux":
        most = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + _MAX_RESERVED
        resource.setrlimit(resource.RLIMIT_AS, (most, limits[1]))
    signal.setitimer(signal.ITIMER_PROF, _SOME_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert _peak_bytes() - before < _MAX_GROWTH, "one input took hundreds of MB"


def result_of(do: Callable[[], Result]) -> Result | None:
    """Return a function's result for an input; None if it refuses it in two lines.

    Any other exception, a warning among them, is a fault of the program.
    """
    with guarded():
        try:
            return do()
        except InputError as error:
            refusal = error
    assert refusal.what
    assert len(two_lines(refusal).splitlines()) == 2
    return None


def check_ending(code: int, out: str, err: str) -> None:
    """Check how a command ended: well, or with exit code 2, nothing on stdout and two lines on stderr."""
    assert _UNFORESEEN.search(err) is None, err
    assert code in (0, 2), (code, err)
    if code == 2:
        lines = [line for line in err.splitlines() if not _NOTE.search(line)]
        assert out == ""
        assert len(lines) == 2, err
        assert lines[1].startswith("  "), err


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"one input took {_SOME_CPU_S:g} s of the CPU")


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
