"""The account of one job, kept from its events alone."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from auditing.inputs import Asked


class Share(NamedTuple):
    """Share of one machine that a job holds."""

    gpus: int
    cpus: int
    memory_bytes: int


class Span(NamedTuple):
    """Running time at one rate: GPUs of the job alone, iteration time, slowed and checkpoint part of it."""

    ns: int
    gpus: int
    iteration_ns: int
    slowed_ns: int
    write_ns: int


class Owned(NamedTuple):
    """A group: the GPUs that it owns by machine, and how many times over its members may hold them."""

    name: str
    gpus: tuple[tuple[str, int], ...]
    depth: int


@dataclass(slots=True)
class Account:
    """A job's state and sums; times in ns.

    `left_ns` is the rest of the open iteration, 0 if none is open. `opened_ns` and `safe_ns` say how long
    the job had run when the open iteration began, and at its last checkpoint, one every `every` iterations.
    """

    name: str
    asked: Asked
    submit_ns: int
    every: int
    state: str = "pending"
    since_ns: int = 0
    settled_ns: int = 0
    ready_ns: int = 0
    held: Mapping[str, Share] = field(default_factory=dict)
    group: Owned | None = None
    tier: int = 0
    before: frozenset[str] = frozenset()
    first_start_ns: int | None = None
    last_start_ns: int = 0
    finish_ns: int | None = None
    timed_out: bool = False
    cancelled: bool = False
    queueing_ns: int = 0
    running_ns: int = 0
    overhead_ns: int = 0
    held_gpu_ns: int = 0
    alone_gpu_ns: int = 0
    held_ns: int = 0
    ns_on: Counter[int] = field(default_factory=Counter)  # by number of machines
    failures_on: Counter[int] = field(default_factory=Counter)
    held_cpu_ns: int = 0
    held_byte_ns: int = 0
    tier_ns: list[int] = field(default_factory=lambda: [0, 0, 0])
    counts: dict[str, int] = field(default_factory=dict)
    gpus_held: dict[int, None] = field(default_factory=dict)
    types_held: dict[str, None] = field(default_factory=dict)
    steps: int = 0
    iteration_ns: int = 0
    left_ns: int = 0
    done: int = 0
    opened_ns: int = 0
    safe_ns: int = 0
    lost_ns: int = 0
    saved: int = 0
    stopped: str = ""
    failures: int = 0
    write_ns: int = 0
    slowed_ns: int = 0
    delay: str = "overhead"
    spans: list[Span] = field(default_factory=list)
    gpu_ns: Counter[str] = field(default_factory=Counter)

    @property
    def gpus(self) -> int:
        """GPUs held on all machines."""
        return sum(share.gpus for share in self.held.values())

    @property
    def keeps(self) -> bool:
        """True if a stop leaves its open iteration open."""
        return self.asked.on_stop == "keep"

    def count(self, name: str) -> None:
        """Count one event of a kind."""
        self.counts[name] = self.counts.get(name, 0) + 1

    def advance(self, now: int) -> None:
        """Book the time since the last event of a running job: first the rest of the delay, then progress."""
        began, self.settled_ns = self.settled_ns, now
        held = now - began
        self.steps += 1
        gpu_ns = held * self.gpus
        self.held_gpu_ns += gpu_ns
        self.alone_gpu_ns += 0 if self.group else gpu_ns
        self.tier_ns[self.tier] += held
        self.held_ns += held
        self.ns_on[len(self.held)] += held
        self.held_cpu_ns += held * sum(share.cpus for share in self.held.values())
        self.held_byte_ns += held * sum(share.memory_bytes for share in self.held.values())
        ran = max(0, now - max(began, self.ready_ns))
        self.overhead_ns += held - ran
        self.running_ns += ran
        gpus = 0 if self.group else self.gpus
        self.gpu_ns[self.delay] += (held - ran) * gpus
        rate = (gpus, self.iteration_ns, self.slowed_ns, self.write_ns)
        if ran and self.spans and self.spans[-1][1:] == rate:
            self.spans[-1] = Span(self.spans[-1].ns + ran, *rate)
        elif ran:
            self.spans.append(Span(ran, *rate))
        if ran and self.iteration_ns:
            self._iterate(ran)

    def _iterate(self, ran: int) -> None:
        """Count the iterations that end within some time; the first has `left_ns` to go."""
        more, into = divmod(ran - self.left_ns, self.iteration_ns)
        self.left_ns = self.iteration_ns - into
        if more < 0:
            return
        written = (self.done - self.saved) // self.every if self.every else 0
        self.done += more + 1
        self.opened_ns = self.running_ns - into
        since = self.done - self.saved
        if self.every and since // self.every > written:
            self.safe_ns = self.opened_ns - since % self.every * self.iteration_ns

    def finish(self, now: int, notice_ns: int) -> None:
        """Book the time until the finish is noticed, at the next multiple of `notice_ns`."""
        late_ns = -now % notice_ns if notice_ns else 0
        self.finish_ns = now + late_ns
        self.overhead_ns += late_ns
        self.tier_ns[self.tier] += late_ns

    def price(self, now: int, iteration_ns: int, factor: float = 1.0) -> None:
        """Set the iteration time from now on; the open iteration keeps the share that is left of it.

        Parameters
        ----------
        factor
            Of the slowest machine held.
        """
        self.advance(now)
        near = round((iteration_ns - self.write_ns) / factor)
        slowed = {base + round(base * (factor - 1)): base for base in range(near - 2, near + 3)}
        whole_ns = iteration_ns - self.write_ns
        self.slowed_ns = whole_ns - slowed.get(whole_ns, near)
        old = self.iteration_ns
        self.left_ns = -(-self.left_ns * iteration_ns // old) if self.left_ns else iteration_ns
        self.iteration_ns = iteration_ns

    def lose_iteration(self) -> None:
        """Lose the progress of the open iteration."""
        lost = self.running_ns - self.opened_ns
        self._lose(lost, "lost_by_preemption")
        self.safe_ns += lost
        self.opened_ns = self.running_ns
        self.left_ns = 0

    def save(self) -> None:
        """Write a checkpoint after the last whole iteration."""
        self.lose_iteration()
        self.saved, self.safe_ns = self.done, self.running_ns

    def lose_to_checkpoint(self) -> None:
        """Lose the progress since the last checkpoint; without any, everything."""
        since = self.done - self.saved
        self.done -= since % self.every if self.every else since
        lost_ns = self.running_ns - self.safe_ns
        self._lose(lost_ns, "lost_by_failure" if self.stopped == "failed" else "lost_by_preemption")
        self.opened_ns = self.safe_ns = self.running_ns
        self.left_ns = 0

    def _lose(self, lost_ns: int, cause: str) -> None:
        """Book the last running time as lost."""
        self.lost_ns += lost_ns
        while lost_ns and self.spans:
            last = self.spans.pop()
            ns = min(last.ns, lost_ns)
            self.gpu_ns[cause] += ns * last.gpus
            lost_ns -= ns
            if ns < last.ns:
                self.spans.append(last._replace(ns=last.ns - ns))

    def keep(self) -> None:
        """Book all other running time as done."""
        for span in self.spans:
            whole_ns = max(1, span.iteration_ns)
            slowed = span.ns * span.slowed_ns // whole_ns * span.gpus
            written = span.ns * span.write_ns // whole_ns * span.gpus
            self.gpu_ns["slowed"] += slowed
            self.gpu_ns["checkpoint"] += written
            self.gpu_ns["useful"] += span.ns * span.gpus - slowed - written
        self.spans = []
