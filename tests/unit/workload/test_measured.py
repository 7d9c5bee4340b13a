"""The GPUs that the times of a trace hold for."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from artist.core.gpus import Gpu, Gpus
from artist.data import data_path
from artist.datacenter.build import build_cluster
from artist.datacenter.config import ClusterConfig
from artist.datacenter.gpus import gpus_of
from artist.errors import InputError
from artist.units import MAX_S
from artist.workload.arrivals import BatchArrivals, load_of
from artist.workload.coda import CodaTrace
from artist.workload.load import load_jobs, read_table
from artist.workload.lyra import LyraTrace
from artist.workload.readers.canonical import CanonicalCsv
from artist.workload.readers.gavel import GavelTrace
from artist.workload.readers.helios import HeliosTrace
from artist.workload.readers.spot import SpotTrace
from artist.workload.staged import StagedTrace
from artist.workload.synthetic import SyntheticTrace
from netmodels.api import load_topology

HEAD = "job_id,submit_s,gpus,duration_s,cpus,model\n"
HELIOS = "job_id,arrival_s,service_sec,gpu_count\na,0,600,8\nb,10,60,1\n"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a file."""

    def make(text: str) -> Path:
        path = tmp_path / "jobs.csv"
        path.write_text(text)
        return path

    return make


def on(topology: str, machines: object = 2) -> Gpus:
    """Return the GPUs of a cluster."""
    fabric = load_topology(data_path("topologies", f"{topology}.yaml"))
    cluster, _ = build_cluster(ClusterConfig.model_validate({"machines": machines}), fabric)
    return gpus_of(cluster, fabric)


H100, V100 = on("dgx_h100_3tier"), on("v100_100g")


@pytest.mark.parametrize(
    ("measured_on", "gpus", "seconds"),
    [
        ("cluster", H100, 600.0),
        ("cluster", V100, 600.0),
        ("trace", H100, 150.0),  # 600 s on V100, of a quarter of the speed
        ("trace", V100, 600.0),
        ("V100", H100, 150.0),
        ("H100", V100, 2400.0),
        ("GTX1080Ti", H100, 84.0),  # of pcie_10g, 0.14
        (0.5, H100, 300.0),
        (1, V100, 2400.0),
    ],
)
def test_a_run_time_is_that_of_the_cluster_s_own_gpus(
    write: Write, measured_on: str | float, gpus: Gpus, seconds: float
) -> None:
    """600 s of Helios, whose trace is of V100: time x speed where measured / speed here."""
    table = read_table(HeliosTrace(path=write(HELIOS), measured_on=measured_on), gpus)
    assert table["duration_s"].tolist() == pytest.approx([seconds, seconds / 10], rel=1e-15)
    assert table["measured_speed"].tolist() == [gpus.default.speed] * 2


def test_the_load_of_a_v100_trace_on_h100_is_a_quarter(write: Write) -> None:
    """8 x 600 + 60 = 4860 GPU-s in 10 s on 100 GPUs: 4.86; on H100, of four times the speed, 1.215."""
    tables = [read_table(HeliosTrace(path=write(HELIOS), measured_on=m), H100) for m in ("cluster", "trace")]
    assert [load_of(table, 100) for table in tables] == [4.86, 1.215]


def test_an_unknown_gpu_is_refused_with_those_that_are_known(write: Write) -> None:
    """A10 is on no topology: types of the run's own come first, then those that ship, then a number."""
    with pytest.raises(InputError) as error:
        read_table(HeliosTrace(path=write(HELIOS), measured_on="A10"), V100)
    assert (error.value.where, error.value.found) == ("workload.measured_on", "A10")
    assert str(error.value.allowed).startswith("V100, A100, B200, GB200, GH200, GTX1080Ti, H100, H200, T4")
    assert "0.25" in str(error.value.allowed)


def test_trace_is_refused_where_the_reader_cannot_know(write: Write) -> None:
    """A table of one's own does not say what it was measured on."""
    source = CanonicalCsv(path=write(HEAD + "a,0,1,10,,\n"), measured_on="trace")
    with pytest.raises(InputError, match="CanonicalCsv does not know the GPUs of its trace"):
        read_table(source, H100)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "", None, 1e7])
def test_an_unknown_gpu_or_speed_is_refused(value: object) -> None:
    """A speed is a number from 1e-6 to 1e6, as of a machine type."""
    with pytest.raises(InputError, match="measured_on is cluster, trace, a GPU type"):
        SyntheticTrace(load=0.9, measured_on=value)


def test_cpu_jobs_have_no_speed(write: Write) -> None:
    """A job without GPUs takes its 10 s on any; trace need not be known where no job has GPUs."""
    path = write(HEAD + "a,0,0,10,4,\n")
    for measured_on in ("trace", 0.25):
        table = read_table(CanonicalCsv(path=path, measured_on=measured_on), V100)
        assert [table[name].tolist() for name in ("duration_s", "measured_speed", "measured_worth")] == [
            [10.0],
            [1.0],
            [1.0],
        ]
        (job,) = load_jobs(
            CanonicalCsv(path=path, measured_on=measured_on), BatchArrivals(), 16, lambda model: 1, V100
        )
        assert (job.iterations, job.ideal_ns, job.demand.measured_speed) == (10, 10_000_000_000, 1.0)


def test_iterations_are_those_of_the_gpus_where_measured(write: Write) -> None:
    """A profile of 0.1 s on the reference GPU takes 0.4 s on V100: 100 s are 250 iterations, not 1000.

    Measured on H100 they are 1000, of 0.4 s each on V100.
    """
    path = write(HEAD + "a,0,1,100,,VGG11\n")
    jobs = [
        load_jobs(CanonicalCsv(path=path, measured_on=m), BatchArrivals(), 16, lambda model: 10**8, V100)
        for m in ("cluster", "H100")
    ]
    assert [(job.iterations, job.compute_ns) for (job,) in jobs] == [(250, 4 * 10**8), (1000, 4 * 10**8)]
    assert {job.demand.measured_speed for (job,) in jobs} == {0.25}


def test_each_row_may_name_its_measured_gpu(write: Write) -> None:
    """On V100: as workload.measured_on, the cluster, a type, a number; a CPU-only job is left alone.

    100 s on H100 are 400 here, on the cluster's own 100, on half of an H100 200, on a V100 100.
    """
    rows = "".join(f"{i},0,1,100,,VGG11,{value}\n" for i, value in enumerate(("", "cluster", "0.5", " V100")))
    path = write(HEAD.replace("\n", ",measured_on\n") + rows + "9,0,0,100,2,,H100\n")
    table = read_table(CanonicalCsv(path=path, measured_on="H100"), V100)
    assert table["duration_s"].tolist() == [400, 100, 200, 100, 100]
    jobs = load_jobs(
        CanonicalCsv(path=path, measured_on="H100"), BatchArrivals(), 16, lambda model: 10**8, V100
    )
    demands = [job.demand for job in jobs]
    assert [d.measured_worth for d in demands] == [1.0, 0.25, 0.5, 0.25, 1.0]
    assert [d.measured_speed for d in demands] == [0.25] * 4 + [1.0]


def test_the_source_is_not_asked_if_all_rows_name_their_gpu(write: Write) -> None:
    """Trace is not known of a table of one's own, and nobody asks."""
    path = write(HEAD.replace("\n", ",measured_on\n") + "a,0,1,100,,VGG11,H100\n")
    assert read_table(CanonicalCsv(path=path, measured_on="trace"), H100)["duration_s"].tolist() == [100]


@pytest.mark.parametrize(
    ("value", "words", "allowed"),
    [
        ("A10", "unknown GPU type", "V100, A100, B200, GB200, GH200, GTX1080Ti, H100, H200, T4"),
        ("trace", "unknown GPU type", "V100"),
        ("0", "not a relative speed", "1e-06 to 1e+06"),
        ("-1", "not a relative speed", "1e-06 to 1e+06"),
        ("1e-9", "not a relative speed", "1e-06 to 1e+06"),
    ],
)
def test_a_row_with_a_wrong_gpu_is_named(write: Write, value: str, words: str, allowed: str) -> None:
    """File, line, column, the value found and the allowed values."""
    path = write(HEAD.replace("\n", ",measured_on\n") + f"a,0,1,9,,VGG11,V100\nb,0,1,9,,VGG11,{value}\n")
    with pytest.raises(InputError, match=words) as error:
        read_table(CanonicalCsv(path=path), V100)
    assert error.value.where == f"{path}, line 3, measured_on"
    assert error.value.found == value
    assert allowed in str(error.value.allowed)


def test_gpu_counts_hold_for_the_gpus_where_measured(write: Write) -> None:
    """V100: 1 in v100_t4_pools, 0.25 beside H100 of 1; speed 0.3 beside T4 of 0.5 at 1/12: 0.3 x 6 = 1.8."""
    path, pools = write(HEAD + "a,0,8,100,,VGG11\n"), on("v100_t4_pools", [{"type": "t4_8gpu", "count": 2}])
    cases = (("V100", pools), ("cluster", pools), ("V100", H100), (0.3, pools))
    worths = [
        read_table(CanonicalCsv(path=path, measured_on=m), g)["measured_worth"].item() for m, g in cases
    ]
    assert worths == pytest.approx([1.0, 0.5, 0.25, 1.8])


def test_all_times_but_the_network_s_follow_the_gpus() -> None:
    """Measured on V100, on H100: compute and stages take a quarter, but the network is the same."""
    drawn = StagedTrace(jobs=5, days=1)
    before, after = (
        read_table(StagedTrace(jobs=5, days=1, measured_on=m), H100) for m in ("cluster", "trace")
    )
    assert drawn.trace_gpu == "V100"
    for name in ("duration_s", "compute_s", "storage_s", "cpu_s", "gpu_s"):
        assert (after[name] == before[name] / 4).all(), name
    for name in ("network_s", "iterations", "gpus", "submit_s"):
        assert (after[name] == before[name]).all(), name


def test_drawn_arrivals_aim_at_the_load_of_the_cluster_s_gpus() -> None:
    """Load 0.5 on 128 of the cluster's own GPUs: jobs that take a quarter of the time arrive in a quarter.

    To a thousandth, as hours of the day have rates of their own.
    """
    measured = ("cluster", "trace", "H100")
    tables = [read_table(SyntheticTrace(load=0.5, measured_on=m, structure="none"), H100) for m in measured]
    spans = [table["submit_s"].max() for table in tables]
    assert spans[1] == pytest.approx(spans[0] / 4, rel=1e-3)
    assert spans[2] == spans[0]
    assert [load_of(table, 128) for table in tables] == pytest.approx([load_of(tables[0], 128)] * 3, rel=1e-3)


def test_the_default_gpu_of_several_is_logged(caplog: pytest.LogCaptureFixture, write: Write) -> None:
    """v100_t4_pools means V100, its default, though most GPUs are T4; of one type nothing is said."""
    pools = on("v100_t4_pools", [{"type": "t4_8gpu", "count": 3}, {"type": "v100_8gpu", "count": 1}])
    with caplog.at_level(logging.INFO):
        for gpus, measured_on in ((pools, "cluster"), (V100, "cluster"), (pools, "V100")):
            read_table(HeliosTrace(path=write(HELIOS), measured_on=measured_on), gpus)
    (record,) = caplog.records
    assert record.getMessage() == (
        "durations are taken as measured on V100, of T4, V100; see workload.measured_on"
    )
    assert record.__dict__["note"] is True


def test_a_time_that_does_not_fit_is_refused(write: Write) -> None:
    """4e9 s, the most that a trace may say, is too long on GPUs of a quarter of the speed."""
    source = CanonicalCsv(path=write(HEAD + f"a,0,1,{MAX_S:.0f},,\n"), measured_on="H100")
    with pytest.raises(InputError, match="run time is too long on V100"):
        read_table(source, V100)


def test_readers_name_the_gpu_of_their_trace(traces: Path) -> None:
    """Gavel: the worker whose throughputs are taken; spot: the one model chosen; generated Venus: V100."""
    gavel = {"path": "x", "throughputs": "y"}
    assert GavelTrace(**gavel).trace_gpu == "V100"
    assert GavelTrace(**gavel, worker="p100_unconsolidated").trace_gpu == "P100"
    assert [SpotTrace(path="x", gpu_models=m).trace_gpu for m in (None, ["A10"], ["A10", "H800"])] == [
        *("", "A10", "")
    ]
    assert [SyntheticTrace(load=1, preset=p).trace_gpu for p in ("helios_venus", "philly")] == ["V100", ""]


def test_topologies_that_ship_agree_on_the_speed_of_a_gpu() -> None:
    """Else it would hang on the order of their files what V100 means on another topology."""
    speeds: dict[str, set[float]] = {}
    for file in data_path("topologies").glob("*.yaml"):
        for kind in load_topology(file).machine_types.values():
            speeds.setdefault(kind.gpu_type, set()).add(kind.speed)
    assert {name: len(speed) for name, speed in speeds.items()} == dict.fromkeys(speeds, 1)


def test_the_cluster_s_own_gpus_of_several_types() -> None:
    """The fabric's default if it is there, else the type with most GPUs; none of a cluster without GPUs."""
    v100, t4 = {"type": "v100_8gpu", "count": 1}, {"type": "t4_8gpu", "count": 3}
    assert on("v100_t4_pools", [t4, v100]).default == Gpu("V100", 0.25, 1.0)
    assert on("v100_t4_pools", [t4]).default == Gpu("T4", 0.25 / 3, 0.5)
    p3dn, g4dn = {"type": "p3dn_24xlarge", "count": 2}, {"type": "g4dn_12xlarge", "count": 3}
    assert on("cloud_ethernet", [g4dn, p3dn]).default.name == "V100"  # 16 GPUs, not 12
    assert on("cloud_ethernet", [p3dn | {"count": 1}, g4dn]).default.name == "T4"  # 8 against 12


@pytest.mark.parametrize(("workload", "source"), [("coda", CodaTrace), ("lyra", LyraTrace)])
def test_the_gpus_of_a_generated_trace_are_named_where_they_are_chosen(
    workload: str, source: type[CodaTrace | LyraTrace]
) -> None:
    """The comment on measured_on says what `trace` is: `trace (V100)`."""
    settings = data_path("conf", f"workload/{workload}.yaml").read_text()
    assert f"| trace ({source().trace_gpu}) |" in settings
