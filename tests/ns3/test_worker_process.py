"""The worker process: alive from question to question, ends with the command, and fails in words."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from netmodels.inputs.errors import InputError
from netmodels.ns3.process import Worker

QUESTION = {"jobs": [[[0, 1], [[100, 1000, "all_reduce"]], 2, 7]]}


def runs(process):
    """Return whether a process runs: not ended, and no zombie either."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition):
    """Wait up to 10 s."""
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()


def test_one_process_answers_all_questions(fake, starts):
    """An iteration takes 100 + 1000 ns: ends at 1,107 and 2,207. Asked twice, started once."""
    worker = fake()
    assert [worker.ask(QUESTION) for _ in range(2)] == [{"ends_ns": [[1107, 2207]]}] * 2
    assert starts() == worker.starts == 1


@pytest.mark.parametrize(
    ("mode", "what", "expected"),
    [
        ("crash", "it ended (status -6)", "index 0 out of bounds"),
        ("no start", "it ended (status 3)", "ImportError: no libns3"),
        ("garbage", "it did not answer", "ns-3 says hello"),
        ("hang", "no answer within 0.3 s", ""),
    ],
)
def test_a_failure_quotes_the_message_of_ns3(fake, starts, monkeypatch, mode, what, expected):
    """Of a crash ns-3's own message, not the stack trace after it; the next question starts another."""
    monkeypatch.setenv("FAKE_MODE", mode)
    worker = fake(0.3 if mode == "hang" else 60)
    with pytest.raises(InputError) as failure:
        worker.ask(QUESTION)
    assert what in str(failure.value)
    assert expected in str(failure.value)
    monkeypatch.setenv("FAKE_MODE", "answer")
    worker.timeout_s = 60
    assert worker.ask(QUESTION) == {"ends_ns": [[1107, 2207]]}
    assert starts() == 2


def test_a_worker_that_was_killed_is_started_again(fake, starts):
    """Between two questions, as by the kernel for memory."""
    worker = fake()
    worker.ask(QUESTION)
    os.kill(int(Path(os.environ["FAKE_LOG"]).read_text()), signal.SIGKILL)
    wait_until(lambda: worker._process.poll() is not None)
    assert worker.ask(QUESTION) == {"ends_ns": [[1107, 2207]]}
    assert starts() == 2


def test_a_program_that_is_not_there(starts):
    """No traceback of Popen."""
    with pytest.raises(InputError, match="cannot be started"):
        Worker(1, ("/no/such/program",)).ask(QUESTION)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_worker_ends_with_a_command_that_is_stopped(fake, starts, monkeypatch, how):
    """By Ctrl-C, or kill -9 in the middle of a question: then only its parent's absence tells the worker."""
    monkeypatch.setenv("FAKE_MODE", "hang")
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # off in the background
        f"from netmodels.ns3.process import Worker; Worker(600, {fake().command!r}).ask({{'jobs': []}})"
    )
    command = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        stderr=subprocess.DEVNULL,
    )
    wait_until(starts)
    process = int(Path(os.environ["FAKE_LOG"]).read_text())
    assert runs(process)
    command.send_signal(how)
    command.wait(timeout=60)
    wait_until(lambda: not runs(process))


def test_a_forked_process_has_a_worker_of_its_own(fake, starts):
    """Two processes on one pipe would take each other's answers."""
    worker = fake()
    worker.ask(QUESTION)
    child = os.fork()
    if not child:
        good = worker.ask(QUESTION) == {"ends_ns": [[1107, 2207]]}
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert starts() == 2
    assert worker.ask(QUESTION) == {"ends_ns": [[1107, 2207]]}
    assert starts() == 2
