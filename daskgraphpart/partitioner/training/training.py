"""What training samples: fan-outs, seeds and batches, as options give them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.settings import parse_size
from daskgraphpart.errors import OptionError, choose_from
from daskgraphpart.ids.fanouts import read_fanouts, split_fanouts
from daskgraphpart.schema import find_feature, is_fetched, marks_training
from daskgraphpart.storage.region import id_dtype
from daskgraphpart.units import parse_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.schema import DataSpec, GraphSchema

ALL = "all"
ID_NBYTES = 8
HOW_MUCH = "use a share of the part's nodes, such as 5%, or a size, such as 2GB"
BYTES_PER_PICK = 56  # of a batch
BYTES_PER_NODE = 17  # start of in-edges, work, whether it is a seed


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """Sampled training on a graph: fan-outs, int64 (hops, edge types), seeds per batch, and masks of seeds by type.

    Without masks all nodes are seeds.
    """

    fanouts: np.ndarray
    batch_size: int
    masks: Mapping[str, DataSpec]
    place: str  # of an error about the seeds
    last_nodes: np.ndarray  # int64 (node types,): homogeneous ID after those of each type
    row_nbytes: np.ndarray  # int64 (node types,): features that are fetched of a node

    def types_of(self, nodes: np.ndarray) -> np.ndarray:
        """Types of homogeneous IDs."""
        return np.searchsorted(self.last_nodes, nodes, side="right")

    def batch_nbytes(self, schema: GraphSchema) -> int:
        """Bytes to sample a batch: at most these picks and nodes, as picked, numbered, and in a table."""
        picks, most = self.batch_size, schema.num_edges + schema.num_nodes
        for of_hop in self.fanouts.tolist():
            picks = most if min(of_hop) < 0 else min(most, picks * (1 + sum(of_hop)))
        return BYTES_PER_PICK * picks

    def in_edges_nbytes(self, schema: GraphSchema) -> int:
        """Size of temporary files: in-edges, and a few numbers per node."""
        per_edge = id_dtype(schema.num_nodes).itemsize + (4 if len(schema.edge_types) > 1 else 0)
        return per_edge * schema.num_edges + (BYTES_PER_NODE + 12 * (len(self.fanouts) - 1)) * schema.num_nodes

    def check_seeds(self, count: int) -> None:
        """Check that there is a seed."""
        if count == 0:
            hint = f"name another mask, or give --seeds {ALL}"
            raise OptionError("no node is a seed of training: the mask has no True", place=self.place, hint=hint)


def read_training(options: AssignOptions, schema: GraphSchema) -> Training:
    """Read the options for a graph; raises an `OptionError` for types, features or numbers that do not fit."""
    fanouts = read_fanouts(split_fanouts(options.fanouts), schema.etypes, "--fanouts")
    if not fanouts.any():
        hint = "give a number above 0 for a hop, or -1 for all neighbours"
        raise OptionError("nothing is sampled: all fan-outs are 0", option="fanouts", hint=hint)
    of_types = [sum(of.row_nbytes for of in kind.data if is_fetched(of.name)) for kind in schema.node_types]
    place, last_nodes = f"--seeds {options.seeds or 'train_mask'}", np.array(schema.homo_starts[1:], np.int64)
    masks = _masks(options.seeds, schema)
    return Training(fanouts, options.batch_size, masks, place, last_nodes, np.array(of_types, np.int64))


def _masks(given: str | None, schema: GraphSchema) -> dict[str, DataSpec]:
    """Masks of seeds by node type: those named, or all whose name begins with ``train``; none if all are seeds."""
    if given == ALL:
        return {}
    if given is not None and "/" in given:
        ntype, spec = find_feature(schema.node_types, given, "--seeds", "mark seeds", "iub")
        return {ntype: spec}
    masks = {
        node_type.name: spec
        for node_type in schema.node_types
        for spec in node_type.data
        if (spec.name == given if given else marks_training(spec.name))
        and spec.dtype.kind in "iub"
        and np.prod(spec.row_shape) == 1
    }
    if given and not masks:
        names = sorted({spec.name for t in schema.node_types for spec in t.data if spec.dtype.kind in "iub"})
        hint = choose_from([*names, ALL], given)
        raise OptionError(f"--seeds {given}: no node type has such a mask", option="seeds", hint=hint)
    return masks


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """How much to choose: rows of a node type weigh `weights`, int64 (node types,), or 0 for none of them."""

    weights: np.ndarray
    total: int  # that all chosen rows may weigh


def budget_of(size: Any, place: str, num_nodes: np.ndarray, row_nbytes: np.ndarray) -> Budget:
    """Read how much to choose for a part: a share of its nodes, such as ``"5%"``, or bytes of IDs and features.

    `num_nodes`, int64 (node types,), are those that the part owns; `row_nbytes`, likewise, bytes of a node's features.
    Types without any have no rows to choose from; if no type has any, IDs are chosen of all.
    """
    has_rows = row_nbytes > 0 if row_nbytes.any() else np.ones(row_nbytes.size, bool)
    if is_share := isinstance(size, str) and "%" in size:
        own = int(num_nodes[has_rows].sum())
        total = math.ceil(parse_share(size, place) * own)
    elif isinstance(size, str):
        total = parse_size(size, place)
    elif isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size >= 0:
        total = int(size)
    else:
        raise OptionError(f"{place} {size!r} is not a size", place=place, hint=HOW_MUCH)
    if not total and (not is_share or own):
        raise OptionError(f"{place} {size} is no row", place=place, hint=HOW_MUCH)
    return Budget(np.where(has_rows, 1 if is_share else row_nbytes + ID_NBYTES, 0), total)
