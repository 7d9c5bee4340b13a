"""Pictures of fabrics, read back from their axes."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from artist.drawing.render import rendered
from artist.pricing.drawing import draw_fabric
from netmodels.api import Dimension, Fabric, MachineType, Topology, load_topology
from netmodels.inputs.errors import InputError

FOLDER = Path(__file__).resolve().parents[3] / "topologies"
SHIPPED = sorted(path.stem for path in FOLDER.glob("*.yaml"))
SIZES = [(1, 1), (16, 8), *(pytest.param(size, marks=pytest.mark.slow) for size in ((1, 2), (2, 8), (3, 20)))]


def shipped(name: str) -> Topology:
    """Load a topology of ours."""
    return load_topology(FOLDER / f"{name}.yaml")


def texts(figure: Figure) -> list[str]:
    """Return all that is written in a picture."""
    return [text.get_text() for text in figure.axes[0].texts]


def places(figure: Figure) -> list[tuple[float, str]]:
    """Return the left edge of all that is written, and the text."""
    return [(float(text.get_position()[0]), text.get_text()) for text in figure.axes[0].texts]


def dots(figure: Figure) -> int:
    """Count the dots of GPUs: the small icons of the column are not in the fabric."""
    (axes,) = figure.axes
    column = next(x for x, text in places(figure) if text.startswith("network"))
    lines = [line for line in axes.get_lines() if line.get_marker() == "o"]
    return sum(float(line.get_xdata()[0]) < column - 0.5 for line in lines)  # type: ignore[index, arg-type]


def made_of(gpus: int, *tiers: tuple[Dimension, ...]) -> Topology:
    """Return a topology of boxes with so many GPUs."""
    machine, rack, network = tiers
    types = {"box": MachineType("box", gpus, "G", 1.0, 1, 1, 1)}
    return Topology("made_$up", "here", Fabric("made", machine, rack, network), types, "box", 2)


def join(kind: Any, size: int = 0) -> Dimension:
    """Return a dimension of 80 Gb/s and 0.5 us."""
    return Dimension(kind, 500.0, 10.0, size)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_shipped_fabric_can_be_drawn(name: str, size: tuple[int, int]) -> None:
    """Small and large, for each type of machine, without a warning, every text inside the picture."""
    topology = shipped(name)
    for machine_type in topology.machine_types:
        figure = draw_fabric(topology, *size, machine_type)
        figure.draw_without_rendering()
        for text in figure.axes[0].texts:
            box = text.get_window_extent()
            assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1, text
            assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1, text
        assert figure.get_figwidth() < 13


@pytest.mark.parametrize("name", SHIPPED)
def test_texts_of_the_column_do_not_touch(name: str) -> None:
    """Four dimensions or many limits push each other down instead of lying on each other."""
    figure = draw_fabric(shipped(name), 2)
    figure.draw_without_rendering()
    left = next(x for x, text in places(figure) if text.startswith("network"))
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_position()[0] == left]
    boxes.sort(key=lambda box: -box.y1)
    assert len(boxes) >= 7  # two lines for each of three tiers, and the note
    assert all(above.y0 > below.y1 - 2 for above, below in pairwise(boxes))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "v100_100g",
            [
                "network: switch of 2 racks",
                "100 Gb/s a GPU, 6 us a link",
                "machine port 100 Gb/s, shared",
                "a rack sends 800 Gb/s in all",  # 8 ports
                "rack: switch of 8 machines",
                "100 Gb/s a GPU, 1.35 us a link",
                "machine: ring of 8 GPUs",
                "960 Gb/s a GPU, 0.6 us a link",
            ],
        ),
        ("cloud_ethernet", ["25 Gb/s a GPU, 30 us a link", "rack uplink 50 Gb/s, shared"]),
        ("dgx_h100_3tier", ["machine: switch of 8 GPUs", "a machine sends 3200 Gb/s in all"]),  # 8 x 400
        (
            "dally_code",
            [
                "3436 Gb/s and 50 us a link,",  # 400 GiB/s x 8 x 2^30 / 10^9
                "as many links as members",
                "rack: ring of 8 machines",
                "machine: ring of 2 groups",
                "machine: full meshes of 4 GPUs",
            ],
        ),
    ],
)
def test_the_column_lists_the_figures(name: str, expected: list[str]) -> None:
    """The picture alone gives the figures of the YAML file."""
    written = texts(draw_fabric(shipped(name), 2))
    assert [line for line in expected if line not in written] == []


def test_parallel_uplinks_are_named() -> None:
    """Cloud: 50 Gb/s in two links of 25."""
    cloud = shipped("cloud_ethernet")
    cloud = replace(cloud, fabric=replace(cloud.fabric, uplinks=2))
    assert "rack uplink 2 x 25 Gb/s, shared" in texts(draw_fabric(cloud, 2))


def test_two_racks_are_drawn_in_full() -> None:
    """2 x 8 machines x 8 GPUs are 128 dots under 16 machines, each rack with its numbers 0 to 7."""
    figure = draw_fabric(shipped("dgx_h100_3tier"), 2)
    assert dots(figure) == 128
    written = Counter(texts(figure))
    assert [written[f"machine {number}"] for number in range(9)] == [2] * 8 + [0]
    assert "2 racks with 8 machines (dgx_h100) of 8 GPUs (H100)" in written


def test_many_racks_are_counted() -> None:
    """Of 16 racks two are drawn, with 16 machines of 128; the link to the other 14 is dashed."""
    figure = draw_fabric(shipped("dgx_h100_3tier"), 16)
    written = texts(figure)
    assert "14\nmore\nlike it" in written
    assert "16 racks with 8 machines (dgx_h100) of 8 GPUs (H100); 16 of 128 machines drawn" in written
    assert dots(figure) == 128
    assert sum(line.is_dashed() for line in figure.axes[0].get_lines()) == 1


def test_many_gpus_are_counted() -> None:
    """Of 72 GPUs in a ring 7 are drawn, and a place for the other 65, whatever they hang on."""
    for kind in ("ring", "switch", "fully_connected"):
        figure = draw_fabric(made_of(72, (join(kind),), (join("switch"),), (join("switch"),)), 1, 1)
        assert dots(figure) == 7
        assert "+65" in texts(figure)


def test_a_shared_port_is_a_thin_line() -> None:
    """Widths are by capacity: 100 Gb/s of a port are less than 960 of a GPU; a rack has 8 ports."""
    figure = draw_fabric(shipped("v100_100g"), 2)
    fabric: dict[str, float] = {}
    for line in figure.axes[0].get_lines():  # the first of each colour is in the fabric, not an icon
        if line.get_marker() != "o":
            fabric.setdefault(str(line.get_color()), line.get_linewidth())
    machine, rack, network = (fabric[colour] for colour in ("#0072B2", "#D55E00", "#009E73"))
    assert rack < network < machine


def test_groups_and_meshes_in_all_tiers_can_be_drawn() -> None:
    """Nobody has shipped such a fabric, but a topology file may describe it."""
    topology = made_of(
        6,
        (join("switch", 4), join("fully_connected")),
        (join("ring", 4), join("fully_connected")),
        (join("switch", 2), join("ring")),
    )
    figure = draw_fabric(topology, 8, 8)
    figure.draw_without_rendering()
    assert "network: switches of 2 racks" in texts(figure)
    assert "machine: full mesh of 2 groups" in texts(figure)
    assert rendered(figure, "png").startswith(b"\x89PNG")


def test_one_of_each_is_singular() -> None:
    """The smallest data centre has one dot and no link."""
    figure = draw_fabric(made_of(1, (join("ring"),), (join("ring"),), (join("ring"),)), 1, 1)
    assert dots(figure) == 1
    assert "1 rack with 1 machine (box) of 1 GPU (G)" in texts(figure)


def test_equal_fabrics_give_equal_files() -> None:
    """Reports of equal runs are equal, byte for byte."""
    first, second = (rendered(draw_fabric(shipped("dally_code"), 2), "svg") for _ in range(2))
    assert first == second


def test_an_empty_data_centre_is_refused() -> None:
    """The same error as of the graph, before anything is drawn."""
    with pytest.raises(InputError, match="racks"):
        draw_fabric(shipped("dally_code"), 0)
