"""Worker processes of the command on this machine, which end with it."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from threading import Thread, current_thread, main_thread
from typing import Any

_GRACE_S = 5.0  # of a worker that got SIGTERM
_WATCH_PERIOD_S = 1.0
_WATCH_GRACE_S = 3.0
_STOPS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Workers:
    """Processes that do one task after another; they share the command's imports.

    Attributes
    ----------
    work
        Function of a task, called in one of them.
    limit
        Most processes at a time.
    """

    work: Callable[[Any], Any]
    limit: int
    idle: list[tuple[Connection, BaseProcess]] = field(default_factory=list)
    busy: dict[Connection, tuple[BaseProcess, int, Any]] = field(default_factory=dict)

    def start(self, number: int, task: Any) -> None:
        """Start a task, in a process that is idle if there is one."""
        connection, process = self.idle.pop() if self.idle else self._started()
        try:
            connection.send(task)
        except OSError:  # it was killed while idle
            self.start(number, task)
        else:
            self.busy[connection] = (process, number, task)

    def ended(self) -> Iterator[tuple[int, Any, Any]]:
        """Wait for tasks to end; None is the result of one whose process was killed."""
        for connection in wait(list(self.busy)):
            assert isinstance(connection, Connection)
            process, number, task = self.busy.pop(connection)
            try:
                result = connection.recv()
                self.idle.append((connection, process))
            except (EOFError, OSError):
                result = None
            yield number, task, result

    def stop(self) -> None:
        """End all; running ones first remove their unfinished files."""
        processes = [process for _, process in self.idle] + [process for process, *_ in self.busy.values()]
        for process in processes:
            process.terminate()
        end = time.monotonic() + _GRACE_S
        for process in processes:
            process.join(max(0.0, end - time.monotonic()))
            process.kill()
            process.join()

    def _started(self) -> tuple[Connection, BaseProcess]:
        context: BaseContext = get_context("fork" if sys.platform == "linux" else None)
        ours, theirs = context.Pipe()
        arguments = (self.work, theirs, os.getpid())
        process = context.Process(target=_serve, args=arguments)  # type: ignore[attr-defined]
        with held():  # until the worker has set its own handlers
            process.start()
        theirs.close()
        return ours, process


def _serve(work: Callable[[Any], Any], connection: Connection, command: int) -> None:
    """Do tasks until SIGTERM; Ctrl-C is left to the command, which then ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(command)
    with suppress(EOFError, OSError):
        while True:
            connection.send(work(connection.recv()))


@contextmanager
def held() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM: a library that catches the exception could change the block's result.

    Other threads than the main one get neither.
    """
    arrived: list[int] = []
    stops = _STOPS if current_thread() is main_thread() else ()
    before = {stop: signal.signal(stop, lambda number, _: arrived.append(number)) for stop in stops}
    try:
        yield
    finally:
        for stop, handler in before.items():
            signal.signal(stop, handler)
        if arrived:
            signal.raise_signal(arrived[0])


@lru_cache(maxsize=1)
def end_with(command: int) -> None:
    """End this process with another one, and at SIGTERM; takes effect once.

    A killed worker holds nothing: the kernel frees its lock, and the next run of the point removes its
    scratch folder.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=_watch, args=(command, os.getppid() == command), daemon=True).start()


def _watch(command: int, is_parent: bool) -> None:
    while os.getppid() == command if is_parent else _runs(command):
        time.sleep(_WATCH_PERIOD_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_WATCH_GRACE_S)
    os._exit(1)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
