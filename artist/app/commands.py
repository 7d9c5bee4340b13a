"""Frame of artist-network, artist-trace and artist-calibrate: overrides, errors, output files."""

import argparse
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra

from artist.app.arguments import words
from artist.app.composing import composed, composing, with_topology
from artist.bad_input.explain import from_library, two_lines
from artist.data import data_path, program_version, write_whole
from artist.entry import BAD_INPUT, SUCCESS
from artist.errors import InputError
from artist.run.user_folder import check_shadows, put_on_path


def run_command(
    argv: Sequence[str] | None,
    parser: argparse.ArgumentParser,
    run: Callable[[Sequence[str], Path | None], None],
    level: int = logging.WARNING,
) -> int:
    """Run a command; return 0, or 2 for bad input, reported in two lines.

    Parameters
    ----------
    argv
        Arguments without the program's name; those of the process if None.
    run
        The command: a function of the overrides and the user's folder.
    level
        Least level of the log messages shown on stderr, without repeats.
    """
    try:
        arguments = parser.parse_intermixed_args(words(sys.argv[1:] if argv is None else argv))
        if arguments.shell_completion:
            with composing():
                hydra = Hydra("artist", GlobalHydra.instance().config_loader())
                hydra.shell_completion(arguments.shell_completion, arguments.overrides)
            return SUCCESS
        with _notes(level):
            run(arguments.overrides, arguments.config_dir)
    except Exception as error:
        print(two_lines(from_library(error)), file=sys.stderr)
        return BAD_INPUT
    return SUCCESS


@contextmanager
def _notes(level: int) -> Iterator[None]:
    seen: dict[str, logging.LogRecord] = {}
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    handler.addFilter(lambda record: seen.setdefault(record.getMessage(), record) is record)
    logger = logging.getLogger("artist")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def overrides_parser(program: str, description: str, config: str) -> argparse.ArgumentParser:
    """Return a parser of `field=value` and --config-dir; its help shows the fields of a file in conf/."""
    fields = data_path("conf", f"{config}.yaml").read_text(encoding="utf-8").splitlines()
    settings = "\n".join(f"  {line}" for line in fields)
    parser = argparse.ArgumentParser(
        prog=program,
        usage=f"{program} [field=value ...] [--config-dir FOLDER]",
        description=description,
        epilog=f"Fields besides those of the groups; a list of values, a,b,c, takes each:\n\n{settings}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("overrides", nargs="*", metavar="field=value")
    parser.add_argument("--config-dir", type=Path, help="a folder with files of your own")
    how = "completion in the shell: install=bash, zsh or fish, for eval"
    parser.add_argument("--shell-completion", "-sc", action="store_const", const=config, help=how)
    parser.add_argument("--version", action="version", version=f"artist-sim {program_version()}")

    def refuse(message: str) -> NoReturn:
        allowed = f"field=value, --config-dir FOLDER; see {program} --help"
        raise InputError(message, where="command line", allowed=allowed)

    parser.error = refuse  # type: ignore[method-assign]
    return parser


def composer(config: str, config_dir: Path | None) -> Callable[[Sequence[str]], dict[str, Any]]:
    """Return a function from overrides to the resolved configuration of a file in conf/.

    Parameters
    ----------
    config_dir
        The user's folder, or None.
    """
    searchpath = []
    if config_dir is not None:
        check_shadows(config_dir)
        put_on_path(config_dir.absolute())
        searchpath = [f"hydra.searchpath=[file://{config_dir.absolute()}]"]

    def named(overrides: Sequence[str]) -> dict[str, Any]:
        names = [override.partition("=")[2] for override in overrides if override.startswith("topology=")]
        return with_topology(composed([*overrides, *searchpath], config), (names or [""])[-1])

    return named


def save_figure(figure: Any, path: Path, field: str) -> None:
    """Write a figure in the format of its file's name, and report it."""
    from artist.drawing.render import rendered

    save(rendered(figure, cast(Literal["png", "svg"], path.suffix.removeprefix("."))), path, field)


def save(content: bytes, path: Path, field: str) -> None:
    """Write a file, and report it."""
    try:
        new = not path.parent.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        reason = f"{path}: {error.strerror}"
        raise InputError(
            "cannot be written", where=field, found=reason, allowed="a file in a folder"
        ) from None
    print(f"written to {path}{', in a new folder' * new}", file=sys.stderr)
