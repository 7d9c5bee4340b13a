"""Read text files of the user, plain or gzipped; every fault is an InputError."""

import gzip
import zlib
from io import BytesIO
from pathlib import Path

from netmodels.inputs.errors import InputError, regular

_GZIP_MAGIC = b"\x1f\x8b"
_PIECE, _MAX_RATIO = (
    1 << 26,
    200,
)  # bytes unpacked at a time; packed text is 3 to 30 times as long, zeros 1,000


def read_text(path: Path, kind: str = "trace", *, lenient: bool = False) -> str:
    """Return the text of a UTF-8 file, unzipped if gzipped (by its content, not its name); lines end in LF.

    Parameters
    ----------
    kind
        Kind of file, for messages.
    lenient
        True to replace bytes that are not UTF-8.

    Raises
    ------
    InputError
        If there is no such file, it cannot be read, or it is not text.
    """
    where = str(path)
    try:
        raw = regular(path.expanduser()).read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", where=where, allowed=f"the path of a {kind} file") from None
    except IsADirectoryError:
        raise InputError("is a folder", where=where, allowed=f"the path of a {kind} file") from None
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", where=where, allowed="a readable file"
        ) from None
    except (RuntimeError, ValueError) as error:  # the home of an unknown user; a NUL in the path
        raise InputError("not a path", where=where, found=str(error), allowed="a readable file") from None
    if raw.startswith(_GZIP_MAGIC):
        try:
            raw = _unpacked(raw, where)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(
                "broken gzip file", where=where, found=str(error), allowed="a whole file"
            ) from None
    try:
        text = raw.decode("utf-8-sig", "replace" if lenient else "strict")
    except UnicodeDecodeError as error:
        wrong = raw[error.start : error.start + 8]
        raise InputError(
            "not a text file", where=where, found=wrong, allowed="UTF-8, plain or gzip"
        ) from None
    if "\0" in text and not lenient:
        raise InputError("not a text file", where=where, found="\0", allowed="UTF-8, plain or gzip")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _unpacked(packed: bytes, where: str) -> bytes:
    """Return the content of a gzip file; raise InputError if it is a bomb."""
    file, pieces = BytesIO(packed), []
    with gzip.GzipFile(fileobj=file) as content:
        while piece := content.read(_PIECE):
            pieces.append(piece)
            if len(piece) == _PIECE and len(pieces) * _PIECE > _MAX_RATIO * file.tell():
                sizes = f"over {len(pieces) * _PIECE >> 20} MiB in {file.tell() >> 10} KiB"
                allowed = f"text, which unpacks to at most {_MAX_RATIO} times its size"
                raise InputError("a gzip bomb", where=where, found=sizes, allowed=allowed)
    return b"".join(pieces)
