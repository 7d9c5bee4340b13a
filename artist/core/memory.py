"""What allocators keep of memory that is free: a third of what a million jobs take."""

import ctypes
import sys


def release() -> None:
    """Give what is free back to the system: Arrow's, and the C library's where it can do so."""
    if arrow := sys.modules.get("pyarrow"):
        arrow.default_memory_pool().release_unused()
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
