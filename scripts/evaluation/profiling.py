"""Measurements of optimistic profiling for each shipped model, and the error of the points filled in.

    python scripts/evaluation/profiling.py [topology=v100_synergy estimates.threshold=0.05 ...]

prints a table for jobs of 1 and of 8 GPUs, alone on one machine: the CPU counts measured, in their order, the
minutes, and the worst and the mean error of believed throughput over the matrix of the Synergy paper (section
3.1): every CPU count of a machine x memory in units of 50 GiB. With v100_synergy these are 24 x 10 points:
240 minutes if all were measured, 24 if all CPU counts were. Communication counts, as in any throughput.
"""

import argparse
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from artist.app.composing import composed
from artist.core.cluster import Allocation, Slice
from artist.core.job import Demand, JobSpec
from artist.performance.profiling import ProfiledStall
from artist.run.build import Simulation, build, check_config
from artist.units import NS_PER_S
from netmodels.profiles.profile import profile_names

GPUS, UNIT_GIB = (1, 8), 50
SETTINGS = ("topology=v100_synergy", "performance.sensitivity=synergy", "estimates=optimistic_profiling")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("overrides", nargs="*", help="settings as for artist")
    for row in table(simulation(parser.parse_args().overrides)):
        print(row)


def simulation(overrides: list[str]) -> Simulation:
    """Return a simulation with sensitive jobs that are profiled; its own jobs do not count."""
    return build(check_config(composed([*SETTINGS, "cluster.racks=1", *overrides])))


def table(run: Simulation) -> Iterator[str]:
    """Yield a Markdown table, a row per model and number of GPUs."""
    yield "| model | GPUs | CPUs measured | minutes | worst error % | at CPUs, GiB | mean error % |"
    yield "|---|--:|---|--:|--:|--:|--:|"
    believed = run.estimates.performance(run.performance)
    stall, minutes = believed.input_stall, run.estimates.minutes_per_point
    assert isinstance(stall, ProfiledStall)
    for model in profile_names():
        for gpus in GPUS:
            measured = list(stall.profile(model, gpus, run.cluster).throughput)
            truth, belief = (
                times(performance, run, model, gpus) for performance in (run.performance, believed)
            )
            error = 100 * (truth / belief - 1)
            worst = np.unravel_index(int(np.abs(error).argmax()), error.shape)
            at = f"{worst[0] + 1}, {(worst[1] + 1) * UNIT_GIB}"
            points = f"{', '.join(map(str, measured))} | {len(measured) * minutes:g}"
            errors = f"{error[worst]:.1f} | {at} | {np.abs(error).mean():.1f}"
            yield f"| {model} | {gpus} | {points} | {errors} |"


def times(performance: object, run: Simulation, model: str, gpus: int) -> npt.NDArray[np.int64]:
    """Return iteration times by CPUs and memory, on one machine."""
    machine = run.cluster.default_machine
    assert machine is not None
    spec = JobSpec("job", 0, Demand(gpus, measured_speed=machine.speed), 1, NS_PER_S, model)
    place = Allocation((Slice(run.cluster.machines.index(machine), gpus),))
    cpus = np.arange(1, machine.cpus + 1)[:, None]
    memory = np.arange(1, machine.memory_bytes // (UNIT_GIB << 30) + 1)[None, :] * (UNIT_GIB << 30)
    iteration_ns: npt.NDArray[np.int64] = performance.at_resources(spec, place, run.cluster, cpus, memory)  # type: ignore[attr-defined]
    return iteration_ns


if __name__ == "__main__":
    main()
