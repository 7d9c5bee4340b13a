"""Collectives of each role of a plan, and their times on a placement by the product's NCCL model.

Bytes of one collective (2 per value), with t tokens of a micro batch per GPU and hidden width h:

    tp   per layer and direction two all-gathers and two reduce-scatters of 2 t h (sequence parallelism), one
         of each where the GPUs have experts of their own in place of a feed-forward network. Where tp does
         not divide the tokens, two all-reduces take their place.
    etp  as tp, of the tokens that go to the experts of a group
    cp   per layer an all-gather of keys and values forward, one and a reduce-scatter backward
    ep   per layer with experts two all-to-alls forward (dispatch and combine), two backward
    pp   per micro batch and virtual stage a message forward and one backward, 2 t h / tp
    dp   (edp: of experts) gradients and weights, 2 per parameter. Sharding none: an all-reduce; optimizer: a
         reduce-scatter and an all-gather; full: per micro batch two all-gathers and a reduce-scatter

All groups of a role run at once, and share ports (`netmodels.llm.mapping`); the slowest counts. Narayanan et
al., SC'21, section 3; Korthikanti et al., arXiv 2205.05198, section 4.2.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from netmodels.fabric.nccl import NcclFabric
from netmodels.fabric.shape import TIERS, Shape, Tier
from netmodels.llm.architecture import Architecture
from netmodels.llm.mapping import Pieces, RankMapping, pieces_of
from netmodels.llm.plan import Plan, Role
from netmodels.llm.work import held_by, work_of
from netmodels.nccl.model import NcclCollective, collective_us


class Message(NamedTuple):
    """A role's collective: bytes as nccl-tests counts them, and times that it runs forward and backward.

    Attributes
    ----------
    role, collective, size_bytes
        Kind of group; collective; size.
    forward, backward
        Number per layer and micro batch (tp, etp, cp, ep), per micro batch (pp, and dp with full sharding),
        or per iteration (dp), without recomputation.
    """

    role: Role
    collective: NcclCollective
    size_bytes: float
    forward: float
    backward: float

    def backward_in(self, plan: Plan) -> float:
        """Return the times backward, with those forward again where whole layers are recomputed."""
        again = plan.recompute == "full" and self.role in ("tp", "etp", "ep")
        return self.backward + self.forward * again


@lru_cache(maxsize=4096)
def messages_of(architecture: Architecture, plan: Plan, gpus: int) -> tuple[Message, ...]:
    """Return the collectives of a GPU, of roles of more than one member."""
    work, held, members = work_of(architecture, plan), held_by(architecture, plan), plan.members(gpus)
    whole = 2 * work.tokens * architecture.hidden
    routed = architecture.expert_layers / architecture.layers
    times = 2 - routed * (plan.etp == 1 < plan.tp and not architecture.shared)
    messages: list[Message] = []
    if work.tokens % plan.tp:
        messages.append(Message("tp", "all_reduce", whole, times, times))
    else:
        messages.append(Message("tp", "all_gather", whole, times, times))
        messages.append(Message("tp", "reduce_scatter", whole, times, times))
    if routed:
        sent = work.routed_bytes / routed
        messages.append(Message("ep", "all_to_all", sent, 2 * routed, 2 * routed))
        messages.append(Message("etp", "all_gather", sent * plan.etp, routed, routed))
        messages.append(Message("etp", "reduce_scatter", sent * plan.etp, routed, routed))
    keys = 2 * architecture.kv_heads * architecture.head_size / min(plan.tp, architecture.kv_heads)
    if architecture.latent:
        keys = architecture.latent[1] + architecture.latent[2]
    messages.append(Message("cp", "all_gather", 2 * work.tokens * plan.cp * keys, 1, 1))
    messages.append(Message("cp", "reduce_scatter", 2 * work.tokens * plan.cp * keys, 0, 1))
    messages.append(Message("pp", "send_receive", whole / plan.tp, 1, 1))
    roles: tuple[tuple[Role, float], ...] = (
        ("dp", held.dense + held.embeddings),
        ("edp", held.experts),
    )
    for role, parameters in roles:
        if parameters and plan.sharding == "none":
            messages.append(Message(role, "all_reduce", 2 * parameters, 0, 1))
        elif parameters:
            again = 1 if plan.sharding == "full" else 0
            messages.append(Message(role, "all_gather", 2 * parameters, 1, again))
            messages.append(Message(role, "reduce_scatter", 2 * parameters, 0, 1))
    return tuple(message for message in messages if members[message.role] > 1)


class Priced(NamedTuple):
    """A role's collectives on a placement.

    Attributes
    ----------
    forward_ns, backward_ns
        As counted in `Message`, recomputation's in the backward pass.
    forward_bytes, backward_bytes
        Bytes that a GPU sends in them.
    tier
        Widest tier that its slowest group crosses.
    """

    forward_ns: float
    backward_ns: float
    forward_bytes: float
    backward_bytes: float
    tier: Tier

    def slower(self, factor: float) -> "Priced":
        """Return the same, with all times multiplied."""
        return self._replace(forward_ns=self.forward_ns * factor, backward_ns=self.backward_ns * factor)


def priced(
    architecture: Architecture,
    plan: Plan,
    mapping: RankMapping,
    shape: Shape,
    fabrics: tuple[NcclFabric, ...],
) -> dict[Role, Priced]:
    """Return the time of each role's collectives, alone.

    Parameters
    ----------
    architecture, plan, mapping, shape
        The model, how it is divided, and where it is.
    fabrics
        NCCL's parameters as each machine type of the shape sees them; the slowest counts.
    """
    gpus = sum(count for rack in shape for _, count in rack)
    pieces = pieces_of(plan, mapping, shape)
    answer: dict[Role, Priced] = {}
    for message in messages_of(architecture, plan, gpus):
        role, collective, size, forward, _ = message
        backward = message.backward_in(plan)
        ns, tier = _slowest(role, collective, size, pieces[role], fabrics)
        sent = size * SENT[collective](_members(pieces[role][0]))
        known = answer.get(role, Priced(0.0, 0.0, 0.0, 0.0, "machine"))
        answer[role] = Priced(
            known.forward_ns + forward * ns,
            known.backward_ns + backward * ns,
            known.forward_bytes + forward * sent,
            known.backward_bytes + backward * sent,
            max(known.tier, tier, key=TIERS.index),
        )
    return answer


SENT: dict[
    NcclCollective, Callable[[int], float]
] = {  # bytes that a GPU sends, relative to the size, of n members
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "send_receive": lambda n: 1.0,
}


def _members(pieces: Pieces) -> int:
    return sum(map(sum, pieces.place))


def _slowest(
    role: Role,
    collective: NcclCollective,
    size: float,
    pieces: tuple[Pieces, ...],
    fabrics: tuple[NcclFabric, ...],
) -> tuple[float, Tier]:
    """Return the time of the slowest group, ns, and the widest tier that it crosses."""
    form: NcclCollective = "all_gather" if collective == "reduce_scatter" else collective  # equal times
    times = [(_ns(form, size, piece, fabric), _tier(piece)) for piece in pieces for fabric in fabrics]
    return max(times)


def _tier(pieces: Pieces) -> Tier:
    if len(pieces.place) > 1:
        return "network"
    return "rack" if len(pieces.place[0]) > 1 else "machine"


@lru_cache(maxsize=65_536)
def _ns(collective: NcclCollective, size: float, pieces: Pieces, fabric: NcclFabric) -> float:
    shared = _shared(fabric, pieces.machine_share, pieces.rack_share)
    return float(1e3 * collective_us(collective, np.array([size]), pieces.place, shared)[0])


@lru_cache(maxsize=4096)
def _shared(fabric: NcclFabric, machine_share: float, rack_share: float) -> NcclFabric:
    """Return the fabric with a share of the ports of machines and of the uplinks of racks."""
    if machine_share == rack_share == 1:
        return fabric
    rack, network = (
        replace(
            tier,
            machine_gb_s=tier.machine_gb_s * machine_share,
            rack_gb_s=tier.rack_gb_s * rack_share,
        )
        for tier in (fabric.rack, fabric.network)
    )
    return replace(fabric, rack=rack, network=network)
