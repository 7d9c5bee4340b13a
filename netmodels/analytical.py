"""The network model in process: alpha-beta collectives, the whole iteration walked layer by layer."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from netmodels.algorithms import Collective, Ints
from netmodels.api import IterationTime
from netmodels.collectives import Phase, chunks_of, phases_of
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

    An irregular shape takes as long as the slowest of the regular ones that its GPUs see
    (`netmodels.levels`): 5 + 3 GPUs as the slower of 5 + 5 and 3 + 3. A fragmented cluster asks for thousands
    of shapes and a few hundred regular ones, so answers are kept by the latter.
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
        """Return the time of one collective alone, by the slowest view as for iterations.

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
    return _iteration(profile, tuple(Level(*each) for each in dims if each[2] > 1), system)


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
    return _collective_ns(collective, tuple(Level(*each) for each in dims if each[2] > 1), size_bytes, system)


def _collective_ns(collective: Collective, levels: View, size_bytes: int, system: SystemSettings) -> int:
    (train,) = _trains(_priced(collective, levels, np.array([size_bytes], dtype=np.int64), system), levels)
    return alone(train, system)[1]


def _iteration(profile: Profile, levels: View, system: SystemSettings) -> IterationTime:
    sizes = issues_of(profile).sizes
    if not levels or not len(sizes):
        return IterationTime(profile.compute_ns, 0, 0)
    priced = _priced("all_reduce", levels, sizes, system)

    def walked() -> IterationTime:
        trains = dict(zip(sizes.tolist(), _trains(priced, levels), strict=True))
        return walk(profile, trains, system)

    if system.collective_queue != "one" or system.chunks > 1:
        return walked()
    tiers = [levels[phase.dimension].tier for phase in priced.phases]
    times = np.array([phase.ns for phase in priced.phases])
    tiers_ns = {tier: times[[at == tier for at in tiers]].sum(axis=0) for tier in TIERS if tier in tiers}
    return through_one_queue(profile, times.sum(axis=0), tiers_ns, lambda: walked().spans)


class _Priced(NamedTuple):
    """Phases of the chunks of collectives of several sizes, and how many chunks each has."""

    phases: tuple[Phase[Ints], ...]
    chunks: Ints


def _priced(collective: Collective, levels: View, sizes: Ints, system: SystemSettings) -> _Priced:
    chunk_bytes, chunks = chunks_of(collective, levels, sizes, system)
    return _Priced(phases_of(collective, levels, chunk_bytes, system), chunks)


def _trains(priced: _Priced, levels: View) -> list[Train]:
    """Return what the queues see of collectives of several sizes."""
    columns = [
        (each.dimension, levels[each.dimension].tier, each.ns.tolist(), each.sent_bytes.tolist())
        for each in priced.phases
    ]
    return [
        Train(
            tuple(Passage(server, tier, ns[place], sent[place]) for server, tier, ns, sent in columns), count
        )
        for place, count in enumerate(priced.chunks.tolist())
    ]
