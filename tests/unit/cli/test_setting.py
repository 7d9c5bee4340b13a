"""The sentences on what was simulated, which parts write into summary.json at the run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from artist.app.composing import composed
from artist.data import data_path
from artist.run.build import build, check_config
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
        "Workload: tiny.csv, read as CSV; arrivals as in the source; models drawn evenly from "
        "AlexNet, VGG11, MobileNetV3, ResNet18, ResNet50, BERT-large where jobs name none. "
        "Cluster: topology dgx_h100_3tier; 8 GPUs (H100) per machine, 8 machines per rack; 128 GPUs in all. "
        "Network model: analytical, collectives as NCCL's, parameters derived from data sheets. "
        "Assumed: starting, moving and preempting a job cost no time, and a stopped job loses its unfinished "
        "iteration; policies that ask for durations are told the true ones."
    )


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("workload=synthetic", "workload.preset=philly"), "Workload: synthetic jobs like those of Philly;"),
        (("workload=synergy", "workload.jobs=9"), "jobs drawn as in the Synergy paper; arrivals as in the"),
        (
            ("workload=coda", "workload.gpus=10", "workload.days=1", "topology=pcie_10g"),
            "jobs drawn as in the CODA paper; arrivals as in the source. Cluster",
        ),
        (LYRA, "jobs drawn as in the Lyra paper; arrivals as in the source; models drawn evenly from"),
        (
            LYRA,
            "2 machines of 8 GPUs (V100) for training, 1 machine of 8 GPUs (T4) for inference, ",
        ),
        (
            (*LYRA, "signals=inference"),
            "; inference uses 42% to 95% of its machines, 65% on average.",
        ),
        (("workload.models={rule: fixed, name: VGG11}",), "; model VGG11 where jobs name none."),
        (("arrivals=poisson", "arrivals.load=0.9"), "; Poisson arrivals at load 0.9;"),
        (
            ("arrivals=poisson", "arrivals.load=null", "arrivals.jobs_per_hour=9"),
            "; Poisson arrivals, 9 jobs per hour;",
        ),
        (("arrivals=batch",), "; all jobs arrive at once;"),
        (("arrivals=compress", "arrivals.load=0.9"), "; arrivals squeezed or stretched to load 0.9;"),
        (("network=zero",), "Network model: none, communication takes no time."),
        (("network.system.preset=machines",), "analytical, collectives as NCCL's,"),
        (("network.system.preset=papers",), "analytical, collectives as ASTRA-sim's."),
        # the topology's settings come before the preset, the command line's before both
        (("topology=dally_code", "network.system.preset=machines"), "collectives as ASTRA-sim's."),
        (("topology=hgx_h100_ib400", "network.system.preset=papers"), "collectives as NCCL's,"),
        (("network.system.preset=machines", "network.system.collectives=astra_sim"), "as ASTRA-sim's."),
        (
            ("network.system.collectives=nccl",),
            "analytical, collectives as NCCL's, parameters derived from data sheets.",
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
        (("estimates=noise", "estimates.level=0.1"), "are told noisy ones (level 0.1)."),
        (("estimates=wrong_fraction", "estimates.fraction=0.3"), "are told wrong ones of 30% of the jobs."),
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
            "shortest remaining time first; jobs that fit overtake; as few machines per job as possible; "
            "running jobs are stopped",
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
