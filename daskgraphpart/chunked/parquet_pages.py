"""Are the sizes that the pages of a parquet file claim possible? Asked before pyarrow believes them.

pyarrow takes as much memory as the header of a page says, up to 2 GiB, before it looks whether the page has so much: a
hostile or damaged file of a kilobyte would take 2 GiB for seconds. A page cannot be longer than its file, and cannot
become longer than its codec allows. Headers that we cannot read are left to pyarrow, which refuses them.

Source: parquet-format, `PageHeader` in parquet.thrift, in Thrift's compact protocol: fields 2 and 3 are the sizes
of the page uncompressed and compressed, without its header.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileError
from daskgraphpart.remote.url import Url
from daskgraphpart.storage.atomic import naming

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# bytes that one compressed byte can become, at most; a codec that is not here has no such limit
EXPANSIONS = {"UNCOMPRESSED": 1, "SNAPPY": 64, "LZ4": 256, "LZ4_RAW": 256, "GZIP": 1_100, "ZSTD": 1 << 15}
SLACK = 1 << 16  # for the smallest pages
MOST_PAGES = 1 << 20  # of one column chunk that are looked at
HEADER_NBYTES = (1 << 8, 1 << 16)  # first guess, and with statistics of long values

_UNCOMPRESSED, _COMPRESSED = 2, 3
_I16, _I32, _I64, _BINARY, _STRUCT = 4, 5, 6, 8, 12
_FIXED = {1: 0, 2: 0, 3: 1, 7: 8}  # true, false, byte, double


def check_page_sizes(path: str, metadata: Any, groups: Sequence[int], columns: Collection[str] | None) -> None:
    """Look at the headers of all pages that will be read, of a file that is local.

    Parameters
    ----------
    path : str
        The file.
    metadata : pyarrow.parquet.FileMetaData
        Its footer.
    groups : sequence of int
        Row groups that will be read.
    columns : collection of str or None
        Columns that will be read; None for all.

    Raises
    ------
    InputFileError
        If a page claims a size that it cannot have.
    """
    if isinstance(path, Url):  # a request for each page would cost more than the pages
        return
    with naming(path), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        for number in groups:
            group = metadata.row_group(number)
            for i in range(group.num_columns):
                chunk = group.column(i)
                if columns is None or chunk.path_in_schema.split(".")[0] in columns:
                    _check_chunk(path, file.fileno(), size, chunk)


def _check_chunk(path: str, fd: int, size: int, chunk: Any) -> None:
    position, dictionary = chunk.data_page_offset, chunk.dictionary_page_offset
    if chunk.has_dictionary_page and dictionary is not None and 0 < dictionary < position:
        position = dictionary
    stop = min(position + chunk.total_compressed_size, size)
    expansion = EXPANSIONS.get(chunk.compression)
    for _ in range(MOST_PAGES):
        if not 0 <= position < stop:
            return
        header = _read_header(fd, position)
        if header is None:
            return
        uncompressed, compressed, length = header
        first = position + length
        most = None if expansion is None else expansion * compressed + SLACK
        if first + compressed > size or (most is not None and uncompressed > most):
            raise InputFileError(
                "impossible size of a page in a parquet file",
                file=path,
                place=f"byte {position:,}, column {chunk.path_in_schema!r}",
                expected=f"at most {size - first:,} bytes" if most is None else f"at most {min(most, size - first):,}",
                found=f"{compressed:,} bytes that become {uncompressed:,}",
                hint="it may be truncated; write it again",
            )
        position = first + compressed


def _read_header(fd: int, position: int) -> tuple[int, int, int] | None:
    """Sizes of a page, uncompressed and compressed, and length of its header; None if it is not readable."""
    for nbytes in HEADER_NBYTES:
        try:
            return _Compact(os.pread(fd, nbytes, position)).page_sizes()
        except IndexError:
            continue
        except ValueError:
            return None
    return None


class _Compact:
    """Values in Thrift's compact protocol; an `IndexError` means that there are too few bytes."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def page_sizes(self) -> tuple[int, int, int]:
        """Read a page header."""
        sizes: dict[int, int] = {}
        field = 0
        while (head := self._byte()) != 0:
            field = field + (head >> 4) if head >> 4 else self._signed()
            if head & 15 == _I32:
                sizes[field] = self._signed()
            else:
                self._skip(head & 15, 0)
        if not {_UNCOMPRESSED, _COMPRESSED} <= sizes.keys() or min(sizes[_UNCOMPRESSED], sizes[_COMPRESSED]) < 0:
            raise ValueError("no page header")
        return sizes[_UNCOMPRESSED], sizes[_COMPRESSED], self._at

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _number(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number
            if shift > 63:
                raise ValueError("number is too long")

    def _signed(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)

    def _skip(self, kind: int, level: int) -> None:
        """Pass over a field of a struct."""
        if level > 8:
            raise ValueError("nested too deeply")
        if kind in _FIXED:
            self._at += _FIXED[kind]
        elif kind in (_I16, _I32, _I64):
            self._number()
        elif kind == _BINARY:
            length = self._number()
            self._at += length
        elif kind == _STRUCT:
            while (head := self._byte()) != 0:
                if not head >> 4:
                    self._signed()
                self._skip(head & 15, level + 1)
        else:  # lists, sets and maps, which page headers do not have
            raise ValueError("not a field of a page header")
        if self._at > len(self._content):
            raise IndexError
