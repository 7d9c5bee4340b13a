"""Jobs that train language models by a plan of parallelism: plan, batch, sequence and precision.

The model of such a job becomes the name of the model with its plan, such as `Llama3-70B tp8 pp4 gb256`, which
names its network profile as another model's name does: jobs of one model with two plans are jobs of two
models to all that follows. Its GPUs come in units on each machine (`Demand.unit`): its tensor-parallel
groups, with their context-parallel ones where a machine holds these, too. A group larger than a machine takes
whole machines of one rack (`Demand.segment`). Elastic jobs grow and shrink by whole replicas.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from artist.errors import InputError
from artist.tables.rows import Table, coded
from artist.workload.table import refuse, work_s

if TYPE_CHECKING:  # most runs do without
    from netmodels.api import Plan

_SETTINGS = ("batch", "sequence", "precision")
_SIZES = ("step", "unit", "segment")
_GROUPS = ("pipeline_stages", "replica_gpus")
_DEMAND = ("gpus", "min_gpus", "max_gpus", "fungible", "mixed_types", "gpu_types", *_SIZES)

StepTime = Callable[[str, int, str], float]
"""Time in s of a step on a free network: by model with plan, GPUs, and the GPU types that a job may use.

On the cluster's default GPUs. Raises InputError for what cannot be simulated.
"""


class _Planned(NamedTuple):
    """Values of jobs that have one plan and one demand."""

    model: str
    step: int
    unit: int
    segment: int
    pipeline_stages: int
    replica_gpus: int
    step_s: float


def check_models(table: Table, where: str) -> None:
    """Raise InputError for the first job with a plan, but no model, before any is drawn for it."""
    refuse(table, _stated(table) & (table["model"] == ""), where, "model", "is missing", "that of the plan")


def _stated(table: Table) -> np.ndarray:
    """Return whether a GPU job has a plan or a part of one, (n_jobs,) bool."""
    stated = np.zeros(len(table), dtype=bool)
    for name in ("plan", *_SETTINGS):
        if name in table:
            stated |= table[name] != "" if table[name].dtype == object else ~np.isnan(table[name])
    return stated & (table["gpus"] > 0)


def with_plans(
    table: Table,
    where: str,
    machine_gpus: int,
    step_time: StepTime,
    settings: Collection[str] = (),
    *,
    in_units: bool = True,
) -> Table:
    """Return the table with models named with their plans, and with the iterations and units of these.

    An iteration of a job with a duration alone takes the time of a step, as a profile's of other jobs. So
    does one of a job with iterations alone: its run time is the model's (errors: docs/network_model.md).
    Units, segments and steps that the table states are kept.

    Parameters
    ----------
    table
        Checked canonical table, models assigned.
    where
        File, for messages.
    machine_gpus
        GPUs of the largest machine.
    step_time
        Checks a plan further, and returns the time of its step.
    settings
        Settings of the workload that give a column of their name to all jobs.
    in_units
        Whether plans determine units and segments of jobs for which the table has none.

    Raises
    ------
    InputError
        For the first row whose plan cannot be: with file, row, the value found and the allowed values.
    """
    stated = _stated(table)
    codes, models = coded(table["model"])
    stated |= np.array([_is_language_model(model) for model in models])[codes]
    rows = np.flatnonzero(stated & (table["gpus"] > 0)).tolist()
    if not rows:
        return table
    names = [name for name in ("model", "plan", *_SETTINGS, *_DEMAND) if name in table]
    keys = list(zip(*(table[name].tolist() for name in names), strict=True))
    known: dict[tuple[Any, ...], _Planned] = {}
    for row in rows:
        if keys[row] not in known:
            try:
                known[keys[row]] = _planned(dict(zip(names, keys[row], strict=True)), machine_gpus, step_time)
            except InputError as error:
                job, setting = f"job {table['job_id'][row]}", f"workload.{error.where}"
                drawn = error.where in settings
                place = f"{setting}, {job}" if drawn else f"{where}, {table.place(row)}, {job}, {error.where}"
                allowed = f"{setting}={error.allowed}" if drawn else error.allowed
                raise InputError(error.what, where=place, found=error.found, allowed=allowed) from None
    of_rows = [known[keys[row]] for row in rows]
    sized = (*(_SIZES if in_units else ("step",)), *_GROUPS)
    model, compute_s = table["model"].copy(), table["compute_s"].copy()
    model[rows] = np.array([one.model for one in of_rows], dtype=object)
    without = np.isnan(table["iterations"][rows]) | np.isnan(table["duration_s"][rows])  # one of the two
    alone = np.isnan(compute_s[rows]) & without
    compute_s[rows] = np.where(alone, [one.step_s for one in of_rows], compute_s[rows])
    sizes = {}
    for name in sized:
        usual = np.full(len(table), name not in _GROUPS, dtype=np.int64)  # 0 groups, else units of 1
        sizes[name] = table[name].copy() if name in table else usual
        sizes[name][rows] = [getattr(one, name) for one in of_rows]
    return table.assign(model=model, compute_s=compute_s, **sizes)


def check_times(table: Table, where: str) -> None:
    """Raise InputError for the first job whose run time is that of a plan which was not priced."""
    fits = "a duration: only a run prices the steps of a plan"
    refuse(table, np.isnan(work_s(table)), where, "duration_s", "is missing", fits)


def _is_language_model(name: str) -> bool:
    """Return whether a model has no profile but that by a plan."""
    from netmodels.api import get_profile, is_architecture

    try:
        get_profile(name)
    except InputError:
        return is_architecture(name)
    return False


def _planned(row: dict[str, Any], machine_gpus: int, step_time: StepTime) -> _Planned:
    """Return the values of a row.

    Raises
    ------
    InputError
        If its plan cannot be; names the column.
    """
    from netmodels.api import Plan, get_architecture

    architecture = get_architecture(row["model"])
    plan = Plan.parse(row.get("plan", ""), **{name: _setting(row.get(name)) for name in _SETTINGS})
    gpus, least, most, step = row["gpus"], row["min_gpus"], row["max_gpus"], row.get("step", 1)
    if most and step == 1:
        step = plan.replica
    if most and any(size % plan.replica for size in (gpus, least, step)):
        found = f"{least} to {most} GPUs by {step}, {gpus} asked for"
        allowed = f"multiples of {plan.replica} GPUs, one replica"
        raise InputError("not whole replicas", where="min_gpus, step", found=found, allowed=allowed)
    if row.get("fungible"):
        raise InputError("a fungible job with a plan", where="fungible", found=1, allowed="0: whole replicas")
    if row.get("mixed_types") and plan.replica > 1:
        allowed = "0: the GPUs of a replica are of one type"
        raise InputError("mixed GPU types in a replica", where="mixed_types", found=1, allowed=allowed)
    for size in range(least, most + 1, step) if most else (gpus,):
        plan.check(architecture, size)
    if plan.is_data_parallel and plan.batch:  # any number of GPUs has its part of the batch
        plan = replace(plan, micro_batch=plan.batch // gpus, batch=0)
    name, gpu_types = f"{architecture.name} {plan}".strip(), row.get("gpu_types", "")
    steps_s = {size: step_time(name, size, gpu_types) for size in (gpus, least or gpus)}
    unit, segment = units_of(plan, machine_gpus)
    if (stated := (row.get("unit", 1), row.get("segment", 1))) != (1, 1):
        unit, segment = stated
    return _Planned(name, step, unit, segment, plan.pp, plan.replica, steps_s[gpus])


def _setting(value: Any) -> Any:
    """Return a value of a row for `Plan.parse`; None if it has none."""
    if value is None or value != value or value == "":
        return None
    return value.lower() if isinstance(value, str) else int(value)


def units_of(plan: "Plan", machine_gpus: int) -> tuple[int, int]:
    """Return the unit and the segment of a plan's GPUs, on machines of some GPUs."""
    if plan.unit > machine_gpus:
        return gcd(plan.unit, machine_gpus), plan.unit
    together = plan.unit * plan.cp
    return together if together <= machine_gpus else plan.unit, 1
