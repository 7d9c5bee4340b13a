"""Digest of all inputs of an answer, equal in every process and on every machine."""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_NO_SOURCES = {"_data", "__pycache__"}  # data in a wheel, and compiled files


def digest_of(record: object) -> str:
    """Return the SHA-256 (hex) of plain values (dicts, lists, tuples, strings, numbers, None)."""
    return hashlib.sha256(canonical(record).encode()).hexdigest()


def canonical(record: object) -> str:
    """Return the one JSON text of plain values: keys sorted, no spaces, no NaN."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)


def hash_of(digest: str) -> int:
    """Return a Python hash from a digest; unlike `hash(str)` it survives pickling to another process."""
    return int(digest[:15], 16)


def digest_of_sources(*folders: Path) -> str:
    """Return the SHA-256 (hex) of the files of packages: names within the package and contents."""
    digest = hashlib.sha256()
    for folder in folders:
        for parts in sorted(_files(str(folder), ())):
            digest.update(f"{'/'.join((folder.name, *parts))}\0".encode())
            with open(os.path.join(folder, *parts), "rb") as file:
                digest.update(file.read())
    return digest.hexdigest()


@lru_cache(maxsize=16)
def sources_of(module: str) -> str:
    """Return a digest of the files that compute the answers of a model, read once per process.

    These are all of `netmodels`, of which a model of the user's own may use any part, and the file of the
    model itself. Its `version` must cover other files that it needs.

    Parameters
    ----------
    module
        Name of the module that defines the model.
    """
    package = digest_of_sources(Path(__file__).parents[1])
    file = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    if module.startswith("netmodels.") or not file.is_file():  # no file: typed in, as in a notebook
        return package
    return digest_of([package, file.read_text(encoding="utf-8", errors="replace")])


def _files(folder: str, inside: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the parts of the paths of all sources, several times as fast as pathlib."""
    for entry in os.scandir(folder):
        if entry.name not in _NO_SOURCES:
            parts = (*inside, entry.name)
            if entry.is_dir(follow_symlinks=False):  # a linked one may hold this one
                yield from _files(entry.path, parts)
            elif entry.is_file():  # no link to nothing, such as an editor's lock
                yield parts
