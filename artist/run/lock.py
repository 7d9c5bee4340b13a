"""Locks between processes, as files removed on release."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

LOCKS = ".locks"  # in output.dir


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock, for which other processes wait.

    The kernel frees it when its holder is killed; the next lock in the same folder then removes the file.
    """
    while (file := _taken(path)) is None:
        pass
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        file.close()
        remove_unheld(path.parent)


def remove_unheld(folder: Path) -> None:
    """Remove the files of locks that nothing holds, and the folder if none is left."""
    with suppress(OSError):  # the folder is gone, or not empty
        for path in list(folder.glob("*.lock")):
            with suppress(OSError):  # it is held, or another process removed it
                file = _taken(path, fcntl.LOCK_NB)
                if file is not None:
                    path.unlink()
                    file.close()
        folder.rmdir()


def _taken(path: Path, flags: int = 0) -> IO[str] | None:
    """Return the file, locked; None if its last holder removed it before it was ours."""
    try:
        if not flags:
            path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:  # also when the folder is removed right then
        if path.parent.is_file():
            raise
    with ExitStack() as stack, suppress(FileNotFoundError):
        file = stack.enter_context(open(path, "r+" if flags else "a", encoding="utf-8"))
        fcntl.flock(file, fcntl.LOCK_EX | flags)
        if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            stack.pop_all()
            return file
    return None
