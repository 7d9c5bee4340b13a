"""Machines that fail, join, and leave with a deadline. A group stops with any of its machines."""

from collections.abc import Iterable, Iterator

from artist.core.cluster import CapacityEvent
from artist.core.events import Event, MachineEvent
from artist.engine.agenda import CAPACITY, DEADLINE, Agenda
from artist.engine.machines import MachineTable
from artist.engine.transitions import Transitions


class Capacity:
    """Applies capacity events and deadlines; yields the resulting events, in order.

    Parameters
    ----------
    events
        In order of time, possibly without end: only the next one is in the agenda.
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
        self._await()

    def _await(self) -> None:
        self._next = next(self._events, None)
        if self._next is not None:
            self._agenda.schedule(self._next.time_ns, CAPACITY)

    def apply(self, _: int, now: int) -> Iterator[Event]:
        """Apply the event that is due."""
        event, machines = self._next, self._machines
        assert event is not None
        machine = event.machine
        self._await()
        self._agenda.cancel(DEADLINE, machine)  # one under way no longer holds
        pool = machines.pools[machine]
        yield MachineEvent(now, machine, event.type, pool, event.deadline_ns, event.cause, event.factor)
        if event.type == "join":
            machines.set_present(machine, True)
        elif event.type == "fail":
            yield from self._empty(machine, now, event.cause or "failure")
        elif event.type == "slow":
            machines.slow.pop(machine, None)
            if event.factor > 1:
                machines.slow[machine] = event.factor
            for job in machines.jobs_on[machine]:
                self._transitions.touch(job, now)
        elif event.type == "leave" and machines.present[machine]:
            machines.set_accepts(machine, False)
            self._agenda.schedule(max(event.deadline_ns, now), DEADLINE, machine)

    def deadline(self, machine: int, now: int) -> Iterator[Event]:
        """Remove a leaving machine at its deadline."""
        yield from self._empty(machine, now)
        yield MachineEvent(now, machine, "left", self._machines.pools[machine])

    def _empty(self, machine: int, now: int, cause: str = "") -> Iterator[Event]:
        for job in self._machines.tenants(machine):
            yield self._transitions.evict(job, now, cause)
        self._machines.set_present(machine, False)
