"""Inputs that are odd but legal are read; those that are wrong are one error of ours, with the right row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import daskgraphpart as dgp
from daskgraphpart import EdgeType, read_chunked
from daskgraphpart.errors import GraphPartError, InputFileError, InputFileNotFoundError, MetadataError
from daskgraphpart.graph.formats import InputFile, check_ends, feature_files
from daskgraphpart.graph.metadata import Files, read_metadata
from daskgraphpart.graph.output import write_file
from daskgraphpart.graph.read_csv import Lines, cut_lines
from daskgraphpart.graph.sources import FileRows, LineEdges
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.schema import DataSpec

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart import Graph

EDGE_TYPE = EdgeType("n", "e", "n", 1)


def csv_graph(tmp_path: Path, text: str = "0 1\n", **content: Any) -> Path:
    (tmp_path / "e.csv").write_text(text)
    metadata = {
        "graph_name": "g",
        "node_type": ["n"],
        "num_nodes_per_type": [100],
        "edge_type": ["n:e:n"],
        "num_edges_per_type": [text.count("\n")],
        "edges": {"n:e:n": {"format": {"name": "csv"}, "data": ["e.csv"]}},
    }
    (tmp_path / "metadata.json").write_text(json.dumps(metadata | content))
    return tmp_path


def parquet_feature(tmp_path: Path, *tables: pa.Table) -> tuple[DataSpec, tuple[InputFile, ...]]:
    paths = [str(tmp_path / f"{i}.parquet") for i in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        parquet.write_table(table, path)
    return feature_files("x", Files("parquet", " ", tuple(paths)))


# ------------------------------------------------------------------------------------------------------------ metadata


def test_a_path_the_system_cannot_hold_is_a_fault_of_the_metadata(tmp_path: Path) -> None:
    edges = {"n:e:n": {"format": {"name": "csv"}, "data": ["x" * 300]}}
    with pytest.raises(MetadataError, match=r"edges\.n:e:n\.data: no such file"):
        read_metadata(csv_graph(tmp_path, edges=edges))
    with pytest.raises(InputFileNotFoundError, match="no such file"):
        read_metadata(tmp_path / ("x" * 300))


# ----------------------------------------------------------------------------------------------------------------- csv


@pytest.mark.parametrize("text", ["1\t\t7\n", "\t5\t6\n", " \t5\t6\n", "1\t \t7\n"])
def test_no_column_takes_the_place_of_an_empty_one_between_tabs(text: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(text)
    with pytest.raises(InputFileError, match=r"e\.csv, row 0: not two integers"):
        Lines(str(tmp_path / "e.csv"), "\t", 0, len(text)).read(1, 0)


def test_lines_of_nothing_but_tabs_are_blank(tmp_path: Path) -> None:
    text = "\t\t\n1\t2\n\t\n"
    (tmp_path / "e.csv").write_text(text)
    lines = Lines(str(tmp_path / "e.csv"), "\t", 0, len(text))
    assert lines.count() == 1
    assert [end.tolist() for end in lines.read(1, 0)] == [[1], [2]]


@pytest.mark.parametrize(
    ("line", "words"), [("0 x", "not two integers"), ("0 500", "out of range"), ("7", "second column is missing")]
)
def test_the_row_of_a_fault_in_a_lazy_frame_is_counted_in_the_file(line: str, words: str, tmp_path: Path) -> None:
    graph: Graph = read_chunked(csv_graph(tmp_path, "0 1\n\n" + "0 1\n" * 99 + line + "\n"))
    frame = graph.edge_frame("n:e:n", blocksize="50B")
    assert frame.npartitions > 2
    with pytest.raises(InputFileError, match=rf"e\.csv, row 100: .*{words}"):
        frame.compute(scheduler="sync")


def test_rows_of_a_file_that_is_listed_twice_are_counted_anew() -> None:
    file = InputFile("e.csv", "csv", " ", None, 20)
    edges = LineEdges((file, file), tuple(cut_lines([file, file], 10)), (2, 3, 2, 3))
    assert [block.row_in_file for block in edges.blocks(1)] == [0, 2, 0, 2]
    assert [block.first_row for block in edges.blocks(1)] == [0, 2, 5, 7]


def test_a_csv_file_that_is_gone_is_named(tmp_path: Path) -> None:
    frame = read_chunked(csv_graph(tmp_path)).edges["n:e:n"]
    (tmp_path / "e.csv").unlink()
    with pytest.raises(InputFileNotFoundError, match=r"e\.csv"):
        frame.compute(scheduler="sync")


@pytest.mark.parametrize(("src_row", "dst_row", "first"), [(9, 2, 2), (2, 9, 2), (5, 5, 5)])
def test_the_first_row_out_of_range_is_named_whichever_its_end(src_row: int, dst_row: int, first: int) -> None:
    src, dst = np.zeros(10, np.int64), np.zeros(10, np.int64)
    src[src_row], dst[dst_row] = 500, -1
    with pytest.raises(InputFileError, match=f"row {30 + first}:"):
        check_ends(src, dst, EDGE_TYPE, 100, 100, file="e.npy", first_row=30)


# ------------------------------------------------------------------------------------------------------------- parquet


def read_and_measure(rows: FileRows) -> tuple[np.ndarray, int]:
    """Read sixteen rows; what pyarrow took at most for that, in bytes."""
    default, measured = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(measured)
    try:
        return rows.blocks(16)[0].read(), measured.max_memory()
    finally:
        pa.set_memory_pool(default)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_memory_of_a_block_of_wide_rows_does_not_follow_the_row_group(dtype: str, tmp_path: Path) -> None:
    width, num_rows = 1 << 12, 4_000  # one row group, of 16 MiB or more
    ends = pa.array(np.arange(num_rows + 1, dtype=np.int32) * width)
    values = np.tile(np.arange(width).astype(dtype), num_rows)
    spec, files = parquet_feature(tmp_path, pa.table({"x": pa.ListArray.from_arrays(ends, pa.array(values))}))
    rows, peak = read_and_measure(FileRows(files, spec))
    assert (rows == values[:width]).all()
    assert 0 < peak < 16 << 20


def test_memory_of_many_columns_does_not_follow_their_number(tmp_path: Path) -> None:
    rows = np.arange(4_000 * 2_000, dtype=np.float32).reshape(4_000, 2_000)
    spec, files = parquet_feature(tmp_path, pa.table({f"c{i}": rows[:, i] for i in range(rows.shape[1])}))
    found, peak = read_and_measure(FileRows(files, spec))
    assert (found == rows[: len(found)]).all()
    assert 0 < peak < 16 << 20


def test_lists_of_one_number_take_the_shape_of_the_key(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([[1.0], [2.0]])}).replace_schema_metadata({b"shape": b"(2,)"})
    spec, files = parquet_feature(tmp_path, table)
    assert spec.row_shape == ()
    assert FileRows(files, spec).read(0, 2).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 0)])
def test_a_file_of_lists_without_rows_takes_the_length_of_the_others(order: tuple[int, ...], tmp_path: Path) -> None:
    lists = pa.list_(pa.float32())
    tables = (pa.table({"x": pa.array([], lists)}), pa.table({"x": pa.array([[1, 2, 3]], lists)}))
    spec, files = parquet_feature(tmp_path, *(tables[i] for i in order))
    assert spec.row_shape == ((3,) if 1 in order else (0,))
    assert sum(block.read().shape[0] for block in FileRows(files, spec).blocks(9)) == sum(order)


def test_integers_are_not_rounded_to_floats(tmp_path: Path) -> None:
    table = pa.table({"a": np.array([2**63 + 1], np.uint64), "b": np.array([1], np.int64)})
    with pytest.raises(InputFileError, match=r"0\.parquet: columns have no common dtype.* found int64, uint64"):
        parquet_feature(tmp_path, table)


@pytest.mark.parametrize("data_format", ["numpy", "parquet"])
@pytest.mark.parametrize("dtype", [">f4", ">i8", "<f4", "bool"])
def test_rows_of_any_byte_order_are_written(dtype: str, data_format: str, tmp_path: Path) -> None:
    rows = np.arange(12).reshape(4, 3).astype(dtype)
    write_file(tmp_path / "x", data_format, DataSpec("x", rows.dtype, (3,)), 4, [rows[:1], rows[1:]])
    spec, files = feature_files("x", Files(data_format, " ", (str(tmp_path / "x"),)))
    np.testing.assert_array_equal(FileRows(files, spec).read(0, 4), rows)


# ---------------------------------------------------------------------------------------------------------------- lazy


def test_asking_whether_a_name_is_there_builds_nothing() -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} was built")

    lazy = LazyMapping("edge type", ("n:e:n",), refuse)
    assert "n:e:n" in lazy
    assert "a:b:c" not in lazy


@pytest.mark.parametrize(
    ("num_edges", "num_rows", "advice"),
    [(3, 2, "Check the number of nodes, or rows of their features"), (0, 0, "Check the input: it has no nodes")],
)
def test_advice_on_graphs_in_memory_can_be_followed(num_edges: int, num_rows: int, advice: str, tmp_path: Path) -> None:
    ends = np.arange(num_edges)
    graph = dgp.from_edges((ends, ends), node_data={"_N": {"x": np.zeros(num_rows)}})
    with pytest.raises(GraphPartError, match=advice):
        dgp.partition(graph, tmp_path / "out", 2, method="metis", progress=False)
