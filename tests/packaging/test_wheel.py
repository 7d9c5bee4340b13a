"""The installed package contains the data, and reads it without a checkout."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def build(source: Path, target: str, folder: Path) -> Path:
    """Build a wheel or an sdist of a checkout into a folder, and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of the checkout."""
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sdist of the checkout."""
    return build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def site(wheel: Path) -> Path:
    """Return a folder with the unpacked wheel."""
    zipfile.ZipFile(wheel).extractall(wheel.parent / "site")
    return wheel.parent / "site"


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


def test_the_sdist_builds_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    """Nothing that the wheel needs is missing there: equal files with equal contents."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    again = zipfile.ZipFile(build(source, "wheel", tmp_path / "wheel"))
    assert {f.filename: f.CRC for f in again.infolist()} == {
        f.filename: f.CRC for f in zipfile.ZipFile(wheel).infolist()
    }


def test_the_version_is_the_same_everywhere(wheel: Path) -> None:
    """The wheel's, CITATION.cff's, and that of the newest part of CHANGELOG.md, unless it is unreleased."""
    version = wheel.name.split("-")[1]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == version
    parts = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert next(part for part in parts if part != "Unreleased") == version


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_installs_in_an_empty_environment(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """`pip install` brings all that a sweep and its report need; the first picture is drawn."""
    built = request.getfixturevalue(kind)
    commands = [
        [sys.executable, "-m", "venv", "venv"],
        ["venv/bin/pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(built)],
        ["venv/bin/artist", "-m", "policy=fifo,srtf", "workload.jobs=50", "output.name=first"],
        ["venv/bin/artist-report", "runs/sweeps/first"],
    ]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for command in commands:
        run = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280, check=False
        )
        assert run.returncode == 0, run.stderr
    assert list(tmp_path.glob("runs/sweeps/first/**/*.png"))
