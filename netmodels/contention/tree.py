"""GPUs, machines, racks and a core, as links that packets cross one after the other.

A GPU is attached to the switch of its machine, that to the switch of its rack, and that to every core switch.
ECMP takes the uplink of a message by a hash (MurmurHash3, 32 bits, public domain) of its addresses and ports,
seeded with the switch's number. Addresses, ports and numbers are those of ASTRA-sim's ns-3 back end, so
messages take the links that they take there: host n has 11.x.y.1 with n = 256 x + y, the first message from
one host to another leaves from port 10000, the next from 10001, and all go to port 100.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from netmodels.contention.links import Direction, Link

_WORD = 0xFFFF_FFFF
_TO_PORT = 100


class Wire(NamedTuple):
    """A link; both directions are alike.

    Parameters
    ----------
    gbit_s
        Bandwidth of each direction.
    latency_ns
        Propagation, ns.
    """

    gbit_s: float
    latency_ns: int


class Own(NamedTuple):
    """One direction of a link that only one GPU, or one job, has.

    Parameters
    ----------
    place
        Number of the GPU; or what tells it from others.
    way
        From the GPU, or to it.
    """

    place: int | tuple[int, int | Link]
    way: Direction


class Lane(NamedTuple):
    """One direction of a link, as packets have it.

    Parameters
    ----------
    link
        Which: packets on the same one queue. None: packets never queue there.
    wire
        Its bandwidth and latency.
    """

    link: Link | Own | None
    wire: Wire


@dataclass(frozen=True, slots=True)
class Tree:
    """The network of a data centre.

    Parameters
    ----------
    machine_of
        Machine of each GPU.
    rack_of
        Rack of each machine.
    gpus
        The link from each GPU to the switch of its machine.
    machines
        The link from each machine to the switch of its rack.
    racks
        The link from each rack to each of the core switches.
    cores
        Core switches, to each of which all racks have a link.
    """

    machine_of: Sequence[int]
    rack_of: Sequence[int]
    gpus: Sequence[Wire]
    machines: Sequence[Wire]
    racks: Sequence[Wire]
    cores: int = 1

    @property
    def hosts(self) -> int:
        """GPUs."""
        return len(self.machine_of)

    def lanes(self, sender: int, receiver: int, from_port: int, to_port: int) -> tuple[Lane, ...]:
        """Return the links that a message takes, in order.

        Parameters
        ----------
        sender, receiver
            GPUs.
        from_port, to_port
            Which together with the GPUs decide on the uplink.
        """
        first = Lane(Own(sender, "out"), self.gpus[sender])
        last = Lane(Own(receiver, "in"), self.gpus[receiver])
        left, right = self.machine_of[sender], self.machine_of[receiver]
        if left == right:
            return first, last
        ports = (
            Lane(Link("machine", left, "out"), self.machines[left]),
            Lane(Link("machine", right, "in"), self.machines[right]),
        )
        left, right = self.rack_of[left], self.rack_of[right]
        if left == right:
            return first, *ports, last
        core = 0
        if self.cores > 1:
            switch = len(self.machine_of) + len(self.rack_of) + left
            core = core_of(switch, (sender, receiver), (from_port, to_port), self.cores)
        up = Lane(Link("rack", left, "out", core), self.racks[left])
        down = Lane(Link("rack", right, "in", core), self.racks[right])
        return first, ports[0], up, down, ports[1], last

    def own(self, sender: int, receiver: int) -> None:
        """Return None: all messages are followed packet by packet."""


def core_of(switch: int, hosts: tuple[int, int], ports: tuple[int, int], cores: int) -> int:
    """Return the core switch, or the uplink, that the switch of a rack chooses for a message.

    Parameters
    ----------
    switch
        Its number, which seeds the hash.
    hosts, ports
        Of the sender and the receiver.
    cores
        To choose from.
    """
    words = (_address(hosts[0]), _address(hosts[1]), ports[0] | ports[1] << 16)
    return murmur(words, switch) % cores


def data_ports(count: int) -> tuple[int, int]:
    """Return the ports of the message number `count` (from 0) between two GPUs."""
    return 10_000 + count, _TO_PORT


def murmur(words: Sequence[int], seed: int) -> int:
    """Return MurmurHash3 (x86, 32 bits) of whole words (Appleby, 2011)."""
    value = seed
    for word in words:
        mixed = _rotated(word * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
        value = (_rotated(value ^ mixed, 13) * 5 + 0xE6546B64) & _WORD
    value ^= 4 * len(words)
    value = (value ^ value >> 16) * 0x85EBCA6B & _WORD
    value = (value ^ value >> 13) * 0xC2B2AE35 & _WORD
    return value ^ value >> 16


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _WORD


def _address(gpu: int) -> int:
    return 0x0B00_0001 + (gpu // 256 << 16) + (gpu % 256 << 8)
