"""Turn tables into rows of a graph: IDs as they are, or mapped to 0, 1, 2, ... in order, by SQL.

A node's new ID is the rank of its original ID in its type, by number or UTF-8 bytes. Memory and threads do not matter:
tables keep the order of files and rows, and every query states its order.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.graph import graph_of
from daskgraphpart.chunked.output import ID_MAP
from daskgraphpart.chunked.rows import EdgeEnds
from daskgraphpart.errors import InputFileError, raise_together
from daskgraphpart.plugins.tables.describe.columns import STRINGS, shown
from daskgraphpart.plugins.tables.describe.earlier_graph import check_old_ids
from daskgraphpart.plugins.tables.describe.split_sets import with_masks
from daskgraphpart.plugins.tables.describe.tables import TableGroup, check_edge_counts
from daskgraphpart.plugins.tables.load.read_table import (
    TableJob,
    count_rows,
    drop_rows,
    drops_missing,
    find_faults,
    rank_ids,
    read_table,
)
from daskgraphpart.plugins.tables.load.table_weights import find_bad_weights
from daskgraphpart.plugins.tables.place.place_features import FeaturePlacer
from daskgraphpart.sources.database import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.source import Source


DENSE_BELOW, IDS_PER_EDGE = 2**31, 1000
"""Beyond so many IDs, for each edge and in total, a number of nodes is taken for a mistake."""
ROWS_AT_ONCE = 1 << 20


def read_graph(job: TableJob, name: str) -> Graph:
    """Read, check and map all but plain edges, and write ID maps. Rows then lie in temporary files."""
    inputs, kinds = job.inputs, job.kinds
    check_old_ids(inputs.old_ids, kinds)
    sizes = [os.path.getsize(table.content) for group in inputs.groups for table in group.tables]
    job.progress.begin("read-edges", len(sizes), sum(sizes))
    read = [group for group in inputs.groups if group.name not in job.plain]
    starts, faults = dict[str, list[int]](), list[InputFileError]()
    for group in read:
        starts[group.name] = read_table(job, group)
        faults += find_faults(job, group, starts[group.name])
    raise_together(faults)
    given = {group.name: job.num_rows(group) for group in inputs.groups}
    check_edge_counts(inputs, given)
    job.progress.end()
    for group in read:
        _drop_missing(job, group, given[group.name])
    steps = len(kinds) + len(inputs.etypes)
    job.progress.begin("map-ids" if inputs.options.map_ids else "stage-edges", steps, steps)
    unknown = {ntype: _settle_unknown(job, ntype) for ntype in kinds if inputs.lists(ntype)}
    raise_together([*find_bad_weights(job, job.weights, starts, given)])
    num_nodes = _rank_ids(job) if inputs.options.map_ids else _count_ids(job, given)
    placer = FeaturePlacer(job, num_nodes, given)
    data: dict[str, dict[str, Source]] = {of_type: {} for of_type in (*num_nodes, *inputs.etypes)}
    for group in inputs.groups:
        data[group.of_type] |= placer.table(group)
    for of_type, features in inputs.rows.items():
        data[of_type] |= placer.rows(of_type, features)
    data = {of_type: with_masks(features) for of_type, features in data.items()}
    edges = {}
    for group in inputs.of_edges:
        plain = job.plain.get(group.name)
        ends = EdgeEnds(job.new_ids(group, 0), job.new_ids(group, 1)) if plain is None else plain.source
        edges[group.of_type] = ends
        job.progress.advance(1)
    job.progress.end()
    for ntype, count in () if job.counts_only else unknown.items():
        _tell_unknown(job, ntype, count, num_nodes[ntype])
    return graph_of(name, num_nodes, edges, data)


def _drop_missing(job: TableJob, group: TableGroup, num_rows: int) -> None:
    """Drop a table's rows without ID, if requested, and report their number."""
    if not drops_missing(job, group):
        return
    drop_rows(job.connection, group.name, "no_id")
    if count := num_rows - count_rows(job.connection, group.name):
        job.progress.note(f"{group.tables[0].path}: {count:,} of {num_rows:,} rows without an ID were dropped")


def _columns(job: TableJob, ntype: str) -> list[tuple[TableGroup, int]]:
    """Columns of edges with IDs of a node type, by table and number."""
    return [(group, i) for group in job.inputs.of_edges for i, end in enumerate(group.ends) if end == ntype]


def _beside(job: TableJob, ntype: str) -> list[tuple[TableGroup, int]]:
    """Columns of features with IDs of a node type that has a list, by table and number."""
    lists = job.inputs.lists(ntype)
    return [(group, 0) for group in job.inputs.of_nodes(ntype) if group not in lists]


def _ids_in(columns: Iterable[tuple[TableGroup, int]]) -> str:
    return " UNION ALL ".join(f"SELECT c{i} AS id FROM {group.name}" for group, i in columns)


def _listed(job: TableJob, ntype: str) -> str:
    return _ids_in((group, 0) for group in job.inputs.lists(ntype))


@dataclass(frozen=True, slots=True)
class _Unknown:
    """IDs that no list of nodes has, those of edges among them, and the rows dropped for them: edges, and features."""

    num_ids: int
    num_of_edges: int = 0
    num_edges: int = 0
    num_rows: int = 0

    def __str__(self) -> str:
        dropped = [f"{self.num_edges:,} edges"] if self.num_edges else []
        dropped += [f"{self.num_rows:,} rows of features"] if self.num_rows else []
        return f"{' and '.join(dropped)} were dropped" if dropped else "these nodes were added"


def _settle_unknown(job: TableJob, ntype: str) -> _Unknown:
    """Count IDs of edges and features that no list of nodes has; refuse them, or drop their rows if requested."""
    is_unknown = f"NOT EXISTS (SELECT 1 FROM ({_listed(job, ntype)}) n WHERE n.id = {{0}}.{{1}})"
    edges, features = _columns(job, ntype), _beside(job, ntype)
    if not edges and not features:
        return _Unknown(0)
    # one join for all tables: each would hold the list in memory
    tables = [
        f"SELECT c{i} AS id, {len(group.ends) == 2} AS is_edge FROM {group.name}" for group, i in (*edges, *features)
    ]
    found = f"({' UNION ALL '.join(tables)}) e WHERE {is_unknown.format('e', 'id')}"
    counts = "count(DISTINCT id), count(DISTINCT id) FILTER (is_edge), min(id)"
    ((count, of_edges, least),) = run(job.connection, f"SELECT {counts} FROM {found}")
    if count and job.inputs.options.unknown_nodes == "error":
        where = " or ".join([*(["edges"] if edges else []), *(["features"] if features else [])])
        raise InputFileError(
            f"{where} have IDs of {ntype!r} nodes that the list of nodes lacks",
            file=job.inputs.lists(ntype)[0].tables[0].path,
            found=f"{count:,}, such as {shown(least) if isinstance(least, str) else least}",
            hint="add these nodes by --unknown-nodes add, or drop their rows by --unknown-nodes drop",
        )
    if not count or job.inputs.options.unknown_nodes == "add":
        return _Unknown(int(count), int(of_edges))
    dropped = [0, 0]
    for group, i in (*edges, *features):
        before = count_rows(job.connection, group.name)
        drop_rows(job.connection, group.name, is_unknown.format(group.name, f"c{i}"))
        dropped[len(group.ends) == 1] += before - count_rows(job.connection, group.name)
    return _Unknown(int(count), int(of_edges), *dropped)


def _tell_unknown(job: TableJob, ntype: str, unknown: _Unknown, num_nodes: int) -> None:
    """Report IDs missing from the list of nodes, and listed nodes without edges."""
    has_edge = np.zeros(num_nodes, bool)
    for group, i in _columns(job, ntype):
        ids = job.new_ids(group, i)
        for start in range(0, ids.num_rows, ROWS_AT_ONCE):
            has_edge[ids.read(start, min(start + ROWS_AT_ONCE, ids.num_rows))] = True
    is_added = job.inputs.options.unknown_nodes == "add"
    added = unknown.num_ids if is_added else 0
    has_edge_added = unknown.num_of_edges if is_added else 0
    listed = num_nodes - added
    if not job.inputs.options.map_ids or ntype in job.inputs.old_ids:
        ((listed,),) = run(job.connection, f"SELECT count(DISTINCT id) FROM ({_listed(job, ntype)})")
    alone = listed - (int(np.count_nonzero(has_edge)) - has_edge_added)
    text = f"IDs that are not in the list: {unknown.num_ids:,}" + (f" ({unknown})" if unknown.num_ids else "")
    job.progress.note(f"{ntype!r} nodes: {text}; listed nodes without an edge: {alone:,} of {listed:,}")


def _count_ids(job: TableJob, given: Mapping[str, int]) -> dict[str, int]:
    """Return numbers of nodes with unmapped IDs: as given, rows of a feature, or largest ID plus one."""
    counts, inputs = {}, job.inputs
    for ntype, known in inputs.num_nodes.items():
        columns = _columns(job, ntype) + [(group, 0) for group in inputs.of_nodes(ntype)]
        found = [(*_limits(job, g, i), g) for g, i in columns]
        found = [limits for limits in found if limits[0] is not None]
        most, _, group = max(found, key=lambda limits: int(limits[0]), default=(-1, 0, inputs.groups[0]))
        if known is None and inputs.ordered(ntype) is None:
            rows = [rows.shape[0] for rows in inputs.rows.get(ntype, {}).values()]
            rows += [given[group.name] for group in inputs.groups if (group.of_type, group.ends) == (ntype, ())]
            known = rows[0] if rows else None
        num_edges = sum(given[group.name] for group, _ in columns)
        if known is None and most >= max(DENSE_BELOW, IDS_PER_EDGE * num_edges):
            raise InputFileError(
                f"IDs of {ntype!r} nodes are sparse",
                file=group.tables[0].path,
                place=f"or another file of {group.of_type}" if len(group.tables) > 1 else None,
                expected="IDs from 0 with few gaps",
                found=f"{most:,} as the largest ID of {num_edges:,} edges",
                hint=f"use --map-ids, or give --num-nodes {ntype}={most + 1} if there are that many nodes",
            )
        begins_at_1 = min((least for _, least, _ in found), default=0) == 1
        if known is not None and most >= known:
            what, expected = f"ID of a {ntype!r} node out of range", f"IDs from 0 and below {known:,}"
            hint = (
                "if IDs begin at 1, use --map-ids" if begins_at_1 else "check --num-nodes, or the rows of --node-data"
            )
            raise InputFileError(what, file=group.tables[0].path, expected=expected, found=f"{most:,}", hint=hint)
        if begins_at_1:
            text = f"{group.tables[0].path}: no {ntype!r} node has ID 0, and the highest ID is {most:,}"
            job.progress.note(f"{text}; if IDs begin at 1, map them (map_ids): else node 0 has no edges")
        counts[ntype] = most + 1 if known is None else known
        job.progress.advance(1)
    return counts


def _limits(job: TableJob, group: TableGroup, number: int) -> tuple[Any, ...]:
    """Largest and smallest ID in a column; None if empty."""
    if (plain := job.plain.get(group.name)) is not None:
        return plain.limits[number] if plain.num_rows else (None, None)
    (limits,) = run(job.connection, f"SELECT max(c{number}), min(c{number}) FROM {group.name}")
    return tuple(limits)


def _rank_ids(job: TableJob) -> dict[str, int]:
    """Make a table of each node type's IDs, whose row numbers are the new IDs, and write the maps."""
    inputs = job.inputs
    for ntype, (kind, _) in job.kinds.items():
        every = _ids_in([*_columns(job, ntype), *((group, 0) for group in inputs.of_nodes(ntype))])
        kept, old = job.out / ID_MAP / f"{ntype}.parquet", inputs.old_ids.get(ntype)
        num_old = rank_ids(job.connection, job.ids(ntype), every, kept, is_text=kind == STRINGS, old=old)
        if inputs.options.ids_from is not None:
            _tell_old(job, ntype, every, num_old)
        job.progress.advance(1)
    return {ntype: count_rows(job.connection, job.ids(ntype)) for ntype in job.kinds}


def _tell_old(job: TableJob, ntype: str, every: str, num_old: int) -> None:
    """Report how many nodes keep an earlier graph's IDs, and how many of those no table has."""
    ids = job.ids(ntype)
    is_there = f"EXISTS (SELECT 1 FROM ({every}) e WHERE e.id = i.id)"
    query = f"SELECT count(*) FROM {ids} i WHERE new_id < {num_old} AND NOT {is_there}"
    ((num_absent,),) = run(job.connection, query)
    gone = f", {num_absent:,} of them gone and without edges" if num_absent else ""
    num_new = count_rows(job.connection, ids) - num_old
    job.progress.note(f"{ntype!r} nodes: {num_old:,} keep the IDs of the earlier graph{gone}; {num_new:,} are new")
