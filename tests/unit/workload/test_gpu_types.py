"""GPU types that traces name: matched to the cluster's, honoured, dropped or ignored, never silently."""

from collections.abc import Callable
from pathlib import Path

import pytest

from artist.core.gpus import Gpu, Gpus
from artist.core.job import JobSpec
from artist.errors import InputError
from artist.workload.api import JobSource
from artist.workload.arrivals import BatchArrivals
from artist.workload.gpu_types import matching
from artist.workload.load import load_jobs, read_table
from artist.workload.readers.acme import AcmeTrace
from artist.workload.readers.canonical import CanonicalCsv
from artist.workload.readers.columns import ColumnsCsv
from artist.workload.readers.openb import OpenbTrace
from artist.workload.readers.pai import PaiTrace
from artist.workload.readers.spot import SpotTrace

Write = Callable[..., Path]
GPUS = {"V100": Gpu("V100", 0.25, 1.0), "T4": Gpu("T4", 0.125, 0.5)}
MIXED = Gpus(GPUS["V100"], ("V100", "T4"), GPUS.__getitem__)
CSV = "job_id,submit_s,gpus,duration_s,gpu_types,cpus\n"
OPENB = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
a,6000,12288,1,1000,T4,BE,Succeeded,100,1100,100
b,6000,12288,8,1000,V100M16|V100M32,LS,Succeeded,200,1200,200
c,6000,12288,1,1000,,LS,Succeeded,300,1300,300
"""
SPOT = """\
job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type
a,1,T4,4,1,1,0,1000,HP
b,2,Tesla-V100-SXM2-32GB,32,8,1,100,1000,HP
c,1,,8,1,1,200,1000,HP
"""
PAI = """\
a,worker,1.0,Terminated,100.0,1100.0,600.0,29.3,100.0,T4
b,worker,8.0,Terminated,200.0,1200.0,600.0,29.3,100.0,V100M32
c,worker,1.0,Terminated,300.0,1300.0,600.0,29.3,100.0,MISC
"""
ACME = """\
source_trace_id,gpu_type,gpu_count,timestamp,e2e_latency_s,queue_wait_s
a,T4,1,2023-05-17 11:00:58+00:00,1018.0,18.0
b,V100,8,2023-05-17 11:01:58+00:00,1018.0,18.0
c,,1,2023-05-17 11:02:58+00:00,1018.0,18.0
"""
OURS = CSV + "a,0,1,1000,t4,\nb,100,8,1000,V100|A10,\nc,200,1,1000,,\n"


@pytest.mark.parametrize(
    ("name", "types", "matched"),
    [
        ("a100", "A100", "A100"),
        ("A100-SXM4-80GB", "A100", "A100"),
        ("NVIDIA A100 80GB PCIe", "A100", "A100"),
        ("nvidia_a100_80gb_pcie", "A100-PCIe|A100-SXM", "A100-PCIe"),
        ("A100-SXM4-40GB", "A100-40GB|A100-80GB", "A100-40GB"),
        ("A100", "A100-40GB|A100-80GB", "A100-40GB|A100-80GB"),
        ("A800-SXM4-80GB", "A100|H800", ""),
        ("NVIDIA-H100-80GB-HBM3", "H100|H200", "H100"),
        ("V100M32", "V100", "V100"),
        ("V100M32", "V100-16GB|V100-32GB", "V100-32GB"),
        ("v100-32", "V100", "V100"),
        ("Tesla T4", "T4|T40", "T4"),
        ("NVIDIA GeForce GTX 1080 Ti", "GTX1080Ti", "GTX1080Ti"),
        ("1080ti", "GTX1080Ti", "GTX1080Ti"),
        ("RTX-3090", "GeForce RTX 3090", "GeForce RTX 3090"),
        ("a10g", "A10|A100", ""),
        ("L40S", "L40|L4", ""),
        ("GPU-series-1", "GPU-series-1|GPU-series-2", "GPU-series-1"),
        ("A100-SXM4-40GB-MIG-1g.5gb", "A100", ""),
        ("a100_1g.5gb", "A100", ""),
        ("MISC", "V100", ""),
    ],
)
def test_spellings_of_a_type_match_the_types_of_the_cluster(name: str, types: str, matched: str) -> None:
    """Makers, forms and memory do not hide a model; what both names state must be equal."""
    assert "|".join(matching(name, types.split("|"))) == matched


def sources(write: Write) -> list[JobSource]:
    """Return the same three jobs by every reader whose files name GPU types."""
    columns = {"job_id": "id", "submit_s": "at", "gpus": "n", "duration_s": "s", "gpu_types": "kind"}
    table = "id,at,n,s,kind\na,0,1,1000,T4\nb,100,8,1000,V100\nc,200,1,1000,\n"
    return [
        OpenbTrace(path=write(OPENB, name="openb.csv")),
        SpotTrace(path=write(SPOT, name="spot.csv")),
        PaiTrace(path=write(PAI, name="pai.csv")),
        AcmeTrace(path=write(ACME, name="acme.csv")),
        CanonicalCsv(path=write(OURS, name="ours.csv")),
        ColumnsCsv(path=write(table, name="columns.csv"), columns=columns),
    ]


def jobs(source: JobSource, gpus: Gpus = MIXED) -> dict[str, JobSpec]:
    """Return the jobs by the first letter of their names."""
    specs = load_jobs(source, BatchArrivals(), 16, lambda model: 10**8, gpus)
    return {spec.job_id[0]: spec for spec in specs}


def test_every_reader_honours_the_types_of_its_trace(write: Write) -> None:
    """Jobs a, b and c may use T4, V100 in any spelling, and any.

    The 1000 s of a are those of a T4: 500 s on a V100, of twice the speed.
    """
    for source in sources(write):
        found = jobs(source)
        assert [found[name].demand.gpu_types for name in "abc"] == [("T4",), ("V100",), ()]
        assert [round(spec.iterations * spec.compute_ns / 1e9) for spec in found.values()] == [
            500,
            1000,
            1000,
        ]


def test_a_type_that_the_cluster_lacks_is_refused_with_both_ways_out(write: Write) -> None:
    """Of three jobs one asks for T4: line, type, the cluster's types and the two settings."""
    only = Gpus(GPUS["V100"], ("V100",), GPUS.__getitem__)
    for source in sources(write):
        with pytest.raises(InputError) as error:
            jobs(source, only)
        assert error.value.what == "gpu_types names no GPU of the cluster, in 1 of 3 jobs"
        assert error.value.where.endswith("line 1" if isinstance(source, PaiTrace) else "line 2")
        assert str(error.value.found).lower() == "t4"
        for words in ("V100; or", "workload.gpu_types=drop", "ignore"):
            assert words in error.value.allowed
        assert len(read_table(source, only)) == 3  # artist-trace describes them


def test_drop_and_ignore_say_what_they_do(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """On a cluster of V100: drop leaves out the job of T4, ignore runs it on V100 for its 1000 s."""
    caplog.set_level("INFO")
    only, path = Gpus(GPUS["V100"], ("V100",), GPUS.__getitem__), write(OPENB)
    assert list(jobs(OpenbTrace(path=path, gpu_types="drop"), only)) == ["b", "c"]
    assert "left out 1 of 3 jobs: the cluster lacks their GPU types (workload.gpu_types=drop)" in caplog.text
    ignored = jobs(OpenbTrace(path=path, gpu_types="ignore"), only)
    assert [spec.demand.gpu_types for spec in ignored.values()] == [(), (), ()]
    assert ignored["a"].iterations * ignored["a"].compute_ns == 1000 * 10**9
    words = "2 of 3 jobs ask for GPU types, and run on any (workload.gpu_types=ignore): T4 (1), V100M16|V"
    assert words in caplog.text
    assert "GPU types of jobs: V100M16 is V100, V100M32 is V100" in caplog.text


def test_a_job_without_gpus_has_no_gpu_type(write: Write) -> None:
    """PAI names the machine's type for tasks without GPUs, too; they run on CPUs anywhere."""
    path = write(CSV + "a,0,0,100,P100,4\nb,0,1,100,V100,\n")
    assert [spec.demand.gpu_types for spec in jobs(CanonicalCsv(path=path)).values()] == [(), ("V100",)]
