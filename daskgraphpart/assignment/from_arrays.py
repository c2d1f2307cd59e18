"""Make an assignment of arrays in memory: owners that somebody's own partitioner returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.assignment.assignment import Assignment, create_owner_files
from daskgraphpart.errors import AssignmentError

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.schema import GraphSchema

METHOD = "given"
ROWS_AT_ONCE = 1 << 22


def assignment_of(owners: Any, schema: GraphSchema, num_parts: int, directory: Path) -> Assignment:
    """Check the owners of all nodes, by node type or in homogeneous order, and put them into files."""
    by_type: Mapping[str, Any] = owners if isinstance(owners, Mapping) else _split(_array(owners), schema)
    unknown = [ntype for ntype in by_type if ntype not in schema.ntypes]
    missing = [ntype for ntype in schema.ntypes if ntype not in by_type]
    if unknown or missing:
        what = f"owners of unknown node type {unknown[0]!r}" if unknown else f"no owners for node type {missing[0]!r}"
        raise AssignmentError(what, expected=", ".join(schema.ntypes), found=", ".join(map(str, by_type)))
    files = create_owner_files(directory, schema, num_parts)
    for node_type in schema.node_types:
        rows = _array(by_type[node_type.name])
        if rows.shape != (node_type.num_nodes,) or (rows.dtype.kind not in "iu" and rows.size):
            raise AssignmentError(
                f"not the owners of node type {node_type.name!r}",
                expected=f"{node_type.num_nodes:,} integers, one per node",
                found=f"{rows.dtype} of shape {rows.shape}",
            )
        for start in range(0, len(rows), ROWS_AT_ONCE):
            piece = rows[start : start + ROWS_AT_ONCE]
            bad = np.flatnonzero((piece < 0) | (piece >= num_parts))
            if bad.size:
                raise AssignmentError(
                    f"owner of a {node_type.name!r} node is no part",
                    place=f"node {start + int(bad[0]):,}",
                    expected=f"0 to {num_parts - 1}",
                    found=int(piece[bad[0]]),
                )
            files[node_type.name].write(piece.astype(files[node_type.name].dtype), start)
    return Assignment(num_parts, METHOD, files)


def _array(owners: Any) -> np.ndarray:
    array: np.ndarray = owners.detach().cpu().numpy() if hasattr(owners, "detach") else np.asarray(owners)
    return array


def _split(owners: np.ndarray, schema: GraphSchema) -> dict[str, np.ndarray]:
    if owners.shape != (schema.num_nodes,):
        raise AssignmentError(
            "not the owners of all nodes", expected=f"{schema.num_nodes:,} integers", found=f"shape {owners.shape}"
        )
    starts = schema.homo_starts
    return {ntype: owners[starts[i] : starts[i + 1]] for i, ntype in enumerate(schema.ntypes)}
