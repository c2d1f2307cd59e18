"""Maps of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from inside import Region

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_mapped_once_and_anew_when_it_is_replaced(tmp_path: Path) -> None:
    region = Region(str(tmp_path / "rows"), 0, np.dtype("u1"), (3,))
    (tmp_path / "rows").write_bytes(b"abc")
    first = region.memmap()
    assert region.memmap() is first
    (tmp_path / "other").write_bytes(b"xyz")
    (tmp_path / "other").rename(tmp_path / "rows")
    assert (first.tobytes(), region.memmap().tobytes()) == (b"abc", b"xyz")
