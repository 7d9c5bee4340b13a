"""Checks of output files before the work, so that no input file is overwritten."""

import os
from collections.abc import Iterable
from pathlib import Path

from artist.errors import InputError


def check_outputs(outputs: Iterable[tuple[str, Path | None]], inputs: Iterable[Path]) -> None:
    """Raise InputError for outputs, (field, file or None), that cannot be written or are inputs."""
    taken = {path.expanduser().resolve(): "a file that is read" for path in inputs}
    for field, path in outputs:
        if path is None:
            continue
        if field in ("plot", "draw") and path.suffix not in (".png", ".svg"):
            raise InputError("unknown kind of figure", where=field, found=str(path), allowed=".png or .svg")
        why = taken.get(path.resolve()) or _unfit(path)
        if why:
            raise InputError(why, where=field, found=str(path), allowed="another file, in a folder of yours")
        taken[path.resolve()] = "written twice"


def _unfit(path: Path) -> str:
    """Return the reason that a file cannot be written; empty if it can."""
    if path.is_dir():
        return "a folder"
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if there != path and not there.is_dir():
        return "not in a folder"
    if not os.access(there, os.W_OK):
        return "cannot be written"
    beside = there.resolve().parent if there.is_file() else there  # which is replaced
    return "" if os.access(beside, os.W_OK) else "in a folder that cannot be written to"
