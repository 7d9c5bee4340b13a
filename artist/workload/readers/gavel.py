"""Reader of the job files of Gavel, Narayanan et al., OSDI'20 (stanford-futuredata/gavel)."""

import logging
import re
from pathlib import Path
from typing import Any

import numpy as np

from artist.errors import InputError
from artist.tables.files import read_json, read_text
from artist.tables.rows import Column, Table
from artist.workload.readers import rules
from artist.workload.readers.delimited import read_delimited
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, refuse, typed

_log = logging.getLogger(__name__)
_COLUMNS = (
    *("job_type", "command", "working_directory", "num_steps_arg", "needs_data_dir"),
    *("total_steps", "scale_factor", "priority_weight", "SLO", "arrival_time"),
)
_MSR_COLUMNS = (
    *("job_type", "command", "num_steps_arg", "needs_data_dir", "total_steps", "arrival_time"),
    "scale_factor",
)
_SHOCKWAVE_COLUMNS = (*_COLUMNS[:7], "mode", *_COLUMNS[7:9], "duration", _COLUMNS[9])
_FIELDS = {
    "job_id": "job_type",
    "submit_s": "arrival_time",
    "gpus": "scale_factor",
    "iterations": "total_steps",
    "compute_s": "throughput",
    "model": "job_type",
}
MODEL_NAMES: dict[str, str | None] = {
    "ResNet-18": "ResNet18",
    "ResNet-50": "ResNet50",
    "Transformer": "Transformer",
    "LM": "LSTM",
    "A3C": "A2C",
    "Recommendation": None,  # an autoencoder; no profile
    "CycleGAN": None,
}


class GavelTrace(TraceReader):
    """Jobs of a `.trace` file and the throughputs that Gavel measured.

    A line is one job, without a header, tab-separated: job_type ("Model (batch size B)"), command,
    working_directory, num_steps_arg, needs_data_dir, total_steps, scale_factor (GPUs), priority_weight,
    SLO, arrival_time (s). Files in traces/msr have seven: job_type, command, num_steps_arg, needs_data_dir,
    total_steps, arrival_time, scale_factor. Files of Shockwave (NSDI'23) have twelve: a mode of batch sizes
    after scale_factor, and a duration before arrival_time, neither of which is used. `throughputs` is the
    JSON file beside it: worker type, then "('job_type', GPUs)", then {"null": steps/s alone}.

    Rules:

    - A job does total_steps iterations, each of 1 / throughput seconds, the throughput of its job_type and
      number of GPUs, alone, on the worker type `worker`. Measured on one machine, with its communication
      included; communication between machines is added. Jobs that do not run there (throughput 0), or whose
      number of GPUs was not measured (in traces/msr: models that Gavel does not distribute), are left out.
    - Jobs have no names: they are called gavel-<line of the file>.
    - Models are the job_type without its batch size, renamed by `model_names`; CycleGAN and Recommendation
      have no profile, so theirs are drawn by `models`. A3C becomes A2C, and LM the LSTM of the profiles.
    - A job of 0 steps, or of parts of a step, is a bad row. Weight, SLO and the rest are not used.
    """

    class Parameters(TraceParameters):
        """Parameters, beside those of every source."""

        throughputs: Path
        worker: str = "v100"
        model_names: dict[str, str | None] = MODEL_NAMES

    parameters: Parameters

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.input_files = (self.parameters.path, self.parameters.throughputs)
        self.trace_gpu = self.parameters.worker.partition("_")[0].upper()

    def _read(self) -> Table:
        path = self.parameters.path
        return read_delimited(path, separator="\t", header=_columns(path))

    def _jobs(self, raw: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        named = rules.renamed(raw.assign(throughput="1"), _FIELDS)
        table = typed(named.assign(job_id=rules.line_names("gavel", raw)), str(path), _FIELDS)
        steps_per_s = self._steps_per_s(raw, table["gpus"])
        table = table.take(~np.isnan(steps_per_s))
        steps_per_s = steps_per_s[~np.isnan(steps_per_s)]
        table = rules.drop(table, steps_per_s == 0, path, f"does not run on {chosen.worker}")
        table = table.assign(compute_s=1.0 / steps_per_s[steps_per_s > 0])
        rules.note_order(table, path)
        table = check(table, str(path), _FIELDS)
        table = table.assign(model=[re.sub(r" \(batch size \d+\)$", "", name) for name in table["model"]])
        return rules.renamed_models(table, chosen.model_names)

    def _steps_per_s(self, raw: Table, gpus: Column) -> np.ndarray:
        """Return the throughput of each job alone, (n_jobs,)."""
        chosen = self.parameters
        known = _throughputs(chosen.throughputs, chosen.worker)
        keys = [f"('{name}', {count:g})" for name, count in zip(raw["job_type"], gpus, strict=True)]
        steps_per_s = np.array([known.get(key, np.nan) for key in keys])
        unknown = np.isnan(steps_per_s)
        if unknown.all():
            allowed = f"a job_type and number of GPUs of {chosen.worker} in {chosen.throughputs.name}"
            asked = raw.assign(key=keys)
            refuse(asked, unknown, str(chosen.path), "job_type", "has no throughput", allowed, column="key")
        if unknown.any():
            note = "%s: left out %d of %d jobs: no throughput in %s, such as that of %s"
            counts, example = (int(unknown.sum()), len(raw)), keys[int(np.argmax(unknown))]
            _log.warning(note, chosen.path, *counts, chosen.throughputs.name, example, extra={"note": True})
        return steps_per_s


def _columns(path: Path) -> tuple[str, ...]:
    """Return the names of a file's columns, given their number; refuse a file that is not such a table."""
    first = read_text(path).partition("\n")[0]
    known = {len(columns): columns for columns in (_COLUMNS, _SHOCKWAVE_COLUMNS, _MSR_COLUMNS)}
    fields = first.count("\t") + 1
    if first.strip() and fields not in known:
        size = f"{fields} fields"
        allowed = "; or ".join(f"{n} fields between tabs: {', '.join(names)}" for n, names in known.items())
        raise InputError("not a file of Gavel", where=f"{path}, line 1", found=size, allowed=allowed)
    return known.get(fields, _COLUMNS)


def _throughputs(path: Path, worker: str) -> dict[str, float]:
    """Return steps/s of each job type and number of GPUs alone on a worker type."""
    content = read_json(path, "one JSON object")
    if not isinstance(content, dict) or worker not in content:
        allowed = ", ".join(content) if isinstance(content, dict) else "an object by worker type"
        raise InputError(f"not in {path}", where="workload.worker", found=worker, allowed=allowed)
    try:
        known = {job: float(others["null"]) for job, others in content[worker].items()}
        if wrong := [job for job, speed in known.items() if not 0 <= speed < np.inf]:
            raise ValueError(f"{known[wrong[0]]} steps/s of {wrong[0]}")
        return known
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        allowed = '{"(\'job_type\', GPUs)": {"null": steps/s}}'
        value = str(error) if isinstance(error, ValueError) else content[worker]
        raise InputError(
            "malformed throughputs", where=f"{path}, {worker}", found=value, allowed=allowed
        ) from None
