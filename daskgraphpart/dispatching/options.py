"""Options that change the output. What a job may use is `engine.resources.Resources`, which never does."""

from __future__ import annotations

from dataclasses import dataclass

from daskgraphpart.errors import OptionError

GRAPH_FORMATS = ("coo", "csr", "csc")


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
    """

    num_hops: int = 1
    graph_formats: tuple[str, ...] = ("coo",)
    out_edges: bool = False
    config_name: str | None = None

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

    @property
    def has_extra_edges(self) -> bool:
        """Whether parts hold edges they do not own."""
        return self.out_edges or self.num_hops > 1
