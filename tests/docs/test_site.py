"""The documentation site builds without a warning, its links lead somewhere, and it needs no other site."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """The anchors of a page, the targets of its links, and the files that it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors = set[str]()
        self.links, self.loads = list[str](), list[str]()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if "href" in values and tag == "a":
            self.links.append(values["href"])
        elif tag != "a":
            self.loads += [values[name] for name in ("src", "href") if name in values]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_site_builds_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    """Warnings are errors, such as a page in no table of contents; every page is in the search index."""
    pytest.importorskip("sphinx", reason="the site is built with '.[docs]'")
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(tmp_path / "trees")]
    process = subprocess.run(
        [*build, str(ROOT / "docs"), str(tmp_path / "site")],
        env={**os.environ, "PATH": commands, "ARTIST_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    pages = {path: Page(path) for path in sorted((tmp_path / "site").rglob("*.html"))}
    index = (tmp_path / "site" / "searchindex.js").read_text(encoding="utf-8")
    assert [page.stem for page in (ROOT / "docs").glob("*.md") if f'"{page.stem}"' not in index] == []

    broken, checked = [], 0
    for path, page in pages.items():
        for link in page.links + page.loads:
            to = urlsplit(link)
            if to.scheme or to.netloc:
                continue
            target = (path.parent / unquote(to.path)).resolve() if to.path else path
            known = pages[target].anchors if target in pages else {to.fragment}
            checked += 1
            if not target.is_file() or (to.fragment and unquote(to.fragment) not in known):
                broken.append(f"{path.name}: {link}")
    assert broken == []
    assert checked > 1000
    assert [load for page in pages.values() for load in page.loads if re.match(r"\w+:|//", load)] == []
