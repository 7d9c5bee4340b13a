"""Figures of the pages on networks and fabrics equal the program's."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from artist.data import data_path
from artist.pricing.placements import parse_shape
from artist.pricing.price import price_iterations
from artist.tables.grid import percent
from netmodels.api import load_topology
from netmodels.calibration.fit import calibrate, overhead
from netmodels.models.analytical import AnalyticalModel
from netmodels.profiles.profile import get_profile

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, FABRICS = ((DOCS / name).read_text(encoding="utf-8") for name in ("networks.md", "fabrics.md"))
HEAD, *ROWS = [
    [cell.strip(" `") for cell in line.strip("|").split("|")]
    for line in re.findall(r"^\| (?:model \||\w+ \| \d+).*$", FABRICS, flags=re.MULTILINE)
]
CALIBRATED = [
    [cell.strip(" `%") for cell in line.strip("|").split("|")]
    for line in re.findall(r"^\| `\S+` \| \d+ % \|.*$", PAGE, flags=re.MULTILINE)
]


def test_the_example_in_python_runs(capsys):
    """One machine of 8 V100 hides the all-reduce; two machines wait for a 100 Gb/s port."""
    (example,) = re.findall(r"<!-- example -->\n```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(example, {})
    one, two = capsys.readouterr().out.splitlines()
    assert one == "(8,) 17.1 ms, 0.1 ms of it exposed communication"
    assert two == "(4, 4) 55.4 ms, 38.4 ms of it exposed communication"


def test_the_table_of_fabrics_is_found():
    """Four models on four fabrics."""
    assert HEAD[3:] == ["dgx_h100_3tier", "v100_100g", "cloud_ethernet", "pcie_10g"]
    assert len(ROWS) == 4


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_overheads_are_those_of_the_table(row):
    """4+4 GPUs in a rack, as artist-network prices them."""
    model, _, scale, *cells = row
    results = []
    for name in HEAD[3:]:
        topology = load_topology(data_path("topologies", f"{name}.yaml"))
        profile, shape = get_profile(model).scaled(float(scale)), parse_shape("4+4", topology)
        (price,) = price_iterations([profile], [shape], AnalyticalModel(), topology, topology.fabric.system)
        results.append(f"{percent(price.overhead)} %")
    assert results == cells


def test_every_topology_is_listed():
    """A fabric that nobody finds is not there."""
    for path in data_path("topologies").glob("*.yaml"):
        assert f"`{path.stem}`" in FABRICS


def test_the_table_of_calibrations_is_found():
    """The six models of the Dally paper."""
    assert len(CALIBRATED) == 6


@pytest.mark.parametrize("row", CALIBRATED, ids=lambda row: row[0])
def test_calibrations_are_those_of_the_table(row):
    """Both methods, fitted to the machine column: what was fitted, and what it gives in and between racks."""
    model, percent_, *cells = row
    topology = load_topology(data_path("topologies", "dgx_h100_3tier.yaml"))
    machine, *others = (parse_shape(text, topology) for text in ("8", "4+4", "4 | 4"))
    network, fabric, profile = AnalyticalModel(), topology.fabric, get_profile(model)
    system = replace(topology.system("papers"), across_machines="hierarchical")
    results = []
    for method in ("scale_compute", "launch_overhead"):
        fit = calibrate(method, int(percent_) / 100, network, profile, machine, fabric, system)
        results.append(
            f"x {fit.compute_scale:.4g}" if method == "scale_compute" else f"{fit.launch_ns / 1e6:.3f} ms"
        )
        overheads = (overhead(network, fit.profile, shape, fabric, system) for shape in others)
        results += [f"{100 * overhead:.1f}" for overhead in overheads]
    assert results == cells
