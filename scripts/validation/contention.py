"""Compare jobs that share links with answers of ns-3 in ../shared, by kind of case.

    python scripts/validation/contention.py FOLDER [--kind KIND ...] [--packets N|all] [--ns3]

prints the absolute error of together / alone by kind of case: median, 90th percentile and worst over jobs
that slow down by more than 2 %, and the worst over jobs that change by at most 0.5 %. FOLDER has
ns3_co_running_jobs.csv and ns3_cases.csv, one row per job, with its times alone and together. Ways:

packets     as the simulator follows placed jobs with `performance.contention=packets` (`contention_placed`),
            with windows or without; at most N packets an answer, by default `performance.contention_packets`,
            or all; 0: not at all. Rings that no placement has, and collectives other than all-reduces, are
            left out and counted
ns3         packet by packet in ns-3's Python package, with --ns3: 5 s to 2 min a case
flow_level  in time, as one flow a job
mean_field  by how often the others send

For the last two times alone are input: a job's collectives take the time of its transmissions on their
narrowest link, times the one factor for which its iterations take their time alone. Nothing else is fitted.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from pathlib import Path
from typing import Any, cast

import numpy as np
from contention_cases import Case, Job, Machines, cases_of, kind_of
from contention_placed import placed

from artist.entry import script
from artist.run.config import CONTENTION_PACKETS
from netmodels.collectives.algorithms import Ints
from netmodels.collectives.packet_transport import HEADER_BYTES, PAYLOAD_BYTES
from netmodels.collectives.ring_steps import Floats
from netmodels.contention.flow_level import together as in_time
from netmodels.contention.mean_field import slowdowns
from netmodels.contention.transfers import JobTraffic
from netmodels.fabric.links import Link
from netmodels.inputs.errors import InputError
from netmodels.ns3.model import Ns3Model
from netmodels.ns3.tree import Tree
from netmodels.packets.engine import Wire
from netmodels.packets.rings import Layer, RingJob, together

SLOWED, UNCHANGED = 1.02, 0.005

Run = Callable[..., tuple[tuple[int, ...], ...]]
"""As `netmodels.packets.rings.together`."""


def sending_of(job: Job, fabric: Machines) -> JobTraffic:
    """Return the iteration of a job alone, fitted to its recorded time alone."""
    carried_bytes = [carried(job.npus, size, kind, fabric) for _, size, kind in job.layers]
    sends = [place for place, (_, size, kind) in enumerate(job.layers) if size and kind != "none"]
    issued = np.cumsum([ns for ns, _, _ in job.layers])
    links = tuple(sorted({link for by_link in carried_bytes for link in by_link}))
    sent = np.array([[carried_bytes[place].get(link, 0.0) for link in links] for place in sends])
    sent = sent.reshape(len(sends), len(links))
    limits = np.array([fabric.capacity[link] for link in links])
    least = (sent / limits).max(axis=1) if links else np.ones(len(sends))
    none = np.zeros(len(sends), dtype=np.int64)
    sending = JobTraffic(int(issued[-1]), issued[sends], none, links, sent, none)
    return replace(sending, transfers_ns=_fitted(sending, least, job.alone_ns / job.iterations))


def _fitted(traffic: JobTraffic, min_ns: Floats, alone_ns: float) -> Ints:
    """Return the least times of transfers, times the factor for which the iteration takes its time alone."""
    low, high = 0.0, alone_ns / max(min_ns.sum(), 1e-9)
    for _ in range(100):
        middle = (low + high) / 2
        if traffic.iteration_ns(min_ns * middle) > alone_ns:
            high = middle
        else:
            low = middle
    transfers: Ints = np.maximum(np.rint(min_ns * high), 1).astype(np.int64)
    return transfers


def carried(npus: Sequence[int], size: int, kind: str, fabric: Machines) -> dict[Link, float]:
    """Return the bytes that a collective puts on each link, headers included."""
    sent_bytes: dict[Link, float] = defaultdict(float)
    for one, other, messages, message in _messages(npus, size, kind):
        sent = messages * (message + max(-(-message // PAYLOAD_BYTES), 1) * HEADER_BYTES)
        for link in _way(one, other, fabric):
            sent_bytes[link] += sent
    return sent_bytes


def _messages(npus: Sequence[int], size: int, kind: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield (from, to, how many, bytes of each)."""
    count = len(npus)
    if kind == "all_to_all":
        yield from ((one, other, 1, size // count) for one in npus for other in npus if one != other)
    elif kind != "none" and size:
        steps = (count - 1) * (2 if kind == "all_reduce" else 1)
        message = size if kind == "all_gather" else size // count
        yield from ((npu, npus[(place + 1) % count], steps, message) for place, npu in enumerate(npus))


def _way(one: int, other: int, fabric: Machines) -> Iterator[Link]:
    machine, to = one // fabric.gpus, other // fabric.gpus
    if machine != to:
        yield from (Link("machine", machine, "out"), Link("machine", to, "in"))
        if machine // fabric.per_rack != to // fabric.per_rack:
            yield Link("rack", machine // fabric.per_rack, "out")
            yield Link("rack", to // fabric.per_rack, "in")


def tree_of(fabric: Machines) -> Tree:
    """Return a fabric as packets have it; latencies are those of the tables' README."""
    wires = {
        tier: [
            Wire(fabric.capacity[link] * 8, latency_ns)
            for link in sorted(fabric.capacity)
            if (link.tier, link.way) == (tier, "out")
        ]
        for tier, latency_ns in (("machine", 1000), ("rack", 2000))
    }
    machines = len(wires["machine"])
    return Tree(
        [gpu // fabric.gpus for gpu in range(machines * fabric.gpus)],
        [machine // fabric.per_rack for machine in range(machines)],
        [Wire(3600, 500)] * (machines * fabric.gpus),
        *(wires["machine"], wires["rack"], fabric.uplinks),
    )


def ring_of(job: Job) -> RingJob:
    """Return a job as packets have it; layers of kind none send nothing."""
    layers = (
        Layer(ns, 0) if kind == "none" else Layer(ns, size, cast(Any, kind)) for ns, size, kind in job.layers
    )
    return RingJob(tuple(job.npus), tuple(layers), job.iterations, job.start_ns)


def times_ns(case: Case, *, alone: bool, cells: int = 0, run: Run = together) -> list[int]:
    """Return the times of the jobs of a case, packet by packet."""
    tree, jobs = tree_of(case.fabric), list(map(ring_of, case.jobs))
    groups = [[job] for job in jobs] if alone else [jobs]
    coarse = {"cells": cells} if cells else {}
    finished = [ends for group in groups for ends in run(group, tree, windows=case.fabric.windows, **coarse)]
    return [ends[-1] - job.start_ns for job, ends in zip(case.jobs, finished, strict=True)]


@dataclass(frozen=True, slots=True)
class Compared:
    """Together / alone of one job, in ns-3 and ours; nan for a way that was not asked for, or cannot be."""

    case: Case
    theirs: float
    flow_level: float
    mean_field: float
    packets: float = nan
    ns3: float = nan


def compare(case: Case, max_packets: int | None = 0, ns3: Run | None = None) -> list[Compared]:
    """Run the jobs of a case together, packet by packet only if packets (None: all), or ns-3, are allowed."""
    jobs = [sending_of(job, case.fabric) for job in case.jobs]
    flows_ns = in_time(
        jobs,
        case.fabric.capacity,
        [job.start_ns for job in case.jobs],
        uplinks=case.fabric.uplinks,
        iterations=[job.iterations for job in case.jobs],
    )
    slowed = slowdowns(jobs, case.fabric.capacity, uplinks=case.fabric.uplinks)
    none = [nan] * len(jobs)
    packets = placed(case, max_packets) or none if max_packets != 0 else none
    real = ratios(case, ns3) if ns3 is not None else none
    return [
        Compared(
            case,
            job.together_ns / job.alone_ns,
            flow_ns / sending.alone_ns,
            slowdown,
            *packet_by_packet,
        )
        for job, sending, flow_ns, slowdown, *packet_by_packet in zip(
            case.jobs, jobs, flows_ns, slowed, packets, real, strict=True
        )
    ]


def ratios(case: Case, run: Run, cells: int = 0) -> list[float]:
    """Return together / alone of the jobs of a case, packet by packet."""
    beside, alone = (times_ns(case, alone=apart, cells=cells, run=run) for apart in (False, True))
    return [one / other for one, other in zip(beside, alone, strict=True)]


def kinds_of(rows: Sequence[Compared]) -> dict[str, list[Compared]]:
    """Group rows by kind."""
    kinds: dict[str, list[Compared]] = defaultdict(list)
    for row in rows:
        kinds[kind_of(row.case)].append(row)
    return dict(sorted(kinds.items()))


def errors(rows: Sequence[Compared], way: str, *, slowed: bool) -> list[float]:
    """Return the absolute errors in % of a way, of rows that slow down or do not, sorted."""
    chosen = (row for row in rows if (row.theirs > SLOWED if slowed else abs(row.theirs - 1) <= UNCHANGED))
    absolute = (abs(getattr(row, way) / row.theirs - 1) * 100 for row in chosen)
    return sorted(error for error in absolute if not isnan(error))


def at(values: Sequence[float], share: float) -> float:
    """Return a quantile of sorted values, interpolated; nan of none."""
    return float(np.quantile(values, share)) if values else float("nan")


def installed_ns3() -> Run | None:
    """Return the runner of jobs in ns-3; None, and a line on stderr, where it is not installed."""
    try:
        return Ns3Model().together
    except InputError as problem:
        print(f"left out: {problem}", file=sys.stderr)
        return None


def _most(text: str) -> int | None:
    return None if text == "all" else int(text)


@script
def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="jobs that share links, against ns-3")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", action="append", help="kind of case, or `first table`; all by default")
    parser.add_argument("--packets", type=_most, default=CONTENTION_PACKETS, help="most of an answer; or all")
    parser.add_argument("--ns3", action="store_true", help="ask ns-3's Python package, too")
    given = parser.parse_args(arguments)
    ns3 = installed_ns3() if given.ns3 else None
    cases = [case for case in cases_of(given.folder) if not given.kind or kind_of(case) in given.kind]
    rows = [row for case in cases for row in compare(case, given.packets, ns3)]
    ways = ["packets"] * (given.packets != 0) + ["ns3"] * (ns3 is not None) + ["flow_level", "mean_field"]
    print(f"{'kind':20} way        slowed median   p90  worst | unchanged worst | left out")
    for kind, those in kinds_of(rows).items():
        for way in ways:
            slow, same = (errors(those, way, slowed=slowed) for slowed in (True, False))
            figures = " ".join(f"{at(slow, share):6.2f}" for share in (0.5, 0.9, 1))
            missing = sum(isnan(getattr(row, way)) for row in those)
            last = f"{len(same):9} {at(same, 1):5.2f} | {missing:8}"
            print(f"{kind:20} {way:10} {len(slow):6} {figures} | {last}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
