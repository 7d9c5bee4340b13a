"""Questions to a program about a placement: its dimensions, or one ring or tree through all machines.

`network.system.across_machines` in ASTRA-sim's terms. A program has dimensions, each with an algorithm, and
no concept of rings or trees that pass from machine to machine. So

- `hierarchical`: the placement's dimensions. If machines or racks hold different numbers there are none: ns-3
  is asked about one ring through all GPUs, the others about the nearest placement that has dimensions.
- `flat_ring`, `tree`: one dimension of all GPUs with the algorithm ring (double binary tree). ns-3 gets the
  true hosts and switches beside it. For the others, whose links are those of dimensions, it is a switch
  with the bandwidth of the ring's narrowest link and the mean latency of the ring's (the tree's) steps: a
  chain of 2 (n - 1) steps passes the ring nearly twice, and so all of its links.

A placement within a machine is asked with the machine's dimensions, whatever the setting.
"""

from functools import lru_cache
from statistics import fmean

from netmodels.collectives.dimensions import Level, SeenTiers, View
from netmodels.collectives.hosts import Network
from netmodels.fabric.fabric import Dimension
from netmodels.fabric.shape import Shape, gpus
from netmodels.fabric.system import Algorithm, SystemSettings, merge_system
from netmodels.inputs.errors import InputError

_ALGORITHMS: dict[str, Algorithm] = {"flat_ring": "ring", "tree": "double_binary_tree"}


def in_one_dimension(shape: Shape, system: SystemSettings) -> bool:
    """Return whether a placement is asked as one ring or tree through its machines."""
    return system.across_machines != "hierarchical" and sum(map(len, shape)) > 1


def as_asked(shape: Shape, system: SystemSettings) -> SystemSettings:
    """Return the settings in a program's terms: an algorithm in place of a way across machines.

    Raises
    ------
    InputError
        If it is a tree of a number of GPUs that is not a power of two.
    """
    count = gpus(shape)
    if not in_one_dimension(shape, system):
        return _settings(system, None)
    if system.across_machines == "tree" and count & (count - 1):
        raise InputError(
            f"ASTRA-sim's trees need a power of two, and a placement has {count} GPUs",
            where="network.system.across_machines",
            found=system.across_machines,
            allowed="flat_ring, or network.fallback=analytical for placements without an answer",
        )
    return _settings(system, _ALGORITHMS[system.across_machines])


@lru_cache(maxsize=1024)
def _settings(system: SystemSettings, algorithm: Algorithm | None) -> SystemSettings:
    return merge_system(system, {"across_machines": "hierarchical", "collective_algorithm": algorithm})


def one_dimension(shape: Shape, tiers: SeenTiers, view: View, system: SystemSettings) -> Level:
    """Return the one dimension that represents a ring or a tree through all machines."""
    network, count = Network(shape, tiers), view.gpus
    ring = [network.path(at, (at + 1) % count) for at in range(count)]
    steps = ring
    if system.across_machines == "tree":
        steps = [network.path(0, 1 << power) for power in range(count.bit_length() - 1)]
    narrowest = min(link.bits_per_s for path in ring for link in path)
    latency_ns = fmean(sum(link.latency_ns for link in path) for path in steps)
    return Level(view.levels[-1].tier, Dimension("switch", latency_ns / 2, narrowest / 8e9), count)


def logical_dims(shape: Shape, view: View, network: Network, system: SystemSettings) -> tuple[int, ...]:
    """Return the members of ns-3's logical dimensions; one of all GPUs unless groups of each are equal."""
    if in_one_dimension(shape, system) or not (network.even and view.regular):
        return (view.gpus,)
    return tuple(int(level.members) for level in view.levels)
