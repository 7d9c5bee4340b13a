"""Observer that divides the time of all GPUs by cause: useful work, lost work, recovery, repairs, ..."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from artist.core.arrays import Floats
from artist.core.cluster import Cluster, Group
from artist.core.compact_jobs import of_templates
from artist.core.events import Change, Event, Finish, Gauges, MachineEvent, Reprice, Start, Stop
from artist.core.iteration import IterationParts
from artist.core.job import JobSpec
from artist.core.rates import Intensity
from artist.core.result import RunResult
from artist.recording.names import FAILURES, GPU_CAUSES, JOB_CAUSES
from artist.recording.topic import Topic
from artist.units import NS_PER_S

_STATES = {"fail": "repair", "join": "present", "spare": "spare", "left": "absent", "check": "check"}
_OUT = ("spare", "repair", "check", "absent")  # states of a machine that holds no job
_HOUR_NS = 3600 * NS_PER_S
_CLASS = 8  # sizes of jobs: 1 to 7 GPUs, 8 to 63, 64 to 511, ...


Slices = Collection[tuple[int, int]]  # GPUs by machine


@dataclass(slots=True)
class _Span:
    """Running time at one rate on a number of GPUs of the job alone; no GPUs in a group."""

    ns: int
    gpus: int
    parts: IterationParts


@dataclass(slots=True)
class _Account:
    """A job: GPU-ns by cause and in groups, the time held, and the spans whose work may still be lost.

    `carbon` is the integral of carbon intensity over its GPU-ns, those in groups included.
    """

    gpus: int = 0
    held: Slices = ()
    machines: int = 0
    since_ns: int = 0
    ready_ns: int = 0
    delay: str = "overhead"
    parts: IterationParts = field(default_factory=lambda: IterationParts(1))
    spans: list[_Span] = field(default_factory=list)
    gpu_ns: Counter[str] = field(default_factory=Counter)
    held_ns: int = 0
    failures: int = 0
    group: Group | None = None
    shared_ns: int = 0
    carbon: float = 0.0

    def advance(self, now: int) -> None:
        held_ns, since_ns = now - self.since_ns, self.since_ns
        self.since_ns = now
        self.held_ns += held_ns
        delay_ns = min(held_ns, max(0, self.ready_ns - since_ns))
        self.gpu_ns[self.delay] += delay_ns * self.gpus
        last = self.spans[-1] if self.spans else None
        if held_ns > delay_ns and last and (last.gpus, last.parts) == (self.gpus, self.parts):
            last.ns += held_ns - delay_ns
        elif held_ns > delay_ns:
            self.spans.append(_Span(held_ns - delay_ns, self.gpus, self.parts))

    def lose(self, lost_ns: int, cause: str) -> None:
        """Book the last running time as lost."""
        while lost_ns:
            last = self.spans[-1]
            ns = min(last.ns, lost_ns)
            self.gpu_ns[cause] += ns * last.gpus
            last.ns -= ns
            lost_ns -= ns
            if not last.ns:
                self.spans.pop()

    def keep(self) -> None:
        """Book the spans as done."""
        for span in self.spans:
            whole, parts = sum(span.parts), span.parts
            slowed, checkpoint = (
                span.ns * part // whole * span.gpus for part in (parts.slowed_ns, parts.checkpoint_ns)
            )
            self.gpu_ns["slowed"] += slowed
            self.gpu_ns["checkpoint"] += checkpoint
            self.gpu_ns["useful"] += span.ns * span.gpus - slowed - checkpoint
        self.spans = []


@dataclass(slots=True)
class _Members:
    """The jobs of a group, and the GPUs that it owns."""

    gpus: int
    since_ns: int
    jobs: dict[int, None] = field(default_factory=dict)


class FailureAccounts(Topic):
    """The GPU time of a run by cause, for runs in which machines fail.

    GPUs of groups count once, as `shared`, in equal parts for their members. Other GPUs are idle, or wait for
    a replacement where jobs wait that were stopped by a failure; or their machine is draining, spare, in
    repair, in a health check or absent. All causes sum to the GPUs of all machines x the time of the run, in
    whole nanoseconds.

    Parameters
    ----------
    jobs, cluster
        The engine's; an event's job is an index into them.
    machines
        Those whose GPUs count; None for all.
    intensity
        Of carbon, to be integrated over GPU time.
    per_s
        Rate at which failures stop a job on one machine; None if not known.

    Attributes
    ----------
    unused_carbon
        That integral over GPUs that no job holds, but for absent machines.
    """

    rates = True  # asks the engine for changes of iteration time

    def __init__(
        self,
        jobs: Sequence[JobSpec],
        cluster: Cluster,
        machines: Collection[int] | None = None,
        intensity: Intensity | None = None,
        per_s: float | None = None,
    ) -> None:
        self._jobs, self._intensity, self._per_s = jobs, intensity, per_s
        self._held_ns, self._failures = Counter[int](), Counter[int]()  # by the machines that a job holds
        counted = range(len(cluster)) if machines is None else machines
        self._gpus_of = [m.gpus if at in counted else 0 for at, m in enumerate(cluster.machines)]
        self._accounts = defaultdict[int, _Account](_Account)
        self._stopped: dict[int, int] = {}  # GPUs asked for by jobs that wait since a failure
        self._running: dict[int, None] = {}
        self._states = ["present" if machine.present else "absent" for machine in cluster.machines]
        self._gpus = Counter[str]()  # by state of their machine
        for gpus, state in zip(self._gpus_of, self._states, strict=True):
            self._gpus[state] += gpus
        self._groups: dict[Group, _Members] = {}
        self._gpu_ns = Counter[str]()
        self._used = [0] * len(cluster)  # GPUs by machine
        self._draining: dict[int, None] = {}  # machines that take no new jobs
        self._busy = self._now = 0
        self.unused_carbon = 0.0
        self.failed, self.stopped = Counter[str](), Counter[str]()  # failures and stops of jobs, by cause

    def observe(self, time_ns: int, events: Sequence[Event], gauges: Gauges) -> None:
        """Record the events of one instant, in order, and the state after them."""
        self._integrate(time_ns)
        for event in events:
            if isinstance(event, MachineEvent):
                self._move(event)
            elif isinstance(event, (Start, Change)):
                self._hold(event)
            elif isinstance(event, Reprice):
                self._advance(event.job, time_ns).parts = event.parts
            elif isinstance(event, (Stop, Finish)):
                self._release(event)

    def close(self, end_ns: int) -> None:
        """Record the end of the run."""
        self._integrate(end_ns)
        for group in self._groups:
            self._share(group, end_ns)
        for job in self._running:
            self._advance(job, end_ns)
        for account in self._accounts.values():
            account.keep()
            self._gpu_ns.update(account.gpu_ns)
            self._gpu_ns["shared"] += account.shared_ns

    def of_job(self, job: int) -> Mapping[str, int]:
        """Return a job's GPU-nanoseconds outside of groups by cause, of a closed run."""
        return self._accounts[job].gpu_ns

    def held(self, job: int) -> tuple[int, float]:
        """Return all GPU-nanoseconds of a job, and the integral of carbon intensity over them."""
        account = self._accounts.get(job, _Account())
        return account.gpu_ns.total() + account.shared_ns, account.carbon

    def total(self, cause: str) -> int:
        """Return the GPU-nanoseconds of a cause, of a closed run."""
        return self._gpu_ns[cause]

    def job_columns(self, result: RunResult) -> Mapping[str, Floats]:
        """Return the GPU time of each job by cause, in seconds, and its number of stops by failures."""
        accounts = [self._accounts.get(job, _Account()) for job in range(len(result.jobs))]
        columns = {f"{c}_gpu_s": np.array([a.gpu_ns[c] / NS_PER_S for a in accounts]) for c in JOB_CAUSES}
        return columns | {"failures": np.array([float(account.failures) for account in accounts])}

    def summary_entries(self, result: RunResult) -> Mapping[str, Any]:
        """Return `failures`.

        gpu_ns
            GPU-nanoseconds by cause; their sum is the GPUs of all machines x the time of the run.
        gpu_h
            The same in hours.
        availability
            Time of the GPUs that serve, as a part of that of all but spares and absent ones.
        causes
            Failures of machines, and stops of jobs by them.
        sizes
            By the GPUs that jobs ask for: jobs, failures that stopped them, hours held per such failure, and
            useful GPU time as a part of that held outside groups.
        machines
            By the machines that jobs hold: hours held, their mean number of machines, and failures.
        per_machine_h
            Failures per hour that stop a job on one machine, by the rates of their causes; None if not known.
        """
        gpu_ns = {cause: self._gpu_ns[cause] for cause in GPU_CAUSES}
        serving = sum(gpu_ns.values()) - sum(gpu_ns[state] for state in _OUT)
        out = gpu_ns["repair"] + gpu_ns["check"]
        causes = {
            cause: {"failures": n, "stops": self.stopped[cause]} for cause, n in sorted(self.failed.items())
        }
        entry = {
            "gpu_ns": gpu_ns,
            "gpu_h": {cause: ns / _HOUR_NS for cause, ns in gpu_ns.items()},
            "availability": serving / (serving + out) if serving else None,
            "stops": self.stopped.total(),
            "causes": causes,
            "sizes": self._sizes(),
            "machines": self._machines(),
            "per_machine_h": None if self._per_s is None else 3600 * self._per_s,
        }
        return {FAILURES: entry}

    def _sizes(self) -> dict[str, dict[str, Any]]:
        gpus = of_templates(self._jobs, lambda spec: spec.demand.gpus)
        by_class = defaultdict[int, list[_Account]](list)
        for job, account in self._accounts.items():
            least = 1
            while least * _CLASS <= gpus[job]:
                least *= _CLASS
            by_class[least].append(account)
        sizes = {}
        for least, accounts in sorted(by_class.items()):
            failures = sum(account.failures for account in accounts)
            held_ns = sum(account.held_ns for account in accounts)
            held_gpu_ns = sum(account.gpu_ns.total() for account in accounts)
            useful_ns = sum(account.gpu_ns["useful"] for account in accounts)
            sizes[f"{least}-{least * _CLASS - 1}"] = {
                "jobs": len(accounts),
                "failures": failures,
                "mttf_h": held_ns / failures / _HOUR_NS if failures else None,
                "effective": useful_ns / held_gpu_ns if held_gpu_ns else None,
            }
        return sizes

    def _machines(self) -> dict[str, dict[str, float]]:
        classes = defaultdict[int, list[int]](list)
        for machines, held_ns in sorted(self._held_ns.items()):
            classes[1 << machines.bit_length() - 1] += [machines] * (held_ns > 0)
        return {
            f"{least}-{2 * least - 1}": {
                "held_h": (held_ns := sum(self._held_ns[n] for n in members)) / _HOUR_NS,
                "machines": sum(self._held_ns[n] * n for n in members) / held_ns,
                "failures": sum(self._failures[n] for n in members),
            }
            for least, members in classes.items()
            if members
        }

    # --- events

    def _integrate(self, now: int) -> None:
        span_ns, self._now = now - self._now, now
        draining = sum(self._gpus_of[machine] - self._used[machine] for machine in self._draining)
        idle = self._gpus["present"] - self._busy - draining
        waited_for = min(idle, sum(self._stopped.values()))
        unused = self._gpus.total() - self._gpus["absent"] - self._busy
        self.unused_carbon += unused * self._carbon(now - span_ns, now)
        self._gpu_ns["replacement"] += waited_for * span_ns
        self._gpu_ns["idle"] += (idle - waited_for) * span_ns
        self._gpu_ns["draining"] += draining * span_ns
        for state in _OUT:
            self._gpu_ns[state] += self._gpus[state] * span_ns

    def _move(self, event: MachineEvent) -> None:
        if event.type == "fail" or (event.type == "leave" and event.cause):
            self.failed[event.cause or "failure"] += 1
        if event.type == "leave" and self._states[event.machine] == "present":
            self._draining[event.machine] = None
        if (state := _STATES.get(event.type)) is not None:
            self._draining.pop(event.machine, None)
            state = "repair" if event.type == "left" and event.cause else state
            gpus = self._gpus_of[event.machine]
            self._gpus[self._states[event.machine]] -= gpus
            self._gpus[state] += gpus
            self._states[event.machine] = state

    def _hold(self, event: Start | Change) -> None:
        account, now = self._accounts[event.job], event.time_ns
        if isinstance(event, Start):
            self._running[event.job] = None
            account.since_ns = account.ready_ns = now
            account.delay = "overhead" if self._stopped.pop(event.job, None) is None else "recovery"
        else:
            self._advance(event.job, now)
            account.lose(event.lost_ns, "lost_by_failure" if event.cause else "lost_by_preemption")
            if event.cause:
                self._fail(account, event.cause)
            if now + event.delay_ns > account.ready_ns:
                account.delay = "recovery" if event.cause else "overhead"
        account.ready_ns = max(account.ready_ns, now + event.delay_ns)
        self._leave(event.job, now)
        account.machines = len(event.allocation.slices)
        group = event.allocation.group
        if group is None:
            account.held = [(s.machine, s.gpus) for s in event.allocation.slices]
            account.gpus = self._take(account.held)
        else:
            self._join(group, event.job, now)

    def _fail(self, account: _Account, cause: str) -> None:
        account.failures += 1
        self.stopped[cause] += 1
        self._failures[account.machines] += 1

    def _take(self, held: Slices, times: int = 1) -> int:
        """Take GPUs of machines that count, or give them back; return their number."""
        counted = [(machine, gpus) for machine, gpus in held if self._gpus_of[machine]]
        for machine, gpus in counted:
            self._used[machine] += times * gpus
            self._busy += times * gpus
        return sum(gpus for _, gpus in counted)

    def _join(self, group: Group, job: int, now: int) -> None:
        if group in self._groups:
            self._share(group, now)
        else:
            self._groups[group] = _Members(self._take(group.gpus), now)
        self._groups[group].jobs[job] = None
        self._accounts[job].group = group

    def _leave(self, job: int, now: int) -> None:
        """Take its GPUs from a job."""
        account = self._accounts[job]
        self._take(account.held, -1)
        group, account.group, account.gpus, account.held = account.group, None, 0, ()
        if group is None:
            return
        self._share(group, now)
        members = self._groups[group]
        del members.jobs[job]
        if not members.jobs:
            self._take(group.gpus, -1)
            del self._groups[group]

    def _share(self, group: Group, now: int) -> None:
        """Give the members of a group equal parts of its time so far."""
        members = self._groups[group]
        since_ns, members.since_ns = members.since_ns, now
        whole, rest = divmod(members.gpus * (now - since_ns), len(members.jobs))
        carbon = members.gpus * self._carbon(since_ns, now) / len(members.jobs)
        for at, job in enumerate(members.jobs):
            self._accounts[job].shared_ns += whole + (at < rest)
            self._accounts[job].carbon += carbon

    def _advance(self, job: int, now: int) -> _Account:
        account = self._accounts[job]
        self._held_ns[account.machines] += now - account.since_ns
        account.carbon += account.gpus * self._carbon(account.since_ns, now)
        account.advance(now)
        return account

    def _carbon(self, since_ns: int, now: int) -> float:
        return (
            0.0 if self._intensity is None else self._intensity.until(now) - self._intensity.until(since_ns)
        )

    def _release(self, event: Stop | Finish) -> None:
        account = self._advance(event.job, event.time_ns)
        self._leave(event.job, event.time_ns)
        del self._running[event.job]
        if isinstance(event, Finish):
            account.keep()
            return
        account.lose(event.lost_ns, "lost_by_failure" if event.cause else "lost_by_preemption")
        if event.cause:
            self._fail(account, event.cause)
            self._stopped[event.job] = int(self._jobs[event.job].demand.gpus)
