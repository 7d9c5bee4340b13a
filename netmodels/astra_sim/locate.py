"""Find the user's ASTRA-sim program and which of its versions and back ends it is."""

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from netmodels.errors import InputError
from netmodels.naming import allowed_names

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
        Which one it is.
    digest
        SHA-256 of the file, first digits: another build is another program.
    """

    path: Path
    backend: Backend
    digest: str

    def __str__(self) -> str:
        return f"{NAMES[self.backend]} ({self.path}, sha256 {self.digest})"


def locate(binary: str | Path | None, backend: str) -> Program:
    """Return the program.

    Parameters
    ----------
    binary
        Path of the program, or its name if it is on the PATH.
    backend
        One of `BACKENDS`, or `auto` to find out from the program itself; a wrapper around it has to be told.

    Raises
    ------
    InputError
        If there is none, it cannot be run, or it is not known which back end it has.
    """
    if backend not in ("auto", *BACKENDS):
        allowed = allowed_names(backend, ("auto", *BACKENDS))
        raise InputError("unknown back end", where="network.model.backend", found=backend, allowed=allowed)
    if not binary:
        raise InputError("no ASTRA-sim program", where=_FIELD, found=None, allowed=_WHERE_TO_GET)
    path = Path(shutil.which(str(binary)) or Path(binary).expanduser()).absolute()
    if not path.is_file():
        raise InputError("no such program", where=_FIELD, found=str(binary), allowed=_WHERE_TO_GET)
    if not os.access(path, os.X_OK):
        raise InputError("not executable", where=_FIELD, found=str(path), allowed=f"chmod +x {path}")
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise InputError(f"cannot be read ({problem.strerror})", where=_FIELD, found=str(path)) from None
    if backend == "auto":
        backend = _recognised(path, content)
    digest = hashlib.sha256(content).hexdigest()[:12]
    return Program(path, next(each for each in BACKENDS if each == backend), digest)


def _recognised(path: Path, content: bytes) -> Backend:
    for mark, backend in _MARKS:
        if mark in content:
            return backend
    raise InputError(
        "does not look like ASTRA-sim",
        where=_FIELD,
        found=str(path),
        allowed=f"one of its programs, or for a wrapper network.model.backend={'|'.join(BACKENDS)}",
    )
