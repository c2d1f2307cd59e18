"""What tables lack is told at one time, with what to type; rows without an ID are left out if that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from bad_input.judge import refused
from edge_lists import DEFAULT, chunk, edges_of, originals
from listeners import Listener
from pyarrow import parquet

from daskgraphpart import GraphPartError, read_chunked
from daskgraphpart.errors import InputFileError, OptionError

if TYPE_CHECKING:
    from pathlib import Path


def edge_data(out: Path) -> dict[str, Any]:
    """Features of edges, as lists."""
    return {
        name: rows.compute(scheduler="sync").tolist() for name, rows in read_chunked(out).edge_data[DEFAULT].items()
    }


def test_all_columns_with_missing_values_are_told_at_one_time(tmp_path: Path) -> None:
    table = {"id": [0, 1, 2], "age": [None, None, 3], "name": ["x", None, "y"], "x": [[1.0], None, None]}
    parquet.write_table(pa.table(table), tmp_path / "n.parquet")
    (tmp_path / "e.csv").write_text("src,dst,w,t,ok\n0,1,1,,1\n1,2,NA,2024-05-01,2\n2,0,heavy,,3\n")
    options = [f"{option}={tmp_path}/n.parquet:{name}" for name in ("age", "name", "x") for option in (name,)]
    edges = ("--edges", tmp_path / "e.csv", "--edge-features", "w,t,ok", "--nodes", f"{tmp_path}/n.parquet:id")
    data = [word for option in options for word in ("--node-data", option)]
    message = refused("build", tmp_path / "out", *edges, *data, words=["4 things are wrong"])
    for line in (
        "e.csv, line 3, column 'w': value is missing: expected integers, as in line 2, column 'w' ('1'), found 'NA' in "
        "'1,2,NA,2024-05-01,2', and 1 more of 3 rows",
        "e.csv, line 2, column 't': value is missing: expected timestamps, as in line 3",
        "n.parquet, row 0, column 'age': value is missing: expected integers, as in column 'age', found nothing, and 1 "
        "more of 3 rows",
        "n.parquet, row 1, column 'x': value is missing: expected 1 numbers, found nothing, and 1 more of 3 rows",
    ):
        assert line in message, message
    for name in ("w", "t", "age", "x"):
        assert message.count(f"--fill {name}=VALUE") == 1
    assert not (tmp_path / "out").exists()


def test_unknown_types_and_columns_that_cannot_be_used_are_told_at_one_time(tmp_path: Path) -> None:
    columns = {"src": [0], "dst": [1], "a": [{"b": 1}], "c": [["x"]], "w": [1.0]}
    parquet.write_table(pa.table(columns), tmp_path / "e.parquet")
    (tmp_path / "n.csv").write_text("id,x\n0,1\n")
    table = tmp_path / "n.csv"
    with pytest.raises(GraphPartError) as caught:
        chunk(
            tmp_path / "out",
            tmp_path / "e.parquet",
            edge_features=("a", "c", "w"),
            node_data={"user": {"x": f"{table}:x"}, "_N": {"y": f"{table}:y"}},
            masks={"item": {"m": str(table)}},
        )
    for words in ("found user", "found item", "column 'a'", "column 'c'", "no column 'y'"):
        assert words in str(caught.value)


def test_files_that_are_missing_are_told_at_one_time_and_once_each(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("id,x\n0,1\n")
    edges = ("--edges", tmp_path / "gone.csv", "--edges", f"a:b:c={tmp_path}/n.csv:hedaer")
    data = ("--nodes", f"{tmp_path}/gone/*", "--node-data", f"x={tmp_path}/n.csv:y", "--fill", "x=0")
    again = ("--node-data", f"y={tmp_path}/gone.csv", "--map-ids", "--ids-from", tmp_path / "nowhere")
    message = refused("build", tmp_path / "out", *edges, *data, *again, words=["5 things are wrong"])
    for words in (
        "gone.csv: no such file",
        "no file matches",
        "unrecognised suffix",
        "no column 'y'",
        "--ids-from: no",
    ):
        assert message.count(words) == 1, message


def test_lines_that_cannot_be_cut_are_told_at_one_time_for_all_files(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\na,b\nb,c,d\n")
    (tmp_path / "f.csv").write_text('src,dst\na,b\nb,"c"d\n')
    (tmp_path / "n.csv").write_text("id,x\na,1\nb,u\n")
    (tmp_path / "m.csv").write_text("id,x\nc,2\nd,v\n")
    files = {"node_data": {"_N": {"x": [f"{tmp_path}/{name}.csv:id:x" for name in "nm"]}}, "map_ids": True}
    with pytest.raises(InputFileError, match="3 things are wrong") as caught:
        chunk(tmp_path / "out", [tmp_path / "e.csv", tmp_path / "f.csv"], **files)
    for words in ("e.csv, line 3: wrong number", "f.csv, line 3: quotes", "n.csv, line 3, column 'x': not a number"):
        assert words in str(caught.value)


def test_values_of_a_file_are_found_after_one_that_cannot_be_cut(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n1,0,2\n")
    (tmp_path / "f.csv").write_text("0,1\n1,x\n")
    with pytest.raises(InputFileError, match=r"e\.csv, line 2: .*\n.*f\.csv, line 2, column '1': not all IDs"):
        chunk(tmp_path / "out", [tmp_path / "e.csv", tmp_path / "f.csv"])


def test_nodes_without_a_row_are_told_of_all_features(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    (tmp_path / "n.csv").write_text("id,x,y\n0,1,2\n")
    data = {"_N": {name: f"{tmp_path}/n.csv:{name}" for name in "xy"}}
    with pytest.raises(InputFileError, match=r"features 'x', 'y'.*: 2 of 3. Fill x=VALUE fill y=VALUE"):
        chunk(tmp_path / "out", tmp_path / "e.csv", node_data=data)


@pytest.mark.parametrize("form", ["csv", "parquet", "floats"])
@pytest.mark.parametrize("map_ids", [False, True])
def test_rows_without_an_id_are_left_out_with_all_that_belongs_to_them(
    form: str, map_ids: bool, tmp_path: Path
) -> None:
    src, dst, weights = [0, None, 2, 3, 1], [1, 2, None, 0, 2], [1, None, None, 4, 5]
    path = tmp_path / ("e.csv" if form == "csv" else "e.parquet")
    if form == "csv":
        gaps = iter(("", "NA", " ", "null"))
        rows = [[next(gaps) if v is None else str(v) for v in row] for row in zip(src, dst, weights, strict=True)]
        path.write_text("src,dst,w\n" + "".join(",".join(row) + "\n" for row in rows))
    else:
        kind = pa.float64() if form == "floats" else pa.int32()
        ends = [pa.array([np.nan if v is None and form == "floats" else v for v in of], kind) for of in (src, dst)]
        parquet.write_table(pa.table({"src": ends[0], "dst": ends[1], "w": weights}), path)
    np.save(tmp_path / "f.npy", np.arange(5))
    how: dict[str, Any] = {
        "edge_features": ("w",),
        "edge_data": {DEFAULT: {"f": tmp_path / "f.npy"}},
        "map_ids": map_ids,
    }
    if form == "floats" and not map_ids:
        with pytest.raises(InputFileError, match="IDs are not integers"):
            chunk(tmp_path / "out", path, missing_ids="drop", **how)
        return
    with pytest.raises(InputFileError) as caught:
        chunk(tmp_path / "refused", path, **how, fill=0)
    if form != "floats":
        assert "--missing-ids drop" in str(caught.value.hint)
    notes = Listener()
    out = chunk(tmp_path / "out", path, **how, missing_ids="drop", progress=notes)
    assert [ends.tolist() for ends in edges_of(out)] == [[0, 3, 1], [1, 0, 2]]
    assert edge_data(out) == {"w": [1, 4, 5], "f": [0, 3, 4]}
    assert [note for note in notes.lines if "2 of 5 rows without an ID were dropped" in note]


def test_lists_and_masks_without_ids_are_shortened_as_well(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\nb,a\na,\n")
    (tmp_path / "n.csv").write_text("id,x\nb,1\n,7\na,0\n")
    (tmp_path / "m.csv").write_text('id,u\na,1\n"",1\n,1\n')
    np.save(tmp_path / "f.npy", np.arange(3))
    data = {"_N": {"x": f"{tmp_path}/n.csv:x", "f": tmp_path / "f.npy"}}
    how: dict[str, Any] = {"nodes": {"_N": f"{tmp_path}/n.csv:id"}, "node_data": data, "map_ids": True, "header": True}
    out = chunk(tmp_path / "out", tmp_path / "e.csv", **how, missing_ids="drop")
    assert originals(out) == ["a", "b"]
    nodes = {name: rows.compute(scheduler="sync").tolist() for name, rows in read_chunked(out).node_data["_N"].items()}
    assert nodes == {"x": [0, 1], "f": [2, 0]}
    with pytest.raises(OptionError):
        chunk(tmp_path / "out", tmp_path / "e.csv", missing_ids="keep")


@pytest.mark.parametrize("line", ["1,2,3", "1", '1,"2', '"1"x,2'])
def test_a_line_that_is_none_is_neither_filled_nor_left_out(line: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    (tmp_path / "w.csv").write_text(f"a,w\n5,6\n{line}\n")
    (tmp_path / "bad.csv").write_text(f"0,1\n{line}\n")
    data = {DEFAULT: {"w": f"{tmp_path}/w.csv:w"}}
    for edges, how in ((tmp_path / "e.csv", {"edge_data": data, "fill": 0}), (tmp_path / "bad.csv", {})):
        with pytest.raises(InputFileError) as caught:
            chunk(tmp_path / "out", edges, missing_ids="drop", header=None, **how)
        assert str(caught.value.place).startswith("line ")


def test_missing_strings_are_no_category(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\n0,1\n1,2\n2,3\n3,4\n")
    (tmp_path / "n.csv").write_text("id,label\n0,spam\n1,\n2,ham\n3,NA\n")
    data = {"_N": {"label": f"{tmp_path}/n.csv:id:label"}}
    gaps = [1, -1, 0, -1, -1]
    for fill, expected in (({}, gaps), ({"label": -1}, gaps), ({"label": "ham"}, [1, 0, 0, 0, 0])):
        notes = Listener()
        out = chunk(tmp_path / "out", tmp_path / "e.csv", node_data=data, fill=fill, overwrite=True, progress=notes)
        assert read_chunked(out).node_data["_N"]["label"].compute().tolist() == expected
        assert parquet.read_table(out / "categories" / "_N" / "label.parquet")["id"].to_pylist() == ["ham", "spam"]
        assert any(f"3 missing values, as {expected[1]}" in line for line in notes.lines)
    (tmp_path / "n.csv").write_text("id,label\n0,spam\n1,\n2,-1\n3,ham\n4,ham\n")  # here, -1 is a category
    out = chunk(tmp_path / "out", tmp_path / "e.csv", node_data=data, fill={"label": -1}, overwrite=True)
    assert read_chunked(out).node_data["_N"]["label"].compute().tolist() == [2, 0, 0, 1, 1]
    with pytest.raises(OptionError, match=r"fill: the fill value is no category of 'label': none. Leave it out"):
        chunk(tmp_path / "out", tmp_path / "e.csv", node_data=data, fill={"label": "none"}, overwrite=True)


def test_edges_without_a_relation_are_refused_or_named(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst,kind\n0,1,a\n1,2,\n2,3,b\n")
    with pytest.raises(InputFileError, match="column 'kind': edges without a value to split them by: 1"):
        chunk(tmp_path / "out", tmp_path / "e.csv", edge_types_from="kind")
    out = chunk(tmp_path / "out", tmp_path / "e.csv", edge_types_from="kind", fill={"kind": "none"})
    assert read_chunked(out).schema.etypes == ("_N:a:_N", "_N:b:_N", "_N:none:_N")
    (tmp_path / "e.csv").write_text("src,dst,kind\n0,1,a\n2,3,b\n")
    out = chunk(tmp_path / "none", tmp_path / "e.csv", edge_types_from="kind", fill={"kind": "none"})
    assert read_chunked(out).schema.etypes == ("_N:a:_N", "_N:b:_N")


@pytest.mark.parametrize(("dst", "expected"), [("2", [1.0, 2.5]), ("", [1])])
def test_a_fraction_makes_floats_of_a_column_unless_its_row_is_left_out(
    dst: str, expected: list[float], tmp_path: Path
) -> None:
    (tmp_path / "e.csv").write_text(f"src,dst,w\n0,1,1\n1,{dst},2.5\n")
    found = edge_data(chunk(tmp_path / "out", tmp_path / "e.csv", edge_features=("w",), missing_ids="drop"))["w"]
    assert found == expected and type(found[0]) is type(expected[0])
