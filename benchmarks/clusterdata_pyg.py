"""Partition a chunked graph in npy by PyG's `ClusterData`: clusterdata_pyg.py GRAPH OUT PARTS CUT [OPERATOR]."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
import torch_geometric.typing
from torch_geometric.data import Data
from torch_geometric.loader import ClusterData
from torch_geometric.utils import to_undirected


def main() -> None:
    graph, out, parts, cut, operator = sys.argv[1:]
    if operator:
        torch.ops.load_library(operator)
        torch_geometric.typing.WITH_TORCH_SPARSE = True
    metadata = json.loads((Path(graph) / "metadata.json").read_text())
    (edges,), (features,) = metadata["edges"].values(), metadata["node_data"].values()
    edge_index = torch.from_numpy(rows_of(graph, edges)).T
    feat = torch.from_numpy(rows_of(graph, next(iter(features.values()))))
    data = Data(x=feat, edge_index=to_undirected(edge_index, num_nodes=len(feat)), num_nodes=len(feat))
    clusters = ClusterData(data, int(parts), save_dir=out)
    torch.save(clusters.data, Path(out) / "data.pt")
    owner = torch.empty(len(feat), dtype=torch.int64)
    sizes = clusters.partition.partptr.diff()
    owner[clusters.partition.node_perm] = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    src, dst = edge_index
    Path(cut).write_text(json.dumps(float((owner[src] != owner[dst]).double().mean())))


def rows_of(graph: str, entry: dict[str, list[str]]) -> np.ndarray:
    """All rows of one entry of the metadata."""
    return np.concatenate([np.load(Path(graph) / name) for name in entry["data"]])


if __name__ == "__main__":
    main()
