"""Reader of the program's own CSV, for traces that a user converts."""

from difflib import get_close_matches

from artist.errors import InputError
from artist.tables.rows import Table
from artist.workload.api import TypedFileParameters
from artist.workload.fields import COLUMNS, OPTIONAL_COLUMNS
from artist.workload.readers.instants import read_times
from artist.workload.readers.trace import BadRowsRule, TraceParameters, TraceReader
from artist.workload.table import check


class CanonicalCsv(TraceReader):
    """Jobs of a CSV file, plain or gzipped, with the columns of `artist.workload.fields`.

    Required are job_id, submit_s, gpus, and the work: duration_s, or iterations and compute_s. Every other
    column may be left out, and a value left empty. An unknown column is refused because it might be misspelt.
    `submit_date`, such as 2020-06-01 12:30:00, allows windows by date.
    """

    class Parameters(TraceParameters, TypedFileParameters):
        """Parameters, which are those of every source of one file."""

        bad_rows: BadRowsRule = "refuse"

    parameters: Parameters

    def _jobs(self, raw: Table) -> Table:
        path = self.parameters.path
        known = (*COLUMNS, "submit_date", *OPTIONAL_COLUMNS)
        for column in raw.columns:
            if column not in known:
                close = get_close_matches(column, known, n=1)
                allowed = (f"did you mean {close[0]}? " if close else "") + ", ".join(known)
                raise InputError("unknown column", where=f"{path}, line 1", found=column, allowed=allowed)
        table = check(raw, str(path))
        if "submit_date" in raw:
            (dates,) = read_times(raw, ["submit_date"], str(path))
            table = table.assign(submit_date=dates)
        return table
