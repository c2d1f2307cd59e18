"""A dispatch writes the layouts it is given, side by side, and computes no array that none of them wants."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from graphs import Graph, file_hashes
from inside import DispatchOptions, Job, Resources, choose_sizes, open_runner
from listeners import Listener

from daskgraphpart import EdgeType, GraphSchema, NodeType, open_partitions, read_chunked
from daskgraphpart.dispatching.dispatch_graph import dispatch_graph
from daskgraphpart.dispatching.workspace import Workspace
from daskgraphpart.layouts.dgl import DglLayout
from daskgraphpart.layouts.known_outputs import description_of
from daskgraphpart.layouts.layout import ArraySpec, Layout, npy_file_layout
from daskgraphpart.layouts.manifest import describe_layout
from daskgraphpart.partitioner.assignment import Owners, create_owner_files

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.layouts.layout import DispatchedGraph, FileLayout, GraphSizes

NUM_PARTS = 3
INT32, FLOAT64 = np.dtype("<i4"), np.dtype("<f8")


@dataclass(frozen=True, eq=False)
class NpyLayout(Layout):
    """One npy file for each wanted array of a part, below ``npy/<part>``, and one for the owners of all nodes."""

    wanted: tuple[str, ...]

    def wants(self, schema: GraphSchema) -> tuple[str, ...]:
        return self.wanted

    def part_files(self, sizes: GraphSizes, part: int) -> dict[str, FileLayout]:
        nodes, edges = sizes.num_local_nodes(part), sizes.num_local_edges(part)
        shapes = {
            "csc/indptr": (INT32, (nodes + 1,)),
            "csc/indices": (INT32, (edges,)),
            "edges/type": (INT32, (edges,)),
            "node_data/u/x": (FLOAT64, (int(sizes.num_nodes[part, 0]), 2)),  # float32 in the input
            "split_nids/u/train_mask": (INT32, (int(sizes.num_marked["u/train_mask"][part]),)),
        }
        return {
            f"npy/{{part}}/{name.replace('/', '.')}.npy": npy_file_layout(ArraySpec(name, *shapes[name]))
            for name in self.wanted
        }

    def descriptions(self, graph_name: str) -> tuple[str, ...]:
        return (description_of("npy"),)

    def describe(self, graph: DispatchedGraph) -> dict[str, dict[str, Any]]:
        return describe_layout(graph, "npy", 1, {})


@pytest.fixture(scope="module")
def chunked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    types = (EdgeType("u", "r", "v", 200), EdgeType("v", "s", "u", 300))
    schema = GraphSchema("g", (NodeType("u", 50), NodeType("v", 40)), types)
    sizes = {"u": 50, "v": 40}
    edges = {t.name: tuple(rng.integers(0, sizes[end], t.num_edges) for end in (t.src, t.dst)) for t in types}
    data = {"u": {"x": rng.random((50, 2)).astype("f4"), "train_mask": rng.random(50) < 0.5}}
    graph = Graph(schema, edges, data)  # type: ignore[arg-type]
    return graph.write(tmp_path_factory.mktemp("graph") / "in", num_chunks=(3, 2))


def dispatch(chunked: Path, root: Path, layouts: tuple[Layout, ...]) -> tuple[Path, set[str]]:
    """Write partitions; also the names of the passes that were run."""
    graph, out = read_chunked(chunked), root / "out"
    out.mkdir(parents=True)
    work = Workspace.create(root, None)
    owners = create_owner_files(work.owners, graph.schema, NUM_PARTS)
    for region in owners.values():
        region.write(np.random.default_rng(1).integers(0, NUM_PARTS, region.num_rows).astype(region.dtype), 0)
    resources, options = Resources(1 << 30, "sync", 1), DispatchOptions(num_hops=2, out_edges=True)
    listener = Listener()
    with open_runner(resources, listener) as runner:
        assignment = Owners(NUM_PARTS, "test", owners)
        dispatch_graph(Job(graph, assignment, str(out), options, choose_sizes(resources), work, runner, layouts))
        return out, set(listener.begun)


def test_two_layouts_hold_the_same_arrays_and_do_not_disturb_each_other(chunked: Path, tmp_path: Path) -> None:
    dgl = DglLayout(("coo", "csc"))
    wanted = ("csc/indptr", "csc/indices", "edges/type", "node_data/u/x", "split_nids/u/train_mask")
    alone, _ = dispatch(chunked, tmp_path / "alone", (dgl,))
    out, _ = dispatch(chunked, tmp_path / "both", (dgl, NpyLayout(wanted)))
    assert {name: found for name, found in file_hashes(out).items() if not name.startswith("npy/")} == file_hashes(
        alone
    )
    listed = json.loads((out / "npy" / "npy.json").read_text())["files"]
    assert [*listed][:2] == ["0/csc.indptr.npy", "0/csc.indices.npy"]
    for part in open_partitions(out).parts:
        in_dgl = {
            **{f"csc/{name}": region for name, region in part.graph.formats["csc"].items()},
            "edges/type": part.graph.edge_arrays["_TYPE"],
            "node_data/u/x": part.node_rows.features["u"]["x"],
        }
        in_npy = {name: np.load(out / "npy" / str(part.part_id) / f"{name.replace('/', '.')}.npy") for name in wanted}
        assert in_npy["csc/indptr"].dtype == INT32
        assert in_npy["node_data/u/x"].dtype == FLOAT64
        for name, found in in_npy.items():
            expected = part.split_nids["u/train_mask"] if name.startswith("split") else in_dgl[name].read()
            np.testing.assert_array_equal(found, expected)


def test_only_wanted_arrays_are_computed(chunked: Path, tmp_path: Path) -> None:
    out, passes = dispatch(chunked, tmp_path / "rows", (NpyLayout(("node_data/u/x",)),))
    assert {path.name for path in (out / "npy").rglob("*") if path.is_file()} == {"node_data.u.x.npy", "npy.json"}
    assert not passes & {"write-nodes", "build-graph", "compress-graph", "count-marked", "split-nids", "list-nodes"}
    _, passes = dispatch(chunked, tmp_path / "matrix", (NpyLayout(("csc/indptr", "csc/indices")),))
    assert "compress-graph" in passes
    assert not passes & {"place-rows", "count-marked", "split-nids", "list-nodes"}
