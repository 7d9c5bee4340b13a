"""Read a table of measured overheads: one row per model."""

from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from artist.data import data_path
from artist.errors import InputError
from artist.tables.files import read_csv
from netmodels.api import MachineType, Profile, Topology, get_profile
from netmodels.inputs.naming import allowed_names

REQUIRED = ("model", "gpus", "overhead")
COLUMNS = ("model", "gpus", "machine_type", "overhead", "source")


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured overhead of a model.

    Parameters
    ----------
    profile
        Of the shipped model.
    machine, gpus
        Where: a machine type of the topology, and how many of its GPUs.
    overhead
        Exposed communication / compute.
    source
        Source of the measurement.
    where
        File and line.
    """

    profile: Profile
    machine: MachineType
    gpus: int
    overhead: float
    source: str
    where: str


def measured_file(name: str) -> Path:
    """Return the file of that name, or the shipped one of that name.

    Raises
    ------
    InputError
        If there is neither.
    """
    with suppress(RuntimeError):  # the home of an unknown user
        path = Path(name).expanduser()
        if path.exists():
            return path
    shipped = {path.stem: path for path in sorted(data_path("traces", "measured").glob("*.csv"))}
    if name not in shipped:
        allowed = f"the path of a CSV file, or one that ships: {allowed_names(name, shipped)}"
        raise InputError("no such file", where="measured", found=name, allowed=allowed)
    return shipped[name]


def read_measured(path: Path, topology: Topology) -> list[Measured]:
    """Return the rows of a table.

    Raises
    ------
    InputError
        With file and line, the value found and the allowed ones.
    """
    table = read_csv(path, "measurement")
    for name in table.columns:
        if name not in COLUMNS:
            allowed = allowed_names(name, COLUMNS)
            raise InputError("unknown column", where=f"{path}, line 1", found=name, allowed=allowed)
    for name in REQUIRED:
        if name not in table.columns:
            allowed = f"{', '.join(REQUIRED)}; also machine_type, source"
            raise InputError("column is missing", where=f"{path}, line 1", found=name, allowed=allowed)
    rows: dict[str, Measured] = {}
    for line, row in table.records():
        measured = _measured(line, row, path, topology)
        if measured.profile.name in rows:
            what = f"the same model as in {rows[measured.profile.name].where}"
            raise InputError(what, where=measured.where, found=row["model"], allowed="one row per model")
        rows[measured.profile.name] = measured
    if not rows:
        raise InputError("empty table", where=str(path), found=0, allowed="one row per model")
    return list(rows.values())


def _measured(line: int, row: dict[str, str], path: Path, topology: Topology) -> Measured:
    where = f"{path}, line {line}"
    cells = {name: value.strip() for name, value in row.items()}
    try:
        profile = get_profile(cells["model"])
        machine = topology.machine_type(cells.get("machine_type") or None)
    except InputError as error:
        raise InputError(error.what, where=where, found=error.found, allowed=error.allowed) from None
    gpus = int(cells["gpus"]) if cells["gpus"].isascii() and cells["gpus"].isdigit() else 0
    if not 2 <= gpus <= machine.gpus:
        allowed = f"2 to {machine.gpus}, the GPUs of one machine of type {machine.name}"
        raise InputError("wrong number of GPUs", where=f"{where}, gpus", found=cells["gpus"], allowed=allowed)
    try:
        overhead = float(cells["overhead"])
    except ValueError:
        overhead = -1.0
    if not (isfinite(overhead) and overhead >= 0):
        found, allowed = cells["overhead"], "a fraction of compute, such as 0.12"
        raise InputError("wrong overhead", where=f"{where}, overhead", found=found, allowed=allowed)
    return Measured(profile, machine, gpus, overhead, cells.get("source", ""), where)
