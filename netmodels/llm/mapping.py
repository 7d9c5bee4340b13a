"""Mapping of ranks to the GPUs of a shape, and the groups of each role as pieces of machines and racks.

A mapping is a rule on the sorted shape, so that equal shapes have equal prices:

    whole        whole units of the plan (`Plan.unit`: tensor parallelism) in each machine first, then the
                 other GPUs, machine after machine: no unit is split that a machine could hold
    order        machine after machine
    round_robin  a rank in each rack and machine in turn, as the worst case
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from netmodels.collectives.algorithms import Ints
from netmodels.fabric.shape import Shape
from netmodels.llm.plan import Plan, Role
from netmodels.nccl.model import Floats, Place

RankMapping = Literal["whole", "order", "round_robin"]


class Pieces(NamedTuple):
    """A group of a role on the machines, and its share of the ports that sibling groups use, too.

    Attributes
    ----------
    place
        GPUs by rack and machine.
    machine_share, rack_share
        Part of the ports of a machine, and of the uplink of a rack, that is the group's while all groups of
        the role send at once: of rings, the least of its members / all that send there; of an all-to-all, the
        one with which its busiest port alone takes as long as the busiest of all groups together.
    """

    place: Place
    machine_share: float
    rack_share: float


def seats(plan: Plan, mapping: RankMapping, shape: Shape) -> tuple[Ints, Ints]:
    """Return the machine of each rank, and the rack of each machine, of shapes (gpus,) and (machines,)."""
    counts = np.array([count for rack in shape for _, count in rack])
    racks = np.repeat(np.arange(len(shape)), [len(rack) for rack in shape])
    numbers = np.arange(len(counts))
    if mapping == "round_robin":
        slots = np.arange(counts.max())
        numbers = np.argsort(numbers - np.searchsorted(racks, racks), kind="stable")  # by place in a rack
        counts = counts[numbers]
        return np.repeat(numbers[None], len(slots), 0)[slots[:, None] < counts[None]], racks
    whole = counts - counts % plan.unit if mapping == "whole" else counts
    return np.concatenate([np.repeat(numbers, whole), np.repeat(numbers, counts - whole)]), racks


@lru_cache(maxsize=16_384)
def pieces_of(plan: Plan, mapping: RankMapping, shape: Shape) -> Mapping[Role, tuple[Pieces, ...]]:
    """Return the distinct groups of each role that has more than one member, the worst share of each."""
    machine, rack = seats(plan, mapping, shape)
    groups = plan.groups(len(machine))
    return {
        role: _pieces(machine[ranks], rack, exchange=role == "ep")
        for role, ranks in groups.items()
        if ranks.shape[1] > 1
    }


def _pieces(machines: Ints, racks: Ints, *, exchange: bool) -> tuple[Pieces, ...]:
    """Return the distinct groups of a role; `machines`: of the members, shape (groups, members).

    Groups on equal numbers of machines and racks, with equal least and most GPUs in one and equal shares of
    ports, cost the same: one of each kind is enough. Only experts `exchange`, by all-to-alls.
    """
    total = len(racks)
    offsets = np.arange(len(machines))[:, None] * total
    counts = np.bincount((offsets + machines).ravel(), minlength=len(machines) * total).reshape(-1, total)
    used = counts > 0
    beyond = np.zeros(len(counts), dtype=bool)
    by_rack, racks_used = counts, used
    if racks[-1]:
        by_rack = np.add.reduceat(counts, np.searchsorted(racks, np.arange(racks[-1] + 1)), axis=1)
        racks_used = by_rack > 0
        beyond = racks_used.sum(axis=1) > 1
    spread = used.sum(axis=1)
    share = _exchange_share if exchange else _least_share
    machine_share, rack_share = share(counts, used, spread > 1), share(by_rack, racks_used, beyond)
    least, most = np.where(used, counts, total + len(counts)).min(axis=1), counts.max(axis=1)
    kinds = np.array([spread, racks_used.sum(axis=1) * beyond, least, most, machine_share, rack_share])
    if exchange:
        kinds[1] += by_rack.max(axis=1) / 2**20  # of an all-to-all, the GPUs of a rack count, too
    _, first = np.unique(_WEIGHTS @ kinds, return_index=True)
    return tuple(
        Pieces(_place(counts[group], racks), float(machine_share[group]), float(rack_share[group]))
        for group in first.tolist()
    )


_WEIGHTS = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])  # independent, so that equal sums are equal kinds


def _least_share(counts: Ints, used: npt.NDArray[np.bool_], crossing: npt.NDArray[np.bool_]) -> Floats:
    """Return the least share of a port among those that a group uses, shape (groups,); 1 if it uses none."""
    if not crossing.any():
        return np.ones(len(counts))
    load = np.maximum(counts[crossing].sum(axis=0), 1)
    shares: Floats = np.where(used, counts / load, 1.0).min(axis=1)
    return np.where(crossing, shares, 1.0)


def _exchange_share(counts: Ints, used: npt.NDArray[np.bool_], crossing: npt.NDArray[np.bool_]) -> Floats:
    """Return a share of all ports with which an all-to-all takes as long as on the busiest, shape (groups,).

    p of n members send p (n - p) / n of a member's bytes through their port, beside those of other groups.
    """
    leaving = counts * (counts.sum(axis=1, keepdims=True) - counts)
    load = np.where(used, leaving[crossing].sum(axis=0), 0).max(axis=1)
    return np.where(crossing, leaving.max(axis=1) / np.maximum(load, 1), 1.0)


def _place(counts: Ints, racks: Ints) -> Place:
    place: dict[int, list[int]] = {}
    members = np.flatnonzero(counts)
    for rack, count in zip(racks[members].tolist(), counts[members].tolist(), strict=True):
        place.setdefault(rack, []).append(count)
    return tuple(tuple(rack) for rack in place.values())
