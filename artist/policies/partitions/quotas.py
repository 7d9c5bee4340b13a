"""Limits around any policy: a job above one is held back, unseen by the policy, until it fits.

In plain words: held jobs are passed on in order of submission, as soon as they fit; one that fits passes
those that do not. A job counts from then to its end, whether it runs or waits. So no stop, restart or move
exceeds a limit; but a job that waits for machines holds its part of it, as under Kueue. Under Slurm, where
only running jobs count (`policy=slurm`), another one could start in its place.

Counted are the GPUs that a job may get at most, and the CPUs and memory that it asks for.

Source of the limits: `artist.policies.parts.limits`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from typing import Annotated

from pydantic import BeforeValidator
from pydantic.dataclasses import dataclass

from artist.core.cluster import Cluster
from artist.core.compact_jobs import templates_of
from artist.core.events import Arrival, Event, Finish
from artist.core.job import Demand, JobSpec
from artist.core.view import ClusterView
from artist.errors import InputError
from artist.policies.parts.limits import Association, Limits, Qos, check_limits
from artist.policies.parts.parameters import STRICT

_NULL = BeforeValidator(lambda value: () if value is None else value)


@dataclass(config=STRICT, frozen=True)
class Quotas:
    """Limits of QOS, accounts and users; `artist.site` has read the files of `conf` into them."""

    conf: str | tuple[str, ...] | None = None
    qos: Annotated[tuple[Qos, ...], _NULL] = ()
    associations: Annotated[tuple[Association, ...], _NULL] = ()

    def __post_init__(self) -> None:
        check_limits(self.qos, self.associations)
        of_qos = [tres for one in self.qos for tres in (one.GrpTRES, one.MaxTRESPerUser)]
        for tres in (*of_qos, *(one.GrpTRES for one in self.associations)):
            if "node" in tres:
                raise ValueError("limits of nodes hold under policy=slurm only; here of gres/gpu, cpu, mem")


@plain_dataclass(frozen=True, slots=True, eq=False)
class _Job:
    qos: Qos | None
    account: str
    user: str
    tres: Mapping[str, float]


class Gate:
    """Holds jobs back.

    Parameters
    ----------
    quotas
        The limits.
    """

    def __init__(self, quotas: Quotas) -> None:
        self._limits = Limits(quotas.associations)
        self._qos = {one.Name: one for one in quotas.qos}
        self._alike: dict[tuple[Demand, str, str, str], _Job] = {}
        self._passed: dict[int, _Job] = {}  # that have not ended
        self._held: dict[int, _Job] = {}
        self._reasons: dict[int, str] = {}

    @property
    def holds(self) -> bool:
        """True while jobs are held."""
        return bool(self._held)

    def check(self, cluster: Cluster, jobs: Sequence[JobSpec]) -> None:
        """Refuse jobs of an unknown QOS, and those above a limit by themselves.

        Raises
        ------
        InputError
            For the first of them.
        """
        for spec in templates_of(jobs):
            where = f"job {spec.job_id!r}"
            if self._qos and spec.qos and spec.qos not in self._qos:
                allowed = f"{', '.join(self._qos)}; add it to quotas.qos"
                raise InputError("unknown qos", where=where, found=spec.qos, allowed=allowed)
            job = self._job(cluster, spec.demand, spec.qos, spec.account, spec.user)
            if reason := self._limits.reason(job, ()):
                what, allowed = f"it can never start ({reason})", "no more than its limits, or leave it out"
                size = ", ".join(f"{value:g} {name}" for name, value in job.tres.items())
                raise InputError(what, where=where, found=size, allowed=allowed)

    def news(self, view: ClusterView) -> tuple[list[Event], dict[int, str]]:
        """Return the news without jobs that are held, with those that are not any more, and new reasons."""
        news, changed = list[Event](), False
        for event in view.news:
            changed = changed or isinstance(event, Arrival | Finish)
            if isinstance(event, Arrival):
                columns, demand = view.columns([event.job]), view.demand(event.job)
                names = columns.qos[0], columns.account[0], columns.user[0]
                self._held[event.job] = self._job(view.cluster, demand, *names)
                continue
            if isinstance(event, Finish):
                self._passed.pop(event.job)
            news.append(event)
        reasons = dict[int, str]()
        if changed:
            known = dict[_Job, str]()
            for number, job in list(self._held.items()):
                if job not in known:
                    known[job] = self._limits.reason(job, self._passed.values())
                if (reason := known[job]) != self._reasons.get(number, ""):
                    reasons[number] = self._reasons[number] = reason
                if not reason:
                    self._passed[number] = self._held.pop(number)
                    self._reasons.pop(number, None)
                    news.append(Arrival(view.now_ns, number))
                    known.clear()
        return news, reasons

    def _job(self, cluster: Cluster, demand: Demand, qos: str, account: str, user: str) -> _Job:
        key = demand, qos, account, user
        if key not in self._alike:
            worths = [
                cluster.worth_of[kind]
                for kind in demand.gpu_types or cluster.worth_of
                if kind in cluster.worth_of
            ]
            gpus = max((demand.gpus_at(worth, demand.targets()[-1]) for worth in worths), default=0)
            tres = {
                "gres/gpu": max(gpus, demand.gpus),
                "cpu": demand.cpus,
                "mem": demand.memory_bytes / 2**30,
            }
            self._alike[key] = _Job(self._qos.get(qos), account, user, tres)
        return self._alike[key]
