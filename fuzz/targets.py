"""What the fuzzers call: one function per format, which takes bytes and fails unless the package behaves.

It behaves if it raises nothing but `GraphPartError`, and reads what an independent, slow reader reads.
The scripts beside this file feed the functions under coverage guidance, `tests/fuzz` feeds them with hypothesis.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyarrow import parquet

from daskgraphpart import read_chunked
from daskgraphpart.errors import GraphPartError
from daskgraphpart.graph.formats import edge_file, feature_files
from daskgraphpart.graph.metadata import Files
from daskgraphpart.graph.read_csv import cut_lines
from daskgraphpart.graph.sources import FileEdges, FileRows, LineEdges
from daskgraphpart.layouts.dgl_config_reader import read_config
from daskgraphpart.layouts.dgl_graph import read_graph_file, read_tensor_file
from daskgraphpart.readers.tables.describe.column_file import open_parquet_file
from daskgraphpart.readers.tables.describe.table_files import TableFile
from daskgraphpart.readers.tables.read_options import ReadOptions
from daskgraphpart.schema import BFLOAT16

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.source import Block, Source
    from daskgraphpart.storage.region import Region


DELIMITERS = " ,\t;|"
MOST_ROWS_AT_ONCE = 7  # small blocks: their borders are where mistakes are
MOST_BYTES_TO_COMPARE = 1 << 24


@cache
def scratch() -> Path:
    """Directory of the files that are read; in memory where there is such a place."""
    shared = "/dev/shm"
    directory = tempfile.mkdtemp(prefix="fuzz-", dir=shared if os.path.isdir(shared) else None)
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)


def write(name: str, content: bytes) -> str:
    """Write the file that is read next."""
    path = scratch() / name
    path.write_bytes(content)
    return str(path)


def interpret_kernels() -> None:
    """Let the kernels that parse text run as Python: bytes as int64, since numba's arithmetic does not wrap around."""
    from daskgraphpart.kernels import parse_ints

    for name in ("parse_edges", "count_lines"):
        kernel = getattr(parse_ints, name)
        setattr(parse_ints, name, lambda content, *rest, kernel=kernel: kernel(content.astype(np.int64), *rest))


# ----------------------------------------------------------------------------------------------------------- metadata


@cache
def graph_directory() -> Path:
    """Data files of a small graph, for metadata that name them."""
    directory = scratch() / "graph"
    directory.mkdir()
    (directory / "e.csv").write_text("0 1\n1 0\n2 2\n")
    np.save(directory / "x.npy", np.zeros((3, 2), "f4"))
    np.save(directory / "y.npy", np.zeros(3, "i8"))
    return directory


@cache
def partition_directory() -> Path:
    """Files of small partitions, for configs that name them."""
    directory = scratch() / "partitions"
    for part in range(2):
        (directory / f"part{part}").mkdir(parents=True)
        for name in ("graph.dgl", "node_feat.dgl", "edge_feat.dgl"):
            (directory / f"part{part}" / name).write_bytes(empty_tensor_file())
    return directory


def empty_tensor_file() -> bytes:
    """Tensor file without entries."""
    return struct.pack("<QQQ", 0xDD5A9FBE3FA2443F, 0, 0)


def check_metadata(content: bytes) -> bool:
    """`metadata.json` of a chunked graph: opened as it is, or refused. Returns whether it was accepted."""
    directory = graph_directory()
    (directory / "metadata.json").write_bytes(content)
    try:
        graph = read_chunked(directory)
    except GraphPartError:
        return False
    said = json.loads(content)
    assert list(graph.schema.ntypes) == said["node_type"]
    assert list(graph.schema.etypes) == said.get("edge_type", [])
    for what, types in (("nodes", graph.schema.node_types), ("edges", graph.schema.edge_types)):
        counts = [t.num_rows for t in types]
        assert said.get(f"num_{what}_per_type", counts) == counts
        assert [sum(of) for of in said.get(f"num_{what}_per_chunk", [[count] for count in counts])] == counts
    for path in graph.files:
        assert os.path.isfile(path)
    return True


def check_config(content: bytes) -> bool:
    """Partition config: read as it is, or refused. Returns whether it was accepted."""
    path = partition_directory() / "g.json"
    path.write_bytes(content)
    try:
        config = read_config(path)
    except GraphPartError:
        return False
    said = json.loads(content)
    book = config.book
    assert config.num_parts == said["num_parts"] == len(config.parts)
    assert set(book.ntypes) == set(said.get("ntypes", {"_N": 0}))
    for names, ranges, key in (
        (book.ntypes, book.node_ranges, "node_map"),
        (book.etypes, book.edge_ranges, "edge_map"),
    ):
        lengths = ranges[..., 1] - ranges[..., 0]
        assert lengths.min(initial=0) >= 0
        assert lengths.sum() == said["num_nodes" if key == "node_map" else "num_edges"]
        for i, name in enumerate(names):
            of_type = said[key] if isinstance(said[key], list) else said[key][name]
            if np.ndim(of_type) == 2:
                assert ranges[:, i].tolist() == of_type
    return True


def check_json(content: bytes) -> bool:
    """Both of them. Returns whether either was accepted."""
    return check_metadata(content) | check_config(content)


# ---------------------------------------------------------------------------------------------------------------- CSV


def check_csv(content: bytes) -> bool:
    """Edges as text; the first byte chooses the delimiter, the second the size of blocks. Returns whether accepted."""
    if len(content) < 2:
        return False
    delimiter, most_bytes, text = DELIMITERS[content[0] % len(DELIMITERS)], 1 + content[1] % 40, content[2:]
    path = write("e.csv", text)
    lines = [line for line in text.split(b"\n") if line.strip(b" \t\r")]
    try:
        file = edge_file(path, Files("csv", delimiter, (path,)))
        ranges = cut_lines([file], most_bytes)
        counts = [of.count() for of in ranges]
        assert sum(counts) == len(lines), "every line is counted once"
        found = [block.read() for block in LineEdges((file,), tuple(ranges), tuple(counts)).blocks(1)]
    except GraphPartError:
        return False
    src, dst = (np.concatenate([np.zeros(0, np.int64), *(pair[end] for pair in found)]) for end in range(2))
    expected = [slow_edge(line, delimiter.encode()) for line in lines]
    assert list(zip(src.tolist(), dst.tolist(), strict=True)) == expected
    return True


def slow_edge(line: bytes, delimiter: bytes) -> tuple[int, int]:
    """The two integers of a line."""
    columns = line.strip(b" \r" if delimiter == b"\t" else b" \t\r")
    if delimiter == b" ":
        first, second = re.split(rb"[ \t]+", columns)[:2] if b"\t" in columns else columns.split()[:2]
    else:
        first, second = columns.split(delimiter)[:2]
    return int(first), int(second)


# ---------------------------------------------------------------------------------------------------------------- npy


def check_npy(content: bytes) -> bool:
    """An npy file, as edges and as a feature. Returns whether either was accepted."""
    path = write("x.npy", content)
    accepted = False
    try:
        file = edge_file(path, Files("numpy", " ", (path,)))
        edges = np.concatenate(
            [np.zeros((0, 2), np.int64), *(np.stack(b.read(), axis=1) for b in blocks_of(FileEdges((file,))))]
        )
    except GraphPartError:
        pass
    else:
        accepted = True
        assert np.array_equal(edges, np.load(io.BytesIO(content), allow_pickle=False))
    return check_feature(path, "numpy", lambda: np.load(io.BytesIO(content), allow_pickle=False)) or accepted


def blocks_of(source: Source) -> Iterator[Block[Any]]:
    """Small blocks of a file; the first few if there are many."""
    for number, block in enumerate(source.blocks(max(MOST_ROWS_AT_ONCE, source.shape[0] // 50))):
        assert number < 200
        yield block


def check_feature(path: str, form: str, load: object) -> bool:
    """A file as a feature, against another reader."""
    try:
        spec, (file,) = feature_files("x", Files(form, " ", (path,)))
        if (file.num_rows or 0) * max(1, spec.row_nbytes) > MOST_BYTES_TO_COMPARE:
            return True
        rows = [block.read() for block in blocks_of(FileRows((file,), spec))]
    except GraphPartError:
        return False
    found = np.concatenate([np.zeros((0, *spec.row_shape), spec.dtype), *rows])
    expected = np.asarray(load()).reshape(found.shape)  # type: ignore[operator]
    if expected.dtype == np.dtype("V2"):  # as numpy calls it
        expected = expected.view(BFLOAT16)
    assert found.dtype == expected.dtype.newbyteorder("=")
    if found.dtype.kind == "b":
        assert set(np.unique(found.view(np.uint8)).tolist()) <= {0, 1}
        found, expected = found.view(np.uint8), expected.view(np.uint8) != 0
    elif found.dtype == BFLOAT16:  # of kind "V", where numpy does not look for NaN
        found, expected = found.view(np.uint16), expected.view(np.uint16)
    assert np.array_equal(found, expected, equal_nan=found.dtype.kind == "f")
    return True


# ------------------------------------------------------------------------------------------------------------ parquet


def check_parquet(content: bytes) -> bool:
    """A parquet file, as edges, as a feature and as an edge list. Returns whether any was accepted."""
    path = write("x.parquet", content)
    if ends_the_process(path):
        return False
    edges = parquet_edges(path)
    if edges is not None:
        table = parquet.ParquetFile(path).read(use_threads=False)
        names = ["src", "dst"] if {"src", "dst"} <= set(table.column_names) else table.column_names
        for end, name in enumerate(names):
            assert np.array_equal(edges[:, end], table[name].to_numpy())
    is_feature = check_feature(path, "parquet", lambda: slow_feature(path))
    return edges is not None or is_feature or check_edge_list(path)


ASK_FOR_SIZES = """
import sys
from pyarrow import parquet
for path in sys.stdin:
    try:
        footer = parquet.read_metadata(path.rstrip())
        for group in range(min(footer.num_row_groups, 100)):
            for column in range(min(footer.num_columns, 100)):
                footer.row_group(group).column(column)
    except Exception:
        pass
    print("lives", flush=True)
"""


def ends_the_process(path: str) -> bool:
    """Whether pyarrow aborts when asked for sizes; 26 does if statistics of sizes do not fit. A process tries it."""
    process = sizes_process()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{path}\n")
    process.stdin.flush()
    if process.stdout.readline():
        return False
    end_process(process)
    sizes_process.cache_clear()
    return True


@cache
def sizes_process() -> subprocess.Popen[str]:
    """Process that asks for the sizes in files whose names it reads; it ends with this one."""
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-c", ASK_FOR_SIZES], text=True, **pipes)
    atexit.register(end_process, process)
    return process


def end_process(process: subprocess.Popen[str]) -> None:
    """End a process, and close its pipes."""
    process.kill()
    process.communicate()


def parquet_edges(path: str) -> np.ndarray | None:
    """Edges of a parquet file; None if it is refused."""
    try:
        file = edge_file(path, Files("parquet", " ", (path,)))
        if (file.num_rows or 0) > MOST_BYTES_TO_COMPARE // 16:
            return None
        return np.concatenate(
            [np.zeros((0, 2), np.int64), *(np.stack(b.read(), axis=1) for b in blocks_of(FileEdges((file,))))]
        )
    except GraphPartError:
        return None


def check_edge_list(path: str) -> bool:
    """A parquet file as the command `build` reads it, where columns may be strings. Returns whether it was accepted."""
    try:
        table = open_parquet_file(TableFile(path, ReadOptions(), content=path), ("", ""), 2)
        if table.num_rows > MOST_BYTES_TO_COMPARE // 16:
            return True
        found = sum(len(columns[0]) for columns in table.batches([0, 1]))
    except GraphPartError:
        return False
    assert found == table.num_rows
    return True


def slow_feature(path: str) -> np.ndarray:
    """Rows of a feature in a parquet file, by way of pandas' objects."""
    table = parquet.ParquetFile(path).read(use_threads=False)
    columns = [column.to_pylist() for column in table.columns]
    if len(columns) == 1:
        kind = table.schema.field(0).type
        dtype = (kind.value_type if hasattr(kind, "value_type") else kind).to_pandas_dtype()
        return np.array(columns[0], dtype)
    dtypes = [np.dtype(field.type.to_pandas_dtype()) for field in table.schema]
    return np.stack([np.array(column).astype(np.result_type(*dtypes)) for column in columns], axis=1)


# ------------------------------------------------------------------------------------------------------- DGL's files


def check_dgl(content: bytes) -> bool:
    """A graph file or tensor file. Returns whether either was accepted."""
    path = write("x.dgl", content)
    return check_tensors(path, content) or check_graph(path, content)


def check_tensors(path: str, content: bytes) -> bool:
    """A tensor file, against a slow reader."""
    try:
        regions = read_tensor_file(path)
    except GraphPartError:
        return False
    expected = slow_tensors(content)
    assert list(regions) == list(expected)
    for name, region in regions.items():
        check_region(region, len(content))
        assert np.array_equal(region.read().view(np.uint8), expected[name].view(np.uint8))
        assert region.read().shape == expected[name].shape
    return True


def check_region(region: Region, size: int) -> None:
    """An array lies inside its file."""
    assert 0 <= region.offset <= region.offset + region.nbytes <= size
    region.memmap()


def slow_tensors(content: bytes) -> dict[str, np.ndarray]:
    """Arrays of a tensor file, read by `struct`."""
    at = 24
    found: dict[str, np.ndarray] = {}
    for _ in range(struct.unpack_from("<Q", content, 16)[0]):
        (length,) = struct.unpack_from("<Q", content, at)
        name = content[at + 8 : at + 8 + length].decode()
        at += 8 + length
        axes, code, bits = struct.unpack_from("<iBB", content, at + 24)
        shape = struct.unpack_from(f"<{axes}q", content, at + 32)
        (nbytes,) = struct.unpack_from("<q", content, at + 32 + 8 * axes)
        at += 40 + 8 * axes
        dtype = BFLOAT16 if code == 4 else f"<{'iuf'[code]}{bits // 8}"
        found[name] = np.frombuffer(content[at : at + nbytes], dtype).reshape(shape)
        at += nbytes
    return found


def check_graph(path: str, content: bytes) -> bool:
    """A graph file: everything it says can be read, and lies inside."""
    try:
        graph = read_graph_file(path)
    except GraphPartError:
        return False
    assert graph.num_nodes >= 0
    assert graph.num_edges >= 0
    for regions in (*graph.formats.values(), graph.node_arrays, graph.edge_arrays):
        for region in regions.values():
            check_region(region, len(content))
    for arrays, rows in ((graph.node_arrays, graph.num_nodes), (graph.edge_arrays, graph.num_edges)):
        assert all(len(region.read()) == rows for region in arrays.values())
    try:
        pieces = [graph.ends(start, min(start + 5, graph.num_edges)) for start in range(0, graph.num_edges, 5)[:100]]
    except GraphPartError:
        return False
    for src, dst in pieces:
        for ids in (src, dst):
            assert ids.min(initial=0) >= 0
            assert ids.max(initial=-1) < graph.num_nodes
    return True
