"""Reader of the Helios traces (SenseTime), Hu et al., SC'21, doi 10.1145/3458817.3476223."""

import re
from datetime import datetime
from typing import Literal

import numpy as np
from pydantic import NaiveDatetime

from artist.randomness import child_generator
from artist.tables.rows import Table
from artist.workload.readers import rules
from artist.workload.readers.instants import arrivals, read_times, with_starts
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, typed

_LOG_HEADER = (
    *("job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "state"),
    *("submit_time", "start_time", "end_time", "duration", "queue"),
)
_LOG_FIELDS = {
    "job_id": "job_id",
    "submit_s": "submit_time",
    "gpus": "gpu_num",
    "duration_s": "duration",
    "user": "user",
    "vc": "vc",
    "cpus": "cpu_num",
}
_RECOVERED_HEADER = ("job_id", "arrival_s", "service_sec", "gpu_count")
_RECOVERED_FIELDS = {
    "job_id": "job_id",
    "submit_s": "arrival_s",
    "gpus": "gpu_count",
    "duration_s": "service_sec",
}
_CUT_S = 172_800.0  # run times of the recovered file end there
_EXCESS_S = 51 * 3600.0  # mean beyond: with it as many GPUs of Venus are busy as were, 712
VENUS_ORIGIN = datetime(2020, 3, 18, 4, 1, 39)  # found from 2,901 jobs that carry both values


class HeliosTrace(TraceReader):
    """Jobs of a Helios cluster.

    Two files are read, plain or gzipped, recognised by their header:

    - the original `cluster_log.csv`: job_id, user, vc, gpu_num, cpu_num, node_num, state, submit_time,
      start_time, end_time, duration, queue; local wall clock, durations in seconds;
    - the recovered file of four columns: job_id, arrival_s, service_sec, gpu_count; seconds after
      `origin`, durations clamped at 172,800 s.

    Rules:

    - The duration is the trace's own run time without waiting; jobs of duration 0 follow `zero_duration`.
    - Jobs of the original file that used no GPU follow `cpu_jobs`; kept ones need cpu_num. The recovered file
      has none, so there a 0 is refused.
    - Jobs of all final states are kept, unless `states` names some (original file only).
    - cpu_num is for the whole job; jobs with GPUs ask for CPUs only with `cpus=keep`.
    - `measured_on=trace` means V100, as Venus and Earth have; Saturn has older GPUs too, Uranus no others.
    - start_time is kept as the real start; node_num, end_time and queue are not used.
    """

    trace_gpu = "V100"

    class Parameters(TraceParameters):
        """Parameters, beside those of every source.

        Attributes
        ----------
        origin
            Date of arrival_s = 0 in the recovered file, for windows by date; the default is that of the
            recovered Venus files, and holds for jobs called as there (363167#0). None: the file has no dates.
        tail
            Run times that the recovered file cuts at 48 h: cut | exponential, 48 h and an exponential
            excess of 51 h in the mean, drawn by the seed, which restores the GPU time of Venus.
        """

        states: tuple[str, ...] | None = None
        cpu_jobs: rules.CpuJobs = "drop"
        cpus: rules.UseCpus = "ignore"
        zero_duration: rules.ZeroDuration = "drop"
        origin: NaiveDatetime | None = VENUS_ORIGIN
        tail: Literal["cut", "exponential"] = "cut"

    parameters: Parameters

    def _jobs(self, raw: Table) -> Table:
        if rules.same_header(raw, _LOG_HEADER):
            return self._from_log(raw)
        if rules.same_header(raw, _RECOVERED_HEADER):
            return self._from_recovered(raw)
        raise rules.unknown_header(raw, self.parameters.path, _LOG_HEADER, _RECOVERED_HEADER)

    def _from_log(self, raw: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        table = typed(rules.renamed(raw, _LOG_FIELDS).assign(submit_s=0.0), str(path), _LOG_FIELDS)
        (dates,), (starts,) = (read_times(raw, [name], str(path)) for name in ("submit_time", "start_time"))
        table = table.assign(**arrivals(raw, "submit_time", str(path), dates))
        table = with_starts(table, dates, starts)
        table = rules.keep_states(table, raw, "state", chosen.states, path)
        table = rules.apply_cpu_jobs(table, chosen.cpu_jobs, path)
        table = rules.apply_zero_duration(table, chosen.zero_duration, path)
        return check(rules.apply_use_cpus(table, chosen.cpus), str(path), _LOG_FIELDS)

    def _from_recovered(self, raw: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        rules.refuse_states(chosen.states)
        table = typed(rules.renamed(raw, _RECOVERED_FIELDS), str(path), _RECOVERED_FIELDS)
        venus = all(
            re.fullmatch(r"\d+(#\d+)?", name) for name in table["job_id"]
        )  # Alibaba's has these columns, too
        origin = chosen.origin if venus or chosen.origin != VENUS_ORIGIN else None
        table = rules.apply_zero_duration(table, chosen.zero_duration, path)
        table = check(table, str(path), _RECOVERED_FIELDS)
        return rules.dated(self._with_tail(table) if venus else table, origin)

    def _with_tail(self, table: Table) -> Table:
        """Return the table with run times beyond 48 h if asked for; log a note on the file's limits."""
        cut, drawn = table["duration_s"] >= _CUT_S, self.parameters.tail == "exponential"
        if drawn:
            excess_s = child_generator(self.parameters.seed, "tail").exponential(_EXCESS_S, len(table))
            table = table.assign(duration_s=table["duration_s"] + np.where(cut, excess_s, 0.0))
        tail = "drawn beyond 48 h" if drawn else "cut at 48 h (28 % of the GPU time; see workload.tail)"
        note = "%s: no virtual clusters, and %d run times %s: its waits are a what-if, not those of Venus"
        rules.log.info(note, self.parameters.path, int(cut.sum()), tail, extra={"note": True})
        return table
