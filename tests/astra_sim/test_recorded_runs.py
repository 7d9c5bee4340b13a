"""Real runs: ours in recorded/runs.jsonl, those of the reference, and one of the user's own program."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml

from netmodels.api import Dimension
from netmodels.astra_sim import inputs
from netmodels.astra_sim.model import AstraSim
from netmodels.astra_sim.outputs import UnreadableError, read_version2
from netmodels.astra_sim.process import ProgramError
from netmodels.collectives.dimensions import Level, View
from netmodels.fabric.system import SystemSettings
from netmodels.models.analytical import _bounded
from tests.astra_sim.chakra_traces import read_trace

FOLDER = Path(__file__).parent / "recorded"
RUNS = [json.loads(line) for line in (FOLDER / "runs.jsonl").read_text().splitlines()]
NAMES = [" ".join((run["backend"], run.get("across_machines", ""), run["placement"])) for run in RUNS]


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_input_files_equal_the_recorded_ones(record, fake, tmp_path, monkeypatch, run):
    """Byte for byte the files of the recorded run; so its answer is the answer to what we write today."""
    monkeypatch.setenv("FAKE_MODE", "empty")
    model = AstraSim(binary=fake, backend=run["backend"], scratch=str(tmp_path / "scratch"))
    system = record.settings_for(run["backend"], run.get("across_machines", "hierarchical"))
    with pytest.raises(ProgramError):
        model.iteration(record.TOY, record.placement(run["placement"]), record.SWITCHES, system)
    (folder,) = (tmp_path / "scratch").iterdir()
    assert record.read_by_program(folder) == run["files"]


BY_DIMENSION = [
    run
    for run in RUNS
    if run.get("across_machines", "hierarchical") == "hierarchical" or run["placement"] == "8"
]


@pytest.mark.parametrize("run", BY_DIMENSION, ids=lambda run: f"{run['backend']} {run['placement']}")
def test_recorded_answers_are_within_bounds_of_the_analytical_model(run):
    """The unaware back end equals the analytical model, 1.0 nearly; sharing costs up to 10 %, packets double.

    Two chunks overlap in a machine, which takes 3 % off. For ns-3 3+1 has no dimensions and is a ring.
    """
    ratio = run["exposed_ns"] / run["analytical_exposed_ns"]
    least, most = {"unaware": (1, 1), "version1": (0.998, 1.002), "aware": (0.96, 1.1), "ns3": (1, 2)}[
        run["backend"]
    ]
    assert least <= ratio <= most
    if not run["carried"]:
        assert max(npu["total_ns"] for npu in run["npus"]) == 238_000 + run["exposed_ns"]


@pytest.mark.parametrize(("way", "least", "most"), [("flat_ring", 0.8, 1), ("tree", 0.6, 2.3)])
def test_one_dimension_replaces_the_machines_of_a_ring(way, least, most):
    """Both analytical back ends against ns-3's true hosts: rings within 20 % below, trees coarsely.

    A ring uses all links alike; a tree has short steps inside machines, and long ones that meet on a link.
    """
    asked = [run for run in RUNS if run.get("across_machines") == way and run["placement"] != "8"]
    packets = {run["placement"]: run["exposed_ns"] for run in asked if run["backend"] == "ns3"}
    ratios = [run["exposed_ns"] / packets[run["placement"]] for run in asked if run["backend"] != "ns3"]
    assert len(ratios) == 6
    assert least <= min(ratios) <= max(ratios) <= most


def test_the_users_own_program_answers_as_recorded(real, record):
    """The one real run: all placements that were recorded of its back end."""
    for run in (run for run in RUNS if run["backend"] == real.program.backend):
        system = record.settings_for(real.program.backend, run.get("across_machines", "hierarchical"))
        shape = record.placement(run["placement"])
        answer = real.iteration(record.TOY, shape, record.SWITCHES, system)
        assert answer.exposed_ns == pytest.approx(run["exposed_ns"], rel=1e-3)


# --- the reference: inputs and outputs of real runs that lie beside the checkout

REFERENCE_RUNS = {
    "unaware_switch8": (8, 269_755),
    "unaware_switch8_switch2": (16, 373_802),
    "unaware_ring4_fc2_baseline": (8, 671_601),
    "unaware_halving_doubling_8": (8, 259_895),
    "aware_switch16": (16, 1_657_213),
}


@pytest.mark.parametrize("name", REFERENCE_RUNS)
def test_the_reference_was_asked_equal_questions(reference, toy, name):
    """Network and system say the same; the trace has the same compute and the same all-reduces in order."""
    folder = reference / "recorded" / name
    network = yaml.safe_load((folder / "in_net.yml").read_text())
    system = json.loads((folder / "in_sys.json").read_text())
    kinds = {kind: name for name, kind in inputs.KINDS.items()}
    columns = [network[key] for key in ("topology", "latency", "bandwidth", "npus_count")]
    levels = tuple(
        Level("machine", Dimension(kinds[kind], latency, bandwidth * 2**30 / 1e9), members)
        for kind, latency, bandwidth, members in zip(*columns, strict=True)
    )
    algorithm = {implementation: name for name, implementation in inputs.IMPLEMENTATIONS.items()}
    optimization = {optimization: name for name, optimization in inputs.OPTIMIZATIONS.items()}
    settings = SystemSettings(
        endpoint_delay_ns=system["endpoint-delay"],
        local_memory_gb_s=system["local-mem-bw"],
        collective_optimization=optimization[system["collective-optimization"]],
        collective_algorithm=algorithm[system["all-reduce-implementation"][0]],
        chunks=system["preferred-dataset-splits"],
        chunks_in_flight=system["active-chunks-per-dimension"],
    )
    files = inputs.analytical_files(toy, levels, settings)
    assert yaml.safe_load(files["network.yml"]) == network
    assert json.loads(files["system.json"]) == system
    ours, theirs = (_summary(data) for data in (files[inputs.TRACE], (folder / "w.0.et").read_bytes()))
    assert ours == theirs


def _summary(trace):
    """Return compute in ns and the bytes of the collectives in order."""
    _, nodes = read_trace(trace)
    values = [{attribute.name: attribute.int64_val for attribute in node.attr} for node in nodes]
    computes = [(value["num_ops"] - 500) // 1000 for value in values if value.get("num_ops")]
    return sum(computes), [value["comm_size"] for value in values if "comm_size" in value]


@pytest.mark.parametrize(("name", "expected"), [*REFERENCE_RUNS.items(), ("ns3_hier_2x4", (8, 745_231))])
def test_the_reference_is_read_as_it_was_meant(reference, name, expected):
    """Total and exposed times as its README lists them; 238 us of it are compute."""
    npus, total_ns = expected
    said = (reference / "recorded" / name / "stdout.txt").read_text()
    times = read_version2(said, npus)
    assert max(time.total_ns for time in times) == total_ns
    assert max(time.exposed_ns for time in times) == total_ns - 238_000


@pytest.mark.parametrize(("name", "npus"), [("fail_halving_doubling_6", 6), ("fail_missing_et", 8)])
def test_failed_reference_runs_are_no_answers(reference, name, npus):
    """One ends with status 0 and no NPU finished, the other says critical."""
    with pytest.raises(UnreadableError):
        read_version2((reference / "recorded" / name / "stdout.txt").read_text(), npus)


def test_recorded_runs_with_congestion_stay_within_the_ports(reference, accuracy):
    """The bound is one: no run of the congestion-aware back end beats it, and 145 without congestion do.

    Direct on a switch of 8, 1 GiB at 450 GiB/s: 0.8 ms without congestion, 4.7 with it; the port needs 3.9.
    """
    above = Counter()
    for row in accuracy.rows_of(reference / "collectives.csv"):
        if row["npus_finished"] != row["npus"]:
            continue
        dims, size = accuracy.dims_of_row(row), int(row["size_bytes"])
        view = View(tuple(Level(*dim) for dim in dims), (), int(row["npus"]))
        sizes, system = np.array([size]), accuracy.system_of(row)
        least_ns = _bounded(row["collective"].lower(), view, sizes, system)[1][0]
        above[row["backend"]] += least_ns > 1.01 * int(row["time_ns"]) + 2
    assert above == {"aware": 0, "unaware": 145}
