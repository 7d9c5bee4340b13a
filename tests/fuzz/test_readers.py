"""Damaged traces through every reader, as far as the jobs that the engine would get."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artist.core.gpus import Gpu, Gpus
from artist.core.job import JobSpec
from artist.describe.demand import read_demand
from artist.describe.statistics import describe
from artist.describe.tables import demand_csv, demand_text, description_csv, description_text
from artist.errors import InputError
from artist.units import MAX_S
from artist.workload.arrivals import CompressArrivals, PoissonArrivals, TraceArrivals
from artist.workload.build_jobs import to_jobs
from artist.workload.load import load_table
from artist.workload.table import check
from netmodels.profiles.profile import get_profile
from tests.fuzz.mutations import damaged, tables, texts, trees
from tests.fuzz.oracle import fuzzed, result_of
from tests.fuzz.samples import SAMPLES, SPEEDS, Sample

NS = 10**9
ARRIVALS = (TraceArrivals(), PoissonArrivals(load=0.9), CompressArrivals(load=0.9))
DEMANDS = (
    "time_s,gpus\n0,10\n3600,20\n7200,5\n",
    "gmt_create,predict_status,exec_time_seconds\n2024-11-15 16:57:50,SUCCEED,10\n"
    "2024-11-15 18:57:50,PENDING,\n"
    "2024-11-15 20:00:00.5,SUCCEED,100\n",
    "instance_sn,role,app_name,gpu_request,scheduled_time,deletion_time\na,HN,x,1,0,90000\nb,CN,x,0,,\n",
)


def jobs_of(reader: Any, arrivals: Any, also_describe: bool = False) -> list[JobSpec]:
    """Return the jobs of a source; described on the way, which must not fail where the run does not."""
    table = load_table(reader, arrivals, 128, Gpus(Gpu(), (), {}.__getitem__))
    assert check(table, "again")["job_id"].tolist() == table["job_id"].tolist()
    if also_describe:
        described = [describe(table.frame(), "x", cluster_gpus=128, machines=16, target_load=0.9)]
        assert description_text(described)
        assert description_csv(described)
    return to_jobs(table, lambda model: get_profile(model).compute_ns)


def check_jobs(jobs: list[JobSpec] | None) -> None:
    """Check what the engine takes for granted of jobs."""
    if jobs is None:
        return
    assert jobs
    assert len({job.job_id for job in jobs}) == len(jobs)
    assert jobs[0].submit_ns == 0
    for job in jobs:
        assert 0 <= job.submit_ns <= MAX_S * NS
        assert job.iterations >= 1
        assert job.compute_ns >= 1
        assert job.iterations * job.compute_ns <= 2 * MAX_S * NS
        assert 0 <= job.demand.gpus <= 10**6


@st.composite
def parameters(draw: st.DrawFn, sample: Sample) -> dict[str, Any]:
    """Return good parameters of a reader."""
    chosen = (
        draw(st.lists(st.sampled_from(sorted(sample.may)), unique=True, max_size=3)) if sample.may else []
    )
    return sample.needs | {name: draw(st.sampled_from(sample.may[name])) for name in chosen}


@pytest.mark.parametrize("name", SAMPLES)
@fuzzed(10)
@given(data=st.data())
def test_a_damaged_trace_is_read_or_refused(folder: Path, name: str, data: st.DataObject) -> None:
    """Whatever became of a file on its way, a user gets jobs that can run or two lines that say why not."""
    sample = SAMPLES[name]
    if sample.separator:
        text = data.draw(tables(sample.text, sample.separator))
    else:
        text = json.dumps(data.draw(trees(json.loads(sample.text), 3)))
    path = folder / "trace"
    path.write_bytes(data.draw(damaged(text)))
    speeds = json.dumps(data.draw(trees(SPEEDS))) if "throughputs" in sample.needs else ""
    (folder / "speeds.json").write_text(speeds)
    chosen, arrivals = data.draw(parameters(sample)), data.draw(st.sampled_from(ARRIVALS))
    also = data.draw(st.sampled_from((True, False, False, False)))
    check_jobs(result_of(lambda: jobs_of(sample.reader(path=path, **chosen), arrivals, also)))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_good(folder: Path, name: str) -> None:
    """Otherwise the mutations would only be refused for faults of the original."""
    (folder / "trace").write_text(SAMPLES[name].text)
    (folder / "speeds.json").write_text(json.dumps(SPEEDS))
    reader = SAMPLES[name].reader(path=folder / "trace", **SAMPLES[name].needs)
    check_jobs(jobs_of(reader, TraceArrivals(), True))


@pytest.mark.parametrize("name", SAMPLES)
@fuzzed(3)
@given(data=st.data())
def test_wrong_parameters_of_a_reader_are_refused(folder: Path, name: str, data: st.DataObject) -> None:
    """They come from YAML or the command line, with any type and size."""
    sample = SAMPLES[name]
    (folder / "trace").write_text(sample.text)
    (folder / "speeds.json").write_text(json.dumps(SPEEDS))
    good = data.draw(parameters(sample)) | {"window": {"start": 0, "end": None}, "first": 2, "seed": 0}
    chosen = data.draw(trees(good | {"vcs": ["v"], "models": {"rule": "fixed", "name": "VGG11"}}, 3))
    if not isinstance(chosen, dict) or not all(isinstance(key, str) for key in chosen):
        return
    check_jobs(
        result_of(lambda: jobs_of(sample.reader(**({"path": folder / "trace"} | chosen)), ARRIVALS[0]))
    )


@pytest.mark.parametrize("text", DEMANDS, ids=["own", "requests", "instances"])
@fuzzed(20)
@given(data=st.data())
def test_a_damaged_demand_series_is_described_or_refused(
    folder: Path, text: str, data: st.DataObject
) -> None:
    """Steps of any length over times of any size must neither overflow nor fill the memory."""
    path = folder / "demand.csv"
    path.write_bytes(data.draw(damaged(data.draw(tables(text)))))
    step_s = data.draw(st.sampled_from((3600.0, 600.0, 1.0, 1e-9, 1e9)))

    def described() -> str:
        series = read_demand(path, step_s)
        return demand_text([series]) + (demand_csv([series]) if len(series.gpus) < 10_000 else "")

    result_of(described)


@fuzzed(10)
@given(name=texts)
def test_a_path_of_any_name_is_refused(name: str) -> None:
    """Paths come from the same places as all other values."""
    with pytest.raises(InputError):
        jobs_of(SAMPLES["csv"].reader(path=f"{name}/nowhere.csv"), ARRIVALS[0])
