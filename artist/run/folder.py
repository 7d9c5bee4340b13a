"""Run folders, complete or absent: written next to their place and renamed at the end.

A run locks its folder, so that a second process waits and then finds it finished. Only files that this module
made are deleted.
"""

import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from artist.errors import InputError
from artist.recording.names import CONFIG, ERROR, LOG, SUMMARY
from artist.run.lock import locked

_OF_A_FAILURE = frozenset({ERROR, CONFIG, LOG})


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The place of one run.

    Attributes
    ----------
    path
        Of the finished folder.
    locks
        Folder of lock files; exists while one is held.
    wanted
        Files wanted in addition to those of every run. A run without them is repeated: it gains the missing
        files and keeps the others.
    """

    path: Path
    locks: Path
    wanted: tuple[str, ...] = ()

    def summary(self) -> dict[str, Any] | None:
        """Return the summary of a finished run with all files wanted, else None."""
        return self._finished() if all((self.path / name).exists() for name in self.wanted) else None

    def _finished(self) -> dict[str, Any] | None:
        try:
            summary: dict[str, Any] = json.loads((self.path / SUMMARY).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValueError:
            where, allowed = str(self.path / SUMMARY), "remove this folder, and the run is done again"
            raise InputError("a damaged result", where=where, allowed=allowed) from None
        return summary

    @contextmanager
    def claim(self) -> Iterator[Path | None]:
        """Hold the lock and yield a fresh folder to write to, or None if the run is finished.

        The folder takes its place when the block ends well, and is removed when it does not. InputError is
        raised if the folder has other files.
        """
        with locked(self._lock_file()):
            if self.summary() is not None:
                yield None
                return
            lacking = self._finished() is not None
            if not lacking:
                self._check_place()
            self._remove_stale()
            scratch = scratch_folder(self.path)
            scratch.mkdir(parents=True)
            try:
                yield scratch
                if lacking:
                    self._add(scratch)
                else:
                    self._forget_failure()
                    os.rename(scratch, self.path)  # onto nothing, or onto an empty folder
            finally:
                shutil.rmtree(scratch, ignore_errors=True)

    def fail(self, record: dict[str, Any], others: dict[str, str]) -> None:
        """Leave the record of a failure, unless the run is finished or the folder has other files."""
        with suppress(OSError, InputError), locked(self._lock_file()):
            if self._finished() is not None:
                return
            self._check_place()
            self.path.mkdir(parents=True, exist_ok=True)
            text = json.dumps(record, indent=2) + "\n"
            for name, content in [*others.items(), (ERROR, text)]:
                part = self.path / f".{name}"
                part.write_text(content, encoding="utf-8")
                os.replace(part, self.path / name)

    def _lock_file(self) -> Path:
        return self.locks / f"{sha256(str(self.path).encode()).hexdigest()[:20]}.lock"

    def _check_place(self) -> None:
        if self.path.exists():
            foreign = sorted(p.name for p in self.path.iterdir() if p.name.lstrip(".") not in _OF_A_FAILURE)
            if foreign:
                what, allowed = (
                    "files of something else",
                    "an empty folder, or none; choose another output.dir",
                )
                raise InputError(what, where=str(self.path), found=foreign[0], allowed=allowed)

    def _remove_stale(self) -> None:
        """Remove the remains of killed runs; the holder of the lock is the only writer."""
        for stale in self.path.parent.glob(f".{self.path.name}.part-*"):
            shutil.rmtree(stale, ignore_errors=True)

    def _add(self, scratch: Path) -> None:
        """Add the missing files to a finished run, wanted ones last: if killed before, it is repeated."""
        os.replace(scratch / SUMMARY, self.path / SUMMARY)
        for path in sorted(scratch.iterdir(), key=lambda path: path.name in self.wanted):
            if not (self.path / path.name).exists():
                os.replace(path, self.path / path.name)

    def _forget_failure(self) -> None:
        if self.path.exists():
            for path in self.path.iterdir():
                path.unlink()


def scratch_folder(path: Path) -> Path:
    """Return the folder to which this process writes a run until it is complete."""
    return path.parent / f".{path.name}.part-{socket.gethostname()}-{os.getpid()}"


def remove_if_empty(folder: Path, root: Path) -> None:
    """Remove a folder, its parents inside `root`, and `root`, as long as they are empty."""
    with suppress(OSError):
        for at in (folder, *folder.parents):
            if at.is_relative_to(root):
                at.rmdir()
