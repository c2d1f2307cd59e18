"""Pass `place-rows`: bring rows of node and edge features to their owners, in place or by way of staged zarr arrays.

Each partition is read once, in order; its rows are grouped by owner, and each group is one write at an offset known
since `count-owners`. HALO nodes never carry features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.partitions import Partition, RowRange, row_partitions
from daskgraphpart.dispatching.lay_out import RowTarget, write_groups
from daskgraphpart.engine.runner import Pass
from daskgraphpart.errors import InputFileError
from daskgraphpart.kernels.owner_sort import group_by_owner
from daskgraphpart.storage.files import cached_listings, signature_of
from daskgraphpart.storage.paths import FilePath, to_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.offsets import RowOffsets
    from daskgraphpart.schema import DataSpec, RowType
    from daskgraphpart.storage.region import Region

IDS_PER_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of one type, in partitions."""

    kind: str  # ``"node"`` or ``"edge"``
    type_name: str  # node type or canonical edge type
    spec: DataSpec  # name, dtype and shape of a row
    partitions: Sequence[Partition]  # its rows, in order

    @property
    def key(self) -> str:
        """Type and name."""
        return f"{self.type_name}/{self.spec.name}"

    @property
    def array(self) -> str:
        """Name of the array that its rows make in a part."""
        return f"{self.kind}_data/{self.key}"


def cut_features(graph: ChunkedGraph, kind: str, max_nbytes: int) -> list[Feature]:
    """List the partitions of all features of all node types, or of all edge types; those of files are cut so small."""
    types: Sequence[RowType] = graph.schema.node_types if kind == "node" else graph.schema.edge_types
    found = []
    for of_type in types:
        for spec in of_type.data:
            # the place of a row takes 8 bytes while rows are grouped
            max_rows = max_nbytes // max(8, spec.row_nbytes)
            partitions = row_partitions(graph, of_type.name, spec, max_rows)
            found.append(Feature(kind, of_type.name, spec, partitions))
    return found


def partition_marks(features: Sequence[Feature]) -> dict[str, list[int]]:
    """Rows of each type at which a partition of one of its features begins."""
    marks: dict[str, list[int]] = {}
    for feature in features:
        marks.setdefault(feature.type_name, []).extend(p.rows.first_row for p in feature.partitions)
    return marks


@dataclass(frozen=True, slots=True, eq=False)
class RowUnit:
    """One partition of a feature: owners of all rows of the type, rows of each part before it, where its rows go."""

    rows: RowRange
    spec: DataSpec
    owners: Region
    before: np.ndarray  # int64 (parts,)
    targets: Sequence[RowTarget]
    ids: NodeIds | None = None  # what the values are, if they are IDs


@dataclass(frozen=True, slots=True, eq=False)
class NodeIds:
    """New homogeneous IDs of the nodes of one type by original ID, and the book that makes them type-wise."""

    new_nids: Region
    book: PartitionBook


def move_features(
    job: Job,
    features: Sequence[Feature],
    owners: Mapping[str, Region],
    offsets: Mapping[str, RowOffsets],
    targets: Mapping[str, Sequence[RowTarget]],
    ids: Mapping[str, NodeIds],
) -> None:
    """Bring the rows of all features to their owners; types that have features have owners and offsets.

    `ids` are of those that hold IDs of nodes, by key.
    """
    wanted = [feature for feature in features if feature.array in targets]
    moved = [feature for feature in wanted if feature.spec.row_nbytes]  # those of width 0 are laid out already
    units = [
        replace(unit, ids=ids.get(feature.key))
        for feature in moved
        for unit in row_units(feature, owners, offsets, targets[feature.array])
    ]
    values = [partition.value for feature in moved for partition in feature.partitions]
    before = _signatures(job.graph, wanted)
    job.runner.run(place_rows_pass(units, values))
    after = _signatures(job.graph, wanted)
    for path, signature in before.items():
        if after[path] != signature:
            raise InputFileError("the file was replaced while it was read", file=path, hint="run again")


def row_units(
    feature: Feature, owners: Mapping[str, Region], offsets: Mapping[str, RowOffsets], targets: Sequence[RowTarget]
) -> list[RowUnit]:
    """Units of all partitions of a feature."""
    of_type, before = owners[feature.type_name], offsets[feature.type_name].owned_before
    return [RowUnit(p.rows, feature.spec, of_type, before(p.rows.first_row), targets) for p in feature.partitions]


def place_rows_pass(units: Sequence[RowUnit], partitions: Sequence[Any]) -> Pass[RowUnit, None, None]:
    """Plan the pass."""
    num_rows, types = [unit.rows.num_rows for unit in units], [unit.rows.name for unit in units]
    sizes = [2 * unit.rows.num_rows * unit.spec.row_nbytes for unit in units]
    return Pass(
        "place-rows", place_rows, units, None, sizes, partitions=partitions, unit_types=types, unit_num_rows=num_rows
    )


def place_rows(values: np.ndarray, unit: RowUnit, _: None) -> None:
    """Move the rows of one partition to their owners."""
    grouped, counts = group_rows(values if unit.ids is None else map_ids(values, unit.ids, unit.rows), unit)
    write_groups(grouped, counts, unit.targets, unit.before)


def group_rows(values: np.ndarray, unit: RowUnit) -> tuple[np.ndarray, np.ndarray]:
    """Group the rows of a partition by owner; also return how many each part owns, int64 (parts,)."""
    rows = unit.rows
    rows.check(values.shape[0])
    owners = unit.owners.read(rows.first_row, rows.first_row + rows.num_rows)
    positions, counts = group_by_owner(owners, unit.before.size)
    stored = values.view(unit.spec.stored_dtype)
    grouped = np.empty_like(stored)
    # with `out` and a mode that needs no second look, numpy copies row by row at the speed of memory, without the GIL
    np.take(stored, positions, axis=0, out=grouped, mode="clip")
    return grouped, counts


def map_ids(values: np.ndarray, ids: NodeIds, rows: RowRange) -> np.ndarray:
    """Return new type-wise IDs of nodes for original ones; -1 stays."""
    total = ids.new_nids.num_rows
    bad = np.flatnonzero((values < -1) | (values >= total))
    if bad.size:
        row = rows.first_row + int(bad[0]) * len(values) // values.size
        what, expected = f"not an ID of a node in a feature of {rows.name!r}", f"-1, or an ID in [0, {total:,})"
        found = int(values.reshape(-1)[bad[0]])
        raise InputFileError(what, place=f"row {row:,}", expected=expected, found=found, hint="see --map-feature")
    mapped = values.copy()
    for start in range(0, mapped.size, IDS_PER_PIECE):
        piece = mapped.reshape(-1)[start : start + IDS_PER_PIECE]
        places = np.flatnonzero(piece >= 0)
        piece[places] = ids.book.map_to_per_ntype(ids.new_nids.take(piece[places]))[1]
    return mapped


def _signatures(graph: ChunkedGraph, features: Sequence[Feature]) -> dict[FilePath, Any]:
    paths = [file.path for f in features for file in graph.data_files[f.type_name].get(f.spec.name, ())]
    with cached_listings(to_path(graph.directory)):
        return {path: signature_of(path) for path in dict.fromkeys(paths)}
