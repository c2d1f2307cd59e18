"""Cut input files into blocks: the unit of work of every pass, and of laziness."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InputFile:
    """One data file of an edge type or a feature.

    Parameters
    ----------
    path : str
        Absolute path.
    format : str
        ``"csv"``, ``"numpy"`` or ``"parquet"``.
    delimiter : str
        Of CSV files; one character.
    num_rows : int or None
        Rows in the file; None for CSV files until they are scanned.
    nbytes : int
        Size of the file in bytes.
    row_group_ends : tuple of int
        Parquet only: row at which each row group ends, so that blocks can follow them.
    """

    path: str
    format: str
    delimiter: str
    num_rows: int | None
    nbytes: int
    row_group_ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows of one input file.

    Parameters
    ----------
    path, format, delimiter : str
        As in `InputFile`.
    start, stop : int
        Byte range for CSV files, row range inside the file for the others.
    first_row : int
        Type-wise original ID of the block's first row.
    num_rows : int
        Number of rows.
    row_in_file : int
        Row of the file at which the block begins (for messages).
    """

    path: str
    format: str
    delimiter: str
    start: int
    stop: int
    first_row: int
    num_rows: int
    row_in_file: int
