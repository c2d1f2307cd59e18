"""Read DGL's containers without trust; of `graph.dgl` headers, then edges in pieces from any stored format.

Every size is checked against the file; DGL's own reader loads truncated files silently, or crashes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts import dgl_graph_file as fmt
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import is_file, open_for_reading, size_of_open
from daskgraphpart.storage.paths import AnyPath, to_key
from daskgraphpart.storage.region import MAX_AXES, Region, checked_nbytes

if TYPE_CHECKING:
    from daskgraphpart.source import FilePath

    Edges: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


MAX_ARRAYS = 1 << 20
MAX_NAME_NBYTES = 1 << 12
MIN_NAMED_ARRAY_NBYTES = 48  # name length, array header without axes
COPY_AGAIN = "copy the file again, or partition the graph again"


@contextmanager
def open_container(path: AnyPath) -> Iterator[FileReader]:
    """Open a DGL file."""
    key = to_key(path)
    if not is_file(key):
        raise LayoutError("no such file", file=key, hint="check the paths in the partition config")
    # once, because it takes as long as one of the many small reads
    with attach_path_to_error(key), open_for_reading(key) as file:
        yield FileReader(key, file)


class FileReader:
    """A file and a position; errors (`LayoutError`) name both."""

    def __init__(self, path: FilePath, file: BinaryIO) -> None:
        self.path = path
        self.size = size_of_open(file)
        self.position = 0
        self._file = file

    def fault(self, what: str, **details: Any) -> LayoutError:
        """Error at this position."""
        return LayoutError(what, file=self.path, place=f"byte {self.position:,}", **details)

    def seek(self, position: int) -> None:
        """Go to a byte of the file."""
        if not 0 <= position <= self.size:
            raise self.fault("offset outside the file", expected=f"at most {self.size:,}", found=f"{position:,}")
        self._file.seek(position)
        self.position = position

    def take(self, count: int) -> bytes:
        """Read exactly `count` bytes."""
        left = self.size - self.position
        content = self._file.read(count) if 0 <= count <= left else b""
        if len(content) != count:
            expected = f"{count:,} more bytes"
            raise self.fault("file is truncated or damaged", expected=expected, found=f"{left:,}", hint=COPY_AGAIN)
        self.position += count
        return content

    def unpack(self, form: str) -> tuple[Any, ...]:
        """Read numbers."""
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def number(self, form: str = "<Q") -> int:
        """Read one number, unsigned by default."""
        return int(self.unpack(form)[0])

    def magic(self, expected: int, what: str) -> None:
        """Read a magic number."""
        number = self.number()
        if number != expected:
            self.seek(self.position - 8)
            if number == int.from_bytes(expected.to_bytes(8, "little"), "big"):
                raise self.fault(f"{what} is not little-endian", hint="write it on a little-endian machine")
            raise self.fault(f"not a {what} of DGL", expected=f"{expected:#x}", found=f"{number:#x}")

    def one(self, what: str) -> None:
        """Read a number that is 1 in the graph of a partition."""
        number = self.number()
        if number != 1:
            raise self.fault(f"not the graph of a partition: wrong number of {what}", expected=1, found=number)

    def count(self, smallest_entry: int, most: int, what: str) -> int:
        """Read a number of entries, each of at least `smallest_entry` bytes."""
        number = self.number()
        fitting = (self.size - self.position) // smallest_entry
        if number > min(fitting, most):
            raise self.fault(f"invalid number of {what}", expected=f"at most {min(fitting, most):,}", found=number)
        return number

    def text(self) -> str:
        """Read a name."""
        content = self.take(self.count(1, MAX_NAME_NBYTES, "characters"))
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise self.fault("name is not UTF-8", found=repr(content[:40])) from error

    def array(self) -> Region:
        """Read an array's header and skip its elements."""
        self.magic(fmt.MAGIC_ARRAY, "array")
        _, device, _, num_axes, code, bits, lanes = self.unpack(fmt.ARRAY_HEADER)
        if device != fmt.CPU or lanes != 1 or not 1 <= num_axes <= MAX_AXES:
            shown = f"device {device}, {lanes} lanes, {num_axes} axes"
            raise self.fault("DGL writes no such array", expected="CPU, 1 lane, 1 to 32 axes", found=shown)
        *shape, nbytes = self.unpack(f"<{num_axes + 1}q")
        dtype = fmt.DTYPES.get((code, bits))
        if dtype is None:
            shown, hint = f"type code {code} with {bits} bits", "convert it to float32 with DGL"
            raise self.fault("unsupported dtype of an array", found=shown, hint=hint)
        expected = checked_nbytes(tuple(shape), dtype)
        if nbytes != expected:
            raise self.fault(
                "invalid shape or size of an array",
                expected=None if expected is None else f"{expected:,} bytes",
                found=f"{nbytes:,} bytes of shape {shape}",
            )
        offset = self.position
        if nbytes > self.size - offset:
            expected_size, shown = f"{offset + nbytes:,} bytes", f"{self.size:,}"
            raise self.fault("file is truncated inside an array", expected=expected_size, found=shown, hint=COPY_AGAIN)
        self.seek(offset + nbytes)
        return Region(self.path, offset, dtype, tuple(shape))

    def named_arrays(self) -> dict[str, Region]:
        """Read a dictionary of arrays; of equal names the last counts, as in DGL."""
        return {self.text(): self.array() for _ in range(self.count(MIN_NAMED_ARRAY_NBYTES, MAX_ARRAYS, "arrays"))}


def read_tensor_file(path: AnyPath) -> dict[str, Region]:
    """Read the headers of a tensor file: the place of each array's elements."""
    with open_container(path) as reader:
        reader.magic(fmt.MAGIC_TENSOR_FILE, "tensor file")
        reader.number()  # DGL's reader also ignores the first count
        return reader.named_arrays()


EDGES_PER_PIECE = 1 << 18
OLD_FORMATS = {1: ("coo",), 2: ("csr",), 3: ("csc",)}


@dataclass(frozen=True, slots=True)
class GraphFile:
    """Headers of a graph file.

    `formats` has ``row`` and ``col`` of ``coo``, and ``indptr``, ``indices`` and ``data`` (edge IDs) of ``csr`` and
    ``csc``. `claims` say what is sorted, on which DGL relies: for ``coo`` the rows, and the columns of each row; for
    ``csr`` and ``csc`` the columns of each row. `may_make` has the formats that DGL may make, bits as in `FORMAT_BITS`.
    """

    num_nodes: int
    num_edges: int
    formats: Mapping[str, Mapping[str, Region]]
    node_arrays: Mapping[str, Region]
    edge_arrays: Mapping[str, Region]
    claims: Mapping[str, tuple[bool, ...]]
    may_make: int

    @property
    def main_format(self) -> str:
        """Default format to read edges from: COO, else CSC, else CSR."""
        return next(name for name in ("coo", "csc", "csr") if name in self.formats)

    def edge_pieces(
        self, start: int = 0, stop: int | None = None, *, name: str | None = None, rows: int = EDGES_PER_PIECE
    ) -> Iterator[Edges]:
        """Read local edges ``[start, stop)`` in pieces: local sources, destinations and edge IDs.

        They come in the order of the format `name`, by default `main_format`, at most `rows` at a time; CSR and CSC are
        scanned whole.
        """
        name, stop = name or self.main_format, self.num_edges if stop is None else stop
        if name == "coo":
            coo = self.formats["coo"]
            for first in range(start, stop, rows):
                last = min(first + rows, stop)
                yield _integers(coo["row"], first, last), _integers(coo["col"], first, last), np.arange(first, last)
            return
        for heads, tails, eids in self._matrix_pieces(name, rows):
            src, dst = (tails, heads) if name == "csc" else (heads, tails)
            if (start, stop) == (0, self.num_edges):
                yield src, dst, eids
            else:
                mine = (eids >= start) & (eids < stop)
                yield src[mine], dst[mine], eids[mine]

    def ends(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Read the local sources and destinations of edges ``[start, stop)``, by edge ID."""
        ends, has_edge = np.full((2, stop - start), -1), np.zeros(stop - start, bool)
        for src, dst, eids in self.edge_pieces(start, stop):
            ends[0, eids - start], ends[1, eids - start] = src, dst
            has_edge[eids - start] = True
        outside = ((ends < 0) | (ends >= self.num_nodes)).any(axis=0)
        if outside.any():
            edge = int(np.argmax(outside))
            wrong = next(end for end in ends[:, edge].tolist() if not 0 <= end < self.num_nodes)
            raise LayoutError(
                "an edge ends at a node outside the part" if has_edge[edge] else "a matrix lacks an edge",
                file=next(iter(self.formats[self.main_format].values())).path,
                place=f"local edge {start + edge:,}",
                expected=f"local IDs in [0, {self.num_nodes:,})",
                found=wrong if has_edge[edge] else None,
            )
        return ends[0], ends[1]

    def _matrix_pieces(self, name: str, rows: int) -> Iterator[Edges]:
        """Rows, columns and edge IDs of a CSR or CSC matrix, in stored order."""
        matrix = self.formats[name]
        indptr, data, last = matrix["indptr"], matrix["data"], 0
        for row in range(0, max(1, self.num_nodes), rows):
            stop_row = min(row + rows, self.num_nodes)
            starts = _integers(indptr, row, stop_row + 1)
            wrong = (starts < np.append(last, starts[:-1])) | (starts > self.num_edges)
            wrong[0] |= starts[0] != last
            wrong[-1] |= stop_row == self.num_nodes and starts[-1] != self.num_edges
            if wrong.any():
                place, what = int(np.argmax(wrong)), "row starts do not ascend from 0 to the number of edges"
                raise _fault(f"{name}: {what}", indptr, f"indptr[{row + place:,}]", self.num_edges, starts[place])
            last = int(starts[-1])
            for first in range(int(starts[0]), last, rows):
                stop = min(first + rows, last)
                heads = row + np.repeat(np.arange(starts.size - 1), np.diff(starts.clip(first, stop)))
                # without edge IDs, positions are the IDs
                eids = _integers(data, first, stop) if data.num_rows else np.arange(first, stop)
                if eids.min() < 0 or eids.max() >= self.num_edges:
                    place = int(np.argmax((eids < 0) | (eids >= self.num_edges)))
                    what = f"{name}: edge ID in place {first + place:,} out of range"
                    raise _fault(what, data, None, self.num_edges - 1, eids[place])
                yield heads, _integers(matrix["indices"], first, stop), eids


def _integers(region: Region, start: int, stop: int) -> np.ndarray:
    return region.read(start, stop).astype(np.int64, copy=False)


def _fault(what: str, region: Region, place: str | None, largest: int, number: int) -> LayoutError:
    return LayoutError(what, file=region.path, place=place, expected=f"from 0 to {largest:,}", found=f"{int(number):,}")


def read_graph_file(path: AnyPath) -> GraphFile:
    """Read the headers of a file with one homogeneous graph, ours or that of DGL 0.9 to 2.x."""
    with open_container(path) as reader:
        reader.magic(fmt.MAGIC_GRAPH_FILE, "graph file")
        version, kind, num_graphs = reader.unpack("<QQQ")
        if (version, kind, num_graphs) != (fmt.VERSION, fmt.HETEROGRAPH, 1):
            raise reader.fault(
                "not the graph of a partition",
                expected=f"version {fmt.VERSION}, type {fmt.HETEROGRAPH}, 1 graph",
                found=f"version {version}, type {kind}, {num_graphs} graphs",
                hint="write it again with DGL 0.9 or later",
            )
        reader.seek(fmt.METADATA_NBYTES)
        reader.seek(reader.number())
        return _read_graph(reader)


def _read_graph(reader: FileReader) -> GraphFile:
    reader.magic(fmt.MAGIC_HETEROGRAPH, "graph")
    _read_metagraph(reader)
    reader.one("relations")
    reader.magic(fmt.MAGIC_RELATION, "relation")
    stored, allowed = reader.unpack("<qq")
    sizes, formats, claims = {}, {}, {}
    for name in _format_names(reader, stored):
        sizes[name], formats[name], claims[name] = _read_matrix(reader, name)
    reader.one("node types")
    num_nodes, num_edges = reader.number("<q"), next(iter(sizes.values()))[1]
    for name, size in sizes.items():
        if size != (num_nodes, num_edges):
            expected = f"(nodes, edges) as ({num_nodes:,}, {num_edges:,})"
            raise reader.fault(f"{name} does not fit the graph", expected=expected, found=size)
    node_arrays = _read_data(reader, num_nodes, "node")
    edge_arrays = _read_data(reader, num_edges, "edge")
    for what in ("node type names", "edge type names"):
        reader.one(what)
        reader.text()
    index = reader.unpack("<QQQQ")  # start of the graph; DGL seeks it from the end of the file
    if (index[0], index[1], index[3]) != (16, 1, 16):
        raise reader.fault("the index at the end of the file is damaged", expected="1 graph", found=index)
    may_make = allowed & fmt.ALL_FORMATS if allowed >> 32 else fmt.ALL_FORMATS
    return GraphFile(num_nodes, num_edges, formats, node_arrays, edge_arrays, claims, may_make)


def _format_names(reader: FileReader, stored: int) -> tuple[str, ...]:
    names = tuple(name for name, bit in fmt.FORMAT_BITS.items() if stored & bit)
    if not stored >> 32:
        names = OLD_FORMATS.get(stored, ())
    if not names:
        raise reader.fault("unknown formats of a graph", found=f"{stored:#x}")
    return names


def _read_matrix(reader: FileReader, name: str) -> tuple[tuple[int, int], dict[str, Region], tuple[bool, ...]]:
    """Read the numbers of nodes and edges, arrays, and claims of order."""
    is_coo = name == "coo"
    _read_metagraph(reader)
    reader.magic(fmt.MAGIC_COO if is_coo else fmt.MAGIC_CSR, f"{name.upper()} matrix")
    num_columns, num_rows = reader.unpack("<qq")
    arrays = first, second, eids = reader.array(), reader.array(), reader.array()
    claims = tuple(map(bool, reader.take(2 if is_coo else 1)))
    if (
        not 0 <= num_rows == num_columns
        or first.shape != (second.shape if is_coo else (num_rows + 1,))
        or len(second.shape) != 1
        or eids.shape not in ((0,), () if is_coo else second.shape)  # DGL ignores those of COO
        or first.dtype != second.dtype
        or {first.dtype.name, eids.dtype.name} - {"int64", "int32"}
    ):
        raise reader.fault(
            f"{name.upper()} matrix of a homogeneous graph does not fit together",
            expected="integers, one axis, as many rows as columns; edge IDs of all edges or, in COO, of none",
            found=[f"{num_rows:,} x {num_columns:,}", *(f"{array.dtype} of shape {array.shape}" for array in arrays)],
        )
    return (num_rows, second.num_rows), dict(zip(fmt.MATRIX_ARRAYS[name], arrays, strict=False)), claims


def _read_data(reader: FileReader, num_rows: int, what: str) -> dict[str, Region]:
    reader.one(f"{what} types with data")
    arrays = reader.named_arrays()
    for key, region in arrays.items():
        if region.num_rows != num_rows:
            expected, shape = f"{num_rows:,} rows", f"shape {region.shape}"
            raise reader.fault(f"{what} data {key!r} has the wrong length", expected=expected, found=shape)
    return arrays


def _read_metagraph(reader: FileReader) -> None:
    begin = reader.position
    if begin + len(fmt.METAGRAPH) <= reader.size and reader.take(len(fmt.METAGRAPH)) == fmt.METAGRAPH:
        return
    reader.seek(begin)
    reader.magic(fmt.MAGIC_METAGRAPH, "metagraph")
    reader.magic(fmt.MAGIC_CSR, "metagraph")
    reader.unpack("<qq")
    for _ in range(3):
        reader.array()
    reader.take(1)
