"""Bad input: one clear error with file and row or key, exit code 2, no output that looks whole, the input untouched."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from commands import call
from graphs import Graph, file_hashes
from pyarrow import parquet

from daskgraphpart.schema import EdgeType, GraphSchema, NodeType

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NUM_NODES, NUM_EDGES = 20, 50
ETYPE = "n:e:n"


def write_graph(directory: Path, form: str = "csv") -> Path:
    rng = np.random.default_rng(0)
    schema = GraphSchema("g", (NodeType("n", NUM_NODES),), (EdgeType("n", "e", "n", NUM_EDGES),))
    edges = {ETYPE: (rng.integers(0, NUM_NODES, NUM_EDGES), rng.integers(0, NUM_NODES, NUM_EDGES))}
    data_format = "parquet" if form == "parquet" else "numpy"
    features = {"n": {"x": rng.random((NUM_NODES, 3)).astype("f4")}}
    return Graph(schema, edges, features).write(directory, edge_format=form, data_format=data_format, num_chunks=2)


def edit_metadata(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = directory / "metadata.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def expect_error(
    capsys: pytest.CaptureFixture[str], directory: Path, *words: str, arguments: tuple[str | Path, ...] = ()
) -> None:
    out = directory.parent / "out"
    before = file_hashes(directory)
    code = call("partition", directory, out, "--num-parts", "2", "--quiet", *arguments)
    message = capsys.readouterr().err
    assert code == 2, message
    assert "Traceback" not in message
    assert message.count("error:") == 1
    for word in words:
        assert word in message, message
    assert file_hashes(directory) == before
    if out.exists():
        assert not [path for path in out.rglob("*") if path.is_file()]


def edit_csv(directory: Path, row: int, line: str) -> None:
    path = directory / "edges" / "0-1.csv"
    lines = path.read_text().splitlines()
    lines[row] = line
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("row", [0, 13, 24])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("20 0", ("'n' node out of range", "[0, 20)", "found 20", "num_nodes_per_type")),
        ("0 -1", ("out of range", "found -1")),
        ("3.5 1", ("not two integers", "'3.5 1'", "not floats")),
        ("nan 1", ("not two integers", "'nan 1'")),
        ("1,2", ("delimiter ' '", "','")),
        ('"1" "2"', ("remove the quotes",)),
        ("7", ("second column is missing", "'7'")),
        ("7 x", ("not two integers", "'7 x'")),
        ("1 99999999999999999999", ("integer too large",)),
        ("1 2x", ("not two integers",)),
        ("\uff11 2", ("ASCII",)),
    ],
)
def test_a_bad_line_of_csv_is_named(
    row: int, line: str, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in")
    edit_csv(graph, row, line)
    expect_error(capsys, graph, "edges/0-1.csv", f"row {row}", *words)


def test_a_header_line_is_recognised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in")
    edit_csv(graph, 0, "src dst")
    expect_error(capsys, graph, "edges/0-1.csv", "row 0", "header", "remove")


def test_an_extra_line_is_a_wrong_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in")
    path = graph / "edges" / "0-0.csv"
    path.write_text(path.read_text() + "1 2\n")
    expect_error(capsys, graph, f"edges.{ETYPE}", "expected 50 edges", "found 51 lines", "num_edges_per_type")


@pytest.mark.parametrize("form", ["numpy", "parquet"])
@pytest.mark.parametrize(("row", "value"), [(0, 20), (24, -1)])
def test_an_id_out_of_range_in_binary_files_is_named(
    form: str, row: int, value: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in", form)
    if form == "numpy":
        path = graph / "edges" / "0-1.npy"
        rows = np.load(path)
        rows[row, 1] = value
        np.save(path, rows)
    else:
        path = graph / "edges" / "0-1.parquet"
        table = parquet.read_table(path)
        dst = table["dst"].to_numpy().copy()
        dst[row] = value
        parquet.write_table(pa.table({"src": table["src"], "dst": dst}), path)
    expect_error(capsys, graph, str(path), f"row {row}", "[0, 20)", f"found {value}")


@pytest.mark.parametrize("dtype", ["f8", "u8", "?"])
@pytest.mark.parametrize("form", ["numpy", "parquet"])
def test_edges_that_are_not_integers_are_refused(
    dtype: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in", form)
    rows = np.zeros((25, 2), dtype)
    if form == "numpy":
        np.save(graph / "edges" / "0-0.npy", rows)
    else:
        parquet.write_table(pa.table({"src": rows[:, 0], "dst": rows[:, 1]}), graph / "edges" / "0-0.parquet")
    expect_error(capsys, graph, "edges/0-0", "not integers", str(np.dtype(dtype)))


def test_parquet_edges_need_two_columns_and_no_nulls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    path = graph / "edges" / "0-0.parquet"
    parquet.write_table(pa.table({"a": [1] * 25, "b": [1] * 25, "c": [1] * 25}), path)
    expect_error(capsys, graph, "0-0.parquet", "columns src and dst")
    parquet.write_table(pa.table({"src": [1] * 25, "dst": [*[1] * 7, None, *[1] * 17]}), path)
    expect_error(capsys, graph, "0-0.parquet", "row 7", "null")


@pytest.mark.parametrize("name", ["edges/0-0.npy", "node_data/0-0-1.npy"])
def test_a_truncated_npy_file_is_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in", "numpy")
    path = graph / name
    path.write_bytes(path.read_bytes()[:-1])
    expect_error(capsys, graph, name, "truncated", f"expected {path.stat().st_size + 1:,} bytes")


@pytest.mark.parametrize("name", ["edges/0-0.parquet", "node_data/0-0-1.parquet"])
@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_truncated_parquet_file_is_named(
    name: str, keep: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    path = graph / name
    path.write_bytes(path.read_bytes()[:keep])
    expect_error(capsys, graph, name, "not a readable parquet file")


def test_damage_inside_parquet_is_an_error_of_that_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    path = graph / "edges" / "0-0.parquet"
    content = bytearray(path.read_bytes())
    content[4:60] = b"\xff" * 56
    path.write_bytes(content)
    expect_error(capsys, graph, "0-0.parquet")


def test_objects_strings_and_pickles_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in", "numpy")
    path = graph / "node_data" / "0-0-0.npy"
    np.save(path, np.array([{}] * 10, object), allow_pickle=True)
    expect_error(capsys, graph, "0-0-0.npy", "plain numbers")
    np.save(path, np.array(["a"] * 10))
    expect_error(capsys, graph, "0-0-0.npy", "plain numbers")
    path.write_bytes(b"not npy at all")
    expect_error(capsys, graph, "0-0-0.npy", "not a readable npy file")


def test_files_of_a_feature_must_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in", "numpy")
    path = graph / "node_data" / "0-0-1.npy"
    rows = np.load(path)
    np.save(path, rows.astype("f8"))
    expect_error(capsys, graph, "0-0-1.npy", "float32", "found float64")
    np.save(path, rows[:, :2])
    expect_error(capsys, graph, "0-0-1.npy", "(3,)", "(2,)")
    np.save(path, rows.astype("c8"))
    expect_error(capsys, graph, "0-0-1.npy")


def test_a_feature_with_too_few_rows_is_a_wrong_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in", "numpy")
    path = graph / "node_data" / "0-0-1.npy"
    np.save(path, np.load(path)[:-1])
    expect_error(capsys, graph, "node_data.n.x", "expected 20 rows", "found 19")


def test_dtypes_dgl_cannot_load_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in", "numpy")
    for chunk in range(2):
        np.save(graph / "node_data" / f"0-0-{chunk}.npy", np.zeros((10, 3), "u4"))
    expect_error(capsys, graph, "0-0-0.npy", "uint32", "convert")


def test_lists_of_other_lengths_are_named_by_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    rows = [[1.0, 2.0, 3.0]] * 10
    rows[4] = [1.0]
    column = pa.array(rows, pa.list_(pa.float32()))
    parquet.write_table(pa.table({"data": column}), graph / "node_data" / "0-0-1.parquet")
    expect_error(capsys, graph, "0-0-1.parquet", "row 4", "3 values", "found 1")


@pytest.mark.parametrize("shape", [b"__import__('os').system('true')", b"(10, 3", b"(11, 3)", b"(10, -3)", b"ten"])
def test_the_shape_key_of_parquet_is_parsed_not_evaluated(
    shape: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    path = graph / "node_data" / "0-0-1.parquet"
    parquet.write_table(parquet.read_table(path).replace_schema_metadata({b"shape": shape}), path)
    expect_error(capsys, graph, "0-0-1.parquet", "bad key 'shape'")


def test_missing_files_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in")
    (graph / "edges" / "0-0.csv").unlink()
    (graph / "node_data" / "0-0-1.npy").unlink()
    expect_error(
        capsys, graph, "2 things are wrong", "0-0.csv", "0-0-1.npy", f"edges.{ETYPE}.data", "node_data.n.x.data"
    )


def test_no_graph_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    expect_error(capsys, tmp_path / "in", "metadata.json", "no such file")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"n.txt": "0\n" * 19}, ("n.txt", "expected 20", "found 19")),
        ({"n.txt": "0\n" * 21}, ("n.txt", "found 21")),
        ({"n.txt": "0\n" * 6 + "2\n" + "0\n" * 13}, ("n.txt", "row 6", "[0, 2)", "found 2")),
        ({"n.txt": "part\n" + "0\n" * 20}, ("n.txt", "not one integer per line")),
        ({"n.txt": "0.5\n" * 20}, ("n.txt", "not one integer per line")),
        ({"m.txt": "0\n" * 20}, ("no owners for node type 'n'", "n.txt")),
        ({"n.txt": "0\n" * 20, "n.parquet": ""}, ("several forms", "keep one")),
    ],
)
def test_a_bad_assignment_is_named(
    files: dict[str, str], words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    owners.mkdir()
    for name, text in files.items():
        (owners / name).write_text(text)
    (owners / "partition_meta.json").write_text('{"version": "1.0.0", "num_parts": 2, "algo_name": "random"}')
    expect_error(capsys, graph, *words, arguments=("--method", owners))


@pytest.mark.parametrize(
    ("array", "word"),
    [
        (np.zeros(19, int), "found 19"),
        (np.full(20, 5), "row 0"),
        (np.full(20, -1), "found -1"),
        (np.zeros(20), "integers"),
        (np.zeros((20, 1), int), "one-dimensional"),
    ],
)
def test_a_bad_binary_assignment_is_named(
    array: np.ndarray, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    owners.mkdir()
    np.save(owners / "n.npy", array)
    expect_error(capsys, graph, "n.npy", word, arguments=("--method", owners))


def test_an_assignment_to_another_number_of_parts_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    assert call("assign", graph, owners, "--num-parts", "3", "--quiet") == 0
    expect_error(capsys, graph, "partition_meta.json", "expected 2", "found 3", arguments=("--method", owners))


def test_text_changed_after_its_binary_form_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    assert call("assign", graph, owners, "--num-parts", "2", "--quiet") == 0
    text = (owners / "n.txt").read_text()
    (owners / "n.txt").write_text(text.translate(str.maketrans("01", "10")))
    expect_error(capsys, graph, "n.txt", "changed", "delete n.npy", arguments=("--method", owners))


def test_an_output_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    assert call("partition", graph, out, "--num-parts", "2", "--quiet") == 0
    before = file_hashes(out)
    assert call("partition", graph, out, "--num-parts", "3", "--quiet") == 2
    assert "--overwrite" in capsys.readouterr().err
    assert file_hashes(out) == before
    (out / "notes.txt").write_text("mine")
    assert call("partition", graph, out, "--num-parts", "3", "--quiet", "--overwrite") == 0
    assert (out / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in out.glob("part*")) == ["part0", "part1", "part2"]


def test_the_output_cannot_be_where_the_input_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "a" / "in")
    before = file_hashes(graph)
    for out in (graph, tmp_path / "a"):
        assert call("partition", graph, out, "--num-parts", "2", "--overwrite", "--quiet") == 2
        assert "holds the input" in capsys.readouterr().err
    assert file_hashes(graph) == before


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--num-parts", "0"), "1 to 65,535"),
        (("--num-parts", "2", "--memory", "1MB"), "at least"),
        (("--num-parts", "2", "--memory", "lots"), "not a size"),
        (("--num-parts", "2", "--graph-formats", "coo,coo"), "each once"),
        (("--num-parts", "2", "--graph-formats", "dense"), "coo, csr, csc"),
        (("--num-parts", "2", "--method", "magic"), "random or a directory"),
        (("--num-parts", "2", "--cluster", "cloud"), "unknown cluster"),
        (("--num-parts", "2", "--num-hops", "0"), "num-hops"),
        (("--num-parts", "two"), "num-parts"),
        ((), "--num-parts"),
    ],
)
def test_a_bad_option_is_named(
    arguments: tuple[str, ...], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in")
    assert call("partition", graph, tmp_path / "out", "--quiet", *arguments) == 2
    message = capsys.readouterr().err
    assert word in message
    assert "Traceback" not in message
    assert not (tmp_path / "out" / "g.json").exists()


# ------------------------------------------------------------------------------------------------------ edges, features


@pytest.mark.parametrize(
    "rows",
    [np.zeros((25, 3), int), np.zeros(50, int), np.zeros((25, 2), "M8[s]"), np.zeros((25, 2), "c8"), np.int64(3)],
)
def test_npy_that_is_not_two_columns_of_integers_is_refused(
    rows: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in", "numpy")
    np.save(graph / "edges" / "0-0.npy", rows)
    expect_error(capsys, graph, "edges/0-0.npy", "found")


@pytest.mark.parametrize("form", ["numpy", "parquet"])
def test_a_wrong_number_of_edges_is_named_by_its_key(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in", form)
    edit_metadata(graph, lambda content: (content.pop("num_edges_per_chunk"), content.update(num_edges_per_type=[51])))
    expect_error(capsys, graph, "metadata.json", f"edges.{ETYPE}", "expected 51 rows", "found 50 in 2 files")


def test_a_missing_line_of_csv_is_a_wrong_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in")
    edit_csv(graph, 24, "")
    expect_error(capsys, graph, f"edges.{ETYPE}", "expected 50 edges", "found 49 lines")


def test_all_edges_of_another_delimiter_are_one_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in")
    edit_metadata(graph, lambda content: content["edges"][ETYPE]["format"].update(delimiter=";"))
    expect_error(capsys, graph, "edges/0-", "row 0", "declares the delimiter ';'", "has ' '")


@pytest.mark.parametrize(("bytes_", "word"), [(b"\xef\xbb\xbf1 2", "ASCII"), (b"0x1 2", "'0x1 2'"), (b"\0 1", "row 3")])
def test_lines_that_are_not_plain_text_are_named(
    bytes_: bytes, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in")
    path = graph / "edges" / "0-0.csv"
    lines = path.read_bytes().split(b"\n")
    lines[3] = bytes_
    path.write_bytes(b"\n".join(lines))
    expect_error(capsys, graph, "edges/0-0.csv", "row 3", "not two integers", word)


def test_a_file_without_newlines_is_not_read_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in")
    (graph / "edges" / "0-0.csv").write_bytes(b"a" * (25 << 20))
    expect_error(capsys, graph, "edges/0-0.csv", "line without end", arguments=("--memory", "32MB"))


def table_of(**columns: Any) -> pa.Table:
    return pa.table(columns)


@pytest.mark.parametrize(
    ("table", "word"),
    [
        (table_of(src=["a"] * 25, dst=[1] * 25), "'src' does not hold numbers"),
        (table_of(src=[[1]] * 25, dst=[1] * 25), "'src' does not hold numbers"),
        (table_of(src=pa.nulls(25), dst=[1] * 25), "'src' does not hold numbers"),
        (table_of(src=[1] * 25), "columns src and dst"),
        (table_of(), "columns src and dst"),
        (pa.Table.from_arrays([pa.array([1] * 25)] * 2, names=["a", "a"]), "columns src and dst"),
    ],
)
def test_parquet_that_is_not_two_columns_of_integers_is_refused(
    table: pa.Table, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    parquet.write_table(table, graph / "edges" / "0-0.parquet")
    expect_error(capsys, graph, "edges/0-0.parquet", word)


@pytest.mark.parametrize(
    "table",
    [
        table_of(x=["a"] * 10),
        table_of(x=[{"a": 1}] * 10),
        table_of(x=[[[1.0]]] * 10),
        table_of(x=[[1.0]] * 10, y=[[1.0]] * 10),
        table_of(x=pa.array([1] * 10, pa.decimal128(5))),
        table_of(x=pa.array([1] * 10, pa.date32())),
        table_of(),
    ],
)
def test_parquet_features_that_are_not_numbers_are_refused(
    table: pa.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    parquet.write_table(table, graph / "node_data" / "0-0-0.parquet")
    expect_error(capsys, graph, "node_data/0-0-0.parquet")


def test_files_of_different_dtypes_are_refused_in_parquet_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in", "parquet")
    column = pa.array([[1.0, 2.0, 3.0]] * 10, pa.list_(pa.float64()))
    parquet.write_table(pa.table({"data": column}), graph / "node_data" / "0-0-1.parquet")
    expect_error(capsys, graph, "node_data/0-0-1.parquet", "'x'", "float32", "found float64")


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<i8', 'fortran_order': False, 'shape': (%d, 2), }" % 2**70,
        b"{'descr': '<i8', 'fortran_order': False, 'shape': (-25, 2), }",
        b"{'descr': 'zz', 'fortran_order': False, 'shape': (25, 2), }",
        b"{'descr': '<i8'",
        b"\0" * 10,
        b"(" * 60_000,
    ],
)
def test_a_damaged_npy_header_is_an_error_of_that_file(
    header: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = write_graph(tmp_path / "in", "numpy")
    content = b"\x93NUMPY\x01\0" + (len(header) + 1).to_bytes(2, "little") + header + b"\n" + b"\0" * 400
    (graph / "edges" / "0-0.npy").write_bytes(content)
    expect_error(capsys, graph, "edges/0-0.npy")


# ----------------------------------------------------------------------------------------------------------- assignment


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (table_of(a=[0] * 20, b=[0] * 20), ("one column of integers",)),
        (table_of(a=[0.0] * 20), ("one column of integers",)),
        (table_of(a=[*[0] * 19, None]), ("owners are missing", "1 nulls")),
        (table_of(a=[*[0] * 19, 2]), ("row 19", "[0, 2)", "found 2")),
        (table_of(a=[0] * 21), ("expected 20", "found 21")),
        (b"PAR1", ("not a readable parquet file",)),
    ],
)
def test_a_bad_parquet_assignment_is_named(
    table: pa.Table | bytes, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    owners.mkdir()
    if isinstance(table, bytes):
        (owners / "n.parquet").write_bytes(table)
    else:
        parquet.write_table(table, owners / "n.parquet")
    expect_error(capsys, graph, "n.parquet", *words, arguments=("--method", owners))


@pytest.mark.parametrize("content", ["", "{", "{}"])
def test_a_zarr_assignment_that_is_no_array_is_named(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    (owners / "n.zarr").mkdir(parents=True)
    if content:
        (owners / "n.zarr" / "zarr.json").write_text(content)
    expect_error(capsys, graph, "n.zarr", "not a readable zarr array", arguments=("--method", owners))


@pytest.mark.parametrize("text", ["{", "[]", '{"num_parts": "2"}', '{"num_parts": true}', '{"num_parts": 0}', "{}x"])
def test_bad_metadata_of_an_assignment_are_named(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    owners.mkdir()
    (owners / "n.txt").write_text("0\n" * 20)
    (owners / "partition_meta.json").write_text(text)
    expect_error(capsys, graph, "partition_meta.json", arguments=("--method", owners))


def test_a_failed_assignment_leaves_no_metadata(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    for arguments in (("--num-parts", "0"), ("--num-parts", "2", "--method", "magic")):
        assert call("assign", graph, owners, "--quiet", *arguments) == 2
        assert not [path for path in owners.rglob("*") if path.is_file()]
    assert "Traceback" not in capsys.readouterr().err


# -------------------------------------------------------------------------------------------------------------- options


def test_the_memory_that_is_asked_for_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in")
    expect_error(capsys, graph, "--memory", "found 1.0 MB", "give --memory", arguments=("--memory", "1MB"))
    assert call("partition", graph, tmp_path / "out", "--num-parts", "2", "--memory", "1MB", "--quiet") == 2
    smallest = capsys.readouterr().err.split("give --memory ")[1].split()[0]
    assert call("partition", graph, tmp_path / "out", "--num-parts", "2", "--memory", smallest, "--quiet") == 0


def test_an_output_that_is_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "file"
    out.write_text("mine")
    assert call("partition", graph, out, "--num-parts", "2", "--overwrite", "--quiet") == 2
    assert "the output is a file" in capsys.readouterr().err
    assert out.read_text() == "mine"


def test_an_output_reached_by_a_link_cannot_be_the_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, link = write_graph(tmp_path / "in"), tmp_path / "link"
    link.symlink_to(graph)
    before = file_hashes(graph)
    for source, out in ((graph, link), (link, graph)):
        assert call("partition", source, out, "--num-parts", "2", "--overwrite", "--quiet") == 2
        assert "holds the input" in capsys.readouterr().err
    assert file_hashes(graph) == before


def test_an_output_inside_the_input_leaves_the_input_as_it_was(tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in")
    before = file_hashes(graph)
    assert call("partition", graph, graph / "parts", "--num-parts", "2", "--quiet") == 0
    assert {name: value for name, value in file_hashes(graph).items() if not name.startswith("parts/")} == before


def test_a_run_that_fails_over_older_partitions_leaves_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, out = write_graph(tmp_path / "in"), tmp_path / "out"
    assert call("partition", graph, out, "--num-parts", "2", "--quiet") == 0
    edit_csv(graph, 0, "x y")
    expect_error(capsys, graph, "edges/0-1.csv", "row 0", arguments=("--overwrite",))
    assert not list(out.rglob("part*"))


# ------------------------------------------------------------------------------------------ known faults of the package


def test_input_files_in_the_output_directory_are_not_deleted(tmp_path: Path) -> None:
    data = write_graph(tmp_path / "data" / "part0")
    content = json.loads((data / "metadata.json").read_text())
    for entry in (content["edges"][ETYPE], content["node_data"]["n"]["x"]):
        entry["data"] = [str(data / path) for path in entry["data"]]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "metadata.json").write_text(json.dumps(content))
    before = file_hashes(data)
    call("partition", tmp_path / "in", tmp_path / "data", "--num-parts", "2", "--overwrite", "--quiet")
    after = file_hashes(data) if data.exists() else {}
    assert before.items() <= after.items()


def test_owners_in_the_output_directory_are_not_deleted(tmp_path: Path) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "out" / "part0"
    assert call("assign", graph, owners, "--num-parts", "2", "--quiet") == 0
    before = file_hashes(owners)
    call("dispatch", graph, owners, tmp_path / "out", "--overwrite", "--quiet")
    assert owners.exists() and file_hashes(owners) == before


def test_assign_does_not_overwrite_the_input(tmp_path: Path) -> None:
    graph = write_graph(tmp_path / "in")
    (graph / "node_data" / "0-0-0.npy").rename(graph / "n.npy")
    edit_metadata(graph, lambda content: content["node_data"]["n"]["x"].update(data=["n.npy", "node_data/0-0-1.npy"]))
    before = file_hashes(graph)
    call("assign", graph, graph, "--num-parts", "2", "--quiet")
    assert before.items() <= file_hashes(graph).items()


def test_a_damaged_chunk_of_a_zarr_assignment_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    assert call("assign", graph, owners, "--num-parts", "2", "--form", "zarr", "--quiet") == 0
    (owners / "n.txt").unlink()
    for path in (owners / "n.zarr" / "c").iterdir():
        path.write_bytes(b"xx")
    expect_error(capsys, graph, "n.zarr", arguments=("--method", owners))


def test_a_text_assignment_that_is_a_directory_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    (owners / "n.txt").mkdir(parents=True)
    expect_error(capsys, graph, "n.txt", arguments=("--method", owners))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--memory", "1e999GB"), "--memory"),
        (("--cluster", "foo:bar"), "foo:bar"),
        (("--workspace", "file/below"), "file"),
    ],
)
def test_an_impossible_option_is_a_mistake_of_usage(
    arguments: tuple[str, ...],
    word: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = write_graph(tmp_path / "in")
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    expect_error(capsys, graph, word, arguments=arguments)


@pytest.mark.parametrize("command", ["partition", "assign"])
def test_an_output_below_a_file_is_refused(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = write_graph(tmp_path / "in")
    (tmp_path / "file").write_text("mine")
    code = call(command, graph, tmp_path / "file" / "below", "--num-parts", "2", "--quiet")
    assert code in (2, 3)
    assert str(tmp_path / "file") in capsys.readouterr().err


@pytest.mark.parametrize(("meta", "ips"), [("{", b"a\n"), ("[]", b"a\n"), ('{"num_parts": 2}', b"\xff\n")])
def test_ip_config_beside_bad_files_is_one_error(
    meta: str, ips: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    assert call("assign", graph, owners, "--num-parts", "2", "--quiet") == 0
    (owners / "partition_meta.json").write_text(meta)
    (tmp_path / "ips.txt").write_bytes(ips)
    out = tmp_path / "out"
    assert call("dispatch", graph, owners, out, "--ip-config", tmp_path / "ips.txt", "--quiet") in (0, 2)


def test_lost_chunks_of_a_zarr_assignment_are_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    assert call("assign", graph, owners, "--num-parts", "2", "--form", "zarr", "--quiet") == 0
    shutil.rmtree(owners / "n.zarr" / "c")
    expect_error(capsys, graph, "n.zarr", arguments=("--method", owners))


def test_a_binary_form_changed_after_its_text_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, owners = write_graph(tmp_path / "in"), tmp_path / "owners"
    assert call("assign", graph, owners, "--num-parts", "2", "--quiet") == 0
    np.save(owners / "n.npy", 1 - np.load(owners / "n.npy"))
    expect_error(capsys, graph, "n.npy", arguments=("--method", owners))
