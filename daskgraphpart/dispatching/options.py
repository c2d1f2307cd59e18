"""Options that change the output. What a job may use is `engine.resources.Resources`, which never does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.options import check_options, documented, option

if TYPE_CHECKING:
    from daskgraphpart.schema import GraphSchema

GRAPH_FORMATS = ("coo", "csr", "csc")
LAYOUTS = ("dgl", "graphbolt", "graphstorm", "ranks", "parquet", "ondisk")


@documented
@dataclass(frozen=True, slots=True)
class DispatchOptions:
    """Options that change the output."""

    num_hops: int = option(
        1,
        "Hops of HALO nodes: at 1 a part holds the foreign sources of its edges, at h > 1 also the in-edges of HALO "
        "nodes up to h - 1 hops out.",
        minimum=1,
    )
    graph_formats: tuple[str, ...] = option(
        ("coo",),
        "Formats in graph.dgl: some of coo, csr (rows are sources), csc (rows are destinations).",
        choices=GRAPH_FORMATS,
        values="FORMAT,...",
    )
    out_edges: bool = option(
        False,
        "Also store the edges from nodes of a part to those of others, as dgl.distributed.partition_graph does and "
        "DGL's distributed pipeline does not.",
    )
    config_name: str | None = option(None, "File name of the partition config; None for <graph name>.json.")
    reshuffle: bool = option(
        True,
        "Whether nodes and edges get new IDs, contiguous in every part, which all of DGL since 1.0 needs. Without, "
        "they keep theirs, as in DGL 0.9; for graphs with one node type and one edge type only.",
    )
    layout: tuple[str, ...] = option(
        ("dgl",),
        "What is written: some of dgl (what DGL loads), graphbolt (the same with GraphBolt's graphs in place of DGL's, "
        "or, given both, beside them), graphstorm (what dgl has, in dist_graph, as GSPartition leaves it), ranks (raw "
        "arrays by rank), parquet (tables), ondisk (GraphBolt's dataset of the whole graph, for one part); the latter "
        "each in a directory of its name.",
        choices=LAYOUTS,
        values="LAYOUT,...",
    )

    store_eids: bool = option(True, "Whether GraphBolt's graphs have new edge IDs, as edge_attributes['_ID'].")
    store_inner_node: bool = option(False, "Whether GraphBolt's graphs say which nodes a part owns.")
    store_inner_edge: bool = option(False, "Whether GraphBolt's graphs say which edges a part owns.")
    map_feature: tuple[str, ...] = option(
        (),
        "Features that hold IDs of nodes, such as hard negatives, with the node type: these IDs become new type-wise "
        "ones, and -1 stays. The layout graphstorm finds those of GSProcessing itself.",
        values="TYPE/FEATURE=NTYPE,...",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if not self.reshuffle and (self.layout != ("dgl",) or self.map_feature):
            raise OptionError(
                "only the layout dgl can keep original IDs",
                place="reshuffle",
                expected='layout="dgl", and no map_feature',
                found=",".join((*self.layout, *self.map_feature)),
                hint="leave out reshuffle=False; every layout has the original IDs beside the new ones",
            )

    @property
    def mapped_features(self) -> dict[str, str]:
        """Node types whose IDs features hold, by ``<type>/<feature>``."""
        return {name: ntype for name, _, ntype in (text.rpartition("=") for text in self.map_feature)}

    def check_fits(self, schema: GraphSchema) -> None:
        """Raise an `OptionError` if a heterogeneous graph should keep its IDs, or a feature cannot be one of IDs."""
        counts = {kind.name: kind.num_nodes for kind in schema.node_types}
        features = {f"{kind.name}/{spec.name}": spec.dtype for kind in schema.row_types for spec in kind.data}
        for name, ntype in self.mapped_features.items():
            dtype = features.get(name, np.dtype(bool))
            if dtype.kind not in "iu" or ntype not in counts or np.iinfo(dtype).max < counts[ntype] - 1:
                raise OptionError(
                    "not a feature whose IDs can be mapped",
                    place="--map-feature",
                    expected="TYPE/FEATURE=NTYPE, of integers wide enough for the IDs of all nodes of NTYPE",
                    found=f"{name}={ntype}" + (f", of {dtype.name}" if name in features else ""),
                    hint=f"features: {', '.join(features) or 'none'}; node types: {', '.join(counts)}",
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
        """Graphs that the parts have: dgl, graphbolt or both; none without a layout that DGL loads."""
        found = tuple(name for name in ("dgl", "graphbolt") if name in self.layout)
        return found or (("dgl",) if "graphstorm" in self.layout else ())

    @property
    def has_extra_edges(self) -> bool:
        """Whether parts hold edges they do not own."""
        return self.out_edges or self.num_hops > 1
