"""A step as a program of its ranks, for models that follow each rank (`netmodels.collectives.rank_program`).

Passes of micro batches in the order of the pipeline's schedule, each after the one before and the message
from the stage before (after) it. In a pass, layer by layer:

    forward    the exchange of keys (cp) beside the attention; the rest of the compute; the collectives of tp,
               ep and etp. The last stage ends with a third of the output's compute
    backward   likewise, with the other two thirds first; with full recomputation the forward collectives,
               too
    weights    a layer's are gathered beside the layer before it: of fsdp in each pass, of zero1 in the first
    gradients  a layer's are reduced or scattered beside the next one: of fsdp in each backward pass, else in
               the last. The update waits for all of them

Unlike in `netmodels.llm.step` nothing hides the exchanges of experts, a rank has one collective at a time,
and only compute straggles. A count per layer that is not whole (models with experts in some of the layers) is
that of all layers together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, log2

from netmodels.collectives.algorithms import Collective, Ints
from netmodels.collectives.rank_program import COLLECTIVES, Node, RankProgram
from netmodels.llm import schedule
from netmodels.llm.architecture import Architecture
from netmodels.llm.communication import Message, messages_of
from netmodels.llm.compute import Gpu, Times, times_of
from netmodels.llm.plan import Plan, Role
from netmodels.llm.work import held_by, work_of


def rank_program(
    architecture: Architecture,
    plan: Plan,
    gpus: Ints,
    times: Times,
    in_ring: Callable[[Iterable[int]], tuple[int, ...]],
) -> RankProgram:
    """Return the programs of the GPUs of a placement.

    Parameters
    ----------
    architecture, plan
        The model, and how it is divided.
    gpus
        Number of each rank's GPU on the placement, machine after machine, shape (ranks,).
    times
        Compute times.
    in_ring
        Order of a group's members in its ring.
    """
    count = len(gpus)
    members: dict[int, tuple[int, ...]] = {}
    numbers: dict[tuple[int, ...], int] = {}
    groups: list[dict[str, int]] = [{} for _ in range(count)]
    for role, ranks in plan.groups(count).items():
        for group in gpus[ranks].tolist():
            if role != "pp" and len(group) > 1:
                ring = in_ring(group)
                number = numbers.setdefault(ring, len(numbers) + 1)
                members[number] = ring
                for member in group:
                    groups[member][role] = number
    messages = messages_of(architecture, plan, count)
    stages = [_Stage(architecture, plan, count, times, messages, stage).nodes() for stage in range(plan.pp)]
    programs: list[tuple[Node, ...]] = [()] * count
    for pipeline in gpus[plan.groups(count)["pp"]].tolist():
        for member, nodes in zip(pipeline, stages, strict=True):
            programs[member] = tuple(_of_member(*node, groups[member], pipeline) for node in nodes)
    return RankProgram(tuple(programs), members)


def times_on(architecture: Architecture, plan: Plan, gpus: int, gpu: Gpu) -> Times:
    """Return the compute times of a GPU among others, of which all wait for the slowest."""
    work, held, sizes = work_of(architecture, plan), held_by(architecture, plan), plan.members(gpus)
    shards = (sizes["dp"], sizes["edp"]) if plan.sharding != "none" else (1, 1)
    slower = 1 + gpu.fitted.straggling * log2(max(1.0, gpus / 8))
    return Times(*(slower * time for time in times_of(work, held, plan, gpu, shards)))


def _of_member(node: Node, role: str, groups: Mapping[str, int], pipeline: Sequence[int]) -> Node:
    """Return a node of a stage with the groups and the peers of one of its members."""
    if role:
        return node._replace(group=groups[role])
    return node if node.kind == "compute" else node._replace(peer=pipeline[node.peer])


@dataclass(slots=True)
class _Stage:
    """A stage, and its nodes so far with the role of their group; peers are stages."""

    architecture: Architecture
    plan: Plan
    gpus: int
    times: Times
    messages: tuple[Message, ...]
    stage: int
    program: list[tuple[Node, str]] = field(default_factory=list)
    last: tuple[int, ...] = ()
    reduced: tuple[int, ...] = ()

    def nodes(self) -> list[tuple[Node, str]]:
        """Return the nodes of a step."""
        plan, micro_batches = self.plan, self.plan.micro_batches(self.gpus)
        for forward, batch, chunk in schedule.order(self.stage, plan.pp, micro_batches, plan.vp):
            full = plan.sharding == "full"
            gathers = full or (plan.sharding == "optimizer" and forward and not batch)
            reduces = not forward and (full or batch == micro_batches - 1)
            self._pass(forward, chunk, gathers, reduces)
        self.last += self.reduced
        self._compute(self.times.update)
        return self.program

    def _pass(self, forward: bool, chunk: int, gathers: bool, reduces: bool) -> None:
        plan, stages = self.plan, self.plan.pp * self.plan.vp
        number = chunk * plan.pp + self.stage
        source, target = (number - 1, number + 1) if forward else (number + 1, number - 1)
        if 0 <= source < stages:
            self._message("receive", source, 2 * number + forward)
        if number == stages - 1 and not forward:
            self._compute(self.times.output * 2 / 3)
        count = plan.layers_per_stage(self.architecture)
        padded = number == stages - 1 and count * stages > self.architecture.layers
        layers = range(chunk * count, (chunk + 1) * count - padded)
        weights = self._beside(forward, gathers=True) if gathers and layers else ()
        for layer in layers:
            ready = weights
            weights = self._beside(forward, gathers=True) if gathers and layer != layers[-1] else ()
            self.last += ready
            self._layer(forward, layer)
            if reduces:
                self.reduced += self._beside(forward, gathers=False)
        if number == stages - 1 and forward:
            self._compute(self.times.output / 3)
        if 0 <= target < stages:
            self._message("send", target, 2 * target + forward)

    def _layer(self, forward: bool, layer: int) -> None:
        times = self.times
        whole, attention = times.forward, times.attention
        if not forward:
            whole, attention = times.backward, 2 * attention
        before = self.last
        for message in self._of(("cp",), forward, layer):
            self._collective(message)
        if self.last != before:
            keys = self.last
            self.last = before
            self._compute(attention)
            self.last, whole = keys + self.last, whole - attention
        self._compute(whole)
        again = not forward and self.plan.recompute == "full"
        for way in (True, False) if again else (forward,):
            for message in self._of(("tp", "etp", "ep"), way, layer):
                self._collective(message)

    def _beside(self, forward: bool, gathers: bool) -> tuple[int, ...]:
        """Add the collectives of a layer's weights or gradients, for which the next nodes do not wait."""
        last = self.last
        numbers: tuple[int, ...] = ()
        for message in self._of(("dp", "edp"), forward, 0):
            if gathers == (message.collective == "all_gather"):
                self._collective(message, 1 / work_of(self.architecture, self.plan).layers)
                numbers, self.last = numbers + self.last, last
        return numbers

    def _of(self, roles: tuple[Role, ...], forward: bool, layer: int) -> Iterator[Message]:
        """Yield the collectives of some roles in a layer."""
        for message in self.messages:
            if message.role in roles:
                per_layer = (message.forward if forward else message.backward) + 1e-9
                times = floor((layer + 1) * per_layer) - floor(layer * per_layer)
                yield from [message] * times

    def _compute(self, ns: float) -> None:
        if round(ns):
            self._add("compute", ns=round(ns))

    def _collective(self, message: Message, part: float = 1.0) -> None:
        assert message.collective in COLLECTIVES
        kind: Collective = message.collective
        size = message.size_bytes * part
        if kind == "all_gather":  # a message counts all bytes, a node those of a member
            size /= self.plan.members(self.gpus)[message.role]
        self._add(kind, message.role, size_bytes=max(1, round(size)))

    def _message(self, kind: str, number: int, tag: int) -> None:
        (size,) = (round(message.size_bytes) for message in self.messages if message.role == "pp")
        last = self.last
        self._add(kind, size_bytes=size, peer=number % self.plan.pp, tag=tag)
        if kind == "send":
            self.last = last

    def _add(self, kind: str, role: str = "", **values: int) -> None:
        number = len(self.program) + 1
        self.program.append((Node(number, kind, self.last, **values), role))  # type: ignore[arg-type]
        self.last = (number,)
