"""Kernels that cannot be kept are told of, with the variable that names a directory for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba

from daskgraphpart.kernels import compiled

if TYPE_CHECKING:
    import pytest


def test_without_a_directory_for_kernels_a_note_says_where_to_point_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    njit = numba.njit

    def without_cache(*given: Any, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*given, **options)

    monkeypatch.setattr(numba, "njit", without_cache)
    monkeypatch.setattr(compiled, "_caches", {})
    assert compiled.note_on_compiling() == ""
    assert compiled.kernel(lambda: 3)() == 3
    assert "NUMBA_CACHE_DIR" in compiled.note_on_compiling()
