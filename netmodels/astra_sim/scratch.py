"""Folders of single runs: fresh, filled, and removed unless they document a failure.

While a run owns its folder, it holds a lock there; the next start removes folders whose owner was killed.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from netmodels.astra_sim.inputs import TRACE
from netmodels.astra_sim.process import ProgramError
from netmodels.inputs.errors import InputError

_PREFIX = "astra-sim-"
_LOCK = "running.lock"
_MAX_FAILURES = 3  # failed runs whose folders a model keeps: with a fallback there may be hundreds


class Scratch:
    """Creates folders for runs.

    Parameters
    ----------
    folder
        Parent folder, created if absent; None for the system's folder for temporary files.
    keep
        True to keep the folders of successful runs, too.

    Raises
    ------
    InputError
        If the folder cannot be created.
    """

    def __init__(self, folder: Path | None, *, keep: bool = False) -> None:
        self._folder = None if folder is None else folder.expanduser().absolute()
        self._keep = keep
        self._failures = 0
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                raise InputError(
                    f"cannot make the folder ({problem.strerror})",
                    where="network.model.scratch",
                    found=str(folder),
                    allowed="a folder that can be made, or null",
                ) from None

        _remove_left(Path(tempfile.gettempdir()) if self._folder is None else self._folder)

    @contextmanager
    def filled(self, files: Mapping[str, bytes], npus: int) -> Iterator[Path]:
        """Yield a folder with the files of a question; it is kept for the first failures.

        Parameters
        ----------
        files
            Contents by name; a trace appears once for each NPU, by hard links.
        npus
            Number of NPUs.

        Raises
        ------
        InputError
            If the files cannot be written.
        """
        with ExitStack() as stack:
            folder = self._write(files, npus, stack)
            kept = self._keep
            try:
                yield folder
            except ProgramError:
                self._failures += 1
                kept = kept or self._failures <= _MAX_FAILURES
                raise
            finally:
                if kept:
                    (folder / _LOCK).unlink(missing_ok=True)
                else:
                    _remove(folder)

    def _write(self, files: Mapping[str, bytes], npus: int, stack: ExitStack) -> Path:
        folder = None
        try:
            folder = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=self._folder))
            lock = stack.enter_context((folder / _LOCK).open("wb"))
            with suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            folder = folder.rename(folder.with_name(folder.name[1:]))  # locked before it can be found
            for name, content in files.items():
                (folder / name).write_bytes(content)
            (folder / "out").mkdir()
            if TRACE in files:
                for npu in range(npus):
                    os.link(folder / TRACE, folder / f"iteration.{npu}.et")
        except OSError as problem:
            if folder is not None:
                _remove(folder)
            raise InputError(
                "cannot write the input of the network program",
                where="network.model.scratch",
                found=str(problem),
                allowed="a folder on a disk with room",
            ) from None
        return folder


def _remove_left(parent: Path) -> None:
    """Remove the folders of runs that were killed, whose locks no process holds."""
    for path in parent.glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError), path.open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path.parent)


def _remove(folder: Path) -> None:
    with suppress(OSError):
        folder.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
