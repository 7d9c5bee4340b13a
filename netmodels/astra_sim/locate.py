"""Find the user's ASTRA-sim program, its version and its back end."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from netmodels.inputs.errors import InputError

Backend = Literal["unaware", "aware", "ns3", "htsim", "version1"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
NAMES: dict[Backend, str] = {
    "unaware": "ASTRA-sim 2.x, analytical, congestion-unaware",
    "aware": "ASTRA-sim 2.x, analytical, congestion-aware",
    "ns3": "ASTRA-sim 2.x, ns-3 (packet level)",
    "htsim": "ASTRA-sim 2.x, htsim (packet level)",
    "version1": "ASTRA-sim 1.0, analytical",
}
_FIELD = "network.model.binary"
_WHERE_TO_GET = (
    "the path of a program, here or in the environment variable ASTRA_SIM_BIN; "
    "build one from https://github.com/astra-sim/astra-sim"
)
# Names inside the programs, in the order in which they are looked for.
_MARKS: tuple[tuple[bytes, Backend], ...] = (
    (b"CongestionUnawareNetworkApi", "unaware"),
    (b"CongestionAwareNetworkApi", "aware"),
    (b"HTSim", "htsim"),
    (b"ASTRA-sim + NS3", "ns3"),
    (b"topologies-per-dim", "version1"),
)


@dataclass(frozen=True, slots=True)
class Program:
    """A program that can be asked.

    Parameters
    ----------
    path
        Absolute.
    backend
        Its back end.
    digest
        SHA-256 of the file, first digits: another build is another program.
    """

    path: Path
    backend: Backend
    digest: str

    def __str__(self) -> str:
        return f"{NAMES[self.backend]} ({self.path}, sha256 {self.digest})"


def locate(binary: Path | None, backend: Backend | Literal["auto"], files: Sequence[Path] = ()) -> Program:
    """Return the program.

    Parameters
    ----------
    binary
        Path of the program, or its name if it is on the PATH.
    backend
        Its back end, or `auto` to detect it from the program itself; required for a wrapper around it.
    files
        Other files that make up the program; their contents go into the digest.

    Raises
    ------
    InputError
        If there is none, it cannot be run, its back end is not known, or it has another one.
    """
    if binary is None:
        raise InputError("no ASTRA-sim program", where=_FIELD, found=None, allowed=_WHERE_TO_GET)
    path = Path(shutil.which(str(binary)) or binary.expanduser()).absolute()
    if not path.is_file():
        raise InputError("no such program", where=_FIELD, found=str(binary), allowed=_WHERE_TO_GET)
    if not os.access(path, os.X_OK):
        raise InputError("not executable", where=_FIELD, found=str(path), allowed=f"chmod +x {path}")
    content = _read(path, _FIELD)
    recognised = next((name for mark, name in _MARKS if mark in content), None)
    if backend == "auto" and recognised is None:
        raise InputError(
            "does not look like ASTRA-sim",
            where=_FIELD,
            found=str(path),
            allowed=f"one of its programs, or for a wrapper network.model.backend={'|'.join(BACKENDS)}",
        )
    if backend not in ("auto", recognised) and recognised is not None:
        raise InputError(
            f"the program is another: {NAMES[recognised]}",
            where="network.model.backend",
            found=backend,
            allowed=f"auto, or {recognised}",
        )
    digest = hashlib.sha256(content)
    for file in files:
        digest.update(_read(file.expanduser(), "network.model.program_files"))
    chosen = recognised if backend == "auto" else backend
    assert chosen is not None
    return Program(path, chosen, digest.hexdigest()[:12])


def _read(path: Path, field: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InputError(f"cannot be read ({problem.strerror})", where=field, found=str(path)) from None
