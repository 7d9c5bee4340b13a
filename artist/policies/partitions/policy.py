"""Any policy, partition by partition: jobs run only on the machines of their own partition.

In plain words: a pool of machines is a partition. A job belongs to the one that its virtual cluster, or its
partition in Slurm, names (`cluster.partition_by`). Each partition is scheduled by a policy of its own, which
sees a cluster of these machines and jobs only, and is called by their events and its own wake-ups only.
So a run is the same, job by job, as one run per partition, except where jobs of several partitions share
links (`performance.contention`) and where estimates are drawn. All begin with the same random generator.
In a cluster without named pools all jobs and machines are one partition. Limits of accounts, over all
partitions, may hold jobs back (`artist.policies.partitions.quotas`).

Source: static partitions per virtual cluster, as in Helios: Hu et al., Characterization and Prediction of
Deep Learning Workloads in Large-Scale GPU Datacenters, SC 2021.
"""

from collections.abc import Callable, Sequence

from artist.core.buckets import members_of, sets_by
from artist.core.cluster import DEFAULT_POOL, Allocation, Cluster
from artist.core.compact_jobs import templates_of
from artist.core.events import Arrival, Event, Finish, MachineEvent, Wake
from artist.core.job import JobSpec
from artist.core.plan import Plan
from artist.core.view import ClusterView, Policy
from artist.errors import PlanError
from artist.policies.partitions.partition import Partition
from artist.policies.partitions.quotas import Gate, Quotas
from artist.policies.partitions.view import PartitionView
from artist.policies.parts.around import Around
from artist.units import seconds_to_ns


class Partitions(Around):
    """A policy for each partition; other attributes are those of the policy.

    Parameters
    ----------
    make
        Returns a new policy.
    by
        Column of the jobs: `vc` or `partition`; None for one partition of all.
    quotas
        Limits of accounts, users and QOS.
    """

    def __init__(
        self, make: Callable[[], Policy], by: str | None = "vc", quotas: Quotas | None = None
    ) -> None:
        self.of = make()
        self.by = by
        self._gate = Gate(quotas) if quotas is not None else None
        self._on_events = bool(getattr(self.of, "on_events", True))
        self._only_waiting = bool(getattr(self.of, "only_while_jobs_wait", False))
        interval_s = getattr(self.of, "interval_s", None)
        self._interval_ns = None if interval_s is None else seconds_to_ns(interval_s)
        self._make = make
        self._partitions: dict[str, Partition] = {}
        self._of_machine: dict[int, Partition] = {}
        self._of_job: dict[int, Partition] = {}
        self._waking: dict[Partition, None] = {}
        self._last_tick = -1

    def decide(self, view: ClusterView) -> Plan:
        """Return the plans of all partitions in which something is due."""
        if not self._partitions:
            self._divide(view.cluster)
        news, reasons = self._gate.news(view) if self._gate else (view.news, {})
        if not (called := self._due(view, news)) and not self._waking and not reasons:
            return _NOTHING
        changes, shifts = dict[int, Allocation | None](), dict[int, int]()
        cancels: list[int] = []
        for partition in called:
            plan = partition.policy.decide(PartitionView(view, partition))
            partition.carry(plan, changes, shifts, reasons, cancels)
            if partition.wake_ns is not None:
                self._waking[partition] = None
        reasons = {job: reason for job, reason in reasons.items() if reason or job not in changes}
        wakes_ns = [p.wake_ns for p in self._waking if p.wake_ns is not None]
        return Plan(changes, {}, min(wakes_ns, default=None), shifts, 0, reasons, tuple(cancels))

    def concerns(self, news: Sequence[Event]) -> bool:
        """Return whether events call the policy of a partition, rather than wait for its next call."""
        if self._only_waiting and not (self._gate and self._gate.holds):
            return any(not isinstance(event, Finish) or self._of_job[event.job].waiting for event in news)
        return True

    def follows(self, cluster: Cluster) -> list[str]:
        """Return the signals that the policy needs in any partition."""
        follows = getattr(self.of, "follows", None)
        if not callable(follows):
            return []
        parts = map(cluster.part, self._pools(cluster).values())
        return list(dict.fromkeys(name for part in parts for name in follows(part)))

    def describe(self) -> str:
        """Return the rule in a clause, for a report."""
        describe = getattr(self.of, "describe", None)
        inside = describe() if callable(describe) else f"{type(self.of).__name__} chooses the jobs"
        inside += ", within limits of accounts, users and QOS" if self._gate else ""
        by = {"vc": "virtual cluster"}.get(self.by or "", self.by)
        return f"{inside}; each {by} on its own machines" if by else inside

    def notes(self, cluster: Cluster, jobs: Sequence[JobSpec]) -> list[str]:
        """Return the notes of the policies, each once; partitions are named where not all have it."""
        notes, pools = getattr(self.of, "notes", None), self._pools(cluster)
        if self._gate:
            self._gate.check(cluster, jobs)
        if not callable(notes) or set(pools) == {DEFAULT_POOL}:
            return list(notes(cluster, jobs)) if callable(notes) else []
        specs, noted = dict[str, list[JobSpec]](), dict[str, list[str]]()
        for spec in templates_of(jobs):
            specs.setdefault(getattr(spec, self.by or ""), []).append(spec)
        for name, some in specs.items():
            for note in notes(cluster.part(pools[name]), some):
                noted.setdefault(note, []).append(name)
        said = noted.items()
        return [text if len(of) == len(specs) else f"{self.by} {', '.join(of)}: {text}" for text, of in said]

    @property
    def series(self) -> list[tuple[int, str, float]]:
        """Series of all partitions, in order of time."""
        noted = [
            (time_ns, f"{partition.name}: {name}", value)
            for partition in self._partitions.values()
            for time_ns, name, value in getattr(partition.policy, "series", ())
        ]
        return sorted(noted, key=lambda entry: entry[0])

    def _divide(self, cluster: Cluster) -> None:
        """Make the partitions."""
        for name, among in self._pools(cluster).items():
            partition = self._partitions[name] = Partition(name, among, cluster, self._make())
            self._of_machine |= dict.fromkeys(members_of(among), partition)

    def _pools(self, cluster: Cluster) -> dict[str, int]:
        """Return the machines by pool, as sets of `artist.core.buckets`."""
        return sets_by(machine.pool if self.by else DEFAULT_POOL for machine in cluster.machines)

    def _due(self, view: ClusterView, news: Sequence[Event]) -> list[Partition]:
        """Return the partitions whose policies are to be called; their news are up to date."""
        now = view.now_ns
        heard = self._hear(view, news)
        tick = self._ticks(now)
        woken = self._wake(now) if self._waking else []
        if tick or not (view.news or woken):  # else the engine, with nothing left to do, asks once more
            asked = [p for p in self._partitions.values() if p.unfinished and (tick or p.waiting)]
            return list(dict.fromkeys([*asked, *woken]))
        due = [p for p in heard if p in woken or self._may_act(view, p)]
        return due + [p for p in woken if p not in heard]

    def _wake(self, now: int) -> list[Partition]:
        """Return the partitions whose time of a wake-up has come."""
        woken = [p for p in self._waking if p.wake_ns is not None and p.wake_ns <= now]
        for partition in woken:
            partition.wake_ns = None
            del self._waking[partition]
            partition.hear(Wake(now))
        return woken

    def _hear(self, view: ClusterView, news: Sequence[Event]) -> dict[Partition, None]:
        """Pass the news on; return the partitions that have some."""
        heard = dict[Partition, None]()
        for event in news:
            if isinstance(event, Wake):
                continue
            if isinstance(event, MachineEvent):
                partition = self._of_machine[event.machine]
            elif isinstance(event, Arrival):
                (name,) = getattr(view.columns([event.job]), self.by) if self.by else (DEFAULT_POOL,)
                partition = self._of_job[event.job] = self._named(name)
            else:
                partition = self._of_job[event.job]
            partition.hear(event)
            heard[partition] = None
        return heard

    def _named(self, name: str) -> Partition:
        if name in self._partitions:
            return self._partitions[name]
        if list(self._partitions) == [DEFAULT_POOL]:
            return self._partitions[DEFAULT_POOL]
        raise PlanError(f"no machine is in pool {name!r}, the {self.by} of a job")

    def _ticks(self, now: int) -> bool:
        """Return whether the policies are called for their interval."""
        if self._interval_ns is None or now % self._interval_ns or now == self._last_tick:
            return False
        self._last_tick = now
        return True

    def _may_act(self, view: ClusterView, partition: Partition) -> bool:
        """Return whether news call the policy of a partition."""
        if not self._on_events or not (partition.waiting if self._only_waiting else partition.unfinished):
            return False
        awaited = partition.awaited_gpus
        return not awaited or PartitionView(view, partition).free_gpus >= awaited


_NOTHING = Plan({}, {})
