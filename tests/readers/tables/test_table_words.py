"""The words in which options and paths describe files of tables: one grammar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import call
from edge_lists import DEFAULT, chunk
from graphs import file_hashes

from daskgraphpart import GraphPartError, read_chunked
from daskgraphpart.errors import InputFileError, OptionError, keyword_of
from daskgraphpart.readers.tables.describe.table_words import (
    FileWords,
    parse_by_type,
    parse_features,
    parse_file,
    parse_typed,
)

NODE_DATA, EDGE_DATA = "--node-data", "--edge-data"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with names of every kind."""
    monkeypatch.chdir(tmp_path)
    for name in ("f.csv", "odd:name.csv", "a=b.csv", "one,two.csv", "f.bin", "part-0.csv", "part-1.csv"):
        Path(name).write_text("id,x\n0,1\n")


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("--edges", "f.csv", FileWords("f.csv")),
        ("--edges", "-:tab", FileWords("-", delimiter="tab")),
        ("--edges", "f.csv:header", FileWords("f.csv", header=True)),
        ("--edges", "f.csv:no-header:semicolon", FileWords("f.csv", header=False, delimiter="semicolon")),
        ("--edges", "f.csv:from,to:comma", FileWords("f.csv", delimiter="comma", columns=("from", "to"))),
        ("--edges", "f.csv:0,2", FileWords("f.csv", columns=("0", "2"))),
        ("--edges", "f.bin:uint32", FileWords("f.bin", dtype="uint32", row_shape=(2,))),
        ("--edges", "f.bin:int64:3:0,2", FileWords("f.bin", dtype="int64", row_shape=(3,), columns=("0", "2"))),
        ("--edges", "part-*.csv:space", FileWords("part-*.csv", delimiter="space")),
        ("--edges", "odd:name.csv", FileWords("odd:name.csv")),
        ("--edges", "odd:name.csv:a,b", FileWords("odd:name.csv", columns=("a", "b"))),
        ("--edges", "gone.csv:a,b", FileWords("gone.csv:a,b")),  # where its name ends nobody can say
        ("--nodes", "f.csv:key", FileWords("f.csv", columns=("key",))),
        ("--nodes", "f.csv:key:no-header", FileWords("f.csv", header=False, columns=("key",))),
        ("--mask", "f.csv:1", FileWords("f.csv", columns=("1",))),
        (NODE_DATA, "f.csv:age", FileWords("f.csv", columns=("age",))),
        (NODE_DATA, "f.csv:key:age", FileWords("f.csv", columns=("key", "age"))),
        (NODE_DATA, "f.csv:key:*", FileWords("f.csv", columns=("key", "*"))),
        (NODE_DATA, "f.bin:float32:4:8", FileWords("f.bin", dtype="float32", row_shape=(4, 8))),
        (EDGE_DATA, "f.csv:3", FileWords("f.csv", columns=("3",))),
    ],
)
def test_files_have_words(place: str, text: str, expected: FileWords) -> None:
    assert parse_file(text, place) == expected


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("--edges", "f.csv:"),
        ("--edges", "f.csv::tab"),
        ("--edges", "f.csv:hedaer"),
        ("--edges", "f.csv:from"),
        ("--edges", "f.csv:from,"),
        ("--edges", "f.csv:a,b,c"),
        ("--edges", "f.csv:a,b:c,d"),
        ("--edges", "f.csv:tab:comma"),
        ("--edges", "f.csv:header:no-header"),
        ("--edges", "f.bin:int32:int64"),
        ("--edges", "f.bin:int32:0"),
        ("--edges", "f.bin:int32:tab"),
        ("--nodes", "f.csv:a:b"),
        ("--mask", "f.csv:a:b"),
        (NODE_DATA, "f.csv:a:b:c"),
        (NODE_DATA, "f.bin:header:float32"),
        (EDGE_DATA, "f.csv:id:x"),
    ],
)
def test_words_that_mean_nothing_are_refused(place: str, text: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_file(text, place)
    assert caught.value.option == keyword_of(place) and text in str(caught.value)
    assert caught.value.hint


def test_a_word_that_is_nearly_one_is_named() -> None:
    with pytest.raises(OptionError) as caught:
        parse_file("f.csv:hedaer", "--edges")
    assert caught.value.hint == "did you mean header?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f.csv", (DEFAULT, "f.csv")),
        ("a:b:c=f.csv:0,1", ("a:b:c", "f.csv:0,1")),
        ("user=300k", ("user", "300k")),
        ("a=b.csv", (DEFAULT, "a=b.csv")),  # a file that is there
        ("a=b.csv:tab", (DEFAULT, "a=b.csv:tab")),
        ("year=2024/f.csv", ("year", "2024/f.csv")),
        ("tables/year=2024/f.csv", (DEFAULT, "tables/year=2024/f.csv")),
        ("a:b:c=year=2024/f.csv", ("a:b:c", "year=2024/f.csv")),
    ],
)
def test_a_type_stands_before_a_value(text: str, expected: tuple[str, str]) -> None:
    assert parse_typed(text, DEFAULT, "--edges") == expected


def test_files_of_one_type_are_one_table() -> None:
    assert parse_by_type(["f.csv", "u=part-0.csv", "u=part-1.csv"], "_N", "--nodes") == {
        "_N": ["f.csv"],
        "u": ["part-0.csv", "part-1.csv"],
    }


@pytest.mark.parametrize(
    ("place", "texts", "expected"),
    [
        (NODE_DATA, ["x=f.csv:age"], {"_N": {"x": ["f.csv:age"]}}),
        (NODE_DATA, ["u/x=f.csv:id:age"], {"u": {"x": ["f.csv:id:age"]}}),
        (NODE_DATA, ["x=part-0.csv,part-1.csv"], {"_N": {"x": ["part-0.csv", "part-1.csv"]}}),
        (NODE_DATA, ["x=part-0.csv:x,part-1.csv:x"], {"_N": {"x": ["part-0.csv:x", "part-1.csv:x"]}}),
        (NODE_DATA, ["x=part-0.csv", "x=part-1.csv"], {"_N": {"x": ["part-0.csv", "part-1.csv"]}}),
        (NODE_DATA, ["x=one,two.csv:x"], {"_N": {"x": ["one,two.csv:x"]}}),
        (NODE_DATA, ["x=a=b.csv"], {"_N": {"x": ["a=b.csv"]}}),
        (NODE_DATA, ["x=f.csv:*"], {"_N": {"x": ["f.csv:*"]}}),  # a vector
        (NODE_DATA, ["f.csv:*"], {"_N": {"*": ["f.csv:*"]}}),  # each column
        (NODE_DATA, ["u=f.csv:key:*", "u/x=f.bin:int8"], {"u": {"*": ["f.csv:key:*"], "x": ["f.bin:int8"]}}),
        (NODE_DATA, ["u=gone.csv:*"], {"u": {"*": ["gone.csv:*"]}}),
        (EDGE_DATA, ["a:b:c/w=f.csv:x"], {"a:b:c": {"w": ["f.csv:x"]}}),
        (EDGE_DATA, ["/m/a:b:/m/c/w=f.csv:x"], {"/m/a:b:/m/c": {"w": ["f.csv:x"]}}),  # Freebase has such types
        (EDGE_DATA, ["u=f.csv:*"], {"u": {"*": ["f.csv:*"]}}),
        (EDGE_DATA, ["w=f.csv:*"], {"_N": {"w": ["f.csv:*"]}}),  # a vector
        ("--mask", ["train_mask=f.csv"], {"_N": {"train_mask": ["f.csv"]}}),
    ],
)
def test_features_have_names_and_files(place: str, texts: list[str], expected: dict[str, Any]) -> None:
    assert parse_features(texts, "_N", place, ["u"]) == expected


@pytest.mark.parametrize("text", ["f.csv", "=f.csv", "x=", "u:=f.csv", ":x=f.csv", ""])
@pytest.mark.parametrize("place", [NODE_DATA, EDGE_DATA, "--mask"])
def test_features_without_a_name_or_a_file_are_refused(place: str, text: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_features([text], "_N", place, ["u"])
    assert caught.value.option == keyword_of(place) and text in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("text", ["u=", "=f.csv", "="])
def test_types_without_a_value_are_refused(text: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_typed(text, DEFAULT, "--nodes")
    assert (caught.value.option, caught.value.found) == ("nodes", text)
    assert caught.value.hint


# ----------------------------------------------------------------------- each column of a table: FILE:*

TABLE = "id,country,age\nb,DE,3\na,FR,4\nc,DE,5\n"


def columns_of(directory: Path, ntype: str = "u") -> dict[str, list[Any]]:
    """Features of nodes, in the order of their IDs."""
    features = read_chunked(directory).node_data[ntype]
    return {name: features[name].compute(scheduler="sync").tolist() for name in sorted(features)}


@pytest.mark.parametrize(
    "given",
    [
        {"u": "u.csv:*"},
        {"u": ["u.csv:id:*"]},
        {"u": {"*": "u.csv"}},
        {"u": {"country": "u.csv:country", "age": "u.csv:age"}},
    ],
)
def test_each_column_but_that_of_the_ids_is_a_feature(given: dict[str, Any], tmp_path: Path) -> None:
    Path("e.csv").write_text("src,dst\nb,a\nc,b\n")
    Path("u.csv").write_text(TABLE)
    out = chunk(tmp_path / "out", {"u:f:u": "e.csv"}, map_ids=True, node_data=given)
    assert columns_of(out) == {"age": [4, 3, 5], "country": [1, 0, 0]}


def test_columns_of_strings_alone_have_names_and_directories_have_columns(tmp_path: Path) -> None:
    Path("e.csv").write_text("src,dst\nb,a\n")
    for year, rows in (("2023", "a,FR"), ("2024", "b,DE")):
        Path(f"users/year={year}").mkdir(parents=True)
        Path(f"users/year={year}/part.csv").write_text(f"key,country\n{rows}\n")
    out = chunk(tmp_path / "out", {"u:f:u": "e.csv"}, map_ids=True, node_data={"u": "users:*"})
    assert columns_of(out) == {"country": [1, 0], "year": [2023, 2024]}


def test_each_column_stands_beside_other_features_lists_and_fills(tmp_path: Path) -> None:
    Path("e.csv").write_text("src,dst\nb,a\nb,d\n")
    Path("u.csv").write_text(TABLE.replace("id,", "key,"))
    np.save("x.npy", np.arange(3))
    how: dict[str, Any] = {"nodes": {"u": "u.csv:key"}, "fill": {"u/age": -1, "x": 9}}
    given = {"u": {"*": "u.csv", "x": "x.npy"}}
    out = chunk(tmp_path / "out", {"u:f:u": "e.csv"}, map_ids=True, node_data=given, **how)
    assert columns_of(out) == {"age": [4, 3, 5, -1], "country": [1, 0, 0, -1], "x": [1, 0, 2, 9]}


@pytest.mark.parametrize(
    ("given", "kind", "file"),
    [
        ("gone.csv:*", InputFileError, "gone.csv:*"),
        ("u.csv:no-header:*", OptionError, "u.csv"),
        ("f.bin:int64:2:*", OptionError, "f.bin"),
        ("ids.csv:*", InputFileError, "ids.csv"),
        ("twice.csv:*", InputFileError, "twice.csv"),
        ("u.csv:name:*", InputFileError, "u.csv"),
        (["u.csv:*", "other.csv:*"], InputFileError, "other.csv"),
        ({"*": "u.csv", "age": "u.csv:age"}, OptionError, None),
        ({"age": "u.csv:key:id:age"}, OptionError, None),
    ],
)
def test_tables_whose_columns_cannot_be_features_are_refused(
    given: Any, kind: type[GraphPartError], file: str | None, tmp_path: Path
) -> None:
    Path("e.csv").write_text("src,dst\nb,a\nc,b\n")
    Path("u.csv").write_text(TABLE)
    Path("ids.csv").write_text("id\na\nb\nc\n")
    Path("twice.csv").write_text("id,x,x\na,1,2\nb,1,2\n")
    Path("other.csv").write_text("id,age,country\nd,1,UK\n")
    with pytest.raises(kind) as caught:
        chunk(tmp_path / "out", {"u:f:u": "e.csv"}, map_ids=True, node_data={"u": given})
    assert caught.value.hint
    assert file is None or Path(caught.value.file or "").name == file
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("directory", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_each_column_but_the_ends_is_a_feature_of_edges(own: bool, directory: bool, tmp_path: Path) -> None:
    text = "at,src,dst,kind,w\n5,b,a,x,1.5\n6,c,b,y,2\n7,a,a,x,3\n"
    path = Path("events/part-0.csv" if directory else "events.csv")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    Path("ends.csv").write_text("src,dst\nb,a\nc,b\na,a\n")
    Path("rest.csv").write_text(
        "\n".join(",".join(line.split(",")[::3] + line.split(",")[4:]) for line in text.split())
    )
    tables = ("events/" if directory else "events.csv",) * 2 if own else ("ends.csv", "rest.csv")
    given = chunk(tmp_path / "out", {"u:f:u": tables[0]}, map_ids=True, edge_data={"u:f:u": f"{tables[1]}:*"})
    features = read_chunked(given).edge_data["u:f:u"]
    found = {name: features[name].compute(scheduler="sync").tolist() for name in features}
    assert found == {"at": [5, 6, 7], "kind": [0, 1, 0], "w": [1.5, 2.0, 3.0]}
    line = ("build", "again", "--edges", f"u:f:u={tables[0]}", "--edge-data", f"u:f:u={tables[1]}:*", "--map-ids")
    assert call(*line, "--name", "graph") == 0
    assert file_hashes(Path("again")) == file_hashes(given)


def test_each_column_of_edges_needs_names(tmp_path: Path) -> None:
    Path("e.csv").write_text("0,1,2\n1,0,3\n")
    with pytest.raises(OptionError, match=r"e.csv, edge_data: columns without names cannot become features"):
        chunk(tmp_path / "out", {"u:f:u": "e.csv:no-header"}, edge_data={"u:f:u": "e.csv:no-header:*"})


def test_arrays_of_an_npz_file_are_joined_by_its_ids(tmp_path: Path) -> None:
    Path("e.csv").write_text("src,dst\nb,a\nc,b\n")
    np.savez("u.npz", key=np.array(["b", "a", "c"]), age=np.array([3, 4, 5]))
    for given in ({"u": "u.npz:key:*"}, {"u": {"age": "u.npz:key:age"}}):
        out = chunk(tmp_path / "out", {"u:f:u": "e.csv"}, map_ids=True, node_data=given, overwrite=True)
        assert columns_of(out) == {"age": [4, 3, 5]}
