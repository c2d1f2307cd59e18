"""The noun `PartitionedGraph`: the files of partitions, with methods of tools, training and results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import GraphPartError, printable
from daskgraphpart.keywords import check_keywords
from daskgraphpart.layouts.dgl_config import PartitionConfig
from daskgraphpart.partitioned.methods import pyg_methods, reorder_methods, tool_methods
from daskgraphpart.partitioned.part import Part
from daskgraphpart.partitioned.stored_partitions import StoredPartitions, open_stored, quality_of, recorded_quality
from daskgraphpart.storage.paths import AnyPath, is_remote
from daskgraphpart.units import format_count, format_number, format_size, html_table, text_table

if TYPE_CHECKING:
    from daskgraphpart.dispatching.finish import JobResult
    from daskgraphpart.quality import Quality

NEXT_CALLS = ("parts.report()", "parts.verify(graph)", "parts.part(0).to_pyg()")


@check_keywords
def open_partitions(
    path: AnyPath, *, confined: bool = False, storage_options: Mapping[str, Any] | None = None
) -> PartitionedGraph:
    """Open partitions written by daskgraphpart or DGL: read the config, and file headers when needed.

    Parameters
    ----------
    path : path or URL
        Output directory, or its partition config; local, or in any store fsspec supports (``s3://bucket/partitions``).
        From a store, only the byte ranges of the rows you ask for are read.
    confined : bool
        Refuse files outside that directory, whether by absolute path, ``..`` or symbolic link. Use it for partitions
        you do not trust; by default, such paths are followed.
    storage_options : mapping of str to object, optional
        Credentials and options of the store, as for `fsspec.filesystem`; default: its configuration and the
        environment.

    Returns
    -------
    PartitionedGraph

    Raises
    ------
    LayoutError
        If the config is missing or inconsistent, or a file is missing.
    EnvironmentFaultError
        If a store fails or denies access.

    Examples
    --------
    >>> parts = dgp.open_partitions("shop-parts")
    >>> parts.num_parts, parts.config.name
    (4, 'shop.json')
    """
    return open_stored(PartitionedGraph, path, confined=confined, storage_options=storage_options)


def open_result(result: JobResult, storage_options: Mapping[str, Any] | None = None) -> PartitionedGraph:
    """Open what a job has written, if it is reachable from here."""
    if not result.unreadable:
        return open_partitions(result.config_path, storage_options=storage_options)
    content = PartitionConfig(result.graph_name, "metis", 1, result.book, ())
    return PartitionedGraph(result.config_path, content, False, None, result.quality, result.unreadable)


class PartitionedGraph(StoredPartitions):
    """A partitioned graph, as lazy dask collections over memory-mapped or remote files.

    Attributes
    ----------
    config : Path or UPath
        The partition config; pass it to DGL's trainers and servers as `part_config`.
    name : str
        Name of the graph.
    book : PartitionBook
        Ranges of new IDs.
    num_parts : int
        Number of parts.
    ntypes, etypes : tuple of str
        Node types and canonical edge types, in ID order.

    Examples
    --------
    >>> parts = dgp.open_partitions("shop-parts")
    >>> parts.nodes["user"].data["age"][[0, 10, 20]]
    array([48, 66, 40])
    >>> parts.node_data["user"]["age"].mean().compute()
    np.float64(48.925)
    >>> parts.part(0).edges().head(3)
       src  dst  eid  etype  inner
    0  342  298    0      0   True
    1  763  255    1      0   True
    2  151  255    2      0   True
    """

    __all__ = (
        "add_edge_data", "add_node_data", "book", "canonical_etypes", "config", "edge_data", "edges", "etypes",
        "from_original", "ids_of", "link_neighbor_loader", "name", "neighbor_loader", "node_data", "nodes",
        "ntypes", "num_edges", "num_nodes", "num_parts", "original_ids", "own_ids", "part", "parts", "quality",
        "report", "schema", "to_original", "to_pyg_stores", "verify",
    )  # fmt: skip

    add_edge_data = check_keywords(tool_methods.add_edge_data)
    add_node_data = check_keywords(tool_methods.add_node_data)
    from_original = check_keywords(reorder_methods.from_original)
    ids_of = check_keywords(reorder_methods.ids_of)
    link_neighbor_loader = check_keywords(pyg_methods.link_neighbor_loader)
    neighbor_loader = check_keywords(pyg_methods.neighbor_loader)
    own_ids = check_keywords(reorder_methods.own_ids)
    report = check_keywords(tool_methods.report)
    to_original = check_keywords(reorder_methods.to_original)
    to_pyg_stores = check_keywords(pyg_methods.to_pyg_stores)
    verify = check_keywords(tool_methods.verify)

    @property
    def quality(self) -> Quality:
        """Edge cut, halo nodes and balance; computed from the files if they are not recorded."""
        if (recorded := recorded_quality(self)) is not None:
            return recorded
        report = self.report()
        return quality_of(self.book, report.num_cut_edges, map(int, report.stored_halo_nodes.sum(axis=1)))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts."""
        return tuple(self.part(i) for i in range(self.num_parts))

    def part(self, part_id: int) -> Part:
        """Return one part.

        Examples
        --------
        >>> parts.part(0).num_inner_nodes
        300
        """
        return self._open_part(part_id, Part)

    def __repr__(self) -> str:
        return "\n".join([self._title(), text_table(*self._table(), align=">>>>>"), *self._advice()])

    def _repr_html_(self) -> str:
        return html_table(*self._table(), caption=self._title()) + "".join(
            f"<div>{escape(line)}</div>" for line in self._advice()
        )

    def _title(self) -> str:
        counts = (self.num_parts, "part"), (self.content.num_nodes, "node"), (self.content.num_edges, "edge")
        return f"PartitionedGraph {self.name!r}: {', '.join(format_number(*count) for count in counts)}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for part_id in range(0 if self._unreadable else min(self.num_parts, 16)):
            part = self.part(part_id)
            halo = format_count(part.num_halo_nodes) if part.has_graph else "?"
            inner_nodes, inner_edges = format_count(part.num_inner_nodes), format_count(part.num_inner_edges)
            rows.append([str(part_id), inner_nodes, halo, inner_edges, format_size(part.nbytes)])
        if self.num_parts > len(rows):
            rows.append(["...", "", "", "", ""])
        return ["part", "own nodes", "halo nodes", "own edges", "on disk"], rows

    def _advice(self) -> list[str]:
        """Return the quality, if it is recorded, and what to call next."""
        lines = []
        try:
            quality = recorded_quality(self)
        except GraphPartError:  # `verify` tells
            quality = None
        if quality is not None:
            nodes, edges = 1 + quality.node_imbalance, 1 + quality.edge_imbalance
            lines.append(
                f"edge cut {quality.cut_share:.2%}; largest part / average: nodes {nodes:.3f}, edges {edges:.3f}"
            )
        if not self._unreadable and self.part(0).has_graph:
            lines.append(f"next: {', '.join(NEXT_CALLS)}")
            if not is_remote(self.config):
                lines.append(f"in DGL: dgl.distributed.load_partition({str(self.config)!r}, 0)")
        return [printable(line) for line in lines]
