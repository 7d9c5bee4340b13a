"""Profiles of language models with a plan, for the network models.

The trace's duration stays the anchor of a job. Of a step on a placement, `compute_ns` is the step on a free
network, the pipeline's bubble and the update included, and `exposed_ns` is added by the placement; a job's
own compute time is multiplied by their ratio. `free_ns` of two numbers of GPUs gives the ratio between sizes.
Absolute times are off by 5 % in the median (13 with experts), 18 (43) at the 90th percentile
(scripts/validation/llm_training.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from netmodels.collectives.iteration_time import IterationTime, Span
from netmodels.collectives.rank_program import RankNetwork, RankProgram
from netmodels.contention.transfers import JobTraffic
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.links import Slice
from netmodels.fabric.shape import TIERS, Shape, gpus, shape_of
from netmodels.inputs.errors import InputError
from netmodels.llm.architecture import Architecture, architecture_record, get_architecture
from netmodels.llm.communication import Priced, priced
from netmodels.llm.compute import Gpu, Times, gpu_of
from netmodels.llm.mapping import RankMapping, seats
from netmodels.llm.plan import Plan, Role, plan_record
from netmodels.llm.ranks import rank_program, times_on
from netmodels.llm.step import Step, free_ns, step_of, total_ns
from netmodels.llm.traffic import traffic_of
from netmodels.llm.work import activation_bytes, state_bytes
from netmodels.nccl.parameters import nccl_of
from netmodels.profiles.layers import Layer, Profile


@dataclass(frozen=True, slots=True)
class Program:
    """A language model's training by a plan, on GPUs of one type.

    Parameters
    ----------
    architecture, plan
        The model, and how it is divided.
    gpu_type
        GPU whose speeds count (`netmodels/llm/gpus.yaml`).
    speed
        Its relative speed: a profile is of GPUs of speed 1, and `Profile.scaled` gives those of others.
    mapping
        Rule by which ranks are assigned to the GPUs of a shape (`netmodels.llm.mapping`).
    """

    architecture: Architecture
    plan: Plan
    gpu_type: str
    speed: float
    mapping: RankMapping

    def record(self) -> list[object]:
        """Return all that answers depend on as plain values, for digests."""
        figures = [architecture_record(self.architecture), plan_record(self.plan)]
        return [*figures, self.gpu_type, self.speed, self.mapping]

    def check(self, gpus: int) -> None:
        """Raise InputError for a number of GPUs that the plan does not divide."""
        self.plan.check(self.architecture, gpus)

    def free_ns(self, gpus: int, factor: float = 1.0) -> float:
        """Return the time of a step on a free network, with compute times multiplied by `factor`."""
        return free_ns(self.architecture, self.plan, gpus, self._gpu(factor))

    def step(self, shape: Shape, fabric: Fabric, factor: float = 1.0) -> tuple[Step, dict[Role, Priced]]:
        """Return the step on a placement, and each role's collectives.

        Raises
        ------
        InputError
            If the plan does not divide the GPUs, or their types differ and the plan divides the model.
        """
        count, plan = gpus(shape), self.plan
        types = self._types(shape)
        fabrics = tuple(dict.fromkeys(nccl_of(fabric, name) for name in types))
        roles = priced(self.architecture, plan, self.mapping, shape, fabrics)
        return step_of(self.architecture, plan, count, self._gpu(factor), roles), roles

    def ranks(self, shape: Shape, network: RankNetwork, factor: float) -> RankProgram:
        """Return the step as a program of its ranks on a placement; raises as `step`."""
        self._types(shape)
        machine, _ = seats(self.plan, self.mapping, shape)
        held = np.empty(len(machine), dtype=np.int64)
        held[np.argsort(machine, kind="stable")] = np.arange(len(machine))
        times = self._times(len(held), factor)
        return rank_program(self.architecture, self.plan, held, times, network.in_ring)

    def _times(self, gpus: int, factor: float) -> Times:
        return times_on(self.architecture, self.plan, gpus, self._gpu(factor))

    def _types(self, shape: Shape) -> list[str]:
        """Return the machine types of a placement that the plan divides."""
        plan = self.plan
        self.check(gpus(shape))
        types = sorted({name for rack in shape for name, _ in rack})
        if len(types) > 1 and plan.replica > 1:
            what = "GPUs of several types divide one model"
            allowed = "machines of one type, or a plan of data parallelism alone"
            raise InputError(what, where=f"plan {str(plan)!r}", found=", ".join(types), allowed=allowed)
        return types

    def iteration(self, shape: Shape, fabric: Fabric, factor: float) -> IterationTime:
        """Return the time of a step as network models give it.

        The roles of layers and stages send throughout the schedule, gradients and weights at its end.
        """
        step, roles = self.step(shape, fabric, factor)
        compute = round(self.free_ns(gpus(shape), factor))
        exposed = max(0, round(step.total_ns) - compute)
        busy = min(round(step.total_ns), round(sum(step.busy.values())))

        def details() -> IterationTime:
            spans = _spans(step, roles, compute + exposed)
            tiers = tuple(
                (tier, sum(span.end_ns - span.start_ns for span in spans if span.tier == tier))
                for tier in TIERS
                if any(span.tier == tier for span in spans)
            )
            return IterationTime(compute, max(busy, exposed), exposed, tiers, spans)

        return IterationTime(compute, max(busy, exposed), exposed, details=details)

    def traffic(self, placement: Sequence[Slice], fabric: Fabric, factor: float) -> JobTraffic:
        """Return the traffic of a step on (rack, machine, machine type, GPUs) of each machine."""
        shape = shape_of((rack, kind, count) for rack, _, kind, count in placement)
        step, roles = self.step(shape, fabric, factor)
        question = self.architecture, self.plan, gpus(shape), self._gpu(factor)

        def added_ns(role: Role, more: float) -> float:
            slower = roles[role].slower(1 + more)
            return total_ns(*question, {**roles, role: slower}) - step.total_ns

        compute_ns = round(self.free_ns(gpus(shape), factor))
        return traffic_of(
            *(self.architecture, self.plan, self.mapping), placement, shape, step, compute_ns, added_ns
        )

    def lacking(self, gpus: int, memory_bytes: int) -> str:
        """Return the bytes that a GPU lacks even if whole layers are recomputed, in words; "" if it fits."""
        state = state_bytes(self.architecture, self.plan, gpus)
        kept = activation_bytes(self.architecture, self.plan, gpus, recomputed=True)
        if not memory_bytes or state + kept <= memory_bytes:
            return ""
        parts = f"{state / 1e9:,.1f} GB of state and {kept / 1e9:,.1f} of activations"
        model = f"{self.architecture.name} with {str(self.plan)!r}"
        return f"{model} takes {parts} per GPU, which has {memory_bytes / 1e9:,.1f} GB"

    def _gpu(self, factor: float) -> Gpu:
        return _scaled(self.gpu_type, self.plan.precision, factor * self.speed)


@lru_cache(maxsize=1024)
def _scaled(gpu_type: str, precision: str, factor: float) -> Gpu:
    return gpu_of(gpu_type, precision).scaled(factor)


def _spans(step: Step, roles: dict[Role, Priced], total_ns: int) -> tuple[Span, ...]:
    """Return a tier's sending period throughout the schedule, and one at its end."""
    spans = []
    for tier in TIERS:
        of_tier = [role for role, one in roles.items() if one.tier == tier]
        last = [role for role in of_tier if role in ("dp", "edp")]
        within = [role for role in of_tier if role not in last]
        tail = min(total_ns, round(sum(step.busy[role] for role in last)))
        start = total_ns - tail if within else 0
        if within:
            sent = sum(step.sent_bytes[role] for role in within)
            spans.append(Span(0, max(1, start), tier, round(sent)))
        if last:
            sent = sum(step.sent_bytes[role] for role in last)
            spans.append(Span(total_ns - tail, total_ns, tier, round(sent)))
    return tuple(sorted(spans, key=lambda span: (span.start_ns, span.end_ns, TIERS.index(span.tier))))


@lru_cache(maxsize=4096)
def language_profile(
    model: str | Architecture,
    plan: Plan,
    gpu_type: str = "H100",
    speed: float = 1.0,
    mapping: RankMapping = "whole",
) -> Profile:
    """Return the profile of a language model's training.

    A plan of data parallelism alone gives a profile as of any other model: its layers, whose gradients are
    all-reduced beside the backward pass.

    Parameters
    ----------
    model
        Name, or an architecture of your own.
    plan
        Its division over GPUs.
    gpu_type, speed, mapping
        As for `Program`.

    Raises
    ------
    InputError
        If the model, or the GPU in the plan's precision, is unknown.
    """
    architecture = get_architecture(model) if isinstance(model, str) else model
    program = Program(architecture, plan, gpu_type, speed, mapping)
    whole = program.free_ns(plan.replica)
    bytes_ = 2 * architecture.parameters // architecture.layers
    layer = round(whole / architecture.layers / 3)
    layers = tuple(
        Layer(f"layer {number + 1}", layer, layer, layer, bytes_) for number in range(architecture.layers)
    )
    name = architecture.name if plan.is_data_parallel else f"{architecture.name} {plan}"
    return Profile(name, layers, architecture.source, program=None if plan.is_data_parallel else program)
