"""Count violations of physics by the network models: random questions, by setting and collective.

    python scripts/validation/physics.py [--questions 16000] [--seed 37] [--setting NAME ...]

Properties, of a collective alone on a placement of a fabric:

bandwidth   one tier, or all, up to 10 times as wide: never slower
bytes       up to 10 times the number: never faster
rack        the machines of two racks in one: never dearer
machine     the GPUs of two machines in one: never dearer

A nearer placement may be dearer by the factor that the file itself states: the increase of what the busiest
port or uplink has to pass. Placements are not moved on fabrics with tiers
narrower than those further out (the two of the Dally paper). Printed: % of questions off by more than 1 %,
and the worst factor; then the worst example of each property and setting. Fabrics are those of topologies/
and, in a third of the questions, random ones whose links get narrower and longer outwards.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any, NamedTuple, TypeVar

from artist.data import data_path
from artist.entry import script
from artist.pricing.placements import show_shape
from netmodels.api import (
    Dimension,
    Fabric,
    NcclCollective,
    NcclTier,
    Shape,
    SystemSettings,
    Topology,
    load_topology,
    merge_system,
    nccl_of,
    shape_of,
)
from netmodels.fabric.fabric import DimensionKind
from netmodels.fabric.shape import TIERS, Tier, gpus
from netmodels.fabric.shape import tier as tier_of
from netmodels.models.analytical import AnalyticalModel

Racks = list[list[tuple[str, int]]]
"""Machine types and GPUs of a placement's machines, by rack."""

PROPERTIES = ("bandwidth", "bytes", "rack", "machine")
TOLERANCE = 0.01
_ROUNDING_NS = 100
_ASTRA = {"collectives": "astra_sim"}
_LEVELS = {**_ASTRA, "across_machines": "hierarchical"}
SETTINGS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "machines": ("machines", {}),
    "papers": ("papers", {}),
    "nccl": ("papers", {"collectives": "nccl"}),
    **{
        f"{form}, {transport}": ("papers", {**_ASTRA, "across_machines": form, "transport": transport})
        for form in ("flat_ring", "tree", "hierarchical")
        for transport in ("ideal", "queueing", "packets", "windows")
    },
    "hierarchical, baseline": ("papers", {**_LEVELS, "collective_optimization": "baseline"}),
    **{
        f"hierarchical, {name}": ("papers", {**_LEVELS, "collective_algorithm": name})
        for name in ("halving_doubling", "double_binary_tree", "direct")
    },
    "chunks 4": ("papers", {**_ASTRA, "across_machines": "flat_ring", "chunks": 4}),
    "hierarchical, chunks 4": ("papers", {**_LEVELS, "chunks": 4}),
    "hierarchical, 4 in flight": ("papers", {**_LEVELS, "chunks": 8, "chunks_in_flight": 4}),
}
"""Preset and settings of `network.system`, by name."""
COLLECTIVES: tuple[NcclCollective, ...] = (
    *("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive"),
)
_KINDS: tuple[DimensionKind, ...] = ("switch", "switch", "ring", "fully_connected")
_RATES = ("bandwidth_bytes_per_ns", "machine_bytes_per_ns", "rack_bytes_per_ns")
_NCCL_RATES = ("gpu_gb_s", "machine_gb_s", "rack_gb_s")


@dataclass(frozen=True, slots=True)
class Question:
    """A collective on a placement; `bytes` is the size of the whole tensor."""

    topology: Topology
    collective: NcclCollective
    setting: str
    racks: Racks
    bytes: int

    @property
    def system(self) -> SystemSettings:
        """The settings of its collectives."""
        preset, settings = SETTINGS[self.setting]
        return merge_system(self.topology.system(preset), settings)

    @property
    def shape(self) -> Shape:
        """Its placement."""
        return shape_of((number, *machine) for number, rack in enumerate(self.racks) for machine in rack)

    def time_ns(self, model: AnalyticalModel) -> int:
        """Return the answer of the network model."""
        size = self.bytes
        if self.collective == "all_gather":
            size = -(-size // gpus(self.shape))
        collective: Any = self.collective
        return model.collective_ns(collective, size, self.shape, self.topology.fabric, self.system)

    def __str__(self) -> str:
        place = show_shape(self.shape, self.topology)
        return f"{self.collective} of {self.bytes:,} bytes on {place} of {self.topology.name}"


class Changed(NamedTuple):
    """A question that physics compares with the first: how it differs, and whether it should cost more."""

    what: str
    question: Question
    allowed: float = 1.0
    dearer: bool = False


class Violation(NamedTuple):
    """The factor by which an answer is off, 1 if it is not, and the example in words."""

    factor: float
    example: str


# --- questions


@cache
def shipped() -> tuple[Topology, ...]:
    """Return the topologies of the project, in order."""
    return tuple(load_topology(path) for path in sorted(data_path("topologies").glob("*.yaml")))


def random_topology(draw: Random) -> Topology:
    """Return a topology of one machine type whose links get narrower, longer and maybe shared outwards."""
    base = next(topology for topology in shipped() if topology.name == "dgx_h100_3tier")
    latency_ns, width = 10 ** draw.uniform(2, 3.5), 10 ** draw.uniform(1, 2.7)
    tiers: list[Dimension] = []
    for tier in TIERS:
        kind = draw.choice(_KINDS) if tier == "machine" else "switch"
        tiers.append(Dimension(kind, latency_ns, width))
        latency_ns, width = latency_ns * 10 ** draw.uniform(0, 1), width / 10 ** draw.uniform(0, 1)
    machine, rack, network = tiers
    if draw.random() < 0.5:
        ports = draw.choice([1, 2, 4]) * rack.bandwidth_bytes_per_ns
        rack = replace(rack, machine_bytes_per_ns=ports)
        network = replace(network, machine_bytes_per_ns=min(ports, 8 * network.bandwidth_bytes_per_ns))
    if draw.random() < 0.5:
        network = replace(network, rack_bytes_per_ns=draw.choice([8, 16]) * network.bandwidth_bytes_per_ns)
    return replace(base, name="random", fabric=Fabric("random", (machine,), (rack,), (network,)))


def random_racks(draw: Random, topology: Topology) -> Racks:
    """Return a placement of several machines, even or not, that the topology's racks can hold."""
    names = sorted(name for name, kind in topology.machine_types.items() if kind.gpus)
    name = draw.choice(names)
    most = topology.machine_types[name].gpus
    count = draw.randint(1, 4)
    if draw.random() < 0.4:
        rack = [(name, draw.randint(1, most))] * draw.randint(1 + (count == 1), 4)
        return [list(rack) for _ in range(count)]
    racks = [[(name, draw.randint(1, most)) for _ in range(draw.randint(1, 4))] for _ in range(count)]
    return racks if count > 1 or len(racks[0]) > 1 else [[*racks[0], (name, draw.randint(1, most))]]


def random_question(draw: Random, setting: str, collective: NcclCollective) -> Question:
    """Return a question about a collective under a setting."""
    topology = random_topology(draw) if draw.random() < 1 / 3 else draw.choice(shipped())
    size = int(10 ** draw.uniform(2, 9.3))
    return Question(topology, collective, setting, random_racks(draw, topology), size)


# --- changes that physics judges


def changes(draw: Random, asked: Question) -> Iterator[tuple[str, Changed]]:
    """Yield (property, changed question); moves only where racks and machines have room."""
    tier, factor = draw.choice([None, *TIERS]), 10 ** draw.uniform(0, 1)
    wider = replace(asked, topology=widened(asked.topology, tier, factor))
    yield "bandwidth", Changed(f"{tier or 'all'} x {factor:.3g}", wider)
    more = int(asked.bytes * 10 ** draw.uniform(0, 1)) + 1
    yield "bytes", Changed(f"{more:,} bytes", replace(asked, bytes=more), dearer=True)
    moves = nearer(draw, asked.racks, asked.topology) if narrows(asked.topology.fabric) else ()
    for name, racks in moves:
        moved = replace(asked, racks=racks)
        yield name, Changed(f"on {show_shape(moved.shape, moved.topology)}", moved, stated(asked, moved))


def narrows(fabric: Fabric) -> bool:
    """Return whether no tier is narrower than one further out; with `links: members` none has a width."""
    tiers = [fabric.tiers(), *map(fabric.tiers, fabric.by_machine_type)]
    widths = [[one.bandwidth_bytes_per_ns for _, those in tier for one in those] for tier in tiers]
    counted = any(one.links == "members" for _, those in fabric.tiers() for one in those)
    return not counted and all(width == sorted(width, reverse=True) for width in widths)


def widened(topology: Topology, tier: Tier | None, factor: float) -> Topology:
    """Return a topology with one tier wider by a factor, or all."""
    fabric = topology.fabric
    names = [name for name in TIERS if tier in (None, name)]

    def tiers(machine_type: str | None = None) -> dict[Tier, Any]:
        return {
            name: tuple(_scaled(one, _RATES, factor if name in names else 1.0) for one in those)
            for name, those in fabric.tiers(machine_type)
        }

    by_type: Any = {name: tuple(tiers(name).values()) for name in fabric.by_machine_type}
    nccl = fabric.nccl
    if nccl is not None:
        wider: dict[str, Any] = {name: _scaled(getattr(nccl, name), _NCCL_RATES, factor) for name in names}
        nccl = replace(nccl, **wider)
    return replace(topology, fabric=replace(fabric, by_machine_type=by_type, nccl=nccl, **tiers()))


_Part = TypeVar("_Part", Dimension, NcclTier)


def _scaled(value: _Part, names: Sequence[str], factor: float) -> _Part:
    return replace(value, **{name: getattr(value, name) * factor for name in names})


def nearer(draw: Random, racks: Racks, topology: Topology) -> Iterator[tuple[str, Racks]]:
    """Yield placements with two racks joined, and with two machines joined, where there is room.

    Joined machines are of one rack, or one of them is alone in its rack: no GPU gets farther from others.
    """
    racks = draw.sample(racks, len(racks))
    if len(racks) > 1 and len(racks[0] + racks[1]) <= topology.machines_per_rack:
        yield "rack", [racks[0] + racks[1], *racks[2:]]
    first, *others = racks[0]
    if others:
        (name, count), *others = others
    elif len(racks) > 1 and len(racks[1]) == 1:
        ((name, count),) = racks.pop(1)
    else:
        return
    if first[1] + count <= min(topology.machine_types[kind].gpus for kind in (first[0], name)):
        yield "machine", [[(first[0], first[1] + count), *others], *racks[1:]]


def stated(before: Question, after: Question) -> float:
    """Return the factor, at least 1, by which the file itself makes a placement dearer than another."""
    pairs = zip(_busiest(before), _busiest(after), strict=True)
    return max(1.0, *(after_ns / before_ns for before_ns, after_ns in pairs))


def _busiest(asked: Question) -> tuple[float, float]:
    """Return the times in which the busiest port passes what must leave it, and the bytes of a ring."""
    shape, total, direct = asked.shape, gpus(asked.shape), asked.collective == "all_to_all"
    leaving, ring = [0.0], [0.0]
    for machine, near, far in _tiers(asked):
        if tier_of(shape) == "machine":
            ring.append(1 / machine.gpu_gb_s)
        for rack in shape:
            in_rack = sum(count for _, count in rack)
            for _, count in rack:
                port = 1 / near.sends_gb_s(count, count)
                ring.append(port if len(rack) > 1 else 0.0)
                leaving.append(_leaving(asked.collective, count, total) * ring[-1])
                if direct:
                    beyond = (total - in_rack) / far.sends_gb_s(count, count)
                    leaving[-1] = count / total * ((in_rack - count) * port + beyond)
            if len(shape) > 1:
                ring.append(1 / sum(far.sends_gb_s(count, in_rack) for _, count in rack))
                leaving.append(_leaving(asked.collective, in_rack, total) * ring[-1])
    return max(leaving) or max(ring), max(ring)


def _leaving(collective: NcclCollective, inside: int, total: int) -> float:
    """Return the bytes that must leave some GPUs of all, relative to those of each."""
    outside = 1 - inside / total
    if collective in ("all_reduce", "send_receive"):
        return 1.0
    return (inside if collective == "all_to_all" else 1) * outside


def _tiers(asked: Question) -> Iterator[tuple[NcclTier, NcclTier, NcclTier]]:
    """Yield the bandwidths of a fabric as each machine type of a placement sees them."""
    fabric = asked.topology.fabric
    for name in sorted({name for rack in asked.shape for name, _ in rack}):
        if asked.system.collectives == "nccl":
            nccl = nccl_of(fabric, name)
            yield nccl.machine, nccl.rack, nccl.network
        else:
            machine, rack, network = (
                min((NcclTier(1.0, *(getattr(one, rate) for rate in _RATES)) for one in those), key=_width)
                for _, those in fabric.tiers(name)
            )
            yield machine, rack, network


def _width(tier: NcclTier) -> float:
    return tier.gpu_gb_s


# --- answers


def judge(asked: Question, changed: Changed, model: AnalyticalModel) -> Violation:
    """Return the factor by which the pair of answers contradicts physics."""
    before_ns, after_ns = asked.time_ns(model), changed.question.time_ns(model)
    less, more = (before_ns, after_ns) if changed.dearer else (after_ns, before_ns)
    factor = less / (more * changed.allowed + _ROUNDING_NS) if more else 1.0
    return Violation(factor, f"{asked}: {before_ns / 1e3:,.1f} us; {changed.what}: {after_ns / 1e3:,.1f} us")


Cell = tuple[str, str, NcclCollective]


def measured(questions: int, seed: int, settings: Sequence[str]) -> dict[Cell, list[Violation]]:
    """Return the violations, and factors of at most 1, by property, setting and collective."""
    draw, model = Random(seed), AnalyticalModel()
    answers: dict[Cell, list[Violation]] = defaultdict(list)
    cells = [
        (setting, collective)
        for setting in settings
        for collective in COLLECTIVES
        if collective != "send_receive" or setting == "nccl"
    ]
    for number in range(questions):
        setting, collective = cells[number % len(cells)]
        asked = random_question(draw, setting, collective)
        for name, changed in changes(draw, asked):
            answers[name, setting, collective].append(judge(asked, changed, model))
    return answers


def table(answers: Mapping[Cell, Sequence[Violation]]) -> Iterator[str]:
    """Yield the lines of the table, and of the worst examples."""
    yield f"{'':42}" + "".join(f"{name:>18}" for name in PROPERTIES)
    rows = list(dict.fromkeys((setting, collective) for _, setting, collective in answers))
    for setting, collective in rows:
        cells = (_cell(answers.get((name, setting, collective), ())) for name in PROPERTIES)
        yield f"{setting:26}{collective:16}" + "".join(f"{cell:>18}" for cell in cells)
    for name in PROPERTIES:
        for setting in dict.fromkeys(setting for setting, _ in rows):
            those = [one for cell, values in answers.items() for one in values if cell[:2] == (name, setting)]
            worst = max(those, default=Violation(1.0, ""))
            if worst.factor > 1 + TOLERANCE:
                yield f"{name}, {setting}: x {worst.factor:.2f}, {worst.example}"


def _cell(those: Sequence[Violation]) -> str:
    bad = [one.factor for one in those if one.factor > 1 + TOLERANCE]
    if not bad:
        return f"0 of {len(those)}"
    return f"{100 * len(bad) / len(those):.1f} % (x {max(bad):.2f})"


@script
def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="physics of the network models")
    parser.add_argument("--questions", type=int, default=16_000)
    parser.add_argument("--seed", type=int, default=37)
    parser.add_argument("--setting", action="append", choices=SETTINGS, help="all by default")
    given = parser.parse_args(arguments)
    for line in table(measured(given.questions, given.seed, given.setting or list(SETTINGS))):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
