"""Find the data that ships with the program: conf/, topologies/ and traces/."""

from pathlib import Path
from typing import Literal

Kind = Literal["conf", "topologies", "traces"]


def data_path(kind: Kind, name: str = "") -> Path:
    """Return the path of a shipped folder, or of a file in it; the checkout comes before the wheel.

    Parameters
    ----------
    kind
        Which folder.
    name
        A file or folder inside it; empty for the folder itself.

    Returns
    -------
    Path
        An absolute path. Whether a file of that name exists is for the caller to check.
    """
    package = Path(__file__).resolve().parent
    root = package.parent if (package.parent / "pyproject.toml").is_file() else package / "_data"
    return root / kind / name if name else root / kind
