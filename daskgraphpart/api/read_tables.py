"""`read_tables`: describe a graph in tables, for any job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daskgraphpart.schema import DEFAULT_ETYPE
from daskgraphpart.sources.table_spec import TableSpec, split_options

if TYPE_CHECKING:
    from daskgraphpart.sources.edge_list_inputs import FeaturePaths
    from daskgraphpart.sources.table_files import Paths


def read_tables(
    edges: Mapping[str, Paths] | Paths,
    *,
    name: str = "graph",
    nodes: Mapping[str, Paths | tuple[Paths, str]] | None = None,
    num_nodes: Mapping[str, int] | None = None,
    num_edges: Mapping[str, int] | None = None,
    node_data: FeaturePaths | None = None,
    edge_data: FeaturePaths | None = None,
    masks: FeaturePaths | None = None,
    **options: Any,
) -> TableSpec:
    """Describe a graph in tables, for `partition`, `assign`, `dispatch`, `plan` and `verify`.

    Nothing is read here: the job opens and checks all files before it stages the first, and stages no more than it has
    to. A job that was stopped continues if the files are the same.

    Parameters
    ----------
    edges, name, nodes, num_nodes, num_edges, node_data, edge_data, masks
        As in `chunk_edge_lists`.
    **options
        How tables are read, and what is changed on the way: the parameters of `ReadOptions` and `GraphChanges`.

    Returns
    -------
    TableSpec

    Raises
    ------
    OptionError
        If an option has a value it cannot have.

    Examples
    --------
    >>> partition(read_tables("follows.csv", map_ids=True), "partitions", 4)  # doctest: +SKIP
    """
    reading, changes = split_options(options)
    of_edges = edges if isinstance(edges, Mapping) else {DEFAULT_ETYPE: edges}
    counts = num_nodes or {}, num_edges or {}
    return TableSpec(
        of_edges, name, nodes or {}, *counts, node_data or {}, edge_data or {}, masks or {}, reading, changes
    )
