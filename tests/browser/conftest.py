"""A browser without a screen, and a report for it to open."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from artist.app.cli import main as simulate
from artist.report.command import main as report

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--enable-logging=stderr", "--virtual-time-budget=3000",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")


LISTEN = "addEventListener('message', (event) => { document.body.dataset.said = event.data; });"
SAY = "const say = (value) => top.postMessage(JSON.stringify(value), '*');"
NARROWEST = 500  # Chromium makes no narrower window than that, but narrower frames


@dataclass(frozen=True, slots=True)
class Visit:
    """A page as rendered by a browser.

    Attributes
    ----------
    document
        After its scripts ran; of a narrow visit that of the page around it.
    console
        Lines that were written to the console.
    """

    document: str
    console: tuple[str, ...]

    @property
    def said(self) -> Any:
        """Return the output of the test's script."""
        result = re.search(r'data-said="([^"]*)"', self.document)
        assert result, "the script said nothing"
        return json.loads(unescape(result[1]))


@pytest.fixture(scope="session")
def browser() -> str:
    """Return the path of a browser."""
    result = next((path for name in NAMES if (path := shutil.which(name))), None)
    if result is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    return result


@pytest.fixture(scope="session")
def page(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of 2 policies x 2 cluster sizes, of 60 jobs."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        sweep = ["policy=fifo,srtf", "cluster.machines=8,16", "workload.jobs=60", "workload.load=2"]
        assert simulate(["-m", *sweep, f"output.dir={folder}", "output.name=small"]) == 0
    assert report([str(folder / "sweeps" / "small"), "--output", str(folder / "out")]) == 0
    return folder / "out" / "report.html"


@pytest.fixture(scope="session")
def site_page(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of the made-up site as it was, and with 10 machines more."""
    folder = tmp_path_factory.mktemp("site")
    given = ["experiment=seen_against_simulated", "policy.backfill=first_fit", "cluster.more=0,10"]
    partitions = ["cluster=partitions", "cluster.shares=largest", "cluster.whole_machines=all"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert simulate([*given, *partitions, f"output.dir={folder}", "output.name=site"]) == 0
    assert report([str(folder / "sweeps" / "site"), "--output", str(folder / "out")]) == 0
    return folder / "out" / "report.html"


@pytest.fixture
def run_browser(browser: str, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the browser with more flags on an address."""

    def run(address: str, *flags: str) -> subprocess.CompletedProcess[str]:
        command = [browser, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *flags, address]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    return run


@pytest.fixture
def visit(
    run_browser: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> Callable[..., Visit]:
    """Open a page, at an address fragment, with a script of the test's at its end that may `say` a value."""

    def open_page(page: Path, fragment: str = "", script: str = "", width: int = 1200) -> Visit:
        copy = tmp_path / "page.html"
        text = page.read_text(encoding="utf-8")
        more = f"<script>{LISTEN}{SAY}{script}</script></body>"
        copy.write_text(text.replace("</body>", more), encoding="utf-8")
        address = f"{copy.as_uri()}{fragment}"
        if width < NARROWEST:
            around = tmp_path / "around.html"
            frame = f'<iframe src="{address}" style="width:{width}px;height:900px;border:0"></iframe>'
            around.write_text(f"<html><body><script>{LISTEN}</script>{frame}</body></html>", encoding="utf-8")
            address = around.as_uri()
        done = run_browser(address, "--dump-dom", "--window-size=1200,900")
        return Visit(done.stdout, tuple(re.findall(r".*CONSOLE.*", done.stderr)))

    return open_page
