"""Traffic of a job with a plan on the links that its roles' groups cross.

Of a collective of which each of n members sends b bytes, a group with c members on a machine and q in its
rack sends out of them, and likewise in,

    ring         b out of each machine, and out of each rack (`netmodels.contention.traffic`); an all-reduce
                 between two machines b n / 2 (n - 1)
    all-to-all   c (n - c) b / (n - 1) out of a machine, q (n - q) b / (n - 1) out of a rack
    pipeline     b between two stages that are neighbours, each way; between the last and the first
                 (vp - 1) / vp of it

A group inside a machine sends on no shared link. All groups of a role send at once, for the time of the
slowest. Layers and stages send throughout the schedule, gradients and weights at its end, or with full
sharding throughout it, too.

A slowed role adds to the step the time that it would add alone on links slower by the same factor
(`netmodels.llm.step`): computing hides the part that it would hide there.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from netmodels.collectives.algorithms import Ints
from netmodels.contention.traffic import links_of
from netmodels.contention.transfers import Exposure, JobTraffic
from netmodels.fabric.links import Slice
from netmodels.fabric.shape import Shape, gpus
from netmodels.llm.architecture import Architecture
from netmodels.llm.communication import SENT, messages_of
from netmodels.llm.mapping import RankMapping, seats
from netmodels.llm.plan import Plan, Role
from netmodels.llm.step import Step, times_per_step
from netmodels.nccl.model import Floats, NcclCollective


class Carried(NamedTuple):
    """Bytes out of machines and racks, in the order of a shape, in multiples of those that a member sends.

    Attributes
    ----------
    machine, beyond, rack
        Out of each machine; of these, beyond its rack; out of each rack.
    """

    machine: Floats
    beyond: Floats
    rack: Floats


@lru_cache(maxsize=4096)
def carried_by(
    plan: Plan, mapping: RankMapping, shape: Shape, role: Role, collective: NcclCollective
) -> Carried:
    """Return the bytes that all groups of a role send in a collective."""
    machine, rack = seats(plan, mapping, shape)
    machines = machine[plan.groups(len(machine))[role]]
    if collective == "send_receive":
        return _between_stages(machines, rack, plan.vp)
    groups, members = machines.shape
    counts = np.zeros((groups, len(rack)))
    np.add.at(counts, (np.arange(groups)[:, None], machines), 1.0)
    in_racks = np.add.reduceat(counts, np.searchsorted(rack, np.arange(rack[-1] + 1)), axis=1)
    here = in_racks[:, rack]
    if collective == "all_to_all":
        out, beyond, up = (
            part * (members - whole) / (members - 1)
            for part, whole in ((counts, counts), (counts, here), (in_racks, in_racks))
        )
        return Carried(out.sum(axis=0), beyond.sum(axis=0), up.sum(axis=0))
    used, racks = ((part > 0).sum(axis=1, keepdims=True) for part in (counts, in_racks))
    halved = (used == 2) & (collective == "all_reduce")
    of_group = (used > 1) * np.where(halved, members / (2 * (members - 1)), 1.0)
    up = (racks > 1) * of_group
    beyond = up * counts / np.maximum(here, 1)
    return Carried(*(part.sum(axis=0) for part in (of_group * (counts > 0), beyond, up * (in_racks > 0))))


def _between_stages(machines: Ints, rack: Ints, virtual: int) -> Carried:
    """Return the bytes between the stages of pipelines; `machines`: of the stages, shape (groups, stages)."""
    machine, beyond, up = (np.zeros(count) for count in (len(rack), len(rack), rack[-1] + 1))
    following = np.roll(machines, -1, axis=1)
    times = np.full(machines.shape[1], 0.5)  # half of a role's messages go each way
    times[-1] = 0.5 * (virtual - 1) / virtual
    for there, here in ((machines, following), (following, machines)):
        weights = np.broadcast_to(times, here.shape)
        np.add.at(machine, here, weights * (here != there))
        np.add.at(beyond, here, weights * (rack[here] != rack[there]))
        np.add.at(up, rack[here], weights * (rack[here] != rack[there]))
    return Carried(machine, beyond, up)


def traffic_of(
    architecture: Architecture,
    plan: Plan,
    mapping: RankMapping,
    placement: Sequence[Slice],
    shape: Shape,
    step: Step,
    compute_ns: int,
    added_ns: Callable[[Role, float], float],
) -> JobTraffic:
    """Return the traffic of a step.

    Parameters
    ----------
    architecture, plan, mapping, placement, shape
        The model, how it is divided, and where it is.
    step, compute_ns
        Alone, and on a free network.
    added_ns
        Time that a role adds to the step if its collectives take 1 + x times as long, by role and x.
    """
    links = links_of(placement)
    sent = _sent_bytes(architecture, plan, mapping, shape, len(links))
    alone_ns = max(round(step.total_ns), compute_ns)
    at_end = [role in ("dp", "edp") and plan.sharding != "full" for role in sent]
    busy_ns = np.array([step.busy[role] for role in sent])
    fitting = min(1.0, alone_ns / max(busy_ns.sum(), 1.0))  # hidden roles may send beside each other
    times_ns = np.maximum(busy_ns * fitting, 1).astype(np.int64)
    begin_ns = alone_ns - int(times_ns[at_end].sum())
    spans_ns = np.where(at_end, alone_ns - begin_ns, max(begin_ns, 1))
    lines = [_lines(partial(added_ns, role)) for role in sent]
    length = max(map(len, lines), default=1)
    padded = [[*of_role, *[of_role[-1]] * (length - len(of_role))] for of_role in lines]
    slopes, covers_ns = np.array(padded).reshape(len(sent), length, 2).transpose(2, 0, 1)
    exposure = Exposure(alone_ns, spans_ns, slopes / times_ns[:, None], covers_ns)
    issued_ns, updates_ns = np.where(at_end, begin_ns, 0), np.zeros_like(times_ns)
    sent_bytes = np.array([*sent.values()]).reshape(len(sent), len(links))
    return JobTraffic(compute_ns, issued_ns, times_ns, links, sent_bytes, updates_ns, exposure=exposure)


def _sent_bytes(
    architecture: Architecture, plan: Plan, mapping: RankMapping, shape: Shape, links: int
) -> dict[Role, Floats]:
    """Return the bytes of a step on each link of a placement (`links_of`), by role that sends on any."""
    count, sent = gpus(shape), dict[Role, Floats]()
    members = plan.members(count)
    for message in messages_of(architecture, plan, count) if links else ():
        role, collective, size, forward, _ = message
        carried = carried_by(plan, mapping, shape, role, collective)
        if carried.machine.any():
            of_member = size * SENT[collective](members[role]) * (forward + message.backward_in(plan))
            on_links = np.repeat(np.concatenate(carried), 2)[:links]  # within a rack none beyond machines
            times = times_per_step(architecture, plan, count, role)
            sent[role] = sent.get(role, 0.0) + times * of_member * on_links
    return sent


_Line = tuple[float, float]
"""Slope and cover: slope x - cover."""
_LITTLE, _MUCH = 1e-6, 1e4


def _lines(added_ns: Callable[[float], float]) -> list[_Line]:
    """Return the lines of which a time that grows with x from 0 on, ever faster, is the largest, by slope."""
    slope, _ = _tangent(added_ns, 0.0, _LITTLE)
    first = max(slope, 0.0), 0.0
    return [first, *_steeper(added_ns, first, _tangent(added_ns, _MUCH, _MUCH))]


def _steeper(added_ns: Callable[[float], float], left: _Line, right: _Line) -> list[_Line]:
    """Return the lines after one of them, up to another."""
    if right[0] - left[0] <= _LITTLE * right[0]:
        return []
    x = (right[1] - left[1]) / (right[0] - left[0])
    at_x = left[0] * x - left[1]
    if added_ns(x) - at_x <= _LITTLE * at_x + 1:
        return [right]
    middle = _tangent(added_ns, x, _LITTLE * x)
    return [*_steeper(added_ns, left, middle), *_steeper(added_ns, middle, right)]


def _tangent(added_ns: Callable[[float], float], x: float, step: float) -> _Line:
    slope = (added_ns(x + step) - added_ns(x)) / step
    return slope, slope * x - added_ns(x)
