"""Compare our inputs and answers with an ASTRA-sim 2.x program; recorded runs are in ../shared.

    python scripts/validation/against_program.py BINARY --reference ../shared/reference/astra_sim
    python scripts/validation/against_program.py BINARY --triples 100 --seed 1

The first repeats the recorded runs of that back end with files of our own, and says how many answers are
equal to the nanosecond and how far the others lie. The second draws (model, placement, fabric) triples:
regular placements of 2 to 64 GPUs, compute scaled down by up to 300. It asks the program and the analytical
model, and prints the median and the worst difference of the iteration time.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from accuracy import dims_of_row, profile_of, profiles_of, rows_of, system_of

from artist.data import data_path
from artist.entry import script
from netmodels.api import Layer, Profile, load_topology, shape_of
from netmodels.astra_sim.model import AstraSim
from netmodels.collectives.dimensions import Level
from netmodels.models.analytical import AnalyticalModel
from netmodels.profiles.profile import get_profile, profile_names

FABRICS = ("dgx_h100_3tier", "dally_code", "dally_paper", "v100_100g", "pcie_10g", "cloud_ethernet")


def recorded(model: AstraSim, folder: Path) -> Iterator[tuple[str, int, int]]:
    """Yield recorded runs: their name, the program's answer to our files, and the recorded one, ns."""
    profiles = profiles_of(folder)
    for row in rows_of(folder / "results.csv"):
        if (row["simulator"], row["backend"], row["rc"]) != ("astra-sim-2.0", model.program.backend, "0"):
            continue
        levels = tuple(Level(*dimension) for dimension in dims_of_row(row) if dimension[2] > 1)
        answer = model.on_levels(profile_of(row, profiles), levels, system_of(row))
        yield f"iteration of {row['model']}", answer.total_ns, int(row["total_time_ns"])
    for row in rows_of(folder / "collectives.csv"):
        if row["backend"] != model.program.backend or row["rc"] != "0" or row["collective"] != "ALL_REDUCE":
            continue
        if int(row["npus_finished"]) != int(row["npus"]) or int(row["num_queues_per_dim"]) != 1:
            continue
        alone = Profile("alone", (Layer("only", 0, 0, 0, int(row["size_bytes"])),))
        levels = tuple(Level(*dimension) for dimension in dims_of_row(row) if dimension[2] > 1)
        answer = model.on_levels(alone, levels, system_of(row))
        yield f"all-reduce, {row['implementation']}", answer.total_ns, int(row["time_ns"])


def triples(model: AstraSim, count: int, seed: int) -> Iterator[tuple[str, int, int]]:
    """Yield drawn triples: their name, the analytical model's answer, and the program's, ns."""
    rng = np.random.default_rng(seed)
    ours = AnalyticalModel()
    for _ in range(count):
        name = str(rng.choice(FABRICS))
        topology = load_topology(data_path("topologies", f"{name}.yaml"))
        fabric = topology.fabric
        system = replace(topology.system("papers"), collective_queue="one", queue_order="issue")
        racks, machines, gpus = 1, 1, 1
        while not 2 <= racks * machines * gpus <= 64:
            racks, machines, gpus = (int(rng.integers(1, most + 1)) for most in (3, 4, 8))
        placed = [
            (rack, topology.default_machine_type, gpus) for rack in range(racks) for _ in range(machines)
        ]
        model_name = str(rng.choice(profile_names()))
        profile = get_profile(model_name).scaled(float(np.exp(rng.uniform(-np.log(300), 0))))
        answers = (network.iteration(profile, shape_of(placed), fabric, system) for network in (ours, model))
        our_ns, their_ns = (answer.total_ns for answer in answers)
        name = f"{model_name} x {profile.factor:.4f} on {racks} x {machines} x {gpus} of {name}"
        yield name, our_ns, their_ns


@script
def main() -> int:
    """Print the comparison; return 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary")
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--triples", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model = AstraSim(binary=arguments.binary)
    print(model.program)
    answers = list(recorded(model, arguments.reference)) if arguments.reference else []
    answers += triples(model, arguments.triples, arguments.seed)
    errors = [abs(a - b) / b for _, a, b in answers]
    equal = sum(a == b for _, a, b in answers)
    print(
        f"{len(answers)} answers, {equal} equal to the ns, median difference "
        f"{100 * statistics.median(errors):.4f} %, worst {100 * max(errors):.4f} %"
    )
    for error, (name, a, b) in sorted(zip(errors, answers, strict=True), key=lambda pair: -pair[0])[:10]:
        if error:
            print(f"  {100 * error:8.4f} %  {a} against {b} ns: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
