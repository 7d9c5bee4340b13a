"""Signals and streams of every command, tested on one process of a tenth of a second for all five."""

import os
import signal
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from artist import entry

ROOT = Path(__file__).resolve().parents[3]
GUARDED = "import sys; from artist.entry import guarded; sys.exit(guarded('fake', '; try again'))"
IMPORTS = "import os, sys, time\n"
SLEEPS = "os.write(1, b'ready'); time.sleep(30)"


def _heed_signals() -> None:
    """Undo what a background shell that runs the tests ignores."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def command(body: str, streams: str = "", before: str = "") -> subprocess.Popen[str]:
    """Start a process whose command is a module of these lines, its streams as bash is told."""
    Path("fake.py").write_text(body)
    line = f'{before} exec "{sys.executable}" -c "$0" {streams}'
    paths = os.pathsep.join([str(Path.cwd()), str(ROOT)])
    return subprocess.Popen(
        ["bash", "-c", line, GUARDED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": paths, "MPLBACKEND": "nope"},
        text=True,
        preexec_fn=_heed_signals,
    )


def ended(body: str, streams: str = "", before: str = "") -> tuple[int, str, str]:
    """Return the exit code of such a process, its stdout and its stderr."""
    process = command(f"import os, sys\ndef main():\n    {body}\n", streams, before)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def test_each_command_is_a_main_in_this_care() -> None:
    """The five scripts of pyproject.toml lead to a `main`, by way of `guarded`."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    modules: list[str] = []
    for script in scripts.values():
        module, _, name = script.partition(":")
        command = getattr(import_module(module), name)
        assert command.func is entry.guarded
        modules.append(command.args[0])
    assert len(set(modules)) == len(scripts) == 5
    assert all(callable(import_module(module).main) for module in modules)


@pytest.mark.parametrize(
    ("number", "word"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "terminated")],
)
def test_a_signal_is_one_line_and_its_exit_code(number: signal.Signals, word: str) -> None:
    """While a command is imported; 128 and the number, as a shell has it: 130, 143, 129."""
    process = command(IMPORTS + SLEEPS)
    assert process.stdout is not None
    assert process.stdout.read(5) == "ready"
    process.send_signal(number)
    assert process.communicate(timeout=30) == ("", f"{word}; try again\n")
    assert process.returncode == 128 + number


def test_a_command_that_catches_everything_ends_all_the_same() -> None:
    """A policy with a bare `except` goes on after SIGTERM: for half a second here, in place of 30 s."""
    goes_on = "try:\n    SLEEPS\nexcept BaseException:\n    time.sleep(30)\n".replace("SLEEPS", SLEEPS)
    process = command(f"{IMPORTS}from artist import entry\nentry._LONGEST_S = 0.5\n{goes_on}")
    assert process.stdout is not None
    assert process.stdout.read(5) == "ready"
    process.terminate()
    assert process.communicate(timeout=20) == ("", "terminated; try again\n")
    assert process.returncode == 128 + signal.SIGTERM


DROPPED = """
class Slow:
    def __del__(self):
        SLEEPS
def main():
    Slow()
    time.sleep(30)
""".replace("SLEEPS", SLEEPS)
CONVERTED = """
def main():
    try:
        SLEEPS
    except BaseException:
        print('Traceback', file=sys.stderr)
        raise ImportError('a module in C')
""".replace("SLEEPS", SLEEPS)
CLEANED = """
def main():
    try:
        SLEEPS
    finally:
        print('cleaned')
""".replace("SLEEPS", SLEEPS)


@pytest.mark.parametrize(("body", "out"), [(DROPPED, ""), (CONVERTED, ""), (CLEANED, "cleaned\n")])
def test_no_library_hides_a_signal(body: str, out: str) -> None:
    """Dropped in a `__del__`, or made into an error with a traceback: still one line, and `finally` runs."""
    process = command(IMPORTS + body)
    assert process.stdout is not None
    assert process.stdout.read(5) == "ready"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=10) == (out, "interrupted; try again\n")
    assert process.returncode == 130


@pytest.mark.parametrize(("before", "code"), [("", 130), ("trap '' INT;", 0)])
def test_a_hangup_ignored_by_nohup_stays_ignored(before: str, code: int) -> None:
    """A command in the background of a script goes on when Ctrl-C ends another."""
    assert ended("os.kill(os.getpid(), 2); return 0", before=before)[0] == code


NEXT_FILE = "print('table'); print('told', file=sys.stderr); return os.open('fake.py', os.O_RDONLY) < 3"


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&- <&-", "2>/dev/full"])
def test_a_closed_output_stream_is_no_error(streams: str) -> None:
    """Closed, or full where messages go: exit code 0, and no file of ours gets the number of a stream."""
    code, out, err = ended(NEXT_FILE, streams)
    assert code == 0
    assert out == ("" if ">&-" in streams.split() else "table\n")
    assert err == ("told\n" if streams == ">&-" else "")


def test_a_result_that_cannot_be_printed_is_reported() -> None:
    """After all else that the command says; a failure keeps its own code."""
    code, _, err = ended("print('table'); print('told', file=sys.stderr); return 0", ">/dev/full")
    first, second, *rest = err.splitlines()
    assert (code, first, len(rest)) == (1, "told", 1)
    assert second == "stdout: the result cannot be printed: no space left on device"
    assert ended("print('table'); return 2", ">/dev/full")[0] == 2


def test_a_reader_that_has_left_is_no_error() -> None:
    """`| head`: exit code 0 without a word, also of a long table, and of --help."""
    for body in ("print('row\\n' * 100_000); return 0", "print('row\\n' * 100_000); sys.exit(0)"):
        code, _, err = ended(body, "> >(true)")
        assert (code, err) == (0, "")


def test_the_backend_of_a_user_does_not_matter() -> None:
    """MPLBACKEND=nope, as `command` has it, ended every command that draws."""
    assert ended("print(os.environ['MPLBACKEND']); return 0")[1] == "agg\n"
