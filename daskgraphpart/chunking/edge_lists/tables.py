"""The nouns: files that hold columns of IDs and numbers, as they were found to be, and the blocks they are cut into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.chunked.blocks import InputFile, cut_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

TEXT, PARQUET, NPZ, NPY = "text", "parquet", "npz", "npy"

INTEGER_IDS, FLOAT_IDS, STRING_IDS, UNKNOWN_IDS = "integers", "floats", "strings", "unknown"


@dataclass(frozen=True, slots=True)
class Array:
    """Header of an array: dtype and shape, and where its elements begin in its file."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    is_fortran: bool
    offset: int


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a file.

    Parameters
    ----------
    name : str
        As the file calls it; the number of the column where it has no names.
    position : int
        Field of a line, or column of an array of two dimensions; -1 for a whole array.
    kind : str
        What its header says it holds: one of the four kinds of IDs above; unknown for text, until it is read.
    dtype : numpy.dtype or None
        Of the elements; None for text and for strings in parquet.
    row_shape : tuple of int
        Shape of one row.
    path : str
        File of the array; empty for text and parquet, and until the members of an npz are unpacked.
    array : Array or None
        The array.
    """

    name: str
    position: int
    kind: str = UNKNOWN_IDS
    dtype: np.dtype | None = None
    row_shape: tuple[int, ...] = ()
    path: str = ""
    array: Array | None = None


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file with chosen columns.

    Parameters
    ----------
    path : str
        As it was given.
    format : str
        `TEXT`, `PARQUET`, `NPZ` or `NPY`.
    columns : tuple of Column
        Those that are read.
    num_rows : int or None
        None for text.
    nbytes : int
        Bytes that are to be read; of a text file, all.
    begin : int
        Byte of a text file at which its rows begin, behind the header.
    delimiter, comment : str
        Of text; a space stands for any run of spaces and tabs; an empty comment for none.
    num_fields : int
        Fields of every line of text.
    row_group_ends : tuple of int
        Parquet only: row at which each row group ends.
    """

    path: str
    format: str
    columns: tuple[Column, ...]
    num_rows: int | None
    nbytes: int
    begin: int = 0
    delimiter: str = ","
    comment: str = ""
    num_fields: int = 0
    row_group_ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Consecutive rows of a file.

    Parameters
    ----------
    index : int
        Number of the block among all that a job reads; names its files.
    table : TableFile
        The file.
    start, stop : int
        Range of bytes of text (the block owns the lines that begin in it), or of rows.
    """

    index: int
    table: TableFile
    start: int
    stop: int

    @property
    def nbytes(self) -> int:
        """Bytes that are read, roughly."""
        if self.table.format == TEXT:
            return self.stop - self.start
        return self.table.nbytes * (self.stop - self.start) // max(1, self.table.num_rows or 0)


def cut_tables(tables: Sequence[TableFile], most_bytes: int, first_index: int) -> list[TableBlock]:
    """Cut files into blocks of at most `most_bytes` bytes of text or of columns, numbered from `first_index`."""
    ranges: list[tuple[TableFile, int, int]] = []
    for table in tables:
        if table.format == TEXT:
            step = range(table.begin, table.nbytes, max(1, most_bytes))
            ranges += [(table, start, min(start + step.step, table.nbytes)) for start in step]
        else:
            rows = table.num_rows or 0
            file = InputFile(table.path, table.format, "", rows, table.nbytes, table.row_group_ends)
            most_rows = max(1, most_bytes * rows // max(1, table.nbytes, rows))
            ranges += [(table, block.start, block.stop) for block in cut_rows([file], most_rows)]
    return [TableBlock(first_index + i, *found) for i, found in enumerate(ranges)]
