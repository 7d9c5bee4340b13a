"""The progress bar is cheap, and tells what it should."""

import pytest

from artist.core.events import Finish, Gauges
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
