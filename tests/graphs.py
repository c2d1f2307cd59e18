"""Graphs in memory: the real ones, and how they are written as chunked graphs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import real_graphs

from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.graph.graph import graph_of
from daskgraphpart.graph.rows import EdgeEnds, array_rows
from daskgraphpart.graph.write_graph import ChunkFormat, write_graph

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REAL_GRAPHS = (
    "cora",
    "musae_github",
    "coauthor_physics",
    "cnr2000",
    "usa_road_ny",
    "dblp_hetero",
    "fb15k237",
    "oewn",
    "vcs_networkit",
    "vcs_curl",
    *(f"walshaw_mesh/{name}" for name in ("3elt", "4elt", "add32", "bcsstk33", "cti", "fe_body", "memplus", "wing")),
)
MOST_SPARSE_COLUMNS = 64


@dataclass(frozen=True)
class Graph:
    """A graph in memory: schema (without features), edges, data."""

    schema: GraphSchema
    edges: Mapping[str, tuple[np.ndarray, np.ndarray]]
    node_data: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    edge_data: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)

    def write(
        self, directory: Path, *, num_chunks: int | tuple[int, int] = 1, edge_format: str = "csv", **how: Any
    ) -> Path:
        """Write as a chunked graph, with so many files of edges and of features; `how` as in `ChunkFormat`."""
        edge_chunks, data_chunks = (num_chunks, num_chunks) if isinstance(num_chunks, int) else num_chunks
        counts = {t.name: t.num_nodes for t in self.schema.node_types}
        edges = {t.name: EdgeEnds(*map(array_rows, self.edges[t.name])) for t in self.schema.edge_types}
        data = {kind: {n: array_rows(of) for n, of in arrays.items()} for kind, arrays in self.data.items()}
        graph = graph_of(self.schema.name, counts, edges, data)
        assert [t.num_edges for t in graph.schema.edge_types] == [t.num_edges for t in self.schema.edge_types]
        of_data = dict.fromkeys(("node_data", "edge_data"), data_chunks)
        form = ChunkFormat(edge_format, num_chunks=edge_chunks, chunks_of=of_data, **how)
        with open_runner(detect_resources(cluster="threads"), progress=False) as runner:
            write_graph(graph, directory, form, runner)
        return directory

    @property
    def data(self) -> dict[str, Mapping[str, np.ndarray]]:
        """Features of all types."""
        return {**self.node_data, **self.edge_data}


def load_real_graph(name: str) -> Graph:
    """Load a real graph; of sparse features the first columns are taken, dense. Without it skip."""
    if real_graphs.find(name) is None:
        pytest.skip(f"no graph {name!r}; set DASKGRAPHPART_DATA")
    return _converted(name.replace("/", "_"), real_graphs.load(name))


def _converted(name: str, loaded: Any) -> Graph:
    node_types = tuple(NodeType(ntype, count) for ntype, count in loaded.num_nodes.items())
    edge_types = tuple(EdgeType(*etype, len(data["src"])) for etype, data in loaded.edges.items())
    names = [edge_type.name for edge_type in edge_types]
    edges = {key: (data["src"], data["dst"]) for key, data in zip(names, loaded.edges.values(), strict=True)}
    edge_data = {
        key: {feature: rows for feature, rows in data.items() if feature not in ("src", "dst")}
        for key, data in zip(names, loaded.edges.values(), strict=True)
    }
    node_data = {
        ntype: {feature: _dense(rows) for feature, rows in data.items() if np.ndim(rows) and feature != "walshaw_part2"}
        for ntype, data in loaded.nodes.items()
    }
    return Graph(GraphSchema(name, node_types, edge_types), edges, node_data, edge_data)


def _dense(rows: Any) -> np.ndarray:
    if isinstance(rows, np.ndarray):
        return rows
    return np.asarray(rows[:, :MOST_SPARSE_COLUMNS].todense())


def file_hashes(directory: Path) -> dict[str, str]:
    """SHA-256 of every file below a directory."""
    import hashlib

    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
