"""Reader of the Alibaba PAI trace of 2020, Weng et al., NSDI'22 (alibaba/clusterdata, gpu-v2020)."""

import numpy as np
from pydantic import NaiveDatetime

from artist.tables.files import read_csv, read_text
from artist.tables.rows import Table, to_numbers
from artist.workload.api import TypedFileParameters
from artist.workload.missing import without_fillers
from artist.workload.readers import rules
from artist.workload.readers.delimited import read_delimited
from artist.workload.readers.instants import run_times
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, typed

_TASK_HEADER = (
    *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
    *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
)
_TASK_FIELDS = {
    "submit_s": "start_time",
    "gpus": "plan_gpu",
    "duration_s": "end_time",
    "cpus": "plan_cpu",
    "gpu_types": "gpu_type",
}
_RECOVERED_HEADER = ("job_id", "arrival_s", "service_sec", "gpu_count")
_RECOVERED_FIELDS = {
    "job_id": "job_id",
    "submit_s": "arrival_s",
    "gpus": "gpu_count",
    "duration_s": "service_sec",
}


class PaiTrace(TraceReader):
    """Tasks of Alibaba's Platform for AI; one task (worker, ps, evaluator ...) is one job.

    Two files are read, plain or gzipped, recognised by their first line:

    - the original `pai_task_table.csv`, which has no header line: job_name, task_name, inst_num, status,
      start_time, end_time, plan_cpu and plan_gpu (per cent of one), plan_mem, gpu_type;
    - the recovered file of four columns: job_id, arrival_s, service_sec, gpu_count; a sample of the tasks
      that Terminated, durations clamped at 172,800 s, parts of GPUs already rounded up.

    Rules:

    - Arrival is the start of the task, since tasks have no time of submission.
    - Of the original, GPUs = inst_num x plan_gpu / 100 of each instance; an instance that asks for a part
      of a GPU follows `fractional_gpus`. Tasks of one job start independently; they are named
      <job_name>-<task_name>#<line>. Tasks without inst_num, start or end are left out.
    - Tasks without GPUs follow `cpu_jobs` (original only; the recovered file has none, so there a 0 is
      refused); those with GPUs ask for CPUs only with `cpus=keep`.
    - gpu_type is the GPU type of a task; MISC, or empty, is any.
    - A task of duration 0 follows `zero_duration`; all final states are kept, unless `states` names some
      (Terminated, Failed, Running; original only).
    - Seconds count from an unknown date; `origin` names one. Memory is not used.
    """

    class Parameters(TraceParameters, TypedFileParameters):
        """Parameters, beside those of every source."""

        states: tuple[str, ...] | None = None
        fractional_gpus: rules.FractionalGpus = "round_up"
        cpu_jobs: rules.CpuJobs = "drop"
        cpus: rules.UseCpus = "ignore"
        zero_duration: rules.ZeroDuration = "drop"
        origin: NaiveDatetime | None = None

    parameters: Parameters

    def _read(self) -> Table:
        path = self.parameters.path
        first = read_text(path).partition("\n")[0]
        if first.count(",") != len(_TASK_HEADER) - 1:
            return read_csv(path)
        named = first.strip().split(",")[0] == _TASK_HEADER[0]
        return read_delimited(path, header=None if named else _TASK_HEADER)

    def _jobs(self, raw: Table) -> Table:
        path = self.parameters.path
        if len(raw.columns) == len(_TASK_HEADER):
            return self._from_tasks(raw)
        if rules.same_header(raw, _RECOVERED_HEADER):
            return self._from_recovered(raw)
        raise rules.unknown_header(raw, path, _TASK_HEADER, _RECOVERED_HEADER)

    def _from_tasks(self, raw: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        if not rules.same_header(raw, _TASK_HEADER):
            raise rules.unknown_header(raw, path, _TASK_HEADER, _RECOVERED_HEADER)
        numbers = {
            name: without_fillers(to_numbers(raw[name]), time=name.endswith("time"))
            for name in ("inst_num", "start_time", "end_time", "plan_gpu", "plan_cpu")
        }
        known = np.isfinite(numbers["inst_num"]) & np.isfinite(numbers["start_time"] + numbers["end_time"])
        raw = rules.drop(raw, ~known, path, "no inst_num, start or end")
        instances, start, end, gpu, cpu = (values[known] for values in numbers.values())
        names, unknown = ("start_time", "end_time"), np.full(len(raw), np.nan)
        run_s = run_times(raw, str(path), names, start, start, end, unknown)
        per_instance = np.nan_to_num(gpu) / 100.0
        named = zip(raw["job_name"], raw["task_name"], raw.places, strict=True)
        table = raw.assign(
            **{
                "job_id": [f"{job}-{task}#{line}" for job, task, line in named],
                "submit_s": start,
                "gpus": per_instance,
                "duration_s": run_s,
                "cpus": np.ceil(np.nan_to_num(cpu) / 100.0) * instances,
                "gpu_types": ["" if text == "MISC" else text for text in raw["gpu_type"]],
            }
        )
        table = typed(table, str(path), _TASK_FIELDS)
        raw = raw.assign(instances=instances)
        table = rules.keep_states(table, raw, "status", chosen.states, path)
        table = rules.whole_gpus(table, chosen.fractional_gpus, path)
        table = table.assign(gpus=table["gpus"] * raw.at(table.places)["instances"])
        table = rules.apply_cpu_jobs(table, chosen.cpu_jobs, path)
        return self._finished(rules.apply_use_cpus(table, chosen.cpus), _TASK_FIELDS)

    def _from_recovered(self, raw: Table) -> Table:
        rules.refuse_states(self.parameters.states)
        path = str(self.parameters.path)
        return self._finished(
            typed(rules.renamed(raw, _RECOVERED_FIELDS), path, _RECOVERED_FIELDS), _RECOVERED_FIELDS
        )

    def _finished(self, table: Table, fields: dict[str, str]) -> Table:
        path = self.parameters.path
        table = rules.apply_zero_duration(table, self.parameters.zero_duration, path)
        rules.note_order(table, path)
        return rules.dated(check(table, str(path), fields), self.parameters.origin)
