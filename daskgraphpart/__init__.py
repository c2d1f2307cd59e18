"""Out-of-core graph partitioner: splits a graph into parts for distributed GNN training.

Names below are imported on first use, so that ``import daskgraphpart`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daskgraphpart import errors as errors
    from daskgraphpart.api.assign_function import assign as assign
    from daskgraphpart.api.dispatch_function import dispatch as dispatch
    from daskgraphpart.api.owners import Assignment as Assignment
    from daskgraphpart.api.owners import read_assignment as read_assignment
    from daskgraphpart.api.partition_function import partition as partition
    from daskgraphpart.chunked.graph import Graph as Graph
    from daskgraphpart.chunked.graph import read_chunked as read_chunked
    from daskgraphpart.chunked.scan import Scan as Scan
    from daskgraphpart.chunked.write_arrays import write_chunked as write_chunked
    from daskgraphpart.errors import GraphPartError as GraphPartError
    from daskgraphpart.ids.id_map import read_id_map as read_id_map
    from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph as PartitionedGraph
    from daskgraphpart.partitioned.partitioned_graph import open_partitions as open_partitions
    from daskgraphpart.plugins.construction.read_construction import read_construction as read_construction
    from daskgraphpart.plugins.delivery.open_staged import open_staged as open_staged
    from daskgraphpart.plugins.dgl_api.id_converter import IdConverter as IdConverter
    from daskgraphpart.plugins.dgl_api.load import load_partition as load_partition
    from daskgraphpart.plugins.dgl_api.load import load_partition_book as load_partition_book
    from daskgraphpart.plugins.dgl_api.load import load_partition_feats as load_partition_feats
    from daskgraphpart.plugins.dgl_api.partition_graph import partition_graph as partition_graph
    from daskgraphpart.plugins.objects.from_edges import from_dgl as from_dgl
    from daskgraphpart.plugins.objects.from_edges import from_edges as from_edges
    from daskgraphpart.plugins.objects.from_edges import from_networkx as from_networkx
    from daskgraphpart.plugins.objects.from_edges import from_pyg as from_pyg
    from daskgraphpart.plugins.objects.from_edges import from_scipy as from_scipy
    from daskgraphpart.plugins.parmetis import parmetis as parmetis
    from daskgraphpart.plugins.plan.plan_function import plan as plan
    from daskgraphpart.plugins.report.compare import compare as compare
    from daskgraphpart.plugins.tables.chunk_graph import chunk_graph as chunk_graph
    from daskgraphpart.plugins.tables.read_tables import read_dataset as read_dataset
    from daskgraphpart.plugins.tables.read_tables import read_tables as read_tables
    from daskgraphpart.plugins.verification.verify_partitions import verify as verify
    from daskgraphpart.schema import EdgeType as EdgeType
    from daskgraphpart.schema import GraphSchema as GraphSchema
    from daskgraphpart.schema import NodeType as NodeType

__version__ = "0.2.0"

_NAMES = {
    "api.assign_function": "assign",
    "api.dispatch_function": "dispatch",
    "api.owners": "Assignment read_assignment",
    "api.partition_function": "partition",
    "chunked.graph": "Graph read_chunked",
    "chunked.scan": "Scan",
    "chunked.write_arrays": "write_chunked",
    "errors": "GraphPartError",
    "ids.id_map": "read_id_map",
    "partitioned.partitioned_graph": "PartitionedGraph open_partitions",
    "plugins.construction.read_construction": "read_construction",
    "plugins.delivery.open_staged": "open_staged",
    "plugins.dgl_api.id_converter": "IdConverter",
    "plugins.dgl_api.load": "load_partition load_partition_book load_partition_feats",
    "plugins.dgl_api.partition_graph": "partition_graph",
    "plugins.objects.from_edges": "from_dgl from_edges from_networkx from_pyg from_scipy",
    "plugins.plan.plan_function": "plan",
    "plugins.report.compare": "compare",
    "plugins.tables.chunk_graph": "chunk_graph",
    "plugins.tables.read_tables": "read_dataset read_tables",
    "plugins.verification.verify_partitions": "verify",
    "schema": "EdgeType GraphSchema NodeType",
}
_MODULES = {"errors": "errors", "parmetis": "plugins.parmetis.parmetis"}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()} | _MODULES
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        from difflib import get_close_matches

        near = get_close_matches(name, __all__, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)
    module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    globals()[name] = value = module if name in _MODULES else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return __all__
