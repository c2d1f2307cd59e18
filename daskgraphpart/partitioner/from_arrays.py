"""Take arrays over all nodes, by type or in homogeneous order: owners, and classes to balance (`balance_ntypes`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import AssignmentError, OptionError
from daskgraphpart.graph.rows import refuse_missing_values
from daskgraphpart.partitioner.assignment import Owners, create_owner_files
from daskgraphpart.partitioner.weigh_nodes import MAX_VALUES
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.schema import GraphSchema

METHOD = "given"
CLASSES = "balance_ntypes"
ROWS_AT_ONCE = 1 << 20


def assignment_of(owners: Any, schema: GraphSchema, num_parts: int, directory: Path) -> Owners:
    """Check the owners that a user's own partitioner gave, and write them to files."""
    if not isinstance(owners, Mapping):
        rows = _array(owners)
        if rows.shape != (schema.num_nodes,):
            expected = f"{schema.num_nodes:,} integers"
            raise AssignmentError(
                "wrong shape of the owners of all nodes", expected=expected, found=f"shape {rows.shape}"
            )
        owners = dict(zip(schema.ntypes, np.split(rows, schema.homo_starts[1:-1]), strict=True))
    unknown = [ntype for ntype in owners if ntype not in schema.ntypes]
    missing = [ntype for ntype in schema.ntypes if ntype not in owners]
    if unknown or missing:
        what = f"owners of unknown node type {unknown[0]!r}" if unknown else f"no owners for node type {missing[0]!r}"
        raise AssignmentError(what, hint=f"give owners of {', '.join(schema.ntypes)}")
    files = create_owner_files(directory, schema, num_parts)
    for node_type in schema.node_types:
        rows, ntype = _array(owners[node_type.name]), node_type.name
        if rows.shape != (node_type.num_nodes,) or (rows.dtype.kind not in "iu" and rows.size):
            expected, kind = f"{node_type.num_nodes:,} integers, one per node", f"{rows.dtype} of shape {rows.shape}"
            raise AssignmentError(f"wrong owners for node type {ntype!r}", expected=expected, found=kind)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            piece = rows[start : start + ROWS_AT_ONCE]
            for bad in np.flatnonzero((piece < 0) | (piece >= num_parts))[:1].tolist():
                what, place = f"the owner of a {ntype!r} node is out of range", f"node {start + bad:,}"
                raise AssignmentError(what, place=place, expected=f"0 to {num_parts - 1}", found=int(piece[bad]))
            files[ntype].write(piece, start)
    return Owners(num_parts, METHOD, files)


def write_type_weights(classes: Any, schema: GraphSchema, path: Path) -> Path:
    """Write a weight column per class of nodes, for the constraint ``file:PATH``.

    As in DGL, classes of different node types are different, and a type without classes is one class.
    """
    if not isinstance(classes, Mapping):
        if len(schema.ntypes) != 1:
            raise OptionError("the graph has several node types", place=CLASSES, expected="{node type: classes}")
        classes = {schema.ntypes[0]: classes}
    for ntype in classes:
        if ntype not in schema.ntypes:
            expected = f"one of {', '.join(schema.ntypes)}"
            raise OptionError("unknown node type", place=CLASSES, expected=expected, found=ntype)
    of_types = [
        _checked(classes.get(t.name, np.broadcast_to(0, t.num_nodes)), t.name, t.num_nodes) for t in schema.node_types
    ]
    values = [np.unique(of_type) for of_type in of_types]
    region = create_npy(path, np.uint8, (schema.num_nodes, sum(map(len, values))))
    column = 0
    for first, of_type, distinct in zip(schema.homo_starts, of_types, values, strict=False):
        for start in range(0, len(of_type), ROWS_AT_ONCE):
            piece = of_type[start : start + ROWS_AT_ONCE]
            rows = np.zeros((len(piece), region.shape[1]), np.uint8)
            rows[:, column : column + len(distinct)] = piece[:, None] == distinct
            region.write(rows, first + start)
        column += len(distinct)
    return path


def _checked(classes: Any, ntype: str, count: int) -> np.ndarray:
    array = _array(classes)
    if array.shape != (count,) or array.dtype.kind not in "iub":
        expected, kind = f"{count:,} integers", f"{array.dtype} of shape {array.shape}"
        raise OptionError(f"wrong classes for node type {ntype!r}", place=CLASSES, expected=expected, found=kind)
    if (num_values := len(np.unique(array))) > MAX_VALUES:
        raise OptionError("too many classes", place=CLASSES, expected=f"at most {MAX_VALUES}", found=num_values)
    return array


def _array(given: Any) -> np.ndarray:
    refuse_missing_values(given, "an array by node")
    array: np.ndarray = given.detach().cpu().numpy() if hasattr(given, "detach") else np.asarray(given)
    return array
