"""Passes `split-attributes` and `place-attributes`: the columns behind the IDs become one feature of every type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.assignment.parmetis.key_ranges import KEY
from daskgraphpart.assignment.parmetis.read_columns import count_columns, line_fault
from daskgraphpart.chunked.read_csv import read_lines
from daskgraphpart.conversion.edges import write_by_type
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import OptionError
from daskgraphpart.schema import STORED_DTYPES
from daskgraphpart.storage.region import create_npy, open_npy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from daskgraphpart.assignment.parmetis.key_ranges import KeyRanges, RangeUnit
    from daskgraphpart.assignment.parmetis.place_owners import PartLines
    from daskgraphpart.assignment.parmetis.read_columns import TextBlock
    from daskgraphpart.conversion.edges import EdgeLines
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

_BLANKS = re.compile(rb"[ \t\r]+")
_ODD_BLANKS = re.compile(rb"  |[\t\r]| \n|\n | \Z|\A ")
_ROW = re.compile(r"Row #(\d+)")


@dataclass(frozen=True, slots=True)
class AttributeLines:
    """A block of lines of nodes or edges, and the first column of attributes in it."""

    index: int
    lines: PartLines | EdgeLines
    first_column: int

    @property
    def block(self) -> TextBlock:
        """Where the lines are."""
        return self.lines.block


@dataclass(frozen=True, slots=True, eq=False)
class AttributeConfig:
    """What the passes share.

    Parameters
    ----------
    read_ids : callable
        Picklable; reads the homogeneous IDs from a block of nodes or edges.
    num_attributes : int
        Attributes of every line.
    dtype : numpy.dtype
        Their dtype.
    ranges : KeyRanges
        How rows are cut into ranges.
    starts : int64 array (types + 1,)
        First homogeneous ID of each type, then the total.
    files : tuple of Region
        For each type an array (rows, attributes), to be filled.
    """

    read_ids: Callable[[Any], np.ndarray]
    num_attributes: int
    dtype: np.dtype
    ranges: KeyRanges
    starts: np.ndarray
    files: tuple[Region, ...]

    def rows(self, index: int) -> str:
        """Attributes of a block, grouped by range."""
        return f"{self.ranges.prefix}{index}-rows.npy"


def attribute_dtype(name: str | None, place: str) -> np.dtype | None:
    """Dtype of that name, `None` if there is none.

    Raises
    ------
    OptionError
        If it is no dtype of numbers that DGL can load.
    """
    if name is None:
        return None
    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = np.dtype(np.bool_)
    if dtype.name not in STORED_DTYPES or dtype == np.bool_:
        expected = f"one of {', '.join(STORED_DTYPES[:-1])}"
        raise OptionError("unknown dtype of attributes", place=place, expected=expected, found=name)
    return dtype


def count_attributes(paths: Sequence[Path], first_column: int) -> int:
    """Count the attributes in the first line there is; 0 without lines."""
    return max(0, next((found for found in map(count_columns, paths) if found), first_column) - first_column)


def move_attributes(units: Sequence[AttributeLines], config: AttributeConfig, runner: Runner) -> None:
    """Run both passes.

    Raises
    ------
    AssignmentError
        If a line has another number of attributes than the first, or something that is no number.
    """
    sizes = [unit.block.stop - unit.block.start for unit in units]
    counts = runner.run(Pass("split-attributes", split_lines, units, config, sizes))
    ranges = config.ranges.units(counts)
    width = config.num_attributes * config.dtype.itemsize
    runner.run(Pass("place-attributes", place_range, ranges, config, [unit.size * width for unit in ranges]))


def create_files(paths: Sequence[str], counts: Sequence[int], width: int, dtype: np.dtype) -> tuple[Region, ...]:
    """Create an npy file of attributes for every type."""
    stored = dtype.newbyteorder("<")
    return tuple(create_npy(path, stored, (count, width)) for path, count in zip(paths, counts, strict=True))


def split_lines(unit: AttributeLines, config: AttributeConfig) -> np.ndarray:
    """Read the attributes of a block and group them by range; return how many lines fall into each."""
    keys = config.read_ids(unit.lines)
    rows = _read(unit, config)
    _, order = config.ranges.group(keys)
    create_npy(config.rows(unit.index), rows.dtype, rows.shape).write(rows[order], 0)
    return config.ranges.write_run(unit.index, keys)


def place_range(unit: RangeUnit, config: AttributeConfig) -> None:
    """Write the attributes of one range of rows."""
    rows = np.zeros((unit.size, config.num_attributes), config.dtype)
    for piece, (keys,) in config.ranges.read(unit, (KEY,)):
        rows[keys] = open_npy(config.rows(piece.index)).read(piece.start, piece.start + piece.num_rows)
    write_by_type(unit, rows, config.starts, config.files)


def _read(unit: AttributeLines, config: AttributeConfig) -> np.ndarray:
    """Parse the attributes of a block: array (rows, attributes)."""
    import pyarrow as pa
    from pyarrow import csv

    content = read_lines(unit.block.path, unit.block.start, unit.block.stop).tobytes()
    if _ODD_BLANKS.search(content):  # Arrow takes every single blank for the end of a column
        content = re.sub(rb" ?\n ?", b"\n", _BLANKS.sub(b" ", content)).strip(b" ")
    if not content.strip():
        return np.empty((0, config.num_attributes), config.dtype)
    names = [str(i) for i in range(unit.first_column + config.num_attributes)]
    wanted = names[unit.first_column :]
    parsed = np.dtype(np.float32) if config.dtype == np.float16 else config.dtype
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(wanted, pa.from_numpy_dtype(parsed)), include_columns=wanted, null_values=[]
    )
    reading = csv.ReadOptions(column_names=names, use_threads=False, block_size=max(1, len(content)) + 1)
    try:
        table = csv.read_csv(pa.BufferReader(content), reading, csv.ParseOptions(delimiter=" "), convert)
    except pa.ArrowInvalid as fault:
        message = str(fault).splitlines()[0]
        row = _ROW.search(message)
        expected = f"{unit.first_column} columns and {config.num_attributes} attributes of dtype {config.dtype}"
        raise line_fault(
            unit.block, int(row[1]) - 1 if row else 0, "attributes cannot be read", expected, message
        ) from fault
    columns = [column.to_numpy().astype(config.dtype, copy=False) for column in table.columns]
    return np.stack(columns, axis=1)
