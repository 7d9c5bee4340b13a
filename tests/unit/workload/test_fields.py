"""One list of columns: everything else that names them agrees with it."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from artist.core.job import Demand, JobSpec, Stages
from artist.errors import InputError
from artist.tables.rows import Table
from artist.workload.api import JobSource
from artist.workload.build_jobs import to_jobs
from artist.workload.fields import FIELDS, OPTIONAL_COLUMNS
from artist.workload.readers.canonical import CanonicalCsv
from artist.workload.readers.columns import ColumnsCsv

ROOT = Path(__file__).resolve().parents[3]
MADE = {
    "job_id",
    "submit_ns",
    "iterations",
    "compute_ns",
    "first_shorter_ns",
}  # of several columns, or of their own type
MADE |= {f"demand.measured_{what}" for what in ("speed", "worth")}  # of measured_on and the cluster
MADE |= {"demand.pipeline_stages", "demand.replica_gpus"}  # of the plan
CHANGES = ("start", "resume", "restart", "migrate", "resize", "retune")  # the costs of docs/architecture.md
NAMES = [field.name for field in FIELDS]


def test_every_property_of_a_job_has_one_column() -> None:
    """A property without a column could never be set; two columns for one would overwrite each other."""
    properties = {field.name for field in fields(JobSpec)} - {"demand", "stages", "delays_ns"}
    demand = {f"demand.{field.name}" for field in fields(Demand) if field.init}
    stages = {f"stages.{name}" for name in Stages._fields}
    delays = {f"delays_ns.{change}" for change in CHANGES}
    reached = [field.to for field in FIELDS if field.to]
    assert len(set(reached)) == len(reached)
    assert set(reached) | MADE == properties | demand | stages | delays


def test_the_yaml_of_columns_names_every_column() -> None:
    """Hydra refuses `workload.columns.cpus=n` if the YAML does not list it; likewise units."""
    listed = yaml.safe_load((ROOT / "conf/workload/columns.yaml").read_text())
    names = [name for name in NAMES if name != "started_s"]  # it is the file's start_s
    assert sorted(listed["columns"]) == sorted([*names, "start_s", "end_s"])
    assert set(listed["columns"].values()) == {None}
    units = {"time": "s", "bytes": "b", "share": "fraction"}
    with_unit = {field.name: units[field.unit] for field in FIELDS if field.unit and field.name in names}
    assert listed["units"] == with_unit | {"start_s": "s", "end_s": "s"}


def test_the_page_of_columns_names_every_column() -> None:
    """docs/trace_files.md is where a user looks for what a column means."""
    text = (ROOT / "docs/trace_files.md").read_text().partition("## Our own CSV")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = [name.strip(" `") for row in rows for name in row.split(",")]
    assert sorted(named) == sorted([*NAMES, "submit_date"])


def test_optional_columns_come_last() -> None:
    """The order of columns is that of the table: what every trace has, then what few have."""
    assert NAMES[-len(OPTIONAL_COLUMNS) :] == list(OPTIONAL_COLUMNS)


S = 1_000_000_000
Write = Callable[..., Path]
GIVEN = {  # a value of each column that few traces have: as text, as the job's
    "storage_s": ("0.1", Stages(S // 10, 0, 3 * S // 10, 0)),
    "cpu_s": ("0", None),
    "gpu_s": ("0.3", None),
    "network_s": ("0", None),
    "step": ("2", 2),
    "max_machines": ("3", 3),
    "unit": ("2", 2),
    "segment": ("4", 4),
    "plan": ("tp2", None),
    "batch": ("8", None),
    "sequence": ("2048", None),
    "precision": ("fp8", None),
    "gpu_types": (" V100 | T4|V100", ("V100", "T4")),
    "mixed_types": ("1", True),
    "fungible": ("1", True),
    "measured_on": ("cluster", None),
    "memory_bandwidth_bytes_per_s": ("2.5e9", 2_500_000_000),
    "on_stop": ("keep", "keep"),
    "started_s": ("7", 7 * S),
    "limit_s": ("90", 90 * S),
    "partition": ("gpu", "gpu"),
    "account": ("physics", "physics"),
    "qos": ("high", "high"),
    "priority": ("-1", -1.0),  # as in Kubernetes, and no filler
    "nice": ("-5", -5),
    "exclusive": ("1", True),
    "nodes": ("2", None),
    "reservation": ("course", None),
    "loop": ("SchedBackfill", None),
    "start_delay_s": ("1", S),
    "resume_delay_s": ("0", 0),
    "restart_delay_s": ("2.5", 5 * S // 2),
    "migrate_delay_s": ("3", 3 * S),
    "resize_delay_s": ("4", 4 * S),
    "retune_delay_s": ("5", 5 * S),
}
BASE = {"job_id": "b", "submit_s": "0", "gpus": "4", "duration_s": "9", "model": "M"}
BASE |= {"min_gpus": "2", "max_gpus": "6"}


def specs(source: JobSource) -> list[JobSpec]:
    """Return the jobs of a source; the one model takes 1 s an iteration."""
    return to_jobs(Table.of(source.table()), {"M": S}.__getitem__)


def csv_of(*rows: dict[str, str]) -> str:
    """Return rows as a CSV file with the columns of the last."""
    names = list(rows[-1])
    lines = [names, *([row.get(name, "") for name in names] for row in rows)]
    return "".join(",".join(line) + "\n" for line in lines)


def test_every_optional_column_reaches_the_job(write: Write) -> None:
    """Both readers: a job with all of them, and one before it with none, which keeps the defaults."""
    assert set(GIVEN) == set(OPTIONAL_COLUMNS)
    full = BASE | {name: text for name, (text, _) in GIVEN.items()}
    path = write(csv_of(BASE | {"job_id": "a"}, full))
    alone, job = specs(CanonicalCsv(path=path))
    assert (alone.demand, alone.stages) == (Demand(4, 2, 6), None)
    assert (alone.delays_ns, alone.on_stop, alone.limit_ns, alone.priority) == (None, None, None, None)
    for field in FIELDS:
        if field.optional and field.to and not field.to.startswith(("stages", "delays_ns")):
            owner = job.demand if field.to.startswith("demand") else job
            assert getattr(owner, field.to.rpartition(".")[2]) == GIVEN[field.name][1]
    assert job.stages == GIVEN["storage_s"][1]
    assert job.delays_ns == {change: GIVEN[f"{change}_delay_s"][1] for change in CHANGES}
    theirs = csv_of(BASE | {"job_id": "a"}, full).partition("\n")
    renamed = ",".join(f"their {name}" for name in theirs[0].split(",")) + "\n" + theirs[2]
    columns = {name: f"their {name}" for name in full if name != "started_s"}
    columns["start_s"] = "their started_s"
    assert specs(ColumnsCsv(path=write(renamed), columns=columns)) == [alone, job]


def test_equal_properties_are_one_object(write: Write) -> None:
    """A million jobs with the same demand and delays hold one of each."""
    rows = [
        BASE | {"job_id": name, "fungible": "1", "start_delay_s": "7", "gpu_types": "T4"} for name in "ab"
    ]
    first, second = specs(CanonicalCsv(path=write(csv_of(*rows))))
    assert first.demand is second.demand
    assert first.delays_ns is second.delays_ns


def test_units_and_constants_of_optional_columns(write: Write) -> None:
    """1.5 GB/s are 1.5e9 bytes/s, 2 min 120 s; a constant holds for all jobs."""
    path = write("at,n,d,draw,again\n0,1,5,1.5,2\n")
    (job,) = specs(
        ColumnsCsv(
            path=path,
            columns={
                "submit_s": "at", "gpus": "n", "duration_s": "d",
                "memory_bandwidth_bytes_per_s": "draw", "restart_delay_s": "again",
            },
            units={"memory_bandwidth_bytes_per_s": "gb", "restart_delay_s": "min"},
            constants={"model": "M", "fungible": True, "gpu_types": "T4|V100", "on_stop": "lose_all"},
        )
    )  # fmt: skip
    wanted = Demand(1, memory_bandwidth_bytes_per_s=1_500_000_000, gpu_types=("T4", "V100"), fungible=True)
    assert (job.demand, job.delays_ns, job.on_stop) == (wanted, {"restart": 120 * S}, "lose_all")


@pytest.mark.parametrize(
    ("column", "value", "words", "allowed"),
    [
        ("step", "0", "is zero", "a whole number from 1"),
        ("step", "3", "does not fit", "gpus = min_gpus + a multiple of step"),  # 4 - 2 = 2 is none of 3
        ("max_machines", "1.5", "is not a whole number", "a whole number from 0"),
        ("gpu_types", "V100||T4", "is not a list of GPU types", "V100|T4"),
        ("mixed_types", "2", "is too large", "from 0 to 1"),
        ("fungible", "yes", "is not a number", "from 0 to 1"),
        ("memory_bandwidth_bytes_per_s", "-2", "is negative", "a number from 0"),
        (
            "on_stop",
            "forget",
            "is unknown",
            "lose_iteration, keep, lose_since_checkpoint, lose_all",
        ),
        ("migrate_delay_s", "-2", "is negative", "a number from 0 to 4e+09"),
        ("retune_delay_s", "1e10", "is too large", "a number from 0 to 4e+09"),
        ("gpu_s", "1", "storage_s is missing", "all of storage_s, cpu_s, gpu_s, network_s, or none"),
    ],
)
def test_a_bad_value_is_named(write: Write, column: str, value: str, words: str, allowed: str) -> None:
    """File, line 3 of it, the column, the value found, the allowed values; a good job stands before it."""
    with pytest.raises(InputError) as caught:
        CanonicalCsv(path=write(csv_of(BASE | {"job_id": "a"}, BASE | {column: value}))).table().frame()
    assert str(caught.value.where).endswith("line 3")
    assert caught.value.what == (words if "missing" in words else f"{column} {words}")
    assert allowed in str(caught.value)
