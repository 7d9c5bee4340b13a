"""Flat collectives over several machines: one ring through all GPUs, or a tree.

With n GPUs, S bytes and p = S // n, a ring takes

    all-reduce 2 (n-1) steps of p, reduce-scatter n-1 of p, all-gather n-1 of S, all-to-all n (n-1) / 2 of p

`ideal`: in the steady state all links carry messages one after the other, as fast as the narrowest link
allows, and no message travels the ring faster than the latencies and transmissions on its path:

    step = max(p / narrowest, mean over the ring of latency + p / bandwidth)

Steps are not in unison: a GPU sends when it has received a message and sent the one before. So this is the
largest mean weight of a cycle (Baccelli et al., Synchronization and linearity, 1992), of which there are two
kinds: one link repeated, and the whole ring. The added time at the start is left out: at most the excess of
the hops that are longer than a step. More bandwidth, less latency or fewer bytes are never slower. If
crossings set the pace, even and uneven placements of equal numbers of GPUs with the same narrowest crossing
cost the same.

`packets`, `queueing`: `netmodels.collectives.ring_steps`, simulated and in closed form. An all-to-all has the
steps of an all-reduce, times n / 4.

A tree all-reduces as in NCCL: a chain through the GPUs of a machine, and two binary trees over the machines,
each with half of the bytes and inner nodes where the other has leaves (Sanders, Speck and Traeff, Two-tree
algorithms for full bandwidth broadcast, reduction and scan, 2009). A machine passes S to its parents and S to
its children. Cut into the best number of pieces, with L the latencies of the deepest path up and down and b
the transmission of all bytes at the narrowest place, it takes

    L + b + 2 sqrt(L b)

Other collectives requested of a tree run as a ring, as in NCCL. ASTRA-sim's trees, in contrast, pass whole
messages (`netmodels.collectives.algorithms`, for a tree within one dimension).
"""

from functools import lru_cache
from math import ceil, log2

import numpy as np

from netmodels.collectives.algorithms import Collective, Ints
from netmodels.collectives.packet_transport import PAYLOAD_BYTES, Way
from netmodels.collectives.ring_steps import Floats, Steps, queueing_ns, steps_ns
from netmodels.collectives.rings import Ring
from netmodels.fabric.system import SystemSettings


def across_ns(collective: Collective, ring: Ring, chunk_bytes: Ints, system: SystemSettings) -> Ints:
    """Return the time of chunks, shape (n,).

    Parameters
    ----------
    collective
        The collective.
    ring
        The GPUs in order.
    chunk_bytes
        Bytes that each GPU starts with, shape (n,).
    system
        `across_machines` and `transport`.
    """
    if system.across_machines == "tree" and collective == "all_reduce":
        exact = _tree_ns(ring, chunk_bytes, system)
    elif system.packets:
        exact = _packets_ns(collective, ring, chunk_bytes, system)
    else:
        exact = _ideal_ns(collective, ring, chunk_bytes, system)
    times: Ints = np.rint(exact).astype(np.int64)
    return times


def sent_bytes(collective: Collective, ring: Ring, chunk_bytes: Ints, system: SystemSettings) -> Ints:
    """Return the mean bytes that each GPU sends."""
    if system.across_machines == "tree" and collective == "all_reduce":
        return 2 * (ring.gpus - 1) * chunk_bytes // ring.gpus
    steps = _steps(collective, ring.gpus)
    return (steps * _message(collective, ring, chunk_bytes)).astype(np.int64)


def by_port_ns(collective: Collective, ring: Ring, chunk_bytes: Ints, system: SystemSettings) -> Floats:
    """Return the least time in which the narrowest link carries the bytes of chunks, shape (n,)."""
    if system.across_machines == "tree" and collective == "all_reduce":
        passed, ns_per_byte = chunk_bytes, _tree_hops(ring, system)[1]
    else:
        passed, ns_per_byte = (
            sent_bytes(collective, ring, chunk_bytes, system),
            ring.hop.narrowest_ns_per_byte,
        )
    return passed.astype(np.float64) * ns_per_byte


def _steps(collective: Collective, gpus: int) -> float:
    return {"all_reduce": 2 * (gpus - 1), "all_to_all": gpus * (gpus - 1) / 2}.get(collective, gpus - 1)


def _message(collective: Collective, ring: Ring, chunk_bytes: Ints) -> Ints:
    return chunk_bytes if collective == "all_gather" else chunk_bytes // ring.gpus


def _add_ns_per_byte(system: SystemSettings) -> float:
    """Return the time to add received bytes in GPU memory: two reads and a write."""
    return 3 / system.local_memory_gb_s if system.local_memory_gb_s else 0.0


_ADDING = {"all_reduce": 0.5, "reduce_scatter": 1.0}
"""Fraction of a ring's steps after which the received message is added."""


def add_ns(message_bytes: int, system: SystemSettings) -> int:
    """Return the time to add a received message: three times whole ns."""
    return 3 * int(_add_ns_per_byte(system) * message_bytes / 3)


def _ideal_ns(collective: Collective, ring: Ring, chunk_bytes: Ints, system: SystemSettings) -> Floats:
    message = _message(collective, ring, chunk_bytes)
    latency_ns, ns_per_byte, narrowest = ring.hop
    steps, delay_ns = _steps(collective, ring.gpus), system.endpoint_delay_ns
    step_ns = np.maximum(message * narrowest, latency_ns + message * ns_per_byte)
    adds = ring.gpus - 1 if collective in ("all_reduce", "reduce_scatter") else 0
    time_ns: Floats = steps * step_ns + adds * _add_ns_per_byte(system) * message + (steps + 1) * delay_ns
    return time_ns


def _packets_ns(collective: Collective, ring: Ring, chunk_bytes: Ints, system: SystemSettings) -> Floats:
    rounds = 2 if collective in ("all_reduce", "all_to_all") else 1
    adds_ns = _ADDING.get(collective, 0.0) * _add_ns_per_byte(system)  # a byte, averaged over the steps
    steps = Steps(rounds, float(system.endpoint_delay_ns), adds_ns)
    message = _message(collective, ring, chunk_bytes).astype(np.float64)
    ring_ns = queueing_ns if system.transport == "queueing" else steps_ns
    return ring_ns(ring.blocks, steps, message) * (ring.gpus / 4 if collective == "all_to_all" else 1.0)


def _tree_ns(ring: Ring, chunk_bytes: Ints, system: SystemSettings) -> Floats:
    latency_ns, ns_per_byte = _tree_hops(ring, system)
    carried_ns = chunk_bytes * (ns_per_byte + _add_ns_per_byte(system))
    time_ns: Floats = latency_ns + carried_ns + 2 * np.sqrt(latency_ns * carried_ns)
    return time_ns


@lru_cache(maxsize=65_536)
def _tree_hops(ring: Ring, system: SystemSettings) -> tuple[float, float]:
    """Return the latencies of the deepest path up and down, and ns per byte at the narrowest place."""

    def hop_ns(way: Way) -> float:
        beside_ns = float(way.beside_ns(PAYLOAD_BYTES)) if system.packets else way.latency_ns
        return beside_ns + system.endpoint_delay_ns

    chain_ns = max((block.gpus - 1) * hop_ns(block.inside) for block in ring.blocks)
    levels = ceil(log2(ring.machines))
    tree_ns = levels * max(hop_ns(block.out) for block in ring.blocks)
    inside = max((1 / block.inside.bytes_per_ns for block in ring.blocks if block.gpus > 1), default=0.0)
    between = 2 * max(1 / block.out.bytes_per_ns for block in ring.blocks)
    return 2 * (chain_ns + tree_ns), max(inside, between)
