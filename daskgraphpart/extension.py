"""What a package of somebody else needs; see the page "Write a layout, a method or a reader".

Everything else in this package may change without notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.errors import InputFileError as InputFileError
from daskgraphpart.errors import InputFileNotFoundError as InputFileNotFoundError
from daskgraphpart.errors import OptionError as OptionError
from daskgraphpart.errors import attribute_finder
from daskgraphpart.extras import import_extra as import_extra
from daskgraphpart.graph.graph import Graph as Graph
from daskgraphpart.graph.graph import graph_of as graph_of
from daskgraphpart.graph.rows import MadeRows as MadeRows
from daskgraphpart.graph.scan import Scan as Scan
from daskgraphpart.graph.scan import described_files as described_files
from daskgraphpart.graph.scan_job import ScanJob as ScanJob
from daskgraphpart.ids.id_map_file import IdMapFile as IdMapFile
from daskgraphpart.layouts.graphbolt import Tensor as Tensor
from daskgraphpart.layouts.graphbolt import sampling_graph_layout as sampling_graph_layout
from daskgraphpart.layouts.graphbolt import shortest_int as shortest_int
from daskgraphpart.layouts.graphbolt import type_numbers as type_numbers
from daskgraphpart.layouts.known_outputs import description_of as description_of
from daskgraphpart.layouts.layout import HOT_ROWS as HOT_ROWS
from daskgraphpart.layouts.layout import ArraySpec as ArraySpec
from daskgraphpart.layouts.layout import DispatchedGraph as DispatchedGraph
from daskgraphpart.layouts.layout import FileLayout as FileLayout
from daskgraphpart.layouts.layout import GraphSizes as GraphSizes
from daskgraphpart.layouts.layout import Layout as Layout
from daskgraphpart.layouts.layout import npy_file_layout as npy_file_layout
from daskgraphpart.layouts.layout import raw_file_layout as raw_file_layout
from daskgraphpart.layouts.layout import split_names as split_names
from daskgraphpart.layouts.manifest import describe_layout as describe_layout
from daskgraphpart.layouts.part_arrays import all_arrays as all_arrays
from daskgraphpart.layouts.part_arrays import check_file_names as check_file_names
from daskgraphpart.layouts.part_arrays import describe_arrays as describe_arrays
from daskgraphpart.layouts.part_arrays import edge_arrays as edge_arrays
from daskgraphpart.layouts.part_arrays import file_name as file_name
from daskgraphpart.layouts.part_arrays import hot_arrays as hot_arrays
from daskgraphpart.layouts.part_arrays import marked_arrays as marked_arrays
from daskgraphpart.layouts.part_arrays import node_arrays as node_arrays
from daskgraphpart.layouts.part_arrays import refuse_bfloat16 as refuse_bfloat16
from daskgraphpart.method import Method as Method
from daskgraphpart.method import MethodJob as MethodJob
from daskgraphpart.method import RowBlock as RowBlock
from daskgraphpart.method import WeightedRows as WeightedRows
from daskgraphpart.options import option as option
from daskgraphpart.schema import DEFAULT_ETYPE as DEFAULT_ETYPE
from daskgraphpart.schema import DEFAULT_NTYPE as DEFAULT_NTYPE
from daskgraphpart.schema import EdgeType as EdgeType
from daskgraphpart.schema import GraphSchema as GraphSchema
from daskgraphpart.schema import NodeType as NodeType
from daskgraphpart.storage.atomic import whole_file as whole_file
from daskgraphpart.storage.faults import attach_path_to_error as attach_path_to_error
from daskgraphpart.storage.region import Region as Region
from daskgraphpart.storage.region import create_npy as create_npy
from daskgraphpart.storage.region import read_npy_header as read_npy_header

if not TYPE_CHECKING:
    __getattr__ = attribute_finder(__name__, [*globals()])
