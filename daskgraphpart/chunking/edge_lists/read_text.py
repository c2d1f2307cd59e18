"""Read blocks of text: lines into fields, fields into integers, strings and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_csv import read_lines
from daskgraphpart.chunking.edge_lists.keys import StringKeys
from daskgraphpart.chunking.edge_lists.open_text import BYTE_ORDER_MARK, unmatched_quotes
from daskgraphpart.errors import InputFileError
from daskgraphpart.kernels.text_fields import (
    EMPTY,
    NEWLINE,
    RAGGED,
    copy_fields,
    count_data_lines,
    field_offsets,
    parse_integers,
    split_fields,
)
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from daskgraphpart.chunking.edge_lists.tables import TableBlock

_BYTES_PER_LOOK = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class TextRows:
    """Fields of the chosen columns of a block.

    Parameters
    ----------
    block : TableBlock
        Where they are from.
    content : uint8 array (bytes,)
        Its lines.
    starts, ends : int32 arrays (columns, rows)
        Where fields are in `content`.
    marks : uint8 array (columns, rows)
        How they are quoted.
    """

    block: TableBlock
    content: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    marks: np.ndarray

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return int(self.starts.shape[1])

    def integers(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Values of a column, int64 (rows,), and what each is, uint8 (rows,), as `parse_integers` tells."""
        values, kinds = np.zeros(self.num_rows, np.int64), np.empty(self.num_rows, np.uint8)
        fields = (self.starts[column], self.ends[column], self.marks[column])
        parse_integers(self.content, *fields, values, kinds)
        return values, kinds

    def strings(self, column: int) -> StringKeys:
        """Fields of a column.

        Raises
        ------
        InputFileError
            If one is not UTF-8.
        """
        fields = (self.starts[column], self.ends[column], self.marks[column])
        offsets = np.empty(self.num_rows + 1, np.int64)
        field_offsets(self.content, *fields, offsets)
        data = np.empty(offsets[-1], np.uint8)
        copy_fields(self.content, *fields, offsets, data)
        return StringKeys(offsets, data)

    def numbers(self, column: int) -> np.ndarray:
        """Column of a feature: int64 if all are integers, else float64.

        Raises
        ------
        InputFileError
            If one is missing or not a number.
        """
        values, kinds = self.integers(column)
        missing = np.flatnonzero(kinds == EMPTY)
        if missing.size:
            raise self.fault("value is missing", column, int(missing[0]), expected="a number")
        if not np.any(kinds > 1):
            return values
        return self._floats(column)

    def _floats(self, column: int) -> np.ndarray:
        import pyarrow as pa
        import pyarrow.compute as pc

        from daskgraphpart.chunking.edge_lists.keys import to_arrow

        texts = pc.utf8_trim_whitespace(to_arrow(self.strings(column)))
        try:
            floats: np.ndarray = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            row = _first_bad(len(texts), lambda start, stop: texts.slice(start, stop - start).cast(pa.float64()))
            raise self.fault("not a number", column, row, expected="a number, to be a feature") from None
        return floats

    def text(self, column: int, row: int) -> str:
        """Text of one field, for messages."""
        field = self.content[self.starts[column, row] : self.ends[column, row]][:200].tobytes().decode(errors="replace")
        return repr(field if len(field) <= 60 else field[:60] + "...")

    def place(self, column: int, row: int) -> str:
        """Line and column of a field, for messages."""
        name = self.block.table.columns[column].name
        return f"line {_line_number(self.block, self.content, int(self.starts[column, row])):,}, column {name!r}"

    def fault(
        self, what: str, column: int, row: int, *, expected: object = None, hint: str | None = None
    ) -> InputFileError:
        """Describe what is wrong with a field."""
        return InputFileError(
            what,
            file=self.block.table.path,
            place=self.place(column, row),
            expected=expected,
            found=self.text(column, row) if self.starts[column, row] < self.ends[column, row] else "nothing",
            hint=hint,
        )


def read_text(block: TableBlock) -> TextRows:
    """Read the lines of a block and find the fields of the chosen columns.

    Raises
    ------
    InputFileError
        If a line has another number of fields than the first, or quotes do not match.
    """
    table = block.table
    content = read_lines(table.path, block.start, block.stop)
    if block.start == 0 and content[:3].tobytes() == BYTE_ORDER_MARK:
        content[:3] = ord(" ")
    comment = ord(table.comment) if table.comment else -1
    rows, columns = int(count_data_lines(content, comment)), len(table.columns)
    starts, ends = (np.empty((columns, rows), np.int32) for _ in range(2))
    marks = np.empty((columns, rows), np.uint8)
    # a column may be asked for twice, say as ID and as feature; its fields are found once
    slots = np.full(table.num_fields, -1, np.int64)
    for slot, column in reversed(list(enumerate(table.columns))):
        slots[column.position] = slot
    how = (ord(table.delimiter), comment, table.num_fields)
    _, fault, offset, fields = split_fields(content, how, slots, starts, ends, marks)
    if fault:
        raise _explain(block, content, int(fault), int(offset), int(fields))
    for slot, column in enumerate(table.columns):
        found = slots[column.position]
        if found != slot:
            starts[slot], ends[slot], marks[slot] = starts[found], ends[found], marks[found]
    return TextRows(block, content, starts, ends, marks)


def first_invalid(strings: StringKeys) -> int | None:
    """First string that is not UTF-8."""
    import pyarrow as pa

    from daskgraphpart.chunking.edge_lists.keys import to_arrow

    array = to_arrow(strings)
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return _first_bad(len(array), lambda start, stop: array.slice(start, stop - start).validate(full=True))
    return None


def _first_bad(size: int, check: object) -> int:
    """First of some elements that `check` of a range refuses, found by halving the range."""
    import pyarrow as pa

    start, stop = 0, size
    while stop - start > 1:
        middle = (start + stop) // 2
        try:
            check(start, middle)  # type: ignore[operator]
            start = middle
        except pa.ArrowInvalid:
            stop = middle
    return start


def _explain(block: TableBlock, content: np.ndarray, fault: int, offset: int, fields: int) -> InputFileError:
    line = content[offset:][:200].tobytes().split(b"\n")[0]
    place = f"line {_line_number(block, content, offset):,}"
    if fault == RAGGED:
        expected, text = block.table.num_fields, line.decode(errors="replace").strip("\r")
        return InputFileError(
            "line with another number of fields",
            file=block.table.path,
            place=place,
            expected=f"{expected} fields, as in the first line",
            found=f"{fields}: {text[:60] + '...' if len(text) > 60 else text!r}",
            hint="check --delimiter and --comment, and that no line is cut off",
        )
    return unmatched_quotes(block.table.path, place, line)


def _line_number(block: TableBlock, content: np.ndarray, offset: int) -> int:
    """Number of a line in its file, from 1; reads the file up to the block, so it is for messages."""
    number = 1 + int(np.count_nonzero(content[:offset] == NEWLINE))
    if block.start:
        # the block begins with the first line that begins in it
        size = block.table.nbytes
        region = Region(block.table.path, 0, np.dtype(np.uint8), (size,))
        begin = block.start - 1
        while begin < size and region.read(begin, begin + 1)[0] != NEWLINE:
            begin += 1
        for start in range(0, begin + 1, _BYTES_PER_LOOK):
            number += int(np.count_nonzero(region.read(start, min(start + _BYTES_PER_LOOK, begin + 1)) == NEWLINE))
    return number
