"""One digest for everything that answers depend on: the same in every process and on every machine."""

import hashlib
import json
from pathlib import Path

_NO_SOURCES = {"_data", "__pycache__"}  # data that a wheel carries, and what Python compiles


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
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if path.is_file() and not _NO_SOURCES & set(inside.parts):
                digest.update(f"{folder.name}/{inside.as_posix()}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()
