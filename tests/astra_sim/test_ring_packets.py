"""One ring packet by packet against recorded answers of ns-3: to the ns, what GPUs add included."""

from pathlib import Path

import pytest
from accuracy import rows_of

from artist.data import data_path
from artist.pricing.placements import parse_shape
from netmodels.api import load_topology
from netmodels.collectives.dimensions import tiers_of
from netmodels.collectives.hosts import Network
from netmodels.packets.engine import Channel, PrivateLink, Wire
from netmodels.packets.rings import Layer, RingJob, together

RECORDED = Path(__file__).parent / "recorded" / "ns3_placements.csv"
UNITS = {"KiB": 2**10, "MiB": 2**20}
QUICK = [(shape, "64KiB", "1") for shape in ("4+4", "8+8", "5+3", "4 | 4", "8 | 8", "3+2+1")]
QUICK += [("7 | 1", "1MiB", "1"), ("7+1", "16MiB", "0"), ("4+4 | 4+4", "16MiB", "1")]


class Slice:
    """The links that the program is told, each direction of each a queue."""

    def __init__(self, network: Network) -> None:
        self.hosts, self._network = network.hosts, network

    def path(self, sender, receiver, from_port, to_port):
        """Return the links of a message."""
        up, down = self._network.ways(sender, receiver)
        ways = [(link, "out") for link in up] + [(link, "in") for link in reversed(down)]
        return tuple(
            Channel(PrivateLink(link.ends[1], way), Wire(link.bits_per_s / 1e9, int(link.latency_ns)))
            for link, way in ways
        )

    def unshared(self, sender, receiver):
        """Return None: all messages are followed."""


def asked(row, *, adds=True):
    """Return the time of an all-reduce; `adds`: GPUs take time to add received bytes."""
    topology = load_topology(data_path("topologies", f"{row['topology']}.yaml"))
    shape, system = parse_shape(row["shape"], topology), topology.fabric.system
    network = Slice(Network(shape, tiers_of(shape, topology.fabric)[0]))
    amount = row["question"].split()[1]
    size = int(amount[:-3]) * UNITS[amount[-3:]]
    message = size // network.hosts
    add_ns = 3 * int(message / system.local_memory_gb_s) if adds else 0
    job = RingJob(tuple(range(network.hosts)), (Layer(0, size, add_ns=add_ns),), 1)
    ((end_ns,),) = together([job], network, windows=row["has_win"] == "1")
    return end_ns


def row_of(shape, amount, has_win, topology="dgx_h100_3tier"):
    """Return a recorded answer."""
    wanted = (topology, shape, "flat_ring", f"AR {amount}", has_win)
    names = ("topology", "shape", "across_machines", "question", "has_win")
    (row,) = (row for row in rows_of(RECORDED) if tuple(row[name] for name in names) == wanted)
    return row


@pytest.mark.parametrize(("shape", "amount", "has_win"), QUICK)
def test_a_ring_takes_as_long_as_in_ns3(shape, amount, has_win):
    """To add a message, it and its sum are read and written, each in whole ns, in the first half only."""
    row = row_of(shape, amount, has_win)
    assert asked(row) == int(row["ns3_total_ns"])


def test_time_of_adding_decides_how_messages_collide():
    """16 MiB over 4+4 | 4+4: without, 0.94 us in 15 steps each, other messages meet: 1.55 times as long."""
    row = row_of("4+4 | 4+4", "16MiB", "1")
    assert asked(row, adds=False) / asked(row) == pytest.approx(1.55, abs=0.01)


def test_full_buffers_are_not_followed():
    """16 MiB over 4 | 4: 5.7 MB wait for the port of 800 Gb/s, and ns-3 pauses senders: 387 us, here 443."""
    row = row_of("4 | 4", "16MiB", "1")
    assert asked(row) / int(row["ns3_total_ns"]) == pytest.approx(1.146, abs=0.001)
