"""slurm.conf and its relatives as parameters of policy=slurm, machines and racks."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artist.data import data_path
from artist.errors import InputError
from artist.policies.parts.limits import Association, Qos
from artist.policies.slurm.configuration import Partition, time_ns
from artist.policies.slurm.policy import Slurm
from artist.run.build import build, check_config
from artist.site.slurm import SlurmConf
from artist.units import NS_PER_S

Read = Callable[..., SlurmConf]
Fill = Callable[..., dict[str, Any]]

OWN = """
ClusterName=ours
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=10,bf_continue,\\
bf_window=2880,preempt_reorder_count=3
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityMaxAge=1-0
PriorityFavorSmall=yes
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits
PreemptType=preempt/qos
PreemptMode=requeue
NodeName=DEFAULT Sockets=2 CoresPerSocket=48 ThreadsPerCore=2 RealMemory=1031168 State=UNKNOWN
NodeName=n[9-10] Gres=gpu:h100:4 CPUs=64
NodeName=n[1-8] Gres=gpu:h100:8
PartitionName=DEFAULT MaxTime=2-0 DefaultTime=60
PartitionName=gpu Nodes=ALL Default=YES TRESBillingWeights="CPU=1.0,Mem=0.25G,GRES/gpu=16"
PartitionName=urgent Nodes=n[1-4] PriorityTier=10 MaxTime=UNLIMITED LLN=yes GraceTime=30
"""
SWITCHES = "SwitchName=l1 Nodes=n[1-5]\nSwitchName=l2 Nodes=n[6-10]\nSwitchName=top Switches=l[1-2]\n"


def test_a_conf_of_ours_becomes_the_parameters_of_the_policy(read: Read) -> None:
    """By hand, line by line; 0.25 per GB of memory is 0.25 per GiB here."""
    conf = read(OWN)
    assert Slurm(**conf.policy) == Slurm(
        SchedulerType="sched/backfill", bf_interval=10, bf_window=2880, preempt_reorder_count=3,
        PriorityType="priority/multifactor", PriorityWeightAge=1000, PriorityMaxAge="1-0",
        PriorityFavorSmall=True, PreemptType="preempt/qos", PreemptMode="REQUEUE",
        partitions=(
            Partition("gpu", "ALL", Default=True, MaxTime="2-0", DefaultTime=60,
                      TRESBillingWeights={"cpu": 1, "mem": 0.25, "gres/gpu": 16}),
            Partition("urgent", ("n1", "n2", "n3", "n4"), PriorityTier=10, MaxTime="UNLIMITED",
                      DefaultTime=60, LLN=True, GraceTime=30),
        ),
    )  # fmt: skip
    assert list(conf.nodes) == [f"n{i}" for i in range(1, 11)], "in order of their numbers"
    node = conf.nodes["n10"]
    assert (node.gpus, node.gpu_type, node.cpus, node.memory_mib) == (4, "h100", 64, 1_031_168)
    assert conf.nodes["n1"].cpus == 2 * 48 * 2


def test_nodes_and_switches_become_machines_and_racks(fill: Fill) -> None:
    """n1 to n5 are rack 0; n9 and n10, of 4 GPUs and 64 CPUs, are a machine type of their own."""
    simulation = build(check_config(fill(OWN, SWITCHES, workload={"jobs": 3})))
    machines = simulation.cluster.machines
    assert [machine.name for machine in machines] == [f"n{i}" for i in range(1, 11)]
    assert [machine.rack for machine in machines] == [0] * 5 + [1] * 5
    assert [machine.gpus for machine in machines] == [8] * 8 + [4] * 2
    assert [machine.cpus for machine in machines] == [192] * 8 + [64] * 2
    assert {machine.gpu_type for machine in machines} == {"H100"}
    assert {machine.memory_bytes for machine in machines} == {1_031_168 * 2**20}
    assert len({machine.type for machine in machines}) == 2
    text = simulation.setting["Cluster"]["machines"]
    assert text == "8 machines of 8 GPUs (H100), 2 machines of 4 GPUs (H100), 2 racks"


def test_nodes_without_switches_fill_racks_and_keep_the_facts_of_the_topology(fill: Fill) -> None:
    """A line that states GPUs only: 112 CPUs and 2 TiB of the DGX H100, the machine type itself."""
    config = fill("NodeName=n[1-10] Gres=gpu:8", workload={"jobs": 3}, cluster={"machines_per_rack": 4})
    assert [(group["type"], group["count"]) for group in config["cluster"]["machines"]] == [("dgx_h100", 10)]
    assert build(check_config(config)).cluster.rack_of == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]


def test_switches_may_hold_nodes_in_any_order(fill: Fill) -> None:
    """Odd numbers on one switch, even ones on the other: no machine is lost, each in its rack."""
    switches = "SwitchName=odd Nodes=n[1,3]\nSwitchName=even Nodes=n[2,4]\n"
    cluster = build(check_config(fill("NodeName=n[1-4] Gres=gpu:8", switches, workload={"jobs": 3}))).cluster
    assert [(machine.name, machine.rack) for machine in cluster.machines] == [
        ("n1", 0), ("n2", 1), ("n3", 0), ("n4", 1),
    ]  # fmt: skip


def test_nodes_on_no_switch_are_a_rack_each(fill: Fill) -> None:
    """n3 and n4 hang on none; l1 is rack 0."""
    config = fill("NodeName=n[1-4] Gres=gpu:8", "SwitchName=l1 Nodes=n[1-2],old[1-9]")
    assert [group["rack"] for group in config["cluster"]["machines"]] == [0, 1, 2]


def test_the_user_stands_above_the_conf(fill: Fill) -> None:
    """A value of the user's, also one that is Slurm's default, and machines of the user's own."""
    text = "SchedulerParameters=bf_interval=10,bf_window=60\nNodeName=n[1-2] Gres=gpu:8"
    config = fill(text, policy={"bf_interval": 30}, cluster={"machines": 5})
    assert (config["policy"]["bf_interval"], config["policy"]["bf_window"]) == (30, 60)
    assert config["cluster"]["machines"] == 5
    config = fill("NodeName=n[1-2] Gres=gpu:a100:8", cluster={"machine_type": "dgx_h100"})
    assert [group["type"] for group in config["cluster"]["machines"]] == ["dgx_h100"]


def test_a_filled_configuration_read_again_is_the_same(fill: Fill, plain: Any) -> None:
    """config.yaml of a run names all files; a run of it is the same run."""
    from artist.site.machines import with_slurm

    config = fill(OWN, SWITCHES)
    assert with_slurm(config) == config


def test_machine_types_are_taken_by_the_name_of_the_gpu(fill: Fill, plain: Any) -> None:
    """Name tesla_v100-sxm2-32gb is V100 there; gres.conf names the T4 of a node that states 4 GPUs."""
    from netmodels.inputs.schema import read_yaml

    topology = read_yaml(data_path("topologies", "v100_t4_cloud.yaml"), "topology")
    nodes = "NodeName=v[1-2] Gres=gpu:tesla_v100-sxm2-32gb:8(S:0-1),shard:64\nNodeName=t1 Gres=gpu:4\n"
    config = fill(
        nodes, "NodeName=t1 Name=gpu Type=t4 File=/dev/nvidia[0-3]\nAutoDetect=off", topology=topology
    )
    config["workload"] = config["workload"] | {"jobs": 3}
    machines = build(check_config(config)).cluster.machines
    assert [(m.name, m.gpu_type, m.gpus) for m in machines] == [
        ("t1", "T4", 4),
        ("v1", "V100", 8),
        ("v2", "V100", 8),
    ]


@pytest.mark.parametrize(
    ("text", "limit_s"),
    [
        *(("UNLIMITED", None), ("infinite", None), ("60", 3600), ("1:30", 90), ("01:00:00", 3600)),
        *(("2-0", 172800), ("1-12:30", 131400), ("1-00:00:30", 86430)),
    ],
)
def test_every_spelling_of_a_time(text: str, limit_s: int | None, read: Read) -> None:
    """Minutes, minutes:seconds, hours:minutes:seconds, days-hours:minutes:seconds, none."""
    (values,) = read(f"PartitionName=a Nodes=ALL MaxTime={text}").policy["partitions"]
    limit_ns = time_ns(values["MaxTime"])
    assert limit_ns == (limit_s * NS_PER_S if limit_s else time_ns("INFINITE"))


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("SchedulerType=builtin", "SchedulerType", "sched/builtin"),
        ("schedulertype=SCHED/BACKFILL", "SchedulerType", "sched/backfill"),
        ("PriorityType=multifactor", "PriorityType", "priority/multifactor"),
        ("TopologyPlugin=topology/default", "TopologyPlugin", "topology/none"),
        ("TopologyPlugin=flat", "TopologyPlugin", "topology/none"),
        ("PreemptType=preempt/none\nPreemptMode=SUSPEND", "PreemptMode", None),  # no preemption, no mode
        ("PreemptType=preempt/qos\nPreemptParameters=reorder_count=4", "preempt_reorder_count", 4),
        ("PriorityType=priority/multifactor\nPriorityFlags=FAIR_TREE", "PriorityFlags", None),
        ("PriorityFlags=no_fair_tree,CALCULATE_RUNNING", "PriorityFlags", ["NO_FAIR_TREE"]),
        ("bf_max=1\nSchedulerParameters=defer,BF_MAX_JOB_TEST=7", "bf_max_job_test", 7),
        ("SelectTypeParameters=CR_Core,CR_LLN\nPartitionName=a Nodes=ALL", "partitions",
         [{"PartitionName": "a", "Nodes": "ALL", "LLN": True}]),
        *((f"PartitionName=a Nodes=ALL {key}", "partitions",
           [{"PartitionName": "a", "Nodes": "ALL", "OverSubscribe": "EXCLUSIVE"}])
          for key in ("OverSubscribe=EXCLUSIVE", "Shared=exclusive")),
        ("PartitionName=a Nodes=ALL OverSubscribe=YES:4", "partitions",
         [{"PartitionName": "a", "Nodes": "ALL"}]),
        ("PartitionName=a Nodes=ALL Priority=50", "partitions",
         [{"PartitionName": "a", "Nodes": "ALL", "PriorityTier": 50, "PriorityJobFactor": 50}]),
        ("FairShareDampeningFactor=5\nPriorityType=multifactor", "PriorityType", "priority/multifactor"),
        ("JobRequeue=0\nPriorityWeightTRES=cpu=5", "PriorityWeightTRES", None),  # nothing uses them
        ("NodeName=a,c Weight=1\nNodeName=b Weight=5", "Weight", {1: "a,c", 5: "b"}),
        ("NodeName=a,b Weight=5", "Weight", None),
    ],
)  # fmt: skip
def test_spellings_and_keys_that_depend_on_others(line: str, name: str, value: object, read: Read) -> None:
    """Plugins with and without prefix, keys of any case, keys that only count where a plugin uses them."""
    assert read(line).policy.get(name) == value


@pytest.mark.parametrize(
    ("text", "weight", "limit"), [("1024", 1024 * 1024, 1), ("0.5G", 0.5, 0.5), ("2T", 2 / 1024, 2048)]
)
def test_units_of_memory(text: str, weight: float, limit: float, read: Read) -> None:
    """MB unless stated. A weight of 1024 per MB is 1024 x 1024 per GiB, of 2 per TiB 1/512."""
    conf = read(f"PartitionName=a Nodes=ALL TRESBillingWeights=Mem={text}")
    assert conf.policy["partitions"][0]["TRESBillingWeights"] == {"mem": weight}
    conf = read(f"QOS - 'q':GrpTRES=mem={text}")
    assert conf.policy["qos"][0]["GrpTRES"] == {"mem": limit}


def test_nodes_that_do_not_serve_are_left_out(read: Read, caplog: pytest.LogCaptureFixture) -> None:
    """Of a, b, c, d one is down by its line, one by DownNodes, one only planned; partitions lose them too."""
    with caplog.at_level(logging.INFO):
        conf = read(
            "NodeName=a\nNodeName=b State=DOWN\nNodeName=d State=FUTURE\nNodeName=c\nDownNodes=c State=DOWN\n"
            "PartitionName=p Nodes=a,b,c\nPartitionName=empty Nodes=b"
        )
    assert list(conf.nodes) == ["a"]
    assert [(p["PartitionName"], p["Nodes"]) for p in conf.policy["partitions"]] == [("p", "ALL")]
    assert "3 nodes do not serve: b, c, d" in caplog.text


def test_keys_without_effect_are_named_once(read: Read, caplog: pytest.LogCaptureFixture) -> None:
    """In one note; those that are read are not in it."""
    with caplog.at_level(logging.INFO):
        read("KillWait=30\nSchedulerParameters=bf_continue,bf_window=9\nNodeName=a Port=1\nNodeName=b Port=2")
    assert caplog.text.count("without effect here: Port, KillWait, bf_continue\n") == 1


def test_without_slurmdbd_age_and_fair_share_are_ignored_as_slurm_says(
    read: Read, caplog: pytest.LogCaptureFixture
) -> None:
    """The controller logs the same."""
    with caplog.at_level(logging.INFO):
        conf = read("PriorityType=priority/multifactor\nPriorityWeightAge=5\nPriorityWeightJobSize=7")
    assert (conf.policy["PriorityWeightAge"], conf.policy["PriorityWeightJobSize"]) == (0, 7)
    assert "PriorityWeightAge ignored, as by Slurm without slurmdbd" in caplog.text


DUMP = """# To edit this file start with a cluster line for the new cluster
Cluster - 'ours':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'red':Description='red, a team':Organization='red':Fairshare=1:GrpTRES=gres/gpu=16,cpu=-1
Account - 'blue':Fairshare=3
Parent - 'blue'
Account - 'navy':Fairshare=2:GrpJobs=9
Parent - 'navy'
User - 'u4':DefaultAccount='navy':Fairshare=1:MaxJobs=3:MaxWallDurationPerJob=60
"""
QOS_TABLE = """Name|Priority|GraceTime|Preempt|PreemptMode|UsageFactor|GrpTRES|MaxWall|MaxTRESPU|MaxJobsPU
normal|0|00:00:00||cluster|1.000000||1-00:00:00||
high|10|00:02:00|normal|cluster|2.000000|gres/gpu=64||mem=500G|4
"""


def test_accounts_come_from_sacctmgr_dump_and_qos_from_its_table(read: Read) -> None:
    """Account navy is below blue, u4 a user of navy; two minutes of grace are 120 s; -1 is no limit."""
    text = "PreemptType=preempt/qos\nPreemptMode=REQUEUE\nAccountingStorageEnforce=safe\nInclude d\nInclude q"
    conf = read(text, {"d": DUMP, "q": QOS_TABLE})
    policy = Slurm(**conf.policy)
    assert policy.associations == (
        Association("red", Fairshare=1, GrpTRES={"gres/gpu": 16}),
        Association("blue", Fairshare=3),
        Association("navy", Parent="blue", Fairshare=2, GrpJobs=9),
        Association("navy", "u4", Fairshare=1, MaxJobs=3),
    )
    high = Qos("high", 10, ("normal",), GraceTime=120, UsageFactor=2, GrpTRES={"gres/gpu": 64},
               MaxTRESPerUser={"mem": 500}, MaxJobsPerUser=4)  # fmt: skip
    assert policy.qos == (Qos("normal"), high)


ASSOC = """Cluster|Account|User|Partition|Share|Priority|GrpJobs|GrpTRES|GrpSubmit|MaxJobs|QOS|Def QOS|
ours|root|||1||||||normal||
ours| root|root||1||||||normal||
ours| red|||1|||gres/gpu=16,cpu=-1|||normal||
ours| blue|||3||||||normal||
ours|  navy|||2||9||||normal||
ours|   navy|u4||1|||||3|normal||
"""


def test_accounts_come_from_the_table_of_sacctmgr_too(read: Read) -> None:
    """As in the dump above; the tree by indentation, or, flat, by the names of parents; -p ends rows by |."""
    wanted = Slurm(**read(DUMP).policy).associations
    assert Slurm(**read(ASSOC).policy).associations == wanted
    rows = [[cell.strip() for cell in row.split("|")] for row in ASSOC.splitlines()]
    parents = ["Par Name", "", "", "root", "root", "blue", ""]
    named = "\n".join("|".join([*row[:-1], parent]) for row, parent in zip(rows, parents, strict=True))
    assert Slurm(**read(named).policy).associations == wanted


def test_a_flat_table_of_accounts_says_that_it_may_lack_some(
    read: Read, caplog: pytest.LogCaptureFixture
) -> None:
    """Without indentation and `Par Name` navy is below root; the note has the command that tells more."""
    with caplog.at_level(logging.INFO):
        conf = read(
            "\n".join(
                row.replace("| ", "|").replace("| ", "|").replace("| ", "|") for row in ASSOC.split("\n")
            )
        )
    assert {one.Account: one.Parent for one in Slurm(**conf.policy).associations if not one.User} == {
        "red": "", "blue": "", "navy": "",
    }  # fmt: skip
    assert caplog.text.count("accounts below others (sacctmgr show assoc tree -p has them)") == 1
    with caplog.at_level(logging.INFO):
        caplog.clear()
        read(ASSOC)
    assert "accounts below others" not in caplog.text


def test_users_of_root_are_read_but_for_root_itself(read: Read) -> None:
    """Root's own user is there without a line."""
    dump = "Parent - 'root'\nUser - 'root':Fairshare=1\nUser - 'w':Fairshare=5\n"
    assert Slurm(**read(dump).policy).associations == (Association("root", "w", Fairshare=5),)


def test_qos_tables_end_rows_with_a_bar_or_not(read: Read) -> None:
    """`sacctmgr -p show qos` has one more bar than -P."""
    barred = "\n".join(f"{row}|" for row in QOS_TABLE.splitlines())
    assert read(barred).policy == read(QOS_TABLE).policy


def test_limits_count_where_slurm_enforces_them(read: Read) -> None:
    """A conf without AccountingStorageEnforce: shares stay, limits go; a dump alone keeps them."""
    assert Slurm(**read("KillWait=1\nInclude d", {"d": DUMP}).policy).associations[0] == Association("red")
    assert Slurm(**read(DUMP).policy).associations[0].GrpTRES == {"gres/gpu": 16}


def test_qos_lines_of_a_newer_dump(read: Read) -> None:
    """`sacctmgr dump` of 24 and later has QOS, with the long names of limits."""
    dump = "QOS - 'high':Priority=10:MaxTRESPerUser=gres/gpu=8:MaxJobsPerUser=2:Flags=None\nCluster - 'a'"
    assert Slurm(**read(dump).policy).qos == (
        Qos("high", 10, MaxTRESPerUser={"gres/gpu": 8}, MaxJobsPerUser=2),
    )


SHOWN = """Configuration data as of 2026-03-01T10:00:00
AccountingStorageEnforce = associations,limits
AccountingStorageType   = accounting_storage/slurmdbd
BOOT_TIME               = 2026-02-20T09:00:00
FairShareDampeningFactor = 1
GpuFreqDef              = (null)
JobSubmitPlugins        = (null)
KillWait                = 30 sec
Licenses                = (null)
PreemptExemptTime       = 00:00:00
PreemptMode             = REQUEUE
PreemptType             = preempt/partition_prio
PriorityCalcPeriod      = 00:05:00
PriorityDecayHalfLife   = 14-00:00:00
PriorityFavorSmall      = No
PriorityFlags           = NO_FAIR_TREE
PriorityMaxAge          = 7-00:00:00
PriorityType            = priority/multifactor
PriorityUsageResetPeriod = NONE
PriorityWeightAge       = 0
PriorityWeightFairShare = 1000
PriorityWeightTRES      = (null)
JobRequeue              = 1
SchedulerParameters     = bf_window=4320,bf_max_job_test=2500
SchedulerType           = sched/backfill
SelectType              = select/cons_tres
SelectTypeParameters    = CR_CORE_MEMORY
TopologyParam           = (null)
TopologyPlugin          = topology/none

Cgroup Support Configuration:
AllowedRAMSpace         = 100.0%

Slurmctld(primary) at head is UP
"""


def test_scontrol_show_config_is_read(read: Read) -> None:
    """Effective values with defaults, times with seconds, (null) for none."""
    assert Slurm(**read(SHOWN).policy) == Slurm(
        SchedulerType="sched/backfill", bf_window=4320, bf_max_job_test=2500,
        PriorityType="priority/multifactor", PriorityWeightFairshare=1000,
        PriorityMaxAge="7-00:00:00", PriorityDecayHalfLife="14-00:00:00",
        PriorityCalcPeriod="00:05:00", PriorityFlags=("NO_FAIR_TREE",), PreemptType="preempt/partition_prio",
        PreemptMode="REQUEUE",
    )  # fmt: skip


# --- the layouts of public configurations, with names and numbers of our own


def test_the_layout_of_a_university_cluster(read: Read) -> None:
    """As of slurm_sim_tools: DEFAULT lines that add up, types of GPUs, a tree with nodes that are gone."""
    conf = read(
        "SelectType=select/cons_tres\nTopologyPlugin=topology/tree\nGresTypes=gpu\n"
        "NodeName=DEFAULT RealMemory=187000 Sockets=2 CoresPerSocket=16 Weight=60\n"
        "NodeName=n[01-04] Feature=OPA\nNodeName=gn[1-2] Gres=gpu:tesla_p100-pcie-16gb:2 Weight=190\n"
        "NodeName=DEFAULT CPUs=40 RealMemory=754000 ThreadsPerCore=1\nNodeName=b[1-2] Feature=IB\n"
        "PartitionName=DEFAULT State=UP DefaultTime=24:00:00 MaxTime=72:00:00\n"
        "PartitionName=general Nodes=n[01-04],b[1-2] Default=YES Priority=100 AllowQOS=general\n"
        "PartitionName=debug Nodes=gn[1-2] MaxTime=01:00:00\n",
        {
            "topology.conf": "SwitchName=N Nodes=n[01-99],gn[1-2]\nSwitchName=B Nodes=b[1-9]\n"
            "SwitchName=TOP Switches=N,B\n",
            "gres.conf": "AutoDetect=off\nNodeName=gn[1-2] Name=gpu Count=2\n",
        },
    )
    assert {name: (node.cpus, node.gpus, node.weight) for name, node in conf.nodes.items()} == {
        "b1": (40, 0, 60), "b2": (40, 0, 60), "gn1": (32, 2, 190), "gn2": (32, 2, 190),
        "n01": (32, 0, 60), "n02": (32, 0, 60), "n03": (32, 0, 60), "n04": (32, 0, 60),
    }  # fmt: skip
    assert conf.is_tree
    assert conf.leaves == {"n01": 0, "n02": 0, "n03": 0, "n04": 0, "gn1": 0, "gn2": 0, "b1": 1, "b2": 1}
    assert [partition["MaxTime"] for partition in conf.policy["partitions"]] == ["72:00:00", "01:00:00"]


def test_the_layout_of_a_generated_dgx_cluster(fill: Fill) -> None:
    """As of deepops' template: a line per node with indentation, CPUs beside Procs, GPUs without type."""
    nodes = "".join(
        f"    NodeName=dgx{i} Gres=gpu:8  CPUs=224 Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 Procs=112 "
        "RealMemory=2063937 State=UNKNOWN\n"
        for i in (1, 2)
    )
    config = fill(
        "ClusterName=deepops\nSlurmctldHost=login1\nPrologFlags=Alloc,Serial,Contain\nTaskPlugin=affinity,cgroup\n"
        "SchedulerType=sched/backfill\nSelectType=select/cons_tres\n#PriorityType=priority/multifactor\n"
        "SelectTypeParameters=CR_Core_Memory,CR_CORE_DEFAULT_DIST_BLOCK,CR_ONE_TASK_PER_CORE\nGresTypes=gpu\n"
        f"{nodes}\nPartitionName=batch Nodes=ALL Default=YES State=UP OverSubscribe=NO MaxTime=INFINITE\n"
    )
    (group,) = config["cluster"]["machines"]
    facts = config["topology"]["machine_types"][group["type"]]
    assert (facts["gpus"], facts["cpus"], facts["memory_gib"]) == (8, 224, 2063937 / 1024)
    assert group["names"] == ["dgx1", "dgx2"]


def test_the_layout_of_a_cloud_cluster(read: Read) -> None:
    """As of aws-parallelcluster: generated files by absolute paths, node sets, two weights."""
    conf = read(
        "ClusterName=parallelcluster\nSelectType=select/cons_tres\ninclude generated/slurm_cluster.conf\n",
        {
            "generated/slurm_cluster.conf": "SlurmctldHost=i(p)\nSuspendTime=6\nSelectTypeParameters=CR_CPU\n"
            "include /opt/slurm/etc/pcluster/slurm_gpu_partition.conf\nSuspendExcNodes=gpu-st-p4d-[1-1]\n",
            "generated/pcluster/slurm_gpu_partition.conf": "NodeName=gpu-st-p4d-[1-1] CPUs=48 "
            "State=CLOUD Feature=static,gpu Weight=1 Gres=gpu:a100:8\nNodeName=gpu-dy-p4d-[1-3] CPUs=48 "
            "RealMemory=700000 State=CLOUD Feature=dynamic,gpu Weight=1001 Gres=gpu:a100:8\n\n"
            "NodeSet=gpu_nodes Nodes=gpu-st-p4d-[1-1],gpu-dy-p4d-[1-3]\nNodeSet=st Feature=static\n"
            "PartitionName=gpu Nodes=gpu_nodes MaxTime=INFINITE Default=YES\nPartitionName=st Nodes=st\n",
        },
    )
    assert list(conf.nodes) == ["gpu-dy-p4d-1", "gpu-dy-p4d-2", "gpu-dy-p4d-3", "gpu-st-p4d-1"]
    assert conf.policy["Weight"] == {1001: "gpu-dy-p4d-1,gpu-dy-p4d-2,gpu-dy-p4d-3", 1: "gpu-st-p4d-1"}
    first, second = conf.policy["partitions"]
    assert first["Nodes"] == "ALL", "a list of all nodes"
    assert second["Nodes"] == "gpu-st-p4d-1"


def test_the_layout_of_a_cluster_that_gives_whole_nodes(fill: Fill) -> None:
    """As of savio: names with dots and two ranges, keys of any case, partitions with and without sharing."""
    config = fill(
        "NodeName=n0[004-005,100].s[1] CPUs=20\nNodeName=n0[012-013].s[2] CPUs=8 Gres=gpu:4\n"
        "PriorityWeightPartition=0\n"
        "PartitionName=s   Nodes=n0[004-005,100].s[1] \t Oversubscribe=Exclusive DefMemPerNode=64000\n"
        "PartitionName=gpu Nodes=n0[012-013].s[2] Default=yes Oversubscribe=Yes DefMemPerCPU=8000\n",
        workload={"jobs": 3},
    )
    assert [one.OverSubscribe for one in Slurm(**_of_policy(config)).partitions] == ["EXCLUSIVE", "NO"]
    names = [machine.name for machine in build(check_config(config)).cluster.machines]
    assert names == ["n0004.s1", "n0005.s1", "n0012.s2", "n0013.s2", "n0100.s1"]


def test_the_layout_of_a_factory_of_one_exclusive_partition(read: Read) -> None:
    """As of generated files for training alone: the default partition gives whole nodes of eight GPUs."""
    conf = read(
        "NodeName=h1 CPUs=224 RealMemory=1800000 Gres=gpu:8 State=UNKNOWN\n"
        "PartitionName=training Nodes=h1 Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE"
    )
    (partition,) = Slurm(**conf.policy).partitions
    assert (partition.OverSubscribe, partition.Default) == ("EXCLUSIVE", True)


def _of_policy(config: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of the policy."""
    return {name: value for name, value in config["policy"].items() if name != "_target_"}


# --- what a real Slurm ran with

KINDS: dict[str, dict[str, Any]] = {  # by hand, from the README there
    "builtin": {"SchedulerType": "sched/builtin"},
    "backfill": {},
    "window": {"bf_window": 2},
    "multifactor": {
        "PriorityType": "priority/multifactor", "PriorityWeightJobSize": 2000,
        "PriorityWeightPartition": 3000, "PriorityCalcPeriod": 1, "PriorityMaxAge": "0-00:10:00",
        "partitions": (Partition("gpu", Default=True), Partition("urgent", PriorityJobFactor=10)),
    },
    "preempt": {
        "PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE",
        "partitions": (
            Partition("gpu", Default=True, PreemptMode="REQUEUE"),
            Partition("urgent", PriorityTier=10, PreemptMode="OFF"),
        ),
    },
    "qos": {
        "PriorityType": "priority/multifactor", "PriorityWeightQOS": 10000, "PriorityWeightAge": 100,
        "PriorityMaxAge": "0-00:10:00", "PreemptType": "preempt/qos", "PreemptMode": "REQUEUE",
    },
    "quota": {},
    "fairshare": {
        "PriorityType": "priority/multifactor", "PriorityWeightFairshare": 100_000,
        "PriorityDecayHalfLife": "00:10:00", "PriorityCalcPeriod": 1, "PriorityFlags": ("NO_FAIR_TREE",),
    },
    "tree": {"TopologyPlugin": "topology/tree"},
}  # fmt: skip


def test_the_configurations_of_a_real_slurm_are_read_as_they_lie_there(shared: Path) -> None:
    """The nine kinds of ../shared/reference/slurm, each equal to its preset by hand, less sacctmgr's part."""
    files = sorted((shared / "reference" / "slurm").glob("*.conf"))
    if not files:
        pytest.skip("no configurations there")
    for file in files:
        common = {"bf_interval": 2, "bf_resolution": 1, "default_queue_depth": 1000, "bf_max_job_test": 1000}
        common["OverTimeLimit"] = 5
        policy = Slurm(
            **{"partitions": (Partition("gpu", Default=True),), **common, **KINDS[file.stem.split("_")[0]]}
        )
        assert Slurm(**SlurmConf([file]).policy) == policy, file.name
    assert {file.stem.split("_")[0] for file in files} == {*KINDS}


def test_more_machines_are_named_for_the_last_of_their_group(fill: Fill) -> None:
    """What-if of two more nodes: they serve a partition of all; of two fewer: the last are gone."""
    text = "NodeName=n[1-4] Gres=gpu:8\nPartitionName=a Nodes=n[1-4]\n"
    names = {
        more: [
            machine.name
            for machine in build(
                check_config(fill(text, cluster={"more": more}, workload={"jobs": 3}))
            ).cluster.machines
        ]
        for more in (2, -2)
    }
    assert names == {2: ["n1", "n2", "n3", "n4", "n4+1", "n4+2"], -2: ["n1", "n2"]}


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "b", "c"]])
def test_names_of_machines_are_one_each(names: list[str], fill: Fill) -> None:
    """Two machines of a group; another number of names, or one twice, is refused."""
    group = {"type": "dgx_h100", "count": 2, "names": names}
    with pytest.raises(InputError, match=r"names for 2 machines|two machines have one name"):
        build(check_config(fill("KillWait=1", cluster={"machines": [group]})))
