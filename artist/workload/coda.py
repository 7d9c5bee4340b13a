"""Jobs like those of the CODA paper's production trace, which is not public (sections III and VI).

- GPU jobs are of a few classes by demand: GPUs, models and CPUs. Most ask for too few CPUs, some for many
  more than they use; run times hold for the CPUs asked for (`performance.measured_with=request`). Jobs of up
  to 4 GPUs run on one machine, larger ones on 4 GPUs per machine.
- CPU jobs arrive in bursts, at the hours of their tenant, and run on one machine. A fraction of them, the
  hungry ones, does the same work on all CPUs of a socket, and draws most of a machine's memory bandwidth.
- Every hour of arrivals has its share of each class and of short and long jobs, and jobs arrive in even steps
  of the expected number: with independent draws, days differ, and jobs wait twice as long under one seed as
  under another.

The figures are in traces/generator_coda.yaml; docs/drawn_jobs.md compares them with the published ones.
"""

from pathlib import Path
from typing import Any, Self

import numpy as np
import yaml
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from artist.bad_input.records import Strict, validated
from artist.data import data_path
from artist.randomness import child_generator
from artist.tables.files import read_text
from artist.tables.rows import Table, joined
from artist.workload.api import SourceParameters
from artist.workload.draws import at_rates, dealt, even, picked
from artist.workload.job_types import first_share
from artist.workload.record_file import read_record
from artist.workload.table import check

_ON_ONE_MACHINE = 4  # maximum GPUs of a job on one machine, and per machine of larger ones
_BYTES_PER_GB = 1e9


class RunTimes(Strict):
    """Run times at quantiles that rise from 0 to 1; their logarithms are linear between these."""

    quantiles: tuple[NonNegativeFloat, ...]
    seconds: tuple[PositiveFloat, ...]

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if list(self.quantiles) != sorted(set(self.quantiles)) or self.quantiles[-1:] != (1,):
            raise ValueError("quantiles must rise to 1")
        if len(self.seconds) != len(self.quantiles) or list(self.seconds) != sorted(self.seconds):
            raise ValueError("seconds needs one value for each quantile, not falling")
        return self

    def at(self, quantiles: np.ndarray) -> np.ndarray:
        """Return run times in seconds, (n_jobs,), at quantiles of them."""
        logs = np.interp(quantiles, self.quantiles, np.log(self.seconds))
        run_times_s: np.ndarray = np.round(np.exp(logs), 3)
        return run_times_s


class RequestClass(Strict):
    """A class of GPU jobs: its share of the jobs, and shares of demands, with CPUs per GPU or per job."""

    share: PositiveFloat
    gpus: dict[PositiveInt, PositiveFloat] = Field(min_length=1)
    models: dict[str, PositiveFloat] = Field(min_length=1)
    cpus_per_gpu: dict[PositiveInt, PositiveFloat] = {}
    cpus: dict[PositiveInt, PositiveFloat] = {}

    @model_validator(mode="after")
    def _asks_once(self) -> Self:
        if bool(self.cpus) == bool(self.cpus_per_gpu):
            raise ValueError("a class has either cpus or cpus_per_gpu")
        return self


class User(Strict):
    """A user: tenant, relative numbers of GPU and CPU jobs, and models of the GPU jobs."""

    tenant: str
    gpu_jobs: NonNegativeFloat = 0.0
    cpu_jobs: NonNegativeFloat = 0.0
    models: tuple[str, ...] = ()


class CodaTable(Strict):
    """The generator's table of the trace: traces/generator_coda.yaml.

    Attributes
    ----------
    source
        Origin of the numbers.
    gpus, days, gpu_jobs, cpu_jobs
        Number of GPU jobs and of CPU jobs in `days` days on `gpus` GPUs.
    gpu_run_times, cpu_run_times
        Run times of GPU jobs, on the CPUs that they ask for, and of CPU jobs.
    requests
        Classes of GPU jobs.
    cpu_cpus
        Shares of CPUs of CPU jobs.
    hungry_cpus
        CPUs of a hungry CPU job.
    gpu_hour_rate
        Relative rate of arrivals of GPU jobs in each hour of the day, (24,).
    cpu_hour_rate
        The same for the CPU jobs of each tenant.
    users
        By name.
    """

    source: dict[str, str | int]
    gpus: PositiveInt
    days: PositiveFloat
    gpu_jobs: PositiveInt
    cpu_jobs: PositiveInt
    gpu_run_times: RunTimes
    cpu_run_times: RunTimes
    requests: tuple[RequestClass, ...] = Field(min_length=1)
    cpu_cpus: dict[PositiveInt, PositiveFloat] = Field(min_length=1)
    hungry_cpus: PositiveInt
    gpu_hour_rate: tuple[PositiveFloat, ...] = Field(min_length=24, max_length=24)
    cpu_hour_rate: dict[str, tuple[PositiveFloat, ...]]
    users: dict[str, User]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if any(len(rates) != 24 for rates in self.cpu_hour_rate.values()):
            raise ValueError("cpu_hour_rate needs 24 rates for each tenant")
        for name, user in self.users.items():
            if user.cpu_jobs and user.tenant not in self.cpu_hour_rate:
                raise ValueError(f"user {name} has CPU jobs, their tenant {user.tenant} no cpu_hour_rate")
        for model in (model for part in self.requests for model in part.models):
            if not self.users_of(model):
                raise ValueError(f"model {model} needs a user with GPU jobs")
        return self

    def users_of(self, model: str) -> dict[str, float]:
        """Return the users that train a model, with their relative numbers of GPU jobs."""
        return {
            name: user.gpu_jobs for name, user in self.users.items() if user.gpu_jobs and model in user.models
        }


class CodaTrace:
    """Jobs like those of the CODA paper's trace: GPU jobs and CPU jobs of 20 users."""

    names_models = True  # of every job, so that parameters.models is not asked

    class Parameters(SourceParameters):
        """Parameters besides those of every source.

        Attributes
        ----------
        gpus
            GPUs of the cluster that the jobs load as in the trace.
        days
            Length of the arrivals.
        load
            Number of jobs, relative to the trace's number per GPU and day.
        hungry
            Share of the CPU jobs that draws much memory bandwidth.
        hungry_gb_s
            Memory bandwidth that each CPU of such a job draws, in 10^9 bytes/s.
        """

        gpus: int = Field(default=400, ge=10)
        days: PositiveFloat = 30
        load: float = Field(default=1.0, gt=0, le=100)
        hungry: float = Field(default=0.005, ge=0, le=1)
        hungry_gb_s: float = Field(default=14.0, gt=0, le=1000)

    def __init__(self, **parameters: Any) -> None:
        self.parameters = validated(self.Parameters, parameters, "workload")
        names = ("generator_coda.yaml", "measured/cpu_side_coda.yaml")
        self.input_files: tuple[Path, ...] = tuple(data_path("traces", name) for name in names)
        self.trace_gpu = "GTX1080Ti"

    def describe(self) -> str:
        """Return the source of the jobs in a clause, for a report."""
        return "jobs drawn as in the CODA paper"

    def table(self) -> Table:
        """Return all jobs as a canonical table, in order of arrival."""
        chosen = self.parameters
        known = read_coda_table(self.input_files[0])
        tables = [draw_gpu_jobs(known, chosen), draw_cpu_jobs(known, chosen)]
        table = joined(tables).counted()
        busy = read_gpu_utilization(self.input_files[1])
        table = table.assign(
            vc=[known.users[name].tenant for name in table["user"]],
            gpu_utilization=[busy.get(name, 1.0) for name in table["model"]],
        )
        return check(table, "workload=coda")


def read_coda_table(path: Path) -> CodaTable:
    """Read and check a table of distributions."""
    return read_record(path, CodaTable, "distributions")


def read_gpu_utilization(path: Path) -> dict[str, float]:
    """Return the share of its compute time in which a GPU is busy if CPUs keep up, by model."""
    models = yaml.safe_load(read_text(path))["models"]
    return {name: model["gpu_utilization"] for name, model in models.items()}


def draw_gpu_jobs(known: CodaTable, chosen: CodaTrace.Parameters) -> Table:
    """Draw the GPU jobs, by rising run time."""
    random = child_generator(chosen.seed, "coda.gpu_jobs")
    n_jobs = _scaled(known.gpu_jobs, known, chosen)
    run_time_s = known.gpu_run_times.at(even(n_jobs, random, shuffled=False))
    shares = {number: request.share for number, request in enumerate(known.requests)}
    part = picked(shares, even(n_jobs, random))
    gpus, cpus = np.zeros(n_jobs, dtype=np.int64), np.zeros(n_jobs, dtype=np.int64)
    model = np.full(n_jobs, "", dtype=object)
    for number, request in enumerate(known.requests):
        inside = np.flatnonzero(part == number)
        gpus[inside], model[inside], cpus[inside] = _asked(request, len(inside), random)
    user = np.full(n_jobs, "", dtype=object)
    for name in dict.fromkeys(model.tolist()):
        inside = np.flatnonzero(model == name)
        user[inside] = picked(known.users_of(name), even(len(inside), random))
    at = _spread(part, gpus * run_time_s, chosen, random)
    return Table(
        {
            "submit_s": _arrivals_s(known.gpu_hour_rate, chosen, at),
            "gpus": gpus,
            "cpus": cpus,
            "duration_s": run_time_s,
            "model": model,
            "user": user,
            "max_machines": -(-gpus // _ON_ONE_MACHINE),
            "memory_bandwidth_bytes_per_s": 0.0,
        }
    )


def draw_cpu_jobs(known: CodaTable, chosen: CodaTrace.Parameters) -> Table:
    """Draw the CPU jobs, in order of their run time before hungry jobs are chosen."""
    random = child_generator(chosen.seed, "coda.cpu_jobs")
    n_jobs = _scaled(known.cpu_jobs, known, chosen)
    run_time_s = known.cpu_run_times.at(even(n_jobs, random, shuffled=False))
    cpus = picked(known.cpu_cpus, even(n_jobs, random))
    shares = {name: user.cpu_jobs for name, user in known.users.items() if user.cpu_jobs}
    user = picked(shares, even(n_jobs, random)).astype(object)
    tenant = np.array([known.users[name].tenant for name in user], dtype=object)
    submit_s = np.zeros(n_jobs)
    for name, rates in known.cpu_hour_rate.items():
        inside = np.flatnonzero(tenant == name)
        at = _spread(np.zeros(len(inside)), (cpus * run_time_s)[inside], chosen, random)
        submit_s[inside] = _arrivals_s(rates, chosen, at)
    hungry = first_share(child_generator(chosen.seed, "coda.hungry").permutation(n_jobs), chosen.hungry)
    as_hungry_s = np.round(run_time_s * cpus / known.hungry_cpus, 3)
    return Table(
        {
            "submit_s": submit_s,
            "gpus": 0,
            "cpus": np.where(hungry, known.hungry_cpus, cpus),
            "duration_s": np.where(hungry, as_hungry_s, run_time_s),
            "model": "",
            "user": user,
            "max_machines": 1,
            "memory_bandwidth_bytes_per_s": hungry * known.hungry_cpus * chosen.hungry_gb_s * _BYTES_PER_GB,
        }
    )


def _scaled(jobs: int, known: CodaTable, chosen: CodaTrace.Parameters) -> int:
    """Return the number of jobs for a number in the trace; at least one."""
    of_trace = chosen.gpus / known.gpus * chosen.days / known.days
    return max(1, round(jobs * of_trace * chosen.load))


def _asked(
    part: RequestClass, count: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return GPUs, models and CPUs of the jobs of a class, each (count,)."""
    gpus = picked(part.gpus, even(count, random))
    models = picked(part.models, even(count, random))
    cpus = picked(part.cpus or part.cpus_per_gpu, even(count, random))
    return gpus, models, cpus if part.cpus else cpus * gpus


def _spread(
    part: np.ndarray, work: np.ndarray, chosen: CodaTrace.Parameters, random: np.random.Generator
) -> np.ndarray:
    """Return the fraction of arrivals before each job, (n_jobs,); work is spread evenly in each class."""
    key = np.empty(len(work))
    key[np.lexsort((work, part))] = np.arange(len(work))
    rank = dealt(key, max(1, round(24 * chosen.days)), random)
    spread: np.ndarray = even(len(work), random, shuffled=False)[rank]
    return spread


def _arrivals_s(hour_rate: tuple[float, ...], chosen: CodaTrace.Parameters, at: np.ndarray) -> np.ndarray:
    """Return arrivals in seconds, (n_jobs,); all days are equal."""
    return at_rates(hour_rate, [1.0] * int(np.ceil(chosen.days)), chosen.days, at)
