"""From the canonical table to frozen job specs."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from itertools import repeat
from typing import Any

import numpy as np

from artist.core.compact_jobs import UNKNOWN, CompactJobs, Site
from artist.core.job import Demand, JobSpec, Stages
from artist.errors import InputError
from artist.tables.rows import Table, coded
from artist.units import NS_PER_S
from artist.workload.fields import DERIVED, FIELDS, Field, Text
from artist.workload.measured import Price, Stretch, priced, stretched

_CPU_ITERATION_NS = NS_PER_S  # a CPU-only job has no profile: it advances in steps of about a second


def to_jobs(
    table: Table,
    profile_compute_ns: Callable[[str], int],
    stretch: Stretch | None = None,
    price: Price | None = None,
) -> CompactJobs:
    """Return the jobs sorted by arrival; jobs that arrive together keep the order of the table.

    A job with iterations and compute time is unchanged. With a duration only, iterations = max(1,
    round(duration x speed / profile compute)) and compute_ns = round(duration_ns / iterations), the speed
    being that of the GPUs that the duration holds for: the duration is kept, the profile sets the length of
    an iteration, and communication is added. With a duration and one of the two, the known one replaces the
    profile's. If input stalls jobs, these times are those with certain CPUs and memory
    (`performance.measured_with`), and compute_ns excludes the stall. An observed duration includes
    communication, in proportion to compute, and compute_ns is the rest: above 0 at any price, at least 1. It
    is rounded up, and the first iteration is shorter by the excess of all, so that the duration is exact.

    Parameters
    ----------
    table
        Checked canonical table (`artist.workload.table.check`), models assigned; without the columns of
        `artist.workload.measured.on_cluster_gpus`, of speed and worth 1.
    profile_compute_ns
        Compute time in ns of one iteration of a named model on the reference GPU.
    stretch
        Time as measured / compute time (`artist.workload.measured.Stretch`); None for 1.
    price
        Communication that durations include / compute time (`artist.workload.measured.Price`); None for 0.

    Raises
    ------
    InputError
        If a job that uses GPUs has no model, or one without a profile.
    """
    table = table.by_arrival()
    iterations, compute_ns, first_shorter_ns = _work(table, profile_compute_ns, stretch, price)
    submit_ns = np.rint(table["submit_s"] * NS_PER_S).astype(np.int64)
    site = _site(table)
    template, first = _templates(table)
    firsts, direct = table.take(first), [field for field in FIELDS if field.to and "." not in field.to]
    columns: dict[str, Iterable[Any]] = {
        "job_id": firsts["job_id"].tolist(),
        "submit_ns": submit_ns[first].tolist(),
        "iterations": iterations[first].tolist(),
        "compute_ns": compute_ns[first].tolist(),
        "demand": _records(firsts, "demand", lambda known: Demand(**known)),
        "stages": _records(firsts, "stages", lambda known: Stages(**known) if known else None),
        "delays_ns": _records(firsts, "delays_ns", lambda known: known or None),
        **{field.to: _values(firsts, field) for field in direct if field.name in firsts},
    }
    specs = map(JobSpec, *(columns.get(entry.name, repeat(entry.default)) for entry in fields(JobSpec)))
    work = iterations, compute_ns
    return CompactJobs(table["job_id"], submit_ns, *work, list(specs), template, site, first_shorter_ns)


def _site(table: Table) -> Site | None:
    """Return the real starts and ends; None if none is known."""
    if "started_s" not in table or np.isnan(table["started_s"]).all():
        return None
    ended_s = table["ended_s"] if "ended_s" in table else np.full(len(table), np.nan)
    times_ns = (np.rint(times_s * NS_PER_S) for times_s in (table["started_s"], ended_s))
    return Site(*(np.where(np.isnan(one), UNKNOWN, one).astype(np.int64) for one in times_ns))


def _templates(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the template of each job, (n_jobs,), and the first job of each template.

    Jobs of one template differ only in name, arrival, work and real start.
    """
    template = np.zeros(len(table), dtype=np.int64)
    for field in (*FIELDS, *DERIVED):
        if field.to and field.name in table and field.name != "started_s":
            codes, values = coded(table[field.name])
            if len(values) > 1:
                template, _ = coded(template * len(values) + codes)
    _, first, template = np.unique(template, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[template], first[order]


def _work(
    table: Table, profile_compute_ns: Callable[[str], int], stretch: Stretch | None, price: Price | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return iterations, compute_ns of one, and the time by which the first is shorter: (n_jobs,) int64."""
    iterations_read = table["iterations"]
    compute, duration = np.rint(table["compute_s"] * NS_PER_S), np.rint(table["duration_s"] * NS_PER_S)
    profiled = _profile_compute(table, profile_compute_ns)
    speed = _measured(table, "measured_speed")
    slower, sends = stretched(table, speed, stretch), priced(table, speed, price)
    whole = slower + sends
    grain = np.where(np.isnan(compute), profiled * whole, compute)
    rounded = np.maximum(1.0, np.rint(duration / np.maximum(grain, 1.0)))
    iterations = np.where(np.isnan(iterations_read), rounded, iterations_read)
    complete = ~np.isnan(iterations_read) & ~np.isnan(compute)
    compute_ns = np.rint(np.where(complete, compute / slower, duration / iterations / whole))
    work = iterations.astype(np.int64), np.maximum(compute_ns, 1.0).astype(np.int64)
    if price is None:
        return *work, None
    observed = np.where(complete, np.nan, duration)
    return _exact(*work, observed, slower - 1, sends, np.isnan(iterations_read))


def _exact(
    iterations: np.ndarray,
    compute_ns: np.ndarray,
    observed_ns: np.ndarray,
    stall: np.ndarray,
    sends: np.ndarray,
    free: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the results of `_work` for which jobs take the observed time, NaN for those without one.

    10 s in 3 iterations: of 3,333,333,334 ns, the first 2 ns shorter. A job whose iterations are so many and
    so short that the excess exceeds one is left as it is, or has fewer if their number is free.
    """
    known, observed = ~np.isnan(observed_ns), np.nan_to_num(observed_ns).astype(np.int64)

    def taken(compute: np.ndarray) -> np.ndarray:
        """Return the time of an iteration, whose parts are rounded one by one."""
        parts = np.floor(compute * stall + 0.5) + np.floor(compute * sends + 0.5)
        time_ns: np.ndarray = compute + parts.astype(np.int64)
        return time_ns

    compute = np.maximum(np.ceil(observed / iterations / (1 + stall + sends)), 1).astype(np.int64)
    compute += taken(compute) * iterations < observed
    iteration_ns = taken(compute)
    needed = np.maximum(-(-observed // iteration_ns), 1)
    exact = known & (free | (needed == iterations))
    shorter = np.where(exact, needed * iteration_ns - observed, 0)
    return np.where(exact, needed, iterations), np.where(exact, compute, compute_ns), shorter


def _profile_compute(table: Table, profile_compute_ns: Callable[[str], int]) -> np.ndarray:
    """Return the profiled compute time of each job, (n_jobs,) ns; unknown models are errors for all jobs."""
    codes, models = coded(table["model"])
    known = np.full(len(models), float(_CPU_ITERATION_NS))
    for code, model in enumerate(models):
        users = (codes == code) & (table["gpus"] > 0)
        if users.any():
            known[code] = _ask(str(model), table, int(np.argmax(users)), profile_compute_ns)
    on_gpus = known[codes] / _measured(table, "measured_speed")
    return np.where(table["gpus"] > 0, on_gpus, float(_CPU_ITERATION_NS))


def _measured(table: Table, column: str) -> np.ndarray:
    """Return a column of speeds or worths, (n_jobs,)."""
    return table[column] if column in table else np.ones(len(table))


def _ask(model: str, table: Table, position: int, profile_compute_ns: Callable[[str], int]) -> int:
    where = f"workload, {table.place(position)}, job {table['job_id'][position]}"
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


def _records(table: Table, owner: str, make: Callable[[dict[str, Any]], Any]) -> Iterable[Any]:
    """Return one record per job from the columns for `owner`; equal ones are one object."""
    known = (*FIELDS, *DERIVED)
    chosen = [field for field in known if field.to.startswith(f"{owner}.") and field.name in table]
    if not chosen:
        return repeat(None)
    names = [field.to.partition(".")[2] for field in chosen]
    known_records: dict[tuple[Any, ...], Any] = {}
    records = []
    for key in zip(*(_raw(table, field) for field in chosen), strict=True):
        if key not in known_records:
            values = zip(names, chosen, key, strict=True)
            known_records[key] = make({name: field.value(x) for name, field, x in values if x is not None})
        records.append(known_records[key])
    return records


def _values(table: Table, field: Field) -> list[Any]:
    """Return a column as values of jobs; None if a number is not known."""
    return [None if x is None else field.value(x) for x in _raw(table, field)]


def _raw(table: Table, field: Field) -> list[Any]:
    """Return a column as Python's values, times in ns; None if a number is not known."""
    column = table[field.name]
    if isinstance(field, Text) or not field.optional:
        return list(column.tolist())
    numbers = np.rint(column * NS_PER_S) if field.unit == "time" else column
    return [None if x != x else x for x in numbers.tolist()]
