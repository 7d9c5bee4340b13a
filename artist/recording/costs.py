"""Observer of the costs of a run: energy, money and CO2 by job, user, cause and GPU type."""

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from artist.core.arrays import Floats
from artist.core.cluster import Cluster
from artist.core.compact_jobs import field_of
from artist.core.events import Event, Gauges
from artist.core.job import JobSpec
from artist.core.rates import GpuKind, Rates
from artist.core.result import RunResult
from artist.recording.failures import FailureAccounts
from artist.recording.names import COST_CAUSES, COST_COLUMNS, COSTS, HELD_CAUSES
from artist.recording.topic import Topic
from artist.units import NS_PER_S

_HOUR_NS = 3600 * NS_PER_S
_log = logging.getLogger(__name__)
Amounts = dict[str, float]


class CostAccounts(Topic):
    """The GPU time of each kind of machine by cause (`FailureAccounts`), times its rates.

    A GPU draws its busy power while a job holds it, else its idle power, also as a spare or in repair; its
    part of the host's power is the same in all states. Absent machines cost nothing. GPUs of a group count
    in equal parts for its members.

    Parameters
    ----------
    jobs, cluster
        The engine's; an event's job is an index into them.
    """

    rates = True  # asks the engine for changes of iteration time

    def __init__(self, jobs: Sequence[JobSpec], cluster: Cluster, rates: Rates) -> None:
        self._jobs, self._rates = jobs, rates
        kinds: dict[GpuKind, set[int]] = {}
        for number, machine in enumerate(cluster.machines):
            if machine.gpus:
                kinds.setdefault(machine.hardware, set()).add(number)
        self._accounts = {
            kind: FailureAccounts(jobs, cluster, machines, rates.intensity)
            for kind, machines in kinds.items()
        }

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Record the events of one instant, in order, and the state after them."""
        for accounts in self._accounts.values():
            accounts.observe(time_ns, events, gauges)

    def close(self, end_ns: int) -> None:
        """Record the end of the run."""
        for accounts in self._accounts.values():
            accounts.close(end_ns)
        steps = self._rates.intensity
        if steps is not None and len(steps.times_ns) > 1 and steps.times_ns[-1] < end_ns:
            note = "cluster.power.carbon ends at %g h, the run at %g h: its last value holds from there on"
            _log.warning(note, steps.times_ns[-1] / _HOUR_NS, end_ns / _HOUR_NS, extra={"note": True})

    def job_columns(self, result: RunResult) -> Mapping[str, Floats]:
        """Return energy, money and CO2 of each job, those that are counted."""
        return {name: np.array([of_job[name] for of_job in self._of_jobs]) for name in self._columns}

    def summary_entries(self, result: RunResult) -> Mapping[str, Any]:
        """Return `costs`: those of the run in `total`, and of them by cause, by GPU type, and by user."""
        kinds: dict[str, list[GpuKind]] = {}
        for kind in self._accounts:
            kinds.setdefault(kind[1], []).append(kind)
        causes = self._causes(self._accounts)
        total = _total(causes.values())
        users: dict[str, list[Amounts]] = {}
        for user, of_job in zip(field_of(self._jobs, "user"), self._of_jobs, strict=True):
            users.setdefault(user or "", []).append(of_job)
        if "co2_kg" in self._columns:
            unused = (a.unused_carbon * self._kg(kind, busy=False) for kind, a in self._accounts.items())
            total["co2_kg"] = math.fsum([*(of_job["co2_kg"] for of_job in self._of_jobs), *unused])
        entry: dict[str, Any] = {"total": total, "causes": causes}
        if len(kinds) > 1:
            entry["types"] = {gpu_type: self._causes(of_type) for gpu_type, of_type in kinds.items()}
        if any(users):
            entry["users"] = {user: _total(of_user) for user, of_user in sorted(users.items())}
        return {COSTS: entry}

    @cached_property
    def _of_jobs(self) -> list[Amounts]:
        """Costs of the jobs, of a closed run."""
        return [self._job(job) for job in range(len(self._jobs))]

    @cached_property
    def _columns(self) -> list[str]:
        counted = (self._rates.watts, self._rates.prices, self._rates.intensity)
        return [name for name, rates in zip(COST_COLUMNS, counted, strict=True) if rates is not None]

    def _causes(self, kinds: Iterable[GpuKind]) -> dict[str, Amounts]:
        """Return the costs of some kinds of machines by cause."""
        causes = {}
        for cause in COST_CAUSES:
            parts = []
            for kind in kinds:
                gpu_ns = self._accounts[kind].total(cause)
                gpu_ns += self._accounts[kind].total("replacement") if cause == "idle" else 0
                parts.append(self._amounts(kind, gpu_ns, busy=cause in HELD_CAUSES))
            causes[cause] = _total(parts)
        return causes

    def _amounts(self, kind: GpuKind, gpu_ns: int, *, busy: bool) -> Amounts:
        """Return GPU-hours, energy and money of GPU time."""
        amounts = {"gpu_h": gpu_ns / _HOUR_NS}
        if self._rates.watts is not None:
            watts = self._rates.watts[kind]
            amounts["energy_kwh"] = (watts.busy if busy else watts.idle) * gpu_ns / (1000 * _HOUR_NS)
        if self._rates.prices is not None:
            amounts["money"] = self._rates.prices[kind] * gpu_ns / _HOUR_NS
        return amounts

    def _job(self, job: int) -> Amounts:
        parts = []
        for kind, accounts in self._accounts.items():
            gpu_ns, carbon = accounts.held(job)
            amounts = self._amounts(kind, gpu_ns, busy=True)
            if "co2_kg" in self._columns:
                amounts["co2_kg"] = carbon * self._kg(kind, busy=True)
            parts.append(amounts)
        return _total(parts)

    def _kg(self, kind: GpuKind, *, busy: bool) -> float:
        """Return the kg of CO2 per integral of intensity, GPU x g/kWh x ns."""
        assert self._rates.watts is not None
        watts = self._rates.watts[kind]
        return (watts.busy if busy else watts.idle) / (1e6 * _HOUR_NS)


def _total(parts: Iterable[Amounts]) -> Amounts:
    known = list(parts)
    return {name: math.fsum(part[name] for part in known) for name in known[0]}
