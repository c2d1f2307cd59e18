"""Partitions of older DGLs open as they are; what is broken is one clear error."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import call
from graphs import Graph

from daskgraphpart import (
    Resources,
    load_partition_book,
    load_partition_feats,
    open_partitions,
    partition,
)
from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.dgl_graph_file import graph_file_layout
from daskgraphpart.layouts.dgl_tensor_file import read_tensor_file, tensor_file_layout
from daskgraphpart.layouts.file_layout import ArraySpec, create_file
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType
from daskgraphpart.storage.atomic import publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BARE = {"u:likes:v": "likes", "v:liked-by:u": "liked-by"}


@pytest.fixture
def canonical(tmp_path: Path) -> Path:
    """Partitions as we write them."""
    rng = np.random.default_rng(0)
    schema = GraphSchema("g", (NodeType("u", 30), NodeType("v", 20)), (EdgeType("u", "likes", "v", 90),
                         EdgeType("v", "liked-by", "u", 70)))  # fmt: skip
    edges = {
        "u:likes:v": (rng.integers(0, 30, 90), rng.integers(0, 20, 90)),
        "v:liked-by:u": (rng.integers(0, 20, 70), rng.integers(0, 30, 70)),
    }
    graph = Graph(schema, edges, {"u": {"x": rng.random(30)}}, {"u:likes:v": {"w": rng.random((90, 2))}})
    graph.write(tmp_path / "in")
    partition(tmp_path / "in", tmp_path / "out", 2, method="random", resources=Resources(1 << 30, "sync", 1))
    return tmp_path / "out"


@pytest.fixture
def old(canonical: Path) -> Path:
    """The same as DGL 0.9 writes them: bare relations, original IDs inside the graph, plural names of files."""
    before = open_partitions(canonical)
    content = json.loads((canonical / "g.json").read_text())
    for key in ("etypes", "edge_map"):
        content[key] = {BARE[name]: value for name, value in content[key].items()}
    (canonical / "g.json").write_text(json.dumps(content))
    for part in before.parts:
        directory = part.graph_path.parent
        rename_types(part.edge_feats_path)
        part.node_feats_path.rename(directory / "node_feats.dgl")
        add_orig_ids(part)
        (directory / "orig_nids.dgl").unlink()
        (directory / "orig_eids.dgl").unlink()
    return canonical


def rename_types(path: Path) -> None:
    """Write a tensor file again with bare relations in its keys."""
    rows = {key: region.read() for key, region in read_tensor_file(path).items()}
    names = {key: "/".join((BARE.get(key.split("/")[0], key.split("/")[0]), key.split("/")[1])) for key in rows}
    specs = [ArraySpec(names[key], of.dtype, of.shape) for key, of in rows.items()]
    targets = create_file(path, tensor_file_layout(specs))
    for key, of in rows.items():
        targets[names[key]].write(of, 0)
    publish(path)


def add_orig_ids(part: Any) -> None:
    """Keep original type-wise IDs where DGL 0.9 does."""
    graph = part.graph
    halo = np.full(graph.num_nodes - part.num_inner_nodes, -1)
    nids = np.concatenate([*(region.read() for region in part.node_rows.originals.values()), halo])
    eids = np.concatenate([region.read() for region in part.edge_rows.originals.values()])
    node_arrays, edge_arrays = ({k: r.read() for k, r in of.items()} for of in (graph.node_arrays, graph.edge_arrays))
    node_arrays["orig_id"], edge_arrays["orig_id"] = nids, eids
    specs = [
        [ArraySpec(key, rows.dtype, rows.shape) for key, rows in arrays.items()]
        for arrays in (node_arrays, edge_arrays)
    ]
    targets = create_file(part.graph_path, graph_file_layout(graph.num_nodes, graph.num_edges, ("coo",), *specs))
    for name, region in graph.formats["coo"].items():
        targets[f"coo/{name}"].write(region.read(), 0)
    for prefix, arrays in (("node", node_arrays), ("edge", edge_arrays)):
        for key, rows in arrays.items():
            targets[f"{prefix}/{key}"].write(rows, 0)
    publish(part.graph_path)


def contents(path: Path) -> dict[str, Any]:
    graph = open_partitions(path)
    return {
        "etypes": graph.etypes,
        "edges": {
            etype: view.frame(original=True).compute().to_numpy().tolist() for etype, view in graph.edges.items()
        },
        "x": graph.nodes["u"].data["x"][:].tolist(),
        "w": graph.edges["likes"].data["w"][:].tolist(),
        "nids": {ntype: ids.compute().tolist() for ntype, ids in graph.orig_nids.items()},
        "feats": [sorted(load_partition_feats(path, p)[1] or ()) for p in range(2)],
    }


def test_partitions_of_dgl_0_9_open(canonical: Path, request: pytest.FixtureRequest) -> None:
    expected = contents(canonical)
    assert contents(request.getfixturevalue("old")) == expected


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((path / "g.json").read_text())
    change(content)
    (path / "g.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c["part-1"].update(part_graph="part1/nothing.dgl"), ("part-1.part_graph", "nothing.dgl")),
        (lambda c: c.pop("node_map"), ("node_map",)),
        (lambda c: c.update(node_map="node_map.npy"), ("node_map", "missing")),
        (lambda c: c["node_map"]["u"].__setitem__(1, [0, 3]), ("node_map.u[1]", "follow")),
        (lambda c: c.update(num_parts=3), ("num_parts", "found 3")),
        (lambda c: c["etypes"].update({"x": 7}), ("etypes",)),
        (lambda c: c.update(etypes={"a:b": 0, "v:liked-by:u": 1}, edge_map={"a:b": [[0, 0], [0, 0]],
                            "v:liked-by:u": c["edge_map"]["v:liked-by:u"]}), ("edge_map",)),
    ],
)  # fmt: skip
def test_configs_that_are_wrong_are_one_error(
    change: Callable[[dict[str, Any]], object],
    words: tuple[str, ...],
    canonical: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    edit(canonical, change)
    with pytest.raises(LayoutError) as caught:
        load_partition_book(canonical / "g.json", 0)
    for word in ("g.json", *words):
        assert word in str(caught.value)
    assert call("info", canonical) == 2
    assert "Traceback" not in capsys.readouterr().err


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def swap_bytes(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:8][::-1] + content[8:])


def make_version_1(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:8] + struct.pack("<Q", 1) + content[16:])


@pytest.mark.parametrize(
    ("damage", "name", "words"),
    [
        (truncate, "graph.dgl", ("truncated",)),
        (truncate, "node_feat.dgl", ("truncated",)),
        (swap_bytes, "graph.dgl", ("byte order",)),
        (swap_bytes, "edge_feat.dgl", ("byte order",)),
        (make_version_1, "graph.dgl", ("version 1",)),
        (lambda path: path.write_bytes(b""), "graph.dgl", ("truncated",)),
    ],
)
def test_files_that_are_damaged_are_named(
    damage: Callable[[Path], object], name: str, words: tuple[str, ...], canonical: Path
) -> None:
    from daskgraphpart import load_partition

    damage(canonical / "part1" / name)
    with pytest.raises(LayoutError) as caught:
        load_partition(canonical / "g.json", 1)
    for word in (f"part1/{name}", *words):
        assert word in str(caught.value)


def test_remap_on_the_command_line(canonical: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = open_partitions(canonical)
    np.save(tmp_path / "new.npy", graph.nodes["u"].data["x"][:])
    assert call("remap", canonical, tmp_path / "new.npy", tmp_path / "old.npy", "--type", "u", "--quiet") == 0
    originals = graph.nodes["u"].original_ids[:]
    assert np.load(tmp_path / "old.npy")[originals].tolist() == graph.nodes["u"].data["x"][:].tolist()
    assert call("remap", canonical, tmp_path / "old.npy", tmp_path / "again.zarr", "--type", "u", "--reverse") == 0
    assert "by new ID" in capsys.readouterr().out
    for arguments, word in (
        ((tmp_path / "new.npy", tmp_path / "old.npy", "--type", "u"), "--overwrite"),
        ((tmp_path / "new.npy", tmp_path / "x.npy"), "--type"),
        ((tmp_path / "new.npy", tmp_path / "x.npy", "--type", "w"), "no such edge type"),
        ((tmp_path / "new.npy", tmp_path / "x.npy", "--type", "v"), "wrong number of rows"),
        ((tmp_path / "no.npy", tmp_path / "x.npy", "--type", "u"), "no such file"),
        ((tmp_path, tmp_path / "x.npy", "--type", "u"), "not a readable zarr array"),
    ):
        assert call("remap", canonical, *arguments, "--quiet") == 2
        assert word in capsys.readouterr().err
