"""The network model that answers from measured runs of nccl-tests, and from a fit to them beyond these."""

import logging
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from netmodels.collectives.algorithms import Collective, Ints
from netmodels.collectives.iteration_time import IterationTime
from netmodels.collectives.timeline import Part, ring_iteration, ring_parts
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.shape import Shape, gpus
from netmodels.fabric.system import SystemSettings
from netmodels.inputs.digest import digest_of
from netmodels.inputs.errors import InputError
from netmodels.nccl.fit import Fitted, fit_nccl
from netmodels.nccl.logs import Given, Logs
from netmodels.nccl.measurements import files_of, read_measurements
from netmodels.nccl.model import NcclCollective, collective_us
from netmodels.nccl.parameters import nccl_of
from netmodels.profiles.buckets import bucketed
from netmodels.profiles.layers import Profile

_log = logging.getLogger(__name__)

Floats = npt.NDArray[np.float64]
_Kind = tuple[NcclCollective, int, int]
"""Collective, machines, GPUs per machine."""
_FIELD = "network.model.runs"


class MeasuredModel:
    """Price an iteration by measured collectives.

    Rule: a placement in one rack, on equal machines of one type, with as many GPUs per machine as a run,
    takes the time of that run, interpolated in the logarithms of size and time; of several equal runs the
    median at each size. Smaller and larger sizes follow the fit. All other placements (numbers of machines or
    GPUs that were not measured, including part of a machine; uneven ones; several racks, which runs do not
    cover) have the answer of the fit to all runs, which begins with the parameters of the given fabric;
    `carries` identifies them. Collectives follow each other in one queue beside the backward pass.

    Parameters
    ----------
    runs
        Logs of nccl-tests or rccl-tests, CSV tables, folders, patterns (`netmodels.nccl.measurements`).
    collective, machines, gpus_per_machine
        Facts that logs do not state.

    Raises
    ------
    InputError
        If a file cannot be understood, runs are of several clusters, or there is no run of an all-reduce.
    """

    heeded = ("collectives", "bucket_cap_mb")  # settings of a system that mean something to it

    def __init__(
        self,
        runs: Sequence[str],
        collective: NcclCollective | None = None,
        machines: int | None = None,
        gpus_per_machine: int | None = None,
    ) -> None:
        names = [runs] if isinstance(runs, str) else list(runs)
        if not names:
            raise InputError("no runs", where=_FIELD, found=names, allowed="[LOG, ...] of nccl-tests")
        named, inside = files_of(names, _FIELD)
        self.input_files: tuple[Path, ...] = (*named, *inside)
        self.logs: Logs = read_measurements(names, _FIELD, Given(collective, machines, gpus_per_machine))
        self._fits: dict[str, Fitted] = {}
        self._known: dict[tuple[Profile, Shape, Fabric], IterationTime] = {}
        self._told: set[str] = set()
        if not any(run.collective == "all_reduce" for run in self.logs.runs):
            found = ", ".join(sorted({run.collective for run in self.logs.runs}))
            raise InputError("no run of an all-reduce", where=_FIELD, found=found, allowed="at least one")

    @cached_property
    def version(self) -> str:
        """Version of the rule, and the digest of all that was measured."""
        runs = [
            [run.collective, run.machines, run.gpus_per_machine, [list(each) for each in run.points]]
            for run in self.logs.runs
        ]
        return f"1 {digest_of(runs)[:16]}"

    @cached_property
    def _measured(self) -> dict[_Kind, tuple[Floats, Floats]]:
        """Sizes and times in us of each kind of run."""
        kinds: dict[_Kind, dict[int, list[float]]] = {}
        for run in self.logs.runs:
            points = kinds.setdefault((run.collective, run.machines, run.gpus_per_machine), {})
            for size, time_us in run.points:
                points.setdefault(size, []).append(time_us)
        return {
            kind: (
                np.array(sorted(points), dtype=np.float64),
                np.array([np.median(points[size]) for size in sorted(points)], dtype=np.float64),
            )
            for kind, points in kinds.items()
        }

    def fitted(self, fabric: Fabric) -> Fitted:
        """Return the fit to all runs, beginning with a fabric's parameters."""
        if fabric.digest not in self._fits:
            self._fits[fabric.digest] = fit_nccl(self.logs.runs, nccl_of(fabric))
        return self._fits[fabric.digest]

    def carries(self, shape: Shape, fabric: Fabric, system: SystemSettings | None = None) -> bool:
        """Return whether the answer for a placement comes from the fit: no similar one was measured."""
        return gpus(shape) > 1 and _kind("all_reduce", shape) not in self._measured

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the time of one iteration; see `netmodels.api.NetworkModel`."""
        profile = bucketed(profile, system.bucket_bytes)
        question = (profile, shape, fabric)
        answer = self._known.get(question)
        if answer is None:
            answer = self._known[question] = ring_iteration(
                profile, shape, lambda sizes: self._rides_ns(sizes, shape, fabric)
            )
        return answer

    def parts(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> tuple[Part, ...]:
        """Return an iteration's all-reduces as one ring each; see `netmodels.models.analytical`."""
        profile = bucketed(profile, system.bucket_bytes)
        return ring_parts(profile, shape, lambda sizes: self._rides_ns(sizes, shape, fabric))

    def _rides_ns(self, sizes: Ints, shape: Shape, fabric: Fabric) -> Ints:
        times_us = self._times_us("all_reduce", sizes.astype(np.float64), shape, fabric)
        rides: Ints = np.rint(1e3 * times_us).astype(np.int64)
        return rides

    def collective_ns(
        self, collective: Collective, size_bytes: int, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> int:
        """Return the time of one collective alone; `size_bytes` is what each GPU starts with."""
        total = size_bytes * (gpus(shape) if collective == "all_gather" else 1)
        if gpus(shape) < 2:
            return 0
        return round(1e3 * float(self._times_us(collective, np.array([float(total)]), shape, fabric)[0]))

    def _times_us(self, collective: NcclCollective, sizes: Floats, shape: Shape, fabric: Fabric) -> Floats:
        """Return the times of sizes as nccl-tests counts them, shape (n,)."""
        nccl = self.fitted(fabric).nccl
        place = tuple(tuple(count for _, count in rack) for rack in shape)
        kind = _kind(collective, shape)
        measured = self._measured.get(kind) if kind else None
        if measured is None:
            self._tell("placements", f"{_words(shape)} GPUs", fabric)
            return collective_us(collective, sizes, place, nccl)
        known, times_us = measured
        inside = np.clip(sizes, known[0], known[-1])
        found: Floats = np.exp(np.interp(np.log(inside), np.log(known), np.log(times_us)))
        if (inside == sizes).all():
            return found
        self._tell("sizes", f"{sizes[inside != sizes][0]:,.0f} bytes on {_words(shape)} GPUs", fabric)
        beyond, edge = (collective_us(collective, each, place, nccl) for each in (sizes, inside))
        return found * beyond / edge

    def _tell(self, what: str, first: str, fabric: Fabric) -> None:
        """Report once that the fit answers."""
        if what not in self._told:
            self._told.add(what)
            note = (
                "%s that were not measured are answered by the fit (median error %.1f %%, p90 %.1f %% where "
                "measured); the first: %s"
            )
            fitted = self.fitted(fabric)
            errors = (100 * fitted.median, 100 * fitted.p90)
            _log.warning(note, what, *errors, first, extra={"note": True})


def _words(shape: Shape) -> str:
    return " | ".join("+".join(str(count) for _, count in rack) for rack in shape)


def _kind(collective: NcclCollective, shape: Shape) -> _Kind | None:
    """Return which runs match a placement; None for placements that no run can match."""
    counts = {count for rack in shape for _, count in rack}
    types = {name for rack in shape for name, _ in rack}
    if len(shape) != 1 or len(counts) != 1 or len(types) != 1:
        return None
    return collective, len(shape[0]), counts.pop()
