"""Real starts: on the clock of the arrivals, and only while arrivals are those of the trace."""

import copy
import pickle

import pandas as pd
import pytest

from artist.core.gpus import Gpu, Gpus
from artist.errors import InputError
from artist.workload.arrivals import BatchArrivals, PoissonArrivals, TraceArrivals
from artist.workload.load import load_jobs
from artist.workload.readers.canonical import CanonicalCsv
from artist.workload.readers.columns import ColumnsCsv

S = 10**9
GPUS = Gpus(Gpu("", 1.0, 1.0), (), lambda name: Gpu(name, 1.0, 1.0))
CSV = "job_id,submit_s,started_s,gpus,duration_s,model\na,100,,1,5,M\nb,40,50,1,5,M\nc,70,70.5,1,5,M\n"


def starts(source, arrivals=None):
    """Return the jobs of a source by name: arrival and real start, in s."""
    jobs = load_jobs(source, arrivals or TraceArrivals(), 8, {"M": S}.__getitem__, GPUS)
    return {spec.job_id: (spec.submit_ns / S, spec.started_ns and spec.started_ns / S) for spec in jobs}


def test_real_starts_move_with_the_arrivals(write):
    """First arrival at 40 s: b starts at 50 - 40, c at 70.5 - 40, a at none; first_s adds 5."""
    source = CanonicalCsv(path=write(CSV))
    assert starts(source) == {"b": (0, 10), "c": (30, 30.5), "a": (60, None)}
    assert starts(source, TraceArrivals(first_s=5)) == {"b": (5, 15), "c": (35, 35.5), "a": (65, None)}
    assert starts(CanonicalCsv(path=write(CSV), window={"start": 30})) == {"c": (0, 0.5), "a": (30, None)}


@pytest.mark.parametrize("arrivals", [BatchArrivals(), PoissonArrivals(jobs_per_hour=9)])
def test_new_arrivals_have_no_real_starts(write, arrivals):
    """A start belongs to the arrival that it followed."""
    assert {start for _, start in starts(CanonicalCsv(path=write(CSV)), arrivals).values()} == {None}


def test_own_arrivals_see_no_real_starts(write):
    """A user's rule changes arrivals in pandas, and knows nothing of starts."""

    class Later:
        def apply(self, table, cluster_gpus):
            assert isinstance(table, pd.DataFrame)
            return table.assign(submit_s=table["submit_s"] + 500)

    assert {start for _, start in starts(CanonicalCsv(path=write(CSV)), Later()).values()} == {None}


@pytest.mark.parametrize(
    ("rows", "unit"),
    [
        ("a,10,12,15\nb,16,20,29\nc,18,,\n", "s"),
        ("a,2020-05-01 00:00:10,2020-05-01 00:00:12,2020-05-01 00:00:15\n"
         "b,2020-05-01 00:00:16,2020-05-01 00:00:20,2020-05-01 00:00:29\n"
         "c,2020-05-01 00:00:18,Unknown,Unknown\n", "timestamp"),
    ],
)  # fmt: skip
def test_columns_keep_the_start(write, rows, unit):
    """Numbers and dates: a starts 2 s after its arrival, b 4 s after its own at 6 s; c has no run time."""
    times = {"submit_s": "at", "start_s": "from", "end_s": "to"}
    source = ColumnsCsv(
        path=write("job,at,from,to\n" + rows),
        columns={"job_id": "job", **times},
        units=dict.fromkeys(times, unit),
        constants={"gpus": 1, "model": "M"},
    )
    assert starts(source) == {"a": (0, 2), "b": (6, 10)}


def test_a_start_before_submission_is_refused(write):
    """It cannot be: the row is named."""
    with pytest.raises(InputError, match=r"started_s is before submission") as raised:
        starts(CanonicalCsv(path=write(CSV.replace("70.5", "69")), bad_rows="refuse"))
    assert "line 4" in str(raised.value)


def test_real_starts_survive_a_copy(write):
    """Worker processes get jobs pickled."""
    jobs = load_jobs(CanonicalCsv(path=write(CSV)), TraceArrivals(), 8, {"M": S}.__getitem__, GPUS)
    for again in (pickle.loads(pickle.dumps(jobs)), copy.copy(jobs)):
        assert [spec.started_ns for spec in again] == [10 * S, 30.5 * S, None]
        assert list(again.column("started_ns")) == [10 * S, 30.5 * S, None]
