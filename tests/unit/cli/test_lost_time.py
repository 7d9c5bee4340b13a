"""Runs that make next to no progress are told of: before the clock starts, while they run, and at the end.

The policy stops all jobs at a tick, each 60 s, and starts the first at the next one: a job has the GPUs for
60 s at a time. Of those it gets on for 60 s, less the delays, unless a stop takes it all back.
"""

from collections.abc import Callable
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from artist.core.job import Demand, JobSpec
from artist.engine.overheads import Overheads
from artist.run import lost_time
from artist.run.lost_time import note_losses, warn_of_pace, watched

Artist = Callable[..., Any]
S = 1_000_000_000
ROTATE = """
from artist.testing.tiny import on
class Rotate:
    on_events, interval_s = False, 60
    def __init__(self, quantum_s):
        pass
    def decide(self, view):
        plan, running = view.plan(), view.jobs.running
        for job in view.jobs.job[running]:
            plan.stop(int(job))
        if not running.any():
            plan.place(int(view.jobs.job[0]), on((0, int(view.jobs.gpus[0]))))
        return plan.done()
"""


def test_a_run_without_progress_is_warned_about_at_start_and_end(artist: Artist, mine: Path) -> None:
    """A checkpoint each 3600 s, a stop each 60 s, ended after 6000 s: all that was run is lost."""
    (mine / "rotate.py").write_text(ROTATE)
    (mine / "policy" / "rotate.yaml").write_text("_target_: rotate.Rotate\nquantum_s: 60\n")
    arguments = (f"--config-dir={mine}", "policy=rotate", "stop.time_s=6000", "workload.max_gpus=8")
    result = artist(*arguments, "overheads.on_stop=lose_since_checkpoint")
    before, after, _ = result.err.splitlines()
    assert before.startswith("policy.quantum_s is 60 s; ")
    assert "to restart and pass a checkpoint; see overheads.on_stop" in before
    assert after.startswith("jobs held GPUs without progress most of the time: 100 % was lost by stops, 0 %")
    (log,) = Path("runs").rglob("artist.log")
    assert before in log.read_text()
    assert after in log.read_text()


def told_before(caplog: pytest.LogCaptureFixture, policy: dict[str, Any], **overheads: Any) -> str:
    """Return the warnings on two jobs, of 100 iterations of 1 s and of one iteration of 1000 s."""
    caplog.clear()
    jobs = [
        JobSpec("many", 0, Demand(1), iterations=100, compute_ns=S),
        JobSpec("one", 0, Demand(1), iterations=1, compute_ns=1000 * S),
    ]
    warn_of_pace(policy, Overheads(**overheads), jobs)
    return caplog.text


def test_the_warning_compares_the_pace_with_the_shortest_useful_stay(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Of the first job: 59 s + an iteration are the 60 s that it has; 60 s + an iteration are more.

    A checkpoint each 61 s is too late as well; one each 3600 s lies beyond its end, at 100 s. The other job
    loses all with any stop.
    """
    turns = {"quantum_s": 60}
    assert told_before(caplog, turns, restart_s=59) == ""
    assert "1 of the first 2 jobs need up to 61 s" in told_before(caplog, turns, restart_s=60)
    assert "up to 61 s" in told_before(caplog, {"of": {"of": turns}}, restart_s=60)  # policies inside others
    late = "1 of the first 2 jobs need up to {} s".format
    assert late(61) in told_before(caplog, turns, on_stop="lose_since_checkpoint", checkpoint_every_s=61)
    assert late(100) in told_before(caplog, {"lease_s": 90}, on_stop="lose_since_checkpoint")
    assert "2 of the first 2 jobs need up to 61 s" in told_before(caplog, turns, on_stop="keep", restart_s=61)


def test_there_is_no_word_where_no_pace_is_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is stopped without preemption; no pace is known; suspend-resume, or all lost with any stop."""
    for policy in ({"interval_s": 60, "preemptive": False}, {"interval_s": None}, {}):
        assert told_before(caplog, policy, restart_s=1000) == ""
    for mode in ("keep", "lose_all"):
        assert told_before(caplog, {"interval_s": 0.5}, on_stop=mode) == ""


def test_half_of_the_time_is_much(caplog: pytest.LogCaptureFixture) -> None:
    """Two jobs hold GPUs for 100 s in all, 10 s of them delays: 40 s lost are half, 41 s more than half."""
    caplog.set_level("INFO")
    for lost_s, told in ((20, False), (21, True)):
        times = {"lost_ns": [20 * S, lost_s * S], "overhead_ns": [10 * S, 0], "running_ns": [40 * S, 50 * S]}
        note_losses({name: np.array(values) for name, values in times.items()})
        assert ("41 % was lost by stops, 10 % were delays" in caplog.text) == told


def test_a_long_run_is_warned_about_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at each 10 ms in place of 30 s: nothing while a third is lost, then one warning."""
    monkeypatch.setattr(lost_time, "_PERIOD_S", 0.01)
    jobs = SimpleNamespace(lost_ns=[S], overhead_ns=[0], running_ns=[3 * S])
    with watched(jobs):
        sleep(0.1)
        assert caplog.text == ""
        jobs.lost_ns = [2 * S]
        sleep(0.2)
    assert caplog.text.count("so far jobs held GPUs without progress most of the time: 67 %") == 1
