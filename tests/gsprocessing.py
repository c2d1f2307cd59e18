"""Write a graph as GSProcessing of GraphStorm 0.5 leaves it, before gs-repartition."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from graphs import Graph
from pyarrow import parquet

from daskgraphpart import EdgeType, GraphSchema, NodeType

if TYPE_CHECKING:
    from pathlib import Path

NUM_USERS, NUM_ITEMS, NUM_EDGES = 30, 50, 400


def write_gsprocessing(out: Path, name: str = "shop") -> Graph:
    """Write the files; return the graph, whose hard negatives are original IDs."""
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, NUM_USERS, NUM_EDGES), rng.integers(0, NUM_ITEMS, NUM_EDGES)
    hard = np.where(rng.random((NUM_EDGES, 4)) < 0.7, rng.integers(0, NUM_ITEMS, (NUM_EDGES, 4)), -1).astype("i4")
    train = (rng.random(NUM_USERS) < 0.5).astype("i1")
    node_data = {
        "user": {"age": rng.random(NUM_USERS), "class": rng.integers(0, 3, NUM_USERS), "train_mask": train},
        "item": {"x": rng.random((NUM_ITEMS, 3)).astype("f4")},
    }
    marks = {"lp_mask": (rng.random(NUM_EDGES) < 0.5).astype("i1")}
    edges = {"user:seen:item": (src, dst), "item:seen-rev:user": (dst, src)}
    edge_data = {"user:seen:item": {"hard": hard, **marks}, "item:seen-rev:user": marks}
    raw = {ntype: rng.permutation([f"{ntype} {i}" for i in range(n)]) for ntype, n in _COUNTS.items()}

    def entry(path: str, num_files: int, **columns: np.ndarray) -> dict[str, Any]:
        files, counts = [], []
        (out / path / "parquet").mkdir(parents=True, exist_ok=True)
        for i, rows in enumerate(np.array_split(np.arange(len(next(iter(columns.values())))), num_files)):
            table = pa.table({key: pa.array(values[rows].tolist()) for key, values in columns.items()})
            fields = [_field(key, values) for key, values in columns.items()]
            files.append(f"{path}/parquet/part-{i:05d}-7b2e.snappy.parquet")
            counts.append(len(rows))
            parquet.write_table(table.cast(pa.schema(fields)), out / files[-1])
        return {"format": {"name": "parquet", "delimiter": ""}, "data": files, "row_counts": counts}

    def data(kind: str, of_types: dict[str, dict[str, np.ndarray]]) -> dict[str, Any]:
        return {
            of_type: {
                key: entry(f"{kind}/{of_type.replace(':', '_')}-{key}", 2 + len(key), **{key: rows})
                for key, rows in arrays.items()
            }
            for of_type, arrays in of_types.items()
        }

    ends = {"user:seen:item": ("src_int_id", "dst_int_id"), "item:seen-rev:user": ("dst_int_id", "src_int_id")}
    metadata = {
        "graph_name": name,
        "node_type": list(_COUNTS),
        "num_nodes_per_type": list(_COUNTS.values()),
        "edge_type": list(edges),
        "num_edges_per_type": [NUM_EDGES] * 2,
        "edges": {
            etype: entry(f"edges/{etype.replace(':', '_')}", 3, **dict(zip(ends[etype], of, strict=True)))
            for etype, of in edges.items()
        },
        "node_data": data("node_data", node_data),
        "edge_data": data("edge_data", edge_data),
        "raw_id_mappings": {
            ntype: entry(f"raw_id_mappings/{ntype}", 3, orig=ids[order], new=order)
            for ntype, ids in raw.items()
            for order in [rng.permutation(len(ids))]
        },
        "graph_info": {
            "nfeat_size": {"user": {"age": 1}, "item": {"x": 3}},
            "ntype_label": ["user"],
            "ntype_label_property": ["class"],
            "ntype_to_label_masks": {"user": ["train_mask", "val_mask", "test_mask"]},
            "etype_label": list(edges),
            "etype_label_property": [],
            "etype_to_label_masks": {"user:seen:item": ["lp_mask"]},
            "task_type": "link_prediction",
        },
    }
    (out / "metadata.json").write_text(json.dumps(metadata))
    (out / "launch_arguments.json").write_text(json.dumps({"config_filename": "config.json"}))
    negatives = {"name": "hard", "column": "h", "transformation": {"name": "edge_dst_hard_negative"}}
    seen = {"source": {"type": "user"}, "relation": {"type": "seen"}, "dest": {"type": "item"}, "features": [negatives]}
    config = {"version": "gsprocessing-v1.0", "graph": {"nodes": [], "edges": [seen]}}
    (out / "config_with_transformations.json").write_text(json.dumps(config))
    node_data["user"]["age"] = node_data["user"]["age"][:, None]  # a feature: as DGL reads it
    kinds = tuple(EdgeType(*etype.split(":"), NUM_EDGES) for etype in edges)
    schema = GraphSchema(name, tuple(NodeType(*of) for of in _COUNTS.items()), kinds)
    return Graph(schema, edges, node_data, edge_data)


_COUNTS = {"item": NUM_ITEMS, "user": NUM_USERS}


def _field(name: str, values: np.ndarray) -> pa.Field:
    kind = pa.string() if values.dtype.kind == "U" else pa.from_numpy_dtype(values.dtype)
    return pa.field(name, pa.list_(kind) if values.ndim > 1 else kind)
