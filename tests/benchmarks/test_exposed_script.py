"""The script that says how much communication hides."""

import exposed
import pytest

from artist.data import data_path
from artist.pricing.placements import parse_shape
from netmodels.api import load_topology


def test_racks_are_filled_with_equal_jobs():
    """Cloud, 8 machines of 8 GPUs a rack: four 8+8, eight 8 | 8, two to a machine make sixteen 4 | 4."""
    cloud = load_topology(data_path("topologies", "cloud_ethernet.yaml"))
    counts = {text: len(exposed.full_racks(parse_shape(text, cloud), cloud)) for text in exposed.SHAPES}
    assert counts == {"8": 8, "4+4": 8, "4|4": 16, "8+8": 4, "8|8": 8, "4x8|4x8": 2}
    placed = exposed.full_racks(parse_shape("4x8|4x8", cloud), cloud)[1]
    assert [(rack, machine) for rack, machine, _, _ in placed] == [
        *((0, i) for i in range(4, 8)),
        *((1, i) for i in range(12, 16)),
    ]


def test_narrower_uplinks_expose_more():
    """VGG16 over two racks sends its 553 MB in 236 ms, 75 % of the bytes that 25 Gb/s pass.

    At 1:1 nobody shares; at 2:1, 4:1 and 8:1 iterations take about 2, 4 and 8 x 0.75 times as long. In one
    rack the uplink does not matter.
    """
    (beyond, within) = exposed.rows(["cloud_ethernet"], ["VGG16"], ["8|8", "8+8"])
    alone = 1 + beyond.exposed
    assert beyond.in_full_racks[0] == pytest.approx(beyond.exposed)
    assert [(1 + delay) / alone for delay in beyond.in_full_racks] == pytest.approx([1, 1.5, 3, 6], rel=0.05)
    assert within.in_full_racks == pytest.approx([within.exposed] * 4)


def test_hidden_communication_comes_to_light(capsys):
    """AlexNet on 8 | 8 hides 93 % alone; at 8:1 its 244 MB take 625 ms, three times its compute."""
    assert exposed.main(["--fabrics", "cloud_ethernet", "--models", "AlexNet", "--shapes", "8|8"]) == 0
    head, rule, row = capsys.readouterr().out.splitlines()
    assert head.count("|") == rule.count("|") == row.replace("\\|", "").count("|")
    cells = [part.strip() for part in row.replace("\\|", "+").split("|")[1:-1]]
    assert cells[1:3] == ["AlexNet", "8 + 8"]
    assert int(cells[5]) > 90
    assert float(cells[6]) < 10
    assert float(cells[-1]) == pytest.approx(100 * (625 / 208 - 1), rel=0.05)
