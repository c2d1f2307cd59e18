"""The fixture of `tests/data/graphstorm`: tables, configs, and what gconstruct 0.5.1 made of them; small configs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from daskgraphpart import Graph, chunk_graph, read_chunked, scan_graphstorm_config

if TYPE_CHECKING:
    import numpy as np

FIXTURE = Path(__file__).parent / "data/graphstorm"


def chunk(config: Path | dict[str, Any], out: Path, **options: Any) -> Graph:
    """Chunk the graph of a config, and open it."""
    if isinstance(config, dict):
        config = write_config(out.parent, config)
    return read_chunked(chunk_graph(scan_graphstorm_config(config, **options), "graph", output_path=out).parent)


def write_config(directory: Path, content: dict[str, Any]) -> Path:
    path = directory / "config.json"
    path.write_text(json.dumps(content))
    return path


def table(directory: Path, name: str, **columns: Any) -> str:
    """Write a parquet file; return its path."""
    path = directory / f"{name}.parquet"
    pq.write_table(pa.table(columns), path)
    return str(path)


def rows(graph: Graph, of_type: str, name: str) -> np.ndarray:
    source = graph.data_sources[of_type][name]
    return source.read(0, source.shape[0])


def edges(graph: Graph, etype: str) -> np.ndarray:
    frame = graph.edge_frame(etype).compute()
    return frame[["src", "dst"]].to_numpy()


def ids(graph: Graph, ntype: str) -> list[Any]:
    """IDs of the nodes of a type, in their order."""
    return pq.read_table(Path(graph.directory) / "id_map" / f"{ntype}.parquet")["id"].to_pylist()


def nodes_entry(path: str, *features: Any, ntype: str = "n", **more: Any) -> dict[str, Any]:
    entry = {"node_type": ntype, "node_id_col": "id", "format": {"name": "parquet"}, "files": path, **more}
    return {**entry, **({"features": list(features)} if features else {})}


def edges_entry(path: str, relation: tuple[str, str, str] = ("n", "r", "m"), **more: Any) -> dict[str, Any]:
    ends = {"source_id_col": "s", "dest_id_col": "d"}
    return {"relation": list(relation), **ends, "format": {"name": "parquet"}, "files": path, **more}
