"""A data centre of GPUs, machines, racks and core switches, as ASTRA-sim's ns-3 back end has it.

A GPU is attached to the switch of its machine, that to the switch of its rack, and that to every core switch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from netmodels.collectives.ecmp import core_of
from netmodels.fabric.links import Link
from netmodels.packets.engine import Channel, PrivateLink, Wire


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

    def path(self, sender: int, receiver: int, from_port: int, to_port: int) -> tuple[Channel, ...]:
        """Return the channels that a message passes, in order.

        Parameters
        ----------
        sender, receiver
            GPUs.
        from_port, to_port
            Together with the GPUs, they decide on the uplink.
        """
        first = Channel(PrivateLink(sender, "out"), self.gpus[sender])
        last = Channel(PrivateLink(receiver, "in"), self.gpus[receiver])
        left, right = self.machine_of[sender], self.machine_of[receiver]
        if left == right:
            return first, last
        ports = (
            Channel(Link("machine", left, "out"), self.machines[left]),
            Channel(Link("machine", right, "in"), self.machines[right]),
        )
        left, right = self.rack_of[left], self.rack_of[right]
        if left == right:
            return first, *ports, last
        core = 0
        if self.cores > 1:
            switch = len(self.machine_of) + len(self.rack_of) + left
            core = core_of(switch, (sender, receiver), (from_port, to_port), self.cores)
        up = Channel(Link("rack", left, "out", core), self.racks[left])
        down = Channel(Link("rack", right, "in", core), self.racks[right])
        return first, ports[0], up, down, ports[1], last

    def unshared(self, sender: int, receiver: int) -> None:
        """Return None: all messages are followed packet by packet."""
