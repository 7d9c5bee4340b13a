"""Completion in the shell, of every command that takes `field=value`."""

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("command", "typed", "completed"),
    [
        ("app.cli", "artist policy=dally_m", "policy=dally_manual"),
        ("app.cli", "artist topology=pcie", "topology=pcie_10g"),
        ("pricing.command", "artist-network topology=dgx", "topology=dgx_h100_3tier"),
        ("describe.command", "artist-trace workload=hel", "workload=helios"),
        ("calibrating.command", "artist-calibrate topology=alps", "topology=alps_gh200"),
    ],
)
def test_choices_are_completed(
    command: str,
    typed: str,
    completed: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The shell sets COMP_LINE and calls the command, which answers with the choices that begin so."""
    monkeypatch.setenv("COMP_LINE", typed)
    monkeypatch.setenv("COMP_POINT", str(len(typed)))
    assert import_module(f"artist.{command}").main(["-sc", "query=bash"]) == 0
    assert capsys.readouterr().out.split() == [completed]
