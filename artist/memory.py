"""What allocators keep of memory that is free: a third of what a million jobs take."""

import ctypes
import sys


def release() -> None:
    """Give what is free back to the system, where the C library can do so."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
