"""Costs of a change of allocation, and the work that a stop loses."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from artist.core.cluster import Allocation
from artist.core.compact_jobs import field_of
from artist.core.events import ChangeType
from artist.core.job import Demand, JobSpec, OnStop
from artist.errors import InputError
from artist.units import seconds_to_ns
from netmodels.inputs.files import read_text

_MAX_S = 4e9  # 126 years, within 64 bits of nanoseconds
_Seconds = Annotated[float, Field(ge=0, le=_MAX_S, strict=True)]
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
    `cpu_on_stop`, if given, for the CPU-only ones among them.
    With `notice_s` the scheduler polls its jobs at that interval, and notices a finish at the next multiple.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    start_s: _Seconds = 0
    resume_s: _Seconds = 0
    restart_s: _Seconds = 0
    migrate_s: _Seconds = 0
    resize_s: _Seconds = 0
    retune_s: _Seconds = 0
    on_stop: OnStop = "lose_iteration"
    cpu_on_stop: OnStop | None = None
    checkpoint_every_s: float = Field(3600, gt=0, le=_MAX_S, strict=True)
    notice_s: _Seconds = 0
    table: Path | None = None


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

    def delay_ns(self, change: str, spec: JobSpec) -> int:
        """Return the delay of a change in ns: the job's own, else the table's, else the constant."""
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

    def unnoticed_ns(self, finish_ns: int) -> int:
        """Return the delay until a finish is noticed: at the next multiple of `notice_s`."""
        return -finish_ns % self._notice_ns if self._notice_ns else 0

    def checkpoints(self, jobs: Sequence[JobSpec]) -> list[int]:
        """Return the number of iterations between checkpoints of each job; 0 if it has none.

        A checkpoint every `checkpoint_every_s` of ideal time, at least one iteration apart.
        """
        every_ns = seconds_to_ns(self.parameters.checkpoint_every_s)
        iterations: list[int] = []
        columns = (field_of(jobs, name) for name in ("on_stop", "demand", "compute_ns"))
        for on_stop, demand, compute_ns in zip(*columns, strict=True):
            mode = self._on_stop(on_stop, demand)
            since = max(1, round(every_ns / compute_ns)) if mode == "lose_since_checkpoint" else 1
            iterations.append(0 if mode == "lose_all" else since)
        return iterations

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
        if p.notice_s:
            clauses.append(f"finishes are noticed every {p.notice_s:g} s")
        clauses.append(f"a stopped job {_LOSSES[p.on_stop]}")
        if p.cpu_on_stop is not None:
            clauses.append(f"a stopped CPU-only job {_LOSSES[p.cpu_on_stop]}")
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
