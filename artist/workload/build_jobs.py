"""From the canonical table to frozen job specs."""

from collections.abc import Callable, Iterable
from itertools import repeat
from sys import intern

import numpy as np
import pandas as pd

from artist.core.job import Demand, JobSpec, Stages
from artist.errors import InputError
from artist.units import NS_PER_S
from artist.workload.table import STAGE_COLUMNS, row_name

_CPU_ITERATION_NS = NS_PER_S  # a CPU-only job has no profile: it advances in steps of about a second


def to_jobs(table: pd.DataFrame, profile_compute_ns: Callable[[str], int]) -> list[JobSpec]:
    """Return one spec a job, sorted by arrival, then job id.

    A job that gives iterations and compute time is taken as it is. With a duration only,
    iterations = max(1, round(duration x speed / profile compute)) and compute_ns = round(duration_ns /
    iterations), the speed being that of the GPUs that the duration holds for: the duration is kept, the
    profile sets the grain, and communication comes on top. With a duration and one of the two, the known one
    takes the place of the profile's.

    Parameters
    ----------
    table
        Checked canonical table (`artist.workload.table.check`), models assigned; without the columns of
        `artist.workload.measured.on_own_gpus`, of speed and worth 1.
    profile_compute_ns
        Compute time in ns of one iteration of a named model on the reference GPU.

    Raises
    ------
    InputError
        If a job that uses GPUs has no model, or one without a profile.
    """
    ordered = table.sort_values(["submit_s", "job_id"], kind="stable")
    iterations, compute_ns = _work(ordered, profile_compute_ns)
    return list(
        map(
            JobSpec,
            ordered["job_id"].tolist(),
            _to_ns(ordered["submit_s"]).tolist(),
            _demands(ordered),
            iterations.tolist(),
            compute_ns.tolist(),
            *(map(intern, ordered[name].tolist()) for name in ("model", "user", "vc")),
            repeat(None),  # delays_ns
            repeat(None),  # on_stop
            _one_of_equals(ordered["gpu_utilization"].tolist()),
            _stages(ordered),
            ordered["guaranteed"].astype(bool).tolist(),
        )
    )


def _work(table: pd.DataFrame, profile_compute_ns: Callable[[str], int]) -> tuple[np.ndarray, np.ndarray]:
    """Return iterations and compute_ns of one, both (n_jobs,) int64."""
    given = table["iterations"].to_numpy(float, na_value=np.nan)
    compute = np.rint(table["compute_s"].to_numpy(float) * NS_PER_S)
    duration = np.rint(table["duration_s"].to_numpy(float) * NS_PER_S)
    grain = np.where(np.isnan(compute), _profile_compute(table, profile_compute_ns), compute)
    rounded = np.maximum(1.0, np.rint(duration / np.maximum(grain, 1.0)))
    iterations = np.where(np.isnan(given), rounded, given)
    as_given = ~np.isnan(given) & ~np.isnan(compute)
    compute_ns = np.where(as_given, compute, np.rint(duration / iterations))
    return iterations.astype(np.int64), np.maximum(compute_ns, 1.0).astype(np.int64)


def _profile_compute(table: pd.DataFrame, profile_compute_ns: Callable[[str], int]) -> np.ndarray:
    """Ask once for each model; also for jobs that do not need the answer, so that none goes unknown."""
    codes, models = pd.factorize(table["model"])
    known = np.full(len(models), float(_CPU_ITERATION_NS))
    for code, model in enumerate(models):
        users = (codes == code) & (table["gpus"].to_numpy() > 0)
        if users.any():
            known[code] = _ask(str(model), table, int(np.argmax(users)), profile_compute_ns)
    on_gpus = known[codes] / _measured(table, "measured_speed")
    return np.where(table["gpus"].to_numpy() > 0, on_gpus, float(_CPU_ITERATION_NS))


def _measured(table: pd.DataFrame, column: str) -> np.ndarray:
    """Return a column of speeds or worths, (n_jobs,)."""
    return table[column].to_numpy(float) if column in table else np.ones(len(table))


def _ask(model: str, table: pd.DataFrame, position: int, profile_compute_ns: Callable[[str], int]) -> int:
    where = f"workload, {row_name(table, position)}, job {table['job_id'].iloc[position]}"
    if not model:
        raise InputError("no model", where=where, found=model, allowed="name one, or see workload.models")
    try:
        return profile_compute_ns(model)
    except InputError as error:
        raise InputError("unknown model", where=where, found=model, allowed=error.allowed) from error
    except KeyError as error:
        raise InputError(
            "unknown model", where=where, found=model, allowed="a model with a profile"
        ) from error


def _demands(table: pd.DataFrame) -> list[Demand]:
    """Return the demands; equal ones are one object, since a trace has few different ones."""
    known: dict[tuple[int, int, int, int, int, float, float], Demand] = {}
    demands = []
    columns = [table[name].tolist() for name in ("gpus", "min_gpus", "max_gpus", "cpus", "memory_bytes")]
    columns += [_measured(table, name).tolist() for name in ("measured_speed", "measured_worth")]
    for key in zip(*columns, strict=True):
        demand = known.get(key)
        if demand is None:
            gpus, min_gpus, max_gpus, cpus, memory_bytes, speed, worth = key
            demand = Demand(
                *(gpus, min_gpus, max_gpus),
                cpus=cpus,
                memory_bytes=memory_bytes,
                measured_speed=speed,
                measured_worth=worth,
            )
            known[key] = demand
        demands.append(demand)
    return demands


def _stages(table: pd.DataFrame) -> Iterable[Stages | None]:
    """Return the stages of each job, None where one of them is not known; equal ones are one object."""
    if STAGE_COLUMNS[0] not in table:
        return repeat(None)
    known: dict[tuple[float, ...], Stages] = {}
    stages: list[Stages | None] = []
    for row in (table[list(STAGE_COLUMNS)].to_numpy(float) * NS_PER_S).tolist():
        key = tuple(row)
        if any(np.isnan(row)):
            stages.append(None)
        else:
            stages.append(known.setdefault(key, Stages(*map(round, row))))
    return stages


def _one_of_equals(values: list[float]) -> Iterable[float]:
    """Return the values; equal ones are one object."""
    known: dict[float, float] = {}
    return map(known.setdefault, values, values)


def _to_ns(seconds: pd.Series) -> np.ndarray:
    whole: np.ndarray = np.rint(seconds.to_numpy(float) * NS_PER_S).astype(np.int64)
    return whole
