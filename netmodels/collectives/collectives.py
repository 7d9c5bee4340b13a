"""Collectives over several dimensions: the phases of each, in ASTRA-sim's order.

    all-reduce      `bandwidth_aware`: reduce-scatter outwards with shrinking size, all-reduce in the last
                    dimension, all-gather back: from the size that the reduce-scatters left, not the one
                    before, which differs where divisions left a remainder. `baseline`: all of it in every
                    dimension.
    reduce-scatter  outwards, shrinking
    all-gather      inwards, growing
    all-to-all      all of it in every dimension, outwards

Through a gate of an irregular placement (`netmodels.collectives.dimensions`) with p of n GPUs inside must
pass, in one direction,

    all-reduce S, reduce-scatter (1 - p / n) S, all-gather (n - p) S, all-to-all p (1 - p / n) S.

A collective is cut into `system.chunks` equal chunks, and one more if the division leaves a remainder. A
chunk (but of an all-gather) has at least a byte for every member.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic

import numpy as np

from netmodels.collectives.algorithms import (
    Collective,
    Group,
    Ints,
    N,
    left,
    link_bandwidth_bytes_per_ns,
    price,
)
from netmodels.collectives.dimensions import Gate, Level
from netmodels.fabric.system import SystemSettings


@dataclass(frozen=True, slots=True)
class Phase(Generic[N]):
    """One phase of a chunk in one dimension.

    Parameters
    ----------
    dimension
        Index of the dimension, innermost 0.
    ns
        Duration of the phase.
    sent_bytes
        Bytes that each member sends; the mean, if members differ.
    """

    dimension: int
    ns: N
    sent_bytes: N


def chunks_of(
    collective: Collective, gpus: int, size_bytes: Ints, system: SystemSettings
) -> tuple[Ints, Ints]:
    """Return the bytes of a chunk, and the number of chunks.

    Parameters
    ----------
    collective
        The collective.
    gpus
        GPUs that take part.
    size_bytes
        Bytes that each of them starts with, more than 0, shape (n,).
    system
        `chunks`.
    """
    chunk = size_bytes // system.chunks
    least = 1 if collective == "all_gather" else gpus
    small = chunk < least
    chunk = np.maximum(chunk, least)
    return chunk, np.where(small, system.chunks, -(-size_bytes // chunk))


def phases_of(
    collective: Collective, levels: Sequence[Level], chunk_bytes: N, system: SystemSettings
) -> tuple[Phase[N], ...]:
    """Return the phases of one chunk, in order.

    Parameters
    ----------
    collective
        The collective.
    levels
        The dimensions with their members, innermost first.
    chunk_bytes
        Bytes that each member starts with: one chunk, or an array of chunks of several collectives.
    system
        Settings of collectives.
    """
    phases: list[Phase[N]] = []
    size = chunk_bytes
    for place, part in parts_of(collective, len(levels), system):
        level = levels[place]
        members = level.members
        links = _links(tuple(levels), place) if system.packets else ()
        group = Group(level.dimension, members, system, links)
        time_ns, sent = price(part, system.algorithm_of(level.tier), group, size)
        phases.append(Phase(place, time_ns, sent))
        size = left(part, members, size)
    return tuple(phases)


@lru_cache(maxsize=65_536)
def _links(levels: tuple[Level, ...], place: int) -> tuple[tuple[float, float], ...]:
    """Return the links between neighbours of a level, up and down, with those below it on the way.

    Traffic of all GPUs of a group below leaves it over one link (`netmodels.astra_sim.ns3`).
    """
    up: list[tuple[float, float]] = []
    below = 1.0
    for level in levels[: place + 1]:
        up.append((below * link_bandwidth_bytes_per_ns(level.dimension, level.members), below))
        below *= level.members
    return (*up, *reversed(up))


def parts_of(
    collective: Collective, dimensions: int, system: SystemSettings
) -> Iterator[tuple[int, Collective]]:
    """Yield (dimension, collective there)."""
    outwards = range(dimensions)
    if collective == "all_gather":
        yield from ((place, collective) for place in reversed(outwards))
    elif collective != "all_reduce" or system.collective_optimization == "baseline":
        yield from ((place, collective) for place in outwards)
    else:
        yield from ((place, "reduce_scatter") for place in outwards[:-1])
        yield from ((place, "all_reduce") for place in outwards[-1:])
        yield from ((place, "all_gather") for place in reversed(outwards[:-1]))


def gate_ns(collective: Collective, gates: Sequence[Gate], gpus: int, chunk_bytes: Ints) -> Ints:
    """Return the least time of a chunk that the gates of an irregular placement allow, shape (n,).

    Parameters
    ----------
    collective
        The collective.
    gates
        Machines and racks with their bandwidths.
    gpus
        Of the placement.
    chunk_bytes
        Bytes that each member starts with, shape (n,).
    """
    slowest = max((_share(collective, gate.gpus, gpus) / gate.bytes_per_ns for gate in gates), default=0.0)
    return (chunk_bytes * slowest).astype(np.int64)


def _share(collective: Collective, inside: int, gpus: int) -> float:
    """Return the bytes that must pass a gate in one direction, relative to a member's bytes at the start."""
    outside = 1 - inside / gpus
    return {
        "all_reduce": 1.0,
        "reduce_scatter": outside,
        "all_gather": gpus * outside,
        "all_to_all": inside * outside,
    }[collective]
