"""What a package of somebody else needs; see the page "Write a layout, a method or a reader".

Everything else in this package may change without notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.errors import InputFileError, InputFileNotFoundError, OptionError, attribute_finder
from daskgraphpart.extras import import_extra
from daskgraphpart.graph.graph import Graph, graph_of
from daskgraphpart.graph.rows import MadeRows
from daskgraphpart.graph.scan import Scan, ScanJob, described_files
from daskgraphpart.ids.id_map_file import IdMapFile
from daskgraphpart.layouts.graphbolt import Tensor, sampling_graph_layout, shortest_int, type_numbers
from daskgraphpart.layouts.known_outputs import description_of
from daskgraphpart.layouts.layout import (
    HOT_ROWS,
    ArraySpec,
    DispatchedGraph,
    FileLayout,
    GraphSizes,
    Layout,
    npy_file_layout,
    raw_file_layout,
    split_names,
)
from daskgraphpart.layouts.manifest import describe_layout
from daskgraphpart.layouts.part_arrays import (
    all_arrays,
    check_file_names,
    describe_arrays,
    edge_arrays,
    file_name,
    hot_arrays,
    marked_arrays,
    node_arrays,
    refuse_bfloat16,
)
from daskgraphpart.method import Method, MethodJob, RowBlock, WeightedRows
from daskgraphpart.options import option
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE, EdgeType, GraphSchema, NodeType
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import Region, create_npy, read_npy_header

__all__ = [
    "DEFAULT_ETYPE",
    "DEFAULT_NTYPE",
    "HOT_ROWS",
    "ArraySpec",
    "DispatchedGraph",
    "EdgeType",
    "FileLayout",
    "Graph",
    "GraphSchema",
    "GraphSizes",
    "IdMapFile",
    "InputFileError",
    "InputFileNotFoundError",
    "Layout",
    "MadeRows",
    "Method",
    "MethodJob",
    "NodeType",
    "OptionError",
    "Region",
    "RowBlock",
    "Scan",
    "ScanJob",
    "Tensor",
    "WeightedRows",
    "all_arrays",
    "attach_path_to_error",
    "check_file_names",
    "create_npy",
    "describe_arrays",
    "describe_layout",
    "described_files",
    "description_of",
    "edge_arrays",
    "file_name",
    "graph_of",
    "hot_arrays",
    "import_extra",
    "marked_arrays",
    "node_arrays",
    "npy_file_layout",
    "option",
    "raw_file_layout",
    "read_npy_header",
    "refuse_bfloat16",
    "sampling_graph_layout",
    "shortest_int",
    "split_names",
    "type_numbers",
    "whole_file",
]


if not TYPE_CHECKING:
    __getattr__ = attribute_finder(__name__, __all__)
