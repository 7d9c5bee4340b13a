"""Shipped data (conf/, topologies/, traces/), the program's version, and atomic writes of output files."""

import os
import re
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Literal

from netmodels.inputs.digest import digest_of_sources

Kind = Literal["conf", "topologies", "traces"]


def data_path(kind: Kind, name: str = "") -> Path:
    """Return the path of a shipped folder, or of a file in it; the checkout comes before the wheel.

    Parameters
    ----------
    kind
        The folder.
    name
        A file or folder inside it; empty for the folder itself.

    Returns
    -------
    Path
        An absolute path; it may not exist.
    """
    package = Path(__file__).resolve().parent
    root = package.parent if (package.parent / "pyproject.toml").is_file() else package / "_data"
    return root / kind / name if name else root / kind


def first_sentence(path: Path) -> str:
    """Return the first sentence of the comment with which a YAML file begins, without its full stop."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = takewhile(lambda line: line.startswith("# "), (line for line in lines if line[:3] != "# @"))
    match = re.match(r"(.+?)(?:\.(?=\s)|\.?$)", " ".join(line.removeprefix("# ").strip() for line in comment))
    return match[1] if match else ""


@lru_cache(maxsize=1)
def program_version() -> str:
    """Return the version and a digest of the program's own files; an edited checkout is another program."""
    package = Path(__file__).resolve().parent
    return f"{version_number()}+{digest_of_sources(package, package.parent / 'netmodels')[:8]}"


def version_number() -> str:
    """Return the version of the installed distribution; 0 in a checkout that is not installed."""
    from importlib import metadata  # takes 10 ms, and help does without

    try:
        return metadata.version("artist-sim")
    except metadata.PackageNotFoundError:
        return "0"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file as a whole: an interruption or a full disk leaves the old one."""
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe
        path.write_bytes(content)
        return
    part = path.resolve().with_name(f".artist-{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path.resolve())
    finally:
        part.unlink(missing_ok=True)
