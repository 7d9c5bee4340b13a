"""The error for invalid user input, and a guard against files that never end."""

import errno
import stat
from pathlib import Path
from typing import Any

_ABSENT = object()


class InputError(ValueError):
    """Bad input: problem, place, value found, and allowed values.

    Parameters
    ----------
    what
        One short sentence without a full stop.
    where
        File, row or field, as the user knows it.
    found
        The offending value; left out of the message if not given.
    allowed
        The allowed values, or advice.
    """

    def __init__(self, what: str, *, where: str = "", found: object = _ABSENT, allowed: str = "") -> None:
        self.what = what
        self.where = where
        self.found = found
        self.allowed = allowed
        first = f"{where}: {what}" if where else what
        parts = [] if found is _ABSENT else [f"found {_short(found)}"]
        if allowed:
            parts.append(f"allowed: {allowed}")
        super().__init__(first + ("\n  " + "; ".join(parts) if parts else ""))

    def __reduce__(self) -> tuple[object, ...]:
        fields = {} if self.found is _ABSENT else {"found": self.found}
        return _restored, (self.what, {"where": self.where, "allowed": self.allowed, **fields})


def _restored(what: str, fields: dict[str, Any]) -> InputError:
    """Return the error sent by another process."""
    return InputError(what, **fields)


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    limit = 200 if " " in text else 60  # words, such as the last ones of a program, or a value
    return text if len(text) <= limit else text[: limit - 3] + "..."


def regular(path: Path) -> Path:
    """Return the path of a file to read; raise if reading it would wait for another program, or never end.

    Raises
    ------
    OSError
        If it is a pipe or a device.
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return path
    file = "a pipe, while files are read more than once" if stat.S_ISFIFO(mode) else "a device or a socket"
    raise OSError(errno.EINVAL, f"{file}; write its content to a file first", str(path))
