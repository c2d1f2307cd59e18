"""How many rows go into each file of a chunked graph."""

from __future__ import annotations

import itertools

EDGES_PER_FILE = 2 << 20
BYTES_PER_FILE = 64 << 20


def cut_chunks(num_rows: int, rows_per_file: int, num_chunks: int | None) -> list[tuple[int, int]]:
    """Ranges of rows of the files of one edge type or feature."""
    pieces = num_chunks or max(1, -(-num_rows // rows_per_file))
    bounds = [num_rows * i // pieces for i in range(pieces + 1)]
    return list(itertools.pairwise(bounds))
