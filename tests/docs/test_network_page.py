"""What netmodels/README.md says is what the program says."""

import re
from pathlib import Path

import pytest

from artist.data import data_path
from artist.pricing.placements import parse_shape
from artist.pricing.price import price_iterations
from artist.pricing.tables import percent
from netmodels.analytical import AnalyticalModel
from netmodels.api import load_topology
from netmodels.profile import get_profile

PAGE = (Path(__file__).resolve().parents[2] / "netmodels" / "README.md").read_text(encoding="utf-8")
HEAD, *ROWS = [
    [cell.strip(" `") for cell in line.strip("|").split("|")]
    for line in re.findall(r"^\| (?:model \||\w+ \| \d+).*$", PAGE, flags=re.MULTILINE)
]


def test_the_table_of_fabrics_is_found():
    """Four models on four fabrics."""
    assert HEAD[3:] == ["dgx_h100_3tier", "v100_100g", "cloud_ethernet", "pcie_10g"]
    assert len(ROWS) == 4


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_overheads_are_those_of_the_table(row):
    """4+4 GPUs in a rack, as artist-network prices them."""
    model, _, scale, *cells = row
    found = []
    for name in HEAD[3:]:
        topology = load_topology(data_path("topologies", f"{name}.yaml"))
        profile, shape = get_profile(model).scaled(float(scale)), parse_shape("4+4", topology)
        (price,) = price_iterations([profile], [shape], AnalyticalModel(), topology, topology.fabric.system)
        found.append(f"{percent(price.overhead)} %")
    assert found == cells


def test_every_topology_is_listed():
    """A fabric that nobody finds is not there."""
    for path in data_path("topologies").glob("*.yaml"):
        assert f"`{path.stem}`" in PAGE
