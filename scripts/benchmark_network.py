"""Measure the speed of the analytical network model.

    python scripts/benchmark_network.py [--model ResNet50]

prints microseconds per question on 64 GPUs, 4 machines in each of 2 racks: a cached answer; a new one of a
shape that another model asked about, with chunks, too; and of new shapes, regular, irregular, and followed
packet by packet, with nothing remembered. Processor time, the least of several rounds.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import process_time

from artist.data import data_path
from netmodels.api import Shape, SystemSettings, load_topology, shape_of
from netmodels.collectives import (
    across_machines,
    collectives,
    dimensions,
    packet_transport,
    ring_steps,
    rings,
)
from netmodels.models import analytical
from netmodels.models.analytical import AnalyticalModel
from netmodels.models.cache import CachedModel
from netmodels.profiles.profile import get_profile

ROUNDS = 7


def min_us(act: Callable[[], object], times: int) -> float:
    """Return the least time of one act in microseconds, over some rounds of `times`."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = process_time()
        for _ in range(times):
            act()
        best = min(best, (process_time() - start) / times * 1e6)
    return best


def forget() -> None:
    """Forget what is remembered of shapes."""
    for remembering in (
        analytical,
        across_machines,
        collectives,
        dimensions,
        packet_transport,
        ring_steps,
        rings,
    ):
        for each in vars(remembering).values():
            if hasattr(each, "cache_clear"):
                each.cache_clear()


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="ResNet50")
    parser.add_argument("--topology", default="dgx_h100_3tier")
    arguments = parser.parse_args(argv)
    profile = get_profile(arguments.model)
    topology = load_topology(data_path("topologies", f"{arguments.topology}.yaml"))
    fabric, machine = topology.fabric, topology.default_machine_type
    regular = shape_of((rack, machine, 8) for rack in range(2) for _ in range(4))
    irregular = shape_of((rack, machine, 8 - place) for rack in range(2) for place in range(rack, 4))
    own = fabric.system
    chunked, by_packets = replace(own, chunks=4), replace(own, transport="packets")

    def fresh(placed: Shape, system: SystemSettings, known: bool = False) -> Callable[[], object]:
        def ask() -> object:
            if not known:
                forget()
            return AnalyticalModel().iteration(profile, placed, fabric, system)

        return ask

    cached = CachedModel(AnalyticalModel())
    rows = [
        ("cached", lambda: cached.iteration(profile, regular, fabric, own), 20_000),
        ("new, shape known", fresh(regular, own, known=True), 50),
        ("new, shape known, 4 chunks", fresh(regular, chunked, known=True), 10),
        ("new shape", fresh(regular, own), 20),
        ("new shape, irregular", fresh(irregular, own), 20),
        ("new shape, irregular, packets", fresh(irregular, by_packets), 1),
    ]
    for name, act, times in rows:
        print(f"{min_us(act, times):10.2f} us  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
