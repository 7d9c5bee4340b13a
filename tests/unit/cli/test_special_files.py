"""A file that is none: reading a pipe waits for a writer for ever, and reading /dev/zero never ends."""

import os
from pathlib import Path

import pytest

import artist.app.cli
import artist.calibrating.command
import artist.describe.command
import artist.pricing.command
import artist.report.command
from artist.errors import regular

COMMANDS = {
    "artist": artist.app.cli.main,
    "artist-calibrate": artist.calibrating.command.main,
    "artist-network": artist.pricing.command.main,
    "artist-report": artist.report.command.main,
    "artist-trace": artist.describe.command.main,
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("artist", "workload=csv workload.path=pipe"),
        ("artist", "workload=philly workload.path=pipe"),
        ("artist", "cluster.events=pipe"),
        ("artist", "signals=file signals.path=pipe"),
        ("artist", "overheads.table=pipe"),
        ("artist", "network.profiles=pipe"),
        ("artist-calibrate", "measured=pipe"),
        ("artist-calibrate", "nccl=pipe"),
        ("artist-calibrate", "layers=pipe"),
        ("artist-calibrate", "trace=pipe model=x"),
        ("artist-network", "network.profiles=pipe"),
        ("artist-report", "run"),
        ("artist-report", "run --claims pipe"),
        ("artist-trace", "workload=csv workload.path=pipe"),
        ("artist-trace", "demand.path=pipe"),
    ],
)
def test_a_pipe_is_refused(command: str, arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Two lines and exit code 2 wherever a file is named; `run` has one in place of its summary."""
    Path("run").mkdir()
    Path("run/config.yaml").touch()
    for pipe in ("pipe", "run/summary.json"):
        os.mkfifo(pipe)
    assert COMMANDS[command](arguments.split()) == 2
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 2, told
    assert "a pipe, while files are read more than once; write its content to a file first" in told


def test_a_device_is_refused_and_a_file_by_another_name_is_not() -> None:
    """/dev/zero has no end; a link to a file is that file, and of a folder the reader says more."""
    with pytest.raises(OSError, match="a device or a socket; write its content to a file first"):
        regular(Path("/dev/zero"))
    Path("file").touch()
    Path("link").symlink_to("file")
    assert regular(Path("link")) == Path("link")
    assert regular(Path()) == Path()
