"""A row that cannot be simulated is left out and counted, or refused."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.workload.readers.canonical import CanonicalCsv
from artist.workload.readers.helios import HeliosTrace

Write = Callable[..., Path]
HEADER = "job_id,arrival_s,service_sec,gpu_count\n"
GOOD = "a,0,3600,2\nb,10,60,1\n"
BAD = "c,20,3600,2.5\nd,30,minute,1\ne,40,7200,1.5\na,50,7200,4\nf,60,5,1,9\n"


def test_bad_rows_of_a_trace_are_counted_by_fault(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Of seven rows two are jobs. Lines 4 and 6 ask for parts of GPUs: 2.5 x 1 h + 1.5 x 2 h = 5.5 GPU-hours.

    Line 7 repeats a: 4 GPUs x 2 h = 8 GPU-hours. Of line 5 the run time is not known, line 8 has five fields.
    """
    source = HeliosTrace(path=write(HEADER + GOOD + BAD))
    assert source.table()["job_id"].tolist() == ["a", "b"]
    counts = (
        "left out 5 bad rows (bad_rows=drop): more fields than the header (1, first line 8); "
        "service_sec is not a number (1, first line 5); "
        "gpu_count is not a whole number (2, first line 4, 5.5 GPU-hours); "
        "job_id is a duplicate (1, first line 7, 8 GPU-hours)"
    )
    (note,) = [record for record in caplog.records if getattr(record, "note", False)]
    assert note.getMessage().endswith(counts)
    assert source.describe() == f"trace.csv, read as helios; {counts}"


def test_good_files_are_described_without_a_count(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing was left out, so nothing is said."""
    source = HeliosTrace(path=write(HEADER + GOOD))
    assert len(source.table()) == 2
    assert source.describe() == "trace.csv, read as helios"
    assert not caplog.records


def test_notes_count_the_good_rows_once(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Line 4 takes 0 s and is left out of three jobs; the bad line 5 does not repeat that note."""
    caplog.set_level(logging.INFO)
    HeliosTrace(path=write(HEADER + GOOD + "c,20,0,1\nd,30,60,-2\n")).table()
    assert [record.getMessage().split(": ", 1)[1] for record in caplog.records] == [
        "left out 1 of 3 jobs: duration is 0 (zero_duration=drop)",
        "left out 1 bad row (bad_rows=drop): gpu_count is negative (1, first line 5)",
    ]


def test_a_file_without_a_good_row_names_its_first_fault(write: Write) -> None:
    """Line 3 is no job for another reason than line 2, which is named; with c of 0 s none is left either."""
    for rest in ("b,10,minute,1\n", "c,20,0,1\n"):
        with pytest.raises(InputError, match=r"line \d: (gpu_count is negative|service_sec is not a number)"):
            HeliosTrace(path=write(HEADER + "a,0,60,-2\n" + rest)).table()


@pytest.mark.parametrize("line", BAD.splitlines())
def test_a_bad_row_is_refused_where_the_user_wants_it(write: Write, line: str) -> None:
    """The same rows, each of them alone, end the command."""
    with pytest.raises(InputError, match="line 4"):
        HeliosTrace(path=write(HEADER + GOOD + line + "\n"), bad_rows="refuse").table()


def test_a_table_of_the_user_refuses_by_default(write: Write) -> None:
    """Its rows are the user's to mend; drop leaves line 3 out."""
    path = write("job_id,submit_s,gpus,duration_s\na,0,1,60\nb,0,1,-60\n")
    with pytest.raises(InputError, match="line 3: duration_s is negative"):
        CanonicalCsv(path=path).table()
    assert len(CanonicalCsv(path=path, bad_rows="drop").table()) == 1
