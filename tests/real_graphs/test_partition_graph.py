"""Every real graph: `partition_graph` here and in real DGL, given the same owners, describe the same partitions."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from graphs import REAL_GRAPHS, Graph, load_real_graph
from judges import DGL_VERSIONS, run_in_dgl, save_for_judge

import daskgraphpart as dgp
from daskgraphpart import GraphSchema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NUM_PARTS = 3


@pytest.mark.dgl
@pytest.mark.real
@pytest.mark.parametrize(
    "name", [name if name == "cora" else pytest.param(name, marks=pytest.mark.long) for name in REAL_GRAPHS]
)
def test_partition_graph_says_what_that_of_dgl_says(name: str, tmp_path: Path) -> None:
    graph, owners = without_what_dgl_fails_on(load_real_graph(name))
    # DGL 2.1 has the same code; one version for each graph keeps this quick
    version = DGL_VERSIONS[REAL_GRAPHS.index(name) % len(DGL_VERSIONS)]
    np.savez(tmp_path / "owners.npz", **owners)
    for_judge = save_for_judge(graph, tmp_path / "for-judge")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    said = run_in_dgl(
        version, "partition_as_dgl.py", for_judge, tmp_path / "owners.npz", str(NUM_PARTS), theirs, cwd=tmp_path
    )

    # types in DGL's order (node types by name), so that IDs come in the same order, too
    schema = in_order_of(graph.schema, said)
    edges = {tuple(etype.split(":")): graph.edges[etype] for etype in schema.etypes}
    counts = {t.name: t.num_nodes for t in schema.node_types}
    maps = dgp.partition_graph(
        edges, graph.schema.name, NUM_PARTS, tmp_path / "ours",
        part_method=owners, return_mapping=True,
        num_nodes=counts, node_data=graph.node_data, edge_data=graph.edge_data,
    )  # fmt: skip
    assert_reading_theirs_gives_what_dgl_gives(theirs, said)
    with np.load(theirs / "maps.npz") as their_maps:
        assert_same_partitions(schema, tmp_path / "ours", theirs, (maps, dict(their_maps)))
    # the larger graphs leave gigabytes behind
    shutil.rmtree(tmp_path)


def without_what_dgl_fails_on(graph: Graph) -> tuple[Graph, dict[str, np.ndarray]]:
    """Random owners of a graph; DGL fails unless every part owns nodes and edges of every type.

    Owners are changed until they do; types that are too small for that are left out (of the graphs here that concerns a
    few relations of fb15k237, and types of vcs_networkit and vcs_curl with one or two nodes).
    """
    rng = np.random.default_rng(len(graph.schema.name))
    ntypes = {
        t.name: rng.integers(0, NUM_PARTS, t.num_nodes) for t in graph.schema.node_types if t.num_nodes >= NUM_PARTS
    }
    possible = {
        t.name: np.unique(graph.edges[t.name][1])
        for t in graph.schema.edge_types
        if t.src in ntypes and t.dst in ntypes and len(np.unique(graph.edges[t.name][1])) >= NUM_PARTS
    }
    lacking = {"": np.empty(0)}
    for _ in range(20):
        lacking = {}
        for etype, found in possible.items():
            owners = ntypes[etype.split(":")[2]]
            missing = np.setdiff1d(np.arange(NUM_PARTS), owners[found])
            if missing.size:
                lacking[etype] = missing
                owners[rng.choice(found, missing.size, replace=False)] = missing
        for owners in ntypes.values():
            missing = np.setdiff1d(np.arange(NUM_PARTS), owners)
            owners[: missing.size] = missing
    kept = [t for t in graph.schema.edge_types if t.name in possible and t.name not in lacking]
    node_types = tuple(t for t in graph.schema.node_types if t.name in ntypes)
    schema = GraphSchema(graph.schema.name, node_types, tuple(kept))
    smaller = Graph(
        schema,
        {t.name: graph.edges[t.name] for t in kept},
        {name: of for name, of in graph.node_data.items() if name in ntypes},
        {t.name: graph.edge_data.get(t.name, {}) for t in kept},
    )
    return smaller, ntypes


def assert_reading_theirs_gives_what_dgl_gives(theirs: Path, said: dict[str, Any]) -> None:
    """Our `load_partition` and lazy edges on DGL's files, tensor for tensor."""
    for part in range(NUM_PARTS):
        local, node_feats, edge_feats, _, *names = dgp.load_partition(said["config"], part)
        assert json.loads(json.dumps(names)) == said["names"]
        found: dict[str, Any] = dict(zip(("src", "dst"), local.edges(), strict=True))
        for prefix, tensors in (
            ("ndata", local.ndata),
            ("edata", local.edata),
            ("node", node_feats),
            ("edge", edge_feats),
        ):
            found.update({f"{prefix}|{key.replace('/', '|')}": tensor for key, tensor in tensors.items()})
        with np.load(theirs / f"tensors-{part}.npz") as expected:
            assert {*found, *(f"{fmt}|{i}" for fmt in ("csr", "csc") for i in range(3))} == set(expected.files)
            for key, tensor in found.items():
                assert tensor.numpy().dtype == expected[key].dtype, key
                assert tensor.numpy().tobytes() == expected[key].tobytes(), key
            for fmt in ("csr", "csc"):
                ours = [tensor.numpy() for tensor in local.adj_tensors(fmt)]
                matrices = [in_order_of_edges(*m) for m in (ours, [expected[f"{fmt}|{i}"] for i in range(3)])]
                assert all(np.array_equal(*pair) for pair in zip(*matrices, strict=True)), fmt
            nids = expected["ndata|_ID"]
            frame = dgp.open_partitions(said["config"]).part(part).edges().compute()
            for name, ids in (("eid", "edata|_ID"), ("src", "src"), ("dst", "dst")):
                assert np.array_equal(frame[name], expected[ids] if name == "eid" else nids[expected[ids]])


def in_order_of_edges(indptr: np.ndarray, indices: np.ndarray, eids: np.ndarray) -> tuple[np.ndarray, ...]:
    """A matrix with its rows sorted, since DGL leaves the order inside a row open."""
    order = np.lexsort((eids, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))))
    return indptr, indices[order], eids[order]


class Side:
    """One side's partitions, in terms of original IDs."""

    def __init__(self, directory: Path, schema: GraphSchema, maps: Mapping[str, Any]) -> None:
        self.config = directory / f"{schema.name}.json"
        self.ntypes, self.etypes, self.maps = schema.ntypes, schema.etypes, maps

    def part(self, number: int) -> dict[str, np.ndarray]:
        """Nodes, edges and features of a part, sorted by original ID, by original names."""
        local, node_feats, edge_feats, book, *_ = dgp.load_partition(self.config, number)
        src, dst = (end.numpy() for end in local.edges())
        nids, eids = local.ndata["_ID"], local.edata["_ID"]
        inner_node, inner_edge = (
            local.ndata["inner_node"].numpy().astype(bool),
            local.edata["inner_edge"].numpy().astype(bool),
        )
        ntype_ids, typed_nids = (ids.numpy() for ids in book.map_to_per_ntype(nids))
        etype_ids, typed_eids = (ids.numpy() for ids in book.map_to_per_etype(eids))
        found: dict[str, np.ndarray] = {}
        originals = np.empty(len(nids), np.int64)
        for i, ntype in enumerate(self.ntypes):
            mine = ntype_ids == i
            originals[mine] = self.maps[f"nodes|{ntype}"][typed_nids[mine]]
            found[f"inner {ntype}"] = np.sort(originals[mine & inner_node])
            found[f"halo {ntype}"] = np.sort(originals[mine & ~inner_node])
            self._add_features(found, node_feats, ntype, list(book.ntypes)[i], originals[mine & inner_node])
        for i, etype in enumerate(self.etypes):
            for what, chosen in (("inner", inner_edge), ("foreign", ~inner_edge)):
                mine = (etype_ids == i) & chosen
                ids = self.maps[f"edges|{etype}"][typed_eids[mine]]
                order = np.argsort(ids)
                found[f"{what} {etype}"] = np.stack([ids, originals[src[mine]], originals[dst[mine]]])[:, order]
                if what == "inner":
                    rows = np.argsort(typed_eids[mine])
                    self._add_features(found, edge_feats, etype, ":".join(book.canonical_etypes[i]), ids[rows])
        return found

    @staticmethod
    def _add_features(
        found: dict[str, np.ndarray], feats: Mapping[str, Any], name: str, stored_name: str, originals: np.ndarray
    ) -> None:
        for key, rows in feats.items():
            if key.rsplit("/", 1)[0] == stored_name:
                found[f"data {name} {key.rsplit('/', 1)[1]}"] = rows.numpy()[np.argsort(originals)]


def assert_same_partitions(
    schema: GraphSchema, ours: Path, theirs: Path, maps: tuple[Any, dict[str, np.ndarray]]
) -> None:
    """Same ranges of IDs, same sets of nodes and edges in every part, same features by original ID."""
    configs = [json.loads((directory / f"{schema.name}.json").read_text()) for directory in (ours, theirs)]
    for key in ("node_map", "edge_map"):
        assert list(configs[0][key].values()) == list(configs[1][key].values())
    our_maps: dict[str, np.ndarray] = {}
    for prefix, of_types in zip(("nodes", "edges"), maps[0], strict=True):
        for key, ids in (of_types if isinstance(of_types, dict) else {"": of_types}).items():
            our_maps[f"{prefix}|{key if isinstance(key, str) else ':'.join(key)}"] = ids.numpy()
    sides = []
    for directory, of_side in ((ours, our_maps), (theirs, maps[1])):
        if not schema.is_heterogeneous:
            of_side = {f"nodes|{schema.ntypes[0]}": of_side["nodes|"], f"edges|{schema.etypes[0]}": of_side["edges|"]}
        sides.append(Side(directory, schema, of_side))
    for prefix, types in (("nodes", schema.node_types), ("edges", schema.edge_types)):
        for kind in types:
            for side in sides:
                assert np.array_equal(np.sort(side.maps[f"{prefix}|{kind.name}"]), np.arange(kind.num_rows))
    for number in range(NUM_PARTS):
        found, expected = (side.part(number) for side in sides)
        assert set(found) == set(expected)
        for key, rows in found.items():
            assert rows.dtype == expected[key].dtype, key
            assert rows.tobytes() == expected[key].tobytes(), key


def in_order_of(schema: GraphSchema, types: dict[str, Any]) -> GraphSchema:
    """The schema with types in the order of DGL, unless there is only one."""
    if not schema.is_heterogeneous:
        return schema
    return GraphSchema(
        schema.name,
        tuple(schema.node_type(ntype) for ntype in types["ntypes"]),
        tuple(schema.edge_type(etype) for etype in types["etypes"]),
    )
