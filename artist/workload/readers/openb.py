"""Reader of the Alibaba openb trace of 2023, Weng et al., ATC'23 (alibaba/clusterdata, gpu-v2023)."""

import numpy as np

from artist.tables.rows import Table
from artist.workload.api import TypedFileParameters
from artist.workload.readers import rules
from artist.workload.readers.instants import run_times, with_starts
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, typed

_HEADER = (
    *("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase"),
    *("creation_time", "deletion_time", "scheduled_time"),
)
_FIELDS = {
    "job_id": "name",
    "submit_s": "creation_time",
    "gpus": "num_gpu",
    "cpus": "cpu_milli",
    "memory_bytes": "memory_mib",
    "gpu_types": "gpu_spec",
}
_NUMBERS = {
    "job_id": "name",
    "submit_s": "deletion_time",
    "gpus": "gpu_milli",
    "duration_s": "scheduled_time",
}
_BYTES_PER_MIB = 2**20
_WHOLE_MILLI = 1000


class OpenbTrace(TraceReader):
    """Pods of an Alibaba cluster that trains and serves, `openb_pod_list_*.csv` as published.

    One pod is one job: the file has no groups of pods. Rules:

    - Arrival is creation_time, the real start scheduled_time, the run time from there to deletion_time.
      Pods that were never scheduled (Pending) are left out; one of duration 0 follows `zero_duration`.
    - Pods that ask for one GPU may use gpu_milli / 1000 of it: they share a GPU with others. Jobs here have
      GPUs of their own: such pods follow `fractional_gpus`, round_up (they get the GPU; demand is overstated)
      or drop.
    - Pods without GPUs follow `cpu_jobs`; cores are cpu_milli / 1000, rounded up.
    - Pods with GPUs ask for CPUs and memory only with `cpus=keep` and `memory=keep`.
    - `qos` keeps some classes (LS is latency-sensitive, mostly inference; BE is best effort, mostly
      batch; Burstable, Guaranteed), `states` some values of pod_phase (Running, Succeeded, Failed).
    - Seconds count from an unknown date. Until day 125 only pods that lived long are listed: take
      `window.start=10800000` for arrival rates.
    - gpu_spec lists the GPU types that a pod may use; empty: any.
    """

    class Parameters(TraceParameters, TypedFileParameters):
        """Parameters, beside those of every source."""

        states: tuple[str, ...] | None = None
        qos: tuple[str, ...] | None = None
        fractional_gpus: rules.FractionalGpus = "round_up"
        cpu_jobs: rules.CpuJobs = "drop"
        cpus: rules.UseCpus = "ignore"
        memory: rules.UseCpus = "ignore"
        zero_duration: rules.ZeroDuration = "drop"

    parameters: Parameters

    def _jobs(self, raw: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        rules.require_header(raw, path, _HEADER)
        table = typed(rules.renamed(raw, _FIELDS), str(path), _FIELDS)
        others = typed(rules.renamed(raw, _NUMBERS), str(path), _NUMBERS)  # deletion, GPU share, scheduled
        share = np.where(table["gpus"] == 1, others["gpus"] / _WHOLE_MILLI, 1.0)
        names, unknown = ("creation_time", "scheduled_time", "deletion_time"), np.full(len(raw), np.nan)
        submit, start, end = table["submit_s"], others["duration_s"], others["submit_s"]
        run_s = run_times(raw, str(path), names, submit, start, end, unknown)
        table = table.assign(
            gpus=table["gpus"] * share,
            duration_s=run_s,
            cpus=np.ceil(table["cpus"] / 1000),
            memory_bytes=table["memory_bytes"] * _BYTES_PER_MIB,
        )
        table = with_starts(table, submit, start)
        table = rules.keep_states(table, raw, "pod_phase", chosen.states, path)
        table = rules.keep_values(table, raw, "qos", chosen.qos, path)
        table = rules.drop_unfinished(table, path, "never scheduled")
        table = rules.apply_cpu_jobs(table, chosen.cpu_jobs, path)
        table = rules.whole_gpus(table, chosen.fractional_gpus, path)
        table = rules.apply_zero_duration(table, chosen.zero_duration, path)
        table = rules.apply_use_memory(rules.apply_use_cpus(table, chosen.cpus), chosen.memory)
        rules.note_order(table, path)
        return check(table, str(path), _FIELDS)
