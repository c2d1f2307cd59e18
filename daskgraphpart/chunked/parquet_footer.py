"""The footer of a parquet file, read with distrust before pyarrow reads it.

pyarrow takes memory for as many elements as a list in the footer claims to have, recurses as deep as its schema claims
to be, and ends the process when it is asked about a codec that does not exist. Here every number is compared with the
bytes that are there, and what lies outside the file is refused; then pyarrow may have it.

Source: parquet-format 2.11, `FileMetaData` in parquet.thrift; where chunks begin and end, and what is a leaf of the
schema, as in parquet-cpp (file_reader.cc, schema.cc of Arrow 22).
"""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from daskgraphpart.chunked.thrift_compact import I32, I64, CompactReader, ThriftError
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Collection

MAGIC, ENCRYPTED, TAIL_NBYTES = b"PAR1", b"PARE", 8
CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY = 6, 7
WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
"""Bytes of a value, by physical type: booleans, integers and floats."""
REQUIRED, OPTIONAL, REPEATED = range(3)
MOST_SCHEMA_LEVELS = 100
DICTIONARY_HEADER_NBYTES = 100
"""Bytes by which chunks may be longer than they say: parquet-mr before 1.2.9 left out the header of the dictionary."""
_LEAST_ELEMENT, _LEAST_GROUP, _LEAST_CHUNK = 4, 7, 16  # bytes of a struct in Thrift with all fields that it must have

_DICTIONARY_OFFSET = 11
_CHUNK_FIELDS = {4: I32, 5: I64, 6: I64, 7: I64, 9: I64, _DICTIONARY_OFFSET: I64}
CODEC, NUM_VALUES, UNCOMPRESSED_NBYTES, NBYTES, START, DICTIONARY = range(6)
"""Columns of `Footer.chunks`, from these fields of `ColumnMetaData`."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column of values.

    Parameters
    ----------
    path : bytes
        Its name, and those of what it lies in, as pyarrow joins them.
    width : int or None
        Bytes of a value; None for strings.
    is_flat : bool
        Whether it has one value, or null, in each row.
    is_required : bool
        Whether it has one value in each row, and never null.
    """

    path: bytes
    width: int | None
    is_flat: bool
    is_required: bool

    def is_in(self, names: Collection[str]) -> bool:
        """Whether it is read with the columns of these names."""
        wanted = [name.encode() for name in names]
        return any(self.path == name or self.path.startswith(name + b".") for name in wanted)


@dataclass(frozen=True, slots=True, eq=False)
class Footer:
    """What the footer says of where data lie; all of it lies in the file.

    Parameters
    ----------
    nbytes : int
        Bytes of the file.
    leaves : tuple of Leaf
        Columns, in the order of the schema.
    chunks : int64 array (row groups, leaves, 6)
        See the names of its last axis above.
    is_checked : bool array (row groups, leaves)
        Which chunks have had their pages looked at; the only thing that changes.
    """

    nbytes: int
    leaves: tuple[Leaf, ...]
    chunks: np.ndarray
    is_checked: np.ndarray = field(repr=False)

    def leaves_of(self, columns: Collection[str] | None) -> list[int]:
        """Numbers of the leaves that are read with some columns; all for None."""
        return [i for i, leaf in enumerate(self.leaves) if columns is None or leaf.is_in(columns)]

    def uncompressed_nbytes(self, columns: Collection[str]) -> int:
        """Bytes that some columns have in all row groups, uncompressed, as the footer says."""
        return int(self.chunks[:, self.leaves_of(columns), UNCOMPRESSED_NBYTES].sum())


def unreadable(path: str, place: str | None = None, expected: object = None, found: object = None) -> InputFileError:
    """Build the error of a file that is no parquet file, or a damaged one."""
    return InputFileError(
        "not a readable parquet file",
        file=path,
        place=place,
        expected=expected,
        found=found,
        hint="it may be truncated; write it again",
    )


def read_footer(path: str, file: BinaryIO) -> Footer:
    """Read the footer of an open file.

    Parameters
    ----------
    path : str
        The file, for messages.
    file : binary file
        The file; it is left anywhere.

    Raises
    ------
    InputFileError
        If it is not the footer of a parquet file, or says what cannot be.
    """
    nbytes = file.seek(0, os.SEEK_END)
    file.seek(max(0, nbytes - TAIL_NBYTES))
    tail = file.read(TAIL_NBYTES)
    if tail[4:] == ENCRYPTED:
        raise unreadable(path, expected="a file that is not encrypted", found="an encrypted footer")
    if nbytes < len(MAGIC) + TAIL_NBYTES or tail[4:] != MAGIC:
        raise unreadable(path, expected=f"{MAGIC.decode()} as the last bytes", found=f"{nbytes:,} bytes, {tail[4:]!r}")
    length = int.from_bytes(tail[:4], "little")
    start = nbytes - TAIL_NBYTES - length
    if start < len(MAGIC):
        raise unreadable(path, expected=f"a footer in {nbytes:,} bytes", found=f"a footer of {length:,} bytes")
    file.seek(start)
    reader = _FooterReader(file.read(length))
    try:
        reader.read()
    except ThriftError as fault:
        raise unreadable(path, f"byte {start + fault.at:,}", "the footer", fault) from None
    return _checked(path, nbytes, reader)


class _FooterReader:
    """Collects what is needed of the footer, column chunk by column chunk, as plain numbers."""

    def __init__(self, content: bytes) -> None:
        self._reader = CompactReader(content)
        self.leaves: tuple[Leaf, ...] = ()
        self.group_rows = array("q")
        self.chunks = array("q")

    def read(self) -> None:
        has_schema = False
        for number, kind in self._reader.fields():
            if number == 2:
                self._read_schema(kind)
                has_schema = True
            elif number == 4:
                if not has_schema:
                    raise self._fault("row groups before the schema")
                for _ in self._reader.structs(kind, _LEAST_GROUP):
                    self._read_group()
            elif number == 8:
                raise self._fault("encrypted columns")
            else:
                self._reader.skip(kind)
        if not has_schema:
            raise self._fault("no schema")

    def _fault(self, what: str) -> ThriftError:
        return ThriftError(what, self._reader.at)

    def _read_schema(self, kind: int) -> None:
        leaves: list[Leaf] = []
        open_groups: list[tuple[bytes, int, int]] = []  # path, repetition, children that are still to come
        for i in self._reader.structs(kind, _LEAST_ELEMENT):
            name, leaf_type, width, repetition, children = self._read_element()
            path = name
            if i:
                while open_groups and not open_groups[-1][2]:
                    open_groups.pop()
                if not open_groups:
                    raise self._fault("a schema of several roots")
                above, above_repetition, remaining = open_groups.pop()
                open_groups.append((above, above_repetition, remaining - 1))
                path = above + b"." + name if len(open_groups) > 1 else name
                repetition = max(repetition, above_repetition)
            else:
                repetition = REQUIRED  # implementations differ in whether the root is repeated
            if i and not children and leaf_type is not None:
                width = width if leaf_type == FIXED_LEN_BYTE_ARRAY else WIDTHS.get(leaf_type)
                leaves.append(Leaf(path, width, repetition != REPEATED, repetition == REQUIRED))
                continue
            open_groups.append((path, repetition, children))
            if len(open_groups) > MOST_SCHEMA_LEVELS:
                raise self._fault("a schema nested too deeply")
        if not open_groups or any(remaining for _, _, remaining in open_groups):
            raise self._fault("a schema with too few elements")
        self.leaves = tuple(leaves)

    def _read_element(self) -> tuple[bytes, int | None, int | None, int, int]:
        """Name, physical type, width, repetition, number of children."""
        name, leaf_type, width, repetition, children = b"", None, None, REQUIRED, 0
        reader = self._reader
        for number, kind in reader.fields():
            if number == 1:
                leaf_type = reader.i32(kind)
                if not 0 <= leaf_type <= FIXED_LEN_BYTE_ARRAY:
                    raise self._fault(f"physical type {leaf_type}")
            elif number == 2:
                width = reader.i32(kind)
            elif number == 3:
                repetition = reader.i32(kind)
                if not REQUIRED <= repetition <= REPEATED:
                    raise self._fault(f"repetition {repetition}")
            elif number == 4:
                name = reader.binary(kind)
            elif number == 5:
                children = reader.i32(kind)
            else:
                reader.skip(kind)
        if children < 0 or (leaf_type == FIXED_LEN_BYTE_ARRAY and not children and (width is None or width < 1)):
            raise self._fault(f"an element of the schema with {children} children, of {width} bytes")
        return name, leaf_type, width, repetition, children

    def _read_group(self) -> None:
        num_rows, num_chunks = -1, -1
        for number, kind in self._reader.fields():
            if number == 1:
                found = self._reader.structs(kind, _LEAST_CHUNK)
                num_chunks = len(found)
                for _ in found:
                    self._read_chunk()
            elif number == 3:
                num_rows = self._reader.i64(kind)
            else:
                self._reader.skip(kind)
        if num_chunks != len(self.leaves):
            raise self._fault(f"a row group of {num_chunks} columns, where the schema has {len(self.leaves)}")
        self.group_rows.append(num_rows)

    def _read_chunk(self) -> None:
        has_metadata = False
        for number, kind in self._reader.fields():
            if number == 3:
                self._read_chunk_metadata(kind)
                has_metadata = True
            elif number in (8, 9):
                raise self._fault("an encrypted column")
            else:
                self._reader.skip(kind)
        if not has_metadata:
            raise self._fault("a column without metadata")

    def _read_chunk_metadata(self, kind: int) -> None:
        found = self._reader.integers(kind, _CHUNK_FIELDS)
        missing = _CHUNK_FIELDS.keys() - {_DICTIONARY_OFFSET} - found.keys()
        if missing:
            raise self._fault(f"a column without field {min(missing)}")
        self.chunks.extend([found.get(number, 0) for number in _CHUNK_FIELDS])


def _checked(path: str, nbytes: int, reader: _FooterReader) -> Footer:
    """Refuse numbers that cannot be, of all column chunks at once."""
    groups, leaves = len(reader.group_rows), reader.leaves
    rows = np.frombuffer(reader.group_rows, np.int64)[:, None] if groups else np.zeros((0, 1), np.int64)
    chunks = np.array(reader.chunks, np.int64).reshape(groups, len(leaves), 6)
    values, codec, dictionary = chunks[..., NUM_VALUES], chunks[..., CODEC], chunks[..., DICTIONARY]
    flat = np.array([leaf.is_flat for leaf in leaves], bool)[None]
    begins = (dictionary > 0) & (dictionary < chunks[..., START])
    chunks[..., START] = np.where(begins, dictionary, chunks[..., START])
    start, length = chunks[..., START], chunks[..., NBYTES]
    for is_wrong, number, expected in (
        ((codec < 0) | (codec >= len(CODECS)), codec, f"a codec from 0 to {len(CODECS) - 1}"),
        ((start < 0) | (start > nbytes), start, f"a beginning in {nbytes:,} bytes"),
        ((length < 0) | (length > nbytes - start), length, f"bytes of a column, in {nbytes:,}"),
        ((values < rows) | (flat & (values != rows)), values, "a value for each row"),
        (chunks[..., UNCOMPRESSED_NBYTES] < 0, chunks[..., UNCOMPRESSED_NBYTES], "bytes of a column"),
    ):
        if is_wrong.any():
            group, leaf = np.argwhere(is_wrong)[0]
            place = f"row group {group}, column {leaves[leaf].path.decode(errors='replace')!r}"
            raise unreadable(path, place, expected, f"{int(number[group, leaf]):,}")
    if int(length.sum()) > nbytes:
        raise unreadable(path, None, f"columns in {nbytes:,} bytes", f"columns of {int(length.sum()):,} bytes")
    return Footer(nbytes, leaves, chunks, np.zeros((groups, len(leaves)), bool))
