"""Programs that misbehave: each ends in an answer, or in an error that a fallback may stand in for.

None leaves a process behind, whatever sessions it makes, nor a folder of a run that was killed.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from netmodels.api import AnalyticalModel, CachedModel, shape_of
from netmodels.astra_sim import process
from netmodels.astra_sim.model import AstraSim
from netmodels.astra_sim.process import ProgramError, read_output

EIGHT = shape_of([(0, "box", 8)])
SAYS = 'say() { echo "sys[$1] finished, $2 cycles, exposed communication 1000 cycles."; }\n'
GOOD = "for i in 0 1 2 3 4 5 6 7; do say $i 239000; done\n"  # 238 us of compute, 1 exposed
SLOW = "sleep 600"
TIMEOUT_S = 1.5

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no supervisor")

REFUSED = {
    "exit 1": ("exit 1", "it failed .exit status 1"),
    "exit 255": ("exit 255", "it failed .exit status 255"),
    "exit 7 after an answer": (f"{GOOD} exit 7", "it failed .exit status 7"),
    **{
        f"dies by {number.name}": (f"kill -{int(number)} $$", f"it failed .exit status -{int(number)}")
        for number in (
            *(signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGTERM),
            *(signal.SIGUSR1, signal.SIGPIPE, signal.SIGFPE),
        )
    },
    "kills its group": ("kill -KILL 0", "exit status -9"),
    "kills its supervisor": (f"setsid {SLOW} & kill -KILL $PPID; {SLOW}", "exit status -9"),
    "hangs": (SLOW, "no answer within"),
    "ignores signals": (f"trap '' TERM HUP INT; {SLOW}; {SLOW}", "no answer within"),
    "computes for ever": ("while :; do :; done", "no answer within"),
    "stops itself": ("kill -STOP $$", "no answer within"),
    "stops its supervisor": (f"kill -STOP $PPID; {SLOW}", "no answer within"),
    "empty": (":", "0 NPUs finished"),
    "closes its output": ("exec >&- 2>&-", "0 NPUs finished"),
    "garbage": ("head -c 100000 /dev/urandom", "0 NPUs finished"),
    "one NPU": ("say 0 239000", "1 NPUs finished"),
    "cut off": (f"({GOOD}) | head -c 460", "6 NPUs finished"),
    "another number of NPUs": (f"{GOOD} say 8 239000", "9 NPUs finished"),
    "no number": ("for i in 0 1 2 3 4 5 6 7; do say $i nan; done", "0 NPUs finished"),
    "a negative number": ("for i in 0 1 2 3 4 5 6 7; do say $i -5; done", "0 NPUs finished"),
    "a number beyond 64 bits": ("for i in 0 1 2 3 4 5 6 7; do say $i 99999999999999999999; done", "0 NPUs"),
    "a number of 6,000 digits": (
        "n=$(head -c 6000 /dev/zero | tr '\\0' 9); for i in 0 1 2 3 4 5 6 7; do say $i $n; done",
        "0 NPUs finished",
    ),
    "less than its compute": ("for i in 0 1 2 3 4 5 6 7; do say $i 1; done", "238000 ns of it compute"),
    "a critical line": (f"{GOOD} echo '[x] [critical] no'", "critical error"),
    "100 MB": ("head -c 100000000 /dev/zero", "more than 64 MiB of output"),
    "no end of output": ("yes", "more than 64 MiB of output"),
    "no end of errors": ("yes >&2", "more than 64 MiB of output"),
    "a hole of 900 MB": ("truncate -s 900M stdout.txt", "more than 64 MiB of output"),
    "deletes its folder and fails": ('rm -r "$PWD"; exit 3', "exit status 3.*it deleted its folder"),
    "deletes its folder and says nothing": ('rm -r "$PWD"', "0 NPUs finished"),
}
ANSWERED = {
    "deletes its folder": f'{GOOD} rm -r "$PWD"',
    "replaces its output": f"{GOOD} rm stdout.txt; mkfifo stdout.txt",
    "locks its folder": f'{GOOD} chmod 0 "$PWD"',
    "leaves a child": f"{SLOW} & {GOOD}",
    "leaves a session": f"setsid {SLOW} & {GOOD}",
    "leaves a session of a session": f"setsid sh -c 'setsid {SLOW} & {SLOW}' & sleep 0.1; {GOOD}",
    "leaves one that ignores signals": f"setsid sh -c \"trap '' TERM HUP; {SLOW}; {SLOW}\" & {GOOD}",
    "leaves one that starts others": f"setsid sh -c 'while :; do {SLOW} & sleep 0.02; done' & {GOOD}",
    "says it twice": f"{GOOD} {GOOD}",
}


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return a maker of models that ask a shell script, with a mark in the environment of its processes."""
    monkeypatch.setenv("FAULT_MARK", str(tmp_path))

    def model(script):
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\n{SAYS}{script}\n")
        program.chmod(0o755)
        return AstraSim(
            binary=program, backend="unaware", scratch=str(tmp_path / "scratch"), timeout_s=TIMEOUT_S
        )

    yield model
    until(lambda: not marked(tmp_path))  # long before they would end by themselves


def marked(folder):
    """Return the processes, other than this one, with the mark in their environment."""
    mark, found = f"FAULT_MARK={folder}".encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in path.read_bytes().split(b"\0") and path.parent.name != str(os.getpid()):
                found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_a_fault_is_one_error_and_a_fallback_answers(make, toy, switches, name):
    """No fault is a traceback, and none loses the run if the analytical model stands in."""
    script, what = REFUSED[name]
    model = make(script)
    with pytest.raises(ProgramError, match=f"(?s){what}"):
        model.iteration(toy, EIGHT, switches, switches.system)
    cached = CachedModel(model, fallback=AnalyticalModel())
    assert cached.iteration(toy, EIGHT, switches, switches.system).exposed_ns > 0
    assert cached.fallbacks == 1


@pytest.mark.parametrize("name", ANSWERED)
def test_a_program_that_answers_may_do_as_it_likes(make, toy, switches, tmp_path, name):
    """239 us, of which 238 of compute: an answer counts, and nothing of its processes and files remains."""
    answer = make(ANSWERED[name]).iteration(toy, EIGHT, switches, switches.system)
    assert (answer.compute_ns, answer.exposed_ns) == (238_000, 1_000)
    assert not marked(tmp_path)
    assert not list((tmp_path / "scratch").iterdir())


def test_a_program_that_disappears_is_an_error(make, toy, switches, tmp_path):
    """Between two questions, as during the rebuild of a program."""
    model = make(GOOD)
    (tmp_path / "program").unlink()
    with pytest.raises(ProgramError, match="cannot be started"):
        model.iteration(toy, EIGHT, switches, switches.system)


@pytest.mark.parametrize(
    "content", [b"\x7fELF\x02\x01\x01" + bytes(60), b"no program", b"#!/no/such/shell\n"]
)
def test_a_file_that_the_system_cannot_run_is_an_error(make, toy, switches, tmp_path, content):
    """A program of another architecture, a text, a script without its shell."""
    model = make(GOOD)
    (tmp_path / "program").write_bytes(content)
    with pytest.raises(ProgramError, match="cannot be started"):
        model.iteration(toy, EIGHT, switches, switches.system)


@pytest.mark.parametrize("script", [SLOW, f"{SLOW} & {SLOW}", f"setsid {SLOW} & {SLOW}"])
def test_nothing_survives_the_kill_of_its_asker_and_the_next_start_tidies_up(tmp_path, script):
    """By SIGKILL, of which no process can tidy up after itself: child, its child, and a session of its own.

    Folders that document a failure stay, and so do those of a run that goes on.
    """
    code = (
        "import sys; from netmodels.astra_sim.process import run; from pathlib import Path;"
        "from netmodels.astra_sim.scratch import Scratch\n"
        "with Scratch(Path(sys.argv[1])).filled({}, 0) as folder: run(['sh', '-c', sys.argv[2]], folder, 600)"
    )
    scratch, environment = tmp_path / "scratch", os.environ | {"FAULT_MARK": str(tmp_path)}
    command = [sys.executable, "-c", code, str(scratch)]
    askers = [subprocess.Popen([*command, f"touch started; {script}"], env=environment) for _ in range(2)]
    until(lambda: len(list(scratch.glob("*/started"))) == 2)
    time.sleep(0.5)  # for their children
    running = len(marked(tmp_path))
    askers[0].kill()
    askers[0].wait()
    until(lambda: len(marked(tmp_path)) == running // 2)
    assert len(list(scratch.iterdir())) == 2
    assert subprocess.run([*command, "exit"], env=environment, check=False).returncode == 0
    assert len(list(scratch.iterdir())) == 1
    askers[1].kill()
    askers[1].wait()
    until(lambda: not marked(tmp_path))


def until(condition):
    """Wait for a condition."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_without_a_supervisor_the_group_of_the_program_ends(make, toy, switches, monkeypatch):
    """On other systems than Linux: children in the program's session, no others."""
    monkeypatch.setattr(process, "_PRCTL", None)
    answer = make(f"{SLOW} & {GOOD}").iteration(toy, EIGHT, switches, switches.system)
    assert answer.exposed_ns == 1_000
    with pytest.raises(ProgramError, match="no answer within"):
        make(f"{SLOW} & {SLOW}").iteration(toy, EIGHT, switches, switches.system)


def test_an_output_file_is_read_only_if_it_is_one(tmp_path):
    """A FIFO would be waited for, a device would not end; a file that is not there is empty."""
    (tmp_path / "file").write_text("1")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/zero")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(900_000_000)
    names = ("file", "fifo", "device", "large", "absent")
    assert [read_output(tmp_path / name) for name in names] == ["1", "", "", "", ""]
