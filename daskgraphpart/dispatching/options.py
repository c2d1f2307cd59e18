"""Options that change the output. What a job may use is `engine.resources.Resources`, which never does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.errors import OptionError
from daskgraphpart.options import check_options, documented, option

if TYPE_CHECKING:
    from daskgraphpart.schema import GraphSchema

GRAPH_FORMATS = ("coo", "csr", "csc")
LAYOUTS = ("dgl", "graphbolt", "ranks", "parquet", "ondisk")


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
        "or, given both, beside them), ranks (raw arrays by rank), parquet (tables), ondisk (GraphBolt's dataset of "
        "the whole graph, for one part); the latter each in a directory of its name.",
        choices=LAYOUTS,
        values="LAYOUT,...",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if not self.reshuffle and self.layout != ("dgl",):
            raise OptionError(
                "only the layout dgl can keep original IDs",
                place="reshuffle",
                expected='layout="dgl"',
                found=",".join(self.layout),
                hint="leave out reshuffle=False; every layout has the original IDs beside the new ones",
            )

    def check_fits(self, schema: GraphSchema) -> None:
        """Raise an `OptionError` if a heterogeneous graph should keep its IDs."""
        if not self.reshuffle and schema.is_heterogeneous:
            raise OptionError(
                "a heterogeneous graph cannot keep its IDs",
                place="reshuffle",
                expected="one node type and one edge type",
                found=f"{len(schema.ntypes)} node types, {len(schema.etypes)} edge types",
                hint="leave out reshuffle=False, as DGL does since 1.0",
            )

    @property
    def has_extra_edges(self) -> bool:
        """Whether parts hold edges they do not own."""
        return self.out_edges or self.num_hops > 1
