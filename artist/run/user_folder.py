"""A user's own folder (`--config-dir`): its YAML files join the groups, its modules can be imported."""

import ast
import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from artist.bad_input.error_source import targets_of
from artist.data import data_path
from artist.errors import InputError

_BY_NAME = {"importlib", "pydoc", "runpy", "hydra"}  # import modules by names that are computed


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


def python_files(folders: Iterable[Path], config: object) -> list[Path]:
    """Return the user's modules that a run depends on: those of its classes, and those that they import.

    A package counts as a whole. Where one of them imports by a name that it computes, all of the folders do.
    """
    places, files = list(folders), dict[Path, None]()
    names = dict.fromkeys(target.partition(".")[0] for target in targets_of(config))
    waiting = list(names)
    for name in waiting:
        for folder in places:
            module = folder / f"{name}.py"
            for path in [module] if module.is_file() else (folder / name).rglob("*.py"):
                files[path] = None
                imported = _imported(path.read_bytes())
                if not _BY_NAME.isdisjoint(imported):
                    return sorted(path for place in places for path in place.rglob("*.py"))
                waiting += [one for one in imported if one not in names]
                names |= dict.fromkeys(imported)
    return sorted(files)


@lru_cache(maxsize=256)
def _imported(source: bytes) -> tuple[str, ...]:
    """Return the top-level names of the modules that a module imports; none if Python cannot read it."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return ()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    names += ["importlib" for node in nodes if isinstance(node, ast.Name) and node.id == "__import__"]
    return tuple(dict.fromkeys(name.partition(".")[0] for name in names))


def as_arguments(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the arguments of the command line that name folders."""
    here = Path.cwd()
    return tuple(
        f"--config-dir={path.relative_to(here) if path.is_relative_to(here) else path}" for path in folders
    )
