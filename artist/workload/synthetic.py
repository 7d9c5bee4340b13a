"""Jobs drawn from the published distributions of a production trace: the default, no download needed.

Drawn, each from its own child generator of the seed:

- GPUs of a job: the trace's probabilities, conditioned on [min_gpus, max_gpus].
- Duration: by inverting the quantile table of the job's size class, interpolated in log(seconds). A
  single lognormal misses the median of Venus by 60 %; a table is right everywhere.
- Where the trace names models: the model by the GPUs, and the time of all iterations by model, not by size.
- Arrivals: with a piecewise constant rate, hour of day x day of week, given the number of jobs: independent
  draws from the rate's density, sorted (Poisson), or in series of similar jobs, as in the trace
  (`artist.workload.series`). Series do not change the distributions over all jobs.

Durations are rounded to milliseconds, so that the last bit of log and exp, which differs between machines,
does not affect the simulator.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from artist.bad_input.records import Strict, validated
from artist.data import data_path
from artist.errors import InputError
from artist.randomness import child_generator
from artist.tables.rows import Table
from artist.units import MAX_S
from artist.workload.api import SourceParameters
from artist.workload.record_file import read_record
from artist.workload.series import Series, alone, levels, offsets_s, repeated, series_of
from artist.workload.table import check

Preset = Literal["helios_venus", "philly", "dally_batch", "dally_poisson", "muri", "acme_kalos"]
_GPU_OF: dict[Preset, str] = {
    "helios_venus": "V100",
    "acme_kalos": "A100",
}  # the other traces' GPUs are not published
_SPOKEN: dict[Preset, str] = {
    "dally_batch": "the batch of the Dally paper",
    "dally_poisson": "the Poisson arrivals of the Dally paper",
    "muri": "trace 3 of the Muri paper",
}  # others are named as their trace is
_HOUR_S = 3600.0
_DAY_S = 24 * _HOUR_S


class SizeClass(Strict):
    """Durations of the jobs with up to `max_gpus` GPUs: seconds at the table's quantiles."""

    max_gpus: PositiveInt | None
    jobs: PositiveInt
    duration_s: tuple[PositiveFloat, ...]


class ModelClass(Strict):
    """Jobs of one model: their share by number of GPUs, and GPU-seconds at the table's quantiles."""

    model: str
    share: dict[PositiveInt, PositiveFloat] = Field(min_length=1)
    gpu_seconds: tuple[PositiveFloat, ...]


class GeneratorTable(Strict):
    """The generator's table of a trace; the YAML files traces/generator_*.yaml.

    Attributes
    ----------
    source
        Origin of the numbers, licence and citation.
    jobs_per_day
        Mean rate of arrivals.
    gpu_probability
        Probability of each number of GPUs.
    quantiles
        Rising from 0 to 1.
    size_classes
        Durations, by rising number of GPUs; or
    models
        Seconds of a job's iterations on one GPU by model, where the trace names models.
    hour_rate, weekday_rate
        Relative rate of arrivals in each hour of the day, (24,), and on each day from Monday, (7,).
    series
        Properties of series; None if jobs do not come in series.
    """

    source: dict[str, str | int]
    jobs_per_day: PositiveFloat
    gpu_probability: dict[PositiveInt, PositiveFloat] = Field(min_length=1)
    quantiles: tuple[NonNegativeFloat, ...]
    size_classes: tuple[SizeClass, ...] = ()
    models: tuple[ModelClass, ...] = ()
    hour_rate: tuple[NonNegativeFloat, ...] = Field(min_length=24, max_length=24)
    weekday_rate: tuple[NonNegativeFloat, ...] = Field(min_length=7, max_length=7)
    series: Series | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        rising = all(a < b for a, b in pairwise(self.quantiles))
        if not rising or self.quantiles[0] != 0 or self.quantiles[-1] != 1:
            raise ValueError("quantiles must rise from 0 to 1")
        if (not self.size_classes) == (not self.models):
            raise ValueError("a table has size_classes or models")
        values = [part.duration_s for part in self.size_classes] + [part.gpu_seconds for part in self.models]
        if any(len(row) != len(self.quantiles) or list(row) != sorted(row) for row in values):
            raise ValueError("each size class or model needs one value for each quantile, not falling")
        if self.models and not set(self.gpu_probability) <= {g for part in self.models for g in part.share}:
            raise ValueError("some model must have a share of the jobs with each number of GPUs")
        bounds = [part.max_gpus or np.inf for part in self.size_classes] or [np.inf]
        if bounds != sorted(set(bounds)) or bounds[-1] != np.inf:
            raise ValueError("max_gpus of the size classes must rise and end with null, for any number")
        return self


class SyntheticTrace:
    """Jobs drawn from the distributions of a production trace (`preset`).

    Exactly one of `load`, `days` and `jobs_per_day` gives the length of the arrivals. `min_gpus` and
    `max_gpus` bound the draws, so `jobs` is always the number of jobs.
    """

    class Parameters(SourceParameters):
        """Parameters besides those of every source.

        Attributes
        ----------
        preset
            The trace to resemble: traces/generator_<preset>.yaml.
        jobs
            Number of jobs.
        load, load_gpus
            Span of the arrivals: that of the drawn work on `load_gpus` default GPUs that are busy for this
            fraction of the time; above 1 the queue grows. Another cluster size does not change the jobs.
        days, jobs_per_day
            Span of the arrivals in days, 0 for all at once; or by their mean rate.
        start_hour, start_weekday
            Hour (0 to 23) and day (0 = Monday) at which the arrivals begin.
        structure
            Jobs arrive in series, if the table has them (series), or independently (none: Poisson).
        work
            Of a table by model: the iterations are those of the job (per_job), or of one GPU, so that n GPUs
            take 1/n of the time (per_gpu).
        """

        preset: Preset = "helios_venus"
        jobs: int = Field(default=400, ge=1, le=10_000_000)
        load: PositiveFloat | None = None
        load_gpus: PositiveInt = 128
        days: NonNegativeFloat | None = None
        jobs_per_day: PositiveFloat | None = None
        start_hour: int = Field(default=9, ge=0, le=23)
        start_weekday: int = Field(default=0, ge=0, le=6)
        structure: Literal["series", "none"] = "series"
        work: Literal["per_job", "per_gpu"] = "per_job"

        @model_validator(mode="after")
        def _one_length(self) -> Self:
            rates = [name for name in ("load", "days", "jobs_per_day") if getattr(self, name) is not None]
            if len(rates) != 1:
                names = " and ".join(rates) or "none"
                raise ValueError(
                    f"give one of load, days and jobs_per_day, not {names}; set the others to null"
                )
            return self

    def __init__(self, **parameters: Any) -> None:
        self.parameters = validated(self.Parameters, parameters, "workload")
        path = data_path("traces", f"generator_{self.parameters.preset}.yaml")
        self.input_files: tuple[Path, ...] = (path,)
        self.trace_gpu = _GPU_OF.get(self.parameters.preset, "")

    def table(self) -> Table:
        """Return all jobs as a canonical table, in order of arrival."""
        return self.table_at(1.0)

    def describe(self) -> str:
        """Return the source of the jobs in a clause, for a report."""
        preset = self.parameters.preset
        return f"drawn jobs that resemble those of {_SPOKEN.get(preset, preset.replace('_', ' ').title())}"

    def table_at(self, relative_time: float) -> Table:
        """Return all jobs as `table` does, for GPUs on which they take `relative_time` of their run time."""
        chosen = self.parameters
        table = draw_jobs(read_generator_table(self.input_files[0]), chosen, relative_time)
        return check(table.counted(), f"workload=synthetic, {chosen.preset}")


def read_generator_table(path: Path) -> GeneratorTable:
    """Read and check a table of distributions.

    Raises
    ------
    InputError
        If the file cannot be read or is not such a table.
    """
    return read_record(path, GeneratorTable, "distributions")


def draw_jobs(known: GeneratorTable, chosen: SyntheticTrace.Parameters, relative_time: float = 1.0) -> Table:
    """Draw jobs of a table of distributions, in order of arrival: submit_s, gpus, duration_s and model.

    Parameters
    ----------
    relative_time
        Relative run time of the jobs on the GPUs that `load` refers to.
    """
    if chosen.work == "per_gpu" and not known.models:
        raise InputError(
            "no effect: run times of this preset were measured with all GPUs of a job",
            where="workload.work",
            found=chosen.work,
            allowed="per_job; per_gpu with dally_batch and dally_poisson",
        )
    series = known.series if chosen.structure == "series" else None
    arrivals = _random(chosen, "arrivals")
    member_of = series_of(series, arrivals.random(chosen.jobs))
    quantiles = [_quantiles(chosen, series, member_of, name) for name in ("gpus", "durations")]
    gpus = draw_gpus(known, quantiles[0], chosen.min_gpus, chosen.max_gpus)
    models = draw_models(known, gpus, _random(chosen, "models"))
    workers = gpus if chosen.work == "per_gpu" else np.ones_like(gpus)
    duration_s = draw_durations_s(known, gpus, models, quantiles[1], workers)
    span_s = _span_s(known, chosen, float(np.sum(gpus * duration_s)) * relative_time)
    start_s = chosen.start_weekday * _DAY_S + chosen.start_hour * _HOUR_S
    submit_s = draw_arrivals_s(known, series, member_of, start_s, span_s, arrivals)
    if series is not None:
        random = _random(chosen, "alone")
        own_s = draw_arrivals_s(known, None, np.arange(chosen.jobs), start_s, span_s, random)
        submit_s = np.where(alone(series, gpus * duration_s, random), random.permutation(own_s), submit_s)
    drawn = {"submit_s": submit_s, "gpus": gpus, "duration_s": duration_s, "model": models}
    return Table(drawn).by_arrival()


def _random(chosen: SyntheticTrace.Parameters, name: str) -> np.random.Generator:
    return child_generator(chosen.seed, f"synthetic.{name}")


def _quantiles(
    chosen: SyntheticTrace.Parameters, series: Series | None, member_of: np.ndarray, name: str
) -> np.ndarray:
    """Draw a quantile for each job, (n_jobs,); some jobs have that of their series."""
    draws = _random(chosen, name).random(len(member_of))
    if series is None:
        return draws
    chance = series.same_gpus if name == "gpus" else series.same_duration
    return repeated(draws, chance, member_of, _random(chosen, f"series.{name}"))


def _span_s(known: GeneratorTable, chosen: SyntheticTrace.Parameters, gpu_seconds: float) -> float:
    """Return the span of the arrivals, in seconds."""
    if chosen.load is not None:
        span_s = gpu_seconds / (chosen.load * chosen.load_gpus)
    elif chosen.days is not None:
        span_s = chosen.days * _DAY_S
    else:
        span_s = chosen.jobs / (chosen.jobs_per_day or known.jobs_per_day) * _DAY_S
    if not span_s <= MAX_S:
        allowed = f"arrivals within {MAX_S:g} s, by load, days or jobs_per_day"
        raise InputError("too long a time", where="workload", found=f"{span_s:g} s", allowed=allowed)
    return span_s


def draw_gpus(known: GeneratorTable, draws: np.ndarray, least: int | None, most: int | None) -> np.ndarray:
    """Return the GPUs of each job, (n_jobs,) int64, between `least` and `most` (None: no bound).

    Parameters
    ----------
    draws
        Quantiles, (n_jobs,).

    Raises
    ------
    InputError
        If the trace has no job within the bounds.
    """
    chances = {g: p for g, p in known.gpu_probability.items() if (least or 0) <= g <= (most or np.inf)}
    if not chances:
        allowed = ", ".join(map(str, known.gpu_probability))
        raise InputError(
            "no job has GPUs in this range", where="workload.min_gpus, max_gpus", allowed=allowed
        )
    weights = np.array(list(chances.values()))
    edges = np.cumsum(weights / weights.sum())
    picked: np.ndarray = np.array(list(chances))[np.searchsorted(edges / edges[-1], draws, side="right")]
    return picked


def draw_models(known: GeneratorTable, gpus: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Draw the model of each job, (n_jobs,) str, given its GPUs; empty if the trace names none."""
    names = np.full(len(gpus), "", dtype=object)
    draws = random.random(len(gpus))
    for count in np.unique(gpus) if known.models else ():
        shares = np.array([part.share.get(int(count), 0.0) for part in known.models])
        edges = np.cumsum(shares / shares.sum())
        at = gpus == count
        picked = np.searchsorted(edges, draws[at], side="right").clip(max=len(edges) - 1)
        names[at] = np.array([part.model for part in known.models], dtype=object)[picked]
    return names


def draw_durations_s(
    known: GeneratorTable, gpus: np.ndarray, models: np.ndarray, draws: np.ndarray, workers: np.ndarray
) -> np.ndarray:
    """Return the duration of each job, (n_jobs,), in seconds, given its GPUs, its model and its quantile.

    Parameters
    ----------
    workers
        GPUs that divide the iterations of a job of a table by model, (n_jobs,).
    """
    logs = np.empty(len(gpus))
    bounds = [part.max_gpus or np.inf for part in known.size_classes]
    for number, part in enumerate(known.size_classes):
        inside = np.searchsorted(bounds, gpus) == number
        logs[inside] = np.interp(draws[inside], known.quantiles, np.log(part.duration_s))
    for trained in known.models:
        inside = models == trained.model
        logs[inside] = np.interp(draws[inside], known.quantiles, np.log(trained.gpu_seconds))
        logs[inside] -= np.log(workers[inside])
    return np.round(np.exp(logs), 3)


def draw_arrivals_s(
    known: GeneratorTable,
    series: Series | None,
    member_of: np.ndarray,
    start_s: float,
    span_s: float,
    random: np.random.Generator,
) -> np.ndarray:
    """Draw arrivals within `span_s` seconds of the beginning, (n_jobs,), in seconds; sorted without series.

    Parameters
    ----------
    series, member_of
        Properties of series, and the number of each job's.
    start_s
        Beginning, in seconds after Monday 00:00.
    """
    if not span_s:
        return np.zeros(len(member_of))
    edges_s, expected = _expected_arrivals(known, series, start_s, span_s, random)
    at = np.sort(random.random(int(member_of[-1]) + 1))
    if series is not None:
        at = (at[member_of] + offsets_s(series, member_of, span_s, random) / span_s) % 1.0
    arrivals_s: np.ndarray = np.round(np.interp(at * expected[-1], expected, edges_s), 3)
    return arrivals_s


def _expected_arrivals(
    known: GeneratorTable, series: Series | None, start_s: float, span_s: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of the hours, (n,), and the relative number of arrivals expected by each, (n,)."""
    first_hour = int(start_s // _HOUR_S)
    hours = np.arange(first_hour, int((start_s + span_s) // _HOUR_S) + 1)
    rates = np.array(known.hour_rate)[hours % 24] * np.array(known.weekday_rate)[hours // 24 % 7]
    if series is not None:
        rates = rates * levels(series, len(hours), random)
    edges_s = np.clip(np.append(hours, hours[-1] + 1) * _HOUR_S - start_s, 0.0, span_s)
    expected = np.concatenate([[0.0], np.cumsum(rates * np.diff(edges_s))])
    if expected[-1] <= 0:
        raise InputError("no arrivals in this time", where="workload.start_hour", found=start_s / _HOUR_S)
    return edges_s, expected
