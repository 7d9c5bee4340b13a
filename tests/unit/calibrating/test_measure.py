"""Measuring on the user's GPUs works on two processes of a CPU, where PyTorch is installed."""

import csv
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from artist.calibrating.command import main
from artist.calibrating.measured import read_measured
from artist.data import data_path
from netmodels.api import load_topology
from netmodels.profiles.profile import get_profile

COMMAND = "import sys; from artist.calibrating.command import main; sys.exit(main())"
MEASURE = (sys.executable, "-c", COMMAND, "measure")
TORCH = importlib.util.find_spec("torch") is not None


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.skipif(not TORCH, reason="PyTorch is not installed: pip install 'artist-sim[measure]'")
def test_its_files_are_read_by_calibration(tmp_path: Path) -> None:
    """AlexNet: 8 layers with the bytes of the shipped profile, a row to calibrate to, 1 and 4 KiB reduced."""
    size = ("--batch", "1", "--image", "64", "--iterations", "1", "--max-bytes", "4096")
    command = [*MEASURE, str(tmp_path), "--models", "AlexNet", *size, "--processes", "2"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    layers = rows(tmp_path / "layers.csv")
    profile = get_profile("AlexNet")
    assert [int(row["gradient_bytes"]) for row in layers] == [
        layer.gradient_bytes for layer in profile.layers
    ]
    assert all(int(row[name]) > 0 for row in layers for name in ("forward_ns", "weight_gradient_ns"))
    topology = load_topology(data_path("topologies", "dgx_h100_3tier.yaml"))
    (measured,) = read_measured(tmp_path / "overheads.csv", topology)
    assert (measured.profile, measured.gpus) == (profile, 2)
    assert measured.overhead >= 0
    reduced = rows(tmp_path / "all_reduce.csv")
    assert [(row["gpus"], row["bytes"]) for row in reduced] == [("2", "1024"), ("2", "4096")]
    assert all(int(row["time_ns"]) > 0 for row in reduced)


@pytest.mark.skipif(TORCH, reason="PyTorch is installed")
def test_without_pytorch_it_names_the_requirement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two lines, no traceback."""
    assert main(["measure", str(tmp_path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "artist-calibrate measure: torch is not installed"
    assert "pip install 'artist-sim[measure]'" in lines[1]
