"""The noun `Owners`: the owner of every node, in files; and the names of those files.

A directory has, for each node type, `<ntype>.txt` (one part per line, line i for node i), `.npy` or a form of a
plug-in, and `partition_meta.json`. We write the text for DGL's tools, a binary form, and `assignment.json`, with
checksums that tie both together.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import AssignmentError, OptionError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import make_directory
from daskgraphpart.storage.region import Region, create_files, npy_region

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.partitioner.assign_report import AssignReport
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.paths import Location

MAX_PARTS = 65_535
"""Owners are stored in at most two bytes."""

META_FILE = "partition_meta.json"
OURS_FILE = "assignment.json"
TRAINERS = "trainer_id"  # directory of `<ntype>.npy`, int64: each node's smaller part, if there are trainers
ROWS_PER_BATCH = 1 << 20
BINARY_FORMS = "npy", "parquet", "zarr"
"""Forms of owners beside the text."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Owners:
    """The part that owns each node, in files; users have an `Assignment`, which adds methods."""

    num_parts: int
    method: str  # how owners were assigned: ``"random"``, a partitioner's name, or what the files say
    # owners by node type, uint8 (up to 256 parts) or uint16, by original type-wise ID
    files: Mapping[str, Region]
    measured: AssignReport | None = None  # None for owners read from files
    # smaller part of each node by node type, int64, if parts are split for trainers
    trainers: Mapping[str, Region] = field(default_factory=dict)
    id_maps: Mapping[str, Location] = field(default_factory=dict)  # the user's own IDs, by node type
    seed: int | None = None  # of the partitioner
    training: Mapping[str, Any] = field(default_factory=dict)  # its objective, fan-outs, batch size and seeds, if known

    def check_fits(self, schema: GraphSchema) -> None:
        """Check that every node of every type has an owner.

        Raises
        ------
        AssignmentError
            If a type is missing, or has a different number of owners than nodes.
        """
        for node_type in schema.node_types:
            if node_type.name not in self.files:
                raise AssignmentError(
                    f"no owners for node type {node_type.name!r}", found=f"owners for {', '.join(self.files)}"
                )
            region = self.files[node_type.name]
            if region.num_rows != node_type.num_nodes:
                raise AssignmentError(
                    f"the owners of node type {node_type.name!r} have the wrong length",
                    file=region.path,
                    expected=f"{node_type.num_nodes:,} owners, one per node",
                    found=f"{region.num_rows:,}",
                )


def owner_dtype(num_parts: Any) -> np.dtype:
    """Smallest dtype that holds an owner."""
    is_whole = isinstance(num_parts, (int, np.integer)) and not isinstance(num_parts, bool)
    if not is_whole or not 1 <= num_parts <= MAX_PARTS:
        shown = repr(num_parts) if isinstance(num_parts, str) else num_parts
        what = f"--num-parts {shown} is not a number of parts"
        raise OptionError(what, option="num_parts", hint=f"use a whole number from 1 to {MAX_PARTS:,}")
    return np.dtype(np.uint8) if num_parts <= 256 else np.dtype("<u2")


def owner_regions(directory: Path, schema: GraphSchema, num_parts: int) -> dict[str, Region]:
    """Name the owner file of each node type."""
    dtype = owner_dtype(num_parts)
    return {
        node_type.name: npy_region(directory / f"{node_type.name}.npy", dtype, (node_type.num_nodes,))
        for node_type in schema.node_types
    }


def create_owner_files(
    directory: Path, schema: GraphSchema, num_parts: int, runner: Runner | None = None
) -> dict[str, Region]:
    """Create an owner file per node type; a runner does so once, so that a resumed job keeps the contents."""
    make_directory(directory)
    regions = owner_regions(directory, schema, num_parts)
    if runner is None:
        create_files(regions.values())
    else:
        runner.step("create-owner-files", lambda: create_files(regions.values()))
    return regions


def crc_of(path: Path) -> int:
    """Compute the CRC-32 of a file."""
    crc = 0
    with attach_path_to_error(path), path.open("rb") as file:
        while piece := file.read(4 << 20):
            crc = zlib.crc32(piece, crc)
    return crc
