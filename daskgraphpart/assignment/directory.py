"""Name the files of a directory of owners, and compute the check that ties a binary form to its text.

A directory holds, for each node type, `<ntype>.txt` (one part per line, line i for node i), `.npy`, `.parquet` (one
integer column) or `.zarr` (a one-dimensional array), and `partition_meta.json`. We write the text, which DGL's tools
read, with a binary form beside it, and `assignment.json`, which tells which text the binary form belongs to.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from pathlib import Path

BINARY_FORMS = ("npy", "parquet", "zarr")
META_FILE = "partition_meta.json"
OURS_FILE = "assignment.json"
TRAINERS = "trainer_id"  # directory of `<ntype>.npy`, int64: the smaller part of each node, if there are trainers
ROWS_PER_BATCH = 1 << 20


def crc_of(path: Path) -> int:
    """Compute the CRC-32 of a file."""
    crc = 0
    with attach_path_to_error(path), path.open("rb") as file:
        while piece := file.read(4 << 20):
            crc = zlib.crc32(piece, crc)
    return crc
