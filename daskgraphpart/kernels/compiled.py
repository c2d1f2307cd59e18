"""Compile kernels by numba, and do without its cache where that cannot be written or read.

A first run compiles what it needs, which takes a tenth of a second for the smallest kernel: so what only kernels call
has no entry from Python, and numbers are cast where they would make a second signature (int32, a literal).
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

_caches: dict[str, bool] = {}  # whether each directory had a compiled kernel when this process looked first


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, when it is called; without a cache where there is no directory for one."""
    if numba.config.DISABLE_JIT:  # fuzzers interpret some; the command line refuses
        return function
    options = {"nogil": True, "no_cfunc_wrapper": True}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba: no locator available
        return numba.njit(**options)(function)
    if compiled.stats.cache_path not in _caches:
        _caches[compiled.stats.cache_path] = _remove_empty_files(compiled.stats.cache_path)
    return compiled


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call at several places, once for all of them."""
    return numba.njit(nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Write a function that kernels call at one place or two into them."""
    return numba.njit(nogil=True, inline="always")(function)


def is_first_run() -> bool:
    """Whether no kernel had been compiled when this process began."""
    return bool(_caches) and not any(_caches.values())


def _remove_empty_files(directory: str) -> bool:
    """Remove what a crash or a full disk left of compiled kernels, which numba would read; tell if there are others."""
    is_used = False
    for path in Path(directory).glob("*.nb[ci]"):
        with suppress(OSError):
            if path.stat().st_size == 0:
                path.unlink()
            else:
                is_used = True
    return is_used
