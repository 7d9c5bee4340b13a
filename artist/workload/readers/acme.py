"""Reader of the Acme traces, Seren and Kalos (Shanghai AI Lab), Hu et al., NSDI'24 (InternLM/AcmeTrace)."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np

from artist.errors import InputError
from artist.tables.rows import Column, Table, to_numbers
from artist.workload.api import TypedFileParameters
from artist.workload.readers import rules
from artist.workload.readers.instants import TimeZone, arrivals, read_times, run_times, with_starts
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, refuse, typed

_LOG_HEADER = (
    *("job_id", "user", "node_num", "gpu_num", "cpu_num", "type", "state"),
    *("submit_time", "start_time", "end_time", "duration", "queue", "gpu_time"),
)
_LOG_FIELDS = {
    "job_id": "job_id",
    "submit_s": "submit_time",
    "gpus": "gpu_num",
    "duration_s": "duration",
    "user": "user",
    "cpus": "cpu_num",
}
_SAMPLE_HEADER = ("source_trace_id", "gpu_type", "gpu_count", "timestamp", "e2e_latency_s", "queue_wait_s")
_SAMPLE_FIELDS = {
    "job_id": "source_trace_id",
    "submit_s": "timestamp",
    "gpus": "gpu_count",
    "gpu_types": "gpu_type",
    "duration_s": "e2e_latency_s",
}
_CONVERTED_HEADER = (
    *("job_id", "arrival_time", "num_iteration", "iteration_computing_time"),
    *("gpu_workers", "gpu_per_worker"),
)
_CONVERTED_FIELDS = {
    "job_id": "job_id",
    "submit_s": "arrival_time",
    "gpus": "gpu_workers",
    "duration_s": "num_iteration",
}
_CONVERTED_ORIGIN = datetime(2023, 5, 17, 11, 30, 13, tzinfo=UTC)  # checked against 82 jobs of the sample


class AcmeTrace(TraceReader):
    """Jobs of Seren and Kalos, on which large language models are developed.

    Three files are read, plain or gzipped, recognised by their header:

    - the original `trace_seren.csv` and `trace_kalos.csv`: job_id, user, node_num, gpu_num, cpu_num, type,
      state, submit_time, start_time, end_time, duration, queue, gpu_time, and more in Kalos;
    - a sample of Kalos jobs with GPUs: source_trace_id, gpu_type, gpu_count, timestamp, e2e_latency_s,
      queue_wait_s;
    - completed Kalos training jobs as others converted them: job_id, arrival_time, num_iteration,
      iteration_computing_time, gpu_workers, gpu_per_worker, and invented network columns.

    Rules:

    - Dates carry a time zone, +08:00 in Seren and +00:00 in Kalos; all become the wall clock of
      `time_zone`, by default that of both clusters.
    - The run time of the original is end_time - start_time: in Kalos, duration is from submission to the
      end. Jobs without a start or an end (RUNNING, or cancelled in the queue) are left out.
    - The sample's e2e_latency_s is that duration, so the run time is e2e_latency_s - queue_wait_s.
    - The converted file has only the duration, num_iteration x iteration_computing_time, which has the
      wait in it (about 10 s); GPUs are gpu_workers x gpu_per_worker. Its iterations are invented: not used.
    - Jobs without GPUs follow `cpu_jobs` (original only; elsewhere a 0 is refused), those of duration 0 by
      `zero_duration`. `states` keeps some final states (COMPLETED, CANCELLED, FAILED ...) and `types` some
      types of work (Pretrain, SFT, Evaluation ...), of the original only.
    - The real start is start_time, or the sample's timestamp + queue_wait_s.
    - cpu_num is for the whole job; jobs with GPUs ask for CPUs only with `cpus=keep`.
    """

    trace_gpu = "A100"

    class Parameters(TraceParameters, TypedFileParameters):
        """Parameters, beside those of every source."""

        states: tuple[str, ...] | None = None
        types: tuple[str, ...] | None = None
        cpu_jobs: rules.CpuJobs = "drop"
        cpus: rules.UseCpus = "ignore"
        zero_duration: rules.ZeroDuration = "drop"
        time_zone: TimeZone = "Asia/Shanghai"

    parameters: Parameters

    def _jobs(self, raw: Table) -> Table:
        path = self.parameters.path
        if rules.same_header(raw, _LOG_HEADER):
            return self._from_log(raw)
        for field in ("states", "types"):
            if (names := getattr(self.parameters, field)) is not None:
                allowed = "null: only the original files have them"
                raise InputError(f"no {field}", where=f"workload.{field}", found=list(names), allowed=allowed)
        if rules.same_header(raw, _SAMPLE_HEADER):
            return self._from_sample(raw)
        if rules.same_header(raw, _CONVERTED_HEADER):
            return self._from_converted(raw)
        raise rules.unknown_header(raw, path, _LOG_HEADER, _SAMPLE_HEADER, _CONVERTED_HEADER)

    def _from_log(self, raw: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        names = ("submit_time", "start_time", "end_time")
        times = read_times(raw, names, str(path), chosen.time_zone)
        submitted, started, ended = times
        unknown = np.full(len(raw), np.nan)
        run_s = run_times(raw, str(path), names, submitted, started, ended, unknown)
        table = rules.renamed(raw, _LOG_FIELDS).assign(duration_s=run_s)
        table = with_starts(self._with_dates(table, submitted, _LOG_FIELDS), submitted, started)
        table = rules.keep_states(table, raw, "state", chosen.states, path)
        table = rules.keep_values(table, raw, "type", chosen.types, path)
        table = rules.apply_cpu_jobs(table, chosen.cpu_jobs, path)
        table = rules.drop_unfinished(table, path, "no start or no end")
        return self._finished(rules.apply_use_cpus(table, chosen.cpus), _LOG_FIELDS)

    def _from_sample(self, raw: Table) -> Table:
        path = str(self.parameters.path)
        queue_s = to_numbers(raw["queue_wait_s"])
        refuse(raw, ~(queue_s >= 0), path, "queue_wait_s", "is no wait", "seconds, 0 or more")
        (submitted,) = read_times(raw, ["timestamp"], path, self.parameters.time_zone)
        table = self._with_dates(rules.renamed(raw, _SAMPLE_FIELDS), submitted, _SAMPLE_FIELDS)
        table = table.assign(started_s=table["submit_s"] + queue_s)
        return self._finished(table.assign(duration_s=table["duration_s"] - queue_s), _SAMPLE_FIELDS)

    def _from_converted(self, raw: Table) -> Table:
        path = str(self.parameters.path)
        table = typed(rules.renamed(raw, _CONVERTED_FIELDS), path, _CONVERTED_FIELDS)
        per_worker, iteration_s = (to_numbers(raw[n]) for n in ("gpu_per_worker", "iteration_computing_time"))
        refuse(raw, ~(per_worker > 0), path, "gpu_per_worker", "is no number of GPUs", "a number above 0")
        refuse(raw, ~(iteration_s > 0), path, "iteration_computing_time", "is no time", "seconds above 0")
        origin = _CONVERTED_ORIGIN.astimezone(ZoneInfo(self.parameters.time_zone)).replace(tzinfo=None)
        table = table.assign(gpus=table["gpus"] * per_worker, duration_s=table["duration_s"] * iteration_s)
        return self._finished(rules.dated(table, origin), _CONVERTED_FIELDS)

    def _with_dates(self, table: Table, dates: Column, fields: dict[str, str]) -> Table:
        path = str(self.parameters.path)
        dated = arrivals(table, fields["submit_s"], path, dates, self.parameters.time_zone)
        return typed(table.assign(**dated), path, fields)

    def _finished(self, table: Table, fields: dict[str, str]) -> Table:
        path = self.parameters.path
        table = rules.apply_zero_duration(table, self.parameters.zero_duration, path)
        rules.note_order(table, path)
        return check(table, str(path), fields)
