"""Digest of the tables of the run on paper (see conftest)."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from artist.errors import InputError
from artist.results.compare import compare
from artist.results.digest import Digest, digest
from artist.results.folder import read_run
from artist.results.jobcolumns import DEMANDS, PARTS, demand_classes, read_jobs

CONFIG = {"policy": {"name": "fifo"}, "seed": 1}


@pytest.fixture
def paper(run_folder: Callable[..., Path], tmp_path: Path) -> Path:
    """Write the run on paper."""
    return run_folder(tmp_path / "run", CONFIG)


@pytest.fixture
def of_paper(paper: Path) -> Digest:
    """Digest it."""
    return digest(compare([read_run(paper)]).groups[0])


def change(folder: Path, **columns: list[object]) -> None:
    """Replace columns of the jobs."""
    path = folder / "jobs.parquet"
    table = pq.read_table(path)
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, path)


def test_classes_of_demand_end_at_the_bounds_of_their_names() -> None:
    """Bounds of 1, 2-4, 5-8, 9-16, 17-64, 65+; no GPU counts as one."""
    classes = demand_classes(np.array([0, 1, 2, 4, 5, 8, 9, 16, 17, 64, 65, 999]))
    names = [DEMANDS[i] for i in classes]
    assert names == ["1", "1", "2-4", "2-4", "5-8", "5-8", "9-16", "9-16", "17-64", "17-64", "65+", "65+"]


def test_parts_of_the_run_on_paper(of_paper: Digest) -> None:
    """Queueing 9 / 3, computing (10 + 10 + 4) / 3, communication 2.5 / 3; in all the mean JCT, 35.5 / 3."""
    parts = dict(zip(PARTS, of_paper.parts_s, strict=True))
    assert parts["queueing"] == pytest.approx(3.0)
    assert parts["computing"] == pytest.approx(8.0)
    assert parts["exposed communication"] == pytest.approx(2.5 / 3)
    assert of_paper.parts_s.sum() == pytest.approx(35.5 / 3)


def test_lost_work_is_taken_from_the_other_parts(paper: Path) -> None:
    """Of b's 12.5 s, 5 s were lost, 40 %: 6 of 10 s computing and 1.5 of 2.5 s communication are left."""
    change(paper, lost_s=[0.0, 5.0, 0.0])
    assert read_jobs(read_run(paper)).parts_s[1] == pytest.approx([9.0, 6.0, 1.5, 0.0, 0.0, 0.0, 5.0])


def test_only_the_window_counts(paper: Path) -> None:
    """With stop.jobs = [1, 3] the first job only keeps the cluster busy: b and c, 21.5 s and 4 s."""
    (paper / "config.yaml").write_text("policy: {name: fifo}\nseed: 1\nstop: {jobs: [1, 3]}\n")
    result = digest(compare([read_run(paper)]).groups[0])
    assert result.jct.times_s.tolist() == [4.0, 21.5]
    assert result.jct.fractions.tolist() == [0.5, 1.0]


def test_tiers_of_the_run_on_paper(of_paper: Digest) -> None:
    """Jobs a, c in a machine: 20 + 8 GPU s; b over the rack: 4 x 12.5 = 50 GPU s, overhead 2.5 / 10."""
    assert of_paper.placements.tolist() == [2.0, 1.0, 0.0]
    assert (of_paper.tier_gpu_hours * 3600).tolist() == pytest.approx([28.0, 50.0, 0.0])
    assert dict(of_paper.overheads) == {
        ("bert_large", "rack"): pytest.approx(0.25),
        ("resnet50", "machine"): 0.0,
    }


def test_users_and_clusters_of_the_run_on_paper(of_paper: Digest) -> None:
    """Ann has a and c: JCT 10 and 4, mean 7, p95 9.7, 28 GPU s; Bob has b, who leads with 50 GPU s."""
    bob, ann = of_paper.users
    assert (bob.name, ann.name, ann.jobs) == ("bob", "ann", 2.0)
    assert ann.jct_s == pytest.approx((7.0, 7.0, 9.7))
    assert (ann.queueing_s, bob.queueing_s) == (0.0, 9.0)
    assert ann.gpu_hours * 3600 == pytest.approx(28.0)
    assert [vc.name for vc in of_paper.vcs] == ["vc0", "vc1"]


def test_a_trace_without_users_has_no_table_of_them(paper: Path) -> None:
    """Empty names are no user."""
    change(paper, user=["", "", ""])
    assert digest(compare([read_run(paper)]).groups[0]).users == ()


def test_jobs_by_demand(of_paper: Digest) -> None:
    """Three jobs of 2-4 GPUs: median 10, p95 of 4, 10, 21.5 is 10 + 0.9 x 11.5 = 20.35; no other class."""
    assert of_paper.by_demand[1].tolist() == pytest.approx([3.0, 10.0, 20.35])
    assert np.isnan(of_paper.by_demand[[0, 2, 3, 4, 5], 1]).all()


def test_a_missing_column_is_named(paper: Path) -> None:
    """A table of another program: the message says which columns are missing, and in which file."""
    path = paper / "jobs.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["vc"]), path)
    with pytest.raises(InputError, match="columns are missing"):
        read_jobs(read_run(paper))
