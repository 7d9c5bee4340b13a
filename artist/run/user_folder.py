"""A user's own folder (`--config-dir`): its YAML files join the groups, its modules can be imported."""

import sys
from importlib.util import find_spec
from pathlib import Path

from artist.bad_input.error_source import targets_of
from artist.data import data_path
from artist.errors import InputError


def check_shadows(folder: Path) -> None:
    """Refuse a folder that does not exist, or a file named as a shipped one, which Hydra would ignore."""
    if not folder.is_dir():
        raise InputError("no such folder", where="--config-dir", found=str(folder), allowed="a folder")
    for path in sorted(folder.rglob("*.yaml")):
        place = path.relative_to(folder)
        shipped = data_path("conf", str(place))
        if place.parts[0] == "topology":
            shipped = data_path("topologies", str(Path(*place.parts[1:])))
        if shipped.is_file() and shipped.resolve() != path.resolve():
            what = "has the name of a shipped file, which would be taken instead"
            raise InputError(what, where=str(path), found=str(place), allowed="a name of your own")


def put_on_path(folder: Path) -> None:
    """Make modules of the folder importable, after installed ones."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def check_targets(config: object, folder: Path) -> None:
    """Refuse a class whose module is in the folder but would be imported from another place."""
    for target in targets_of(config):
        name = target.partition(".")[0]
        mine = next((p for p in (folder / f"{name}.py", folder / name / "__init__.py") if p.is_file()), None)
        if mine is None:
            continue
        spec = find_spec(name)
        if spec is not None and spec.origin != str(mine):
            what = f"hidden by another module `{name}`"
            raise InputError(what, where=str(mine), found=spec.origin, allowed="a name of your own")


def python_files(folder: Path) -> list[Path]:
    """Return the modules of the folder, which determine results: top-level ones and those of packages."""
    packages = [path.parent for path in folder.glob("*/__init__.py")]
    return sorted([*folder.glob("*.py"), *(path for package in packages for path in package.rglob("*.py"))])
