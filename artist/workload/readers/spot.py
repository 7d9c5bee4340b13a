"""Reader of the Alibaba spot-GPU trace of 2026, ASPLOS'26 (alibaba/clusterdata, v2026-spot-gpu)."""

from typing import Any, Literal

import numpy as np
from pydantic import NaiveDatetime

from artist.tables.rows import Table, to_numbers
from artist.workload.api import TypedFileParameters
from artist.workload.readers import rules
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, refuse, typed

_HEADER = (
    *("job_name", "organization", "gpu_model", "cpu_request", "gpu_request", "worker_num"),
    *("submit_time", "duration", "job_type"),
)
_FIELDS = {
    "job_id": "job_name",
    "submit_s": "submit_time",
    "gpus": "gpu_request",
    "duration_s": "duration",
    "vc": "organization",
    "cpus": "cpu_request",
    "gpu_types": "gpu_model",
}


class SpotTrace(TraceReader):
    """Jobs of `job_info_df.csv` as published: training and serving, on GPUs of six models.

    Rules:

    - GPUs = gpu_request x worker_num; a worker that asks for a part of a GPU follows `fractional_gpus`. CPUs
      likewise, rounded up for each worker; jobs with GPUs ask for them only with `cpus=keep`.
    - Jobs without GPUs follow `cpu_jobs`, those of duration 0 by `zero_duration`.
    - Jobs at second 0 ran before the trace began: `at_start` keeps or drops them.
    - `job_types` keeps HP or Spot, `gpu_models` some GPU models (A10, A100-SXM4-80GB, H800 ...), each
      job's GPU type.
    - An organization is a VC. Seconds count from the first job, at an unknown date; `origin` names one.
    """

    class Parameters(TraceParameters, TypedFileParameters):
        """Parameters, beside those of every source."""

        job_types: tuple[str, ...] | None = None
        gpu_models: tuple[str, ...] | None = None
        at_start: Literal["drop", "keep"] = "keep"
        fractional_gpus: rules.FractionalGpus = "round_up"
        cpu_jobs: rules.CpuJobs = "drop"
        cpus: rules.UseCpus = "ignore"
        zero_duration: rules.ZeroDuration = "drop"
        origin: NaiveDatetime | None = None

    parameters: Parameters

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        models = self.parameters.gpu_models or ()
        self.trace_gpu = models[0] if len(models) == 1 else ""

    def _jobs(self, raw: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        rules.require_header(raw, path, _HEADER)
        workers = to_numbers(raw["worker_num"])
        refuse(raw, ~(workers >= 1), str(path), "worker_num", "is no number of workers", "1 or more")
        table = typed(rules.renamed(raw, _FIELDS), str(path), _FIELDS)
        table = rules.keep_values(table, raw, "job_type", chosen.job_types, path)
        table = rules.keep_values(table, raw, "gpu_model", chosen.gpu_models, path)
        if chosen.at_start == "drop":
            table = rules.drop(table, table["submit_s"] == 0, path, "ran before the trace began")
        table = rules.whole_gpus(table, chosen.fractional_gpus, path)
        count = raw.assign(workers=workers).at(table.places)["workers"]
        table = table.assign(gpus=table["gpus"] * count, cpus=np.ceil(table["cpus"]) * count)
        table = rules.apply_cpu_jobs(table, chosen.cpu_jobs, path)
        table = rules.apply_zero_duration(table, chosen.zero_duration, path)
        rules.note_order(table, path)
        table = check(rules.apply_use_cpus(table, chosen.cpus), str(path), _FIELDS)
        return rules.dated(table, chosen.origin)
