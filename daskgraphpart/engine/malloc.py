"""What malloc (glibc's) and Arrow keep of freed memory: less, and given back when something else needs it."""

from __future__ import annotations

import ctypes
import sys

_M_ARENA_MAX = -8  # malloc.h


def use_one_arena() -> None:
    """Let all threads allocate from one arena: what is free at the end of another is never given back.

    Tasks ask for few and large pieces, so that threads hardly wait for one another.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_ARENA_MAX, 1)


def give_memory_back() -> None:
    """Return what this process has freed to the system."""
    if "pyarrow" in sys.modules:
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
