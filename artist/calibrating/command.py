"""The command `artist-calibrate`: profiles and fabrics that match measurements."""

import hashlib
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import Field

from artist.app.arguments import fields
from artist.app.commands import composer, overrides_parser, run_command, save, save_figure
from artist.app.outputs import check_outputs
from artist.bad_input.records import Strict, validated
from artist.calibrating.fabric import (
    Named,
    check_machine,
    doubts,
    fitted,
    topology_text,
    unmeasured,
    weak_points,
)
from artist.calibrating.fabric_views import fabric_figure, fabric_table
from artist.calibrating.gpus import KnownGpu, known_gpu
from artist.calibrating.layers import layers_table, measured_model, named_model, read_layers, sent_bytes
from artist.calibrating.measured import Measured, measured_file, read_measured
from artist.calibrating.table import fit_table
from artist.calibrating.trace import read_trace
from artist.entry import BAD_INPUT
from artist.errors import InputError
from artist.run.build import build_network
from artist.run.config import NetworkConfig
from artist.tables.grid import percent
from netmodels.api import (
    NcclCollective,
    NetworkModel,
    SystemSettings,
    Topology,
    calibrate,
    load_topology,
    shape_of,
    too_large,
)
from netmodels.calibration.calibrated import CalibratedFile, CalibratedModel
from netmodels.calibration.fit import Fit, Method
from netmodels.fabric.system import system_record
from netmodels.nccl.logs import LogFacts, Logs
from netmodels.nccl.measurements import files_of, read_measurements

_EXAMPLES = """\
  artist-calibrate topology=dally_code                        measurements of the Dally paper, on its fabric
  artist-calibrate measured=mine.csv method=launch_overhead   measurements of your own
  artist-network network.profiles=calibrated.yaml             iteration times of the profiles elsewhere
  artist-calibrate nccl=one.log                               a fabric fitted to a log of nccl-tests; then
  artist --config-dir mine topology=fitted
  artist-calibrate nccl=logs/ topology=v100_100g out=mine/topology/ours.yaml plot=fit.png
                                                              the same, of machines that you name
  artist-calibrate measure OUT --models VGG11                 layers and overheads of your GPUs; needs PyTorch
  artist-calibrate layers=OUT/layers.csv                      profiles of these layers
  artist-calibrate layers=workload.txt model=VGG11            a profile of a text workload of ASTRA-sim 1.0
  artist-calibrate trace=run.json.gz model=ResNet50           a profile of a trace of torch.profiler
"""


class MachineFields(Strict):
    """Properties of a machine type that logs do not state; None takes them from the topology, if named."""

    gpus: int | None = Field(default=None, ge=1, le=1024)
    gpu_type: str | None = None
    speed: float | None = Field(default=None, ge=1e-6, le=1e6)
    cpus: int | None = Field(default=None, ge=1, le=1_000_000)
    memory_gib: float | None = Field(default=None, gt=0, le=2**20)
    memory_bandwidth_gb_s: float | None = Field(default=None, gt=0, le=2**20)


class CalibrateConfig(Strict):
    """The content of `conf/calibrate.yaml`; the comments there explain it."""

    topology: dict[str, Any]
    network: NetworkConfig
    measured: str
    method: Method
    nccl: list[str] | None = None
    collective: NcclCollective | None = None
    machines: int | None = Field(default=None, ge=1, le=1_000_000)
    gpus_per_machine: int | None = Field(default=None, ge=1, le=1024)
    machine: MachineFields = MachineFields()
    machines_per_rack: int | None = Field(default=None, ge=1, le=1_000_000)
    plot: Path | None = None
    layers: Path | None = None
    trace: Path | None = None
    model: str | None = Field(default=None, min_length=1)
    iterations: int | None = Field(default=None, ge=1, le=1_000_000)
    gradients: Path | None = None
    out: Path | None = None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 for bad input.

    Parameters
    ----------
    argv
        Arguments without the program's name; those of the process if None.
    """
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == ["measure"]:
        return _measure(arguments[1:])
    description = (
        f"Fits profiles to overheads, and fabrics to collectives, that were measured.\n\n{_EXAMPLES}"
    )
    return run_command(argv, overrides_parser("artist-calibrate", description, "calibrate"), _run)


def _measure(arguments: Sequence[str]) -> int:
    """Measure on the user's GPUs."""
    try:
        from artist.calibrating.measure import main as measure
    except ModuleNotFoundError as error:
        what, allowed = f"{error.name} is not installed", "pip install 'artist-sim[measure]'"
        print(InputError(what, where="artist-calibrate measure", allowed=allowed), file=sys.stderr)
        return BAD_INPUT
    return measure(arguments)


def _run(overrides: Sequence[str], config_dir: Path | None) -> None:
    names, others = _logs_named(overrides)
    raw = composer("calibrate", config_dir)(others) | ({"nccl": names} if names else {})
    _check_one_source(overrides, names)
    config, topology = validated(CalibrateConfig, raw), load_topology(raw["topology"])
    if config.layers is not None or config.trace is not None:
        _write_layers(config, topology)
    elif config.nccl is not None:
        named = any(word.partition("=")[0] == "topology" for word in others)
        _fit_fabric(config, topology, named)
    else:
        _fit_profiles(config, topology, fields(others))


def _logs_named(overrides: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the logs of `nccl=a.log b.log`, of `nccl=a.log,b.log` or of a list, and the other overrides."""
    names: list[str] = []
    others: list[str] = []
    for word in overrides:
        if word.startswith("nccl="):
            listed = word.removeprefix("nccl=").strip("[]").split(",")
            names += [name.strip(" '\"") for name in listed if name.strip(" '\"") not in ("", "null")]
        elif names and "=" not in word and not word.startswith("~"):
            names.append(word)
        elif Path(word).exists():
            allowed = f"nccl={word} for logs of nccl-tests, measured={word} for a table of overheads"
            raise InputError("a file without a field", where="command line", found=word, allowed=allowed)
        else:
            others.append(word)
    return names, others


def _check_one_source(overrides: Sequence[str], logs: Sequence[str]) -> None:
    """Refuse `nccl=` without a log, and two kinds of measurements in one call."""
    said = dict(word.partition("=")[::2] for word in overrides)
    if said.get("nccl") not in (None, "null") and not logs:
        raise InputError("no log", where="nccl", found=said["nccl"], allowed="logs, or a folder of them")
    given = [name for name in ("measured", "nccl", "layers", "trace") if said.get(name) not in (None, "null")]
    if len(given) > 1:
        what = "one kind of measurement per call"
        raise InputError(
            what, where=given[1], found=" and ".join(given), allowed=f"one of {', '.join(given)}"
        )


def _fit_fabric(config: CalibrateConfig, topology: Topology, named: bool) -> None:
    """Fit a fabric to runs of nccl-tests, and write a topology."""
    out = config.out or Path("mine/topology/fitted.yaml")
    check_outputs((("out", out), ("plot", config.plot)), chain(*files_of(config.nccl or (), "nccl")))
    given = LogFacts(config.collective, config.machines, config.gpus_per_machine)
    logs = read_measurements(config.nccl or (), "nccl", given)
    machine_type, chosen = topology.machine_type(), config.machine
    gpus = chosen.gpus or (machine_type.gpus if named else None)
    told = check_machine(logs, gpus, chosen.gpu_type or (machine_type.gpu_type if named else None))
    _print_notes((*(f"left out: {note}" for note in logs.notes), *doubts(logs), *told))
    gpu = None if named else _known_gpu(logs, chosen, topology)
    if gpu is not None:
        note = f"machines by the name of their GPUs, {gpu.gpu_type}: {gpu.basis}"
        _print_notes([f"{note}; machine.speed=..., machine.cpus=... for others"])
        topology, machine_type = gpu.topology, gpu.machine
    outcome = fitted(logs.runs, topology, machine_type.name, named)
    notes = unmeasured(logs.runs, topology.name, named)
    _print_notes(weak_points(outcome, logs.runs))
    base, machine = config.topology if named else None, chosen.model_dump(exclude_none=True)
    origin = Named(out.stem, base, machine, config.machines_per_rack, gpu, notes)
    text = topology_text(outcome, logs, origin)
    _print_notes(notes)
    print(fabric_table(logs.runs, outcome))
    save(text.encode(), out, "out")
    if out.parent.name == "topology":
        _print_notes([f"to use it: artist --config-dir {out.parent.parent} topology={out.stem}"])
    if config.plot is not None:
        median, p90 = percent(outcome.median), percent(outcome.p90)
        title = f"{out.stem}: half of the sizes off by {median} % or more, a tenth by {p90} % or more"
        save_figure(fabric_figure(logs.runs, outcome.nccl, title), config.plot, "plot")


def _known_gpu(logs: Logs, chosen: MachineFields, topology: Topology) -> KnownGpu | None:
    """Return the GPU that the user or the logs name, where a shipped topology or a data sheet has it."""
    gpus = chosen.gpus or max(run.gpus_per_machine for run in logs.runs)
    name = chosen.gpu_type or next(iter(logs.gpus), "")
    return known_gpu(name, topology, gpus)


def _print_notes(notes: Iterable[str]) -> None:
    for note in notes:
        print(note, file=sys.stderr)


def _write_layers(config: CalibrateConfig, topology: Topology) -> None:
    """Write profiles of measured layers."""
    out = config.out or Path("calibrated.yaml")
    inputs = [path for path in (config.layers, config.trace, config.gradients) if path is not None]
    check_outputs((("out", out),), inputs)
    gpu = None
    if config.layers is not None:
        models = read_layers(config.layers, config.model)
        source = config.layers
    else:
        assert config.trace is not None
        name = named_model(config.model, config.trace)
        trace = read_trace(config.trace, config.iterations, config.gradients)
        _print_notes(trace.notes)
        gpu = known_gpu(trace.gpu, topology) if trace.gpu else None
        models = {name: measured_model(trace.layers, config.trace.name, str(config.trace))}
        source = config.trace
    speed = config.machine.speed or (gpu.speed if gpu is not None else 1.0)
    of = f"{gpu.gpu_type}, " if gpu is not None and not config.machine.speed else ""
    _print_notes([f"times are of a GPU of {of}speed {speed:g} (1: an H100); machine.speed=... for another"])
    _print_notes(
        f"{name} has no gradients, so no communication" for name in models if not sent_bytes(models[name])
    )
    print(layers_table(models))
    models = {name: model.model_copy(update={"compute_scale": speed}) for name, model in models.items()}
    measured = {"file": source.name, "sha256": hashlib.sha256(source.read_bytes()).hexdigest()}
    save(CalibratedFile(models=models, measured=measured).text().encode(), out, "out")


def _fit_profiles(config: CalibrateConfig, topology: Topology, named: frozenset[str]) -> None:
    """Fit profiles to overheads that were measured on one machine."""
    if config.network.profiles is not None:
        profiles = str(config.network.profiles)
        what = "profiles are calibrated as they ship"
        raise InputError(what, where="network.profiles", found=profiles, allowed="null")
    path, out = measured_file(config.measured), config.out or Path("calibrated.yaml")
    check_outputs((("out", out),), [path])
    rows = read_measured(path, topology)
    network, system = build_network(config.network, topology, named)
    fits = [_fit(config.method, row, network.model, topology, system) for row in rows]
    _print_notes(filter(None, (too_large(row.profile, [row.machine]) for row in rows)))
    _print_notes([f"measured: {path.name}{' of the Dally paper' * (path.stem == 'dally_table1')}"])
    print(fit_table(rows, fits))
    file = CalibratedFile(
        method=config.method,
        measured={"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
        topology=topology.name,
        network={
            "model": f"{type(network.model).__module__}.{type(network.model).__qualname__}",
            "version": network.version,
            "system": system_record(system),
        },
        models={row.profile.name: _record(row, fit) for row, fit in zip(rows, fits, strict=True)},
    )
    save(file.text().encode(), out, "out")


def _fit(
    method: Method, row: Measured, network: NetworkModel, topology: Topology, system: SystemSettings
) -> Fit:
    """Fit a model where it was measured; no run asks these questions, so the cache is not used."""
    shape = shape_of([(0, row.machine.name, row.gpus)])
    profile = row.profile.scaled(1 / row.machine.speed)
    try:
        return calibrate(method, row.overhead, network, profile, shape, topology.fabric, system)
    except InputError as error:
        where = f"{row.where}, overhead of {error.where}"
        raise InputError(error.what, where=where, found=error.found, allowed=error.allowed) from None


def _record(row: Measured, fit: Fit) -> CalibratedModel:
    return CalibratedModel(
        compute_scale=fit.compute_scale,
        launch_ns=fit.launch_ns,
        measured=row.overhead,
        before=fit.before,
        achieved=fit.achieved,
        gpus=row.gpus,
        machine_type=row.machine.name,
        source=row.source,
    )


if __name__ == "__main__":
    sys.exit(main())
