"""The files for ParMETIS are those DGL's user guide and examples describe, and the parts it writes are read back."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from graphs import Graph, file_hashes
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import Resources, open_runner
from keywords import spelled
from parmetis_programs import pm_dglpart, pm_dglpart2
from strategies import graphs, layouts

from daskgraphpart import (
    EdgeType,
    GraphPartError,
    GraphSchema,
    NodeType,
    assign,
    dispatch,
    from_edges,
    read_chunked,
    verify,
)
from daskgraphpart.errors import AssignmentError, InputFileError, InputFileNotFoundError, OptionError, OutputExistsError
from daskgraphpart.interop.parmetis.parmetis import read as read_parmetis
from daskgraphpart.interop.parmetis.parmetis import write as write_parmetis
from daskgraphpart.interop.parmetis.write_text import write_parmetis_files
from daskgraphpart.partitioner.parmetis_files import ParmetisFiles, find_parts, read_parmetis_parts

if TYPE_CHECKING:
    from strategies import Layout

RESOURCES = Resources(1 << 28, "sync")


MEMORIES = st.sampled_from((1_000, 5_000, 1 << 27))
"""Of one task: blocks of some rows or lines, and of all."""


def in_memory(graph: Graph, weights: list[str]) -> dict[str, str]:
    """What the files must hold, after DGL's examples/pytorch/rgcn/experimental/write_mag.py."""
    schema, starts = graph.schema, graph.schema.homo_starts
    nodes = []
    for i, node_type in enumerate(schema.node_types):
        one_hot = [int(i == other) for other, t in enumerate(schema.node_types) if t.num_nodes]
        for node in range(node_type.num_nodes):
            data = graph.node_data.get(node_type.name, {})
            nodes.append([i, *one_hot, *(int(data[w][node]) if w in data else 0 for w in weights), node])
    kept, removed, seen = [], [], set()
    for i, edge_type in enumerate(schema.edge_types):
        first_src, first_dst = (starts[schema.ntypes.index(end)] for end in (edge_type.src, edge_type.dst))
        for eid, (src, dst) in enumerate(zip(*graph.edges[edge_type.name], strict=True)):
            pair = int(src) + first_src, int(dst) + first_dst
            (removed if pair[0] == pair[1] or pair in seen else kept).append([*pair, eid, i])
            seen.add(pair)
    stats = [[len(nodes), len(kept), sum(t.num_nodes > 0 for t in schema.node_types) + len(weights)]]
    texts = {"nodes": nodes, "edges": kept, "removed_edges": removed, "stats": stats}
    return {name: "".join(" ".join(map(str, line)) + "\n" for line in lines) for name, lines in texts.items()}


@settings(max_examples=20)
@given(graphs(), layouts(), MEMORIES, st.sampled_from((1, 2, 5)), st.booleans())
def test_files_are_those_of_the_definition_and_parts_come_back(
    graph: Graph, layout: Layout, task_memory: int, num_parts: int, alone: bool
) -> None:
    weights = (
        ["train_mask"] if any(data.get("train_mask", np.zeros(0)).any() for data in graph.node_data.values()) else []
    )
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        graph.write(
            root / "in",
            edge_format=layout.edge_format,
            data_format=layout.data_format,
            num_chunks=layout.num_chunks,
            delimiter=layout.delimiter,
        )
        chunked = read_chunked(root / "in")
        for directory in ("out", "scratch"):
            (root / directory).mkdir()
        files = ParmetisFiles(root / "out", "g")
        with open_runner(RESOURCES) as runner:
            write_parmetis_files(chunked, files, weights, runner, root / "scratch", task_memory)
            for kind, text in in_memory(graph, weights).items():
                assert (root / "out" / f"g_{kind}.txt").read_text() == text, kind
            run = pm_dglpart if alone else lambda *a: pm_dglpart2(*a, num_processes=3)
            parts = run(root / "out", "g", num_parts)
            found = find_parts(root / "out", "g", None)
            assignment = read_parmetis_parts(found, chunked.schema, root / "owners", RESOURCES)
        owners = [assignment.files[ntype].memmap() for ntype in chunked.schema.ntypes]
        assert assignment.num_parts == num_parts
        assert np.concatenate(owners).tolist() == parts.tolist()


def toy(directory: Path, **more: np.ndarray) -> Path:
    """The toy graph of DGL's user guide 7.1 (0.8): node types of three and four nodes; edges of our own."""
    schema = GraphSchema(
        "xxx", (NodeType("a", 3), NodeType("b", 4)), (EdgeType("a", "r", "b", 5), EdgeType("a", "s", "a", 3))
    )
    edges = {
        "a:r:b": (np.array([0, 0, 1, 0, 2]), np.array([1, 1, 2, 3, 0])),
        "a:s:a": (np.array([0, 1, 2]), np.array([0, 2, 1])),
    }
    return Graph(schema, edges, {"a": more} if more else {}).write(directory)


def test_the_toy_example_of_dgls_user_guide(tmp_path: Path) -> None:
    found = write_parmetis(toy(tmp_path / "in"), tmp_path / "out")
    texts = {path.name: path.read_text() for path in (tmp_path / "out").glob("*.txt")}
    assert texts == {
        "xxx_nodes.txt": "0 1 0 0\n0 1 0 1\n0 1 0 2\n1 0 1 0\n1 0 1 1\n1 0 1 2\n1 0 1 3\n",
        "xxx_edges.txt": "0 4 0 0\n1 5 2 0\n0 6 3 0\n2 3 4 0\n1 2 1 1\n2 1 2 1\n",
        "xxx_removed_edges.txt": "0 4 1 0\n0 0 0 1\n",
        "xxx_stats.txt": "7 6 2\n",
    }
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["xxx.json", *sorted(texts)]
    assert (found.num_nodes, found.num_edges, found.num_self_loops, found.num_repeats) == (7, 6, 1, 1)


def test_node_data_become_weights(tmp_path: Path) -> None:
    more = {"mask": np.array([True, False, True]), "size": np.array([[300], [0], [7]])}
    found = write_parmetis(toy(tmp_path / "in", **more), tmp_path / "out", weights=["size", "mask"])
    lines = (tmp_path / "out" / "xxx_nodes.txt").read_text().splitlines()
    assert lines[:4] == ["0 1 0 300 1 0", "0 1 0 0 0 1", "0 1 0 7 1 2", "1 0 1 0 0 0"]
    assert found.num_node_weights == 4
    assert (tmp_path / "out" / "xxx_stats.txt").read_text() == "7 6 4\n"


def test_data_of_all_types_become_attributes_behind_each_line(tmp_path: Path) -> None:
    graph = read_chunked(toy(tmp_path / "in"))
    edges = {"a:r:b": np.array([True, False, True, False, True]), "a:s:a": np.array([True, True, False])}
    nodes = {"a": np.array([[0.1, -2], [3e9, np.nan], [0, 1]], "f4"), "b": np.full((4, 2), np.inf, "f4")}
    given = from_edges(
        graph.edges,
        num_nodes={of: len(rows) for of, rows in nodes.items()},
        node_data={of: {"feat": rows, "half": rows[:, 1].astype("f2")} for of, rows in nodes.items()},
        edge_data={of: {"flag": rows} for of, rows in edges.items()},
        name="xxx",
    )
    out = tmp_path / "out"
    write_parmetis(given, out, node_attrs=["feat", "half"], edge_attrs=["flag"], cluster="sync")
    texts = {name: (out / f"xxx_{name}.txt").read_text().splitlines() for name in ("nodes", "edges", "removed_edges")}
    assert texts["nodes"][:3] == ["0 1 0 0 0.1 -2 -2", "0 1 0 1 3000000000 nan nan", "0 1 0 2 0 1 1"]
    assert texts["nodes"][3:] == [f"1 0 1 {node} inf inf inf" for node in range(4)]
    assert texts["edges"] == ["0 4 0 0 1", "1 5 2 0 1", "0 6 3 0 0", "2 3 4 0 1", "1 2 1 1 1", "2 1 2 1 0"]
    assert texts["removed_edges"] == ["0 4 1 0 0", "0 0 0 1 1"]


def test_attributes_are_of_all_types(tmp_path: Path) -> None:
    graph = toy(tmp_path / "in", size=np.ones((3, 2), "f4"))
    found = r"expected the same dtype and row shape in all types, found a: float32\[2\], b: none"
    with pytest.raises(OptionError, match=rf"cannot write 'size': .*: {found}"):
        write_parmetis(graph, tmp_path / "out", node_attrs=["size"])
    with pytest.raises(OptionError, match="edge_attrs: cannot write 'size'"):
        write_parmetis(graph, tmp_path / "out", edge_attrs=["size"])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("data", [np.ones(3, "f4"), np.ones((3, 2), int)])
def test_data_that_are_no_integers_cannot_be_weights(data: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"cannot be balanced.*one integer or boolean per node"):
        write_parmetis(toy(tmp_path / "in", size=data), tmp_path / "out", weights=["size"])
    assert not (tmp_path / "out").exists()


def test_weights_are_checked(tmp_path: Path) -> None:
    graph = toy(tmp_path / "in", size=np.array([1, -4, 2]))
    with pytest.raises(AssignmentError, match=r"weights a/size: negative node weight: expected 0 or more, found -4"):
        write_parmetis(graph, tmp_path / "out", weights=["size"])
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(InputFileError, match="weights 'none' are zero for all nodes"):
        write_parmetis(toy(tmp_path / "more", none=np.zeros(3, int)), tmp_path / "out", weights=["none"])
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(OptionError, match="no node type has data 'width': expected one of: size"):
        write_parmetis(graph, tmp_path / "out", weights=["width"])
    with pytest.raises(OptionError, match="given twice"):
        write_parmetis(graph, tmp_path / "out", weights=["size", "size"])


def test_processes_write_the_same_bytes_in_a_workspace_elsewhere(tmp_path: Path) -> None:
    graph = toy(tmp_path / "in")
    write_parmetis(graph, tmp_path / "one", memory=1 << 26, cluster="sync")
    processes = Resources(1 << 28, "processes", 2, workspace=str(tmp_path / "work"))
    write_parmetis(graph, tmp_path / "two", **spelled(processes))
    assert file_hashes(tmp_path / "one") == file_hashes(tmp_path / "two")
    assert list((tmp_path / "work").iterdir()) == []


def test_a_graph_of_collections_gives_the_same_files(tmp_path: Path) -> None:
    graph = read_chunked(toy(tmp_path / "in", mask=np.array([True, False, True])))
    counts = {node_type.name: node_type.num_nodes for node_type in graph.schema.node_types}
    given = from_edges(graph.edges, num_nodes=counts, node_data=graph.node_data, name="xxx")
    for name, source in (("one", graph), ("two", given)):
        write_parmetis(source, tmp_path / name, weights=["mask"])
    assert file_hashes(tmp_path / "one") == file_hashes(tmp_path / "two")


def test_files_are_replaced_on_request_only(tmp_path: Path) -> None:
    graph = toy(tmp_path / "in")
    write_parmetis(graph, tmp_path / "out")
    with pytest.raises(OutputExistsError, match="overwrite=True"):
        write_parmetis(graph, tmp_path / "out")
    expected = file_hashes(tmp_path / "out")
    write_parmetis(graph, tmp_path / "out", overwrite=True)
    assert file_hashes(tmp_path / "out") == expected


def test_files_of_the_graph_are_never_replaced(tmp_path: Path) -> None:
    schema = GraphSchema("metadata", (NodeType("a", 2),), ())
    graph = Graph(schema, {}).write(tmp_path / "in")
    with pytest.raises(OutputExistsError, match="belongs to the graph"):
        write_parmetis(graph, graph, overwrite=True)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_parmetis(toy(tmp_path / "in"), tmp_path / "pm")
    return tmp_path


def test_an_assignment_is_written_and_dispatch_takes_either(written: Path) -> None:
    parts = pm_dglpart2(written / "pm", "xxx", 2, 2)
    read_parmetis(written / "in", written / "pm", written / "owners")
    text = [(written / "owners" / f"{ntype}.txt").read_text().split() for ntype in ("a", "b")]
    assert [int(word) for words in text for word in words] == parts.tolist()
    dispatch(written / "in", written / "owners", written / "one")
    dispatch(written / "in", written / "pm", written / "two")
    dispatch(written / "in", written / "pm" / "xxx_part.2", written / "three")
    assert file_hashes(written / "one") == file_hashes(written / "two") == file_hashes(written / "three")
    assert verify(written / "in", written / "one") is not None
    assign(written / "in", 2, out=written / "again", method=str(written / "pm" / "xxx_part.2"))
    assert file_hashes(written / "again") == file_hashes(written / "owners")


def test_a_part_without_nodes_is_kept(written: Path) -> None:
    lines = "".join(f"{node} {node % 2 * 2}\n" for node in range(7))
    (written / "pm" / "xxx_part.4").write_text(lines)
    read_parmetis(written / "in", written / "pm", written / "owners")
    assert '"num_parts": 4' in (written / "owners" / "partition_meta.json").read_text()
    pm_dglpart(written / "pm", "xxx", 2)
    for kind in ("nodes", "edges"):
        (written / "pm" / f"p002-xxx_{kind}.txt").touch()
    (written / "pm" / "xxx_part.4").unlink()
    read_parmetis(written / "in", written / "pm", written / "more")
    assert '"num_parts": 3' in (written / "more" / "partition_meta.json").read_text()


def test_what_dgls_postprocess_writes_is_read_and_its_count_of_parts_explained(written: Path) -> None:
    owners = written / "owners"
    owners.mkdir()
    (owners / "a.txt").write_text("0\n2\n2\n")
    (owners / "b.txt").write_text("0\n2\n0\n2\n")
    meta = '{"num_parts": %d, "algo_name": "metis", "version": "1.0.0"}'
    (owners / "partition_meta.json").write_text(meta % 2)  # distinct owners, not parts
    with pytest.raises(
        AssignmentError, match=r"found 2\. DGL's parmetis_postprocess.py counts the parts that have nodes"
    ):
        dispatch(written / "in", owners, written / "out")
    (owners / "partition_meta.json").write_text(meta % 3)
    (owners / "xxx_part.3").write_text("garbage")  # beside owners it is not looked at
    dispatch(written / "in", owners, written / "out")


GOOD = [[node, node % 2] for node in range(7)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "wrong number of nodes: expected 7, a line for each, found 0"),
        ("0 1\n1 1\n", "wrong number of nodes: expected 7, a line for each, found 2"),
        ("0 1\n\n1 0\n2 7\n", r"line 3: part out of range: expected \[0, 2\), found 7"),
        ("0 1\n1 0\n9 0\n", r"line 3: homogeneous node ID out of range: expected \[0, 7\), found 9"),
        (
            "0 1\n1 x\n",
            r"line 2: part out of range: expected \[0, 2\), found x",
        ),
        (
            "0 1\n1\n",
            r"line 2: line cannot be read: expected 2 columns, among them homogeneous node ID, part, found '1'",
        ),
        ("0 1 5\n", r"line 1: line cannot be read: expected 2 columns.*found '0 1 5'"),
        ("0 99999999999999999999\n", r"line 1: part out of range"),
        ("0 1.5\n", r"line 1: part out of range: expected \[0, 2\), found 1.5"),
        ("0 nan\n", r"line 1: part out of range: expected \[0, 2\), found nan"),
        ("9007199254740993.0 1\n", r"line 1: homogeneous node ID out of range"),  # floats have no such number
        ("node part\n0 1\n", r"line 1: homogeneous node ID out of range"),
        (
            "0 1\n1 0\n2 1\n3 0\n4 1\n5 0\n3 0\n",
            r"node is listed twice: expected every node once, found 'b' node 0",
        ),
    ],
)
def test_a_wrong_line_is_one_error(text: str, message: str, written: Path) -> None:
    path = written / "pm" / "xxx_part.2"
    path.write_text(text)
    schema = read_chunked(written / "in").schema
    with pytest.raises(AssignmentError, match=message) as error:
        read_parmetis_parts(find_parts(path, "xxx", None), schema, written / "owners", RESOURCES)
    assert error.value.file == str(path)
    assert not list((written / "owners").glob(".*"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 0 1 0", r"line 1: line cannot be read: expected 5 columns, among them node type, ID in its node type"),
        ("0 2 1 0 0", r"node type out of range: expected \[0, 2\), found 2"),
        ("0 0 1 0 3", r"behind 2 weights\) out of range: expected \[0, 3\), found 3"),
        ("0 0 1 0 0.5", r"\(behind 2 weights\) out of range"),
    ],
)
def test_a_wrong_line_of_one_part_is_one_error(line: str, message: str, written: Path) -> None:
    pm_dglpart(written / "pm", "xxx", 2)
    path = written / "pm" / "p001-xxx_nodes.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([line, *lines[1:]]))
    with pytest.raises(AssignmentError, match=message) as error:
        read_parmetis(written / "in", written / "pm", written / "owners")
    assert (error.value.file, error.value.place) == (str(path), "line 1")


def test_nodes_with_attributes_are_read_with_and_without_the_stats_file(written: Path) -> None:
    parts = pm_dglpart(written / "pm", "xxx", 2)
    for path in (written / "pm").glob("p*_nodes.txt"):
        path.write_text("".join(f"{line} 0.5 nan\n" for line in path.read_text().splitlines()))
    read_parmetis(written / "in", written / "pm", written / "one")
    (written / "pm" / "xxx_stats.txt").unlink()
    with pytest.raises(AssignmentError, match=r"behind 4 weights\) out of range"):
        read_parmetis(written / "in", written / "pm", written / "two")
    read_parmetis(written / "in", written / "pm", written / "two", num_node_weights=2, overwrite=True)
    assert file_hashes(written / "one") == file_hashes(written / "two")
    assert [int(w) for t in "ab" for w in (written / "one" / f"{t}.txt").read_text().split()] == parts.tolist()


@pytest.mark.parametrize(
    ("files", "num_parts", "kind", "message"),
    [
        ([], None, InputFileNotFoundError, "no output of ParMETIS for graph 'xxx'"),
        (["xxx_part.2", "xxx_part.3"], None, OptionError, "several outputs of ParMETIS"),
        (["xxx_part.2", "xxx_part.3"], 4, OptionError, "several outputs of ParMETIS"),
        (["xxx_part.2", "p000-xxx_nodes.txt"], None, OptionError, "several outputs of ParMETIS"),
        (["xxx_part.2"], 3, AssignmentError, "a different number of parts: expected 3, found 2"),
        (
            ["p000-xxx_nodes.txt", "p002-xxx_nodes.txt"],
            None,
            InputFileNotFoundError,
            "p001-xxx_nodes.txt: no node file",
        ),
        (["p000-xxx_nodes.txt"], 2, InputFileNotFoundError, "p001-xxx_nodes.txt: no node file"),
        (["p000-xxx_nodes.txt", "p001-xxx_nodes.txt"], 1, AssignmentError, "expected parts below 1"),
    ],
)
def test_files_that_are_missing_or_too_many_are_one_error(
    files: list[str], num_parts: int | None, kind: type[GraphPartError], message: str, written: Path
) -> None:
    for name in files:
        (written / "pm" / name).touch()
    with pytest.raises(kind, match=message):
        read_parmetis(written / "in", written / "pm", written / "owners", num_parts=num_parts)


def test_of_a_file_of_any_name_parts_are_counted(written: Path) -> None:
    (written / "parts.txt").write_text("".join(f"{node} {part}\n" for node, part in GOOD))
    for number, name in ((3, "given"), (None, "counted")):
        read_parmetis(written / "in", written / "parts.txt", written / name, num_parts=number)
        meta = json.loads((written / name / "partition_meta.json").read_text())
        assert meta["num_parts"] == (number or 2)
    dispatch(written / "in", written / "parts.txt", written / "out")
    assert verify(written / "in", written / "out").ok
    (written / "swapped.txt").write_text("".join(f"{part} {node}\n" for node, part in GOOD))
    with pytest.raises(AssignmentError, match="node is listed twice"):
        read_parmetis(written / "in", written / "swapped.txt", written / "more")
    with pytest.raises(InputFileNotFoundError, match="no such file or directory"):
        read_parmetis(written / "in", written / "nothing", written / "more")
    assert not (written / "more").exists()


def test_floats_of_numpy_are_parts(written: Path) -> None:
    """As DGL's own test of parmetis_postprocess.py writes them."""
    np.savetxt(written / "parts.txt", np.array(GOOD))
    read_parmetis(written / "in", written / "parts.txt", written / "owners")
    owners = [int(word) for ntype in "ab" for word in (written / "owners" / f"{ntype}.txt").read_text().split()]
    assert owners == [part for _, part in GOOD]


def test_a_stats_file_that_is_none_is_one_error(written: Path) -> None:
    pm_dglpart(written / "pm", "xxx", 2)
    (written / "pm" / "xxx_stats.txt").write_text("7 6\n")
    with pytest.raises(AssignmentError, match="not a stats file of ParMETIS"):
        read_parmetis(written / "in", written / "pm", written / "owners")
