"""Limits around a policy, from files and as written, from the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

Artist = Callable[..., Any]
CONF = """NodeName=n[1-2] Gres=gpu:8
NodeName=s1 Gres=gpu:8
PartitionName=gpu Nodes=n[1-2] Default=YES
PartitionName=small Nodes=s1
AccountingStorageEnforce=limits
AccountingStorageType=accounting_storage/slurmdbd
"""
DUMP = "Cluster - 'ours'\nParent - 'root'\nAccount - 'red':Fairshare=1:GrpTRES=gres/gpu=8\n"
JOBS = """job_id,submit_s,gpus,duration_s,account,partition
a,0,8,100,red,gpu
b,0,4,50,red,small
c,1,8,30,blue,gpu
"""
FILES = "quotas.conf=[slurm.conf,dump.txt]"
BY = "workload=csv", "workload.path=jobs.csv", "network=zero", "output.dir=runs"


@pytest.fixture(autouse=True)
def _files(artist: Artist) -> None:
    for name, text in (("slurm.conf", CONF), ("dump.txt", DUMP), ("jobs.csv", JOBS)):
        Path(name).write_text(text)


def ran() -> tuple[list[float], list[str]]:
    """Return starts and machines of the latest run's jobs."""
    folder = max(Path("runs").rglob("jobs.parquet"), key=lambda path: path.stat().st_mtime).parent
    events = pd.read_parquet(folder / "events.parquet")
    starts = events[events["kind"] == "start"].sort_values("job_id")
    return starts["time_s"].round(3).tolist(), [text.split(":")[0] for text in starts["allocation"].tolist()]


def test_files_of_slurm_give_another_policy_its_nodes_partitions_and_limits(artist: Artist) -> None:
    """Red may hold 8 GPUs: a has them to 100, so b, on free s1, waits for it; c of blue starts at 1 on n2."""
    done = artist("policy=fifo", FILES, "cluster.partition_by=partition", *BY)
    assert done.code == 0, done.err
    assert ran() == ([0, 100, 1], ["n1", "s1", "n2"])


def test_without_partitions_all_nodes_serve_all(artist: Artist) -> None:
    """B waits for the limit; then it has n1, the first free machine."""
    assert artist("policy=fifo", FILES, *BY).code == 0
    assert ran() == ([0, 100, 1], ["n1", "n1", "n2"])


def test_for_slurm_they_are_its_own_files(artist: Artist) -> None:
    """The same run as with policy.conf; here partitions hold by themselves."""
    assert artist("policy=slurm", FILES, *BY).code == 0
    first = ran()
    assert first == ([0, 100, 1], ["n1", "s1", "n2"])
    assert artist("policy=slurm", FILES.replace("quotas", "policy"), *BY).code == 0
    assert ran() == first


def test_limits_as_written(artist: Artist) -> None:
    """One user, no name: one job at a time in QOS-less red; blue is free."""
    limits = "quotas.associations=[{Account: red, GrpJobs: 1}, {Account: blue}]"
    assert artist("policy=fifo", limits, "cluster.machines=3", *BY).code == 0
    assert ran()[0] == [0, 100, 1]


def test_no_files_are_no_limits(artist: Artist) -> None:
    """An empty list as null; and so under Slurm, which then has its defaults."""
    assert artist("policy=fifo", "quotas.conf=[]", "quotas.qos=[]", "cluster.machines=3", *BY).code == 0
    assert artist("policy=slurm", "policy.conf=[]", "cluster.machines=3", *BY).code == 0


@pytest.mark.parametrize(
    ("settings", "first", "second"),
    [
        (
            ("policy=slurm", "quotas.qos=[{Name: a}]"),
            "quotas: this policy has limits of its own",
            "policy.conf",
        ),
        (("policy=slurm", FILES, "policy.conf=slurm.conf"), "limits of its own", "policy.associations"),
        (("quotas.conf=slurm.conf",), "quotas.conf: no limits there", "sacctmgr dump"),
        (("quotas.conf=nowhere",), "nowhere: no such file", "path"),
        (("quotas.conf=5",), "quotas.conf: wrong value", "a path"),
        (("quotas.qos=[{Nam: a}]",), "quotas.qos", "give it a value"),
        (
            ("quotas.associations=[{Account: red, GrpTRES: {node: 2}}]",),
            "limits of nodes",
            "gres/gpu, cpu, mem",
        ),
        (("quotas.associations=[{Account: red, User: u}, {Account: a}]",), "is not there", ""),
        (
            ("quotas.associations=[{Account: red, GrpTRES: {gres/gpu: 4}}]",),
            "job 'a': it can never",
            "8 gres",
        ),
        (("quotas=5",), "quotas", "5"),
    ],
)
def test_wrong_limits_end_in_two_lines(
    settings: tuple[str, ...], first: str, second: str, artist: Artist
) -> None:
    """Exit code 2, where and what, then found and allowed."""
    refused = artist("policy=fifo", *BY, "cluster.machines=3", *settings)
    lines = refused.err.splitlines()
    assert (refused.code, len(lines)) == (2, 2), refused.err
    assert first in lines[0]
    assert second in lines[1]


def test_partitions_that_share_nodes_are_refused_around_another_policy(artist: Artist) -> None:
    """N1 is in gpu and in all: whose jobs would it serve? Slurm itself follows such partitions."""
    Path("slurm.conf").write_text(CONF + "PartitionName=all Nodes=ALL\n")
    refused = artist("policy=fifo", FILES, "cluster.partition_by=partition", *BY)
    assert refused.code == 2
    assert refused.err.splitlines() == [
        "slurm.conf, n1: a node in two partitions",
        "  found 'gpu, all'; allowed: partitions without common nodes, outside policy=slurm; "
        "or cluster.partition_by=null",
    ]
    assert artist("policy=slurm", FILES, *BY).code == 0
