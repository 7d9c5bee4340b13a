"""The network model in process: alpha-beta collectives, the whole iteration walked layer by layer."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from netmodels.algorithms import Collective, Ints
from netmodels.api import IterationTime
from netmodels.collectives import Phase, chunks_of, gate_ns, phases_of
from netmodels.fabric import Dimension, Fabric
from netmodels.layers import Profile
from netmodels.levels import Level, View, views_of
from netmodels.shape import TIERS, Shape, Tier
from netmodels.system import SystemSettings
from netmodels.walk import Passage, Train, alone, issues_of, through_one_queue, walk


class AnalyticalModel:
    """Price an iteration by closed forms: ASTRA-sim's congestion-unaware analytical back end.

    Rule: every layer's all-reduce runs on each dimension that the shape uses (`netmodels.collectives`),
    queued beside the backward pass (`netmodels.walk`). On regular shapes (all machines alike, all racks
    alike) whole iterations equal ASTRA-sim 2.x to the nanosecond; with `baseline`, `per_dimension` and
    `lowest_layer_first` they follow ASTRA-sim 1.0.

    An irregular shape is priced by its average numbers of members, each collective between the fastest and
    the slowest regular shape around it (whole numbers, next lower or next higher, in each dimension), but
    not below its narrowest gate (`netmodels.levels`). Shapes with equal averages and gates have equal
    answers, so answers are kept by these: a fragmented cluster asks for thousands of shapes.
    """

    version = "2"

    def __init__(self) -> None:
        self._known: dict[tuple[Profile, View, SystemSettings], IterationTime] = {}

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the time of one iteration; see `netmodels.api.NetworkModel`."""
        answers = [self._regular(profile, view, system) for view in views_of(shape, fabric)]
        return max(answers, key=lambda answer: (answer.total_ns, answer.comm_ns))

    def collective_ns(
        self, collective: Collective, size_bytes: int, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> int:
        """Return the time of one collective alone, slowest machine type as for iterations.

        Parameters
        ----------
        collective
            What is done.
        size_bytes
            Bytes that each GPU starts with, more than 0.
        shape, fabric, system
            As for `iteration`.
        """
        return max(_collective_ns(collective, view, size_bytes, system) for view in views_of(shape, fabric))

    def _regular(self, profile: Profile, view: View, system: SystemSettings) -> IterationTime:
        question = (profile, view, system)
        answer = self._known.get(question)
        if answer is None:
            answer = self._known[question] = _iteration(*question)
        return answer


def iteration_on(
    profile: Profile, dims: Sequence[tuple[Tier, Dimension, int]], system: SystemSettings
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
    return _iteration(profile, View(tuple(Level(*each) for each in dims if each[2] > 1)), system)


def collective_on(
    collective: Collective,
    dims: Sequence[tuple[Tier, Dimension, int]],
    size_bytes: int,
    system: SystemSettings,
) -> int:
    """Return the time of one collective with the network to itself.

    Parameters
    ----------
    collective
        What is done.
    dims
        (tier, dimension, members), innermost first; a dimension of one member is left out.
    size_bytes
        Bytes that each member starts with, more than 0.
    system
        How it runs.
    """
    view = View(tuple(Level(*each) for each in dims if each[2] > 1))
    return _collective_ns(collective, view, size_bytes, system)


def _collective_ns(collective: Collective, view: View, size_bytes: int, system: SystemSettings) -> int:
    (train,) = _trains(_priced(collective, view, np.array([size_bytes], dtype=np.int64), system), view)
    return alone(train, system)[1]


def _iteration(profile: Profile, view: View, system: SystemSettings) -> IterationTime:
    sizes = issues_of(profile).sizes
    if not view.levels or not len(sizes):
        return IterationTime(profile.compute_ns, 0, 0)
    priced = _priced("all_reduce", view, sizes, system)

    def walked() -> IterationTime:
        trains = dict(zip(sizes.tolist(), _trains(priced, view), strict=True))
        return walk(profile, trains, system)

    if system.collective_queue != "one" or system.chunks > 1:
        return walked()
    tiers = [view.levels[phase.dimension].tier for phase in priced.phases]
    times = np.array([phase.ns for phase in priced.phases])
    tiers_ns = {tier: times[[at == tier for at in tiers]].sum(axis=0) for tier in TIERS if tier in tiers}
    return through_one_queue(profile, times.sum(axis=0), tiers_ns, lambda: walked().spans)


class _Priced(NamedTuple):
    """Phases of the chunks of collectives of several sizes, and how many chunks each has."""

    phases: tuple[Phase[Ints], ...]
    chunks: Ints


def _priced(collective: Collective, view: View, sizes: Ints, system: SystemSettings) -> _Priced:
    chunk_bytes, chunks = chunks_of(collective, view.levels, sizes, system)
    phases = phases_of(collective, view.levels, chunk_bytes, system)
    if view.gates:
        phases = _within_bounds(phases, collective, view, chunk_bytes, system)
    return _Priced(phases, chunks)


def _within_bounds(
    phases: tuple[Phase[Ints], ...],
    collective: Collective,
    view: View,
    chunk_bytes: Ints,
    system: SystemSettings,
) -> tuple[Phase[Ints], ...]:
    """Return the phases of an irregular placement, within its gates and the regular ones around it.

    Direct collectives know no narrow ports (`netmodels.algorithms`), so gates do not slow them. What is
    missing is waited for at the widest dimension.
    """
    sizes = chunk_bytes.tobytes()
    around = [_corner_ns(collective, corner, sizes, system) for corner in _corners(view.levels)]
    bounds = [np.min(around, axis=0), np.max(around, axis=0)]
    if all(system.algorithm_of(level.tier) != "direct" for level in view.levels):
        gate = gate_ns(collective, view.gates, view.gpus, chunk_bytes)
        bounds = [np.maximum(bound, gate) for bound in bounds]
    total = _total_ns(phases, chunk_bytes)
    wanted = np.clip(total, *bounds)
    fewer = np.minimum(wanted / np.maximum(total, 1), 1.0)
    cut = [replace(phase, ns=np.floor(phase.ns * fewer).astype(np.int64)) for phase in phases]
    widest = max(range(len(cut)), key=lambda place: cut[place].dimension)
    lacking = wanted - _total_ns(cut, chunk_bytes)
    cut[widest] = replace(cut[widest], ns=cut[widest].ns + lacking)
    return tuple(cut)


@lru_cache(maxsize=16_384)
def _corner_ns(
    collective: Collective, levels: tuple[Level, ...], chunk_bytes: bytes, system: SystemSettings
) -> Ints:
    """Return the time of chunks in a regular placement; many irregular ones lie between the same few."""
    sizes = np.frombuffer(chunk_bytes, dtype=np.int64)
    return _total_ns(phases_of(collective, levels, sizes, system), sizes)


def _total_ns(phases: Sequence[Phase[Ints]], chunk_bytes: Ints) -> Ints:
    return sum((phase.ns for phase in phases), start=np.zeros_like(chunk_bytes))


def _corners(levels: Sequence[Level]) -> list[tuple[Level, ...]]:
    """Return the regular placements around an irregular one."""
    choices = [
        {replace(level, members=floor(level.members)), replace(level, members=ceil(level.members))}
        for level in levels
    ]
    return [tuple(level for level in corner if level.members > 1) for corner in product(*choices)]


def _trains(priced: _Priced, view: View) -> list[Train]:
    """Return what the queues see of collectives of several sizes."""
    columns = [
        (each.dimension, view.levels[each.dimension].tier, each.ns.tolist(), each.sent_bytes.tolist())
        for each in priced.phases
    ]
    return [
        Train(
            tuple(Passage(server, tier, ns[place], sent[place]) for server, tier, ns, sent in columns), count
        )
        for place, count in enumerate(priced.chunks.tolist())
    ]
