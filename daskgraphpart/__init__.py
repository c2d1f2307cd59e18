"""Out-of-core graph partitioner: splits a graph into parts for distributed GNN training.

Names below are imported on first use, so that ``import daskgraphpart`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import attribute_finder

if TYPE_CHECKING:
    from daskgraphpart import errors as errors
    from daskgraphpart.dispatching.delivery.staged_array import open_staged as open_staged
    from daskgraphpart.errors import GraphPartError as GraphPartError
    from daskgraphpart.graph.graph import Graph as Graph
    from daskgraphpart.graph.graph import read_chunked as read_chunked
    from daskgraphpart.graph.scan import Scan as Scan
    from daskgraphpart.ids.id_map import read_id_map as read_id_map
    from daskgraphpart.interop.dgl_api.hot_tensor import HotTensor as HotTensor
    from daskgraphpart.interop.dgl_api.id_converter import IdConverter as IdConverter
    from daskgraphpart.interop.dgl_api.load import load_partition as load_partition
    from daskgraphpart.interop.dgl_api.load import load_partition_book as load_partition_book
    from daskgraphpart.interop.dgl_api.load import load_partition_feats as load_partition_feats
    from daskgraphpart.interop.dgl_api.partition_graph import partition_graph as partition_graph
    from daskgraphpart.interop.parmetis import parmetis as parmetis
    from daskgraphpart.jobs.assign_function import assign as assign
    from daskgraphpart.jobs.chunk_graph import chunk_graph as chunk_graph
    from daskgraphpart.jobs.dispatch_function import dispatch as dispatch
    from daskgraphpart.jobs.owners import Assignment as Assignment
    from daskgraphpart.jobs.owners import read_assignment as read_assignment
    from daskgraphpart.jobs.partition_function import partition as partition
    from daskgraphpart.jobs.plan_function import plan as plan
    from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph as PartitionedGraph
    from daskgraphpart.partitioned.partitioned_graph import open_partitions as open_partitions
    from daskgraphpart.readers.construction.scan_graphstorm_config import (
        scan_graphstorm_config as scan_graphstorm_config,
    )
    from daskgraphpart.readers.objects.from_edges import from_dgl as from_dgl
    from daskgraphpart.readers.objects.from_edges import from_edges as from_edges
    from daskgraphpart.readers.objects.from_edges import from_networkx as from_networkx
    from daskgraphpart.readers.objects.from_edges import from_pyg as from_pyg
    from daskgraphpart.readers.objects.from_edges import from_scipy as from_scipy
    from daskgraphpart.readers.tables.scan_tables import scan_dataset as scan_dataset
    from daskgraphpart.readers.tables.scan_tables import scan_tables as scan_tables
    from daskgraphpart.schema import EdgeType as EdgeType
    from daskgraphpart.schema import GraphSchema as GraphSchema
    from daskgraphpart.schema import NodeType as NodeType
    from daskgraphpart.tools.report.compare import compare as compare
    from daskgraphpart.tools.verification.verify_partitions import verify as verify

__version__ = "0.2.0"

_NAMES = {
    "jobs.assign_function": "assign",
    "jobs.dispatch_function": "dispatch",
    "jobs.owners": "Assignment read_assignment",
    "jobs.partition_function": "partition",
    "graph.graph": "Graph read_chunked",
    "graph.scan": "Scan",
    "errors": "GraphPartError",
    "ids.id_map": "read_id_map",
    "partitioned.partitioned_graph": "PartitionedGraph open_partitions",
    "readers.construction.scan_graphstorm_config": "scan_graphstorm_config",
    "dispatching.delivery.staged_array": "open_staged",
    "interop.dgl_api.hot_tensor": "HotTensor",
    "interop.dgl_api.id_converter": "IdConverter",
    "interop.dgl_api.load": "load_partition load_partition_book load_partition_feats",
    "interop.dgl_api.partition_graph": "partition_graph",
    "readers.objects.from_edges": "from_dgl from_edges from_networkx from_pyg from_scipy",
    "jobs.plan_function": "plan",
    "tools.report.compare": "compare",
    "jobs.chunk_graph": "chunk_graph",
    "readers.tables.scan_tables": "scan_dataset scan_tables",
    "tools.verification.verify_partitions": "verify",
    "schema": "EdgeType GraphSchema NodeType",
}
_MODULES = {"errors": "errors", "parmetis": "interop.parmetis.parmetis"}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()} | _MODULES
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        return attribute_finder(__name__, __all__)(name)
    module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    globals()[name] = value = module if name in _MODULES else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return __all__
