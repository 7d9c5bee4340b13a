"""A network program fails in every way that it can: an error with command, status, last lines and folder."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from netmodels.api import shape_of
from netmodels.astra_sim.model import AstraSim
from netmodels.astra_sim.process import ProgramError
from netmodels.inputs.errors import InputError

EIGHT = shape_of([(0, "box", 8)])


def ask(model, toy, switches):
    return model.iteration(toy, EIGHT, switches, switches.system)


@pytest.mark.parametrize(
    ("mode", "what"),
    [
        ("crash", "it failed (exit status -6)"),
        ("exit", "it failed (exit status 1)"),
        ("empty", "0 NPUs finished; expected 8"),
        ("truncated", "4 NPUs finished; expected 8"),
        ("wrong_count", "9 NPUs finished; expected 8"),
        ("critical", "reports a critical error"),
        ("impossible", "it reports 1 ns, 238000 ns of it compute"),
    ],
)
def test_a_failure_names_command_status_last_lines_and_folder(
    astra, toy, switches, monkeypatch, tmp_path, mode, what
):
    """And leaves the folder, with what the program read and said, to look at."""
    monkeypatch.setenv("FAKE_MODE", mode)
    with pytest.raises(ProgramError) as failure:
        ask(astra(), toy, switches)
    message = str(failure.value)
    (folder,) = (tmp_path / "scratch").iterdir()
    assert what in message
    assert "exit status" in message
    assert "fake_astra_sim --workload-configuration=iteration" in message
    assert str(folder) in message
    assert {"stdout.txt", "stderr.txt", "network.yml", "iteration.0.et"} <= set(os.listdir(folder))
    last = {"crash": "std::runtime_error", "exit": "does not exist", "truncated": "sys[0]"}.get(mode, "")
    assert last in message


def test_a_good_run_leaves_nothing(astra, toy, switches, tmp_path):
    """238 us of compute, 1 us exposed in one dimension, 2 us busy; the slowest NPU counts."""
    answer = ask(astra(), toy, switches)
    assert (answer.compute_ns, answer.exposed_ns, answer.comm_ns) == (238_000, 1_000, 2_000)
    assert not list((tmp_path / "scratch").iterdir())
    ask(astra(keep=True), toy, switches)
    assert len(list((tmp_path / "scratch").iterdir())) == 1


def test_a_hang_ends_at_the_timeout(astra, toy, switches, monkeypatch):
    """The error quotes the program's output up to then."""
    monkeypatch.setenv("FAKE_MODE", "hang")
    started = time.monotonic()
    with pytest.raises(ProgramError, match=r"no answer within 1\.5 s") as failure:
        ask(astra(timeout_s=1.5), toy, switches)
    assert time.monotonic() - started < 20
    assert "there are 8 npus" in str(failure.value)


@pytest.mark.parametrize("mode", ["grandchild", "orphan"])
def test_no_grandchild_survives(astra, toy, switches, monkeypatch, tmp_path, mode):
    """It holds the output open and outlives its parent, killed or ended well; the whole group goes."""
    alive = tmp_path / "alive"
    monkeypatch.setenv("FAKE_MODE", mode)
    monkeypatch.setenv("FAKE_ALIVE", str(alive))
    if mode == "grandchild":
        with pytest.raises(ProgramError, match="no answer within"):
            ask(astra(timeout_s=4), toy, switches)
    else:
        ask(astra(), toy, switches)
    last = alive.read_text()
    time.sleep(0.5)
    assert alive.read_text() == last


def test_a_full_disk_is_refused_before_the_program_runs(astra, toy, switches, monkeypatch, tmp_path):
    """And the half-written folder is taken away."""

    def full(path, content):
        raise OSError(28, "No space left on device", str(path))

    model = astra()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match=r"(?s)network\.model\.scratch.*No space left on device"):
        ask(model, toy, switches)
    assert not list((tmp_path / "scratch").iterdir())


def test_a_program_that_cannot_be_started_is_refused(toy, switches, tmp_path):
    """Executable by its mode, but no program."""
    odd = tmp_path / "odd"
    odd.write_bytes(b"\x7fELF and nothing more")
    odd.chmod(0o755)
    with pytest.raises(ProgramError, match="cannot be started"):
        ask(AstraSim(binary=odd, backend="unaware", scratch=str(tmp_path / "s")), toy, switches)


@pytest.mark.parametrize(
    ("name", "content", "mode", "what"),
    [
        (None, b"", 0, "no ASTRA-sim program"),
        ("absent", None, 0, "no such program"),
        ("plain", b"CongestionUnawareNetworkApi", 0o644, "not executable"),
        ("other", b"#!/bin/sh\n", 0o755, "does not look like ASTRA-sim"),
    ],
)
def test_a_wrong_binary_is_refused_when_the_model_is_made(tmp_path, name, content, mode, what):
    """Before any clock starts, with what to do."""
    path = tmp_path / name if name else None
    if path is not None and content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    with pytest.raises(InputError, match=what) as refused:
        AstraSim(binary=path)
    assert "network.model.binary" in str(refused.value)
    assert "allowed" in str(refused.value)


@pytest.mark.parametrize(
    ("mark", "backend"),
    [
        (b"CongestionUnawareNetworkApi", "unaware"),
        (b"CongestionAwareNetworkApi", "aware"),
        (b"topologies-per-dim", "version1"),
    ],
)
def test_a_program_is_known_by_its_own_names(tmp_path, mark, backend):
    """And its version by its content: another build never finds the answers of this one."""
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF..." + mark)
    program.chmod(0o755)
    model = AstraSim(binary=program)
    assert model.program.backend == backend
    program.write_bytes(b"\x7fELF...." + mark)
    assert AstraSim(binary=program).version != model.version


@pytest.mark.parametrize(
    "parameters",
    [
        {"timeout_s": 0},
        {"timeout_s": "soon"},
        {"backend": "ns-3"},
        {"arguments": "foo"},
        {"keep": "perhaps"},
        {"ns3": "foo"},
        {"ns3": {"CC_MODE": 1}},
        {"backend": "ns3", "ns3": {"PACKET_PAYLOAD": 1000}},
    ],
)
def test_wrong_parameters_are_refused(astra, parameters):
    """By the field's name; settings of ns-3 are for ns-3, and have to be some that it knows."""
    with pytest.raises(ValueError, match=next(reversed(parameters))):
        astra(**{"backend": "unaware", **parameters})


def test_a_program_is_not_taken_for_another(tmp_path):
    """Told to be congestion-aware, the congestion-unaware back end would answer under a false name."""
    program = tmp_path / "program"
    program.write_bytes(b"CongestionUnawareNetworkApi")
    program.chmod(0o755)
    with pytest.raises(InputError, match="congestion-unaware"):
        AstraSim(binary=program, backend="aware")


def test_files_of_a_program_are_part_of_its_version(fake, tmp_path):
    """A program behind a wrapper may change while the wrapper does not."""
    inner = tmp_path / "inner"
    versions = set()
    for content in (b"one", b"two"):
        inner.write_bytes(content)
        versions.add(AstraSim(binary=fake, backend="ns3", program_files=[inner]).version)
    assert len(versions) == 2


def test_only_the_first_failures_leave_their_folders(astra, toy, switches, monkeypatch, tmp_path):
    """With a fallback there may be hundreds."""
    monkeypatch.setenv("FAKE_MODE", "empty")
    model = astra()
    for _ in range(5):
        with pytest.raises(ProgramError):
            ask(model, toy, switches)
    assert len(list((tmp_path / "scratch").iterdir())) == 3


def test_the_program_dies_with_whoever_asks(tmp_path):
    """Killed, a run cannot clean up: the kernel ends its program (Linux)."""
    code = (
        "from netmodels.astra_sim.process import run; from pathlib import Path; import sys;"
        "run([sys.argv[1]], Path(sys.argv[2]), 600)"
    )
    sleeper = tmp_path / "sleeper"
    sleeper.write_text(f'#!/bin/sh\necho $$ > "{tmp_path}/pid"\nexec sleep 600\n')
    sleeper.chmod(0o755)
    asking = subprocess.Popen([sys.executable, "-c", code, str(sleeper), str(tmp_path)])
    pid = _pid_in(tmp_path / "pid")
    asking.kill()
    asking.wait()
    assert _gone(pid)


def _pid_in(path):
    for _ in range(400):
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.05)
    raise AssertionError("the program did not start")


def _gone(pid):
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False
