"""Configurations with wrong values of every type and size, until everything of the run is built."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hydra import compose, initialize_config_dir
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from pydantic import ValidationError

from artist.app.composing import register_topologies
from artist.bad_input.explain import from_validation
from artist.data import data_path
from artist.describe.command import DescribeConfig
from artist.pricing.command import PriceConfig
from artist.run.build import Simulation, build, check_config
from tests.fuzz.mutations import damaged, tables, trees
from tests.fuzz.oracle import fuzzed, result_of

TINY = ("workload=csv", "workload.path=tiny.csv")
FAILING = "cluster.failures=[{cause: any, per_1000_days: 24, repair_h: 12}]"
RUNS: dict[str, tuple[str, ...]] = {
    "demo": ("workload.jobs=20",),
    "sized": ("cluster.machines=[{type: dgx_h100, count: 3, pool: a}]", "stop.jobs=[0,3]", *TINY),
    "poisson": ("arrivals=poisson", "policy=fifo", "estimates=noise", FAILING, *TINY),
    "compressed": (
        "arrivals=compress",
        "policy=tiresias_open",
        "overheads=keep",
        "cluster.machines=4",
        *TINY,
    ),
    "events": ("cluster.events=events.csv", "stop.time_s=1000", "estimates=wrong_fraction", *TINY),
    "drawn": ("workload.models.rule=by_gpus", "workload.models.by_gpus=[{weights: {VGG11: 1, GPT-2: 2}}]"),
    "followed": ("signals=file", "signals.path=signals.csv", "signals.names=[demand]", *TINY),
    "stalled": ("performance.sensitivity=own.yaml", "topology=v100_synergy", "network=zero", *TINY),
    "tabled": ("overheads.table=delays.csv", "network.cache=cache", "network.system.chunks=4", *TINY),
}
EVENTS = """\
time_s,kind,machine,deadline_s,type,rack,pool
20,fail,m0,,,,
30,join,m0,,,,
40,join,new,,dgx_h100,1,p
50,leave,m1,60,,,
"""
SIGNALS = "time_s,demand,other\n0,0.5,1\n300,0.75,-2e3\n600,1,0\n"
SENSITIVITY = """\
gpu_speed: 0.25
models:
  ResNet50: {throughput: {1: 0.5, 3: 1, 24: 4}, dataset_gib: 140, uncached: 0.8, iteration_s: 0.6}
  VGG11: {throughput: {2: 7}, process_gib: {machine: 1, gpu: 2}, source: mine}
"""
DELAYS = "model,gpus,start_s,restart_s\nVGG11,1,10,20\nVGG11,8,30,40\n"


@cache
def composed(kind: str, name: str, *overrides: str) -> str:
    """Return a resolved configuration as JSON."""
    register_topologies()
    with initialize_config_dir(version_base="1.3", config_dir=str(data_path("conf"))):
        return json.dumps(OmegaConf.to_container(compose(kind, list(overrides)), resolve=True))


@pytest.fixture(scope="module", autouse=True)
def files(folder: Path) -> None:
    """Write the files that the configurations name."""
    (folder / "tiny.csv").write_bytes(data_path("traces", "tiny.csv").read_bytes())
    (folder / "events.csv").write_text(EVENTS)
    (folder / "delays.csv").write_text(DELAYS)
    (folder / "signals.csv").write_text(SIGNALS)
    (folder / "own.yaml").write_text(SENSITIVITY)


def built(raw: Any) -> Simulation:
    """Return the parts of a run, built as by a run."""
    simulation = build(check_config(raw))
    assert simulation.jobs
    assert simulation.cluster.total_gpus >= 0
    for event in simulation.capacity_events:
        assert 0 <= event.time_ns < 2**63
    return simulation


@pytest.mark.parametrize("name", RUNS)
@fuzzed(13)
@given(data=st.data())
def test_a_wrong_configuration_is_refused_before_the_run(name: str, data: st.DataObject) -> None:
    """Nothing that a YAML can say may end in a traceback, or fill the memory before the clock starts."""
    good = json.loads(composed("config", name, *RUNS[name]))
    wrong = data.draw(trees(good, 2, kept=("_target_", "")))
    result_of(lambda: built(wrong))


@pytest.mark.parametrize(
    "section", ["cluster", "workload", "arrivals", "policy", "signals", "estimates", "overheads", "stop"]
)
@fuzzed(13)
@given(data=st.data())
def test_a_wrong_section_is_refused_before_the_run(section: str, data: st.DataObject) -> None:
    """The same with the changes in one section, since most fields of a configuration are the topology's."""
    name = data.draw(st.sampled_from(sorted(RUNS)))
    raw = json.loads(composed("config", name, *RUNS[name]))
    raw[section] = data.draw(trees(raw[section], 3, kept=("_target_", "")))
    result_of(lambda: built(raw))


@pytest.mark.parametrize("name", RUNS)
def test_the_configurations_are_good(name: str) -> None:
    """Otherwise the mutations would only be refused for faults of the original."""
    assert built(json.loads(composed("config", name, *RUNS[name])))


@pytest.mark.parametrize(("kind", "model"), [("price", PriceConfig), ("describe", DescribeConfig)])
@fuzzed(15)
@given(data=st.data())
def test_a_wrong_configuration_of_a_command_is_refused(
    kind: str, model: type[Any], data: st.DataObject
) -> None:
    """Options of artist-network and artist-trace are composed the same way."""
    good = json.loads(composed(kind, kind))
    wrong = data.draw(trees(good, 3, kept=("_target_", "topology", "")))

    def checked() -> None:
        try:
            model.model_validate(wrong)
        except ValidationError as error:
            raise from_validation(error, model=model) from None

    result_of(checked)


@fuzzed(40)
@given(data=st.data())
def test_a_damaged_file_of_capacity_events_is_read_or_refused(folder: Path, data: st.DataObject) -> None:
    """Times, machines and racks beyond all bounds must not reach the engine."""
    (folder / "odd.csv").write_bytes(data.draw(damaged(data.draw(tables(EVENTS)))))
    raw = json.loads(composed("config", "events", *RUNS["events"]))
    raw["cluster"]["events"] = "odd.csv"
    result_of(lambda: built(raw))


@fuzzed(40)
@given(data=st.data())
def test_a_wrong_file_of_sensitivities_is_read_or_refused(folder: Path, data: st.DataObject) -> None:
    """Whatever is read gives jobs some compute; times that leave all bounds are refused in the run."""
    wrong = data.draw(trees(yaml.safe_load(SENSITIVITY), 3))
    (folder / "odd.yaml").write_bytes(data.draw(damaged(yaml.safe_dump(wrong))))
    raw = json.loads(composed("config", "stalled", *RUNS["stalled"]))
    raw["performance"]["sensitivity"] = "odd.yaml"

    def run() -> None:
        columns = built(raw).run(()).columns
        assert (columns["compute_ns"] > 0).all()
        assert (columns["input_stall_ns"] >= 0).all()

    result_of(run)


@fuzzed(40)
@given(data=st.data())
def test_a_damaged_file_of_signals_is_read_or_refused(folder: Path, data: st.DataObject) -> None:
    """Whatever is read is finite and in order of time."""
    (folder / "odd.csv").write_bytes(data.draw(damaged(data.draw(tables(SIGNALS)))))
    raw = json.loads(composed("config", "followed", *RUNS["followed"]))
    raw["signals"] |= {"path": "odd.csv", "names": None}

    def read() -> None:
        for signal in built(raw).signals.values():
            times_ns, values = signal.up_to(2**62)
            assert (np.diff(times_ns) > 0).all()
            assert np.isfinite(values).all()

    result_of(read)
