"""The one way from a source of jobs to job specs: read, check, select, name models, arrive, build."""

import logging
from collections.abc import Callable

import numpy as np

from artist.core.arrays import Ints
from artist.core.compact_jobs import CompactJobs
from artist.core.gpus import Gpus
from artist.tables.rows import Table
from artist.workload.api import Arrivals, FileParameters, Generator, JobSource, observed
from artist.workload.arrivals import Rule, TraceArrivals
from artist.workload.build_jobs import to_jobs
from artist.workload.filters import select
from artist.workload.gpu_types import check_types, on_cluster_types
from artist.workload.limits import with_limits
from artist.workload.measured import Price, Stretch, on_cluster_gpus, on_cluster_share, usual_gpu
from artist.workload.models import ModelRule, assign_models
from artist.workload.plans import StepTime, check_models, with_plans
from artist.workload.table import check, work_s
from artist.workload.units import with_units

_log = logging.getLogger(__name__)
_UNTIMED = (
    "%d of %d jobs have iterations of a plan and no duration: a step takes the model's time, off by 5 %% "
    "(dense) or 13 %% (experts) in the median of measured runs, by 18 or 43 %% for one in ten "
    "(docs/network_model.md)"
)


def read_table(source: JobSource, gpus: Gpus) -> Table:
    """Return the canonical table of the jobs to take, with times on the cluster's default GPUs.

    Parameters
    ----------
    source
        Trace reader or generator.
    gpus
        The cluster's default GPU, and others by name.

    Raises
    ------
    InputError
        If the source is invalid, no job is left, or the GPUs that times hold for are not known.
    """
    where = origin(source)
    if isinstance(source, Generator):
        table = source.table_at(usual_gpu(source, gpus).speed / gpus.default.speed)
    else:
        table = source.table()
    table = check(table, where)  # each table replaces the one before: a million jobs fill them
    table = select(table, source.parameters, observed(source))
    table = on_cluster_types(table, source, gpus, where)
    return on_cluster_gpus(table, source, gpus, where)


def origin(source: JobSource) -> str:
    """Return the files of a source, or its class if it has none, for messages."""
    return ", ".join(map(str, source.input_files)) or type(source).__name__


def load_table(
    source: JobSource,
    arrivals: Arrivals,
    cluster_gpus: float,
    gpus: Gpus,
    stretch: Stretch | None = None,
    price: Price | None = None,
    max_machines: Callable[[Ints], Ints] | None = None,
    machine_gpus: int = 0,
    table: Table | None = None,
    step_time: StepTime | None = None,
) -> Table:
    """Return the canonical table of the jobs to simulate, in order of arrival.

    Parameters
    ----------
    source, gpus
        As for `read_table`.
    arrivals
        Rule for the arrivals.
    cluster_gpus
        Number of default GPUs with the compute of the whole cluster, for arrivals with a target load.
    stretch
        Time as measured / compute time (`artist.workload.measured.Stretch`); None for 1.
    price
        Communication that run times include (`artist.workload.measured.Price`); None for none.
    max_machines
        Returns the maximum number of machines of jobs by their GPUs, where the trace has none; 0 for any.
    machine_gpus
        GPUs of a machine, for units.
    table
        Of `read_table`, if it was read before.
    step_time
        As for `artist.workload.plans.with_plans`; None if no job has a plan.

    Raises
    ------
    InputError
        As `read_table`; and if the cluster lacks the GPU types of a job.
    """
    table = _on_machines(read_table(source, gpus) if table is None else table, max_machines)
    check_types(table, source, gpus, origin(source))
    if isinstance(source.parameters, FileParameters):
        _log_drawn_models(table, source.parameters.models, source.parameters.seed)
    check_models(table, origin(source))
    table = assign_models(table, source.parameters.models, source.parameters.seed)
    unit, segment = source.parameters.unit, source.parameters.segment
    table = with_units(table, unit, segment, machine_gpus)
    if step_time is not None:
        in_units, untimed = unit == segment == "none", int(np.isnan(work_s(table)).sum())
        settings = dir(source.parameters) if isinstance(source, Generator) else ()
        table = with_plans(table, origin(source), machine_gpus, step_time, settings, in_units=in_units)
        if untimed:
            _log.info(_UNTIMED, untimed, len(table), extra={"note": True})
    table = on_cluster_share(with_limits(table, source.parameters.limits), stretch, price)
    return arrived(table, arrivals, cluster_gpus)


def _on_machines(table: Table, max_machines: Callable[[Ints], Ints] | None) -> Table:
    """Return the table with `max_machines` also of the jobs for which the trace has none."""
    if max_machines is None:
        return table
    known = table["max_machines"] if "max_machines" in table else np.zeros(len(table), dtype=np.int64)
    most = max_machines(np.maximum(table["gpus"], table["max_gpus"]))
    return table.assign(max_machines=np.where(known > 0, known, most))


def arrived(table: Table, arrivals: Arrivals, cluster_gpus: float) -> Table:
    """Return the table with the arrivals of a rule; a user's own rule sees it in pandas.

    Real starts are kept where arrivals are those of the trace.
    """
    if not isinstance(arrivals, TraceArrivals):
        table = table.without("started_s").without("ended_s")
    if isinstance(arrivals, Rule):
        return arrivals.apply(table, cluster_gpus)
    return Table.of(arrivals.apply(table.frame(), cluster_gpus))


def _log_drawn_models(table: Table, rule: ModelRule, seed: int) -> None:
    """Log a note if models are drawn for jobs of a trace, on which all results depend."""
    unnamed = int(((table["model"] == "") & (table["gpus"] > 0)).sum())
    if unnamed and rule.rule != "fixed":
        models = list(dict.fromkeys(name for part in rule.ranges() for name in part.weights))
        _log.info(
            "models drawn for %d of %d jobs, which name none: %s over %s, seed %d; seeds vary only these; "
            "see workload.models",
            unnamed,
            len(table),
            rule.rule,
            ", ".join(models),
            seed,
            extra={"note": True},
        )


def load_jobs(
    source: JobSource,
    arrivals: Arrivals,
    cluster_gpus: float,
    profile_compute_ns: Callable[[str], int],
    gpus: Gpus,
    stretch: Stretch | None = None,
    price: Price | None = None,
    max_machines: Callable[[Ints], Ints] | None = None,
    machine_gpus: int = 0,
    table: Table | None = None,
    step_time: StepTime | None = None,
) -> CompactJobs:
    """Return the jobs to simulate, sorted by arrival; jobs that arrive together keep the order of the trace.

    Parameters
    ----------
    source, arrivals, cluster_gpus, gpus
        As for `load_table`.
    profile_compute_ns
        Compute time in ns of one iteration of a named model on the reference GPU.
    stretch, price, max_machines, machine_gpus, table, step_time
        As for `load_table`.

    Raises
    ------
    InputError
        As `load_table`; and if a model has no profile.
    """
    more = stretch, price, max_machines, machine_gpus, table, step_time
    table = load_table(source, arrivals, cluster_gpus, gpus, *more)
    return to_jobs(table, profile_compute_ns, stretch, price)
