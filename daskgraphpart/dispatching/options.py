"""Options that change the output. What a job may use is `engine.resources.Resources`, which never does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from daskgraphpart.schema import GraphSchema

GRAPH_FORMATS = ("coo", "csr", "csc")
LAYOUTS = ("dgl", "ranks", "parquet")


@dataclass(frozen=True, slots=True)
class DispatchOptions:
    """Options that change the output.

    Parameters
    ----------
    num_hops : int
        Hops of HALO nodes; at 1 a part holds the foreign sources of its edges, at h > 1 also the in-edges of HALO
        nodes up to h - 1 hops out.
    graph_formats : tuple of str
        Formats stored in `graph.dgl`, out of ``"coo"``, ``"csr"`` (rows are sources), ``"csc"`` (rows: destinations).
    out_edges : bool
        Whether a part also holds the edges from its nodes to other parts' nodes, as `dgl.distributed.partition_graph`
        does and DGL's distributed pipeline does not.
    config_name : str or None
        File name of the partition config; None for ``<graph name>.json``.
    reshuffle : bool
        Whether nodes and edges get new IDs, contiguous in every part, which all of DGL since 1.0 needs. Without, they
        keep theirs, as in DGL 0.9; for graphs with one node type and one edge type only.
    layout : tuple of str
        Layouts that are written, each once: ``"dgl"``, what DGL loads; ``"ranks"``, raw arrays by rank; ``"parquet"``,
        tables. The latter lie below a directory of their name. The options above are of DGL's.
    """

    num_hops: int = 1
    graph_formats: tuple[str, ...] = ("coo",)
    out_edges: bool = False
    config_name: str | None = None
    reshuffle: bool = True
    layout: tuple[str, ...] = ("dgl",)

    def __post_init__(self) -> None:
        if self.num_hops < 1:
            raise OptionError(
                "impossible number of hops", place="--num-hops", expected="1 or more", found=self.num_hops
            )
        unknown = [name for name in self.graph_formats if name not in GRAPH_FORMATS]
        if unknown or not self.graph_formats or len(set(self.graph_formats)) != len(self.graph_formats):
            raise OptionError(
                "bad graph formats",
                place="--graph-formats",
                expected="some of coo, csr, csc, each once",
                found=",".join(self.graph_formats) or "nothing",
            )
        if set(self.layout) - set(LAYOUTS) or not self.layout or len(set(self.layout)) != len(self.layout):
            raise OptionError(
                "bad layouts",
                place="--layout",
                expected=f"some of {', '.join(LAYOUTS)}, each once",
                found=",".join(self.layout) or "nothing",
            )
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
