"""The progress bar is cheap, and tells what it should."""

import time

import pytest

from artist.core.events import Finish, Gauges
from artist.run import progress
from artist.run.progress import ProgressBar

DAY_NS = 86_400 * 10**9


def test_the_bar_shows_jobs_and_simulated_time(capsys: pytest.CaptureFixture[str]) -> None:
    """64 instants with a finish each, the last after 1 day and 2 hours."""
    with ProgressBar(100) as bar:
        for instant in range(1, 65):
            bar.observe(instant * (DAY_NS + DAY_NS // 12) // 64, [Finish(0, 0)], Gauges(0, 0, 0, 0))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "64/100" in captured.err
    assert "simulated 1 d 02:00:00" in captured.err


def test_the_bar_is_drawn_a_few_times_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    """Ten thousand instants in far less than a second are not ten thousand lines."""
    with ProgressBar(10_000) as bar:
        for instant in range(10_000):
            bar.observe(instant, [], Gauges(0, 0, 0, 0))
    assert capsys.readouterr().err.count("\r") < 100


def test_an_instant_that_takes_long_shows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After 7 s of simulated time 50 jobs wait, and nothing more is told: the line says so meanwhile."""
    monkeypatch.setattr(progress, "_PERIOD_S", 0.02)
    monkeypatch.setattr(progress, "_LONG_S", 0.1)
    with ProgressBar(100) as bar:
        bar.observe(7 * 10**9, [Finish(0, 0)], Gauges(0, 0, 50, 0))
        time.sleep(0.3)
    assert "simulated 0 d 00:00:07, this instant takes 0 s, 50 jobs wait" in capsys.readouterr().err
