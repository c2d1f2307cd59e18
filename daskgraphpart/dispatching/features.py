"""Pass `place-rows`: bring feature rows to their owners, in place or through staged zarr arrays.

Reads each block once, in order, and groups its rows by owner; each group is one write at an offset known since
`count-owners`. Halo nodes never carry features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.dispatching.make_files import RowTarget, write_groups
from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.dask_partitions import list_row_blocks
from daskgraphpart.kernels.owner_sort import group_by_owner
from daskgraphpart.storage.files import cached_listings, signature_of
from daskgraphpart.storage.paths import to_path

if TYPE_CHECKING:
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.keep_hot_rows import HotTargets
    from daskgraphpart.dispatching.offsets import RowOffsets
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.schema import DataSpec, RowType
    from daskgraphpart.source import Block, FilePath
    from daskgraphpart.storage.region import Region

IDS_PER_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of one type, in blocks."""

    kind: str  # ``"node"`` or ``"edge"``
    type_name: str  # node type or canonical edge type
    spec: DataSpec  # name, dtype and shape of a row
    blocks: Sequence[Block[np.ndarray]]  # rows, in order

    @property
    def key(self) -> str:
        """Type and name."""
        return f"{self.type_name}/{self.spec.name}"

    @property
    def array(self) -> str:
        """Name of its array in a part."""
        return f"{self.kind}_data/{self.key}"


def cut_features(graph: Graph, kind: str, max_nbytes: int) -> list[Feature]:
    """List the blocks of all features of nodes or edges; cuts files to size."""
    types: Sequence[RowType] = graph.schema.node_types if kind == "node" else graph.schema.edge_types
    cut = []
    for of_type in types:
        for spec in of_type.data:
            # a row's place takes 8 bytes while grouping
            max_rows = max_nbytes // max(8, spec.row_nbytes)
            cut.append(Feature(kind, of_type.name, spec, list_row_blocks(graph, of_type.name, spec, max_rows)))
    return cut


def block_marks(features: Sequence[Feature]) -> dict[str, list[int]]:
    """Rows of each type at which a feature's block begins."""
    marks: dict[str, list[int]] = {}
    for feature in features:
        marks.setdefault(feature.type_name, []).extend(block.first_row for block in feature.blocks)
    return marks


@dataclass(frozen=True, slots=True, eq=False)
class RowUnit:
    """One block of a feature: owners of all rows of the type, rows of each part before it, and the output."""

    block: Block[np.ndarray]
    spec: DataSpec
    owners: Region
    before: np.ndarray  # int64 (parts,)
    targets: Sequence[RowTarget]
    ids: NodeIds | None = None  # how to map values that are IDs
    hot: HotTargets | None = None


@dataclass(frozen=True, slots=True, eq=False)
class NodeIds:
    """New homogeneous IDs of one type's nodes by original ID, and the book that makes them type-wise."""

    new_nids: Region
    book: PartitionBook


def move_features(
    job: Job,
    features: Sequence[Feature],
    owners: Mapping[str, Region],
    offsets: Mapping[str, RowOffsets],
    targets: Mapping[str, Sequence[RowTarget]],
    ids: Mapping[str, NodeIds],
    hot: Mapping[str, HotTargets],
) -> None:
    """Bring all feature rows to their owners; types with features have owners and offsets.

    `ids` map those that hold node IDs, by key; `hot` has places beside parts that fetch rows.
    """
    wanted = [feature for feature in features if feature.array in targets]
    moved = [feature for feature in wanted if feature.spec.row_nbytes]  # width 0 needs no bytes
    units = [
        replace(unit, ids=ids.get(feature.key), hot=hot.get(feature.key))
        for feature in moved
        for unit in row_units(feature, owners, offsets, targets[feature.array])
    ]
    before = _signatures(job.graph, wanted)
    job.runner.run(place_rows_pass(units))
    after = _signatures(job.graph, wanted)
    for path, signature in before.items():
        if after[path] != signature:
            raise InputFileError("the file changed while it was read", file=path, hint="run again")


def row_units(
    feature: Feature, owners: Mapping[str, Region], offsets: Mapping[str, RowOffsets], targets: Sequence[RowTarget]
) -> list[RowUnit]:
    """Units of all blocks of a feature."""
    of_type, before = owners[feature.type_name], offsets[feature.type_name].owned_before
    return [RowUnit(block, feature.spec, of_type, before(block.first_row), targets) for block in feature.blocks]


def place_rows_pass(works: Sequence[RowUnit]) -> Pass[RowUnit, None, None]:
    """Plan the pass."""
    units = [
        Unit(work, 2 * work.block.num_rows * work.spec.row_nbytes, work.block.num_rows, work.block.name)
        for work in works
    ]
    return Pass("place-rows", place_rows, units, None)


def place_rows(unit: RowUnit, _: None) -> None:
    """Move the rows of one block to their owners."""
    values = unit.block.read()
    if unit.ids is not None:
        values = map_ids(values, unit.ids, unit.block)
    write_groups(*group_rows(values, unit), unit.targets, unit.before)
    if unit.hot is not None:
        unit.hot.write(values.view(unit.spec.stored_dtype), unit.block)


def group_rows(values: np.ndarray, unit: RowUnit) -> tuple[np.ndarray, np.ndarray]:
    """Group a block's rows by owner; also return how many each part owns, int64 (parts,)."""
    block = unit.block
    owners = unit.owners.read(block.first_row, block.first_row + block.num_rows)
    positions, counts = group_by_owner(owners, unit.before.size)
    stored = values.view(unit.spec.stored_dtype)
    grouped = np.empty_like(stored)
    # with `out` and a mode that checks nothing twice, numpy copies rows at memory speed, without the GIL
    np.take(stored, positions, axis=0, out=grouped, mode="clip")
    return grouped, counts


def map_ids(values: np.ndarray, ids: NodeIds, block: Block[np.ndarray]) -> np.ndarray:
    """Map original node IDs to new type-wise IDs; -1 stays."""
    total = ids.new_nids.num_rows
    bad = np.flatnonzero((values < -1) | (values >= total))
    if bad.size:
        row = block.first_row + int(bad[0]) * len(values) // values.size
        what, expected = f"a feature of {block.name!r} holds an invalid node ID", f"-1, or an ID in [0, {total:,})"
        unknown = int(values.reshape(-1)[bad[0]])
        raise InputFileError(what, place=f"row {row:,}", expected=expected, found=unknown, hint="see --map-feature")
    mapped = values.copy()
    for start in range(0, mapped.size, IDS_PER_PIECE):
        piece = mapped.reshape(-1)[start : start + IDS_PER_PIECE]
        places = np.flatnonzero(piece >= 0)
        piece[places] = ids.book.map_to_per_ntype(ids.new_nids.take(piece[places]))[1]
    return mapped


def _signatures(graph: Graph, features: Sequence[Feature]) -> dict[FilePath, Any]:
    paths = [path for f in features for path in graph.data_sources[f.type_name][f.spec.name].paths]
    with cached_listings(to_path(graph.directory)):
        return {path: signature_of(path) for path in dict.fromkeys(paths)}
