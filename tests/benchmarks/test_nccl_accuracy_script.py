"""The comparison of the model of NCCL with published runs."""

from dataclasses import replace
from pathlib import Path

import nccl_accuracy
import nccl_published
import numpy as np
import pytest
from nccl_published import DOMAINS, Published, Series

from netmodels.api import MeasuredRun

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "measured"
ROW = {
    "run": "two",
    "collective": "all_gather",
    "machine_kind": "box",
    "machines": "2",
    "gpus_per_machine": "4",
    "intra_link": "NVLink4",
    "nic_gbit_s_total": "1600",
    "nccl": "2.18",
    "settings": "",
    "source": "made up",
}
POINTS = [(512, 10.0), (1024, 20.0), (2_000_000, 40.0), (4_000_000, 80.0), (100_000_000, 1000.0)]


def published(*rows: dict[str, str]) -> Published:
    """Return runs of made-up rows, all seen, each with the same points."""
    runs = {row["run"]: nccl_published.measured_run(row, POINTS) for row in rows}
    return Published({row["run"]: row for row in rows}, runs, tuple(runs), (), ())


def test_every_run_is_listed_once_and_predictions_use_no_run_that_they_were_fitted_to() -> None:
    """A run in two lists would count twice; a series that predicts what it was fitted to proves nothing."""
    listed = nccl_published.read_list()
    out = [name for part in listed["left_out"] for name in part["runs"]]
    used = [name for part in ("seen", "unseen") for kind in listed[part].values() for name in kind]
    assert len(out) + len(used) == len({*out, *used}) == 183
    predicted = [name for series in listed["series"] for name in series["predicted"]]
    assert len(predicted) == len(set(predicted))
    for series in listed["series"]:
        assert not {*series["fitted"]} & {*series["predicted"]}
        assert {*series["fitted"], *series["predicted"]} <= {*used}


def test_machines_kept_aside_belong_to_no_series_of_the_others() -> None:
    """A kind is seen or unseen as a whole; only series marked unseen may predict what was kept aside."""
    listed = nccl_published.read_list()
    assert not set(listed["seen"]) & set(listed["unseen"])
    aside = {name for kind in listed["unseen"].values() for name in kind}
    for series in listed["series"]:
        assert ({*series["predicted"]} <= aside) == (series["family"] == "unseen")


def test_at_most_half_of_the_sizes_is_fitted() -> None:
    """Of five sizes the 2nd and 4th are known; the 1st, 3rd and 5th are asked for."""
    known, asked = nccl_accuracy.halves(nccl_published.measured_run(ROW, POINTS))
    assert [size for size, _ in known.points] == [1024, 4_000_000]
    assert [size for size, _ in asked.points] == [512, 2_000_000, 100_000_000]


def test_errors_of_an_answer() -> None:
    """5 for 10 is 50 % off, 30 for 20 as well; the start-up compares medians, 17.5 with 15: 16.7 %."""
    answer = nccl_accuracy.Answer("all", nccl_published.measured_run(ROW, POINTS[:2]), np.array([5.0, 30.0]))
    assert answer.errors == pytest.approx([0.5, 0.5])
    assert answer.start_up == pytest.approx(17.5 / 15 - 1)
    large = replace(answer, run=nccl_published.measured_run(ROW, POINTS[2:4]))
    assert large.start_up is None


def test_nominal_figures_of_an_all_gather_count_a_gpus_own_bytes() -> None:
    """8 MB in all are 1 MB a GPU: 1 MB to 1 other machine at 50 GB/s a GPU, then 2 MB to 3 GPUs at 450.

    20 us and 3 x 2 MB / 450 GB/s = 13.3 us, plus steps of 2.7 us and 3 x 0.6 us and 10 ns each: 37.9 us.
    """
    run = nccl_published.measured_run(ROW, [(8_000_000, 1.0)])
    fabric = nccl_published.nominal_fabric(ROW)
    assert fabric is not None
    (result,) = nccl_accuracy.nominal_us(run, fabric)
    assert result == pytest.approx(20 + 13.33 + 2.7 + 1.8, abs=0.1)


def test_nominal_figures_of_send_and_receive_take_one_link() -> None:
    """Each rank sends to the next: one GPU's 50 GB/s leaves a machine, 100 MB in 2,000 us, a step of 2.7."""
    run = nccl_published.measured_run({**ROW, "collective": "sendrecv"}, [(100_000_000, 1.0)])
    fabric = nccl_published.nominal_fabric(ROW)
    assert fabric is not None
    assert nccl_accuracy.nominal_us(run, fabric) == pytest.approx([2002.7])


def test_a_domain_of_trays_is_one_machine() -> None:
    """36 trays of 4 GPUs in domains of 18 are 2 machines of 72, with 18 times the ports of a tray."""
    (kind,) = DOMAINS
    row = {**ROW, "machine_kind": kind, "machines": "36"}
    run = nccl_published.measured_run(row, POINTS)
    assert (run.machines, run.gpus_per_machine) == (2, 72)
    fabric = nccl_published.nominal_fabric(row)
    assert fabric is not None
    assert fabric.rack[0].bandwidth_bytes_per_ns == 50  # 1600 Gb/s for 4 GPUs


def test_a_step_on_efa_takes_20_us() -> None:
    """Two links of 10 us, by the tuner of AWS's plugin; other networks 1.35 us each, by NCCL's tables."""
    fabrics = [nccl_published.nominal_fabric({**ROW, "machine_kind": kind}) for kind in ("p4d.24xlarge", "x")]
    assert [fabric.rack[0].latency_ns for fabric in fabrics if fabric] == [10_000, 1350]


def test_unknown_networks_have_no_nominal_figures_but_a_prior() -> None:
    """The source does not say how many ports two machines have; a fit begins at 400 Gb/s a GPU."""
    result = published({**ROW, "nic_gbit_s_total": ""})
    assert result.nominal == {"two": None}
    assert result.priors["two"].rack[0].bandwidth_bytes_per_ns == 50


def test_equal_runs_are_separated_from_runs_with_other_settings() -> None:
    """Three runs of one kind: one pair with equal settings, two with others; another place or port, none."""
    rows = [{**ROW, "run": name} for name in ("a", "b")]
    rows += [{**ROW, "run": "c", "nccl": "2.21"}, {**ROW, "run": "d", "machines": "4"}]
    rows += [{**ROW, "run": "e", "nic_gbit_s_total": "100"}]
    groups = [answer.group for answer in nccl_accuracy.noise(published(*rows), "abcde")]
    assert sorted(groups) == ["all_gather, equal settings"] + 2 * ["all_gather, other settings"]


def test_groups_outside_the_goals_are_named() -> None:
    """More than 64 machines, borrowed runs and series apart each have a line of their own."""
    run = MeasuredRun("x", "all_reduce", 128, 4, ())
    series = Series("s", "Alps", (), (), borrowed=True)
    assert nccl_accuracy.group_of(series, run) == "Alps, all_reduce, borrowed, more than 64 machines"
    few = replace(run, machines=64)
    assert nccl_accuracy.group_of(replace(series, apart="why"), few) == "Alps, all_reduce, apart"


def test_the_tables_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without the files is refused with the missing file's name, not a traceback."""
    assert nccl_accuracy.main([str(tmp_path)]) == 2
    assert "nccl_runs.csv" in capsys.readouterr().err
    (tmp_path / "nccl_runs.csv").write_text("run\n")
    (tmp_path / "nccl.csv").write_text("run,bytes,time_us\n")
    assert nccl_accuracy.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.splitlines()[0] == f"{tmp_path}/nccl_runs.csv: a run is missing"


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the published runs are not part of the project")
def test_the_list_names_all_published_runs() -> None:
    """183 runs; every one is used or left out, and of those used every size is read."""
    result = nccl_published.read_published(REFERENCE)
    assert len(result.rows) == 183
    assert {*result.runs} < {*result.rows}
    assert all(len(run.points) == int(result.rows[name]["n_rows"]) for name, run in result.runs.items())
