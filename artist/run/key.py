"""Run keys: digests of all that a run depends on; equal keys mean equal results."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from artist.data import program_version
from artist.errors import regular

_LEFT_OUT = ("hydra", "output")  # parts that do not change results
_LEFT_OUT_OF_NETWORK = ("cache", "ahead")
_LEFT_OUT_OF_MODEL = ("timeout_s", "scratch", "keep")
_DIGITS = 12


def run_key(config: Mapping[str, Any], *, policy: str = "", files: Iterable[Path] = ()) -> str:
    """Return the key of a run: equal for equal config, input contents and program.

    Parameters
    ----------
    config
        The resolved configuration; settings that cannot change results are left out.
    files
        Files that the run reads besides those that the configuration names.
    """
    kept = _kept(config)
    contents = [[path.as_posix(), _digest(path)] for path in _all_files(kept, files)]
    parts = [kept, policy, contents, program_version()]
    try:
        text = json.dumps(parts, sort_keys=True, default=str)
    except TypeError:  # a mapping with keys of two types, which the run refuses
        text = repr(parts)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def code_digest(config: Mapping[str, Any], *, files: Iterable[Path] = ()) -> str:
    """Return the digest of a run key without settings: the program and the contents of files.

    Runs that differ in it differ by more than their settings. The folders of the files are left out.
    """
    contents = sorted(["/".join(path.parts[-2:]), _digest(path)] for path in _all_files(_kept(config), files))
    program = program_version().partition("+")[2]
    return hashlib.sha256(json.dumps([contents, program]).encode()).hexdigest()[:_DIGITS]


def _kept(config: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in config.items() if name not in _LEFT_OUT}
    if isinstance(kept.get("network"), Mapping):
        network = kept["network"].items()
        kept["network"] = {name: value for name, value in network if name not in _LEFT_OUT_OF_NETWORK}
        model = kept["network"].get("model")
        if isinstance(model, Mapping):
            kept["network"]["model"] = {n: value for n, value in model.items() if n not in _LEFT_OUT_OF_MODEL}
    return kept


def _all_files(kept: Mapping[str, Any], files: Iterable[Path]) -> list[Path]:
    return sorted({*files, *(path for value in kept.values() for path in _files_in(value))})


def _files_in(value: object) -> Iterable[Path]:
    """Yield the existing files that a configuration names; a word without dot or slash is no file."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _files_in(item)
    elif isinstance(value, str) and ("/" in value or "." in value) and "\0" not in value:
        with suppress(OSError):  # too long a name, no permission: the run will say so
            path = Path(value).expanduser()
            if path.is_file():
                yield path


def _digest(path: Path) -> str:
    try:
        state = regular(path).stat()
        return _content_digest(path, state.st_size, state.st_mtime_ns)
    except OSError:
        return "unreadable"


@lru_cache(maxsize=256)
def _content_digest(path: Path, size: int, mtime_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
