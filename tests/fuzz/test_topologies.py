"""Topologies with wrong fields and damaged files, as far as the price of an iteration."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from artist.data import data_path
from artist.datacenter.build import build_cluster
from artist.datacenter.config import ClusterConfig
from artist.pricing.placements import parse_shape, show_shape, tier_shapes
from artist.pricing.price import price_iterations
from artist.pricing.tables import price_csv, price_table
from netmodels.api import Topology, load_topology
from netmodels.fabric.shape import gpus
from netmodels.models.analytical import AnalyticalModel
from netmodels.profiles.profile import get_profile
from tests.fuzz.mutations import damaged, texts, trees
from tests.fuzz.oracle import fuzzed, result_of

FILES = sorted(data_path("topologies").glob("*.yaml"), key=str)
_MAX_NS = 2**63


@cache
def read(path: Path) -> Any:
    """Return the content of a shipped file."""
    return yaml.safe_load(path.read_text())


def used(raw: Any) -> Topology:
    """Load a topology, build a small cluster of it, and price a model on two of its machines."""
    topology = load_topology(raw)
    build_cluster(ClusterConfig(machines=2), topology)
    shapes = list(tier_shapes(2, topology).values())
    profiles = [get_profile("VGG11")]
    prices = price_iterations(profiles, shapes, AnalyticalModel(), topology, topology.fabric.system)
    assert all(0 < price.total_ns < _MAX_NS for price in prices)
    assert price_table(prices, [])
    assert price_csv(prices, [])
    return topology


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_shipped_topologies_are_good(path: Path) -> None:
    """Otherwise the mutations would only be refused for faults of the original."""
    assert used(read(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@fuzzed(13)
@given(data=st.data())
def test_a_wrong_topology_is_refused(path: Path, data: st.DataObject) -> None:
    """Missing, extra, huge, negative, of another type: refused, or priced without an overflow."""
    raw = data.draw(trees(read(path), 3, kept=("source",)))
    if isinstance(raw, dict):
        result_of(lambda: used(raw))


@fuzzed(30)
@given(data=st.data())
def test_a_damaged_topology_file_is_refused(folder: Path, data: st.DataObject) -> None:
    """A file may be no YAML at all, or YAML that its parser chokes on."""
    text = data.draw(st.sampled_from(FILES)).read_text()
    at = data.draw(st.integers(0, len(text)))
    odd = data.draw(
        st.one_of(texts, st.sampled_from(("[" * 5000, "{a: " * 2000, "&a [*a]", "2020-99-99", "!!int x")))
    )
    (folder / "odd.yaml").write_bytes(data.draw(damaged(text[:at] + odd + text[at:])))
    result_of(lambda: used(folder / "odd.yaml"))


@st.composite
def placements(draw: st.DrawFn) -> str:
    """Return words for a placement, mostly wrong."""
    machine = st.one_of(
        st.sampled_from(
            ("8", "5", "4x8", "1x1", "8@v100_8gpu", "8@t4_8gpu", "2x3@t4_8gpu", "0", "9", "-1", "x", "8@")
        ),
        st.sampled_from(
            ("1000000x1", "99999999999x8", "1x" + "9" * 5000, "9" * 5000, "٣", "1e3", "8 @t4_8gpu")
        ),
        texts,
    )
    racks = draw(st.lists(st.lists(machine, min_size=1, max_size=3), min_size=1, max_size=3))
    return draw(st.sampled_from(("|", " | "))).join("+".join(rack) for rack in racks)


@fuzzed(75)
@given(text=placements())
def test_a_placement_in_words_is_understood_or_refused(text: str) -> None:
    """A parsed placement is printed in words that mean the same placement."""
    topology = load_topology(data_path("topologies", "v100_t4_pools.yaml"))
    shape = result_of(lambda: parse_shape(text, topology))
    if shape is not None:
        assert 1 <= gpus(shape) <= 1_000_000
        assert parse_shape(show_shape(shape, topology), topology) == shape
