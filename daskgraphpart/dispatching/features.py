"""Step of the dispatch: rows of node and edge features travel to their owners, in place or through zarr."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.blocks import cut_rows
from daskgraphpart.dispatching.place_rows import PlaceConfig, RowUnit, place_rows_pass
from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.files import signature_of
from daskgraphpart.storage.paths import to_path
from daskgraphpart.storage.stores import cached_listings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.blocks import Block, InputFile
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.offsets import RowOffsets
    from daskgraphpart.dispatching.targets import RowTarget
    from daskgraphpart.schema import DataSpec, RowType
    from daskgraphpart.storage.paths import FilePath
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of one type, cut into blocks.

    Parameters
    ----------
    kind : str
        ``"node"`` or ``"edge"``.
    type_id, data_id : int
        Numbers of the type, and of the feature in the type.
    type_name : str
        Node type or canonical edge type.
    spec : DataSpec
        Name, dtype and shape of a row.
    blocks : sequence of Block
        Its rows, in order.
    """

    kind: str
    type_id: int
    data_id: int
    type_name: str
    spec: DataSpec
    blocks: Sequence[Block]

    @property
    def array(self) -> str:
        """Name of the array that its rows make in a part."""
        return f"{self.kind}_data/{self.type_name}/{self.spec.name}"


def cut_features(
    kind: str,
    types: Sequence[RowType],
    files: Mapping[str, Mapping[str, Sequence[InputFile]]],
    row_block_bytes: int,
) -> list[Feature]:
    """Cut all features of all node types, or of all edge types, into blocks."""
    return [
        Feature(
            kind,
            type_id,
            data_id,
            of_type.name,
            spec,
            cut_rows(files[of_type.name][spec.name], max(1, row_block_bytes // max(1, spec.row_nbytes))),
        )
        for type_id, of_type in enumerate(types)
        for data_id, spec in enumerate(of_type.data)
    ]


def block_marks(features: Sequence[Feature]) -> dict[str, list[int]]:
    """Rows of each type at which a block of one of its features begins."""
    marks: dict[str, list[int]] = {}
    for feature in features:
        marks.setdefault(feature.type_name, []).extend(block.first_row for block in feature.blocks)
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
    before = _signatures(job, units)
    job.runner.run(place_rows_pass(units, PlaceConfig(targets, job.num_parts)))
    after = _signatures(job, units)
    for path, signature in before.items():
        if after[path] != signature:
            raise InputFileError("the file was replaced while it was read", file=path, hint="run again")


def _signatures(job: Job, units: Sequence[RowUnit]) -> dict[FilePath, Any]:
    with cached_listings(to_path(job.graph.directory)):
        return {path: signature_of(path) for path in dict.fromkeys(unit.block.path for unit in units)}


def _row_units(feature: Feature, owners: Mapping[str, Region], offsets: Mapping[str, RowOffsets]) -> list[RowUnit]:
    if not feature.spec.row_nbytes:
        return []  # rows of width 0: laid out, nothing to move
    rows = offsets[feature.type_name]
    return [
        RowUnit(block, feature.spec, owners[feature.type_name], feature.array, rows.owned_before(block.first_row))
        for block in feature.blocks
    ]
