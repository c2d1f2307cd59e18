"""Compile kernels by numba, and do without its cache where that cannot be written or read."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba

if TYPE_CHECKING:
    from collections.abc import Callable


def njit(**options: Any) -> Callable[[Any], Any]:
    """Return `numba.njit` with these options, without a cache where there is no directory for one."""

    def compile_kernel(function: Any) -> Any:
        if numba.config.DISABLE_JIT:  # fuzzers interpret some; the command line refuses
            return function
        try:
            kernel = numba.njit(**options)(function)
        except RuntimeError:  # numba: no locator available
            return numba.njit(**{**options, "cache": False})(function)
        _remove_empty_files(kernel.stats.cache_path)
        return kernel

    return compile_kernel


@cache
def _remove_empty_files(directory: str) -> None:
    """Remove what a crash or a full disk left of compiled kernels, which numba would read."""
    for path in Path(directory).glob("*.nb[ci]"):
        with suppress(OSError):
            if path.stat().st_size == 0:
                path.unlink()
