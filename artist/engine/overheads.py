"""Costs of a change of allocation, and the work that a stop loses."""

import csv
from collections.abc import Callable, Sequence
from copy import copy
from math import inf, sqrt
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from artist.core.cluster import Allocation
from artist.core.compact_jobs import field_of
from artist.core.events import ChangeType
from artist.core.job import Demand, JobSpec, OnStop
from artist.errors import InputError
from artist.units import seconds_to_ns
from netmodels.inputs.files import read_text

_MAX_S = 4e9  # 126 years, within 64 bits of nanoseconds
_Seconds = Annotated[float, Field(ge=0, le=_MAX_S, strict=True)]
_MAX_ITERATIONS = 2**62  # of 64 bits
_COLUMNS = {change: f"{change}_s" for change in ("start", "resume", "restart", "migrate", "resize", "retune")}

_DELAYS = {
    "start": "a first start",
    "resume": "a start on the same machines after a stop",
    "restart": "a start on other machines after a stop",
    "migrate": "a move",
    "resize": "a change of size",
    "retune": "a change of CPUs or memory",
}
_LOSSES: dict[OnStop, str] = {
    "keep": "loses no work",
    "lose_iteration": "loses its unfinished iteration",
    "lose_since_checkpoint": "loses its work since its last checkpoint",
    "lose_all": "starts over",
}


class OverheadParameters(BaseModel):
    """Delays in seconds, during which a job holds its GPUs without progress.

    `table` is a CSV file with columns model, gpus and any of the delays; its rows replace the
    constants for that model and number of GPUs. `on_stop` holds for jobs without their own value;
    `cpu_on_stop`, if given, for the CPU-only ones among them. With `on_preemption=save` a job that is
    preempted, or has to leave its machine, writes a checkpoint first. `recover_s`, if given, is the delay
    of the first start after a failure. Writing a checkpoint takes `checkpoint_write_s`.
    With `notice_s` the scheduler polls its jobs at that interval, and notices a finish at the next multiple.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    start_s: _Seconds = 0
    resume_s: _Seconds = 0
    restart_s: _Seconds = 0
    migrate_s: _Seconds = 0
    resize_s: _Seconds = 0
    retune_s: _Seconds = 0
    recover_s: _Seconds | None = None
    on_stop: OnStop = "lose_iteration"
    cpu_on_stop: OnStop | None = None
    on_preemption: Literal["save"] | None = None
    checkpoint_every_s: Annotated[float, Field(gt=0, le=_MAX_S, strict=True)] | Literal["daly"] = 3600
    checkpoint_write_s: _Seconds = 0
    notice_s: _Seconds = 0
    table: Path | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        periodic = self.on_stop == "lose_since_checkpoint"
        if self.checkpoint_write_s and not periodic and not self.on_preemption:
            raise ValueError(
                "checkpoint_write_s, but no checkpoint is written; "
                "on_stop=lose_since_checkpoint, on_preemption=save, or checkpoint_write_s=0"
            )
        if self.checkpoint_every_s == "daly" and not (periodic and self.checkpoint_write_s):
            raise ValueError(
                "checkpoint_every_s=daly weighs the time of writing against lost work; "
                "on_stop=lose_since_checkpoint and a checkpoint_write_s above 0, or seconds"
            )
        return self


class Overheads:
    """Costs by type of change: constants, or a table by model and GPUs.

    Parameters
    ----------
    parameters
        Fields of `OverheadParameters`.
    """

    def __init__(self, **parameters: Any) -> None:
        self.parameters = OverheadParameters(**parameters)
        p = self.parameters
        self.input_files = () if p.table is None else (p.table,)
        self._constant_ns = {change: seconds_to_ns(getattr(p, name)) for change, name in _COLUMNS.items()}
        self._notice_ns = seconds_to_ns(p.notice_s)
        self._table_ns = {} if p.table is None else _read_table(p.table, self._constant_ns)
        self._write_ns = seconds_to_ns(p.checkpoint_write_s)
        self._failures_per_s: Callable[[int], float] | None = None  # of a job, by its GPUs

    def under(self, failures_per_s: Callable[[int], float]) -> Self:
        """Return a copy that knows the rate at which failures stop a job, by its GPUs."""
        other = copy(self)
        other._failures_per_s = failures_per_s
        return other

    def delay_ns(self, change: str, spec: JobSpec, *, failed: bool = False, saved: bool = False) -> int:
        """Return the delay of a change in ns: the job's own, else the table's, else the constant.

        Parameters
        ----------
        failed, saved
            Whether the job starts after a failure, or after it was stopped and saved.
        """
        if failed and self.parameters.recover_s is not None:
            return seconds_to_ns(self.parameters.recover_s)
        if saved:
            return self.delay_ns(change, spec) + self._write_ns
        if spec.delays_ns is not None and change in spec.delays_ns:
            return spec.delays_ns[change]
        if self._table_ns:
            row = self._table_ns.get((spec.model, spec.demand.gpus))
            if row is not None:
                return row[change]
        return self._constant_ns[change]

    def keeps_open_iteration(self, spec: JobSpec) -> bool:
        """Return whether a stopped or moved job continues inside its iteration (suspend-resume)."""
        return self._on_stop(spec.on_stop, spec.demand) == "keep"

    def saves(self, spec: JobSpec) -> bool:
        """Return whether a job writes a checkpoint when it is preempted."""
        particular = spec.on_stop or (not spec.demand.gpus and self.parameters.cpu_on_stop)
        return not particular and self.parameters.on_preemption == "save"

    def unnoticed_ns(self, finish_ns: int) -> int:
        """Return the delay until a finish is noticed: at the next multiple of `notice_s`."""
        return -finish_ns % self._notice_ns if self._notice_ns else 0

    def checkpoints(self, jobs: Sequence[JobSpec]) -> list[int]:
        """Return the number of iterations between checkpoints of each job; 0 if it has none.

        A checkpoint every `checkpoint_every_s` of ideal time, at least one iteration apart.
        """
        every_ns = dict[int, float]()  # by GPUs
        iterations: list[int] = []
        columns = (field_of(jobs, name) for name in ("on_stop", "demand", "compute_ns"))
        for on_stop, demand, compute_ns in zip(*columns, strict=True):
            mode = self._on_stop(on_stop, demand)
            since = 1
            if mode == "lose_since_checkpoint":
                if demand.gpus not in every_ns:
                    every_ns[demand.gpus] = self._every_ns(demand.gpus)
                since = max(1, round(min(every_ns[demand.gpus] / compute_ns, _MAX_ITERATIONS)))
            iterations.append(0 if mode == "lose_all" else since)
        return iterations

    def writes_ns(self, jobs: Sequence[JobSpec], every: Sequence[int]) -> list[int]:
        """Return the time of writing checkpoints per iteration of each job; none if all take no time.

        Parameters
        ----------
        every
            Iterations between checkpoints (`checkpoints`).
        """
        if not self._write_ns:
            return []
        modes = map(self._on_stop, field_of(jobs, "on_stop"), field_of(jobs, "demand"))
        periodic = [mode == "lose_since_checkpoint" for mode in modes]
        return [round(self._write_ns / n) if writes else 0 for n, writes in zip(every, periodic, strict=True)]

    def _every_ns(self, gpus: int) -> float:
        """Return the time between checkpoints of a job; infinite if daly's and nothing fails.

        Daly, A higher order estimate of the optimum checkpoint interval, FGCS 22 (2006), equation 37.
        """
        every_s = self.parameters.checkpoint_every_s
        if every_s != "daly":
            return seconds_to_ns(every_s)
        if self._failures_per_s is None:
            what, allowed = "no rate of failures is known", "seconds; or cluster.failures"
            raise InputError(what, where="overheads.checkpoint_every_s", found=every_s, allowed=allowed)
        per_s, write_s = self._failures_per_s(gpus), self.parameters.checkpoint_write_s
        if not per_s:
            return inf
        ratio = write_s * per_s / 2
        if ratio >= 1:
            return 1e9 / per_s
        return 1e9 * (sqrt(2 * write_s / per_s) * (1 + sqrt(ratio) / 3 + ratio / 9) - write_s)

    def describe(self) -> str:
        """Return delays and losses in a clause, for a report."""
        p = self.parameters
        costs = [
            f"{word} {value:g} s" for name, word in _DELAYS.items() if (value := getattr(p, f"{name}_s"))
        ]
        clauses = ["starting, moving and preempting a job cost no time"]
        if p.table is not None:
            clauses = [f"delays by model and GPUs from {p.table.name}"]
        elif costs:
            clauses = [f"delays while GPUs are held: {', '.join(costs)}"]
        if p.recover_s is not None:
            clauses.append(f"a start after a failure takes {p.recover_s:g} s")
        if p.notice_s:
            clauses.append(f"finishes are noticed every {p.notice_s:g} s")
        clauses.append(f"a stopped job {_LOSSES[p.on_stop]}")
        if p.cpu_on_stop is not None:
            clauses.append(f"a stopped CPU-only job {_LOSSES[p.cpu_on_stop]}")
        if p.on_preemption:
            clauses.append("a preempted one writes a checkpoint first")
        if p.checkpoint_write_s:
            every = p.checkpoint_every_s
            interval = "at Daly's interval" if every == "daly" else f"every {every:g} s"
            clauses.append(f"a checkpoint takes {p.checkpoint_write_s:g} s, {interval}")
        return ", and ".join(clauses)

    def _on_stop(self, on_stop: OnStop | None, demand: Demand) -> OnStop:
        """Return the work that a stop loses: the job's own value, else that of its job type, else of all."""
        of_type = None if demand.gpus else self.parameters.cpu_on_stop
        return on_stop or of_type or self.parameters.on_stop


def classify(before: Allocation, after: Allocation, *, elastic: bool) -> ChangeType:
    """Return the type of a change of a running job from one allocation to another.

    The same GPUs are a retune. Other GPUs are a resize if the job is elastic and keeps some of its GPUs;
    anything else is a migration.
    """
    old, new = before.gpu_map(), after.gpu_map()
    if old == new:
        return "retune"
    keeps_some = elastic and any(min(gpus, new.get(m, 0)) for m, gpus in old.items())
    return "resize" if keeps_some else "migrate"


def _read_table(path: Path, constants: dict[str, int]) -> dict[tuple[str, int], dict[str, int]]:
    try:
        reader = csv.DictReader(read_text(path, "delay").splitlines())
        fields = set(reader.fieldnames or ())
        rows = list(reader)
    except csv.Error as error:
        raise InputError("not a table", where=str(path), found=str(error), allowed="CSV") from error
    allowed = f"model, gpus and any of {', '.join(_COLUMNS.values())}"
    if not {"model", "gpus"} <= fields or not fields <= {"model", "gpus", *_COLUMNS.values()}:
        raise InputError("wrong columns", where=str(path), found=sorted(fields), allowed=allowed)
    table: dict[tuple[str, int], dict[str, int]] = {}
    for line, row in enumerate(rows, start=2):
        try:
            delays = dict(constants)
            for change, column in _COLUMNS.items():
                if row.get(column):
                    value = float(row[column])
                    if not 0 <= value <= _MAX_S:
                        raise ValueError(value)
                    delays[change] = seconds_to_ns(value)
            key = row["model"], int(row["gpus"])
            if key[1] < 0:
                raise ValueError(key)
        except (TypeError, ValueError) as error:
            where, allowed = f"{path}, line {line}", "GPUs, and seconds from 0 to 4e9"
            raise InputError("not a number", where=where, found=row, allowed=allowed) from error
        if key in table:
            where = f"{path}, line {line}"
            raise InputError("the same model and GPUs twice", where=where, found=key, allowed="one row")
        table[key] = delays
    return table
