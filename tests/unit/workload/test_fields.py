"""One list of columns: everything else that names them agrees with it."""

from dataclasses import fields
from pathlib import Path

import yaml

from artist.core.job import Demand, JobSpec, Stages
from artist.workload.fields import FIELDS, OPTIONAL_COLUMNS

ROOT = Path(__file__).resolve().parents[3]
MADE = {"job_id", "submit_ns", "iterations", "compute_ns"}  # of several columns, or of their own type
LATER = {"delays_ns", "on_stop"} | {
    f"demand.{name}"
    for name in (
        "step",
        "fungible",
        "gpu_types",
        "mixed_types",
        "max_machines",
        "memory_bandwidth_bytes_per_s",
    )
}
NAMES = [field.name for field in FIELDS]


def test_every_property_of_a_job_has_one_column() -> None:
    """A property without a column could never be set; two columns for one would overwrite each other."""
    own = {each.name for each in fields(JobSpec)} - {"demand", "stages"}
    demand = {f"demand.{each.name}" for each in fields(Demand) if each.init}
    stages = {f"stages.{name}" for name in Stages._fields}
    reached = [field.to for field in FIELDS if field.to]
    assert len(set(reached)) == len(reached)
    assert set(reached) | MADE == (own | demand | stages) - LATER


def test_the_yaml_of_columns_names_every_column() -> None:
    """Hydra refuses `workload.columns.cpus=n` if the YAML does not list it; likewise units."""
    listed = yaml.safe_load((ROOT / "conf/workload/columns.yaml").read_text())
    assert sorted(listed["columns"]) == sorted([*NAMES, "start_s", "end_s"])
    assert set(listed["columns"].values()) == {None}
    units = {"time": "s", "bytes": "b", "share": "fraction"}
    with_unit = {field.name: units[field.unit] for field in FIELDS if field.unit}
    assert listed["units"] == with_unit | {"start_s": "s", "end_s": "s"}


def test_the_page_of_columns_names_every_column() -> None:
    """traces/README.md is where a user looks for what a column means."""
    text = (ROOT / "traces/README.md").read_text().partition("## Our own CSV")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = [name.strip(" `") for row in rows for name in row.split(",")]
    assert sorted(named) == sorted([*NAMES, "submit_date"])


def test_optional_columns_come_last() -> None:
    """The order of columns is that of the table: what every trace has, then what few have."""
    assert NAMES[-len(OPTIONAL_COLUMNS) :] == list(OPTIONAL_COLUMNS)
