"""Read the cases of contention: jobs that ran together in ASTRA-sim's ns-3, one row per job."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netmodels.fabric.links import DIRECTIONS, Link

TABLES = ("ns3_co_running_jobs.csv", "ns3_cases.csv")


@dataclass(frozen=True, slots=True)
class Machines:
    """A fabric of the tables.

    Parameters
    ----------
    per_rack, gpus
        Machines in a rack, GPUs in a machine.
    capacity
        Of every link, byte/ns.
    uplinks
        Parallel links that an uplink consists of.
    windows
        Whether a sender has a fixed window.
    """

    per_rack: int
    gpus: int
    capacity: Mapping[Link, float]
    uplinks: int
    windows: bool = True


@dataclass(frozen=True, slots=True)
class Job:
    """One row: layers are (compute in ns, bytes, collective)."""

    npus: Sequence[int]
    layers: Sequence[tuple[int, int, str]]
    start_ns: int
    iterations: int
    alone_ns: int
    together_ns: int


@dataclass(frozen=True, slots=True)
class Case:
    """Jobs that ran together."""

    table: str
    number: int
    kind: str
    fabric: Machines
    jobs: list[Job]


def cases_of(folder: Path) -> list[Case]:
    """Read the cases of the tables."""
    cases: dict[tuple[str, int], Case] = {}
    for table in TABLES:
        with (folder / table).open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                key = table, int(row["case"])
                if key not in cases:
                    cases[key] = Case(*key, row["kind"], _fabric(row), [])
                cases[key].jobs.append(_job(row))
    return list(cases.values())


def _fabric(row: Mapping[str, str]) -> Machines:
    words = row.get("fabric") or f"2x2x4 nic={row['nic']} rack_uplink={row['rack_uplink']} n_uplinks=1"
    racks, per_rack, gpus = map(int, re.findall(r"\d+", words.split()[0]))
    given = dict(word.split("=") for word in words.split()[1:])
    ports = _bytes_per_ns(given["nic"], racks * per_rack)
    uplinks = _bytes_per_ns(given["rack_uplink"], racks)
    capacity = {Link("machine", place, way): port for place, port in enumerate(ports) for way in DIRECTIONS}
    capacity |= {
        Link("rack", place, way): uplink for place, uplink in enumerate(uplinks) for way in DIRECTIONS
    }
    return Machines(per_rack, gpus, capacity, int(given["n_uplinks"]), given.get("HAS_WIN") != "0")


def _bytes_per_ns(words: str, count: int) -> list[float]:
    capacities = [float(word.removesuffix("Gbps")) / 8 for word in words.split("/")]
    return capacities if len(capacities) == count else capacities * count


def _job(row: Mapping[str, str]) -> Job:
    layers = row.get("layers") or f"{row['compute_ns']}:{row['allreduce_bytes']}:all_reduce"
    return Job(
        [int(npu) for npu in row["npus"].split()],
        [(int(ns), int(size), kind) for ns, size, kind in (text.split(":") for text in layers.split(";"))],
        *(int(row[name]) for name in ("start_ns", "iterations", "alone_ns", "together_ns")),
    )


def kind_of(case: Case) -> str:
    """Return the kind of a case; all of the first table are one kind."""
    return "first table" if case.table == TABLES[0] else case.kind
