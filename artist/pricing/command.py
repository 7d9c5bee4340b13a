"""The command `artist-network`: the cost of an iteration, or a collective, on a placement."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, cast

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ValueType
from pydantic import Field, StrictFloat, StrictInt

from artist.app.arguments import fields
from artist.app.commands import composer, overrides_parser, run_command, save, save_figure
from artist.app.outputs import check_outputs
from artist.bad_input.records import Strict, validated
from artist.errors import InputError
from artist.pricing.placements import parse_shape, tier_shapes
from artist.pricing.plans import RolePrice, plan_csv, plan_table, price_plans
from artist.pricing.price import CollectivePrice, Price, price_collectives, price_iterations
from artist.pricing.tables import (
    collective_csv,
    collective_table,
    price_csv,
    price_table,
    together_csv,
    together_table,
)
from artist.pricing.together import JobPrice, LinkPrice, parse_jobs, price_together
from artist.run.build import build_network, check_packets, network_profiles
from artist.run.config import NetworkConfig
from netmodels.api import (
    NcclCollective,
    Plan,
    Profile,
    Shape,
    Topology,
    load_topology,
    profile_names,
    too_large,
)
from netmodels.llm.mapping import RankMapping

_FILES = ("csv", "plot", "draw")
_GROUPS = ("topology", "network")
_LISTS = (ValueType.CHOICE_SWEEP, ValueType.SIMPLE_CHOICE_SWEEP, ValueType.RANGE_SWEEP)
_OWN_COLUMNS = ("model", "shape", "gpus", "collective", "bytes", "plan")  # of every row
_ASKED = {  # option that asks, in order: options that it reads, and the reason that it reads no other
    "draw": (("racks", "machine_type"), "a picture shows the fabric alone"),
    "jobs": (("compute_scale", "contention_packets", "csv"), "jobs are priced by themselves"),
    "collective": (("gpus", "shape", "bytes", "csv"), "a collective is priced by itself"),
    "plan": (("model", "mapping", "gpus", "shape", "csv"), "a plan is of a language model on a placement"),
}
_NEEDS = {  # options that are read only beside another
    "racks": ("only a picture shows it", "draw=FILE beside it"),
    "machine_type": ("only a picture shows it", "draw=FILE beside it"),
    "contention_packets": ("only jobs that share links are followed", "jobs=[...] beside it"),
    "mapping": ("only a plan has ranks to assign", "plan='tp8 pp4' beside it"),
    "bytes": ("only a collective has a size of its own", "collective=NAME beside it"),
}
_EXAMPLES = """\
  artist-network                                             models of the Dally paper on 8 GPUs, by tier
  artist-network model=GPT-2 shape=8,4+4,'4|4',5+3           placements of your own
  artist-network jobs='[GPT-2 4|4, VGG16 4|4]'               jobs that share links, together on one fabric
  artist-network model=all topology=dgx_h100_3tier,pcie_10g plot=overheads.png
  artist-network collective=all_reduce bytes=1e6,1e9 network.system.collectives=nccl,astra_sim
  artist-network network.system.preset=machines,papers       collectives as libraries run them, or ASTRA-sim
  artist-network network=all                                 every network model at hand, side by side
  artist-network model=Llama3-70B plan='tp8 pp4 vp5 mb1 gb64' gpus=64    a language model, by role
  artist-network draw=fabric.png topology=cloud_ethernet
"""


class PriceConfig(Strict):
    """The content of `conf/price.yaml`; the comments there explain it."""

    topology: dict[str, Any]
    network: NetworkConfig
    model: str | Annotated[list[str], Field(min_length=1)]
    compute_scale: float = Field(ge=1e-9, le=1e9)
    gpus: StrictInt | Annotated[list[StrictInt], Field(min_length=1)]
    shape: StrictInt | str | Annotated[list[StrictInt | str], Field(min_length=1)] | None = None
    jobs: list[str] | None = None
    contention_packets: Annotated[StrictInt, Field(ge=0)] | None
    collective: NcclCollective | None = None
    bytes: StrictFloat | StrictInt = Field(ge=1, le=1e15)
    plan: str | None = None
    mapping: RankMapping = "whole"
    csv: Path | None = None
    plot: Path | None = None
    draw: Path | None = None
    racks: int = Field(ge=1, le=1000)
    machine_type: str | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of the values of lists."""

    config: PriceConfig
    topology: Topology
    lead: tuple[str, ...]
    named: frozenset[str]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 for bad input.

    Parameters
    ----------
    argv
        Arguments without the program's name; those of the process if None.
    """
    description = f"Prices models, or collectives, on placements in a fabric.\n\n{_EXAMPLES}"
    return run_command(argv, overrides_parser("artist-network", description, "price"), _run)


def _run(overrides: Sequence[str], config_dir: Path | None) -> None:
    swept, points = _points(overrides, config_dir)
    first = points[0].config
    check_outputs((("csv", first.csv), ("plot", first.plot), ("draw", first.draw)), ())
    written = _written(overrides)
    _check_read(written, first)
    if first.draw is not None:
        from artist.pricing.drawing import draw_fabric

        if len(points) > 1:
            raise InputError("one picture shows one fabric", where="draw", allowed="no lists of values")
        figure = draw_fabric(points[0].topology, first.racks, machine_type=first.machine_type)
        save_figure(figure, first.draw, "draw")
        return
    if first.jobs is not None:
        _run_together(swept, points, written.get("contention_packets"))
        return
    if first.collective is not None:
        collectives = list(chain.from_iterable(_collectives(point) for point in points))
        print(collective_table(collectives, swept))
        if first.csv is not None:
            save(collective_csv(collectives, swept).encode(), first.csv, "csv")
        return
    if first.plan is not None:
        planned, notes = zip(*(_plans(point) for point in points), strict=True)
        print(plan_table(list(chain(*planned)), list(chain(*notes)), swept))
        if first.csv is not None:
            save(plan_csv(list(chain(*planned)), swept).encode(), first.csv, "csv")
        return
    prices = list(chain.from_iterable(_iterations(point) for point in points))
    print(price_table(prices, swept))
    if first.csv is not None:
        save(price_csv(prices, swept).encode(), first.csv, "csv")
    if first.plot is not None:
        from artist.pricing.plots import overheads

        save_figure(overheads(prices), first.plot, "plot")


def _check_read(written: Mapping[str, str], config: PriceConfig) -> None:
    """Raise InputError for an option, written or set by a file, that this question does not read."""
    asked = next((name for name in _ASKED if getattr(config, name) is not None), None)
    optional = [name for name, field in PriceConfig.model_fields.items() if field.default is None]
    values = {name: getattr(config, name) for name in optional}
    given = {name: str(value) for name, value in values.items() if value is not None}
    for name, value in {**given, **written}.items():
        if value == "null" and name != "contention_packets":  # of which null is all
            continue
        if asked is None and name in _NEEDS:
            what, allowed = _NEEDS[name]
            raise InputError(what, where=name, found=value, allowed=allowed)
        if asked is not None and name not in (asked, *_ASKED[asked][0]):
            raise InputError(_ASKED[asked][1], where=name, found=value, allowed=f"nothing, with {asked}")


def _run_together(swept: Sequence[str], points: Sequence["Point"], packets: str | None) -> None:
    first = points[0].config
    jobs: list[JobPrice] = []
    links: list[LinkPrice] = []
    for point in points:
        more_jobs, more_links = _together(point, packets)
        jobs += more_jobs
        links += more_links
    print(together_table(jobs, links, swept))
    if first.csv is not None:
        save(together_csv(jobs, links, swept).encode(), first.csv, "csv")


# --- from the command line to points


def _points(overrides: Sequence[str], config_dir: Path | None) -> tuple[list[str], list[Point]]:
    """Return the names of swept values that need a column, and all combinations."""
    asked = _available(overrides) if "network=all" in overrides else list(overrides)
    parsed = OverridesParser.create().parse_overrides(asked)
    swept = [override.get_key_element() for override in parsed if override.is_sweep_override()]
    for override in parsed:
        name = override.get_key_element()
        if override.is_sweep_override() and (override.value_type not in _LISTS or name in _FILES):
            allowed = "one value" if name in _FILES else "values joined by commas"
            raise InputError("not several values", where=name, found=override.input_line, allowed=allowed)
    leads = [name for name in swept if name not in _OWN_COLUMNS]
    points = []
    compose = composer("price", config_dir)
    for combination in chain.from_iterable(BasicSweeper.split_arguments(parsed, None)):
        values = dict(override.lstrip("+").partition("=")[::2] for override in combination)
        raw = compose(combination)
        lead = tuple(values[name.lstrip("+")] for name in leads)
        config, topology = validated(PriceConfig, raw), load_topology(raw["topology"])
        points.append(Point(config, topology, lead, fields(asked)))
    return [name.rpartition(".")[2] for name in leads], points


def _written(overrides: Sequence[str]) -> dict[str, str]:
    """Return the fields of no group that the command line sets, with their values."""
    settings = (override.lstrip("+").partition("=") for override in overrides)
    return {
        name: value for name, _, value in settings if name in PriceConfig.model_fields and name not in _GROUPS
    }


def _available(overrides: Sequence[str]) -> list[str]:
    """Return overrides with all network models available here for `network=all`, asked the same question."""
    models, first = "network=analytical", list[str]()
    if os.environ.get("ASTRA_SIM_BIN"):
        models += ",astra_sim"
        settings = ("preset=papers", "across_machines=hierarchical")  # the program's
        first = [f"network.system.{setting}" for setting in settings]
    return [*first, *(models if override == "network=all" else override for override in overrides)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _shapes(point: Point) -> list[Shape]:
    shape, topology = point.config.shape, point.topology
    if shape is not None:
        return [parse_shape(str(text), topology) for text in _listed(shape)]
    return [
        placement for gpus in _listed(point.config.gpus) for placement in tier_shapes(gpus, topology).values()
    ]


def _iterations(point: Point) -> list[Price]:
    network, system = build_network(point.config.network, point.topology, point.named)
    profile = network_profiles(point.config.network, point.topology, system, network.model)
    shapes = _shapes(point)
    machines = dict.fromkeys(name for shape in shapes for rack in shape for name, _ in rack)
    profiles = []
    for model in _listed(point.config.model):
        for one in map(profile, profile_names() if model == "all" else (model,)):
            if _holds(one, machines, point.topology, skip=model == "all"):
                profiles.append(one.scaled(point.config.compute_scale))
    return price_iterations(profiles, shapes, network, point.topology, system, point.lead)


def _plans(point: Point) -> tuple[list[RolePrice], list[str]]:
    network, system = build_network(point.config.network, point.topology, point.named)
    plan = Plan.parse(point.config.plan or "")
    models = [str(model) for model in _listed(point.config.model)]
    place = _shapes(point), network, point.topology, system
    return price_plans(models, plan, point.config.mapping, *place, point.lead)


def _holds(profile: Profile, machines: Iterable[str], topology: Topology, *, skip: bool) -> bool:
    """Return whether GPUs hold a model; refuse one that they cannot, or report that it is left out."""
    fault = too_large(profile, [topology.machine_type(name) for name in machines])
    if fault and not skip:
        what = f"{fault}, and prices are of data parallelism"
        raise InputError(what, where="model", found=profile.name, allowed="a model that fits, or larger GPUs")
    if fault:
        print(f"left out: {fault}", file=sys.stderr)
    return not fault


def _together(point: Point, packets: str | None) -> tuple[list[JobPrice], list[LinkPrice]]:
    """Price jobs together; `packets` is the command line's contention_packets, if any."""
    network, system = build_network(point.config.network, point.topology, point.named)
    if packets is not None:
        check_packets(packets, network.model, system, "contention_packets")
    jobs = parse_jobs(point.config.jobs or (), point.topology)
    profile = network_profiles(point.config.network, point.topology, system, network.model)
    models = [profile(job.model) for job in jobs]
    for model, job in zip(models, jobs, strict=True):
        _holds(model, (name for _, name, _ in job.machines), point.topology, skip=False)
    profiles = [model.scaled(point.config.compute_scale) for model in models]
    most = point.config.contention_packets
    return price_together(jobs, profiles, network.model, point.topology, system, point.lead, max_packets=most)


def _collectives(point: Point) -> list[CollectivePrice]:
    network, system = build_network(point.config.network, point.topology, point.named)
    if point.config.bytes != round(point.config.bytes):
        value = point.config.bytes
        raise InputError("no part of a byte is sent", where="bytes", found=value, allowed="a whole number")
    collective = cast(NcclCollective, point.config.collective)
    size = round(point.config.bytes)
    shapes = _shapes(point)
    return price_collectives(collective, size, shapes, network.model, point.topology, system, point.lead)


if __name__ == "__main__":
    sys.exit(main())
