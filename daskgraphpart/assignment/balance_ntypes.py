"""Classes of nodes that have to be balanced, given as arrays: DGL's `balance_ntypes`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.assignment.weigh_nodes import MAX_VALUES
from daskgraphpart.errors import OptionError
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.schema import GraphSchema

PLACE = "balance_ntypes"
ROWS_AT_ONCE = 1 << 20


def write_type_weights(classes: Any, schema: GraphSchema, path: Path) -> Path:
    """Write a column of weights for every class of nodes, for the constraint ``file:PATH``.

    As in DGL the classes of different node types are different, and a type for which none are given is a class.
    """
    if not isinstance(classes, Mapping):
        if len(schema.ntypes) != 1:
            raise OptionError("there are several node types", place=PLACE, expected="{node type: classes}")
        classes = {schema.ntypes[0]: classes}
    for ntype in classes:
        if ntype not in schema.ntypes:
            expected = f"one of {', '.join(schema.ntypes)}"
            raise OptionError("unknown node type", place=PLACE, expected=expected, found=ntype)
    of_types = [
        _checked(classes[t.name], t.name, t.num_nodes) if t.name in classes else None for t in schema.node_types
    ]
    values = [np.zeros(1, np.int64) if given is None else np.unique(given) for given in of_types]
    region = create_npy(path, np.uint8, (schema.num_nodes, sum(map(len, values))))
    column = 0
    for first, node_type, given, found in zip(schema.homo_starts, schema.node_types, of_types, values, strict=False):
        for start in range(0, node_type.num_nodes, ROWS_AT_ONCE):
            stop = min(start + ROWS_AT_ONCE, node_type.num_nodes)
            rows = np.zeros((stop - start, region.shape[1]), np.uint8)
            rows[:, column : column + len(found)] = True if given is None else given[start:stop, None] == found
            region.write(rows, first + start)
        column += len(found)
    return path


def _checked(classes: Any, ntype: str, count: int) -> np.ndarray:
    array: np.ndarray = classes.detach().cpu().numpy() if hasattr(classes, "detach") else np.asarray(classes)
    if array.shape != (count,) or array.dtype.kind not in "iub":
        expected, found = f"{count:,} integers", f"{array.dtype} of shape {array.shape}"
        raise OptionError(f"not the classes of the {ntype!r} nodes", place=PLACE, expected=expected, found=found)
    num_values = len(np.unique(array))
    if num_values > MAX_VALUES:
        raise OptionError("too many classes", place=PLACE, expected=f"at most {MAX_VALUES}", found=num_values)
    return array
