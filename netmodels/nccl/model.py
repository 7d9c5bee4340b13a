"""Closed forms of NCCL's collectives, over arrays of sizes."""

from dataclasses import dataclass
from functools import lru_cache
from math import log2
from typing import Literal

import numpy as np
import numpy.typing as npt

from netmodels.nccl.parameters import NcclFabric

NcclCollective = Literal["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send_receive"]
Floats = npt.NDArray[np.float64]
Place = tuple[tuple[int, ...], ...]
"""GPUs by rack and machine."""


def collective_ns(collective: NcclCollective, size_bytes: int, place: Place, nccl: NcclFabric) -> int:
    """Return the time of one collective alone; see `collective_us`."""
    sizes = np.array([size_bytes], dtype=np.float64)
    return round(1e3 * float(collective_us(collective, sizes, place, nccl)[0]))


def collective_us(collective: NcclCollective, sizes_bytes: Floats, place: Place, nccl: NcclFabric) -> Floats:
    """Return the times of collectives of several sizes, each alone, shape (n,).

    Parameters
    ----------
    collective
        What is done.
    sizes_bytes
        As nccl-tests counts: of an all-gather the total over GPUs, of others what each GPU starts with; shape
        (n,).
    place
        GPUs by rack and machine; more than one in all.
    nccl
        The fabric.
    """
    return _FORMS[collective](sizes_bytes, _Seen.of(place, nccl), nccl)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A placement as the closed forms see it.

    `leaves_gb_s` is what the machine sends that sends least: NCCL gives all of them as many channels.
    """

    gpus: int
    machines: int
    machine_gpus: int
    leaves_gb_s: float
    step_us: float
    doublings: float

    @staticmethod
    @lru_cache(maxsize=65_536)
    def of(place: Place, nccl: NcclFabric) -> "_Seen":
        machines = [(count, sum(rack)) for rack in place for count in rack]
        ways = [nccl.rack] if len(place) == 1 else [nccl.rack, nccl.network]
        in_racks, over = log2(max(map(len, place))), log2(len(place))
        total = max(in_racks + over, 1e-9)
        return _Seen(
            gpus=sum(count for count, _ in machines),
            machines=len(machines),
            machine_gpus=max(count for count, _ in machines),
            leaves_gb_s=min(way.sends_gb_s(*each) for way in ways for each in machines),
            step_us=(in_racks * nccl.rack.step_us + over * nccl.network.step_us) / total,
            doublings=log2(len(machines)),
        )


def _sent_us(size_bytes: Floats, gb_s: float) -> Floats:
    return size_bytes / (gb_s * 1e3)


def _pipelined(latency_us: float, sent_us: Floats, nccl: NcclFabric) -> Floats:
    return latency_us + sent_us + 2 * nccl.pipeline * np.sqrt(latency_us * sent_us)


def _all_reduce(sizes: Floats, seen: _Seen, nccl: NcclFabric) -> Floats:
    share = 2 * (seen.gpus - 1) / seen.gpus
    inside = nccl.switch_gb_s or nccl.machine.gpu_gb_s
    start = nccl.start_us + 2 * (seen.machine_gpus - 1) * nccl.machine.step_us
    if seen.machines == 1:
        return _pipelined(start, _sent_us(share * sizes, inside), nccl)
    tree_us = start + 2 * seen.step_us * seen.doublings * (1 + nccl.skew * (seen.doublings - 1))
    crossing = 1 if seen.machines == 2 else 2
    tree = np.maximum(_sent_us(crossing * sizes, seen.leaves_gb_s), _sent_us(share * sizes, inside))
    ring_us = nccl.start_us + 2 * (seen.gpus - 1) * nccl.round_us
    ring = _sent_us(share * sizes, seen.leaves_gb_s)
    return np.minimum(_pipelined(tree_us, tree, nccl), _pipelined(ring_us, ring, nccl))


def _ring(sizes: Floats, seen: _Seen, nccl: NcclFabric) -> Floats:
    share = (seen.gpus - 1) / seen.gpus
    if seen.machines == 1:
        latency = nccl.start_us + (seen.gpus - 1) * nccl.machine.step_us
        return _pipelined(latency, _sent_us(share * sizes, nccl.machine.gpu_gb_s), nccl)
    latency = nccl.start_us + (seen.gpus - 1) * nccl.round_us
    return _pipelined(latency, _sent_us(share * sizes, seen.leaves_gb_s), nccl)


def _all_to_all(sizes: Floats, seen: _Seen, nccl: NcclFabric) -> Floats:
    inside = _sent_us(sizes * (seen.machine_gpus - 1) / seen.gpus, nccl.machine.gpu_gb_s)
    if seen.machines == 1:
        return _pipelined(nccl.start_us + seen.gpus * nccl.machine.step_us, inside, nccl)
    leaving = sizes * seen.machine_gpus * (1 - seen.machine_gpus / seen.gpus)
    sent = np.maximum(inside, _sent_us(leaving, seen.leaves_gb_s))
    return _pipelined(nccl.start_us + seen.gpus * nccl.message_us, sent, nccl)


def _send_receive(sizes: Floats, seen: _Seen, nccl: NcclFabric) -> Floats:
    if seen.machines == 1:
        return _pipelined(nccl.start_us + nccl.machine.step_us, _sent_us(sizes, nccl.machine.gpu_gb_s), nccl)
    return _pipelined(nccl.start_us + seen.step_us, _sent_us(sizes, nccl.rack.gpu_gb_s), nccl)


_FORMS = {
    "all_reduce": _all_reduce,
    "reduce_scatter": _ring,
    "all_gather": _ring,
    "all_to_all": _all_to_all,
    "send_receive": _send_receive,
}
