"""Options that change the output; `engine.resources.Resources` never does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.options import by_name, check_options, option, take_members, words_of
from daskgraphpart.partitioner.training.training import budget_of
from daskgraphpart.registry import WHERE_FROM, plugin_names

if TYPE_CHECKING:
    from daskgraphpart.schema import GraphSchema

GRAPH_FORMATS = ("coo", "csr", "csc")
_CONFIG_NAME = re.compile(r"[^/\\]+\.json")
OF_DGL = ("dgl", "graphbolt")
GRAPHSTORM = "graphstorm"
"""Layout that has DGL's files in other places; those in `layouts` each have a directory of their own."""
LAYOUTS = (*OF_DGL, GRAPHSTORM, *plugin_names("layouts"))


@dataclass(frozen=True, slots=True)
class DispatchOptions:
    """Options that change the output."""

    num_hops: int = option(
        1,
        "Hops of halo nodes around each part. At 1, a part holds the foreign sources of its edges; at h, also the "
        "in-edges of halo nodes up to h - 1 hops away.",
        minimum=1,
        common=True,
    )
    graph_formats: str | Sequence[str] = option(
        ("coo",),
        "Sparse formats in graph.dgl. Any of coo, csr (rows are sources) and csc (rows are destinations).",
        choices=GRAPH_FORMATS,
        values="FORMAT,...",
    )
    out_edges: bool = option(
        False,
        "Also store the edges that leave a part. dgl.distributed.partition_graph does; DGL's distributed pipeline "
        "does not.",
    )
    config_name: str | None = option(
        None, "File name of the partition config, which ends in .json. Default: <graph name>.json."
    )
    reshuffle: bool = option(
        True,
        "Give nodes and edges new IDs, contiguous in every part, as DGL 1.0 and later needs. With False they keep "
        "theirs, as in DGL 0.9; only for graphs with one node type and one edge type.",
    )
    layout: str | Sequence[str] = option(
        ("dgl",),
        f"What to write: {', '.join(LAYOUTS)}. dgl is what DGL loads. graphbolt has "
        "GraphBolt's graphs in place of DGL's, or in addition to them if you give both. Each other layout is for what "
        "its name says.",
        choices=LAYOUTS,
        values="LAYOUT,...",
        common=True,
        hint=WHERE_FROM,
    )

    store_eids: bool = option(True, "Store new edge IDs in GraphBolt's graphs, as edge_attributes['_ID'].")
    store_inner_node: bool = option(False, "Mark in GraphBolt's graphs which nodes a part owns.")
    store_inner_edge: bool = option(False, "Mark in GraphBolt's graphs which edges a part owns.")
    map_feature: str | Sequence[str] = option(
        (),
        "Translate a feature of node IDs, such as hard negatives, to new IDs: user/negatives=item, the type of these "
        "nodes; -1 stays. Layouts may find such features themselves.",
        values="TYPE/FEATURE=NTYPE,...",
    )

    hot_rows: str | int | None = option(
        None,
        "Keep beside each part, in the layouts ranks and parquet, the rows of other parts that its trainers fetch "
        "most: a share of the part's nodes, such as 5%, or bytes, such as 2GB. Needs fan-outs.",
        values="SIZE",
    )
    layout_options: Mapping[str, object] | None = option(
        None,
        "Options of the files that frameworks read, by name; a layout of another package has its own.",
        members=("graph_formats", "config_name", "reshuffle", "out_edges", "map_feature", "store_eids",
                 "store_inner_node", "store_inner_edge", "hot_rows"),
    )  # fmt: skip

    # what DGL_DIST_DEBUG adds to these: only `partition_graph` asks for it
    store_types_and_owners: bool = False

    def __post_init__(self) -> None:
        take_members(self, "layout_options")
        for name in ("graph_formats", "layout", "map_feature"):
            object.__setattr__(self, name, words_of(getattr(self, name)))
        if "pyg" in self.layout:
            raise OptionError("unknown layout 'pyg'", hint="use the layout dgl, which PyG reads by `to_pyg`")
        check_options(self)
        if self.hot_rows is not None:
            budget_of(self.hot_rows, "--hot-rows", np.ones(1, np.int64), np.zeros(1, np.int64))
        if self.config_name is not None and not _CONFIG_NAME.fullmatch(self.config_name):
            what, expected = "unusable name of the partition config", "a file name that ends in .json"
            raise OptionError(what, option="config_name", expected=expected, found=repr(self.config_name))
        if not self.reshuffle and (self.layout != ("dgl",) or self.map_feature):
            raise OptionError(
                "only the layout dgl can keep original IDs",
                place="reshuffle",
                expected='layout="dgl", and no map_feature',
                found=",".join((*self.layout, *self.map_feature)),
                hint="leave out reshuffle=False; every layout also has the original IDs",
            )

    @property
    def plugins(self) -> tuple[str, ...]:
        """The layouts of plug-ins that have directories of their own."""
        return tuple(name for name in LAYOUTS if name in self.layout and name not in (*OF_DGL, GRAPHSTORM))

    @property
    def is_for_graphstorm(self) -> bool:
        """Whether DGL's files go where GraphStorm looks for them."""
        return GRAPHSTORM in self.layout

    @property
    def mapped_features(self) -> dict[str, str]:
        """Node types whose IDs are in features, by ``<type>/<feature>``."""
        return by_name(self.map_feature, "--map-feature")

    def check_fits(self, schema: GraphSchema) -> None:
        """Raise an `OptionError` if a heterogeneous graph should keep its IDs, or a feature cannot hold IDs."""
        counts = {kind.name: kind.num_nodes for kind in schema.node_types}
        features = {f"{kind.name}/{spec.name}": spec.dtype for kind in schema.row_types for spec in kind.data}
        for name, ntype in self.mapped_features.items():
            dtype = features.get(name, np.dtype(bool))
            if dtype.kind not in "iu" or ntype not in counts or np.iinfo(dtype).max < counts[ntype] - 1:
                raise OptionError(
                    f"--map-feature {name}={ntype} names no feature that holds IDs of a node type"
                    + (f": {name} is {dtype.name}" if name in features else ""),
                    option="map_feature",
                    hint=f"the features are {', '.join(features) or 'none'}, the node types {', '.join(counts)}",
                )
        if not self.reshuffle and schema.is_heterogeneous:
            raise OptionError(
                "a heterogeneous graph cannot keep its IDs",
                place="reshuffle",
                expected="one node type and one edge type",
                found=f"{len(schema.ntypes)} node types, {len(schema.etypes)} edge types",
                hint="leave out reshuffle=False, as DGL does since 1.0",
            )

    @property
    def graphs(self) -> tuple[str, ...]:
        """Graphs in the parts: dgl, graphbolt, both or none."""
        names = tuple(name for name in ("dgl", "graphbolt") if name in self.layout)
        return names or (("dgl",) if self.is_for_graphstorm else ())

    @property
    def has_extra_edges(self) -> bool:
        """Whether parts hold edges that they do not own."""
        return self.out_edges or self.num_hops > 1
