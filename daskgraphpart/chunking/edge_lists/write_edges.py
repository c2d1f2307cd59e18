"""Pass `write-edges`: chunks of edges are written from the blocks that hold their rows, keys replaced by new IDs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.write_pieces import EDGES_PER_PIECE, edge_writer, write_in_pieces
from daskgraphpart.engine.plan import Pass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.chunking.edge_lists.merge_ids import IdMap, RunIds
    from daskgraphpart.chunking.edge_lists.staged import StagedBlock
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class EndPiece:
    """Rows ``[start, stop)`` of a block, and the new IDs of its keys if they are mapped."""

    ends: Region
    ids: tuple[RunIds, ...]
    start: int
    stop: int

    def read(self) -> np.ndarray:
        """IDs, int64 (columns, rows)."""
        columns = [
            self.ends.read(column, column + 1)[0, self.start : self.stop] for column in range(self.ends.shape[0])
        ]
        if not self.ids:
            return np.stack(columns)
        if all(of_column is self.ids[0] for of_column in self.ids):
            ids: np.ndarray = self.ids[0].read()[np.stack(columns)]
            return ids
        return np.stack([of_column.read()[column] for of_column, column in zip(self.ids, columns, strict=True)])


@dataclass(frozen=True, slots=True)
class EdgeChunk:
    """A file of edges and where its rows are."""

    path: str
    num_rows: int
    pieces: tuple[EndPiece, ...]


def end_pieces(
    blocks: Sequence[StagedBlock], maps: Mapping[str, IdMap] | None, start: int, stop: int
) -> Iterator[EndPiece]:
    """Pieces of the blocks of one edge type, or one list of nodes, that hold rows ``[start, stop)``."""
    first = 0
    for block in blocks:
        low, high = max(start - first, 0), min(stop - first, block.num_rows)
        if low < high:
            ids = (
                [maps[ntype].runs[run.path] for ntype, run in zip(block.unit.ntypes, block.runs, strict=True)]
                if maps
                else []
            )
            yield EndPiece(block.ends, tuple(ids), low, high)
        first += block.num_rows


def write_edges_pass(units: Sequence[EdgeChunk], edge_format: str) -> Pass[EdgeChunk, str, None]:
    """Make the pass."""
    return Pass("write-edges", write_edges, units, edge_format, [16 * unit.num_rows for unit in units])


def write_edges(unit: EdgeChunk, edge_format: str) -> None:
    """Write one chunk."""
    with edge_writer(unit.path, edge_format, unit.num_rows) as write:
        write_in_pieces((piece.read().T for piece in unit.pieces), EDGES_PER_PIECE, write)
