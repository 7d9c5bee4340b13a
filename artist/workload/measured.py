"""GPUs for which the times of a workload hold, and these times on the cluster's default GPUs."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from artist.core.compact_jobs import field_of
from artist.core.gpus import Gpu, Gpus
from artist.core.job import JobSpec
from artist.errors import InputError
from artist.tables.rows import Column, Table, coded
from artist.units import MAX_S
from artist.workload.api import SPEEDS, JobSource, is_speed
from artist.workload.table import MEASURED_AT, refuse, work_s

_log = logging.getLogger(__name__)

Stretch = Callable[[str, int, float, tuple[int, int]], float]
"""Run time / compute time, with the CPUs and memory that run times hold for: by model, GPUs, their speed, and
the CPUs and bytes of memory that a job asks for."""

Price = Callable[[str, int, float, str, float], float]
"""Exposed communication / compute time of the placement that run times include: by model, GPUs, their speed,
the GPU types that a job may use, as a table has them, and the number of machines, 0 if not known."""

_FIELD = "workload.measured_on"
_SCALED = ("duration_s", "compute_s", "storage_s", "cpu_s", "gpu_s")  # the network is no faster beside a GPU


def on_cluster_gpus(table: Table, source: JobSource, gpus: Gpus, where: str) -> Table:
    """Return the table with times on equal numbers of the cluster's default GPUs.

    Adds the columns measured_speed, of the default GPU, and measured_worth, of the GPUs that the counts hold
    for; both 1 for a CPU-only job, whose times do not change.

    Parameters
    ----------
    table
        Checked canonical table; its column measured_on, if any, overrides the source's parameter.
    source
        Origin of the table.
    gpus
        GPUs known to the run.
    where
        File, for messages.

    Raises
    ------
    InputError
        If the GPUs that times hold for are not known, or a job takes too long on the default GPUs.
    """
    uses = table["gpus"] > 0
    names = np.array(
        [name.strip() for name in table["measured_on"]] if "measured_on" in table else "", object
    )
    if "gpu_types" in table and source.parameters.measured_on == "cluster":
        names = np.where(names == "", _only_types(table["gpu_types"], gpus), names)
    codes, gpu_names = coded(np.where(uses, names, "cluster"))
    rows = [int(np.argmax(codes == code)) for code in range(len(gpu_names))]
    measured_on = [
        _named(name, f"{where}, {table.place(row)}, measured_on", gpus) if name else usual_gpu(source, gpus)
        for name, row in zip(gpu_names, rows, strict=True)
    ]
    if "" in gpu_names and source.parameters.measured_on == "cluster" and len(gpus.types) > 1:
        note = "durations are taken as measured on %s, of %s; see %s"
        _log.info(note, gpus.default.name, ", ".join(gpus.types), _FIELD, extra={"note": True})
    ratio = np.array([gpu.speed / gpus.default.speed for gpu in measured_on])[codes]
    columns: dict[str, Any] = {
        "measured_speed": np.where(uses, gpus.default.speed, 1.0),
        "measured_worth": np.where(uses, np.array([gpu.worth for gpu in measured_on])[codes], 1.0),
    }
    if (ratio != 1.0).any():
        columns |= {name: table[name] * ratio for name in _SCALED if name in table}
        columns[MEASURED_AT] = columns["measured_speed"] * ratio
    result = table.assign(**columns)
    fault, allowed = f"is too long on {gpus.default.name or 'these GPUs'}", f"up to {MAX_S:g} s"
    refuse(result, work_s(result) > MAX_S, where, "run time", fault, allowed, column="duration_s")
    return result


def _only_types(gpu_types: Column, gpus: Gpus) -> Column:
    """Return the first GPU type of each job that may not use the default GPU, else "", (n_jobs,)."""
    codes, lists = coded(gpu_types)
    split = [text.split("|") for text in lists]
    firsts = [[name for name in names if name in gpus.types][:1] for names in split]
    others = [gpus.default.name not in names for names in split]
    return np.array(
        ["".join(first) if other else "" for first, other in zip(firsts, others, strict=True)], object
    )[codes]


def on_cluster_share(table: Table, stretch: Stretch | None, price: Price | None = None) -> Table:
    """Return the table of `on_cluster_gpus`, models assigned, with the input rate of other GPUs unchanged.

    A run time on other GPUs is the longer of compute time there and input time of CPUs and memory; other GPUs
    change only the former. CPUs and memory, if not as asked for, are the share of the cluster's default
    machines, GPU for GPU (ASSUMPTION: traces name GPUs, not machines).

    Parameters
    ----------
    stretch
        None if jobs need no CPUs and memory.
    price
        None if run times include no communication.
    """
    if MEASURED_AT not in table:
        return table
    speed = table[MEASURED_AT]
    result = table.without(MEASURED_AT)
    if stretch is None and price is None:
        return result
    now, then = (stretched(table, one, stretch) + priced(table, one, price)
                 for one in (table["measured_speed"], speed))  # fmt: skip
    factor = now / then
    times = [name for name in ("duration_s", "compute_s") if name in table]
    return result.assign(**{name: table[name] * factor for name in times})


def stretched(table: Table, speed: Column, stretch: Stretch | None) -> np.ndarray:
    """Return run time / compute time on GPUs of some speed, without communication, (n_jobs,)."""
    if stretch is None:
        return np.ones(len(table))
    asked = zip(table["cpus"].tolist(), table["memory_bytes"].tolist(), strict=True)
    keys = list(zip(table["model"].tolist(), table["gpus"].tolist(), speed.tolist(), asked, strict=True))
    known = {key: stretch(*key) for key in dict.fromkeys(keys)}
    return np.array([known[key] for key in keys])


def priced(table: Table, speed: Column, price: Price | None) -> np.ndarray:
    """Return the exposed communication that run times include / compute time, (n_jobs,)."""
    if price is None:
        return np.zeros(len(table))
    types = table["gpu_types"] if "gpu_types" in table else np.full(len(table), "", object)
    nodes = table["nodes"] if "nodes" in table else np.full(len(table), np.nan)
    columns = (table["model"], table["gpus"], speed, types, np.nan_to_num(nodes))
    keys = list(zip(*(column.tolist() for column in columns), strict=True))
    known = {key: price(*key) if key[1] > 1 else 0.0 for key in dict.fromkeys(keys)}
    return np.array([known[key] for key in keys])


def log_requests(jobs: Sequence[JobSpec]) -> None:
    """Log the number of jobs that ask for no CPUs, if run times hold for the CPUs asked for."""
    asked = [demand.cpus for demand in field_of(jobs, "demand") if demand.gpus]
    if 0 in asked:
        note = "%d of %d GPU jobs ask for no CPUs: their run times hold for those in proportion to their GPUs"
        _log.info(note, asked.count(0), len(asked), extra={"note": True})


def usual_gpu(source: JobSource, gpus: Gpus) -> Gpu:
    """Return the GPU for which the times of a source hold unless its rows state one.

    Raises
    ------
    InputError
        If the source does not know the GPUs of its trace, or the type is unknown.
    """
    measured_on = source.parameters.measured_on
    if measured_on == "cluster":
        return gpus.default
    if isinstance(measured_on, float):
        return gpus.of_speed(measured_on)
    if measured_on != "trace":
        return gpus.find(measured_on)
    known = getattr(source, "trace_gpu", "")
    if not known:
        problem = f"{type(source).__name__} does not know the GPUs of its trace"
        allowed = "cluster, a GPU type such as V100, or a speed relative to H100"
        raise InputError(problem, where=_FIELD, found=measured_on, allowed=allowed)
    return gpus.find(known)


def _named(text: str, where: str, gpus: Gpus) -> Gpu:
    """Return the GPU that a row names."""
    if text == "cluster":
        return gpus.default
    try:
        speed = float(text)
    except ValueError:
        try:
            return gpus.find(text)
        except InputError as error:
            raise InputError(error.what, where=where, found=text, allowed=error.allowed) from None
    if not is_speed(speed):
        raise InputError("not a relative speed", where=where, found=text, allowed=f"{SPEEDS}, or a GPU type")
    return gpus.of_speed(speed)
