"""A worker process of a sweep ends soon after the command that started it, however that was killed."""

import os
from functools import lru_cache
from multiprocessing import parent_process
from threading import Thread
from time import sleep

_PERIOD_S = 1.0


@lru_cache(maxsize=1)
def end_with_parent() -> None:
    """Watch the parent from a thread, in a process that multiprocessing or joblib started; once a process.

    What a killed worker held is free again: its lock is the kernel's, and its scratch folder is removed by
    whoever takes up the point.
    """
    if parent_process() is not None:
        Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        sleep(_PERIOD_S)
    os._exit(1)
