"""Jobs like those of the Lyra paper's production trace, which is not public (section 7.1).

- Run times are quantiles of a table, one from each of n_jobs equal parts: all seeds have its percentiles.
- GPUs are drawn by class of run time, in equal proportions throughout a class. Some of the long jobs, whose
  GPUs are drawn from a separate table, are the elastic ones. No job asks for more than a 16th of a small
  cluster, or a machine, because all others would wait behind one job of half the cluster.
- Short jobs, and all others, arrive at random at the rate of their hour and weekday. The work of the others
  is spread evenly over their arrivals: with random draws, jobs of a few days would wait many times as long.
- Their hourly rates are raised to a power, computed by bisection, at which a strict FIFO queue has the given
  mean waiting time. So a cluster of any size fills up every day and empties at night.

The figures are in traces/generator_lyra.yaml; docs/drawn_jobs.md compares them with the published ones.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from artist.bad_input.records import Strict, validated
from artist.data import data_path
from artist.errors import InputError
from artist.randomness import child_generator
from artist.tables.rows import Table, joined
from artist.workload.api import SourceParameters
from artist.workload.draws import DAY_S, at_rates, dealt, even, picked
from artist.workload.job_types import TRAINING_GPU, bounds_of, draw, draw_elastic
from artist.workload.models import ModelRule
from artist.workload.queueing import MACHINE_GPUS, fifo_waits_s, steer
from artist.workload.record_file import read_record
from artist.workload.table import check

_log = logging.getLogger(__name__)
_MODELS = (
    *("ResNet18", "ResNet50", "VGG11", "VGG16", "MobileNetV2"),
    *("BERT-large", "Transformer", "GNMT", "LSTM", "DeepSpeech"),
)
_MAX_SHARPNESS = 4.0
_MAX_FRACTION = 16  # no job asks for more than the cluster divided by this, or a machine
_MISSED = 0.1  # a mean waiting time this far from the requested one counts as missed


class RunTimeClass(Strict):
    """Jobs up to a quantile of run time: share of elastic ones, and shares of GPU counts of the others."""

    until: float = Field(gt=0, le=1)
    elastic: float = Field(default=0, ge=0, le=1)
    gpus: dict[PositiveInt, PositiveFloat] = Field(min_length=1)


class LyraTable(Strict):
    """The generator's table of a trace; the YAML files traces/generator_lyra*.yaml.

    Attributes
    ----------
    source
        Origin of the numbers.
    jobs, days, training_gpus
        Number of jobs in `days` days on `training_gpus` GPUs.
    queueing_s
        Target of the mean waiting time in a strict FIFO queue.
    start_weekday
        Day on which the trace begins, at midnight; 0 = Monday.
    quantiles, run_time_s
        Run times at quantiles that rise from 0 to 1.
    classes
        Classes of jobs by rising run time; jobs of the first are short.
    elastic_gpus, elastic_models
        Shares of GPUs, and models of equal shares, of elastic jobs.
    short_hour_rate, long_hour_rate, weekday_rate
        Relative rate of arrivals in each hour of the day, (24,), of the short jobs and the others; and on
        each day from Monday, (7,).
    """

    source: dict[str, str | int]
    jobs: PositiveInt
    days: PositiveFloat
    training_gpus: PositiveInt
    queueing_s: PositiveFloat
    start_weekday: int = Field(ge=0, le=6)
    quantiles: tuple[NonNegativeFloat, ...]
    run_time_s: tuple[PositiveFloat, ...]
    classes: tuple[RunTimeClass, ...] = Field(min_length=1)
    elastic_gpus: dict[PositiveInt, PositiveFloat] = Field(min_length=1)
    elastic_models: tuple[str, ...] = Field(min_length=1)
    short_hour_rate: tuple[PositiveFloat, ...] = Field(min_length=24, max_length=24)
    long_hour_rate: tuple[PositiveFloat, ...] = Field(min_length=24, max_length=24)
    weekday_rate: tuple[PositiveFloat, ...] = Field(min_length=7, max_length=7)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        until = [part.until for part in self.classes]
        for name, rising, last in (("quantiles", self.quantiles, 1), ("until", until, 1)):
            if list(rising) != sorted(set(rising)) or rising[-1] != last:
                raise ValueError(f"{name} must rise to 1")
        if len(self.quantiles) != len(self.run_time_s) or list(self.run_time_s) != sorted(self.run_time_s):
            raise ValueError("run_time_s needs one value for each quantile, not falling")
        return self


class Drawn(NamedTuple):
    """Jobs by rising run time, each (n_jobs,): seconds, GPUs, flags of short and of likely elastic jobs."""

    run_time_s: np.ndarray
    gpus: np.ndarray
    short: np.ndarray
    elastic: np.ndarray


class LyraTrace:
    """Jobs like those of the Lyra paper's trace, with the job types of its scenarios."""

    class Parameters(SourceParameters):
        """Parameters besides those of every source.

        Attributes
        ----------
        preset
            The trace to resemble: traces/generator_<preset>.yaml.
        training_gpus
            GPUs of the cluster that the jobs load as in the trace.
        days
            Length of the arrivals.
        jobs
            Number of jobs; None for the trace's number per GPU and day.
        queueing_s
            Mean waiting time in a strict FIFO queue: `preset` for the table's or, with a note, the nearest
            that is possible; seconds, refused if impossible; None for the result of the rates.
        elastic
            Share of elastic jobs; None for the table's: 5 % of the jobs, large ones, 36 % of the GPU time.
        elastic_range
            Fewest and most GPUs of an elastic job, relative to its demand.
        elastic_worker_gpus, worker_gpus
            GPUs of a worker of an elastic job, and of any other; a job that asks for fewer has one worker.
        elastic_on_loan
            True if all elastic jobs accept either GPU type.
        fungible, fungible_by
            Share of the jobs, or of the GPU time (load), that accepts either GPU type.
        heterogeneous
            Share of the jobs that accepts either GPU type, and both at once.
        checkpointing
            Share of the jobs that lose nothing by a stop.
        bootstrap, bootstrap_days
            Number of a resampled trace, and its days, drawn from all days with replacement (section 7.2);
            None for the days in order.
        """

        preset: Literal["lyra", "lyra_testbed"] = "lyra"
        training_gpus: int = Field(default=3544, ge=MACHINE_GPUS)
        days: PositiveFloat = 15
        jobs: int | None = Field(default=None, ge=1, le=10_000_000)
        queueing_s: PositiveFloat | Literal["preset"] | None = "preset"
        elastic: float | None = Field(default=None, ge=0, le=1)
        elastic_range: tuple[float, float] = (1.0, 2.0)
        elastic_worker_gpus: int = Field(default=2, ge=1, le=MACHINE_GPUS)
        worker_gpus: int = Field(default=8, ge=1, le=MACHINE_GPUS)
        elastic_on_loan: bool = True
        fungible: float = Field(default=0.21, ge=0, le=1)
        fungible_by: Literal["jobs", "load"] = "jobs"
        heterogeneous: float = Field(default=0, ge=0, le=1)
        checkpointing: float = Field(default=0, ge=0, le=1)
        bootstrap: int | None = Field(default=None, ge=0)
        bootstrap_days: PositiveInt = 10
        models: ModelRule = ModelRule(names=_MODELS)

        @model_validator(mode="after")
        def _has_bounds(self) -> Self:
            least, most = self.elastic_range
            if not 0.001 <= least <= 1 <= most <= 1000:
                raise ValueError("elastic_range is [least, most] with 0.001 <= least <= 1 <= most <= 1000")
            return self

    def __init__(self, **parameters: Any) -> None:
        self.parameters = validated(self.Parameters, parameters, "workload")
        path = data_path("traces", f"generator_{self.parameters.preset}.yaml")
        self.input_files: tuple[Path, ...] = (path,)
        self.trace_gpu = TRAINING_GPU

    def describe(self) -> str:
        """Return the source of the jobs in a clause, for a report."""
        return "jobs drawn as in the Lyra paper"

    def table(self) -> Table:
        """Return all jobs as a canonical table, in order of arrival.

        Raises
        ------
        InputError
            If no arrivals have the given mean waiting time.
        """
        chosen = self.parameters
        known = read_lyra_table(self.input_files[0])
        drawn = draw_jobs(known, chosen)
        table = _with_types(known, chosen, drawn)
        worker_gpus = _worker_gpus(chosen, drawn.gpus, drawn.elastic)
        table = table.assign(submit_s=draw_arrivals_s(known, chosen, drawn, worker_gpus))
        if chosen.bootstrap is not None:
            random = child_generator(chosen.seed, f"lyra.bootstrap.{chosen.bootstrap}")
            days = random.integers(max(1, int(chosen.days)), size=chosen.bootstrap_days)
            table = days_of(table, days.tolist())
        return check(table.counted(), f"workload={chosen.preset}")


def read_lyra_table(path: Path) -> LyraTable:
    """Read and check a table of distributions."""
    return read_record(path, LyraTable, "distributions")


def draw_jobs(known: LyraTable, chosen: LyraTrace.Parameters) -> Drawn:
    """Draw run times and GPUs, and the jobs that are likely elastic."""
    n_jobs = chosen.jobs or round(
        known.jobs * chosen.training_gpus / known.training_gpus * chosen.days / known.days
    )
    at = even(n_jobs, child_generator(chosen.seed, "lyra.run_times"), shuffled=False)
    logs = np.interp(at, known.quantiles, np.log(known.run_time_s))
    random = child_generator(chosen.seed, "lyra.gpus")
    elastic, gpus = np.zeros(n_jobs, dtype=bool), np.zeros(n_jobs, dtype=np.int64)
    max_gpus = MACHINE_GPUS * max(1, chosen.training_gpus // MACHINE_GPUS // _MAX_FRACTION)
    class_of = np.searchsorted([part.until for part in known.classes], at, side="right")
    for number, part in enumerate(known.classes):
        inside = np.flatnonzero(class_of == number)
        elastic[inside[even(len(inside), random) < part.elastic]] = True
        for of, shares in ((elastic[inside], known.elastic_gpus), (~elastic[inside], part.gpus)):
            gpus[inside[of]] = np.minimum(picked(shares, even(int(of.sum()), random)), max_gpus)
    return Drawn(np.round(np.exp(logs), 3), gpus, class_of == 0, elastic)


def draw_arrivals_s(
    known: LyraTable, chosen: LyraTrace.Parameters, drawn: Drawn, worker_gpus: np.ndarray
) -> np.ndarray:
    """Draw the arrival of each job, (n_jobs,), in seconds, given the GPUs of its workers, (n_jobs,)."""
    random = child_generator(chosen.seed, "lyra.arrivals")
    short = drawn.short
    work = (drawn.gpus * drawn.run_time_s)[~short]
    rank = dealt(work, max(1, round(24 * chosen.days)), random)
    at = np.sort(random.random(len(rank)))[rank]
    submit_s = np.empty(len(short))
    rates, days = np.array(known.long_hour_rate), _day_rates(known, chosen.days)
    submit_s[short] = at_rates(known.short_hour_rate, days, chosen.days, random.random(int(short.sum())))

    def sharpened(sharpness: float) -> np.ndarray:
        submit_s[~short] = at_rates(rates**sharpness, days, chosen.days, at)
        return submit_s

    def mean_s(sharpness: float) -> float:
        jobs = (sharpened(sharpness), drawn.gpus, worker_gpus, drawn.run_time_s)
        return float(fifo_waits_s(*jobs, chosen.training_gpus // MACHINE_GPUS).mean())

    if chosen.queueing_s is None:
        return sharpened(1.0)
    wanted_s = known.queueing_s if isinstance(chosen.queueing_s, str) else chosen.queueing_s
    sharpness, found_s = steer(mean_s, wanted_s, _MAX_SHARPNESS)
    if abs(found_s - wanted_s) > _MISSED * wanted_s:
        _log_missed_queueing(chosen, wanted_s, found_s)
    return sharpened(sharpness)


def _log_missed_queueing(chosen: LyraTrace.Parameters, wanted_s: float, found_s: float) -> None:
    """Log that the table's waiting time is not reached; raise InputError if the user set it.

    Raises
    ------
    InputError
        With the nearest possible value.
    """
    if not isinstance(chosen.queueing_s, str):
        closest = f"about {found_s:.0f}, which is nearest, " if found_s >= 1 else ""
        allowed = f"{closest}another number of jobs, preset or null"
        raise InputError("cannot be had", where="workload.queueing_s", found=wanted_s, allowed=allowed)
    note = (
        "jobs wait %.0f s on average in a strict FIFO queue, "
        "nearest to the %.0f s of %s; see workload.queueing_s"
    )
    _log.info(note, found_s, wanted_s, chosen.preset, extra={"note": True})


def _day_rates(known: LyraTable, days: float) -> list[float]:
    """Return the relative rate of each day, (ceil(days),)."""
    return [known.weekday_rate[(known.start_weekday + day) % 7] for day in range(int(np.ceil(days)))]


def _with_types(known: LyraTable, chosen: LyraTrace.Parameters, drawn: Drawn) -> Table:
    """Return the jobs with the properties of their types, without arrivals."""
    n_jobs, seed, gpus = len(drawn.gpus), chosen.seed, drawn.gpus
    elastic = draw_elastic(drawn.elastic, chosen.elastic, seed)
    mixed = draw("heterogeneous", seed, chosen.heterogeneous, n_jobs)
    load = gpus * drawn.run_time_s if chosen.fungible_by == "load" else None
    fungible = draw("fungible", seed, chosen.fungible, n_jobs, load) | mixed
    fungible |= elastic & chosen.elastic_on_loan
    least, most = bounds_of(gpus, _worker_gpus(chosen, gpus, True), *chosen.elastic_range)
    models = child_generator(seed, "lyra.models").integers(len(known.elastic_models), size=n_jobs)
    named = np.array(known.elastic_models, dtype=object)[models]
    return Table(
        {
            "gpus": gpus,
            "duration_s": drawn.run_time_s,
            "model": np.where(drawn.elastic, named, ""),
            "min_gpus": np.where(elastic, least, 0),
            "max_gpus": np.where(elastic, most, 0),
            "step": _worker_gpus(chosen, gpus, elastic),
            "gpu_types": np.where(fungible, "", TRAINING_GPU),
            "fungible": fungible.astype(np.int64),
            "mixed_types": mixed.astype(np.int64),
            "on_stop": np.where(draw("checkpointing", seed, chosen.checkpointing, n_jobs), "keep", ""),
        }
    )


def _worker_gpus(chosen: LyraTrace.Parameters, gpus: np.ndarray, elastic: np.ndarray | bool) -> np.ndarray:
    """Return the GPUs of a worker of each job, (n_jobs,); all have whole workers."""
    size = np.minimum(gpus, np.where(elastic, chosen.elastic_worker_gpus, chosen.worker_gpus))
    whole: np.ndarray = np.where(gpus % size, np.gcd(gpus, size), size)
    return whole


def days_of(table: Table, days: Sequence[int]) -> Table:
    """Return the jobs of these days of a table, one day after the other; a day may repeat.

    Parameters
    ----------
    days
        Numbers from 0 of days of the table.
    """
    day_of = table["submit_s"] // DAY_S
    parts = []
    for number, day in enumerate(days):
        part = table.take(day_of == day)
        parts.append(part.assign(submit_s=np.round(part["submit_s"] + (number - day) * DAY_S, 3)))
    return joined(parts)
