"""Load the real graphs of this folder, and those of DASKGRAPHPART_DATA, as numpy arrays.

>>> graph = load("oewn")
>>> graph.num_nodes["synset"], graph.edges["word", "has", "sense"]["src"].shape

Types of homogeneous graphs are ``node`` and ``("node", "edge", "node")``; knowledge graphs have one edge type per
relation, ``("entity", "r0007", "entity")``. Undirected graphs hold every edge once: `symmetrize` adds the others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
MORE = Path(os.environ.get("DASKGRAPHPART_DATA", HERE.parent.parent.parent / "shared" / "data"))
EDGE_FIELDS = ("src", "dst", "edge_weight", "edge_attr", "edge_type", "edge_split")


@dataclass(frozen=True)
class RealGraph:
    """Number of nodes and data by node type; `src`, `dst` and data by edge type."""

    num_nodes: dict[str, int]
    nodes: dict[str, dict[str, Any]]
    edges: dict[tuple[str, str, str], dict[str, np.ndarray]]


def find(name: str) -> Path | None:
    """File of a graph; ``walshaw_mesh/3elt`` is a member of a file of several."""
    head = name.partition("/")[0]
    return next((path for path in (d / head / f"{head}.npz" for d in (HERE, MORE)) if path.is_file()), None)


def load(name: str) -> RealGraph:
    """Load a graph by name; sparse features come as scipy CSR."""
    path = find(name)
    if path is None:
        raise FileNotFoundError(f"no graph {name!r}: set DASKGRAPHPART_DATA to the directory of the other graphs")
    member = name.partition("/")[2]
    with np.load(path) as stored:
        keys = [key for key in stored.files if not member or key.startswith(member + "/")]
        arrays = {key.removeprefix(member + "/") if member else key: stored[key] for key in keys}
    return _homogeneous(arrays) if "src" in arrays else _heterogeneous(arrays)


def symmetrize(graph: RealGraph) -> RealGraph:
    """Add reverse edges: to the same type if both ends have one type, else as a type ``rev_<relation>``."""
    edges = {}
    for (src_type, relation, dst_type), data in graph.edges.items():
        if src_type != dst_type:
            edges[src_type, relation, dst_type] = data
            edges[dst_type, f"rev_{relation}", src_type] = {**data, "src": data["dst"], "dst": data["src"]}
            continue
        is_loop = data["src"] == data["dst"]
        both = {name: np.concatenate([values, values[~is_loop]]) for name, values in data.items()}
        both["src"] = np.concatenate([data["src"], data["dst"][~is_loop]])
        both["dst"] = np.concatenate([data["dst"], data["src"][~is_loop]])
        edges[src_type, relation, dst_type] = both
    return RealGraph(graph.num_nodes, graph.nodes, edges)


def _homogeneous(arrays: dict[str, np.ndarray]) -> RealGraph:
    edge_data = {name: arrays[name] for name in EDGE_FIELDS if name in arrays}
    ignored = {*EDGE_FIELDS, "num_nodes", "directed"}
    node_data = {k: v for k, v in arrays.items() if k not in ignored and not k.endswith("_names")}
    if "edge_type" not in edge_data:
        ntype, edges = "node", {("node", "edge", "node"): edge_data}
    else:
        ntype, relation = "entity", edge_data.pop("edge_type")
        rows = {int(r): np.flatnonzero(relation == r) for r in np.unique(relation)}
        edges = {
            ("entity", f"r{r:04d}", "entity"): {k: v[of_relation] for k, v in edge_data.items()}
            for r, of_relation in rows.items()
        }
    return RealGraph({ntype: int(arrays["num_nodes"])}, {ntype: _with_sparse(node_data)}, edges)


def _heterogeneous(arrays: dict[str, np.ndarray]) -> RealGraph:
    num_nodes: dict[str, int] = {}
    nodes: dict[str, dict[str, Any]] = {}
    edges: dict[tuple[str, str, str], dict[str, np.ndarray]] = {}
    for key, values in arrays.items():
        type_name, _, name = key.rpartition("/")
        if ":" in type_name:
            src_type, relation, dst_type = type_name.split(":")
            edges.setdefault((src_type, relation, dst_type), {})[name] = values
        elif name == "num_nodes":
            num_nodes[type_name] = int(values)
        elif not name.endswith("_names"):
            nodes.setdefault(type_name, {})[name] = values
    return RealGraph(num_nodes, {ntype: _with_sparse(data) for ntype, data in nodes.items()}, edges)


def _with_sparse(data: dict[str, Any]) -> dict[str, Any]:
    if "x_indptr" in data:
        from scipy.sparse import csr_matrix

        values, indices, indptr = (data.pop(f"x_{name}") for name in ("data", "indices", "indptr"))
        data["x"] = csr_matrix((values, indices, indptr), shape=tuple(data.pop("x_shape")))
    return data
