"""Compile kernels with numba, also without a usable cache.

The first run compiles what it needs, at least a tenth of a second per kernel; so functions called only by kernels have
no entry from Python, and numbers are cast to avoid second signatures (int32, literals). Kernels allocate nothing, and
are compiled without numba's memory manager: each kind of array made in a kernel would take another tenth of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba

OPTIONS = {"nogil": True, "no_cfunc_wrapper": True, "_nrt": False}
_caches: dict[str, bool] = {}  # whether each directory had compiled kernels at this process's first look


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function for Python on its first call; without a cache if it has no directory."""
    if numba.config.DISABLE_JIT:  # for fuzzers; the command line refuses
        return function
    try:
        compiled = numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # numba: no locator available
        _caches[""] = False
        return numba.njit(**OPTIONS)(function)
    if compiled.stats.cache_path not in _caches:
        _caches[compiled.stats.cache_path] = _remove_empty_files(compiled.stats.cache_path)
    return compiled


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call in several places, once for all."""
    return numba.njit(no_cpython_wrapper=True, **OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Inline a function that kernels call in one or two places."""
    return numba.njit(nogil=True, inline="always")(function)


def note_on_compiling() -> str:
    """Say that kernels have to be compiled first, if so; numba has no cache if it can write no directory."""
    if "" in _caches:
        what = "compiling kernels takes about 10 s in each run and worker: numba has no directory for them"
        return f"{what}; set NUMBA_CACHE_DIR to one"
    is_first = bool(_caches) and not any(_caches.values())
    return "first run: compiling kernels takes about 10 s; later runs load them" if is_first else ""


def _remove_empty_files(directory: str) -> bool:
    """Remove empty cache files that a crash or full disk left, which numba would read; say if there are others."""
    is_used = False
    for path in Path(directory).glob("*.nb[ci]"):
        with suppress(OSError):
            if path.stat().st_size == 0:
                path.unlink()
            else:
                is_used = True
    return is_used
