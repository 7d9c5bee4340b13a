"""Compare the analytical model with answers of ASTRA-sim's ns-3 back end in ../shared, by class.

    python scripts/validation/packet_level.py FOLDER [TABLE.csv ...]

prints for every class of questions how far answers with packets are off (`transport=windows`, or `packets`
where the program had no windows), and beside it those of the same way across machines over ideal links:
how many, median, 90th percentile and worst of the absolute error, and of how many pairs of placements of one
fabric and question the dearer one is the same. FOLDER has ns3_placements.csv (one row per question: topology,
shape, question, ns3_*_ns; uneven placements were asked as one flat ring, even ones as a hierarchy, all with
windows). Further tables have the same columns and across_machines, has_win. Questions are `AR 1MiB`, an
all-reduce alone, or `ResNet18 x0.02`, an iteration with its compute times scaled.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, cast

from accuracy import Row, rows_of

from artist.data import data_path
from artist.entry import script
from artist.pricing.placements import parse_shape
from netmodels.api import Shape, load_topology
from netmodels.fabric.system import Transport
from netmodels.models.analytical import AnalyticalModel
from netmodels.profiles.profile import get_profile

UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


@dataclass(frozen=True, slots=True)
class Compared:
    """One answer of ns-3 and ours.

    Parameters
    ----------
    kind
        Class of the question.
    group
        Answers whose order is compared: fabric and question.
    theirs_ns, ours_ns, ideal_ns
        The time; ours with packets, and with ideal links.
    """

    kind: str
    group: tuple[str, ...]
    theirs_ns: int
    ours_ns: int
    ideal_ns: int


def is_even(shape: Shape) -> bool:
    """Return whether all machines are alike, and all racks."""
    return len({count for rack in shape for _, count in rack}) == 1 == len({len(rack) for rack in shape})


def compared(row: Row) -> Iterator[Compared]:
    """Yield the comparisons of a row: one of a collective; total and exposed of an iteration."""
    topology = load_topology(data_path("topologies", f"{row['topology']}.yaml"))
    shape = parse_shape(row["shape"], topology)
    transport: Transport = "windows" if row.get("has_win", "1") == "1" else "packets"
    across = row.get("across_machines") or ("hierarchical" if is_even(shape) else "flat_ring")
    system = replace(topology.system("papers"), across_machines=cast(Any, across), transport=transport)
    settings = (system, replace(system, transport="ideal"))
    name, amount = row["question"].split()
    where = f"{'even' if is_even(shape) else 'uneven'}, {across}, {transport}"
    group = (row["topology"], row["question"])
    if name == "AR":
        size = int(amount[:-3]) * UNITS[amount[-3:]]
        model = AnalyticalModel()
        times = [
            model.collective_ns("all_reduce", size, shape, topology.fabric, system) for system in settings
        ]
        yield Compared(f"{row['question']}, {where}", group, int(row["ns3_total_ns"]), *times)
        return
    profile = get_profile(name).scaled(float(amount.removeprefix("x")))
    answers = [AnalyticalModel().iteration(profile, shape, topology.fabric, system) for system in settings]
    for part in ("total", "exposed"):
        times = [getattr(answer, f"{part}_ns") for answer in answers]
        theirs_ns = int(row[f"ns3_{part}_ns"])
        yield Compared(f"iteration, {part}, {where}", (*group, part), theirs_ns, *times)


def comparisons(folder: Path, tables: Sequence[Path] = ()) -> list[Compared]:
    """Return all recorded answers with ours."""
    rows = [row for path in (folder / "ns3_placements.csv", *tables) for row in rows_of(path)]
    return [answer for row in rows for answer in compared(row)]


def errors(answers: Sequence[Compared], name: str) -> str:
    """Return median, 90th percentile and worst of the absolute relative error, as percentages."""
    off = sorted(abs(getattr(answer, name) / answer.theirs_ns - 1) for answer in answers)
    p90 = off[min(len(off) - 1, int(0.9 * len(off)))]
    return f"{statistics.median(off):7.1%} {p90:7.1%} {off[-1]:7.1%}"


def pairs(answers: Sequence[Compared], name: str) -> tuple[int, int]:
    """Return the number of pairs of one group that are in the order of ns-3, and that of all pairs."""
    groups: dict[tuple[str, ...], list[Compared]] = {}
    for answer in answers:
        groups.setdefault(answer.group, []).append(answer)
    both = [
        (a, b) for group in groups.values() for a, b in combinations(group, 2) if a.theirs_ns != b.theirs_ns
    ]
    right = sum((getattr(a, name) - getattr(b, name)) * (a.theirs_ns - b.theirs_ns) > 0 for a, b in both)
    return right, len(both)


def table(answers: Sequence[Compared]) -> str:
    """Return a line per class, and the pairs in order."""
    kinds: dict[str, list[Compared]] = {}
    for answer in answers:
        kinds.setdefault(answer.kind, []).append(answer)
    lines = ["answers   ideal: median, p90, worst    packets: median, p90, worst  class"]
    for kind in sorted(kinds):
        ideal, ours = (errors(kinds[kind], name) for name in ("ideal_ns", "ours_ns"))
        lines.append(f"{len(kinds[kind]):7}        {ideal}            {ours}  {kind}")
    for name, label in (("ideal_ns", "ideal"), ("ours_ns", "packets")):
        right, count = pairs(answers, name)
        lines.append(f"{right} of {count} pairs in ns-3's order ({right / max(1, count):.1%}), {label}")
    return "\n".join(lines)


@script
def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 0, or 2 if a file is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", type=Path, nargs="*")
    arguments = parser.parse_args(argv)
    print(table(comparisons(arguments.folder, arguments.tables)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
