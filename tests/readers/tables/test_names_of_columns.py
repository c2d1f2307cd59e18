"""Headers that name the ends or the IDs are followed; names that DGL's files cannot hold have one other spelling."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from commands import call
from edge_lists import chunk
from graphs import file_hashes
from listeners import Listener

import daskgraphpart as dgp
from daskgraphpart import GraphPartError
from daskgraphpart.errors import OptionError
from daskgraphpart.readers.names_of_ends import are_usual
from daskgraphpart.readers.tables.describe.columns import find_columns
from daskgraphpart.readers.tables.describe.table_files import TableFile
from daskgraphpart.readers.tables.describe.table_words import parse_file, parse_typed
from daskgraphpart.readers.tables.read_options import ReadOptions
from daskgraphpart.schema import by_plain_name, plain_name

if TYPE_CHECKING:
    from pathlib import Path

FILE = TableFile("e.csv", ReadOptions())


def ends(header: str, num_ids: int = 2) -> list[int | None]:
    """Positions of the ID columns of a comma-separated header."""
    return [position for _, position in find_columns(FILE, [""] * num_ids, header.split(","), num_ids)]


@pytest.mark.parametrize(
    ("header", "positions"),
    [
        (":START_ID(User),since:int,:END_ID(User),:TYPE", [0, 2]),
        ("since:int,:END_ID,:TYPE,:START_ID", [3, 1]),
        ("userId:START_ID(User){id-type:long},:END_ID(User),w:double", [0, 1]),
        ("~id,~from,~to,~label,weight:Double", [1, 2]),
        ("_id,_labels,name,_start,_end,_type", [3, 4]),
        ("_key,_from,_to", [1, 2]),
        ("id,subject,predicate,object", [1, 3]),
        ("weight,SOURCE,target", [1, 2]),
        ("head,relation,tail", [0, 2]),
        (",Source,Target,Type,Id", [1, 2]),  # Gephi
        ("dst,src", [1, 0]),
        ("a,b", [0, 1]),
        ("0,1,2", [0, 1]),  # no header
    ],
)
def test_ends_are_found_by_the_names_that_databases_write(header: str, positions: list[int]) -> None:
    assert ends(header) == positions
    assert are_usual(header.split(","), 2) is (header not in ("a,b", "0,1,2"))


@pytest.mark.parametrize(
    ("header", "position"),
    [
        ("name:string,userId:ID(User),:LABEL", 1),
        ("~label,~id", 1),
        ("id,_id,name", 1),
        ("_key,_id,_rev", 1),
        ("category,id", 1),
        ("name,age", 0),
    ],
)
def test_ids_are_found_by_the_names_that_databases_write(header: str, position: int) -> None:
    assert ends(header, 1) == [position]


@pytest.mark.parametrize("header", ["who,when,what", "src,dst,from,to", "source,target,destination", "src,weight,dest"])
def test_a_header_that_leaves_the_ends_open_is_refused_with_what_to_type(header: str) -> None:
    first = ",".join(header.split(",")[:2])
    with pytest.raises(GraphPartError, match=rf"which columns are the ends.*FILE:{first} or endpoints {first}"):
        ends(header)


def test_columns_that_are_features_are_no_ends() -> None:
    assert find_columns(FILE, ["", "", "rel"], ["h", "rel", "t"], 2) == [("h", 0), ("t", 2), ("rel", 1)]
    assert find_columns(FILE, ["", "", "1"], ["0", "1", "2"], 2) == [("0", 0), ("2", 2), ("1", 1)]
    assert find_columns(FILE, ["", "", "*"], ["src", "w", "dst"], 2) == [("src", 0), ("dst", 2), ("w", 1)]


def test_files_of_databases_become_graphs_with_their_features(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(":START_ID(U),since:int,:END_ID(U),:TYPE\na,3,b,KNOWS/x\nb,4,c,LIKES\n")
    (tmp_path / "n.csv").write_text("name:string,userId:ID(U),:LABEL\nA,a,x\nB,b,x\nC,c,y\n")
    nodes = {"U": f"{tmp_path}/n.csv"}
    every = {"U": f"{tmp_path}/n.csv:*"}
    chunk(
        tmp_path / "out", {"U:*:U": f"{tmp_path}/e.csv"}, nodes=nodes, node_data=every, map_ids=True,
        edge_features=["since:int"], edge_types_from={"U:*:U": ":TYPE"}, unknown_nodes="error",
    )  # fmt: skip
    graph = dgp.read_chunked(tmp_path / "out")
    assert [t.name for t in graph.schema.edge_types] == ["U:KNOWS.x:U", "U:LIKES:U"]
    assert [s.name for s in graph.schema.edge_types[0].data] == ["since.int"]
    assert graph.schema.node_types[0].num_nodes == 3
    assert {s.name for s in graph.schema.node_types[0].data} == {"name.string", "LABEL"}


def test_frames_have_the_same_names() -> None:
    rows = {"since:int": [3, 4], ":END_ID": [1, 2], ":START_ID": [0, 1]}
    graph = dgp.from_edges({"u:knows:u": pd.DataFrame(rows)})
    assert graph.edges["u:knows:u"].compute().to_numpy().tolist() == [[0, 1], [1, 2]]
    assert [s.name for s in graph.schema.edge_types[0].data] == ["since.int"]
    with pytest.raises(OptionError, match=r"which columns are the ends.*rename\(columns=\{'a': 'src', 'b': 'dst'\}"):
        dgp.from_edges({"u:knows:u": pd.DataFrame({"a": [0], "b": [1], "w": [2]})})


def test_triples_without_a_header_are_refused_until_their_ends_are_named(tmp_path: Path) -> None:
    (tmp_path / "fb.txt").write_text("/m/1\t/location/country/form\t/m/2\n/m/2\t/film/x\t/m/3\n")
    triples: dict[str, Any] = {"edge_types_from": {"e:*:e": "1"}, "map_ids": True}
    whole = {"e:*:e": f"{tmp_path}/fb.txt"}
    with pytest.raises(GraphPartError, match=r"fb\.txt:0,2 \(and"):
        chunk(tmp_path / "out", whole, map_ids=True)
    chunk(tmp_path / "out", {"e:*:e": f"{tmp_path}/fb.txt:0,2"}, **triples)
    chunk(tmp_path / "same", whole, **triples)
    assert file_hashes(tmp_path / "same") == file_hashes(tmp_path / "out")
    graph = dgp.read_chunked(tmp_path / "out")
    assert [t.name for t in graph.schema.edge_types] == ["e:film.x:e", "e:location.country.form:e"]


@pytest.mark.parametrize(
    ("name", "plain"),
    [("since:int", "since.int"), (":LABEL", "LABEL"), ("~label", "label"), ("/a/b/c", "a.b.c"), (".a", ".a")],
)
def test_names_have_points_for_what_files_cannot_hold(name: str, plain: str) -> None:
    assert plain_name(name) == plain
    assert find_columns(FILE, [plain], ["x", name], 0) == find_columns(FILE, [name], ["x", name], 0) == [(name, 1)]


def test_two_columns_that_become_one_are_refused() -> None:
    with pytest.raises(OptionError, match=r"(?i)two columns get the name 'a.b'.*'a:b' and 'a/b'"):
        by_plain_name(["a:b", "c", "a/b"], "columns")


def test_a_name_with_a_colon_after_a_file_is_told_how_to_type_it(tmp_path: Path) -> None:
    (tmp_path / "e.csv").touch()
    with pytest.raises(OptionError, match=r"write since\.int"):
        parse_file(f"{tmp_path}/e.csv:since:int", "--edge-data")
    assert parse_typed(f"u:/a/b:u={tmp_path}/e.csv", "", "--edges") == ("u:/a/b:u", f"{tmp_path}/e.csv")


@pytest.mark.parametrize("form", ["csv", "words only", "parquet", "frame", "pairs of names"])
def test_columns_named_as_the_node_types_are_the_ends(form: str, tmp_path: Path) -> None:
    """In files and frames alike, in any order, beside features, with words in all columns."""
    table = pd.DataFrame({"rating": [5, 4], "item": ["i1", "i2"], "user": ["u1", "u2"]})
    given: Any = f"{tmp_path}/e.csv"
    if form == "words only":
        table = table.assign(rating=["good", "bad"])
    if form == "pairs of names":
        table = table[["item", "user"]]
    if form == "frame":
        given = table
    elif form == "parquet":
        table.to_parquet(given := f"{tmp_path}/e.parquet")
    else:
        table.to_csv(given, index=False)
    for features in ((), ("rating",)):
        if {*features} <= {*table.columns}:
            read = dgp.scan_tables({"user:buys:item": given}, map_ids=True, edge_features=features)
            graph = read.write_chunked(tmp_path / f"out{len(features)}")
            assert dgp.read_id_map(graph.directory, "user")["id"].compute().tolist() == ["u1", "u2"]
            assert dgp.read_id_map(graph.directory, "item")["id"].compute().tolist() == ["i1", "i2"]


def test_known_names_count_more_than_types() -> None:
    of_types = replace(FILE, ends=("user", "item"))
    names = ["user", "item", "src", "dst"]
    assert find_columns(of_types, ["", ""], names, 2) == [("src", 2), ("dst", 3)]
    assert find_columns(replace(FILE, ends=("user", "user")), ["", ""], ["user", "x"], 2) == [("user", 0), ("x", 1)]


def test_renamed_columns_and_relations_are_told(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(":START_ID,since:int,w,:END_ID,:TYPE\na,3,1,b,/a/b\nb,4,1,c,LIKES\n")
    (tmp_path / "n.csv").write_text("userId:ID,:LABEL\na,x\nb,x\nc,y\n")
    listener = Listener()
    read = dgp.scan_tables(
        {"u:*:u": tmp_path / "e.csv"}, nodes={"u": tmp_path / "n.csv"}, node_data={"u": f"{tmp_path}/n.csv:*"},
        map_ids=True, edge_features=["since:int", "w"],
    )  # fmt: skip
    graph = read.split_edges(by=":TYPE").collect(progress=listener)
    told = "\n".join(listener.lines)
    assert "e.csv: columns get names that files can hold: 'since:int' is since.int\n" in told.replace(
        ", ':TYPE' is TYPE", ""
    )
    assert "n.csv: columns get names that files can hold: ':LABEL' is LABEL" in told
    assert "relations of u:*:u get names that files can hold: '/a/b' is a.b" in told
    assert graph.schema.etypes == ("u:a.b:u", "u:LIKES:u")


def test_a_feature_gets_another_name_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("~id,~from,~to,since:int\ne,0,1,3\nf,1,2,4\n")
    (tmp_path / "n.csv").write_text("~id,~label\n0,5\n1,6\n2,7\n")
    given = ("--edges", "e.csv", "--edge-data", "since=e.csv:since.int", "--node-data", "kind=n.csv:label")
    assert call("build", "out", *given, "--quiet") == 0
    graph = dgp.read_chunked("out")
    assert graph.edge_data["_N:_E:_N"]["since"].compute().ravel().tolist() == [3, 4]
    assert graph.node_data["_N"]["kind"].compute().ravel().tolist() == [5, 6, 7]
