"""The sentences on what was simulated, which parts write into summary.json at the run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from artist.app.composing import composed
from artist.data import data_path
from artist.performance.estimates import Exact
from artist.run.build import build, check_config
from artist.run.setting import Setting, of_preset
from artist.run.user_folder import put_on_path

Described = Callable[..., str]
TINY = ("workload=csv", f"workload.path={data_path('traces', 'tiny.csv')}")
LYRA = (
    "workload=lyra",
    "workload.training_gpus=16",
    "workload.jobs=30",
    "workload.queueing_s=null",
    "topology=v100_t4_pools",
    "cluster.machines=[{type: v100_8gpu, count: 2, pool: training}, "
    "{type: t4_8gpu, count: 1, pool: inference}]",
)
PROFILED = ("estimates=optimistic_profiling", "performance.sensitivity=synergy")


@pytest.fixture
def described() -> Described:
    """Return a function that builds a run, of the tiny trace by default, and joins its sentences."""

    def describe(*overrides: str) -> str:
        source = () if any(override.startswith("workload=") for override in overrides) else TINY
        topics = build(check_config(composed([*source, "network.cache=null", *overrides]))).setting
        return " ".join(f"{topic}: {'; '.join(texts.values())}." for topic, texts in topics.items())

    return describe


def test_every_known_setting_is_described(described: Described) -> None:
    """Policy, trace, machines, network, and what costs nothing; 2 racks of 8 machines with 8 GPUs."""
    assert described("policy=tiresias") == (
        "Policy: Tiresias: discretised two-dimensional least-attained-service with placement by skew. "
        "Workload: tiny.csv, read as CSV; jobs arrive at the times of this source; a job that names no model "
        "trains one of AlexNet, VGG11, MobileNetV3, ResNet18, ResNet50, BERT-large, all equally likely. "
        "Cluster: topology dgx_h100_3tier; 8 GPUs (H100) per machine, 8 machines per rack; 128 GPUs in all. "
        "Network model: analytical, with the collectives of NCCL and parameters from data sheets. "
        "Assumed: starting, moving and preempting a job cost no time, and a stopped job loses its unfinished "
        "iteration; policies that use run times know the true ones."
    )


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            ("workload=synthetic", "workload.preset=philly"),
            "Workload: drawn jobs that resemble those of Philly;",
        ),
        (("workload=synergy", "workload.jobs=9"), "jobs drawn as in the Synergy paper; jobs arrive at the"),
        (
            ("workload=coda", "workload.gpus=10", "workload.days=1", "topology=pcie_10g"),
            "jobs drawn as in the CODA paper; jobs arrive at the times of this source. Cluster",
        ),
        (LYRA, "the times of this source; a job that names no model trains one of"),
        (
            LYRA,
            "2 machines of 8 GPUs (V100) for training, 1 machine of 8 GPUs (T4) for inference, ",
        ),
        (
            (*LYRA, "signals=inference"),
            "; inference uses 42% to 95% of its machines, 65% on average.",
        ),
        (("workload.models={rule: fixed, name: VGG11}",), "; a job that names no model trains VGG11."),
        (("arrivals=poisson", "arrivals.load=0.9"), "; Poisson arrivals at load 0.9;"),
        (
            ("arrivals=poisson", "arrivals.load=null", "arrivals.jobs_per_hour=9"),
            "; Poisson arrivals, 9 jobs per hour;",
        ),
        (("arrivals=batch",), "; all jobs arrive at once;"),
        (("arrivals=compress", "arrivals.load=0.9"), "; arrivals squeezed or stretched to load 0.9;"),
        (("network=zero",), "Network model: none, communication takes no time."),
        (("network.system.preset=machines",), "analytical, with the collectives of NCCL"),
        (("network.system.preset=papers",), "analytical, with the collectives of ASTRA-sim."),
        # the topology's settings come before the preset, the command line's before both
        (("topology=dally_code", "network.system.preset=machines"), "collectives of ASTRA-sim."),
        (("topology=hgx_h100_ib400", "network.system.preset=papers"), "collectives of NCCL and"),
        (("network.system.preset=machines", "network.system.collectives=astra_sim"), "of ASTRA-sim."),
        (
            ("network.system.collectives=nccl",),
            "analytical, with the collectives of NCCL and parameters from data sheets.",
        ),
        (
            ("overheads.migrate_s=5",),
            "Assumed: delays while GPUs are held: a move 5 s, and a stopped job loses",
        ),
        (("overheads.notice_s=300",), "cost no time, and finishes are noticed every 300 s, and a stopped"),
        (("overheads.on_stop=keep",), ", and a stopped job loses no work;"),
        (
            ("overheads.cpu_on_stop=lose_all",),
            "unfinished iteration, and a stopped CPU-only job starts over;",
        ),
        (("estimates=noise", "estimates.level=0.1"), "ones that are wrong by up to 10%."),
        (("estimates=wrong_fraction", "estimates.fraction=0.3"), "believe wrong ones for 30% of the jobs."),
        (
            (*PROFILED, "estimates.charge=true", "estimates.noise=0.1"),
            "and the rest filled in, measuring delays first runs, and measurements are up to 10% off.",
        ),
        (
            (*PROFILED, "estimates.charge=false", "estimates.noise=0"),
            "measuring takes no time, and measurements are exact.",
        ),
        (
            ("performance.sensitivity=synergy",),
            "run times hold for CPUs and memory in proportion to GPUs (performance.sensitivity=synergy).",
        ),
        (
            ("performance.sensitivity=coda", "performance.measured_with=request"),
            "run times hold for the CPUs and memory asked for (performance.sensitivity=coda).",
        ),
        (("cluster.failures=rsc2",), "in all; machines fail at random."),
        (
            ("policy=srtf",),
            "shortest remaining time first; a job may start before an earlier one that does not fit; "
            "each job gets as few machines as possible; running jobs are preempted",
        ),
    ],
)
def test_parts_describe_themselves(described: Described, overrides: tuple[str, ...], words: str) -> None:
    """Each part gives its own sentence; delays that are not 0 are never called 0."""
    text = described(*overrides)
    assert words in text
    assert ("cost no time" in text) is not any("migrate_s" in override for override in overrides)


def test_a_users_part_gives_its_own_sentence(tmp_path: Path) -> None:
    """`describe` is used where a part has it; otherwise its class is named, and of a policy its docstring."""
    source = '''
"""Shrink jobs that wait."""
class Mine:
    def decide(self, view): ...
class Sudden:
    def apply(self, table, cluster_gpus): return table
class Slow:
    part = "interference_ns"
    def ns(self, spec, allocation, cluster, compute_ns): return 0
    def describe(self): return "every iteration waits for nothing"
'''
    (tmp_path / "mine_described.py").write_text(source)
    put_on_path(tmp_path)
    raw = composed([*TINY, "network.cache=null", "performance.effects=[{_target_: mine_described.Slow}]"])
    raw |= {"policy": {"_target_": "mine_described.Mine"}, "arrivals": {"_target_": "mine_described.Sudden"}}
    setting = build(check_config(raw)).setting
    assert setting["Policy"]["policy"] == "Shrink jobs that wait"
    assert setting["Workload"]["arrivals"] == "arrivals by Sudden"
    assert "every iteration waits for nothing" in setting["Assumed"].values()


@pytest.mark.parametrize(("policy", "knowledge"), [("sjf", ["knows run times in advance"]), ("fifo", [])])
def test_partitions_are_described_by_the_policy_inside(policy: str, knowledge: list[str]) -> None:
    """Shortest job first knows run times in each virtual cluster, too; first come, first served does not."""
    site = (
        f"workload.path={data_path('traces', 'site.csv')}",
        "cluster=partitions",
        "cluster.shares=largest",
    )
    words = composed(["workload=csv", *site, "network=zero", f"policy={policy}"])
    rule, *known = build(check_config(words)).setting["Policy"].values()
    assert rule.endswith("; each virtual cluster on its own machines")
    assert known == knowledge


def test_a_baseline_is_described_by_its_preset(tmp_path: Path) -> None:
    """Lyra's class serves baselines without loans, whose text differs; a user's preset comes first."""
    setting: Setting = {"Policy": {"policy": "Lyra: idle inference machines on loan"}}

    def text(policy: object, preset: str) -> str:
        return of_preset(setting, policy, preset, [tmp_path])["Policy"]["policy"]

    assert text(object(), "lyra_gandiva").startswith("Gandiva's elastic scaling")
    assert text(object(), "network_aware(dally)").endswith("; around dally")
    assert text(object(), "unknown") == setting["Policy"]["policy"]
    assert text(Exact(), "lyra_gandiva") == setting["Policy"]["policy"]  # it describes itself
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "lyra_gandiva.yaml").write_text("# Mine. More.\norder: fifo\n")
    assert text(object(), "lyra_gandiva") == "Mine"
