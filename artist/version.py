"""Which program this is."""

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from netmodels.digest import digest_of_sources


@lru_cache(maxsize=1)
def program_version() -> str:
    """Return the version and a digest of the program's own files; an edited checkout is another program."""
    try:
        number = version("artist-sim")
    except PackageNotFoundError:  # run from a checkout that is not installed
        number = "0"
    package = Path(__file__).resolve().parent
    return f"{number}+{digest_of_sources(package, package.parent / 'netmodels')[:8]}"
