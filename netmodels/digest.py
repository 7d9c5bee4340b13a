"""One digest for everything that answers depend on: the same in every process and on every machine."""

import hashlib
import json


def digest_of(record: object) -> str:
    """Return the SHA-256 (hex) of plain values (dicts, lists, tuples, strings, numbers, None)."""
    return hashlib.sha256(canonical(record).encode()).hexdigest()


def canonical(record: object) -> str:
    """Return the one JSON text of plain values: keys sorted, no spaces, no NaN."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)


def hash_of(digest: str) -> int:
    """Return a Python hash from a digest; unlike `hash(str)` it survives pickling to another process."""
    return int(digest[:15], 16)
