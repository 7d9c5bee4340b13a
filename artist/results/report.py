"""The command `artist-report`: tables and plots of runs that were made before."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from artist.errors import InputError
from artist.results.compare import CODE, Comparison, Replicates, compare
from artist.results.folder import SUMMARY, Run, read_run
from artist.results.tables import comparison_csv, comparison_grid

ERROR = "error.json"
SUCCESS, BAD_INPUT = 0, 2

_CDF_CAPTION = (
    "Fraction of all submitted jobs that completed within the time; a line that ends below 1 "
    "belongs to a run with unfinished jobs. Replicates are pooled."
)
_BUSY_CAPTION = (
    "Long runs are averaged over short spans of time; the light band shows the least and the greatest "
    "number. Of replicates, the one with the lowest seed is shown."
)
_PAGE_KEYS = 4  # columns of as many keys, beside those of the numbers, fit a page of 1200 px
_NOTES = (
    "Completion (JCT) and queueing times are over finished jobs.",
    "GPUs used: time that GPUs compute, over all GPUs and the whole makespan; a tail of a few long jobs "
    "therefore lowers it.",
    "Comm. overhead: exposed communication over compute, the unweighted mean over jobs that ran; a short "
    "job counts as much as a long one.",
)
_REPLICATES = (
    "Where a row has several runs, they are equal but for the seed: mean, and after \u00b1 half the width of "
    "its 95 % confidence interval (Student's t). From 2 or 3 runs that interval is wide."
)
_LETTERS = "Letters stand for the rows in the figures."
_CODE = (
    "Rows that differ in code alone: the program, a user's modules or an input file has changed between them."
)


@dataclass(frozen=True, slots=True)
class Found:
    """What lies under the given folders: finished runs, and points of sweeps that failed."""

    runs: tuple[Path, ...]
    failed: tuple[Path, ...]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 for bad input.

    Parameters
    ----------
    argv
        Arguments without the program's name; those of the process if None.
    """
    try:
        arguments = _parser().parse_args(argv)
        folders = [Path(folder) for folder in arguments.folders]
        report(folders, Path(arguments.output) if arguments.output else folders[0] / "report")
    except InputError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    return SUCCESS


def report(folders: Sequence[Path], output: Path) -> None:
    """Print the comparison of all finished runs under the folders, and write the report's files.

    Raises
    ------
    InputError
        If a folder does not exist, no finished run is found, a file of a run is damaged, or the output
        cannot be written.
    """
    found = find_runs(folders)
    comparison = compare([read_run(folder) for folder in found.runs])
    failures = [f"{folder}: {_failure(folder / ERROR)}" for folder in found.failed]
    print(comparison_grid(comparison, letters=True).text())
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    for run in comparison.older:
        print(f"left out, older run of the same configuration: {run.folder}", file=sys.stderr)
    if CODE in comparison.keys:
        print(_CODE, file=sys.stderr)
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, content in _files(comparison, failures, output).items():
            (output / name).write_bytes(content)
    except OSError as error:
        allowed = "a folder that can be written to; choose one with --output"
        raise InputError("cannot be written", where=str(output), found=str(error), allowed=allowed) from error
    print(f"written to {output}", file=sys.stderr)


def find_runs(folders: Sequence[Path]) -> Found:
    """Return the run folders at or under the folders, each once, in order of path.

    Hidden folders are passed over: runs that are still being written lie in them.
    """
    finished: dict[Path, Path] = {}
    failed: dict[Path, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise InputError("no such folder", where=str(folder), allowed="a run folder, or a folder of runs")
        for at, below, files in os.walk(folder):
            path = Path(at)
            if SUMMARY in files:
                finished.setdefault(path.resolve(), path)
            elif ERROR in files:
                failed.setdefault(path.resolve(), path)
            run_here = SUMMARY in files or ERROR in files
            below[:] = [] if run_here else sorted(name for name in below if not name.startswith("."))
    if not finished:
        what = f"no finished run, {len(failed)} failed" if failed else "no finished run"
        allowed = f"a folder with a {SUMMARY} in it or below it; run artist first"
        raise InputError(what, where=", ".join(map(str, folders)), allowed=allowed)
    return Found(tuple(finished.values()), tuple(failed.values()))


def _files(comparison: Comparison, failures: Sequence[str], output: Path) -> dict[str, bytes]:
    from artist.results.page import report_page
    from artist.results.plots import MOST_GROUPS, busy_gpus, jct_cdf, rendered

    groups = comparison.groups[:MOST_GROUPS]
    left_out = len(comparison.groups) - len(groups)
    note = f" The last {left_out} of {len(comparison.groups)} rows are not drawn." if left_out else ""
    if note:
        print(note.strip(), "Give fewer folders to see them.", file=sys.stderr)
    cdf, busy = jct_cdf(groups), busy_gpus(groups)
    cdf_svg, busy_svg = rendered(cdf, "svg"), rendered(busy, "svg")
    figures = (
        ("Job completion times", _CDF_CAPTION + note, cdf_svg),
        ("Busy GPUs", _BUSY_CAPTION + note, busy_svg),
    )
    lists = (
        ("Failed", [(failure, "") for failure in failures]),
        ("Left out: older runs of the same configuration", [_older(run, output) for run in comparison.older]),
        ("Runs", [_entry(group, run, output) for group in comparison.groups for run in group.runs]),
    )
    grid = comparison_grid(comparison, letters=True, most_keys=_PAGE_KEYS)
    return {
        "report.html": report_page(grid, figures, _notes(comparison), lists).encode(),
        "table.csv": comparison_csv(comparison).encode(),
        "jct_cdf.svg": cdf_svg,
        "jct_cdf.png": rendered(cdf, "png"),
        "busy_gpus.svg": busy_svg,
        "busy_gpus.png": rendered(busy, "png"),
    }


def _notes(comparison: Comparison) -> list[str]:
    groups = comparison.groups
    wanted = (
        (_LETTERS, any(group.letter for group in groups)),
        (_CODE, CODE in comparison.keys),
        (_REPLICATES, any(len(group.runs) > 1 for group in groups)),
    )
    return [note for note, holds in wanted if holds] + list(_NOTES)


def _entry(group: Replicates, run: Run, output: Path) -> tuple[str, str]:
    name = f"{group.letter}: {group.label}" if group.letter else group.label
    return f"{name}, seed {run.summary['seed']}:", _relative(run.folder, output)


def _older(run: Run, output: Path) -> tuple[str, str]:
    return f"{run.summary['policy']}, seed {run.summary['seed']}:", _relative(run.folder, output)


def _relative(folder: Path, output: Path) -> str:
    """Return the way from the page to a run, so that both can be moved together."""
    return Path(os.path.relpath(folder.resolve(), output.resolve())).as_posix()


def _failure(path: Path) -> str:
    """Return the message of a failed point, in one line."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        message = str(record["message"])
    except (OSError, ValueError, KeyError, TypeError):
        message = f"{ERROR} cannot be read"
    return " ".join(message.split())


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(message, where="command line", allowed="FOLDER ... [--output DIR]; see --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="artist-report", description="Tables and plots of finished runs.")
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="a run folder, or a folder of runs")
    parser.add_argument(
        "--output", metavar="DIR", help="where to write; default: report/ in the first folder"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
