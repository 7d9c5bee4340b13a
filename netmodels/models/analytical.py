"""The network model in process: alpha-beta collectives, and the iteration timeline layer by layer."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial, reduce
from itertools import product
from math import ceil, floor, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from netmodels.collectives.across_machines import across_ns, by_port_ns, sent_bytes
from netmodels.collectives.algorithms import Collective, Ints, port_bytes_per_ns
from netmodels.collectives.collectives import Phase, chunks_of, gate_ns, phases_of
from netmodels.collectives.dimensions import Level, View, views_of
from netmodels.collectives.iteration_time import IterationTime
from netmodels.collectives.rank_program import step_on_ranks
from netmodels.collectives.ring_steps import Floats
from netmodels.collectives.rings import Ring, rings_of
from netmodels.collectives.timeline import (
    ChunkedCollective,
    Part,
    Transfer,
    Way,
    alone,
    issues_of,
    iteration_timeline,
    through_one_queue,
)
from netmodels.fabric.fabric import Dimension, Fabric
from netmodels.fabric.shape import TIERS, Shape, Tier, gpus, tier
from netmodels.fabric.system import SystemSettings
from netmodels.nccl.iteration import NcclModel
from netmodels.profiles.buckets import bucketed
from netmodels.profiles.layers import Profile, Program, refuse_program

Seen = View | Ring
"""A placement as its dimensions, or as one ring through all GPUs."""

_MANY_BYTES = 2**50  # enough that roundings do not affect the time per byte


class PortBound(NamedTuple):
    """Collectives that are faster than the ports that carry them.

    Parameters
    ----------
    comm_ns
        Their time, each alone; of an iteration the sum over all of its all-reduces.
    by_port_ns
        The same where none is faster than its ports.
    """

    comm_ns: int
    by_port_ns: int


class AnalyticalModel:
    """Price an iteration by closed forms: ASTRA-sim's congestion-unaware analytical back end.

    Rule: every layer's all-reduce runs on each dimension that the shape uses
    (`netmodels.collectives.collectives`), queued beside the backward pass (`netmodels.collectives.timeline`),
    and begins with the profile's `launch_ns`. On regular shapes (identical machines, identical racks) whole
    iterations equal ASTRA-sim 2.x to the nanosecond if `launch_ns` is 0; with `baseline`, `per_dimension` and
    `lowest_layer_first` they follow ASTRA-sim 1.0.

    An irregular shape is priced by its average numbers of members, each collective between the fastest and
    the slowest regular shape around it (whole numbers, next lower or next higher, in each dimension), but not
    below its narrowest gate (`netmodels.collectives.dimensions`). Real libraries do not run like that. Shapes
    with equal averages and gates have equal answers, so answers are kept by these: a fragmented cluster has
    thousands of shapes.

    With `across_machines` other than `hierarchical`, placements of several machines, regular or not, are
    priced as one ring or tree through all GPUs (`netmodels.collectives.across_machines`), and a machine alone
    by its dimensions. Messages use ideal links, or are packets
    (`netmodels.collectives.packet_transport`).
    """

    version = "2"

    def __init__(self) -> None:
        self._known: dict[tuple[Profile, Seen, SystemSettings], IterationTime] = {}
        self._programs: dict[tuple[Profile, Shape, str, SystemSettings], IterationTime] = {}
        self._nccl = NcclModel()

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the time of one iteration; see `netmodels.api.NetworkModel`."""
        if profile.program is not None:
            return self._of_program(profile, profile.program, shape, fabric, system)
        profile = bucketed(profile, system.bucket_bytes)
        if system.collectives == "nccl":
            return self._nccl.iteration(profile, shape, fabric)
        answers = [self._remembered(profile, seen, system) for seen in _seen(shape, fabric, system)]
        return max(answers, key=lambda answer: (answer.total_ns, answer.comm_ns))

    def collective_ns(
        self, collective: Collective, size_bytes: int, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> int:
        """Return the time of one collective alone, slowest machine type as for iterations.

        Parameters
        ----------
        collective
            The collective.
        size_bytes
            Bytes that each GPU starts with, more than 0.
        shape, fabric, system
            As for `iteration`.
        """
        if system.collectives == "nccl":
            return self._nccl.collective_ns(collective, size_bytes, shape, fabric)
        seen = _seen(shape, fabric, system)
        return max(_collective_ns(collective, view, size_bytes, system) for view in seen)

    def above_port(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> PortBound | None:
        """Return the times of an iteration's all-reduces if any is faster than its ports; else None.

        Messages of direct collectives, and chunks in flight, do not share a port, as in ASTRA-sim.

        Parameters
        ----------
        profile, shape, fabric, system
            As for `iteration`.
        """
        if profile.program is not None or not _ignores_ports("all_reduce", system):
            return None
        profile = bucketed(profile, system.bucket_bytes)
        issues = issues_of(profile)
        if not len(issues.sizes) or gpus(shape) < 2:
            return None
        seen = _seen(shape, fabric, system)
        slowest = max(seen, key=lambda view: self._remembered(profile, view, system).total_ns)
        comm_ns, least = _bounded("all_reduce", slowest, issues.sizes, system)
        times = (int(ns[issues.which].sum()) for ns in (comm_ns, np.maximum(comm_ns, least)))
        return PortBound(*times) if _is_above(comm_ns, least).any() else None

    def collective_above_port(
        self, collective: Collective, size_bytes: int, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> PortBound | None:
        """Return the time of one collective alone if it is faster than its ports; else None.

        Parameters
        ----------
        collective, size_bytes, shape, fabric, system
            As for `collective_ns`.
        """
        if not _ignores_ports(collective, system) or gpus(shape) < 2:
            return None
        sizes = np.array([size_bytes], dtype=np.int64)
        answers = (_bounded(collective, view, sizes, system) for view in _seen(shape, fabric, system))
        comm_ns, least = (max(int(ns[0]) for ns in times) for times in zip(*answers, strict=True))
        above = _is_above(np.array([comm_ns]), np.array([least])).any()
        return PortBound(comm_ns, least) if above else None

    def parts(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> tuple["Part", ...]:
        """Return the parts of an iteration's all-reduces, as the slowest machine type sees them.

        Parameters
        ----------
        profile, shape, fabric, system
            As for `iteration`.
        """
        refuse_program(profile, "contention")
        profile = bucketed(profile, system.bucket_bytes)
        if system.collectives == "nccl":
            return self._nccl.parts(profile, shape, fabric)
        seen = _seen(shape, fabric, system)
        slowest = max(seen, key=lambda view: self._remembered(profile, view, system).total_ns)
        return _parts(profile, slowest, system)

    def _of_program(
        self, profile: Profile, program: Program, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        question = (profile, shape, fabric.digest, system)
        answer = self._programs.get(question)
        if answer is None:
            if system.collectives == "nccl":
                answer = program.iteration(shape, fabric, profile.factor)
            else:
                answer = step_on_ranks(profile, shape, fabric, system)
            self._programs[question] = answer
        return answer

    def _remembered(self, profile: Profile, seen: Seen, system: SystemSettings) -> IterationTime:
        question = (profile, seen, system)
        answer = self._known.get(question)
        if answer is None:
            answer = self._known[question] = _iteration(*question)
        return answer


def _seen(shape: Shape, fabric: Fabric, system: SystemSettings) -> tuple[Seen, ...]:
    """Return the placement as collectives see it, by each of its machine types."""
    if system.across_machines == "hierarchical" or tier(shape) == "machine":
        return views_of(shape, fabric)
    whole = system.packets or system.across_machines == "tree"
    return rings_of(shape, fabric, windows=system.windows, whole=whole)


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
        Settings of collectives, which run level by level, over ideal links unless `transport` is packets.
    """
    return iteration_in(profile, View(tuple(Level(*dim) for dim in dims if dim[2] > 1)), system)


def iteration_in(
    profile: Profile, view: View, system: SystemSettings, *, stretch: float = 1.0
) -> IterationTime:
    """Return the time of one iteration on a placement as `netmodels.collectives.dimensions` sees it.

    Parameters
    ----------
    profile, view, system
        The layers, the placement, and the settings of collectives.
    stretch
        Factor on all collectives' times, relative to the closed forms.
    """
    system = _by_levels(system)
    if stretch == 1.0:
        return _iteration(profile, view, system)
    return _timeline(profile, view, system, stretch)


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
        The collective.
    dims
        (tier, dimension, members), innermost first; a dimension of one member is left out.
    size_bytes
        Bytes that each member starts with, more than 0.
    system
        Its settings.
    """
    view = View(tuple(Level(*dim) for dim in dims if dim[2] > 1))
    return _collective_ns(collective, view, size_bytes, _by_levels(system))


def _by_levels(system: SystemSettings) -> SystemSettings:
    """Return the settings for explicit dimensions, whose collectives run level by level."""
    if system.across_machines == "hierarchical":
        return system
    return replace(system, across_machines="hierarchical")


def _collective_ns(collective: Collective, view: Seen, size_bytes: int, system: SystemSettings) -> int:
    priced = _priced(collective, view, np.array([size_bytes], dtype=np.int64), system)
    return alone(_collectives(priced, view)[0], system)[1]


def _iteration(profile: Profile, view: Seen, system: SystemSettings) -> IterationTime:
    sizes = issues_of(profile).sizes
    if not view.servers or not len(sizes):
        return IterationTime(profile.compute_ns, 0, 0)

    details = partial(_timeline, profile, view, system)
    if system.collective_queue != "one" or system.chunks > 1:
        return details()
    return through_one_queue(profile, _durations_ns(profile, view, system) + profile.launch_ns, details)


def _durations_ns(profile: Profile, view: Seen, system: SystemSettings) -> Ints:
    """Return the time of the all-reduce of each size of a profile, in one chunk."""
    if isinstance(view, Ring):
        return across_ns("all_reduce", view, _chunk_bytes(profile, view.gpus, system), system)
    chunk_bytes = _chunk_bytes(profile, _members(view), system)
    if view.gates:
        return _irregular_ns("all_reduce", view, chunk_bytes, system)
    return _total_ns(phases_of("all_reduce", view.levels, chunk_bytes, system), chunk_bytes)


def _members(view: View) -> int:
    return round(prod(level.members for level in view.levels))


@lru_cache(maxsize=4096)
def _chunk_bytes(profile: Profile, gpus: int, system: SystemSettings) -> Ints:
    return chunks_of("all_reduce", gpus, issues_of(profile).sizes, system)[0]


def _timeline(profile: Profile, view: Seen, system: SystemSettings, stretch: float = 1.0) -> IterationTime:
    sizes = issues_of(profile).sizes
    collectives = _collectives(_priced("all_reduce", view, sizes, system), view, profile.launch_ns)
    if stretch != 1.0:
        collectives = [_stretched(collective, stretch) for collective in collectives]
    answer = iteration_timeline(profile, dict(zip(sizes.tolist(), collectives, strict=True)), system)
    return _on_all(answer, view.tiers) if isinstance(view, Ring) else answer


def _on_all(answer: IterationTime, tiers: Sequence[Tier]) -> IterationTime:
    """Return the answer with its spans on all tiers of a ring, whose links are in use at the same time."""
    spans = tuple(replace(span, tier=tier) for span in answer.spans for tier in tiers)
    times = tuple((tier, time_ns) for tier in tiers for _, time_ns in answer.tiers)
    return IterationTime(answer.compute_ns, answer.comm_ns, answer.exposed_ns, times, spans)


def _stretched(collective: ChunkedCollective, stretch: float) -> ChunkedCollective:
    transfers = (replace(transfer, ns=round(transfer.ns * stretch)) for transfer in collective.transfers)
    return replace(collective, transfers=tuple(transfers))


class _Priced(NamedTuple):
    """Phases of the chunks of collectives of several sizes, and their numbers of chunks."""

    phases: tuple[Phase[Ints], ...]
    chunks: Ints


def _priced(collective: Collective, view: Seen, sizes: Ints, system: SystemSettings) -> _Priced:
    if isinstance(view, Ring):
        chunk_bytes, chunks = chunks_of(collective, view.gpus, sizes, system)
        sent = sent_bytes(collective, view, chunk_bytes, system)
        return _Priced((Phase(0, across_ns(collective, view, chunk_bytes, system), sent),), chunks)
    chunk_bytes, chunks = chunks_of(collective, _members(view), sizes, system)
    phases = phases_of(collective, view.levels, chunk_bytes, system)
    if view.gates:
        phases = _fitted(phases, _irregular_ns(collective, view, chunk_bytes, system))
    return _Priced(phases, chunks)


def _fitted(phases: tuple[Phase[Ints], ...], wanted_ns: Ints) -> tuple[Phase[Ints], ...]:
    """Return phases that together take a given time: all shortened, or with a wait at the widest."""
    total = _total_ns(phases, wanted_ns)
    shorter = np.minimum(wanted_ns / np.maximum(total, 1), 1.0)
    fitted = [replace(phase, ns=np.floor(phase.ns * shorter).astype(np.int64)) for phase in phases]
    widest = max(range(len(fitted)), key=lambda place: fitted[place].dimension)
    lacking = wanted_ns - _total_ns(fitted, wanted_ns)
    fitted[widest] = replace(fitted[widest], ns=fitted[widest].ns + lacking)
    return tuple(fitted)


def _irregular_ns(collective: Collective, view: View, chunk_bytes: Ints, system: SystemSettings) -> Ints:
    """Return the time of chunks in an irregular placement, shape (n,), bounded by gates and regular ones.

    Narrow ports do not slow direct collectives (`netmodels.collectives.algorithms`), so gates do not apply to
    them.
    """
    average, *around = (
        _chunks_ns(collective, levels, chunk_bytes, system)
        for levels in (view.levels, *_corners(view.levels))
    )
    least, most = reduce(np.minimum, around), reduce(np.maximum, around)
    if all(system.algorithm_of(level.tier) != "direct" for level in view.levels):
        gate = gate_ns(collective, view.gates, view.gpus, chunk_bytes)
        least, most = np.maximum(least, gate), np.maximum(most, gate)
    wanted: Ints = np.rint(np.minimum(np.maximum(average, least), most)).astype(np.int64)
    return wanted


@lru_cache(maxsize=16_384)
def _parts(profile: Profile, view: Seen, system: SystemSettings) -> tuple[Part, ...]:
    """Return the phases of all-reduces one by one, or all in one part if they run side by side."""
    sizes = issues_of(profile).sizes
    if not view.servers or not len(sizes):
        return ()
    priced = _priced("all_reduce", view, sizes, system)
    if isinstance(view, Ring):
        (phase,) = priced.phases
        ring: tuple[Way, Ints] = "ring", phase.sent_bytes * priced.chunks
        across: tuple[Way, Ints] = ("tree", sizes) if system.across_machines == "tree" else ring
        return (Part(_alone_ns(priced, view, system), (across,)),)
    sent: tuple[tuple[Way, Ints], ...] = tuple(
        (view.servers[phase.dimension], phase.sent_bytes * priced.chunks) for phase in priced.phases
    )
    if system.chunks > 1 or system.collective_queue != "one":
        return (Part(_alone_ns(priced, view, system), sent),)
    return tuple(Part(phase.ns, (way,)) for phase, way in zip(priced.phases, sent, strict=True))


def _alone_ns(priced: _Priced, view: Seen, system: SystemSettings) -> Ints:
    return np.array(
        [alone(collective, system)[1] for collective in _collectives(priced, view)], dtype=np.int64
    )


def _ignores_ports(collective: Collective, system: SystemSettings) -> bool:
    """Return whether messages of a collective may send at once without sharing their port."""
    if system.collectives != "astra_sim":
        return False
    algorithms = {system.algorithm_of(tier) for tier in TIERS}
    direct = "direct" in algorithms or (collective == "all_to_all" and algorithms != {"ring"})
    return direct or (system.chunks > 1 and system.chunks_in_flight > 1)


def _bounded(collective: Collective, view: Seen, sizes: Ints, system: SystemSettings) -> tuple[Ints, Ints]:
    """Return the times of collectives, each alone, and the least times in which ports carry their bytes."""
    priced = _priced(collective, view, sizes, system)
    chunk_bytes, chunks = chunks_of(collective, view.gpus, sizes, system)
    if isinstance(view, Ring):
        least: Floats = by_port_ns(collective, view, chunk_bytes, system) * chunks
    else:
        busy = np.zeros((len(view.levels), len(sizes)))  # time of the ports of each dimension
        for phase in priced.phases:
            level = view.levels[phase.dimension]
            rate = port_bytes_per_ns(system.algorithm_of(level.tier), level.dimension, level.members)
            busy[phase.dimension] += phase.sent_bytes * chunks / rate
        least = np.where(chunks == 1, busy.sum(axis=0), busy.max(axis=0))  # chunks follow each other
        least = np.maximum(least, gate_ns(collective, view.gates, view.gpus, chunk_bytes) * chunks)
    return _alone_ns(priced, view, system), np.ceil(least).astype(np.int64)


def _is_above(comm_ns: Ints, least: Ints) -> npt.NDArray[np.bool_]:
    """Return True for collectives faster than their ports by more than truncated nanoseconds, shape (n,)."""
    return least > 1.01 * comm_ns + 2


def _chunks_ns(
    collective: Collective, levels: tuple[Level, ...], chunk_bytes: Ints, system: SystemSettings
) -> Floats:
    if system.packets:
        return _total_ns(phases_of(collective, levels, chunk_bytes, system), chunk_bytes).astype(np.float64)
    fixed, per_byte = _line(collective, levels, system)
    return chunk_bytes.astype(np.float64) * per_byte + fixed


@lru_cache(maxsize=65_536)
def _line(collective: Collective, levels: tuple[Level, ...], system: SystemSettings) -> tuple[float, float]:
    """Return the time of a chunk as ns and ns per byte: except for rounding, all ideal ones are linear."""
    none, many = (
        sum(phase.ns for phase in phases_of(collective, levels, size, system)) for size in (0, _MANY_BYTES)
    )
    return float(none), (many - none) / _MANY_BYTES


def _total_ns(phases: Sequence[Phase[Ints]], like: Ints) -> Ints:
    return sum((phase.ns for phase in phases), start=np.zeros_like(like))


@lru_cache(maxsize=65_536)
def _corners(levels: tuple[Level, ...]) -> tuple[tuple[Level, ...], ...]:
    """Return the regular placements around an irregular one."""
    choices = [
        [replace(level, members=members) for members in range(floor(level.members), ceil(level.members) + 1)]
        for level in levels
    ]
    return tuple(tuple(level for level in corner if level.members > 1) for corner in product(*choices))


def _collectives(priced: _Priced, view: Seen, launch_ns: int = 0) -> list[ChunkedCollective]:
    """Return collectives of several sizes as the queues see them."""
    columns = [
        (phase.dimension, view.servers[phase.dimension], phase.ns.tolist(), phase.sent_bytes.tolist())
        for phase in priced.phases
    ]
    return [
        ChunkedCollective(
            tuple(Transfer(server, tier, ns[place], sent[place]) for server, tier, ns, sent in columns),
            count,
            launch_ns,
        )
        for place, count in enumerate(priced.chunks.tolist())
    ]
