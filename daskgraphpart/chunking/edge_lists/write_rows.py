"""Pass `write-rows`: chunks of a feature are written from the files that hold its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.chunked.blocks import Block, InputFile, cut_rows
from daskgraphpart.chunked.read_npy import read_npy_rows
from daskgraphpart.chunked.read_parquet import read_parquet_rows
from daskgraphpart.chunked.write_pieces import row_writer, rows_per_piece, write_in_pieces
from daskgraphpart.engine.plan import Pass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from daskgraphpart.schema import DataSpec


@dataclass(frozen=True, slots=True)
class RowChunk:
    """A file of a feature: rows ``[start, stop)`` of all rows of some files."""

    path: str
    spec: DataSpec
    files: tuple[InputFile, ...]
    start: int
    stop: int

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return (self.stop - self.start) * self.spec.row_nbytes


@dataclass(frozen=True, slots=True)
class RowConfig:
    """Format of the files, and bytes that are read at a time."""

    data_format: str
    block_bytes: int


def write_rows_pass(units: Sequence[RowChunk], config: RowConfig) -> Pass[RowChunk, RowConfig, None]:
    """Make the pass."""
    return Pass("write-rows", write_rows, units, config, [unit.nbytes for unit in units])


def write_rows(unit: RowChunk, config: RowConfig) -> None:
    """Write one chunk."""
    pieces = read_pieces(unit.files, unit.spec, (unit.start, unit.stop), config.block_bytes)
    with row_writer(unit.path, config.data_format, unit.spec, unit.stop - unit.start) as write:
        write_in_pieces(pieces, rows_per_piece(unit.spec), write)


def read_pieces(
    files: Sequence[InputFile], spec: DataSpec, rows: tuple[int, int], block_bytes: int
) -> Iterator[np.ndarray]:
    """Read rows ``[start, stop)`` of all rows of some files in pieces of bounded size, in the dtype of the feature."""
    start, stop = rows
    at_once = max(1, block_bytes // max(1, spec.row_nbytes))
    for block in cut_rows(files, at_once):
        low, high = max(start, block.first_row), min(stop, block.first_row + block.num_rows)
        if low < high:
            skipped = low - block.first_row
            inside = Block(
                block.path,
                block.format,
                "",
                block.start + skipped,
                block.start + skipped + high - low,
                low,
                high - low,
                block.row_in_file + skipped,
            )
            yield _read(inside, spec)


def _read(block: Block, spec: DataSpec) -> np.ndarray:
    if block.format == "parquet":
        return read_parquet_rows(block, spec.dtype, spec.row_shape)
    return read_npy_rows(block).astype(spec.dtype, copy=False)
