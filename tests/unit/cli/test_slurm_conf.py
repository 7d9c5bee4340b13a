"""policy.conf from the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Artist = Callable[..., Any]
NODES = "NodeName=n[1-4] Gres=gpu:h100:8\n"


def test_the_command_ends_with_two_lines_before_the_clock_starts(artist: Artist) -> None:
    """Exit code 2 and no run folder, as for every wrong input; a good conf runs."""
    Path("slurm.conf").write_text(NODES + "PartitionName=a Nodes=ALL MaxTime=eternal\n")
    refused = artist("policy=slurm", "policy.conf=slurm.conf")
    assert refused.code == 2
    assert refused.err.splitlines() == [
        "slurm.conf, line 2, MaxTime: not a time",
        "  found 'eternal'; allowed: minutes, minutes:seconds, hours:minutes:seconds, days-hours or INFINITE",
    ]
    Path("slurm.conf").write_text(NODES + "PartitionName=a Nodes=ALL MaxTime=7-0\nKillWait=30\n")
    done = artist("policy=slurm", "policy.conf=slurm.conf")
    assert done.code == 0
    assert done.err.count("slurm.conf: without effect here: KillWait") == 1


def test_the_key_of_a_run_depends_on_all_files_that_are_read(artist: Artist) -> None:
    """A sweep's run is kept while nothing changes, and repeated when topology.conf does."""
    Path("slurm.conf").write_text(NODES)
    sweep = "-m", "policy=slurm", "policy.conf=slurm.conf"
    assert "1 run now, 0 kept" in artist(*sweep).err
    assert "0 run now, 1 kept" in artist(*sweep).err
    Path("topology.conf").write_text("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\n")
    assert "1 run now, 0 kept" in artist(*sweep).err
