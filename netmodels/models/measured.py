"""Network model from measured runs of nccl-tests, and from a fit to them for other placements."""

import logging
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from netmodels.collectives.algorithms import Collective, Ints
from netmodels.collectives.iteration_time import IterationTime
from netmodels.collectives.timeline import Part, ring_iteration
from netmodels.fabric.fabric import Fabric
from netmodels.fabric.shape import Shape, gpus
from netmodels.fabric.system import SystemSettings
from netmodels.inputs.digest import digest_of
from netmodels.inputs.errors import InputError
from netmodels.nccl.fit import Fitted, fit_nccl
from netmodels.nccl.iteration import nccl_parts
from netmodels.nccl.logs import LogFacts, Logs
from netmodels.nccl.measurements import files_of, read_measurements
from netmodels.nccl.model import NcclCollective, collective_us
from netmodels.nccl.parameters import nccl_of
from netmodels.profiles.buckets import bucketed
from netmodels.profiles.layers import Profile, refuse_program

_log = logging.getLogger(__name__)

Floats = npt.NDArray[np.float64]
_RunType = tuple[NcclCollective, int, int]
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
        self.logs: Logs = read_measurements(names, _FIELD, LogFacts(collective, machines, gpus_per_machine))
        self._fits: dict[str, Fitted] = {}
        self._known: dict[tuple[Profile, Shape, Fabric], IterationTime] = {}
        self._logged: set[str] = set()
        if not any(run.collective == "all_reduce" for run in self.logs.runs):
            measured = ", ".join(sorted({run.collective for run in self.logs.runs}))
            raise InputError("no run of an all-reduce", where=_FIELD, found=measured, allowed="at least one")

    @cached_property
    def version(self) -> str:
        """Version of the rule, and the digest of all measurements."""
        runs = [
            [run.collective, run.machines, run.gpus_per_machine, [list(point) for point in run.points]]
            for run in self.logs.runs
        ]
        return f"1 {digest_of(runs)[:16]}"

    @cached_property
    def _measured(self) -> dict[_RunType, tuple[Floats, Floats]]:
        """Sizes and times in us by type of run."""
        by_type: dict[_RunType, dict[int, list[float]]] = {}
        for run in self.logs.runs:
            points = by_type.setdefault((run.collective, run.machines, run.gpus_per_machine), {})
            for size, time_us in run.points:
                points.setdefault(size, []).append(time_us)
        return {
            run_type: (
                np.array(sorted(points), dtype=np.float64),
                np.array([np.median(points[size]) for size in sorted(points)], dtype=np.float64),
            )
            for run_type, points in by_type.items()
        }

    def fitted(self, fabric: Fabric) -> Fitted:
        """Return the fit to all runs, beginning with a fabric's parameters."""
        if fabric.digest not in self._fits:
            self._fits[fabric.digest] = fit_nccl(self.logs.runs, nccl_of(fabric))
        return self._fits[fabric.digest]

    def carries(self, shape: Shape, fabric: Fabric, system: SystemSettings | None = None) -> bool:
        """Return whether the fit answers for a placement, because no similar one was measured."""
        return gpus(shape) > 1 and _run_type("all_reduce", shape) not in self._measured

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the time of one iteration; see `netmodels.api.NetworkModel`."""
        refuse_program(profile, "network=measured")
        profile = bucketed(profile, system.bucket_bytes)
        question = (profile, shape, fabric)
        answer = self._known.get(question)
        if answer is None:
            answer = self._known[question] = ring_iteration(
                profile, shape, lambda sizes: self._durations_ns(sizes, shape, fabric)
            )
        return answer

    def parts(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> tuple[Part, ...]:
        """Return an iteration's all-reduces as one part each; see `netmodels.nccl.iteration.nccl_parts`."""
        refuse_program(profile, "network=measured")
        profile = bucketed(profile, system.bucket_bytes)
        return nccl_parts(profile, shape, lambda sizes: self._durations_ns(sizes, shape, fabric))

    def _durations_ns(self, sizes: Ints, shape: Shape, fabric: Fabric) -> Ints:
        times_us = self._times_us("all_reduce", sizes.astype(np.float64), shape, fabric)
        durations: Ints = np.rint(1e3 * times_us).astype(np.int64)
        return durations

    def collective_ns(
        self, collective: Collective, size_bytes: int, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> int:
        """Return the time of one collective alone; `size_bytes` is the size per GPU at the start."""
        total = size_bytes * (gpus(shape) if collective == "all_gather" else 1)
        if gpus(shape) < 2:
            return 0
        return round(1e3 * float(self._times_us(collective, np.array([float(total)]), shape, fabric)[0]))

    def _times_us(self, collective: NcclCollective, sizes: Floats, shape: Shape, fabric: Fabric) -> Floats:
        """Return the times of sizes as nccl-tests counts them, shape (n,)."""
        nccl = self.fitted(fabric).nccl
        place = tuple(tuple(count for _, count in rack) for rack in shape)
        run_type = _run_type(collective, shape)
        measured = self._measured.get(run_type) if run_type else None
        if measured is None:
            self._log_fit("placements", f"{_words(shape)} GPUs", fabric)
            return collective_us(collective, sizes, place, nccl)
        known, times_us = measured
        inside = np.clip(sizes, known[0], known[-1])
        interpolated: Floats = np.exp(np.interp(np.log(inside), np.log(known), np.log(times_us)))
        if (inside == sizes).all():
            return interpolated
        self._log_fit("sizes", f"{sizes[inside != sizes][0]:,.0f} bytes on {_words(shape)} GPUs", fabric)
        beyond, edge = (collective_us(collective, size, place, nccl) for size in (sizes, inside))
        return interpolated * beyond / edge

    def _log_fit(self, subject: str, first: str, fabric: Fabric) -> None:
        """Log once that the fit answers."""
        if subject not in self._logged:
            self._logged.add(subject)
            note = (
                "%s that were not measured are answered by the fit (median error %.1f %%, p90 %.1f %% where "
                "measured); the first: %s"
            )
            fitted = self.fitted(fabric)
            errors = (100 * fitted.median, 100 * fitted.p90)
            _log.warning(note, subject, *errors, first, extra={"note": True})


def _words(shape: Shape) -> str:
    return " | ".join("+".join(str(count) for _, count in rack) for rack in shape)


def _run_type(collective: NcclCollective, shape: Shape) -> _RunType | None:
    """Return the type of the runs that match a placement; None for placements that no run can match."""
    counts = {count for rack in shape for _, count in rack}
    types = {name for rack in shape for name, _ in rack}
    if len(shape) != 1 or len(counts) != 1 or len(types) != 1:
        return None
    return collective, len(shape[0]), counts.pop()
