"""Find the lines of a user's own part that led to an error, and leave out the engine's."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb
from types import FrameType

_PACKAGE = Path(__file__).resolve().parents[1]
_OURS = (_PACKAGE, _PACKAGE.parent / "netmodels")
_STDLIB = Path(sysconfig.get_paths()["stdlib"]).resolve()
_INSTALLED = {"site-packages", "dist-packages"}
_MAX_FRAMES = 3


def own_lines(error: BaseException, config: object) -> str:
    """Return the user's own frames of an error, outermost first, as "file:line in function, ...".

    A frame is the user's if its file is neither ours nor Python's; in an installed package, only if the
    configuration names a class of that package. Only the last frames are shown, each once.
    """
    packages = {target.partition(".")[0] for target in targets_of(config)}
    lines = [
        f"{_shown(frame.f_code.co_filename)}:{line} in {frame.f_code.co_name}"
        for frame, line in walk_tb(error.__traceback__)
        if _is_own(frame, packages)
    ]
    if isinstance(error, SyntaxError) and error.filename and not error.filename.startswith("<"):
        lines.append(f"{_shown(error.filename)}:{error.lineno}")
    return ", ".join(list(dict.fromkeys(lines))[-_MAX_FRAMES:])


def targets_of(config: object) -> Iterator[str]:
    """Yield every `_target_` of a configuration."""
    if isinstance(config, dict):
        if isinstance(config.get("_target_"), str):
            yield config["_target_"]
        config = list(config.values())
    for child in config if isinstance(config, list) else ():
        yield from targets_of(child)


def _is_own(frame: FrameType, packages: set[str]) -> bool:
    name = frame.f_code.co_filename
    if name.startswith("<"):
        return False
    path = Path(name).resolve()
    if any(path.is_relative_to(folder) for folder in _OURS):
        return False
    if _INSTALLED & set(path.parts):
        return str(frame.f_globals.get("__name__", "")).partition(".")[0] in packages
    return not path.is_relative_to(_STDLIB)


def _shown(name: str) -> str:
    path = Path(name)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else name
