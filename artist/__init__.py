"""A simulator of GPU clusters that train deep-learning jobs: scheduler and network together.

`simulate` runs once, `sweep` all combinations; `read_run` and `read_sweep` read finished runs
(docs/library.md). `artist.api` has these and all other names that policies, parts and notebooks of your own
import.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from artist.api import InputError, RunError, SchedulingEnv, read_run, read_sweep, simulate, sweep

    __version__: str

__all__ = ["InputError", "RunError", "SchedulingEnv", "read_run", "read_sweep", "simulate", "sweep"]


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for, so that `import artist` costs nothing."""
    from importlib import import_module

    if name == "__version__":
        return import_module("artist.data").version_number()
    if name == "plot":
        return import_module("artist.report.figures.plot")
    if name not in (*__all__, "api"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    api = import_module("artist.api")
    return api if name == "api" else getattr(api, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__", "api", "plot"]
