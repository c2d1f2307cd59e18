"""IDs and values that are easily misread: they are refused, and what the error advises leads to the right graph."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from edge_lists import DEFAULT, chunk, edges_of, originals
from listeners import Listener
from pyarrow import parquet

import daskgraphpart as dgp
from daskgraphpart import read_chunked
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path


def feature(out: Path, name: str, ntype: str | None = "_N") -> np.ndarray:
    graph = read_chunked(out)
    data = graph.edge_data[DEFAULT] if ntype is None else graph.node_data[ntype]
    values: np.ndarray = data[name].compute(scheduler="sync")
    return values


def test_ids_that_pandas_wrote_as_floats_are_the_integers_of_other_tables(tmp_path: Path) -> None:
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    edges.write_text("src,dst\n1.0,2\n,3\n3.0,1\n")
    nodes.write_text("id,age\n3,30\n1,10\n2,20\n")
    options: dict[str, Any] = {"nodes": {"_N": f"{nodes}:id"}, "node_data": {"age": f"{nodes}:age"}, "map_ids": True}
    with pytest.raises(InputFileError, match=r"or integers such as 7, 07 and 7\.0 by id_type integer"):
        chunk(tmp_path / "auto", edges, missing_ids="drop", **options)
    out = chunk(tmp_path / "out", edges, missing_ids="drop", id_type="integer", **options)
    assert originals(out) == [1, 2, 3]
    np.testing.assert_array_equal(edges_of(out), [[0, 2], [1, 0]])
    assert feature(out, "age").tolist() == [10, 20, 30]


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([Decimal(90071992547409930), Decimal(90071992547409931)], pa.decimal128(38, 10)),
        pa.array([2.0**53, 1.0]),
        pa.array([2.0**24, 1.0], pa.float32()),
        pa.array([1.5, 1.0]),
        pa.array([1e300, 1.0]),
    ],
)
@pytest.mark.parametrize("id_type", ["auto", "string"])
def test_floats_that_may_stand_for_several_ids_are_refused(ids: Any, id_type: str, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"src": ids, "dst": [1, 2]}), tmp_path / "e.parquet")
    with pytest.raises(InputFileError) as raised:
        chunk(tmp_path / "out", tmp_path / "e.parquet", map_ids=True, id_type=id_type)
    assert "e.parquet, row 0, column 'src'" in str(raised.value)
    assert "Write IDs as integers or strings: floats are IDs if whole and below 2^53, or 2^24 of 32 bits" in str(
        raised.value
    )


@pytest.mark.parametrize("word", ["NA", "null", "nan", "NaN"])
@pytest.mark.parametrize("map_ids", [True, False])
def test_words_for_missing_ids_among_integers_are_dropped_as_advised(word: str, map_ids: bool, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"src,dst\n1,0\n{word},2\n2,1\n")
    with pytest.raises(
        InputFileError, match=f"line 3, column 'src': ID is missing: .* by missing_ids drop. Or if {word}"
    ):
        chunk(tmp_path / "refused", tmp_path / "e.csv", map_ids=map_ids)
    out = chunk(tmp_path / "out", tmp_path / "e.csv", map_ids=map_ids, missing_ids="drop")
    np.testing.assert_array_equal(edges_of(out), [[1, 2], [0, 1]])


@pytest.mark.parametrize("id_type", ["auto", "integer", "string"])
def test_floats_that_are_nan_are_missing_ids(id_type: str, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"src": [1.0, float("nan")], "dst": [1, 2]}), tmp_path / "e.parquet")
    with pytest.raises(InputFileError, match=r"row 1, column 'src': ID is missing: .* by missing_ids drop\.$"):
        chunk(tmp_path / "refused", tmp_path / "e.parquet", map_ids=True, id_type=id_type)
    out = chunk(tmp_path / "out", tmp_path / "e.parquet", map_ids=True, id_type=id_type, missing_ids="drop")
    assert originals(out) == ([1] if id_type != "string" else ["1"])


@pytest.mark.parametrize("id_type", ["auto", "string"])
def test_bytes_that_are_no_text_are_told_to_be_written_as_text(id_type: str, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"src": [b"\xff"], "dst": [b"a"]}), tmp_path / "e.parquet")
    with pytest.raises(InputFileError, match="Write IDs as UTF-8 text"):
        chunk(tmp_path / "out", tmp_path / "e.parquet", map_ids=True, id_type=id_type)


def test_a_header_within_a_file_is_refused_among_integers_and_told_among_strings(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\n1,2\nsrc,dst\n2,0\n")
    with pytest.raises(
        InputFileError, match=r"line 3, column 'src': .*Remove this line, if it is the header once more"
    ):
        chunk(tmp_path / "out", tmp_path / "e.csv")
    (tmp_path / "e.csv").write_text("src,dst\na,b\nsrc,dst\nb,c\n")
    listener = Listener()
    chunk(tmp_path / "out", tmp_path / "e.csv", progress=listener)
    assert any("1 edge from 'src' to 'dst', as the columns are named" in note for note in listener.lines)


@pytest.mark.parametrize("word", ["NA", "nan", "null", "\\N"])
def test_a_missing_value_above_numbers_is_no_header(word: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    (tmp_path / "label.csv").write_text(f"{word}\n5\n6\n7\n")
    options: dict[str, Any] = {"node_data": {"label": tmp_path / "label.csv"}, "fill": {"label": -1}}
    labels = feature(chunk(tmp_path / "out", tmp_path / "e.csv", **options), "label")
    np.testing.assert_array_equal(labels, [np.nan if word == "nan" else -1, 5, 6, 7])


def test_lists_without_numbers_are_vectors_of_width_0(tmp_path: Path) -> None:
    lists = pa.array([[], []], pa.list_(pa.int64()))
    parquet.write_table(pa.table({"src": [0, 1], "dst": [1, 0], "none": lists}), tmp_path / "e.parquet")
    out = chunk(tmp_path / "out", tmp_path / "e.parquet", edge_features=("none",))
    assert feature(out, "none", None).shape == (2, 0)


def test_a_vector_that_lacks_a_number_is_filled_as_advised(tmp_path: Path) -> None:
    lists = pa.array([[1, 2], [3, None]], pa.list_(pa.int64()))
    parquet.write_table(pa.table({"src": [0, 1], "dst": [1, 0], "v": lists}), tmp_path / "e.parquet")
    with pytest.raises(InputFileError, match=r"found '\[3, None\]'\. Give missing numbers a value by fill v=VALUE"):
        chunk(tmp_path / "refused", tmp_path / "e.parquet", edge_features=("v",))
    out = chunk(tmp_path / "out", tmp_path / "e.parquet", edge_features=("v",), fill={"v": 7})
    assert feature(out, "v", None).tolist() == [[1, 2], [3, 7]]


def test_a_mask_with_a_value_per_node_is_no_list_of_ids(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n1,2\n2,3\n")
    np.save(tmp_path / "mask.npy", np.array([1, 0, 0, 1], np.uint8))
    with pytest.raises(InputFileError, match=r"lists nothing but 0 and 1: .* node_data _N/train_mask=FILE"):
        chunk(tmp_path / "refused", tmp_path / "e.csv", masks={"train_mask": tmp_path / "mask.npy"})
    out = chunk(tmp_path / "out", tmp_path / "e.csv", node_data={"_N": {"train_mask": tmp_path / "mask.npy"}})
    assert feature(out, "train_mask").tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("form", ["frame", "ipc"])
def test_categories_of_polars_are_strings(form: str, tmp_path: Path) -> None:
    kinds = {"src": pl.Categorical, "dst": pl.Enum(["x", "y"]), "kind": pl.Categorical}
    frame = pl.DataFrame({"src": ["b", "a"], "dst": ["x", "y"], "kind": ["q", "p"]}, schema_overrides=kinds)
    frame.write_ipc(tmp_path / "e.arrow")
    table: Any = frame if form == "frame" else tmp_path / "e.arrow"
    graph = dgp.scan_tables({"u:r:v": table}, map_ids=True, edge_features={"u:r:v": "kind"})
    graph.write_chunked(out := tmp_path / "out")
    np.testing.assert_array_equal(edges_of(out, "u:r:v"), [[1, 0], [0, 1]])
    assert (originals(out, "u"), originals(out, "v")) == (["a", "b"], ["x", "y"])
    assert read_chunked(out).edge_data["u:r:v"]["kind"].compute(scheduler="sync").tolist() == [1, 0]


@pytest.mark.parametrize(("given", "kept"), [(np.uint16, np.int32), (np.uint32, np.int64)])
def test_unsigned_numbers_that_dgl_cannot_load_are_widened(given: type, kept: type, tmp_path: Path) -> None:
    most = int(np.iinfo(given).max)
    kind = pa.from_numpy_dtype(given)
    values = {"w": pa.array([0, most, None], kind), "v": pa.array([[0, 1], [most, 2], None], pa.list_(kind))}
    parquet.write_table(pa.table({"src": [0, 1, 2], "dst": [1, 2, 0], **values}), tmp_path / "e.parquet")
    out = chunk(tmp_path / "out", tmp_path / "e.parquet", edge_features=("w", "v"), fill=3)
    assert [feature(out, name, None).dtype for name in ("w", "v")] == [kept, kept]
    assert feature(out, "w", None).tolist() == [0, most, 3]
    assert feature(out, "v", None).tolist() == [[0, 1], [most, 2], [3, 3]]


def test_strings_that_a_fill_value_without_a_name_does_not_fill_are_told(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst,kind,w\n0,1,x,1\n1,0,,\n")
    listener, named = Listener(), Listener()
    columns = ("kind", "w")
    chunk(tmp_path / "all", tmp_path / "e.csv", edge_features=columns, fill=7, progress=listener)
    assert any("1 missing value, as -1, since a fill value for all features" in note for note in listener.lines)
    chunk(tmp_path / "named", tmp_path / "e.csv", edge_features=columns, fill={"kind": "x", "w": 7}, progress=named)
    assert any(note.endswith("1 missing value, as 0") for note in named.lines)


def test_a_file_that_is_given_twice_is_told(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst,a,b\n0,1,2,3\n")
    twice, columns = Listener(), Listener()
    path = str(tmp_path / "e.csv")
    chunk(tmp_path / "twice", [path, path], progress=twice)
    assert f"{path}: given and read 2 times" in twice.lines
    chunk(tmp_path / "columns", [f"{path}:src,dst", f"{path}:a,b"], progress=columns)
    assert not any("2 times" in note for note in columns.lines)
