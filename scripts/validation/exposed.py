"""Exposed communication by fabric, model, placement and oversubscription of the uplinks.

    python scripts/validation/exposed.py [--fabrics NAME ...] [--models NAME ...] [--shapes '8+8' '8|8' ...]

Prints a Markdown table, times in % of compute: communication of a job alone, its hidden and its exposed part;
then the exposed part in racks full of such jobs (the racks of the placement; two jobs share a machine at
4+4), with uplinks that pass 1/1, 1/2, 1/4, 1/8 of the bandwidth of a rack's machines, by
`netmodels.contention.mean_field`. Placements without room are left out.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from artist.data import data_path
from artist.pricing.placements import parse_shape, show_shape
from netmodels.api import Profile, Shape, Topology, load_topology
from netmodels.contention.mean_field import slowdowns
from netmodels.contention.traffic import job_traffic
from netmodels.fabric.links import Slice, capacities
from netmodels.inputs.schema import read_yaml
from netmodels.models.analytical import AnalyticalModel
from netmodels.profiles.profile import get_profile, profile_names

FABRICS = ("cloud_ethernet", "v100_100g", "dgx_h100_3tier", "hgx_h100_ib400", "p3dn_v100")
SHAPES = ("8", "4+4", "4|4", "8+8", "8|8", "4x8|4x8")
RATIOS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Row:
    """A model on a placement of a fabric; times in multiples of compute.

    Parameters
    ----------
    fabric, model, placement
        The three names.
    compute_ns
        Compute of one iteration.
    communicated, exposed
        Communication of a job alone, with the uplinks of the file.
    in_full_racks
        Exposed in racks full of such jobs, by oversubscription.
    """

    fabric: str
    model: str
    placement: str
    compute_ns: int
    communicated: float
    exposed: float
    in_full_racks: tuple[float, ...]

    @property
    def hidden(self) -> float:
        """Share of the communication alone that computing hides."""
        return 1 - min(1.0, self.exposed / self.communicated) if self.communicated else 1.0


def topology_of(name: str, ratio: float | None = None) -> Topology:
    """Return a shipped topology with other uplinks."""
    raw = read_yaml(data_path("topologies", f"{name}.yaml"), "topology")
    assert isinstance(raw, dict)
    return load_topology({**raw, "oversubscription": {"rack": ratio}})


def full_racks(shape: Shape, topology: Topology) -> list[list[Slice]]:
    """Return the equal placements that fit, each in all racks, beside each other in machines."""
    per_rack = topology.machines_per_rack
    rooms = min(per_rack // len(rack) for rack in shape)
    beside = topology.machine_type().gpus // max(gpus for rack in shape for _, gpus in rack)
    return [
        [
            (number, number * per_rack + room * len(rack) + place, kind, gpus)
            for number, rack in enumerate(shape)
            for place, (kind, gpus) in enumerate(rack)
        ]
        for room in range(rooms)
        for _ in range(beside)
    ]


def exposed_in_full_racks(profile: Profile, shape: Shape, topology: Topology) -> float:
    """Return the exposed communication of the mean job in full racks, in multiples of compute."""
    fabric, machine = topology.fabric, topology.machine_type()
    per_rack = topology.machines_per_rack
    places = full_racks(shape, topology)
    jobs = [job_traffic(profile, place, fabric, fabric.system) for place in places]
    machines = [
        (number // per_rack, number, machine.name, machine.gpus) for number in range(len(shape) * per_rack)
    ]
    slower = slowdowns(jobs, capacities(machines, fabric))
    mean_ns = sum(slowdown * job.alone_ns for slowdown, job in zip(slower, jobs, strict=True)) / len(jobs)
    return mean_ns / profile.compute_ns - 1


def rows(fabrics: Sequence[str], models: Sequence[str], shapes: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of the table."""
    network = AnalyticalModel()
    for name in fabrics:
        usual = topology_of(name)
        by_ratio = [topology_of(name, ratio) for ratio in RATIOS]
        for model in models:
            profile = get_profile(model).scaled(1 / usual.machine_type().speed)
            for text in shapes:
                shape = parse_shape(text, usual)
                if not full_racks(shape, usual):
                    continue
                alone = network.iteration(profile, shape, usual.fabric, usual.fabric.system)
                yield Row(
                    name,
                    profile.name,
                    show_shape(shape, usual),
                    alone.compute_ns,
                    alone.comm_ns / alone.compute_ns,
                    alone.exposed_ns / alone.compute_ns,
                    tuple(exposed_in_full_racks(profile, shape, topology) for topology in by_ratio),
                )


def lines(table_rows: Sequence[Row]) -> list[str]:
    """Return the table in Markdown."""
    ratios = " | ".join(f"full, {ratio}:1" for ratio in RATIOS)
    table = [
        f"| fabric | model | placement | compute, ms | communicated | of that hidden | exposed | {ratios} |",
        "|---" * (7 + len(RATIOS)) + "|",
    ]
    for row in table_rows:
        cells = (_percent(share) for share in (row.exposed, *row.in_full_racks))
        placement = row.placement.replace("|", "\\|")
        lead = f"| `{row.fabric}` | {row.model} | {placement} | {row.compute_ns / 1e6:,.0f} "
        table.append(f"{lead}| {_percent(row.communicated)} | {_percent(row.hidden)} | {' | '.join(cells)} |")
    return table


def _percent(share: float) -> str:
    """Return a share in %, with two digits below 10."""
    percent = 100 * max(0.0, share)
    return f"{percent:.2g}" if 0 < percent < 10 else f"{percent:,.0f}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--fabrics", nargs="*", default=FABRICS)
    parser.add_argument("--models", nargs="*", default=profile_names())
    parser.add_argument("--shapes", nargs="*", default=SHAPES)
    arguments = parser.parse_args(argv)
    print(*lines(list(rows(arguments.fabrics, arguments.models, arguments.shapes))), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
