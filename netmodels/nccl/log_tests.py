"""The tests in a log of nccl-tests or rccl-tests: ranks, columns and rows of each."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite

from netmodels.inputs.errors import InputError
from netmodels.nccl.log_lines import Line, Rank, library_of, line_of, program_of

BLOCK = ("time", "algbw", "busbw", "#wrong")
MAX_GB_S = 50_000.0  # a GPU's own memory is slower
MAX_US = 1e10
_PAIR = 2  # of times, out of place and in place


@dataclass(frozen=True, slots=True)
class Row:
    """One size of a test.

    Parameters
    ----------
    line
        Its number in the file.
    size_bytes
        As printed.
    variant
        (type, redop, root) as printed; empty where a test has no such column.
    time_us
        Of one collective, out of place where the test has that.
    algbw_gb_s, busbw_gb_s
        As printed, to two decimals.
    wrong, checked_in_place
        True if results were wrong; if in-place results were checked (not `N/A`).
    """

    line: int
    size_bytes: int
    variant: tuple[str, str, str]
    time_us: float
    algbw_gb_s: float
    busbw_gb_s: float
    wrong: bool
    checked_in_place: bool


@dataclass
class Test:
    """One call of a program of nccl-tests, while it is read.

    Parameters
    ----------
    path
        The file, for messages.
    line
        Its first line.
    unit
        Name of the numbered parts of the file, for messages.
    stated
        Machines and GPUs per machine, in files that state them without their ranks.
    """

    path: str
    line: int
    unit: str = "line"
    stated: tuple[int, int] | None = None
    __test__ = False  # nothing for pytest
    begun: bool = False
    started: bool = False
    program: str = ""
    library: str = ""
    ranks: dict[tuple[int, int], Rank] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    rows: list[Row] = field(default_factory=list)
    pending: tuple[int, tuple[str, ...]] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.path}, {self.unit} {self.line}"

    @property
    def in_place(self) -> bool:
        """True if it was measured in place only."""
        return self.columns is not None and sum(name in ("time", "cputime") for name in self.columns) < _PAIR

    def add_rank(self, rank: Rank, line: int) -> None:
        """Read a line that names a GPU.

        Raises
        ------
        InputError
            If another process has printed the same rank.
        """
        place = rank.group, rank.number
        if place in self.ranks:
            raise InputError(
                "two programs print into one log",
                where=f"{self.path}, {self.unit} {line}",
                found=f"Rank {rank.number} twice, on {self.ranks[place].host} and {rank.host}",
                allowed="one program over all processes (nccl-tests built with MPI=1), or one log each",
            )
        self.ranks[place] = rank

    def add_words(self, words: tuple[str, ...], line: int, *, begin: bool) -> None:
        """Read a row, the beginning of one, or more of its values.

        Raises
        ------
        InputError
            If a row has other values than columns.
        """
        if begin:
            self.check_whole()
        elif self.pending is None:
            return  # numbers of something else
        else:
            line, words = self.pending[0], (*self.pending[1], *words)
        wanted = self._wanted(words)
        if len(words) < wanted:
            self.pending = line, words
        elif len(words) > wanted:
            raise self._bad(line, f"{len(words)} values in a row", " ".join(words), f"{wanted} values")
        else:
            self.pending = None
            self.rows.append(self._row(words, line))

    def check_whole(self) -> None:
        """Raise InputError for a row that ends before its last column.

        Raises
        ------
        InputError
            If there is one.
        """
        if self.pending is not None:
            line, words = self.pending
            wanted = self._wanted(words)
            raise self._bad(line, "a row that is cut short", " ".join(words), f"{wanted} values")

    def _wanted(self, words: tuple[str, ...]) -> int:
        """Return the number of words of a row, by column names, or by its first words if there are none."""
        if self.columns is not None:
            return 3 + len(self.columns) + ("timestamp" in self.columns)
        named = len(words) > 3 and not words[3][:1].isdigit()  # a redop
        rooted = named and len(words) > 4 and words[4].lstrip("-").isdigit()
        return 3 + named + rooted + 2 * len(BLOCK)

    def _row(self, words: tuple[str, ...], line: int) -> Row:
        if not (words[0].isascii() and words[0].isdigit()):
            raise self._bad(line, "not a size", words[0], "a whole number of bytes")
        columns = self.columns or _columns_like(words)
        cells = dict(zip(reversed(columns), reversed(words[3 : 3 + len(columns)]), strict=True))
        checks = [word for name, word in zip(columns, words[3:], strict=False) if name in ("#wrong", "error")]
        time_us, algbw, busbw = (
            self._number(cells, name, line) for name in (_time_of(columns), "algbw", "busbw")
        )
        row = Row(
            line,
            int(words[0]),
            (words[2], cells.get("redop", ""), cells.get("root", "")),
            time_us,
            algbw,
            busbw,
            wrong="#wrong" in columns and cells["#wrong"] not in ("0", "N/A"),
            checked_in_place=len(checks) < _PAIR or checks[0] == "N/A" or checks[1] != "N/A",
        )
        self._check(row)
        return row

    def _number(self, cells: dict[str, str], name: str, line: int) -> float:
        try:
            value = float(cells[name])
        except ValueError:
            value = float("nan")
        if not isfinite(value) or value < 0:
            raise self._bad(line, f"not a number in column {name}", cells[name], "a number, 0 or more")
        return value

    def _check(self, row: Row) -> None:
        """Raise InputError for a row whose time, size and bandwidth contradict each other."""
        if row.size_bytes == 0:
            return
        if not 0 < row.time_us <= MAX_US:
            raise self._bad(
                row.line, "no time of a collective", row.time_us, f"us, more than 0, up to {MAX_US:g}"
            )
        expected = row.size_bytes / row.time_us / 1e3
        if abs(expected - row.algbw_gb_s) > 0.02 + 0.06 * expected:
            problem = "size, time and algbw do not fit together"
            values = f"{row.size_bytes} bytes, {row.time_us} us, {row.algbw_gb_s} GB/s"
            raise self._bad(
                row.line, problem, values, f"about {expected:.2f} GB/s: bytes, us and 10^9 byte/s"
            )
        if max(row.algbw_gb_s, row.busbw_gb_s) > MAX_GB_S:
            raise self._bad(row.line, "no bandwidth of GPUs", row.busbw_gb_s, f"GB/s up to {MAX_GB_S:g}")

    def _bad(self, line: int, problem: str, value: object, allowed: str) -> InputError:
        return InputError(problem, where=f"{self.path}, {self.unit} {line}", found=value, allowed=allowed)


def tests_of(lines: Iterable[str], path: str) -> list[Test]:
    """Return the tests in a log, in order, including calls that printed no row.

    Parameters
    ----------
    lines
        Of the log.
    path
        The file, for messages.

    Raises
    ------
    InputError
        With file and line, if a line of a table cannot be understood.
    """
    tests = [Test(path, 1)]
    hint = library = ""
    for number, text in enumerate(lines, 1):
        line = line_of(text)
        if _is_next(tests[-1], line):
            _close(tests[-1])
            tests.append(Test(path, number, library=library))
        hint = program_of(text) or hint
        library = library_of(text) or library
        _take(tests[-1], line, number)
        tests[-1].library = library
        if line.type in ("head", "row"):  # after its command line; the next test has another
            tests[-1].program, hint = tests[-1].program or hint, ""
    _close(tests[-1])
    return [test for test in tests if test.rows or test.begun or test.started or test.notes]


def _is_next(test: Test, line: Line) -> bool:
    """Return whether a line begins another test."""
    if line.type == "begins":
        return test.begun or bool(test.rows)
    if line.type == "starting":
        return test.started or bool(test.rows)
    return line.type in ("rank", "head") and bool(test.rows or test.pending)


def _take(test: Test, line: Line, number: int) -> None:
    if line.type == "begins":
        test.begun = True
    elif line.type == "starting":
        test.started = True
        test.program = line.words[0].removesuffix("_mpi").removesuffix("_perf")
    elif line.type == "rank" and line.rank is not None:
        test.add_rank(line.rank, number)
    elif line.type == "head":
        test.columns = _checked_columns(line.words, f"{test.path}, line {number}")
    elif line.type in ("row", "values"):
        test.add_words(line.words, number, begin=line.type == "row")
    elif line.type == "ends":
        test.check_whole()


def _close(test: Test) -> None:
    """End a test; an unfinished last row is that of a killed program."""
    if test.pending is not None:
        test.notes.append(f"{test.path}, line {test.pending[0]}: the last row is cut short")
        test.pending = None


def _checked_columns(words: tuple[str, ...], where: str) -> tuple[str, ...]:
    if _time_of(words) not in words or "algbw" not in words or "busbw" not in words:
        allowed = "size count type [redop] [root] time algbw busbw #wrong, as nccl-tests prints them"
        raise InputError("unknown columns", where=where, found=" ".join(words), allowed=allowed)
    return words


def _columns_like(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of a row in a log without their names."""
    return ("redop", "root")[: len(words) - 3 - 2 * len(BLOCK)] + BLOCK + BLOCK


def _time_of(columns: tuple[str, ...]) -> str:
    return "cputime" if "cputime" in columns else "time"
