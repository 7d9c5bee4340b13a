"""One line for each point of a sweep as it ends, whatever process or machine it ran on.

A worker of a cluster shares no terminal with the command, but the file system that holds the results. It
leaves a small file there when a point begins and one when it ends; the command prints what it finds.
"""

import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from artist.run.folder import remove_if_empty

_PERIOD_S = 0.2
_PLACE = ".progress"  # in output.dir
_BEGUN, _ENDED = ".begun", ".ended"
_WORDS = {"bad_input": "bad input"}


class Reporter(Callback):
    """Reports from the process that runs a point; launchers take it there.

    Attributes
    ----------
    spool
        Folder for the reports.
    """

    def __init__(self) -> None:
        self.spool = Path()
        self._folder = Path.cwd()
        self._variables = {name: value for name, value in os.environ.items() if name.startswith("ARTIST_")}
        self._started = 0.0

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go where the command was given, with its variables; a worker of Ray starts in another place.

        Paths of the configuration may be relative, and `network.cache` comes from a variable.
        """
        self.__dict__.update(state)
        os.environ.update(self._variables)
        os.chdir(self._folder)

    def on_job_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Report the beginning."""
        self._started = perf_counter()
        self._write(config, _BEGUN, {})

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Report the end."""
        outcome = job_return._return_value
        if hasattr(outcome, "status"):
            record = {"status": outcome.status, "message": outcome.message, "notes": outcome.notes}
            paths = {"folder": str(outcome.folder), "log": str(outcome.log) if outcome.log else None}
            self._write(config, _ENDED, record | paths | {"wall_s": perf_counter() - self._started})

    def _write(self, config: DictConfig, kind: str, record: Mapping[str, Any]) -> None:
        with suppress(OSError):  # nobody reads any more, or the disk is full: a run does not fail by it
            path = self.spool / f"{config.hydra.job.num}{kind}"
            part = path.with_suffix(f".part-{os.getpid()}")
            part.write_text(json.dumps(record), encoding="utf-8")
            os.replace(part, path)


@dataclass(slots=True)
class PointLines:
    """Prints the lines, in the process of the command.

    Attributes
    ----------
    points
        How many points the sweep has; 0 if another sweeper than Hydra's own decides that as it goes.
    swept
        What the sweep varies; it is what a line shows.
    shown
        Whether lines are printed.
    spool
        Folder of the reports.
    overrides
        Number of a report -> number of its point, and its overrides.
    ended
        Number of a point -> its first report.
    twice
        Points that were run although they had ended, by a worker that was held for lost.
    """

    points: int
    swept: frozenset[str]
    shown: bool
    spool: Path
    overrides: dict[int, tuple[int, Sequence[str]]] = field(default_factory=dict)
    ended: dict[int, dict[str, Any]] = field(default_factory=dict)
    twice: set[int] = field(default_factory=set)

    @contextmanager
    def follow(self) -> Iterator[None]:
        """Print lines from a thread as long as the block runs; the folder of reports is there as long."""
        _remove_stale(self.spool.parent)
        self.spool.mkdir(parents=True, exist_ok=True)
        over = Event()
        thread = Thread(target=self._follow, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.read()
            shutil.rmtree(self.spool, ignore_errors=True)
            remove_if_empty(self.spool.parent, self.spool.parent)

    def expect(self, points: Sequence[tuple[int, Sequence[str]]]) -> int:
        """Take note of what is launched; return the first of their numbers for reports, which are new."""
        first = max(points[0][0], max(self.overrides, default=-1) + 1)
        self.overrides.update(enumerate(points, first))
        return first

    def begun(self) -> set[int]:
        """Return the numbers of the points that have begun and not ended, and forget them."""
        self.read()
        found = list(self.spool.glob(f"*{_BEGUN}"))
        for path in found:
            path.unlink()
        return {self.overrides[int(path.stem)][0] for path in found if int(path.stem) in self.overrides}

    def say(self, number: int, overrides: Sequence[str], how: str) -> None:
        """Print the line of a point."""
        if self.shown:
            point = f"{number + 1}" + f"/{self.points}" * bool(self.points)
            shown = [each for each in overrides if each.partition("=")[0] in self.swept] or overrides
            with suppress(OSError):  # `artist -m ... 2>&1 | head`
                print(f"{point} {' '.join(shown)}: {how}", file=sys.stderr, flush=True)

    def read(self) -> None:
        """Take in what was reported and print its lines."""
        for path in sorted(self.spool.glob(f"*{_ENDED}"), key=lambda path: int(path.stem)):
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
                path.unlink()
            except OSError:  # another thread of this command was faster
                continue
            path.with_suffix(_BEGUN).unlink(missing_ok=True)
            number, overrides = self.overrides.get(int(path.stem), (-1, ()))
            if number in self.ended:
                self.twice.add(number)
            if number < 0 or number in self.ended:
                continue
            self.ended[number] = record
            status = record["status"]
            how = f"done in {record['wall_s']:.1f} s" if status == "finished" else _WORDS.get(status, status)
            self.say(number, overrides, how)

    def _follow(self, over: Event) -> None:
        while not over.wait(_PERIOD_S):
            self.read()


def point_lines(config: DictConfig) -> PointLines:
    """Return what prints the lines of a sweep."""
    points, swept = 0, frozenset[str]()
    if str(config.hydra.sweeper.get("_target_", "")).rpartition(".")[2] == BasicSweeper.__name__:
        params = [f"{key}={value}" for key, value in (config.hydra.sweeper.params or {}).items()]
        overrides = OverridesParser.create().parse_overrides([*params, *config.hydra.overrides.task])
        points = sum(map(len, BasicSweeper.split_arguments(overrides, None)))
        swept = frozenset(o.get_key_element() for o in overrides if o.is_sweep_override())
    place = Path(str(config.output.dir)).expanduser().absolute() / _PLACE
    return PointLines(points, swept, config.output.progress is not False, place / _owner())


def _owner() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def _remove_stale(place: Path) -> None:
    """Remove what killed commands of this machine left."""
    for folder in place.glob(f"{socket.gethostname()}-*"):
        number = folder.name.rpartition("-")[2]
        if number.isdigit() and int(number) != os.getpid() and not Path(f"/proc/{number}").exists():
            shutil.rmtree(folder, ignore_errors=True)
