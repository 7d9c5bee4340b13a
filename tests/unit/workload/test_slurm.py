"""Dumps of Slurm's accounting, with what real ones have: each oddity alone, the right value beside it."""

import gzip
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from artist.core.gpus import Gpu, Gpus
from artist.errors import InputError
from artist.tables.rows import Table
from artist.workload.load import read_table
from artist.workload.readers.slurm import SlurmDump

Write = Callable[..., Any]
GB = 2**30
JOB = {
    "JobID": "7", "User": "u1", "Account": "lab", "Partition": "gpu", "QOS": "normal",
    "Submit": "2026-08-01T00:00:00", "Start": "2026-08-01T00:10:00", "End": "2026-08-01T01:10:00",
    "Elapsed": "01:00:00", "State": "COMPLETED", "Timelimit": "1-00:00:00", "Priority": "4242",
    "AllocTRES": "billing=8,cpu=16,gres/gpu=4,mem=60G,node=1", "ReqTRES": "cpu=16,gres/gpu=4,mem=60G,node=1",
    "NNodes": "1", "Reservation": "", "Flags": "SchedBackfill",
}  # fmt: skip


def dump(*rows: dict[str, str], delimiter: str = "|", end: str = "\n") -> str:
    """Return jobs as sacct writes them, with the columns of the first."""
    names = list(JOB | rows[0]) if rows else list(JOB)
    lines = [names, *([(JOB | row).get(name, "") for name in names] for row in rows)]
    return "".join(delimiter.join(line) + end for line in lines)


def read(write: Write, text: str, **chosen: Any) -> dict[str, dict[str, Any]]:
    """Return the jobs of a dump by name."""
    table = SlurmDump(path=write(text, name="dump.txt"), **chosen).table()
    return {row["job_id"]: row for _, row in table.records()}


def date(job: dict[str, Any]) -> str:
    """Return the date of submission, to the minute."""
    return str(np.datetime64(job["submit_date"], "ns"))[:16]


def one(write: Write, row: dict[str, str], **chosen: Any) -> dict[str, Any]:
    """Return the job of a row, beside which the dump has another, job 1."""
    jobs = read(write, dump(JOB | {"JobID": "1"} | dict.fromkeys(row.keys() - JOB.keys(), ""), row), **chosen)
    return next(job for name, job in jobs.items() if name != "1")


def test_a_job_keeps_all_that_is_known_of_it(write: Write) -> None:
    """Submitted at 0 s, started after 600 s, ran 3600 s; a day is 86,400 s."""
    job = one(write, {"Reservation": "course"})
    wanted = {
        "submit_s": 0, "started_s": 600, "duration_s": 3600, "gpus": 4, "limit_s": 86_400, "partition": "gpu",
        "account": "lab", "qos": "normal", "user": "u1", "priority": 4242, "nodes": 1, "max_machines": 1,
        "reservation": "course", "loop": "SchedBackfill", "vc": "", "gpu_types": "", "cpus": 0,
    }  # fmt: skip
    assert {name: job[name] for name in wanted} == wanted
    assert date(job) == "2026-08-01T00:00"


@pytest.mark.parametrize(
    ("row", "gpus", "types"),
    [
        ({"AllocTRES": "cpu=9,gres/gpu=8"}, 8, ""),
        ({"AllocTRES": "cpu=9,gres/gpu:a100=8"}, 8, "a100"),
        ({"AllocTRES": "billing=64,gres/gpu:a100=8,gres/gpu=8,mem=500G,node=2"}, 8, "a100"),  # not 16
        ({"AllocTRES": "gres/gpu=8,gres/gpu:a100=4,gres/gpu:v100=4"}, 8, "a100|v100"),
        ({"AllocTRES": "gres/gpu:a100=4,gres/gpu:v100=4"}, 8, "a100|v100"),
        ({"AllocTRES": "gres/gpu=2,gres/gpumem=80G,gres/gpuutil=90,gres/gpu_x=7"}, 2, ""),
        ({"AllocTRES": "gres/gpu:a100_3g.20gb=1,gres/gpu=1"}, 1, "a100"),  # a slice takes a whole GPU
        ({"AllocTRES": "gres/gpu:1g.10gb=2"}, 2, ""),
        ({"AllocTRES": "", "AllocGRES": "gpu:2(IDX:0-1)"}, 2, ""),
        ({"AllocTRES": "", "AllocGRES": "gpu:a100:2(IDX:0,3)"}, 2, "a100"),
        ({"AllocTRES": "", "AllocGRES": "gpu:volta:2,mic:3", "NNodes": "2"}, 4, "volta"),  # per node
        ({"AllocTRES": "", "AllocGRES": "gpu"}, 1, ""),
        ({"AllocTRES": "cpu=4", "ReqTRES": "", "ReqGRES": "gres:gpu:kepler:2"}, 2, "kepler"),
        ({"AllocTRES": "cpu=4,node=3", "ReqTRES": "", "ReqGRES": "gpu:1", "NNodes": ""}, 3, ""),
        ({"AllocTRES": "", "AllocGRES": "7696487:2"}, 2, ""),  # the number that Slurm has for gpu
        ({"AllocTRES": "1=40,2=340000,4=1,5=40,1001=2,1002=2"}, 2, ""),  # numbers of the database
        ({"AllocTRES": "cpu=4", "ReqTRES": "cpu=4,gres/gpu:h100=3"}, 3, "h100"),
        ({"AllocTRES": "gres/gpu=2", "ReqTRES": "gres/gpu:h100=2"}, 2, "h100"),
    ],
)
def test_gpus_in_all_spellings(write: Write, row: dict[str, str], gpus: int, types: str) -> None:
    """The total, or the sum of the types, never both; GRES count per node, and units in brackets are none."""
    job = one(write, row)
    assert (job["gpus"], job["gpu_types"], job["mixed_types"]) == (gpus, types, "|" in types)


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        ({"Elapsed": "1-02:03:04"}, 93_784),
        ({"Elapsed": "03:04"}, 184),
        ({"Elapsed": "03:04.567"}, 184.567),
        ({"Elapsed": "00:00:07"}, 7),
        ({"Elapsed": "120"}, 120),
        ({"Elapsed": ""}, 3600),  # 01:10 - 00:10
        ({"Elapsed": "INVALID"}, 3600),
        ({"Elapsed": "Unknown", "ElapsedRaw": "50"}, 50),
        ({"Elapsed": "00:50:00", "Suspended": "00:10:00"}, 3600),
        ({"End": "Unknown"}, 3600),
        ({"End": "None", "Elapsed": "2-00:00:00"}, 172_800),
        ({"State": "RUNNING", "End": "Unknown", "Elapsed": "00:20:00"}, 1200),
        ({"State": "RUNNING", "End": "Unknown", "Elapsed": ""}, 3600),  # to the last time, 01:10
        ({"State": "CANCELLED by 1234"}, 3600),
        ({"State": "CANCELLED+"}, 3600),
        ({"State": "OUT_OF_ME+"}, 3600),
        ({"State": "TO"}, 3600),
        ({"State": "node_fail"}, 3600),
    ],
)  # fmt: skip
def test_run_times_of_all_states(write: Write, row: dict[str, str], seconds: float) -> None:
    """Days, hours, or minutes and thousandths; time suspended holds the GPUs; a state drops no job."""
    assert one(write, row)["duration_s"] == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        ({"Timelimit": "UNLIMITED"}, np.nan),
        ({"Timelimit": "Partition_Limit"}, np.nan),
        ({"Timelimit": ""}, np.nan),
        ({"Timelimit": "04:30:00"}, 16_200),
        ({"Timelimit": "30:00"}, 1800),
        ({"Timelimit": "5760"}, 345_600),  # minutes, as in the database
        ({"Timelimit": "4294967295"}, np.nan),
        ({"Timelimit": "", "TimelimitRaw": "10"}, 600),
    ],
)
def test_time_limits(write: Write, row: dict[str, str], seconds: float) -> None:
    """A number without colons is in minutes; no limit is none, and so is a limit that is not known."""
    assert one(write, row)["limit_s"] == pytest.approx(seconds, nan_ok=True)


@pytest.mark.parametrize(
    ("row", "cpus", "memory"),
    [
        ({}, 16, 60 * GB),
        ({"AllocTRES": "gres/gpu=1", "ReqTRES": "", "ReqMem": "2800Mc", "NCPUS": "10"}, 10, 28_000 * 2**20),
        ({"AllocTRES": "gres/gpu=1,node=2", "ReqTRES": "", "ReqMem": "4Gn", "ReqCPUS": "3"}, 3, 8 * GB),
        ({"AllocTRES": "gres/gpu=1", "ReqTRES": "", "ReqMem": "1.50T"}, 0, 1536 * GB),
        ({"AllocTRES": "gres/gpu=1", "ReqTRES": "", "ReqMem": "500K"}, 0, 500 * 1024),
        ({"AllocTRES": "gres/gpu=1", "ReqTRES": "", "ReqMem": "512"}, 0, 512 * 2**20),  # in MiB
    ],
)  # fmt: skip
def test_cpus_and_memory_of_a_job(write: Write, row: dict[str, str], cpus: int, memory: int) -> None:
    """2800 MiB per CPU x 10; 4 GiB per node x 2; K, M, G and T are powers of 1024."""
    job = one(write, row, cpus="keep", memory="keep")
    assert (job["cpus"], job["memory_bytes"]) == (cpus, memory)


def test_steps_are_no_jobs_but_lend_their_gpus(write: Write) -> None:
    """Job 7 has no GPUs in its own row: 2 of its largest step, of type a100; job 8's row counts, not 9."""
    bare = {"AllocTRES": "cpu=4", "ReqTRES": ""}
    jobs = read(
        write,
        dump(
            bare,
            {"JobID": "7.batch", "AllocTRES": "cpu=4,gres/gpu=1"},
            {"JobID": "7.extern", "AllocTRES": "cpu=4,gres/gpu:a100=2,gres/gpu=2"},
            {"JobID": "8"},
            {"JobID": "8.0", "AllocTRES": "gres/gpu=9"},
        ),
    )
    assert {name: (job["gpus"], job["gpu_types"]) for name, job in jobs.items()} == {
        "7": (2, "a100"),
        "8": (4, ""),
    }


def test_heterogeneous_components_are_one_job(write: Write) -> None:
    """8 GPUs on one node and 4 on two: 12 on 3; from the later start, 00:11, to the last end, 01:41."""
    jobs = read(
        write,
        dump(
            {"JobID": "5+0", "AllocTRES": "cpu=1,gres/gpu:a100=8", "NNodes": "1"},
            {"JobID": "5+0.batch"},
            {
                "JobID": "5+1", "AllocTRES": "cpu=1,gres/gpu:v100=4", "NNodes": "2",
                "Start": "2026-08-01T00:11:00", "End": "2026-08-01T01:41:00", "Elapsed": "01:30:00",
            },
        ),
    )  # fmt: skip
    assert list(jobs) == ["5"]
    job = jobs["5"]
    assert (job["gpus"], job["nodes"], job["max_machines"]) == (12, 3, 3)
    assert (job["started_s"], job["duration_s"], job["gpu_types"]) == (660, 5400, "a100|v100")


def attempts(*times: tuple[str, str, str, str]) -> str:
    """Return a dump with attempts of job 7, each by submission, start, end (hours:minutes) and state."""
    rows = []
    for submit, start, end, state in times:
        dates = {"Submit": submit, "Start": start, "End": end}
        known = {name: f"2026-08-01T{at}:00" if at else "Unknown" for name, at in dates.items()}
        rows.append(known | {"State": state, "Elapsed": ""})
    return dump(*rows)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (  # 1 h + 2 h, from the first start; the next is submitted when the first ends
            attempts(("00:00", "00:10", "01:10", "PREEMPTED"), ("01:10", "02:00", "04:00", "COMPLETED")),
            {"7": (600, 10_800)},
        ),
        (  # all with the first submission
            attempts(("00:00", "00:10", "01:10", "NODE_FAIL"), ("00:00", "02:00", "04:00", "FAILED")),
            {"7": (600, 10_800)},
        ),
        (  # in any order, and the last waits again
            attempts(
                ("01:10", "02:00", "04:00", "REQUEUED"), ("00:00", "00:10", "01:10", "REQUEUED"),
                ("04:00", "", "", "PENDING"),
            ),
            {"7": (600, 10_800)},
        ),
        (  # the number came round again after the job had ended: another job
            attempts(("00:00", "00:10", "01:10", "COMPLETED"), ("09:00", "09:30", "10:00", "COMPLETED")),
            {"7": (600, 3600), "7#1": (34_200, 1800)},
        ),
        (  # dumped while it ran, and when it had ended
            attempts(("00:00", "00:10", "00:40", "RUNNING"), ("00:00", "00:10", "01:10", "COMPLETED")),
            {"7": (600, 3600)},
        ),
        (  # dumped while it waited, and when it had ended
            attempts(("00:00", "", "", "PENDING"), ("00:00", "00:10", "01:10", "COMPLETED")),
            {"7": (600, 3600)},
        ),
    ],
)  # fmt: skip
def test_attempts_are_one_job(write: Write, text: str, wanted: dict[str, tuple[float, float]]) -> None:
    """A requeued job is there once, with the GPU time of its attempts, and never twice at a time."""
    jobs = read(write, text)
    assert {name: (job["started_s"], job["duration_s"]) for name, job in jobs.items()} == wanted


def test_the_last_attempt_alone(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Submitted again at 01:10 = the first second, started 50 min later; 4 GPUs x 1 h are lost and named."""
    caplog.set_level(logging.INFO)
    text = attempts(("00:00", "00:10", "01:10", "PREEMPTED"), ("01:10", "02:00", "04:00", "COMPLETED"))
    (job,) = read(write, text, attempts="last").values()
    assert (job["submit_s"], job["started_s"], job["duration_s"]) == (0, 3000, 7200)
    assert "1 attempts before the last of their jobs, with 4 GPU-hours, not counted" in caplog.text


def test_tasks_of_arrays_are_jobs_and_what_never_started_is_counted(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    """[4-9%2] and [12,14-15] are 6 + 3 tasks in two rows; 7_3 ran; one was cancelled while it waited."""
    never = {"Start": "Unknown", "End": "Unknown", "Elapsed": "00:00:00", "AllocTRES": ""}
    jobs = read(
        write,
        dump(
            {"JobID": "7_3"},
            never | {"JobID": "7_[4-9%2]", "State": "PENDING"},
            never | {"JobID": "7_[12,14-15]", "State": "PENDING"},
            {"JobID": "8", "State": "CANCELLED by 5", "AllocTRES": "", "Elapsed": "00:00:00",
             "Start": "2026-08-01T03:00:00", "End": "2026-08-01T03:00:00"},
        ),
    )  # fmt: skip
    assert list(jobs) == ["7_3"]
    words = (
        "left out 3 of 4 jobs: never started, of which rows of arrays have 7 more (0 GPU-hours; PENDING 2, "
    )
    assert words + "CANCELLED 1)" in caplog.text


@pytest.mark.parametrize(("rule", "seconds"), [("elapsed", 1200), ("limit", 86_400), ("drop", None)])
def test_a_running_job_by_each_rule(write: Write, rule: str, seconds: float | None) -> None:
    """It ran 20 min of a limit of a day."""
    running = {"State": "RUNNING", "End": "Unknown", "Elapsed": "00:20:00"}
    jobs = read(write, dump({"JobID": "1"}, running), running=rule)
    assert (jobs["7"]["duration_s"] if "7" in jobs else None) == seconds


def test_gpu_hours_left_out_are_by_state(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Partition old has 4 x 1 + 4 x 0.5 = 6 of 10 GPU-hours; the reader's description has the line, too."""
    half = {"Elapsed": "00:30:00", "End": "2026-08-01T00:40:00", "Partition": "old", "State": "FAILED"}
    text = dump({"JobID": "1"}, {"JobID": "2", "Partition": "old"}, half | {"JobID": "3"})
    reader = SlurmDump(path=write(text, name="dump.txt"), partitions=["gpu"])
    assert len(Table.of(reader.table())) == 1
    words = "left out 2 of 3 jobs: partition is not one of gpu (6 of 10 GPU-hours; COMPLETED 1 with 4, "
    words += "FAILED 1 with 2)"
    assert words in caplog.text
    assert words in reader.describe()


@pytest.mark.parametrize(
    ("row", "zone", "started_s", "run_s"),
    [
        # Berlin, 25 October 2026: 02:00 to 03:00 comes twice. Job 1 was submitted at 00:00 of 1 August.
        (("02:10:00", "02:40:00", "00:30:00"), "Europe/Berlin", None, 1800),
        (("02:40:00", "02:10:00", "00:30:00"), "Europe/Berlin", None, 1800),
        (("02:10:00", "02:40:00", "01:30:00"), "Europe/Berlin", None, 5400),
        (
            ("02:30:00", "05:00:00", "02:30:00"),
            "Europe/Berlin",
            5400,
            9000,
        ),  # the second 02:30: 90 min after 02:00
        (("02:30:00", "05:00:00", "03:30:00"), "Europe/Berlin", 1800, 12_600),  # the first
        (("02:30:00", "05:00:00", ""), "Europe/Berlin", 1800, 12_600),
    ],
)
def test_the_hour_that_clocks_show_twice(
    write: Write, row: tuple[str, str, str], zone: str, started_s: float | None, run_s: float
) -> None:
    """Elapsed decides which of the two hours it was; without it, the first that fits."""
    start, end, elapsed = row
    dates = {"Submit": "2026-10-25T01:00:00", "Start": f"2026-10-25T{start}", "End": f"2026-10-25T{end}"}
    job = one(write, dates | {"Elapsed": elapsed}, time_zone=zone)
    assert job["duration_s"] == run_s
    if started_s is not None:
        assert job["started_s"] - job["submit_s"] == 3600 + started_s


def test_dates_with_zones_as_seconds_and_in_a_format_of_its_own(write: Write) -> None:
    """00:00 and 00:10 in UTC, three ways: 1785542400 s after 1970; two hours later by Berlin's clock."""
    rows = [
        ({"Submit": "2026-08-01T02:00:00+0200", "Start": "2026-08-01T02:10:00+0200",
          "End": "2026-08-01T03:10:00+0200"}, {}),
        ({"Submit": "1785542400", "Start": "1785543000", "End": "1785546600"}, {}),
        ({"Submit": "01/08/2026 00:00", "Start": "01/08/2026 00:10", "End": "01/08/2026 01:10"},
         {"timestamp_format": "%d/%m/%Y %H:%M"}),
    ]  # fmt: skip
    for row, chosen in rows:
        (job,) = read(write, dump(row), **chosen).values()
        assert (job["started_s"], job["duration_s"]) == (600, 3600)
        assert date(job) == "2026-08-01T00:00"


def test_arrival_when_a_job_became_eligible(write: Write) -> None:
    """It depended on another until 00:05, and waited 5 min from then; a job that never did keeps Submit."""
    held = {"JobID": "2", "Eligible": "Unknown"}
    text = dump({"Eligible": "2026-08-01T00:05:00"}, held)
    jobs = read(write, text, arrival="eligible")
    assert [(job["submit_s"], job["started_s"]) for job in jobs.values()] == [(300, 600), (0, 600)]
    assert read(write, text)["7"]["submit_s"] == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "|\n"),  # --parsable
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("JobID", "JOBID").replace("AllocTRES", "alloctres"),
        lambda text: "\n\n" + text.replace("\n", "\n\n"),
        lambda text: "sacct: some warning\n" + text,
        lambda text: text + text,  # two dumps, one behind the other, of the same jobs
        lambda text: text.rstrip("\n"),
        *(
            lambda text, one=one: text.replace("|", one)
            for one in ("\t", ";", "^", "~", "::", "\x01", "§", " | ")
        ),
        lambda text: text.replace("|", ","),
        lambda text: "\n".join(
            ",".join(f'"{field}"' for field in line.split("|")) for line in text.splitlines()
        ),
        lambda text: "\n".join("|".join(reversed(line.split("|"))) for line in text.splitlines()),
    ],
)
def test_every_delimiter_and_form_of_a_dump(write: Write, change: Callable[[str], str]) -> None:
    """The same two jobs, by any delimiter of sacct, quoted or not, and with the columns in any order."""
    text = dump({"NodeList": "n[1-2,5]", "AllocTRES": "cpu=9,gres/gpu:a100=8,gres/gpu=8"}, {"JobID": "8_1"})
    assert str(read(write, change(text))) == str(read(write, text))  # NaN included
    assert len(read(write, text)) == 2


def test_a_gzipped_dump(write: Write) -> None:
    """Known by its content, not its name."""
    path = write("x", name="dump.gz")
    path.write_bytes(gzip.compress(dump({}).encode()))
    assert len(SlurmDump(path=path).table()) == 1


@pytest.mark.parametrize(
    "row",
    [
        {"JobName": "a|b", "SubmitLine": "sbatch x"},
        {"JobName": "||", "SubmitLine": "sbatch --wrap=env | grep A | sort"},
        {"JobName": "job", "SubmitLine": "sbatch <<EOF\n#!/bin/sh\n\nenv | grep B\nEOF"},
        {"JobName": "a|b", "SubmitLine": "one\ntwo|three\nfour", "Comment": "x|y|z"},
        {"JobName": '"half a quotation', "SubmitLine": "it's"},
        {"JobName": "\u00e4\ufffd", "SubmitLine": ""},
    ],
)
def test_texts_that_hold_delimiters_and_ends_of_lines(write: Write, row: dict[str, str]) -> None:
    """Nothing is escaped: the fields beside such a text are found by their forms; jobs follow as before."""
    texts = dict.fromkeys(("JobName", "SubmitLine", "Comment"), "plain")
    first = {"JobID": "1"} | texts
    order = [*first, *JOB, *row]  # texts come before the other columns
    rows = [{name: (JOB | texts | one)[name] for name in dict.fromkeys(order)} for one in (first, row, first)]
    rows[2]["JobID"] = "9"
    names = list(rows[0])
    text = "".join(
        "|".join(line) + "\n" for line in (names, *([one[name] for name in names] for one in rows))
    )
    jobs = read(write, text)
    assert list(jobs) == ["1", "7", "9"]
    assert all(job["gpus"] == 4 and job["duration_s"] == 3600 for job in jobs.values())


def test_several_clusters_and_a_job_table_of_the_database(write: Write, shared: Any) -> None:
    """Job 7 of two clusters are two jobs. Row 2 of the table has 2 GPUs, ran 3600 s, after 10 s."""
    text = dump({"Cluster": "a"}, {"Cluster": "b"})
    assert list(read(write, text)) == ["a/7", "b/7"]
    table = SlurmDump(path=shared / "reference/practice/slurm_start_zero.csv").table()
    (job,) = (row for _, row in table.records())
    assert (job["gpus"], job["started_s"], job["duration_s"], job["limit_s"]) == (2, 10, 3600, 345_600)
    (slice_,) = (
        row for _, row in SlurmDump(path=shared / "reference/practice/sacct_mig.txt").table().records()
    )
    assert (slice_["gpus"], slice_["gpu_types"], slice_["duration_s"]) == (1, "a100", 3600)


def test_types_that_the_cluster_lacks_run_on_any(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Of a cluster with V100, the job of a100 runs on any GPU, with a note; the other on V100."""
    v100 = Gpu("V100", 0.25, 1.0)
    gpus = Gpus(v100, ("V100",), {"V100": v100}.__getitem__)
    text = dump({"AllocTRES": "gres/gpu:a100=4"}, {"JobID": "8", "AllocTRES": "gres/gpu:tesla_v100=4"})
    table = read_table(SlurmDump(path=write(text, name="dump.txt")), gpus)
    assert table["gpu_types"].tolist() == ["", "V100"]
    assert "1 of 2 jobs name GPU types that the cluster lacks, and run on any" in caplog.text


HEADER = "|".join(JOB)
LINE = "|".join(JOB.values())
WRONG = {
    "empty": "",
    "blank": "\n \n",
    "header only": HEADER,
    "no header": f"{LINE}\n{LINE}",
    "prose": "sacct: error: Problem talking to the database\n",
    "json": '{"jobs": []}',
    "html": "<html><body>Submit your login Start</body></html>",
    "binary": "\x00\x01\x02PK",
    "fixed width": "JobID      Submit     Start      End      State   AllocTRES\n-----\n7  2026  x\n",
    "squeue": "JOBID PARTITION NAME USER ST TIME NODES\n7 gpu x u R 1:00 1\n",
    "helios": "job_id,user,vc,gpu_num,submit_time\n1,u,v,8,2020-01-01",
    "only steps": f"{HEADER}\n{LINE.replace('7|', '7.batch|', 1)}",
    "short row": f"{HEADER}\n7|u1|lab",
    "long row": f"{HEADER}\n{LINE}|x|y",
    "no gpus anywhere": dump({"AllocTRES": "cpu=4", "ReqTRES": "cpu=4"}),
    "all pending": dump({"State": "PENDING", "Start": "Unknown", "End": "Unknown"}),
    "all of no run time": dump({"Elapsed": "", "End": "Unknown"}),
    "all in no time": dump({"Elapsed": "00:00:00", "End": "2026-08-01T00:10:00"}),
    **{
        f"no column {name}": dump().replace(f"{name}|", "Other|", 1) + LINE
        for name in ("JobID", "Submit", "Start", "State")
    },
    "no end": dump().replace("End|", "X|").replace("Elapsed|", "Y|") + LINE,
    "no column of GPUs": dump().replace("AllocTRES|", "X|").replace("ReqTRES|", "Y|") + LINE,
    **{
        f"{name} {value}": dump({name: value})
        for name, values in {
            "JobID": ("", "abc", "7.5e3x", "-7"),
            "Submit": ("", "Unknown", "yesterday", "2026-13-01T00:00:00", "0"),
            "Start": ("soon", "2026-07-01T00:00:00"),  # before it is submitted
            "End": ("late", "2026-08-01T00:01:00"),  # before it starts
            "Elapsed": ("1 hour", "1:2:3:4", "-5"),
            "State": ("", "DONE", "42"),
            "Timelimit": ("a day",),
            "Priority": ("high",),
            "AllocTRES": ("gres/gpu=99999999",),
        }.items()
        for value in values
    },
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_wrong_dump_gives_two_clear_lines(write: Write, text: str) -> None:
    """Where and what; found and allowed: with the file's name, and no traceback."""
    with pytest.raises(InputError) as caught:
        SlurmDump(path=write(text, name="dump.txt")).table()
    lines = str(caught.value).split("\n")
    assert len(lines) == 2
    assert "dump.txt" in lines[0]
    assert "allowed: " in lines[1]
    assert all(len(line) < 700 for line in lines)
