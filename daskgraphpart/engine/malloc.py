"""What malloc (glibc's) and Arrow keep of freed memory: less, and given back when something else needs it."""

from __future__ import annotations

import ctypes
import sys

_M_ARENA_MAX, _M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -8, -3, -1  # malloc.h
BLOCK_NBYTES = 32 << 20  # the most that malloc takes for this option
KEPT_NBYTES = 64 << 20


def use_one_arena() -> None:
    """Let all threads allocate from one arena: what is free at the end of another is never given back.

    Tasks ask for few and large pieces, so that threads hardly wait for one another. Pieces as large as a block come
    from it as well, and some of what is free is kept for the next task: to get pages from the system, which clears
    them, takes longer than to read a block, and threads wait for one another there.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_ARENA_MAX, 1)
        set_option(_M_MMAP_THRESHOLD, BLOCK_NBYTES)
        set_option(_M_TRIM_THRESHOLD, KEPT_NBYTES)


def give_memory_back() -> None:
    """Return what this process has freed to the system."""
    if "pyarrow" in sys.modules:
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
