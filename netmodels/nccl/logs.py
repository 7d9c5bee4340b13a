"""Measured runs from logs of nccl-tests and rccl-tests, as these programs print them or write them to a file.

The collective of a log is that of its line `# Collective test starting`, a command line in it, the file's
name, or its columns and the ratio of its bandwidths; machines and GPUs are those of its lines `# Rank`. The
user must set facts that a log does not state. Nothing is dropped silently: all that is not a run of one of
the five collectives on equal machines is listed in `Logs.notes`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import get_args

from netmodels.inputs.errors import InputError
from netmodels.inputs.files import read_text
from netmodels.inputs.naming import allowed_names
from netmodels.nccl.log_lines import plain
from netmodels.nccl.log_tests import Row, Test, tests_of
from netmodels.nccl.model import NcclCollective
from netmodels.nccl.reports import is_report, tests_of_report
from netmodels.nccl.runs import MeasuredRun, bus_factor

COLLECTIVES: dict[str, NcclCollective] = {plain(name): name for name in get_args(NcclCollective)}
COLLECTIVES["sendrecv"] = "send_receive"
"""Collectives by the letters of their names, including those of the programs."""


@dataclass(frozen=True, slots=True)
class LogFacts:
    """Facts about logs that do not state them.

    Parameters
    ----------
    collective
        The collective that was run.
    machines, gpus_per_machine
        Machines of the run, and GPUs on each.

    Raises
    ------
    InputError
        If there is no such collective, or only one of the numbers is set.
    """

    collective: NcclCollective | None = None
    machines: int | None = None
    gpus_per_machine: int | None = None

    def __post_init__(self) -> None:
        if self.collective is not None and self.collective not in get_args(NcclCollective):
            allowed = allowed_names(self.collective, get_args(NcclCollective))
            raise InputError("unknown collective", where="collective", found=self.collective, allowed=allowed)
        if (self.machines is None) != (self.gpus_per_machine is None):
            lacking = "machines" if self.machines is None else "gpus_per_machine"
            raise InputError("field missing", where=lacking, allowed="machines and gpus_per_machine together")


@dataclass(frozen=True, slots=True)
class Logs:
    """Content of logs.

    Parameters
    ----------
    runs
        Runs in the order of the files, and of their lines.
    notes
        Omitted parts with the reason; one line each.
    doubts
        Evidence against runs that were kept.
    gpus
        Names of the GPUs with the first file that has each, if logs state them.
    libraries
        Versions of NCCL likewise.
    """

    runs: tuple[MeasuredRun, ...] = ()
    notes: tuple[str, ...] = ()
    gpus: dict[str, str] = field(default_factory=dict)
    libraries: dict[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    @classmethod
    def joined(cls, parts: Sequence["Logs"]) -> "Logs":
        """Return several as one; runs of the same name are numbered."""
        runs, notes, doubts = (
            tuple(chain.from_iterable(getattr(part, name) for part in parts))
            for name in ("runs", "notes", "doubts")
        )
        gpus, libraries = (
            {name: path for part in reversed(parts) for name, path in getattr(part, column).items()}
            for column in ("gpus", "libraries")
        )
        return cls(_named(runs), notes, gpus, libraries, doubts)


def read_log(path: Path, facts: LogFacts | None = None) -> Logs:
    """Read a log.

    Parameters
    ----------
    path
        The file, plain or gzipped.
    facts
        Facts that it does not state.

    Raises
    ------
    InputError
        If it cannot be read or understood, with file, line, the value found and the allowed values.
    """
    text = text_of(path)
    reports = tests_of_report(text, str(path)) if is_report(text) else []
    tests = reports or tests_of(text.splitlines(), str(path))
    if not any(test.rows for test in tests):
        raise _no_table(path)
    return Logs.joined([_logs_of(test, path, facts or LogFacts()) for test in tests])


def _logs_of(test: Test, path: Path, facts: LogFacts) -> Logs:
    runs, notes = _runs_of(test, path, facts)
    gpus = {rank.gpu: str(path) for rank in test.ranks.values() if rank.gpu}
    libraries = {test.library: str(path)} if test.library else {}
    return Logs(
        tuple(runs), (*test.notes, *notes), gpus, libraries, tuple(_doubts(test, facts)) if runs else ()
    )


def _runs_of(test: Test, path: Path, facts: LogFacts) -> tuple[list[MeasuredRun], list[str]]:
    """Return the runs of a test, one for each type, operation and cycle, and notes on omitted parts."""
    unfit = _unfit(test)
    if unfit:
        return [], [f"{test.where}: {unfit}"]
    if test.program and plain(test.program) not in COLLECTIVES:
        return [], [f"{test.where}: {test.program}, not one of {', '.join(get_args(NcclCollective))}"]
    roots = {row.variant[2] for row in test.rows} - {"", "-1"}
    if roots:
        return [], [f"{test.where}: root {min(roots)}, as of a broadcast or reduce; neither is supported"]
    collective = _collective(test, path, facts)
    machines, gpus = _place(test, facts)
    _check_factor(test, collective, machines * gpus)
    if machines * gpus == 1:
        return [], [f"{test.where}: one GPU alone communicates with none"]
    notes = []
    empty = sum(row.size_bytes == 0 for row in test.rows)
    if empty:
        notes.append(f"{test.where}: {empty} rows of 0 bytes")
    runs = [
        MeasuredRun(
            f"{path.name}:{test.line}",
            *(collective, machines, gpus),
            tuple(sorted((row.size_bytes, row.time_us) for row in rows)),
            source=f"{path.name}, {test.unit} {rows[0].line}",
            settings=_settings(test, rows[0]),
        )
        for rows in _series(test)
    ]
    return runs, notes


def _doubts(test: Test, facts: LogFacts) -> Iterable[str]:
    """Yield evidence against the runs of a test."""
    wrong = [row.line for row in test.rows if row.wrong]
    if wrong:
        first = f"{test.unit} {wrong[0]}"
        yield f"{test.where}: wrong results in {len(wrong)} rows, from {first} on; their times count"
    place = _place(test, facts)
    if facts.machines and place != (facts.machines, facts.gpus_per_machine):
        yield (
            f"{test.where}: its lines `# Rank` have {place[0]} x {place[1]} GPUs, which counts; "
            "machines and gpus_per_machine are for logs without them"
        )


def _unfit(test: Test) -> str:
    """Return the reason why a test has no times of one communicator; empty if it has."""
    if not test.rows:
        return "no row was printed"
    if test.columns is not None and "cputime" in test.columns:
        return "CPU times (-C 1), not those of the collective"
    if len({group for group, _ in test.ranks}) > 1:
        return "several communicators at once (NCCL_TESTS_SPLIT) share the links"
    hosts = set(_gpus_by_machine(test))
    if len(hosts) > 1:
        return f"machines with {' and '.join(map(str, sorted(hosts)))} GPUs; the fit needs equal machines"
    return ""


def _series(test: Test) -> list[list[Row]]:
    """Return the rows by type, operation and root, and by cycle if sizes repeat."""
    series: dict[tuple[object, ...], list[Row]] = {}
    seen: Counter[tuple[object, ...]] = Counter()
    for row in test.rows:
        if row.size_bytes:
            size = row.variant, row.size_bytes
            series.setdefault((row.variant, seen[size]), []).append(row)
            seen[size] += 1
    return list(series.values())


def _settings(test: Test, row: Row) -> str:
    words = [
        f"NCCL {test.library}" if test.library else "",
        *row.variant[:2],
        "in place" if test.in_place else "",
    ]
    return ", ".join(word for word in words if word and word != "none")


def _named(runs: Iterable[MeasuredRun]) -> tuple[MeasuredRun, ...]:
    """Return the runs, each with a unique name."""
    seen: Counter[str] = Counter()
    named = []
    for run in runs:
        seen[run.name] += 1
        copy = f".{seen[run.name]}" if seen[run.name] > 1 else ""
        named.append(replace(run, name=run.name + copy))
    return tuple(named)


# --- the collective


def _collective(test: Test, path: Path, facts: LogFacts) -> NcclCollective:
    named = COLLECTIVES.get(plain(test.program)) or _in_name(path) or facts.collective
    if named:
        return named
    possible = _possible(test, _count(test, facts))
    if len(possible) == 1:
        return possible[0]
    raise InputError(
        "the log does not name its collective",
        where=test.where,
        found=f"redop {test.rows[0].variant[1] or 'missing'}, busbw / algbw {_ratio(test.rows)[0]:.4g}",
        allowed=f"collective={', '.join(possible or get_args(NcclCollective))}; or that in the file's name",
    )


def _in_name(path: Path) -> NcclCollective | None:
    """Return the collective in a file's name."""
    name = plain(path.name)
    named = {collective for letters, collective in COLLECTIVES.items() if letters in name}
    return min(named) if len(named) == 1 else None


def _possible(test: Test, gpus: int | None) -> list[NcclCollective]:
    """Return the collectives that the columns and the ratio of the bandwidths allow."""
    names: list[NcclCollective] = ["all_to_all", "send_receive"]
    if all(row.checked_in_place for row in test.rows):  # else they are not done in place
        reduces = test.rows[0].variant[1] not in ("", "none")
        names = ["all_reduce", "reduce_scatter", "send_receive"] if reduces else ["all_gather", *names]
    ratio, slack = _ratio(test.rows)
    counts = [gpus] if gpus else range(2, 4097)
    return [name for name in names if any(abs(bus_factor(name, n) - ratio) <= slack for n in counts)]


def _ratio(rows: Sequence[Row]) -> tuple[float, float]:
    """Return busbw / algbw of the fastest row, and its possible error by rounding."""
    row = max(rows, key=lambda row: row.algbw_gb_s)
    if row.algbw_gb_s < 0.1:  # two decimals are not enough
        return 1.0, 1.0
    return row.busbw_gb_s / row.algbw_gb_s, 0.02 / row.algbw_gb_s + 1e-3


def _check_factor(test: Test, collective: NcclCollective, gpus: int) -> None:
    """Raise InputError if the bandwidths are those of another collective or number of GPUs."""
    ratio, slack = _ratio(test.rows)
    expected = bus_factor(collective, gpus)
    if gpus > 1 and abs(ratio - expected) > slack:
        raise InputError(
            f"not the bandwidths of {collective} on {gpus} GPUs",
            where=test.where,
            found=f"busbw / algbw {ratio:.4g}",
            allowed=f"{expected:.4g}; another collective or number of GPUs has another ratio",
        )


# --- the machines


def _place(test: Test, facts: LogFacts) -> tuple[int, int]:
    """Return machines and GPUs per machine: those of the log, else those that the user set."""
    if test.ranks:
        machines = _gpus_by_machine(test)
        return len(machines), machines[0]
    if facts.machines and facts.gpus_per_machine:
        return facts.machines, facts.gpus_per_machine
    if test.stated:
        return test.stated
    ratio, _ = _ratio(test.rows)
    raise InputError(
        "the log does not name its machines",
        where=test.where,
        found=f"no line `# Rank 0 ... on HOST device 0`, busbw / algbw {ratio:.4g}",
        allowed="the whole log, or machines=N gpus_per_machine=M",
    )


def _count(test: Test, facts: LogFacts) -> int | None:
    """Return the number of GPUs of a test, if known."""
    if test.ranks:
        return len(test.ranks)
    if facts.machines and facts.gpus_per_machine:
        return facts.machines * facts.gpus_per_machine
    return test.stated[0] * test.stated[1] if test.stated else None


def _gpus_by_machine(test: Test) -> list[int]:
    """Return the GPUs of each machine; a GPU listed twice by a host means two machines of one name."""
    hosts: dict[str, Counter[tuple[int, str]]] = {}
    for rank in test.ranks.values():
        hosts.setdefault(rank.host, Counter())[rank.device] += 1
    machines = []
    for devices in hosts.values():
        copies = max(devices.values())
        machines += [sum(count > copy for count in devices.values()) for copy in range(copies)]
    return machines


# --- files


def text_of(path: Path) -> str:
    """Return the text of a file; bytes that are not UTF-8 are in no table."""
    return read_text(path, "nccl-tests log", lenient=True)


def _no_table(path: Path) -> InputError:
    text = text_of(path)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    problem = "no row of nccl-tests or rccl-tests" if first else "an empty file"
    allowed = "a log as printed, with rows `size count type redop root time algbw busbw #wrong ...`"
    if is_report(text):
        allowed = "a whole JSON file of nccl-tests (-J), a JSON or CSV file of rccl-tests (-x)"
    return InputError(problem, where=str(path), found=first, allowed=allowed)
