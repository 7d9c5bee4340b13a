"""Machines that fail, are drained, repaired and replaced, join, and leave with a deadline.

A group stops with any of its machines. A machine is out of service while any of its outages lasts, and as
slow as the worst of its slow parts. A spare takes the place of a machine of its rack, hardware and pool that
is out of service at once; the first of these to return becomes a spare. A machine to be drained takes no new
work, and its repair begins once its jobs have left it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from heapq import heappop, heappush

from artist.core.cluster import CapacityEvent
from artist.core.events import Event, MachineEvent, MachineEventType
from artist.engine.agenda import CAPACITY, DEADLINE, Agenda
from artist.engine.machines import MachineTable
from artist.engine.transitions import Transitions

_Step = Callable[[int], Iterator[Event]]  # of the present time


class Capacity:
    """Applies capacity events and deadlines; yields the resulting events, in order.

    Parameters
    ----------
    events
        In order of time, possibly without end: only the next one is in the agenda.

    Attributes
    ----------
    draining
        Outages that begin once a machine is empty, by machine.
    """

    def __init__(
        self,
        events: Iterable[CapacityEvent],
        machines: MachineTable,
        transitions: Transitions,
        agenda: Agenda,
    ) -> None:
        self._events = iter(events)
        self._machines = machines
        self._transitions = transitions
        self._agenda = agenda
        self._like = [(m.rack, m.hardware, m.pool) for m in machines.cluster.machines]  # equal: replaceable
        self._spares = defaultdict[object, list[int]](list)
        self._missing = Counter[object]()  # machines out of service that no spare replaces
        self._outages = Counter[int]()  # by machine that is, or soon will be, in repair
        self._checked: dict[int, CapacityEvent] = {}  # machines in health checks
        self._slow = defaultdict[int, list[float]](list)
        self._steps: list[tuple[int, int, _Step]] = []  # heap of time, sequence and step
        self._n_steps = 0
        self.draining: dict[int, list[CapacityEvent]] = {}
        self._next = next(self._events, None)
        self._await()

    def _await(self) -> None:
        times = [time_ns for time_ns, *_ in self._steps[:1]]
        if self._next is not None:
            times.append(self._next.time_ns)
        if times:
            self._agenda.schedule(min(times), CAPACITY)

    def _later(self, time_ns: int, step: _Step) -> None:
        self._n_steps += 1
        heappush(self._steps, (time_ns, self._n_steps, step))

    def apply(self, _: int, now: int) -> Iterator[Event]:
        """Apply the event or step that is due."""
        event = self._next
        if event is not None and event.time_ns <= now:
            self._next = next(self._events, None)
            yield from self._take(event, now)
        else:
            yield from heappop(self._steps)[2](now)
        self._await()

    def deadline(self, machine: int, now: int) -> Iterator[Event]:
        """Remove a leaving machine at its deadline."""
        yield from self._empty(machine, now)
        yield self._event("left", machine, now)

    def watch(self, now: int) -> None:
        """Let the repairs of draining machines begin whose jobs have left."""
        for machine in [m for m in self.draining if not self._machines.tenants(m)]:
            self._later(now, partial(self._drained, machine))
            self._await()

    # --- events

    def _event(self, type_: MachineEventType, machine: int, now: int, cause: str = "") -> MachineEvent:
        return MachineEvent(now, machine, type_, self._machines.pools[machine], cause=cause)

    def _take(self, event: CapacityEvent, now: int) -> Iterator[Event]:
        machine, machines = event.machine, self._machines
        if event.factor > 1:
            self._slow[machine].append(event.factor)
            yield self._slowed(event, now)
        if event.type == "slow":
            self._repair([event], now)
        elif event.repair_ns is not None:
            yield from self._out(event, now)
        else:
            self._agenda.cancel(DEADLINE, machine)  # one under way no longer holds
            pool = machines.pools[machine]
            yield MachineEvent(now, machine, event.type, pool, event.deadline_ns, event.cause)
            if event.type == "join":
                machines.set_present(machine, True)
            elif event.type == "fail":
                yield from self._empty(machine, now, event)
            elif event.type == "spare":
                self._spares[self._like[machine]].append(machine)
            elif machines.present[machine]:
                machines.set_accepts(machine, False)
                self._agenda.schedule(max(event.deadline_ns, now), DEADLINE, machine)

    def _slowed(self, event: CapacityEvent, now: int) -> Event:
        machine, slow = event.machine, self._machines.slow
        factor = max(self._slow[machine], default=1.0)
        slow.pop(machine, None)
        if factor > 1:
            slow[machine] = factor
        for job in self._machines.jobs_on[machine]:
            self._transitions.touch(job, now)
        return MachineEvent(now, machine, "slow", self._machines.pools[machine], 0, event.cause, factor)

    def _out(self, event: CapacityEvent, now: int) -> Iterator[Event]:
        """Take a machine out of service, at once or once it is empty, unless it is already."""
        machine, machines = event.machine, self._machines
        spares, serves = self._spares[self._like[machine]], machines.present[machine]
        spare, drains = machine in spares, event.type == "leave"
        replaced = not serves or machine in self.draining
        checked = self._checked.pop(machine, None)
        self._outages[machine] += 1
        if serves or spare or checked:
            yield self._event(event.type if serves else "fail", machine, now, event.cause)
        if spare:
            spares.remove(machine)
        if serves and drains:
            self.draining.setdefault(machine, []).append(event)
            machines.set_accepts(machine, False)
            self.watch(now)
        else:
            if serves:
                yield from self._empty(machine, now, event)
            self._repair([event, *self.draining.pop(machine, [])], now)
        if not replaced and spares:
            yield from self._join(spares.pop(0), now)
        elif not replaced:
            self._missing[self._like[machine]] += 1

    def _repair(self, outages: Iterable[CapacityEvent], now: int) -> None:
        for outage in outages:
            self._later(now + (outage.repair_ns or 0), partial(self._repaired, outage))

    def _drained(self, machine: int, now: int) -> Iterator[Event]:
        """Begin the repair of a machine that is empty, unless it has failed since."""
        outages = self.draining.pop(machine, [])
        if outages:
            self._machines.set_present(machine, False)
            yield self._event("left", machine, now, outages[0].cause)
            self._repair(outages, now)

    def _repaired(self, event: CapacityEvent, now: int) -> Iterator[Event]:
        machine = event.machine
        if event.factor > 1:
            self._slow[machine].remove(event.factor)
            yield self._slowed(event, now)
        self._outages[machine] -= event.type != "slow"
        if self._outages[machine] or event.type == "slow":
            return
        self._checked[machine] = event
        if event.check_ns:
            yield self._event("check", machine, now)
            self._later(now + event.check_ns, partial(self._return, event))
        else:
            yield from self._return(event, now)

    def _return(self, event: CapacityEvent, now: int) -> Iterator[Event]:
        """Let a machine serve or be a spare after its health check, unless it has failed since."""
        machine, like = event.machine, self._like[event.machine]
        if self._checked.get(machine) is not event:
            return
        del self._checked[machine]
        if self._missing[like]:
            self._missing[like] -= 1
            yield from self._join(machine, now)
        else:
            self._spares[like].append(machine)
            yield self._event("spare", machine, now)

    def _join(self, machine: int, now: int) -> Iterator[Event]:
        self._machines.set_present(machine, True)
        yield self._event("join", machine, now)

    def _empty(self, machine: int, now: int, event: CapacityEvent | None = None) -> Iterator[Event]:
        """Take all jobs from a machine that has failed, by an event, or leaves."""
        for job in self._machines.tenants(machine):
            if event is None:
                yield self._transitions.evict(job, now)
            else:
                yield self._transitions.fail(job, now, event.cause or "failure", {machine, *event.unit})
        self._machines.set_present(machine, False)
