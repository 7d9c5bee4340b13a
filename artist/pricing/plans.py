"""Prices of language models' plans: each role's communication on a placement, memory, and other mappings."""

from collections.abc import Sequence
from dataclasses import dataclass

from artist.errors import InputError
from artist.pricing.placements import show_shape
from artist.tables.grid import Grid, csv_text, percent
from netmodels.api import (
    IterationTime,
    NetworkModel,
    Plan,
    Program,
    Shape,
    SystemSettings,
    Topology,
    get_architecture,
    language_profile,
)
from netmodels.fabric.shape import gpus
from netmodels.llm.mapping import RankMapping
from netmodels.llm.work import activation_bytes, state_bytes

MAPPINGS: tuple[RankMapping, ...] = ("whole", "order", "round_robin")
_STEP, _FREE = "step", "free network"


@dataclass(frozen=True, slots=True)
class RolePrice:
    """A role's communication in a step; the rows `free network` and `step` are compute and the whole.

    Parameters
    ----------
    model, plan, placement, gpus
        The job.
    role, members, tier
        Role, GPUs of a group, and the widest tier that a group crosses.
    comm_ns, exposed_ns, sent_bytes
        Of a GPU and a step.
    lead
        Values of further columns.
    """

    model: str
    plan: str
    placement: str
    gpus: int
    role: str
    members: int
    tier: str
    comm_ns: float
    exposed_ns: float
    sent_bytes: float
    lead: tuple[str, ...] = ()


def price_plans(
    models: Sequence[str],
    plan: Plan,
    mapping: RankMapping,
    shapes: Sequence[Shape],
    network: NetworkModel,
    topology: Topology,
    system: SystemSettings,
    lead: tuple[str, ...] = (),
) -> tuple[list[RolePrice], list[str]]:
    """Return rows by role, and a sentence for each model and placement.

    Raises
    ------
    InputError
        If the plan does not divide the model or the GPUs, the model does not fit, or it is not priced.
    """
    rows: list[RolePrice] = []
    notes: list[str] = []
    for model in models:
        for shape in shapes:
            types = [topology.machine_type(name) for rack in shape for name, _ in rack]
            slowest = min(types, key=lambda machine: machine.speed)
            architecture, count = get_architecture(model), gpus(shape)
            plan.check(architecture, count)
            program = Program(architecture, plan, slowest.gpu_type, slowest.speed, mapping)
            _check_memory(program, count, min(machine.gpu_memory_bytes for machine in types))
            factor = 1 / slowest.speed
            profile = language_profile(model, plan, slowest.gpu_type, slowest.speed, mapping)
            of = (architecture.name, str(plan), show_shape(shape, topology), count)
            memory = _memory(program, of)
            if profile.program is not None:  # refused by models that do not price it
                answer = network.iteration(profile.scaled(factor), shape, topology.fabric, system)
                if system.collectives != "nccl":  # of ranks, not by role
                    rows += _whole(answer, of, lead)
                    notes.append(memory)
                    continue
            rows += _rows(program, shape, topology, factor, of, lead)
            notes.append(f"{memory}; {_mappings(program, shape, topology, factor)}")
    return rows, notes


def _check_memory(program: Program, count: int, memory_bytes: int) -> None:
    lacking = program.lacking(count, memory_bytes)
    if lacking:
        allowed = "more tp, pp or GPUs, zero1 or fsdp, or larger GPUs"
        raise InputError(lacking, where="plan", found=str(program.plan), allowed=allowed)


def _rows(
    program: Program,
    shape: Shape,
    topology: Topology,
    factor: float,
    of: tuple[str, str, str, int],
    lead: tuple[str, ...],
) -> list[RolePrice]:
    step, roles = program.step(shape, topology.fabric, factor)
    members = program.plan.members(gpus(shape))
    rows = [RolePrice(*of, _FREE, of[3], "", 0.0, program.free_ns(of[3], factor), 0.0, lead)]
    for role, priced in roles.items():
        times = step.busy[role], step.exposed[role], step.sent_bytes[role]
        rows.append(RolePrice(*of, role, members[role], priced.tier, *times, lead))
    sums = sum(step.busy.values()), step.total_ns, sum(step.sent_bytes.values())
    return [*rows, RolePrice(*of, _STEP, of[3], "", *sums, lead)]


def _whole(answer: IterationTime, of: tuple[str, str, str, int], lead: tuple[str, ...]) -> list[RolePrice]:
    free = RolePrice(*of, _FREE, of[3], "", 0.0, answer.compute_ns, 0.0, lead)
    return [free, RolePrice(*of, _STEP, of[3], "", answer.comm_ns, answer.total_ns, 0.0, lead)]


def _memory(program: Program, of: tuple[str, str, str, int]) -> str:
    state = state_bytes(program.architecture, program.plan, of[3]) / 1e9
    kept = activation_bytes(program.architecture, program.plan, of[3]) / 1e9
    return f"{of[0]} on {of[2]}: {state:,.1f} GB of state and {kept:,.1f} of activations per GPU"


def _mappings(program: Program, shape: Shape, topology: Topology, factor: float) -> str:
    times = {}
    for mapping in MAPPINGS:
        other = Program(program.architecture, program.plan, program.gpu_type, program.speed, mapping)
        times[mapping] = other.step(shape, topology.fabric, factor)[0].total_ns
    ours = times.pop(program.mapping)
    ratios = ", ".join(f"{mapping} {time / ours:.2f} times" for mapping, time in times.items())
    return f"a step with mapping {ratios} as long"


def plan_table(rows: Sequence[RolePrice], notes: Sequence[str], leads: Sequence[str]) -> str:
    """Return the table by role as aligned text; times in ms, bytes sent by each GPU in MB."""
    heads = [
        *(("", "", lead) for lead in leads),
        *(("", "", head) for head in ("model", "plan", "placement", "role", "tier")),
        ("", "GPUs of", "a group"),
        *(("", head, "ms") for head in ("comm.", "hidden", "exposed")),
        ("share", "of step", "%"),
        ("", "sent", "MB"),
    ]
    cells = []
    step_ns = 1.0
    for row in reversed(rows):
        step_ns = row.exposed_ns if row.role == _STEP else step_ns
        role = row.role not in (_STEP, _FREE)
        hidden = f"{max(0.0, row.comm_ns - row.exposed_ns) / 1e6:,.3f}" if role else "-"
        sent = f"{row.sent_bytes / 1e6:,.1f}" if row.sent_bytes else "-"
        times = (
            f"{row.comm_ns / 1e6:,.3f}" if row.role != _FREE else "-",
            hidden,
            f"{row.exposed_ns / 1e6:,.3f}",
        )
        words = row.model, row.plan, row.placement, row.role, row.tier or "-"
        cells.append((*row.lead, *words, str(row.members), *times, percent(row.exposed_ns / step_ns), sent))
    return Grid(tuple(heads), tuple(reversed(cells)), len(leads) + 5, "\n".join(notes)).text()


def plan_csv(rows: Sequence[RolePrice], leads: Sequence[str]) -> str:
    """Return the table by role as CSV, units in the headings."""
    names = (*leads, "model", "plan", "placement", "gpus", "role", "group_gpus", "tier")
    lines = [
        (
            *(*row.lead, row.model, row.plan, row.placement, row.gpus, row.role, row.members, row.tier),
            *(round(row.comm_ns), round(row.exposed_ns), round(row.sent_bytes)),
        )
        for row in rows
    ]
    return csv_text([(*names, "comm_ns", "exposed_ns", "sent_bytes"), *lines])
