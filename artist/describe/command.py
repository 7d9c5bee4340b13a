"""The command `artist-trace`: what a workload is like, and what it asks of a cluster."""

import argparse
import json
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

import pandas as pd
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from pydantic import Field, ValidationError

from artist.build import part
from artist.capacity import build_cluster
from artist.cli import BAD_INPUT, INTERRUPTED, SUCCESS, register_topologies
from artist.config import ClusterConfig, Frame, Part
from artist.data import data_path
from artist.describe.demand import DemandSeries, read_demand
from artist.describe.statistics import Description, describe
from artist.describe.tables import demand_csv, demand_text, description_csv, description_text
from artist.errors import InputError
from artist.explain import from_library, from_validation, two_lines
from artist.run_key import program_version
from artist.user_folder import check_shadows, put_on_path
from artist.workload.api import JobSource
from artist.workload.filters import select
from artist.workload.table import check
from netmodels.topology import load_topology

_EXAMPLES = """\
  artist-trace                                               the jobs of the demo
  artist-trace workload=helios workload.path=FILE cluster.machines=128 plot=venus.png
  artist-trace workload=helios,philly workload.path=A,B csv=both.csv   A by the first reader, B by the second
  artist-trace workload=pai workload.path=FILE workload.window.end=604800 cluster.machines=32,64
  artist-trace demand.path=FILE plot=demand.png              a series of inference demand
"""
_PAIRED = ("workload", "workload.path")  # lists of these go together, not all with all
_NAMING = (*_PAIRED, "demand.path")
_OF_CLUSTER = ("cluster.", "cluster=", "topology", "target_load")  # what does not change the jobs
_SUFFIXES = (".gz", ".csv", ".json", ".trace")


class DemandConfig(Frame):
    """A demand series; None for none."""

    path: Path | None = None
    step_s: float = Field(gt=0, le=1e9)


class DescribeConfig(Frame):
    """What `conf/describe.yaml` says; the comments there explain it."""

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
    """One combination of the values that were given as lists."""

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
    try:
        arguments = _parser().parse_args(argv)
        with _notes():
            _run(arguments.overrides, arguments.config_dir)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # whoever reads has seen enough
    except Exception as error:
        print(two_lines(from_library(error)), file=sys.stderr)
        return BAD_INPUT
    return SUCCESS


def _parser() -> argparse.ArgumentParser:
    settings = "\n".join(f"  {line}" for line in data_path("conf", "describe.yaml").read_text().splitlines())
    parser = argparse.ArgumentParser(
        prog="artist-trace",
        usage="artist-trace [field=value ...] [--config-dir FOLDER]",
        description=f"Describes workloads before anything is simulated.\n\n{_EXAMPLES}",
        epilog=f"Fields, beside those of the workload; of several values, a,b,c, all:\n\n{settings}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("overrides", nargs="*", metavar="field=value", help="what to describe")
    parser.add_argument("--config-dir", type=Path, help="your own workloads and topologies")
    parser.add_argument("--version", action="version", version=f"artist-sim {program_version()}")

    def refuse(message: str) -> NoReturn:
        allowed = "field=value, --config-dir FOLDER; see artist-trace --help"
        raise InputError(message, where="command line", allowed=allowed)

    parser.error = refuse  # type: ignore[method-assign]
    return parser


@contextmanager
def _notes() -> Iterator[None]:
    """Show on stderr what readers leave out or change."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("artist")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def _run(overrides: Sequence[str], config_dir: Path | None) -> None:
    points = _points(overrides, config_dir)
    first = points[0].config
    _check_kind(first.plot)
    if first.demand.path is not None:
        series = [_demand(point.config) for point in points]
        print(demand_text(series))
        _write(first.csv, demand_csv(series))
        if first.plot is not None:
            from artist.describe.plots import demand_figure

            _save(demand_figure(series), first.plot)
        return
    tables: dict[str, pd.DataFrame] = {}
    descriptions = [_describe(point, tables) for point in points]
    print(description_text(descriptions))
    _write(first.csv, description_csv(descriptions))
    if first.plot is not None:
        from artist.describe.plots import description_figure

        _save(description_figure(descriptions), first.plot)


def _describe(point: Point, tables: dict[str, pd.DataFrame]) -> Description:
    """Describe one workload; `tables` keeps what was read, since only the cluster may differ."""
    config = point.config
    topology = load_topology(config.topology)
    cluster, _ = build_cluster(config.cluster, topology)
    key = json.dumps(config.workload, sort_keys=True, default=str)
    if key not in tables:
        source: JobSource = part(config.workload, "workload", ("table",))
        where = ", ".join(map(str, source.input_files)) or type(source).__name__
        tables[key] = select(check(source.table(), where), source.parameters)
    arrivals = part(config.arrivals, "arrivals", ("apply",))
    return describe(
        arrivals.apply(tables[key], cluster.total_gpus),
        point.name,
        cluster_gpus=cluster.total_gpus,
        machines=len(cluster.machines),
        target_load=config.target_load,
        case=point.case,
    )


def _demand(config: DescribeConfig) -> DemandSeries:
    return read_demand(cast(Path, config.demand.path), config.demand.step_s)


# --- from the command line to points


def _points(overrides: Sequence[str], config_dir: Path | None) -> list[Point]:
    """Return all combinations; lists of workloads and of their files go in pairs."""
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    swept = {each.get_key_element(): each for each in parsed if each.is_sweep_override()}
    pairs = None
    if all(key in swept for key in _PAIRED):
        lists = [[f"{key}={value}" for value in swept[key].sweep_string_iterator()] for key in _PAIRED]
        if len(lists[0]) != len(lists[1]):
            found = f"{len(lists[0])} workloads, {len(lists[1])} paths"
            raise InputError(
                "not of one length", where="workload.path", found=found, allowed="a path a workload"
            )
        pairs = list(zip(*lists, strict=True))
    combinations = list(dict.fromkeys(map(tuple, chain(*BasicSweeper.split_arguments(parsed, None)))))
    if pairs is not None:
        combinations = [each for each in combinations if _pair(each) in pairs]
        combinations.sort(key=lambda each: pairs.index(_pair(each)))
    searchpath = _searchpath(config_dir)
    register_topologies()
    points = []
    with initialize_config_dir(version_base="1.3", config_dir=str(data_path("conf"))):
        for combination in combinations:
            composed = compose("describe", [*combination, *searchpath])
            raw: Any = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)
            values = dict(each.lstrip("+").partition("=")[::2] for each in combination)
            others = [f"{key}={values[key]}" for key in swept if key in values and key not in _NAMING]
            case = [each for each in others if each.startswith(_OF_CLUSTER)]
            jobs = [each for each in others if each not in case]
            name = ", ".join([_called(raw, values.get("workload")), *jobs])
            points.append(Point(_checked(raw), name, ", ".join(case)))
    return points


def _pair(combination: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        next(each for each in combination if each.lstrip("+").partition("=")[0] == key) for key in _PAIRED
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


def _searchpath(config_dir: Path | None) -> list[str]:
    if config_dir is None:
        return []
    folder = config_dir.absolute()
    if not folder.is_dir():
        raise InputError("no such folder", where="--config-dir", found=str(config_dir), allowed="a folder")
    check_shadows(folder.resolve())
    put_on_path(folder)
    return [f"hydra.searchpath=[file://{folder}]"]


def _checked(raw: Mapping[str, Any]) -> DescribeConfig:
    try:
        return DescribeConfig.model_validate(dict(raw))
    except ValidationError as error:
        raise from_validation(error, model=DescribeConfig) from None


# --- files


def _check_kind(path: Path | None) -> None:
    if path is not None and path.suffix not in (".png", ".svg"):
        raise InputError("unknown kind of figure", where="plot", found=str(path), allowed=".png or .svg")


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        _into(path, text.encode(), "csv")


def _save(figure: Any, path: Path) -> None:
    from artist.results.plots import rendered

    kind = cast(Literal["png", "svg"], path.suffix.removeprefix("."))
    _into(path, rendered(figure, kind), "plot")


def _into(path: Path, content: bytes, field: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        found = f"{path}: {error.strerror}"
        raise InputError(
            "cannot be written", where=field, found=found, allowed="a file in a folder"
        ) from None
    print(f"written to {path}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
