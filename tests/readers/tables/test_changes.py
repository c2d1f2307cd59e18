"""Changes of a graph on its way into a chunked graph: against pandas, real DGL, and for every kind of source."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from commands import call
from edge_lists import chunk_edge_lists
from graphs import Graph, file_hashes
from hypothesis import given
from hypothesis import strategies as st
from inside import Resources
from judges import run_in_dgl
from keywords import spelled
from strategies import graphs

import daskgraphpart as dgp
from daskgraphpart import GraphPartError
from daskgraphpart.graph.rows import ArrayRows, KeptRows
from daskgraphpart.graph.transforms.changes import GraphChanges
from daskgraphpart.graph.transforms.check_changes import doubled_types, reverse_types

if TYPE_CHECKING:
    from collections.abc import Mapping

SMALL = Resources(64 << 20, "sync", 1)
LIKES, FOLLOWS = "user:likes:item", "user:follows:user"
RNG = np.random.default_rng(0)
EVENTS = pd.DataFrame(
    {
        "src": RNG.integers(0, 40, 600),
        "dst": RNG.integers(0, 20, 600),
        "kind": RNG.choice(["saw", "bought", "été"], 600),
    }
).assign(stars=RNG.integers(0, 6, 600).astype("i1"), price=RNG.random(600, np.float32))


def read(directory: Path) -> dict[str, pd.DataFrame]:
    """Edges of a chunked graph with their features, which must be scalars."""
    graph = dgp.read_chunked(directory)
    found = {}
    for etype in graph.schema.etypes:
        found[etype] = graph.edges[etype].compute(scheduler="sync").reset_index(drop=True)
        for name, rows in graph.edge_data[etype].items():
            found[etype][name] = list(np.asarray(rows))
    return found


def change(graph: Graph, out: Path, **changes: Any) -> dict[str, pd.DataFrame]:
    counts = {t.name: t.num_nodes for t in graph.schema.node_types}
    data = {etype: features for etype, features in graph.edge_data.items() if features}
    dgp.chunk_graph(graph.edges, "g", graph.node_data, data, 2, out, num_nodes=counts, **spelled(SMALL), **changes)  # type: ignore[arg-type]
    return read(out)


def frames_of(graph: Graph) -> dict[str, pd.DataFrame]:
    frames = {}
    for etype, (src, dst) in graph.edges.items():
        features = {name: list(rows) for name, rows in graph.edge_data.get(etype, {}).items()}
        frames[etype] = pd.DataFrame({"src": src, "dst": dst, **features})
    return frames


def expect(
    frames: Mapping[str, pd.DataFrame], num_ntypes: int, *, add_reverse: str | None, copy_edge_data: bool,
    remove_self_loops: bool, deduplicate: bool, is_split: bool = False,
) -> dict[str, pd.DataFrame]:  # fmt: skip
    """Make the changes with pandas, in the order in which one would by hand."""
    is_homogeneous = num_ntypes == len(frames) == 1 and not is_split
    found = {}
    for etype, frame in frames.items():
        src, rel, dst = etype.split(":")
        both = (add_reverse == "dgl" and src == dst) or (add_reverse == "graphstorm" and is_homogeneous)
        turned = frame.rename(columns={"src": "dst", "dst": "src"})
        if both:
            for name in turned.columns.difference(["src", "dst"]):
                turned[name] = list(turned[name]) if copy_edge_data else [value * 0 for value in turned[name]]
            frame = pd.concat([frame, turned], ignore_index=True)
        if remove_self_loops and src == dst:
            frame = frame[frame.src != frame.dst]
        if deduplicate:
            frame = frame.drop_duplicates(["src", "dst"])
        found[etype] = frame
        if add_reverse and not both:
            turned = frame.rename(columns={"src": "dst", "dst": "src"})
            name = {"dgl": f"rev_{rel}", "graphstorm": f"{rel}-rev"}.get(add_reverse, add_reverse.replace("{}", rel))
            found[f"{dst}:{name}:{src}"] = turned if copy_edge_data else turned[["src", "dst"]]
    # graphstorm sorts types, as DGL does
    return dict(sorted(found.items(), key=lambda of: of[0].split(":"))) if add_reverse == "graphstorm" else found


def assert_same(found: Mapping[str, pd.DataFrame], expected: Mapping[str, pd.DataFrame]) -> None:
    assert list(found) == list(expected)
    for etype, frame in expected.items():
        assert set(found[etype].columns) == set(frame.columns)
        for name in frame.columns:
            assert np.array_equal(np.array(frame[name].tolist()), np.array(found[etype][name].tolist())), (etype, name)


@given(
    graphs(),
    st.sampled_from((None, "dgl", "graphstorm", "{}-by")),
    st.booleans(), st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip
def test_changes_are_those_of_pandas(
    graph: Graph,
    add_reverse: str | None,
    copy_edge_data: bool,
    remove_self_loops: bool,
    deduplicate: bool,
    is_split: bool,
) -> None:
    if not graph.edges:
        return
    frames, edge_types_from = frames_of(graph), {}
    if is_split:
        first, frame = next(iter(frames.items()))
        kind = np.arange(len(frame)) * 7 % 5
        graph.edge_data[first]["kind"], edge_types_from = kind, {first: "kind"}  # type: ignore[index]
        src, _, dst = first.split(":")
        is_kept = (frame.src != frame.dst) | (src != dst) | (not remove_self_loops)  # values of edges that stay
        parts = {f"{src}:{value}:{dst}": part for value, part in frame.groupby(kind) if is_kept[part.index].any()}
        frames = {**parts, **{etype: frame for etype, frame in frames.items() if etype != first}}
    how: dict[str, Any] = {
        "add_reverse": add_reverse,
        "copy_edge_data": copy_edge_data and add_reverse is not None,
        "remove_self_loops": remove_self_loops,
        "deduplicate": deduplicate,
    }
    with tempfile.TemporaryDirectory() as directory:
        found = change(graph, Path(directory) / "out", edge_types_from=edge_types_from, **how)
        assert_same(found, expect(frames, len(graph.schema.ntypes), is_split=is_split, **how))
        again = Path(directory) / "again"
        dgp.chunk_graph(dgp.read_chunked(Path(directory) / "out"), "g", None, None, 1, again, num_nodes=None)
        schemas = [dgp.read_chunked(out).schema for out in (Path(directory) / "out", again)]
        assert schemas[0] == schemas[1]
        assert {t.name: t.num_nodes for t in schemas[0].node_types} == {
            t.name: t.num_nodes for t in graph.schema.node_types
        }


def test_real_dgl_makes_the_same_graph(tmp_path: Path) -> None:
    edges = {LIKES: (EVENTS.src.to_numpy(), EVENTS.dst.to_numpy()), FOLLOWS: tuple(RNG.integers(0, 40, (2, 300)))}
    data = {LIKES: {"stars": EVENTS.stars.to_numpy()}, FOLLOWS: {"w": RNG.random(300)}}
    ends = {f"{etype}/{i}": ids for etype, pair in edges.items() for i, ids in enumerate(pair)}
    rows = {f"{etype}/{name}": rows for etype, features in data.items() for name, rows in features.items()}
    np.savez(tmp_path / "in.npz", **ends, **rows)
    result = run_in_dgl("2.1.0", "change_graph.py", tmp_path / "in.npz", cwd=tmp_path)
    ways: dict[str, dict[str, Any]] = {
        "AddReverse(copy_edge_data=False)": {"add_reverse": "dgl"},
        "AddReverse(copy_edge_data=True)": {"add_reverse": "dgl", "copy_edge_data": True},
        "AddSelfLoop()": {"add_self_loops": True},
        "to_simple(remove_self_loop)": {"remove_self_loops": True, "deduplicate": True},
    }
    assert ways.keys() == result.keys()
    counts = {"user": 40, "item": 20}
    for name, changes in ways.items():
        out = tmp_path / name
        dgp.chunk_graph(edges, "g", None, data, 2, out, num_nodes=counts, **changes)  # type: ignore[arg-type]
        found = read(out)
        if "simple" in name:  # DGL orders edges anew, and does not say whose features it keeps
            found = {etype: frame[["src", "dst"]].sort_values(["src", "dst"]) for etype, frame in found.items()}
        assert result[name] == {etype: {key: c.tolist() for key, c in frame.items()} for etype, frame in found.items()}


def test_every_kind_of_source_gives_the_same_bytes(tmp_path: Path) -> None:
    EVENTS.to_csv(tmp_path / "events.csv", index=False)
    for i, start in enumerate(range(0, 600, 200)):
        EVENTS[start : start + 200].to_parquet(tmp_path / f"events-{i}.parquet")
    how: dict[str, Any] = {
        "edge_types_from": "kind", "add_reverse": "{}-by", "copy_edge_data": True, "deduplicate": True, "num_chunks": 3,
        "cast": {"stars": "float16"}, "edge_format": "parquet", "name": "g", **spelled(SMALL),
    }  # fmt: skip
    tables: dict[str, Any] = {"endpoints": ("src", "dst"), "edge_features": ("stars", "price")}
    nodes = {"user": 40, "item": 20}
    cast = {**how, "cast": {"stars": "float16", "price": "float32"}}
    chunk_edge_lists(tmp_path / "csv", {"user:*:item": tmp_path / "events.csv"}, num_nodes=nodes, **tables, **cast)
    edges = {"user:*:item": str(tmp_path / "events-*.parquet")}
    chunk_edge_lists(tmp_path / "parquet", edges, num_nodes=nodes, **tables, **how)
    frame = EVENTS[["src", "dst", "stars", "price", "kind"]]
    how["edges_fmt"] = how.pop("edge_format")
    for npartitions in (1, 5):
        lazy = dd.from_pandas(frame, npartitions=npartitions)
        out = tmp_path / f"dask-{npartitions}"
        dgp.chunk_graph({"user:*:item": lazy}, num_nodes=nodes, output_path=out, **how)
    assert read(tmp_path / "csv").keys() == {
        f"{ends}" for kind in ("saw", "bought", "été") for ends in (f"user:{kind}:item", f"item:{kind}-by:user")
    }
    for kind in ("saw", "bought", "été"):
        expected = EVENTS[EVENTS.kind == kind].drop_duplicates(["src", "dst"])
        found = read(tmp_path / "csv")[f"user:{kind}:item"]
        np.testing.assert_array_equal(found[["src", "dst", "stars"]], expected[["src", "dst", "stars"]])
        np.testing.assert_array_equal(found.price, expected.price)
    hashes = [file_hashes(tmp_path / name) for name in ("csv", "parquet", "dask-1", "dask-5")]
    assert all(found == hashes[0] for found in hashes)
    assert not (tmp_path / "csv" / "categories").exists()


def test_integers_split_the_edges_of_arrays_and_of_a_chunked_graph(tmp_path: Path) -> None:
    relation = RNG.integers(0, 12, 600)
    data = {"_N:_E:_N": {"rel": da.from_array(relation, chunks=77), "w": RNG.random((600, 2))}}
    pair = {"_N:_E:_N": (EVENTS.src.to_numpy(), EVENTS.dst.to_numpy())}
    dgp.chunk_graph(pair, "g", None, data, 2, tmp_path / "split", edge_types_from="rel")
    dgp.chunk_graph(pair, "g", None, data, 5, tmp_path / "whole")
    assert call("build", tmp_path / "again", "--graph", tmp_path / "whole", "--edge-types-from", "_N:_E:_N=rel") == 0
    found, again = read(tmp_path / "split"), read(tmp_path / "again")
    assert list(found) == [f"_N:{value}:_N" for value in range(12)]
    for value in range(12):
        frame = found[f"_N:{value}:_N"]
        np.testing.assert_array_equal(frame.src, EVENTS.src[relation == value])
        np.testing.assert_array_equal(np.stack(frame.w), data["_N:_E:_N"]["w"][relation == value])
        pd.testing.assert_frame_equal(frame, again[f"_N:{value}:_N"])


@pytest.mark.parametrize("copy_edge_data", [False, True])
def test_both_directions_of_an_edge_are_of_one_relation(tmp_path: Path, copy_edge_data: bool) -> None:
    frame = EVENTS.assign(dst=EVENTS.dst + 20, kind=EVENTS.stars + 1)
    how: dict[str, Any] = {"add_reverse": "dgl", "copy_edge_data": copy_edge_data, "remove_self_loops": True}
    how["deduplicate"] = True
    edges = {"n:*:n": frame}
    dgp.chunk_graph(edges, "g", output_path=tmp_path, edge_types_from="kind", **spelled(SMALL), **how)
    parts = {f"n:{kind}:n": part.drop(columns="kind") for kind, part in frame.groupby("kind")}
    assert_same(read(tmp_path), expect(parts, 1, **how))


def test_columns_that_cannot_be_features_and_names_of_directories_split_edges(tmp_path: Path) -> None:
    (tmp_path / "neptune.csv").write_text("~id,~from,~to,~label\ne0,b,a,knows\ne1,a,b,likes\n")
    neptune: dict[str, Any] = {"endpoints": ("~from", "~to"), "map_ids": True, "edge_types_from": "~label"}
    chunk_edge_lists(tmp_path / "0", {"v:*:v": tmp_path / "neptune.csv"}, **neptune)
    found = {etype: frame.to_numpy().tolist() for etype, frame in read(tmp_path / "0").items()}
    assert found == {"v:knows:v": [[1, 0]], "v:likes:v": [[0, 1]]}
    EVENTS[["src", "dst", "stars"]].to_parquet(tmp_path / "hive", partition_cols=["stars"])
    chunk_edge_lists(tmp_path / "1", {"user:*:item": tmp_path / "hive"}, edge_types_from="stars")
    assert {etype: len(frame) for etype, frame in read(tmp_path / "1").items()} == {
        f"user:{stars}:item": int((EVENTS.stars == stars).sum()) for stars in range(6)
    }


def test_nodes_that_have_only_a_self_loop_stay(tmp_path: Path) -> None:
    dgp.chunk_graph({("n", "r", "n"): ([0, 7, 1], [1, 7, 0])}, "g", output_path=tmp_path, remove_self_loops=True)
    assert dgp.read_chunked(tmp_path).schema.num_nodes == 8
    assert read(tmp_path)["n:r:n"].to_numpy().tolist() == [[0, 1], [1, 0]]


def test_maps_of_ids_and_categories_follow_their_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    EVENTS.assign(src="u" + EVENTS.src.astype(str), colour=EVENTS.kind.str[::-1]).to_csv("events.csv", index=False)
    edges = ("--edges", "user:*:item=events.csv", "--edge-features", "colour", "--map-ids", "--edge-types-from", "kind")
    assert call("build", "graph", *edges, "--deduplicate") == 0
    shown = caplog.text
    assert "user:*:item: split by 'kind' into 3" in shown
    assert (
        f"user:*:item, 600 edges; removed repeated edges: {600 - sum(map(len, read(tmp_path / 'graph').values()))}"
        in shown
    )
    assert call("build", "both", "--graph", "graph", "--add-reverse", "graphstorm", "--copy-edge-data") == 0
    assert (
        dgp.read_id_map("both", "user").id.compute().tolist() == dgp.read_id_map("graph", "user").id.compute().tolist()
    )
    kept = {path.relative_to("both/categories").as_posix() for path in Path("both/categories").rglob("*.parquet")}
    kinds = ("saw", "bought", "été")
    assert kept == {f"{etype}/colour.parquet" for k in kinds for etype in (f"user:{k}:item", f"item:{k}-rev:user")}
    for one, two in ((f"user:{k}:item", f"item:{k}-rev:user") for k in kinds):
        assert read(Path("both"))[one].colour.tolist() == read(Path("both"))[two].colour.tolist()


@pytest.mark.parametrize(
    ("given_dtype", "values", "dtype", "lost"),
    [
        ("float32", [1.5, 65504, np.inf, np.nan, 1e-9], "float16", None),
        ("float64", [1, 65520], "float16", "65520.0 in row 1"),
        ("int64", [0, 255], "uint8", None),
        ("int64", [0, 256], "uint8", "256 in row 1"),
        ("int8", [-1], "uint8", "-1 in row 0"),
        ("uint8", [200], "int8", "200 in row 0"),
        ("int64", [2**53 + 1], "float64", "9007199254740993 in row 0"),
        ("int64", [2**24], "float32", None),
        ("int64", [100_000], "float16", "100000 in row 0"),
        ("float32", [1.0, 2.5], "int32", "2.5 in row 1"),
        ("float32", [np.nan], "int32", "nan in row 0"),
        ("float32", [2**31], "int32", "2147483648.0 in row 0"),
        ("float64", [0, 1], "bool", None),
        ("int64", [2], "bool", "2 in row 0"),
        ("bool", [True], "float16", None),
        ("float32", [1.5, 1e38, np.inf, 1e-9], "bfloat16", None),
        ("float64", [1, 3.4e38], "bfloat16", "3.4e+38 in row 1"),
        ("int64", [256, 257], "bfloat16", "257 in row 1"),
    ],
)  # fmt: skip
def test_a_cast_keeps_values_or_refuses(
    tmp_path: Path, given_dtype: str, values: list[Any], dtype: str, lost: str | None
) -> None:
    rows, out = np.array(values, given_dtype), tmp_path / "out"
    args: dict[str, Any] = {"ndata_paths": {"n": {"x": rows}}, "output_path": out, "cast": {"n/x": dtype}}
    if lost is None:
        dgp.chunk_graph({("n", "r", "n"): ([0], [0])}, "g", **args)
        found = np.asarray(dgp.read_chunked(out).node_data["n"]["x"])
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, rows.astype(dtype))
        return
    with pytest.raises(GraphPartError) as caught:
        dgp.chunk_graph({("n", "r", "n"): ([0], [0])}, "g", **args)
    assert f"cast n/x: {dtype} cannot hold a value of {given_dtype}: {lost}" in str(caught.value)
    assert not out.exists()


FRAMES = {LIKES: EVENTS[["src", "dst", "stars", "price"]], "item:rev_likes:user": ([0], [1])}
MANY = {LIKES: pd.DataFrame({"src": 0, "dst": 0, "kind": range(10_001)})}


@pytest.mark.parametrize(
    ("edges", "changes", "message"),
    [
        (FRAMES, {"add_reverse": "dgl"}, "--add-reverse: the reverse of user:likes:item would be "
         "item:rev_likes:user, which exists already. Leave it out of the input, or give --add-reverse a pattern"),
        (FRAMES, {"add_reverse": "rev"}, "--add-reverse rev names no types. Use dgl, graphstorm, or a pattern"),
        (FRAMES, {"add_reverse": "{}"}, "--add-reverse {} names no types. Use dgl"),
        (FRAMES, {"add_reverse": "a/{}"}, "--add-reverse: name of reverse types 'a/{}' cannot be used in DGL's files"),
        (FRAMES, {"copy_edge_data": True}, "--copy-edge-data needs reverse edges. Add --add-reverse"),
        (FRAMES, {"edge_types_from": "kind"}, "--edge-types-from: edges of type 'user:likes:item' have no feature "
         "'kind'. Choose from stars, price"),
        (FRAMES, {"edge_types_from": {"user:hates:item": "stars"}}, "--edge-types-from: unknown edge type "
         "'user:hates:item'. Did you mean user:likes:item? Choose from user:likes:item, item:rev_likes:user"),
        (FRAMES, {"edge_types_from": {LIKES: "price"}}, "--edge-types-from: edges of type 'user:likes:item' cannot "
         "be split: expected a column of integers or strings, found float32 of shape (600,)"),
        (MANY, {"edge_types_from": "kind"}, "--edge-types-from: edges of type 'user:likes:item': too many values for "
         "relations: expected at most 10,000, found more than 10,000"),
        ({LIKES: EVENTS.assign(kind="/")}, {"edge_types_from": "kind"}, "--edge-types-from: relation of "
         "user:likes:item, '' cannot be used in DGL's files"),
        ({LIKES: EVENTS, "user:saw:item": ([0], [1])}, {"edge_types_from": {LIKES: "kind"}}, "--edge-types-from: "
         "the edge type exists already: user:saw:item"),
        ({LIKES: EVENTS, "item:rev_saw:user": ([0], [1])}, {"edge_types_from": {LIKES: "kind"}, "add_reverse": "dgl"},
         "--add-reverse: the reverse of user:saw:item would be item:rev_saw:user, which exists already"),
        (FRAMES, {"cast": {"likes/stars": "int8"}}, "--cast: unknown feature 'likes/stars'. "
         "Did you mean user:likes:item/stars?"),
        (FRAMES, {"cast": {"stars": "float8"}}, "--cast stars: unknown dtype 'float8'. "
         "Did you mean float64? Choose from float16, "),
        (FRAMES, {"cast": {"price": "bfloat16"}, "data_fmt": "parquet"}, "--data-format: parquet has no bfloat16: "
         "expected numpy, found parquet. Write numpy, or cast to float16"),
        ({FOLLOWS: ([0, -3], [1, -3])}, {"remove_self_loops": True}, "row 1: ID of a 'user' node out of range"),
    ],
)  # fmt: skip
def test_changes_that_cannot_be_are_one_error(
    tmp_path: Path, edges: Any, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(GraphPartError) as caught:
        dgp.chunk_graph(edges, "g", output_path=tmp_path / "out", **spelled(SMALL), **changes)
    assert message in caught.value.for_command_line()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--edges', '--from' or '--graph'"),
        (("--graph", "graph", "--from", "ogb", "."), "--from: a chunked graph has its own IDs and features"),
        (("--graph", "graph", "--map-ids"), "--map-ids: a chunked graph has its own IDs and features"),
        (
            ("--graph", "graph", "--cast", "x=int8", "--cast", "x=int16"),
            "--cast is given twice for the same: x=int8 x=int16",
        ),
        (("--graph", "graph", "--cast", "x"), "--cast"),
        (
            ("--edges", "edges.csv", "--edge-types-from", "kind"),
            "edges.csv: no column 'kind': expected one of src, dst",
        ),
        (("--edges", "edges.csv", "--cast", "x=int8"), "--cast: unknown feature 'x'. There are none."),
    ],
)
def test_the_command_line_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("src,dst\n0,1\n")
    dgp.chunk_graph(([0], [0]), "g", output_path="graph")
    assert call("build", "out", *arguments) == 2
    assert message in capsys.readouterr().err


def test_rows_that_are_kept_are_read_in_small_ranges() -> None:
    asked = []

    class Counting:
        shape, dtype = (1000, 2), np.dtype(np.int64)

        def __getitem__(self, chosen: slice) -> np.ndarray:
            asked.append(chosen.stop - chosen.start)
            return np.arange(2000).reshape(1000, 2)[chosen]

    numbers = np.array([0, 1, 5, 6, 7, 400, 998, 999])
    rows = KeptRows(ArrayRows(Counting()), ArrayRows(numbers))
    np.testing.assert_array_equal(rows.read(1, 8), np.arange(2000).reshape(1000, 2)[numbers[1:]])
    assert max(asked) <= 7


def test_names_of_reverse_types() -> None:
    def reverse(add_reverse: str | None, *edges: str) -> list[str]:
        changes = GraphChanges(add_reverse=add_reverse)
        ntypes = {end for etype in edges for end in etype.split(":")[::2]}
        return [*doubled_types(changes, ntypes, edges), *reverse_types(changes, ntypes, edges).values()]

    assert [reverse(name, "a:r:a") for name in (None, "dgl", "graphstorm", "x{}")] == [
        [],
        ["a:r:a"],
        ["a:r:a"],
        ["a:xr:a"],
    ]
    assert reverse("dgl", "a:r:b", "a:s:a") == ["a:s:a", "b:rev_r:a"]
    assert reverse("graphstorm", "a:r:b", "a:s:a") == ["b:r-rev:a", "a:s-rev:a"]
