"""The network model in process: alpha-beta ring collectives, the whole iteration walked layer by layer."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from netmodels.api import IterationTime
from netmodels.collectives import Ints, Phase, all_reduce_phases
from netmodels.fabric import Dimension, Fabric
from netmodels.layers import Profile
from netmodels.levels import Level, levels_of
from netmodels.shape import Shape, Tier
from netmodels.system import SystemSettings
from netmodels.walk import Passage, Route, walk


class AnalyticalModel:
    """Price an iteration by closed forms: ASTRA-sim's congestion-unaware analytical back end.

    Rule: every all-reduce is a ring on each dimension that the shape uses (`netmodels.collectives`), queued
    beside the backward pass (`netmodels.walk`). On regular shapes (all machines alike, all racks alike)
    whole iterations equal ASTRA-sim 2.x to the nanosecond; with `baseline`, `per_dimension` and
    `lowest_layer_first` they follow ASTRA-sim 1.0.

    Irregular shapes, first form: a level has the average number of members of its groups (5 + 3 GPUs: two
    machines of 4). Where that average is not whole (2 + 3 GPUs: 2.5), every phase is interpolated linearly
    between its times with the next lower and the next higher whole number, in each such dimension on its
    own; so the price lies between those of the regular neighbours. A lower neighbour of one member costs
    nothing in that dimension. Nothing here knows that the largest group is the slowest. Shapes with equal
    averages have equal answers, so an answer is kept by its levels: a fragmented cluster asks for thousands
    of shapes and a few hundred levels.
    """

    version = "1"

    def __init__(self) -> None:
        self._known: dict[tuple[Profile, tuple[Level, ...], SystemSettings], IterationTime] = {}

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the time of one iteration; see `netmodels.api.NetworkModel`."""
        question = (profile, levels_of(shape, fabric), system)
        answer = self._known.get(question)
        if answer is None:
            answer = self._known[question] = _iteration(*question)
        return answer


def iteration_on(
    profile: Profile, dims: Sequence[tuple[Tier, Dimension, int | Fraction]], system: SystemSettings
) -> IterationTime:
    """Return the time of one iteration on explicit dimensions.

    Parameters
    ----------
    profile
        The layers.
    dims
        (tier, dimension, members), innermost first; a dimension of one member is left out.
    system
        How collectives run.
    """
    return _iteration(profile, [Level(*each) for each in dims if each[2] > 1], system)


def _iteration(profile: Profile, levels: Sequence[Level], system: SystemSettings) -> IterationTime:
    if not levels:
        return IterationTime(profile.compute_ns, 0, 0)
    sizes = np.unique([layer.gradient_bytes for layer in profile.layers])
    phases = _interpolated(_corners(levels), sizes, system)
    tiers = [levels[phase.dimension].tier for phase in phases]
    columns = [(phase.ns.tolist(), phase.sent_bytes.tolist()) for phase in phases]
    routes: dict[int, Route] = {
        size: tuple(
            Passage(phase.dimension, tier, ns[place], sent[place])
            for phase, tier, (ns, sent) in zip(phases, tiers, columns, strict=True)
        )
        for place, size in enumerate(sizes.tolist())
    }
    return walk(profile, routes.__getitem__, system)


Corner = tuple[Fraction, tuple[tuple[Dimension, int], ...]]


def _corners(levels: Sequence[Level]) -> list[Corner]:
    """Return the regular neighbours of the levels, each with its weight; the weights add up to 1."""
    choices: list[list[tuple[Fraction, int]]] = []
    for level in levels:
        low = int(level.members)
        part = level.members - Fraction(low)
        choices.append([(1 - part, low), (part, low + 1)] if part else [(Fraction(1), low)])
    return [
        (
            prod((weight for weight, _ in choice), start=Fraction(1)),
            tuple((level.dimension, members) for level, (_, members) in zip(levels, choice, strict=True)),
        )
        for choice in product(*choices)
    ]


def _interpolated(
    corners: list[Corner], sizes_bytes: Ints, system: SystemSettings
) -> tuple[Phase[Ints], ...]:
    """Return the phases of all-reduces of several sizes, weighted over the regular neighbours."""
    if len(corners) == 1:
        return all_reduce_phases(corners[0][1], sizes_bytes, system)
    priced = [(float(weight), all_reduce_phases(dims, sizes_bytes, system)) for weight, dims in corners]

    def mean(values: Callable[[Phase[Ints]], Ints], place: int) -> Ints:
        total = sum(
            (weight * values(phases[place]) for weight, phases in priced), start=np.zeros(len(sizes_bytes))
        )
        return np.rint(total).astype(np.int64)

    return tuple(
        Phase(phase.dimension, mean(lambda p: p.ns, place), mean(lambda p: p.sent_bytes, place))
        for place, phase in enumerate(priced[0][1])
    )
