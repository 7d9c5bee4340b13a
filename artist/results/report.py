"""The command `artist-report`: tables and plots of runs that were made before."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from artist.errors import InputError
from artist.recording.names import SUMMARY
from artist.results.claims.schema import read_claims
from artist.results.claims.table import Judged, claim_notes, claims_csv, claims_grid, claims_table, judge
from artist.results.compare import CODE, Comparison, Replicates, compare
from artist.results.folder import Run, read_run
from artist.results.names import short_key, spoken
from artist.results.scenarios import Contest, contest
from artist.results.tables import comparison_csv, comparison_grid

if TYPE_CHECKING:
    from artist.results.digest import Digest
    from artist.results.page import Section

ERROR, CLAIMS = "error.json", "claims.csv"
SUCCESS, BAD_INPUT = 0, 2

_TIMES = "Completion (JCT) and queueing times are over finished jobs. p95: 95 % of the jobs need no longer."
_USED = (
    "GPUs used: time that GPUs compute, over all GPUs and the whole makespan; a tail of a few long jobs "
    "therefore lowers it."
)
_OVERHEAD = (
    "Comm. overhead: exposed communication over compute, the unweighted mean over jobs that ran; a short "
    "job counts as much as a long one."
)
_MORE = (
    "Mean > p95: the mean of the jobs that need longer than 95 % of all. GPUs held: the part of GPU time "
    "that jobs hold, computing or not."
)
_IN_USE = (
    "In use: the part of all GPUs' time in which a job on them uses storage, CPU, GPU, network. Blocking "
    "index: the mean, over time and the jobs that wait, of time waited / time that the rest takes alone."
)
_SORTING = (
    "A click on a heading sorts{diff}. The address of the page keeps sorting and filter: a link to it, or a "
    "bookmark, shows the same view."
)
_REPLICATES = (
    "Where a row has several runs, they are equal but for the seed: mean, and after \u00b1 half the width of "
    "its 95 % bootstrap interval (both ends: table.csv). From 2 or 3 runs that interval says little."
)
_LETTERS = "Letters stand for the rows in the figures."
_CODE = (
    "Rows that differ in code alone: the program, a user's modules or an input file has changed between them."
)
_MEMBER_REPLICATES = "Replicates are pooled; jobs and GPU-hours are means over them."
_MOST_VALUES, _MOST_CHARS = 8, 90
_MEMBERS = (
    "The {count} with most GPU time over all rows, in every row. JCT and queue are over their finished jobs."
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
        output = Path(arguments.output) if arguments.output else folders[0] / "report"
        report(folders, output, baseline=arguments.baseline, trace=arguments.trace, claims=arguments.claims)
    except InputError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    return SUCCESS


def report(
    folders: Sequence[Path],
    output: Path,
    *,
    baseline: str | None = None,
    trace: bool = False,
    claims: str | None = None,
) -> None:
    """Print the comparison of all finished runs under the folders, and write the report's files.

    Parameters
    ----------
    baseline
        `key=value,...`: what rows are measured against; see `scenarios.contest`.
    trace
        Whether to write who ran where for a trace viewer too.
    claims
        The claims of a paper that the runs are held against: a name or a file (`claims.schema.read_claims`).

    Raises
    ------
    InputError
        If a folder does not exist, no finished run is found, a file of a run is damaged, no row is like the
        baseline, the claims are no good, or the output cannot be written.
    """
    claimed = None if claims is None else read_claims(claims)
    found = find_runs(folders)
    comparison = compare([read_run(folder) for folder in found.runs])
    competing = contest(comparison, baseline)
    failures = [f"{folder}: {_failure(folder / ERROR)}" for folder in found.failed]
    print(comparison_grid(comparison, letters=True).text())
    judged = (
        None
        if claimed is None
        else judge(claimed, [run for group in comparison.groups for run in group.runs])
    )
    if judged is not None:
        print(claims_grid(judged).text())
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    for run in comparison.older:
        print(f"left out, older run of the same configuration: {run.folder}", file=sys.stderr)
    if CODE in comparison.keys:
        print(_CODE, file=sys.stderr)
    try:
        output.mkdir(parents=True, exist_ok=True)
        traces = _traces(comparison) if trace else {}
        files = _files(comparison, competing, judged, failures, output, list(traces))
        if judged is None:
            (output / CLAIMS).unlink(missing_ok=True)  # of an earlier report
        for name, content in (files | traces).items():
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


def _files(
    comparison: Comparison,
    competing: Contest,
    judged: Judged | None,
    failures: Sequence[str],
    output: Path,
    traces: Sequence[str],
) -> dict[str, bytes]:
    from artist.results.digest import GAUGES, digest
    from artist.results.facets import most_drawn
    from artist.results.figures import all_drawn, drawings
    from artist.results.findings import findings
    from artist.results.jobcolumns import PARTS
    from artist.results.page import report_page
    from artist.results.setting import setting

    groups = comparison.groups[: most_drawn(competing)]
    left_out = len(comparison.groups) - len(groups)
    note = f" The last {left_out} of {len(comparison.groups)} rows are not drawn." if left_out else ""
    if note:
        print(note.strip(), "Give fewer folders to see them.", file=sys.stderr)
    digests = [digest(group) for group in groups]
    files: dict[str, bytes] = {"table.csv": comparison_csv(comparison).encode()}
    if judged is not None:
        files[CLAIMS] = claims_csv(judged).encode()
    figures = []
    for figure, images in all_drawn(drawings(digests, comparison, competing), note, len(groups)):
        figures.append(figure)
        files |= images
    pairs = zip(traces, comparison.groups, strict=False)
    lists = (
        ("Failed", [(failure, "") for failure in failures]),
        ("Left out: older runs of the same configuration", [_older(run, output) for run in comparison.older]),
        ("Traces, to open in ui.perfetto.dev", [(f"{_name(group)}:", name) for name, group in pairs]),
        ("Runs", [_entry(group, run, output) for group in comparison.groups for run in group.runs]),
    )
    capacity = GAUGES.index("capacity_gpus")
    page = report_page(
        _lead(comparison),
        setting(
            comparison,
            [float(each.gauges[capacity].mean[0]) for each in digests],
            delayed=any(each.parts_s[PARTS.index("restarts and moves")] > 0 for each in digests),
        ),
        findings(comparison, competing, digests),
        [*_claims_section(judged), _table_section(comparison, competing)],
        figures,
        _member_sections(comparison, digests),
        lists,
        _made_by(comparison),
    )
    return {"report.html": page.encode()} | files


def _table_section(comparison: Comparison, competing: Contest) -> "Section":
    from artist.results.datatable import comparison_table
    from artist.results.page import Section

    table = comparison_table(comparison, competing)
    return Section("comparison", "Comparison", table, tuple(_notes(comparison, competing)), (_MORE,))


def _claims_section(judged: Judged | None) -> "list[Section]":
    from artist.results.page import Section

    if judged is None:
        return []
    return [Section("claims", f"Claims of {judged.file.paper}", claims_table(judged), claim_notes(judged))]


def _member_sections(comparison: Comparison, digests: "Sequence[Digest]") -> "list[Section]":
    from artist.results.datatable import TOP_MEMBERS, members_table
    from artist.results.page import Section

    sections = []
    for name, title, word in (("vcs", "Virtual clusters", "VC"), ("users", "Users", "user")):
        table = members_table(name, word, digests)
        if table:
            count = min(TOP_MEMBERS, len({row[0].text for row in table.rows}))
            notes = [_MEMBERS.format(count=count)]
            notes += [_MEMBER_REPLICATES] * any(len(group.runs) > 1 for group in comparison.groups)
            sections.append(Section(name, title, table, tuple(notes)))
    return sections


def _traces(comparison: Comparison) -> dict[str, bytes]:
    """Return a trace of each row's first run: timeline.json, or numbered files where rows are several."""
    from artist.results.trace import trace_text

    several = len(comparison.groups) > 1
    traces = {}
    for number, group in enumerate(comparison.groups, start=1):
        name = f"timeline-{number:02}.json" if several else "timeline.json"
        text, left_out = trace_text(group.runs[0])
        traces[name] = text.encode()
        if left_out:
            print(f"{name} ends early: {left_out} later stays of jobs are left out", file=sys.stderr)
    return traces


def _lead(comparison: Comparison) -> str:
    runs = sum(len(group.runs) for group in comparison.groups)
    text = f"{runs} run{'s' * (runs > 1)}"
    varied = []
    for key, column in zip(
        comparison.keys, zip(*(g.shown for g in comparison.groups), strict=True), strict=True
    ):
        values = list(dict.fromkeys(value or "none" for value in column))
        shown = values if len(values) <= _MOST_VALUES else [*values[:_MOST_VALUES], "..."]
        if sum(map(len, shown)) > _MOST_CHARS:
            shown = [f"({len(values)} values)"]
        if len(values) > 1 or len(comparison.keys) == 1:
            words = spoken(key, shown)
            varied.append(words if "=" not in words else f"{short_key(key)} {', '.join(shown)}")
    jobs = sorted({int(run.summary["jobs"]) for group in comparison.groups for run in group.runs})
    of = f"{jobs[0]}" if len(jobs) == 1 else f"{jobs[0]} to {jobs[-1]}"
    return f"{text} of {of} jobs: {'; '.join(varied)}."


def _made_by(comparison: Comparison) -> str:
    runs = [run.summary.get("run", {}) for group in comparison.groups for run in group.runs]
    versions = sorted({str(run["version"]) for run in runs if run.get("version")})
    return (
        f"artist-sim {', '.join(versions[:3])}. This page needs no network and may be moved with its folder."
    )


def _notes(comparison: Comparison, competing: Contest) -> list[str]:
    groups = comparison.groups
    overheads = [run.summary["comm_overhead"]["mean"] for group in groups for run in group.runs]
    several = len(groups) > 1
    wanted = (
        (_LETTERS, any(group.letter for group in groups)),
        (_baseline_note(comparison, competing), several),
        (_CODE, CODE in comparison.keys),
        (_REPLICATES, any(len(group.runs) > 1 for group in groups)),
        (_SORTING.format(diff=", one on diff. by the difference"), several),
        (_TIMES, True),
        (_USED, True),
        (_OVERHEAD, any(overheads)),
        (_IN_USE, any("resources" in run.summary for group in groups for run in group.runs)),
    )
    return [note for note, holds in wanted if holds]


def _baseline_note(comparison: Comparison, competing: Contest) -> str:
    rows = list(dict.fromkeys(competing.baseline))
    if len(rows) == 1:
        against = f"to {_name(comparison.groups[rows[0]])}"
    else:
        names = list(dict.fromkeys(competing.contenders[row] for row in rows))
        against = f"to {', '.join(names)} in the same scenario (rows that differ in nothing but the policy)"
    return (
        f"In blue: difference {against}, relative even for percentages; = where it is less than 1 s or 0.1 "
        "percentage points. The option --baseline of artist-report chooses another. Marked: the lowest of "
        "its scenario and what is level with it (within 1 %, or 1 s, or 0.1 percentage points), unless all "
        "are."
    )


def _name(group: Replicates) -> str:
    return f"{group.letter}: {group.label}" if group.letter else group.label


def _entry(group: Replicates, run: Run, output: Path) -> tuple[str, str]:
    return f"{_name(group)}, seed {run.summary['seed']}:", f"{_relative(run.folder, output)}/"


def _older(run: Run, output: Path) -> tuple[str, str]:
    return f"{run.summary['policy']}, seed {run.summary['seed']}:", f"{_relative(run.folder, output)}/"


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


_USAGE = "FOLDER ... [--baseline KEY=VALUE,...] [--claims NAME] [--output DIR] [--trace]; see --help"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(message, where="command line", allowed=_USAGE)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="artist-report", description="Tables and plots of finished runs.")
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="a run folder, or a folder of runs")
    parser.add_argument(
        "--output", metavar="DIR", help="where to write; default: report/ in the first folder"
    )
    parser.add_argument(
        "--baseline",
        metavar="KEY=VALUE,...",
        help="rows that others are measured against, such as policy=fifo; default: the first row's policy",
    )
    parser.add_argument(
        "--claims",
        metavar="NAME",
        help="hold the runs against the claims of a paper: dally, or a file like that of dally",
    )
    parser.add_argument(
        "--trace",
        action="store_true",
        help="also write timeline.json, who ran where and when, for ui.perfetto.dev or chrome://tracing",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
