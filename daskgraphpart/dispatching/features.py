"""Step of the dispatch: rows of node and edge features travel to their owners, in place or through zarr."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.partitions import row_partitions
from daskgraphpart.dispatching.place_rows import PlaceConfig, RowUnit, place_rows_pass
from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.files import signature_of
from daskgraphpart.storage.paths import to_path
from daskgraphpart.storage.stores import cached_listings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.chunked.partitions import Partition
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.offsets import RowOffsets
    from daskgraphpart.dispatching.targets import RowTarget
    from daskgraphpart.schema import DataSpec, RowType
    from daskgraphpart.storage.paths import FilePath
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of one type, in partitions."""

    kind: str  # ``"node"`` or ``"edge"``
    type_id: int  # number of the type
    type_name: str  # node type or canonical edge type
    spec: DataSpec  # name, dtype and shape of a row
    partitions: Sequence[Partition]  # its rows, in order

    @property
    def array(self) -> str:
        """Name of the array that its rows make in a part."""
        return f"{self.kind}_data/{self.type_name}/{self.spec.name}"


def cut_features(graph: ChunkedGraph, kind: str, max_nbytes: int) -> list[Feature]:
    """List the partitions of all features of all node types, or of all edge types; those of files are cut so small."""
    types: Sequence[RowType] = graph.schema.node_types if kind == "node" else graph.schema.edge_types
    return [
        Feature(
            kind,
            type_id,
            of_type.name,
            spec,
            # the place of a row takes 8 bytes while rows are grouped
            row_partitions(graph, of_type.name, spec, max_nbytes // max(8, spec.row_nbytes)),
        )
        for type_id, of_type in enumerate(types)
        for spec in of_type.data
    ]


def partition_marks(features: Sequence[Feature]) -> dict[str, list[int]]:
    """Rows of each type at which a partition of one of its features begins."""
    marks: dict[str, list[int]] = {}
    for feature in features:
        marks.setdefault(feature.type_name, []).extend(p.rows.first_row for p in feature.partitions)
    return marks


def move_features(
    job: Job,
    features: Sequence[Feature],
    owners: Mapping[str, Region],
    offsets: Mapping[str, RowOffsets],
    targets: Mapping[str, Sequence[RowTarget]],
) -> None:
    """Bring the rows of all features to their owners; types that have features have owners and offsets."""
    wanted = [feature for feature in features if feature.array in targets]
    units = [unit for feature in wanted for unit in _row_units(feature, owners, offsets)]
    values = [p.value for feature in wanted if feature.spec.row_nbytes for p in feature.partitions]
    before = _signatures(job.graph, wanted)
    job.runner.run(place_rows_pass(units, values, PlaceConfig(targets, job.num_parts)))
    after = _signatures(job.graph, wanted)
    for path, signature in before.items():
        if after[path] != signature:
            raise InputFileError("the file was replaced while it was read", file=path, hint="run again")


def _signatures(graph: ChunkedGraph, features: Sequence[Feature]) -> dict[FilePath, Any]:
    paths = [file.path for f in features for file in graph.data_files[f.type_name].get(f.spec.name, ())]
    with cached_listings(to_path(graph.directory)):
        return {path: signature_of(path) for path in dict.fromkeys(paths)}


def _row_units(feature: Feature, owners: Mapping[str, Region], offsets: Mapping[str, RowOffsets]) -> list[RowUnit]:
    if not feature.spec.row_nbytes:
        return []  # rows of width 0: laid out, nothing to move
    rows = offsets[feature.type_name]
    return [
        RowUnit(p.rows, feature.spec, owners[feature.type_name], feature.array, rows.owned_before(p.rows.first_row))
        for p in feature.partitions
    ]
