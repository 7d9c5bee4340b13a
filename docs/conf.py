"""Configuration of the documentation site: `sphinx-build -W --keep-going docs docs/_build/html`."""

import os
import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

from artist.data import version_number

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))
import reference_pages  # noqa: E402
from pictures import Picture  # noqa: E402

project = "artist-sim"
author = "The artist-sim authors"
project_copyright = author
version = release = version_number()
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
autodoc_typehints = "description"
napoleon_google_docstring = False
napoleon_use_ivar = True
suppress_warnings = ["ref.python"]  # several classes have a field of one name

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

html_theme = "furo"
html_static_path = ["static"]
html_favicon = "static/favicon.svg"
html_css_files = ["site.css"]
html_title = f"artist-sim {version}"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
copybutton_exclude = ".linenos, .gp, .go"

_INCLUDE = re.compile(r"^```\{include\} (\S+)$", re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
_NAME = re.compile(r"(?<![`:\w])`([^`]+)`(?!`)")
_PAGES = {DOCS.parent / "README.md": DOCS / "index.md"} | {
    (DOCS / path).resolve(): page
    for page in sorted(DOCS.glob("*.md"))
    for path in _INCLUDE.findall(page.read_text(encoding="utf-8"))
}
"""Pages of the repository outside docs/, and the pages of the site that include them."""


def _with_links_of_the_site(text: str, folder: Path, page: Path) -> str:
    """Return a text with links as from a page's folder, those out of docs/ to the pages that include them."""

    def target(match: re.Match[str]) -> str:
        path = (folder / match[1]).resolve()
        return os.path.relpath(_PAGES.get(path, path), page) if path.exists() else match[1]

    return _LINK.sub(target, text)


def _read(app: Sphinx, docname: str, content: list[str]) -> None:
    folder = (DOCS / docname).parent
    text = content[0].replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
    content[0] = _with_links_of_the_site(text, folder, folder)


def _read_included(app: Sphinx, path: Path, docname: str, content: list[str]) -> None:
    content[0] = _with_links_of_the_site(content[0], (DOCS / path).parent, DOCS)


def _read_docstring(app: Sphinx, what: str, name: str, of: object, options: object, lines: list[str]) -> None:
    """Link pages; write names as code, also before a plural's s, which reStructuredText takes for no end."""
    text = _NAME.sub(r"``\1``\\ ", "\n".join(lines))
    lines[:] = re.sub(r"\bdocs/(\w+)\.md", r":doc:`/\1`", text).split("\n")


def setup(app: Sphinx) -> None:
    """Connect what reads pages."""
    reference_pages.write(DOCS / "generated")
    app.add_directive("picture", Picture)
    app.connect("autodoc-process-docstring", _read_docstring)
    app.connect("source-read", _read)
    app.connect("include-read", _read_included)
