"""The command `artist-trace`: describes a workload and its demand on a cluster."""

import json
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from pydantic import Field

from artist.app.commands import composer, overrides_parser, run_command, save, save_figure
from artist.app.outputs import check_outputs
from artist.bad_input.records import Strict, validated
from artist.datacenter.config import ClusterConfig
from artist.datacenter.gpus import gpus_of
from artist.errors import InputError
from artist.run.config import Part
from artist.run.parts import part
from artist.run.pools import sized_cluster
from netmodels.api import load_topology

if TYPE_CHECKING:  # modules that need pandas are imported where they are used, for the sake of --help
    from artist.describe.statistics import Description
    from artist.tables.rows import Table
    from artist.workload.api import JobSource

_EXAMPLES = """\
  artist-trace                                               the jobs of the demo
  artist-trace workload=helios workload.path=FILE cluster.machines=128 plot=venus.png
  artist-trace workload=helios,philly workload.path=A,B csv=both.csv   A by the first reader, B by the second
  artist-trace workload=pai workload.path=FILE workload.window.end=604800 cluster.machines=32,64
  artist-trace demand.path=FILE plot=demand.png              a series of inference demand
"""
_PAIRED = ("workload", "workload.path")  # lists of these are paired, not combined
_NAMING = (*_PAIRED, "demand.path")
_OF_CLUSTER = ("cluster.", "cluster=", "topology", "target_load")  # settings that do not change the jobs
_SUFFIXES = (".gz", ".csv", ".json", ".trace")


class DemandConfig(Strict):
    """A demand series; None for none."""

    path: Path | None = None
    step_s: float = Field(gt=0, le=1e9)


class DescribeConfig(Strict):
    """The content of `conf/describe.yaml`; the comments there explain it."""

    topology: dict[str, Any]
    cluster: ClusterConfig
    workload: Part
    arrivals: Part
    target_load: float = Field(gt=0, le=100)
    demand: DemandConfig
    csv: Path | None = None
    plot: Path | None = None
    seed: int = Field(ge=0)


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of the values of lists."""

    config: DescribeConfig
    name: str
    case: str


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 for bad input.

    Parameters
    ----------
    argv
        Arguments without the program's name; those of the process if None.
    """
    description = f"Describes workloads before anything is simulated.\n\n{_EXAMPLES}"
    return run_command(argv, overrides_parser("artist-trace", description, "describe"), _run, logging.INFO)


def _run(overrides: Sequence[str], config_dir: Path | None) -> None:
    from artist.describe.demand import read_demand
    from artist.describe.tables import demand_csv, demand_text, description_csv, description_text

    points = _points(overrides, config_dir)
    first = points[0].config
    check_outputs((("csv", first.csv), ("plot", first.plot)), ())
    if first.demand.path is not None:
        demands = [point.config.demand for point in points]
        series = [read_demand(cast(Path, demand.path), demand.step_s) for demand in demands]
        print(demand_text(series))
        if first.csv is not None:
            save(demand_csv(series).encode(), first.csv, "csv")
        if first.plot is not None:
            from artist.describe.plots import demand_figure

            save_figure(demand_figure(series), first.plot, "plot")
        return
    tables: dict[str, Table] = {}
    descriptions = [_describe(point, tables) for point in points]
    print(description_text(descriptions))
    if first.csv is not None:
        save(description_csv(descriptions).encode(), first.csv, "csv")
    if first.plot is not None:
        from artist.describe.plots import description_figure

        save_figure(description_figure(descriptions), first.plot, "plot")


def _describe(point: Point, tables: dict[str, "Table"]) -> "Description":
    """Describe one workload; `tables` caches those already read, because only the cluster may differ."""
    from artist.describe.gpu_types import type_loads
    from artist.describe.statistics import describe
    from artist.workload.load import arrived, origin, read_table
    from artist.workload.plans import check_times

    config = point.config
    topology = load_topology(config.topology)
    source: JobSource = part(config.workload, "workload", ("table",))
    cluster, _, table = sized_cluster(config.cluster, topology, source)
    gpus = gpus_of(cluster, topology)
    key = json.dumps(
        [config.workload, config.topology, gpus.default, gpus.types], sort_keys=True, default=str
    )
    if key not in tables:
        tables[key] = read_table(source, gpus) if table is None else table
        check_times(tables[key], origin(source))
    arrivals = part(config.arrivals, "arrivals", ("apply",))
    jobs = arrived(tables[key], arrivals, cluster.default_gpus).frame()
    of_type: dict[str, tuple[int, float]] = {}
    for machine in (m for m in cluster.machines if m.present and m.gpus):
        count, power = of_type.get(machine.gpu_type, (0, 0.0))
        power += machine.gpus * (machine.speed / gpus.default.speed)
        of_type[machine.gpu_type] = count + machine.gpus, power
    return describe(
        jobs,
        point.name,
        cluster_gpus=cluster.total_gpus,
        default_gpus=cluster.default_gpus,
        cluster_cpus=int(cluster.cpus.sum()),
        machines=len(cluster.machines),
        target_load=config.target_load,
        case=point.case,
        types=type_loads(jobs, of_type, float(jobs["submit_s"].max())),
    )


# --- from the command line to points


def _points(overrides: Sequence[str], config_dir: Path | None) -> list[Point]:
    """Return all combinations; lists of workloads and of their files are paired."""
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    swept = {override.get_key_element(): override for override in parsed if override.is_sweep_override()}
    if several := next((override for name, override in swept.items() if name in ("csv", "plot")), None):
        where, value = several.get_key_element(), several.input_line
        raise InputError("not several values", where=where, found=value, allowed="one value")
    combinations = list(dict.fromkeys(map(tuple, chain(*BasicSweeper.split_arguments(parsed, None)))))
    if all(key in swept for key in _PAIRED):
        pairs = _pairs(swept)
        combinations = [values for values in combinations if _pair(values) in pairs]
        combinations.sort(key=lambda values: pairs.index(_pair(values)))
    points = []
    compose = composer("describe", config_dir)
    for combination in combinations:
        raw = compose(combination)
        values = dict(override.lstrip("+").partition("=")[::2] for override in combination)
        others = [f"{key}={values[key]}" for key in swept if key in values and key not in _NAMING]
        case = [setting for setting in others if setting.startswith(_OF_CLUSTER)]
        jobs = [setting for setting in others if setting not in case]
        name = ", ".join([_called(raw, values.get("workload")), *jobs])
        points.append(Point(validated(DescribeConfig, raw), name, ", ".join(case)))
    return points


def _pairs(swept: Mapping[str, Override]) -> list[tuple[str, ...]]:
    """Return workloads and their files; raise InputError if their numbers differ."""
    lists = [[f"{key}={value}" for value in swept[key].sweep_string_iterator()] for key in _PAIRED]
    if len(lists[0]) != len(lists[1]):
        lengths = f"{len(lists[0])} workloads, {len(lists[1])} paths"
        raise InputError(
            "not of one length", where="workload.path", found=lengths, allowed="a path per workload"
        )
    return list(zip(*lists, strict=True))


def _pair(combination: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        next(override for override in combination if override.lstrip("+").partition("=")[0] == key)
        for key in _PAIRED
    )


def _called(raw: Mapping[str, Any], choice: str | None) -> str:
    """Name a workload after its file, or the choice of its group."""
    path = raw["workload"].get("path")
    if path is None:
        return choice or "synthetic"
    name = Path(str(path)).name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


if __name__ == "__main__":
    sys.exit(main())
