"""Wrong files of Slurm: two lines each, with file, line, the value found and what is allowed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from artist.bad_input.explain import two_lines
from artist.errors import InputError
from artist.site.machines import with_slurm

Fill = Callable[..., dict[str, Any]]

NODES = "NodeName=n[1-4] Gres=gpu:h100:8\n"
TREE = "TopologyPlugin=topology/tree\n"
PREEMPTS = "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
MULTIFACTOR = "PriorityType=priority/multifactor\n"
CLASSIC = MULTIFACTOR + "PriorityFlags=NO_FAIR_TREE\n"
ONE_LEAF = NODES + "SwitchName=a Nodes=n[1-2]\n"

WRONG = [  # text, and what both lines must have
    # not the form of a file
    ("", "the file is empty", ""),
    ("# only a comment\n", "the file is empty", ""),
    ("KillWait", "line 1: cannot be read", "'KillWait'"),
    ("A=1\nNodeName=n1 CPUs", "line 2: cannot be read", "'CPUs'"),
    ('Reason="never closed', "cannot be read", "closed"),
    ("Include nowhere.conf", "nowhere.conf: no such file", "path"),
    ("Include .", "is a folder", "path"),
    ("A|B\n1|2", "cells are missing", "sacctmgr -p show qos"),
    ("Account|User|Share\nred|u", "line 2: cells are missing", "'red|u'"),
    ("Account|Par Name\nred|blue", "line 2: no such account", "'blue'"),
    ("Account|Share\nred|few", "line 2, Fairshare: wrong value", "'few'"),
    ("Account|User|Partition\nred||\nred|u|gpu", "would change", "Partition=gpu"),
    ("Account|GrpTRESMins\nred|cpu=5", "would change", "GrpTRESMins"),
    ("Account\nred", "cannot be read", "'Account'"),
    ("Account|Share\nred|1\nred|1", "line 3: associations has red twice", ""),
    ("Name|Priority\nhigh", "line 2: cells are missing", "'high'"),
    # nodes
    ("NodeName=n[1-", "not a list of names", "'n[1-'"),
    ("NodeName=n[4-1]", "not a list of names", "upwards"),
    ("NodeName=n[1-999999]", "not a list of names", "100,000"),
    ("NodeName=ALL CPUs=4", "not a new node", "'ALL'"),
    ("NodeName=a\nNodeName=b,a", "line 2: not a new node", "'a'"),
    ("NodeName=a CPUs=many", "line 1, CPUs: wrong value", "'many'"),
    ("NodeName=a RealMemory=-4", "RealMemory: wrong value", "'-4'"),
    ("NodeName=a Sockets=2.5", "Sockets: wrong value", "'2.5'"),
    ("NodeName=a Wieght=5", "unknown key", "did you mean 'weight'?"),
    ("NodeName=a Gres=gpu:a100:no_consume:8", "Gres: not GPUs", "gpu:TYPE:NUMBER"),
    ("NodeName=a Gres=gpu:x:-1", "Gres: not GPUs", "'gpu:x:-1'"),
    ("NodeName=a Gres=gpu:v100:2,gpu:p100:2", "Gres: GPUs of several types", "one type in a node"),
    ("NodeName=a Gres=gpu:99999", "Gres: not GPUs", "'gpu:99999'"),
    ("NodeName=a Gres=gpu:h100_1g.10gb:56", "Gres: no such GPU", "'h100_1g.10gb'"),  # parts of GPUs (MIG)
    ("NodeName=a Gres=gpu:k80:2", "Gres: no such GPU", "H100, of topology dgx_h100_3tier"),
    (NODES + "NodeName=n1 Name=gpu Count=4", "other GPUs in n1", "8 of one type"),
    (NODES + "Name=gpu Type=a File=/dev/a0\nName=gpu Type=b File=/dev/b0", "other GPUs in n1", "a, b"),
    (NODES + "Name=gpu Count=x", "Count: wrong value", "'x'"),
    (NODES + "DownNodes=n9 State=DOWN", "no such node", "'n9'"),
    # settings
    ("SchedulerTyp=sched/backfill", "unknown key", "did you mean 'schedulertype'?"),
    ("SchedulerType=sched/hold", "line 1, SchedulerType: wrong value", "'sched/builtin'"),
    ("PriorityType=priority/fancy", "PriorityType: wrong value", "'priority/basic'"),
    ("TopologyPlugin=topology/block", "TopologyPlugin: wrong value", "'topology/tree'"),
    ("SchedulerParameters=bf_interval=-1", "bf_interval: wrong value", "0.001"),
    ("SchedulerParameters=bf_window=long", "bf_window: wrong value", "'long'"),
    ("SchedulerParameters=bf_max_job_tests=5", "unknown key", "did you mean 'bf_max_job_test'?"),
    (MULTIFACTOR + "PriorityMaxAge=soon", "line 2, PriorityMaxAge: not a time", "'soon'"),
    (MULTIFACTOR + "PriorityWeightAge=-5", "PriorityWeightAge: wrong value", "-5"),
    (MULTIFACTOR + "PriorityFavorSmall=maybe", "PriorityFavorSmall: wrong value", "YES or NO"),
    # what would change the schedule
    *(
        (text, "would change the schedule, and is not simulated", text.rpartition("\n")[2])
        for text in (
            *("SelectType=select/linear", "JobSubmitPlugins=lua", "Licenses=matlab:4"),
            *("BurstBufferType=burst_buffer/lua", MULTIFACTOR + "PriorityWeightTRES=cpu=5"),
            *(MULTIFACTOR + "PriorityWeightAssoc=5", MULTIFACTOR + "PriorityUsageResetPeriod=MONTHLY"),
            *(CLASSIC + "FairShareDampeningFactor=5", PREEMPTS + "JobRequeue=0"),
            PREEMPTS + "PreemptExemptTime=01:00:00",
        )
    ),
    ("SchedulerParameters=bf_max_job_part=5,partition_job_depth=3", "would", "part=5; partition_job_depth=3"),
    ("SchedulerParameters=pack_serial_at_end", "would change", "'pack_serial_at_end'"),
    ("SelectTypeParameters=CR_Socket_Memory", "would change", "CR_Socket_Memory"),
    ("TopologyParam=Dragonfly", "would change", "Dragonfly"),
    (MULTIFACTOR + "PriorityFlags=MAX_TRES", "would change", "MAX_TRES"),
    (PREEMPTS + "PreemptParameters=youngest_first", "would change", "youngest_first"),
    ("PreemptType=preempt/partition_prio\nPreemptMode=WITHIN", "PreemptMode: wrong value", "'CANCEL'"),
    (PREEMPTS + "PartitionName=a Nodes=ALL PreemptMode=SUSPEND", "PreemptMode: wrong value", "'SUSPEND'"),
    ("PreemptMode=SUSPEND,GANG", "PreemptMode: wrong value", "GANG"),
    ("PreemptType=preempt/job_prio", "PreemptType: wrong value", "'preempt/qos'"),
    # partitions
    *(
        (f"PartitionName=a Nodes=ALL {key}", "line 1: would change", key)
        for key in ("OverSubscribe=FORCE:4", "State=DOWN", "QOS=p", "ExclusiveUser=YES")
    ),
    (NODES + "PartitionName=a Nodes=n[1-9]", "no such node", "'n5'; allowed: n1, n2"),
    ("PartitionName=a Nodes=ALL\nPartitionName=a Nodes=ALL", "partitions has a twice", ""),
    ("PartitionName=a Nodes=ALL MaxTime=eternal", "MaxTime: not a time", "'eternal'"),
    ("PartitionName=a Nodes=ALL PriorityTier=70000", "PriorityTier: wrong value", "65533"),
    ("PartitionName=a Nodes=ALL PriorityTier=high", "PriorityTier: wrong value", "'high'"),
    ("PartitionName=a Nodes=ALL Default=perhaps", "Default: wrong value", "YES or NO"),
    ("PartitionName=a Nodes=ALL LNL=yes", "unknown key", "did you mean 'lln'?"),
    ("PartitionName=a Node=ALL", "unknown key", "did you mean 'nodes'?"),
    ("PartitionName=a Nodes=ALL TRESBillingWeights=GRES/gpu:a100=4", "not counted", "'GRES/gpu:a100=4'"),
    ("PartitionName=a Nodes=ALL GraceTime=-5", "GraceTime: wrong value", "-5"),
    # switches
    (NODES + TREE, "switches that the policy does not follow", "one switch above them"),
    (TREE + ONE_LEAF + "SwitchName=b Nodes=n[3-4]", "does not follow", "policy.TopologyPlugin=topology/none"),
    (NODES + "SwitchName=a Nodes=n1 Switches=b", "line 2: not a new switch", "with Nodes or with Switches"),
    (ONE_LEAF + "SwitchName=b Nodes=n2", "line 3: on two switches", "'n2'"),
    (ONE_LEAF + "SwitchName=b Switches=c", "line 3: no such switch", "'c'"),
    (ONE_LEAF + "SwitchName=a Nodes=n3", "line 3: not a new switch", "'a'"),
    # accounts and QOS
    ("Account - 'a':Fairshare=parent", "Fairshare: wrong value", "'parent'"),
    ("Account - 'a':GrpTRES=gres/gpu:a100=4", "not counted", "'gres/gpu'"),
    ("Account - 'a':GrpTRES=cpu=few", "not counted", "'cpu=few'"),
    ("Account - 'a':GrpTRESMins=cpu=500", "would change", "GrpTRESMins"),
    ("Account - 'a'\nParent - 'a'\nUser - 'u':Partition='gpu'", "would change", "Partition=gpu"),
    ("User - 'u':Fairshare", "cannot be read", "Fairshare"),
    ("Parent - 'a'\nUser - 'u'", "line 1: no such account", "'a'; allowed: root"),
    ("Account - 'a':MaxJobs=few", "MaxJobs: wrong value", "'few'"),
    ("Name|Priority\nhigh|x", "line 2, Priority: wrong value", "'x'"),
    ("Name|Priority\nhigh|1\nhigh|2", "line 3: qos has high twice", ""),
    ("Name|MaxTRESPA\nhigh|gres/gpu=4", "would change", "MaxTRESPA"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "first", "second"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_file_is_refused_in_two_lines(text: str, first: str, second: str, fill: Fill) -> None:
    """Where and what in the first line; found and allowed in the second; never another error."""
    with pytest.raises(InputError) as caught:
        fill(text)
    lines = two_lines(caught.value).split("\n")
    assert len(lines) == 2
    assert first in lines[0]
    assert second in lines[1]


@pytest.mark.parametrize("conf", [5, {"a": 1}, ["a.conf", 3], "nowhere.conf", ["/"], "\0", "a~b/c"])
def test_a_conf_that_is_no_file_is_refused(conf: object, plain: Mapping[str, Any]) -> None:
    """A path or a list of paths."""
    with pytest.raises(InputError):
        with_slurm({**plain, "policy": {**plain["policy"], "conf": conf}})


def test_bytes_are_no_configuration(tmp_path: Path, plain: Mapping[str, Any]) -> None:
    """A binary file in the place of a text."""
    (tmp_path / "slurm.conf").write_bytes(b"\x7fELF\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        with_slurm({**plain, "policy": {**plain["policy"], "conf": str(tmp_path / "slurm.conf")}})
