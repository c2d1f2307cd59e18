"""Passes `split-rows` and `place-rows`: features that follow a list of nodes are brought into the order of new IDs.

Rows are read in the order of the list and staged grouped by range of new IDs; then each range is read from all groups
and put in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunking.edge_lists.write_rows import read_pieces
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.storage.region import Region, create_npy, open_npy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunked.blocks import InputFile
    from daskgraphpart.chunking.edge_lists.write_edges import EndPiece
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import DataSpec


@dataclass(frozen=True, slots=True)
class NodeRows:
    """Rows ``[start, stop)`` of a feature, in the order of the list of nodes, and their new IDs.

    They are staged at `path` and a suffix: IDs, rows, and where each range begins among them.
    """

    path: str
    start: int
    stop: int
    pieces: tuple[EndPiece, ...]


@dataclass(frozen=True, slots=True)
class OrderConfig:
    """What the passes share.

    Parameters
    ----------
    spec : DataSpec
        The feature.
    files : tuple of InputFile
        Its rows.
    range_rows : int
        New IDs of one range.
    num_nodes : int
        Number of nodes.
    block_bytes : int
        Bytes that are read at a time.
    target : Region
        Rows in the order of new IDs, to be filled.
    """

    spec: DataSpec
    files: tuple[InputFile, ...]
    range_rows: int
    num_nodes: int
    block_bytes: int
    target: Region

    @property
    def num_ranges(self) -> int:
        """Ranges of new IDs."""
        return -(-self.num_nodes // self.range_rows)


@dataclass(frozen=True, slots=True)
class PlaceConfig:
    """What the ranges share: the feature, and where its rows are staged."""

    order: OrderConfig
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrongNodes:
    """New IDs of a range that are in the list twice, or not at all; -1 if there is none."""

    repeated: int
    missing: int


def order_rows(units: Sequence[NodeRows], config: OrderConfig, runner: Runner) -> list[WrongNodes]:
    """Run both passes; the staged rows are removed. What is wrong with the list of nodes, for each range."""
    row = config.spec.row_nbytes + 8
    runner.run(Pass("split-rows", split_rows, units, config, [(u.stop - u.start) * row for u in units]))
    ranges, sizes = range(config.num_ranges), [config.range_rows * row] * config.num_ranges
    place = PlaceConfig(config, tuple(unit.path for unit in units))
    found = runner.run(Pass("place-rows", place_rows, ranges, place, sizes))
    for unit in units:
        for name in ("ids", "rows", "starts"):
            Path(f"{unit.path}-{name}.npy").unlink()
    return found


def split_rows(unit: NodeRows, config: OrderConfig) -> None:
    """Stage rows grouped by range."""
    ids = np.concatenate([piece.read()[0] for piece in unit.pieces])
    groups = ids // config.range_rows
    order = np.argsort(groups, kind="stable")
    rows = np.concatenate(list(read_pieces(config.files, config.spec, (unit.start, unit.stop), config.block_bytes)))
    starts = group_starts(np.bincount(groups, minlength=config.num_ranges))
    for name, array in (("ids", ids[order]), ("rows", rows[order]), ("starts", starts)):
        create_npy(f"{unit.path}-{name}.npy", array.dtype, array.shape).write(array, 0)


def place_rows(index: int, config: PlaceConfig) -> WrongNodes:
    """Write the rows of one range in order."""
    order = config.order
    start = index * order.range_rows
    stop = min(order.num_nodes, start + order.range_rows)
    rows = np.zeros((stop - start, *order.spec.row_shape), order.spec.dtype)
    counts = np.zeros(stop - start, np.int64)
    for path in config.paths:
        first, last = open_npy(f"{path}-starts.npy").read(index, index + 2).tolist()
        if first < last:
            ids = open_npy(f"{path}-ids.npy").read(first, last) - start
            rows[ids] = open_npy(f"{path}-rows.npy").read(first, last)
            counts += np.bincount(ids, minlength=counts.size)
    order.target.write(rows, start)
    return WrongNodes(_first(counts > 1, start), _first(counts == 0, start))


def _first(wrong: np.ndarray, start: int) -> int:
    return start + int(np.argmax(wrong)) if wrong.any() else -1
