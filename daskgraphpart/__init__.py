"""Out-of-core graph partitioner: chunked graphs in, the partitions DGL trains on out.

The names below are imported when they are first used, so that ``import daskgraphpart`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daskgraphpart.api.compare import compare
    from daskgraphpart.api.convert import convert
    from daskgraphpart.api.parmetis import read_parmetis, write_parmetis
    from daskgraphpart.api.pipeline import assign, dispatch, partition
    from daskgraphpart.assignment.assignment import Assignment
    from daskgraphpart.assignment.report import AssignReport
    from daskgraphpart.book import PartitionBook
    from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
    from daskgraphpart.chunked.write import write_chunked
    from daskgraphpart.conversion.migrate import migrate_config
    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.dispatching.options import DispatchOptions
    from daskgraphpart.engine.resources import Resources, detect_resources
    from daskgraphpart.errors import GraphPartError
    from daskgraphpart.id_converter import IdConverter
    from daskgraphpart.partitioned.graph import PartitionedGraph, open_partitions
    from daskgraphpart.partitioned.load import LocalGraph, load_partition, load_partition_book, load_partition_feats
    from daskgraphpart.partitioned.range_book import EdgePartitionPolicy, NodePartitionPolicy, RangePartitionBook
    from daskgraphpart.reporting.report import Report
    from daskgraphpart.schema import DataSpec, EdgeType, GraphSchema, NodeType
    from daskgraphpart.verification.pipeline import verify

__version__ = "0.1.0"

_HOMES = {
    "AssignReport": "assignment.report",
    "Assignment": "assignment.assignment",
    "ChunkedGraph": "chunked.graph",
    "DataSpec": "schema",
    "DispatchOptions": "dispatching.options",
    "EdgePartitionPolicy": "partitioned.range_book",
    "EdgeType": "schema",
    "GraphPartError": "errors",
    "GraphSchema": "schema",
    "IdConverter": "id_converter",
    "LocalGraph": "partitioned.load",
    "NodePartitionPolicy": "partitioned.range_book",
    "NodeType": "schema",
    "Outcome": "dispatching.finish",
    "PartitionBook": "book",
    "PartitionedGraph": "partitioned.graph",
    "RangePartitionBook": "partitioned.range_book",
    "Report": "reporting.report",
    "Resources": "engine.resources",
    "assign": "api.pipeline",
    "compare": "api.compare",
    "convert": "api.convert",
    "detect_resources": "engine.resources",
    "dispatch": "api.pipeline",
    "load_partition": "partitioned.load",
    "load_partition_book": "partitioned.load",
    "load_partition_feats": "partitioned.load",
    "migrate_config": "conversion.migrate",
    "open_partitions": "partitioned.graph",
    "partition": "api.pipeline",
    "read_chunked": "chunked.graph",
    "read_parmetis": "api.parmetis",
    "verify": "verification.pipeline",
    "write_chunked": "chunked.write",
    "write_parmetis": "api.parmetis",
}

__all__ = [
    "AssignReport",
    "Assignment",
    "ChunkedGraph",
    "DataSpec",
    "DispatchOptions",
    "EdgePartitionPolicy",
    "EdgeType",
    "GraphPartError",
    "GraphSchema",
    "IdConverter",
    "LocalGraph",
    "NodePartitionPolicy",
    "NodeType",
    "Outcome",
    "PartitionBook",
    "PartitionedGraph",
    "RangePartitionBook",
    "Report",
    "Resources",
    "assign",
    "compare",
    "convert",
    "detect_resources",
    "dispatch",
    "load_partition",
    "load_partition_book",
    "load_partition_feats",
    "migrate_config",
    "open_partitions",
    "partition",
    "read_chunked",
    "read_parmetis",
    "verify",
    "write_chunked",
    "write_parmetis",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
