"""Closed forms of NCCL's collectives, over arrays of sizes.

With n GPUs on m machines in r racks, at most g on one machine, S bytes (as nccl-tests counts them), and the
parameters of `netmodels.nccl.parameters`; where a step takes as long in `rack` as in `machine`, as in an
NVLink domain of several machines, the GPUs of a rack count as one machine, with the narrower of the two
bandwidths, and racks are joined by the network,

    W       bandwidth out of the machine with the least (`sends_gb_s`): NCCL gives all machines the number
            of channels of the one with the fewest (src/init.cc). A ring leaves a rack once, and of trees a
            rack's uplink carries the same bytes as a machine's port: one machine of a job has all of the
            uplink
    I, C    bandwidth inside a machine (`inside_gb_s`), and through one (`channels_gb_s`, or I)
    D       2 (g - 1) machine.step + 2 (lg(m / r) rack.step + lg(r) network.step) (1 + skew (lg(m) - 1))
    far     r (network.step - rack.step), 0 if less, and in one rack: added time of a round of a ring

    pipe(L, b, k)   L + b + 2 k sqrt(L b) / sqrt(1 + (2 k / 5)^2 b / L)
                    A pipeline of depth L over b: with the best of constant chunks it takes
                    L + b + 2 sqrt(L b). NCCL's chunks stop growing, so that filling costs at most 5 L.
    chunks(L, b, k) L + b + k b / sqrt(1 + (k / 5)^2 (b / L)^2)
                    The same with the number of chunks that the depth requires: filling costs a share
                    k of b, until chunks are as large as NCCL's buffers (src/enqueue.cc: a tree's chunks are
                    halved while a channel has fewer than a number that grows with the depth).
    two(L, b)       min(pipe(start + L, b / ll_share, ll_pipeline), chunks(start + bulk L, b, pipeline))
                    NCCL's protocols: LL is quick and narrow (every 8 bytes carry a flag of 4), Simple slow
                    and wide; LL128 is between.

    all-reduce
      one machine   two(D, 2 (n - 1) / n S / min(I, max(1, 2 (n - 1) / (n + 1)) machine.gpu))
                    Where no run shows the switch, I is at least `channels_gb_s`.
                    Reduction in the switch sends (n + 1) / n of S through each link, a ring 2 (n - 1) / n.
      machines      min(two(D, max(c S / W, 2 (n - 1) / n S / C)), ring(max(S, n ring_from_mb)))
                    ring(S) = start + 2 (n - 1) bulk_round + 2 far + 2 (n - 1) / n S / min(W, C)
                    A double binary tree, and a ring. c: in a tree 2 bytes pass a machine's network for each
                    of S, but 1 on two machines, a root and a leaf. So two machines, and only two, reach more
                    than the bandwidth of their network. NCCL leaves the tree at a size that grows with the
                    GPUs, not where the ring becomes faster; below it a tree costs at most the ring's
                    cost there, so that no message takes longer than a larger one.
    all-gather, reduce-scatter
      one machine   b = (n - 1) / n S / machine.gpu
                    min(two((n - 1) round, b), start + (n - 1) bulk_round + b)
                    A step inside a machine takes at most the time of one between machines.
      machines      b = (n - 1) / n S / min(W, C)
                    min(pipe(start + (n - 1) round + far, b / ll_share, ll_pipeline),
                        start + (n - 1) bulk_round + far + b)
    all-to-all      inside = S (g - 1) / n / machine.gpu
      one machine   chunks(start + n message min(1, machine.step / rack.step), inside, pipeline)
      machines      start + (n - p) message + far + max(inside, leaving), p GPUs on the smallest machine;
                    leaving = S / exchange x the largest, over machines of p and racks of q GPUs, of
                    p ((q - p) / n / port + (1 - q / n) / port between racks) and q (1 - q / n) / uplink
    send-receive    each GPU to the next: chunks(start + step, S / link, pipeline) with the link of one GPU on
                    the widest tier, times `exchange` where it leaves the machine; one leaves each rack

Sources: NCCL's tuning model, github.com/NVIDIA/nccl at 5067397, src/graph/tuning.cc, ncclTopoTuneModel (time
= latency + bytes / bandwidth; a tree's latency base + 2 ((n / m - 1) intra + lg(m) inter), a ring's base +
steps times hop, each by protocol; LL has 1 / 3.8 of a tree's bandwidth); Sanders, Speck and Traeff, Two-tree
algorithms for full bandwidth broadcast, reduction and scan, 2009 (double trees, pipelines of constant
chunks). NCCL takes the algorithm and the protocol that its own model holds for the fastest, and at times they
are not: measured times then jump, and even fall as sizes grow. These forms grow with size, without jumps.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log2
from typing import Literal

import numpy as np
import numpy.typing as npt

from netmodels.fabric.nccl import NcclFabric

NcclCollective = Literal["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send_receive"]
Floats = npt.NDArray[np.float64]
Place = tuple[tuple[int, ...], ...]
"""GPUs by rack and machine."""

_MAX_FILLING = 5.0  # latencies of a pipeline: where chunks stop growing


def collective_us(collective: NcclCollective, sizes_bytes: Floats, place: Place, nccl: NcclFabric) -> Floats:
    """Return the times of collectives of several sizes, each alone, shape (n,).

    Parameters
    ----------
    collective
        The collective.
    sizes_bytes
        As nccl-tests counts: of an all-gather the total over GPUs, of others the size per GPU at the start;
        shape (n,).
    place
        GPUs by rack and machine; more than one in all.
    nccl
        The fabric.
    """
    if nccl.rack.step_us == nccl.machine.step_us:
        inside = min(nccl.machine, nccl.rack, key=lambda tier: tier.gpu_gb_s)
        place, nccl = tuple((sum(rack),) for rack in place), replace(nccl, machine=inside, rack=nccl.network)
    return _FORMS[collective](sizes_bytes, _seen(place), nccl)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A placement as the closed forms see it; `units`: (GPUs of a machine, GPUs of its rack), each once."""

    gpus: int
    machines: int
    racks: int
    machine_gpus: int
    units: tuple[tuple[int, int], ...]
    place: Place

    def min_gb_s(self, nccl: NcclFabric) -> float:
        """Return the least bandwidth out of a machine; rings and trees leave a rack by one machine."""
        rack = min(nccl.rack.sends_gb_s(*unit) for unit in self.units)
        if self.racks == 1:
            return rack
        return min(rack, *(nccl.network.sends_gb_s(gpus, gpus) for gpus, _ in self.units))

    def tree_us(self, nccl: NcclFabric) -> float:
        """Return the steps of a tree, up and down, with chains inside the machines."""
        doublings, over = log2(self.machines), log2(self.racks)
        outside = (doublings - over) * nccl.rack.step_us + over * nccl.network.step_us
        skew = 1 + nccl.skew * max(0.0, doublings - 1)
        return 2 * (self.machine_gpus - 1) * nccl.machine.step_us + 2 * outside * skew

    def exchanged_us(self, nccl: NcclFabric) -> float:
        """Return the time of an all-to-all of 1,000 bytes at the busiest port or uplink."""
        total, busiest = self.gpus, 0.0
        for rack in dict.fromkeys(self.place):
            in_rack = sum(rack)
            beyond = 1 - in_rack / total
            for count in rack:
                near = (in_rack - count) / total / nccl.rack.sends_gb_s(count, in_rack)
                busiest = max(busiest, count * (near + beyond / nccl.network.sends_gb_s(count, count)))
            uplink = sum(nccl.network.sends_gb_s(count, in_rack) for count in rack)
            busiest = max(busiest, in_rack * beyond / uplink)
        return busiest

    def far_us(self, nccl: NcclFabric) -> float:
        """Return the added time of a round of a ring between racks, relative to one rack."""
        return self.racks * max(0.0, nccl.network.step_us - nccl.rack.step_us) if self.racks > 1 else 0.0


@lru_cache(maxsize=65_536)
def _seen(place: Place) -> _Seen:
    totals = [(rack, sum(rack)) for rack in place]
    units = tuple(dict.fromkeys((count, total) for rack, total in totals for count in rack))
    machines = [count for rack in place for count in rack]
    return _Seen(sum(machines), len(machines), len(place), max(machines), units, place)


def _sent_us(size_bytes: Floats, gb_s: float) -> Floats:
    return size_bytes / (gb_s * 1e3)


def _pipe(latency_us: float, sent_us: Floats, filling: float) -> Floats:
    limit = 1 + (2 * filling / _MAX_FILLING) ** 2 * sent_us / latency_us
    return latency_us + sent_us + 2 * filling * np.sqrt(latency_us * sent_us / limit)


def _chunks(latency_us: float, sent_us: Floats, filling: float) -> Floats:
    most = filling / (_MAX_FILLING * latency_us)
    return latency_us + sent_us + filling * sent_us / np.hypot(1, most * sent_us)


def _small(latency_us: float, sent_us: Floats, nccl: NcclFabric) -> Floats:
    return _pipe(nccl.start_us + latency_us, sent_us / nccl.ll_share, nccl.ll_pipeline)


def _large(latency_us: float, sent_us: Floats, nccl: NcclFabric) -> Floats:
    return _chunks(nccl.start_us + nccl.bulk * latency_us, sent_us, nccl.pipeline)


def _all_reduce(sizes: Floats, seen: _Seen, nccl: NcclFabric) -> Floats:
    share = 2 * (seen.gpus - 1) / seen.gpus * sizes
    latency = seen.tree_us(nccl)
    if seen.machines == 1:
        most = max(1.0, 2 * (seen.gpus - 1) / (seen.gpus + 1)) * nccl.machine.gpu_gb_s
        inside = nccl.switch_gb_s or max(nccl.inside_gb_s, nccl.channels_gb_s)
        sent = _sent_us(share, min(inside, most))
        return np.minimum(_small(latency, sent, nccl), _large(latency, sent, nccl))
    leaves, through = seen.min_gb_s(nccl), nccl.channels_gb_s or nccl.inside_gb_s
    crossing = 1 if seen.machines == 2 else 2
    sent = np.maximum(_sent_us(crossing * sizes, leaves), _sent_us(share, through))
    tree = np.minimum(_small(latency, sent, nccl), _large(latency, sent, nccl))
    rounds = 2 * (seen.gpus - 1) * nccl.bulk_round_us + 2 * seen.far_us(nccl)
    sent = _sent_us(np.maximum(share, 2 * (seen.gpus - 1) * 1e6 * nccl.ring_from_mb), min(leaves, through))
    return np.minimum(tree, nccl.start_us + rounds + sent)


def _ring(sizes: Floats, seen: _Seen, nccl: NcclFabric) -> Floats:
    share, steps = (seen.gpus - 1) / seen.gpus * sizes, seen.gpus - 1
    latency = steps * nccl.round_us
    if seen.machines == 1:
        sent = _sent_us(share, nccl.machine.gpu_gb_s)
        quick = np.minimum(_small(latency, sent, nccl), _large(latency, sent, nccl))
        return np.minimum(quick, nccl.start_us + steps * nccl.bulk_round_us + sent)
    far = seen.far_us(nccl)
    sent = _sent_us(share, min(seen.min_gb_s(nccl), nccl.channels_gb_s or nccl.inside_gb_s))
    large = nccl.start_us + steps * nccl.bulk_round_us + far + sent
    return np.minimum(_small(latency + far, sent, nccl), large)


def _all_to_all(sizes: Floats, seen: _Seen, nccl: NcclFabric) -> Floats:
    inside = _sent_us((seen.machine_gpus - 1) / seen.gpus * sizes, nccl.machine.gpu_gb_s)
    if seen.machines == 1:
        message = nccl.message_us * min(1.0, nccl.machine.step_us / nccl.rack.step_us)
        return _chunks(nccl.start_us + seen.gpus * message, inside, nccl.pipeline)
    leaving = _sent_us(seen.exchanged_us(nccl) * sizes, nccl.exchange)
    messages = (seen.gpus - min(count for count, _ in seen.units)) * nccl.message_us
    return nccl.start_us + messages + seen.far_us(nccl) + np.maximum(inside, leaving)


def _send_receive(sizes: Floats, seen: _Seen, nccl: NcclFabric) -> Floats:
    if seen.machines == 1:
        step_us, link = nccl.machine.step_us, nccl.machine.gpu_gb_s
    else:
        way = nccl.rack if seen.racks == 1 else nccl.network
        step_us = way.step_us
        link = nccl.exchange * min(tier.sends_gb_s(1, 1) for tier in (nccl.rack, way))
    return _chunks(nccl.start_us + step_us, _sent_us(sizes, link), nccl.pipeline)


_FORMS: Mapping[NcclCollective, Callable[[Floats, _Seen, NcclFabric], Floats]] = {
    "all_reduce": _all_reduce,
    "reduce_scatter": _ring,
    "all_gather": _ring,
    "all_to_all": _all_to_all,
    "send_receive": _send_receive,
}
