"""Reference partitioner: plain numpy, in memory, one line per rule; shares no code with the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphs import Graph


@dataclass
class OraclePart:
    """What one part must hold; edges as (src, dst) in new IDs, by new edge ID."""

    inner_nids: np.ndarray
    halo_nids: np.ndarray
    owned_eids: np.ndarray
    extra_eids: np.ndarray
    edges: dict[int, tuple[int, int]]
    orig_nids: dict[str, np.ndarray]
    orig_eids: dict[str, np.ndarray]
    node_feats: dict[str, np.ndarray]
    edge_feats: dict[str, np.ndarray]


def partition_in_memory(
    graph: Graph, owners: Mapping[str, np.ndarray], num_parts: int, num_hops: int = 1, out_edges: bool = False
) -> list[OraclePart]:
    """Apply the definition."""
    ntypes, etypes = list(graph.schema.ntypes), list(graph.schema.etypes)
    new_nid = {t: np.full(len(owners[t]), -1) for t in ntypes}
    orig_nids: list[dict[str, np.ndarray]] = []
    next_id, node_part = 0, []
    for part in range(num_parts):
        orig_nids.append({})
        for t in ntypes:
            mine = np.flatnonzero(owners[t] == part)
            new_nid[t][mine] = np.arange(next_id, next_id + mine.size)
            orig_nids[part][t] = mine
            next_id += mine.size
            node_part += [part] * mine.size
    part_of_nid = np.array(node_part, int)

    src_of, dst_of, part_of_eid, orig_eids = [], [], [], []
    for part in range(num_parts):
        orig_eids.append({})
        for etype in etypes:
            src_type, _, dst_type = etype.split(":")
            src, dst = graph.edges[etype]
            mine = np.flatnonzero(owners[dst_type][dst] == part) if len(dst) else np.zeros(0, int)
            orig_eids[part][etype] = mine
            src_of += new_nid[src_type][src[mine]].tolist()
            dst_of += new_nid[dst_type][dst[mine]].tolist()
            part_of_eid += [part] * mine.size
    src_all, dst_all, owner_of_eid = np.array(src_of, int), np.array(dst_of, int), np.array(part_of_eid, int)

    parts = []
    for part in range(num_parts):
        inner = np.flatnonzero(part_of_nid == part)
        owned = np.flatnonzero(owner_of_eid == part)
        halo = {int(n) for n in src_all[owned] if part_of_nid[n] != part}
        expanded = set(halo)
        for _ in range(num_hops - 2):
            ends_there = np.isin(dst_all, sorted(expanded))
            expanded |= {int(n) for n in src_all[ends_there] if part_of_nid[n] != part}
        extra = set()
        if num_hops > 1:
            extra |= set(np.flatnonzero(np.isin(dst_all, sorted(expanded))).tolist())
        if out_edges and src_all.size:
            extra |= set(np.flatnonzero((part_of_nid[src_all] == part) & (owner_of_eid != part)).tolist())
        held = np.array(sorted(extra), int)
        for ends in (src_all[held], dst_all[held]):
            halo |= {int(n) for n in ends if part_of_nid[n] != part}
        parts.append(
            OraclePart(
                inner,
                np.array(sorted(halo), int),
                owned,
                held,
                {int(e): (int(src_all[e]), int(dst_all[e])) for e in [*owned, *held]},
                orig_nids[part],
                orig_eids[part],
                _rows(graph.node_data, orig_nids[part]),
                _rows(graph.edge_data, orig_eids[part]),
            )
        )
    return parts


def _rows(data: Mapping[str, Mapping[str, np.ndarray]], orig_ids: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{kind}/{name}": rows[orig_ids[kind]] for kind, of in data.items() for name, rows in of.items()}
