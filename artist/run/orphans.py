"""A worker process of a sweep ends soon after the command that started it, however that was killed."""

import os
import signal
from functools import lru_cache
from threading import Thread
from time import sleep

_PERIOD_S = 1.0
_GRACE_S = 3.0


@lru_cache(maxsize=1)
def end_with(command: int) -> None:
    """Watch a process from a thread; once a process.

    First comes SIGTERM, on which a run removes what it wrote, then the end. What a killed worker held is free
    again: its lock is the kernel's, and its scratch folder is removed by whoever takes up the point.
    """
    Thread(target=_watch, args=(command, os.getppid() == command), daemon=True).start()


def _watch(command: int, is_parent: bool) -> None:
    while os.getppid() == command if is_parent else _runs(command):
        sleep(_PERIOD_S)
    os.kill(os.getpid(), signal.SIGTERM)
    sleep(_GRACE_S)
    os._exit(1)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
