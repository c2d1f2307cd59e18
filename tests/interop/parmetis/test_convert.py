"""What `pm_dglpart` has written becomes the partitions that dispatch makes of the graph itself."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from graphs import Graph, file_hashes
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from inside import Resources
from parmetis_programs import pm_dglpart, read_lines, write_lines
from strategies import graphs

from daskgraphpart import EdgeType, GraphPartError, GraphSchema, NodeType, dispatch, verify
from daskgraphpart.errors import (
    AssignmentError,
    InputFileError,
    InputFileNotFoundError,
    MetadataError,
    OptionError,
    OutputExistsError,
)
from daskgraphpart.interop.parmetis.parmetis import convert, write
from daskgraphpart.interop.parmetis.pm_dglpart import ConversionInput, read_graph, read_type_counts
from daskgraphpart.partitioner.parmetis_files import find_parts

if TYPE_CHECKING:
    from collections.abc import Callable


def with_attributes(graph: Graph, width: int) -> Graph:
    """The graph with nothing but the feature `feat` of all types."""
    rng = np.random.default_rng(3)
    nodes = {t.name: {"feat": rng.random((t.num_nodes, width)).astype("f4")} for t in graph.schema.node_types}
    edges = {t.name: {"feat": rng.integers(-99, 99, (t.num_edges, width))} for t in graph.schema.edge_types}
    return Graph(graph.schema, graph.edges, nodes, edges)


def prepared(graph: Graph, root: Path, num_parts: int, attributes: bool) -> Path:
    graph.write(root / "in")
    names = ["feat"] if attributes else []
    write(root / "in", root / "pm", node_attrs=names, edge_attrs=names)
    pm_dglpart(root / "pm", graph.schema.name, num_parts)
    return root / "pm"


@settings(max_examples=20)
@given(graphs(), st.sampled_from((1, 2)), st.sampled_from((1, 3)), st.sampled_from((0, 1, 3)))
def test_the_graph_comes_back(graph: Graph, workers: int, num_parts: int, width: int) -> None:
    assume(graph.schema.num_edges > 0 and graph.schema.num_nodes > 0)
    graph = with_attributes(graph, width)
    with tempfile.TemporaryDirectory() as name:
        pm = prepared(graph, Path(name), num_parts, attributes=width > 0)
        source = ConversionInput(
            "g",
            read_type_counts(pm / "g.json"),
            find_parts(pm, "g", num_parts, by_part_only=True),
            pm / "g_removed_edges.txt",
            np.dtype("f4") if width else None,
            np.dtype("i8") if width else None,
        )
        found = read_graph(source, Path(name) / "work", Resources(1 << 28, "sync", workers))
        assert found.schema.ntypes == graph.schema.ntypes and found.schema.etypes == graph.schema.etypes
        for etype, (src, dst) in graph.edges.items():
            frame = found.edges[etype].compute()
            assert (frame.src.tolist(), frame.dst.tolist()) == (src.tolist(), dst.tolist())
        if width:
            for ntype, data in graph.node_data.items():
                assert np.array_equal(found.node_data[ntype]["feat"].compute(), data["feat"])
            for etype, data in graph.edge_data.items():
                assert np.array_equal(found.edge_data[etype]["feat"].compute(), data["feat"])
        assert all(path.suffix == ".npy" for path in (Path(name) / "work").iterdir())


def small() -> Graph:
    node_types = (NodeType("a", 6), NodeType("b", 4))
    edge_types = (EdgeType("a", "r", "b", 7), EdgeType("a", "s", "a", 5), EdgeType("b", "t", "a", 1))
    edges = {
        "a:r:b": (np.array([0, 0, 1, 0, 2, 5, 0]), np.array([1, 1, 2, 3, 0, 3, 1])),
        "a:s:a": (np.array([0, 1, 2, 4, 3]), np.array([0, 2, 1, 4, 5])),
        "b:t:a": (np.array([1]), np.array([0])),
    }
    return with_attributes(Graph(GraphSchema("xxx", node_types, edge_types), edges), 2)


@pytest.fixture
def pm(tmp_path: Path) -> Path:
    return prepared(small(), tmp_path, 2, attributes=True)


@pytest.mark.parametrize("cluster", ["sync", "processes"])
def test_the_partitions_are_those_of_dispatch(cluster: str, pm: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    convert(
        pm,
        out,
        graph_name="xxx",
        num_parts=2,
        num_node_weights=2,
        removed_edges="xxx_removed_edges.txt",
        node_attr_dtype="float32",
        edge_attr_dtype="int64",
        memory=1 << 28,
        cluster=cluster,
        workers=1 if cluster == "sync" else 2,
    )
    assert verify(tmp_path / "in", out).findings == ()
    dispatch(tmp_path / "in", pm, tmp_path / "expected")
    assert file_hashes(out) == file_hashes(tmp_path / "expected")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["expected", "in", "out", "pm"]


def test_plain_relations_take_their_ends_from_the_edges(pm: Path, tmp_path: Path) -> None:
    ranges = json.loads((pm / "xxx.json").read_text())
    ranges["eid"] = {etype.split(":")[1]: of_type for etype, of_type in reversed(ranges["eid"].items())}
    (tmp_path / "schema.json").write_text(json.dumps(ranges))
    removed = tmp_path / "removed.txt"
    (pm / "xxx_removed_edges.txt").rename(removed)
    convert(pm, tmp_path / "out", graph_name="xxx", schema=tmp_path / "schema.json", removed_edges=removed)
    config = json.loads((tmp_path / "out" / "xxx.json").read_text())
    assert list(config["etypes"]) == ["a:r:b", "a:s:a", "b:t:a"]
    edges = Graph(small().schema, small().edges).write(tmp_path / "plain")
    assert verify(edges, tmp_path / "out").findings == ()


def test_blanks_at_the_end_and_special_numbers_are_read(pm: Path, tmp_path: Path) -> None:
    for path in pm.glob("p*_nodes.txt"):
        lines = [line.split() for line in path.read_text().splitlines()]
        path.write_text("\r\n\r\n".join(" ".join([*line[:-1], "nan"]) + " " for line in lines))
    convert(pm, tmp_path / "out", graph_name="xxx", removed_edges="xxx_removed_edges.txt", node_attr_dtype="float16")
    from daskgraphpart import open_partitions

    rows = open_partitions(tmp_path / "out").node_data["a"]["feat"].compute()
    assert rows.dtype == np.float16 and rows.shape == (6, 2)
    assert np.isnan(rows[:, 1]).all() and not np.isnan(rows[:, 0]).any()


def edit(path: str, change: Callable[[list[list[str]]], object]) -> Callable[[Path], None]:
    def on(directory: Path) -> None:
        lines = read_lines(directory / path)
        change(lines)
        write_lines(directory / path, lines)  # type: ignore[arg-type]

    return on


def put(row: int, column: int, value: str) -> Callable[[list[list[str]]], object]:
    return lambda lines: lines[row].__setitem__(column, value)


EDGES = "p000-xxx_edges.txt"


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (edit(EDGES, put(1, 2, "10")), AssignmentError, r"line 2: source out of range: expected \[0, 10\), found 10"),
        (edit(EDGES, put(1, 3, "-1")), AssignmentError, r"line 2: destination out of range"),
        (edit(EDGES, put(0, 5, "3")), AssignmentError, r"line 1: edge type out of range: expected \[0, 3\), found 3"),
        (edit(EDGES, put(0, 4, "7")), AssignmentError, r"line 1: edge ID out of range"),
        (edit(EDGES, lambda lines: lines.append(lines[0])), AssignmentError, "wrong number of edges: expected 13"),
        (
            edit(EDGES, lambda lines: lines.__setitem__(1, lines[0])),
            AssignmentError,
            "edge is missing: expected every edge once",
        ),
        (edit(EDGES, lambda lines: lines[1].pop()), AssignmentError, r"line 2: line cannot be read"),
        (edit(EDGES, put(0, 7, "x")), AssignmentError, r"line 1: line cannot be read"),
        (
            edit(EDGES, lambda lines: lines[0].__delitem__(slice(4, None))),
            AssignmentError,
            "line 1: line cannot be read: expected 8 columns",
        ),
        (edit("xxx_removed_edges.txt", lambda lines: lines.pop()), AssignmentError, "wrong number.*removed_edges"),
        (
            edit("p001-xxx_nodes.txt", lambda lines: lines[1].pop()),
            AssignmentError,
            "p001-xxx_nodes.txt, line 2: line cannot be read",
        ),
        (lambda pm: (pm / EDGES).unlink(), InputFileNotFoundError, "p000-xxx_edges.txt: no such edge file"),
        (lambda pm: (pm / "xxx_removed_edges.txt").unlink(), InputFileNotFoundError, "no such edge file"),
        (lambda pm: (pm / "xxx.json").unlink(), InputFileNotFoundError, "xxx.json: no such file"),
        (lambda pm: (pm / "xxx.json").write_text("{"), MetadataError, "not valid JSON"),
        (lambda pm: (pm / "xxx.json").write_text("[]"), MetadataError, "not a JSON object"),
        (lambda pm: (pm / "xxx.json").write_text('{"nid": {}, "eid": {}}'), MetadataError, "no node type"),
        (
            lambda pm: (pm / "xxx.json").write_text('{"nid": {"a": [0, 5]}}'),
            MetadataError,
            "invalid ranges of types",
        ),
        (
            lambda pm: (pm / "xxx.json").write_text('{"nid": {"a": 5}, "eid": {}}'),
            MetadataError,
            r"nid.*: invalid ranges of types: expected {type: \[start, stop\]}",
        ),
        (
            lambda pm: (pm / "xxx.json").write_text('{"nid": {"a": [0, 6], "b": [7, 11]}, "eid": {}}'),
            MetadataError,
            r"nid.b: the ranges do not follow each other: expected \[6, 6 or more\], found \[7, 11\]",
        ),
        (
            lambda pm: (pm / "xxx.json").write_text('{"nid": {"a": [0, 6]}, "eid": {"a:b": [0, 1]}}'),
            MetadataError,
            "not an edge type",
        ),
        (
            lambda pm: (pm / "xxx.json").write_text('{"nid": {"a/b": [0, 6]}, "eid": {}}'),
            MetadataError,
            "cannot be used in DGL's files",
        ),
        (
            lambda pm: (pm / "xxx.json").write_text((pm / "xxx.json").read_text().replace("a:s:a", "b:s:a")),
            InputFileError,
            "edges of type 'b:s:a' join other node types: expected b to a, found a to a",
        ),
    ],
)
def test_what_is_wrong_is_one_error(
    change: Callable[[Path], object], kind: type[GraphPartError], message: str, pm: Path, tmp_path: Path
) -> None:
    change(pm)
    with pytest.raises(kind, match=message):
        convert(
            pm,
            tmp_path / "out",
            graph_name="xxx",
            removed_edges="xxx_removed_edges.txt",
            node_attr_dtype="float32",
            edge_attr_dtype="int64",
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "pm"]


def test_a_relation_without_edges_needs_its_ends(tmp_path: Path) -> None:
    schema = GraphSchema("g", (NodeType("a", 2), NodeType("b", 1)), (EdgeType("a", "r", "b", 0),))
    nothing = np.zeros(0, np.int64)
    pm = prepared(Graph(schema, {"a:r:b": (nothing, nothing)}), tmp_path, 1, attributes=False)
    convert(pm, tmp_path / "out", graph_name="g")
    (pm / "g.json").write_text('{"nid": {"a": [0, 2], "b": [2, 3]}, "eid": {"r": [0, 0]}}')
    with pytest.raises(MetadataError, match=r"joins, .*. Name it src:relation:dst"):
        convert(pm, tmp_path / "more", graph_name="g")


def test_options_are_checked_before_work_starts(pm: Path, tmp_path: Path) -> None:
    for dtype in ("bool", "complex64", "nonsense"):
        with pytest.raises(OptionError, match="node_attr_dtype: unknown dtype of attributes"):
            convert(pm, tmp_path / "out", graph_name="xxx", node_attr_dtype=dtype)
    with pytest.raises(OutputExistsError, match="holds the input"):
        convert(pm, pm, graph_name="xxx", overwrite=True)
    with pytest.raises(OutputExistsError, match="not empty"):
        convert(pm, tmp_path / "in", graph_name="xxx")
    with pytest.raises(InputFileNotFoundError, match="no output of ParMETIS for graph 'yyy'"):
        convert(pm, tmp_path / "out", graph_name="yyy", schema=pm / "xxx.json")


def test_attributes_that_are_not_there_are_one_error(tmp_path: Path) -> None:
    pm = prepared(small(), tmp_path, 2, attributes=False)
    with pytest.raises(OptionError, match="the nodes have no attributes"):
        convert(
            pm, tmp_path / "out", graph_name="xxx", removed_edges="xxx_removed_edges.txt", node_attr_dtype="float32"
        )
