"""Files that are replaced by a pipe while a job runs: whoever opens them next gets an error, and does not wait."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest
from inside import Region

from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.read_parquet import open_parquet
from daskgraphpart.storage.checksums import hash_file
from daskgraphpart.storage.files import open_for_reading, read_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "read",
    [
        read_file,
        open_for_reading,
        hash_file,
        lambda path: Region(str(path), 0, np.dtype("u1"), (4,)).read(),
        lambda path: open_parquet(str(path)).__enter__(),
    ],
)
def test_a_pipe_is_refused(read: Callable[[Path], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "e.csv")
    with pytest.raises(InputFileError, match=r"e\.csv: not a regular file"):
        read(tmp_path / "e.csv")
