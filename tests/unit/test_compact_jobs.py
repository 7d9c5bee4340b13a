"""Jobs as columns: what they hold, how they read, and how little they take."""

import copy
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from artist.core.compact_jobs import CompactJobs, field_of, templates_of
from artist.core.job import Demand, JobSpec
from artist.engine.admission import MAX_NS, check_jobs
from artist.engine.jobs import JobTable
from artist.errors import InputError
from artist.testing.tiny import tiny_cluster
from artist.workload.build_jobs import to_jobs
from artist.workload.table import check

S = 10**9


def built(count, **columns):
    """Return jobs a second apart, of 100 s in iterations of 1 s."""
    ids = [f"job-é{number:06d}" for number in range(count)]
    table = {"job_id": ids, "submit_s": np.arange(count) * 1.0, "gpus": 1, "duration_s": 100.0, "model": "M"}
    return to_jobs(check(pd.DataFrame(table | columns), "t"), {"M": S, "N": S}.__getitem__)


def test_jobs_read_as_a_list_of_specs():
    """Three jobs, two kinds: 1 and 2 GPUs; by number, from the end, in a stretch, one after the other."""
    jobs = built(3, gpus=[1, 2, 1])
    first, second, third = (
        JobSpec(f"job-é00000{number}", number * S, Demand(gpus), 100, S, "M")
        for number, gpus in enumerate((1, 2, 1))
    )
    assert (jobs[0], jobs[-1], jobs[1:]) == (first, third, [second, third])
    assert jobs == [first, second, third]
    assert templates_of(jobs) == [first, second]
    assert all(type(value) is int for value in (jobs[2].submit_ns, jobs[2].iterations, jobs[2].compute_ns))
    with pytest.raises(IndexError):
        jobs[3]


@pytest.mark.parametrize("name", ["job_id", "submit_ns", "demand", "iterations", "compute_ns", "user"])
def test_a_field_of_all_jobs_is_that_of_their_specs(name):
    """As columns and as a list, all and the middle two of four."""
    jobs = built(4, gpus=[1, 2, 1, 4], user=["u", "", "u", "v"], duration_s=[5.0, 6.0, 7.0, 8.0])
    for part in (slice(None), slice(1, 3)):
        expected = [getattr(spec, name) for spec in list(jobs)[part]]
        assert list(field_of(jobs, name, part)) == list(field_of(list(jobs), name, part)) == expected


def test_a_spec_is_made_once_while_few_are_asked_for(monkeypatch):
    """The same object twice; with room for two, the third takes the place of both."""
    monkeypatch.setattr("artist.core.compact_jobs._KEPT", 2)
    jobs = built(3)
    first = jobs[0]
    assert jobs[0] is first
    assert jobs[1] is not None
    assert jobs.specs.keys() == {0, 1}
    assert jobs[2] is not None
    assert jobs.specs.keys() == {2}
    assert jobs[0] is not first
    assert jobs[0] == first


def test_the_engine_goes_through_specs_and_not_their_numbers():
    """Three jobs, one of them made: the table's specs are three, in order, as those of a list of jobs are."""
    jobs = built(3)
    assert jobs[1].submit_ns == S
    specs = JobTable(jobs).specs
    assert len(specs) == 3
    assert list(specs) == list(jobs)


def test_they_are_copied_as_a_list_is():
    """By pickle, for processes; deeply; and with a job more."""
    jobs = built(3, gpus=[1, 2, 1])
    assert jobs[1] == pickle.loads(pickle.dumps(jobs))[1] == copy.deepcopy(jobs.specs)[1]
    assert jobs == copy.deepcopy(jobs) == pickle.loads(pickle.dumps(jobs))
    assert jobs + jobs[:1] == [*jobs, jobs[0]]


def test_a_job_takes_less_than_64_bytes():
    """20,000 jobs of 2 x 2 kinds: 3 numbers and the end of its name of 8 bytes, 11 of name, 4 of kind: 47."""
    tracemalloc.start()
    try:
        jobs = built(20_000, gpus=[1, 2] * 10_000, model=["M"] * 10_000 + ["N"] * 10_000)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(jobs.templates) == 4
    assert taken < 64 * 20_000


def test_the_first_job_that_can_never_run_is_named():
    """By kind: 9 GPUs on 4. By length: one more iteration than 2^62 ns have."""
    with pytest.raises(InputError, match=r"job 'job-é000002'"):
        check_jobs(built(4, gpus=[1, 2, 9, 9]), tiny_cluster())
    numbers = (np.array(value) for value in ([0, 0, 0], [1, 1, MAX_NS // S + 1], [S] * 3))
    long = CompactJobs("abc", *numbers, [built(1)[0]], np.zeros(3))
    with pytest.raises(InputError, match=r"job 'c': too long to count"):
        check_jobs(long, tiny_cluster())
