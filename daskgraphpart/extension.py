"""What a package of somebody else needs to write a layout or a command; see the page "Write a layout".

Everything else in this package may change without notice.
"""

from __future__ import annotations

from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.layout import (
    ArraySpec,
    DispatchedGraph,
    FileLayout,
    GraphSizes,
    Layout,
    npy_file_layout,
    raw_file_layout,
)
from daskgraphpart.layouts.manifest import describe_layout
from daskgraphpart.layouts.owned_arrays import check_file_names, edge_arrays, file_name, node_arrays, refuse_bfloat16
from daskgraphpart.layouts.written_files import description_of
from daskgraphpart.options import option
from daskgraphpart.registry import Command
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.region import Region

__all__ = [
    "ArraySpec",
    "Command",
    "DispatchedGraph",
    "EdgeType",
    "FileLayout",
    "GraphSchema",
    "GraphSizes",
    "Layout",
    "NodeType",
    "OptionError",
    "Region",
    "check_file_names",
    "describe_layout",
    "description_of",
    "edge_arrays",
    "file_name",
    "node_arrays",
    "npy_file_layout",
    "option",
    "raw_file_layout",
    "refuse_bfloat16",
    "whole_file",
]
