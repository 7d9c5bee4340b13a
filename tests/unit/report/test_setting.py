"""The line on what was simulated."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from artist.report.words.setting import setting
from artist.results.compare import compare
from artist.results.folder import read_run

FREE = dict.fromkeys(("start_s", "resume_s", "restart_s", "migrate_s", "resize_s", "retune_s"), 0)
CONFIG: dict[str, Any] = {
    "policy": {"name": "fifo"},
    "seed": 0,
    "topology": {
        "name": "three",
        "machines_per_rack": 8,
        "default_machine_type": "box",
        "machine_types": {"box": {"gpus": 4, "gpu_type": "V100"}, "plain": {"gpus": 0, "cpus": 28}},
    },
    "workload": {"_target_": "artist.workload.readers.helios.HeliosTrace", "path": "/data/venus.csv"},
    "arrivals": {"_target_": "artist.workload.arrivals.TraceArrivals"},
    "network": {"model": {"_target_": "netmodels.models.analytical.AnalyticalModel"}},
    "estimates": {"_target_": "artist.performance.estimates.Exact"},
    "overheads": {**FREE, "on_stop": "lose_iteration"},
}


def joined(topics: Sequence[tuple[str, str]]) -> str:
    """Return topics and sentences as one text."""
    return " ".join(f"{topic}: {text}" for topic, text in topics)


@pytest.fixture
def said(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., str]:
    """Write a run for each config, and return what is said of them."""

    def make(*configs: dict[str, Any], gpus: tuple[float, ...] = ()) -> str:
        folders = [run_folder(tmp_path / str(i), config) for i, config in enumerate(configs)]
        return joined(setting(compare([read_run(folder) for folder in folders]), gpus))

    return make


def test_everything_that_is_known_is_said(said: Callable[..., str]) -> None:
    """Trace, machines, network and what costs nothing."""
    assert said(CONFIG, gpus=(64.0, 32.0, 32.0)) == (
        "Workload: venus.csv, read by Helios; arrivals as in the trace. "
        "Cluster: topology three; 4 GPUs (V100) a machine, 8 machines a rack; 32 and 64 GPUs in all. "
        "Network model: analytical. "
        "Assumed: starting, moving and preempting a job cost no time; a stopped job loses its unfinished "
        "iteration; policies that ask for durations are told the true ones."
    )


@pytest.mark.parametrize(
    ("measured_on", "speeds", "words"),
    [
        (("cluster", "cluster"), (0.25, 1.0), "so speeds of GPUs are not compared"),
        (("V100", "V100"), (0.25, 1.0), "durations as measured on V100: speeds of GPUs are compared"),
        (
            ("V100", "cluster"),
            (0.25, 1.0),
            "compared only where durations are not taken as the cluster's own",
        ),
        (("cluster", "cluster"), (0.25, 0.25), ""),
        ((None, None), (0.25, 1.0), ""),  # a run from before this could be said
    ],
)
def test_different_gpus_are_compared_by_speed_or_not(
    said: Callable[..., str], measured_on: tuple[object, ...], speeds: tuple[float, ...], words: str
) -> None:
    """Each cluster's durations are its own, unless they are said to hold for GPUs of one kind."""
    configs = []
    for each, speed in zip(measured_on, speeds, strict=True):
        types = {"box": {"gpus": 4, "gpu_type": "V100", "speed": speed}}
        workload = CONFIG["workload"] | ({} if each is None else {"measured_on": each})
        topology = CONFIG["topology"] | {"machine_types": types}
        configs.append(CONFIG | {"workload": workload, "topology": topology})
    text = said(*configs)
    assert words in text
    assert bool(words) == ("compared" in text)


def test_machines_without_gpus_have_no_speed_to_compare(said: Callable[..., str]) -> None:
    """The second cluster has the V100 of the first, and a machine without GPUs."""
    types = {"box": {"gpus": 4, "gpu_type": "V100", "speed": 1}, "plain": {"gpus": 0, "speed": 1}}
    base = CONFIG | {
        "topology": CONFIG["topology"] | {"machine_types": types},
        "workload": CONFIG["workload"] | {"measured_on": "cluster"},
    }
    mixed = base | {"cluster": {"machines": [{"type": kind, "count": 1} for kind in types]}}
    text = said(base, mixed)
    assert "1 machine without GPUs (plain)" in text
    assert "compared" not in text


@pytest.mark.parametrize(("groups", "differ"), [(1, False), (2, True)])
def test_clusters_of_lists_differ_by_their_machines(
    said: Callable[..., str], groups: int, differ: bool
) -> None:
    """One cluster has V100 only, the other a list: of V100, or of V100 and T4."""
    types = {"a": {"gpu_type": "V100", "speed": 0.25}, "b": {"gpu_type": "T4", "speed": 0.1}}
    topology = CONFIG["topology"] | {"machine_types": types, "default_machine_type": "a"}
    base = CONFIG | {"topology": topology, "workload": CONFIG["workload"] | {"measured_on": "cluster"}}
    pools = [{"type": "a", "count": 1}, {"type": "b", "count": 1}]
    text = said(base, base | {"cluster": {"machines": pools[:groups]}})
    assert ("not compared" in text) == differ


def test_delays_of_the_jobs_are_not_called_free(run_folder: Callable[..., Path], tmp_path: Path) -> None:
    """The config has no delays, but starts and moves took time: jobs of some traces bring their own."""
    text = joined(setting(compare([read_run(run_folder(tmp_path / "run", CONFIG))]), delayed=True))
    assert "Assumed: delays as jobs state them; " in text
    assert "cost no time" not in text


@pytest.mark.parametrize(
    ("section", "values"), [("overheads", {**FREE, "notice_s": 300}), ("estimates", {"charge": True})]
)
def test_overheads_that_the_config_explains_are_not_the_jobs(
    run_folder: Callable[..., Path], tmp_path: Path, section: str, values: dict[str, Any]
) -> None:
    """Finishes noticed late, and measurements that are charged, cost jobs time that no job states."""
    folder = run_folder(tmp_path / "run", CONFIG | {section: values})
    text = joined(setting(compare([read_run(folder)]), delayed=True))
    assert "Assumed: starting, moving and preempting a job cost no time; " in text


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("derived.DerivedTrace", "jobs drawn as in the Synergy paper; arrivals as generated."),
        ("coda.CodaTrace", "jobs drawn as in the CODA paper; arrivals as generated."),
        ("synthetic.Synthetic", "synthetic jobs; arrivals as generated; model VGG11 where jobs name none."),
    ],
)
def test_models_are_not_drawn_where_the_source_names_them(
    said: Callable[..., str], source: str, words: str
) -> None:
    """Jobs of the Synergy paper name their models, so the rule for others is of no matter."""
    models = {"rule": "fixed", "name": "VGG11"}
    assert f"Workload: {words}" in said(CONFIG | {"workload": {"_target_": source, "models": models}})


def test_nothing_is_said_of_what_is_not_known(said: Callable[..., str]) -> None:
    """A config of policy and seed alone, as somebody else's program may have written it."""
    assert said({"policy": {"name": "fifo"}, "seed": 0}, gpus=(4.0,)) == ""


@pytest.mark.parametrize(
    ("section", "values", "words"),
    [
        (
            "workload",
            {"_target_": "a.SyntheticTrace", "preset": "philly"},
            "synthetic jobs like those of philly",
        ),
        ("arrivals", {"_target_": "a.PoissonArrivals", "load": 0.9}, "Poisson arrivals at load 0.9"),
        (
            "arrivals",
            {"_target_": "a.PoissonArrivals", "jobs_per_hour": 9},
            "Poisson arrivals, 9 jobs an hour",
        ),
        ("arrivals", {"_target_": "a.BatchArrivals"}, "all jobs arrive at once"),
        ("arrivals", {"_target_": "mine.Sudden"}, "arrivals by Sudden"),
        ("network", {"model": {"_target_": "a.ZeroModel"}}, "none, communication takes no time"),
        ("overheads", {**FREE, "migrate_s": 5}, "delays while GPUs are held: a move 5 s"),
        ("overheads", {**FREE, "table": "/x/delays.csv"}, "delays by model and GPUs from delays.csv"),
        ("overheads", {"on_stop": "keep"}, "Assumed: a stopped job loses no work"),
        ("estimates", {"_target_": "a.Noise", "level": 0.2}, "noisy ones (level 0.2)"),
        ("estimates", {"_target_": "a.OptimisticProfiling", "charge": False}, "and the rest filled in"),
        ("estimates", {"_target_": "a.OptimisticProfiling", "charge": False}, "; measuring takes no time."),
        (
            "estimates",
            {"_target_": "a.OptimisticProfiling", "charge": True},
            "in; measuring delays first runs",
        ),
        ("estimates", {"_target_": "a.OptimisticProfiling", "noise": 0}, "; measurements are exact."),
        (
            "estimates",
            {"_target_": "a.OptimisticProfiling", "noise": 0.1},
            "; measurements are up to 10 % off.",
        ),
        (
            "performance",
            {"sensitivity": "/x/own.yaml", "stall": "curve"},
            "to GPUs (performance.sensitivity=own.yaml).",
        ),
        ("performance", {"sensitivity": "synergy", "stall": "step"}, ", and change at the best case only."),
        (
            "performance",
            {"sensitivity": "coda", "measured_with": "request"},
            "for the CPUs and memory asked for (performance.sensitivity=coda).",
        ),
        (
            "overheads",
            {"on_stop": "lose_iteration", "cpu_on_stop": "lose_all"},
            "a stopped job loses its unfinished iteration, a stopped CPU-only job starts over;",
        ),
        ("performance", {"whole_iterations_s": 300.0}, "; whole iterations in rounds of 300 s."),
        ("overheads", {**FREE, "start_s": 1, "notice_s": 300}, "1 s; finishes are noticed every 300 s;"),
        ("cluster", {"machines": 4, "failures": {"mtbf_h": 9}}, "machines fail at random"),
        ("cluster", {"machines": [{"type": "box", "count": 1}]}, "; 1 machine of 4 GPUs (V100), 8 machines"),
        (
            "cluster",
            {"machines": [{"type": "box", "count": n, "pool": pool} for n, pool in ((2, "a"), (3, "b"))]},
            "; 2 machines of 4 GPUs (V100) for a, 3 machines of 4 GPUs (V100) for b, 8 machines a rack",
        ),
        (
            "cluster",
            {"machines": [{"type": "box", "count": 8}, {"type": "plain", "count": 1}]},
            "; 8 machines of 4 GPUs (V100), 1 machine without GPUs (plain, 28 CPUs each), 8 machines a rack",
        ),
        ("workload", {"_target_": "a.LyraTrace"}, "jobs drawn as in the Lyra paper; arrivals as generated"),
        (
            "signals",
            {"_target_": "a.InferenceUse", "trough": 0.42, "mean": 0.65, "peak": 0.95},
            "; inference uses 42 % to 95 % of its machines, 65 % on average.",
        ),
    ],
)
def test_parts_have_their_words(
    said: Callable[..., str], section: str, values: dict[str, Any], words: str
) -> None:
    """Each choice of a part of the configuration, one at a time; delays that are not 0 are never called 0."""
    text = said(CONFIG | {section: values})
    assert words in text
    assert ("cost no time" in text) is (section != "overheads")


def test_what_differs_is_told_in_all_its_kinds(said: Callable[..., str]) -> None:
    """Two network models are both named; four would be left to the table."""
    kinds = ("Analytical", "Zero", "Packet", "Other")
    configs = [CONFIG | {"network": {"model": {"_target_": f"n.{kind}Model"}}} for kind in kinds]
    assert "Network model: analytical or none, communication takes no time." in said(*configs[:2])


def test_what_differs_too_much_is_left_to_the_table(said: Callable[..., str]) -> None:
    """Four network models."""
    configs = [CONFIG | {"network": {"model": {"_target_": f"n.M{i}Model"}}} for i in range(4)]
    assert "Network model" not in said(*configs)


@pytest.mark.parametrize(
    ("nccl", "source"), [(None, "derived from data sheets"), ({"a": 1}, "of the topology's nccl section")]
)
def test_whose_collectives_is_said(said: Callable[..., str], nccl: object, source: str) -> None:
    """The model's name alone does not tell NCCL's collectives from ASTRA-sim's."""
    network = {**CONFIG["network"], "system": {"collectives": "nccl"}}
    config = {**CONFIG, "network": network, "topology": {**CONFIG["topology"], "nccl": nccl}}
    assert f"analytical, collectives as NCCL's, parameters {source}." in said(config)


def test_collectives_are_astra_sims_where_nobody_chose(said: Callable[..., str]) -> None:
    """A config of null keeps what the topology says, and this one says nothing."""
    config = {**CONFIG, "network": {**CONFIG["network"], "system": {"collectives": None}}}
    assert "analytical, collectives as ASTRA-sim's." in said(config)
