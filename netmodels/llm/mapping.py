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

    Groups on equal numbers of machines and racks, with equal least and most GPUs in one, cost the more the
    less their shares of ports: those with a least share are enough. Only experts `exchange`, by all-to-alls.
    """
    here = _together(machines)
    racks_of = racks[machines]
    in_rack = _together(racks_of)
    spread, racks_used = np.rint((1 / here).sum(axis=1)), np.rint((1 / in_rack).sum(axis=1))
    share = _exchange_share if exchange else _least_share
    machine_share = share(machines, here, spread > 1)
    rack_share = share(racks_of, in_rack, racks_used > 1)
    least, most = here.min(axis=1), here.max(axis=1)
    kinds = np.array([spread, racks_used * (racks_used > 1), least, most])
    if exchange:
        kinds[1] += in_rack.max(axis=1) / 2**20  # of an all-to-all, the GPUs of a rack count, too
    pieces: list[Pieces] = []
    narrowest: dict[float, float] = {}
    alike = (_WEIGHTS @ kinds).tolist()
    for group in np.lexsort((rack_share, machine_share)).tolist():
        of_machine, of_rack = float(machine_share[group]), float(rack_share[group])
        if of_rack < narrowest.get(alike[group], 2.0):  # of those before, no share of a machine is larger
            narrowest[alike[group]] = of_rack
            pieces.append(Pieces(_place(machines[group], racks), of_machine, of_rack))
    return tuple(pieces)


_WEIGHTS = np.sqrt([2.0, 3.0, 5.0, 7.0])  # independent, so that equal sums are equal kinds


def _together(places: Ints) -> Ints:
    """Return the members of a group at each member's place, of shape (groups, members) as the places."""
    keys = places + np.arange(len(places))[:, None] * (places.max() + 1)
    here: Ints = np.bincount(keys.ravel())[keys]
    return here


def _least_share(places: Ints, here: Ints, crossing: npt.NDArray[np.bool_]) -> Floats:
    """Return the least share of a port among those that a group uses, shape (groups,); 1 if it uses none."""
    shares = np.ones(len(places))
    if not crossing.any():
        return shares
    used = places[crossing]
    load = np.bincount(used.ravel())
    shares[crossing] = (here[crossing] / load[used]).min(axis=1)
    return shares


def _exchange_share(places: Ints, here: Ints, crossing: npt.NDArray[np.bool_]) -> Floats:
    """Return a share of all ports with which an all-to-all takes as long as on the busiest, shape (groups,).

    p of n members send p (n - p) / n of a member's bytes through their port, beside those of other groups.
    """
    shares = np.ones(len(places))
    if not crossing.any():
        return shares
    used, here = places[crossing], here[crossing]
    others = here.shape[1] - here
    load = np.bincount(used.ravel(), weights=others.ravel())
    shares[crossing] = (here * others).max(axis=1) / load[used].max(axis=1)
    return shares


def _place(machines: Ints, racks: Ints) -> Place:
    place: dict[int, list[int]] = {}
    counts = np.bincount(machines)
    members = np.flatnonzero(counts)
    for rack, count in zip(racks[members].tolist(), counts[members].tolist(), strict=True):
        place.setdefault(rack, []).append(count)
    return tuple(tuple(rack) for rack in place.values())
