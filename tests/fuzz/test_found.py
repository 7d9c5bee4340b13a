"""Faults that fuzzing revealed, one case per fault: by now refused in words, or read right."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from artist.bad_input.records import validated
from artist.data import data_path
from artist.datacenter.build import build_cluster
from artist.datacenter.config import ClusterConfig
from artist.describe.demand import read_demand
from artist.errors import InputError
from artist.pricing.command import main as network
from artist.pricing.placements import parse_shape
from artist.run.build import build, check_config
from artist.run.config import MAX_S as MAX_CONFIG_S
from artist.run.config import StopConfig
from artist.units import MAX_S
from artist.workload.arrivals import CompressArrivals, PoissonArrivals
from artist.workload.filters import Selection
from artist.workload.readers.columns import ColumnsCsv
from artist.workload.table import check
from netmodels.api import load_topology
from netmodels.fabric.system import SystemSettings
from netmodels.models.analytical import AnalyticalModel
from netmodels.models.cache import CachedModel
from tests.fuzz.samples import SAMPLES
from tests.fuzz.test_cache_entries import QUESTION, check_entry, entry
from tests.fuzz.test_configurations import EVENTS, composed

DEFAULT = data_path("topologies", "dgx_h100_3tier.yaml")
FAILS = {"cause": "any", "per_1000_days": 240_000}
HEADER = EVENTS.partition("\n")[0]


def read(folder: Path, name: str, text: str, **parameters: Any) -> Any:
    """Return the table of a text in the form of a sample."""
    (folder / "found").write_text(text, newline="")
    return SAMPLES[name].reader(path=folder / "found", **SAMPLES[name].needs, **parameters).table()


@pytest.mark.parametrize("path", ["~nobody_is_called_so/x.csv", "a\0b"], ids=["home", "NUL"])
def test_a_path_that_cannot_be_one(path: str) -> None:
    """RuntimeError of expanduser, ValueError of read_bytes: neither is an OSError."""
    with pytest.raises(InputError, match="not a path"):
        SAMPLES["csv"].reader(path=path).table()


@pytest.mark.parametrize("name", ["csv", "columns, numbers"])
def test_a_header_beyond_the_limit_of_csv(folder: Path, name: str) -> None:
    """csv.Error: field larger than field limit (131072)."""
    with pytest.raises(InputError, match="line 1: not a header"):
        read(folder, name, "x" * 140_000 + "," + SAMPLES[name].text)


def test_lines_that_end_in_cr_only(folder: Path) -> None:
    """csv.Error: new-line character seen in unquoted field, in a file that pandas reads."""
    good = read(folder, "csv", SAMPLES["csv"].text).frame()
    assert read(folder, "csv", SAMPLES["csv"].text.replace("\n", "\r")).frame().equals(good)


def test_a_line_separator_inside_a_cell(folder: Path) -> None:
    """U+2028 ends a line for str.splitlines, not for CSV: one row became two."""
    (folder / "found").write_text("took,kind\n5,VGG\u2028 11\n", encoding="utf-8")
    columns = {"submit_s": "took", "duration_s": "took", "model": "kind"}
    table = ColumnsCsv(path=folder / "found", columns=columns, constants={"gpus": 1}).table()
    assert table["model"].tolist() == ["VGG\u2028 11"]


@pytest.mark.parametrize("value", [5, 1.5, True])  # 0 stands for a date that is missing
def test_a_number_where_philly_has_a_date(folder: Path, value: object) -> None:
    """Pandas4Warning, or an epoch in 1970 without a word."""
    jobs = json.loads(SAMPLES["philly log"].text)
    jobs[0]["submitted_time"] = value
    with pytest.raises(InputError, match="submitted_time is not a date"):
        read(folder, "philly log", json.dumps(jobs), bad_rows="refuse")
    jobs = json.loads(SAMPLES["philly log"].text)
    jobs[1]["attempts"][1]["end_time"] = value
    with pytest.raises(InputError, match="end_time is not a date"):
        read(folder, "philly log", json.dumps(jobs), bad_rows="refuse")


@pytest.mark.parametrize("text", ["9" * 5000, '"\\ud800"', "[" * 100_000], ids=["digits", "half", "deep"])
def test_json_that_python_cannot_hold(folder: Path, text: str) -> None:
    """ValueError, RecursionError; half a character would only fail when results are written."""
    dally = SAMPLES["dally"].text.replace('"10.5"', text)
    with pytest.raises(InputError, match="malformed JSON"):
        read(folder, "dally", dally)
    (folder / "speeds.json").write_text(f'{{"v100": {text}}}')
    with pytest.raises(InputError, match="malformed JSON"):
        read(folder, "gavel", SAMPLES["gavel"].text)


def test_dates_with_and_without_a_zone_in_a_series_of_requests(folder: Path) -> None:
    """ValueError: Mixed timezones detected."""
    rows = "2024-11-15T16:00:00Z,SUCCEED,10\n2024-11-15 20:00:00.5,SUCCEED,100\n"
    (folder / "found").write_text(f"gmt_create,predict_status,exec_time_seconds\n{rows}")
    assert read_demand(folder / "found", 3600.0).start_s == 16 * 3600


def test_a_number_of_json_beyond_floating_point(folder: Path) -> None:
    """OverflowError of pandas: int too large to convert to float."""
    dally = SAMPLES["dally"].text.replace('"10.5"', "9" * 400)
    with pytest.raises(InputError, match="arrival_time is not finite"):
        read(folder, "dally", dally)


@pytest.mark.parametrize("value", ["1e302", "inf", "1e13"])
def test_a_demand_beyond_all_bounds(folder: Path, value: str) -> None:
    """RuntimeWarning: overflow encountered in multiply, where GPU-seconds are added up."""
    (folder / "found").write_text(f"time_s,gpus\n0,{value}\n3600,{value}\n7200,1\n")
    with pytest.raises(InputError, match="line 2: gpus"):
        read_demand(folder / "found", 3600.0)


@pytest.mark.parametrize("text", ["9" * 5000, "9" * 5000 + "x1", "1+" * 3 + "9" * 5000 + "x8"])
def test_a_placement_of_thousands_of_digits(text: str) -> None:
    """ValueError: Exceeds the limit (4300 digits) for integer string conversion."""
    with pytest.raises(InputError):
        parse_shape(text, load_topology(DEFAULT))


@pytest.mark.parametrize("text", ["source: 2020-99-99", "a: " + "[" * 5000], ids=["date", "deep"])
def test_yaml_that_its_parser_chokes_on(folder: Path, text: str) -> None:
    """ValueError of a date that there is not, RecursionError: neither is a YAMLError."""
    (folder / "found.yaml").write_text(text)
    with pytest.raises(InputError, match="not YAML"):
        load_topology(folder / "found.yaml")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("gpus", 10**12), ("cpus", 10**30), ("memory_gib", 1e300), ("memory_bandwidth_gb_s", 1e300)),
        *(("speed", 1e300), ("speed", 1e-300)),
    ],
)
def test_a_machine_beyond_all_bounds(field: str, value: object) -> None:
    """OverflowError where the cluster is built, or where the model's compute time is scaled."""
    raw = yaml.safe_load(DEFAULT.read_text())
    raw["machine_types"]["dgx_h100"][field] = value
    with pytest.raises(InputError, match=f"machine_types.dgx_h100.{field}"):
        load_topology(raw)


@pytest.mark.parametrize("value", [10**400, 1e300])
def test_a_memory_beyond_floating_point(value: float) -> None:
    """OverflowError: int too large to convert to float, since every int is below infinity."""
    with pytest.raises(InputError, match="wrong memory bandwidth"):
        SystemSettings(local_memory_gb_s=value)


def test_a_digit_changed_in_a_cache_entry(folder: Path) -> None:
    """Whole JSON, the right question, a wrong number: it was believed."""
    path = entry(folder / "digit")
    result = json.loads(path.read_text())
    result["answer"]["exposed_ns"] += 1
    path.write_text(json.dumps(result))
    check_entry(folder / "digit", path)


def test_a_deep_cache_entry(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """RecursionError instead of the warning."""
    path = entry(folder / "deep")
    path.write_text("[" * 100_000)
    with caplog.at_level(logging.WARNING):
        assert CachedModel(AnalyticalModel(), folder / "deep").iteration(*QUESTION)
    assert "computed again" in caplog.text


@pytest.mark.parametrize("name", ["-1", "[", "(", "int", "none"])
def test_an_unknown_option_that_looks_like_a_branch_of_a_union(name: str) -> None:
    """IndexError: its name was left out of the path, and nothing was left."""
    with pytest.raises(InputError, match="unknown option") as refused:
        validated(Selection, {name: 1}, "workload")
    assert refused.value.where == f"workload.{name}"


@pytest.mark.parametrize("override", ["topology=-1", "~topology=-1", "topology=true"])
def test_a_group_that_is_given_a_number(override: str, capsys: pytest.CaptureFixture[str]) -> None:
    """ValueError of Hydra, of which one of two was known."""
    assert network([override]) == 2
    assert "a group takes the name of one choice" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("model=GPT-2", "compute_scale=1e9", "topology.machine_types.dgx_h100.speed=1e-6"),
        (
            *("model=VGG11", "shape=1000000x1", "topology.machines_per_rack=1000000"),
            *("topology.fabric.rack.0.latency_ns=1e12", "network.system.preset=papers"),
        ),
        ("collective=all_to_all", "bytes=1e15", "shape=8", "topology.fabric.machine.0.bandwidth_gbit_s=1e-3"),
    ],
    ids=["compute", "latency", "bytes"],
)
def test_a_price_that_leaves_64_bits(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """OverflowError, or a number that had silently become another; every value alone is allowed."""
    assert network(arguments) == 2
    assert "too long a time" in capsys.readouterr().err


@pytest.mark.parametrize(
    "field", ["topology.machines_per_rack=1000000", "topology.machine_types.dgx_h100.gpus=1000000"]
)
def test_a_picture_that_would_fill_the_memory(field: str, capsys: pytest.CaptureFixture[str]) -> None:
    """10 GB and minutes: its graph was made link by link."""
    assert network(["draw=x.png", field]) == 2
    assert "too large to be drawn" in capsys.readouterr().err


def test_an_option_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    """AssertionError of Hydra, in the words of a debugger."""
    assert network(["+=x"]) == 2
    assert "no name before `=`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("section", "changes", "told"),
    [
        ("cluster", {"failures": [{**FAILS, "per_1000_days": -1}]}, "cluster.failures.0.per_1000_days"),
        ("cluster", {"failures": [{**FAILS, "per_1000_days": 1e300}]}, "cluster.failures.0.per_1000_days"),
        ("cluster", {"failures": [{**FAILS, "repair_h": 1e300}]}, "cluster.failures.0.repair_h"),
        ("cluster", {"failures": [FAILS], "machines": 500}, "too many failures"),
        ("stop", {"time_s": 1e300}, "stop.time_s"),
        ("workload", {"jobs": 10**12}, "workload.jobs"),
        ("workload", {"load": None, "days": 1e300}, "too long a time"),
        ("workload", {"load": 1e-300}, "too long a time"),
        ("workload", {"load": None, "jobs_per_day": 1e-320}, "too long a time"),
        ("workload", {"models": {"rule": "weighted", "weights": {"VGG11": 1e308, "GPT-2": 1e308}}}, "VGG11"),
    ],
)
def test_a_size_that_would_run_for_ever_or_overflow(section: str, changes: dict[str, Any], told: str) -> None:
    """Endless loops, all of the memory, or 64 bits that do not hold it."""
    raw = json.loads(composed("config", "demo", "workload.jobs=20"))
    raw[section] |= changes
    with pytest.raises(InputError, match=told):
        build(check_config(raw))


@pytest.mark.parametrize(
    "arrivals",
    [
        lambda: CompressArrivals(load=1e-300),
        lambda: PoissonArrivals(load=1e-320),
        lambda: PoissonArrivals(jobs_per_hour=1e-320),
    ],
    ids=["compress", "load", "rate"],
)
def test_arrivals_beyond_the_clock(arrivals: Callable[[], Any]) -> None:
    """RuntimeWarning: invalid value encountered in cast, where seconds become nanoseconds."""
    rows = {"job_id": ["a", "b"], "submit_s": [0.0, 5.0], "gpus": [1, 1], "duration_s": [5.0, 5.0]}
    table = check(pd.DataFrame(rows), "two")
    with pytest.raises(InputError, match="too long a time of arrivals"):
        arrivals().apply(table, 8)
    with pytest.raises(InputError, match=r"no load without GPUs|too long a time"):
        arrivals().apply(table, 0)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("1e300,fail,m0,,,,", "line 2, time_s"),
        ("5,leave,m0,1e300,,,", "line 2, deadline_s"),
        ("5,join,new,,,1000000000,", "line 2, rack"),
        ("5,join,new,,," + "9" * 5000 + ",", "line 2, rack"),
        ("5,fail,m0,,,,,,", "line 2: more fields"),
        ("\n5,fail,m7,,,,", "line 3, machine"),
    ],
)
def test_a_capacity_event_beyond_all_bounds(folder: Path, row: str, told: str) -> None:
    """Too large for the clock, a rack for each of a thousand million numbers, columns moved by two."""
    (folder / "found.csv").write_text(f"{HEADER}\n{row}\n")
    with pytest.raises(InputError, match=told):
        build_cluster(ClusterConfig(machines=2, events=folder / "found.csv"), load_topology(DEFAULT))


def test_a_capacity_event_without_its_last_cells(folder: Path) -> None:
    """Missing cells of a short row are empty: `nan` was no rack, and no pool."""
    (folder / "found.csv").write_text(f"{HEADER}\n5,join,new,\n")
    cluster, _ = build_cluster(ClusterConfig(machines=2, events=folder / "found.csv"), load_topology(DEFAULT))
    assert (cluster.machines[2].rack, cluster.machines[2].pool) == (0, "default")


def test_one_longest_time_for_all() -> None:
    """The frame of the configuration cannot import that of the traces, so it is there twice."""
    assert MAX_CONFIG_S == MAX_S
    assert StopConfig(time_s=MAX_S)


@pytest.mark.parametrize(
    "override",
    [
        "policy.interval_s=1e300",
        "policy.seed=-1",
        "policy.thresholds_gpu_s=[1e300]",
        "overheads.start_s=1e15",
        "overheads.checkpoint_every_s=1e300",
        "estimates=noise estimates.seed=-1",
    ],
)
def test_times_and_seeds_of_parts_beyond_all_bounds(override: str) -> None:
    """They ended as bugs of the program, in numpy or in integers, after the trace had been read."""
    words = override.split()
    with pytest.raises(InputError):
        build(check_config(json.loads(composed("config", "policy=tiresias", *words))))
