"""The noun `Part`: the files of one part, with methods of training and of results."""

from __future__ import annotations

from daskgraphpart.keywords import check_keywords
from daskgraphpart.partitioned.methods import pyg_methods, reorder_methods
from daskgraphpart.partitioned.stored_part import StoredPart
from daskgraphpart.units import format_count, format_number, format_size, html_table, text_table


class Part(StoredPart):
    """One part of a partitioned graph."""

    __all__ = (
        "book", "directory", "edges", "hot_rows", "ids_of", "link_neighbor_loader", "nbytes", "neighbor_loader",
        "num_halo_nodes", "num_inner_edges", "num_inner_nodes", "original_ids", "own_ids", "part_id", "split_nids",
        "to_original", "to_pyg",
    )  # fmt: skip

    hot_rows = check_keywords(pyg_methods.hot_rows)
    ids_of = check_keywords(reorder_methods.ids_of)
    link_neighbor_loader = check_keywords(pyg_methods.link_neighbor_loader)
    neighbor_loader = check_keywords(pyg_methods.neighbor_loader)
    own_ids = check_keywords(reorder_methods.own_ids)
    to_original = check_keywords(reorder_methods.owned_to_original)
    to_pyg = check_keywords(pyg_methods.to_pyg)

    def __repr__(self) -> str:
        return f"{self._title()}\n{text_table(*self._table(), align='<>')}"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), caption=self._title())

    def _title(self) -> str:
        halo = f", {format_number(self.num_halo_nodes, 'halo node')}" if self.has_graph else ""
        counts = f"{format_number(self.num_inner_nodes, 'node')}{halo}, {format_number(self.num_inner_edges, 'edge')}"
        return f"Part {self.part_id} of {self.book.num_parts}: {counts}, {format_size(self.nbytes)}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        of_types = {**self.node_rows.counts, **self.edge_rows.counts}
        return ["type", "owned"], [[name, format_count(count)] for name, count in of_types.items()]
