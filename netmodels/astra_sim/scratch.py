"""Folders of single runs: fresh, filled, and removed unless they document a failure."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from netmodels.astra_sim.inputs import TRACE
from netmodels.astra_sim.process import ProgramError
from netmodels.inputs.errors import InputError

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
        folder = self._write(files, npus)
        kept = self._keep
        try:
            yield folder
        except ProgramError:
            self._failures += 1
            kept = kept or self._failures <= _MAX_FAILURES
            raise
        finally:
            if not kept:
                shutil.rmtree(folder, ignore_errors=True)

    def _write(self, files: Mapping[str, bytes], npus: int) -> Path:
        folder = None
        try:
            folder = Path(tempfile.mkdtemp(prefix="astra-sim-", dir=self._folder))
            for name, content in files.items():
                (folder / name).write_bytes(content)
            (folder / "out").mkdir()
            if TRACE in files:
                for npu in range(npus):
                    os.link(folder / TRACE, folder / f"iteration.{npu}.et")
        except OSError as problem:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            raise InputError(
                "cannot write the input of the network program",
                where="network.model.scratch",
                found=str(problem),
                allowed="a folder on a disk with room",
            ) from None
        return folder
