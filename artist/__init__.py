"""A simulator of GPU clusters that train deep-learning jobs: scheduler and network together.

`simulate` runs, `read_run` and `read_sweep` read what was run (artist/results/README.md).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from artist.app.simulate import simulate
    from artist.errors import InputError, RunError
    from artist.results.folder import read_run
    from artist.results.sweep import read_sweep

__all__ = ["InputError", "RunError", "read_run", "read_sweep", "simulate"]

_HOMES = {
    "InputError": "artist.errors",
    "RunError": "artist.errors",
    "read_run": "artist.results.folder",
    "read_sweep": "artist.results.sweep",
    "simulate": "artist.app.simulate",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for, so that `import artist` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
