"""The topics on what was simulated, from the sentences that runs wrote."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from artist.report.words.setting import setting
from artist.results.compare import compare
from artist.results.folder import read_run

CONFIG: dict[str, Any] = {
    "policy": {"name": "fifo"},
    "seed": 0,
    "topology": {
        "name": "three",
        "machines_per_rack": 8,
        "default_machine_type": "box",
        "machine_types": {"box": {"gpus": 4, "gpu_type": "V100"}, "plain": {"gpus": 0, "cpus": 28}},
    },
}
SENTENCES: dict[str, dict[str, str]] = {
    "Policy": {"policy": "jobs run by arrival"},
    "Workload": {"source": "venus.csv, read by Helios", "arrivals": "arrivals as in the source"},
    "Cluster": {"topology": "topology three", "GPUs": "64 GPUs in all"},
}


def joined(topics: Sequence[tuple[str, str]]) -> str:
    """Return topics and sentences as one text."""
    return " ".join(f"{topic}: {text}" for topic, text in topics)


@pytest.fixture
def said(run_folder: Callable[..., Path], tmp_path: Path) -> Callable[..., str]:
    """Write a run for each config, with sentences if given, and return what is said of them."""

    def make(*configs: dict[str, Any], sentences: Sequence[dict[str, dict[str, str]]] = ()) -> str:
        first = len(list(tmp_path.iterdir()))
        folders = [run_folder(tmp_path / str(first + i), config) for i, config in enumerate(configs)]
        for folder, written in zip(folders, sentences, strict=False):
            summary = json.loads((folder / "summary.json").read_text())
            (folder / "summary.json").write_text(json.dumps({**summary, "setting": written}))
        return joined(setting(compare([read_run(folder) for folder in folders])))

    return make


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
    for item, speed in zip(measured_on, speeds, strict=True):
        types = {"box": {"gpus": 4, "gpu_type": "V100", "speed": speed}}
        workload = {} if item is None else {"measured_on": item}
        topology = CONFIG["topology"] | {"machine_types": types}
        configs.append(CONFIG | {"workload": workload, "topology": topology})
    text = said(*configs, sentences=(SENTENCES, SENTENCES))
    assert words in text
    assert bool(words) == ("compared" in text)


def test_machines_without_gpus_have_no_speed_to_compare(said: Callable[..., str]) -> None:
    """The second cluster has the V100 of the first, and a machine without GPUs."""
    types = {"box": {"gpus": 4, "gpu_type": "V100", "speed": 1}, "plain": {"gpus": 0, "speed": 1}}
    base = CONFIG | {
        "topology": CONFIG["topology"] | {"machine_types": types},
        "workload": {"measured_on": "cluster"},
    }
    mixed = base | {"cluster": {"machines": [{"type": kind, "count": 1} for kind in types]}}
    assert "compared" not in said(base, mixed, sentences=(SENTENCES, SENTENCES))


@pytest.mark.parametrize(("groups", "differ"), [(1, False), (2, True)])
def test_clusters_of_lists_differ_by_their_machines(
    said: Callable[..., str], groups: int, differ: bool
) -> None:
    """One cluster has V100 only, the other a list: of V100, or of V100 and T4."""
    types = {"a": {"gpu_type": "V100", "speed": 0.25}, "b": {"gpu_type": "T4", "speed": 0.1}}
    topology = CONFIG["topology"] | {"machine_types": types, "default_machine_type": "a"}
    base = CONFIG | {"topology": topology, "workload": {"measured_on": "cluster"}}
    pools = [{"type": "a", "count": 1}, {"type": "b", "count": 1}]
    text = said(base, base | {"cluster": {"machines": pools[:groups]}}, sentences=(SENTENCES, SENTENCES))
    assert ("not compared" in text) == differ


def test_the_sentences_of_the_runs_are_printed_by_topic(said: Callable[..., str]) -> None:
    """Two runs that differ in the policy alone: one sentence each for the policies, and the rest once."""
    srtf = {**SENTENCES, "Policy": {"policy": "jobs run by remaining time"}}
    assert said(CONFIG, CONFIG | {"policy": {"name": "srtf"}}, sentences=(SENTENCES, srtf)) == (
        "fifo: Jobs run by arrival. srtf: Jobs run by remaining time. "
        "Workload: venus.csv, read by Helios; arrivals as in the source. "
        "Cluster: topology three; 64 GPUs in all."
    )


@pytest.mark.parametrize(("count", "words"), [(2, "Network model: m0 or m1."), (4, "")])
def test_up_to_three_different_sentences_are_printed(
    said: Callable[..., str], count: int, words: str
) -> None:
    """Two network models are both named; four are left to the table."""
    configs = [CONFIG | {"network": {"name": f"m{i}"}} for i in range(count)]
    sentences = [SENTENCES | {"Network model": {"model": f"m{i}"}} for i in range(count)]
    text = said(*configs, sentences=sentences)
    assert words in text
    assert bool(words) == ("Network model" in text)


def test_older_runs_without_sentences_get_a_note(said: Callable[..., str]) -> None:
    """Runs of versions before sentences, or of somebody else's program, have a config at most."""
    assert said({"policy": {"name": "fifo"}, "seed": 0}) == (
        "Runs: made by a version whose parts do not describe themselves; "
        "config.yaml in their folders has the settings."
    )
    text = said(CONFIG, CONFIG | {"policy": {"name": "srtf"}}, sentences=(SENTENCES,))
    assert text.startswith("fifo: Jobs run by arrival. Workload: ")
    assert " Older runs: made by a version " in text
