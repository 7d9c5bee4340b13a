"""Statistics of a workload: numbers of a canonical table of jobs, and its load on a cluster."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from artist.core.waiting import Floats, mean_in_use
from artist.describe.cpus import CpusAsked, cpus_asked
from artist.describe.gpu_types import TypeLoad
from artist.describe.structure import DAY_S, HOUR_S, TimeStructure, time_structure
from artist.describe.waits import RealWaits, real_waits
from artist.workload.arrivals import gpu_seconds, load_of
from artist.workload.table import work_s

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
UNNAMED = "(not named)"
_SIZES = ((0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 63), (64, math.inf))
_QUANTILES = (5, 25, 50, 75, 90, 95, 99)


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and quantiles of some times, in seconds; quantiles are linear, as in the results of a run."""

    mean: float
    quantiles: tuple[tuple[str, float], ...]

    def named(self) -> tuple[tuple[str, float], ...]:
        """Return all figures with their names."""
        return (("mean", self.mean), *self.quantiles)


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the jobs: their number, and fractions of all jobs and of all GPU time."""

    name: str
    jobs: int
    of_jobs: float
    of_gpu_time: float


@dataclass(frozen=True, slots=True)
class LoadSeries:
    """Load over time, both relative to the GPUs of the cluster.

    Attributes
    ----------
    edges_s
        Steps of time, (n_steps + 1,), from the first arrival to the last.
    arriving
        GPU time of the jobs that arrive in a step / GPU time of the cluster in it, (n_steps,). Its
        mean is the offered load.
    in_use
        GPUs in use if no job ever waited / GPUs, (n_steps,).
    """

    edges_s: Floats
    arriving: Floats
    in_use: Floats


@dataclass(frozen=True, slots=True)
class Description:
    """A workload in numbers.

    Attributes
    ----------
    name, case
        Name of the jobs; and of the cluster, if the same jobs are described for several.
    span_s
        From the first arrival to the last.
    users, vcs
        Different names; 0 if the trace has none.
    mean_gpus
        Of a job that uses GPUs; 0 if none does.
    load
        GPU time / (GPUs of the cluster x span), both in the cluster's own GPUs; infinite if all jobs arrive
        at once.
    machines_needed
        Machines of the cluster's size for the target load; None if all jobs arrive at once.
    first_date
        Of the first arrival; None if the trace has no dates. Hours then count from the first arrival.
    types
        By the GPU types that jobs name; empty if none names any.
    by_hour, by_hour_of_week
        Fraction of the jobs that arrive in each of the 24 or 168 hours (from Monday 0:00); the latter is
        empty without dates.
    durations_s, gpu_time_s
        Of each job that uses GPUs, (n_gpu_jobs,).
    waits
        Real waits; None if the trace has no starts.
    """

    name: str
    case: str
    jobs: int
    span_s: float
    users: int
    vcs: int
    mean_gpus: float
    max_gpus: int
    gpu_h: float
    cluster_gpus: int
    machines: int
    load: float
    target_load: float
    machines_needed: int | None
    sizes: tuple[Share, ...]
    models: tuple[Share, ...]
    duration_s: Spread
    interarrival_s: Spread | None
    structure: TimeStructure
    first_date: pd.Timestamp | None
    by_hour: tuple[float, ...]
    by_hour_of_week: tuple[float, ...]
    over_time: LoadSeries | None
    cpus: CpusAsked | None
    types: tuple[TypeLoad, ...]
    durations_s: Floats
    gpu_time_s: Floats
    waits: RealWaits | None

    @property
    def by_weekday(self) -> tuple[float, ...]:
        """Fraction of the jobs that arrive on each day of the week; empty without dates."""
        hours = self.by_hour_of_week
        return tuple(sum(hours[at : at + 24]) for at in range(0, len(hours), 24))


def describe(
    table: pd.DataFrame,
    name: str,
    *,
    cluster_gpus: int,
    machines: int,
    target_load: float,
    case: str = "",
    default_gpus: float | None = None,
    cluster_cpus: int = 0,
    types: tuple[TypeLoad, ...] = (),
) -> Description:
    """Return the description of a workload.

    Parameters
    ----------
    table
        Checked canonical table, the first arrival at 0 s, times on the cluster's own GPUs; models need not be
        assigned.
    name
        Name of the workload.
    cluster_gpus, cluster_cpus, machines
        The cluster; 0 CPUs if they are not known.
    target_load
        Load for which the machines are counted.
    case
        Name of this cluster among others for the same jobs; may be empty.
    default_gpus
        Number of the cluster's own GPUs with the speed of all `cluster_gpus`; None for equal.
    types
        By the GPU types that jobs name.
    """
    power = cluster_gpus if default_gpus is None else default_gpus
    gpus = table["gpus"].to_numpy(np.int64)
    gpu_time_s = gpus * work_s(table)
    span_s = float(table["submit_s"].max())
    hours, first_date = _hours(table)
    uses = gpus > 0
    gaps_s = np.diff(np.sort(table["submit_s"].to_numpy(float)))
    return Description(
        name=name,
        case=case,
        jobs=len(table),
        span_s=span_s,
        users=_names(table["user"]),
        vcs=_names(table["vc"]),
        mean_gpus=float(gpus[uses].mean()) if uses.any() else 0.0,
        max_gpus=int(gpus.max()),
        gpu_h=gpu_seconds(table) / HOUR_S,
        cluster_gpus=cluster_gpus,
        machines=machines,
        load=load_of(table, power),
        target_load=target_load,
        machines_needed=_machines(gpu_seconds(table), span_s, power / machines, target_load),
        sizes=_sizes(gpus, gpu_time_s),
        models=_models(table["model"], gpu_time_s),
        duration_s=spread(work_s(table)),
        interarrival_s=spread(gaps_s) if len(gaps_s) else None,
        structure=time_structure(table),
        first_date=first_date,
        by_hour=_fractions(hours % 24, 24),
        by_hour_of_week=() if first_date is None else _fractions(hours % 168, 168),
        over_time=_over_time(table, gpu_time_s, power),
        types=types,
        cpus=cpus_asked(table, cluster_cpus, span_s),
        durations_s=work_s(table)[uses],
        gpu_time_s=gpu_time_s[uses],
        waits=real_waits(table),
    )


def spread(times_s: Floats) -> Spread:
    """Return mean and quantiles of some times, (n,)."""
    figures = np.percentile(times_s, [*_QUANTILES, 100])
    names = [*(f"p{percentile}" for percentile in _QUANTILES), "max"]
    return Spread(float(times_s.mean()), tuple(zip(names, map(float, figures), strict=True)))


def _machines(gpu_s: float, span_s: float, machine_gpus: float, load: float) -> int | None:
    return max(1, math.ceil(gpu_s / (load * span_s * machine_gpus) - 1e-9)) if span_s else None


def _names(column: pd.Series) -> int:
    return len(set(column) - {""})


def _hours(table: pd.DataFrame) -> tuple[Floats, pd.Timestamp | None]:
    """Return the hour of each arrival, from a Monday at 0:00, and the first date; else from the first one.

    Dates count only while jobs arrive as in the trace.
    """
    submit_s = table["submit_s"].to_numpy(float)
    if "submit_date" in table:
        dates = table["submit_date"]
        first = dates.min()
        since_s = (dates - first).dt.total_seconds().to_numpy(float)
        if np.allclose(since_s, submit_s, rtol=0, atol=1.0):
            monday = first.normalize() - pd.Timedelta(days=first.weekday())
            hours = np.floor((dates - monday).dt.total_seconds().to_numpy(float) / HOUR_S)
            return hours.astype(np.int64), first
    return np.floor(submit_s / HOUR_S).astype(np.int64), None


def _fractions(places: Floats, count: int) -> tuple[float, ...]:
    numbers = np.bincount(places, minlength=count) / len(places)
    return tuple(map(float, numbers))


def _sizes(gpus: Floats, gpu_time_s: Floats) -> tuple[Share, ...]:
    shares = []
    for least, most in _SIZES:
        name = f"{least}+" if most == math.inf else f"{least}" if least == most else f"{least}-{most}"
        shares.append(_share(name, (gpus >= least) & (gpus <= most), gpu_time_s))
    return tuple(shares)


def _models(models: pd.Series, gpu_time_s: Floats) -> tuple[Share, ...]:
    """Return the share of each model, most GPU time first."""
    codes, names = pd.factorize(models)
    shares = [_share(str(name) or UNNAMED, codes == code, gpu_time_s) for code, name in enumerate(names)]
    return tuple(sorted(shares, key=lambda share: (-share.of_gpu_time, share.name)))


def _share(name: str, chosen: Floats, gpu_time_s: Floats) -> Share:
    total = float(gpu_time_s.sum())
    of_time = float(gpu_time_s[chosen].sum()) / total if total else 0.0
    return Share(name, int(chosen.sum()), float(chosen.mean()), of_time)


def _over_time(table: pd.DataFrame, gpu_time_s: Floats, cluster_gpus: float) -> LoadSeries | None:
    submit_s = table["submit_s"].to_numpy(float)
    span_s = float(submit_s.max())
    if not span_s:
        return None
    step_s = DAY_S if span_s >= 4 * DAY_S else HOUR_S if span_s >= 4 * HOUR_S else span_s / 12
    edges_s = np.append(np.arange(0.0, span_s * (1 - 1e-12), step_s), span_s)
    if len(edges_s) > 2 and edges_s[-1] - edges_s[-2] < step_s / 2:
        edges_s = np.delete(edges_s, -2)  # a short last step would stand for little time
    arriving, _ = np.histogram(submit_s, edges_s, weights=gpu_time_s)
    in_use = mean_in_use(submit_s, submit_s + work_s(table), table["gpus"].to_numpy(float), edges_s)
    return LoadSeries(edges_s, arriving / np.diff(edges_s) / cluster_gpus, in_use / cluster_gpus)
