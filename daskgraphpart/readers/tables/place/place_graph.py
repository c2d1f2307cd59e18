"""Turn loaded tables into rows of a graph: IDs as they are, or mapped to 0, 1, 2, ... in order, by SQL.

Memory and threads do not matter: tables keep the order of files and rows, and every query states its order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.errors import GraphPartError
from daskgraphpart.graph.graph import graph_of
from daskgraphpart.graph.rows import EdgeEnds
from daskgraphpart.readers.tables.describe.collect_faults import collect_fault, raise_together
from daskgraphpart.readers.tables.describe.split_sets import with_masks
from daskgraphpart.readers.tables.place.edge_weights import find_bad_weights
from daskgraphpart.readers.tables.place.node_ids import count_ids, map_ids
from daskgraphpart.readers.tables.place.place_features import place_rows, place_table
from daskgraphpart.readers.tables.place.placement import Placement
from daskgraphpart.readers.tables.place.strangers import refuse_strangers
from daskgraphpart.readers.tables.place.unknown_nodes import (
    Unknown,
    refuse_lost_edges,
    settle_unknown,
    warn_unknown_ids,
)

if TYPE_CHECKING:
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan import ScanJob
    from daskgraphpart.readers.tables.load.loaded_tables import Load
    from daskgraphpart.source import Source


def place_graph(load: Load, name: str, job: ScanJob, memory: int, *, counts_only: bool) -> Graph:
    """Map IDs, write their maps, and bring features into order; rows then lie in temporary files."""
    described, progress = load.described, load.progress
    is_mapped, steps = described.options.map_ids, len(load.kinds) + len(described.etypes)
    progress.begin("map-ids" if is_mapped else "stage-edges", steps, steps)
    unknown, faults = dict[str, Unknown](), list[GraphPartError]()
    with_list = [ntype for ntype in load.kinds if described.lists(ntype)]
    for ntype in with_list if described.options.unknown_nodes == "drop" else ():
        with collect_fault(faults):
            refuse_strangers(load, ntype)
    raise_together(faults)
    for ntype in with_list:
        with collect_fault(faults):
            unknown[ntype] = settle_unknown(load, ntype)
    with collect_fault(faults):
        refuse_lost_edges(load)
    raise_together([*faults, *find_bad_weights(load, job.edge_weights)])
    num_nodes = map_ids(load, job.companions) if is_mapped else count_ids(load)
    placement = Placement(load, num_nodes, job, memory, counts_only)
    data: dict[str, dict[str, Source]] = {of_type: {} for of_type in (*num_nodes, *described.etypes)}
    for table in described.tables:
        data[table.of_type] |= place_table(placement, table)
    for of_type, features in described.rows.items():
        data[of_type] |= place_rows(placement, of_type, features)
    edges = {}
    for table in described.of_edges:
        plain = load.plain.get(table.name)
        ends = EdgeEnds(placement.new_ids(table, 0), placement.new_ids(table, 1)) if plain is None else plain.source
        edges[table.of_type] = ends
        progress.advance(1)
    progress.end()
    for ntype, count in () if counts_only else unknown.items():
        warn_unknown_ids(placement, ntype, count)
    return graph_of(name, num_nodes, edges, {of_type: with_masks(features) for of_type, features in data.items()})
