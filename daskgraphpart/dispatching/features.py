"""Step of the dispatch: rows of node and edge features travel to their owners, in place or through zarr."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.blocks import cut_rows
from daskgraphpart.chunked.first_fault import first_fault
from daskgraphpart.chunked.read_block import read_rows
from daskgraphpart.dispatching.lay_out import lay_out_features
from daskgraphpart.dispatching.place_rows import RowUnit, place_rows_pass
from daskgraphpart.dispatching.stage_rows import StageUnit, move_rows_through_zarr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.blocks import Block, InputFile
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.offsets import RowOffsets
    from daskgraphpart.schema import DataSpec, RowType
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
    file_name: str,
    types: Sequence[RowType],
    owners: Mapping[str, Region],
    offsets: Mapping[str, RowOffsets],
) -> list[dict[str, Region]]:
    """Write the file of node features, or of edge features, of every part.

    Parameters
    ----------
    job : Job
        The job.
    features : sequence of Feature
        What `cut_features` gave.
    file_name : str
        ``node_feat.dgl`` or ``edge_feat.dgl``.
    types : sequence of NodeType or EdgeType
        All types, with and without features.
    owners, offsets : mapping of str to Region, mapping of str to RowOffsets
        Owner of every row, and how many each part owns before the blocks, for the types that have features.

    Returns
    -------
    list of dict of str to Region
        For each part, by ``<type>/<feature>``.
    """
    nothing = np.zeros(job.num_parts, np.int64)
    counts = np.stack([offsets[t.name].totals if t.name in offsets else nothing for t in types] or [nothing], axis=1)
    regions = lay_out_features(job, file_name, types, counts[:, : len(types)])
    by_feature = [_row_units(feature, owners, offsets, file_name, regions) for feature in features]
    in_order = [unit for units in by_feature for unit in units]
    blocks = [unit.block for unit in in_order]
    with first_fault(blocks, lambda index: read_rows(blocks[index], in_order[index].spec), job.runner):
        if job.runner.resources.staging == "zarr":
            staged = [
                [
                    StageUnit(unit, job.work.staged(feature.kind, feature.type_id, feature.data_id, i))
                    for i, unit in enumerate(units)
                ]
                for feature, units in zip(features, by_feature, strict=True)
            ]
            move_rows_through_zarr(staged, job.out, job.num_parts, job.sizes.row_block_bytes, job.runner)
        else:
            job.runner.run(place_rows_pass(in_order, job.out, job.num_parts))
    return regions


def _row_units(
    feature: Feature,
    owners: Mapping[str, Region],
    offsets: Mapping[str, RowOffsets],
    file_name: str,
    regions: Sequence[Mapping[str, Region]],
) -> list[RowUnit]:
    if not feature.spec.row_nbytes:
        return []  # rows of width 0: laid out, nothing to move
    first_bytes = np.array(
        [of_part[f"{feature.type_name}/{feature.spec.name}"].offset for of_part in regions], np.int64
    )
    return [
        RowUnit(
            block,
            feature.spec,
            owners[feature.type_name],
            file_name,
            first_bytes + offsets[feature.type_name].owned_before(block.first_row) * feature.spec.row_nbytes,
        )
        for block in feature.blocks
    ]
