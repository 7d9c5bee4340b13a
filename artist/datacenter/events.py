"""File of capacity events: machines that fail, join and leave.

A CSV table with one row per event, in any order:

    time_s      seconds from the start of the simulation
    kind        fail, join or leave
    machine     a name: m0, m1, ... are the machines of the cluster; a new name may join
    deadline_s  leave: time at which the jobs left there are evicted; else empty
    type        a new machine: its type; empty for the cluster's default
    rack        a new machine: its rack; empty for the last one
    pool        a new machine: its pool; empty for `default`

The last three columns may be left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from artist.core.cluster import CapacityEvent, Machine
from artist.datacenter.config import MAX_MACHINES
from artist.errors import InputError
from artist.tables.files import read_csv
from artist.tables.rows import Table, to_numbers
from artist.units import MAX_S, seconds_to_ns
from netmodels.api import MachineType, Topology

_NEEDED = ("time_s", "kind", "machine", "deadline_s")
_OPTIONAL = ("type", "rack", "pool")
_TYPES = ("fail", "join", "leave")


@dataclass(frozen=True, slots=True)
class Row:
    """One event of the file."""

    line: int
    time_s: float
    kind: Any
    machine: str
    deadline_s: float
    type: str
    rack: str
    pool: str


def machine_of(name: str, rack: int, machine_type: MachineType, pool: str, present: bool = True) -> Machine:
    """Return a machine of a type of the topology."""
    return Machine(
        name=name,
        rack=rack,
        type=machine_type.name,
        gpus=machine_type.gpus,
        gpu_type=machine_type.gpu_type,
        speed=machine_type.speed,
        worth=machine_type.worth,
        cpus=machine_type.cpus,
        memory_bytes=machine_type.memory_bytes,
        memory_bandwidth_bytes_per_s=round(machine_type.memory_bandwidth_bytes_per_s),
        pool=pool,
        present=present,
    )


def read_events(path: Path) -> list[Row]:
    """Read the table; the checks of a column are one vector expression each."""
    table = read_csv(path, "capacity")
    for name in _NEEDED:
        if name not in table:
            allowed = f"columns {', '.join(_NEEDED)}, and {', '.join(_OPTIONAL)} if you like"
            raise InputError(
                "column is missing", where=f"{path}, {name}", found=list(table.columns), allowed=allowed
            )
    for name in sorted(set(table.columns) - {*_NEEDED, *_OPTIONAL}):
        raise InputError(
            "unknown column", where=str(path), found=name, allowed=", ".join(_NEEDED + _OPTIONAL)
        )
    table = table.assign(**{name: "" for name in _OPTIONAL if name not in table})
    table = table.assign(**{name: [text.strip() for text in one] for name, one in table.columns.items()})
    leaves = table["kind"] == "leave"
    time_s, deadline_s = to_numbers(table["time_s"]), to_numbers(table["deadline_s"])
    has_deadline = table["deadline_s"] != ""
    _refuse(~np.isin(table["kind"], _TYPES), table, "kind", path, "unknown kind", ", ".join(_TYPES))
    seconds = f"seconds from 0 to {MAX_S:g}"
    _refuse(~((time_s >= 0) & (time_s <= MAX_S)), table, "time_s", path, "wrong time", seconds)
    late = (deadline_s >= time_s) & (deadline_s <= MAX_S)
    _refuse(leaves & ~late, table, "deadline_s", path, "wrong deadline", f"{seconds}, not before time_s")
    _refuse(~leaves & has_deadline, table, "deadline_s", path, "a deadline without leave", "nothing")
    _refuse(table["machine"] == "", table, "machine", path, "no machine", "a name such as m0")
    table = table.assign(time_s=time_s, deadline_s=deadline_s)
    rows = [Row(line, **cells) for line, cells in table.records()]
    return sorted(rows, key=lambda row: row.time_s)


def _refuse(
    bad: "np.ndarray[Any, np.dtype[np.bool_]]",
    table: Table,
    name: str,
    path: Path,
    problem: str,
    allowed: str,
) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        where = f"{path}, {table.place(row)}, {name}"
        raise InputError(problem, where=where, found=table[name][row], allowed=allowed)


def newcomers(
    rows: Sequence[Row],
    known: set[str],
    last_rack: int,
    default: MachineType,
    topology: Topology,
    path: Path,
) -> list[Machine]:
    """Return the machines that join and are new."""
    machines: list[Machine] = []
    for row in rows:
        where = f"{path}, line {row.line}"
        if row.machine in known:
            continue
        if row.kind != "join":
            allowed = f"m0 to m{len(known) - len(machines) - 1}, or a machine that joined before"
            raise InputError("unknown machine", where=f"{where}, machine", found=row.machine, allowed=allowed)
        rack = _rack(row.rack, f"{where}, rack") if row.rack else last_rack
        machine_type = topology.machine_type(row.type, f"{where}, type") if row.type else default
        machines.append(machine_of(row.machine, rack, machine_type, row.pool or "default", present=False))
        known.add(row.machine)
    return machines


def _rack(text: str, where: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and int(text) < MAX_MACHINES):
        raise InputError("wrong rack", where=where, found=text, allowed=f"0 to {MAX_MACHINES - 1}")
    return int(text)


def events_of(rows: Sequence[Row], machines: Sequence[Machine], path: Path) -> tuple[CapacityEvent, ...]:
    """Return the events by machine number; raise InputError for one that cannot happen."""
    number = {machine.name: index for index, machine in enumerate(machines)}
    gone_from_s = [float("inf") if machine.present else 0.0 for machine in machines]
    events = []
    for row in rows:
        machine = number[row.machine]
        present = row.time_s < gone_from_s[machine]
        if present == (row.kind == "join"):
            state = "there already" if present else "not there"
            problem = f"machine {row.machine} is {state} at {row.time_s:g} s"
            allowed = "join after it left or failed" if present else "join first"
            raise InputError(problem, where=f"{path}, line {row.line}", found=row.kind, allowed=allowed)
        ends = {"join": float("inf"), "fail": row.time_s, "leave": row.deadline_s}
        gone_from_s[machine] = ends[row.kind]
        deadline_ns = seconds_to_ns(row.deadline_s) if row.kind == "leave" else 0
        events.append(CapacityEvent(seconds_to_ns(row.time_s), row.kind, machine, deadline_ns))
    return tuple(events)
