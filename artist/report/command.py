"""The command `artist-report`: tables and plots of runs that were made before."""

import argparse
import errno
import json
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from traceback import extract_tb
from typing import Literal, NoReturn

from artist.data import program_version, write_whole
from artist.errors import InputError
from artist.recording.names import CONFIG, ERROR, JOBS, SUMMARY
from artist.report.claims.bars import ALL, figures_asked
from artist.report.claims.judge import judge
from artist.report.claims.schema import read_claims
from artist.report.claims.table import claims_text
from artist.report.trace import traces
from artist.report.words.notes import CODE_ALONE
from artist.report.words.wording import few
from artist.results.compare import CODE, Comparison, compare
from artist.results.digest import digest, growing
from artist.results.fairness import fairness_by_run
from artist.results.folder import find_runs, read_run
from artist.results.run import AGAIN
from artist.results.scenarios import contest, matching
from artist.results.tables import comparison_grid
from artist.tables.grid import printable, terminal_width

SUCCESS, BAD_INPUT = 0, 2
_PANEL_OPTIONS = {"size", "format", "label"}
_USAGE = (
    "FOLDER ... [--title TEXT] [--baseline KEY=VALUE,...] [--choose KEY,...] [--claims NAME] [--figure NAME] "
    "[--panel NAME,... --size WxH --format KIND --label NAME=TEXT] [--output DIR] [--wide] [--trace]; "
    "see --help"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 for bad input.

    Parameters
    ----------
    argv
        Arguments without the program's name; those of the process if None.
    """
    try:
        arguments = _parser().parse_intermixed_args(argv)
        folders = [Path(os.path.expanduser(folder)) for folder in arguments.folders]
        output = Path(os.path.expanduser(arguments.output)) if arguments.output else folders[0] / "report"
        usual = vars(_parser().parse_args(["."]))
        given = {name for name, value in vars(arguments).items() if value != usual[name]}
        if arguments.figure is not None or arguments.claims == ALL:
            papers_beside(folders, output, arguments.figure, given - {"folders", "output"})
            return SUCCESS
        of_panels, others = _PANEL_OPTIONS & given, given - _PANEL_OPTIONS - {"folders", "output", "panel"}
        if arguments.panel is None and of_panels:
            raise _useless(of_panels, "with --panel NAME,... alone")
        if arguments.panel is not None:
            if others:
                raise _useless(others, "without --panel alone")
            paper_panels(
                folders, output, arguments.panel.split(","), arguments.size, arguments.format, arguments.label
            )
            return SUCCESS
        report(
            folders,
            output,
            baseline=arguments.baseline,
            trace=arguments.trace,
            claims=arguments.claims,
            choose=arguments.choose.split(",") if arguments.choose else (),
            wide=arguments.wide,
            title=arguments.title,
        )
    except InputError as error:
        print(printable(str(error)), file=sys.stderr)
        return BAD_INPUT
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        found = " ".join(f"{type(error).__name__}: {error}, at {_place(error)}".split())
        what, where = "a run that artist did not write like this", ", ".join(map(str, folders))
        print(printable(str(InputError(what, where=where, found=found, allowed=AGAIN))), file=sys.stderr)
        return BAD_INPUT
    return SUCCESS


def _useless(options: Collection[str], allowed: str) -> InputError:
    names = ", ".join(f"--{name}" for name in sorted(options))
    return InputError("no use for an option", where="command line", found=names, allowed=allowed)


def _place(error: Exception) -> str:
    last = extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def report(
    folders: Sequence[Path],
    output: Path,
    *,
    baseline: str | None = None,
    trace: bool = False,
    claims: str | None = None,
    choose: Sequence[str] = (),
    wide: bool = False,
    title: str | None = None,
) -> None:
    """Print the comparison of all finished runs under the folders, and write the report's files.

    Parameters
    ----------
    baseline
        `key=value,...`: the baseline of the rows; see `scenarios.contest`.
    trace
        Whether to write the placements of jobs for a trace viewer too.
    choose
        Keys among whose values the page chooses, besides policies.
    wide
        Whether to print all columns of the table, however narrow the terminal.
    title
        Heading of the page.
    claims
        The claims of a paper that the runs are held against: a name or a file (`claims.schema.read_claims`).

    Raises
    ------
    InputError
        If a folder does not exist, no finished run is found, a file of a run is damaged, no row is like the
        baseline, the claims are invalid, or the output cannot be written.
    """
    claimed = None if claims is None else read_claims(claims)
    folders_of_runs = find_runs(folders)
    comparison = _compared(folders_of_runs.runs, choose)
    competing = contest(comparison, baseline)
    failures = [(folder, _failure(folder / ERROR)) for folder in folders_of_runs.failed]
    new = _made(output)
    fair = [fairness_by_run(group) for group in comparison.groups]
    digests = [digest(group) for group in comparison.groups]
    grid = comparison_grid(comparison, fair, growing(digests), letters=True)
    print(grid.fitted(None if wide else terminal_width()).text())
    judged = (
        None
        if claimed is None
        else judge(claimed, [run for group in comparison.groups for run in group.runs])
    )
    if judged is not None:
        print(claims_text(judged))
    for folder, text in failures:
        print(printable(f"failed: {folder}: {' '.join(text.split())}"), file=sys.stderr)
    for run in comparison.older:
        print(printable(f"left out, older run of the same configuration: {run.folder}"), file=sys.stderr)
    if baseline is not None and any(len(rows) > 1 for rows in matching(comparison, competing, baseline)):
        first = "of several rows that fit in one scenario, the likest or the first is the baseline"
        print(f"--baseline {baseline}: {first}", file=sys.stderr)
    if CODE in comparison.keys:
        print(CODE_ALONE, file=sys.stderr)
    # Drawing takes a second to import, which help and refusals do not need.
    from artist.report.contents import CHANGES, CLAIMS, report_files

    with _written(output):
        timelines = traces(comparison) if trace else {}
        files = report_files(
            comparison, competing, judged, failures, output, list(timelines), fair, digests, title
        )
        for name in {CLAIMS, CHANGES} - files.keys():
            (output / name).unlink(missing_ok=True)  # of an earlier report
    _write(output, files | timelines, new)


def papers_beside(
    folders: Sequence[Path], output: Path, figure: str | None, given: Collection[str] = ()
) -> None:
    """Print and write a paper's figure beside ours, or the verdicts on the claims of all papers.

    Parameters
    ----------
    figure
        Such as `muri 9`, or `all` (`claims.bars.figures_asked`); None for the claims.
    given
        Options of the command line: one alone has a meaning here.

    Raises
    ------
    InputError
        As `report`; and if there are other options, there is no such figure, or nothing of it was run.
    """
    if len(given) > 1:
        what, allowed = "such a page holds nothing else", "--figure NAME or --claims all, and --output DIR"
        options = ", ".join(f"--{name}" for name in sorted(given))
        raise InputError(what, where="command line", found=options, allowed=allowed)
    asked = None if figure is None else figures_asked(figure)
    comparison = _compared(find_runs(folders).runs)
    new = _made(output)
    from artist.report.papers import figures_report, papers_report  # as below

    text, files = papers_report(comparison) if asked is None else figures_report(comparison, asked)
    print(printable(text))
    _write(output, files, new)


def paper_panels(
    folders: Sequence[Path],
    output: Path,
    names: Sequence[str],
    size: str = "3.3x2.2in",
    kind: Literal["pdf", "svg", "png"] = "pdf",
    labels: Sequence[str] = (),
) -> None:
    """Write plots for a paper, one file each; letters of a PDF and an SVG stay text.

    Parameters
    ----------
    names
        Of `artist.plot.PANELS`.
    size
        Width and height, such as `3.3x2.2in` or `84x56mm`.
    kind
        pdf, svg or png.
    labels
        `name=text`: words of rows' names, and those in their places.

    Raises
    ------
    InputError
        As `report`; and if there is no such plot, no row with such a name, or the size or a label cannot be
        read.
    """
    size_in = _size(size)
    for label in labels:
        if not all(label.partition("=")):
            raise InputError("no label", where="--label", found=label, allowed="NAME=TEXT")
    runs = [read_run(folder) for folder in find_runs(folders).runs]
    from artist.report.figures.plot import PANELS, has_word, panel  # with matplotlib

    for name in names:
        if name not in PANELS:
            raise InputError("no such panel", where="--panel", found=name, allowed=", ".join(PANELS))
    rows = [group.label for group in compare(runs).groups]
    for label in labels:
        name = label.partition("=")[0]
        if not any(has_word(row, name) for row in rows):
            allowed = f"a word of {'; '.join(few(rows))}"
            raise InputError("no row with this name", where="--label", found=name, allowed=allowed)
    new, words = _made(output), dict(label.split("=", 1) for label in labels)
    _write(output, {f"{name}.{kind}": panel(name, runs, size_in, words, kind) for name in names}, new)


def _size(text: str) -> tuple[float, float]:
    """Return width and height in inches.

    >>> _size("3.3x2.2in"), _size("50.8x25.4mm")
    ((3.3, 2.2), (2.0, 1.0))
    """
    match = re.fullmatch(r"(\d+\.?\d*)x(\d+\.?\d*)(in|mm|cm)", text)
    per_in = {"in": 1.0, "mm": 25.4, "cm": 2.54}
    width, height = (float(match[i]) / per_in[match[3]] for i in (1, 2)) if match else (0.0, 0.0)
    if not (1 <= width <= 40 and 1 <= height <= 40):
        allowed = "1 to 40 inches each, as 3.3x2.2in, 84x56mm or 8.4x5.6cm"
        raise InputError("no size", where="--size", found=text, allowed=allowed)
    return width, height


def _compared(runs: Sequence[Path], choose: Sequence[str] = ()) -> Comparison:
    comparison = compare([read_run(folder) for folder in runs], choose)
    for folder, name in product(runs, (CONFIG, JOBS)):
        if not (folder / name).exists():
            raise InputError(f"a run without its {name}", where=str(folder), allowed=AGAIN)
    return comparison


def _made(output: Path) -> bool:
    """Make the folder of the report; return whether the folder that is to hold it is new."""
    new = not output.parent.exists()
    with _written(output):
        output.mkdir(parents=True, exist_ok=True)
        if not os.access(output, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return new


def _write(output: Path, files: Mapping[str, bytes], new: bool) -> None:
    with _written(output):
        for name, content in files.items():
            write_whole(output / name, content)
    print(f"written to {output}{', in a new folder' * new}", file=sys.stderr)


@contextmanager
def _written(output: Path) -> Iterator[None]:
    """Explain why the report cannot be written."""
    try:
        yield
    except OSError as error:
        allowed = "a folder that can be written to; choose one with --output"
        raise InputError(
            "cannot be written", where=str(output), found=error.strerror, allowed=allowed
        ) from error


def _failure(path: Path) -> str:
    """Return the message of a failed point."""
    if not path.exists():
        return f"it has no {SUMMARY}, so it is not a finished run"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        message = str(record["message"])
    except (OSError, ValueError, KeyError, TypeError):
        message = f"{ERROR} cannot be read"
    return message


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(message, where="command line", allowed=_USAGE)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="artist-report", description="Tables and plots of finished runs.")
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="a run folder, or a folder of runs")
    parser.add_argument(
        "--output", metavar="DIR", help="where to write; default: report/ in the first folder"
    )
    parser.add_argument("--title", metavar="TEXT", help="heading of the page")
    parser.add_argument(
        "--baseline",
        metavar="KEY=VALUE,...",
        help="rows that others are measured against, such as policy=fifo; default: the first row's policy",
    )
    parser.add_argument(
        "--choose",
        metavar="KEY,...",
        help="settings to choose as policies are, such as topology.name; default: policies alone",
    )
    parser.add_argument(
        "--claims",
        metavar="NAME",
        help="hold runs against a paper's claims: coda, dally, lyra, muri, synergy, all, or a file",
    )
    parser.add_argument(
        "--figure",
        metavar="NAME",
        help="draw the figure of a paper beside ours: 'muri 9', 'muri table 4', muri, or all that were run",
    )
    parser.add_argument(
        "--panel", metavar="NAME,...", help="plots for a paper: cdf, queueing, queue, unfinished, gpus, means"
    )
    parser.add_argument("--size", metavar="WxH", default="3.3x2.2in", help="of a panel; default: 3.3x2.2in")
    parser.add_argument(
        "--format", choices=("pdf", "svg", "png"), default="pdf", help="of a panel; default: pdf"
    )
    parser.add_argument(
        "--label", metavar="NAME=TEXT", action="append", default=[], help="a name of your own in a panel"
    )
    parser.add_argument("--wide", action="store_true", help="all columns, however narrow the terminal")
    parser.add_argument("--version", action="version", version=f"artist-sim {program_version()}")
    parser.add_argument(
        "--trace",
        action="store_true",
        help="also write timeline.json, who ran where and when, for ui.perfetto.dev or chrome://tracing",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
