"""Uplinks by hash."""

import struct

import pytest

from netmodels.collectives.ecmp import data_ports, murmur
from netmodels.ns3.tree import Tree
from netmodels.packets.engine import Wire

WIRE = Wire(100, 1000)


@pytest.mark.parametrize(
    ("text", "seed", "value"),
    [(b"test", 0, 0xBA6BD213), (b"test", 0x9747B28C, 0x704B81DC), (b"aaaa", 0x9747B28C, 0x5A97808A)],
)
def test_the_hash_is_murmur3(text, seed, value):
    """Published test vectors of MurmurHash3_x86_32."""
    assert murmur(struct.unpack("<I", text), seed) == value


def test_every_message_is_hashed_again():
    """1,000 messages of one pair over four uplinks: each gets a quarter, within 5 standard deviations.

    sqrt(1000 x 1/4 x 3/4) = 13.7.
    """
    tree = Tree([0, 1], [0, 1], [WIRE] * 2, [WIRE] * 2, [WIRE] * 2, cores=4)
    cores = [tree.path(0, 1, *data_ports(count))[2].link.path for count in range(1000)]
    assert all(abs(cores.count(core) - 250) < 5 * 13.7 for core in range(4))


def test_up_and_down_lead_over_one_core():
    """A message goes down from the core switch that it went up to."""
    tree = Tree([0, 1], [0, 1], [WIRE] * 2, [WIRE] * 2, [WIRE] * 2, cores=4)
    for count in range(20):
        up, down = tree.path(0, 1, *data_ports(count))[2:4]
        assert (up.link.path, up.link.way, down.link.way) == (down.link.path, "out", "in")
