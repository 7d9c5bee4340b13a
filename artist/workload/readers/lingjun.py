"""Reader of the Alibaba Lingjun trace of 2023, Cao et al., SIGCOMM'24 (alibaba-lingjun-dataset-2023)."""

from pydantic import NaiveDatetime

from artist.tables.rows import Table
from artist.workload.readers import rules
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, typed

_HEADER = ("#job id", "arrival time (sec)", "topology", "shape", "size", "duration (sec)")
_FIELDS = {
    "job_id": "#job id",
    "submit_s": "arrival time (sec)",
    "gpus": "size",
    "duration_s": "duration (sec)",
}


class LingjunTrace(TraceReader):
    """Jobs of an Alibaba cluster that trains large models.

    Read is the file as the RFold authors converted it: #job id, arrival time (sec), topology, shape, size
    (GPUs), duration (sec). The original job.csv and worker.csv, with one row per job and per worker, are not.

    Rules:

    - All times are whole minutes. A job of duration 0, which took less than a minute, follows
      `zero_duration`.
    - Seconds count from the first job, in August 2023 at an unknown hour; `origin` names a date.
    - topology and shape, added by others, are not used; users and VCs are not known.
    """

    class Parameters(TraceParameters):
        """Parameters, beside those of every source."""

        zero_duration: rules.ZeroDuration = "drop"
        origin: NaiveDatetime | None = None

    parameters: Parameters

    def _jobs(self, raw: Table) -> Table:
        path = self.parameters.path
        rules.require_header(raw, path, _HEADER)
        table = typed(rules.renamed(raw, _FIELDS), str(path), _FIELDS)
        table = rules.apply_zero_duration(table, self.parameters.zero_duration, path)
        rules.note_order(table, path)
        return rules.dated(check(table, str(path), _FIELDS), self.parameters.origin)
