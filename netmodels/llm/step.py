"""Time of a step: the schedule of compute, and each role's communication, hidden or exposed.

With m micro batches on p stages of v virtual ones and L layers per GPU,

    layer    forward F + tp (1 - hidden_tp) + etp + ep (1 - hidden_ep), of which F hides no more than F, + the
             excess of cp over attention; backward likewise, of twice the attention. Full sharding: the
             gathers of a layer's weights and the scatter of its gradients run beside the layer: the excess
             over hidden_dp of its compute that hides no ep
    stages   L layers each; the last has the output, and one layer less where layers are padded
    schedule as in `netmodels.llm.schedule`
    dp       the excess of gradients and weights over hidden_dp of one micro batch's compute backward and
             forward that hides no ep, and at least the part of one of L layers, which nothing hides; with
             full sharding that part
    update   Adam's
    all of it but messages between stages, times 1 + straggling log2(GPUs / 8) on more than 8 GPUs

Communication of the same direction and layer runs one after the other.
"""

from collections.abc import Mapping
from math import log2
from typing import NamedTuple

from netmodels.llm import schedule
from netmodels.llm.architecture import Architecture
from netmodels.llm.communication import Priced
from netmodels.llm.compute import Gpu, times_of
from netmodels.llm.plan import Plan, Role
from netmodels.llm.work import held_by, work_of


class Step(NamedTuple):
    """Time of a step, and of its parts, in ns.

    Attributes
    ----------
    total_ns
        The step.
    exposed
        Time that each role adds to the step.
    busy
        Time of each role's collectives on a GPU, hidden or not.
    sent_bytes
        Bytes that a GPU sends by role.
    """

    total_ns: float
    exposed: dict[Role, float]
    busy: dict[Role, float]
    sent_bytes: dict[Role, float]


_NOTHING = Priced(0.0, 0.0, 0.0, 0.0, "machine")


def free_ns(architecture: Architecture, plan: Plan, gpus: int, gpu: Gpu) -> float:
    """Return the time of a step on a free network: compute, the bubble of the pipeline, and the update."""
    return total_ns(architecture, plan, gpus, gpu, {})


def step_of(
    architecture: Architecture, plan: Plan, gpus: int, gpu: Gpu, roles: Mapping[Role, Priced]
) -> Step:
    """Return the time of a step with some roles' communication.

    A role exposes the time by which the step grows with it, after the roles before it: the parts add up.
    """
    exposed: dict[Role, float] = {}
    known: dict[Role, Priced] = {}
    before = total_ns(architecture, plan, gpus, gpu, {})
    for role, priced in roles.items():
        known[role] = priced
        after = total_ns(architecture, plan, gpus, gpu, known)
        exposed[role], before = max(0.0, after - before), max(after, before)
    counts = {role: times_per_step(architecture, plan, gpus, role) for role in roles}
    return Step(
        before,
        exposed,
        {role: counts[role] * (one.forward_ns + one.backward_ns) for role, one in roles.items()},
        {role: counts[role] * (one.forward_bytes + one.backward_bytes) for role, one in roles.items()},
    )


def times_per_step(architecture: Architecture, plan: Plan, gpus: int, role: Role) -> float:
    """Return the number of times that a step has a role's messages as `Message` counts them."""
    micro_batches = plan.micro_batches(gpus)
    if role in ("dp", "edp"):
        return micro_batches if plan.sharding == "full" else 1
    if role == "pp":
        return micro_batches * plan.vp
    return micro_batches * work_of(architecture, plan).layers


def total_ns(
    architecture: Architecture, plan: Plan, gpus: int, gpu: Gpu, roles: Mapping[Role, Priced]
) -> float:
    """Return the time of a step with some roles' communication."""
    work, held, members = work_of(architecture, plan), held_by(architecture, plan), plan.members(gpus)
    sharded = plan.sharding != "none"
    shards = (members["dp"], members["edp"]) if sharded else (1, 1)
    times, fitted = times_of(work, held, plan, gpu, shards), gpu.fitted
    tp, etp, ep, cp, pp = (roles.get(role, _NOTHING) for role in ("tp", "etp", "ep", "cp", "pp"))
    show_tp = 1 - fitted.hidden_tp
    hidden, hidden_back = (
        min(fitted.hidden_ep * sent_ns, compute_ns)
        for sent_ns, compute_ns in ((ep.forward_ns, times.forward), (ep.backward_ns, times.backward))
    )
    forward = times.forward + tp.forward_ns * show_tp + etp.forward_ns + ep.forward_ns - hidden
    forward += max(0.0, cp.forward_ns - times.attention)
    backward = times.backward + tp.backward_ns * show_tp + etp.backward_ns + ep.backward_ns - hidden_back
    backward += max(0.0, cp.backward_ns - 2 * times.attention)
    state = [roles.get(role, _NOTHING) for role in ("dp", "edp")]
    gathers, scatters = sum(one.forward_ns for one in state), sum(one.backward_ns for one in state)
    layers, tail = work.layers, 0.0
    cover, cover_back = (
        fitted.hidden_dp * ns for ns in (times.forward - hidden, times.backward - hidden_back)
    )
    if plan.sharding == "full":
        tail = (gathers + scatters) / layers
        forward += max(0.0, gathers / layers - cover)
        backward += max(0.0, scatters / layers - cover_back)
    else:
        tail = max(gathers / layers, gathers - layers * cover)
        tail += max(scatters / layers, scatters - layers * cover_back)
    stage = layers * (forward + backward)
    padded = plan.layers_per_stage(architecture) * plan.vp * plan.pp - architecture.layers
    last = times.output + stage - (forward + backward) * (1 if padded else 0)
    stages = [*([stage] * (plan.pp - 1)), last]
    micro_batches = plan.micro_batches(gpus)
    total = schedule.compute_ns(stages, micro_batches, plan.vp) + tail + times.update
    total *= 1 + fitted.straggling * log2(max(1.0, gpus / 8))
    if plan.pp > 1:
        total += schedule.sends_ns(pp.forward_ns, plan.pp, micro_batches, plan.vp)
    return total
