"""A folder with Slurm's files, and what they say."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from artist.app.composing import composed, with_topology
from artist.site.machines import with_slurm
from artist.site.slurm import SlurmConf

Read = Callable[..., SlurmConf]
Fill = Callable[..., dict[str, Any]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return what a slurm.conf says, with other files in its folder."""

    def written(text: str, files: Mapping[str, str] | None = None) -> SlurmConf:
        for name, content in {"slurm.conf": text, **(files or {})}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content, encoding="utf-8")
        return SlurmConf([tmp_path / "slurm.conf"])

    return written


@pytest.fixture(scope="session")
def plain() -> Mapping[str, Any]:
    """Return the configuration of `policy=slurm`, composed once."""
    return with_topology(composed(["policy=slurm"]), "dgx_h100_3tier")


@pytest.fixture
def fill(tmp_path: Path, plain: Mapping[str, Any]) -> Fill:
    """Return the configuration of the texts of files, with settings of the user by group."""

    def filled(*texts: str, **settings: Mapping[str, Any]) -> dict[str, Any]:
        paths = []
        for number, text in enumerate(texts):
            paths.append(tmp_path / f"{number}.conf")
            paths[-1].write_text(text, encoding="utf-8")
        config = {**plain, **{group: {**plain[group], **values} for group, values in settings.items()}}
        config["policy"] = {**config["policy"], "conf": [str(path) for path in paths]}
        return with_slurm(config)

    return filled
