"""Mapping of ranks to the GPUs of a shape, and the groups of each role as pieces of machines and racks.

A mapping is a rule on the sorted shape, so that equal shapes have equal prices:

    whole        whole units of the plan (`Plan.unit`: tensor parallelism) in each machine first, then the
                 other GPUs, machine after machine: no unit is split that a machine could hold
    order        machine after machine
    round_robin  a rank in each machine in turn, as the worst case
"""

from collections.abc import Mapping as Dict
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.fabric.shape import Shape
from netmodels.llm.plan import Plan, Role
from netmodels.nccl.model import Place

Mapping = Literal["whole", "order", "round_robin"]


class Pieces(NamedTuple):
    """A group of a role on the machines, and its share of the ports that sibling groups use, too.

    Attributes
    ----------
    place
        GPUs by rack and machine.
    machine_share, rack_share
        Part of the ports of a machine, and of the uplink of a rack, that is the group's while all groups of
        the role send at once.
    """

    place: Place
    machine_share: float
    rack_share: float


def seats(plan: Plan, mapping: Mapping, shape: Shape) -> tuple[Ints, Ints]:
    """Return the machine of each rank, and the rack of each machine, of shapes (gpus,) and (machines,)."""
    counts = np.array([count for rack in shape for _, count in rack])
    racks = np.repeat(np.arange(len(shape)), [len(rack) for rack in shape])
    numbers = np.arange(len(counts))
    if mapping == "round_robin":
        slots = np.arange(counts.max())
        return np.repeat(numbers[None], len(slots), 0)[slots[:, None] < counts[None]], racks
    whole = counts - counts % plan.unit if mapping == "whole" else counts
    return np.concatenate([np.repeat(numbers, whole), np.repeat(numbers, counts - whole)]), racks


@lru_cache(maxsize=16_384)
def pieces_of(plan: Plan, mapping: Mapping, shape: Shape) -> Dict[Role, tuple[Pieces, ...]]:
    """Return the distinct groups of each role that has more than one member, the worst share of each."""
    machine, rack = seats(plan, mapping, shape)
    groups = plan.groups(len(machine))
    return {role: _pieces(machine[ranks], rack) for role, ranks in groups.items() if ranks.shape[1] > 1}


def _pieces(machines: Ints, racks: Ints) -> tuple[Pieces, ...]:
    """Return the distinct groups of a role; `machines`: of the members, shape (groups, members)."""
    total = len(racks)
    keys = np.arange(len(machines))[:, None] * total + machines
    counts = np.bincount(keys.ravel(), minlength=len(machines) * total).reshape(-1, total)
    starts = np.searchsorted(racks, np.arange(racks[-1] + 1))
    by_rack = np.add.reduceat(counts, starts, axis=1)
    leaves = np.count_nonzero(counts, axis=1) > 1
    beyond = np.count_nonzero(by_rack, axis=1) > 1
    machine_load, rack_load = counts[leaves].sum(axis=0), by_rack[beyond].sum(axis=0)
    machine_share = _worst(counts, machine_load, leaves)
    rack_share = _worst(by_rack, rack_load, beyond)
    # Groups of equal sorted counts and shares cost the same: one of each kind is enough.
    kinds = np.column_stack([np.sort(counts, axis=1), np.sort(by_rack, axis=1), machine_share, rack_share])
    weights = np.random.default_rng(0).random(kinds.shape[1])
    _, first = np.unique(kinds @ weights, return_index=True)
    return tuple(
        Pieces(_place(counts[group], racks), float(machine_share[group]), float(rack_share[group]))
        for group in first.tolist()
    )


def _worst(counts: Ints, load: Ints, crossing: Ints) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the least share of a port among those that a group uses, shape (groups,); 1 if it uses none."""
    shares = np.where(counts > 0, counts / np.maximum(load, 1), 1.0).min(axis=1)
    return np.where(crossing, shares, 1.0)


def _place(counts: Ints, racks: Ints) -> Place:
    place: dict[int, list[int]] = {}
    for machine in np.flatnonzero(counts).tolist():
        place.setdefault(int(racks[machine]), []).append(int(counts[machine]))
    return tuple(tuple(rack) for rack in place.values())
