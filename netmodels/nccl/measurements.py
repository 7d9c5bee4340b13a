"""Measured runs from logs, tables, folders of them, and patterns such as `logs/*.out`.

A table is a CSV file with one row per size: `collective, machines, gpus_per_machine, bytes, time_us`; also
`run`, which distinguishes otherwise equal runs, `gpu` and `nccl`. Other columns are the user's.
"""

import csv
import glob
from collections.abc import Sequence
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import get_args

from netmodels.inputs.errors import InputError
from netmodels.inputs.naming import allowed_names
from netmodels.nccl.log_lines import plain
from netmodels.nccl.log_tests import MAX_GB_S, MAX_US
from netmodels.nccl.logs import COLLECTIVES, LogFacts, Logs, read_log, text_of
from netmodels.nccl.model import NcclCollective
from netmodels.nccl.reports import is_report
from netmodels.nccl.runs import MeasuredRun

_COLUMNS = ("collective", "machines", "gpus_per_machine", "bytes", "time_us")
_MAX = {"machines": 1_000_000, "gpus_per_machine": 1024, "bytes": 2**53}
_MAX_FILES = 1000  # of a folder: more are a home directory


def files_of(names: Sequence[str], field: str) -> tuple[list[Path], list[Path]]:
    """Return the named files, and those in named folders, in order, without repetition.

    Parameters
    ----------
    names
        Files, folders and patterns.
    field
        Field that contains the names, for messages.

    Raises
    ------
    InputError
        If a name matches no file.
    """
    named: dict[Path, None] = {}
    inside: dict[Path, None] = {}
    for name in names:
        path = Path(name).expanduser()
        if path.is_dir():
            files = list(islice((file for file in path.rglob("*") if file.is_file()), _MAX_FILES + 1))
            if len(files) > _MAX_FILES:
                allowed = f"a folder of logs, up to {_MAX_FILES} files; or a pattern such as 'logs/*.out'"
                raise InputError("too many files", where=field, found=name, allowed=allowed)
            files = sorted(file for file in files if file.name[0] != ".")
            inside.update(dict.fromkeys(files))
        else:
            files = [path] if path.exists() else sorted(map(Path, glob.glob(str(path), recursive=True)))
            named.update(dict.fromkeys(file for file in files if not file.is_dir()))
        if not files:
            allowed = "logs of nccl-tests or CSV tables: files, folders, patterns such as 'logs/*.out'"
            raise InputError("no such file", where=field, found=name, allowed=allowed)
    return list(named), [path for path in inside if path not in named]


def read_measurements(names: Sequence[str], field: str, facts: LogFacts | None = None) -> Logs:
    """Return all runs of logs and tables.

    Parameters
    ----------
    names
        Files, folders and patterns.
    field
        Field that contains the names, for messages.
    facts
        Facts that logs do not state.

    Raises
    ------
    InputError
        If a file cannot be understood, there is no run, or runs are on GPUs of different names. Files in a
        folder that are not measurements are noted instead.
    """
    named, inside = files_of(names, field)
    logs = [_read(path, facts or LogFacts()) for path in named]
    for path in inside:
        try:
            logs.append(_read(path, facts or LogFacts()))
        except InputError as error:
            if not error.what.startswith(("no row of", "an empty file")):
                raise
            logs.append(Logs(notes=(f"{path}: {error.what}",)))
    read = Logs.joined(logs)
    if not read.runs:
        reasons = "; ".join(read.notes[:3])
        raise InputError("no usable run", where=field, found=reasons, allowed="see the reasons")
    if len(read.gpus) > 1:
        places = "; ".join(f"{gpu} in {path}" for gpu, path in read.gpus.items())
        raise InputError("runs on different GPUs", where=field, found=places, allowed="one cluster per call")
    return read


def _read(path: Path, facts: LogFacts) -> Logs:
    if path.name.removesuffix(".gz").endswith(".csv") and not is_report(text_of(path)):
        return read_table(path)
    return read_log(path, facts)


def read_table(path: Path) -> Logs:
    """Return the runs of a table.

    Raises
    ------
    InputError
        With file and line, the value found and the allowed values.
    """
    lines = text_of(path).splitlines()
    rows = csv.DictReader(lines)
    _check_header(rows.fieldnames or (), path)
    runs: dict[tuple[object, ...], dict[int, tuple[float, int]]] = {}
    gpus: dict[str, str] = {}
    libraries: dict[str, str] = {}
    for number, row in enumerate(rows, 2):
        cells = _Cells({name: value for name, value in row.items() if name}, f"{path}, line {number}")
        if None in row:
            rest = ", ".join(row[None])
            raise InputError(
                "cells without a column", where=cells.where, found=rest, allowed="one per column"
            )
        key = (
            cells.text("run"),
            cells.collective(),
            cells.whole("machines"),
            cells.whole("gpus_per_machine"),
        )
        if key[2:] == (1, 1):
            problem = "one GPU alone communicates with none"
            raise InputError(problem, where=cells.where, found="1 x 1", allowed="2 GPUs or more")
        size, time_us = cells.whole("bytes"), cells.time_us()
        known = runs.setdefault(key, {})
        if size in known:
            problem = f"the same size as in line {known[size][1]}"
            allowed = "each size of a run once; a column `run` distinguishes equal runs"
            raise InputError(problem, where=cells.where, found=size, allowed=allowed)
        known[size] = time_us, number
        if cells.text("gpu"):
            gpus.setdefault(cells.text("gpu"), str(path))
        if cells.text("nccl"):
            libraries.setdefault(cells.text("nccl"), str(path))
    if not runs:
        raise InputError("an empty file", where=str(path), found="no rows", allowed="one row per size")
    return Logs(tuple(_run(path, key, points) for key, points in runs.items()), (), gpus, libraries)


def _run(path: Path, key: tuple[object, ...], points: dict[int, tuple[float, int]]) -> MeasuredRun:
    name, collective, machines, gpus = key
    first = min(line for _, line in points.values())
    return MeasuredRun(
        str(name) or f"{path.name}:{first}",
        collective,  # type: ignore[arg-type]
        machines,  # type: ignore[arg-type]
        gpus,  # type: ignore[arg-type]
        tuple(sorted((size, time_us) for size, (time_us, _) in points.items())),
        source=f"{path.name}, line {first}",
    )


def _check_header(names: Sequence[str], path: Path) -> None:
    for name in _COLUMNS:
        if name not in names:
            raise InputError(
                f"column {name} is missing",
                where=f"{path}, line 1",
                found=", ".join(names),
                allowed=f"{', '.join(_COLUMNS)}; also run, gpu, nccl, and others",
            )


class _Cells:
    """The cells of a row, checked when they are read."""

    def __init__(self, cells: dict[str, str | None], where: str) -> None:
        self._cells = cells
        self.where = where

    def text(self, name: str) -> str:
        return (self._cells.get(name) or "").strip()

    def collective(self) -> NcclCollective:
        collective = COLLECTIVES.get(plain(self.text("collective")))
        if collective is None:
            names = get_args(NcclCollective)
            raise self._bad("collective", "unknown collective", allowed_names(self.text("collective"), names))
        return collective

    def whole(self, name: str) -> int:
        try:
            value = float(self.text(name))
        except ValueError:
            value = 0.0
        if not 1 <= value <= _MAX[name] or value != int(value):
            raise self._bad(name, "not a whole number", f"1 to {_MAX[name]}")
        return int(value)

    def time_us(self) -> float:
        try:
            value = float(self.text("time_us"))
        except ValueError:
            value = float("nan")
        if not (isfinite(value) and 0 < value <= MAX_US):
            raise self._bad("time_us", "no time of a collective", f"us, more than 0, up to {MAX_US:g}")
        if self.whole("bytes") / value / 1e3 > MAX_GB_S:
            allowed = f"us: {self.text('bytes')} bytes in this time are more than {MAX_GB_S:g} GB/s"
            raise self._bad("time_us", "too short for its bytes", allowed)
        return value

    def _bad(self, name: str, problem: str, allowed: str) -> InputError:
        return InputError(problem, where=f"{self.where}, {name}", found=self.text(name), allowed=allowed)
