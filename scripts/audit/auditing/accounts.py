"""The account of one job, kept from its events alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from auditing.inputs import Asked


class Share(NamedTuple):
    """Share of one machine that a job holds."""

    gpus: int
    cpus: int
    memory_bytes: int


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
    queueing_ns: int = 0
    running_ns: int = 0
    overhead_ns: int = 0
    held_gpu_ns: int = 0
    alone_gpu_ns: int = 0
    held_ns: int = 0
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
        self.held_cpu_ns += held * sum(share.cpus for share in self.held.values())
        self.held_byte_ns += held * sum(share.memory_bytes for share in self.held.values())
        ran = max(0, now - max(began, self.ready_ns))
        self.overhead_ns += held - ran
        self.running_ns += ran
        if ran and self.iteration_ns:
            self._iterate(ran)

    def _iterate(self, ran: int) -> None:
        """Count the iterations that end within some time; the first has `left_ns` to go."""
        more, into = divmod(ran - self.left_ns, self.iteration_ns)
        self.left_ns = self.iteration_ns - into
        if more < 0:
            return
        saved = self.done // self.every if self.every else 0
        self.done += more + 1
        self.opened_ns = self.running_ns - into
        if self.every and self.done // self.every > saved:
            self.safe_ns = self.opened_ns - self.done % self.every * self.iteration_ns

    def finish(self, now: int, notice_ns: int) -> None:
        """Book the time until the finish is noticed, at the next multiple of `notice_ns`."""
        late_ns = -now % notice_ns if notice_ns else 0
        self.finish_ns = now + late_ns
        self.overhead_ns += late_ns
        self.tier_ns[self.tier] += late_ns

    def price(self, now: int, iteration_ns: int) -> None:
        """Set the iteration time from now on; the open iteration keeps the share that is left of it."""
        self.advance(now)
        old = self.iteration_ns
        self.left_ns = -(-self.left_ns * iteration_ns // old) if self.left_ns else iteration_ns
        self.iteration_ns = iteration_ns

    def lose_iteration(self) -> None:
        """Lose the progress of the open iteration."""
        lost = self.running_ns - self.opened_ns
        self.lost_ns += lost
        self.safe_ns += lost
        self.opened_ns = self.running_ns
        self.left_ns = 0

    def lose_to_checkpoint(self) -> None:
        """Lose the progress since the last checkpoint; without any, everything."""
        self.done -= self.done % self.every if self.every else self.done
        self.lost_ns += self.running_ns - self.safe_ns
        self.opened_ns = self.safe_ns = self.running_ns
        self.left_ns = 0
