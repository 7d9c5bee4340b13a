"""Compare the analytical network model with answers of ASTRA-sim recorded in ../shared.

    python scripts/validation/accuracy.py ../shared/reference/astra_sim

prints, for every class of answers, how many there are, how many are equal to the nanosecond, and of the
relative errors the median, the 10th and 90th percentile and the worst: of the time of a collective or an
iteration, and beside it of an iteration's exposed communication alone. With the compute times of traces an
iteration is 99 % compute, so only the second says how good the network is. The folder has collectives.csv,
results.csv, ns3_allreduce.csv and v1_answers.csv (one row per run of a real binary, with its parameters) and
workloads/ (layers of the models).

Placements of schedulers, even and uneven, on ns-3: packet_level.py. Measured machines:
nccl_accuracy.py and data_parallel.py.
"""

import argparse
import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from artist.entry import script
from netmodels.api import Dimension, IterationTime, Layer, Profile, SystemSettings, Tier
from netmodels.astra_sim import inputs
from netmodels.collectives.algorithms import Collective
from netmodels.models.analytical import collective_on, iteration_on

Row = Mapping[str, str]
Dims = list[tuple[Tier, Dimension, int]]

KINDS, ALGORITHMS, OPTIMIZATIONS = (
    {theirs: ours for ours, theirs in names.items()}
    for names in (inputs.KINDS, inputs.IMPLEMENTATIONS, inputs.OPTIMIZATIONS)
)
WORKLOADS = {
    "alexnet_B512": "alexnet_B512_astra-sim.csv",
    "mobilenet_v3_B512": "mobilenet_v3_B512_astra-sim.csv",
    "resnet18_B512": "resnet18_B512_astra-sim.csv",
    "resnet50_B512": "resnet50_B512_astra-sim.csv",
    "vgg11_B256": "vgg11_B256_astra-sim.csv",
    "BERT-large_B256": "BERT-large_B256_astra-sim2.csv",
}
V1_WORKLOADS = {
    "VGG": "vgg11_B256",
    "AlexNet": "alexnet_B512",
    "MobileNetV3": "mobilenet_v3_B512",
    "ResNet18": "resnet18_B512",
    "ResNet50": "resnet50_B512",
    "BERT": "BERT-large_B256",
}
V1_SYSTEM = SystemSettings(
    endpoint_delay_ns=10,
    local_memory_gb_s=0,
    collective_optimization="baseline",
    collective_queue="per_dimension",
    queue_order="lowest_layer_first",
    across_machines="hierarchical",
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One recorded answer and ours.

    Parameters
    ----------
    kind
        The class that it belongs to.
    ours_ns, theirs_ns
        The time of the collective, or of the iteration.
    row
        The record.
    ours_exposed_ns, theirs_exposed_ns
        Exposed communication; of a collective all of its time.
    """

    kind: str
    ours_ns: int
    theirs_ns: float
    row: Row
    ours_exposed_ns: int | None = None
    theirs_exposed_ns: float | None = None

    @property
    def error(self) -> float:
        """Ours / theirs - 1."""
        return self.ours_ns / self.theirs_ns - 1

    @property
    def exposed_error(self) -> float | None:
        """The same of exposed communication; None for a collective, and where theirs exposes nothing."""
        if self.ours_exposed_ns is None or not self.theirs_exposed_ns:
            return None
        return self.ours_exposed_ns / self.theirs_exposed_ns - 1


# --- rows


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_workload(path: Path) -> Profile:
    """Return a workload; names carry a glued number, BERT's layer count is wrong, so lines are counted."""
    columns = [line.split() for line in path.read_text().splitlines()[2:]]
    layers = tuple(
        Layer(
            column[0].lstrip("0123456789"),
            *(int(float(column[place])) for place in (2, 5, 8, 10, 11)),
        )
        for column in columns
        if len(column) >= 12
    )
    return Profile(path.name, layers)


def dims_of(kinds: str, members: str, bandwidth: str, latency: str, links: str = "one") -> Dims:
    """Read `Ring|Switch`, `8|4`, `450|25` (2^30 byte/s), `500|2000` (ns), innermost first."""
    tiers: tuple[Tier, ...] = ("machine", "rack", "network", "network")
    columns = zip(tiers, *(text.split("|") for text in (kinds, members, bandwidth, latency)), strict=False)
    return [
        (tier, Dimension(cast(Any, KINDS[kind]), float(delay), _gib(speed), 0, cast(Any, links)), int(count))
        for tier, kind, count, speed, delay in columns
    ]


def _gib(speed: str) -> float:
    return float(speed) * 2**30 / 1e9


def dims_of_row(row: Row) -> Dims:
    """Return the dimensions of a run of one of the analytical back ends."""
    names = ("topology_per_dim", "npus_per_dim", "bandwidth_GBps", "latency_ns")
    return dims_of(*(row[name] for name in names))


def system_of(row: Row) -> SystemSettings:
    """Return the settings of a run of ASTRA-sim 2.x."""
    names = [ALGORITHMS[name] for name in row["implementation"].split("|")]
    algorithm = names[0] if len(names) == 1 else tuple((*names, "ring", "ring")[:3])
    return SystemSettings(
        endpoint_delay_ns=int(row.get("endpoint_delay_ns", 10)),
        local_memory_gb_s=float(row.get("local_mem_bw_GBps", 1600)),
        collective_optimization=cast(Any, OPTIMIZATIONS[row["collective_optimization"]]),
        collective_algorithm=cast(Any, algorithm),
        chunks=int(row["preferred_dataset_splits"]),
        chunks_in_flight=int(row["active_chunks_per_dimension"]),
        across_machines="hierarchical",
    )


def price_collective(row: Row) -> int:
    """Return our time of a recorded single collective."""
    collective = cast(Collective, row.get("collective", "ALL_REDUCE").lower())
    return collective_on(collective, dims_of_row(row), int(row["size_bytes"]), system_of(row))


def kind_of(row: Row, dims: Dims) -> str:
    """Return the class of a run of one of the analytical back ends."""
    system = system_of(row)
    algorithm = str(system.collective_algorithm)
    kinds = {dimension.kind for _, dimension, _ in dims}
    where = ""
    if row["backend"] == "aware":  # one dimension
        steps_are_links = "switch" not in kinds and (algorithm == "ring" or "ring" not in kinds)
        where = ", a step is a link" if steps_are_links else ", steps share links"
    elif algorithm == "direct" and "ring" in kinds:
        whole = len(dims) == 1 or system.collective_optimization == "baseline"
        where = " all-reduce on a ring" if whole else ""
    elif algorithm == "double_binary_tree" and len(dims) > 1:
        where = f", {system.collective_optimization}"
    chunks = ", several chunks" if system.chunks > 1 else ""
    if system.chunks_in_flight > 1:
        chunks = ", chunks in flight"
    return f"congestion-{row['backend']}: {algorithm}{where}{chunks}"


# --- the four files


def collectives(folder: Path) -> Iterator[Comparison]:
    """Yield the single all-reduces; runs that did not end are left out."""
    for row in rows_of(folder / "collectives.csv"):
        if row["rc"] == "0" and row["time_ns"]:
            kind = f"collective, {kind_of(row, dims_of_row(row))}"
            yield Comparison(kind, price_collective(row), float(row["time_ns"]), row)


def price_iteration(row: Row, profiles: Mapping[str, Profile], dims: Dims) -> IterationTime:
    """Return our answer for a recorded iteration of ASTRA-sim 2.x."""
    return iteration_on(profile_of(row, profiles), dims, system_of(row))


def profile_of(row: Row, profiles: Mapping[str, Profile]) -> Profile:
    """Return the profile of an iteration of results.csv: scaled, without update delays."""
    profile = profiles[row["model"]]
    plain = Profile(profile.name, tuple(replace(layer, update_ns=0) for layer in profile.layers))
    return plain.scaled(float(row["compute_scale"] or 1))


def profiles_of(folder: Path) -> dict[str, Profile]:
    """Return the recorded workloads by model."""
    return {model: read_workload(folder / "workloads" / file) for model, file in WORKLOADS.items()}


def iterations(folder: Path) -> Iterator[Comparison]:
    """Yield the iterations of ASTRA-sim 2.x; runs that did not end are left out."""
    profiles = profiles_of(folder)
    for row in rows_of(folder / "results.csv"):
        if row["simulator"] != "astra-sim-2.0" or row["rc"] != "0":
            continue
        if row["backend"] == "ns3":
            dims, kind = ns3_dims(row["npus_per_dim"], *_links(row["topology_per_dim"])), "ns-3: ring"
        else:
            dims = dims_of_row(row)
            kind = kind_of(row, dims)
        answer = price_iteration(row, profiles, dims)
        yield of_iteration(kind, answer, row, float(row["total_time_ns"]), float(row["exposed_comm_ns"]))


def of_iteration(
    kind: str, answer: IterationTime, row: Row, total_ns: float, exposed_ns: float
) -> Comparison:
    """Return the comparison of an iteration."""
    ours = (answer.total_ns, answer.exposed_ns)
    return Comparison(f"iteration, {kind}", ours[0], total_ns, row, ours[1], exposed_ns)


def packet_level(folder: Path) -> Iterator[Comparison]:
    """Yield the single all-reduces of the ns-3 back end."""
    for row in rows_of(folder / "ns3_allreduce.csv"):
        links = [
            (float(rate.removesuffix("Gbps")), float(delay.removesuffix("ms")) * 1e6)
            for rate, delay in zip(row["link_rate"].split("/"), row["link_delay"].split("/"), strict=True)
        ]
        if len(links) > 1 and row["logical_dims"] == "16":
            continue  # a flat ring over a hierarchy: no regular placement
        system = replace(system_of(row), local_memory_gb_s=1600.0)
        dims = ns3_dims(row["logical_dims"], *links)
        ours_ns = collective_on("all_reduce", dims, int(row["size_bytes"]), system)
        in_flight = ", chunks in flight" if system.chunks_in_flight > 1 else ""
        kind = f"collective, ns-3: {system.collective_algorithm}{in_flight}"
        yield Comparison(kind, ours_ns, float(row["time_ns"]), row)


def _links(described: str) -> list[tuple[float, float]]:
    """Read `NVSwitch 3600Gbps 0.0005ms; machine uplink 1600Gbps 0.001ms`: Gbit/s and ns of each link."""
    words = [part.split() for part in described.split(";")]
    return [
        (float(word[-2].removesuffix("Gbps")), float(word[-1].removesuffix("ms")) * 1e6) for word in words
    ]


def ns3_dims(members: str, *links: tuple[float, float]) -> Dims:
    """Return the dimensions of a physical tree of switches: GPU links, machine uplinks, rack uplinks.

    A message between two machines climbs and descends all links below the switch that it turns at; GPUs below
    an uplink share it.
    """
    counts = [int(count) for count in members.split("|")]
    used = list(links[: len(counts)])
    if len(links) > len(counts) > 1:  # one machine a rack: both uplinks lie on the way
        used[-1] = (min(rate for rate, _ in links[1:]), sum(delay for _, delay in links[1:]))
    tiers: tuple[Tier, ...] = ("machine", "rack", "network")
    dims: Dims = []
    below, latency_ns, rate = 1, 0.0, float("inf")
    for tier, count, (gbit_s, delay_ns) in zip(tiers, counts, used, strict=False):
        latency_ns += delay_ns
        rate = min(rate, gbit_s / below)
        dims.append((tier, Dimension("switch", latency_ns, rate / 8), count))
        below *= count
    return dims


def version_one(folder: Path) -> Iterator[Comparison]:
    """Yield the iterations of ASTRA-sim 1.0, as the Dally authors called it."""
    profiles = profiles_of(folder)
    for row in rows_of(folder / "v1_answers.csv"):
        kinds, members = row["topology_per_dim"], row["units"]
        dims = dims_of(kinds, members, row["bandwidth_GiBps"], row["latency_ns"], links="members")
        profile = profiles[V1_WORKLOADS[row["model"]]].scaled(float(row["compute_scale"]))
        exposed_ns = 1000 * float(row["total_exposed_comm_us"])
        total_ns = 1000 * float(row["total_compute_us"]) + exposed_ns
        answer = iteration_on(profile, dims, V1_SYSTEM)
        yield of_iteration("ASTRA-sim 1.0", answer, row, total_ns, exposed_ns)


def version_one_hierarchical(folder: Path) -> Iterator[Comparison]:
    """Yield the iterations of ASTRA-sim 1.0 whose collectives pass most dimensions twice."""
    profiles = profiles_of(folder)
    system = replace(V1_SYSTEM, collective_optimization="bandwidth_aware")
    for row in rows_of(folder / "results.csv"):
        if row["simulator"] != "astra-sim-1.0" or row["rc"] != "0":
            continue
        answer = iteration_on(profile_of(row, profiles), linked_dims(row), system)
        theirs = (float(row["total_time_ns"]), float(row["exposed_comm_ns"]))
        yield of_iteration("ASTRA-sim 1.0, bandwidth_aware", answer, row, *theirs)


def linked_dims(row: Row) -> Dims:
    """Read `Ring|Switch links 16|4`: as many links as that carry data (of a ring an even number)."""
    kinds, counts = row["topology_per_dim"].split(" links ")
    dims = dims_of(kinds, row["npus_per_dim"], row["bandwidth_GBps"], row["latency_ns"])
    return [
        (
            tier,
            replace(dimension, bandwidth_bytes_per_ns=dimension.bandwidth_bytes_per_ns * int(links)),
            members,
        )
        for (tier, dimension, members), links in zip(dims, counts.split("|"), strict=True)
    ]


def comparisons(folder: Path) -> list[Comparison]:
    """Return all recorded answers that can be asked for, with ours."""
    sources = (collectives, iterations, packet_level, version_one, version_one_hierarchical)
    return [answer for source in sources for answer in source(folder)]


def table(answers: Sequence[Comparison]) -> str:
    """Return a line per class: answers, equal ones, relative errors of time and exposed communication."""
    classes: dict[str, list[Comparison]] = {}
    for answer in answers:
        classes.setdefault(answer.kind, []).append(answer)
    heads = "".join(f"{head:>10}" for head in ("median", "p10", "p90", "worst"))
    lines = [
        f"{'':14}{'time':>40}{'exposed communication':>40}",
        f"answers {'equal':>6}{heads}{heads}  class",
    ]
    for kind in sorted(classes):
        members = classes[kind]
        equal = sum(answer.ours_ns == answer.theirs_ns for answer in members)
        exposed = [error for answer in members if (error := answer.exposed_error) is not None]
        columns = spread([answer.error for answer in members]) + spread(exposed)
        lines.append(f"{len(members):7} {equal:6}{columns}  {kind}")
    return "\n".join(lines)


def spread(errors: Sequence[float]) -> str:
    """Return median, 10th and 90th percentile and worst of relative errors as text; dashes for none."""
    if not errors:
        return f"{'-':>10}" * 4
    figures = (*np.quantile(errors, (0.5, 0.1, 0.9)), max(errors, key=abs))
    return "".join(f"{figure:+10.3%}" for figure in figures)


@script
def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 0, or 2 if the folder lacks a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(argv).folder
    print(table(comparisons(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
