"""The command `artist-calibrate`: profiles that have the overheads that were measured on one machine."""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from artist.app.commands import composer, overrides_parser, run_command, save
from artist.bad_input.explain import checked
from artist.bad_input.records import Strict
from artist.calibrating.measured import Measured, measured_file, read_measured
from artist.calibrating.table import fit_table
from artist.errors import InputError
from artist.run.build import build_network
from artist.run.config import NetworkConfig
from netmodels.api import NetworkModel, SystemSettings, Topology, load_topology, shape_of
from netmodels.calibrated import CalibratedFile, CalibratedModel
from netmodels.calibration import Fit, Method, calibrate
from netmodels.system import system_record

_EXAMPLES = """\
  artist-calibrate topology=dally_code                        measurements of the Dally paper, on its fabric
  artist-calibrate measured=mine.csv method=launch_overhead   measurements of your own
  artist-network network.profiles=calibrated.yaml             what the profiles cost on other placements
"""


class CalibrateConfig(Strict):
    """What `conf/calibrate.yaml` says; the comments there explain it."""

    topology: dict[str, Any]
    network: NetworkConfig
    measured: str
    method: Method
    out: Path


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 for bad input.

    Parameters
    ----------
    argv
        Arguments without the program's name; those of the process if None.
    """
    description = f"Fits profiles to overheads that were measured on one machine.\n\n{_EXAMPLES}"
    return run_command(argv, overrides_parser("artist-calibrate", description, "calibrate"), _run)


def _run(overrides: Sequence[str], config_dir: Path | None) -> None:
    with composer("calibrate", config_dir) as compose:
        raw = compose(overrides)
    config, topology = checked(CalibrateConfig, raw), load_topology(raw["topology"])
    if config.network.profiles is not None:
        found = str(config.network.profiles)
        what = "profiles are calibrated as they ship"
        raise InputError(what, where="network.profiles", found=found, allowed="null")
    path = measured_file(config.measured)
    rows = read_measured(path, topology)
    network, system = build_network(config.network, topology)
    fits = [_fit(config.method, row, network.model, topology, system) for row in rows]
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
    save(file.text().encode(), config.out, "out")


def _fit(
    method: Method, row: Measured, network: NetworkModel, topology: Topology, system: SystemSettings
) -> Fit:
    """Fit a model where it was measured; the cache is not asked, since no run asks these questions."""
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
