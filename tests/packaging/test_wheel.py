"""The installed package contains the data, and reads it without a checkout."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the unpacked wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def test_the_wheel_has_our_two_packages_and_the_licence(site: Path) -> None:
    """No top-level conf, tests or scripts."""
    names = {path.name for path in site.iterdir()}
    (info,) = (name for name in names if name.endswith(".dist-info"))
    assert names == {"artist", "netmodels", info}
    assert (site / info / "licenses" / "LICENSE").is_file()
    commands = (site / info / "entry_points.txt").read_text()
    assert "artist = artist.__main__:command" in commands
    assert "artist-report = artist.entry:report" in commands
    assert "artist-calibrate = artist.entry:calibrate" in commands


@pytest.mark.parametrize("kind", ["conf", "topologies", "traces"])
def test_the_wheel_carries_all_data(site: Path, kind: str) -> None:
    """File by file what lies in the checkout."""

    def files(folder: Path) -> set[str]:
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    assert files(site / "artist" / "_data" / kind) == files(ROOT / kind)


def test_the_wheel_contains_the_data_files(site: Path) -> None:
    """The style and the script of the page, and the claims of papers: artist-report reads them there."""
    report = ROOT / "artist" / "report"
    beside = {path.relative_to(ROOT) for kind in ("css", "js", "yaml") for path in report.rglob(f"*.{kind}")}
    assert {path.name for path in beside} >= {"page.css", "page.js", "dally.yaml", "muri.yaml"}
    assert all((site / path).read_bytes() == (ROOT / path).read_bytes() for path in beside)


def test_the_wheel_contains_py_typed(site: Path) -> None:
    """Without py.typed a type checker takes everything of ours for Any."""
    assert all((site / package / "py.typed").is_file() for package in ("artist", "netmodels"))


def test_the_unpacked_wheel_runs_outside_the_checkout(site: Path, tmp_path: Path) -> None:
    """It takes its own data: the demo, with nothing of the checkout on the path."""
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "import artist.data\n"
        f"assert artist.data.data_path('conf').is_relative_to({str(site)!r})\n"
        "from artist.app.cli import main\n"
        "sys.exit(main(['policy=fifo', 'workload.jobs=20', 'network.cache=null']))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "fifo" in run.stdout
    (config,) = tmp_path.rglob("config.yaml")
    assert config.parent.parent.parent == tmp_path / "runs"


def test_the_shipped_measurements_can_be_calibrated_to(site: Path, tmp_path: Path) -> None:
    """From the wheel, `artist-calibrate` finds the Dally paper's table without any argument."""
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "from artist.calibrating.command import main\n"
        "sys.exit(main([]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "MobileNetV3" in (tmp_path / "calibrated.yaml").read_text()
