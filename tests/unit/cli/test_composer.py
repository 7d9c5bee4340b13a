"""Points that differ in plain values are composed once, and are what Hydra makes of each."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from artist.app.composing import prefer_our_defaults, register_topologies
from artist.app.sweep import Composer
from artist.data import data_path


@pytest.fixture(scope="module")
def swept() -> Iterator[tuple[ConfigLoader, DictConfig]]:
    """Return Hydra's loader and the configuration of a sweep, composed once: that takes 0.3 s."""
    register_topologies()
    prefer_our_defaults()
    with initialize_config_dir(str(data_path("conf")), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        yield loader, loader.load_configuration("config", [], RunMode.MULTIRUN)


@pytest.mark.parametrize(
    ("points", "times"),
    [
        ([("seed=1", "policy=fifo"), ("seed=2", "policy=fifo"), ("seed=3", "policy=srtf")], 2),
        ([("cluster.racks=1", "workload.jobs=null"), ("cluster.racks=2", "workload.jobs=7")], 1),
        ([("performance.group_slowdown=[1.5,2]",), ("performance.group_slowdown=[3]",)], 1),
        ([("performance.sensitivity='a, b'",), ("performance.sensitivity=1e-3",)], 1),
        ([("performance={scaling_loss: 1}",), ("performance={mixed_efficiency: 2}",)], 2),
        ([("cluster.racks=2", "cluster={racks: 1}"), ("cluster.racks=3", "cluster={racks: 1}")], 2),
        ([(f"performance.sensitivity={value}", "++performance.sensitivity.own=1") for value in "ab"], 2),
        ([("cluster.racks=2", "++cluster.racks=1"), ("cluster.racks=2", "++cluster.racks=3")], 2),
        (
            [
                ("seed=1", "workload.jobs=2", "~workload.jobs"),
                ("seed=2", "workload.jobs=3", "~workload.jobs"),
            ],
            2,
        ),
        ([("cluster.racks=2", "cluster=equal"), ("cluster.racks=3", "cluster=equal")], 1),
        ([("+workload.own=1",), ("+workload.own=2",)], 2),
        ([(f"seed={value}", "hydra.sweep.subdir=${hydra.job.num}") for value in (1, 2)], 2),
        ([(f"seed={value}", "performance.sensitivity=${hydra:job.num}") for value in (1, 2)], 2),
        ([("performance.sensitivity=a",), ("performance.sensitivity=${hydra:job.id}",)], 2),
    ],
)
def test_points_are_as_hydra_composes_them(
    points: list[tuple[str, ...]],
    times: int,
    swept: tuple[ConfigLoader, DictConfig],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every key of the job and the folder; `times` is how often Hydra was asked, once for each kind."""
    monkeypatch.chdir(Path(__file__).parent)
    loader, config = swept
    composer = Composer(loader, config, OverridesParser.create(config_loader=loader))
    asked = []
    load = loader.load_sweep_config
    monkeypatch.setattr(loader, "load_sweep_config", lambda *words: asked.append(1) or load(*words))
    for number, overrides in enumerate(points):
        composed = composer.composed(number, overrides)
        expected = load(config, list(overrides))
        for part in ("performance", "cluster", "workload", "policy", "seed", "output"):
            assert as_plain(composed[part]) == as_plain(expected[part])
    assert len(asked) == times


def as_plain(value: object) -> object:
    return OmegaConf.to_container(value, resolve=False) if OmegaConf.is_config(value) else value


def test_files_that_ship_are_found_where_nothing_else_is_loaded():
    """The delays of Muri's testbed are `${artist.shipped:...}`, also for a script that only composes."""
    code = "from artist.app.composing import composed; print(composed(['overheads=muri_testbed'])"
    command = [sys.executable, "-c", f"{code}['overheads']['table'])"]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert Path(result.stdout.strip()).is_file()
