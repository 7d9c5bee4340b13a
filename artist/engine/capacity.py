"""Machines that fail, join, and leave with a deadline. A group stops with any of its machines."""

from collections.abc import Iterator, Sequence

from artist.core.cluster import CapacityEvent
from artist.core.events import Event, MachineEvent
from artist.engine.agenda import CAPACITY, DEADLINE, Agenda
from artist.engine.machines import MachineTable
from artist.engine.transitions import Transitions
from artist.errors import InputError


class Capacity:
    """Applies capacity events and deadlines; yields the resulting events, in order."""

    def __init__(
        self,
        events: Sequence[CapacityEvent],
        machines: MachineTable,
        transitions: Transitions,
        agenda: Agenda,
    ) -> None:
        self._events = sorted(events, key=lambda event: event.time_ns)
        self._machines = machines
        self._transitions = transitions
        self._agenda = agenda
        for index, event in enumerate(self._events):
            if not 0 <= event.machine < len(machines.cluster) or event.time_ns < 0:
                allowed = f"a machine number 0..{len(machines.cluster) - 1}, a time >= 0"
                raise InputError("a capacity event has no such machine", found=event, allowed=allowed)
            agenda.schedule(event.time_ns, CAPACITY, index)

    def apply(self, index: int, now: int) -> Iterator[Event]:
        """Apply one event."""
        event, machines = self._events[index], self._machines
        machine = event.machine
        self._agenda.cancel(DEADLINE, machine)  # one under way no longer holds
        yield MachineEvent(now, machine, event.type, machines.pools[machine], event.deadline_ns)
        if event.type == "join":
            machines.set_present(machine, True)
        elif event.type == "fail":
            yield from self._empty(machine, now, failed=True)
        elif machines.present[machine]:
            machines.set_accepts(machine, False)
            self._agenda.schedule(max(event.deadline_ns, now), DEADLINE, machine)

    def deadline(self, machine: int, now: int) -> Iterator[Event]:
        """Remove a leaving machine at its deadline."""
        yield from self._empty(machine, now, failed=False)
        yield MachineEvent(now, machine, "left", self._machines.pools[machine])

    def _empty(self, machine: int, now: int, *, failed: bool) -> Iterator[Event]:
        for job in self._machines.tenants(machine):
            yield self._transitions.evict(job, now, failed=failed)
        self._machines.set_present(machine, False)
