"""What artist-network, artist-trace and artist-calibrate share: overrides in Hydra's words, errors, files."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from artist.app.composing import composed
from artist.bad_input.explain import from_library, two_lines
from artist.data import data_path, write_whole
from artist.entry import BAD_INPUT, SUCCESS
from artist.errors import InputError
from artist.run.key import program_version
from artist.run.user_folder import check_shadows, put_on_path


def run_command(
    argv: Sequence[str] | None,
    parser: argparse.ArgumentParser,
    run: Callable[[Sequence[str], Path | None], None],
) -> int:
    """Run a command; return 0, or 2 for bad input, told in two lines.

    Parameters
    ----------
    argv
        Arguments without the program's name; those of the process if None.
    parser
        From `overrides_parser`.
    run
        Takes the overrides and the user's folder.
    """
    try:
        arguments = parser.parse_args(argv)
        run(arguments.overrides, arguments.config_dir)
    except Exception as error:
        print(two_lines(from_library(error)), file=sys.stderr)
        return BAD_INPUT
    return SUCCESS


def overrides_parser(program: str, description: str, config: str) -> argparse.ArgumentParser:
    """Return a parser of `field=value ...` and --config-dir, whose help shows all fields.

    Parameters
    ----------
    program, description
        For the help.
    config
        Name of the file in conf/ that has the fields.
    """
    fields = data_path("conf", f"{config}.yaml").read_text(encoding="utf-8").splitlines()
    settings = "\n".join(f"  {line}" for line in fields)
    parser = argparse.ArgumentParser(
        prog=program,
        usage=f"{program} [field=value ...] [--config-dir FOLDER]",
        description=description,
        epilog=f"Fields, beside those of the groups; of several values, a,b,c, all are taken:\n\n{settings}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("overrides", nargs="*", metavar="field=value")
    parser.add_argument("--config-dir", type=Path, help="a folder with files of your own")
    parser.add_argument("--version", action="version", version=f"artist-sim {program_version()}")

    def refuse(message: str) -> NoReturn:
        allowed = f"field=value, --config-dir FOLDER; see {program} --help"
        raise InputError(message, where="command line", allowed=allowed)

    parser.error = refuse  # type: ignore[method-assign]
    return parser


@contextmanager
def composer(config: str, config_dir: Path | None) -> Iterator[Callable[[Sequence[str]], Mapping[str, Any]]]:
    """Give a function from overrides to the resolved configuration.

    Parameters
    ----------
    config
        Name of the file in conf/.
    config_dir
        The user's folder, or None.

    Raises
    ------
    InputError
        If the folder does not exist, or has a file of a shipped one's name.
    """
    searchpath = _searchpath(config_dir)
    yield lambda overrides: composed([*overrides, *searchpath], config)


def _searchpath(config_dir: Path | None) -> list[str]:
    if config_dir is None:
        return []
    folder = config_dir.absolute()
    if not folder.is_dir():
        raise InputError("no such folder", where="--config-dir", found=str(config_dir), allowed="a folder")
    check_shadows(folder.resolve())
    put_on_path(folder)
    return [f"hydra.searchpath=[file://{folder}]"]


def check_figure(path: Path | None, field: str) -> None:
    """Refuse a file for a figure whose name says no kind that can be drawn."""
    if path is not None and path.suffix not in (".png", ".svg"):
        raise InputError("unknown kind of figure", where=field, found=str(path), allowed=".png or .svg")


def save_figure(figure: Any, path: Path, field: str) -> None:
    """Write a figure of the kind that its file's name asks for, and say so."""
    from artist.report.figures.render import rendered

    check_figure(path, field)
    save(rendered(figure, cast(Literal["png", "svg"], path.suffix.removeprefix("."))), path, field)


def save(content: bytes, path: Path, field: str) -> None:
    """Write a file, and say so.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        found = f"{path}: {error.strerror}"
        raise InputError(
            "cannot be written", where=field, found=found, allowed="a file in a folder"
        ) from None
    print(f"written to {path}", file=sys.stderr)
