"""The network model in process: alpha-beta collectives, the whole iteration walked layer by layer."""

from collections.abc import Sequence

import numpy as np

from netmodels.algorithms import Collective
from netmodels.api import IterationTime
from netmodels.collectives import chunks_of, phases_of
from netmodels.fabric import Dimension, Fabric
from netmodels.layers import Profile
from netmodels.levels import Level, View, views_of
from netmodels.shape import Shape, Tier
from netmodels.system import SystemSettings
from netmodels.walk import Passage, Train, alone, walk


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
    return alone(_trains(collective, levels, [size_bytes], system)[size_bytes], system)[1]


def _iteration(profile: Profile, levels: View, system: SystemSettings) -> IterationTime:
    if not levels:
        return IterationTime(profile.compute_ns, 0, 0)
    sizes = sorted({layer.gradient_bytes for layer in profile.layers if layer.gradient_bytes})
    return walk(profile, _trains("all_reduce", levels, sizes, system), system)


def _trains(
    collective: Collective, levels: View, sizes: Sequence[int], system: SystemSettings
) -> dict[int, Train]:
    """Return the chunks of collectives of several sizes: priced together, as arrays."""
    chunks, counts = chunks_of(collective, levels, np.array(sizes, dtype=np.int64), system)
    phases = phases_of(collective, levels, chunks, system)
    columns = [
        (each.dimension, levels[each.dimension].tier, each.ns.tolist(), each.sent_bytes.tolist())
        for each in phases
    ]
    return {
        size: Train(
            tuple(Passage(server, tier, ns[place], sent[place]) for server, tier, ns, sent in columns), count
        )
        for place, (size, count) in enumerate(zip(sizes, counts.tolist(), strict=True))
    }
