"""resources.parquet of the run on paper (see conftest): written, read, summarised."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.recording.resources import Resources
from artist.report.page.comparison_table import comparison_table
from artist.results.compare import compare
from artist.results.csv_tables import comparison_csv
from artist.results.digest import digest
from artist.results.folder import read_run
from artist.results.scenarios import contest

FIFO = {"policy": {"name": "fifo"}, "seed": 1}
Write = Callable[..., Path]


@pytest.fixture
def folder(run_folder: Write, tmp_path: Path, resources: Resources) -> Path:
    """Write the run on paper with what was in use."""
    return run_folder(tmp_path / "run", FIFO, resources=resources)


def test_rows_of_the_run_on_paper(folder: Path) -> None:
    """Of 4 GPUs a and c use 2 each for half of the time, b 4 for 1 s of 2.5 s; storage a fifth of that.

    b waits from 1 to 2, to 6, to 10 s: in the middle 0.5, 3 and 7 s of 10 s.
    """
    frame = read_run(folder).table("resources")
    assert list(frame["time_s"]) == [0, 1, 2, 6, 10, 22.5]
    assert list(frame["gpu"]) == pytest.approx([0.25, 0.25, 0.5, 0.25, 0.4, 0])
    assert list(frame["storage"]) == pytest.approx([0.05, 0.05, 0.1, 0.05, 0.08, 0])
    assert not frame[["cpu", "network"]].to_numpy().any()
    assert list(frame["blocking_index"]) == pytest.approx([0, 0.05, 0.3, 0.7, 0, 0])


def test_means_of_the_run_on_paper(folder: Path) -> None:
    """GPU: 2 x 0.25 + 4 x 0.5 + 4 x 0.25 + 12.5 x 0.4 = 8.5 of 22.5 s; blocked: 0.05 + 1.2 + 2.8 of 22.5."""
    summary = read_run(folder).summary
    assert summary["resources"] == pytest.approx(
        {"storage": 1.7 / 22.5, "cpu": 0, "gpu": 8.5 / 22.5, "network": 0}
    )
    assert summary["blocking_index"] == pytest.approx(4.05 / 22.5)


def test_they_are_metrics(folder: Path) -> None:
    """A column each in table.csv and on the page."""
    comparison = compare([read_run(folder)])
    (row,) = csv.DictReader(comparison_csv(comparison).splitlines())
    assert float(row["gpu_in_use"]) == pytest.approx(8.5 / 22.5)
    assert float(row["blocking_index"]) == pytest.approx(0.18)
    names = [column.name for column in comparison_table(comparison, contest(comparison)).columns]
    assert {"storage_in_use", "cpu_in_use", "gpu_in_use", "network_in_use", "blocking_index"} < set(names)


@pytest.mark.parametrize("content", [b"", b"PAR1 is not enough"])
def test_a_damaged_file_is_refused(folder: Path, content: bytes) -> None:
    """It is named, with what to do."""
    (folder / "resources.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"resources\.parquet.*\n.*delete it and run again"):
        digest(compare([read_run(folder)]).groups[0])


def test_a_table_of_another_kind_is_refused(folder: Path) -> None:
    """The message says which columns are missing."""
    (folder / "resources.parquet").write_bytes((folder / "timeline.parquet").read_bytes())
    with pytest.raises(InputError, match=r"columns are missing(.|\n)*blocking_index"):
        digest(compare([read_run(folder)]).groups[0])
