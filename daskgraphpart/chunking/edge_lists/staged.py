"""What reading leaves on disk: for each block its ends, its runs of keys and its features, and how they are named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.blocks import InputFile
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunking.edge_lists.keys import KeyFile
    from daskgraphpart.chunking.edge_lists.read_ids import Rows
    from daskgraphpart.chunking.edge_lists.tables import TableBlock

_INT64 = np.dtype("<i8")


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """A block, and the node type of each of its columns of IDs.

    Parameters
    ----------
    block : TableBlock
        What is read; its columns of IDs come first, those of features follow.
    ntypes : tuple of str
        Source and destination of edges; the type of a list of nodes.
    """

    block: TableBlock
    ntypes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StagedFeature:
    """One feature of the rows of one block.

    Parameters
    ----------
    file : InputFile
        An npy file.
    dtype : numpy.dtype
        Of its elements.
    row_shape : tuple of int
        Of a row.
    """

    file: InputFile
    dtype: np.dtype
    row_shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StagedBlock:
    """What became of a block.

    Parameters
    ----------
    unit : ReadUnit
        What was read.
    ends : Region
        IDs, int64 (columns, rows); or where each key is in its run, int32.
    largest : tuple of int
        Largest ID of each column, -1 without rows; empty where IDs are mapped.
    runs : tuple of KeyFile
        For each column the sorted keys of its node type in this block; the same twice if both ends have one type.
    features : tuple of StagedFeature
        One for each further column.
    """

    unit: ReadUnit
    ends: Region
    largest: tuple[int, ...]
    runs: tuple[KeyFile, ...]
    features: tuple[StagedFeature, ...]

    @property
    def num_rows(self) -> int:
        """Rows of the block."""
        return self.ends.shape[1]


def stage_ends(directory: str, index: int, ends: np.ndarray) -> Region:
    """Write the ends of a block."""
    region = create_npy(f"{directory}/ends-{index:06d}.npy", ends.dtype, ends.shape)
    region.write(ends, 0)
    return region


def run_path(directory: str, index: int, column: int) -> str:
    """Keys of a block."""
    return f"{directory}/keys-{index:06d}-{column}"


def ids_region(run: KeyFile) -> Region:
    """For each key of a run its number in its bucket."""
    return Region(f"{run.path}-ids", 0, _INT64, (run.num_keys,))


def bucket_path(directory: str, ntype_number: int, bucket: int) -> str:
    """Keys of all blocks in a range, each once."""
    return f"{directory}/bucket-{ntype_number}-{bucket:06d}"


def stage_features(rows: Rows, first_column: int, directory: str) -> tuple[StagedFeature, ...]:
    """Write the columns of a block that become features."""
    index = rows.block.index
    staged = []
    for column in range(first_column, len(rows.block.table.columns)):
        numbers = rows.numbers(column)
        numbers = numbers.astype(numbers.dtype.newbyteorder("<"), copy=False)
        region = create_npy(f"{directory}/column-{index:06d}-{column}.npy", numbers.dtype, numbers.shape)
        region.write(numbers, 0)
        file = InputFile(region.path, "numpy", "", len(numbers), region.nbytes)
        staged.append(StagedFeature(file, numbers.dtype.newbyteorder("="), numbers.shape[1:]))
    return tuple(staged)


def sizes_of(units: Sequence[ReadUnit]) -> list[int]:
    """Bytes that each unit moves."""
    return [max(1, unit.block.nbytes) for unit in units]
